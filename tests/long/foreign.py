"""Clients of others, and ours, judged: each plays each scenario against a real server, through the
tap, and the lint reads what was said.

    python tests/long/foreign.py                                    all clients, all scenarios
    python tests/long/foreign.py --client nats-py --scenario fetch  one of them
    python tests/long/foreign.py --keep                             and write spec/traces/clients
    and spec/clients.toml anew

The programs of the clients are in `tests/long/clients`; what they cannot do themselves (end the
server, delete the consumer ...) they ask for, and it is done here, from the side. nats-py and
natsrpy are those that are installed beside this interpreter; nats.js is fetched by npm into a
folder of the cache. Traces hold no payloads and no secrets.

Gives one JSON line for each play; the exit code is 1 if an adapter of ours has a finding, or did
not come to its end. `spec/clients.md` is made from what was kept, by `tests/spec/judge.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import Final, NamedTuple, cast

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "adapters")]

import jsproto  # noqa: E402
from jsproto.errors import JsprotoError  # noqa: E402
from jsproto.jetstream.api.errors import ConsumerNotFound  # noqa: E402
from jsproto.trace.formats.reading import Trace  # noqa: E402
from jsproto.trace.judge.lint import Finding, Lint  # noqa: E402
from jsproto_io._testing.nats_server import NatsServer  # noqa: E402
from jsproto_io.blocking import Client as Side  # noqa: E402
from jsproto_io.blocking import connect  # noqa: E402
from tests.long.clients.scenarios import SCENARIOS, Scenario  # noqa: E402

HERE = Path(__file__).resolve().parent / "clients"
KEPT = ROOT / "spec" / "traces" / "clients"
RESULTS = ROOT / "spec" / "clients.toml"
NPM: Final = ("@nats-io/transport-node@3.4.0", "@nats-io/jetstream@3.4.0")
#: Nobody plays longer than this, in seconds: whoever should have asked again within 30 s has not.
PATIENCE: Final = 120.0
#: The server stands still for so long.
FROZEN: Final = 5.0
PAYLOAD: Final = b"x" * 200
#: The consumer's ack wait is long: nothing is delivered again because the machine is busy.
RECORD: Final = [
    sys.executable,
    "-c",
    "import sys; from jsproto_cli.main import main; sys.exit(main())",
    "record",
]


class Maker(NamedTuple):
    """A client.

    Attributes:
        command: its program, without URL and scenario.
        version: of the client; of what it stands on too, if that is another.
        lacks: scenario -> why it cannot be played.
    """

    command: Callable[[], list[str]]
    version: Callable[[], str]
    lacks: Mapping[str, str] = {}
    ours: bool = False
    words: tuple[str, ...] = ()


def python(program: str) -> Callable[[], list[str]]:
    return lambda: [sys.executable, str(HERE / program)]


def node() -> list[str]:
    """nats.js beside its program: a module is looked for where the program lies."""
    folder = (
        Path(os.environ.get("JSPROTO_CACHE") or Path.home() / ".cache" / "jsproto-tests")
        / "nats.js"
    )
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "node_modules").is_dir():
        subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "--silent", *NPM],
            cwd=folder,
            check=True,
            timeout=300,
        )
    shutil.copy(HERE / "natsjs.mjs", folder)
    return ["node", str(folder / "natsjs.mjs")]


def ours(adapter: str, backend: str) -> Maker:
    return Maker(
        python("ours.py"), lambda: jsproto.__version__, ours=True, words=(adapter, backend)
    )


NO_CONSUME: Final = "there is only fetch"
MAKERS: Final = {
    "nats-py": Maker(
        python("natspy.py"),
        lambda: metadata.version("nats-py"),
        {
            "consume": NO_CONSUME,
            "byte_bounded": "fetch counts messages only",
            "ordered": "its ordered consumers are pushed to, see ordered_push",
        },
    ),
    "natsrpy": Maker(
        python("natsrpy_.py"),
        lambda: metadata.version("natsrpy"),
        {"ordered": "no ordered consumers", "ordered_push": "no ordered consumers"},
    ),
    "nats.js": Maker(node, lambda: NPM[1].rpartition("@")[2]),
    "jsproto asyncio": ours("asyncio", "asyncio"),
    "jsproto trio": ours("trio", "trio"),
    "jsproto anyio": ours("anyio", "asyncio"),
    "jsproto blocking": Maker(python("ours_blocking.py"), lambda: jsproto.__version__, ours=True),
}


# ------------------------------------------------------------------------------------------------ the server and what is done to it


class Stage:
    """A stream ``S`` on a server of its own, a durable consumer ``C``, and whatever is asked for
    from the side.
    """

    def __init__(self, scenario: Scenario, servers: list[NatsServer]) -> None:
        self.servers = servers
        self.side: Side = connect(
            [each.url for each in servers], reconnect_wait=0.05, max_reconnects=None
        )
        self.side.__enter__()
        self._timer: threading.Timer | None = None
        js = self.side.jetstream(timeout=10.0)
        replicas = len(servers)
        self.stream = js.create_stream(
            name="S", subjects=["s.>"], num_replicas=replicas, storage="file"
        )
        if scenario.consumer:
            self.stream.create_consumer(
                durable_name="C", ack_wait=timedelta(seconds=60), num_replicas=replicas
            )
        self.publish(scenario.messages, scenario.size)

    def publish(self, count: int = 100, size: int = 200) -> None:
        with self.side.jetstream().publish_window(resend=True, retries=100) as sink:
            for _ in range(count):
                sink.put(("s.a", b"x" * size))

    def do(self, word: str) -> None:
        """What a program asks for."""
        match word:
            case "publish":
                self._again(self.publish)
            case "restart":
                self.servers[0].restart()
                self._again(self.stream.info)
            case "freeze":
                pid = self.servers[0].pid
                assert pid is not None
                os.kill(pid, signal.SIGSTOP)
                self._timer = threading.Timer(FROZEN, os.kill, (pid, signal.SIGCONT))
                self._timer.start()
                self._timer.join()
            case "delete":
                self.stream.consumer("C").delete()
            case "delete all":
                for name in self.stream.consumer_names():
                    with suppress(ConsumerNotFound):
                        self.stream.consumer(name).delete()
            case "stepdown":
                consumer = self.stream.consumer("C")
                self._again(consumer.step_down)
            case _:
                raise ValueError(word)

    @staticmethod
    def _again(what: Callable[[], object]) -> None:
        """Servers that are just starting may refuse for a while."""
        until = time.monotonic() + 30
        while True:
            try:
                what()
            except JsprotoError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
            else:
                return

    def close(self) -> None:
        self.side.close()


@contextmanager
def staged(scenario: Scenario) -> Iterator[Stage]:
    configs = scenario.configs()
    servers = [NatsServer(config=config) for config in configs]
    try:
        for server in servers:
            server.start()
        if len(servers) > 1:
            with connect([each.url for each in servers], max_reconnects=None) as nc:
                Stage._again(lambda: nc.jetstream(timeout=1.0).account_info())
        stage = Stage(scenario, servers)
        try:
            yield stage
        finally:
            stage.close()
    finally:
        for server in servers:
            server.close()


# ------------------------------------------------------------------------------------------------ a play


@contextmanager
def tapped(server: NatsServer, path: Path) -> Iterator[str]:
    """The tap, as anybody starts it; gives its URL."""
    command = [*RECORD, "--server", server.url, "-o", str(path), "--one-client"]
    environ = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'adapters'}"}
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environ
    ) as tap:
        assert tap.stderr is not None
        url = tap.stderr.readline().split()[-1]
        drain = threading.Thread(target=tap.stderr.read, daemon=True)
        drain.start()
        try:
            yield url
        finally:
            tap.send_signal(signal.SIGINT)
            tap.wait(20)
            drain.join(5)


def played(maker: Maker, scenario: Scenario, stage: Stage, url: str) -> str:
    """Run the program; gives how it ended: ``done``, or what went wrong."""
    command = [*maker.command(), url, scenario.name, *maker.words]
    environ = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'adapters'}"}
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environ,
        ) as program,
    ):
        assert program.stdin is not None
        assert program.stdout is not None
        late = threading.Timer(PATIENCE, program.kill)
        late.start()
        said: dict[str, object] = {}
        for line in program.stdout:
            said = json.loads(line)
            if "ask" in said:
                stage.do(str(said["ask"]))
                with suppress(OSError):
                    program.stdin.write("done\n")
                    program.stdin.flush()
        program.wait()
        over = not late.is_alive()
        late.cancel()
        if said.get("done"):
            return "done"
        errors.seek(0)
        last = [
            line.strip()
            for line in errors.read().splitlines()
            if re.match(r"\s*[\w.]*Error\b", line)
        ]
        return (
            f"did not come to its end within {PATIENCE:.0f} s"
            if over
            else (last[-1] if last else "ended")
        )


def play(name: str, maker: Maker, scenario: Scenario, path: Path) -> dict[str, object]:
    """One client in one scenario; the trace is then at the path."""
    began = time.monotonic()
    with staged(scenario) as stage, tapped(stage.servers[0], path) as url:
        version = stage.servers[0].version
        outcome = played(maker, scenario, stage, url)
    judge, found = Lint(), list[Finding]()
    with path.open("rb") as file:
        for line, record in Trace(file).records():
            found += judge.feed(line, record)
    return {
        "client": name,
        "version": maker.version(),
        "server": version,
        "scenario": scenario.name,
        "outcome": outcome,
        "found": dict(sorted(judge.counted.items())),
        "last": max((each.line for each in found), default=0),
        "first": {each.rule: f"line {each.line}: {each.words}" for each in reversed(found)},
        "unreadable": [list(each) for each in judge.observer.unreadable],
        "bytes": path.stat().st_size,
        "seconds": round(time.monotonic() - began, 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--client", action="append", choices=list(MAKERS), help="only this one, may be repeated"
    )
    parser.add_argument(
        "--scenario",
        action="append",
        choices=list(SCENARIOS),
        help="only this one, may be repeated",
    )
    parser.add_argument("--traces", type=Path, help="leave all traces in this folder")
    parser.add_argument(
        "--keep", action="store_true", help="write what was found, and its traces, to spec/"
    )
    chosen = parser.parse_args()
    wrong = 0
    results: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = chosen.traces or Path(scratch)
        for name in chosen.client or MAKERS:
            maker = MAKERS[name]
            try:
                maker.version()
            except metadata.PackageNotFoundError:
                print(json.dumps({"client": name, "missing": "it is not installed"}), flush=True)
                continue
            for each in chosen.scenario or SCENARIOS:
                path = folder / slug(name) / f"{each}.trace"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.unlink(missing_ok=True)
                if each in maker.lacks:
                    told: dict[str, object] = {
                        "client": name,
                        "version": maker.version(),
                        "scenario": each,
                        "lacks": maker.lacks[each],
                    }
                else:
                    told = play(name, maker, SCENARIOS[each], path)
                    wrong += maker.ours and (told["outcome"] != "done" or bool(told["found"]))
                print(json.dumps(told), flush=True)
                results.append(told)
        if chosen.keep:
            keep(results, folder)
    return int(wrong > 0)


def slug(name: str) -> str:
    """The name of a client as that of a folder."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())


