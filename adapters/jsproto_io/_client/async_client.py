"""What every adapter with ``await`` has in common: the client's verbs, and the feed, sink and
events that they give.

Theory. An adapter adds one way to wait (`_waiter`, `_woken`), a clock and a transport; everything
else is here, so that asyncio and whoever comes later behave alike.

Whoever waits takes a place, asks for a pump, waits, leaves the place and looks again: *await, then
take*. Nothing is taken before the wait is over, so a cancelled wait loses nothing. What is there
already is taken without any await.

Every verb begins with `_at_home`: it refuses a caller from another event loop, thread or process
before anything is touched, and asks for a pump. Verbs that run once for each message skip it while
this thread has asked for a pump in this turn already, which `_kicked` says. Reading what is at hand
only asks whether anybody has.

Whoever wrote something asks for a pump behind this turn, so that all wishes of one turn leave in
one write. A turn may be long, a run of messages each acked or a window of publishes filled: of such
a one every `MANY` commands leave at once, so that the server has work while we still have, instead
of both waiting for each other.
"""

# ruff: noqa: ASYNC109, SLF001 - the core keeps the time; client, link and handles are one thing in several classes

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import timedelta
from threading import get_ident
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Generic, NoReturn, Self, TypeVar, cast, final, overload

from jsproto.core.callbacks import check_callback, check_result
from jsproto.core.connection.auth import Auth
from jsproto.core.connection.events import Authenticate
from jsproto.core.connection.server_pool import Server
from jsproto.core.conversation.conversation import Conversation, Stage, StopMode
from jsproto.core.conversation.message import Message
from jsproto.core.conversation.settleable import Settleable
from jsproto.core.numbers import seconds
from jsproto.core.pubsub.request import Flush, request
from jsproto.core.pubsub.request_many import RequestMany, Sentinel
from jsproto.core.pubsub.subscription import Overflow, Subscription
from jsproto.driver import ANY_TIME, Listener, Told, WaitSlot, busy, seat_of
from jsproto.errors import ConversationClosed, JsprotoError, LocalProtocolError, OutboundFull
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
    MANY,
    SETTLE_PATIENCE,
    Base,
    alarm,
    answer_of,
    conversation_of,
    failure_of,
    hands_back,
    headers_of,
    no_result,
    not_entered,
    out_of_time,
    pulls_of,
    reason_of,
    refusal_of,
    run_dry,
    unresolved,
    unsettled,
)
from jsproto_io._client.facade_async import AsyncConsumer, AsyncJetStream, AsyncStream
from jsproto_io._client.messages import AsyncCoreMessage, AsyncMessage
from jsproto_io._client.options import AsyncCredentials, ConnectOptions
from jsproto_io._client.signatures import show_settings
from jsproto_io._client.type_parameters import ConversationT_co, ItemT_contra, written
from jsproto_io._transport.backend import AddrInfo

T = TypeVar("T")
FeedT = TypeVar("FeedT", bound=Conversation[JsMessage])
CoreT = TypeVar("CoreT", bound=Conversation[Message])
T_co = TypeVar("T_co", covariant=True)

show_settings(AsyncJetStream, AsyncStream, AsyncConsumer)


