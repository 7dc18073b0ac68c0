"""Push subscriptions on a real server: flow control under every kind of reader, lost answers,
deleted consumers, other links.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from time import monotonic

import pytest

from jsproto.core.connection.events import Notice
from jsproto.core.conversation.message import Message
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.push.base import PushNotice
from jsproto.jetstream.push.options import PushOptions
from jsproto.jetstream.push.subscribe import Subscribe
from jsproto.jetstream.push.subscription import PushState, PushSubscription
from jsproto.signals import NEED_DATA
from jsproto.wire.commands import Publish
from jsproto_io.blocking import Client, connect

pytestmark = pytest.mark.live

API = ApiSubjects()
HEARTBEAT = timedelta(milliseconds=200)
SIZE = 200
#: Bytes that the server lets go unanswered at most (32 MiB); it begins with 2 MiB and doubles with
#: each answer.
WINDOW = 32 * 1024 * 1024


@pytest.fixture
def nc(nats_server) -> Iterator[Client]:
    with connect(nats_server.url) as client:
        client.jetstream().create_stream(name="PUSHED", subjects=["pushed.>"], storage="memory")
        yield client
        client.jetstream().delete_stream("PUSHED")


def fill(nc: Client, count: int) -> None:
    with nc.jetstream().publish_window(max_pending=2000, results=False) as window:
        for number in range(count):
            window.put(("pushed.a", b"%0200d" % number))
        window.drain()


class Watched(PushSubscription[JsMessage]):
    """Notes what goes out beside what was taken, and loses some of it on purpose."""

    __slots__ = ("lose", "lost", "said")

    def __init__(
        self, options: PushOptions | None = None, *, lose: int = 0, **config: object
    ) -> None:
        settings = ConsumerConfig(
            **{"ack_policy": "none", "flow_control": True, "idle_heartbeat": HEARTBEAT, **config}
        )
        super().__init__(API, Subscribe(subject="pushed.>", settings=settings), options)
        self.lose = lose
        self.lost: list[str] = []
        self.said: list[str] = []

    def _pass(self) -> None:
        super()._pass()
        kept = []
        for command in self.port.commands:
            if isinstance(command, Publish) and command.subject.startswith("$JS.FC."):
                if len(self.lost) < self.lose:
                    self.lost.append(command.subject)
                    continue
                self.said.append(command.subject)
            kept.append(command)
        self.port.commands = kept


def read(nc: Client, sub: Watched, count: int, *, pause: int = 0, all_at_once: bool = False) -> int:
    """Take so many; every ``pause`` messages let more come in. Gives the most bytes that were ever
    at hand.
    """
    numbers: list[int] = []
    most = 0
    with nc.stream(sub) as feed:
        if all_at_once:
            for run in feed.batches():
                numbers += [int(message.payload) for message in run]
                most = max(most, sub.readable)
                if len(numbers) >= count:
                    break
        else:
            for message in feed:
                numbers.append(int(message.payload))
                if pause and len(numbers) % pause == 0:
                    nc.flush()
                    most = max(most, sub.readable)
                if len(numbers) >= count:
                    break
        assert numbers == list(range(count))
        feed.stop()
        assert list(feed) == []
    return most * SIZE


@pytest.mark.parametrize(
    "reader", [{}, {"pause": 100}, {"all_at_once": True}], ids=["parked", "slow", "runs"]
)
def test_flow_control_never_stalls_and_each_question_is_answered_once(nc, reader):
    count = 30_000
    fill(nc, count)
    sub = Watched()

    assert read(nc, sub, count, **reader) <= WINDOW
    assert len(sub.said) == len(set(sub.said)) >= 2
    assert sub.dropped == 0


def test_answers_that_are_lost_are_repaired_by_the_stalled_header(nc):
    count = 30_000
    fill(nc, count)
    sub = Watched(lose=2)
    read(nc, sub, count, all_at_once=True)

    assert len(sub.lost) == 2
    assert set(sub.lost) <= set(sub.said)


def test_where_the_answer_acknowledges_a_work_queue_runs_empty(nats_server, eventually):
    with connect(nats_server.url) as nc:
        js = nc.jetstream()
        js.create_stream(
            name="PUSHED_Q", subjects=["pushedq.>"], storage="memory", retention="workqueue"
        )
        settings = ConsumerConfig(
            ack_policy="flow_control",
            flow_control=True,
            idle_heartbeat=timedelta(seconds=1),
            max_ack_pending=10,
        )
        for number in range(40):
            js.publish("pushedq.a", b"%d" % number)
        sub: PushSubscription[JsMessage] = PushSubscription(
            API, Subscribe(subject="pushedq.>", settings=settings)
        )
        with nc.stream(sub) as feed:
            assert [int(next(feed).payload) for _ in range(40)] == list(range(40))
            assert (
                nc._driver.take(sub, monotonic()) is NEED_DATA
            )  # the reader comes back: it is done with the last one
            eventually(lambda: js.stream_info("PUSHED_Q").state.messages == 0)
        js.delete_stream("PUSHED_Q")


def test_a_consumer_that_is_deleted_falls_silent_and_the_alarm_says_so(nc, eventually):
    heard = nc.events()
    sub = Watched(flow_control=None)
    with nc.stream(sub):
        eventually(lambda: nc.flush() and sub.state is PushState.BOUND)
        nc.jetstream().stream("PUSHED").consumer(sub.info.name).delete()
        eventually(lambda: nc.flush() and sub.liveness.silent)
    told = []
    while not told or told[-1].kind is not PushNotice.HEARTBEAT_MISSED:
        event = next(heard)
        if isinstance(event, Notice):
            told.append(event)
    heard.close()

    assert [event.kind for event in told] == [PushNotice.BOUND, PushNotice.HEARTBEAT_MISSED]


def test_a_subscription_goes_on_with_the_next_link(nc):
    sub: PushSubscription[JsMessage] = PushSubscription(
        API,
        Subscribe(subject="pushed.>", settings=ConsumerConfig(idle_heartbeat=HEARTBEAT)),
        PushOptions(auto_ack=True),
    )
    with nc.stream(sub) as feed:
        nc.jetstream().publish("pushed.a", b"1")
        assert next(feed).payload == b"1"
        nc.reconnect()
        nc.jetstream().publish("pushed.a", b"2")
        assert next(feed).payload == b"2"
        first = sub.info.name
        feed.stop()
        assert list(feed) == []

    assert first not in nc.jetstream().stream("PUSHED").consumer_names()


def test_a_raw_reader_gets_the_statuses(nc):
    sub = Watched(PushOptions(raw=True), flow_control=None)
    with nc.stream(sub) as feed:
        status = next(feed)

    assert isinstance(status, Message)
    assert status.status == (100, "Idle Heartbeat")


def test_closing_the_connection_takes_our_consumer_with_it(nc, nats_server, eventually):
    with connect(nats_server.url) as other:
        sub = Watched(flow_control=None)
        with other.stream(sub):
            eventually(lambda: other.flush() and sub.state is PushState.BOUND)
            assert nc.jetstream().stream("PUSHED").consumer_names() != ()
            other.close()
    eventually(lambda: nc.jetstream().stream("PUSHED").consumer_names() == ())
