"""Ranges of streams on real servers: both ways of reading give every message once, and leave
nothing behind.
"""

from __future__ import annotations

import itertools

import pytest

from jsproto import Headers, InvalidConfig, PermissionViolation, Publish, StreamNotFound
from jsproto.errors import (
    ConfigIgnored,
    ConfigurationRefused,
    DataLost,
    DirectUnavailable,
    JetStreamNotEnabled,
    StreamRecreated,
)
from jsproto.events import RangeNotice
from jsproto.jetstream import EndReason, LostRange, RangePart, ReadMode
from jsproto_io._testing.nats_server import NatsServer
from jsproto_io.blocking import connect
from tests.live.conftest import QUICK

pytestmark = pytest.mark.live

EACH_WAY = pytest.mark.parametrize("way", [ReadMode.CONSUMER, ReadMode.DIRECT])
NAMES = itertools.count(1)


@pytest.fixture(scope="module", params=["2.11.11", "2.15.1"])
def server(request, server_binary_of):
    with NatsServer(server_binary_of(request.param)) as started:
        yield started


@pytest.fixture
def nc(server):
    with connect(server.url, **QUICK) as client:
        yield client


def filled(nc, count, **settings):
    """A stream whose messages hold their numbers, on three subjects in turn, with two headers each."""
    name = f"R{next(NAMES)}"
    settings = {"allow_direct": True, "storage": "memory", **settings}
    stream = nc.jetstream().create_stream(name=name, subjects=[f"{name}.*"], **settings)
    more(nc, stream, 1, count + 1)
    return stream


def more(nc, stream, first, end):
    with nc.jetstream().publish_window(results=False) as window:
        for number in range(first, end):
            headers = {"Number": str(number), "Kind": "test"}
            window.put(
                Publish(
                    f"{stream.name}.{number % 3}", str(number).encode(), headers=Headers(headers)
                )
            )


def sequences(feed):
    with feed as runs:
        return [sequence for rows in runs for sequence in rows.sequences]


@pytest.fixture
def empty(until):
    """``empty(stream)``: soon it has no consumers; a deletion is worked off a moment after it was
    asked for.
    """
    return lambda stream: until(lambda: stream.info().state.consumer_count == 0)


# ------------------------------------------------------------------------------------------------ reading


@EACH_WAY
def test_each_part_of_a_plan_gives_its_messages_once(nc, way, empty):
    stream = filled(nc, 2000)
    plan = stream.plan_range(partitions=3, way=way)

    read = [
        sequences(stream.read_range(part.lo, part.hi, way=plan.way, created=plan.facts.created))
        for part in plan.parts
    ]

    assert plan.parts == (RangePart(1, 667), RangePart(667, 1334), RangePart(1334, 2001))
    assert read == [list(range(part.lo, part.hi)) for part in plan.parts]
    empty(stream)


@EACH_WAY
def test_a_row_says_all_that_is_stored(nc, way):
    stream = filled(nc, 50)
    with stream.read_range(1, 51, way=way) as runs:
        rows = [row for run in runs for row in run]
    stored = stream.messages.by_seq(7)

    assert [row.payload for row in rows] == [str(number).encode() for number in range(1, 51)]
    assert rows[6] == (
        7,
        stored.time.ns,
        f"{stream.name}.1",
        (("Number", "7"), ("Kind", "test")),
        b"7",
    )


def test_a_consumer_can_leave_payloads_out_and_says_their_sizes(nc):
    stream = filled(nc, 20)
    with stream.read_range(1, 21, way=ReadMode.CONSUMER, headers_only=True) as runs:
        rows = [row for run in runs for row in run]

    assert [b""] * 20 == [row.payload for row in rows]
    assert (("Number", "7"), ("Kind", "test"), ("Nats-Msg-Size", "1")) == rows[6].headers
    assert list(range(1, 21)) == [row.sequence for row in rows]


@EACH_WAY
@pytest.mark.parametrize("subjects", [["1"], ["1", "2"], ["*"], ["none"]])
def test_filters_choose_and_the_end_is_proven(nc, way, subjects, empty):
    stream = filled(nc, 300)
    feed = stream.read_range(
        5, 300, subjects=[f"{stream.name}.{each}" for each in subjects], way=way
    )
    wanted = {"1": {1}, "12": {1, 2}, "*": {0, 1, 2}, "none": set()}["".join(subjects)]

    assert sequences(feed) == [each for each in range(5, 300) if each % 3 in wanted]
    assert feed.feed.reason is EndReason.FILLED
    empty(stream)


