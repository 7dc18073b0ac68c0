"""The verbs of a blocking client. Made by ``_client/generate.py`` from `jsproto_io._async_client.client`: do not edit."""

from __future__ import annotations

from abc import abstractmethod
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar, cast, overload

from jsproto.core.conversation.conversation import Conversation
from jsproto.core.conversation.message import Message
from jsproto.core.numbers import seconds
from jsproto.core.pubsub.request import request
from jsproto.core.pubsub.request_many import RequestMany, Sentinel
from jsproto.core.pubsub.subscription import Overflow, Subscription
from jsproto.driver import ANY_TIME, seat_of
from jsproto.errors import JsprotoError, OutboundFull
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.signals import NEED_DATA
from jsproto_io import _sync_client
from jsproto_io._sync_client.base import SyncBase
from jsproto_io._sync_client.events import Events
from jsproto_io._sync_client.feed import Feed
from jsproto_io._sync_client.messages import SyncCoreMessage, SyncMessage
from jsproto_io._sync_client.sink import Sink
from jsproto_io._sync_client.waits import changed
from jsproto_io._client.conversations import alarm, conversation_of, headers_of
from jsproto_io._client.handshake import unresolved

if TYPE_CHECKING:
    from jsproto.core.connection.server_pool import Server
    from jsproto.core.conversation.settleable import Settleable
    from jsproto.jetstream.api.config.stream import StreamInfo
    from jsproto.jetstream.api.publishing.puback import PubAck
    from jsproto.jetstream.api.requests.messages import StoredMessage
    from jsproto.jetstream.publish.batch import BatchPublish
    from jsproto.jetstream.publish.fast_ingest import FastIngest, IngestResult
    from jsproto.jetstream.publish.items import ToPublish
    from jsproto.jetstream.publish.window import PublishResult, PublishWindow
    from jsproto.jetstream.range_read.reader import RangeReader
    from jsproto.jetstream.range_read.rows import Rows
    from jsproto.jetstream.stored.direct_batch import DirectBatch
    from jsproto.jetstream.stored.snapshot import Restore, Snapshot
    from jsproto.wire.headers import HeaderItems
    from jsproto_io._sync_client import SyncJetStream

T = TypeVar("T")
FeedT = TypeVar("FeedT", bound=Conversation[JsMessage])
CoreT = TypeVar("CoreT", bound=Conversation[Message])


