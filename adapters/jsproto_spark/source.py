"""The data source ``jetstream``: what Spark asks for readers and writers.

Theory. Spark makes one of these wherever it plans something, in processes that live for a second; so only what is light is imported here,
and each reader and writer with its own module when it is asked for. What streams need came to Spark later than the rest (4.2), so it
is looked for no earlier either.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import pyspark
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from jsproto_spark.columns import default_columns
from jsproto_spark.errors import Unreadable
from jsproto_spark.options import Settings, Use, settings_of, values_of

if TYPE_CHECKING:
    from collections.abc import Callable

#: The first Spark with what a use needs, and for the sake of which.
SINCE = {
    Use.STREAM_READ: ((4, 2), "limits and AvailableNow for Python sources"),
    Use.BATCH_WRITE: ((4, 1), "Arrow writers"),
    Use.STREAM_WRITE: ((4, 1), "Arrow writers for streams"),
}


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
        """The columns when the user gives no schema."""
        form = self.values.get("headersFormat", "map") if self.values.get("includeHeaders", True) else "none"
        return ", ".join(f"{column.name} {column.type}" for column in default_columns(str(form)))

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader of a batch."""
        settings = self._settings(Use.BATCH_READ)
        kind = "PushdownReader" if settings.read.pushdown else "BatchReader"
        return cast("DataSourceReader", _part("batch", kind)(settings, schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """The reader of a streaming query."""
        settings = self._settings(Use.STREAM_READ)
        return cast("DataSourceStreamReader", _part("stream", "StreamReader")(settings, schema))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """The writer of a batch."""
        settings = self._settings(Use.BATCH_WRITE)
        return cast("DataSourceWriter", _part("writer", "BatchWriter")(settings, schema, overwrite=overwrite))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 - Spark's name
        """The writer of a streaming query."""
        settings = self._settings(Use.STREAM_WRITE)
        return cast("DataSourceStreamWriter", _part("writer", "StreamWriter")(settings, schema))

    def _settings(self, use: Use) -> Settings:
        settings = settings_of(self.given, use)
        since, why = SINCE.get(use, ((4, 0), ""))
        seen = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
        if seen < since:
            raise Unreadable(
                f"stream {settings.where.stream!r}: expected Spark {since[0]}.{since[1]} for a {use} ({why}), seen {pyspark.__version__}"
            )
        return settings


def _part(module: str, name: str) -> Callable[..., Any]:
    return cast("Callable[..., Any]", getattr(import_module(f"jsproto_spark.{module}"), name))
