"""Many messages through one push consumer with flow control, past a reader of every kind, with a
witness beside it.

    python tests/long/push.py                                    2,000,000 messages of 200 bytes
    past each reader python tests/long/push.py --readers parked --messages 50000 python
    tests/long/push.py --server-binary PATH               with another nats-server

Readers:

    hungry   takes whatever comes at once, and waits for more
    slow     rests now and then, so that the server's window fills up
    parked   stands before each message until it is there, and never asks for one that is not
    lossy    as hungry, but every third answer to a question of flow control is lost on purpose

The witness sees what comes in and what goes out beside the machine, and holds it to the rules:
every message once and in order; every question answered once, and not before the messages ahead of
it were taken; what was received and not taken stays within the largest window that the server
gives; nothing stands still. What is lost on purpose must be repaired.

Each reader gives one JSON line; the exit code is 1 if a rule was broken. It is a command and not a
test because it takes minutes; the short form is tested.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "adapters")]

from jsproto import ConsumerConfig, JsMessage, Publish, PushSubscription  # noqa: E402
from jsproto.jetstream import Subscribe  # noqa: E402
from jsproto.jetstream.api.subjects import ApiSubjects  # noqa: E402
from jsproto.wire.frames import REPLY, SUBJECT  # noqa: E402
from jsproto_io import asyncio as adapter  # noqa: E402
from jsproto_io import blocking  # noqa: E402
from jsproto_io._testing.nats_server import NatsServer  # noqa: E402

#: Bytes that the server lets go unanswered at most: it begins with 2 MiB and doubles with each
#: answer.
WINDOW = 32 * 1024 * 1024
#: Seconds between heartbeats; a lost answer costs about one.
HEARTBEAT = 0.2
#: So long nothing at all may come before it counts as standing still, in seconds.
STALL = 10.0
REST_EVERY, REST = 10_000, 0.05


class Witness(PushSubscription[JsMessage]):
    """A subscription that is watched, and some of whose answers are lost."""

    __slots__ = (
        "answered",
        "came",
        "early",
        "lose_every",
        "lost",
        "marks",
        "most",
        "taken",
        "twice",
    )

    def __init__(self, *, lose_every: int = 0) -> None:
        settings = ConsumerConfig(
            ack_policy="none", flow_control=True, idle_heartbeat=timedelta(seconds=HEARTBEAT)
        )
        super().__init__(ApiSubjects(), Subscribe(subject="long.*", settings=settings))
        self.lose_every = lose_every
        self.came = self.taken = self.most = 0
        # Question -> how many messages had come before it; and what became of it.
        self.marks: dict[str, int] = {}
        self.answered: dict[str, int] = {}
        self.lost: set[str] = set()
        self.early: list[str] = []
        self.twice: list[str] = []

    def delivered(self, run, now):
        for frame in run:
            if frame[SUBJECT] != self._deliver:
                self.came += 1
            elif frame[REPLY]:
                self.marks.setdefault(frame[REPLY], self.came)
        super().delivered(run, now)
        self.most = max(self.most, self.readable)
        self.look()

    def take(self, now):
        item = super().take(now)
        self.taken += isinstance(item, JsMessage)
        if self.port.commands:
            self.look()
        return item

    def look(self) -> None:
        """Judge the answers among what is to be sent, and lose some."""
        kept = []
        for command in self.port.commands:
            if isinstance(command, Publish) and command.subject in self.marks:
                subject = command.subject
                if self.taken < self.marks[subject]:
                    self.early.append(subject)
                if subject in self.answered and subject not in self.lost:
                    self.twice.append(subject)
                first = subject not in self.answered
                self.answered[subject] = self.answered.get(subject, 0) + 1
                if first and self.lose_every and len(self.answered) % self.lose_every == 0:
                    self.lost.add(subject)
                    continue
            kept.append(command)
        self.port.commands = kept


def fill(url: str, count: int, size: int) -> None:
    """Store messages that hold their numbers, from 0."""
    with blocking.connect(url) as nc:
        js = nc.jetstream()
        js.create_stream(name="LONG", subjects=["long.*"])
        with js.publish_window(max_pending=4000, results=False) as window:
            for number in range(count):
                window.put(("long.a", b"%0*d" % (size, number)))


async def reading(kind: str, messages: adapter.Feed, sub: Witness) -> AsyncIterator[bytes]:
    """The payloads, as a reader of this kind takes them."""
    if kind == "parked":
        while True:
            await asyncio.sleep(0)
            while not sub.readable:  # noqa: ASYNC110 - waiting on the feed would make the reader a hungry one
                await asyncio.sleep(0)
            yield (await messages.next(None)).payload
    taken = 0
    async for message in messages:
        yield message.payload
        taken += 1
        if kind == "slow" and taken % REST_EVERY == 0:
            await asyncio.sleep(REST)


async def read(url: str, kind: str, count: int, size: int) -> dict[str, object]:
    """Read all of it; gives what was seen, and what was wrong."""
    sub = Witness(lose_every=3 if kind == "lossy" else 0)
    disorder = expected = 0
    begun = last = time.monotonic()
    longest = 0.0
    async with adapter.connect(url) as nc, nc.stream(sub) as messages:
        async with asyncio.timeout(None) as patience:
            async for payload in reading(kind, messages, sub):
                disorder += int(payload) != expected
                expected += 1
                if expected % 1000 == 0:
                    now = time.monotonic()
                    longest, last = max(longest, now - last), now
                    patience.reschedule(asyncio.get_running_loop().time() + STALL)
                if expected == count:
                    break
        took = time.monotonic() - begun
        await messages.unsubscribe()
        left = await nc.jetstream().stream("LONG").consumer_names()
    wrong = {
        "out of order": disorder,
        "answered twice": len(sub.twice),
        "answered early": len(sub.early),
        "beyond the window": max(0, sub.most * size - WINDOW),
        "lost and not repaired": sum(
            sub.answered[each] < 2 for each in sub.lost if sub.marks[each] < count // 2
        ),
        "dropped": sub.dropped,
        "consumers left": len(left),
    }
    return {
        "reader": kind,
        "messages": expected,
        "bytes each": size,
        "seconds": round(took, 1),
        "per second": round(expected / took),
        "questions": len(sub.marks),
        "answers": sum(sub.answered.values()),
        "lost on purpose": len(sub.lost),
        "most at hand, bytes": sub.most * size,
        "longest for 1000, seconds": round(longest, 2),
        "wrong": {name: number for name, number in wrong.items() if number},
    }


READERS = ("hungry", "slow", "parked", "lossy")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=2_000_000)
    parser.add_argument("--size", type=int, default=200, help="bytes of each (200)")
    parser.add_argument("--readers", default=",".join(READERS), metavar="A,B")
    parser.add_argument("--server-binary", metavar="PATH")
    chosen = parser.parse_args(arguments)
    broken = 0
    with NatsServer(chosen.server_binary) as server:
        fill(server.url, chosen.messages, chosen.size)
        for kind in chosen.readers.split(","):
            seen = asyncio.run(read(server.url, kind, chosen.messages, chosen.size))
            print(json.dumps(seen | {"server": server.version}), flush=True)
            broken += bool(seen["wrong"])
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
