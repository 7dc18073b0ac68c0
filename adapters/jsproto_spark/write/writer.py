"""The sink: rows published through a window of acknowledgements, in batches and in streams.

Theory. A task publishes its rows and ends when each of them is acknowledged; one that is not fails
the task, and Spark runs it again. What was stored before stays stored, so only an id makes the
second run harmless, and only as long as the stream remembers it (``duplicate_window``). So a write
is at-least-once, and with ids stored once within that window; nothing is undone by an abort.

A connection that is lost is survived by rows with an id: they are sent again by the window, within
their ``ackTimeout``.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Final

import pyarrow as pa
from attrs import frozen
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from jsproto.errors import NoResponders
from jsproto.jetstream.api.validation.publish_rules import check_window, refuse
from jsproto.jetstream.publish.window import PublishResult, PublishWindow
from jsproto_io._sync_client.sink import Sink
from jsproto_spark.code_shipping import CodeShipping
from jsproto_spark.connections import asking, client
from jsproto_spark.errors import Unreadable, naming
from jsproto_spark.options import ConnectSettings, Settings, WriteSettings
from jsproto_spark.read.arrow import asked
from jsproto_spark.write.rows import outgoing

_LOG: Final = logging.getLogger("jsproto_spark")


@frozen(kw_only=True)
class Written(WriterCommitMessage):
    """What a task has written.

    Attributes:
        rows: rows that are stored.
        duplicates: how many of them the stream had already.
        last: the sequence of the acknowledgement that came last.
    """

    rows: int
    duplicates: int
    last: int


class Writing:
    """One write, as the options and the schema say: what goes from the driver to the tasks."""

    def __init__(self, settings: Settings, schema: StructType, *, overwrite: bool) -> None:
        where = settings.where
        if overwrite:
            raise Unreadable(
                f"stream {where.stream!r}: expected mode append, a stream is never overwritten"
            )
        self.settings = settings
        self.outgoing = outgoing(asked(schema), settings)
        self.run = uuid.uuid4().hex
        self.named = bool(self.outgoing.ids) or settings.write.auto_msg_id
        self.resend = self.named
        self._look()

    def _look(self) -> None:
        """The stream is there, acknowledges what it stores, and remembers ids for long enough."""
        where, write = self.settings.where, self.settings.write
        with naming(where.stream):
            info = asking(where, where.request_timeout, lambda js: js.stream(where.stream).info())
            refuse(check_window(info.config), where.stream)
        window = (
            0.0
            if info.config.duplicate_window is None
            else info.config.duplicate_window.total_seconds()
        )
        self.resend = self.named and window >= write.ack_timeout
        if write.expected_outage is not None and window < write.expected_outage:
            _LOG.warning(
                "stream %r remembers message ids for %g s, expectedOutage is %g s: what is written again after a longer failure is stored twice",
                where.stream,
                window,
                write.expected_outage,
            )

    def write(self, batches: Iterator[pa.RecordBatch]) -> Written:
        """Publish the rows of one task, and wait until every one is acknowledged."""
        where, write = self.settings.where, self.settings.write
        with naming(where.stream), _answered(where.stream):
            window = PublishWindow(
                max_pending=write.window,
                max_bytes=write.max_inflight_bytes,
                ack_timeout=write.ack_timeout,
                results=False,
                resend=self.resend,
                stall_wait=_wait_for_room(write, where),
            )
            with client(where, write.ack_timeout).sink(window) as sink:
                self._publish(sink, batches)
            last = window.last_ack
            return Written(
                rows=window.taken,
                duplicates=window.duplicates,
                last=0 if last is None else last.seq,
            )

    def _publish(self, sink: Sink[PublishResult], batches: Iterator[pa.RecordBatch]) -> None:
        place = self._place() if self.settings.write.auto_msg_id else ""
        done = 0
        for batch in batches:
            count = batch.num_rows
            columns = {name: batch.column(name).to_pylist() for name in batch.schema.names}
            ids = (f"{place}:{row}" for row in range(done, done + count)) if place else None
            for item in self.outgoing.items(columns, count, ids):
                sink.put(item)
            done += count
            if sink.window.readable:
                return  # something has failed, and is raised when the sink is left

    def _place(self) -> str:
        """What is the same when the same rows are written again: query and batch, or this write,
        and the partition.
        """
        context = TaskContext.get()
        if context is None:
            return f"{self.run}:0"
        query = context.getLocalProperty("sql.streaming.queryId")
        batch = context.getLocalProperty("streaming.sql.batchId")
        run = self.run if query is None else f"{query}:{batch}"
        return f"{run}:{context.partitionId()}"

    def committed(self, messages: list[WriterCommitMessage | None], what: str) -> None:
        """All tasks are done."""
        done = [each for each in messages if isinstance(each, Written)]
        _LOG.info(
            "%s: %d rows in stream %r, %d of them were there already",
            what,
            sum(each.rows for each in done),
            self.settings.where.stream,
            sum(each.duplicates for each in done),
        )

    def aborted(self, messages: list[WriterCommitMessage | None], what: str) -> None:
        """Some task failed. What the others stored stays stored."""
        done = [each for each in messages if isinstance(each, Written)]
        _LOG.warning(
            "%s was given up: %d rows of %d tasks that ended well stay in stream %r, and some of others may",
            what,
            sum(each.rows for each in done),
            len(done),
            self.settings.where.stream,
        )


def _wait_for_room(write: WriteSettings, where: ConnectSettings) -> float:
    """Seconds that a row may wait for room.

    While there is a link, each message ends within ``ackTimeout``, and so room comes. Without a
    link none comes: a task would wait for a server that stays away as long as that is, and Spark
    with it.
    """
    return (
        write.ack_timeout + where.reconnect_max_wait
        if write.stall_wait is None
        else write.stall_wait
    )


@contextmanager
def _answered(stream: str) -> Generator[None]:
    """Nobody answers a publish where no stream stores the subject; the driver has asked JetStream
    before, so it is there.
    """
    try:
        yield
    except NoResponders as error:
        text = " ".join(str(error).split())
        raise Unreadable(
            f"stream {stream!r}, see option subject, or the column: expected a subject that the stream stores, got one that no stream "
            f"does: {type(error).__name__}: {text}"
        ) from None


class BatchWriter(CodeShipping, DataSourceArrowWriter):
    """The writer of a batch."""

    def __init__(self, settings: Settings, schema: StructType, *, overwrite: bool) -> None:
        self.writing = Writing(settings, schema, overwrite=overwrite)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:  # type: ignore[override]  # as Spark's own Arrow writers
        """Publish the rows of one task."""
        return self.writing.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Every task is done."""
        self.writing.committed(messages, "batch")

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Some task failed."""
        self.writing.aborted(messages, "batch")


class StreamWriter(CodeShipping, DataSourceStreamArrowWriter):
    """The writer of a streaming query; Spark makes one for each micro-batch."""

    def __init__(self, settings: Settings, schema: StructType) -> None:
        self.writing = Writing(settings, schema, overwrite=False)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:  # type: ignore[override]  # as Spark's own Arrow writers
        """Publish the rows of one task."""
        return self.writing.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Every task of the micro-batch is done."""
        self.writing.committed(messages, f"micro-batch {batchId}")

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Some task of the micro-batch failed."""
        self.writing.aborted(messages, f"micro-batch {batchId}")
