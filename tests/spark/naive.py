"""A source as one writes it first: the traps of SPARK.md 4.1 and 4.5 close on it, in the scenarios in which ours loses nothing.

It is all right as far as it goes: each call does what its name says. It does not know that Spark asks for the initial offset twice,
that a process may die between two calls, and that a stream may lose messages or be made anew.
"""

from __future__ import annotations

from pyspark.sql.streaming.datasource import ReadAllAvailable

from jsproto_spark import planning
from jsproto_spark.options import Use, settings_of
from jsproto_spark.reading import Reading
from tests.spark.querying import Query


class NaiveReader:
    """An offset is a sequence, and a batch is what lies between two of them."""

    def __init__(self, settings, schema):
        self.reading = Reading(settings, schema)

    def initialOffset(self):
        """Latest, or earliest, as it is now."""
        facts = self.reading.ask()
        return {"seq": self.reading.start(facts, "latest")}

    def latestOffset(self, start, limit):
        """The end as it is now."""
        return {"seq": planning.behind(self.reading.ask())}

    def getDefaultReadLimit(self):
        """None."""
        return ReadAllAvailable()

    def partitions(self, start, end):
        """From one to the other."""
        return self.reading.parts(self.reading.ask(), start["seq"], end["seq"])

    def read(self, partition):
        """As ours does it."""
        return self.reading.read(partition)

    def commit(self, end):
        """Nothing to release."""


class RepairedReader(NaiveReader):
    """The same with the first repair that comes to mind: it keeps what it has answered, as long as it lives."""

    def __init__(self, settings, schema):
        super().__init__(settings, schema)
        self.initial = None

    def initialOffset(self):
        """The same each time."""
        self.initial = self.initial or super().initialOffset()
        return self.initial


class NaiveQuery(Query):
    """A query on it."""

    kind = NaiveReader

    def start(self):
        """A new process."""
        given = {**self.given, "failOnDataLoss": "false"}  # it looks for no loss
        self.reader = self.kind(settings_of(given, Use.STREAM_READ), self.schema)
        self.begin = None


class RepairedQuery(NaiveQuery):
    """A query on the repaired one."""

    kind = RepairedReader
