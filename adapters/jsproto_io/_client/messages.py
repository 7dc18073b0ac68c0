"""Messages of a consumer that can settle themselves, in both colours.

A message knows the feed that it came through, the feed's context is the `jsproto.driver.WaitSlot`
that its client made, and the seat knows the client. That chain of attributes is all that an ack
costs beside the ack itself, and it holds after the feed is closed: what was handed out can still be
settled.

Nothing is decided here: what is written, and whether it may still be written, is said by
`jsproto.jetstream.delivery.message`.
"""

# ruff: noqa: SLF001 - message and client are one thing in several classes

from __future__ import annotations

from datetime import timedelta
from threading import get_ident
from typing import Final, Protocol, TypeVar, cast

from jsproto.core.connection.connection import Connection
from jsproto.core.conversation.conversation import Conversation
from jsproto.core.conversation.procedure import Procedure
from jsproto.core.conversation.settleable import Settleable
from jsproto.driver import ANY_TIME
from jsproto.errors import OutboundFull
from jsproto.jetstream.delivery.ack import ACK, InProgress, Nak, Term, Verb
from jsproto.jetstream.delivery.message import JsMessage, Settlement, confirmed
from jsproto.wire.frames import Info
from jsproto.wire.headers import HeaderItems
from jsproto_io._client.base import MANY, CoreMessage

T = TypeVar("T")

#: Values, so one serves all messages.
_NAK: Final = Nak()
_TERM: Final = Term()
_IN_PROGRESS: Final = InProgress()


def _known(verb: Verb, info: Info) -> Verb:
    """As this server understands it."""
    return verb.known_to(info.version) if isinstance(verb, Term) and verb.reason else verb


class AsyncSettler(Protocol):
    """The client of a message: what it needs to settle it. The plain ack is once per message, so it
    goes straight.
    """

    _connection: Connection
    _kicked: int

    @property
    def info(self) -> Info:
        """The newest INFO of the server."""
        ...

    def _at_home(self) -> None:
        """Refuse a caller who may not use the connection."""
        ...

    def _wrote(self) -> None:
        """Have it leave soon."""
        ...

    async def settle(self, once: Settleable) -> bool:
        """Wait for room and write it."""
        ...

    async def run(self, conversation: Conversation[T]) -> T:
        """Wait for the one result."""
        ...


class SyncSettler(Protocol):
    """The client of a message: what it needs to settle it."""

    @property
    def info(self) -> Info:
        """The newest INFO of the server."""
        ...

    def settle(self, once: Settleable, *, more: bool = False) -> bool:
        """Write it, as soon as there is room."""
        ...

    def run(self, conversation: Conversation[T]) -> T:
        """Wait for the one result."""
        ...


class AsyncResponder(Protocol):
    """The client of a core message: what it needs to answer it."""

    async def publish(
        self,
        subject: str,
        payload: bytes | str = b"",
        *,
        reply: str = "",
        headers: HeaderItems | None = None,
    ) -> None:
        """Publish a message."""
        ...


class SyncResponder(Protocol):
    """The client of a core message: what it needs to answer it."""

    def publish(
        self,
        subject: str,
        payload: bytes | str = b"",
        *,
        reply: str = "",
        headers: HeaderItems | None = None,
    ) -> None:
        """Publish a message."""
        ...


class _AsyncSeat(Protocol):
    client: AsyncSettler


class _AsyncOpened(Protocol):
    context: _AsyncSeat


class _SyncSeat(Protocol):
    client: SyncSettler


class _SyncOpened(Protocol):
    context: _SyncSeat

    @property
    def readable(self) -> int: ...


class AsyncCoreMessage(CoreMessage):
    """A message of a core subscription, or the answer to a request, that is answered with
    ``await``.
    """

    __slots__ = ()

    async def respond(
        self, payload: bytes | str = b"", *, headers: HeaderItems | None = None
    ) -> None:
        """Publish an answer to the reply subject of this message.

        Args:
            payload: the answer; text goes out as UTF-8.
            headers: its headers.

        Raises:
            InvalidSubject: the message has no reply subject, so nobody waits for an answer; or it
                has one that nobody can publish to.
            InvalidHeader, PayloadTooLarge: nothing was sent.
            ConversationClosed: the connection is closed.
        """
        await cast("AsyncResponder", self._client).publish(
            self._answered(), payload, headers=headers
        )


