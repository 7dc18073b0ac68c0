"""A corpus on Spark: traces in, tables of what is in them out.

Theory. One row a trace, so one step over the rows: `mapInArrow` gives each task batches of whole
traces, and nothing is shuffled. The step makes one row a trace again, with its tables in arrays;
each table is an ``explode`` of that. A result depends on its trace alone, so it is the same for one
partition and for a hundred.

What another version of the core decides is asked in a process of its own
(`jsproto_spark.corpus.elsewhere`), beside the one that is installed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import final

import pyarrow as pa
from attrs import frozen
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody who writes Spark does

from jsproto.trace.formats.reading import lines_of
from jsproto_spark.corpus import elsewhere, rows
from jsproto_spark.corpus.batches import JUDGED, columns, judged_batches


@final
@frozen
class Judged:
    """The tables about a corpus. All come of ``whole``, one row a trace: keep that (``cache``, or a
    table) if you look at several.

    Attributes:
        whole: one row a trace, its tables in arrays.
    """

    whole: DataFrame

    @property
    def violations(self) -> DataFrame:
        """What clients did wrong: rule, clause, severity, line, time, connection, what was seen and
        what is right.
        """
        return self._rows("violations")

    @property
    def statuses(self) -> DataFrame:
        """Statuses that ended pulls, by code, text, client and hour of the trace, with how often
        each came.
        """
        return self._rows("statuses")

    @property
    def pulls(self) -> DataFrame:
        """What was asked of each consumer and what came; ``drift`` are messages beyond what was
        asked for.
        """
        return self._rows("pulls")

    @property
    def acks(self) -> DataFrame:
        """How long messages were held, and how they were settled."""
        return self.whole.select("trace_id", "acks.*")

    @property
    def replay(self) -> DataFrame:
        """The fingerprint of what the core decided about each trace."""
        return self.whole.select("trace_id", "replay.*")

    def _rows(self, table: str) -> DataFrame:
        return self.whole.select("trace_id", F.explode(table).alias("row")).select(
            "trace_id", "row.*"
        )


def load(spark: SparkSession, *paths: str) -> DataFrame:
    """The traces in these files and folders of any file system that Spark reads, one row each; the
    file's path is the ``trace_id``.
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
        corpus: what `load` gave, or the same read from Parquet.
        core: the folder that holds another version of the package ``jsproto``, on every executor;
            ``None`` for the one installed.
    """

    def step(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return judged_batches(batches) if core is None else elsewhere.judged_batches(batches, core)

    return Judged(corpus.mapInArrow(step, columns(JUDGED)))


def differing(ours: Judged, theirs: Judged) -> DataFrame:
    """The traces of which two versions of the core decide differently: the gate for every change of
    the protocol.
    """
    mine, other = ours.replay.alias("a"), theirs.replay.alias("b")
    return mine.join(other, "trace_id", "full").where("not (a.decision_hash <=> b.decision_hash)").select(
        "trace_id",
        *(F.col(f"{side}.{name}").alias(f"{side}_{name}") for side in "ab" for name in ("core_version", "decision_hash", "frames", "commands")),
    )  # fmt: skip


def _read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for file in batch.to_pylist():
            row = rows.row_of(file["path"], lines_of(file["content"]))
            yield rows.batch_of([row], rows.SCHEMA)
