"""What an open consumer and a message at hand cost in memory: `python
tests/benchmarks/footprint.py`.

Needs the nats-server binary, as `run.py` does. Counted are the bytes that Python allocates
(tracemalloc), so the figures are the same on an idle and on a busy machine; they hold the adapter's
part, and not the kernel's buffers. Each figure is the median of the rounds. A message's figure is
also given without its payload, subject and reply subject, which nobody can do without.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import platform
import statistics
import sys
import tracemalloc
from contextlib import AsyncExitStack
from pathlib import Path

from plain import Plain
from server import Server, binary

_ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(_ROOT), str(_ROOT / "adapters")]

from jsproto_io.asyncio import Client, connect  # noqa: E402 - what is measured is the tree that this file stands in

CONSUMERS = 500
MESSAGES = 20_000
SIZES = (128, 1024)


def allocated() -> int:
    """Bytes that Python holds now."""
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


async def consumers(nc: Client, name: str) -> float:
    """Bytes of one open consume with a waiting pull and nothing at hand."""
    pull = nc.jetstream().stream("EMPTY").consumer(name)
    async with AsyncExitStack() as stack:
        kept = [await stack.enter_async_context(pull.consume()) for _ in range(10)]
        await nc.flush()
        before = allocated()
        for _ in range(CONSUMERS):
            kept.append(await stack.enter_async_context(pull.consume()))  # noqa: PERF401 - awaited one by one
        await nc.flush()
        return (allocated() - before) / CONSUMERS


async def messages(nc: Client, stream: str, name: str) -> tuple[float, float, float]:
    """Bytes of one message at hand, of the same without its own text, and of one that the user
    keeps.
    """
    pull = nc.jetstream().stream(stream).consumer(name)
    before = allocated()
    async with pull.consume(MESSAGES) as feed:
        async with asyncio.timeout(30):
            while feed.feed.readable < MESSAGES:
                await nc.flush()
        at_hand = (allocated() - before) / MESSAGES
        kept: list[object] = []
        while len(kept) < MESSAGES:
            kept += await anext(feed.batches())
        in_hands = (allocated() - before) / MESSAGES
        text = (
            sum(len(each.subject) + len(each.reply) + len(each.payload) for each in kept) / MESSAGES
        )
    return at_hand, at_hand - text, in_hands


async def measure(url: str, turn: int) -> dict[str, float]:
    """One round, each part on a fresh connection: what -> bytes."""
    found: dict[str, float] = {}
    async with connect(url) as nc:
        found["open consumer"] = await consumers(nc, f"C{turn}")
    for size in SIZES:
        async with connect(url) as nc:
            figures = await messages(nc, f"FULL{size}", f"C{turn}")
        names = ("at hand", "at hand, without its text", "in the user's hands, untouched")
        found |= {
            f"message of {size} B {name}": each for name, each in zip(names, figures, strict=True)
        }
    return found


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--server-binary", metavar="PATH")
    chosen = parser.parse_args()
    rounds: list[dict[str, float]] = []
    with Server(chosen.server_binary or binary()) as server, Plain(server.url) as plain:
        plain.stream("EMPTY", "empty")
        for size in SIZES:
            plain.stream(f"FULL{size}", f"full.{size}")
            plain.fill(f"full.{size}", MESSAGES, size)
        tracemalloc.start()
        for turn in range(chosen.rounds + 1):
            for stream in ("EMPTY", *(f"FULL{size}" for size in SIZES)):
                plain.consumer(stream, f"C{turn}", "explicit")
            rounds.append(asyncio.run(measure(server.url, turn)))
    del rounds[0]  # it holds what is made once, such as caches
    print(
        f"Python {platform.python_version()}, {chosen.rounds} rounds\n\n| what | bytes |\n| --- | ---: |"
    )
    for what in rounds[0]:
        print(f"| {what} | {statistics.median(each[what] for each in rounds):,.0f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
