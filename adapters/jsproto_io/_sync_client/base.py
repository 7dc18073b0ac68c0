"""What a client without ``await`` does in its own way: one caller at a time, who drives the
connection while he waits; and the verbs that run once for each message.

When a verb returns, what it had to send has been given to the kernel, so a caller who computes for
a minute afterwards delays nothing of it. An ack of a quick reader with more messages to read is
given to the kernel with the note that more follows: that saves a packet for each, and the kernel
bounds the delay.

A client is used under a lock that no caller waits for: a second thread, or a signal handler in the
middle of a verb, gets `BusyConversation` and has changed nothing.

An exception out of the wait itself, KeyboardInterrupt above all, leaves everything as it was. One
that hits in the middle of a step may have left half of it undone: then the byte stream is cut
without a word, and every later verb says so.
"""

# ruff: noqa: SLF001 - client and handles are one thing in several modules

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from datetime import timedelta
from types import TracebackType
from typing import Final, Protocol, Self, TypeVar, final, overload

from jsproto.core.connection.server_pool import Server
from jsproto.core.conversation.conversation import Conversation, Stage, StopMode
from jsproto.core.conversation.settleable import Settleable
from jsproto.core.pubsub.request import Flush
from jsproto.driver import ANY_TIME, Listener, Told, WaitSlot
from jsproto.errors import BusyConversation, JsprotoError, OutboundFull
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.signals import ENDED, NEED_DATA, Ended
from jsproto.wire.commands import Publish
from jsproto.wire.headers import HeaderItems
from jsproto_io._client.base import Base
from jsproto_io._client.conversations import headers_of, no_result
from jsproto_io._client.messages import SETTLE_PATIENCE
from jsproto_io._client.options import ConnectOptions
from jsproto_io._sync_client.messages import SyncCoreMessage, SyncMessage
from jsproto_io._sync_client.waits import changed, listening, taking
from jsproto_io._transport.backend import AddrInfo

#: The text of the error for a second caller.
IN_USE: Final = "expected one caller at a time, the client is in use by another thread, or by the verb interrupted here"

#: Argument of `ClientLock.acquire`: do not block. Positional, because a call with a keyword takes
#: twice as long.
NON_BLOCKING: Final = False

T = TypeVar("T")


@final
class Waiter:
    """A flag that the caller who waits looks at after each turn."""

    __slots__ = ("woken",)

    def __init__(self) -> None:
        self.woken = False


class ClientLock(Protocol):
    """What a verb acquires before it touches anything: a lock, or what stands in for one."""

    def acquire(self, blocking: bool, /) -> bool:
        """Whether the caller has it."""
        ...

    def release(self) -> None:
        """The caller is done."""
        ...


@final
class ClosedLock:
    """The lock of a client that was given up: acquiring it raises the reason."""

    __slots__ = ("error",)

    def __init__(self, error: JsprotoError) -> None:
        self.error = error

    def acquire(self, blocking: bool, /) -> bool:
        """Raise the reason."""
        raise self.error

    def release(self) -> None:
        """A caller who was inside when the client was given up releases it."""


@final
class SyncGuard:
    """``with client._guard:`` around every verb that touches the connection."""

    __slots__ = ("_client",)

    def __init__(self, client: SyncBase) -> None:
        self._client = client

    def __enter__(self) -> None:
        if not self._client._gate.acquire(NON_BLOCKING):
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


