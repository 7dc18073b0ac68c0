"""Registers the data source ``jetstream``: Spark imports all top-level modules ``pyspark_*``.

Every session imports this module when it first looks for a data source, even if it does not use
this one. So nothing of jsproto is imported before Spark makes a `DefaultSource`.

`carry` makes a format that brings its code, for executors without jsproto.
"""

from __future__ import annotations

import sys
from collections.abc import MutableMapping
from importlib import import_module
from typing import Final, cast

from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

__all__ = ["CARRIED", "DefaultSource", "carry"]

#: The format that `carry` makes.
CARRIED: Final = "jetstream-carried"


class DefaultSource(DataSource):
    """The data source ``jetstream``; see `jsproto_spark.source`."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        self.source = cast(
            "DataSource", import_module("jsproto_spark.source").JetStreamSource(options)
        )

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "jetstream"

    def schema(self) -> StructType | str:
        """The default columns, if the user gives no schema."""
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


def carry(spark: SparkSession) -> str:
    """Register the format ``jetstream-carried``, for executors that have no jsproto.

    It has the same functions as ``jetstream``, and brings the code of jsproto: about 460 KiB of
    compressed code with each reader and writer, imported once by each worker. Executors need
    pyspark, pyarrow and numpy, with the driver's minor version of Python. An executor that has
    jsproto uses its own.

    Args:
        spark: the session.

    Returns:
        The name of the format.
    """

    class Carried(DefaultSource):
        """The data source ``jetstream-carried``; its code is unpickled first."""

        code = import_module("jsproto_spark.code_shipping").packed()

        @classmethod
        def name(cls) -> str:
            """The name of the format."""
            return CARRIED

    here = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(here)  # type: ignore[no-untyped-call]
    try:
        spark.dataSource.register(Carried)
    finally:
        cloudpickle.unregister_pickle_by_value(here)  # type: ignore[no-untyped-call]
    return CARRIED
