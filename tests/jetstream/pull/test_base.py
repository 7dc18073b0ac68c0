"""Messages in the user's hands, as both kinds of pulling feeds look after them."""

from __future__ import annotations

from functools import partial

import pytest

from jsproto.core.conversation.conversation import Port, StopMode
from jsproto.errors import ConnectionClosed, ConnectionLost, InvalidConfig, LocalProtocolError
from jsproto.jetstream.delivery.ack import ASKED, CUMULATIVE, MUTE, OPEN, SETTLED
from jsproto.jetstream.delivery.ack_options import AckOptions
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.errors import AlreadySettled
from jsproto.jetstream.pull.consume import Consume, ConsumeOptions
from jsproto.jetstream.pull.fetch import Fetch, FetchOptions
from jsproto.jetstream.pull.request import PullNotice
from jsproto.signals import ENDED
from jsproto.wire.commands import Publish

NEXT = "$JS.API.CONSUMER.MSG.NEXT.S.C"
LOST = ConnectionLost("the link was lost")
KEEP = AckOptions(wait=30.0, in_progress=True)


class OwnMessage(JsMessage):
    __slots__ = ()


class Rig:
    def __init__(self, feed) -> None:
        self.feed = feed
        self.feed.port = Port()
        self.feed.opened(0.0)
        self.now = 0.0
        self.sequence = 0

    @property
    def port(self) -> Port:
        return self.feed.port

    def data(self, count: int = 1) -> None:
        frames = []
        for _ in range(count):
            self.sequence += 1
            reply = f"$JS.ACK.S.C.1.{self.sequence}.{self.sequence}.1795811553265218855.0"
            frames.append((self.port.sid, "s.a", reply, None, b""))
        self.feed.delivered(frames, self.now)

    def take(self, count: int = 1):
        return [self.feed.take(self.now) for _ in range(count)]

    def said(self, body: bytes) -> list[int]:
        """Sequences that this was said for since the last look."""
        found = [
            int(each.subject.split(".")[5])
            for each in self.port.commands
            if isinstance(each, Publish) and each.payload == body
        ]
        self.port.commands.clear()
        return found

    def passes(self, seconds: float) -> list[int]:
        """Time goes by from deadline to deadline; gives for whom in-progress was said."""
        end = self.now + seconds
        while (at := self.feed.deadline) is not None and at <= end:
            self.now = max(self.now, at)
            self.feed.ticked(self.now)
        self.now = end
        return self.said(b"+WPI")

    def notices(self):
        told = list(self.port.notices)
        self.port.notices.clear()
        return told

    def down(self) -> None:
        self.port.up = False
        self.port.fences.clear()
        self.feed.link_down(LOST, self.now)

    def up(self) -> None:
        self.port.up = True
        self.port.renew()
        self.feed.link_up(self.now)

    def fence(self) -> None:
        self.feed.fenced(self.port.fences.popleft(), self.now)


def consume(acking: AckOptions = KEEP, **options) -> Rig:
    return Rig(
        Consume(NEXT, ConsumeOptions(expires=3600.0, idle_heartbeat=30.0, acking=acking, **options))
    )


def fetch(acking: AckOptions = KEEP, **options) -> Rig:
    return Rig(
        Fetch(
            NEXT,
            FetchOptions(
                max_messages=10, expires=3600.0, idle_heartbeat=0, acking=acking, **options
            ),
        )
    )


both = pytest.mark.parametrize("make", [consume, fetch])


# ------------------------------------------------------------------ how messages are made


@both
def test_without_wishes_the_bare_factory_makes_the_messages(make):
    rig = make(AckOptions())

    assert rig.feed.message is JsMessage


@both
@pytest.mark.parametrize(
    ("policy", "state"), [("none", MUTE), ("all", CUMULATIVE), ("explicit", OPEN)]
)
def test_a_message_begins_as_the_ack_policy_has_it(make, policy, state):
    rig = make(AckOptions(policy=policy))
    rig.data(2)

    assert [each.state for each in (*rig.take(), *rig.feed.take_all(0.0))] == [state, state]


@pytest.mark.parametrize("message", [OwnMessage, partial(OwnMessage)])
@pytest.mark.parametrize("policy", ["none", "all"])
def test_a_factory_of_the_users_own_makes_them_all_the_same(message, policy):
    acking = AckOptions(policy=policy)
    rig = Rig(Consume(NEXT, ConsumeOptions(acking=acking), message))
    rig.data()
    (taken,) = rig.take()

    assert type(taken) is OwnMessage
    assert taken.state is acking.state
    assert taken.feed is rig.feed


def test_a_message_without_a_state_cannot_be_looked_after():
    rig = Rig(Consume(NEXT, ConsumeOptions(acking=KEEP), lambda frame, feed: frame[4]))
    rig.data()

    with pytest.raises(LocalProtocolError, match="it made bytes"):
        rig.take()


