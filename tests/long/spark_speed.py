"""Reading and writing a million messages on Spark beside nats-py on the same stream in the same
run, as ratios.

    python tests/long/spark_speed.py                                 1,000,000 messages of 128 B
    with two headers, medians of 3 python tests/long/spark_speed.py --messages 20000 --rounds 1
    whether it runs python tests/long/spark_speed.py --parts blocking writer         two of the
    comparisons: blocking, spark, arrow, writer

Forms: plain nats-py by fetch of 1000 and by ordered consumer (headers and metadata read); the
blocking adapter, one range, headers and metadata read; Spark into the noop sink with one and two
partitions, all default columns; the plain reader beside it, who gives Spark a tuple for each
message, headers as a dict and times as datetime; Spark writing with ids, and nats-py publishing
asynchronously with the same ids. All readers and the server share the machine.

What Arrow gains over tuples is said twice. *In hand*: both are given the same frames again and
again, without a server, which is the way from a message to Spark alone, of which five times is
demanded. *End to end*: both read the stream, and what that costs is the same for both. Both are
ratios of CPU seconds of Spark and its workers for one partition.

A session of Spark and its first jobs, which compile and start workers, are outside the timed part,
as are the start of an interpreter and the connection of the forms without Spark; planning, creating
consumers and ending are inside.

Gives one JSON line for each form, and last the ratios and whether each that is demanded holds; the
exit code is 1 if one does not.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "adapters")]

from jsproto.wire.headers import Headers  # noqa: E402
from jsproto_io._testing.nats_server import NatsServer  # noqa: E402
from jsproto_io.blocking import connect  # noqa: E402

SIZE = 128
#: Frames of a run in hand: about what one read of a socket gives.
RUN = 330
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
#: Ratio that is demanded: name -> (faster, slower, at least).
DEMANDED = {
    "blocking / nats-py ordered": ("blocking", "nats-py ordered", 5.0),
    "spark 2 partitions / nats-py fetch": ("spark 2", "nats-py fetch", 5.0),
}
#: The same for CPU seconds; what nothing is demanded of is told only.
GAINED = {
    "arrow / tuples in hand": ("arrow in hand", "tuples in hand", 5.0),
    "arrow / tuples end to end": ("spark 1", "tuples 1", 0.0),
}
#: The comparisons that can be run alone: their ratio, if it has one, and their forms.
PARTS = {
    "blocking": ("blocking / nats-py ordered", ("blocking", "nats-py ordered")),
    "spark": ("spark 2 partitions / nats-py fetch", ("spark 2", "nats-py fetch")),
    "arrow": (None, ("arrow in hand", "tuples in hand", "spark 1", "tuples 1")),
    "writer": (None, ("spark writes", "nats-py publishes")),
}
#: The formats of the readers that are compared.
FORMATS = ("tuples", "tuples_in_hand", "arrow_in_hand")
#: Rows a second that the writer must make, or this many times nats-py.
WRITER, TIMES = 40_000, 2.0


def fill(url: str, messages: int) -> None:
    """The stream that all of them read."""
    with connect(url) as nc:
        nc.jetstream().create_stream(name="SPEED", subjects=["speed.>"])
        nc.jetstream().create_stream(name="SINK", subjects=["sink.>"])
        payload = b"x" * SIZE
        with nc.jetstream().publish_window(max_pending=4000, results=False) as window:
            for number in range(messages):
                headers = Headers([("Order", f"order-{number:08d}"), ("Trace-Parent", TRACE)])
                window.put((f"speed.{number % 10}", payload, headers))


# ------------------------------------------------------------------------------------------------ without Spark


async def natspy(url: str, how: str, messages: int) -> float:
    """Seconds of nats-py."""
    import nats  # noqa: PLC0415 - only these forms need it

    nc = await nats.connect(url)
    js = nc.jetstream(publish_async_max_pending=4000)
    got = total = 0
    begun = time.perf_counter()
    if how == "nats-py fetch":
        config = nats.js.api.ConsumerConfig(ack_policy=nats.js.api.AckPolicy.NONE)
        pull = await js.pull_subscribe("speed.>", stream="SPEED", config=config)
        while got < messages:
            for message in await pull.fetch(min(1000, messages - got), timeout=10):
                total += message.metadata.sequence.stream and len(message.headers) + len(
                    message.data
                )
                got += 1
    elif how == "nats-py ordered":
        subscription = await js.subscribe("speed.>", stream="SPEED", ordered_consumer=True)
        async for message in subscription.messages:
            total += message.metadata.sequence.stream and len(message.headers) + len(message.data)
            got += 1
            if got == messages:
                break
    else:
        payload = b"x" * SIZE
        for number in range(messages):
            await js.publish_async(
                "sink.a", payload, headers={"Nats-Msg-Id": f"n-{os.getpid()}-{number}"}
            )
        await js.publish_async_completed()
    took = time.perf_counter() - begun
    await nc.close()
    return took


def blocking(url: str, messages: int) -> float:
    """Seconds of the blocking adapter for one range."""
    with connect(url) as nc:
        begun = time.perf_counter()
        got = 0
        with nc.jetstream().stream("SPEED").read_range(1, messages + 1) as feed:
            for rows in feed:
                got += len(rows)
                len(rows.headers), rows.sequences, rows.timestamps, len(rows.payloads)
        assert got == messages
        return time.perf_counter() - begun


def alone(words: argparse.Namespace) -> None:
    """One form in a process of its own."""
    if words.alone == "blocking":
        took = blocking(words.url, words.messages)
    else:
        took = asyncio.run(natspy(words.url, words.alone, words.messages))
    print(took, time.process_time())


def apart(form: str, url: str, messages: int) -> tuple[float, float]:
    """Start one: its seconds, and its CPU seconds with the start of its interpreter."""
    command = [sys.executable, __file__, "--alone", form, "--url", url, "--messages", str(messages)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=1800)
    took, spent = map(float, done.stdout.splitlines()[-1].split())
    return took, spent


# ------------------------------------------------------------------------------------------------ with Spark


def session():
    """Two cores."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(ROOT), str(ROOT / "adapters"), os.environ.get("PYTHONPATH", "")]
    )
    from pyspark.sql import SparkSession  # noqa: PLC0415 - the other forms run without it

    builder = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
    return builder.config("spark.log.level", "ERROR").getOrCreate()


