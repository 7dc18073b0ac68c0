"""Releases a processed range to the stream: not at all, by a durable consumer, or by a purge.

Theory. Only Spark's checkpoint knows what was processed. A stream that keeps messages for readers
(interest, work queue) must be informed. This happens once for each micro-batch, not once for each
message:

- *cursor*: a durable consumer of the stream, created before the first read, so that an interest
  stream keeps messages for it. ``CONSUMER.RESET`` (2.14, ADR-60) sets it to the next unread
  sequence. On an older server the driver pulls all messages before that, without payloads, and
  acknowledges the last one. With ack policy all, and no other, that covers the rest.
- *purge*: deletes everything before the next unread sequence, of the subjects that are read. It is
  allowed only for a work-queue stream, which is meant to be emptied, and only without other
  consumers.

A repeated release is harmless, a premature one is not: by Spark's own log, what is released has
always been processed.

Two queries that release for each other would silently lose messages: one has not seen what the
other has processed. So the metadata of a durable consumer name its query, and no other query may
use it without the option ``takeOver``. For *cursor* this is the cursor. For *purge* it is a
consumer that no client reads from, named after what the query reads. The server then rejects other
consumers for the same subjects. The name of a query is part of its offsets
(`jsproto_spark.read.offsets`). It is written into the consumer once an offset with it is certainly
in the checkpoint. It is compared before each release.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from jsproto.errors.tree import shorten
from jsproto.jetstream.api.config.consumer import ConsumerInfo
from jsproto.jetstream.api.config.enums import AckPolicy, DeliverPolicy, RetentionPolicy
from jsproto.jetstream.api.config.stream import StreamInfo
from jsproto.jetstream.api.errors import ConsumerNotFound, JetStreamError
from jsproto.jetstream.pull.fetch_options import FetchMode
from jsproto.wire.info import release_of
from jsproto_io.blocking import SyncConsumer, SyncJetStream, SyncStream
from jsproto_spark.connections import asking, client
from jsproto_spark.errors import Unreadable, naming
from jsproto_spark.options import Settings
from jsproto_spark.read.offsets import Offset

_LOG: Final = logging.getLogger("jsproto_spark")

#: Messages of one pull.
_RUN: Final = 500
#: Ack policies of an existing cursor that allow a release: by a reset, and by acknowledging.
_RESET: Final = frozenset({AckPolicy.ALL, AckPolicy.EXPLICIT})
_ACKNOWLEDGED: Final = frozenset({AckPolicy.ALL})

#: Metadata of the consumer that marks a query: the query's name, and for people its host and start.
OWNER: Final = "jsproto.spark.query"
_HOST: Final = "jsproto.spark.host"
_SINCE: Final = "jsproto.spark.since"
#: Prefix of the names of consumers that mark a purging query.
PURGES: Final = "spark-purge-"
#: Server errors about two consumers of a work queue with the same subjects.
_NOT_ALONE: Final = frozenset({10099, 10100})


class Release:
    """Releases what one query has processed.

    Args:
        settings: its options.
        what: the digest of what it reads, see `jsproto_spark.read.offsets.meaning`.
    """

    def __init__(self, settings: Settings, what: str) -> None:
        self.settings = settings
        self.mode = settings.read.release_mode
        self.option = "cursor" if self.mode == "cursor" else "releaseMode"
        #: The consumer that marks the query; ``""`` if there is none.
        self.consumer = {"cursor": settings.read.cursor or "", "purge": PURGES + what}.get(
            self.mode, ""
        )
        self.prepared = self.mode == "none"
        #: The creation time of the stream that this query owns, and its name as owner.
        self.held: tuple[str, str] = ("", "")
        self.released: tuple[str, int] = ("", 0)

    def prepare(self) -> None:
        """Check the stream and create the consumer that marks the query, once, before reading.

        Raises:
            Unreadable: this release would remove messages of other readers, or cannot work.
        """
        if self.prepared:
            return
        where = self.settings.where
        with naming(where.stream, self.option):
            asking(where, where.request_timeout, self._prepare)
        self.prepared = True

    def hold(self, offset: Offset, *, sure: bool) -> None:
        """Make the query of this offset the owner, and check that no other query releases here.

        Args:
            offset: an offset of the current stream; its owner is ``""`` in a checkpoint of an older
                version.
            sure: whether it is certainly in the checkpoint, so that its owner may be stored.

        Raises:
            Unreadable: another query releases here, and ``takeOver`` is not set.
        """
        where, owner = self.settings.where, offset.owner
        if self.mode == "none" or self.held == (offset.created, owner):
            return
        self.prepare()
        if self.consumer:
            with naming(where.stream, self.option):
                asking(where, where.request_timeout, lambda js: self._hold(js, owner, sure=sure))
        if sure and owner:
            self.held = offset.created, owner

    def below(self, offset: Offset) -> None:
        """Release everything before this offset; at the query's beginning there is nothing.

        Raises:
            Unreadable: another query has taken over.
        """
        where = self.settings.where
        created, seq = self.released
        done = max(offset.init, seq if created == offset.created else 0)
        if self.mode == "none" or offset.seq <= done:
            return
        self.prepare()
        with naming(where.stream, self.option):
            asking(where, where.request_timeout, lambda js: self._release(js, offset))
        self.released = offset.created, offset.seq

    def _release(self, js: SyncJetStream, offset: Offset) -> None:
        stream = js.stream(self.settings.where.stream)
        read, seq = self.settings.read, offset.seq
        if str(stream.info().created) != offset.created:
            return  # the stream was created again: these sequences are unread messages
        if self.consumer:
            info = stream.consumer(self.consumer).info()
            if owner_of(info) not in {"", offset.owner, self.held[1]}:
                raise self._foreign(info)
        if self.mode == "purge":
            for subject in read.subjects or ("",):
                stream.purge(seq=seq, filter_subject=subject)
        elif self._resets():
            stream.consumer(self.consumer).reset(seq=seq)
        else:
            _acknowledge(stream.consumer(self.consumer), seq)

    # ------------------------------------------------------------------ the marking consumer

    def _prepare(self, js: SyncJetStream) -> None:
        stream = js.stream(self.settings.where.stream)
        info = stream.info()
        if self.mode == "purge":
            self._may_purge(stream, info)
        else:
            self._may_reset(info)
        self._stand(stream)

    def _stand(self, stream: SyncStream) -> ConsumerInfo | None:
        """The consumer that marks the query, created if missing; ``None`` if there can be none."""
        try:
            info = stream.consumer(self.consumer).info()
        except ConsumerNotFound:
            return self._made(stream)
        if self.mode == "cursor":
            self._fits(info)
        return info

    def _made(self, stream: SyncStream) -> ConsumerInfo | None:
        try:
            return stream.create_consumer(
                durable_name=self.consumer,
                deliver_policy=DeliverPolicy.ALL,
                ack_policy=AckPolicy.ALL if self.mode == "cursor" else AckPolicy.EXPLICIT,
                headers_only=True,  # no client reads through it
                filter_subjects=self.settings.read.subjects,
            ).cached
        except JetStreamError as error:
            if self.mode == "cursor" or error.err_code not in _NOT_ALONE:
                raise
            if not self.settings.read.purge_despite_consumers:
                raise self._not_alone("one or more for the same subjects") from None
            # No consumer can mark the query beside those that the user allowed.
            self.consumer = ""
            return None

    def _fits(self, info: ConsumerInfo) -> None:
        policy = info.config.ack_policy
        if policy not in (_RESET if self._resets() else _ACKNOWLEDGED):
            raise Unreadable(
                f"stream {self.settings.where.stream!r}, see option cursor: expected ack policy "
                f"all for consumer {self.consumer}, got {policy}, which cannot release all "
                "messages "
                "before a sequence"
            )

    def _hold(self, js: SyncJetStream, owner: str, *, sure: bool) -> None:
        stream = js.stream(self.settings.where.stream)
        info = self._stand(stream)  # a stream that was created again has none
        if info is None or owner_of(info) == owner:
            return
        seen = owner_of(info)
        if seen and not self.settings.read.take_over:
            raise self._foreign(info)
        if not sure or not owner:
            return
        if not remembers(self._version()):
            _LOG.warning(
                "stream %r: server %s keeps no metadata, so a second query with consumer %s "
                "would not be detected",
                stream.name,
                self._version(),
                self.consumer,
            )
            return
        consumer = stream.consumer(self.consumer)
        consumer.change(metadata={**info.config.metadata, **_mark(owner)})
        info = consumer.info()
        if owner_of(info) != owner:  # another query did the same at the same time
            raise self._foreign(info)

    def _foreign(self, info: ConsumerInfo) -> Unreadable:
        metadata: Mapping[str, str] = info.config.metadata
        where, since = (
            metadata.get(_HOST, "an unknown host"),
            metadata.get(_SINCE, "an unknown time"),
        )
        return Unreadable(
            f"stream {self.settings.where.stream!r}, see option takeOver: expected no other query "
            f"to release with consumer {self.consumer}, got query {owner_of(info)} (on {where}, "
            f"since {since}; its checkpoint has it as owner): each would miss what the other "
            "releases. Use another cursor or other subjects. If that query does not exist any "
            "more, set takeOver or "
            "delete the consumer"
        )

    def _version(self) -> str:
        return client(self.settings.where, 0.0).info.version

    def _resets(self) -> bool:
        return resets(self._version())

    def _may_purge(self, stream: SyncStream, info: StreamInfo) -> None:
        if info.config.retention != RetentionPolicy.WORKQUEUE:
            raise Unreadable(
                f"stream {stream.name!r}, see option releaseMode: expected a work-queue stream "
                f"to purge, got retention {info.config.retention}, which keeps messages for others"
            )
        if self.settings.read.purge_despite_consumers:
            return
        if info.state.consumer_count > self._standing(stream):
            others = [name for name in stream.consumer_names() if not name.startswith(PURGES)]
            if others:
                raise self._not_alone(", ".join(others))

    def _standing(self, stream: SyncStream) -> int:
        """1 if the consumer that marks this query exists.

        So a query needs no permission for the list of all names.
        """
        try:
            stream.consumer(self.consumer).info()
        except ConsumerNotFound:
            return 0
        return 1

    def _not_alone(self, seen: str) -> Unreadable:
        return Unreadable(
            f"stream {self.settings.where.stream!r}, see option purgeDespiteConsumers: expected "
            f"no consumer on a stream that is purged, got {shorten(seen)}: they would lose messages"
        )

    def _may_reset(self, info: StreamInfo) -> None:
        if info.config.retention == RetentionPolicy.WORKQUEUE:
            raise Unreadable(
                f"stream {self.settings.where.stream!r}, see option releaseMode: expected purge "
                "for a "
                "work-queue stream, got cursor"
            )


def owner_of(info: ConsumerInfo) -> str:
    """The name of the query that a consumer marks; ``""`` if there is none."""
    return info.config.metadata.get(OWNER, "")


def _mark(owner: str) -> dict[str, str]:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {OWNER: owner, _HOST: socket.gethostname(), _SINCE: now}


def remembers(version: str) -> bool:
    """Whether a server of this version keeps the metadata of a consumer."""
    release = release_of(version)
    return release is not None and release >= (2, 10)


def resets(version: str) -> bool:
    """Whether a server of this version knows ``CONSUMER.RESET``."""
    release = release_of(version)
    return release is not None and release >= (2, 14)


def _acknowledge(cursor: SyncConsumer, seq: int) -> None:
    """Acknowledge everything before ``seq``, batch by batch, and nak what was pulled beyond it.

    All these messages are stored, so the fetch does not wait.
    """
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
