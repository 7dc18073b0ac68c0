"""What a client with ``await`` does in its own way: it refuses strangers, it pumps once for all
commands of a turn of the loop, and it has the verbs that run once for each message.

Every verb begins with `_at_home`: it refuses a caller from another event loop, thread or process
before anything is touched, and asks for a pump. Verbs that run once for each message skip it while
this thread has asked for a pump in this turn already; `_kicked` holds that thread.

The pump runs after the current turn, so that all commands of one turn leave in one write. A turn
may be long: a run of messages that are each acked, or a window of publishes that is filled. Then
every `MANY` commands leave at once, so that the server works while the client still has work.
"""

# ruff: noqa: ASYNC109, SLF001 - the core keeps the time; client and handles are one thing in several modules

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from threading import get_ident
from time import perf_counter
from types import TracebackType
from typing import NoReturn, Self, TypeVar, final, overload

from jsproto.core.connection.auth import Auth
from jsproto.core.connection.events import Authenticate
from jsproto.core.connection.server_pool import Server
from jsproto.core.conversation.conversation import Conversation, Stage, StopMode
from jsproto.core.conversation.settleable import Settleable
from jsproto.core.pubsub.request import Flush
from jsproto.driver import ANY_TIME, Listener, Told, WaitSlot
from jsproto.errors import (
    ConversationClosed,
    JsprotoError,
    LocalProtocolError,
    OutboundFull,
)
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.signals import ENDED, NEED_DATA, Ended
from jsproto.wire.commands import Publish
from jsproto.wire.headers import HeaderItems
from jsproto_io._async_client.messages import AsyncCoreMessage, AsyncMessage
from jsproto_io._async_client.waits import changed, listening, taking
from jsproto_io._client.base import Base, not_entered
from jsproto_io._client.conversations import headers_of, no_result
from jsproto_io._client.handshake import credentials_or_error
from jsproto_io._client.messages import MANY, SETTLE_PATIENCE
from jsproto_io._client.options import AsyncCredentials, ConnectOptions, Servers
from jsproto_io._transport.backend import AddrInfo

T = TypeVar("T")


