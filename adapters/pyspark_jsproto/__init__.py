"""What makes ``spark.read.format("jetstream")`` work after an install: Spark imports every
top-level module called ``pyspark_*``.

Every session pays for this import at its first look for a data source, whether it uses this one or
not. So nothing of jsproto is imported before somebody makes a `DefaultSource`.

`carry` is for sessions whose other processes have no jsproto: the same source, that brings its
code.
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


def carry(spark: SparkSession) -> str:
    """Make the format ``jetstream-carried`` in a session: ``jetstream``, for executors that have no
    jsproto.

    It can do the same, and takes the code of jsproto with it wherever Spark sends it: about 460 KiB
    of compressed code with each reader and writer, imported once by each worker. Executors need
    Python, of the driver's minor version, with pyspark, pyarrow and numpy; one with a jsproto of
    its own uses that.

    Args:
        spark: the session.

    Returns:
        The name of the format.
    """

    class Carried(DefaultSource):
        """The data source ``jetstream-carried``, and its code, which is unpickled before anything
        else of it.
        """

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
