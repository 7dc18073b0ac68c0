"""Ranges of a replicated stream, read where a replica lags: none is short with the proof of the
end, some are without.

    python tests/long/ranges.py                     2,000 ranges by both ways, a replica that is 50
    ms late python tests/long/ranges.py --reads 50          in short python tests/long/ranges.py
    --delay 0           as the loopback is: what a cluster does by itself

Three servers, a stream with three replicas, a writer that never stops. What goes to one of the
servers over its routes passes a relay that is late by ``--delay``. A reader asks the stream's
leader where the stream ends, and at once reads up to there from the late server: by direct gets, or
by a consumer with one replica that lives there or elsewhere. *Proved* is a `RangeReader`;
*unproved* is what it replaces: a batch of direct gets until nothing is pending, and the messages
that a new consumer says to have.

Gives one JSON line; the exit code is 1 if a proved range was short, or if no unproved one was
although the replica was late.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import sys
import threading
import time
from collections import deque
from pathlib import Path
from typing import Self

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "adapters")]

from jsproto.errors import JsprotoError  # noqa: E402
from jsproto.jetstream import ReadMode  # noqa: E402
from jsproto_io._testing.nats_server import NatsServer  # noqa: E402
from jsproto_io.blocking import Client, connect  # noqa: E402
from tests.ports import free_ports  # noqa: E402

WRITTEN = 200
#: The stream holds so many, far more than a range: it stands in memory, and is written to for as
#: long as the run takes.
KEPT = 50_000
BOUND = 60.0


class Late:
    """A door to a port; what goes through it arrives later."""

    def __init__(self, port: int, delay: float) -> None:
        self.target, self.delay = port, delay
        self.open: list[socket.socket] = []
        self.door = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.door.getsockname()[1]
        self._thread(self._accept)

    def close(self) -> None:
        """End it with all that go through."""
        for each in (self.door, *self.open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _thread(self, work, *words) -> None:
        threading.Thread(target=work, args=words, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                came, _ = self.door.accept()
                try:
                    there = socket.create_connection(("127.0.0.1", self.target))
                except OSError:
                    came.close()
                    continue
                self.open += [came, there]
                self._thread(self._carry, came, there, self.delay)
                self._thread(self._carry, there, came, 0.0)

    def _carry(self, source: socket.socket, sink: socket.socket, delay: float) -> None:
        held: deque[tuple[float, bytes]] = deque()
        source.settimeout(0.001 if delay else None)
        with contextlib.suppress(OSError):
            while True:
                try:
                    data = source.recv(65536)
                    held.append((time.monotonic() + delay, data))
                except TimeoutError:
                    pass
                while held and held[0][0] <= time.monotonic():
                    _, data = held.popleft()
                    if not data:
                        sink.shutdown(socket.SHUT_WR)
                        return
                    sink.sendall(data)


def patiently(ask, *errors: type[Exception]):
    """Ask until there is an answer."""
    until = time.monotonic() + BOUND
    while True:
        try:
            return ask()
        except errors:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


class Cluster:
    """Three servers; routes to the third pass a door that is late."""

    def __init__(self, binary: str | None, delay: float) -> None:
        ports = free_ports(3)
        self.late = Late(ports[2], delay)
        routes = [f'"nats://127.0.0.1:{port}"' for port in (*ports[:2], self.late.port)]
        self.nodes = []
        for number, port in enumerate(ports):
            # The third is only dialled, so it knows but its own door, which it also tells the
            # others.
            own = f", routes: [{', '.join(routes if number < 2 else routes[2:])}]"
            told = f', advertise: "127.0.0.1:{self.late.port}"' if number == 2 else ""
            config = f"server_name: n{number}\ncluster {{ name: C, listen: 127.0.0.1:{port}{own}{told} }}\n"
            self.nodes.append(NatsServer(binary, config=config))

    def __enter__(self) -> Self:
        for node in self.nodes:
            node.start()
        for node in self.nodes:
            with connect(node.url, connect_sweeps=None) as nc:
                patiently(lambda nc=nc: nc.jetstream(timeout=2.0).account_info(), JsprotoError)
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes:
            node.kill()
            node.close()
        self.late.close()


def unproved(nc: Client, lo: int, hi: int, way: ReadMode) -> int:
    """The last sequence that a reader without proof of the end sees, who stops when nothing is
    pending.
    """
    stream = nc.jetstream().stream("R3")
    if way is ReadMode.DIRECT:
        last = lo - 1
        with stream.messages.batch(seq=lo) as found:
            for message in found:
                last = message.seq
                if last >= hi - 1:
                    break
        return last
    consumer = stream.create_consumer(
        deliver_policy="by_start_sequence",
        opt_start_seq=lo,
        ack_policy="none",
        num_replicas=1,
        mem_storage=True,
    )
    info = consumer.cached
    consumer.delete()
    return lo - 1 + (info.num_pending if info is not None else 0)


def proved(nc: Client, lo: int, hi: int, way: ReadMode) -> int:
    """The last sequence of a range."""
    last = lo - 1
    with nc.jetstream().stream("R3").read_range(lo, hi, way=way) as feed:
        for rows in feed:
            last = rows.last
    return last


def run(words: argparse.Namespace) -> dict[str, object]:
    """All of it."""
    begun = time.monotonic()
    short = {"proved": 0, "unproved": 0}
    reads = dict.fromkeys(short, 0)
    over = threading.Event()
    with Cluster(words.binary, words.delay / 1000) as cluster:
        first, third = cluster.nodes[0], cluster.nodes[2]
        with connect(first.url) as leader, connect(third.url) as late:
            js = leader.jetstream(timeout=10.0)
            create = {
                "name": "R3",
                "subjects": ["r3"],
                "num_replicas": 3,
                "storage": "memory",
                "max_msgs": KEPT,
                "allow_direct": True,
            }
            stream = patiently(lambda: js.create_stream(**create), JsprotoError)
            patiently(lambda: led_elsewhere(stream), LookupError)

            def write() -> None:
                with connect(first.url) as nc:
                    window = nc.jetstream().publish_window(
                        max_pending=WRITTEN, results=False, ack_timeout=30.0
                    )
                    with window as sink:
                        while not over.is_set():
                            sink.put(("r3", b"x" * 100))

            writer = threading.Thread(target=write)
            writer.start()
            try:
                for number in range(words.reads):
                    for form, read in (("proved", proved), ("unproved", unproved)):
                        way = (ReadMode.DIRECT, ReadMode.CONSUMER)[number % 2]
                        last = patiently(
                            lambda: stream.info().state.last_seq or nothing(), LookupError
                        )
                        lo = max(1, last - 50)
                        reads[form] += 1
                        short[form] += read(late, lo, last + 1, way) < last
            finally:
                over.set()
                writer.join()
    wrong = {}
    if short["proved"]:
        wrong["proved"] = short["proved"]
    if words.delay and not short["unproved"]:
        wrong["unproved"] = "none was short, so nothing is proved here"
    seconds = round(time.monotonic() - begun, 1)
    return {
        "reads": reads,
        "short": short,
        "delay": words.delay,
        "seconds": seconds,
        "wrong": wrong,
    }


def nothing() -> int:
    """There is nothing yet."""
    raise LookupError("the stream is empty")


def led_elsewhere(stream) -> str:
    """The stream's leader, which must not be the late server."""
    cluster = stream.info().cluster
    if cluster is None or cluster.leader in {None, "", "n2"}:
        with contextlib.suppress(JsprotoError):
            stream.step_down()
        raise LookupError("the late server leads")
    return str(cluster.leader)


def main() -> int:
    """The command."""
    words = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    words.add_argument("--reads", type=int, default=2000)
    words.add_argument("--delay", type=float, default=50.0, metavar="MS")
    words.add_argument("--binary")
    told = run(words.parse_args())
    print(json.dumps(told))
    return 1 if told["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
