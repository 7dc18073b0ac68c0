"""Messages that settle themselves, and core messages that answer.

A message knows the feed that it came through, the feed's context is the `jsproto.driver.WaitSlot`
that its client made, and the slot knows the client. That chain of attributes is all that an ack
costs beside the ack itself, and it holds after the feed is closed: what was handed out can still be
settled.

Nothing is decided here: `jsproto.jetstream.delivery.message` says what is written, and whether it
may still be written.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Protocol, cast

from jsproto.core.conversation.procedure import Procedure
from jsproto.jetstream.delivery.ack import ACK, Nak, Term, Verb
from jsproto.jetstream.delivery.message import Settlement, confirmed
from jsproto.wire.headers import HeaderItems
from jsproto_io._async_client.ackable import AckableMessage
from jsproto_io._client.messages import IN_PROGRESS, NAK, TERM, CoreMessage, as_known


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


class AsyncCoreMessage(CoreMessage):
    """A message of a core subscription, or the answer to a request."""

    __slots__ = ()

    async def respond(
        self, payload: bytes | str = b"", *, headers: HeaderItems | None = None
    ) -> None:
        """Publish an answer to the reply subject of this message.

        Args:
            payload: the answer; text goes out as UTF-8.
            headers: its headers.

        Raises:
            InvalidSubject: the message has no reply subject, so its sender waits for no answer; or
                no client can publish to its reply subject.
            InvalidHeader, PayloadTooLarge: nothing was sent.
            ConversationClosed: the connection is closed.
        """
        await cast("AsyncResponder", self._client).publish(
            self._answered(), payload, headers=headers
        )


class AsyncMessage(AckableMessage):
    """A delivery that is settled with ``await``.

    Each verb is ``True`` if it was written, ``False`` if the message is settled already, needs no
    acknowledgement or came without a reply subject; nothing is sent then. If the server refuses
    what was written (permissions), `state` is open again as soon as it says so, and a feed that is
    still open tells it as a notice.
    """

    __slots__ = ()

    async def nak(self, delay: float | timedelta | None = None) -> bool:
        """The message shall come again, at once or after ``delay`` (seconds or a ``timedelta``)."""
        return await self.feed.context.client.settle(
            Settlement(self, NAK if delay is None else Nak(delay))
        )

    async def term(self, reason: str = "") -> bool:
        """The message shall never come again; ``reason`` shows up in the server's advisory (2.10;
        left out for older ones).
        """
        client = self.feed.context.client
        verb = as_known(Term(reason) if reason else TERM, client.info)
        return await client.settle(Settlement(self, verb))

    async def in_progress(self) -> bool:
        """The message is being worked on: its ``ack_wait`` starts anew."""
        return await self.feed.context.client.settle(Settlement(self, IN_PROGRESS))

    async def ack_confirmed(self, verb: Verb = ACK, *, timeout: float | timedelta = 5.0) -> bool:  # noqa: ASYNC109 - kept by the core
        """Settle the message and wait until the server says that it has (the double ack).

        With `InProgress` it stays open, and the answer says that the consumer has heard it.

        Raises:
            RequestTimeout: no answer within ``timeout`` seconds; the message is open again.
            NoResponders: the consumer is gone, or wants no acknowledgements.
            ConnectionLost: the link was lost meanwhile.
        """
        client = self.feed.context.client
        known = as_known(verb, client.info)
        return await client.run(Procedure(lambda: confirmed(self, known, timeout=timeout)))
