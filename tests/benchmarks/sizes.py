"""How fast a consume is at each size, from one message in flight to all one could want: `python
tests/benchmarks/sizes.py`.

    python tests/benchmarks/sizes.py                        both tables, 5 rounds
    python tests/benchmarks/sizes.py --rounds 1 --scale 0.1 the same in short
    python tests/benchmarks/sizes.py --adapter blocking     the other adapter
    python tests/benchmarks/sizes.py --only bytes           one of `messages`, `bytes`

Needs the nats-server binary, as `run.py` does. One private server holds one stream; each run makes
a consumer of its own (ack policy none) and consumes so many messages with one size. In each round
all sizes run once, in order, after a run of `next`, one by one, so that neighbours in the table are
neighbours in time. A rate is the median of the rounds; a ratio is the median of the rounds' own
ratios.

The bars: one message in flight reaches 0.8 of the rate of `next`, and no size is slower than 0.8 of
the next smaller one. The exit code says whether they are held; a run that is not done within its
limit is a stall, and always a failure.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import time
from pathlib import Path

from plain import Plain
from server import Server, binary

_ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(_ROOT), str(_ROOT / "adapters")]

from jsproto_io import asyncio as js_asyncio  # noqa: E402 - what is measured is the tree that this file stands in
from jsproto_io import blocking as js_blocking  # noqa: E402 - the same

MESSAGES = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
#: The first holds one message with the longest ack subject that it can have here, and not two.
BYTES = (250, 500, 1_000, 2_500, 10_000, 50_000, 250_000, 1_000_000, 10_000_000)
NEXT = "next"
BAR = 0.8

_SUBJECT = "bench.a"
_PAYLOAD = 128
_MOST = 60_000
_LIMIT = 30.0


def items_of(size: int | str, unit: str, scale: float) -> int:
    """How many messages one run has: more where they come faster, so that all take about as long."""
    at_once = 1 if size == NEXT else size if unit == "messages" else max(1, size // 200)
    return max(50, round(min(_MOST, 3_000 * at_once) * scale))


async def awaited(url: str, consumer: str, wish: dict, n: int) -> float:
    """Seconds for n messages by asyncio; an empty wish asks for one after the other."""
    async with js_asyncio.connect(url) as nc:
        pull = nc.jetstream().stream("BENCH").consumer(consumer)
        begun = time.perf_counter()
        if not wish:
            for _ in range(n):
                await pull.next()
            return time.perf_counter() - begun
        got = 0
        async with asyncio.timeout(_LIMIT), pull.consume(**wish) as messages:
            async for _ in messages:
                got += 1
                if got == n:
                    break
            return time.perf_counter() - begun


def called(url: str, consumer: str, wish: dict, n: int) -> float:
    """The same by blocking calls."""
    with js_blocking.connect(url) as nc:
        pull = nc.jetstream().stream("BENCH").consumer(consumer)
        begun = time.perf_counter()
        if not wish:
            for _ in range(n):
                pull.next()
            return time.perf_counter() - begun
        got = 0
        with pull.consume(**wish) as messages:
            for _ in messages:
                got += 1
                if got == n:
                    break
                if not got % 64 and time.perf_counter() - begun > _LIMIT:
                    raise TimeoutError
            return time.perf_counter() - begun


def rate(url: str, plain: Plain, wish: dict, n: int, *, by_await: bool) -> float:
    """Messages in a second of one run; 0 for a stall."""
    name = f"C{time.monotonic_ns()}"
    plain.consumer("BENCH", name, "none")
    try:
        took = asyncio.run(awaited(url, name, wish, n)) if by_await else called(url, name, wish, n)
    except TimeoutError:
        return 0.0
    finally:
        plain.api(f"CONSUMER.DELETE.BENCH.{name}")
    return n / took


def measure(
    chosen: argparse.Namespace, unit: str, sizes: tuple[int, ...]
) -> dict[int | str, list[float]]:
    """Rates of all rounds by size."""
    rates: dict[int | str, list[float]] = {size: [] for size in (NEXT, *sizes)}
    with Server(chosen.server_binary or binary()) as server, Plain(server.url) as plain:
        plain.stream("BENCH", "bench.>")
        plain.fill(_SUBJECT, max(items_of(size, unit, chosen.scale) for size in rates), _PAYLOAD)
        for _ in range(chosen.rounds):
            for size, seen in rates.items():
                wish = {} if size == NEXT else {f"max_{unit}": size}
                n = items_of(size, unit, chosen.scale)
                seen.append(rate(server.url, plain, wish, n, by_await=chosen.adapter == "asyncio"))
                print(f"{unit} {size}: {seen[-1]:,.0f}/s", file=sys.stderr)
    return rates


def table(unit: str, rates: dict[int | str, list[float]]) -> tuple[list[str], bool]:
    """Markdown, and whether the bars are held."""
    lines = [
        f"| max_{unit} | messages/s | of the row before | min..max | verdict |",
        "| ---: | ---: | ---: | ---: | --- |",
    ]
    held = True
    before: list[float] = []
    unjudged = {NEXT, *BYTES[:1]}  # by bytes there is no bar for the first
    for size, seen in rates.items():
        ratio = (
            statistics.median(now / was for now, was in zip(seen, before, strict=True))
            if before
            else None
        )
        verdict = "" if ratio is None or size in unjudged else "held" if ratio >= BAR else "MISSED"
        verdict = "STALLED" if 0.0 in seen else verdict
        held = held and verdict in {"", "held"}
        size_text = size if size == NEXT else f"{size:,}"
        lines.append(
            f"| {size_text} | {statistics.median(seen):,.0f} | {'' if ratio is None else f'{ratio:.2f}'} "
            f"| {min(seen):,.0f}..{max(seen):,.0f} | {verdict} |"
        )
        before = [each or 1.0 for each in seen]
    return lines, held


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="items of each run, times this")
    parser.add_argument("--adapter", choices=("asyncio", "blocking"), default="asyncio")
    parser.add_argument("--only", choices=("messages", "bytes"))
    parser.add_argument("--server-binary", metavar="PATH")
    chosen = parser.parse_args()
    print(
        f"{chosen.adapter}, {chosen.rounds} rounds, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    held = True
    for unit, sizes in (("messages", MESSAGES), ("bytes", BYTES)):
        if chosen.only in {None, unit}:
            lines, good = table(unit, measure(chosen, unit, sizes))
            held = held and good
            print("", *lines, sep="\n")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
