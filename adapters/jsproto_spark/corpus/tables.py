"""Judges a corpus on Spark: traces in, tables out.

Theory. There is one row per trace, so one step over the rows suffices: `mapInArrow` gives each task
batches of whole traces, without a shuffle. The result is again one row per trace, with its tables
as arrays; each table is an ``explode`` of it. A result depends on its trace only, so it is the same
with one partition or a hundred.

Another version of the core judges in a separate process (`jsproto_spark.corpus.elsewhere`), beside
the installed one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import final

import pyarrow as pa
from attrs import frozen
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name in Spark code

from jsproto.trace.formats.reading import lines_of
from jsproto_spark.corpus import elsewhere, rows
from jsproto_spark.corpus.batches import JUDGED, columns, judged_batches


@final
@frozen
class Judged:
    """The tables about a corpus.

    All are computed from ``whole``: cache or store it if you use several of them.

    Attributes:
        whole: one row per trace, its tables as arrays.
    """

    whole: DataFrame

    @property
    def violations(self) -> DataFrame:
        """Violations: rule, clause, severity, line, time, connection, got and expected."""
        return self._rows("violations")

    @property
    def statuses(self) -> DataFrame:
        """Statuses that ended pulls, with their number, by code, text, client and trace hour."""
        return self._rows("statuses")

    @property
    def pulls(self) -> DataFrame:
        """Requested and delivered messages of each consumer.

        ``drift`` is the number of messages beyond the requested ones.
        """
        return self._rows("pulls")

    @property
    def acks(self) -> DataFrame:
        """The time from delivery to ack, and the number of each ack verb."""
        return self.whole.select("trace_id", "acks.*")

    @property
    def replay(self) -> DataFrame:
        """The fingerprint of the core's decisions about each trace."""
        return self.whole.select("trace_id", "replay.*")

    def _rows(self, table: str) -> DataFrame:
        return self.whole.select("trace_id", F.explode(table).alias("row")).select(
            "trace_id", "row.*"
        )


def load(spark: SparkSession, *paths: str) -> DataFrame:
    """Load traces from files and folders, one row per trace; the path is the ``trace_id``.

    The paths may be on any file system that Spark reads.
    """
    files = (
        spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(list(paths))
        .where("path like '%.trace' or path like '%.jsonl'")
        .select("path", "content")
    )  # fmt: skip
    return files.mapInArrow(_read, columns(rows.SCHEMA))


def judge(corpus: DataFrame, *, core: str | None = None) -> Judged:
    """Judge every trace of a corpus.

    Args:
        corpus: the result of `load`, or the same read from Parquet.
        core: the folder with another version of the package ``jsproto``, on every executor;
            ``None`` for the installed one.
    """

    def step(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return judged_batches(batches) if core is None else elsewhere.judged_batches(batches, core)

    return Judged(corpus.mapInArrow(step, columns(JUDGED)))


def differing(ours: Judged, theirs: Judged) -> DataFrame:
    """The traces for which two versions of the core decide differently.

    Use it to check a change of the protocol code.
    """
    mine, other = ours.replay.alias("a"), theirs.replay.alias("b")
    return (
        mine.join(other, "trace_id", "full")
        .where("not (a.decision_hash <=> b.decision_hash)")
        .select(
            "trace_id",
            *(
                F.col(f"{side}.{name}").alias(f"{side}_{name}")
                for side in "ab"
                for name in ("core_version", "decision_hash", "frames", "commands")
            ),
        )
    )


def _read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for file in batch.to_pylist():
            row = rows.row_of(file["path"], lines_of(file["content"]))
            yield rows.batch_of([row], rows.SCHEMA)
