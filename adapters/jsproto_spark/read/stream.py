"""Streaming reads: micro-batches that are determined by their offsets only.

Theory. Spark keeps one process with one reader for a whole query. For each micro-batch it calls
`latestOffset`, writes the end ahead, calls `commit` for the previous batch and `partitions`, and
runs the tasks. It makes a second copy for the tasks, so the constructor opens nothing. Three
points need care:

- Spark calls `initialOffset` twice, and again after a crash in the first batch. So the reader
  remembers it, and every offset contains it.
- `commit` comes one batch late, and never for the last batch of a run. A release can happen when
  the next batch is planned instead: then Spark has finished the previous one (``releaseOn``).
- Offsets fix the meaning of a plan: a replayed batch reads the same range. If the stream was
  created again, it reads nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pyarrow as pa
from attrs import evolve
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from jsproto.jetstream.range_read.plan import RangeFacts
from jsproto_spark.code_shipping import CodeShipping
from jsproto_spark.connections import forget
from jsproto_spark.errors import naming, recreated, shrunk
from jsproto_spark.options import Settings
from jsproto_spark.read import planning
from jsproto_spark.read.offsets import Offset, asked_for, meaning, same_query, unread
from jsproto_spark.read.range_scan import RangeScan
from jsproto_spark.read.release import Release


class StreamReader(CodeShipping, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The reader of one streaming query."""

    def __init__(self, settings: Settings, schema: StructType) -> None:
        where, read = settings.where, settings.read
        self.reading = RangeScan(settings, schema)
        said = where.stream, read.subjects, where.domain, where.api_prefix
        self.what = meaning(*said)
        self.wished = asked_for(*said)
        self.initial: Offset | None = None
        self.target: int | None = None
        self.release = Release(settings, self.what)
        #: The name of the query, unless its checkpoint contains one.
        self.name = uuid.uuid4().hex[:16] if read.release_mode != "none" else ""

    # ------------------------------------------------------------------ offsets

    def initialOffset(self) -> dict[str, object]:  # noqa: N802 - Spark's name
        """The start of the query, the same at each call."""
        if self.initial is None:
            facts = self._ask()
            seq = self.reading.start(facts, "latest")
            self.initial = self._born(facts, seq)
        return self.initial.to_json()

    def latestOffset(self, start: dict[str, object], limit: ReadLimit) -> dict[str, object]:  # noqa: N802 - Spark's name
        """The end of the next micro-batch."""
        processed = self._parsed(start)
        facts = self._ask()
        begin = self._present(processed, facts)
        # The start may not be in a checkpoint yet.
        self.release.hold(begin, sure=begin.seq > begin.init)
        if self.reading.settings.read.release_on == "nextPlan":
            self.release.below(processed)
        behind = planning.behind(facts)
        end = behind if self.target is None else min(self.target, behind)
        if end <= begin.seq:
            return begin.to_json()
        if not isinstance(limit, ReadAllAvailable):
            end = self._limited(begin.seq, end, facts)
        return evolve(
            begin, seq=end, what=self.what, asked=self.wished, owner=begin.owner or self.name
        ).to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """The limit of the options; `latestOffset` applies both limits."""
        read = self.reading.settings.read
        if read.max_messages_per_trigger is not None:
            return ReadMaxRows(read.max_messages_per_trigger)
        if read.max_bytes_per_trigger is not None:
            return ReadMaxBytes(read.max_bytes_per_trigger)
        return ReadAllAvailable()

    def reportLatestOffset(self) -> dict[str, object]:  # noqa: N802 - Spark's name
        """The current end of the stream, from which Spark computes the query's lag."""
        facts = self._ask()
        return self._born(facts, planning.behind(facts)).to_json()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Fix the end of this run at the current end of the stream."""
        self.target = planning.behind(self._ask())

    # ------------------------------------------------------------------ batches

    def partitions(self, start: dict[str, object], end: dict[str, object]) -> list[InputPartition]:
        """The tasks of one micro-batch: the range between two offsets.

        Messages that came later are not included.
        """
        until = self._parsed(end)
        lo, hi = unread(self._parsed(start), until)
        facts = self._ask()
        strict = self.reading.settings.read.fail_on_data_loss
        if str(facts.created) != until.created:
            if strict:
                raise recreated(until.stream, until.created, str(facts.created))
            return []
        self.release.hold(until, sure=True)
        if strict and planning.behind(facts) < hi:
            raise shrunk(until.stream, hi, facts.last_seq)
        return self.reading.parts(facts, lo, hi)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the messages of one part."""
        return self.reading.read(partition)

    def commit(self, end: dict[str, object]) -> None:
        """Release everything before ``end``, which Spark has processed."""
        if self.reading.settings.read.release_on == "commit":
            self.release.below(self._parsed(end))

    def stop(self) -> None:
        """Close the connection at the end of the query."""
        forget(self.reading.settings.where)

    # ------------------------------------------------------------------ helpers

    def _ask(self) -> RangeFacts:
        self.release.prepare()
        return self.reading.ask()

    def _born(self, facts: RangeFacts, seq: int, owner: str = "") -> Offset:
        return Offset(
            stream=facts.stream,
            created=str(facts.created),
            seq=seq,
            init=seq,
            what=self.what,
            asked=self.wished,
            owner=owner or self.name,
        )

    def _parsed(self, data: dict[str, object]) -> Offset:
        settings = self.reading.settings
        with naming(settings.where.stream):
            offset = Offset.parse(data)
            allowed = settings.read.allow_option_change
            same_query(offset, settings.where.stream, self.what, allowed=allowed, asked=self.wished)
        return offset

    def _present(self, begin: Offset, facts: RangeFacts) -> Offset:
        """The same position in the current stream.

        If the stream was created again, the position is its first message.
        """
        created = str(facts.created)
        strict = self.reading.settings.read.fail_on_data_loss
        if begin.created != created:
            if strict:
                raise recreated(begin.stream, begin.created, created)
            return self._born(facts, facts.first_seq, begin.owner)
        if planning.behind(facts) < begin.seq and begin.seq > begin.init and strict:
            raise shrunk(begin.stream, begin.seq, facts.last_seq)
        return evolve(begin, what=self.what)

    def _limited(self, begin: int, end: int, facts: RangeFacts) -> int:
        """The end of a micro-batch within the options' limits.

        The limits count from the first existing message that passes the filters.
        """
        reading = self.reading
        read = reading.settings.read

        def capped(start: int) -> int:
            return planning.capped(
                start,
                end,
                facts,
                most_messages=read.max_messages_per_trigger,
                most_bytes=read.max_bytes_per_trigger,
            )

        stop = capped(begin)
        if stop < end and reading.sparse(facts):
            found = reading.after(max(begin, facts.first_seq))
            stop = capped(found) if found is not None and found < end else end
        return stop
