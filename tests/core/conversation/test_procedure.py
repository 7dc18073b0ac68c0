"""Generators stepped through a port: answers, errors, time, links, and running them again from what
they were told.
"""

from __future__ import annotations

import pytest

from jsproto.core.conversation.conversation import Call, Port, StopMode
from jsproto.core.conversation.procedure import Procedure, Script, Sleep, the_time
from jsproto.errors import (
    ConnectionClosed,
    ConnectionLost,
    LocalProtocolError,
    NoResponders,
    PermissionViolation,
    RequestTimeout,
)
from jsproto.signals import ENDED, NEED_DATA


def answer(payload=b"ok", block=None):
    return ("1", "r", "", block, payload)


def ask_twice():
    first = yield Call("one", timeout=2.0)
    yield Sleep(1.0)
    second = yield Call("two", timeout=3.0)
    return first.payload + second.payload


def patient():
    """Goes on after every error and says which they were."""
    seen = []
    for _ in range(3):
        try:
            seen.append((yield Call("svc", timeout=2.0)).payload.decode())
        except (RequestTimeout, NoResponders, ConnectionLost, PermissionViolation) as error:
            seen.append(type(error).__name__)
    return seen


def opened(make, **port):
    procedure = Procedure(make)
    procedure.port = Port(**port)
    procedure.opened(0.0)
    return procedure


def token_of(procedure):
    return int(procedure.port.commands[-1].reply.rsplit(".", 1)[1])


def test_question_pause_question_result():
    procedure = opened(ask_twice)

    assert 2.0 == procedure.deadline
    assert NEED_DATA is procedure.take(0.0)

    procedure.replied(token_of(procedure), answer(b"a"), 1.0)

    assert 2.0 == procedure.deadline

    procedure.ticked(1.5)
    procedure.ticked(2.0)

    assert "two" == procedure.port.commands[-1].subject
    assert 5.0 == procedure.deadline

    procedure.replied(token_of(procedure), answer(b"b"), 3.0)

    assert (1, None) == (procedure.readable, procedure.deadline)
    assert b"ab" == procedure.take(3.0)
    assert ENDED is procedure.take(3.0)


def test_an_answer_that_is_not_waited_for_vanishes():
    procedure = opened(ask_twice)
    late = token_of(procedure)
    procedure.replied(late + 1, answer(), 0.0)

    assert NEED_DATA is procedure.take(0.0)

    procedure.replied(late, answer(), 0.0)
    procedure.replied(late, answer(), 0.0)
    procedure.ticked(1.0)
    procedure.replied(late, answer(), 1.0)

    assert not procedure.ended


def test_each_kind_of_failure_is_thrown_where_it_is_waited_for():
    procedure = opened(patient)
    procedure.ticked(2.0)
    procedure.replied(token_of(procedure), answer(b"", b"NATS/1.0 503\r\n\r\n"), 2.0)
    procedure.refused("other", PermissionViolation("no", "other", "publish"), 2.0)
    procedure.refused("svc", PermissionViolation("no", "svc", "subscription"), 2.0)

    assert not procedure.ended

    procedure.refused("svc", PermissionViolation("no", "svc", "publish"), 2.0)

    assert ["RequestTimeout", "NoResponders", "PermissionViolation"] == procedure.take(2.0)


def test_a_status_with_a_body_is_an_answer():
    def body():
        return (yield Call("svc")).status

    procedure = opened(body)
    procedure.replied(token_of(procedure), answer(b"{}", b"NATS/1.0 503 x\r\n\r\n"), 0.0)

    assert (503, "x") == procedure.take(0.0)


def test_errors_that_the_generator_lets_out_are_the_end():
    procedure = opened(ask_twice)
    procedure.ticked(2.0)

    assert procedure.ended
    for _ in range(2):
        with pytest.raises(RequestTimeout, match=r"'one' within 2\.0 s"):
            procedure.take(2.0)


