"""Ranges of streams on real servers: both ways of reading give every message once, and leave nothing behind."""

from __future__ import annotations

import pytest

from jsproto import End, RangePart, Way
from jsproto_io._server import NatsServer
from jsproto_io.blocking import connect

pytestmark = pytest.mark.live


@pytest.fixture(scope="module", params=["2.11.11", "2.15.1"])
def server(request, server_binary_of):
    with NatsServer(server_binary_of(request.param)) as started:
        yield started


@pytest.fixture
def nc(server):
    with connect(server.url) as client:
        yield client


def filled(nc, name, count, **settings):
    stream = nc.jetstream().create_stream(
        name=name, subjects=[f"{name}.*"], allow_direct=True, storage="memory", **settings
    )
    with nc.jetstream().publish_window(results=False) as window:
        for number in range(1, count + 1):
            window.put((f"{name}.{number % 3}", str(number).encode()))
    return stream


def sequences(feed):
    with feed as runs:
        return [sequence for rows in runs for sequence in rows.sequences]


@pytest.mark.parametrize("way", [Way.CONSUMER, Way.DIRECT])
def test_each_part_of_a_plan_gives_its_messages_once(nc, way):
    stream = filled(nc, f"PARTS{way.value}", 2000)
    plan = stream.plan_range(partitions=3, way=way)

    read = [sequences(stream.read_range(part.lo, part.hi, way=plan.way)) for part in plan.parts]

    assert plan.parts == (RangePart(1, 667), RangePart(667, 1334), RangePart(1334, 2001))
    assert read == [list(range(part.lo, part.hi)) for part in plan.parts]
    assert stream.info().state.consumer_count == 0


@pytest.mark.parametrize("way", [Way.CONSUMER, Way.DIRECT])
def test_filters_choose_and_the_end_is_proven(nc, way):
    stream = filled(nc, f"FILTER{way.value}", 300)
    feed = stream.read_range(1, 300, subjects=[f"{stream.name}.1", f"{stream.name}.2"], way=way)

    assert sequences(feed) == [each for each in range(1, 300) if each % 3]
    assert feed.feed.reason is End.FILLED