def cpu() -> dict[int, float]:
    """CPU seconds until now of Spark's JVM and of each of its workers, by process."""
    ticks: dict[int, tuple[int, int]] = {}
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            words = (folder / "stat").read_text().rpartition(") ")[2].split()
            ticks[int(folder.name)] = int(words[1]), int(words[11]) + int(words[12])
    ours = {pid for pid, (parent, _) in ticks.items() if parent == os.getpid() and is_java(pid)}
    grown = True
    while grown:
        found = {pid for pid, (parent, _) in ticks.items() if parent in ours}
        grown = not found <= ours
        ours |= found
    return {pid: ticks[pid][1] / os.sysconf("SC_CLK_TCK") for pid in ours}


def since(before: dict[int, float]) -> float:
    """CPU seconds of all of them since then; a worker that has ended meanwhile had been idle."""
    return sum(seconds - before.get(pid, 0.0) for pid, seconds in cpu().items())


def is_java(pid: int) -> bool:
    """Whether it is the driver's JVM."""
    with contextlib.suppress(OSError):
        return b"java" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
    return False


def beside(spark) -> None:
    """Register the readers that ours is compared with: tuples from the stream, and both forms with
    frames in hand.
    """
    from datetime import UTC, datetime, timedelta  # noqa: PLC0415

    from jsproto.jetstream.range_read.rows import DeliveredRows  # noqa: PLC0415
    from jsproto_spark.connections import client  # noqa: PLC0415
    from jsproto_spark.options import Use  # noqa: PLC0415
    from jsproto_spark.read.arrow import arrow_schema, batches  # noqa: PLC0415
    from jsproto_spark.read.batch import BatchReader  # noqa: PLC0415
    from jsproto_spark.source import JetStreamSource  # noqa: PLC0415

    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    run, trace = RUN, TRACE

    def plainly(feed):
        for rows in feed:
            for row in rows:
                headers = {}
                for name, value in row.headers:
                    headers.setdefault(name, []).append(value)
                moment = epoch + timedelta(microseconds=row.timestamp // 1000)
                yield row.subject, row.sequence, moment, row.payload, headers, rows.stream

    def in_hand(partition):
        """Frames as a consumer of the stream gives them, the same ones again with each run."""
        frames = [
            (
                "1",
                f"speed.{number % 10}",
                f"$JS.ACK.SPEED.reader.1.{number}.{number}.{1_764_351_111_123_456_789 + number}.{run - number}",
                f"NATS/1.0\r\nOrder: order-{number:08d}\r\nTrace-Parent: {trace}\r\n\r\n".encode(),
                b"x" * SIZE,
            )
            for number in range(1, run + 1)
        ]
        for _ in range(partition.lo, partition.hi, run):
            yield DeliveredRows("SPEED", frames)

    class TupleReader(BatchReader):
        def read(self, partition):
            where = self.reading.settings.where
            stream = client(where, 10.0).jetstream().stream(where.stream)
            with stream.read_range(partition.lo, partition.hi, way=partition.way) as feed:
                yield from plainly(feed)

    class TuplesInHand(BatchReader):
        def read(self, partition):
            return plainly(in_hand(partition))

    class ArrowInHand(BatchReader):
        def read(self, partition):
            columns = self.reading.columns
            return batches(in_hand(partition), columns, arrow_schema(columns, self.reading.schema))

    def registered(form, reader_class):
        class Source(JetStreamSource):
            @classmethod
            def name(cls):
                return form

            def reader(self, schema):
                return reader_class(self._settings(Use.BATCH_READ), schema)

        spark.dataSource.register(Source)

    for form, kind in zip(FORMATS, (TupleReader, TuplesInHand, ArrowInHand), strict=True):
        registered(form, kind)


def reads(
    spark, url: str, partitions: int, form: str = "jetstream", end: int | None = None
) -> float:
    """Seconds for all default columns into the noop sink."""
    given = {"servers": url, "stream": "SPEED", "minPartitions": str(partitions)}
    given |= {} if end is None else {"endingOffsets": str(end)}
    frame = spark.read.format(form).options(**given).load()
    begun = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - begun


def writes(spark, url: str, messages: int, mark: str) -> float:
    """Seconds for rows with ids, two tasks."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    rows = spark.range(0, messages, 1, 2).select(
        F.lit("sink.a").alias("subject"),
        F.lpad(F.col("id").cast("string"), SIZE, "x").cast("binary").alias("payload"),
        F.concat(F.lit(mark), F.col("id").cast("string")).alias("msg_id"),
    )
    begun = time.perf_counter()
    rows.write.format("jetstream").options(servers=url, stream="SINK").mode("append").save()
    return time.perf_counter() - begun


def measured(
    url: str, messages: int, rounds: int, parts: list[str]
) -> tuple[dict[str, float], dict[str, float]]:
    """For each form of these parts messages a second, and microseconds of CPU for a message:
    medians.
    """
    spark = session()
    beside(spark)
    wanted = {name for part in parts for name in PARTS[part][1]}
    writing = max(1, messages // 2)
    forms = {
        "nats-py fetch": (messages, lambda n: apart("nats-py fetch", url, messages)),
        "nats-py ordered": (messages, lambda n: apart("nats-py ordered", url, messages)),
        "blocking": (messages, lambda n: apart("blocking", url, messages)),
        "spark 1": (messages, lambda n: reads(spark, url, 1)),
        "tuples 1": (messages, lambda n: reads(spark, url, 1, "tuples")),
        "arrow in hand": (messages, lambda n: reads(spark, url, 1, "arrow_in_hand")),
        "tuples in hand": (messages, lambda n: reads(spark, url, 1, "tuples_in_hand")),
        "spark 2": (messages, lambda n: reads(spark, url, 2)),
        "spark writes": (writing, lambda n: writes(spark, url, writing, f"s{n}-")),
        "nats-py publishes": (writing, lambda n: apart("nats-py publishes", url, writing)),
    }
    forms = {name: form for name, form in forms.items() if name in wanted}
    if wanted & {"spark 1", "spark 2"}:
        reads(spark, url, 2)  # the first job of a session compiles and starts workers
    for form in FORMATS if "tuples 1" in wanted else ():
        reads(spark, url, 1, form, 1000)
    if "spark writes" in wanted:
        writes(spark, url, 1000, "first-")
    seconds: dict[str, list[float]] = {name: [] for name in forms}
    spent: dict[str, list[float]] = {name: [] for name in forms}
    for number in range(
        rounds
    ):  # one after the other in each round, so that a busy minute hits all of them
        for name, (_, form) in forms.items():
            before = cpu()
            took = form(number)
            took, used = took if isinstance(took, tuple) else (took, since(before))
            seconds[name].append(took)
            spent[name].append(round(used, 2))
    spark.stop()
    rates = {name: count / statistics.median(seconds[name]) for name, (count, _) in forms.items()}
    costs = {
        name: statistics.median(spent[name]) / count * 1e6 for name, (count, _) in forms.items()
    }
    for name, (count, _) in forms.items():
        took = [round(each, 2) for each in seconds[name]]
        told = {"form": name, "messages": count, "a second": round(rates[name]), "seconds": took}
        told |= {"CPU us a message": round(costs[name], 2), "CPU seconds": spent[name]}
        print(json.dumps(told), flush=True)
    return rates, costs


def main() -> int:
    """The command."""
    words = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    words.add_argument("--messages", type=int, default=1_000_000)
    words.add_argument("--rounds", type=int, default=3)
    words.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="comparisons")
    words.add_argument("--alone", help=argparse.SUPPRESS)
    words.add_argument("--url", help=argparse.SUPPRESS)
    given = words.parse_args()
    if given.alone:
        alone(given)
        return 0
    with tempfile.TemporaryDirectory() as folder, NatsServer(store=folder) as server:
        fill(server.url, given.messages)
        rates, costs = measured(server.url, given.messages, given.rounds, given.parts)
    ratios: dict[str, float] = {}
    for part in given.parts:
        name = PARTS[part][0]
        if name is not None:
            fast, slow, _ = DEMANDED[name]
            ratios[name] = round(rates[fast] / rates[slow], 2)
    told: dict[str, object] = {"ratios": ratios}
    holds = {name: ratio >= DEMANDED[name][2] for name, ratio in ratios.items()}
    if "arrow" in given.parts:
        for name, (fast, slow, least) in GAINED.items():
            ratios[name] = round(costs[slow] / costs[fast], 2)
            if least:
                holds[name] = ratios[name] >= least
    if "writer" in given.parts:
        written, others = rates["spark writes"], rates["nats-py publishes"]
        holds["writer"] = written >= WRITER or written >= TIMES * others
        told |= {
            "writer": round(written),
            "nats-py publishes": round(others),
            "writer / nats-py publishes": round(written / others, 2),
            "nats-py publishes / writer in CPU": round(
                costs["nats-py publishes"] / costs["spark writes"], 2
            ),
        }
    told["holds"] = holds
    print(json.dumps(told))
    return 0 if all(holds.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
