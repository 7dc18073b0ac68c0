"""What the messages of both colours share: core messages, and when an acknowledgement is written."""

from __future__ import annotations

from typing import Final

from jsproto.core.conversation.message import Message
from jsproto.errors import InvalidSubject
from jsproto.errors.tree import shorten
from jsproto.jetstream.delivery.ack import InProgress, Nak, Term, Verb
from jsproto.wire.frames import Delivery, Info
from jsproto.wire.headers import Headers

#: Commands that are worth a write before the turn ends in which they were made; a write costs what
#: a few of them cost.
MANY: Final = 128
#: Seconds that an acknowledgement waits for room, unless its caller says otherwise.
SETTLE_PATIENCE: Final = 5.0

#: Values, so one serves all messages.
NAK: Final = Nak()
TERM: Final = Term()
IN_PROGRESS: Final = InProgress()


def as_known(verb: Verb, info: Info) -> Verb:
    """The verb as this server understands it."""
    return verb.known_to(info.version) if isinstance(verb, Term) and verb.reason else verb


class CoreMessage(Message):
    """A core message in the hands of the client that it came through."""

    __slots__ = ("_client",)

    def __init__(self, frame: Delivery, client: object) -> None:  # pyright: ignore[reportMissingSuperCall]
        # Not through super().__init__: this runs once for each message, and the call would cost
        # half as much again.
        self.frame = frame
        self._headers: Headers | None = None
        self._client = client

    def _answered(self) -> str:
        """Where its answer goes.

        Raises:
            InvalidSubject: nobody waits for an answer.
        """
        if not self.reply:
            raise InvalidSubject(
                f"expected a message with a reply subject, the one on {shorten(self.subject)} wants no answer"
            )
        return self.reply
