"""What an adapter without ``await`` has: the client's verbs, and the feed, sink and events that
they give.

Theory. Nobody drives the connection but whoever calls a verb: what has to wait runs turns of the
selector until it is woken (`_drive`). When a verb returns, what it had to send has been given to
the kernel, so a caller who computes for a minute afterwards delays nothing of it. An ack of a quick
reader with more at hand is given to it with the word that more follows: that saves a packet for
each, and the kernel bounds the delay by itself.

One caller at a time. A client is used under a lock that nobody waits for: a second thread, or a
signal handler in mid-verb, gets `BusyConversation` and has changed nothing.

An exception out of the wait itself, KeyboardInterrupt above all, leaves everything as it was. One
that hits in the middle of a step may have left half of it undone: then the byte stream is cut
without a word, and every later verb says so.
"""

# ruff: noqa: SLF001 - client, transport and handles are one thing in several classes

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Final,
    Generic,
    NoReturn,
    Protocol,
    Self,
    TypeVar,
    cast,
    final,
    overload,
)

from jsproto.core.callbacks import check_callback, check_result
from jsproto.core.connection.server_pool import Server
from jsproto.core.conversation.conversation import Conversation, Stage, StopMode
from jsproto.core.conversation.message import Message
from jsproto.core.conversation.settleable import Settleable
from jsproto.core.numbers import seconds
from jsproto.core.pubsub.request import Flush, request
from jsproto.core.pubsub.request_many import RequestMany, Sentinel
from jsproto.core.pubsub.subscription import Overflow, Subscription
from jsproto.driver import ANY_TIME, Listener, Told, WaitSlot, seat_of
from jsproto.errors import BusyConversation, ConversationClosed, JsprotoError, OutboundFull
from jsproto.jetstream.api.config.stream import StreamInfo
from jsproto.jetstream.api.publishing.puback import PubAck
from jsproto.jetstream.api.requests.messages import StoredMessage
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.publish.batch import BatchPublish
from jsproto.jetstream.publish.fast_ingest import FastIngest, IngestResult
from jsproto.jetstream.publish.items import ToPublish
from jsproto.jetstream.publish.window import PublishResult, PublishWindow
from jsproto.jetstream.pull.request import OpenPull
from jsproto.jetstream.range_read.reader import RangeReader
from jsproto.jetstream.range_read.rows import Rows
from jsproto.jetstream.status import EndReason
from jsproto.jetstream.stored.direct_batch import DirectBatch
from jsproto.jetstream.stored.snapshot import Restore, Snapshot
from jsproto.signals import ENDED, NEED_DATA, Ended, NeedData
from jsproto.wire.commands import Publish
from jsproto.wire.headers import HeaderItems
from jsproto_io._client.base import (
    SETTLE_PATIENCE,
    Base,
    alarm,
    conversation_of,
    failure_of,
    hands_back,
    headers_of,
    no_result,
    out_of_time,
    pulls_of,
    reason_of,
    run_dry,
    unresolved,
    unsettled,
)
from jsproto_io._client.facade_sync import SyncConsumer, SyncJetStream, SyncStream
from jsproto_io._client.messages import SyncCoreMessage, SyncMessage
from jsproto_io._client.options import ConnectOptions
from jsproto_io._client.signatures import show_settings
from jsproto_io._client.type_parameters import ConversationT_co, ItemT_contra, written
from jsproto_io._transport.backend import AddrInfo

#: What a second caller hears.
IN_USE: Final = "expected one caller at a time, the client is in use by another thread, or by the verb interrupted here"

#: How a gate is passed: who would have to wait goes away. Said without a name, which would make the
#: call of a lock twice as dear.
AT_ONCE: Final = False

T = TypeVar("T")
FeedT = TypeVar("FeedT", bound=Conversation[JsMessage])
CoreT = TypeVar("CoreT", bound=Conversation[Message])
T_co = TypeVar("T_co", covariant=True)


@final
class Waiter:
    """A flag that its owner looks at after each turn."""

    __slots__ = ("woken",)

    def __init__(self) -> None:
        self.woken = False


