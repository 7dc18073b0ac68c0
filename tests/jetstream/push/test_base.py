"""The base of what is pushed to, as whoever derives from it sees it: what is told, when, and what a
clean slate is.
"""

from __future__ import annotations

import pytest

from jsproto.core.conversation.conversation import Port
from jsproto.core.pubsub.subscription import Overflow, SlowConsumer
from jsproto.errors import JsprotoError
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.timestamps import Duration
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.gaps import Gap
from jsproto.jetstream.push.base import PushFeed, PushNotice, PushProgress
from jsproto.jetstream.push.options import PushOptions
from jsproto.signals import NEED_DATA, Ended, NeedData
from jsproto.wire.commands import Publish

DELIVER = "d.x"
SECOND = Duration.from_ns(1_000_000_000)


class Feed(PushFeed[JsMessage]):
    """Notes what it is told, and when."""

    def __init__(
        self, options: PushOptions | None = None, message: object = None, **config: object
    ) -> None:
        super().__init__(options or PushOptions(), message)
        self.told_of: list[tuple[object, float]] = []
        self.port = Port()
        self.port.subscribe(DELIVER)
        self.port.commands.clear()
        self.expect(DELIVER, 1)
        self.agreed(ConsumerConfig(deliver_subject=DELIVER, **config))
        self.watch(0.0)

    def failed(self, error: JsprotoError, now: float) -> None:
        self.told_of.append((type(error), now))

    def gap(self, gap: Gap, now: float) -> None:
        self.told_of.append((gap, now))

    def nothing_left(self, now: float) -> NeedData | Ended:
        self.told_of.append(("nothing left", now))
        return super().nothing_left(now)

    def data(self, *numbers: int, sid: str = ""):
        return [
            (
                sid or self.port.sid,
                "s.a",
                f"$JS.ACK.S.C.1.{n + 100}.{n}.1795811553265218855.0",
                None,
                b"x",
            )
            for n in numbers
        ]

    def status(self, text: str, reply: str = "", headers: str = ""):
        return (self.port.sid, DELIVER, reply, f"NATS/1.0 {text}\r\n{headers}\r\n".encode(), b"")

    def heartbeat(self, consumer: str, more: str = ""):
        return self.status("100 Idle Heartbeat", "", f"Nats-Last-Consumer: {consumer}\r\n{more}")

    @property
    def acked(self) -> list[str]:
        """Consumer sequences of what was published to, which is nothing but acknowledgements here."""
        return [
            each.subject.split(".")[6] for each in self.port.commands if isinstance(each, Publish)
        ]


# ------------------------------------------------------------------ who derives is told when it was


def test_a_gap_among_messages_or_named_by_a_heartbeat_is_told_with_its_moment():
    feed = Feed(idle_heartbeat=SECOND)
    feed.delivered(feed.data(2), 1.0)
    feed.delivered([*feed.data(4), feed.heartbeat("4"), *feed.data(6)], 2.0)
    feed.delivered([feed.heartbeat("7")], 3.0)

    assert feed.told_of == [(Gap(1, 2), 1.0), (Gap(3, 4), 2.0), (Gap(5, 6), 2.0), (Gap(7, 8), 3.0)]


def test_a_message_that_was_stored_on_the_deliver_subject_is_watched_too():
    feed = Feed()
    sid, _, reply, _, body = feed.data(5)[0]
    feed.delivered([(sid, DELIVER, reply, None, body)], 1.5)

    assert (feed.readable, feed.told_of) == (1, [(Gap(1, 5), 1.5)])


def test_a_buffer_that_may_not_drop_and_a_status_that_ends_are_told_with_their_moment():
    feed = Feed(PushOptions(max_messages=1, policy=Overflow.FAIL))
    feed.delivered(feed.data(1, 2), 1.0)
    feed.delivered([feed.status("409 Whatever")], 2.0)

    (slow, first), (_, second) = feed.told_of
    assert (slow, first, second) == (SlowConsumer, 1.0, 2.0)


def test_who_takes_all_of_nothing_is_asked_whether_it_was_the_last():
    feed = Feed()

    assert feed.take(1.0) is NEED_DATA
    assert feed.take_all(2.0) is NEED_DATA
    assert feed.told_of == [("nothing left", 1.0), ("nothing left", 2.0)]


