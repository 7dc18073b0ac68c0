"""A million records judged: how fast the lint is, and how much memory it takes.

    python tests/long/lint.py                              1,000,000 records as a trace, then as a
    raw recording python tests/long/lint.py --records 20000 --forms trace python tests/long/lint.py
    --write big.trace            writes the trace and judges nothing

The session is one that a correct client has with a server: it reads on and on from one consumer,
refills when half is used up, acknowledges each message, answers PINGs, and hears a heartbeat now
and then. One record is one frame, which is the least that a line can hold and so the slowest to
read. The session is a fixed one: reads of 1 to 60 messages, acks together behind each.

Gives one JSON line for each form: records, records for each second of the processor, most memory in
use beyond what was in use before (in MiB), findings. The exit code is 1 if something was found, or
if memory grew with the length of the trace.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "adapters")]

from jsproto.trace.formats.reading import Trace  # noqa: E402
from jsproto.trace.formats.recording import SCHEMA, Happened, Received, Record, Sent  # noqa: E402
from jsproto.trace.formats.writing import TraceWriter  # noqa: E402
from jsproto.trace.judge.lint import Lint  # noqa: E402

INFO = (
    b'INFO {"server_id":"N","version":"2.15.1","proto":1,"headers":true,"max_payload":1048576} \r\n'
)
CONNECT = (
    b'CONNECT {"verbose":false,"headers":true,"no_responders":true,"lang":"long","version":"1"}\r\n'
)
BATCH = 500
STAMP = 1_795_813_228_857_713_434
#: MiB that judging may take, however long the trace is.
MOST_MEMORY = 128


def session() -> Iterator[Record]:
    """Records without an end."""
    dice = random.Random(5)
    at, number, owed = 0.0, 0, 0
    yield Happened(at=at, name="connected", conn="a", detail={})
    yield Received(at=at, conn="a", data=INFO)
    yield Sent(at=at, conn="a", data=CONNECT + b"PING\r\n")
    yield Received(at=at, conn="a", data=b"PONG\r\n")
    yield Sent(at=at, conn="a", data=b"SUB _INBOX.x.1 1\r\n")
    while True:
        if owed <= BATCH // 2:
            body = b'{"batch":%d,"expires":30000000000,"idle_heartbeat":15000000000}' % (
                BATCH - owed
            )
            ask = b"PUB $JS.API.CONSUMER.MSG.NEXT.ORDERS.work _INBOX.x.1 %d\r\n%b\r\n" % (
                len(body),
                body,
            )
            yield Sent(at=at, conn="a", data=ask)
            owed = BATCH
        at += dice.random() / 500
        acks: list[bytes] = []
        for _ in range(dice.randint(1, min(60, owed))):
            number += 1
            owed -= 1
            reply = b"$JS.ACK.ORDERS.work.1.%d.%d.%d.%d" % (
                number,
                number,
                STAMP + number,
                10**9 - number,
            )
            size = dice.randint(20, 300)
            yield Received(
                at=at,
                conn="a",
                data=b"MSG ORDERS.new.%d 1 %b %d\r\n%b\r\n"
                % (number % 50, reply, size, b"x" * size),
            )
            acks.append(b"PUB %b 4\r\n+ACK\r\n" % reply)
        at += 0.0001
        for ack in acks:
            yield Sent(at=at, conn="a", data=ack)
        if dice.random() < 0.01:
            yield Received(at=at, conn="a", data=b"PING\r\n")
            yield Sent(at=at, conn="a", data=b"PONG\r\n")


def write(path: Path, form: str, records: int) -> None:
    """The session as a file."""
    told = islice(session(), records)
    with path.open("w", encoding="utf-8") as file:
        if form == "trace":
            writer = TraceWriter(about={"scenario": "long"})
            file.write(writer.head)
            file.writelines(map(writer.lines, told))
            file.write(writer.end())
            return
        file.write(json.dumps({"schema": SCHEMA, "scenario": "long"}) + "\n")
        for record in told:
            line: dict[str, object] = {"t": round(record.at, 6), "conn": record.conn}
            if isinstance(record, Received | Sent):
                way = "s2c" if isinstance(record, Received) else "c2s"
                line |= {
                    "dir": way,
                    "b64": b64encode(record.data).decode(),
                    "text": record.data.decode("latin-1")[:400],
                }
            else:
                line |= {"dir": "event", "name": record.name}
            file.write(json.dumps(line) + "\n")


def judge(path: Path, form: str) -> dict[str, object]:
    """Judge the file."""
    lint, records = Lint(), 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.process_time()
    with path.open("rb") as file:
        for line, record in Trace(file).records():
            lint.feed(line, record)
            records += 1
    took = time.process_time() - begun
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return {
        "form": form,
        "records": records,
        "a second": round(records / took),
        "memory": round(grown, 1),
        "found": dict(lint.counted),
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--forms", nargs="+", choices=("trace", "raw"), default=("trace", "raw"))
    parser.add_argument("--write", type=Path, metavar="FILE")
    chosen = parser.parse_args(arguments)
    if chosen.write is not None:
        write(chosen.write, chosen.forms[0], chosen.records)
        return 0
    failed = False
    for form in chosen.forms:
        with tempfile.TemporaryDirectory(prefix="jsproto-lint-") as folder:
            path = Path(folder) / f"long.{form}"
            write(path, form, chosen.records)
            seen = judge(path, form)
        print(json.dumps(seen), flush=True)
        failed = failed or bool(seen["found"]) or seen["memory"] > MOST_MEMORY
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
