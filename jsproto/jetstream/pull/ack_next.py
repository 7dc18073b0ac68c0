"""One message at a time, and the ack of each asks for the next (``+NXT``).

Theory. A worker that takes long over a message wants none in store: what waits here ages, and
others could have it. So this is a consume of one message that asks only when the user wants
something: when it is opened, when `take` finds nothing, and when a message is *put* back as done.
Then its ack and the next pull are one frame: ``+NXT`` with the body of a pull request, published on
the message's reply subject, with the pull's token as its own. It is a pull like any other: it is in
the ledger, its statuses come on the token, and when it is lost it is asked for again, by a plain
pull.

    message = take(work)        # NEED_DATA until it has come
    put(work, message)          # acknowledged, and the next one is asked for

A message can still be settled in any other way; then the next `take` asks by itself. Without a link
`put` answers ``False``, and the message is put again when there is one. Behind the end of the feed
a message that is put is acked by itself, so that a worker need not know which one is the last.

If the server refuses an ack that asks, it has seen neither the ack nor the request: the feed ends
as one whose pull is refused, and the message is open again.
"""

from __future__ import annotations

from typing import ClassVar, Final

from jsproto.core.state import PLAIN, Codecs
from jsproto.errors.tree import (
    ConversationClosed,
    InvalidConfig,
    JsprotoError,
    LocalProtocolError,
    shorten,
)
from jsproto.jetstream.delivery.ack import ACK, AckFact
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.pull.base import M, Make
from jsproto.jetstream.pull.consume import Consume
from jsproto.jetstream.pull.consume_options import ConsumeOptions
from jsproto.signals import Ended, NeedData
from jsproto.wire.commands import Publish
from jsproto.wire.frames import Delivery

_ONE: Final = ConsumeOptions(max_messages=1)
_ACK: Final = ACK.payload()
#: In front of the body of a pull request.
_NXT: Final = b"+NXT "


class AckNext(Consume[M]):
    """A feed of single messages, each asked for by the ack of the one before.

    Args:
        subject: the consumer's NEXT subject.
        options: as for a consume; ``max_messages`` must be 1.
        message: makes the user's message, which must be a `JsMessage` to be put.

    Raises:
        InvalidConfig: options for more than one message.

    Attributes:
        wanted: the user wants a message that has not come.
    """

    __slots__ = ("_asked_by", "_asker", "wanted")

    STATE: ClassVar[Codecs] = {**Consume.STATE, "_asked_by": PLAIN, "wanted": PLAIN}

    def __init__(
        self, subject: str, options: ConsumeOptions = _ONE, message: Make[M] | None = None
    ) -> None:
        if options.max_messages != 1:
            raise InvalidConfig(
                f"expected max_messages=1 for one message at a time, got {options.max_messages}"
            )
        super().__init__(subject, options, message)
        self.wanted = True
        # The last message whose ack was a pull, and where that went.
        self._asker: JsMessage | None = None
        self._asked_by = ""

    # ------------------------------------------------------------------ the user's side

    def take(self, now: float) -> M | NeedData | Ended:
        """The next message; asks for it if nobody has."""
        self._want(now)
        return super().take(now)

    def take_all(self, now: float) -> list[M] | NeedData | Ended:
        """All messages at hand; asks for one if there is none."""
        self._want(now)
        return super().take_all(now)

    def offered(self, item: object, now: float) -> bool:
        """A message of this feed is done: acknowledge it and ask for the next. ``False`` while
        there is no link.

        Raises:
            LocalProtocolError: it is no message of this feed.
            ConversationClosed: the feed has ended and there is no link, so the message is to be
                acknowledged by itself.
            AlreadySettled: it is settled already, and the feed is strict.
        """
        if not isinstance(item, JsMessage) or item.feed is not self:
            raise LocalProtocolError(f"expected a message of this feed, got {shorten(item)}")
        if not self.port.up:
            if self.ended:
                expected = "expected an open feed, or a link for the ack; this one has ended"
                raise ConversationClosed(expected, self.error)
            return False
        self.wanted = True

        def say(_: bytes) -> None:
            """The ack is said with a request in it, if there is something to ask for."""
            request = self._wish() if self.engine.backoff.opened(now) else None
            if request is None:
                self.port.publish(Publish(item.reply, _ACK))
            else:
                self._ask(item.reply, _NXT, request, now)
                self._asker, self._asked_by = item, item.reply

        item.settle_by(say)
        self._refill(now)
        return True

    @property
    def room(self) -> bool:
        """Whether a message could be put."""
        return self.port.up and not self.ended

    # ------------------------------------------------------------------ facts

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """The server does not let a pull, an ack that is one, or the subscription through."""
        if subject and subject == self._asked_by:
            if self._asker is not None:
                self._asker.told(AckFact.UNSENT)
            subject = self.subject
        super().refused(subject, error, now)

    # ------------------------------------------------------------------ asking only when it is wanted

    def _want(self, now: float) -> None:
        if not self.backlog.count and not self.ended:
            self.wanted = True
            self._refill(now)

    def _wish(self) -> tuple[int, int] | None:
        return super()._wish() if self.wanted else None

    def _counted(self, data: list[Delivery], count: int, now: float) -> None:
        self.wanted = False
        super()._counted(data, count, now)
