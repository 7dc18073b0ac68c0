"""Streams with messages for tests of the source, and a reader driven by the calls that Spark makes, in Spark's order."""

from __future__ import annotations

import json
import uuid

from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from jsproto_spark.options import Use, settings_of
from jsproto_spark.stream import StreamReader

#: Only what tests of ranges look at.
SEQUENCES = StructType([StructField("sequence", LongType())])
PAYLOADS = StructType([StructField("sequence", LongType()), StructField("payload", BinaryType())])


def new_stream(nc, messages=0, **config):
    """A stream of its own name with so many messages of a few bytes; the subject is ``<name>.<k>`` with k from 0 to 2."""
    name = "T" + uuid.uuid4().hex[:12]
    stream = nc.jetstream().create_stream(
        **{"name": name, "subjects": [f"{name}.>"], "storage": "memory", "allow_direct": True, **config}
    )
    fill(nc, stream, messages)
    return stream


def fill(nc, stream, messages, subject=None):
    """Publish so many messages more."""
    with nc.jetstream().publish_window(max_pending=2000, results=False) as window:
        for number in range(messages):
            window.put((subject or f"{stream.name}.{number % 3}", b"%d" % number))


def options(nc, stream, /, **given):
    return {"servers": f"nats://{nc.server.host}:{nc.server.port}", "stream": stream.name, **given}


class Query:
    """A streaming query without Spark: what its engine calls, with a checkpoint that outlives a crash.

    Attributes:
        rows: the sequences of all batches that were committed, in order.
        planned: ``(start, end)`` of each batch that was planned.
    """

    def __init__(self, nc, stream, schema=SEQUENCES, **given):
        self.given = options(nc, stream, **given)
        self.schema = schema
        self.log = []  # the end of each planned batch, as JSON
        self.done = 0  # how many of them are committed
        self.rows = []
        self.planned = []
        self.start()

    def start(self):
        """A new process."""
        self.reader = StreamReader(settings_of(self.given, Use.STREAM_READ), self.schema)
        self.begin = None

    def plan(self, limit=None):
        """Look for the end of the next batch and log it; ``False`` if there is nothing."""
        assert self.done == len(self.log)
        first = self.initial() if not self.log else json.loads(self.log[-1])
        end = json.dumps(self.reader.latestOffset(first, limit or self.reader.getDefaultReadLimit()))
        if end == json.dumps(first):
            return False
        self.log.append(end)
        if len(self.log) > 1:
            self.reader.commit(json.loads(self.log[-2]))
        return True

    def initial(self):
        return self.reader.initialOffset()

    def run(self, *, commit=True):
        """Run the planned batch: its rows."""
        begin = self.initial() if self.done == 0 else json.loads(self.log[self.done - 1])
        end = json.loads(self.log[self.done])
        self.planned.append((begin, end))
        parts = self.reader.partitions(begin, end)
        rows = read(self.reader, parts)
        if commit:
            self.rows += rows
            self.done += 1
        return rows

    def all(self):
        """Batch after batch until there is nothing more."""
        if len(self.log) > self.done:
            self.run()
        while self.plan():
            self.run()
        return self.rows

    def crash(self):
        """The process dies and another one goes on from the checkpoint."""
        self.start()


def read(reader, parts):
    """The sequences that the tasks of a plan give."""
    return [
        seq
        for part in parts or [InputPartition(None)]
        for batch in reader.read(part)
        for seq in batch.column("sequence").to_pylist()
    ]


ALL = ReadAllAvailable()
