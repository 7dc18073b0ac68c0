"""What batch and streaming reads have in common: where a range begins, and how a task reads its
part of it.

Theory. The driver asks the stream once and cuts a range into parts; each part travels to a task
with the way to read it and the time when the stream was made. The task's reading is the core's
`RangeReader`, which goes on over lost links and knows when it is done; here its runs become Arrow
batches. The reader is left by a ``with``, however the task ends, so its consumer is deleted.
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
#: Where more subjects are read than this, the leader is not asked for the next message of each.
_ASKED: Final = 16
#: What people write between subjects instead of a comma. A subject may have it, but hardly any has.
_NO_COMMAS: Final = ";|"

_WAYS = {"auto": ReadMode.AUTO, "consumer": ReadMode.CONSUMER, "direct": ReadMode.DIRECT}


class Part(InputPartition):
    """What one task reads.

    Attributes:
        lo: its first sequence.
        hi: the one behind its last.
        way: how it is read.
        created: when the stream was made that the plan means.
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
    """One read, as the options and the schema say: what goes from the driver to the tasks."""

    def __init__(self, settings: Settings, schema: StructType) -> None:
        self.settings = settings
        self.columns = chosen(asked(schema), settings.where.stream, settings.read.headers_format)
        self.schema = schema
        self.subjects = settings.read.subjects
        self.looked = not self.subjects

    # ------------------------------------------------------------------ on the driver

    def ask(self) -> RangeFacts:
        """The stream as it is now.

        Raises:
            Unreadable: why it cannot be asked.
        """
        where = self.settings.where
        with naming(where.stream):
            info = asking(where, where.request_timeout, lambda js: js.stream(where.stream).info())
        if not self.looked:
            self._look(info)
            self.looked = True
        return RangeFacts.of(info)

    def _look(self, info: StreamInfo) -> None:
        """Each of the subjects can match something.

        Raises:
            Unreadable: one that cannot: nothing is stored under it, and the stream takes no such
                subject.
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
                f"stream {config.name!r}, see option subjects: expected subjects of the stream{stores}, with commas between, got "
                f"{shorten(subject)}: nothing is stored under it"
            )

    def start(self, facts: RangeFacts, default: str) -> int:
        """Where a new read begins, as the options say.

        Raises:
            Unreadable: nothing is stored since ``startingTimestamp``, and that is an error.
        """
        read = self.settings.read
        moment = read.starting_timestamp
        if moment is None:
            begin = read.starting_offsets or default
            if isinstance(begin, int):
                if begin > planning.behind(facts) and read.fail_on_data_loss:
                    raise Unreadable(
                        f"stream {self.settings.where.stream!r}, see option startingOffsets: expected a sequence up to "
                        f"{planning.behind(facts)}, which is the next one of the stream, got {begin}"
                    )
                return begin
            return facts.first_seq if begin == "earliest" else planning.behind(facts)
        seq = self.since(moment)
        if seq is None and read.starting_offsets_by_timestamp_strategy == "error":
            raise Unreadable(
                f"stream {self.settings.where.stream!r}, see options startingTimestamp and startingOffsetsByTimestampStrategy: "
                f"expected a message stored at {moment} or after it, there is none"
            )
        return planning.behind(facts) if seq is None else seq

    def end(self, facts: RangeFacts) -> int:
        """The sequence behind the last that a batch reads, as the options say."""
        read = self.settings.read
        behind = planning.behind(facts)
        if read.ending_timestamp is not None:
            return min(self.since(read.ending_timestamp) or behind, behind)
        return min(read.ending_offsets, behind) if isinstance(read.ending_offsets, int) else behind

    def after(self, seq: int) -> int | None:
        """The first sequence from ``seq`` on of a message that is read; ``None`` if there is none."""
        found = [self.next_of(subject, seq) for subject in self.subjects or (">",)]
        return min((each for each in found if each is not None), default=None)

    def sparse(self, facts: RangeFacts) -> bool:
        """Whether it is worth asking where messages are: some sequences may hold none, and few
        questions say which.
        """
        return (bool(self.subjects) or planning.holes(facts)) and len(self.subjects) <= _ASKED

    def next_of(self, subject: str, seq: int) -> int | None:
        """The first sequence from ``seq`` on under a subject, wildcards allowed; ``None`` if there
        is none. The stream's leader answers.
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
        """The first sequence stored at an instant or after it, ``None`` if there is none."""
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
        """The tasks for a range.

        Raises:
            DataLost: its beginning has vanished, and that is an error.
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

    # ------------------------------------------------------------------ in a task

    def read(self, part: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages of one part as Arrow batches.

        Raises:
            Unreadable: it is no part of this source; Spark's own, that stands for an empty plan,
                holds nothing.
        """
        if isinstance(part, Part):
            yield from self._read(part)
        elif part.value is not None:
            raise Unreadable(
                f"stream {self.settings.where.stream!r}: expected a part that this version of jsproto planned, got {shorten(part)}: "
                "driver and executors need the same version"
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
    """Say what is missing where that is no error: who looks for missing rows finds it in the log of
    the driver or of the task.
    """
    _LOG.warning(
        "stream %r: messages from sequence %d to %d were removed before they were read, and failOnDataLoss is false: they are in no row",
        stream,
        lo,
        until - 1,
    )