class SyncClient(SyncBase):
    """One connection to one NATS system, and what can be done with it."""

    __slots__ = ()

    # ------------------------------------------------------------------ feeds and sinks

    @overload
    def stream(self, feed: FeedT) -> Feed[SyncMessage, FeedT]: ...
    @overload
    def stream(self, feed: RangeReader) -> Feed[Rows, RangeReader]: ...
    @overload
    def stream(self, feed: Snapshot) -> Feed[bytes, Snapshot]: ...
    @overload
    def stream(self, feed: DirectBatch) -> Feed[StoredMessage, DirectBatch]: ...
    @overload
    def stream(self, feed: Conversation[T]) -> Feed[T]: ...
    def stream(self, feed: Conversation[T]) -> Feed[T]:
        """The items of a feed: ``with nc.stream(feed) as items`` opens it and closes it at
        the end.
        """
        return Feed(self, conversation_of(feed))

    @overload
    def sink(self, sink: PublishWindow) -> Sink[PublishResult, PublishWindow, ToPublish]: ...
    @overload
    def sink(self, sink: BatchPublish) -> Sink[PubAck, BatchPublish, ToPublish]: ...
    @overload
    def sink(self, sink: FastIngest) -> Sink[IngestResult, FastIngest, ToPublish]: ...
    @overload
    def sink(self, sink: Restore) -> Sink[StreamInfo, Restore, bytes]: ...
    @overload
    def sink(self, sink: Conversation[T]) -> Sink[T]: ...
    def sink(self, sink: Conversation[T]) -> Sink[T]:
        """A conversation that takes items: ``with nc.sink(window) as s: s.put(...)``."""
        return Sink(self, conversation_of(sink))

    # ------------------------------------------------------------------ core NATS

    def _core(self, feed: CoreT) -> Feed[SyncCoreMessage, CoreT]:
        """The messages of a core feed, which are of this client's colour once it is opened."""
        return cast("Feed[SyncCoreMessage, CoreT]", Feed(self, feed))

    def subscribe(
        self,
        subject: str,
        *,
        queue: str = "",
        limit: int = 0,
        max_messages: int = 65_536,
        max_bytes: int = 64 * 1024 * 1024,
        policy: Overflow = Overflow.DROP_NEWEST,
    ) -> Feed[SyncCoreMessage, Subscription]:
        """Messages on a subject: ``with nc.subscribe("a.*") as messages: for msg in
        messages: ...``.

        Args:
            subject: may hold wildcards.
            queue: share the messages with the other members of this queue group.
            limit: end after this number of messages; 0 for no limit.
            max_messages: most messages that may wait here; ``max_bytes`` most bytes.
            max_bytes: see ``max_messages``.
            policy: what happens to messages that do not fit.

        Raises:
            InvalidSubject, InvalidConfig: nothing was sent.
        """
        return self._core(
            Subscription(
                subject,
                queue=queue,
                limit=limit,
                max_messages=max_messages,
                max_bytes=max_bytes,
                policy=policy,
            ),
        )

    def request(
        self,
        subject: str,
        payload: bytes | str = b"",
        *,
        headers: HeaderItems | None = None,
        timeout: float | timedelta = 5.0,
    ) -> SyncCoreMessage:
        """Ask on a subject and wait at most ``timeout`` seconds for one answer.

        Raises:
            NoResponders: no client subscribes to the subject.
            RequestTimeout: no answer in time.
            ConnectionLost: the link was lost meanwhile.
        """
        answer = self.run(
            request(subject, payload, headers=headers_of(headers), timeout=timeout)
        )
        return SyncCoreMessage(answer.frame, self)

    def request_many(
        self,
        subject: str,
        payload: bytes | str = b"",
        *,
        headers: HeaderItems | None = None,
        count: int = 0,
        stall: float | timedelta | None = None,
        sentinel: Sentinel | None = None,
        timeout: float | timedelta = 5.0,
    ) -> Feed[SyncCoreMessage, RequestMany]:
        """Ask on a subject and take what many answer: ``with nc.request_many("who") as
        answers: for msg in answers: ...``.

        It ends by whichever comes first; `RequestMany.end_of` of ``answers.feed`` says which it
        was.

        Args:
            subject: what is asked.
            payload: the question.
            headers: its headers.
            count: end after this number of answers; 0 for no such end.
            stall: end when no further answer comes for this number of seconds.
            sentinel: end with the answer of which this is true, as `jsproto.empty_payload`; it is
                not handed out.
            timeout: seconds for all of it.

        Raises:
            InvalidSubject, InvalidHeader, InvalidConfig: nothing was sent. What the feed raises:
                `NoResponders` if no client subscribes to the subject, `RequestTimeout` if no
                answer comes, `ConnectionLost` if the link is lost meanwhile.
        """
        return self._core(
            RequestMany(
                subject,
                payload,
                headers=headers_of(headers),
                count=count,
                stall=stall,
                sentinel=sentinel,
                timeout=timeout,
            ),
        )

    def rtt(self, timeout: float | timedelta = 10.0) -> float:
        """The round trip to the server in seconds."""
        return self.flush(timeout)

    def rtts(self, timeout: float | timedelta = 2.0) -> dict[str, float | JsprotoError]:
        """The round trip to each address of each server that is known, by a connection of its own
        that is closed again.

        Args:
            timeout: seconds for each of them.

        Returns:
            Seconds, or why there is no round trip, by the server at that address; a name without
            addresses stands for itself, and so does each name behind a proxy, which alone looks
            them up.
        """
        within = seconds("timeout", timeout)
        found: dict[str, float | JsprotoError] = {}
        with self._guard:
            servers = self._connection.servers
        for server in servers:
            try:
                places = (
                    () if self._named() else self._places(server.host, server.port, within)
                )
            except (OSError, ValueError) as error:  # ValueError: a host name that no resolver takes
                found[str(server)] = unresolved(server, error)
                continue
            for each in self._probed(server, places):
                try:
                    with self._probe(each, self._words_of_a_probe(within)) as nc:
                        found[str(each)] = nc.rtt(within)
                except JsprotoError as error:
                    found[str(each)] = error
        return found

    def jetstream(
        self,
        *,
        domain: str | None = None,
        prefix: str | None = None,
        timeout: float | timedelta | None = None,
    ) -> SyncJetStream:
        """JetStream as the option ``jetstream`` says, of another domain, or behind another API
        prefix.

        Args:
            domain: name of another domain.
            prefix: the whole API prefix instead, for an imported API.
            timeout: default seconds of a request; 5 if it is not given.
        """
        return _sync_client.SyncJetStream(self, self._js(domain, prefix, timeout))

    # ------------------------------------------------------------------ life

    @abstractmethod
    def __enter__(self) -> Self:
        """Connect."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def events(self) -> Events:
        """What happens to the connection from now on, as an iterator that ends after
        `Closed`.
        """
        with self._guard:
            return Events(self, self._driver.listen())

    def reconnect(self, server: str | Server | None = None) -> None:
        """Leave this server and dial again; what is open goes on by itself.

        Args:
            server: the one to be dialled next, a URL or one that is known from events or gossip;
                without it, the next one of the pool.

        Raises:
            InvalidConfig: it is not known; nothing was done.
        """
        with self._guard:
            self._catch_up()
            self._connection.reconnect(self._now(), server=server)
            self._pump()

    # ------------------------------------------------------------------ settling

    def _settled_with_room(self, once: Settleable, timeout: float | timedelta | None) -> bool:
        """Wait for room in the outbound buffer, and write what may be written once.

        Raises:
            OutboundFull: there was no room in time.
        """
        clock = None
        try:
            while True:
                try:
                    return self._connection.settle(once, ANY_TIME)
                except OutboundFull:
                    if clock is None and timeout is not None:
                        clock = alarm(timeout)
                        self._opened(clock, self._now())
                    if clock is None:
                        changed(self)
                    elif self._connection.take(clock, self._now()) is NEED_DATA:
                        changed(self, seat_of(clock))
                    else:
                        raise
        finally:
            if clock is not None and not clock.ended:
                self._connection.close(clock, self._now())
