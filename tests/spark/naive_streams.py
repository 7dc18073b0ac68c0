"""Streaming readers as one writes them first: they fall into the traps 4.1, 4.2 and 4.5
where ours lose nothing.

Each is all right as far as it goes, and its calls do what their names say. It does not know that
Spark asks for the initial offset twice, that a process may die between two calls, that what is
planned is not done, or that a stream may lose messages or be made anew.
"""

from __future__ import annotations

from attrs import evolve
from pyspark.sql.datasource import DataSourceStreamReader
from pyspark.sql.streaming.datasource import ReadAllAvailable

from jsproto.jetstream.errors import DataLost
from jsproto_spark.read import planning
from jsproto_spark.read.offsets import Offset
from jsproto_spark.read.range_scan import Part, RangeScan
from jsproto_spark.read.release import Release
from jsproto_spark.read.stream import StreamReader


class NaiveReader(DataSourceStreamReader):
    """An offset is a sequence, and a batch is what lies between two of them. It looks for no loss."""

    def __init__(self, settings, schema):
        self.reading = RangeScan(
            evolve(settings, read=evolve(settings.read, fail_on_data_loss=False)), schema
        )

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
    """The same with the first repair that comes to mind: it keeps what it has answered, as long as
    it lives.
    """

    def __init__(self, settings, schema):
        super().__init__(settings, schema)
        self.initial = None

    def initialOffset(self):
        """The same each time."""
        self.initial = self.initial or super().initialOffset()
        return self.initial


class EarlyReader(StreamReader):
    """Ours, but since the commit comes late it releases what is read."""

    def read(self, partition):
        """As ours does it; of what was read nothing is processed yet."""
        yield from super().read(partition)
        if isinstance(partition, Part):
            name, created = self.reading.settings.where.stream, str(partition.created)
            self.release.below(
                Offset(
                    stream=name,
                    created=created,
                    seq=partition.hi,
                    init=1,
                    what=self.what,
                    owner=self.name,
                )
            )


class HastyRelease(Release):
    """Whatever is before an offset is processed."""

    def below(self, offset):
        """Also what is before the first one."""
        super().below(evolve(offset, init=0))


class HastyReader(StreamReader):
    """Ours with that release."""

    def __init__(self, settings, schema):
        super().__init__(settings, schema)
        self.release = HastyRelease(settings, self.what)


class CountingReader(StreamReader):
    """Ours, but it counts: so many sequences, so many messages, and everything else is loss."""

    def read(self, partition):
        """As ours does it, and the sum."""
        missing = partition.hi - partition.lo
        for batch in super().read(partition):
            missing -= batch.num_rows
            yield batch
        if missing:
            name = self.reading.settings.where.stream
            raise DataLost(f"{missing} messages are missing", name, partition.lo, partition.hi)
