"""A publish ends once: acknowledged, refused, nobody there, or unknown. Only "nobody there" is sent
again.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.core.conversation.conversation import Call
from jsproto.core.conversation.message import Message
from jsproto.core.conversation.procedure import CurrentTime, Sleep
from jsproto.errors import (
    ConnectionLost,
    InvalidConfig,
    InvalidHeader,
    InvalidSubject,
    NoResponders,
    RequestTimeout,
    StatusError,
)
from jsproto.jetstream.api.errors import InvalidPubAck, WrongLastSequence
from jsproto.jetstream.api.publishing.options import PublishOptions
from jsproto.jetstream.api.publishing.puback import PubAck
from jsproto.jetstream.api.requests.publish import publish
from jsproto.wire.headers import Headers

ACK = b'{"stream":"S","seq":1}'
NOBODY = NoResponders("nobody", "s.a")


class World:
    """Steps a publish: each answer comes after some seconds; time passes in answers and pauses
    only.
    """

    def __init__(self, *answers: object, took: float = 0.0) -> None:
        self.answers = list(answers)
        self.took = took
        self.now = 100.0
        self.calls: list[Call] = []
        self.slept: list[float] = []

    def run(self, steps) -> PubAck:
        step = next(steps)
        while True:
            try:
                match step:
                    case CurrentTime():
                        step = steps.send(self.now)
                    case Sleep(seconds):
                        self.slept.append(seconds)
                        self.now += seconds
                        step = steps.send(None)
                    case Call():
                        self.calls.append(step)
                        self.now += self.took
                        one = self.answers.pop(0)
                        if isinstance(one, Exception):
                            step = steps.throw(one)
                        else:
                            block, payload = one if isinstance(one, tuple) else (None, one)
                            step = steps.send(Message(("1", "_INBOX.r", "", block, payload)))
            except StopIteration as stop:
                return stop.value


def test_a_publish_is_one_request_on_its_own_subject() -> None:
    world = World(ACK)

    assert world.run(publish("s.a", b"x", timeout=2.0)) == PubAck(stream="S", seq=1)
    assert world.calls == [Call("s.a", b"x", None, 2.0)]


def test_options_travel_as_headers_behind_the_users_own() -> None:
    own = Headers({"Trace": "1"})
    world = World(ACK)
    world.run(
        publish(
            "s.a",
            headers=own,
            msg_id="order-1",
            expected_stream="S",
            expected_last_sequence=2**64 - 1,
            expected_last_subject_sequence=0,
            expected_last_subject_sequence_subject="s.*",
            expected_last_msg_id="order-0",
            ttl=timedelta(minutes=1),
        )
    )

    assert world.calls[0].headers is not None
    assert world.calls[0].headers.items() == (
        ("Trace", "1"),
        ("Nats-Msg-Id", "order-1"),
        ("Nats-Expected-Stream", "S"),
        ("Nats-Expected-Last-Sequence", "18446744073709551615"),
        ("Nats-Expected-Last-Subject-Sequence", "0"),
        ("Nats-Expected-Last-Subject-Sequence-Subject", "s.*"),
        ("Nats-Expected-Last-Msg-Id", "order-0"),
        ("Nats-TTL", "60"),
    )
    assert own.items() == (("Trace", "1"),)


def test_options_may_be_one_value_and_settings_by_name_edit_it() -> None:
    world = World(ACK)
    world.run(publish("s.a", options=PublishOptions(msg_id="1", rollup="sub"), msg_id="2"))

    assert world.calls[0].headers == Headers([("Nats-Msg-Id", "2"), ("Nats-Rollup", "sub")])


@pytest.mark.parametrize("settings", [{"msg_id": ""}, {"message_id": "1"}, {"incr": 1}])
def test_what_no_server_takes_is_refused_before_anything_is_sent(
    settings: dict[str, object],
) -> None:
    with pytest.raises(InvalidConfig, match="expected"):
        publish("s.a", b"x", **settings)


def test_names_and_values_that_would_break_the_line_are_refused_before_anything_is_sent() -> None:
    with pytest.raises(InvalidSubject):
        publish("s.a\r\nPUB x 0")
    with pytest.raises(InvalidSubject):
        publish("s.*")
    with pytest.raises(InvalidHeader):
        publish("s.a", msg_id="1\r\nNats-TTL: never")


def test_b175_a_refusal_is_raised_with_its_number_and_its_subject() -> None:
    body = b'{"error":{"code":400,"err_code":10164,"description":"wrong last sequence"},"stream":"S","seq":0}'

    with pytest.raises(WrongLastSequence, match=r"publish, stream S, subject s\.a"):
        World(body).run(publish("s.a", expected_stream="S"))


def test_b176_a_timeout_is_an_unknown_outcome_and_never_sent_again() -> None:
    world = World(RequestTimeout("none came"))

    with pytest.raises(
        RequestTimeout, match=r"'s\.a' within 1\.0 s, got none; whether it was stored is unknown"
    ):
        world.run(publish("s.a", b"x", timeout=1.0))
    assert len(world.calls) == 1


def test_a_lost_link_is_never_sent_again_either() -> None:
    world = World(ConnectionLost("link lost"))

    with pytest.raises(ConnectionLost):
        world.run(publish("s.a"))
    assert len(world.calls) == 1


@pytest.mark.parametrize("body", [b"pong", b'{"stream":""}', b""])
def test_b187_an_answer_that_is_no_acknowledgement_is_an_error_with_its_bytes(body: bytes) -> None:
    with pytest.raises(InvalidPubAck, match=r"subject s\.a") as caught:
        World(body).run(publish("s.a"))
    assert caught.value.body == body


def test_a_status_that_is_not_503_is_a_status_error() -> None:
    with pytest.raises(StatusError) as caught:
        World((b"NATS/1.0 429 Too Many Requests\r\n\r\n", b"")).run(publish("s.a"))
    assert (caught.value.code, caught.value.description) == (429, "Too Many Requests")


def test_nobody_there_is_tried_again_after_a_pause_with_what_is_left_of_the_time() -> None:
    world = World(NOBODY, NOBODY, ACK, took=0.1)

    assert world.run(publish("s.a", b"x", msg_id="1", timeout=2.0)).seq == 1
    assert world.slept == [0.25, 0.25]
    assert [round(call.timeout, 9) for call in world.calls] == [2.0, 1.65, 1.3]
    assert {(call.subject, call.payload, call.headers) for call in world.calls} == {
        ("s.a", b"x", Headers({"Nats-Msg-Id": "1"}))
    }


def test_nobody_there_for_good_is_no_responders_that_names_the_subject() -> None:
    world = World(NOBODY, NOBODY, NOBODY)

    with pytest.raises(
        NoResponders, match=r"a stream that stores 's\.a', got no responders .* sent 3 times"
    ) as caught:
        world.run(publish("s.a"))
    assert caught.value.subject == "s.a"
    assert len(world.calls) == 3


def test_without_retries_the_first_503_is_the_end() -> None:
    world = World(NOBODY)

    with pytest.raises(NoResponders):
        world.run(publish("s.a", retries=0))
    assert world.slept == []


def test_a_pause_that_would_outlast_the_deadline_is_not_begun() -> None:
    world = World(NOBODY, took=0.9)

    with pytest.raises(NoResponders, match="sent 1 times"):
        world.run(publish("s.a", timeout=1.0))
    assert world.slept == []


def test_a_pause_that_took_longer_than_it_should_ends_at_the_deadline() -> None:
    steps = publish("s.a", timeout=1.0)
    assert isinstance(next(steps), CurrentTime)
    assert isinstance(steps.send(0.0), Call)
    assert isinstance(steps.throw(NOBODY), CurrentTime)
    assert steps.send(0.1) == Sleep(0.25)
    assert isinstance(steps.send(None), CurrentTime)

    with pytest.raises(NoResponders):
        steps.send(1.0)


@given(
    timeout=st.floats(0.01, 10),
    took=st.floats(0, 3),
    retries=st.integers(0, 5),
    wait=st.floats(0, 2),
)
def test_all_attempts_together_stay_within_the_one_deadline_and_the_allowed_number(
    timeout: float, took: float, retries: int, wait: float
) -> None:
    world = World(*[NOBODY] * 9, took=took)
    with pytest.raises(NoResponders):
        world.run(publish("s.a", timeout=timeout, retries=retries, retry_wait=wait))

    begun = 0.0
    for number, call in enumerate(world.calls):
        assert begun + call.timeout <= timeout + 1e-6
        begun += took + (world.slept[number] if number < len(world.slept) else 0)
    assert len(world.calls) <= retries + 1
    assert sum(world.slept) < timeout + 1e-6