class SyncBase(Base):
    """A client that waits by driving its connection; `jsproto_io._sync_client.client` has the other
    verbs.
    """

    __slots__ = ("_feeds", "_gate", "_guard", "_look_at", "_now")

    MESSAGE = SyncMessage
    CORE = SyncCoreMessage

    _feeds: set[Conversation[object]]
    _gate: ClientLock
    _guard: SyncGuard
    _look_at: float
    _now: Callable[[], float]

    # ------------------------------------------------------------------ verbs of the hot path

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
        with self._guard:
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
        slot = self._opened(conversation, self._now())
        connection = self._connection
        try:
            while (item := connection.take(conversation, self._now())) is NEED_DATA:
                taking(self, slot)
        finally:
            if conversation.readable or not conversation.finished:
                connection.close(conversation, self._now())
        return item

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
        with self._guard:
            while not self._connection.send(command, self._now()):
                changed(self)
            self._flush(self._now())

    def flush(self, timeout: float | timedelta = 10.0) -> float:
        """Wait until the server has read everything sent so far; gives the round trip in seconds.

        Raises:
            RequestTimeout: no answer in time.
            ConnectionLost: the link was lost meanwhile; what was sent may be lost too.
        """
        return self.run(Flush(timeout))

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
        if not gate.acquire(NON_BLOCKING):
            raise BusyConversation(IN_USE)
        try:
            try:
                settled = self._connection.settle(once, ANY_TIME)
            except OutboundFull:
                settled = self._settled_with_room(once, timeout)
            self._flush(self._now(), more=more)
        except BaseException as error:
            self._judge(error)
            raise
        finally:
            gate.release()
        return settled

    @abstractmethod
    def _settled_with_room(self, once: Settleable, timeout: float | timedelta | None) -> bool:
        """Wait for room, and write it."""

    # ------------------------------------------------------------------ life

    def drain(self) -> None:
        """Ask for nothing new. Feeds give what is there and end, and then the connection closes by
        itself.

        Returns as soon as only the caller can go on, by taking what is there.
        """
        with self._guard:
            self._catch_up()
            self._connection.tell(None, StopMode.DRAIN, self._now())
            self._pump()
            while not self._driver.closed and not any(feed.readable for feed in self._feeds):
                self._drive()

    @abstractmethod
    def close(self) -> None:
        """End everything, wait shortly until the server has read what was sent, and hang up."""

    def _enter(self, conversation: Conversation[T], *, reads: bool) -> None:
        """A feed or sink was opened. If the server breaks it off after a silence, the server hears
        of it from now on while the caller is away.
        """
        if reads:
            self._feeds.add(conversation)
        if conversation.ATTENDED:
            self._attend(conversation)

    def _leave(self, conversation: Conversation[T]) -> None:
        """A feed or sink is over."""

    def _finish(self, conversation: Conversation[T]) -> None:
        """Close a conversation; after the end of the client it is closed already."""
        self._leave(conversation)
        if not self.closed:
            with self._guard:
                self._feeds.discard(conversation)
                self._connection.close(conversation, self._now())
                self._pump()

    # ------------------------------------------------------------------ what an adapter adds

    def _attend(self, conversation: Conversation[T]) -> None:
        """From now until `_leave`, keep a conversation alive while the caller is away."""

    def _run_in_thread(self, work: Callable[[], T]) -> T:
        """Do something that waits for a disk; a blocking client waits with it."""
        return work()

    @abstractmethod
    def _places(self, host: str, port: int, patience: float) -> Sequence[AddrInfo]:
        """The addresses of a name. The caller waits for them at most ``patience`` seconds."""

    @abstractmethod
    def _probe(self, server: Server, options: ConnectOptions) -> Self:
        """A client like this one, for one address."""

    @abstractmethod
    def _flush(self, now: float, *, more: bool = False) -> None:
        """Give what is to be sent to the kernel; now and then read what has come."""

    @abstractmethod
    def _catch_up(self) -> None:
        """Read what has come since the last verb."""

    @abstractmethod
    def _drive(self) -> None:
        """Wait for what comes first, process it, and pump."""

    @abstractmethod
    def _judge(self, error: BaseException) -> None:
        """An exception leaves a verb: give the connection up if it hit in the middle of a step."""

    # ------------------------------------------------------------------ pumping and waiting

    def _wrote(self) -> None:
        """Commands were made: give them to the kernel."""
        self._flush(self._now())

    def _waiter(self) -> Waiter:
        return Waiter()

    def _wake(self, waiter: object) -> None:
        if isinstance(waiter, Waiter):
            waiter.woken = True

    def _until(self, waiter: Waiter) -> None:
        """Drive the connection until the waiter is woken; a pump comes first."""
        self._pump()
        while not waiter.woken:
            self._drive()

    def _watched(self, conversation: Conversation[T], slot: WaitSlot, until: Stage) -> None:
        """Wait until a conversation has come to a stage. The caller alone can take items, so the
        wait for its end stops where there are some.
        """
        with self._guard:
            self._pump()
            while self._driver.watch(conversation, until):
                if until is Stage.ENDED and conversation.readable:
                    return
                self._drive()

    def _next_event(self, listener: Listener) -> Told | Ended:
        """The next event, which is waited for."""
        with self._guard:
            while (told := listener.take()) is NEED_DATA:
                listening(self, listener)
        return told
