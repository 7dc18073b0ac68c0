"""Messages in the user's hands, on a real connection against the model server with its own clock of
``ack_wait``.
"""

from __future__ import annotations

from random import Random

import pytest

from jsproto.core.connection.connection import Connection
from jsproto.core.connection.events import Closed
from jsproto.core.connection.options import Options
from jsproto.core.conversation.conversation import StopMode
from jsproto.jetstream.delivery.ack_options import AckOptions
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.pull.ack_next import AckNext
from jsproto.jetstream.pull.consume import Consume, ConsumeOptions
from jsproto.testing import Cutter, Pair, SimServer
from jsproto.testing.simserver import PROFILES

NEXT = "$JS.API.CONSUMER.MSG.NEXT.S.C"
ACK_WAIT = 6.0
KEEP = AckOptions(wait=ACK_WAIT, in_progress=True)
VERSIONS = sorted(PROFILES)


class Desk:
    def __init__(
        self, seed: int = 1, acking: AckOptions = KEEP, kind=Consume, **options: object
    ) -> None:
        self.draw = Random(seed)
        self.server = SimServer(version=VERSIONS[seed % len(VERSIONS)], seed=seed)
        self.server.request("STREAM.CREATE.S", {"name": "S", "subjects": ["s.*"]}, 0.0)
        config = {"durable_name": "C", "ack_policy": "explicit", "ack_wait": int(ACK_WAIT * 1e9)}
        self.server.request(
            "CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": config}, 0.0
        )
        self.connection = Connection(
            Options(servers="nats://sim", drain_timeout=1000.0),
            entropy=self.draw.randbytes,
            now=0.0,
        )
        self.pair = Pair(self.connection, self.server, cutter=Cutter(seed, longest=200))
        self.pair.step()
        self.feed = self.connection.open(
            kind(NEXT, ConsumeOptions(acking=acking, **options)), self.pair.now
        )
        self.pair.step()

    def publish(self, count: int) -> None:
        for _ in range(count):
            self.server.publish("s.a", b"x", self.pair.now)
        self.pair.step()

    def take(self, most: int = 1000) -> list[JsMessage]:
        taken = []
        while len(taken) < most and isinstance(
            item := self.connection.take(self.feed, self.pair.now), JsMessage
        ):
            taken.append(item)
        self.pair.step()
        return taken

    def ack(self, message: JsMessage) -> bool:
        return self.connection.settle(message, self.pair.now)

    def info(self, *names: str) -> object:
        found = self.server.request("CONSUMER.INFO.S.C", None, self.pair.now)
        for name in names:
            found = found[name]
        return found

    def passes(self, seconds: float) -> list[object]:
        return self.pair.advance(seconds)


@pytest.mark.parametrize("part", range(10))
def test_whoever_holds_messages_however_long_gets_none_twice_while_the_link_lives(part):
    for seed in range(part * 10, part * 10 + 10):
        desk = Desk(seed, max_messages=1 + seed % 20, expires=4.0, idle_heartbeat=0.5)
        held: list[JsMessage] = []
        seen: list[int] = []
        stored = 0
        while stored < 40 or held or len(seen) < stored:
            if stored < 40:
                count = desk.draw.randint(0, 8)
                stored += count
                desk.publish(count)
            taken = desk.take(desk.draw.randint(0, 4) if stored < 40 else 1000)
            seen += [message.metadata.stream_sequence for message in taken]
            held += taken
            desk.passes(desk.draw.choice([0.1, 1.9, 2.0, 5.0, 13.0]))
            for message in desk.draw.sample(held, desk.draw.randint(0, len(held))):
                held.remove(message)
                assert desk.ack(message)

        assert sorted(seen) == list(range(1, stored + 1)), f"seed {seed}"
        desk.passes(30.0)
        assert desk.info("delivered", "consumer_seq") == stored
        assert desk.info("num_ack_pending") == 0


def test_without_the_wish_the_server_delivers_again():
    desk = Desk(acking=AckOptions(wait=ACK_WAIT))
    desk.publish(1)
    desk.take()
    desk.passes(ACK_WAIT + 1.0)

    assert [message.metadata.num_delivered for message in desk.take()] == [2]


def test_a_link_that_is_lost_for_less_than_a_beat_costs_nothing():
    desk = Desk(expires=4.0, idle_heartbeat=0.5)
    desk.publish(3)
    held = desk.take()
    for _ in range(10):
        desk.passes(2.5)
        desk.pair.drop()
        desk.pair.step()

    assert desk.info("delivered", "consumer_seq") == 3
    assert all(desk.ack(message) for message in held)


def test_a_drained_connection_waits_until_what_was_handed_out_is_settled():
    desk = Desk()
    desk.publish(2)
    first, second = desk.take()
    desk.connection.tell(None, StopMode.DRAIN, desk.pair.now)
    events = desk.passes(3 * ACK_WAIT)

    assert not desk.connection.closed
    assert desk.info("delivered", "consumer_seq") == 2

    desk.ack(first)
    events += desk.pair.step()
    assert not desk.connection.closed
    desk.ack(second)
    events += desk.pair.step()

    assert [event for event in events if isinstance(event, Closed)] == [Closed(None)]
    assert desk.info("num_ack_pending") == 0


def test_without_wishes_a_drained_connection_waits_for_nobodys_acks():
    desk = Desk(acking=AckOptions(wait=ACK_WAIT))
    desk.publish(1)
    desk.take()
    desk.connection.tell(None, StopMode.DRAIN, desk.pair.now)
    desk.pair.step()

    assert desk.connection.closed


def test_a_closed_feed_is_forgotten_at_the_beat_behind_the_last_ack():
    desk = Desk()
    desk.publish(2)
    held = desk.take()
    desk.connection.close(desk.feed, desk.pair.now)
    desk.passes(3 * ACK_WAIT)

    assert desk.connection.conversations == 1
    for message in held:
        desk.ack(message)
    desk.passes(ACK_WAIT)
    assert desk.connection.conversations == 0
    assert desk.info("delivered", "consumer_seq") == 2


def test_one_at_a_time_by_acks_loses_nothing_whatever_happens_to_the_link():
    for seed in range(60):
        desk = Desk(seed, kind=AckNext, max_messages=1, expires=4.0, idle_heartbeat=0.5)
        desk.publish(12)
        done: set[int] = set()
        message = None
        for _ in range(400):
            if len(done) == 12:
                break
            if message is None:
                taken = desk.take(1)
                message = taken[0] if taken else None
            elif desk.connection.put(desk.feed, message, desk.pair.now):
                done.add(message.metadata.stream_sequence)
                message = None
            if desk.draw.random() < 0.1:
                desk.pair.drop()
            if desk.draw.random() < 0.05:
                desk.server.kill_and_restart(desk.pair.now)
            desk.pair.step()
            desk.passes(desk.draw.choice([0.05, 0.5]))
            assert desk.feed.readable <= 1

        assert done == set(range(1, 13)), f"seed {seed}"
