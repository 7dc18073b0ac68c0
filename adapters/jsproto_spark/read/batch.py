"""Batch reads: the range is fixed when the query is planned.

Theory. Spark plans a batch once, at the first action, and keeps its partitions. So a DataFrame
returns the same rows again, and a new ``load()`` sees newer messages. If a reader has a method
``pushFilters``, every query fails unless filter pushdown is on in Spark, which is off by default.
So pushdown has its own class, selected by the option ``pushdown``.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from jsproto.jetstream.range_read.plan import RangeFacts
from jsproto_spark.code_shipping import CodeShipping
from jsproto_spark.options import Settings
from jsproto_spark.read.filters import FilterPushdown, narrowed
from jsproto_spark.read.range_scan import RangeScan


class BatchReader(CodeShipping, DataSourceReader):
    """The reader of a batch."""

    def __init__(self, settings: Settings, schema: StructType) -> None:
        self.reading = RangeScan(settings, schema)

    def partitions(self) -> list[InputPartition]:
        """The partitions of the range."""
        reading = self.reading
        facts = reading.ask()
        return self.cut(facts, reading.start(facts, "earliest"), reading.end(facts))

    def cut(self, facts: RangeFacts, lo: int, hi: int) -> list[InputPartition]:
        """Split a range into partitions."""
        return self.reading.parts(facts, lo, hi)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the messages of one partition."""
        return self.reading.read(partition)


class PushdownReader(BatchReader):
    """The reader of a batch whose range is narrowed by the query's filters.

    Spark applies the filters to the result as well.
    """

    def __init__(self, settings: Settings, schema: StructType) -> None:
        super().__init__(settings, schema)
        self.narrowing = FilterPushdown()

    def pushFilters(self, filters: list[Filter]) -> list[Filter]:  # noqa: N802 - Spark's name
        """Note the filters that narrow the range, and return all of them.

        Spark applies all filters again, so the result never depends on the pushdown.
        """
        for each in filters:
            column = ".".join(getattr(each, "attribute", ()))  # a negated filter has none
            self.narrowing = narrowed(
                self.narrowing, type(each).__name__, column, getattr(each, "value", None)
            )
        return filters

    def cut(self, facts: RangeFacts, lo: int, hi: int) -> list[InputPartition]:
        """Split the narrowed range into partitions."""
        narrowing, reading = self.narrowing, self.reading
        lo, hi = max(lo, narrowing.lo), hi if narrowing.hi is None else min(hi, narrowing.hi)
        if narrowing.since is not None:
            lo = max(lo, reading.since(narrowing.since) or hi)
        if narrowing.until is not None:
            hi = min(hi, reading.since(narrowing.until) or hi)
        subjects = narrowing.within(reading.subjects)
        if subjects is None:
            return []
        reading.subjects = subjects
        return reading.parts(facts, lo, hi)