class ClientLock(Protocol):
    """What a verb passes before it touches anything: a lock, or whatever takes its place when all
    is over.
    """

    def acquire(self, blocking: bool, /) -> bool:
        """Whether the caller is alone."""
        ...

    def release(self) -> None:
        """The caller is done."""
        ...


@final
class ClosedLock:
    """A gate that nobody passes any more, with the reason."""

    __slots__ = ("error",)

    def __init__(self, error: JsprotoError) -> None:
        self.error = error

    def acquire(self, blocking: bool, /) -> bool:
        """Say why."""
        raise self.error

    def release(self) -> None:
        """Whoever was inside when it closed comes out this way."""


@final
class NoLock:
    """``with client._alone:`` around everything that touches the connection."""

    __slots__ = ("_client",)

    def __init__(self, client: SyncClient) -> None:
        self._client = client

    def __enter__(self) -> None:
        if not self._client._gate.acquire(AT_ONCE):
            raise BusyConversation(IN_USE)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        client = self._client
        if error is not None:
            client._judge(error)
        client._gate.release()


show_settings(SyncJetStream, SyncStream, SyncConsumer)


class SyncClient(Base):
    """One connection to one NATS system, and what can be done with it, by one caller at a time."""

    __slots__ = ("_alone", "_feeds", "_gate", "_look_at", "_now")

    MESSAGE = SyncMessage
    CORE = SyncCoreMessage

    _alone: NoLock
    _feeds: set[Conversation[object]]
    _gate: ClientLock
    _look_at: float
    _now: Callable[[], float]

    # ------------------------------------------------------------------ the three verbs

    @overload
    def run(self, conversation: Conversation[JsMessage]) -> SyncMessage: ...
    @overload
    def run(self, conversation: Conversation[T]) -> T: ...
    def run(self, conversation: Conversation[T]) -> T:
        """Open a conversation, wait for its one result and give it. An exception gives the
        conversation up.

        A message that came but does not reach the caller, because of an exception out of a wait,
        goes back to the server.

        Raises:
            JsprotoError: what the conversation raises.
            ConversationClosed: it ended without a result, or the connection is closed.
        """
        with self._alone:
            try:
                item = self._result_of(conversation)
            except BaseException:
                self._pump()
                raise
            try:
                self._pump()
            except BaseException:
                self._give_back(item)
                raise
        if item is ENDED:
            raise no_result(conversation)
        return item

    def _result_of(self, conversation: Conversation[T]) -> T | Ended:
        """Open a conversation and wait for its result; what it still has then is given back."""
        seat = self._opened(conversation, self._now())
        connection = self._connection
        try:
            while (item := connection.take(conversation, self._now())) is NEED_DATA:
                self._taking(seat)
        finally:
            if conversation.readable or not conversation.finished:
                connection.close(conversation, self._now())
        return item

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
        """The items of a feed: ``with nc.stream(feed) as items`` opens it and closes it at the end."""
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

    def publish(
        self,
        subject: str,
        payload: bytes | str = b"",
        *,
        reply: str = "",
        headers: HeaderItems | None = None,
    ) -> None:
        """Publish a message, fire and forget; waits while too many bytes are on their way.

        Raises:
            InvalidSubject, InvalidHeader, PayloadTooLarge: nothing was sent.
            ConversationClosed: the connection is closed.
        """
        command = Publish(subject, payload, reply, headers_of(headers))
        with self._alone:
            while not self._connection.send(command, self._now()):
                self._changed()
            self._flush(self._now())

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
        """Messages on a subject: ``with nc.subscribe("a.*") as messages: for msg in messages:
        ...``.

        Args:
            subject: may hold wildcards.
            queue: share the messages with the other members of this queue group.
            limit: end after so many messages; 0 for none.
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
            NoResponders: nobody listens there.
            RequestTimeout: no answer in time.
            ConnectionLost: the link was lost meanwhile.
        """
        answer = self.run(request(subject, payload, headers=headers_of(headers), timeout=timeout))
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
        """Ask on a subject and take what many answer: ``with nc.request_many("who") as answers: for
        msg in answers: ...``.

        It ends by whichever comes first; `RequestMany.end_of` of ``answers.feed`` says which it
        was.

        Args:
            subject: what is asked.
            payload: the question.
            headers: its headers.
            count: end after so many answers; 0 for no such end.
            stall: end when no further answer comes for so many seconds.
            sentinel: end with the answer of which this is true, as `jsproto.empty_payload`; it is
                not handed out.
            timeout: seconds for all of it.

        Raises:
            InvalidSubject, InvalidHeader, InvalidConfig: nothing was sent. What the feed raises:
                `NoResponders` if nobody listens there, `RequestTimeout` if nobody answers,
                `Disconnected` if the link is lost meanwhile.
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

    def flush(self, timeout: float | timedelta = 10.0) -> float:
        """Wait until the server has read everything sent so far; gives the round trip in seconds.

        Raises:
            RequestTimeout: no answer in time.
            ConnectionLost: the link was lost meanwhile; what was sent may be lost too.
        """
        return self.run(Flush(timeout))

    def rtt(self, timeout: float | timedelta = 10.0) -> float:
        """The round trip to the server in seconds."""
        return self.run(Flush(timeout))

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
        with self._alone:
            servers = self._connection.servers
        for server in servers:
            try:
                places = () if self._named() else self._places(server.host, server.port, within)
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
            timeout: seconds that a request waits unless it says otherwise; 5 if nobody says
                anything.
        """
        return SyncJetStream(self, self._js(domain, prefix, timeout))

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
        """What happens to the connection from now on, as an iterator that ends behind `Closed`."""
        with self._alone:
            return Events(self, self._driver.listen())

    def reconnect(self, server: str | Server | None = None) -> None:
        """Leave this server and dial again; what is open goes on by itself.

        Args:
            server: the one to be dialled next, a URL or one that is known from events or gossip;
                without it, whoever's turn it is.

        Raises:
            InvalidConfig: it is not known; nothing was done.
        """
        with self._alone:
            self._catch_up()
            self._connection.reconnect(self._now(), server=server)
            self._pump()

    def drain(self) -> None:
        """Ask for nothing new. Feeds give what is there and end, and then the connection closes by
        itself.

        Returns as soon as only the caller can go on, by taking what is there.
        """
        with self._alone:
            self._catch_up()
            self._connection.tell(None, StopMode.DRAIN, self._now())
            self._pump()
            while not self._driver.closed and not any(feed.readable for feed in self._feeds):
                self._drive()

    @abstractmethod
    def close(self) -> None:
        """End everything, wait shortly until the server has read what was sent, and hang up."""

    # ------------------------------------------------------------------ settling

    def settle(
        self,
        once: Settleable,
        timeout: float | timedelta | None = SETTLE_PATIENCE,
        *,
        more: bool = False,
    ) -> bool:
        """Write what may be written once, as soon as there is room; ``False`` if it may not be
        written any more.

        Args:
            once: a message for its plain ack, or a settlement of one.
            timeout: seconds to wait for room, which without a link is that of the backlog; ``None``
                for as long as it takes.
            more: the next one follows soon, and the kernel may let this one wait for it.

        Raises:
            OutboundFull: there was no room in time; what it settles is open as before.
            ConversationClosed: the connection is closed.
            LocalProtocolError: it is nothing that can be settled.
        """
        gate = self._gate
        if not gate.acquire(AT_ONCE):
            raise BusyConversation(IN_USE)
        clock = None
        try:
            while True:
                try:
                    settled = self._connection.settle(once, ANY_TIME)
                except OutboundFull:
                    if clock is None and timeout is not None:
                        clock = alarm(timeout)
                        self._opened(clock, self._now())
                    if clock is None:
                        self._changed()
                    elif self._connection.take(clock, self._now()) is NEED_DATA:
                        self._changed(seat_of(clock))
                    else:
                        raise
                else:
                    self._flush(self._now(), more=more)
                    return settled
        except BaseException as error:
            self._judge(error)
            raise
        finally:
            if clock is not None and not clock.ended:
                self._connection.close(clock, self._now())
            gate.release()

    # ------------------------------------------------------------------ disks, and who answers meanwhile

    def _attend(self, conversation: Conversation[object]) -> None:
        """From now until `_leave` the server hears of this conversation while the caller is away,
        if it needs that.
        """

    def _leave(self, conversation: Conversation[object]) -> None:
        """This conversation is over."""

    def _run_in_thread(self, work: Callable[[], T]) -> T:
        """Do something that waits for a disk; everybody waits here."""
        return work()

    # ------------------------------------------------------------------ probing

    @abstractmethod
    def _places(self, host: str, port: int, patience: float) -> Sequence[AddrInfo]:
        """The addresses of a name, which are waited for at most so many seconds."""

    @abstractmethod
    def _probe(self, server: Server, options: ConnectOptions) -> Self:
        """A client like this one, for one address."""

    # ------------------------------------------------------------------ waiting

    @abstractmethod
    def _flush(self, now: float, *, more: bool = False) -> None:
        """Give what is to be sent to the kernel; now and then look what has come."""

    @abstractmethod
    def _catch_up(self) -> None:
        """Read what has come while nobody looked."""

    @abstractmethod
    def _drive(self) -> None:
        """Wait for whatever comes first, work it off, and pump."""

    @abstractmethod
    def _judge(self, error: BaseException) -> None:
        """An exception leaves a verb: is the connection still as it should be?"""

    def _wake(self, waiter: object) -> None:
        if isinstance(waiter, Waiter):
            waiter.woken = True

    def _until(self, waiter: Waiter) -> None:
        self._pump()
        while not waiter.woken:
            self._drive()

    def _taking(self, seat: WaitSlot) -> None:
        """Wait until there may be an item."""
        waiter = seat.taker = Waiter()
        try:
            self._until(waiter)
        finally:
            seat.taker = None

    def _racing(self, seat: WaitSlot, clock: WaitSlot) -> None:
        """Wait until there may be an item, or time is up."""
        waiter = seat.taker = clock.taker = Waiter()
        try:
            self._until(waiter)
        finally:
            seat.taker = clock.taker = None

    def _putting(self, seat: WaitSlot) -> None:
        """Wait until there may be room."""
        waiter = seat.putter = Waiter()
        try:
            self._until(waiter)
        finally:
            seat.putter = None

    def _listening(self, listener: Listener) -> None:
        """Wait until there may be something to hear."""
        waiter = listener.waiter = Waiter()
        try:
            self._until(waiter)
        finally:
            listener.waiter = None

    def _changed(self, clock: WaitSlot | None = None) -> None:
        """Wait until something changes for the connection as a whole, or time is up."""
        waiter = Waiter()
        self._driver.wait(waiter)
        if clock is not None:
            clock.taker = waiter
        try:
            self._until(waiter)
        finally:
            self._driver.leave(waiter)
            if clock is not None:
                clock.taker = None


