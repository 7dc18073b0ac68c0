"""The message in the user's hands: a thin object over the tuple that the parser made.

Nothing is decoded before somebody asks. The tuple is kept, the properties read from it, headers are
parsed on first use. The JetStream message of the floor above is a subclass with an ack state.
"""

from __future__ import annotations

from typing import Final

from jsproto.wire.frames import Delivery
from jsproto.wire.headers import Headers, status_of

_NO_HEADERS = Headers()
#: How many bytes of a payload the ``repr`` of a message shows.
_SHOWN: Final = 40


def payload_shown(payload: bytes) -> str:
    """How a payload begins, and how many bytes it has where that is not all of it."""
    if len(payload) <= _SHOWN:
        return f"payload={payload!r}"
    return f"payload={payload[:_SHOWN]!r}... of {len(payload)} bytes"


class Message:
    """One core NATS message, read-only by agreement.

    Attributes:
        frame: the tuple ``(sid, subject, reply, block, payload)`` as parsed.
    """

    __slots__ = ("_headers", "frame")

    def __init__(self, frame: Delivery) -> None:
        self.frame = frame
        self._headers: Headers | None = None

    @property
    def subject(self) -> str:
        """The subject of the frame, which is that of the message; never the subscription's."""
        return self.frame[1]

    @property
    def reply(self) -> str:
        """Where an answer goes; empty if none is wanted."""
        return self.frame[2]

    @property
    def payload(self) -> bytes:
        """The payload, as many bytes as the frame announced."""
        return self.frame[4]

    @property
    def headers(self) -> Headers:
        """The headers; empty for a message without. Damaged lines are in ``headers.defects``."""
        if self._headers is None:
            block = self.frame[3]
            self._headers = _NO_HEADERS if block is None else Headers.parse(block)
        return self._headers

    @property
    def status(self) -> tuple[int, str] | None:
        """Code and text of an inline status line, ``None`` if the message has none (ADR-4)."""
        block = self.frame[3]
        return None if block is None else status_of(block)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(subject={self.subject!r}, reply={self.reply!r}, {payload_shown(self.payload)})"
