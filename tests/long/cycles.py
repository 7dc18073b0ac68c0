"""Reconnect, fetch, time-out, again and again: nothing may be left behind by a cycle, neither
objects nor tasks.

    python tests/long/cycles.py                             100,000 cycles on virtual time, then
    2,000 on a real server python tests/long/cycles.py --memory 5000 --live 50     the same in short
    python tests/long/cycles.py --live 0                    only the first

On virtual time one connection is driven against the model server: its link is cut and comes back, a
fetch on an empty consumer waits until its time is over, another is told that nothing is there.
Live, the asyncio client leaves nats-server and comes back, and fetches the same; there the tasks
are counted too.

What is alive is counted after a collection, at the end of each tenth. From the first tenth to the
last it may grow by less than one in a hundred; tasks may not grow at all. Gives one JSON line for
each; the exit code is 1 if a rule was broken.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "adapters")]

from jsproto import FetchMode, JetStream, Options  # noqa: E402
from jsproto.core.connection.connection import Connection  # noqa: E402
from jsproto.jetstream.delivery.message import JsMessage  # noqa: E402
from jsproto.jetstream.pull.fetch import Fetch  # noqa: E402
from jsproto.testing import Pair, SimServer  # noqa: E402
from jsproto_io._testing.nats_server import NatsServer  # noqa: E402
from jsproto_io.asyncio import connect  # noqa: E402

#: More than this share of growth after the first tenth is a leak.
GROWTH = 0.01
WAIT = 0.05
QUICK = {"reconnect_wait": 0.001, "reconnect_wait_max": 0.01, "reconnect_jitter": 0.0}


def alive() -> int:
    """How many objects there are that can hold others."""
    gc.collect()
    return len(gc.get_objects())


def judged(
    form: str, cycles: int, ends: dict[str, int], objects: list[int], tasks: list[int]
) -> dict[str, object]:
    """What was seen, and what was wrong with it."""
    growth = objects[-1] / objects[0] - 1
    wrong = {
        "objects grew": growth if growth >= GROWTH else 0,
        "tasks grew": max(0, tasks[-1] - tasks[0]),
        "fetches ended otherwise": 2 * cycles
        - ends.get("DEADLINE", 0)
        - ends.get("EXPIRED", 0)
        - ends.get("NO_MESSAGES", 0),
    }
    return {
        "form": form,
        "cycles": cycles,
        "ends": ends,
        "objects": objects,
        "tasks": tasks,
        "growth": round(growth, 5),
        "wrong": {name: number for name, number in wrong.items() if number},
    }


def memory(cycles: int) -> dict[str, object]:
    """On virtual time, against the model server."""
    server = SimServer()
    server.request("STREAM.CREATE.S", {"name": "S", "subjects": ["s.*"]}, 0.0)
    config = {"durable_name": "C", "ack_policy": "explicit"}
    server.request("CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": config}, 0.0)
    numbers = iter(range(1, 1 << 60))
    connection = Connection(
        Options(servers="nats://sim", **QUICK),
        entropy=lambda n: next(numbers).to_bytes(8, "big").rjust(n, b"\0")[:n],
        now=0.0,
    )
    pair = Pair(connection, server)
    pair.step()
    consumer = JetStream().stream("S").consumer("C")
    ends: dict[str, int] = {}

    def fetched(fetch: Fetch[JsMessage]) -> None:
        connection.open(fetch, pair.now)
        pair.step()
        while not fetch.finished:
            pair.advance(WAIT)
        ends[str(fetch.reason and fetch.reason.name)] = (
            ends.get(str(fetch.reason and fetch.reason.name), 0) + 1
        )

    def cycle() -> None:
        pair.drop()
        while not connection.connected:
            pair.advance(WAIT)
        fetched(consumer.fetch(1, timeout=WAIT))
        fetched(consumer.fetch(1, mode=FetchMode.NO_WAIT))
        pair.events.clear()

    objects = []
    for _ in range(10):
        for _ in range(cycles // 10):
            cycle()
        objects.append(alive())
    return judged("memory", cycles // 10 * 10, ends, objects, [0])


async def live(url: str, cycles: int) -> dict[str, object]:
    """On real time, against nats-server."""
    ends: dict[str, int] = {}
    objects, tasks = [], []
    async with connect(url, **QUICK) as nc:
        stream = await nc.jetstream().create_stream(name="S", subjects=["s.*"])
        consumer = await stream.create_consumer(durable_name="C", ack_policy="explicit")

        async def fetched(**wish: object) -> None:
            async with consumer.fetch(1, **wish) as messages:
                async for _ in messages.batches():
                    pass
            name = messages.feed.reason.name
            ends[name] = ends.get(name, 0) + 1

        for _ in range(10):
            for _ in range(cycles // 10):
                await nc.reconnect()
                await nc.flush()
                await fetched(timeout=WAIT)
                await fetched(mode=FetchMode.NO_WAIT)
            objects.append(alive())
            tasks.append(len(asyncio.all_tasks()))
    return judged("live", cycles // 10 * 10, ends, objects, tasks)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--memory", type=int, default=100_000, metavar="CYCLES")
    parser.add_argument("--live", type=int, default=2_000, metavar="CYCLES")
    parser.add_argument("--server-binary", metavar="PATH")
    chosen = parser.parse_args(arguments)
    seen = []
    begun = time.monotonic()
    if chosen.memory:
        seen.append(memory(chosen.memory) | {"seconds": round(time.monotonic() - begun, 1)})
        print(json.dumps(seen[-1]), flush=True)
    if chosen.live:
        begun = time.monotonic()
        with NatsServer(chosen.server_binary) as server:
            there = asyncio.run(live(server.url, chosen.live))
        seen.append(
            there | {"server": server.version, "seconds": round(time.monotonic() - begun, 1)}
        )
        print(json.dumps(seen[-1]), flush=True)
    return 1 if any(each["wrong"] for each in seen) else 0


if __name__ == "__main__":
    sys.exit(main())
