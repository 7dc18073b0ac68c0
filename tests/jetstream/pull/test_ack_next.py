from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.core.conversation.conversation import Port, StopMode
from jsproto.errors import (
    ConnectionLost,
    ConversationClosed,
    InvalidConfig,
    LocalProtocolError,
    PermissionViolation,
)
from jsproto.jetstream.delivery.ack import CUMULATIVE, OPEN, SETTLED
from jsproto.jetstream.delivery.ack_options import AckOptions
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.errors import AlreadySettled, BadRequestStatus
from jsproto.jetstream.pull.ack_next import AckNext
from jsproto.jetstream.pull.consume import ConsumeOptions
from jsproto.jetstream.pull.request import PullNotice
from jsproto.jetstream.status import EndReason
from jsproto.signals import ENDED, NEED_DATA
from jsproto.wire.commands import Publish

NEXT = "$JS.API.CONSUMER.MSG.NEXT.S.C"
LOST = ConnectionLost("the link was lost")


class Rig:
    def __init__(self, *, up: bool = True, **options: object) -> None:
        self.feed: AckNext[JsMessage] = AckNext(NEXT, ConsumeOptions(max_messages=1, **options))
        self.feed.port = Port(up=up)
        self.feed.opened(0.0)
        self.now = 0.0
        self.sequence = 0

    @property
    def port(self) -> Port:
        return self.feed.port

    def said(self) -> list[tuple[str, object]]:
        """What was published since: ``("pull", batch)``, ``("next", batch)`` or ``("ack", None)``
        ...
        """
        found = []
        for each in self.port.commands:
            if isinstance(each, Publish) and each.subject != "$JS.API.CONSUMER.INFO.S.C":
                verb, _, body = (
                    each.payload.partition(b"{")
                    if b"{" in each.payload
                    else (each.payload, b"", b"")
                )
                batch = json.loads(b"{" + body)["batch"] if body else None
                word = "pull" if each.subject == NEXT else verb.decode().strip()
                assert bool(each.reply) == (batch is not None)
                found.append((word, batch))
        self.port.commands.clear()
        return found

    def data(self, count: int = 1, sid: str = "") -> None:
        frames = []
        for _ in range(count):
            self.sequence += 1
            reply = f"$JS.ACK.S.C.1.{self.sequence}.{self.sequence}.1795811553265218855.0"
            frames.append((sid or self.port.sid, "s.a", reply, None, b""))
        self.feed.delivered(frames, self.now)

    def status(self, code: int, text: str = "") -> None:
        token = list(self.feed.ledger.open)[-1]
        block = f"NATS/1.0 {code} {text}\r\n\r\n".encode()
        self.feed.delivered([(self.port.sid, token, "", block, b"")], self.now)

    def take(self) -> JsMessage:
        item = self.feed.take(self.now)
        assert isinstance(item, JsMessage)
        return item

    def put(self, item: object) -> bool:
        return self.feed.offered(item, self.now)

    def down(self) -> None:
        self.port.up = False
        self.port.fences.clear()
        self.feed.link_down(LOST, self.now)

    def up(self) -> None:
        self.port.up = True
        self.port.renew()
        self.feed.link_up(self.now)


def test_only_one_message_can_be_asked_for_at_a_time():
    with pytest.raises(InvalidConfig, match="max_messages=1"):
        AckNext(NEXT, ConsumeOptions(max_messages=2))


def test_the_first_message_is_asked_for_at_once_and_the_next_by_its_ack():
    rig = Rig()

    assert rig.said() == [("pull", 1)]
    rig.data()
    message = rig.take()
    assert rig.said() == []  # nothing is asked for while the user works
    assert rig.put(message)
    assert rig.said() == [("+NXT", 1)]
    assert message.state is SETTLED


def test_the_ack_is_a_pull_in_the_ledger_with_a_token_of_its_own():
    rig = Rig()
    rig.data()
    rig.put(rig.take())
    (pull,) = rig.feed.pulls(0.0)

    assert (pull.asked, pull.owed, pull.token) == (1, 1, rig.port.commands[-1].reply)
    assert rig.port.commands[-1].payload == b"+NXT " + rig.feed.options.template.body(1)
    rig.data()
    assert rig.feed.pulls(0.0) == ()
    assert rig.feed.ledger.counts == {EndReason.FILLED: 2}