def keep(results: list[dict[str, object]], folder: Path) -> None:
    """Write the results into those that are there, and the traces that have findings, up to the
    last one.
    """
    known = tomllib.loads(RESULTS.read_text()) if RESULTS.exists() else {"played": []}
    kept = {(each["client"], each["scenario"]): each for each in known["played"]}
    for told in results:
        client, scenario = str(told["client"]), str(told["scenario"])
        found = list(cast("dict[str, int]", told.get("found", {})))
        trace = KEPT / slug(client) / f"{scenario}.trace"
        trace.unlink(missing_ok=True)
        if found:
            trace.parent.mkdir(parents=True, exist_ok=True)
            lines = (
                (folder / slug(client) / f"{scenario}.trace").read_bytes().splitlines(keepends=True)
            )
            trace.write_bytes(b"".join(lines[: cast("int", told["last"])]))
        entry = {"client": client, "version": told["version"], "scenario": scenario}
        if "lacks" in told:
            entry["lacks"] = told["lacks"]
        else:
            day = datetime.now(UTC).date().isoformat()
            entry |= {
                "server": told["server"],
                "day": day,
                "outcome": told["outcome"],
                "found": found,
            }
        kept[client, scenario] = entry
    text = "# What each client did in each scenario: `python tests/long/foreign.py --keep`.\n"
    for client in MAKERS:
        for scenario in SCENARIOS:
            entry = kept.get((client, scenario))
            if entry is not None:
                text += "\n[[played]]\n" + "".join(
                    f"{name} = {json.dumps(value)}\n" for name, value in entry.items()
                )
    RESULTS.write_text(text)


if __name__ == "__main__":
    sys.exit(main())
