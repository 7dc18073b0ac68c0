"""A source whose stream is written to between Spark's first call of `initialOffset` and the next
one; its reader is ours or a naive one.
"""

from __future__ import annotations

from pyspark.sql.datasource import DataSource

from jsproto_spark.connections import client
from jsproto_spark.options import Use, settings_of
from jsproto_spark.read.stream import StreamReader
from tests.spark.naive_streams import NaiveReader

READERS = {"ours": StreamReader, "naive": NaiveReader}


class MeanwhileSource(DataSource):
    """Sequences, for a streaming query; the option ``reader`` says whose."""

    @classmethod
    def name(cls):
        """The name of the format."""
        return "meanwhile"

    def schema(self):
        """All there is."""
        return "sequence BIGINT"

    def streamReader(self, schema):
        """A reader behind whose first answer a message is stored."""
        given = dict(self.options)
        settings = settings_of(
            {"servers": given["servers"], "stream": given["stream"]}, Use.STREAM_READ
        )

        class Meanwhile(READERS[given["reader"]]):
            asked = 0

            def initialOffset(self):
                answer = super().initialOffset()
                self.asked += 1
                if self.asked == 1:
                    name = settings.where.stream
                    client(settings.where, 5.0).jetstream().publish(f"{name}.meanwhile")
                return answer

        return Meanwhile(settings, schema)
