"""Count what the hot paths execute: byte code instructions and calls for each item, the same in
every run.

    python tests/benchmarks/counts.py                    the table, beside the budgets in
    counts.toml python tests/benchmarks/counts.py --json             the same as JSON python
    tests/benchmarks/counts.py --only consume     cases and clients whose name holds the word python
    tests/benchmarks/counts.py --where request    the functions that execute the most, for one case
    python tests/benchmarks/counts.py --write            make the measured numbers the budgets

Wall clock and CPU time differ from run to run on a shared machine. The number of executed
instructions does not, so a test can hold it to a budget. It says nothing about the cost of one
instruction or of a call into C: a change of a hot path is also measured by ``run.py``, before and
after, as a ratio.

How it counts. A client talks to the model server in memory, in virtual time. Between ``start`` and
``stop`` of the peer's watch a trace function counts each instruction and each call that the library
executes: code of ``jsproto`` and ``jsproto_io``, and what attrs generates for them. The model
server, the test's own code and the event loop do not count. Each case runs with few and with many
items; the difference divided by the difference of items is the cost of one item, so that opening
and closing do not count.

The same interpreter gives the same instructions. Another version compiles to others, so
`counts.toml` has a table for each.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Coroutine
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parents[1]
BUDGETS = _HERE / "counts.toml"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
sys.path[:0] = [str(_ROOT), str(_ROOT / "adapters"), str(_HERE)]

from cases import BATCH, CASES, ORDERED, SIZE, WINDOW  # noqa: E402 - what is counted is the tree that this file stands in

from jsproto_io.blocking import connect  # noqa: E402
from jsproto_io.memory import MemoryServer  # noqa: E402

CLIENTS = ("asyncio", "blocking")
#: case -> items of the small and of the large run; the large one is several full windows or
#: batches.
COUNTED = {
    "core-publish": (250, 750),
    "core-subscribe": (250, 750),
    "publish": (10, 40),
    "publish-window": (1000, 2000),
    "consume": (500, 1500),
    "consume-ack": (500, 1500),
    "consume-batches": (500, 1500),
    "fetch": (500, 1500),
    "next": (10, 40),
    "ordered": (500, 1500),
    "push": (500, 1500),
    "request": (10, 40),
}
#: The part of a budget by which a number may be above it (another patch release of Python) or below
#: it (a budget out of date).
ABOVE, BELOW = 0.02, 0.1
_OURS = tuple(str(_ROOT / part) for part in ("jsproto", "adapters/jsproto_io"))
_WORLD = tuple(
    str(_ROOT / part)
    for part in ("jsproto/testing", "adapters/jsproto_io/memory.py", "adapters/jsproto_io/_memory")
)
_GENERATED = re.compile(r"<attrs generated \w+ jsproto[._](?!testing)")


class Count:
    """The watch of a peer: counts between `start` and `stop`, as ``instructions`` and ``calls``,
    and ``where`` by function.
    """

    def __init__(self) -> None:
        self.instructions = 0
        self.calls = 0
        self.where: Counter[str] = Counter()
        self._judged: dict[str, bool] = {}

    def start(self) -> None:
        sys.setprofile(self._called)
        sys.settrace(self._entered)

    def stop(self) -> None:
        sys.settrace(None)
        sys.setprofile(None)

    def _counts(self, file: str) -> bool:
        known = self._judged.get(file)
        if known is None:
            known = (file.startswith(_OURS) and not file.startswith(_WORLD)) or bool(
                _GENERATED.match(file)
            )
            self._judged[file] = known
        return known

    def _entered(self, frame: FrameType, event: str, _argument: object) -> Any:
        if not self._counts(frame.f_code.co_filename):
            return None
        frame.f_trace_lines = False
        frame.f_trace_opcodes = True
        if event == "call":
            self.calls += 1
        return self._executed

    def _executed(self, frame: FrameType, event: str, _argument: object) -> Any:
        if event == "opcode":
            self.instructions += 1
            code = frame.f_code
            self.where[f"{code.co_filename.removeprefix(str(_ROOT) + '/')}:{code.co_qualname}"] += 1
        return self._executed

    def _called(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "c_call" and self._counts(frame.f_code.co_filename):
            self.calls += 1


class _Uncounted:
    """The watch of what is not to be counted."""

    def start(self) -> None:
        """Nothing."""

    def stop(self) -> None:
        """Nothing."""


class Answerer:
    """A bare connection to the model server that echoes every request on a subject."""

    def __init__(self, server: MemoryServer, subject: bytes) -> None:
        self._unread = b""
        self._ready = False
        self._line = server.dial(self._rung)
        self._ready = True
        self._line.write(b'CONNECT {"verbose":false,"headers":true}\r\nSUB %s 1\r\n' % subject)

    def _rung(self) -> None:
        if not self._ready:
            return
        self._unread += self._line.read()
        while (end := self._unread.find(b"\r\n")) >= 0:
            words = self._unread[:end].split()
            if words[0] == b"MSG":
                size = int(words[-1])
                if len(self._unread) < end + 4 + size:
                    return
                body, self._unread = (
                    self._unread[end + 2 : end + 2 + size],
                    self._unread[end + 4 + size :],
                )
                self._line.write(b"PUB %s %d\r\n%s\r\n" % (words[3], size, body))
            else:
                self._unread = self._unread[end + 2 :]


def prepare(server: MemoryServer, name: str, items: int) -> None:
    """Make on the model server what a case needs, and one message more than is read, so that no
    case runs dry.
    """
    case = CASES[name]
    with connect() as nc:
        js = nc.jetstream()
        if case.verb in {"publish", "publish_window"} or case.ack or case.filled:
            js.create_stream(name="BENCH", subjects=["bench.>"])
        if case.ack or case.filled:
            with js.publish_window(max_pending=WINDOW, results=False) as sink:
                for _ in range(items + 1):
                    sink.put(("bench.a", b"x" * SIZE))
        if case.ack:
            js.stream("BENCH").create_consumer(
                durable_name="C", ack_policy=case.ack, max_ack_pending=-1
            )


async def ask(server: MemoryServer, peer: Any, name: str, watch: Any, items: int) -> None:
    """Ask a connected peer for the verb of the case."""
    case = CASES[name]
    verb = getattr(peer, case.verb)
    payload = b"x" * SIZE
    match case.verb:
        case "core_publish" | "publish":
            await verb(_Uncounted(), "bench.a", payload, 10)
            await verb(watch, "bench.a", payload, items)
        case "publish_window":
            await verb(watch, "bench.a", payload, items, WINDOW)
        case "request":
            await verb(_Uncounted(), "bench.echo", payload, 10)
            await verb(watch, "bench.echo", payload, items)
        case "core_subscribe":
            line = server.dial(lambda: None)
            burst = b"PUB bench.a %d\r\n%s\r\n" % (SIZE, payload) * items
            await verb(
                watch,
                "bench.a",
                items,
                lambda: line.write(b'CONNECT {"verbose":false}\r\n' + burst),
            )
        case "consume":
            await verb(watch, "BENCH", "C", items, BATCH, ack=case.ack != "none")
        case "fetch" | "consume_batches":
            await verb(watch, "BENCH", "C", items, BATCH)
        case "ordered":
            await verb(watch, "BENCH", "bench.>", items, ORDERED)
        case "push":
            await verb(watch, "BENCH", "bench.>", items)
        case "next":
            await verb(watch, "BENCH", "C", items)


def once(client: str, name: str, items: int) -> Count:
    """One run of a case, in a world of its own."""
    peer = importlib.import_module(f"peers.jsproto_{client}").Peer()
    watch = Count()
    server = MemoryServer()
    with server:
        prepare(server, name, items)
        answerer = Answerer(server, b"bench.echo") if CASES[name].verb == "request" else None

        async def main() -> None:
            await peer.open(server.url)
            await ask(server, peer, name, watch, items)
            await peer.close()

        if client == "asyncio":
            server.run(main)
        else:
            finish(main())
    del answerer
    return watch


def finish(never_waits: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that never waits."""
    try:
        never_waits.send(None)
    except StopIteration:
        return
    raise RuntimeError("expected a peer that never waits, it did")


