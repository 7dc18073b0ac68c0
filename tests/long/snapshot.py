"""A large stream goes into a folder and comes back on another server, every message compared; and
again with servers killed in the middle.

    python tests/long/snapshot.py                                  200 MB
    python tests/long/snapshot.py --megabytes 5

First the server is killed while a backup is being taken: that must be an error, and the folder must
be refused. Then the backup is taken as a whole, and the other server is killed while it is
restored: that must be an error, and what a restarted server holds of the stream must be in the way
of the next restore. At last it is restored, and each message must be what it was: sequence,
subject, headers, payload and time, with the holes that deletions left, and the consumer must be
where it was.

Gives one JSON line; the exit code is 1 if a rule was broken. It is a command and not a test because
it takes minutes; the short form is tested.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
import time
from itertools import zip_longest
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "adapters")]

from jsproto import Headers, JsprotoError, LinkError, StreamInfo  # noqa: E402
from jsproto.errors import InvalidBackup, RestoreConflict  # noqa: E402
from jsproto_io._testing.nats_server import NatsServer  # noqa: E402
from jsproto_io.backup import Phase, Progress, back_up, restore  # noqa: E402
from jsproto_io.blocking import Client, connect  # noqa: E402

SIZE = 4096
NAME = "LARGE"
#: A server that was just started again looks for its streams first.
PATIENCE = 60.0


def fill(nc: Client, messages: int) -> StreamInfo:
    """Payloads that do not compress, and holes."""
    js = nc.jetstream(timeout=PATIENCE)
    stream = js.create_stream(name=NAME, subjects=["large.*"], allow_direct=True)
    with js.publish_window(max_pending=500, results=False, ack_timeout=PATIENCE) as window:
        for number in range(messages):
            payload = Random(number).randbytes(SIZE)
            window.put((f"large.{number % 97}", payload, Headers({"Number": str(number)})))
    for number in range(10, messages, 1000):
        stream.messages.delete(number)
    return stream.info()


def work(nc: Client) -> None:
    """A consumer that has come some way; a server that is killed may forget where it was."""
    consumer = (
        nc.jetstream().stream(NAME).create_consumer(durable_name="WORK", ack_policy="explicit")
    )
    for _ in range(10):
        consumer.next().ack_confirmed()


class Killer:
    """Kills a server as soon as a tenth of the bytes of a deed have passed."""

    def __init__(self, server: NatsServer, deed: str) -> None:
        self.server = server
        self.deed = deed
        self.kills = 0

    def __call__(self, progress: Progress) -> None:
        due = progress.bytes * 10 >= progress.total
        if progress.deed == self.deed and progress.phase is Phase.DATA and due and not self.kills:
            self.kills += 1
            self.server.kill()


def backup_cut_short(server: NatsServer, folder: Path) -> str:
    """Take a backup of a server that is killed; what is wrong about it."""
    killer = Killer(server, "backup")
    try:
        with connect(server.url, max_reconnects=0) as nc:
            back_up(nc, folder, tell=killer)
    except LinkError:
        pass
    else:
        return "the backup of a killed server was taken for whole"
    finally:
        server.restart()
    try:
        with ready(server) as nc:
            restore(nc, folder)
    except InvalidBackup:
        return "" if killer.kills else "nobody was killed"
    return "half a backup was restored"


def restore_cut_short(server: NatsServer, folder: Path) -> tuple[str, int]:
    """Restore onto a server that is killed; what is wrong about it, and how many messages were left
    behind.
    """
    killer = Killer(server, "restore")
    try:
        with connect(server.url, max_reconnects=0) as nc:
            restore(nc, folder, tell=killer)
    except LinkError:
        pass
    else:
        return "a restore onto a killed server was taken for whole", 0
    finally:
        server.restart()
    with ready(server) as nc:
        js = nc.jetstream(timeout=PATIENCE)
        if NAME not in js.stream_names():
            return "", 0
        left = js.stream_info(NAME).state.messages
        try:
            restore(nc, folder, update=True)
        except RestoreConflict:
            js.delete_stream(NAME)
            return "", left
        return "what was left of a restore was taken for whole", left


@contextlib.contextmanager
def ready(server: NatsServer):
    """A client, when JetStream answers."""
    with connect(server.url) as nc:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                nc.jetstream(timeout=1.0).account_info()
                break
            except JsprotoError:
                if time.monotonic() > deadline:
                    raise
        yield nc


def compare(one: Client, other: Client) -> tuple[int, int]:
    """How many messages there are, and how many are not the same."""
    seen = different = 0
    with (
        one.jetstream(timeout=PATIENCE).stream(NAME).messages.batch() as first,
        other.jetstream(timeout=PATIENCE).stream(NAME).messages.batch() as second,
    ):
        for a, b in zip_longest(first, second):
            seen += 1
            different += (
                a is None
                or b is None
                or (a.seq, a.subject, a.headers, a.payload, a.time)
                != (b.seq, b.subject, b.headers, b.payload, b.time)
            )
    return seen, different


def run(megabytes: int) -> dict[str, object]:
    """All of it; gives what was seen, and what was wrong."""
    messages = megabytes * 1_000_000 // SIZE
    with (
        tempfile.TemporaryDirectory() as scratch,
        NatsServer() as server,
        NatsServer() as target,
        NatsServer() as other,
    ):
        with connect(server.url) as nc:
            info = fill(nc, messages)
        half = backup_cut_short(server, Path(scratch, "half"))
        with ready(server) as nc, connect(other.url) as there:
            work(nc)
            begun = time.monotonic()
            manifest = back_up(nc, Path(scratch, "whole"))
            saved = time.monotonic()
            cut, left = restore_cut_short(target, Path(scratch, "whole"))
            putting = time.monotonic()
            restore(there, Path(scratch, "whole"))
            put = time.monotonic()
            seen, different = compare(nc, there)
            consumer = there.jetstream(timeout=PATIENCE).stream(NAME).consumer("WORK").info()
    wrong = {
        half: 1,
        cut: 1,
        "messages that differ": different,
        "messages missing": info.state.messages - seen,
        "consumer elsewhere": abs(consumer.ack_floor.consumer_seq - 10),
    }
    (entry,) = manifest.streams
    return {
        "server": manifest.server,
        "megabytes": round(info.state.bytes / 1e6),
        "messages": info.state.messages,
        "archive_megabytes": round(entry.size / 1e6),
        "compared": seen,
        "left_by_a_killed_restore": left,
        "backup_seconds": round(saved - begun, 1),
        "restore_seconds": round(put - putting, 1),
        "wrong": {rule: number for rule, number in wrong.items() if rule and number},
    }


def main() -> int:
    words = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    words.add_argument("--megabytes", type=int, default=200, help="payload of the stream (200)")
    told = run(words.parse_args().megabytes)
    print(json.dumps(told))
    return int(bool(told["wrong"]))


if __name__ == "__main__":
    sys.exit(main())