def test_while_the_link_is_down_a_call_waits_and_its_time_runs():
    procedure = opened(ask_twice, up=False)

    assert [] == procedure.port.commands
    assert 2.0 == procedure.deadline

    procedure.link_down(ConnectionLost("x"), 0.5)
    procedure.port.up = True
    procedure.link_up(1.0)
    procedure.link_up(1.0)

    assert ["one"] == [command.subject for command in procedure.port.commands]
    assert 2.0 == procedure.deadline


def test_a_call_that_was_sent_fails_with_its_link_and_a_pause_does_not():
    procedure = opened(ask_twice)
    procedure.replied(token_of(procedure), answer(), 0.0)
    procedure.link_down(ConnectionLost("x"), 0.0)

    assert not procedure.ended

    procedure.ticked(1.0)
    procedure.link_down(ConnectionLost("x"), 1.0)

    with pytest.raises(ConnectionLost, match="outcome is unknown"):
        procedure.take(1.0)


def test_closing_reaches_even_a_patient_generator():
    procedure = opened(patient)
    procedure.closed(None, 0.0)
    procedure.closed(None, 0.0)

    with pytest.raises(ConnectionClosed):
        procedure.take(0.0)

    stubborn = opened(swallow)
    stubborn.closed(ConnectionClosed("the connection was closed"), 0.0)

    assert "gave in" == stubborn.take(0.0)


def swallow():
    for _ in range(3):
        try:
            yield Call("svc")
        except ConnectionClosed:
            continue
    return "gave in"


def test_a_wish_to_drain_lets_it_finish():
    procedure = opened(ask_twice)
    procedure.told(StopMode.DRAIN, 0.0)

    assert not procedure.ended


def test_a_generator_that_asks_nothing_is_done_at_once():
    def nothing():
        return (yield from the_time())

    procedure = opened(nothing)

    assert procedure.take(0.0) == 0.0


def test_a_script_that_is_not_done_has_no_result():
    script = Script(ask_twice)
    with pytest.raises(LocalProtocolError, match="done"):
        _ = script.result

    script.opened(Port(), 0.0)

    assert isinstance(script.waiting, Call)


def clocked():
    start = yield from the_time()
    first = yield Call("one")
    later = yield from the_time()
    return later - start, first.payload


FACTS = [
    lambda each, now: each.replied(token_of(each) if each.port.commands else 1, answer(b"x"), now),
    lambda each, now: each.ticked(now),
    lambda each, now: each.link_down(ConnectionLost("x"), now),
]


@pytest.mark.parametrize("make", [ask_twice, patient, clocked])
@pytest.mark.parametrize("order", [(0, 1, 0), (1, 1, 1), (2, 0, 1, 0), (0, 1, 2, 0), (0, 0, 0)])
def test_restoring_at_every_step_changes_nothing(make, order):
    procedure, twin = opened(make), opened(make)
    for step, at in enumerate(order):
        fresh = Procedure(make)
        fresh.port = Port()
        fresh.restore(twin.snapshot())
        fresh.port.commands = list(twin.port.commands)
        twin = fresh
        for each in (procedure, twin):
            FACTS[at](each, step + 1.0)

        assert procedure.port.commands == twin.port.commands
        assert (procedure.ended, procedure.readable, procedure.deadline) == (
            twin.ended,
            twin.readable,
            twin.deadline,
        )
        assert procedure.snapshot() == twin.snapshot()
    if procedure.readable:
        assert procedure.take(9.0) == twin.take(9.0)


def test_one_that_was_not_opened_can_be_restored_too():
    new, old = Procedure(ask_twice), Procedure(ask_twice)
    new.port, old.port = Port(), Port()
    new.restore(old.snapshot())
    new.opened(0.0)

    assert "one" == new.port.commands[0].subject


def test_a_result_can_be_asked_for_only_when_it_is_there():
    procedure = opened(ask_twice)
    with pytest.raises(LocalProtocolError):
        _ = procedure.script.result

    procedure.ticked(2.0)

    with pytest.raises(RequestTimeout):
        _ = procedure.script.result
