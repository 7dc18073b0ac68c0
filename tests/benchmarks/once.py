"""One run of one peer, in a process of its own: ``once.py '{"peer": ..., "case": ..., "items": ...,
"url": ...}'``.

Started by ``run.py``, which has made the server, the stream and the consumer. On stdout it says
``go`` when a burst is wanted, and last one JSON object. It ends itself by SIGALRM in case that
whoever started it is gone.
"""

from __future__ import annotations

import cProfile
import gc
import importlib
import inspect
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import anyio
from cases import BATCH, CASES, ORDERED, PEERS, SIZE, WARM, WINDOW, Case

SUBJECT = "bench.a"
_CHUNK = 65_536
_HEADERS = (
    b"NATS/1.0\r\nNats-Msg-Id: order-%08d\r\n"
    b"Trace-Parent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n\r\n"
)


class Watch:
    """Wall clock and the CPU time of all threads of this process, from ``start`` to ``stop``.

    The peer starts and stops it, so that binding and connecting stay outside.
    """

    elapsed = cpu = 0.0

    def __init__(self, profile: cProfile.Profile | None = None) -> None:
        self._profile = profile

    def start(self) -> None:
        if self._profile is not None:
            self._profile.enable()
        self._cpu = self._used()
        self._wall = time.perf_counter()

    def stop(self) -> None:
        self.elapsed = time.perf_counter() - self._wall
        self.cpu = self._used() - self._cpu
        if self._profile is not None:
            self._profile.disable()

    @staticmethod
    def _used() -> float:
        used = resource.getrusage(resource.RUSAGE_SELF)
        return used.ru_utime + used.ru_stime