class AsyncMessage(JsMessage):
    """A delivery that is settled with ``await``.

    Each verb is ``True`` if it was written, ``False`` if the message is settled already, needs no
    acknowledgement or came without a reply subject; nothing is sent then. If the server refuses
    what was written (permissions), `state` is open again as soon as it says so, and a feed that is
    still open tells it as a notice.
    """

    __slots__ = ()

    # Narrower than in the base: only feeds that a client has opened make these.
    feed: _AsyncOpened  # pyright: ignore[reportIncompatibleVariableOverride] - read-only by agreement

    async def ack(self) -> bool:
        """The message is done.

        Raises:
            ConversationClosed: the connection is closed.
        """
        client = self.feed.context.client
        if client._kicked != get_ident():
            client._at_home()
        connection = client._connection
        try:
            done = connection.settle(self, ANY_TIME)
        except OutboundFull:
            return await client.settle(self)
        if len(connection.outgoing) >= MANY:
            client._wrote()
        return done

    async def nak(self, delay: float | timedelta | None = None) -> bool:
        """The message shall come again, at once or after ``delay`` (seconds or a ``timedelta``)."""
        return await self.feed.context.client.settle(
            Settlement(self, _NAK if delay is None else Nak(delay))
        )

    async def term(self, reason: str = "") -> bool:
        """The message shall never come again; ``reason`` shows up in the server's advisory (2.10;
        left out for older ones).
        """
        client = self.feed.context.client
        verb = _known(Term(reason) if reason else _TERM, client.info)
        return await client.settle(Settlement(self, verb))

    async def in_progress(self) -> bool:
        """The message is being worked on: its ``ack_wait`` starts anew."""
        return await self.feed.context.client.settle(Settlement(self, _IN_PROGRESS))

    async def ack_confirmed(self, verb: Verb = ACK, *, timeout: float | timedelta = 5.0) -> bool:  # noqa: ASYNC109 - kept by the core
        """Settle the message and wait until the server says that it has (the double ack).

        With `InProgress` it stays open, and the answer says that the consumer has heard it.

        Raises:
            RequestTimeout: no answer within ``timeout`` seconds; the message is open again.
            NoResponders: the consumer is gone, or wants no acknowledgements.
            ConnectionLost: the link was lost meanwhile.
        """
        client = self.feed.context.client
        known = _known(verb, client.info)
        return await client.run(Procedure(lambda: confirmed(self, known, timeout=timeout)))


class SyncCoreMessage(CoreMessage):
    """A message of a core subscription, or the answer to a request, that is answered by a plain
    call.
    """

    __slots__ = ()

    def respond(self, payload: bytes | str = b"", *, headers: HeaderItems | None = None) -> None:
        """Publish an answer to the reply subject of this message.

        Args:
            payload: the answer; text goes out as UTF-8.
            headers: its headers.

        Raises:
            InvalidSubject: the message has no reply subject, so nobody waits for an answer; or it
                has one that nobody can publish to.
            InvalidHeader, PayloadTooLarge: nothing was sent.
            ConversationClosed: the connection is closed.
        """
        cast("SyncResponder", self._client).publish(self._answered(), payload, headers=headers)


class SyncMessage(JsMessage):
    """A delivery that is settled by a plain call.

    Each verb is ``True`` if it was written, ``False`` if the message is settled already, needs no
    acknowledgement or came without a reply subject; nothing is sent then. If the server refuses
    what was written (permissions), `state` is open again as soon as it says so, and a feed that is
    still open tells it as a notice.
    """

    __slots__ = ()

    # Narrower than in the base: only feeds that a client has opened make these.
    feed: _SyncOpened  # pyright: ignore[reportIncompatibleVariableOverride] - read-only by agreement

    def ack(self) -> bool:
        """The message is done.

        Raises:
            ConversationClosed: the connection is closed.
        """
        feed = self.feed
        return feed.context.client.settle(self, more=feed.readable > 0)

    def nak(self, delay: float | timedelta | None = None) -> bool:
        """The message shall come again, at once or after ``delay`` (seconds or a ``timedelta``)."""
        return self.feed.context.client.settle(
            Settlement(self, _NAK if delay is None else Nak(delay))
        )

    def term(self, reason: str = "") -> bool:
        """The message shall never come again; ``reason`` shows up in the server's advisory (2.10;
        left out for older ones).
        """
        client = self.feed.context.client
        verb = _known(Term(reason) if reason else _TERM, client.info)
        return client.settle(Settlement(self, verb))

    def in_progress(self) -> bool:
        """The message is being worked on: its ``ack_wait`` starts anew."""
        return self.feed.context.client.settle(Settlement(self, _IN_PROGRESS))

    def ack_confirmed(self, verb: Verb = ACK, *, timeout: float | timedelta = 5.0) -> bool:
        """Settle the message and wait until the server says that it has (the double ack).

        With `InProgress` it stays open, and the answer says that the consumer has heard it.

        Raises:
            RequestTimeout: no answer within ``timeout`` seconds; the message is open again.
            NoResponders: the consumer is gone, or wants no acknowledgements.
            ConnectionLost: the link was lost meanwhile.
        """
        client = self.feed.context.client
        known = _known(verb, client.info)
        return client.run(Procedure(lambda: confirmed(self, known, timeout=timeout)))