def test_whoever_takes_without_putting_asks_by_a_plain_pull():
    rig = Rig()
    rig.data()
    message = rig.take()
    rig.said()
    message.settle_by(lambda _: None)

    assert rig.feed.take(0.0) is NEED_DATA
    assert rig.said() == [("pull", 1)]
    assert rig.feed.take_all(0.0) is NEED_DATA
    assert rig.said() == []


def test_putting_a_message_that_is_settled_asks_only():
    rig = Rig()
    rig.data()
    message = rig.take()
    rig.said()
    message.state = SETTLED

    assert rig.put(message)
    assert rig.said() == [("pull", 1)]


def test_putting_it_twice_acks_and_asks_once():
    rig = Rig()
    rig.data()
    message = rig.take()
    rig.said()

    assert [rig.put(message), rig.put(message)] == [True, True]
    assert rig.said() == [("+NXT", 1)]


def test_a_strict_feed_raises_when_it_is_put_twice():
    rig = Rig(acking=AckOptions(strict=True))
    rig.data()
    message = rig.take()
    rig.put(message)

    with pytest.raises(AlreadySettled):
        rig.put(message)


def test_a_second_message_in_hand_is_acked_without_asking_for_two():
    rig = Rig()
    rig.data()
    first = rig.take()
    rig.feed.take(0.0)
    rig.data()
    second = rig.take()
    rig.said()

    rig.put(first)
    rig.put(second)
    assert rig.said() == [("+NXT", 1), ("+ACK", None)]


def test_the_ack_of_all_messages_can_be_a_pull_too():
    rig = Rig(acking=AckOptions(policy="all"))
    rig.data()
    first = rig.take()
    rig.feed.take(0.0)
    rig.data()
    second = rig.take()
    rig.said()

    assert first.state is CUMULATIVE
    rig.put(second)
    assert rig.said() == [("+NXT", 1)]
    assert (first.state, second.state) == (SETTLED, SETTLED)


@pytest.mark.parametrize(
    "item", ["a", JsMessage(("1", "s", "$JS.ACK.S.C.1.1.1.1.0", None, b""), object())]
)
def test_only_messages_of_its_own_can_be_put(item):
    with pytest.raises(LocalProtocolError, match="of this feed"):
        Rig().put(item)


def test_without_a_link_it_is_full_and_the_message_stays_open():
    rig = Rig()
    rig.data()
    message = rig.take()
    rig.down()

    assert not rig.feed.room
    assert not rig.put(message)
    rig.up()
    rig.said()
    assert rig.feed.room
    assert rig.put(message)
    assert rig.said() == [("+NXT", 1)]


def test_a_new_link_asks_again_for_what_is_wanted_and_only_for_that():
    rig = Rig()
    rig.data()
    message = rig.take()
    rig.said()
    rig.down()
    rig.up()

    assert rig.said() == []
    rig.put(message)
    rig.said()
    rig.down()
    rig.up()
    assert rig.said() == [("pull", 1)]


def test_a_pull_by_ack_that_expires_is_asked_for_again_by_a_plain_one():
    rig = Rig()
    rig.data()
    rig.put(rig.take())
    rig.said()
    rig.now = 30.0
    rig.status(408, "Request Timeout")

    assert rig.said() == [("pull", 1)]


def test_while_asking_must_wait_the_ack_does_not():
    rig = Rig()
    sid = rig.port.sid
    rig.status(503)
    rig.data(sid=sid)
    message = rig.take()
    rig.said()

    assert rig.put(message)
    assert rig.said() == [("+ACK", None)]
    rig.now = rig.feed.deadline
    rig.feed.ticked(rig.now)
    assert rig.said() == [("pull", 1)]


def test_an_ack_that_the_server_can_not_read_as_a_pull_ends_it():
    rig = Rig()
    rig.data()
    rig.put(rig.take())
    rig.status(400, "Bad Request - unexpected end of JSON input")

    with pytest.raises(BadRequestStatus):
        rig.feed.take(0.0)


@pytest.mark.parametrize("wish", list(StopMode))
def test_told_to_end_it_still_acks_and_asks_no_more(wish):
    rig = Rig()
    rig.data()
    message = rig.take()
    rig.feed.take(0.0)
    rig.feed.told(wish, 0.0)
    rig.said()

    assert rig.put(message)
    assert rig.said() == [("+ACK", None)]


