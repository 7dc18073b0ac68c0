"""Fetches on a real connection against the model server: what is left over goes back, and nothing
is left behind.
"""

from __future__ import annotations

import pytest

from jsproto.core.connection.connection import Connection
from jsproto.core.connection.events import Notice
from jsproto.core.connection.options import Options
from jsproto.errors import NoResponders
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.pull.consume import Consume, ConsumeOptions
from jsproto.jetstream.pull.fetch import Fetch, FetchMode, FetchOptions
from jsproto.jetstream.status import EndReason
from jsproto.signals import ENDED
from jsproto.testing import Pair, SimServer

NEXT = "$JS.API.CONSUMER.MSG.NEXT.S.C"


class World:
    def __init__(self, messages: int = 0) -> None:
        self.server = SimServer()
        self.server.request("STREAM.CREATE.S", {"name": "S", "subjects": ["s.*"]}, 0.0)
        config = {"durable_name": "C", "ack_policy": "explicit", "ack_wait": 60_000_000_000}
        self.server.request(
            "CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": config}, 0.0
        )
        count = iter(range(1, 10**6))
        self.connection = Connection(
            Options(servers="nats://sim"),
            entropy=lambda n: bytes((next(count) * 7 + i) % 256 for i in range(n)),
            now=0.0,
        )
        self.pair = Pair(self.connection, self.server)
        self.pair.step()
        for _ in range(messages):
            self.server.publish("s.a", b"x", 0.0)

    def fetch(self, subject: str = NEXT, **options: object) -> Fetch[JsMessage]:
        fetch: Fetch[JsMessage] = self.connection.open(
            Fetch(subject, FetchOptions(**options)), self.pair.now
        )
        self.pair.step()
        return fetch

    def consume(self, **options: object) -> Consume[JsMessage]:
        consume: Consume[JsMessage] = self.connection.open(
            Consume(NEXT, ConsumeOptions(**options)), self.pair.now
        )
        self.pair.step()
        return consume

    def take(self, feed: Fetch[JsMessage] | Consume[JsMessage], count: int) -> list[JsMessage]:
        items = [self.connection.take(feed, self.pair.now) for _ in range(count)]
        return [item for item in items if isinstance(item, JsMessage)]

    def close(self, feed: Fetch[JsMessage] | Consume[JsMessage]) -> None:
        self.connection.close(feed, self.pair.now)
        self.pair.step()

    def info(self) -> dict[str, object]:
        return self.server.request("CONSUMER.INFO.S.C", None, self.pair.now)


def test_b031_nothing_is_left_of_a_fetch_however_it_ends():
    world = World()
    for _ in range(100):
        fetch = world.fetch(max_messages=1, expires=0.01)
        world.pair.advance(0.02)
        assert (world.connection.take(fetch, world.pair.now), fetch.reason) == (
            ENDED,
            EndReason.EXPIRED,
        )

    assert world.connection.conversations == 0
    assert [event for event in world.pair.events if isinstance(event, Notice)] == []


def test_a_filled_fetch_costs_one_subscription_one_pull_and_one_unsub_and_no_fence():
    world = World(3)
    before = world.connection.stats.pings_out
    fetch = world.fetch(max_messages=3)

    assert len(world.take(fetch, 4)) == 3
    assert (fetch.reason, world.connection.conversations) == (EndReason.FILLED, 0)
    assert world.connection.stats.pings_out == before


def test_what_is_left_of_a_filled_fetch_goes_back_and_comes_again_at_once():
    world = World(5)
    fetch = world.fetch(max_messages=5)
    for item in world.take(fetch, 2):
        world.connection.settle(item, world.pair.now)
    world.close(fetch)
    again = world.take(world.fetch(max_messages=5, mode=FetchMode.NO_WAIT), 6)

    assert sorted(item.metadata.stream_sequence for item in again) == [3, 4, 5]
    assert fetch.returned == 3


def test_a_finished_fetch_that_is_left_without_a_link_says_nothing_on_the_next():
    world = World(5)
    fetch = world.fetch(max_messages=5)
    world.pair.cut()
    world.pair.step()
    world.connection.close(fetch, world.pair.now)
    assert (fetch.returned, fetch.readable) == (0, 5)
    world.pair.restore()
    world.pair.advance(5.0)

    assert world.connection.connected
    assert world.info()["num_ack_pending"] == 5


def test_leaving_a_consume_gives_back_what_is_at_hand():
    world = World(10)
    consume = world.consume(max_messages=6)
    for item in world.take(consume, 2):
        world.connection.settle(item, world.pair.now)
    world.close(consume)
    world.pair.advance(0.1)

    assert world.connection.conversations == 0
    again = world.take(world.fetch(max_messages=10, mode=FetchMode.NO_WAIT), 11)
    assert sorted(item.metadata.stream_sequence for item in again) == list(range(3, 11))


def test_b032_ending_one_consume_leaves_the_other_alone():
    world = World()
    first, second = world.consume(max_messages=1), world.consume(max_messages=1)
    world.close(first)
    world.pair.drop()
    world.pair.advance(1.0)
    world.server.publish("s.a", b"x", world.pair.now)
    world.pair.step()

    assert len(world.take(second, 1)) == 1
    assert world.connection.conversations == 1


def test_a_pull_of_a_lost_link_that_the_server_still_holds_delivers_nothing_twice():
    world = World()
    consume = world.consume(max_messages=5)
    world.pair.drop()
    world.pair.advance(1.0)
    for _ in range(5):
        world.server.publish("s.a", b"x", world.pair.now)
    world.pair.step()

    assert [item.metadata.num_delivered for item in world.take(consume, 10)] == [1] * 5
    assert consume.asked == 3  # asked when three were taken
    assert world.info()["num_pending"] == 0


def test_an_unknown_consumer_is_one_typed_error():
    world = World()
    fetch = world.fetch("$JS.API.CONSUMER.MSG.NEXT.S.NONE", max_messages=1)

    with pytest.raises(NoResponders, match="NONE"):
        world.connection.take(fetch, world.pair.now)