class AsyncClient(Base):
    """One connection to one NATS system, and what can be done with it."""

    __slots__ = ("_kicked", "_now", "_thread")

    MESSAGE = AsyncMessage
    CORE = AsyncCoreMessage

    #: The thread that asked for the pump of this turn; 0 if nobody has.
    _kicked: int
    #: The thread that entered the client; 0 before, and when nobody may use it any more.
    _thread: int
    _now: Callable[[], float]
    _credentials: AsyncCredentials

    # ------------------------------------------------------------------ the three verbs

    @overload
    async def run(self, conversation: Conversation[JsMessage]) -> AsyncMessage: ...
    @overload
    async def run(self, conversation: Conversation[T]) -> T: ...
    async def run(self, conversation: Conversation[T]) -> T:
        """Open a conversation, wait for its one result and give it. Cancelling gives the
        conversation up.

        A message that came but was not taken, because the caller was cancelled, goes back to the
        server.

        Raises:
            JsprotoError: what the conversation raises.
            ConversationClosed: it ended without a result, or the connection is closed.
        """
        self._at_home()
        now = self._now
        seat = self._opened(conversation, now())
        connection = self._connection
        try:
            while (item := connection.take(conversation, now())) is NEED_DATA:
                await self._taking(seat)
        finally:
            if conversation.readable or not conversation.finished:
                connection.close(conversation, now())
            self._schedule_flush()
        if item is ENDED:
            raise no_result(conversation)
        return item

    @overload
    def stream(self, feed: FeedT) -> Feed[AsyncMessage, FeedT]: ...
    @overload
    def stream(self, feed: RangeReader) -> Feed[Rows, RangeReader]: ...
    @overload
    def stream(self, feed: Snapshot) -> Feed[bytes, Snapshot]: ...
    @overload
    def stream(self, feed: DirectBatch) -> Feed[StoredMessage, DirectBatch]: ...
    @overload
    def stream(self, feed: Conversation[T]) -> Feed[T]: ...
    def stream(self, feed: Conversation[T]) -> Feed[T]:
        """The items of a feed: ``async with nc.stream(feed) as items`` opens it and closes it at
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
        """A conversation that takes items: ``async with nc.sink(window) as s: await s.put(...)``."""
        return Sink(self, conversation_of(sink))

    # ------------------------------------------------------------------ core NATS

    def _core(self, feed: CoreT) -> Feed[AsyncCoreMessage, CoreT]:
        """The messages of a core feed, which are of this client's colour once it is opened."""
        return cast("Feed[AsyncCoreMessage, CoreT]", Feed(self, feed))

    async def publish(
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
        command = Publish(subject, payload, reply, None if headers is None else headers_of(headers))
        if self._kicked != get_ident():
            self._at_home()
        connection = self._connection
        while not connection.send(command, ANY_TIME):
            await self._changed()
        if not self._kicked or len(connection.outgoing) >= MANY:
            self._wrote()

    def subscribe(
        self,
        subject: str,
        *,
        queue: str = "",
        limit: int = 0,
        max_messages: int = 65_536,
        max_bytes: int = 64 * 1024 * 1024,
        policy: Overflow = Overflow.DROP_NEWEST,
    ) -> Feed[AsyncCoreMessage, Subscription]:
        """Messages on a subject: ``async with nc.subscribe("a.*") as messages: async for msg in
        messages: ...``.

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

    async def request(
        self,
        subject: str,
        payload: bytes | str = b"",
        *,
        headers: HeaderItems | None = None,
        timeout: float | timedelta = 5.0,
    ) -> AsyncCoreMessage:
        """Ask on a subject and wait at most ``timeout`` seconds for one answer.

        Raises:
            NoResponders: nobody listens there.
            RequestTimeout: no answer in time.
            ConnectionLost: the link was lost meanwhile.
        """
        answer = await self.run(
            request(subject, payload, headers=headers_of(headers), timeout=timeout)
        )
        return AsyncCoreMessage(answer.frame, self)

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
    ) -> Feed[AsyncCoreMessage, RequestMany]:
        """Ask on a subject and take what many answer: ``async with nc.request_many("who") as
        answers: async for msg in answers: ...``.

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

    async def flush(self, timeout: float | timedelta = 10.0) -> float:
        """Wait until the server has read everything sent so far; gives the round trip in seconds.

        Raises:
            RequestTimeout: no answer in time.
            ConnectionLost: the link was lost meanwhile; what was sent may be lost too.
        """
        # Some loops, as uvloop, read their clock once a turn, in milliseconds. A model server has
        # the loop's time, which is exact there; and without a link the time until there is one is
        # no part of the round trip.
        exact = self._network is not None or not self.connected
        begun = perf_counter()
        seen = await self.run(Flush(timeout))
        return seen if exact else perf_counter() - begun

    async def rtt(self, timeout: float | timedelta = 10.0) -> float:
        """The round trip to the server in seconds."""
        return await self.flush(timeout)

    async def rtts(self, timeout: float | timedelta = 2.0) -> dict[str, float | JsprotoError]:
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
        self._at_home()
        found: dict[str, float | JsprotoError] = {}
        for server in self._connection.servers:
            try:
                places = (
                    () if self._named() else await self._places(server.host, server.port, within)
                )
            except (OSError, ValueError) as error:  # ValueError: a host name that no resolver takes
                found[str(server)] = unresolved(server, error)
                continue
            for each in self._probed(server, places):
                try:
                    async with self._probe(each, self._words_of_a_probe(within)) as nc:
                        found[str(each)] = await nc.rtt(within)
                except JsprotoError as error:
                    found[str(each)] = error
        return found

    def jetstream(
        self,
        *,
        domain: str | None = None,
        prefix: str | None = None,
        timeout: float | timedelta | None = None,
    ) -> AsyncJetStream:
        """JetStream as the option ``jetstream`` says, of another domain, or behind another API
        prefix.

        Args:
            domain: name of another domain.
            prefix: the whole API prefix instead, for an imported API.
            timeout: seconds that a request waits unless it says otherwise; 5 if nobody says
                anything.
        """
        return AsyncJetStream(self, self._js(domain, prefix, timeout))

    # ------------------------------------------------------------------ life

    @abstractmethod
    async def __aenter__(self) -> Self:
        """Connect."""

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def events(self) -> Events:
        """What happens to the connection from now on, as an async iterator that ends behind
        `Closed`.
        """
        self._at_home()
        return Events(self, self._driver.listen())

    async def reconnect(self, server: str | Server | None = None) -> None:
        """Leave this server and dial again; what is open goes on by itself.

        Args:
            server: the one to be dialled next, a URL or one that is known from events or gossip;
                without it, whoever's turn it is.

        Raises:
            InvalidConfig: it is not known; nothing was done.
        """
        self._at_home()
        self._connection.reconnect(self._now(), server=server)
        self._pump()

    async def drain(self) -> None:
        """Ask for nothing new, let readers take what is there, then close; at most
        ``drain_timeout`` seconds.
        """
        self._at_home()
        self._connection.tell(None, StopMode.DRAIN, self._now())
        while not self._driver.closed:
            await self._changed()
        await self.close()

    @abstractmethod
    async def close(self) -> None:
        """End everything, wait shortly until the server has read what was sent, and hang up."""

    # ------------------------------------------------------------------ settling

    async def settle(
        self, once: Settleable, timeout: float | timedelta | None = SETTLE_PATIENCE
    ) -> bool:
        """Write what may be written once, as soon as there is room; ``False`` if it may not be
        written any more.

        Args:
            once: a message for its plain ack, or a settlement of one.
            timeout: seconds to wait for room, which without a link is that of the backlog; ``None``
                for as long as it takes.

        Raises:
            OutboundFull: there was no room in time; what it settles is open as before.
            ConversationClosed: the connection is closed.
            LocalProtocolError: it is nothing that can be settled.
        """
        self._at_home()
        clock = None
        try:
            while True:
                try:
                    done = self._connection.settle(once, ANY_TIME)
                except OutboundFull:
                    if clock is None and timeout is not None:
                        clock = alarm(timeout)
                        self._opened(clock, self._now())
                    if clock is None:
                        await self._changed()
                    elif self._connection.take(clock, self._now()) is NEED_DATA:
                        await self._changed(seat_of(clock))
                    else:
                        raise
                else:
                    self._wrote()
                    return done
        finally:
            if clock is not None and not clock.ended:
                self._connection.close(clock, self._now())

    # ------------------------------------------------------------------ credentials

    async def _authenticated(self, order: Authenticate, wanted: Callable[[], bool]) -> None:
        """Find credentials and hand them over, if the handshake that asked is still ``wanted``
        then.
        """
        failure: JsprotoError | None = None
        auth = Auth()
        try:
            given = self._credentials(order.server, order.nonce)
            auth = answer_of(order, await given if inspect.isawaitable(given) else given)
        except Exception as error:  # noqa: BLE001 - whatever the user's function raises is why there are none
            failure = refusal_of(order, error)
        if not wanted():
            return  # too late: that handshake is over
        if failure is None:
            self._connection.authenticate(auth, self._now())
        else:
            self._connection.authentication_failed(failure, self._now())
        self._pump()

    # ------------------------------------------------------------------ disks

    @abstractmethod
    async def _run_in_thread(self, work: Callable[[], T]) -> T:
        """Do something that waits for a disk, in a thread, to its end."""

    # ------------------------------------------------------------------ probing

    @abstractmethod
    async def _places(self, host: str, port: int, patience: float) -> Sequence[AddrInfo]:
        """The addresses of a name, which are waited for at most so many seconds."""

    @abstractmethod
    def _probe(self, server: Server, options: ConnectOptions) -> Self:
        """A client like this one, for one address."""

    # ------------------------------------------------------------------ who may use it

    def _at_home(self) -> None:
        """Refuse a caller who may not use the connection, before anything is touched; then pump
        behind this turn.

        Raises:
            ConversationClosed: the client was not entered, or is closed and its event loop gone.
            ConnectionClosed: another process has the connection, or the event loop was closed under
                it.
            LocalProtocolError: another event loop or thread has the client.
        """
        if get_ident() != self._thread or self._away():
            self._refuse()
        self._schedule_flush()

    def _away(self) -> bool:
        """Whether another event loop than the client's runs in this thread, or none."""
        return False

    def _gone(self) -> bool:
        """Whether nothing is left to close, or nothing that could be closed from here."""
        return self._barred is not None or (
            self.closed and (get_ident() != self._thread or self._away())
        )

    def _refuse(self) -> NoReturn:
        """Say whose client it is, and what to do instead."""
        if self._barred is not None:
            raise self._barred.with_traceback(None)
        if not self._begun:
            raise not_entered()
        if self._driver.closed:
            raise ConversationClosed("expected an open connection, this one is closed")
        whose = "this event loop" if get_ident() == self._thread else "this thread"
        raise LocalProtocolError(
            f"expected a client that was entered in {whose}, another one has it: connect anew here, hand the work to"
            " the event loop that has it, or use jsproto_io.blocking where each call has an event loop of its own"
        )

    def _begin(self, now: float) -> None:
        super()._begin(now)
        self._thread = get_ident()

    def _bar(self, error: JsprotoError) -> None:
        self._thread = self._kicked = 0
        super()._bar(error)

    # ------------------------------------------------------------------ waiting

    @abstractmethod
    def _schedule_flush(self) -> None:
        """Pump soon, once for all wishes of this turn."""

    def _wrote(self) -> None:
        """Commands were made: they leave behind this turn, or now if they are many."""
        if len(self._connection.outgoing) >= MANY:
            self._pump()
        else:
            self._schedule_flush()

    @abstractmethod
    def _waiter(self) -> object:
        """A fresh waiter."""

    @abstractmethod
    def _woken(self, waiter: object) -> Awaitable[object]:
        """Wait until it is woken."""

    async def _taking(self, seat: WaitSlot) -> None:
        """Wait until there may be an item."""
        if self._kicked != get_ident():
            self._at_home()
        waiter = seat.taker = self._waiter()
        try:
            await self._woken(waiter)
        finally:
            seat.taker = None

    async def _racing(self, seat: WaitSlot, clock: WaitSlot) -> None:
        """Wait until there may be an item, or time is up."""
        if self._kicked != get_ident():
            self._at_home()
        waiter = seat.taker = clock.taker = self._waiter()
        try:
            await self._woken(waiter)
        finally:
            seat.taker = clock.taker = None

    async def _watching(self, seat: WaitSlot) -> None:
        """Wait until a conversation may have come further."""
        if self._kicked != get_ident():
            self._at_home()
        waiter = self._waiter()
        seat.watchers += (waiter,)
        try:
            await self._woken(waiter)
        finally:
            seat.watchers = tuple(each for each in seat.watchers if each is not waiter)

    async def _putting(self, seat: WaitSlot) -> None:
        """Wait until there may be room."""
        if self._kicked != get_ident():
            self._at_home()
        waiter = seat.putter = self._waiter()
        try:
            await self._woken(waiter)
        finally:
            seat.putter = None

    async def _listening(self, listener: Listener) -> None:
        """Wait until there may be something to hear."""
        if self._kicked != get_ident():
            self._at_home()
        waiter = listener.waiter = self._waiter()
        try:
            await self._woken(waiter)
        finally:
            listener.waiter = None

    async def _changed(self, clock: WaitSlot | None = None) -> None:
        """Wait until something changes for the connection as a whole, or time is up."""
        if self._kicked != get_ident():
            self._at_home()
        waiter = self._waiter()
        self._driver.wait(waiter)
        if clock is not None:
            clock.taker = waiter
        try:
            await self._woken(waiter)
        finally:
            self._driver.leave(waiter)
            if clock is not None:
                clock.taker = None


def _unopened(conversation: Conversation[T], _now: float) -> NoReturn:
    raise ConversationClosed(
        f"expected {type(conversation).__name__} to be opened first: enter it with an async with statement"
    )


def _unopened_sink(conversation: Conversation[T], _item: object, now: float) -> bool:
    return _unopened(conversation, now)


@final
class Feed(Generic[T_co, ConversationT_co]):
    """The items of one feed. Entering opens the feed, leaving closes it; in between it is an async
    iterator.

    ``Feed[AsyncMessage]`` is enough to write where a function takes one; ``Feed[AsyncMessage,
    Consume[JsMessage]]`` is what ``consumer.consume()`` gives: the second parameter is the type of
    ``feed``.
    """

    __slots__ = ("_client", "_feed", "_seat", "_take")

    if not TYPE_CHECKING:
        __class_getitem__ = written

    def __init__(self, client: AsyncClient, feed: Conversation[T_co]) -> None:
        self._client = client
        self._seat: WaitSlot = WaitSlot(client)
        self._take: Callable[[Conversation[T_co], float], T_co | NeedData | Ended] = _unopened
        self._feed = feed

    def __repr__(self) -> str:
        return f"<Feed of {self._feed!r}>"

    @property
    def feed(self) -> ConversationT_co:
        """The conversation, for what it shows beyond its items."""
        return cast("ConversationT_co", self._feed)

    async def __aenter__(self) -> Self:
        client = self._client
        client._at_home()
        self._seat = client._opened(self._feed, client._now())
        self._take = client._connection.take
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T_co:
        seat = self._seat
        if seat.taker is not None:
            raise busy("take", self._feed)
        client = self._client
        if not client._kicked:
            client._at_home()  # the pump comes after this step: it sees what taking does
        while (item := self._take(self._feed, client._now())) is NEED_DATA:
            await client._taking(seat)
        if item is ENDED:
            raise StopAsyncIteration
        return item

    async def next(self, timeout: float | timedelta | None = 5.0) -> T_co:
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
        seat = self._seat
        if seat.taker is not None:
            raise busy("take", self._feed)
        client = self._client
        clock = None
        client._at_home()
        try:
            while (item := self._take(self._feed, client._now())) is NEED_DATA:
                if within is None:
                    await client._taking(seat)
                    continue
                if clock is None:
                    clock = alarm(within)
                    client._opened(clock, client._now())
                if client._connection.take(clock, client._now()) is not NEED_DATA:
                    raise out_of_time(self._feed, within)
                await client._racing(seat, seat_of(clock))
        finally:
            if clock is not None and not clock.ended:
                client._connection.close(clock, client._now())
        if item is ENDED:
            raise run_dry(self._feed)
        return item

    async def each(
        self, handler: Callable[[T_co], object], *, manual_ack: bool = False
    ) -> EndReason | None:
        """Give each item to a handler, until the feed ends; then say why it did.

        A feed that was not entered is opened for it and closed afterwards. The handler is a
        function or a coroutine function, and is waited for before the next item; any other result
        is ignored. It ends this with ``stop``, ``drain`` or ``close`` of this feed: those and
        whatever else ends a feed make ``each`` return.

        Args:
            handler: is given one item at a time.
            manual_ack: leave acknowledging to the handler. Else a message is acknowledged when the
                handler comes back and has not settled it; of `AckNext` it is handed back, and the
                next one asked for.

        Returns:
            How a feed of stored messages ended; ``None`` for other feeds.

        Raises:
            InvalidConfig: the handler is a function with ``yield``, whose body nobody would run.
            JsprotoError: what the feed ended with.
            Exception: whatever the handler raises. The message is not acknowledged then.
        """
        check_callback(handler, "handler", awaits=True)
        if self._take is _unopened:
            async with self:
                return await self.each(handler, manual_ack=manual_ack)
        async for item in self:
            doing = handler(item)
            if inspect.isawaitable(doing):
                await doing
            elif doing is not None:
                check_result(doing, "the handler")
            if manual_ack:
                continue
            if hands_back(self._feed):
                await self.put(cast("JsMessage", item))
            elif unsettled(item):
                await self._client.settle(cast("JsMessage", item), None)
        return reason_of(self._feed)

    async def ready(self) -> None:
        """Wait until the feed has begun: a push subscription is bound, an ordered consumer is
        there. Others begin at once.

        Raises:
            JsprotoError: why it never did.
        """
        await self._watching(Stage.GOING)
        reason_of(self._feed)

    async def ended(self) -> EndReason | None:
        """Wait until no further item will come; gives how a feed of stored messages ended.

        What is at hand can still be taken, and after a ``drain`` somebody has to.

        Raises:
            JsprotoError: what the feed ended with.
        """
        await self._watching(Stage.ENDED)
        return reason_of(self._feed)

    async def unsubscribe(self) -> EndReason | None:
        """Stop, and wait for it: a push subscription that owns its consumer waits until that is
        deleted.

        Raises:
            JetStreamError: the consumer could not be deleted.
            JsprotoError: what else the feed ended with.
        """
        self._tell(StopMode.STOP)
        return await self.ended()

    async def batches(self) -> AsyncIterator[list[T_co]]:
        """Everything at hand in one list, again and again: fewer steps for each item."""
        client = self._client
        while True:
            client._at_home()
            items = client._driver.take_all(self._feed, client._now())
            if items is ENDED:
                return
            if items is NEED_DATA:
                await client._taking(self._seat)
            else:
                yield items

    def pulls(self) -> tuple[OpenPull, ...]:
        """The requests that are open, oldest first, of a feed that pulls: what each asked for, got
        and is owed, its age and its token.

        None of a feed that does not pull.
        """
        self._client._at_home()
        return pulls_of(self._feed, self._client._now())

    async def put(self, item: JsMessage) -> None:
        """Hand something to a feed that takes it: to `AckNext` a message that is done.

        Raises:
            LocalProtocolError: the feed takes no such item, or has ended; nothing was sent.
        """
        client = self._client
        client._at_home()
        while not client._driver.put(self._feed, item, client._now()):
            await client._putting(self._seat)
        client._wrote()

    async def limit(self, count: int) -> None:
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
        client._at_home()
        client._connection.limit(self._feed, count, client._now())

    async def drain(self) -> None:
        """Ask for nothing new: the iterator gives what is there, or still owed, and ends."""
        self._tell(StopMode.DRAIN)

    async def stop(self) -> None:
        """Ask for nothing new and end as soon as the server has settled what was asked for."""
        self._tell(StopMode.STOP)

    async def close(self) -> None:
        """End it now. What was handed out can still be settled."""
        client = self._client
        if client._gone():
            return
        client._at_home()
        client._connection.close(self._feed, client._now())

    def _tell(self, wish: StopMode) -> None:
        client = self._client
        if self._take is _unopened:
            _unopened(self._feed, 0.0)
        client._at_home()
        client._connection.tell(self._feed, wish, client._now())

    async def _watching(self, until: Stage) -> None:
        client = self._client
        client._at_home()
        while client._driver.watch(self._feed, until):
            await client._watching(self._seat)


@final
class Sink(Generic[T_co, ConversationT_co, ItemT_contra]):
    """A conversation that takes items and gives results. Leaving it well drains it, leaving by an
    error closes it.

    ``Sink[PublishResult]`` is enough to write where a function takes one. The second parameter is
    the type of ``window``, the third what `put` takes.
    """

    __slots__ = ("_client", "_put", "_rest", "_seat", "_window")

    if not TYPE_CHECKING:
        __class_getitem__ = written

    def __init__(self, client: AsyncClient, window: Conversation[T_co]) -> None:
        self._client = client
        self._seat: WaitSlot = WaitSlot(client)
        self._put: Callable[[Conversation[T_co], object, float], bool] = _unopened_sink
        self._rest: deque[T_co] = deque()
        self._window = window

    def __repr__(self) -> str:
        return f"<Sink of {self._window!r}>"

    @property
    def window(self) -> ConversationT_co:
        """The conversation, for what it shows beyond its results."""
        return cast("ConversationT_co", self._window)

    async def __aenter__(self) -> Self:
        client = self._client
        client._at_home()
        self._seat = client._opened(self._window, client._now())
        self._put = client._connection.put
        return self

    async def __aexit__(
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
            await self.close()
            return
        try:
            await self.drain()
        except BaseException:
            await self.close()  # no wait in it: whoever is cancelled while draining has given it up
            raise
        client = self._client
        while (
            items := client._driver.take_all(self._window, client._now())
        ) is not ENDED and items is not NEED_DATA:
            self._rest.extend(items)
        for failure in filter(None, map(failure_of, self._rest)):
            raise failure

    async def put(self, item: ItemT_contra) -> None:
        """Hand in an item, as soon as there is room.

        Raises:
            LocalProtocolError: the conversation takes no such item, or takes no more; nothing was
                sent.
        """
        client = self._client
        seat = self._seat
        if seat.putter is not None:
            raise busy("put", self._window)
        if client._kicked != get_ident():
            client._at_home()
        while not self._put(self._window, item, client._now()):
            await client._putting(seat)
        if not client._kicked or len(client._connection.outgoing) >= MANY:
            client._wrote()

    async def results(self) -> AsyncIterator[T_co]:
        """The results so far and to come, until the sink is drained or closed."""
        client = self._client
        while True:
            while self._rest:
                yield self._rest.popleft()
            client._at_home()
            item = client._driver.take(self._window, client._now())
            if item is ENDED:
                return
            if item is NEED_DATA:
                await client._taking(self._seat)
            else:
                yield item

    async def drain(self) -> None:
        """Take no further items, and wait until every one has its result."""
        client = self._client
        client._at_home()
        client._connection.tell(self._window, StopMode.DRAIN, client._now())
        while client._driver.ending(self._window):
            await client._putting(self._seat)

    async def close(self) -> None:
        """End it now; what has no result yet ends with an unknown outcome."""
        client = self._client
        if client._gone():
            return
        client._at_home()
        client._connection.close(self._window, client._now())


@final
class Events:
    """What happens to a connection, in order: an async iterator that ends behind `Closed`."""

    __slots__ = ("_client", "_listener")

    def __init__(self, client: AsyncClient, listener: Listener) -> None:
        self._client = client
        self._listener = listener

    def __repr__(self) -> str:
        return f"<Events of {self._client!r}>"

    @property
    def missed(self) -> int:
        """Events that were dropped because nobody took them."""
        return self._listener.missed

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Told:
        while (told := self._listener.take()) is NEED_DATA:
            await self._client._listening(self._listener)
        if told is ENDED:
            self.close()
            raise StopAsyncIteration
        return told

    def close(self) -> None:
        """Listen no more."""
        self._client._driver.unlisten(self._listener)
