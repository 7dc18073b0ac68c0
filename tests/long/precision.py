"""The lint must find nothing in what this project's own clients say, whatever happens to them.

    python tests/long/precision.py                       seeds 0 to 299, each in both forms, and
    three sessions with a real server python tests/long/precision.py --seeds 17 --keep .   one seed
    again; its traces stay in this folder python tests/long/precision.py --seeds 0-19 --live 0

A seed is a session, and it is recorded. In the form `machines` a connection and a model server
stand on two ends of a line: reads are cut into pieces, and what the server says may be late. In the
form `adapters` it is a client of one adapter after the other, in memory, on virtual time. In both
everything is done at once, by chance: messages are consumed, fetched, pushed, read in order,
published, acknowledged in every way; meanwhile lines are cut, servers are killed, stopped or leave
as lame ducks, nothing comes through for a while, consumers are deleted and made again, leaders
move. A live session is the same with a real server and fewer misfortunes.

Gives one JSON line for each form, with what was found by rule and the seeds in which it was; the
exit code is 1 if anything was.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import anyio

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "adapters")]

from jsproto import ENDED, NEED_DATA, JsprotoError  # noqa: E402
from jsproto.core.connection.options import Options  # noqa: E402
from jsproto.jetstream.context import JetStream  # noqa: E402
from jsproto.jetstream.delivery.ack import ACK, IN_PROGRESS, NAK, Nak, Term  # noqa: E402
from jsproto.jetstream.delivery.message import JsMessage, Settlement  # noqa: E402
from jsproto.jetstream.ordered.options import SourceKind  # noqa: E402
from jsproto.testing import Cutter, Pair, SimServer  # noqa: E402
from jsproto.testing.simserver import PROFILES  # noqa: E402
from jsproto.trace.formats.reading import Trace  # noqa: E402
from jsproto.trace.formats.redaction import Keep  # noqa: E402
from jsproto.trace.judge.lint import Lint  # noqa: E402
from jsproto.trace.record.recorder import Recorder  # noqa: E402
from jsproto.trace.record.tape import Tape  # noqa: E402
from jsproto_io._testing.nats_server import NatsServer  # noqa: E402
from jsproto_io.memory import MemoryServer  # noqa: E402
from jsproto_io.recording import TraceFile  # noqa: E402

VERSIONS = sorted(PROFILES)
STREAM = {"name": "S", "subjects": ["s.*"], "allow_direct": True}
PULLED = {"durable_name": "C", "ack_policy": "explicit", "ack_wait": 5_000_000_000}
PUSHED = {
    "durable_name": "P", "ack_policy": "explicit", "ack_wait": 5_000_000_000, "deliver_subject": "push.P",
    "flow_control": True, "idle_heartbeat": 500_000_000,
}  # fmt: skip
QUICK = {
    "reconnect_wait": 0.05,
    "reconnect_wait_max": 0.5,
    "reconnect_jitter": 0.0,
    "max_reconnects": None,
}
VERBS = (ACK, ACK, ACK, ACK, NAK, Nak(0.3), IN_PROGRESS, Term())
#: Which adapter runs on what.
ADAPTERS = (("asyncio", "asyncio"), ("trio", "trio"), ("anyio", "asyncio"), ("anyio", "trio"))


# ------------------------------------------------------------------------------------------------ machines


class Late:
    """A server whose words take their time: all of ``delay`` seconds, in order."""

    def __init__(self, server: SimServer) -> None:
        self.server = server
        self.delay = 0.0
        self._now = 0.0
        self._held: dict[int, list[tuple[float, bytes]]] = {}

    def connect(self, now: float) -> int:
        """Somebody dials."""
        self._now = now
        return self.server.connect(now)

    def receive_data(self, cid: int, data: bytes, now: float) -> None:
        """Bytes of that client."""
        self._now = now
        self.server.receive_data(cid, data, now)

    def data_to_send(self, cid: int) -> bytes:
        """What is due for that client."""
        held = self._held.setdefault(cid, [])
        data = self.server.data_to_send(cid)
        if data:
            held.append((max(self._now + self.delay, held[-1][0] if held else 0.0), data))
        due = [piece for at, piece in held if at <= self._now]
        del held[: len(due)]
        return b"".join(due)

    def disconnect(self, cid: int, now: float) -> None:
        """That client has gone."""
        self._held.pop(cid, None)
        self.server.disconnect(cid, now)

    def closed(self, cid: int) -> bool:
        """Whether the server has hung up, and everything it said is through."""
        return self.server.closed(cid) and not self._held.get(cid)

    def handle_tick(self, now: float) -> None:
        """Time has passed."""
        self._now = now
        self.server.handle_tick(now)

    def next_deadline(self) -> float | None:
        """When something is due."""
        moments = [held[0][0] for held in self._held.values() if held]
        due = self.server.next_deadline()
        return min([*moments, due] if due is not None else moments, default=None)


class Machines:
    """One session of the machines."""

    def __init__(self, seed: int, keep: Keep) -> None:
        self.draw = draw = Random(seed)
        self.text: list[str] = []
        version = draw.choice(VERSIONS)
        self.verbs = (*VERBS, Term("tired").known_to(version))
        self.server = SimServer(version=version, seed=seed)
        self.late = Late(self.server)
        self.asked("STREAM.CREATE.S", STREAM)
        self.remade()
        tape = Tape(self, keep=keep)
        self.connection = Recorder(
            Options(servers="nats://sim", ping_interval=5.0),
            entropy=draw.randbytes,
            now=0.0,
            tape=tape,
        )
        longest = draw.choice([3, 60, 500, 0])
        self.pair = Pair(
            self.connection, self.late, cutter=Cutter(seed, longest=longest) if longest else None
        )
        self.js = JetStream()
        self.pulled = self.js.stream("S").consumer("C")
        self.open: list[Any] = []
        self.hand: list[JsMessage] = []
        self.pair.step()

    def write(self, text: str) -> None:
        """The tape's sink."""
        self.text.append(text)

    def close(self) -> None:
        """The tape has ended."""

    @property
    def now(self) -> float:
        """The present moment."""
        return self.pair.now if hasattr(self, "pair") else 0.0

    def asked(self, subject: str, body: dict[str, Any] | None = None) -> None:
        """A request of somebody else."""
        self.server.request(subject, body, self.now)

    def remade(self) -> None:
        """Consumers that are not there are made by somebody else."""
        for config in (PULLED, PUSHED):
            name = config["durable_name"]
            self.asked(f"CONSUMER.DURABLE.CREATE.S.{name}", {"stream_name": "S", "config": config})

    def begin(self) -> None:
        """One more conversation."""
        draw, stream = self.draw, self.js.stream("S")
        bound: dict[str, Any] = draw.choice([
            {"max_messages": draw.randint(1, 50)}, {"max_bytes": draw.randint(130, 5000)}, {},
        ])  # fmt: skip
        kinds: list[Callable[[], Any]] = [
            lambda: self.pulled.consume(
                **bound, expires=draw.choice([1.0, 4.0]), idle_heartbeat=0.5
            ),
            lambda: self.pulled.fetch(draw.randint(1, 20), expires=draw.choice([0.5, 2.0, 12.0])),
            lambda: self.pulled.next(timeout=draw.choice([0.5, 3.0])),
            lambda: self.js.subscribe("s.a", idle_heartbeat=0.5, flow_control=True),
            lambda: self.js.subscribe("s.*", stream="S", consumer="P"),
            lambda: stream.ordered(
                form=draw.choice([SourceKind.PULL, SourceKind.PUSH]), idle_heartbeat=0.5
            ),
            lambda: self.js.publish_window(max_pending=draw.randint(1, 30), ack_timeout=3.0),
            lambda: self.js.publish("s.c", b"one more message", msg_id=str(draw.random())),
            stream.info,
            stream.consumer_names,
            lambda: stream.messages.batch(seq=1, limit=20),
        ]
        with suppress(JsprotoError):
            self.open.append(self.connection.open(draw.choice(kinds)(), self.now))

    def read(self, conversation: Any) -> None:
        """Take what is there; an end, good or bad, makes room for another."""
        if hasattr(conversation, "put") and self.draw.random() < 0.8:
            for _ in range(self.draw.randint(1, 20)):
                self.connection.put(conversation, ("s.b", self.draw.randbytes(24)), self.now)
        for _ in range(self.draw.choice([1, 2, 60])):
            try:
                item = self.connection.take(conversation, self.now)
            except JsprotoError:
                item = ENDED
            if item is ENDED:
                self.open.remove(conversation)
            if item is NEED_DATA or item is ENDED:
                return
            if isinstance(item, JsMessage):
                self.hand.append(item)

    def settle(self) -> None:
        """Say something to messages in hand, some of them settled already."""
        for message in self.draw.sample(self.hand, min(len(self.hand), 10)):
            with suppress(JsprotoError):
                self.connection.settle(Settlement(message, self.draw.choice(self.verbs)), self.now)
        if len(self.hand) > 100:
            del self.hand[:50]

    def misfortune(self) -> None:
        """Something goes wrong."""
        pair, server, draw = self.pair, self.server, self.draw
        pause = draw.choice([0.01, 0.4, 3.0])
        kind = draw.randrange(9)
        if kind == 0:
            pair.drop()
        elif kind == 1:
            pair.cut()
            pair.advance(pause)
            pair.restore()
        elif kind == 2:
            server.kill_and_restart(pair.now)
        elif kind == 3:
            server.shutdown(pair.now)
            pair.advance(pause)
            server.start(pair.now)
        elif kind == 4:
            server.lame_duck(pair.now, grace=pause)
            pair.advance(pause + 0.1)
            server.start(pair.now)
        elif kind == 5:
            self.late.delay = draw.choice([0.0, 0.002, 0.1, 1.3])
        elif kind == 6:
            self.asked(f"CONSUMER.DELETE.S.{draw.choice('CP')}")
            pair.advance(pause)
            self.remade()
        elif pair.cid is not None:
            with suppress(JsprotoError):
                server.step_down("S", draw.choice("CP"), pair.now)
        pair.step()
        self.remade()

    def play(self) -> str:
        """The session, and what was recorded of it."""
        draw, pair = self.draw, self.pair
        for _ in range(draw.randint(60, 120)):
            kind = draw.random()
            if kind < 0.2 and len(self.open) < 12:
                self.begin()
            elif kind < 0.4:
                for _ in range(draw.randint(1, 30)):
                    self.server.publish("s.a", draw.randbytes(draw.randint(0, 60)), pair.now)
            elif kind < 0.7 and self.open:
                self.read(draw.choice(self.open))
            elif kind < 0.8:
                self.settle()
            elif kind < 0.83 and self.open:
                self.connection.close(self.open.pop(draw.randrange(len(self.open))), pair.now)
            elif kind < 0.9:
                self.misfortune()
            else:
                pair.advance(draw.choice([0.01, 0.3, 1.1, 6.0]))
            pair.step()
        pair.advance(draw.choice([0.0, 40.0]))
        self.connection.close(None, pair.now)
        pair.advance(5.0)
        return "".join(self.text)