# ------------------------------------------------------------------ what is counted and said


def test_every_frame_of_another_sid_is_counted():
    feed = Feed()
    feed.delivered(feed.data(1, 2, sid="99"), 1.0)
    feed.delivered(feed.data(3, sid="99"), 1.0)

    assert (feed.strays, feed.readable) == (3, 0)


def test_what_is_neither_message_nor_status_is_told_by_its_subject():
    feed = Feed()
    feed.delivered(
        [(feed.port.sid, DELIVER, "", None, b"word"), feed.status("100 FlowControl Request")], 1.0
    )

    assert feed.strays == 2
    assert feed.port.notices == [(PushNotice.STRAY, DELIVER)] * 2


def test_silence_is_told_with_what_was_expected_and_for_how_long_nothing_came():
    feed = Feed(idle_heartbeat=SECOND)
    feed.judge_silence(3.0)
    ((kind, error),) = feed.port.notices

    assert kind is PushNotice.HEARTBEAT_MISSED
    assert str(error) == "expected a heartbeat every 1 s on d.x, nothing came for 3 s"


def test_a_heartbeat_says_how_far_the_server_is():
    feed = Feed()
    feed.delivered([feed.heartbeat("0")], 1.0)
    assert feed.position == PushProgress(0, 0)
    feed.delivered([feed.heartbeat("0", "Nats-Last-Stream: 18446744073709551615\r\n")], 1.0)
    assert feed.position == PushProgress(0, 2**64 - 1)
    feed.delivered([feed.heartbeat("many")], 1.0)

    assert feed.position == PushProgress(0, 2**64 - 1)


@pytest.mark.parametrize(
    "how", [{"options": PushOptions(watch_gaps=False)}, {"deliver_group": "q"}]
)
def test_who_does_not_watch_is_not_told_of_what_a_heartbeat_names(how):
    feed = Feed(**how)
    feed.delivered([feed.heartbeat("7")], 1.0)

    assert (feed.told_of, feed.position) == ([], PushProgress(7, 0))


# ------------------------------------------------------------------ silence under replay original


def test_under_replay_original_the_first_heartbeat_begins_the_watch():
    feed = Feed(idle_heartbeat=SECOND, replay_policy="original")
    feed.delivered(feed.data(1), 5.0)
    assert feed.liveness.deadline is None
    feed.delivered([feed.heartbeat("1")], 6.0)

    assert feed.liveness.deadline == 9.0


@pytest.mark.parametrize("heard", [True, False])
def test_who_expects_nothing_any_more_is_not_made_to_by_a_heartbeat(heard):
    feed = Feed(idle_heartbeat=SECOND, replay_policy="original")
    if heard:
        feed.delivered([feed.heartbeat("0")], 5.0)
    feed.unwatch()
    feed.delivered([feed.heartbeat("0")], 6.0)

    assert feed.liveness.deadline is None


# ------------------------------------------------------------------ acknowledging by itself


def test_what_was_acknowledged_is_not_kept():
    feed = Feed(PushOptions(auto_ack=True))
    feed.delivered(feed.data(1, 2), 1.0)
    feed.take(1.0)
    feed.take(1.0)
    assert (feed.acked, feed.snapshot()["owed"]) == (["1"], [])
    feed.take(1.0)

    assert (feed.acked, feed.snapshot()["owed"], feed.snapshot()["held"]) == (["1", "2"], [], [])


def test_a_message_in_the_readers_hand_is_nobodys_after_a_clean_slate():
    feed = Feed(PushOptions(auto_ack=True))
    feed.delivered(feed.data(1, 2), 1.0)
    feed.take(1.0)
    assert len(feed.clear()) == 1
    feed.take(1.0)

    assert feed.acked == []


def test_messages_that_are_restored_are_made_through_the_same_feed():
    feed = Feed(PushOptions(auto_ack=True))
    feed.delivered(feed.data(1), 1.0)
    feed.take(1.0)
    made = []
    again = Feed(
        PushOptions(auto_ack=True),
        lambda frame, by: made.append((frame, by)) or JsMessage(frame, by),
    )
    again.restore(feed.snapshot())

    assert made == [(feed.data(1)[0], again)]
    assert again.snapshot()["held"] == feed.snapshot()["held"]
