"""A streaming query without Spark: its engine's calls, in its order, with a checkpoint that
outlives a crash.
"""

from __future__ import annotations

import json

from pyspark.sql.streaming.datasource import ReadAllAvailable

from jsproto_spark.options import Use, settings_of
from jsproto_spark.read.stream import StreamReader
from tests.spark.feeding import SEQUENCES, options, read

ALL = ReadAllAvailable()


class Query:
    """One query.

    Attributes:
        kind: what makes its reader, ours or a naive one.
        rows: the sequences of all batches that were committed, in order.
        planned: ``(start, end)`` of each batch that was planned.
    """

    def __init__(self, nc, stream, schema=SEQUENCES, *, kind=StreamReader, **given):
        self.given = options(nc, stream, **given)
        self.schema = schema
        self.kind = kind
        self.log = []  # the end of each planned batch, as JSON
        self.done = 0  # how many of them are committed
        self.rows = []
        self.planned = []
        self.start()

    def start(self):
        """A new process."""
        self.reader = self.kind(settings_of(self.given, Use.STREAM_READ), self.schema)
        self.begin = None

    def plan(self, limit=None):
        """Look for the end of the next batch and log it; ``False`` if there is nothing."""
        assert self.done == len(self.log)
        first = self.initial() if not self.log else json.loads(self.log[-1])
        end = json.dumps(
            self.reader.latestOffset(first, limit or self.reader.getDefaultReadLimit())
        )
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
