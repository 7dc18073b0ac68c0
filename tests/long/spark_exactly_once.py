"""A million messages through a streaming query into Parquet, while driver, workers and server are
killed: each row once.

    python tests/long/spark_exactly_once.py            1,000,000 messages, 6 kills of the driver, 2
    of a worker, 1 of the server python tests/long/spark_exactly_once.py --messages 20000 --batch
    5000 --planned 1 --random 0 --workers 1

The driver's whole process group is killed (SIGKILL): ``--planned`` times while a batch is written
ahead and not committed, which is seen in the checkpoint before the kill, and ``--random`` times at
some moment. Then the same command line goes on from the checkpoint. A worker is killed by itself in
mid-read; the server is killed in mid-read and started again while the task waits.

At the end the files must hold as many rows as different sequences as messages, and the right sum.
Gives one JSON line; the exit code is 1 if a rule was broken.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "adapters")]

from jsproto_io._testing.nats_server import NatsServer  # noqa: E402
from jsproto_io.blocking import connect  # noqa: E402

DRIVER = Path(__file__).with_name("spark_driver.py")
#: Longest wait for anything that must come.
BOUND = 300.0


def until(condition, what: str):
    """Wait for a condition."""
    deadline = time.monotonic() + BOUND
    while not (seen := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"expected {what} within {BOUND} s")
        time.sleep(0.02)
    return seen


class Run:
    """One query over the lives of its drivers."""

    def __init__(self, folder: Path, server: NatsServer, batch: int) -> None:
        self.hook, self.checkpoint = folder / "hook", folder / "checkpoint"
        self.hook.mkdir()
        options = {
            "servers": server.url,
            "stream": "LONG",
            "startingOffsets": "earliest",
            "maxMessagesPerTrigger": str(batch),
            "minPartitions": "2",
        }
        conf = {
            "spark.ui.enabled": "false",
            "spark.log.level": "OFF",
            "spark.sql.shuffle.partitions": "2",
        }
        words = {"hook": self.hook, "out": folder / "out", "checkpoint": self.checkpoint}
        self.words = json.dumps(
            {**{name: str(path) for name, path in words.items()}, "options": options, "conf": conf}
        )
        self.errors = folder / "stderr"
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """A driver, from the checkpoint."""
        environ = {**os.environ, "PYSPARK_PYTHON": sys.executable}
        environ["PYTHONPATH"] = os.pathsep.join(
            [str(ROOT), str(ROOT / "adapters"), environ.get("PYTHONPATH", "")]
        )
        with self.errors.open("a") as errors:
            self.process = subprocess.Popen(
                [sys.executable, str(DRIVER), self.words],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=environ,
                start_new_session=True,
            )

    def kill(self) -> None:
        """The driver with its JVM and all its workers is gone."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def seen(self, folder: str) -> set[int]:
        """Numbers of the batches that the checkpoint has in one of its logs."""
        path = self.checkpoint / folder
        return (
            {int(each.name) for each in path.iterdir() if each.name.isdigit()}
            if path.is_dir()
            else set()
        )

    def uncommitted(self) -> set[int]:
        """Batches that are planned, and being read, and not committed."""
        reading = {int(each.name.partition("-")[2]) for each in self.hook.glob("planned-*")}
        return (self.seen("offsets") & reading) - self.seen("commits")

    def ended(self) -> bool:
        """Whether the driver has come to its end by itself."""
        return self.process.poll() is not None


def run(words: argparse.Namespace, folder: Path) -> dict[str, object]:
    """All of it."""
    chance = random.Random(words.seed)
    planned = at_random = replays = 0
    begun = time.monotonic()
    with NatsServer(words.binary, store=folder / "store") as server, connect(server.url) as nc:
        nc.jetstream().create_stream(name="LONG", subjects=["long"])
        with nc.jetstream().publish_window(max_pending=4000, results=False) as window:
            for number in range(words.messages):
                window.put(("long", b"%d" % number))
        query = Run(folder, server, words.batch)
        for _ in range(words.planned):
            held = max(query.seen("commits"), default=-1) + chance.randint(1, 2)
            (query.hook / f"hold-{held}").touch()
            query.start()
            until(
                lambda held=held: held in query.uncommitted() or query.ended(),
                "a batch that is held",
            )
            planned += held in query.uncommitted()
            query.kill()
            (query.hook / f"hold-{held}").unlink()
            replays += held not in query.seen("commits")
        for _ in range(words.random):
            before = len(query.seen("offsets"))
            query.start()
            until(
                lambda before=before: len(query.seen("offsets")) > before or query.ended(),
                "a batch",
            )
            time.sleep(chance.uniform(0.0, 1.5))
            at_random += not query.ended()
            query.kill()
        for number in range(words.workers):
            (query.hook / f"die-{number}").touch()
        commits = len(query.seen("commits"))
        query.start()
        for number in range(words.restarts):
            until(
                lambda goal=commits + 1 + number: (
                    len(query.seen("commits")) >= goal or query.ended()
                ),
                "a commit",
            )
            server.kill()
            server.restart()
        said, _ = query.process.communicate(timeout=3600)
    told = json.loads(said.splitlines()[-1]) if said.strip() else {}
    died = len(list(query.hook.glob("died-*")))
    right = {
        "rows": words.messages,
        "distinct": words.messages,
        "sum": words.messages * (words.messages + 1) // 2,
    }
    wrong = {name: told.get(name) for name, value in right.items() if told.get(name) != value}
    if planned < words.planned or died < words.workers:
        wrong["kills"] = "too few hit what they were meant for"
    if wrong:
        wrong["stderr"] = query.errors.read_text(encoding="utf-8", errors="replace")[-2000:]
    return {
        **told,
        "messages": words.messages,
        "batches": len(query.seen("offsets")),
        "planned kills": planned,
        "replayed": replays,
        "random kills": at_random,
        "worker deaths": died,
        "server restarts": words.restarts,
        "seconds": round(time.monotonic() - begun, 1),
        "wrong": wrong,
    }


def main() -> int:
    """The command."""
    words = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    words.add_argument("--messages", type=int, default=1_000_000)
    words.add_argument("--batch", type=int, default=40_000)
    words.add_argument("--planned", type=int, default=3)
    words.add_argument("--random", type=int, default=3)
    words.add_argument("--workers", type=int, default=2)
    words.add_argument("--restarts", type=int, default=1)
    words.add_argument("--seed", type=int, default=9)
    words.add_argument("--binary")
    with tempfile.TemporaryDirectory() as folder:
        told = run(words.parse_args(), Path(folder))
    print(json.dumps(told))
    return 1 if told["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