def test_behind_the_end_a_message_is_acked_by_itself():
    rig = Rig()
    rig.data()
    message = rig.take()
    rig.feed.closed(None, 0.0)
    rig.said()

    assert not rig.feed.room
    assert rig.put(message)
    assert rig.said() == [("+ACK", None)]
    assert message.state is SETTLED
    assert rig.feed.take(0.0) is ENDED


def test_behind_the_end_and_without_a_link_nobody_can_be_told_and_the_message_stays_open():
    rig = Rig()
    rig.data()
    message = rig.take()
    rig.feed.closed(None, 0.0)
    rig.said()
    rig.port.up = False

    with pytest.raises(ConversationClosed, match="has ended"):
        rig.put(message)
    assert (rig.said(), message.state) == ([], OPEN)


def test_it_stops_after_so_many_and_the_last_is_acked_like_all_before():
    rig = Rig(stop_after=2)
    rig.data()
    rig.put(rig.take())
    rig.data()
    last = rig.take()
    rig.said()

    assert rig.feed.ended
    assert rig.put(last)
    assert (rig.said(), last.state) == ([("+ACK", None)], SETTLED)


def test_an_ack_that_asks_and_is_refused_is_told_ends_the_feed_and_leaves_the_message_open():
    rig = Rig()
    rig.data()
    message = rig.take()
    rig.put(message)
    (pull,) = rig.feed.ledger.open.values()
    error = PermissionViolation("no", message.reply, "publish")
    rig.feed.refused(message.reply, error, 0.0)

    assert message.state is OPEN
    assert (pull.end, rig.feed.reason) == (EndReason.REFUSED, EndReason.REFUSED)
    assert rig.port.notices == [(PullNotice.REFUSED, error)]
    with pytest.raises(PermissionViolation):
        rig.feed.take(0.0)


def test_a_feed_that_was_put_back_knows_by_which_ack_it_has_asked():
    rig = Rig()
    rig.data()
    message = rig.take()
    rig.put(message)
    other: AckNext[JsMessage] = AckNext(NEXT, rig.feed.options)
    other.restore(rig.feed.snapshot())
    other.refused(message.reply, PermissionViolation("no", message.reply, "publish"), 0.0)

    assert other.reason is EndReason.REFUSED


@pytest.mark.parametrize("subject", ["", "$JS.ACK.S.C.1.9.9.1795811553265218855.0"])
def test_what_is_refused_to_somebody_else_is_not_ours(subject):
    rig = Rig()
    rig.feed.refused(subject, PermissionViolation("no", subject, "publish"), 0.0)

    assert not rig.feed.ended


STEPS = [
    "data",
    "take",
    "put",
    "ack",
    "expire",
    "gone",
    "tick",
    "down",
    "up",
    "data take",
    "data take put",
]


@given(st.lists(st.sampled_from(STEPS), max_size=25).map(lambda steps: " ".join(steps).split()))
def test_whatever_happens_one_at_most_is_asked_for_and_nothing_stalls(steps):
    rig = Rig()
    hand: list[JsMessage] = []
    for step, what in enumerate(steps):
        rig.now = step * 1.0
        if what == "data" and rig.feed.ledger.open:
            rig.data()
        elif what == "take":
            item = rig.feed.take(rig.now)
            if isinstance(item, JsMessage):
                hand.append(item)
        elif what == "put" and hand and rig.put(hand[0]):
            assert hand.pop(0).state is SETTLED
        elif what == "ack" and hand:
            hand[0].settle_by(lambda _: None)
            hand.pop(0)
        elif what in {"expire", "gone"} and rig.feed.ledger.open:
            rig.status(*((408, "Request Timeout") if what == "expire" else (503, "")))
        elif what == "tick":
            rig.feed.ticked(rig.now)
        elif what == "down" and rig.port.up:
            rig.down()
        elif what == "up" and not rig.port.up:
            rig.up()
        assert sum(pull.owed for pull in rig.feed.pulls(rig.now)) + rig.feed.readable <= 1
        if rig.port.up and rig.feed.wanted:
            assert rig.feed.ledger.open or rig.feed.readable or rig.feed.deadline is not None
        other: AckNext[JsMessage] = AckNext(NEXT, rig.feed.options)
        other.port = rig.port
        other.restore(rig.feed.snapshot())
        assert other.snapshot() == rig.feed.snapshot()