def _unopened(conversation: Conversation[T], _now: float) -> NoReturn:
    raise ConversationClosed(
        f"expected {type(conversation).__name__} to be opened first: enter it with a with statement"
    )


@final
class Feed(Generic[T_co, ConversationT_co]):
    """The items of one feed. Entering opens the feed, leaving closes it; in between it is an
    iterator.

    ``Feed[SyncMessage]`` is enough to write where a function takes one; ``Feed[SyncMessage,
    Consume[JsMessage]]`` is what ``consumer.consume()`` gives: the second parameter is the type of
    ``feed``.
    """

    __slots__ = ("_client", "_feed", "_kept", "_seat", "_take")

    if not TYPE_CHECKING:
        __class_getitem__ = written

    def __init__(self, client: SyncClient, feed: Conversation[T_co]) -> None:
        self._client = client
        # Items that were taken and did not reach the caller, because of an exception behind the
        # take.
        self._kept: deque[T_co] = deque()
        self._seat = WaitSlot(client)
        self._take: Callable[[Conversation[T_co], float], T_co | NeedData | Ended] = _unopened
        self._feed = feed

    def __repr__(self) -> str:
        return f"<Feed of {self._feed!r}>"

    @property
    def feed(self) -> ConversationT_co:
        """The conversation, for what it shows beyond its items."""
        return cast("ConversationT_co", self._feed)

    def __enter__(self) -> Self:
        client = self._client
        with client._alone:
            self._seat = client._opened(self._feed, client._now())
            self._take = client._connection.take
            client._feeds.add(self._feed)
            client._pump()
        if self.feed.ATTENDED:
            client._attend(self.feed)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T_co:
        client = self._client
        gate = client._gate
        if not gate.acquire(AT_ONCE):
            raise BusyConversation(IN_USE)
        try:
            now = client._now()
            while (item := self._take(self._feed, now)) is NEED_DATA:
                client._taking(self._seat)
                now = client._now()
            if client._connection.outgoing or now > client._look_at:
                self._flush(now, item)
        except BaseException as error:
            client._judge(error)
            raise
        finally:
            gate.release()
        if item is ENDED:
            raise StopIteration
        return item

    def _flush(self, now: float, *taken: T_co | Ended) -> None:
        """Send what is to be sent; if an exception comes out of that, what was taken is kept for
        the next take.
        """
        try:
            self._client._flush(now)
        except BaseException:
            self._kept.extend(each for each in taken if each is not ENDED)
            if self._kept:
                self._take = self._take_kept
            raise

    def _take_kept(self, _feed: Conversation[T_co], _now: float) -> T_co:
        item = self._kept.popleft()
        if not self._kept:
            self._take = self._client._connection.take
        return item

    def next(self, timeout: float | timedelta | None = 5.0) -> T_co:
        """The next item.

        Args:
            timeout: seconds to wait for it; ``None`` for as long as it takes.

        Raises:
            RequestTimeout: none came in time; the feed goes on.
            InvalidConfig: the timeout is no duration.
            ConversationClosed: the feed has ended, and well.
            JsprotoError: what the feed ended with.
        """
        within: float | None = (
            timeout
            if timeout is None or (isinstance(timeout, float) and timeout >= 0.0)
            else seconds("timeout", timeout, above=False)
        )
        client = self._client
        clock = None
        with client._alone:
            try:
                while (item := self._take(self._feed, client._now())) is NEED_DATA:
                    if within is None:
                        client._taking(self._seat)
                        continue
                    if clock is None:
                        clock = alarm(within)
                        client._opened(clock, client._now())
                        continue  # opening may have read what is waited for
                    if client._connection.take(clock, client._now()) is not NEED_DATA:
                        raise out_of_time(self._feed, within)
                    client._racing(self._seat, seat_of(clock))
            finally:
                if clock is not None and not clock.ended:
                    client._connection.close(clock, client._now())
            self._flush(client._now(), item)
        if item is ENDED:
            raise run_dry(self._feed)
        return item

    def each(
        self, handler: Callable[[T_co], object], *, manual_ack: bool = False
    ) -> EndReason | None:
        """Give each item to a handler, until the feed ends; then say why it did.

        A feed that was not entered is opened for it and closed afterwards. The handler is called
        between the turns of the connection, and may use the client. It ends this with ``stop``,
        ``drain`` or ``close`` of this feed: those and whatever else ends a feed make ``each``
        return.

        Args:
            handler: is given one item at a time.
            manual_ack: leave acknowledging to the handler. Else a message is acknowledged when the
                handler comes back and has not settled it; of `AckNext` it is handed back, and the
                next one asked for.

        Returns:
            How a feed of stored messages ended; ``None`` for other feeds.

        Raises:
            InvalidConfig: the handler is a coroutine function, or gives something that somebody
                would have to await. The message is not acknowledged then.
            JsprotoError: what the feed ended with.
            Exception: whatever the handler raises. The message is not acknowledged then.
        """
        check_callback(handler, "handler")
        if self._take is _unopened:
            with self:
                return self.each(handler, manual_ack=manual_ack)
        for item in self:
            done = handler(item)
            if done is not None:
                check_result(done, "the handler")
            if manual_ack:
                continue
            if hands_back(self._feed):
                self.put(cast("JsMessage", item))
            elif unsettled(item):
                self._client.settle(cast("JsMessage", item), None)
        return reason_of(self._feed)

    def ready(self) -> None:
        """Wait until the feed has begun: a push subscription is bound, an ordered consumer is
        there. Others begin at once.

        Raises:
            JsprotoError: why it never did.
        """
        self._watching(Stage.GOING)
        reason_of(self._feed)

    def ended(self) -> EndReason | None:
        """Wait until no further item will come; gives how a feed of stored messages ended.

        While items are at hand it returns at once, since only the caller can take them; it is
        ``None`` then.

        Raises:
            JsprotoError: what the feed ended with.
        """
        self._watching(Stage.ENDED)
        return reason_of(self._feed)

    def unsubscribe(self) -> EndReason | None:
        """Stop, and wait for it: a push subscription that owns its consumer waits until that is
        deleted.

        Raises:
            JetStreamError: the consumer could not be deleted.
            JsprotoError: what else the feed ended with.
        """
        self._tell(StopMode.STOP)
        return self.ended()

    def batches(self) -> Iterator[list[T_co]]:
        """Everything at hand in one list, again and again: fewer steps for each item."""
        client = self._client
        while True:
            with client._alone:
                items = self._all_at_hand()
            if items is ENDED:
                return
            yield items

    def _all_at_hand(self) -> list[T_co] | Ended:
        """What is at hand, as soon as there is something."""
        client = self._client
        if self._kept:
            kept = list(self._kept)
            self._forget_kept()
            return kept
        while (items := client._driver.take_all(self._feed, client._now())) is NEED_DATA:
            client._taking(self._seat)
        self._flush(client._now(), *(() if items is ENDED else items))
        return items

    def _forget_kept(self) -> None:
        self._kept.clear()
        self._take = self._client._connection.take

    def pulls(self) -> tuple[OpenPull, ...]:
        """The requests that are open, oldest first, of a feed that pulls: what each asked for, got
        and is owed, its age and its token.

        None of a feed that does not pull.
        """
        client = self._client
        with client._alone:
            return pulls_of(self._feed, client._now())

    def put(self, item: JsMessage) -> None:
        """Hand something to a feed that takes it: to `AckNext` a message that is done.

        Raises:
            LocalProtocolError: the feed takes no such item, or has ended; nothing was sent.
        """
        client = self._client
        with client._alone:
            while not client._driver.put(self._feed, item, client._now()):
                client._putting(self._seat)
            client._flush(client._now())

    def limit(self, count: int) -> None:
        """Have a core subscription end by itself after ``count`` messages since it was opened:
        unsubscribe after n.

        The server counts too, and a reconnect does not begin anew. What has come already is handed
        out in any case; if that is as much, the feed ends behind it.

        Raises:
            InvalidConfig: less than 1, or more than a limit that stands.
            LocalProtocolError: a feed that is no core subscription.
        """
        client = self._client
        if self._take is _unopened:
            _unopened(self._feed, 0.0)
        with client._alone:
            client._connection.limit(self._feed, count, client._now())
            client._pump()

    def drain(self) -> None:
        """Ask for nothing new: the iterator gives what is there, or still owed, and ends."""
        self._tell(StopMode.DRAIN)

    def stop(self) -> None:
        """Ask for nothing new and end as soon as the server has settled what was asked for."""
        self._tell(StopMode.STOP)

    def close(self) -> None:
        """End it now. What was handed out can still be settled."""
        client = self._client
        client._leave(self.feed)
        if client.closed:
            return
        with client._alone:
            client._feeds.discard(self._feed)
            if self._kept:
                for item in self._kept:
                    client._give_back(item)
                self._forget_kept()
            client._connection.close(self._feed, client._now())
            client._pump()

    def _tell(self, wish: StopMode) -> None:
        client = self._client
        if self._take is _unopened:
            _unopened(self._feed, 0.0)
        with client._alone:
            client._connection.tell(self._feed, wish, client._now())
            client._pump()

    def _watching(self, until: Stage) -> None:
        client = self._client
        with client._alone:
            client._pump()
            while client._driver.watch(self._feed, until):
                if until is Stage.ENDED and self._feed.readable:
                    return
                client._drive()


