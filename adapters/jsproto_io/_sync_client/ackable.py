"""The plain ack of a message, which runs once for each message, without ``await``."""

from __future__ import annotations

from typing import Protocol, TypeVar

from jsproto.core.conversation.conversation import Conversation
from jsproto.core.conversation.settleable import Settleable
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.wire.frames import Info

T = TypeVar("T")


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


class _Slot(Protocol):
    client: SyncSettler


class _Opened(Protocol):
    context: _Slot

    @property
    def readable(self) -> int: ...


class AckableMessage(JsMessage):
    """A delivery that can be acked. While more messages are there to be read, the kernel may let
    the ack wait for the next one.
    """

    __slots__ = ()

    # Narrower than in the base: only feeds that a client has opened make these.
    feed: _Opened  # pyright: ignore[reportIncompatibleVariableOverride] - read-only by agreement

    def ack(self) -> bool:
        """The message is done.

        Raises:
            ConversationClosed: the connection is closed.
        """
        feed = self.feed
        return feed.context.client.settle(self, more=feed.readable > 0)
