"""What a processed range means to the stream: nothing, a durable consumer's floor goes up, or it is purged.

Theory. Spark's checkpoint alone says what was processed. A stream that keeps messages for somebody (interest, work queue) must be told, and
is told once for each micro-batch, not once for each message:

- *cursor*: a durable consumer of the stream, made before anything is read so that an interest stream keeps messages for it. Its
  floor is set by ``CONSUMER.RESET`` (2.14, ADR-60) to the next unread sequence; on an older server what is before it is pulled, without
  payloads, and the last of it acknowledged, which with ack policy all, and no other, covers the rest.
- *purge*: everything before the next unread sequence, of the subjects that are read. Only of a work-queue stream, which is there to be
  emptied, and only if nobody else works on it.

Releasing twice is harmless, releasing early is not: what is released has always been processed, by Spark's own log.
"""

from __future__ import annotations

from typing import Final

from jsproto.jetstream.api.enums import AckPolicy, DeliverPolicy, RetentionPolicy
from jsproto.jetstream.api.errors import ConsumerNotFound
from jsproto.jetstream.api.stream import StreamInfo
from jsproto.jetstream.fetch_options import FetchMode
from jsproto.wire.info import release_of
from jsproto_io.blocking import SyncConsumer, SyncJetStream
from jsproto_spark.errors import Unreadable, naming
from jsproto_spark.link import asking, client
from jsproto_spark.offsets import Offset
from jsproto_spark.options import Settings

#: Messages of one pull.
_RUN: Final = 500
#: Ack policies of a cursor that is there already, by which its floor can be set: by a reset, and by acknowledging.
_RESET: Final = frozenset({AckPolicy.ALL, AckPolicy.EXPLICIT})
_ACKNOWLEDGED: Final = frozenset({AckPolicy.ALL})


class Release:
    """How one query releases what it has processed."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.prepared = settings.read.release_mode == "none"
        self.released: tuple[str, int] = ("", 0)

    def prepare(self) -> None:
        """Once, before anything is read: the stream is of the right kind, and the cursor there.

        Raises:
            Unreadable: releasing in this way would take messages from others, or cannot work.
        """
        if self.prepared:
            return
        where, read = self.settings.where, self.settings.read
        with naming(where.stream, "cursor" if read.release_mode == "cursor" else "releaseMode"):
            info = asking(where, where.request_timeout, lambda js: js.stream(where.stream).info())
            if read.release_mode == "purge":
                self._may_purge(info)
            else:
                self._may_reset(info)
                asking(where, where.request_timeout, self._cursor)
        self.prepared = True

    def below(self, offset: Offset) -> None:
        """Everything before this offset is processed. Where the query began, nothing is yet."""
        where, read = self.settings.where, self.settings.read
        created, seq = self.released
        done = max(offset.init, seq if created == offset.created else 0)
        if read.release_mode == "none" or offset.seq <= done:
            return
        self.prepare()
        with naming(where.stream, "cursor" if read.release_mode == "cursor" else "releaseMode"):
            asking(where, where.request_timeout, lambda js: self._release(js, offset))
        self.released = offset.created, offset.seq

    def _release(self, js: SyncJetStream, offset: Offset) -> None:
        stream = js.stream(self.settings.where.stream)
        read, seq = self.settings.read, offset.seq
        if str(stream.info().created) != offset.created:
            return  # made anew: these sequences mean messages that nobody has read
        if read.release_mode == "purge":
            for subject in read.subjects or ("",):
                stream.purge(seq=seq, filter_subject=subject)
        elif self._resets():
            stream.consumer(read.cursor or "").reset(seq=seq)
        else:
            _acknowledge(stream.consumer(read.cursor or ""), seq)

    def _cursor(self, js: SyncJetStream) -> None:
        """Make the durable consumer, unless it is there.

        Raises:
            Unreadable: one is there whose ack policy lets nobody set its floor.
        """
        where, read = self.settings.where, self.settings.read
        stream = js.stream(where.stream)
        try:
            policy = stream.consumer(read.cursor or "").info().config.ack_policy
            if policy not in (_RESET if self._resets() else _ACKNOWLEDGED):
                raise Unreadable(
                    f"stream {where.stream!r}, see option cursor: expected ack policy all of consumer {read.cursor}, seen {policy}: "
                    "what is before a sequence cannot be released by it"
                )
        except ConsumerNotFound:
            stream.create_consumer(
                durable_name=read.cursor,
                deliver_policy=DeliverPolicy.ALL,
                ack_policy=AckPolicy.ALL,
                headers_only=True,  # nobody reads through it
                filter_subjects=read.subjects,
            )

    def _resets(self) -> bool:
        return resets(client(self.settings.where, 0.0).info.version)

    def _may_purge(self, info: StreamInfo) -> None:
        where, read = self.settings.where, self.settings.read
        if info.config.retention != RetentionPolicy.WORKQUEUE:
            raise Unreadable(
                f"stream {where.stream!r}, see option releaseMode: expected a work-queue stream to purge, seen retention "
                f"{info.config.retention}; messages there are kept for others"
            )
        if info.state.consumer_count and not read.purge_despite_consumers:
            raise Unreadable(
                f"stream {where.stream!r}, see option purgeDespiteConsumers: expected no consumer on a stream that is purged, "
                f"seen {info.state.consumer_count}: they would lose messages"
            )

    def _may_reset(self, info: StreamInfo) -> None:
        if info.config.retention == RetentionPolicy.WORKQUEUE:
            raise Unreadable(
                f"stream {self.settings.where.stream!r}, see option releaseMode: expected purge for a work-queue stream, seen cursor"
            )


def resets(version: str) -> bool:
    """Whether a server of this version knows ``CONSUMER.RESET``."""
    release = release_of(version)
    return release is not None and release >= (2, 14)


def _acknowledge(cursor: SyncConsumer, seq: int) -> None:
    """Everything before ``seq``, in runs; what was pulled beyond it is given back. All of it is stored: nobody waits for more."""
    while True:
        with cursor.fetch(_RUN, mode=FetchMode.NO_WAIT) as messages:
            pulled = list(messages)
        done = [each for each in pulled if each.metadata.stream_sequence < seq]
        for each in pulled[len(done) :]:
            each.nak()
        if done:
            done[-1].ack_confirmed()
        if len(done) < _RUN:
            return