def measure(client: str, name: str) -> dict[str, float]:
    """Instructions and calls for each item, from a small and a large run behind one that fills all
    caches.
    """
    few, many = COUNTED[name]
    once(client, name, few)
    small, large = once(client, name, few), once(client, name, many)
    return {
        "instructions": round((large.instructions - small.instructions) / (many - few), 2),
        "calls": round((large.calls - small.calls) / (many - few), 2),
    }


def budgets() -> dict[str, dict[str, dict[str, float]]]:
    """client -> case -> budgets of this interpreter; empty if it has none."""
    kept = tomllib.loads(BUDGETS.read_text(encoding="utf-8"))
    return kept.get(VERSION, {})


def write(found: dict[str, dict[str, dict[str, float]]]) -> None:
    """Make what was measured the budgets of this interpreter; those of others stay."""
    kept = tomllib.loads(BUDGETS.read_text(encoding="utf-8")) if BUDGETS.exists() else {}
    kept[VERSION] = found
    lines = [
        "# What one item may cost: executed byte code instructions and calls, by interpreter, client and case.",
        "# Written by `python tests/benchmarks/counts.py --write`; tests/benchmarks/test_counts.py compares.",
    ]
    for version, clients in sorted(kept.items()):
        for client, cases in sorted(clients.items()):
            lines += ["", f'["{version}".{client}]']
            for case, numbers in cases.items():
                pair = ", ".join(f"{key} = {value}" for key, value in numbers.items())
                lines.append(f"{case} = {{ {pair} }}")
    BUDGETS.write_text("\n".join(lines) + "\n", encoding="utf-8")