# ------------------------------------------------------------------------------------------------ adapters


class Adapters:
    """One session of a client: everything at once, until time is up.

    Args:
        break_it: what goes wrong, again and again.
        seconds: how long it lasts.
        pauses: seconds before it goes wrong, one of these each time.
    """

    def __init__(
        self,
        draw: Random,
        break_it: Callable[[], Awaitable[None]],
        seconds: float,
        pauses: Sequence[float] = (0.3, 2.0, 9.0),
    ) -> None:
        self.draw = draw
        self.break_it = break_it
        self.seconds = seconds
        self.pauses = pauses

    async def play(self, connect: Callable[..., Any], url: str, record: TraceFile) -> None:
        """The session."""
        async with connect(url, record=record, ping_interval=5.0, **QUICK) as nc:
            js = nc.jetstream()
            stream = await js.create_stream(**STREAM)
            pulled = await stream.create_consumer(durable_name="C", ack_wait=timedelta(seconds=5))
            with anyio.move_on_after(self.seconds):
                async with anyio.create_task_group() as tasks:
                    for worker in (
                        partial(
                            self.read, lambda: pulled.consume(self.draw.randint(1, 50), expires=2.0)
                        ),
                        partial(
                            self.read, lambda: pulled.fetch(self.draw.randint(1, 20), expires=0.7)
                        ),
                        partial(
                            self.read,
                            lambda: js.subscribe("s.a", flow_control=True, idle_heartbeat=0.5),
                        ),
                        partial(
                            self.read,
                            lambda: stream.ordered(form=self.draw.choice(list(SourceKind))),
                        ),
                        partial(self.again, lambda: pulled.next(timeout=0.5)),
                        partial(self.again, lambda: js.publish("s.b", b"one more message")),
                        partial(self.again, stream.info),
                        partial(self.window, js),
                        self.unlucky,
                    ):
                        tasks.start_soon(worker)

    async def read(self, feed: Callable[[], Any]) -> None:
        """Read and settle, begin anew where it ends, now and then in the middle."""
        while True:
            left = self.draw.choice([3, 40, 400])
            with suppress(JsprotoError):
                async with feed() as messages:
                    async for message in messages:
                        verb = self.draw.choice(
                            [
                                "ack",
                                "ack",
                                "ack",
                                "ack",
                                "nak",
                                "term",
                                "in_progress",
                                "ack_confirmed",
                            ]
                        )
                        with suppress(JsprotoError):
                            await getattr(message, verb)()
                        left -= 1
                        if not left:
                            break
            await anyio.sleep(0.4)

    async def again(self, verb: Callable[[], Awaitable[object]]) -> None:
        """The same again and again."""
        while True:
            with suppress(JsprotoError):
                await verb()
            await anyio.sleep(0.3)

    async def window(self, js: Any) -> None:
        """Publish through one window after the other."""
        while True:
            with suppress(JsprotoError):
                async with js.publish_window(
                    max_pending=20, ack_timeout=2.0, results=False
                ) as sink:
                    for _ in range(self.draw.randint(1, 30)):
                        await sink.put(("s.a", self.draw.randbytes(24)))
                    await sink.drain()
            await anyio.sleep(1.0)

    async def unlucky(self) -> None:
        """Things go wrong."""
        while True:
            await anyio.sleep(self.draw.choice(self.pauses))
            with suppress(JsprotoError):
                await self.break_it()