def frames(kind: str, n: int, size: int) -> bytes:
    """What a server sends: n deliveries of a consumer, without or with headers."""
    payload = (b"0123456789abcdef" * (size // 16 + 1))[:size]
    out = []
    for i in range(n):
        subject = b"orders.created.%d" % (i % 10)
        reply = b"$JS.ACK.ORDERS.worker.1.%d.%d.17%017d.%d" % (
            1_000_000 + i,
            1 + i,
            i * 1000,
            n - i,
        )
        block = _HEADERS % i if kind == "hmsg" else b""
        if block:
            sizes = b"%d %d" % (len(block), len(block) + size)
            out.append(b"HMSG %s 7 %s %s\r\n%s%s\r\n" % (subject, reply, sizes, block, payload))
        else:
            out.append(b"MSG %s 7 %s %d\r\n%s\r\n" % (subject, reply, size, payload))
    return b"".join(out)


async def parse(peer: object, watch: Watch, kind: str, n: int) -> dict:
    """Feed all chunks to the peer's parser, which is a function or a coroutine function."""
    data = frames(kind, n, SIZE)
    chunks = [data[at : at + _CHUNK] for at in range(0, len(data), _CHUNK)]
    feed = peer.parser()
    awaited = inspect.iscoroutinefunction(feed)
    watch.start()
    got = await feed(chunks) if awaited else feed(chunks)
    watch.stop()
    if got != n:
        raise RuntimeError(f"the parser gave {got} messages of {n}")
    return {"mb_s": round(len(data) / watch.elapsed / 1e6)}


def import_time(modules: str, rounds: int) -> dict:
    """Milliseconds of a fresh interpreter that imports, above one that does not; medians of
    interleaved rounds.

    Byte code is in a cache of the run, filled before: a tree that was never installed has none of
    its own.
    """
    bare, full = [], []
    with tempfile.TemporaryDirectory(prefix="jsproto-bench-") as cache:
        environment = os.environ | {"PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for turn in range(rounds + 1):
            for took, statement in ((bare, "pass"), (full, f"import {modules}")):
                command = [sys.executable, "-c", statement]
                start = time.perf_counter()
                subprocess.run(command, check=True, stdin=subprocess.DEVNULL, env=environment)
                if turn:
                    took.append((time.perf_counter() - start) * 1000)
    above = statistics.median(full) - statistics.median(bare)
    return {"import_ms": round(above, 1), "bare_ms": round(statistics.median(bare), 1)}


def resident() -> int:
    """Bytes of memory in use by this process."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def quantiles(latencies: list[int]) -> dict:
    """p50 and p99 in microseconds of nanoseconds."""
    ranked = sorted(latencies)
    return {f"p{q}_us": round(ranked[len(ranked) * q // 100] / 1000, 1) for q in (50, 99)}


async def ask(peer: object, case: Case, watch: Watch, n: int) -> dict:
    """Ask a connected peer for the case's verb."""
    verb = getattr(peer, case.verb)
    payload = b"x" * SIZE
    match case.verb:
        case "core_publish" | "publish":
            await verb(Watch(), SUBJECT, payload, WARM)
            await verb(watch, SUBJECT, payload, n)
        case "publish_window":
            await verb(Watch(), SUBJECT, payload, WARM, WINDOW)
            await verb(watch, SUBJECT, payload, n, WINDOW)
        case "request":
            await verb(Watch(), "bench.echo", payload, WARM)
            return quantiles(await verb(watch, "bench.echo", payload, n))
        case "core_subscribe":
            await verb(watch, SUBJECT, n, lambda: print("go", flush=True))
        case "consume":
            await verb(watch, "BENCH", "C", n, BATCH, ack=case.ack != "none")
        case "ordered":
            await verb(watch, "BENCH", "bench.>", n, ORDERED)
        case "push" | "ordered_push" | "read_range" | "read_range_by_callback":
            await verb(watch, "BENCH", "bench.>", n)
        case "fetch" | "consume_batches":
            await verb(watch, "BENCH", "C", n, BATCH)
        case "next":
            return quantiles(await verb(watch, "BENCH", "C", n))
        case "subscriptions":
            before = resident()
            kept = await verb(watch, n)
            each = (resident() - before) / n
            del kept
            return {"bytes_each": round(each)}
    return {}


async def run(peer: object, case: Case, watch: Watch, n: int, url: str) -> dict:
    """Connect, ask, and close within bounds."""
    if not hasattr(peer, case.verb):
        return {"skip": "not supported"}
    if case.verb == "parser":
        return await parse(peer, watch, case.frames, n)
    await peer.open(url)
    result = await ask(peer, case, watch, n)
    if getattr(
        peer, "NESTED", False
    ):  # its scopes end in the order in which they began, and within its own bound
        await peer.close()
    else:
        with anyio.move_on_after(5):  # the figures are in; a slow goodbye is no part of them
            await peer.close()
    return result


def main() -> None:
    spec = json.loads(sys.argv[1])
    signal.alarm(spec["limit"])
    case, n = CASES[spec["case"]], spec["items"]
    profile = cProfile.Profile() if spec["profile"] else None
    watch = Watch(profile)
    result: dict[str, object] = {}
    try:
        if case.verb == "import":
            result = import_time(PEERS[spec["peer"]].imports, n)
        else:
            peer = importlib.import_module(f"peers.{spec['peer']}").Peer()
            loop = getattr(peer, "LOOP", "asyncio")
            result = anyio.run(run, peer, case, watch, n, spec["url"], backend=loop)
    except NotImplementedError as error:
        result = {"skip": f"not supported: {error}"}
    except Exception as error:  # noqa: BLE001 - whatever a peer raises is its result, not the harness' end
        result = {"error": f"{type(error).__name__}: {error}"[:300]}
    if watch.elapsed:
        result |= {"elapsed": round(watch.elapsed, 5), "per_s": round(n / watch.elapsed)}
        result["cpu_us"] = round(watch.cpu / n * 1e6, 3)
    if profile is not None:
        profile.dump_stats(spec["profile"])
    print(json.dumps(result), flush=True)
    os._exit(0)  # a peer's threads may outlive its close


main()
