"""What a processed range means to the stream: nothing, a durable consumer's floor goes up, or it is
purged.

Theory. Spark's checkpoint alone says what was processed. A stream that keeps messages for somebody
(interest, work queue) must be told, and is told once for each micro-batch, not once for each
message:

- *cursor*: a durable consumer of the stream, made before anything is read so that an interest
  stream keeps messages for it. Its floor is set by ``CONSUMER.RESET`` (2.14, ADR-60) to the next
  unread sequence; on an older server what is before it is pulled, without payloads, and the last of
  it acknowledged, which with ack policy all, and no other, covers the rest.
- *purge*: everything before the next unread sequence, of the subjects that are read. Only of a
  work-queue stream, which is there to be emptied, and only if nobody else works on it.

Releasing twice is harmless, releasing early is not: what is released has always been processed, by
Spark's own log.

Two queries that release for each other lose messages without a word: what one has processed the
other has not seen. So a durable consumer says in its metadata which query it belongs to, and no
other query may use it unless the option ``takeOver`` says so. For *cursor* that is the cursor. For
*purge* it is a consumer that nobody reads from, named after what the query reads; beside it the
server refuses a worker for the same subjects. The name of a query stands in its offsets
(`jsproto_spark.read.offsets`). It is written into the consumer when an offset with it is in the
checkpoint for certain, and compared before each release.
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
#: Ack policies of a cursor that is there already, by which its floor can be set: by a reset, and by
#: acknowledging.
_RESET: Final = frozenset({AckPolicy.ALL, AckPolicy.EXPLICIT})
_ACKNOWLEDGED: Final = frozenset({AckPolicy.ALL})

#: Metadata of the consumer that stands for a query: the query's name, and for people where and
#: since when.
OWNER: Final = "jsproto.spark.query"
_HOST: Final = "jsproto.spark.host"
_SINCE: Final = "jsproto.spark.since"
#: How the names of the consumers begin that stand for queries which purge.
PURGES: Final = "spark-purge-"
#: Answers of a server that lets two consumers of a work queue not have the same subjects.
_NOT_ALONE: Final = frozenset({10099, 10100})


class Release:
    """How one query releases what it has processed.

    Args:
        settings: its options.
        what: the digest of what it reads, see `jsproto_spark.read.offsets.meaning`.
    """

    def __init__(self, settings: Settings, what: str) -> None:
        self.settings = settings
        self.mode = settings.read.release_mode
        self.option = "cursor" if self.mode == "cursor" else "releaseMode"
        #: The consumer that stands for the query; ``""`` if there is none.
        self.consumer = {"cursor": settings.read.cursor or "", "purge": PURGES + what}.get(
            self.mode, ""
        )
        self.prepared = self.mode == "none"
        #: Of which incarnation of the stream this query is the owner, and under which name.
        self.held: tuple[str, str] = ("", "")
        self.released: tuple[str, int] = ("", 0)

    def prepare(self) -> None:
        """Once, before anything is read: the stream is of the right kind, and the consumer there
        that stands for the query.

        Raises:
            Unreadable: releasing in this way would take messages from others, or cannot work.
        """
        if self.prepared:
            return
        where = self.settings.where
        with naming(where.stream, self.option):
            asking(where, where.request_timeout, self._prepare)
        self.prepared = True

    def hold(self, offset: Offset, *, sure: bool) -> None:
        """The query of this offset is the only one that releases here.

        Args:
            offset: of the stream as it is now; its owner is ``""`` in a checkpoint of an older
                version.
            sure: it is in the checkpoint for certain, so its owner may be written down.

        Raises:
            Unreadable: another query releases here, and it is not to be taken over.
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
        """Everything before this offset is processed. Where the query began, nothing is yet.

        Raises:
            Unreadable: another query has taken over what is released.
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
            return  # made anew: these sequences mean messages that nobody has read
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

    # ------------------------------------------------------------------ the consumer that stands for the query

    def _prepare(self, js: SyncJetStream) -> None:
        stream = js.stream(self.settings.where.stream)
        info = stream.info()
        if self.mode == "purge":
            self._may_purge(stream, info)
        else:
            self._may_reset(info)
        self._stand(stream)

    def _stand(self, stream: SyncStream) -> ConsumerInfo | None:
        """The consumer that stands for the query, made if it is not there; ``None`` if nothing can
        stand for it.
        """
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
                headers_only=True,  # nobody reads through it
                filter_subjects=self.settings.read.subjects,
            ).cached
        except JetStreamError as error:
            if self.mode == "cursor" or error.err_code not in _NOT_ALONE:
                raise
            if not self.settings.read.purge_despite_consumers:
                raise self._not_alone("one or more for the same subjects") from None
            self.consumer = (
                ""  # nothing can stand for the query beside the consumers that the user knows of
            )
            return None

    def _fits(self, info: ConsumerInfo) -> None:
        policy = info.config.ack_policy
        if policy not in (_RESET if self._resets() else _ACKNOWLEDGED):
            raise Unreadable(
                f"stream {self.settings.where.stream!r}, see option cursor: expected ack policy all of consumer {self.consumer}, got "
                f"{policy}: what is before a sequence cannot be released by it"
            )

    def _hold(self, js: SyncJetStream, owner: str, *, sure: bool) -> None:
        stream = js.stream(self.settings.where.stream)
        info = self._stand(stream)  # a stream that was made anew has none
        if info is None or owner_of(info) == owner:
            return
        seen = owner_of(info)
        if seen and not self.settings.read.take_over:
            raise self._foreign(info)
        if not sure or not owner:
            return
        if not remembers(self._version()):
            _LOG.warning(
                "stream %r: server %s keeps no metadata, so a second query with consumer %s would not be noticed",
                stream.name,
                self._version(),
                self.consumer,
            )
            return
        consumer = stream.consumer(self.consumer)
        consumer.change(metadata={**info.config.metadata, **_mark(owner)})
        info = consumer.info()
        if owner_of(info) != owner:  # another one came at the same moment
            raise self._foreign(info)

    def _foreign(self, info: ConsumerInfo) -> Unreadable:
        metadata: Mapping[str, str] = info.config.metadata
        where, since = (
            metadata.get(_HOST, "an unknown host"),
            metadata.get(_SINCE, "an unknown time"),
        )
        return Unreadable(
            f"stream {self.settings.where.stream!r}, see option takeOver: expected no other query to release with consumer "
            f"{self.consumer}, got query {owner_of(info)} (on {where}, since {since}; its checkpoint has that as owner): what one "
            "releases the other would miss. Take another cursor or other subjects; or, if that query is no more, set takeOver or "
            "delete the consumer"
        )

    def _version(self) -> str:
        return client(self.settings.where, 0.0).info.version

    def _resets(self) -> bool:
        return resets(self._version())

    def _may_purge(self, stream: SyncStream, info: StreamInfo) -> None:
        if info.config.retention != RetentionPolicy.WORKQUEUE:
            raise Unreadable(
                f"stream {stream.name!r}, see option releaseMode: expected a work-queue stream to purge, got retention "
                f"{info.config.retention}; messages there are kept for others"
            )
        if self.settings.read.purge_despite_consumers:
            return
        if info.state.consumer_count > self._standing(stream):
            others = [name for name in stream.consumer_names() if not name.startswith(PURGES)]
            if others:
                raise self._not_alone(", ".join(others))

    def _standing(self, stream: SyncStream) -> int:
        """1 if the consumer is there that stands for this query, so nobody needs the right to ask
        for the names of all.
        """
        try:
            stream.consumer(self.consumer).info()
        except ConsumerNotFound:
            return 0
        return 1

    def _not_alone(self, seen: str) -> Unreadable:
        return Unreadable(
            f"stream {self.settings.where.stream!r}, see option purgeDespiteConsumers: expected no consumer on a stream that is purged, "
            f"got {shorten(seen)}: they would lose messages"
        )

    def _may_reset(self, info: StreamInfo) -> None:
        if info.config.retention == RetentionPolicy.WORKQUEUE:
            raise Unreadable(
                f"stream {self.settings.where.stream!r}, see option releaseMode: expected purge for a work-queue stream, got cursor"
            )


def owner_of(info: ConsumerInfo) -> str:
    """The name of the query that a consumer stands for; ``""`` if it says none."""
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
    """Everything before ``seq``, in runs; what was pulled beyond it is given back. All of it is
    stored: nobody waits for more.
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