def test_B104_no_ack_goes_to_a_consumer_that_wants_none():
    rig = consume(AckOptions(policy="none", wait=30.0, in_progress=True))
    rig.data(3)
    (message,) = rig.take()

    assert not message.settle_by(lambda _: None)
    assert not message.repeated()
    assert rig.passes(3000.0) == []


def test_with_ack_policy_all_an_ack_settles_what_is_before_it():
    rig = consume(AckOptions(policy="all"))
    rig.data(3)
    first, second, third = rig.take(3)
    assert second.settle_by(lambda _: None)

    assert [each.state for each in (first, second, third)] == [SETTLED, SETTLED, CUMULATIVE]
    assert rig.feed.floor.stream_sequence == 2
    assert rig.feed.floor.pending == (third,)


@both
def test_a_strict_feed_raises_where_a_message_is_settled_twice(make):
    rig = make(AckOptions(strict=True))
    rig.data()
    (message,) = rig.take()
    assert message.settle_by(lambda _: None)

    with pytest.raises(AlreadySettled, match="SETTLED"):
        message.settle_by(lambda _: None)


def test_in_progress_without_a_time_to_go_by_is_refused_when_the_feed_is_made():
    with pytest.raises(InvalidConfig, match="ack_wait"):
        consume(AckOptions(in_progress=True))


# ------------------------------------------------------------------ in progress


@both
def test_what_is_held_is_kept_in_progress_until_it_is_settled(make):
    rig = make()
    rig.data(2)
    first, _ = rig.take(2)

    assert [rig.passes(10.0) for _ in range(3)] == [[], [1, 2], [1, 2]]

    first.state = SETTLED
    assert rig.passes(20.0) == [2, 2]
    assert rig.feed.prolonged == 6


@both
def test_what_waits_at_hand_is_kept_in_progress_too(make):
    rig = make()
    rig.data(3)
    rig.passes(10.0)
    rig.take()

    assert rig.passes(10.0) == [1, 2, 3]


@both
def test_a_message_whose_ack_is_being_confirmed_is_neither_told_nor_forgotten(make):
    rig = make()
    rig.data()
    (message,) = rig.take()
    message.state = ASKED

    assert rig.passes(30.0) == []

    message.state = OPEN
    assert rig.passes(10.0) == [1]


@both
def test_without_a_link_nothing_is_said_and_with_the_next_all_at_once(make):
    rig = make()
    rig.data(2)
    rig.take()
    rig.down()

    assert rig.passes(100.0) == []

    rig.up()
    assert set(rig.said(b"+WPI")) >= {1}


@both
def test_a_beat_that_was_not_due_while_the_link_was_away_stays(make):
    rig = make()
    rig.data()
    rig.take()
    rig.down()
    rig.passes(5.0)
    rig.up()

    assert rig.said(b"+WPI") == []
    assert rig.feed.deadline == 10.0


# ------------------------------------------------------------------ beyond the end


def test_a_consume_outlives_its_end_until_everything_is_settled():
    rig = consume()
    rig.data(2)
    held = rig.take(2)
    rig.feed.closed(None, rig.now)
    rig.fence()

    assert rig.feed.ended
    assert not rig.feed.finished
    assert rig.passes(20.0) == [1, 2]

    for message in held:
        message.state = SETTLED
    assert rig.feed.finished
    assert rig.passes(10.0) == []
    assert rig.feed.deadline is None


def test_a_fetch_outlives_its_end_until_everything_is_settled():
    rig = fetch()
    rig.data(10)
    held = rig.feed.take_all(0.0)

    assert rig.feed.take(0.0) is ENDED
    assert not rig.feed.finished
    assert rig.passes(20.0) == list(range(1, 11))

    for message in held:
        message.state = SETTLED
    assert rig.feed.finished


def test_messages_at_hand_of_an_ended_feed_are_kept_in_progress_as_long_as_they_can_be_taken():
    rig = fetch()
    rig.data(10)

    assert rig.passes(20.0) == list(range(1, 11))
    assert not rig.feed.finished


def test_a_feed_that_keeps_nothing_is_finished_when_it_ends():
    rig = fetch(AckOptions(wait=30.0))
    rig.data(10)
    rig.feed.take_all(0.0)

    assert rig.feed.finished
    assert rig.feed.deadline is None


@both
def test_closing_can_give_back_what_is_in_hand_too(make):
    rig = make(AckOptions(wait=30.0, in_progress=True, nak_held=True))
    rig.data(4)
    taken = rig.take(3)
    taken[0].state = SETTLED
    taken[1].state = ASKED
    rig.notices()
    rig.feed.closed(None, rig.now)

    assert sorted(rig.said(b"-NAK")) == [3, 4]
    assert taken[2].state is SETTLED
    assert not taken[2].settle_by(lambda _: None)
    assert [detail for kind, detail in rig.notices() if kind is PullNotice.RETURNED] == [1, 1]
    assert rig.feed.returned == 2