@final
class AsyncGuard:
    """``with client._guard:`` around every verb that touches the connection."""

    __slots__ = ("_client",)

    def __init__(self, client: AsyncBase) -> None:
        self._client = client

    def __enter__(self) -> None:
        self._client._at_home()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing: other tasks may use the client meanwhile."""


@final
class StreamInlet:
    """Where the byte streams of a client put what they have; see
    `jsproto_io._transport.inlet.Inlet`.
    """

    __slots__ = ("_client",)

    def __init__(self, client: AsyncBase) -> None:
        self._client = client

    def up(self) -> None:
        """The stream is open."""
        client = self._client
        client._layers.opened(client._now())
        client._pump()

    def data(self, data: bytes) -> None:
        """These bytes came. The tasks that they wake run first, so that what the client has to send
        and what those tasks send are one write.
        """
        client = self._client
        top = client._layers.top
        if top is None:
            client._connection.receive_data(data, client._now())
        else:
            client._layers.received(top, data, client._now())
        driver = client._driver
        driver.collect()
        if driver.woken and not driver.orders:
            client._wake_all()
            client._schedule_flush()
        else:
            client._pump()

    def unsent(self, count: int) -> None:
        """The kernel has not yet taken ``count`` bytes."""
        self._client._connection.transport_unsent(count, self._client._now())

    def room(self, count: int) -> None:
        """The same, and the client sends what it can send now."""
        self.unsent(count)
        self._client._pump()

    def lost(self, error: Exception | None) -> None:
        """The stream is gone, or could not be opened."""
        self._client._lost(error)
        self._client._pump()


class AsyncBase(Base):
    """A client that waits with ``await``; `jsproto_io._async_client.client` has the other verbs."""

    __slots__ = ("_guard", "_inlet", "_kicked", "_now", "_thread")

    MESSAGE = AsyncMessage
    CORE = AsyncCoreMessage

    _credentials: AsyncCredentials

    def __init__(self, servers: Servers, options: ConnectOptions, *, ask: bool) -> None:
        super().__init__(servers, options, ask=ask)
        self._guard = AsyncGuard(self)
        self._inlet = StreamInlet(self)
        #: The thread that asked for the pump of this turn; 0 if none has.
        self._kicked = 0
        #: The thread that entered the client; 0 before, and when no caller may use it any more.
        self._thread = 0

    # ------------------------------------------------------------------ verbs of the hot path

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
        slot = self._opened(conversation, now())
        connection = self._connection
        try:
            while (item := connection.take(conversation, now())) is NEED_DATA:
                await taking(self, slot)
        finally:
            if conversation.readable or not conversation.finished:
                connection.close(conversation, now())
            self._schedule_flush()
        if item is ENDED:
            raise no_result(conversation)
        return item

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
            await changed(self)
        if not self._kicked or len(connection.outgoing) >= MANY:
            self._wrote()

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
        try:
            done = self._connection.settle(once, ANY_TIME)
        except OutboundFull:
            done = await self._settled_with_room(once, timeout)
        self._wrote()
        return done

    @abstractmethod
    async def _settled_with_room(self, once: Settleable, timeout: float | timedelta | None) -> bool:
        """Wait for room, and write it."""

    # ------------------------------------------------------------------ life

    async def drain(self) -> None:
        """Ask for nothing new, let readers take what is there, then close; at most
        ``drain_timeout`` seconds.
        """
        self._at_home()
        self._connection.tell(None, StopMode.DRAIN, self._now())
        while not self._driver.closed:
            await changed(self)
        await self.close()

    @abstractmethod
    async def close(self) -> None:
        """End everything, wait shortly until the server has read what was sent, and hang up."""

    def _enter(self, conversation: Conversation[T], *, reads: bool) -> None:
        """A feed or sink was opened. The event loop serves it without more ado."""

    def _leave(self, conversation: Conversation[T]) -> None:
        """A feed or sink is over."""

    def _finish(self, conversation: Conversation[T]) -> None:
        """Close a conversation; after the end of the client it is closed already."""
        if not self._gone():
            self._at_home()
            self._connection.close(conversation, self._now())

    # ------------------------------------------------------------------ credentials

    async def _authenticated(self, order: Authenticate, wanted: Callable[[], bool]) -> None:
        """Find credentials and hand them over, if the handshake that asked is still ``wanted``
        then.
        """
        given = await credentials_or_error(order, self._credentials)
        if not wanted():
            return  # too late: that handshake is over
        if isinstance(given, Auth):
            self._connection.authenticate(given, self._now())
        else:
            self._connection.authentication_failed(given, self._now())
        self._pump()

    # ------------------------------------------------------------------ what an adapter adds

    @abstractmethod
    async def _run_in_thread(self, work: Callable[[], T]) -> T:
        """Do something that waits for a disk, in a thread, to its end."""

    @abstractmethod
    async def _places(self, host: str, port: int, patience: float) -> Sequence[AddrInfo]:
        """The addresses of a name. The client waits for them at most ``patience`` seconds."""

    @abstractmethod
    def _probe(self, server: Server, options: ConnectOptions) -> Self:
        """A client like this one, for one address."""

    @abstractmethod
    def _schedule_flush(self) -> None:
        """Pump soon, once for all commands of this turn."""

    @abstractmethod
    def _waiter(self) -> object:
        """A fresh waiter."""

    @abstractmethod
    def _woken(self, waiter: object) -> Awaitable[object]:
        """Wait until it is woken."""

    def _away(self) -> bool:
        """Whether another event loop than the client's runs in this thread, or none."""
        return False

    # ------------------------------------------------------------------ who may use it

    def _at_home(self) -> None:
        """Refuse a caller who may not use the connection, before anything is touched; then pump
        after this turn.

        Raises:
            ConversationClosed: the client was not entered, or is closed and its event loop gone.
            ConnectionClosed: another process has the connection, or the event loop was closed under
                it.
            LocalProtocolError: another event loop or thread has the client.
        """
        if get_ident() != self._thread or self._away():
            self._refuse()
        self._schedule_flush()

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

    # ------------------------------------------------------------------ pumping and waiting

    def _pump(self) -> None:
        self._kicked = 0
        if self._barred is None:
            super()._pump()

    def _catch_up(self) -> None:
        """Nothing: the event loop reads all the time."""

    def _wrote(self) -> None:
        """Commands were made: they leave after this turn, or now if they are many."""
        if len(self._connection.outgoing) >= MANY:
            self._pump()
        else:
            self._schedule_flush()

    def _until(self, waiter: object) -> Awaitable[object]:
        """Wait until it is woken; a pump comes first."""
        if self._kicked != get_ident():
            self._at_home()
        return self._woken(waiter)

    async def _watched(self, conversation: Conversation[T], slot: WaitSlot, until: Stage) -> None:
        """Wait until a conversation has come to a stage."""
        self._at_home()
        while self._driver.watch(conversation, until):
            waiter = self._waiter()
            slot.watchers += (waiter,)
            try:
                await self._until(waiter)
            finally:
                slot.watchers = tuple(each for each in slot.watchers if each is not waiter)

    async def _next_event(self, listener: Listener) -> Told | Ended:
        """The next event, which is waited for."""
        while (told := listener.take()) is NEED_DATA:
            await listening(self, listener)
        return told
