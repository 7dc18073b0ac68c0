"""A source as one writes it first: it falls into the traps 4.10 and 4.11 in a real Spark."""

from __future__ import annotations

from pyspark.sql.datasource import DataSource

from jsproto_spark.options import ConnectSettings, ReadSettings, Settings, Use, WriteSettings
from jsproto_spark.read.batch import BatchReader
from tests.spark.naive_tasks import LeavingReading


def looked_up(given, use):
    """Settings as they are looked up in a dictionary: what is written in another way is not there,
    and nobody says so.
    """
    read = ReadSettings(
        min_partitions=int(given.get("minPartitions", 1)), read_mode=given.get("readMode", "auto")
    )
    where = ConnectSettings(stream=given["stream"], servers=given.get("servers", ""))
    return Settings(use=use, where=where, read=read, write=WriteSettings())


class NaiveSource(DataSource):
    """Sequences, read by tasks that leave their consumer behind."""

    @classmethod
    def name(cls):
        """The name of the format."""
        return "naive"

    def schema(self):
        """All there is."""
        return "sequence BIGINT"

    def reader(self, schema):
        """The reader of a batch."""
        made = BatchReader(looked_up(dict(self.options), Use.BATCH_READ), schema)
        made.reading = LeavingReading(made.reading.settings, schema)
        return made