@contextmanager
def steady() -> Any:
    """The same hashes in every run: what is counted is done in an interpreter of its own with a
    fixed seed.
    """
    if os.environ.get("PYTHONHASHSEED") == "0":
        yield
        return
    kept = {key: value for key, value in os.environ.items() if not key.startswith("COVERAGE_")}
    done = subprocess.run(
        [sys.executable, *sys.argv], env=kept | {"PYTHONHASHSEED": "0"}, check=False
    )
    raise SystemExit(done.returncode)


def main() -> int:
    """Count what was asked for; 1 if a number is above its budget."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="cases or clients whose name holds this")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--write", action="store_true", help="make the numbers the budgets")
    parser.add_argument("--where", metavar="CASE", help="print the functions that execute the most")
    options = parser.parse_args()
    with steady():
        if options.where:
            for client in CLIENTS:
                few, many = COUNTED[options.where]
                once(client, options.where, few)
                small, large = once(client, options.where, few), once(client, options.where, many)
                print(f"{client}, {options.where}: instructions for each item")
                rows = ((large.where[each] - small.where[each], each) for each in large.where)
                for number, each in sorted(rows, reverse=True)[:25]:
                    print(f"  {number / (many - few):8.1f}  {each}")
            return 0
        found: dict[str, dict[str, dict[str, float]]] = {}
        for client in CLIENTS:
            for name in COUNTED:
                if options.only in name or options.only in client:
                    found.setdefault(client, {})[name] = measure(client, name)
        if options.write:
            write(found)
        allowed = budgets() if BUDGETS.exists() else {}
        if options.json:
            print(json.dumps(found))
            return 0
        over = 0
        print(
            f"{'client':9} {'case':16} {'instructions':>13} {'budget':>9} {'calls':>8} {'budget':>8}"
        )
        for client, cases in found.items():
            for name, numbers in cases.items():
                bound = allowed.get(client, {}).get(name, {})
                over += any(numbers[key] > value * (1 + ABOVE) for key, value in bound.items())
                row = [numbers["instructions"], bound.get("instructions", "-")]
                row += [numbers["calls"], bound.get("calls", "-")]
                print(f"{client:9} {name:16} {row[0]:>13} {row[1]:>9} {row[2]:>8} {row[3]:>8}")
        return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