@final
class Sink(Generic[T_co, ConversationT_co, ItemT_contra]):
    """A conversation that takes items and gives results. Leaving it well drains it, leaving by an
    error closes it.

    ``Sink[PublishResult]`` is enough to write where a function takes one. The second parameter is
    the type of ``window``, the third what `put` takes.
    """

    __slots__ = ("_client", "_rest", "_seat", "_window")

    if not TYPE_CHECKING:
        __class_getitem__ = written

    def __init__(self, client: SyncClient, window: Conversation[T_co]) -> None:
        self._client = client
        self._seat = WaitSlot(client)
        self._rest: deque[T_co] = deque()
        self._window = window

    def __repr__(self) -> str:
        return f"<Sink of {self._window!r}>"

    @property
    def window(self) -> ConversationT_co:
        """The conversation, for what it shows beyond its results."""
        return cast("ConversationT_co", self._window)

    def __enter__(self) -> Self:
        client = self._client
        with client._alone:
            self._seat = client._opened(self._window, client._now())
            client._pump()
        if self.window.ATTENDED:
            client._attend(self.window)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Drain.

        Raises:
            JsprotoError: the first failure among the results that nobody took.
        """
        if kind is not None:
            self.close()
            return
        client = self._client
        try:
            self.drain()
        except BaseException:
            with contextlib.suppress(JsprotoError):  # what ended the drain is what is raised
                self.close()
            raise
        client._leave(self.window)
        with client._alone:
            while (items := client._driver.take_all(self._window, client._now())) is not ENDED and (
                items is not NEED_DATA
            ):
                self._rest.extend(items)
        for failure in filter(None, map(failure_of, self._rest)):
            raise failure

    def put(self, item: ItemT_contra) -> None:
        """Hand in an item, as soon as there is room.

        Raises:
            LocalProtocolError: the conversation takes no such item, or takes no more; nothing was
                sent.
        """
        client = self._client
        gate = client._gate
        if not gate.acquire(AT_ONCE):
            raise BusyConversation(IN_USE)
        try:
            now = client._now()
            while not client._driver.put(self._window, item, now):
                client._putting(self._seat)
                now = client._now()
            client._flush(now)
        except BaseException as error:
            client._judge(error)
            raise
        finally:
            gate.release()

    def results(self) -> Iterator[T_co]:
        """The results so far and to come, until the sink is drained or closed."""
        client = self._client
        while True:
            while self._rest:
                yield self._rest.popleft()
            with client._alone:
                while (items := client._driver.take_all(self._window, client._now())) is NEED_DATA:
                    client._taking(self._seat)
                if items is not ENDED:
                    self._rest.extend(items)  # before anything that an exception can come out of
                client._flush(client._now())
            if items is ENDED:
                return

    def drain(self) -> None:
        """Take no further items, and wait until every one has its result."""
        client = self._client
        with client._alone:
            client._connection.tell(self._window, StopMode.DRAIN, client._now())
            while client._driver.ending(self._window):
                client._putting(self._seat)

    def close(self) -> None:
        """End it now; what has no result yet ends with an unknown outcome."""
        client = self._client
        client._leave(self.window)
        if client.closed:
            return
        with client._alone:
            client._connection.close(self._window, client._now())
            client._pump()


@final
class Events:
    """What happens to a connection, in order: an iterator that ends behind `Closed`."""

    __slots__ = ("_client", "_listener")

    def __init__(self, client: SyncClient, listener: Listener) -> None:
        self._client = client
        self._listener = listener

    def __repr__(self) -> str:
        return f"<Events of {self._client!r}>"

    @property
    def missed(self) -> int:
        """Events that were dropped because nobody took them."""
        return self._listener.missed

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Told:
        client = self._client
        with client._alone:
            while (told := self._listener.take()) is NEED_DATA:
                client._listening(self._listener)
        if told is ENDED:
            self.close()
            raise StopIteration
        return told

    def close(self) -> None:
        """Listen no more."""
        self._client._driver.unlisten(self._listener)
