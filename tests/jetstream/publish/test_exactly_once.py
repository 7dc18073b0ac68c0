"""Published until it is known to be stored, under one id; and what came is settled only when its
successor is stored.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from jsproto.core.conversation.conversation import Port
from jsproto.core.conversation.procedure import Procedure
from jsproto.errors import (
    ConnectionClosed,
    InvalidConfig,
    InvalidSubject,
    LinkError,
    NoResponders,
    RequestTimeout,
    StatusError,
)
from jsproto.jetstream.api.errors import InvalidPubAck, JetStreamError, WrongLastSequence
from jsproto.jetstream.api.publishing.puback import PubAck
from jsproto.jetstream.delivery.ack import AckSubject, InvalidAckSubject
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.publish.exactly_once import RetryPolicy, publish_once, relay_id, relayed
from jsproto.signals import NEED_DATA
from jsproto.wire.commands import Publish
from jsproto.wire.headers import Headers

ACK = b'{"stream":"S","seq":1}'
AGAIN = b'{"stream":"S","seq":1,"duplicate": true}'
REPLY = "$JS.ACK.ORDERS.NEW.1.7.9.1700000000000000000.0"
SOON = RetryPolicy(within=10.0, attempt=2.0, wait=0.5)


def wrong(number: int = 5) -> bytes:
    return (
        b'{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: %d"},"stream":"S","seq":0}'
        % number
    )


class Road:
    """A procedure on a bare port: what it sends, and what it is told."""

    def __init__(self, make) -> None:
        self.now = 100.0
        self.procedure = Procedure(make)
        self.procedure.port = Port()
        self.procedure.opened(self.now)

    @property
    def sent(self) -> list[Publish]:
        return [each for each in self.procedure.port.commands if isinstance(each, Publish)]

    def answer(self, payload: bytes = b"", block: bytes | None = None) -> None:
        frame = ("1", self.sent[-1].reply, "", block, payload)
        self.procedure.replied(int(self.sent[-1].reply.rsplit(".", 1)[1]), frame, self.now)

    def nobody(self) -> None:
        self.answer(block=b"NATS/1.0 503\r\n\r\n")

    def wait(self, seconds: float) -> None:
        """Time passes, tick by tick as the deadline says."""
        until = self.now + seconds
        while (due := self.procedure.deadline) is not None and due <= until:
            self.now = due
            self.procedure.ticked(due)
        self.now = until

    def down(self) -> None:
        self.procedure.port.up = False
        self.procedure.link_down(LinkError("gone"), self.now)

    def up(self) -> None:
        self.procedure.port.up = True
        self.procedure.link_up(self.now)

    @property
    def result(self):
        return self.procedure.take(self.now)


def once(payload: bytes = b"x", **settings: object) -> Road:
    return Road(lambda: publish_once("s.a", payload, patience=SOON, **settings))


def message(reply: str = REPLY) -> JsMessage:
    return JsMessage(("1", "orders.new", reply, None, b"order"))


# ---------------------------------------------------------------------------------------------- publish_once


def test_an_answer_at_once_is_the_end() -> None:
    road = once(msg_id="7", headers={"A": "1"})
    road.answer(ACK)

    assert road.result == PubAck(stream="S", seq=1)
    assert [each.headers for each in road.sent] == [Headers([("A", "1"), ("Nats-Msg-Id", "7")])]


def test_an_id_is_made_where_none_is_given_and_every_attempt_carries_it() -> None:
    road = once()
    road.wait(2.5)
    road.answer(AGAIN)

    first, second = (each.headers.last("Nats-Msg-Id") for each in road.sent)
    assert first == second
    assert len(first) == 22
    assert road.result.duplicate


def test_two_publishes_have_two_ids_and_neither_gives_an_inbox_away() -> None:
    road = Road(lambda: publish_once("s.a"))
    other = Procedure(lambda: publish_once("s.a"))
    other.port = Port(2)
    other.opened(0.0)
    ids = {
        road.sent[0].headers.last("Nats-Msg-Id"),
        other.port.commands[0].headers.last("Nats-Msg-Id"),
    }

    assert len(ids) == 2
    assert not any("INBOX" in each for each in ids)


def test_an_id_among_the_headers_is_kept() -> None:
    road = once(headers={"Nats-Msg-Id": "mine"})

    assert road.sent[0].headers.items() == (("Nats-Msg-Id", "mine"),)


def test_b176_whatever_was_not_answered_is_sent_again_with_the_same_id() -> None:
    road = once(msg_id="7")
    road.nobody()
    road.wait(0.5)
    road.answer(
        b'{"error":{"code":503,"err_code":10008,"description":"unavailable"},"stream":"S","seq":0}'
    )
    road.wait(0.5)
    road.answer(block=b"NATS/1.0 429 Too Many Requests\r\n\r\n")
    road.wait(0.5)
    road.wait(2.0)
    road.wait(0.5)
    road.down()
    road.wait(0.5)
    road.up()
    road.answer(AGAIN)

    assert road.result == PubAck(stream="S", seq=1, duplicate=True)
    assert len(road.sent) == 6
    assert {each.headers.last("Nats-Msg-Id") for each in road.sent} == {"7"}


def test_while_the_link_is_down_nothing_is_sent() -> None:
    road = once()
    road.down()
    road.wait(1.0)

    assert len(road.sent) == 1
    assert road.result is NEED_DATA
    road.up()
    assert len(road.sent) == 2


def test_time_that_is_up_leaves_the_outcome_unknown_and_names_the_id() -> None:
    road = once(msg_id="7")
    road.wait(10.0)

    with pytest.raises(
        RequestTimeout, match=r"id '7' within 10\.0 s, none came; unknown if stored"
    ):
        _ = road.result
    assert len(road.sent) == 4


def test_nobody_until_the_end_means_that_nothing_is_stored() -> None:
    road = once()
    for _ in range(30):
        if road.procedure.ended:
            break
        road.nobody()
        road.wait(0.5)

    with pytest.raises(NoResponders):
        _ = road.result
    assert road.now <= 110.0


@pytest.mark.parametrize(
    ("payload", "block", "error"),
    [
        (wrong(), None, WrongLastSequence),
        (
            b'{"error":{"code":400,"err_code":10060,"description":"no"},"stream":"S","seq":0}',
            None,
            JetStreamError,
        ),
        (b"pong", None, InvalidPubAck),
        (b"", b"NATS/1.0 400 Bad\r\n\r\n", StatusError),
    ],
)
def test_what_the_stream_refuses_is_refused_at_once(
    payload: bytes, block: bytes | None, error: type
) -> None:
    road = once()
    road.answer(payload, block)

    with pytest.raises(error):
        _ = road.result
    assert len(road.sent) == 1


def test_an_expectation_that_fails_behind_an_unknown_attempt_proves_nothing() -> None:
    road = once(msg_id="7", expected_last_sequence=0)
    road.wait(2.5)
    road.answer(wrong(1))

    with pytest.raises(
        RequestTimeout, match=r"id '7': an attempt was not answered.*wrong last sequence: 1"
    ) as caught:
        _ = road.result
    assert isinstance(caught.value.__cause__, WrongLastSequence)


def test_a_refusal_behind_an_unknown_attempt_is_still_a_refusal() -> None:
    road = once()
    road.wait(2.5)
    road.answer(
        b'{"error":{"code":400,"err_code":10109,"description":"sealed"},"stream":"S","seq":0}'
    )

    with pytest.raises(JetStreamError):
        _ = road.result


def test_a_closed_connection_ends_it() -> None:
    road = once()
    road.procedure.closed(None, road.now)

    with pytest.raises(ConnectionClosed):
        _ = road.result


@pytest.mark.parametrize(
    "times",
    [
        {"within": 0.0},
        {"attempt": -1.0},
        {"wait": float("inf")},
        {"within": float("nan")},
        {"within": 121.0},
        {"within": 5.0, "duplicate_window": timedelta(seconds=4)},
    ],
)
def test_patience_beyond_the_memory_of_the_stream_is_refused(times: dict[str, object]) -> None:
    with pytest.raises(InvalidConfig, match="expected"):
        RetryPolicy(**times)


def test_what_cannot_be_sent_is_refused_before_anything_is() -> None:
    with pytest.raises(InvalidSubject):
        publish_once("s.*")
    with pytest.raises(InvalidConfig):
        publish_once("s.a", b"x", incr=1)
    with pytest.raises(InvalidConfig):
        publish_once("s.a", headers={"Nats-Msg-Id": "1"}, msg_id="2")


def test_a_snapshot_goes_on_with_the_id_that_was_made() -> None:
    road = once()
    road.wait(2.2)
    restored = Procedure(lambda: publish_once("s.a", b"x", patience=SOON))
    restored.restore(road.procedure.snapshot())
    restored.ticked(road.now + 1.0)

    (again,) = (each for each in restored.port.commands if isinstance(each, Publish))
    assert again.headers == road.sent[0].headers


# ---------------------------------------------------------------------------------------------- relayed


def relay(received: JsMessage, payload: bytes | None = None, **settings: object) -> Road:
    return Road(lambda: relayed(received, "done.a", payload, patience=SOON, **settings))


def test_the_message_is_settled_when_its_successor_is_stored_and_not_before() -> None:
    received = message()
    road = relay(received)

    assert [(each.subject, each.payload) for each in road.sent] == [("done.a", b"order")]
    road.answer(ACK)
    assert [(each.subject, each.payload) for each in road.sent[1:]] == [(REPLY, b"+ACK")]
    assert road.result is NEED_DATA
    road.answer()
    assert road.result == PubAck(stream="S", seq=1)
    assert not received.settle_by(lambda frame: None)


def test_the_id_is_that_of_the_message_and_of_where_its_successor_goes() -> None:
    origin = message().metadata
    road = relay(message(), b"other", headers={"A": "1"})

    assert road.sent[0].payload == b"other"
    assert road.sent[0].headers.items() == (
        ("A", "1"),
        ("Nats-Msg-Id", "ORDERS.7.1700000000000000000>done.a"),
    )
    assert relay_id(origin, "x") != relay_id(origin, "y")
    assert relay_id(evolved(origin, num_delivered=5), "x") == relay_id(origin, "x")
    assert relay_id(evolved(origin, timestamp_ns=1), "x") != relay_id(origin, "x")
    assert relay(message(), msg_id="mine").sent[0].headers.items() == (("Nats-Msg-Id", "mine"),)


def evolved(origin: AckSubject, **changes: object) -> AckSubject:
    return origin._replace(**changes)


def test_a_confirmation_that_does_not_come_is_asked_for_again() -> None:
    received = message()
    road = relay(received)
    road.answer(ACK)
    road.wait(2.5)
    road.down()
    road.wait(0.5)
    road.up()
    road.answer()

    assert road.result == PubAck(stream="S", seq=1)
    assert [each.payload for each in road.sent[1:]] == [b"+ACK"] * 3


def test_a_message_that_may_come_again_is_told_with_what_was_stored() -> None:
    received = message()
    road = relay(received)
    road.answer(ACK)
    road.wait(20.0)

    with pytest.raises(
        RequestTimeout, match=r"stored \(stream 'S', sequence 1\), and it may come again"
    ):
        _ = road.result
    assert received.settle_by(lambda frame: None)


def test_a_successor_that_is_refused_leaves_the_message_open() -> None:
    received = message()
    road = relay(received)
    road.answer(wrong())

    with pytest.raises(WrongLastSequence):
        _ = road.result
    assert received.settle_by(lambda frame: None)
    assert len(road.sent) == 1


def test_a_message_that_is_settled_already_is_not_settled_again() -> None:
    received = message()
    received.settle_by(lambda frame: None)
    road = relay(received)
    road.answer(ACK)

    assert road.result == PubAck(stream="S", seq=1)
    assert len(road.sent) == 1


def test_a_consumer_that_is_gone_is_told() -> None:
    road = relay(message())
    road.answer(ACK)
    road.nobody()

    with pytest.raises(NoResponders):
        _ = road.result


def test_only_what_a_consumer_delivered_can_be_relayed() -> None:
    with pytest.raises(InvalidAckSubject):
        relayed(message("_INBOX.x"), "done.a")


@pytest.mark.parametrize("name", ["nats-msg-id", "NATS-MSG-ID", "Nats-Msg-ID"])
def test_an_id_in_another_spelling_is_none_to_the_server_and_refused(name: str) -> None:
    with pytest.raises(InvalidConfig, match=f"expected the header name Nats-Msg-Id, got '{name}'"):
        publish_once("s.a", headers={name: "1"})


def test_the_first_of_several_ids_is_the_one_that_the_server_takes() -> None:
    road = once(headers=[("Nats-Msg-Id", "1"), ("Nats-Msg-Id", "2"), ("nats-msg-id", "3")])

    assert road.sent[0].headers.all("Nats-Msg-Id") == ["1", "2"]


def test_an_empty_id_is_none_and_one_is_made() -> None:
    road = once(headers={"Nats-Msg-Id": ""})

    assert road.sent[0].headers["Nats-Msg-Id"]