def in_memory(seed: int, record: TraceFile) -> None:
    """A session with the model server."""
    draw = Random(seed)
    board = MemoryServer(SimServer(version=draw.choice(VERSIONS), seed=seed))

    async def break_it() -> None:
        pause = draw.choice([0.0, 0.4, 3.0])
        kind = draw.randrange(6)
        if kind == 0:
            board.cut()
        elif kind == 1:
            board.freeze(pause)
        elif kind == 2:
            board.step_down("S", "C")
        elif kind == 3:
            board.delete_consumer("S", "C")
            await anyio.sleep(pause)
            board.request("CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": PULLED})
        else:
            draw.choice([board.kill, board.shutdown, partial(board.lame_duck, 0.5)])()
            await anyio.sleep(0.6 + pause)
            board.start()

    module, backend = ADAPTERS[seed % len(ADAPTERS)]
    connect = import_module(f"jsproto_io.{module}").connect
    session = Adapters(draw, break_it, seconds=30.0)
    board.run(session.play, connect, board.url, record, backend=backend)


def live(seed: int, record: TraceFile) -> None:
    """A session with a real server."""
    draw = Random(seed)
    module, backend = ADAPTERS[seed % len(ADAPTERS)]
    connect = import_module(f"jsproto_io.{module}").connect
    with NatsServer(config="jetstream {}") as server:

        async def break_it() -> None:
            draw.choice([server.kill, server.stop])()
            await anyio.sleep(0.2)
            await anyio.to_thread.run_sync(server.restart)

        session = Adapters(
            draw, break_it, seconds=15.0, pauses=(1.0, 2.0, 5.0)
        )  # so that something surely does
        anyio.run(session.play, connect, server.url, record, backend=backend)