@both
def test_closing_with_that_wish_and_empty_hands_says_nothing(make):
    rig = make(AckOptions(wait=30.0, in_progress=True, nak_held=True))
    rig.notices()
    rig.feed.closed(None, rig.now)

    assert rig.notices() == []


@both
def test_closing_without_that_wish_leaves_the_users_messages_to_the_user(make):
    rig = make()
    rig.data(2)
    (message,) = rig.take()
    rig.feed.closed(None, rig.now)

    assert rig.said(b"-NAK") == [2]
    assert message.state is OPEN


def test_a_drain_gives_back_nothing_that_is_in_hand():
    rig = consume(AckOptions(wait=30.0, in_progress=True, nak_held=True))
    rig.data(2)
    rig.take()
    rig.feed.told(StopMode.DRAIN, rig.now)
    rig.fence()

    assert rig.said(b"-NAK") == []
    assert isinstance(rig.feed.take(rig.now), JsMessage)
    assert not rig.feed.finished


@both
def test_the_end_of_the_connection_lets_go_of_everything(make):
    rig = make()
    rig.data(2)
    rig.feed.take_all(0.0)
    rig.down()
    rig.feed.closed(ConnectionClosed("the connection was closed"), rig.now)

    assert rig.feed.hands.open == []
    assert rig.feed.finished


# ------------------------------------------------------------------ what waits too long


def test_messages_that_age_are_a_notice_once_a_spell_and_less_is_asked_for():
    rig = consume(AckOptions(wait=30.0), max_messages=8)
    rig.data(8)
    rig.notices()
    rig.passes(29.0)

    assert rig.notices() == []

    rig.passes(1.0)
    assert rig.notices() == [(PullNotice.AGEING, 8)]
    assert rig.feed.engine.credit.messages.limit == 4

    rig.take(2)
    rig.passes(10.0)
    assert rig.notices() == []
    assert rig.feed.engine.credit.messages.limit == 4  # what is at hand was asked for before

    rig.take(2)
    rig.passes(10.0)
    assert rig.feed.engine.credit.messages.limit == 2
    assert rig.said(b"+WPI") == []


def test_a_new_spell_is_a_new_notice():
    rig = consume(AckOptions(wait=30.0), max_messages=1)
    for _ in range(2):
        rig.data()
        rig.passes(40.0)
        rig.take()
        rig.passes(10.0)

    assert [kind for kind, _ in rig.notices()] == [PullNotice.AGEING] * 2
    assert rig.feed.engine.credit.messages.limit == 1


def test_bytes_are_not_bounded_anew_for_a_message_must_fit():
    rig = consume(AckOptions(wait=30.0), max_bytes=1000)
    rig.data()
    rig.passes(30.0)

    assert [kind for kind, _ in rig.notices()] == [PullNotice.AGEING]
    assert rig.feed.engine.credit.size.limit == 1000


def test_who_takes_in_time_is_told_nothing():
    rig = consume(AckOptions(wait=30.0))
    for _ in range(20):
        rig.data(3)
        rig.passes(5.0)
        rig.take(3)

    assert rig.notices() == []


# ------------------------------------------------------------------ put back


@both
@pytest.mark.parametrize("policy", ["explicit", "all"])
def test_a_feed_that_was_put_back_goes_on_with_what_was_in_hand(make, policy):
    rig = make(AckOptions(policy=policy, wait=30.0, in_progress=True))
    rig.data(3)
    rig.take(2)
    rig.passes(10.0)
    other = type(rig.feed)(NEXT, rig.feed.options)
    other.port = rig.port
    other.restore(rig.feed.snapshot())

    assert other.snapshot() == rig.feed.snapshot()
    first, second = other.hands.open
    assert first.feed is other
    if policy == "all":
        assert other.floor.pending == (first, second)

    rig.feed = other
    first.state = SETTLED
    assert rig.passes(10.0) == [2, 3]
    (third,) = rig.take()
    assert third.state is other.acking.state
    assert other.hands.open == [second, third]


def test_putting_back_twice_wraps_the_factory_once():
    rig = consume()
    rig.feed.restore(rig.feed.snapshot())

    assert rig.feed._make is JsMessage
    assert not isinstance(rig.feed.message, partial)


# ------------------------------------------------------------------ a look at the pulls


@both
def test_open_pulls_can_be_looked_at(make):
    rig = make(AckOptions())
    rig.now = 4.0
    rig.data(3)
    (pull,) = rig.feed.pulls(rig.now)

    assert (pull.asked - pull.owed, pull.got, pull.age) == (3, 3, 4.0)
    assert pull.token.startswith("_INBOX.P.1.1.")
    assert (pull.max_bytes, pull.owed_bytes) == (0, 0)
    assert pull.left is not None
    assert pull.left > 3590


def test_there_is_nothing_to_look_at_before_a_pull_and_behind_its_end():
    fresh = Fetch(NEXT, FetchOptions(max_messages=1))
    rig = fetch()
    rig.down()

    assert fresh.pulls(0.0) == ()
    assert rig.feed.pulls(0.0) == ()
