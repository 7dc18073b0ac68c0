"""The plain ack of a message, which runs once for each message, with ``await``."""

# ruff: noqa: SLF001 - message and client are one thing in several classes

from __future__ import annotations

from threading import get_ident
from typing import Protocol, TypeVar

from jsproto.core.connection.connection import Connection
from jsproto.core.conversation.conversation import Conversation
from jsproto.core.conversation.settleable import Settleable
from jsproto.driver import ANY_TIME
from jsproto.errors import OutboundFull
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.wire.frames import Info
from jsproto_io._client.messages import MANY

T = TypeVar("T")


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


class _Slot(Protocol):
    client: AsyncSettler


class _Opened(Protocol):
    context: _Slot


class AckableMessage(JsMessage):
    """A delivery that can be acked. The plain ack is once per message, so it goes straight to the
    connection.
    """

    __slots__ = ()

    # Narrower than in the base: only feeds that a client has opened make these.
    feed: _Opened  # pyright: ignore[reportIncompatibleVariableOverride] - read-only by agreement

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
