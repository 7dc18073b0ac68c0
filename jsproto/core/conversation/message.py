"""A message for the user: a thin object over the tuple that the parser returned.

It decodes nothing in advance. Its properties read the tuple, and headers are parsed on first use.
The JetStream message is a subclass with an ack state.
"""

from __future__ import annotations

from typing import Final

from jsproto.wire.frames import Delivery
from jsproto.wire.headers import Headers, status_of

_NO_HEADERS = Headers()
#: Number of payload bytes that the ``repr`` of a message shows.
_SHOWN: Final = 40


def payload_shown(payload: bytes) -> str:
    """Return the beginning of a payload for a ``repr``, and its size if it is cut."""
    if len(payload) <= _SHOWN:
        return f"payload={payload!r}"
    return f"payload={payload[:_SHOWN]!r}... of {len(payload)} bytes"


class Message:
    """One core NATS message. Treat it as read-only.

    Attributes:
        frame: the tuple ``(sid, subject, reply, block, payload)`` as parsed.
    """

    __slots__ = ("_headers", "frame")

    def __init__(self, frame: Delivery) -> None:
        self.frame = frame
        self._headers: Headers | None = None

    @property
    def subject(self) -> str:
        """The subject of the message, without the wildcards of a subscription."""
        return self.frame[1]

    @property
    def reply(self) -> str:
        """The subject for a reply; empty if the sender expects none."""
        return self.frame[2]

    @property
    def payload(self) -> bytes:
        """The payload as bytes."""
        return self.frame[4]

    @property
    def headers(self) -> Headers:
        """The headers; empty if there are none. Damaged lines are in ``headers.defects``."""
        if self._headers is None:
            block = self.frame[3]
            self._headers = _NO_HEADERS if block is None else Headers.parse(block)
        return self._headers

    @property
    def status(self) -> tuple[int, str] | None:
        """Code and text of the status line, ``None`` if the message has none (ADR-4)."""
        block = self.frame[3]
        return None if block is None else status_of(block)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(subject={self.subject!r}, reply={self.reply!r},"
            f" {payload_shown(self.payload)})"
        )
