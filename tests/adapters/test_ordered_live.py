"""Ordered consumers on real servers: deleted from the side, killed, restarted, and nothing is
missed, repeated or left behind.
"""

from __future__ import annotations

import contextlib
import random
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from jsproto.errors import ApiError, LinkError, NoResponders, RequestTimeout
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.errors import ConfigurationRefused, StreamNotFound
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.ordered.consumer import (
    OrderedConsumer,
    OrderedNotice,
    OrderedOptions,
    SourceKind,
)
from jsproto.jetstream.ordered.view import Messages, View
from jsproto.jetstream.pull.consume_options import ConsumeOptions
from jsproto_io.blocking import Client, connect

pytestmark = pytest.mark.live

VERSIONS = ("2.9.10", "2.11.11", "2.15.1")
QUICK = {"reconnect_wait": 0.05, "reconnect_wait_max": 0.2, "reconnect_jitter": 0.0}
NOT_YET = (NoResponders, RequestTimeout, LinkError, ApiError)

each_version = pytest.mark.parametrize("version", VERSIONS)


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    def over(number: int, frame: object) -> None:
        raise TimeoutError(f"expected it within {seconds} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def stream_of(nc: Client, count: int, name: str = "S", **settings: object):
    """A stream with so many messages, each holding its number."""
    stream = nc.jetstream().create_stream(name=name, subjects=[f"{name}.*"], **settings)
    store(nc, stream, 1, count)
    return stream


def store(nc: Client, stream, first: int, last: int) -> None:
    """Messages that hold these numbers, which are to be their sequences."""
    for number in range(first, last + 1):
        nc.publish(f"{stream.name}.{number % 3}", str(number).encode())
    while stream.info().state.messages < last:
        nc.flush()


def ordered(name: str = "S", view: View | None = None, **options: object) -> OrderedConsumer:
    return OrderedConsumer(ApiSubjects(), name, view or Messages(), OrderedOptions(**options))


def patient(verb):
    """A server that was just started again may say no for a while."""
    while True:
        try:
            return verb()
        except NOT_YET:
            continue


def delete_all(stream) -> int:
    names = patient(stream.consumer_names)
    for name in names:
        with contextlib.suppress(*NOT_YET):
            stream.consumer(name).delete()
    return len(names)


def left(nc: Client, stream) -> tuple[str, ...]:
    """Consumers that the stream keeps, though ``nc`` went on for a while.

    Servers from 2.11 work off the calls of one client beside each other: a list, and a PONG, can
    come before a deletion that was asked for first is done.
    """
    end = time.monotonic() + 10.0
    while (names := patient(stream.consumer_names)) and time.monotonic() < end:
        nc.flush()
    return names


@pytest.mark.parametrize("form", list(SourceKind))
@each_version
def test_every_message_once_in_order_through_deletions_and_kills(start_server, version, form):
    server = start_server(version)
    with within(100), connect(server.url, **QUICK) as nc, connect(server.url, **QUICK) as admin:
        count, step = 20_000, 2_000
        stream = stream_of(admin, step)
        feed = ordered(
            form=form, pulls=ConsumeOptions(max_messages=500, idle_heartbeat=0.5, expires=10.0)
        )
        got, deleted = [], 0
        with nc.stream(feed) as messages:
            while len(got) < count:
                got.append(int(next(messages).payload))
                at = len(got)
                if at % step == step - 100:
                    deleted += delete_all(stream)
                if at in {3 * step, 7 * step}:
                    server.kill()
                    server.restart()
                    patient(stream.info)
                if at % step == 0 and at < count:
                    store(admin, stream, at + 1, at + step)

        assert got == list(range(1, count + 1))
        assert deleted >= 9
        assert 10 <= feed.incarnation.count <= 30
        assert left(nc, stream) == ()


@pytest.mark.parametrize("form", list(SourceKind))
@each_version
def test_new_only_reset_before_its_first_message_loses_nothing(start_server, version, form):
    server = start_server(version)
    with within(60), connect(server.url, **QUICK) as nc, connect(server.url, **QUICK) as admin:
        stream = stream_of(admin, 50)
        feed = ordered(
            form=form,
            config=ConsumerConfig(deliver_policy="new"),
            pulls=ConsumeOptions(idle_heartbeat=1.0, expires=5.0),
        )
        with nc.stream(feed) as messages:
            while not feed.position.caught_up:
                nc.flush()
            server.kill()
            server.restart()
            for number in range(51, 61):
                patient(
                    lambda number=number: admin.jetstream().publish(
                        "S.a", str(number).encode(), msg_id=str(number)
                    )
                )
            got = [int(next(messages).payload) for _ in range(10)]

            assert got == list(range(51, 61))
            delete_all(stream)
            admin.jetstream().publish("S.a", b"61")
            assert int(next(messages).payload) == 61
            assert feed.incarnation.count >= 3
        assert left(nc, stream) == ()


@each_version
def test_a_new_only_consumer_of_an_empty_stream_is_anchored_in_time(start_server, version):
    server = start_server(version)
    with within(60), connect(server.url, **QUICK) as nc, connect(server.url, **QUICK) as admin:
        stream = stream_of(admin, 0)
        feed = ordered(
            config=ConsumerConfig(deliver_policy="new"),
            pulls=ConsumeOptions(idle_heartbeat=1.0, expires=5.0),
        )
        with nc.stream(feed) as messages:
            while not feed.position.caught_up:
                nc.flush()
            assert delete_all(stream) == 1
            admin.jetstream().publish("S.a", b"1")
            assert int(next(messages).payload) == 1


@pytest.mark.parametrize("policy", ["last_per_subject", "last", "by_start_sequence", "all"])
def test_every_start_reads_what_it_says(nats_server, policy):
    name = f"ORDERED_{policy}"
    with within(30), connect(nats_server.url) as nc:
        stream = stream_of(nc, 9, name)
        config = ConsumerConfig(
            deliver_policy=policy, opt_start_seq=4 if policy == "by_start_sequence" else None
        )
        with nc.stream(ordered(name, config=config, until_caught_up=True)) as messages:
            got = [message.metadata.stream_sequence for message in messages]
        expected = {
            "last_per_subject": [7, 8, 9],
            "last": [9],
            "by_start_sequence": [4, 5, 6, 7, 8, 9],
            "all": list(range(1, 10)),
        }

        assert got == expected[policy]
        assert left(nc, stream) == ()


@pytest.mark.parametrize("form", list(SourceKind))
def test_ack_subjects_of_eleven_tokens_are_read(start_server, form):
    server = start_server(config="feature_flags { js_ack_fc_v2: true }\n")
    with within(30), connect(server.url) as nc:
        stream_of(nc, 100)
        with nc.stream(ordered(form=form, until_caught_up=True)) as messages:
            read = list(messages)

        assert [message.metadata.stream_sequence for message in read] == list(range(1, 101))
        assert {message.reply.count(".") for message in read} == {10}
        assert not any(message.ack() for message in read)


@each_version
def test_flow_control_bounds_what_waits_for_a_slow_reader_and_never_stalls(start_server, version):
    server = start_server(version)
    with within(60), connect(server.url) as nc:
        count, size = 20_000, 1000
        stream = nc.jetstream().create_stream(name="S", subjects=["S.*"], storage="memory")
        for number in range(count):
            nc.publish("S.a", b"%0*d" % (size, number))
        nc.flush()
        feed = ordered(form=SourceKind.PUSH, until_caught_up=True)
        got, most = 0, 0
        with nc.stream(feed) as messages:
            for message in messages:
                assert int(message.payload) == got
                got += 1
                if got % 1000 == 0:
                    nc.flush()  # everything that the server may send is here
                    most = max(most, feed.readable)

        assert got == count
        # The first window is 2 MiB and doubles with each answer up to 32 MiB (server consumer.go,
        # pcsw).
        assert feed.intake.flow.answers >= 2
        assert most * size <= 33_554_432
        assert feed.resets == 0
        assert left(nc, stream) == ()


class Totals(View[int]):
    """The running total of the numbers, and a nought when it is that of all that was there."""

    __slots__ = ("total",)

    def __init__(self) -> None:
        self.total = 0

    def see(self, msg: JsMessage) -> tuple[int, ...]:
        self.total += int(msg.payload)
        return (self.total,)

    def caught_up(self) -> tuple[int, ...]:
        return (0,)

    @property
    def done(self) -> bool:
        return self.total >= 15


def test_a_view_sees_the_stream_and_says_when_it_is_enough(nats_server):
    with within(30), connect(nats_server.url) as nc:
        stream = stream_of(nc, 4, "ORDERED_VIEW")
        with nc.stream(ordered("ORDERED_VIEW", Totals())) as totals:
            first = [next(totals) for _ in range(5)]
            nc.jetstream().publish("ORDERED_VIEW.a", b"5")
            rest = list(totals)

        assert (first, rest) == ([1, 3, 6, 10, 0], [15])
        assert left(nc, stream) == ()


def test_consumers_that_are_deleted_again_and_again_are_not_created_at_line_rate(start_server):
    server = start_server()
    with within(60), connect(server.url) as nc, connect(server.url) as admin:
        stream = stream_of(admin, 5)
        feed = ordered()
        with nc.stream(feed) as messages:
            for _ in range(5):
                next(messages)
            for _ in range(200):
                delete_all(stream)
                nc.flush()

            assert feed.incarnation.count <= 8
            admin.jetstream().publish("S.a", b"6")
            assert int(next(messages).payload) == 6


def test_a_stream_that_is_not_there_and_one_that_wants_acks_are_typed_errors(nats_server):
    with within(30), connect(nats_server.url) as nc:
        nc.jetstream().create_stream(
            name="ORDERED_WORK", subjects=["work.*"], retention="workqueue"
        )
        with nc.stream(ordered("ORDERED_NONE")) as messages, pytest.raises(StreamNotFound):
            next(messages)
        with nc.stream(ordered("ORDERED_WORK")) as messages, pytest.raises(ConfigurationRefused):
            next(messages)


def test_a_stream_that_is_deleted_ends_it(start_server):
    server = start_server()
    with within(30), connect(server.url) as nc:
        stream = stream_of(nc, 3)
        feed = ordered(pulls=ConsumeOptions(idle_heartbeat=0.5, expires=1.0))
        with nc.stream(feed) as messages:
            assert [int(next(messages).payload) for _ in range(3)] == [1, 2, 3]
            stream.delete()
            with pytest.raises(StreamNotFound):
                next(messages)


@pytest.mark.parametrize("way", ["close", "drain", "connection"])
def test_whichever_way_it_ends_no_consumer_is_left(start_server, way):
    server = start_server()
    with within(30), connect(server.url) as admin:
        stream = stream_of(admin, 10)
        with connect(server.url) as nc:
            feed = nc.stream(ordered())
            with feed as messages:
                assert int(next(messages).payload) == 1
                assert len(stream.consumer_names()) == 1
                if way == "connection":
                    nc.close()
                elif way == "drain":
                    messages.drain()
                    assert len(list(messages)) == 9
            if way != "connection":
                nc.flush()
        assert left(admin, stream) == ()


def test_notices_say_what_happened(start_server):
    server = start_server()
    with within(30), connect(server.url) as nc, connect(server.url) as admin:
        stream = stream_of(admin, 2)
        events = nc.events()
        with nc.stream(ordered()) as messages:
            next(messages)
            next(messages)
            delete_all(stream)
            admin.jetstream().publish("S.a", b"3")
            next(messages)
            kinds = []
            while OrderedNotice.RESET not in kinds:
                kinds.append(getattr(next(events), "kind", None))
        assert OrderedNotice.CAUGHT_UP in kinds


@pytest.mark.parametrize("replay", ["instant", "original"])
@pytest.mark.parametrize("form", list(SourceKind))
def test_a_consumer_that_is_deleted_when_it_waits_is_noticed_whatever_it_replays(
    nats_server, form, replay
):
    name = f"DELETED{form.value}{replay.upper()}"
    with within(60), connect(nats_server.url) as nc, connect(nats_server.url) as admin:
        stream = stream_of(nc, 3, name)
        feed = ordered(
            name,
            form=form,
            config=ConsumerConfig(replay_policy=replay),
            pulls=ConsumeOptions(max_messages=10, idle_heartbeat=0.5, expires=30.0),
        )
        with nc.stream(feed) as messages:
            got = [int(next(messages).payload) for _ in range(3)]
            heard = feed.intake.liveness.since
            while feed.intake.liveness.since == heard or not feed.intake.liveness.watching:
                nc.flush()  # until the first heartbeat has come
            delete_all(stream)
            begun = time.monotonic()
            store(admin, stream, 4, 4)
            got.append(int(next(messages).payload))

        assert got == [1, 2, 3, 4]
        assert time.monotonic() - begun < 10.0


# ------------------------------------------------------------------ beside a writer that never pauses


@contextlib.contextmanager
def busy(url: str, subjects: list[str]) -> Iterator[None]:
    """Somebody writes on these subjects without a pause."""
    over = threading.Event()

    def write() -> None:
        with connect(url) as nc:
            while not over.is_set():
                for subject in random.sample(subjects, k=min(50, len(subjects))):
                    nc.publish(subject, b"again")
                nc.flush()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        over.set()
        writer.join()


def test_a_consumer_that_is_deleted_in_a_replay_beside_a_busy_writer_is_noticed(nats_server):
    """The replay never comes to rest, so the server never sends a heartbeat."""
    name = "REPLAYED"
    with within(60), connect(nats_server.url) as nc, busy(nats_server.url, [f"{name}.1"]):
        stream = nc.jetstream().create_stream(name=name, subjects=[f"{name}.*"])
        feed = ordered(
            name,
            form=SourceKind.PUSH,
            config=ConsumerConfig(replay_policy="original"),
            pulls=ConsumeOptions(idle_heartbeat=0.5, expires=30.0),
        )
        with nc.stream(feed) as messages:
            got = [next(messages).metadata.stream_sequence for _ in range(50)]
            delete_all(stream)
            while feed.resets == 0:
                got.append(next(messages).metadata.stream_sequence)
            got += [next(messages).metadata.stream_sequence for _ in range(50)]

    assert got == list(range(1, len(got) + 1))


@pytest.mark.parametrize("history", [1, 5, -1])
@pytest.mark.parametrize("form", list(SourceKind))
@each_version
def test_a_listing_beside_a_busy_writer_ends_and_misses_no_subject_n001(
    start_server, version, form, history
):
    server = start_server(version)
    with within(60), connect(server.url) as nc:
        stream = nc.jetstream().create_stream(
            name="KEYS", subjects=["k.*"], max_msgs_per_subject=history
        )
        subjects = [f"k.{number}" for number in range(300)]
        for subject in subjects:
            nc.publish(subject, b"first")
        while stream.info().state.messages < 300:
            nc.flush()
        with busy(server.url, subjects):
            for bound in (5, 50, 500):
                while (info := stream.info()).state.last_seq < 1000:
                    pass
                with stream.read(
                    deliver_policy="last_per_subject", form=form, max_messages=bound
                ) as latest:
                    seen = {msg.subject: msg.metadata.stream_sequence for msg in latest}

                assert sorted(seen) == sorted(subjects)
                assert max(seen.values()) > info.state.last_seq - 300

    assert latest.feed.census.seen == set()


@pytest.mark.parametrize("form", list(SourceKind))
@each_version
def test_a_read_beside_a_busy_writer_gives_what_was_there_at_the_beginning(
    start_server, version, form
):
    server = start_server(version)
    with within(60), connect(server.url) as nc:
        stream = stream_of(nc, 300, "BUSY")
        with busy(server.url, ["BUSY.1", "BUSY.2"]):
            while stream.info().state.last_seq < 1000:
                pass
            before = stream.info().state.last_seq
            with stream.read(form=form) as messages:
                got = [msg.metadata.stream_sequence for msg in messages]
            after = stream.info().state.last_seq

        assert got == list(range(1, len(got) + 1))
        assert before <= len(got) <= after


# ------------------------------------------------------------------ links that come and go


@pytest.mark.parametrize("form", list(SourceKind))
def test_flapping_links_make_few_consumers_and_leave_none(nats_server, form):
    name = f"FLAPS{form.value}"
    with within(60), connect(nats_server.url, **QUICK) as nc, connect(nats_server.url) as admin:
        stream = stream_of(admin, 3, name)
        feed = ordered(name, form=form, pulls=ConsumeOptions(max_messages=10, idle_heartbeat=1.0))
        with nc.stream(feed) as messages:
            got = [int(next(messages).payload) for _ in range(3)]
            begun = time.monotonic()
            for _ in range(30):
                nc.reconnect()
                nc.flush()
            took = time.monotonic() - begun
            store(admin, stream, 4, 4)
            got.append(int(next(messages).payload))
            while stream.consumer_names() != (feed.incarnation.name,):
                nc.flush()
        while not feed.finished:  # pushed messages may come before the answer to the creation
            nc.flush()

        assert got == [1, 2, 3, 4]
        assert feed.incarnation.count <= 4 + took / 0.25
        assert left(admin, stream) == ()


def test_a_pulled_replay_keeps_its_pace_over_gaps_longer_than_a_pull(nats_server):
    """The server answers no pull while it holds a message back, so an expired pull proves nothing."""
    name = "GAPPED"
    with within(60), connect(nats_server.url) as nc:
        stream = nc.jetstream().create_stream(name=name, subjects=[f"{name}.*"])
        store(nc, stream, 1, 1)
        begun = time.monotonic()
        while time.monotonic() - begun < 3.5:
            nc.flush()
        store(nc, stream, 2, 2)
        feed = ordered(
            name,
            config=ConsumerConfig(replay_policy="original"),
            pulls=ConsumeOptions(max_messages=10, idle_heartbeat=0.5, expires=1.0),
        )
        with nc.stream(feed) as messages:
            first = int(next(messages).payload)
            at = time.monotonic()
            second = int(next(messages).payload)
            gap = time.monotonic() - at

    assert (first, second, feed.resets) == (1, 2, 0)
    assert gap > 3.0