@EACH_WAY
def test_bounds_hold_and_large_messages_pass(nc, way):
    stream = filled(nc, 20)
    nc.jetstream().publish(f"{stream.name}.9", b"x" * 500_000)
    more(nc, stream, 22, 40)

    assert sequences(
        stream.read_range(1, 40, way=way, max_messages=7, max_bytes=1_050_000)
    ) == list(range(1, 40))


@EACH_WAY
def test_leaving_early_leaves_nothing_behind(nc, way, empty):
    stream = filled(nc, 3000)
    with stream.read_range(1, 3001, way=way, max_messages=100) as runs:
        assert next(runs).first == 1

    empty(stream)


@EACH_WAY
def test_an_exception_of_the_reader_leaves_nothing_behind(nc, way, empty):
    stream = filled(nc, 300)

    def fail():
        with stream.read_range(1, 301, way=way, max_messages=10) as runs:
            return [1 // (rows.last - rows.last) for rows in runs]

    with pytest.raises(ZeroDivisionError):
        fail()
    empty(stream)


# ------------------------------------------------------------------------------------------------ what is missing


@EACH_WAY
def test_deleted_messages_are_no_loss(nc, way):
    stream = filled(nc, 100)
    for sequence in (3, 50, 51, 100):
        stream.messages.delete(sequence)

    assert sequences(stream.read_range(1, 101, way=way)) == [
        each for each in range(1, 101) if each not in {3, 50, 51, 100}
    ]


@EACH_WAY
def test_purged_messages_are_lost(nc, way, empty):
    stream = filled(nc, 100)
    stream.purge(seq=41)
    with pytest.raises(DataLost) as caught:
        sequences(stream.read_range(1, 101, way=way))
    assert (caught.value.first, caught.value.until) == (1, 41)

    feed = stream.read_range(1, 101, way=way, fail_on_loss=False)
    assert sequences(feed) == list(range(41, 101))
    assert feed.feed.lost == [LostRange(1, 41)]
    empty(stream)


@EACH_WAY
def test_messages_that_are_purged_while_others_are_read_are_lost(nc, way):
    stream = filled(nc, 1000)
    events = nc.events()
    with stream.read_range(1, 1001, way=way, max_messages=10, fail_on_loss=False) as runs:
        got = list(next(runs).sequences)
        stream.purge(seq=501)
        got += [sequence for rows in runs for sequence in rows.sequences]

    lost = runs.feed.lost
    assert [each for each in got if each > 500] == list(range(501, 1001))
    assert got == sorted(set(got))
    assert len(lost) == 1
    assert lost[0].until == 501
    assert lost[0].first == max(each for each in got if each < 501) + 1
    nc.close()
    assert [
        told.detail for told in events if getattr(told, "kind", None) is RangeNotice.LOST
    ] == lost


@EACH_WAY
def test_a_limit_that_moves_the_beginning_loses_what_was_not_read(nc, way):
    stream = filled(nc, 100, max_msgs=100)
    plan = stream.plan_range()
    more(nc, stream, 101, 151)

    with pytest.raises(DataLost):
        sequences(stream.read_range(plan.lo, plan.hi, way=way))


@EACH_WAY
def test_a_stream_that_was_made_again(nc, way, empty):
    stream = filled(nc, 100)
    plan = stream.plan_range()
    stream.delete()
    nc.jetstream().create_stream(name=stream.name, subjects=[f"{stream.name}.*"], allow_direct=True)
    more(nc, stream, 1, 101)

    with pytest.raises(StreamRecreated):
        sequences(stream.read_range(plan.lo, plan.hi, way=way, created=plan.facts.created))
    empty(stream)


# ------------------------------------------------------------------------------------------------ retention


def test_an_interest_stream_is_read_by_consumer(nc):
    stream = filled(nc, 0, retention="interest")
    stream.create_consumer(durable_name="KEEPER")
    more(nc, stream, 1, 101)
    plan = stream.plan_range()

    assert plan.way is ReadMode.CONSUMER
    assert sequences(stream.read_range(plan.lo, plan.hi)) == list(range(1, 101))
    assert stream.info().state.messages == 100


def test_a_work_queue_is_read_directly(nc):
    stream = filled(nc, 100, retention="workqueue")
    plan = stream.plan_range()

    assert plan.way is ReadMode.DIRECT
    assert sequences(stream.read_range(plan.lo, plan.hi)) == list(range(1, 101))
    assert stream.info().state.messages == 100
    with pytest.raises(InvalidConfig, match="10084"):
        stream.plan_range(way=ReadMode.CONSUMER)
    with pytest.raises(ConfigurationRefused, match="10084"):
        sequences(stream.read_range(1, 101, way=ReadMode.CONSUMER))


# ------------------------------------------------------------------------------------------------ refusals


def test_a_stream_without_direct_gets(nc):
    stream = filled(nc, 10, allow_direct=False)

    with pytest.raises(DirectUnavailable):
        sequences(stream.read_range(1, 11, way=ReadMode.DIRECT))


@EACH_WAY
def test_a_stream_that_is_not_there(nc, way):
    with pytest.raises(StreamNotFound):
        sequences(nc.jetstream().stream("NOWHERE").read_range(1, 11, way=way))


def test_an_old_server_is_read_by_consumer_and_with_one_filter(server_binary_of, until):
    with NatsServer(server_binary_of("2.9.10")) as old, connect(old.url, **QUICK) as client:
        stream = filled(client, 30)
        names = [f"{stream.name}.1", f"{stream.name}.2"]

        assert sequences(stream.read_range(1, 31)) == list(range(1, 31))
        assert sequences(stream.read_range(1, 31, subjects=names[:1])) == list(range(1, 31, 3))
        with pytest.raises(ConfigIgnored):
            sequences(stream.read_range(1, 31, subjects=names))
        with pytest.raises(DirectUnavailable, match=r"2\.11"):
            sequences(stream.read_range(1, 31, way=ReadMode.DIRECT))
        until(lambda: stream.info().state.consumer_count == 0)


def test_a_server_without_jetstream(server_binary_of, within):
    with (
        NatsServer(server_binary_of("2.15.1"), jetstream=False) as bare,
        connect(bare.url) as client,
        within(20.0),
        pytest.raises(JetStreamNotEnabled),
    ):
        sequences(client.jetstream().stream("S").read_range(1, 11))


PERMISSIONS = """
accounts {{ A {{ jetstream: enabled, users: [
  {{ user: all, password: x }}
  {{ user: some, password: x, permissions: {{ publish: {{ deny: {denied} }} }} }}
] }} }}
"""


@pytest.mark.parametrize(
    ("denied", "way", "goes"),
    [
        ('["$JS.API.CONSUMER.CREATE.>"]', ReadMode.AUTO, True),
        ('["$JS.API.CONSUMER.CREATE.>"]', ReadMode.CONSUMER, False),
        ('["$JS.API.CONSUMER.MSG.NEXT.>"]', ReadMode.AUTO, False),
        ('["$JS.API.DIRECT.GET.>"]', ReadMode.DIRECT, False),
        ('["$JS.API.STREAM.INFO.>"]', ReadMode.AUTO, False),
    ],
)
def test_what_is_not_permitted(server_binary_of, denied, way, goes, empty):
    config = PERMISSIONS.format(denied=denied)
    with (
        NatsServer(server_binary_of("2.15.1"), config=config) as closed,
        connect(closed.url.replace("//", "//all:x@")) as owner,
        connect(closed.url.replace("//", "//some:x@")) as client,
    ):
        stream = filled(owner, 20)
        feed = client.jetstream().stream(stream.name).read_range(1, 21, way=way)
        if goes:
            assert sequences(feed) == list(range(1, 21))
            assert feed.feed.way is ReadMode.DIRECT
        else:
            with pytest.raises(PermissionViolation):
                sequences(feed)
        empty(stream)


# ------------------------------------------------------------------------------------------------ lost links


@EACH_WAY
@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_server_that_is_started_again_costs_nothing_but_time(nc, server, way, end, empty):
    stream = filled(nc, 5000, storage="file")
    got = []
    with stream.read_range(1, 5001, way=way, max_messages=500) as runs:
        for number, rows in enumerate(runs):
            got += rows.sequences
            if number == 2:
                getattr(server, end)()
                server.start()

    assert got == list(range(1, 5001))
    empty(stream)