# ------------------------------------------------------------------------------------------------ judging


def traces(form: str, seeds: range, folder: Path) -> Iterator[tuple[int, Path]]:
    """The sessions of a form, each as a file."""
    for seed in seeds:
        path = folder / f"{form}-{seed}.trace"
        path.unlink(missing_ok=True)
        keep = list(Keep)[seed % len(Keep)]
        if form == "machines":
            path.write_text(Machines(seed, keep).play(), encoding="utf-8")
        else:
            (in_memory if form == "adapters" else live)(seed, TraceFile(path, keep))
        yield seed, path


def judged(form: str, seeds: range, folder: Path, *, kept: bool) -> dict[str, object]:
    """What the lint finds in the sessions of a form."""
    found: Counter[str] = Counter()
    told: dict[str, str] = {}
    links = frames = sessions = 0
    for seed, path in traces(form, seeds, folder):
        lint = Lint()
        with path.open("rb") as file:
            for line, record in Trace(file).records():
                for finding in lint.feed(line, record):
                    told.setdefault(
                        finding.rule, f"seed {seed}, line {finding.line}: {finding.words}"
                    )
        found += lint.counted
        sessions += 1
        links += len(lint.observer.links)
        frames += lint.observer.frames + lint.observer.commands
        if not kept:
            path.unlink()
    return {
        "form": form,
        "sessions": sessions,
        "links": links,
        "frames": frames,
        "found": dict(found),
        "first": told,
    }


def _seeds(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=_seeds, default=range(300), metavar="FIRST-LAST")
    parser.add_argument(
        "--forms", nargs="*", default=["machines", "adapters"], choices=["machines", "adapters"]
    )
    parser.add_argument("--live", type=int, default=3, metavar="SESSIONS")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the traces here")
    chosen = parser.parse_args(arguments)
    failed = False
    with tempfile.TemporaryDirectory(prefix="jsproto-precision-") as scratch:
        folder = chosen.keep or Path(scratch)
        for form, seeds in [
            *((form, chosen.seeds) for form in chosen.forms),
            ("live", range(chosen.live)),
        ]:
            seen = judged(form, seeds, folder, kept=chosen.keep is not None)
            print(json.dumps(seen), flush=True)
            failed = failed or bool(seen["found"])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
