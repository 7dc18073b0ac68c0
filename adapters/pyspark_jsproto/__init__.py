"""What makes ``spark.read.format("jetstream")`` work after an install: Spark imports every top-level module called ``pyspark_*``.

Every session pays for this import at its first look for a data source, whether it uses this one or not. So nothing of jsproto is imported before
somebody makes a `DefaultSource`.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from importlib import import_module
from typing import cast

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

__all__ = ["DefaultSource"]


class DefaultSource(DataSource):
    """The data source ``jetstream``; see `jsproto_spark.source`."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        self.source = cast("DataSource", import_module("jsproto_spark.source").JetStreamSource(options))

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "jetstream"

    def schema(self) -> StructType | str:
        """The columns when the user gives no schema."""
        return self.source.schema()

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader of a batch."""
        return self.source.reader(schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """The reader of a streaming query."""
        return self.source.streamReader(schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """The writer of a batch."""
        return self.source.writer(schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 - Spark's name
        """The writer of a streaming query."""
        return self.source.streamWriter(schema, overwrite)
