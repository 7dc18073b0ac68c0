"""The content of messages that somebody published beside the recording.

A recording says of such a publish its subject, how many and how large. What they held stands in the
recorded answers: in deliveries and direct gets with the stream's sequence, in answers of
STREAM.MSG.GET, and, where no stream is in play, in the messages of a subject in their order. What
nobody ever saw is made up in its size.
"""

from __future__ import annotations

import re
from base64 import b64decode
from typing import Final, NamedTuple

from jsproto.testing.proof.frames import Frame, FrameReader
from jsproto.testing.simserver.values.documents import integer, read, table, text
from jsproto.trace.formats.recording import Recording
from jsproto.trace.show.describe import delivered_as

_SIZE: Final = re.compile(rb"Nats-Msg-Size: (\d+)\r\n")
_PIN: Final = re.compile(rb"Nats-Pin-Id: [^\r]*\r\n")
_DIRECT: Final = re.compile(
    rb"Nats-Stream: ([^\r]+)\r\nNats-Subject: ([^\r]+)\r\nNats-Sequence: (\d+)\r\nNats-Time-Stamp: [^\r]+\r\n"
    rb"(?:Nats-Num-Pending: \d+\r\nNats-Last-Sequence: \d+\r\n)?"
)
_EMPTY: Final = b"NATS/1.0\r\n\r\n"


class Content(NamedTuple):
    """A message as it was published."""

    subject: str
    block: bytes | None
    payload: bytes


class Hidden:
    """What the answers of a recording show of messages."""

    __slots__ = ("_plain", "stored")

    def __init__(self, recording: Recording) -> None:
        #: By stream and sequence.
        self.stored: dict[tuple[str, int], Content] = {}
        self._plain: dict[str, list[Content]] = {}
        for conn in recording.connections:
            reader = FrameReader()
            for data in recording.received(conn):
                for frame in reader.feed(data):
                    if frame.is_message:
                        self._seen(frame)

    def content(self, stream: str, seq: int, subject: str, size: int, number: int) -> Content:
        """The message of a stream (``""``: of none), the ``number``-th of its publishes."""
        known = self.stored.get((stream, seq)) if stream else self._next(subject)
        if known is not None and known.subject == subject:
            return known
        return Content(subject, None, str(number).encode().ljust(size, b".")[:size])

    def _next(self, subject: str) -> Content | None:
        waiting = self._plain.get(subject)
        return waiting.pop(0) if waiting else None

    def _seen(self, frame: Frame) -> None:
        if (delivery := delivered_as(frame.reply)) is not None:
            self._note(delivery.stream, delivery.stream_sequence, _published(frame))
        elif (direct := _DIRECT.search(frame.block)) is not None:
            stream, subject = direct[1].decode(), direct[2].decode()
            block = frame.block.replace(direct[0], b"")
            self._note(
                stream,
                int(direct[3]),
                Content(subject, None if block == _EMPTY else block, frame.payload),
            )
        elif b"stream_msg_get_response" in frame.payload:
            self._got(frame.payload)
        elif not frame.reply:
            self._plain.setdefault(frame.subject, []).append(
                Content(frame.subject, frame.block or None, frame.payload)
            )

    def _got(self, payload: bytes) -> None:
        message = table(table(read(payload)).get("message"))
        block, body = b64decode(text(message, "hdrs")), b64decode(text(message, "data"))
        self._note(
            "S", integer(message, "seq"), Content(text(message, "subject"), block or None, body)
        )

    def _note(self, stream: str, seq: int, content: Content) -> None:
        known = self.stored.get((stream, seq))
        if known is None or (known.block is None and content.block is not None):
            self.stored[stream, seq] = content


def _published(frame: Frame) -> Content:
    """A delivery as it was published: without what pins added, with made-up bytes for what
    headers_only left out.
    """
    block, payload = _PIN.sub(b"", frame.block), frame.payload
    size = _SIZE.search(block)
    if size is not None:
        block, payload = block.replace(size[0], b""), b"x" * int(size[1])
    bare = block != frame.block and block == _EMPTY
    return Content(frame.subject, None if bare or not block else block, payload)
