"""Streaming reads: micro-batches whose ends are offsets, and nothing else decides what is in one.

Theory. Spark keeps one process with one of these for a whole query and calls it in this order for
each micro-batch: `latestOffset`, then the end is written ahead, then `commit` of the batch before,
then `partitions`, then the tasks. A second copy is made for the tasks' sake; so nothing is opened
when one is made. Three things are easily wrong (SPARK.md 4.1, 4.2):

- `initialOffset` is called twice, and again after a crash in the first batch. It is remembered, and
  every offset carries it.
- `commit` comes one batch late and never for the last batch of a run. What must happen behind a
  batch can be hung on the plan of the next one instead: Spark asks for it only when the batch
  before is done (``releaseOn``).
- What a plan meant is fixed by its offsets: a replayed batch reads the same range, in another
  incarnation of the stream nothing.
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
        #: The name that a query has unless its checkpoint says one.
        self.name = uuid.uuid4().hex[:16] if read.release_mode != "none" else ""

    # ------------------------------------------------------------------ offsets

    def initialOffset(self) -> dict[str, object]:  # noqa: N802 - Spark's name
        """Where the query begins, the same at each call."""
        if self.initial is None:
            facts = self._ask()
            seq = self.reading.start(facts, "latest")
            self.initial = self._born(facts, seq)
        return self.initial.to_json()

    def latestOffset(self, start: dict[str, object], limit: ReadLimit) -> dict[str, object]:  # noqa: N802 - Spark's name
        """Where the next micro-batch ends."""
        processed = self._parsed(start)
        facts = self._ask()
        begin = self._present(processed, facts)
        self.release.hold(
            begin, sure=begin.seq > begin.init
        )  # where it began may be in no checkpoint yet
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
        """The limit that the options say; both together are `latestOffset`'s business."""
        read = self.reading.settings.read
        if read.max_messages_per_trigger is not None:
            return ReadMaxRows(read.max_messages_per_trigger)
        if read.max_bytes_per_trigger is not None:
            return ReadMaxBytes(read.max_bytes_per_trigger)
        return ReadAllAvailable()

    def reportLatestOffset(self) -> dict[str, object]:  # noqa: N802 - Spark's name
        """Where the stream ends now: with the query's own end, its lag."""
        facts = self._ask()
        return self._born(facts, planning.behind(facts)).to_json()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Nothing behind the present end of the stream belongs to this run."""
        self.target = planning.behind(self._ask())

    # ------------------------------------------------------------------ batches

    def partitions(self, start: dict[str, object], end: dict[str, object]) -> list[InputPartition]:
        """The tasks of one micro-batch: the range between two offsets, whatever the stream holds by
        now.
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
        """The messages of one part."""
        return self.reading.read(partition)

    def commit(self, end: dict[str, object]) -> None:
        """Spark has done with everything before ``end``."""
        if self.reading.settings.read.release_on == "commit":
            self.release.below(self._parsed(end))

    def stop(self) -> None:
        """The query has ended."""
        forget(self.reading.settings.where)

    # ------------------------------------------------------------------ parts of it

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
        """The same place in the stream as it is now; another incarnation is begun at its first
        message.
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
        """The end of a micro-batch within the options' limits, which count from the first message
        that is there and passes the filters.
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
