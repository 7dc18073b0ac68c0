"""Common parts of batch and streaming reads: the start of a range, and reading a part in a task.

Theory. The driver requests the stream info once and splits a range into parts. Each part goes to a
task, with the read mode and the creation time of the stream. The task uses the core's
`RangeReader`, which survives lost links and knows when it has read all. Here its runs become Arrow
batches. The task uses the reader in a ``with`` block, so its consumer is deleted however the task
ends.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Final, cast

import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from jsproto.errors.tree import shorten
from jsproto.jetstream.api.config.stream import StreamInfo
from jsproto.jetstream.api.errors import MessageNotFound
from jsproto.jetstream.api.patterns import collide
from jsproto.jetstream.api.timestamps import Timestamp
from jsproto.jetstream.range_read.options import ReadMode
from jsproto.jetstream.range_read.plan import RangeFacts, RangePlan, plan_of
from jsproto.jetstream.range_read.reader import RangeReader
from jsproto.jetstream.range_read.rows import Rows
from jsproto_io._sync_client.feed import Feed
from jsproto_spark.connections import asking, client, jetstream
from jsproto_spark.errors import Unreadable, naming, vanished
from jsproto_spark.options import Settings
from jsproto_spark.read import planning
from jsproto_spark.read.arrow import arrow_schema, asked, batches
from jsproto_spark.read.columns import chosen, places_only

_LOG: Final = logging.getLogger("jsproto_spark")
#: With more subjects than this the driver does not ask the leader for the next message of each.
_ASKED: Final = 16
#: Separators that users may write instead of a comma. They are valid in a subject, but rare.
_NO_COMMAS: Final = ";|"

_WAYS = {"auto": ReadMode.AUTO, "consumer": ReadMode.CONSUMER, "direct": ReadMode.DIRECT}


class Part(InputPartition):
    """The partition of one task.

    Attributes:
        lo: its first sequence.
        hi: the sequence after its last.
        way: the read mode.
        created: the creation time of the planned stream.
        subjects: the filters.
    """

    def __init__(
        self, lo: int, hi: int, way: ReadMode, created: Timestamp | None, subjects: tuple[str, ...]
    ) -> None:
        super().__init__((lo, hi))
        self.lo = lo
        self.hi = hi
        self.way = way
        self.created = created
        self.subjects = subjects


class RangeScan:
    """One read by options and schema; the driver sends it to the tasks."""

    def __init__(self, settings: Settings, schema: StructType) -> None:
        self.settings = settings
        self.columns = chosen(asked(schema), settings.where.stream, settings.read.headers_format)
        self.schema = schema
        self.subjects = settings.read.subjects
        self.looked = not self.subjects

    # ------------------------------------------------------------------ driver

    def ask(self) -> RangeFacts:
        """Request the facts of the stream as it is now.

        Raises:
            Unreadable: why the request failed.
        """
        where = self.settings.where
        with naming(where.stream):
            info = asking(where, where.request_timeout, lambda js: js.stream(where.stream).info())
        if not self.looked:
            self._look(info)
            self.looked = True
        return RangeFacts.of(info)

    def _look(self, info: StreamInfo) -> None:
        """Check that each of the subjects can match a message.

        Raises:
            Unreadable: no message has a matching subject, and the stream stores no such subject.
        """
        config = info.config
        taken = (
            () if config.mirror or config.sources or config.subject_transform else config.subjects
        )
        for subject in self.settings.read.subjects:
            fits = not taken or any(collide(subject, each) for each in taken)
            if (fits and not any(sign in subject for sign in _NO_COMMAS)) or self.next_of(
                subject, 1
            ):
                continue
            stores = f", which stores {shorten(', '.join(taken))}" if taken else ""
            raise Unreadable(
                f"stream {config.name!r}, see option subjects: expected subjects of the "
                f"stream{stores}, separated by commas, got {shorten(subject)}: "
                "no message has such a subject"
            )

    def start(self, facts: RangeFacts, default: str) -> int:
        """The first sequence of a new read, by the options.

        Raises:
            Unreadable: no message since ``startingTimestamp``, and the strategy is ``error``.
        """
        read = self.settings.read
        moment = read.starting_timestamp
        if moment is None:
            begin = read.starting_offsets or default
            if isinstance(begin, int):
                if begin > planning.behind(facts) and read.fail_on_data_loss:
                    raise Unreadable(
                        f"stream {self.settings.where.stream!r}, see option startingOffsets: "
                        f"expected a sequence up to {planning.behind(facts)}, which is the next "
                        f"one of the stream, got {begin}"
                    )
                return begin
            return facts.first_seq if begin == "earliest" else planning.behind(facts)
        seq = self.since(moment)
        if seq is None and read.starting_offsets_by_timestamp_strategy == "error":
            raise Unreadable(
                f"stream {self.settings.where.stream!r}, see options startingTimestamp and "
                f"startingOffsetsByTimestampStrategy: expected a message stored at {moment} or "
                "later, got none"
            )
        return planning.behind(facts) if seq is None else seq

    def end(self, facts: RangeFacts) -> int:
        """The sequence after the last of a batch, by the options."""
        read = self.settings.read
        behind = planning.behind(facts)
        if read.ending_timestamp is not None:
            return min(self.since(read.ending_timestamp) or behind, behind)
        return min(read.ending_offsets, behind) if isinstance(read.ending_offsets, int) else behind

    def after(self, seq: int) -> int | None:
        """The sequence of the first message to read from ``seq`` on; ``None`` if there is none."""
        found = [self.next_of(subject, seq) for subject in self.subjects or (">",)]
        return min((each for each in found if each is not None), default=None)

    def sparse(self, facts: RangeFacts) -> bool:
        """Whether to ask where messages are.

        That is useful if some sequences may hold none, and needs only a few requests.
        """
        return (bool(self.subjects) or planning.holes(facts)) and len(self.subjects) <= _ASKED

    def next_of(self, subject: str, seq: int) -> int | None:
        """The first sequence from ``seq`` on with a subject, wildcards allowed.

        The stream's leader answers.

        Returns:
            ``None`` if there is none.
        """
        where = self.settings.where
        with naming(where.stream):
            try:
                return asking(
                    where,
                    where.request_timeout,
                    lambda js: (
                        js.stream(where.stream).messages.next(subject, seq=seq, direct=False).seq
                    ),
                )
            except MessageNotFound:
                return None

    def since(self, moment: Timestamp) -> int | None:
        """The first sequence stored at a time or later, ``None`` if there is none."""
        where = self.settings.where
        with naming(where.stream):
            try:
                return asking(
                    where,
                    where.request_timeout,
                    lambda js: js.stream(where.stream).messages.since(moment, direct=False).seq,
                )
            except MessageNotFound:
                return None

    def parts(self, facts: RangeFacts, lo: int, hi: int) -> list[InputPartition]:
        """Split a range into tasks.

        Raises:
            DataLost: messages at its beginning were removed, and ``failOnDataLoss`` is true.
        """
        read = self.settings.read
        if lo >= hi:
            return []
        first = planning.vanished(lo, hi, facts, filtered=bool(self.subjects))
        if first is not None:
            if read.fail_on_data_loss:
                raise vanished(facts.stream, lo, first)
            tell_loss(facts.stream, lo, first)
        where = self.settings.where
        with naming(where.stream):
            version = client(where, 0.0).info.version
        with naming(where.stream, "readMode"):
            plan: RangePlan = plan_of(
                facts,
                lo=lo,
                hi=hi,
                partitions=read.min_partitions,
                max_messages=read.max_records_per_partition,
                way=planning.way(facts, _WAYS[read.read_mode], version),
            )
        parts = plan.parts
        if self.sparse(facts):
            parts = planning.there(parts, min(read.min_partitions, len(parts)), self.after)
        return [Part(part.lo, part.hi, plan.way, facts.created, self.subjects) for part in parts]

    # ------------------------------------------------------------------ tasks

    def read(self, part: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the messages of one part as Arrow batches.

        Spark's own placeholder for an empty plan has no messages.

        Raises:
            Unreadable: the part does not come from this source.
        """
        if isinstance(part, Part):
            yield from self._read(part)
        elif part.value is not None:
            raise Unreadable(
                f"stream {self.settings.where.stream!r}: expected a part planned by this version "
                f"of jsproto, got {shorten(part)}: driver and executors need the same version"
            )

    def _read(self, part: Part) -> Iterator[pa.RecordBatch]:
        where, read = self.settings.where, self.settings.read
        with naming(where.stream):
            stream = jetstream(where, read.read_deadline).stream(where.stream)
            with stream.read_range(
                part.lo,
                part.hi,
                subjects=part.subjects,
                way=part.way,
                created=part.created,
                fail_on_loss=read.fail_on_data_loss,
                headers_only=places_only(self.columns),
                patience=read.read_deadline,
                name_prefix=f"{read.consumer_name_prefix}-",
            ) as feed:
                yield from batches(feed, self.columns, arrow_schema(self.columns, self.schema))
                for lost in cast("RangeReader", cast("Feed[Rows]", feed).feed).lost:
                    tell_loss(where.stream, lost.first, lost.until)


def tell_loss(stream: str, lo: int, until: int) -> None:
    """Log a loss that is no error, in the log of the driver or of the task."""
    _LOG.warning(
        "stream %r: messages from sequence %d to %d were removed before they were read, "
        "and failOnDataLoss is false: no row contains them",
        stream,
        lo,
        until - 1,
    )
