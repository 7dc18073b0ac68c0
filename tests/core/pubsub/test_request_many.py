"""One question, many answers: what ends it, and what is an error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.core.conversation.conversation import Port, StopMode
from jsproto.core.pubsub.request_many import Gathered, RequestMany, empty_payload
from jsproto.core.pubsub.subscription import SlowConsumer
from jsproto.errors import (
    ConnectionClosed,
    ConnectionLost,
    InvalidConfig,
    InvalidSubject,
    JsprotoError,
    LocalProtocolError,
    NoResponders,
    PayloadTooLarge,
    PermissionViolation,
    RequestTimeout,
)
from jsproto.signals import ENDED, NEED_DATA
from jsproto.wire.commands import Publish, Sub, Unsub
from jsproto.wire.headers import Headers

NOBODY = b"NATS/1.0 503\r\n\r\n"


def frame(payload=b"x", block=None):
    return ("2", "_INBOX.P.1.1.1", "", block, payload)


def opened(up=True, **options):
    made = RequestMany("a", b"?", **options)
    made.port = Port(up=up)
    made.opened(10.0)
    return made


def payloads(made):
    taken = made.take_all(0.0)
    return [] if taken in (NEED_DATA, ENDED) else [message.payload for message in taken]


@pytest.mark.parametrize(
    "options",
    [
        {"count": -1},
        {"stall": 0.0},
        {"stall": float("nan")},
        {"timeout": 0.0},
        {"timeout": -1.0},
        {"max_messages": 0},
        {"max_bytes": 0},
    ],
)
def test_what_cannot_work_is_refused(options):
    with pytest.raises(InvalidConfig):
        RequestMany("a", **options)


@pytest.mark.parametrize("subject", ["", "a b", "a.*", "a.>", "a\r\nPUB x 0"])
def test_bad_subjects_are_refused_before_there_is_a_link(subject):
    with pytest.raises(InvalidSubject):
        RequestMany(subject)


def test_it_asks_with_an_inbox_of_its_own():
    headers = Headers({"A": "b"})
    made = opened(headers=headers)

    assert [
        Sub("_INBOX.P.1.1.*", "2"),
        Publish("a", b"?", "_INBOX.P.1.1.1", headers),
    ] == made.port.commands
    assert NEED_DATA is made.take(10.0)
    assert 15.0 == made.deadline


def test_the_server_sends_no_more_than_the_count():
    made = opened(count=2)

    assert Unsub("2", 2) == made.port.commands[1]

    made.delivered([frame(b"1"), frame(b"2"), frame(b"3")], 11.0)

    assert (True, Gathered.COUNT, 2) == (made.ended, made.end_of, made.received)
    assert [b"1", b"2"] == payloads(made)
    assert ENDED is made.take(11.0)
    assert made.deadline is None


def test_with_a_sentinel_the_count_is_ours_alone():
    made = opened(count=2, sentinel=empty_payload)
    made.delivered([frame(b"1"), frame(b"2")], 11.0)

    assert not [each for each in made.port.commands if each == Unsub("2", 2)]
    assert Unsub("2") == made.port.commands[-1]
    assert Gathered.COUNT is made.end_of


def test_a_sentinel_ends_it_and_is_not_handed_out():
    made = opened(sentinel=empty_payload)
    made.delivered([frame(b"1"), frame(b""), frame(b"2")], 11.0)

    assert (Gathered.SENTINEL, 1) == (made.end_of, made.received)
    assert b"1" == made.take(11.0).payload
    assert ENDED is made.take(11.0)


def test_a_sentinel_alone_is_a_good_end_without_answers():
    made = opened(sentinel=empty_payload)
    made.delivered([frame(b"")], 11.0)

    assert ENDED is made.take(11.0)


def test_a_sentinel_that_raises_is_the_users_fault_and_ends_it():
    def broken(message):
        raise KeyError(message.subject)

    made = opened(sentinel=broken)
    made.delivered([frame(b"1")], 11.0)

    with pytest.raises(LocalProtocolError, match="KeyError") as caught:
        made.take(11.0)
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_stall_counts_from_each_answer_and_the_first_may_take_longer():
    made = opened(stall=1.0)
    made.ticked(12.0)

    assert (False, 15.0) == (made.ended, made.deadline)

    made.delivered([frame(b"1")], 13.0)
    made.delivered([frame(b"2")], 13.5)
    made.ticked(14.25)

    assert (False, 14.5) == (made.ended, made.deadline)

    made.ticked(14.5)

    assert (Gathered.STALL, [b"1", b"2"]) == (made.end_of, payloads(made))
    assert ENDED is made.take(14.5)


def test_b190_the_silence_counts_from_the_first_answer_on_and_a_lost_link_says_how_many_came():
    slow, cut = (opened(stall=0.5, timeout=5.0) for _ in range(2))
    for made in (slow, cut):
        made.ticked(11.9)
        made.delivered([frame(b"1")], 12.0)
    slow.delivered([frame(b"2")], 12.375)
    slow.ticked(12.875)
    cut.link_down(ConnectionLost("x"), 12.25)

    assert (Gathered.STALL, [b"1", b"2"]) == (slow.end_of, payloads(slow))
    assert ENDED is slow.take(12.875)
    assert b"1" == cut.take(12.25).payload
    with pytest.raises(ConnectionLost, match="1 had come"):
        cut.take(12.25)


def test_the_time_for_all_of_it_is_a_good_end_if_anybody_answered():
    made = opened(timeout=2.0, stall=5.0)
    made.delivered([frame(b"1")], 11.0)
    made.ticked(12.0)

    assert (Gathered.TIMEOUT, [b"1"]) == (made.end_of, payloads(made))
    assert ENDED is made.take(12.0)


def test_no_answer_at_all_is_an_error():
    made = opened(timeout=2.0, stall=1.0)
    made.ticked(12.0)

    assert made.end_of is None
    with pytest.raises(RequestTimeout, match=r"'a' within 2\.0 s"):
        made.take(12.0)


def test_nobody_there_is_an_error():
    made = opened(count=3)
    made.delivered([frame(b"", NOBODY)], 11.0)

    with pytest.raises(NoResponders) as caught:
        made.take_all(11.0)
    assert "a" == caught.value.subject


@pytest.mark.parametrize(
    "later",
    [frame(b"body", NOBODY), frame(b"", b"NATS/1.0 408\r\n\r\n"), frame(b"", b"NATS/1.0\r\n\r\n")],
)
def test_only_a_bare_503_says_that_nobody_is_there(later):
    made = opened()
    made.delivered([later], 11.0)

    assert [later[4]] == payloads(made)


def test_a_503_behind_an_answer_is_an_answer():
    made = opened()
    made.delivered([frame(b"1"), frame(b"", NOBODY)], 11.0)

    assert [b"1", b""] == payloads(made)


def test_a_lost_link_ends_it_behind_the_answers_that_had_come():
    made = opened()
    made.delivered([frame(b"1")], 11.0)
    made.link_down(ConnectionLost("x"), 11.0)

    assert b"1" == made.take(11.0).payload
    with pytest.raises(ConnectionLost, match="1 had come"):
        made.take(11.0)

    made.link_down(ConnectionLost("again"), 12.0)

    assert "1 had come" in str(made.error)


def test_without_a_link_it_waits_for_one_and_its_time_runs():
    made = opened(up=False)
    made.link_down(ConnectionLost("x"), 11.0)

    assert [] == made.port.commands
    assert (False, 15.0) == (made.ended, made.deadline)

    made.port.up = True
    made.link_up(12.0)

    assert 2 == len(made.port.commands)


def test_what_the_server_refuses_is_its_error():
    for subject, operation in (("a", "publish"), ("_INBOX.P.1.1.*", "subscription")):
        made = opened()
        made.refused("b", PermissionViolation("no", "b", operation), 11.0)
        made.refused("a", PermissionViolation("no", "a", "subscription"), 11.0)

        assert not made.ended

        made.refused(subject, PermissionViolation("no", subject, operation), 11.0)
        made.refused(subject, PermissionViolation("again", subject, operation), 11.0)

        with pytest.raises(PermissionViolation, match="no"):
            made.take(11.0)

    made = opened()
    made.refused("a", PayloadTooLarge("large"), 11.0)

    with pytest.raises(PayloadTooLarge):
        made.take(11.0)


def test_more_than_may_wait_is_an_error_behind_what_waits():
    for options in ({"max_messages": 2}, {"max_bytes": 2}):
        made = opened(**options)
        made.delivered([frame(b"1"), frame(b"2"), frame(b"3")], 11.0)

        assert [b"1", b"2"] == payloads(made)
        with pytest.raises(SlowConsumer):
            made.take(11.0)


def test_what_was_taken_makes_room():
    made = opened(max_messages=1, max_bytes=20)
    for at in range(3):
        made.delivered([frame(b"%d" % at, b"NATS/1.0\r\n\r\n")], 11.0)

        assert 1 == made.readable
        assert b"%d" % at == (made.take(11.0).payload if at else payloads(made)[0])
    assert not made.ended


def test_it_can_be_given_up_and_a_drain_lets_it_finish():
    made = opened()
    made.told(StopMode.DRAIN, 11.0)

    assert not made.ended

    made.told(StopMode.STOP, 11.0)
    made.closed(None, 11.0)

    assert (Gathered.CLOSED, ENDED) == (made.end_of, made.take(11.0))
    assert Unsub("2") == made.port.commands[-1]


def test_the_end_of_the_connection_is_its_error():
    made = opened()
    made.closed(ConnectionClosed("over"), 11.0)

    with pytest.raises(ConnectionClosed):
        made.take(11.0)


@given(st.data())
def test_every_answer_is_handed_out_once_in_order_or_there_is_an_error(data):
    count = data.draw(st.integers(0, 5))
    stall = data.draw(st.sampled_from([None, 1.0]))
    sentinel = data.draw(st.sampled_from([None, empty_payload]))
    made = opened(count=count, stall=stall, sentinel=sentinel, max_messages=4)
    twin = RequestMany("a", b"?", count=count, stall=stall, sentinel=sentinel, max_messages=4)
    now, sent, got = 10.0, [], []
    for _ in range(data.draw(st.integers(0, 12))):
        step = data.draw(st.sampled_from(["answer", "tick", "take"]))
        if step == "answer":
            run = [frame(b"%d" % (len(sent) + at)) for at in range(data.draw(st.integers(1, 3)))]
            run += [frame(b"")] * data.draw(st.integers(0, 1))
            sent += [] if made.ended else [each[4] for each in run]
            made.delivered(run, now)
        elif step == "tick":
            now += data.draw(st.sampled_from([0.25, 1.0, 4.0]))
            made.ticked(now)
        else:
            got += payloads(made) if made.readable else []
        assert not count or made.received <= count
        assert made.ended == (made.deadline is None)
        twin.restore(made.snapshot())
        assert made.snapshot() == twin.snapshot()
        made, twin = twin, made
    if not made.ended:
        made.ticked(100.0)
    while made.readable:
        got.append(made.take(100.0).payload)

    assert len(got) == made.received
    assert got == sent[: len(got)]
    assert (made.error is None) is (made.end_of is not None)
    assert made.error is None or isinstance(made.error, JsprotoError)
    if sentinel is None and made.end_of is Gathered.TIMEOUT:
        assert got == sent
