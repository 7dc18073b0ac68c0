"""The sink: publishes rows through a window of acknowledgements, in batches and in streams.

Theory. A task publishes its rows and ends when all are acknowledged. If one is not, the task fails
and Spark runs it again. Messages that were stored stay stored. So only message ids make the second
run harmless, and only within the stream's ``duplicate_window``. A write is at-least-once; with ids
each row is stored once within that window. An abort undoes nothing.

After a lost link the window sends rows with an id again, within their ``ackTimeout``.
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
    """What one task has written.

    Attributes:
        rows: number of stored rows.
        duplicates: number of these that the stream had already.
        last: the sequence in the last acknowledgement.
    """

    rows: int
    duplicates: int
    last: int


class Writing:
    """One write by options and schema; the driver sends it to the tasks."""

    def __init__(self, settings: Settings, schema: StructType, *, overwrite: bool) -> None:
        where = settings.where
        if overwrite:
            raise Unreadable(f"stream {where.stream!r}: expected mode append, got overwrite")
        self.settings = settings
        self.outgoing = outgoing(asked(schema), settings)
        self.run = uuid.uuid4().hex
        self.named = bool(self.outgoing.ids) or settings.write.auto_msg_id
        self.resend = self.named
        self._look()

    def _look(self) -> None:
        """Check the stream: it exists, acknowledges, and remembers ids long enough."""
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
                "stream %r remembers message ids for %g s, expectedOutage is %g s: "
                "rows that are written again after a longer failure are stored twice",
                where.stream,
                window,
                write.expected_outage,
            )

    def write(self, batches: Iterator[pa.RecordBatch]) -> Written:
        """Publish the rows of one task, and wait until all are acknowledged."""
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
                return  # a publish has failed; leaving the sink raises the error

    def _place(self) -> str:
        """A prefix of ids that is equal when Spark writes the same rows again.

        It consists of query and batch, or of this write, and of the partition.
        """
        context = TaskContext.get()
        if context is None:
            return f"{self.run}:0"
        query = context.getLocalProperty("sql.streaming.queryId")
        batch = context.getLocalProperty("streaming.sql.batchId")
        run = self.run if query is None else f"{query}:{batch}"
        return f"{run}:{context.partitionId()}"

    def committed(self, messages: list[WriterCommitMessage | None], what: str) -> None:
        """Log the end of a write whose tasks all succeeded."""
        done = [each for each in messages if isinstance(each, Written)]
        _LOG.info(
            "%s: %d rows in stream %r, %d of them were there already",
            what,
            sum(each.rows for each in done),
            self.settings.where.stream,
            sum(each.duplicates for each in done),
        )

    def aborted(self, messages: list[WriterCommitMessage | None], what: str) -> None:
        """Log the abort of a write; messages that were stored stay stored."""
        done = [each for each in messages if isinstance(each, Written)]
        _LOG.warning(
            "%s was aborted: %d rows of %d successful tasks stay in stream %r, "
            "and perhaps some rows of others",
            what,
            sum(each.rows for each in done),
            len(done),
            self.settings.where.stream,
        )


def _wait_for_room(write: WriteSettings, where: ConnectSettings) -> float:
    """The seconds that a row may wait for room in the window.

    With a link each message ends within ``ackTimeout``, so there will be room. Without a link there
    will be none, and the task and Spark would wait as long as the server is absent.
    """
    return (
        write.ack_timeout + where.reconnect_max_wait
        if write.stall_wait is None
        else write.stall_wait
    )


@contextmanager
def _answered(stream: str) -> Generator[None]:
    """Convert "no responders" to an error about the subject.

    The driver has asked JetStream before, so JetStream exists, but no stream stores the subject.
    """
    try:
        yield
    except NoResponders as error:
        text = " ".join(str(error).split())
        raise Unreadable(
            f"stream {stream!r}, see option subject, or the column: expected a subject of the "
            f"stream, got one that no stream stores: {type(error).__name__}: {text}"
        ) from None


class BatchWriter(CodeShipping, DataSourceArrowWriter):
    """The writer of a batch."""

    def __init__(self, settings: Settings, schema: StructType, *, overwrite: bool) -> None:
        self.writing = Writing(settings, schema, overwrite=overwrite)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:  # type: ignore[override]  # as Spark's own Arrow writers
        """Publish the rows of one task."""
        return self.writing.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Finish the write: all tasks have succeeded."""
        self.writing.committed(messages, "batch")

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Abort the write: a task has failed."""
        self.writing.aborted(messages, "batch")


class StreamWriter(CodeShipping, DataSourceStreamArrowWriter):
    """The writer of a streaming query; Spark makes one for each micro-batch."""

    def __init__(self, settings: Settings, schema: StructType) -> None:
        self.writing = Writing(settings, schema, overwrite=False)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:  # type: ignore[override]  # as Spark's own Arrow writers
        """Publish the rows of one task."""
        return self.writing.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Finish a micro-batch: all tasks have succeeded."""
        self.writing.committed(messages, f"micro-batch {batchId}")

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Abort a micro-batch: a task has failed."""
        self.writing.aborted(messages, f"micro-batch {batchId}")
