"""The data source ``jetstream``, from which Spark gets readers and writers.

Theory. Spark makes an instance in each process that plans, with the options as text. The
constructor checks all that does not depend on the use. The rest is checked when Spark asks for a
reader or writer. Spark 4.1 lacks what a streaming reader needs, so there it does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

import pyspark
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from jsproto_spark.errors import Unreadable
from jsproto_spark.options import Settings, Use, settings_of, values_of
from jsproto_spark.read.batch import BatchReader, PushdownReader
from jsproto_spark.read.columns import default_columns
from jsproto_spark.write.writer import BatchWriter, StreamWriter

try:
    from jsproto_spark.read.stream import StreamReader
except ImportError:  # Spark 4.1 has no read limits for sources in Python
    StreamReader = None  # type: ignore[assignment,misc]

T = TypeVar("T")

#: The first Spark version that supports the streaming reader.
STREAMS_SINCE: Final = "4.2"


class JetStreamSource(DataSource):
    """JetStream as a source and a sink."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.given = dict(options)
        self.values = values_of(self.given)

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "jetstream"

    def schema(self) -> str:
        """The default columns, if the user gives no schema."""
        form = (
            self.values.get("headersFormat", "map")
            if self.values.get("includeHeaders", True)
            else "none"
        )
        return ", ".join(f"{column.name} {column.type}" for column in default_columns(str(form)))

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader of a batch."""
        settings = self._settings(Use.BATCH_READ)
        return (
            PushdownReader(settings, schema)
            if settings.read.pushdown
            else BatchReader(settings, schema)
        )

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """The reader of a streaming query.

        Raises:
            Unreadable: this Spark is too old.
        """
        settings = self._settings(Use.STREAM_READ)
        return _available(StreamReader, settings)(settings, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """The writer of a batch."""
        return BatchWriter(self._settings(Use.BATCH_WRITE), schema, overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 - Spark's name
        """The writer of a streaming query."""
        return StreamWriter(self._settings(Use.STREAM_WRITE), schema)

    def _settings(self, use: Use) -> Settings:
        return settings_of(self.given, use)


def _available(kind: type[T] | None, settings: Settings) -> type[T]:
    if kind is None:
        raise Unreadable(
            f"stream {settings.where.stream!r}: expected Spark {STREAMS_SINCE} or newer for a "
            f"{settings.use}, got {pyspark.__version__}"
        )
    return kind
