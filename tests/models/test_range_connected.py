"""A range on a real connection against the model server, through cut reads, lost links, killed
servers and swallowed messages.
"""

from __future__ import annotations

import random

import pytest

from jsproto.core.connection.connection import Connection
from jsproto.core.connection.options import Options
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.range_read.options import RangeOptions
from jsproto.jetstream.range_read.reader import RangeReader
from jsproto.jetstream.status import EndReason
from jsproto.signals import ENDED, NEED_DATA
from jsproto.testing import Cutter, Pair, SimServer
from jsproto.testing.simserver import PROFILES
from tests.models.test_ordered_stateful import Lossy, entropy

HEADERS = b"NATS/1.0\r\nNumber: 1\r\n\r\n"


class World:
    """A stream ``S`` of 200 messages, and a reader of most of them."""

    def __init__(self, seed: int, version: str, **options: object) -> None:
        self.server = Lossy(SimServer(version=version, seed=seed))
        self.server.request("STREAM.CREATE.S", {"name": "S", "subjects": ["s.*"]}, 0.0)
        for number in range(1, 201):
            self.server.publish(f"s.{number % 3}", b"x" * (number % 50), 0.0, block=HEADERS)
        connection = Connection(Options(servers="nats://sim"), entropy=entropy(), now=0.0)
        self.pair = Pair(connection, self.server, cutter=Cutter(seed, longest=300))
        self.pair.step()
        self.reader = self.pair.machine.open(
            RangeReader(ApiSubjects(), "S", RangeOptions(lo=11, hi=181, **options)), self.pair.now
        )
        self.taken: list[int] = []

    def take(self) -> bool:
        """The next run; whether the reader goes on."""
        rows = self.pair.machine.take(self.reader, self.pair.now)
        if rows is ENDED:
            return False
        if rows is NEED_DATA:
            self.pair.advance(0.5)
        else:
            self.taken += rows.sequences
            self.pair.step()
        return True

    def consumers(self) -> list[str]:
        return list(self.server.request("CONSUMER.NAMES.S", None, self.pair.now)["consumers"] or [])

    def happens(self, chance: random.Random) -> None:
        """Something goes wrong, or not."""
        kind = chance.randrange(12)
        if kind == 0:
            self.pair.drop()
        elif kind == 1:
            self.server.kill_and_restart(self.pair.now)
        elif kind == 2:
            self.server.swallow += 1
        elif kind == 3:
            for name in self.consumers():
                self.server.request(f"CONSUMER.DELETE.S.{name}", None, self.pair.now)
        elif kind == 4:
            for name in self.consumers():
                self.server.step_down("S", name, self.pair.now)
        elif kind == 5:
            self.pair.cut()
            self.pair.advance(3.0)
            self.pair.restore()
        self.pair.step()


@pytest.mark.parametrize("version", sorted(PROFILES))
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("subjects", [(), ("s.1",)], ids=["all", "some"])
def test_every_message_of_the_range_comes_once(version, seed, subjects):
    world = World(seed, version, max_messages=15, subjects=subjects)
    chance = random.Random(seed)
    for _ in range(2000):
        world.happens(chance)
        if not world.take():
            break

    assert world.taken == [seq for seq in range(11, 181) if not subjects or seq % 3 == 1]
    assert world.reader.reason is EndReason.FILLED
    world.server.swallow = 0
    world.pair.advance(60.0)
    assert world.consumers() == []
    assert world.pair.machine.conversations == 0
    assert not world.server.not_modelled


def test_a_connection_that_is_closed_takes_its_consumer_along():
    world = World(0, "2.15.1", max_messages=15)
    world.pair.step()
    assert len(world.consumers()) == 1
    world.pair.machine.close(None, world.pair.now)
    world.pair.step()

    assert world.consumers() == []
