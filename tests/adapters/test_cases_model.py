"""Public cases that turn on what a server does with what it is asked: whole applications on the
model server, in virtual time.

The machines have tests of their own for each of them, with the frames that the case writes down.
Here nothing is written down: the server answers.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from jsproto.errors import RequestTimeout
from jsproto.jetstream.errors import ConsumerDeleted, PullLimitExceeded
from jsproto.jetstream.pull.fetch_options import FetchMode
from jsproto.testing import SimServer
from jsproto_io.asyncio import connect
from jsproto_io.memory import MemoryServer

ELSEWHERE = "nats://nats.example.com:4222"
PULLS = "$JS.API.CONSUMER.MSG.NEXT.S.C"


class World:
    """A model server with a stream and a consumer; a second client counts the pulls."""

    def __init__(self) -> None:
        self.server = MemoryServer()
        self.pulls: list[bytes] = []

    def run(self, story, *, messages=0, config=None, version="2.15.1"):
        self.server = MemoryServer(SimServer(version=version))
        self.server.request("STREAM.CREATE.S", {"name": "S", "subjects": ["s.>"]})
        about = {"durable_name": "C", "ack_policy": "explicit", **(config or {})}
        self.server.request("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": about})
        for each in range(messages):
            self.server.publish("s.a", b"%d" % each)

        async def whole():
            async with connect(ELSEWHERE) as watcher, watcher.subscribe(PULLS) as seen:
                watch = asyncio.create_task(self._watch(seen))
                async with connect(ELSEWHERE) as nc:
                    told = await story(nc, nc.jetstream().stream("S").consumer("C"))
                watch.cancel()
                return told

        return self.server.run(whole)

    async def _watch(self, seen):
        async for msg in seen:
            self.pulls.append(msg.payload)

    def info(self):
        return self.server.request("CONSUMER.INFO.S.C")


@pytest.fixture
def world():
    return World()


async def payloads(feed, count):
    found = []
    while len(found) < count:
        msg = await feed.next(timeout=600.0)
        await msg.ack()
        found.append(int(msg.payload))
    return found


def test_b001_with_room_for_one_message_each_one_asks_for_the_next(world):
    async def story(_nc, c):
        async with c.consume(max_messages=1) as feed:
            return await payloads(feed, 5)

    assert world.run(story, messages=5) == [0, 1, 2, 3, 4]
    assert 5 <= len(world.pulls) <= 6


def test_b004_behind_a_new_leader_the_next_pull_goes_out_soon(world):
    async def story(_nc, c):
        async with c.consume() as feed:
            await asyncio.sleep(0.1)
            world.server.step_down("S", "C")
            await asyncio.sleep(0.1)
            begun = asyncio.get_running_loop().time()
            world.server.publish("s.a", b"0")
            return await payloads(feed, 1), asyncio.get_running_loop().time() - begun

    found, took = world.run(story)
    assert found == [0]
    assert took < 5.0


def test_b007_b008_a_new_link_has_its_pull_at_once(world):
    async def story(_nc, c):
        async with c.consume() as feed:
            await asyncio.sleep(0.1)
            begun = asyncio.get_running_loop().time()
            world.server.cut()
            world.server.publish("s.a", b"0")
            return await payloads(feed, 1), asyncio.get_running_loop().time() - begun

    found, took = world.run(story)
    assert found == [0]
    assert took < 5.0


def test_b010_every_silence_is_followed_by_a_pull(world):
    """The server forgets the pulls without a word, twice."""

    async def story(_nc, c):
        async with c.consume() as feed:
            found = []
            for each in (b"0", b"1"):
                await asyncio.sleep(1.0)
                world.server.step_down("S", "C")
                world.server.freeze(12.0)
                world.server.publish("s.a", each)
                found += await payloads(feed, 1)
            return found

    assert world.run(story) == [0, 1]


def test_b023_a_message_larger_than_all_bytes_asked_for_spins_no_loop(world):
    async def story(_nc, c):
        world.server.publish("s.a", b"x" * 2000)
        async with c.consume(max_bytes=500) as feed:
            with pytest.raises(RequestTimeout):
                await feed.next(timeout=60.0)

    world.run(story)
    assert 1 <= len(world.pulls) <= 20


def test_b026_a_consumer_that_is_deleted_ends_the_reader_at_once(world):
    async def story(_nc, c):
        async with c.consume() as feed:
            await asyncio.sleep(0.1)
            world.server.delete_consumer("S", "C")
            with pytest.raises(ConsumerDeleted):
                await feed.next(timeout=60.0)
            return asyncio.get_running_loop().time()

    assert world.run(story) < 5.0


@pytest.mark.parametrize("version", ["2.9.10", "2.10.26", "2.15.1"])
def test_b029_a_reader_that_finds_the_queue_full_gets_its_turn(world, version):
    """From 2.11 on the server says nothing if the pull asks for heartbeats."""

    async def story(_nc, c):
        async with c.fetch(1, timeout=20.0) as first, c.consume() as feed:
            await asyncio.sleep(30.0)
            assert [msg async for msg in first] == []
            world.server.publish("s.a", b"0")
            return await payloads(feed, 1)

    assert world.run(story, config={"max_waiting": 1}, version=version) == [0]
    assert len(world.pulls) < 60


def test_b037_a_byte_budget_does_not_drift(world):
    async def story(_nc, c):
        async with c.consume(max_bytes=1000) as feed:
            return await payloads(feed, 300)

    assert world.run(story, messages=300) == list(range(300))


def test_b044_what_is_said_to_an_earlier_fetch_does_not_end_the_next(world):
    async def story(_nc, c):
        async with c.fetch(1, timeout=1.0) as first:
            assert [msg async for msg in first] == []
        async with c.fetch(1, timeout=5.0) as second:
            await asyncio.sleep(1.0)
            world.server.publish("s.a", b"0")
            return [int(msg.payload) async for msg in second]

    assert world.run(story) == [0]


def test_b047_no_waiting_behind_others_who_wait_takes_no_time(world):
    async def story(_nc, c):
        async with c.consume(), c.fetch(5, mode=FetchMode.NO_WAIT) as fetch:
            begun = asyncio.get_running_loop().time()
            return [msg async for msg in fetch], asyncio.get_running_loop().time() - begun

    found, took = world.run(story)
    assert found == []
    assert took < 1.0


@pytest.mark.parametrize("version", ["2.9.10", "2.12.8", "2.15.1"])
def test_b049_a_part_of_a_batch_is_a_result(world, version):
    """A new server ends it with 404, an old one with 408."""

    async def story(_nc, c):
        async with c.fetch(5, mode=FetchMode.NO_WAIT) as fetch:
            return [int(msg.payload) async for msg in fetch]

    assert world.run(story, messages=2, version=version) == [0, 1]


def test_b056_asking_for_more_than_the_consumer_allows_fails_at_once(world):
    async def story(_nc, c):
        async with c.fetch(10, timeout=30.0) as fetch:
            with pytest.raises(PullLimitExceeded, match="MaxRequestBatch of 2"):
                await fetch.next()
            return asyncio.get_running_loop().time()

    assert world.run(story, messages=5, config={"max_batch": 2}) < 1.0


@pytest.mark.parametrize("deliver", ["all", "new"])
def test_b065_b068_b086_an_ordered_reader_goes_on_where_it_was(world, deliver):
    """Its consumer is deleted before its first message, and behind it."""

    async def story(nc, _c):
        async with nc.jetstream().ordered_consumer("S", deliver_policy=deliver) as feed:
            await asyncio.sleep(0.1)
            found = []
            for each in (b"10", b"11", b"12"):
                (name,) = set(world.server.request("CONSUMER.NAMES.S")["consumers"]) - {"C"}
                world.server.delete_consumer("S", name)
                world.server.publish("s.a", each)
                found.append(int((await feed.next(timeout=60.0)).payload))
            return found

    assert world.run(story) == [10, 11, 12]


def test_b071_a_reset_is_followed_by_no_second_one(world):
    async def story(nc, _c):
        async with nc.jetstream().ordered_consumer("S") as feed:
            await asyncio.sleep(0.1)
            (name,) = set(world.server.request("CONSUMER.NAMES.S")["consumers"]) - {"C"}
            world.server.delete_consumer("S", name)
            await asyncio.sleep(60.0)
            (second,) = set(world.server.request("CONSUMER.NAMES.S")["consumers"]) - {"C"}
            await asyncio.sleep(60.0)
            assert feed is not None
            return second, set(world.server.request("CONSUMER.NAMES.S")["consumers"]) - {"C"}

    second, later = world.run(story)
    assert later == {second}


def test_b091_flow_control_goes_on_however_slow_the_reader_is(world):
    async def story(nc, _c):
        for each in range(300):
            world.server.publish("s.a", b"%0500d" % each)
        async with nc.jetstream().subscribe(
            "s.>", flow_control=True, idle_heartbeat=timedelta(seconds=5)
        ) as feed:
            found = []
            while len(found) < 300:
                msg = await feed.next(timeout=60.0)
                found.append(int(msg.payload))
                if len(found) % 50 == 0:
                    await asyncio.sleep(7.0)
            return found

    assert world.run(story) == list(range(300))


def test_b101_an_ack_is_confirmed_only_by_the_server(world):
    async def story(_nc, c):
        async with c.fetch(1) as fetch:
            msg = await fetch.next()
            await msg.ack_confirmed()
            return world.info()["ack_floor"]["stream_seq"]

    assert world.run(story, messages=1) == 1
