"""Compares what the machines send with what was recorded, frame by frame.

Theory. Bytes of the machines go in as a transport would get them. They are cut into frames and
redacted as the trace is. Recorded frames follow one by one. Each must be the next frame of the
machines, or a frame of the user: a publish or an ack, which no machine sends. A frame is the user's
if its reply subject does not belong to this connection. Any other frame is a difference. For a
request whose body is not in the trace, subject, reply subject and size are compared. For CONNECT,
all members that were not redacted are compared.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Collection
from typing import Final, cast, final

from jsproto.core.conversation.router import Router
from jsproto.trace.formats.format import LineReader, bytes_line, escaped
from jsproto.trace.formats.framing import TOKENS, Framer
from jsproto.trace.formats.recording import Sent
from jsproto.trace.formats.redaction import REDACTED, Keep, shown

#: Highest number of characters of a frame in a text.
_SHOWN: Final = 200
_CONNECT: Final = b"CONNECT"
#: Number of words of a PUB and HPUB with a reply subject.
_WORDS: Final = {b"PUB": 4, b"HPUB": 5}


@final
class OutputDiff:
    """Compares the output of one connection with its recording.

    Args:
        keep: how much of the users' data the trace keeps.

    Attributes:
        waiting: frames of the machines that were not compared yet.
        frames: number of the machines' frames that were equal, and ``size`` their bytes.
        given: number of the user's frames.
    """

    __slots__ = ("_inbox", "_keep", "_mux", "_reader", "frames", "given", "size", "waiting")

    def __init__(self, keep: Keep) -> None:
        self._keep = keep
        self._reader = LineReader()
        self._inbox = self._mux = b""
        self.waiting: deque[bytes] = deque()
        self.frames = self.size = self.given = 0

    def began(self, router: Router) -> None:
        """Learn the inbox of the connection from a router that is equal to its own."""
        self._inbox = f"{router.inbox_root}.".encode()
        self._mux = f"{router.mux_root}.".encode()

    def take(self, data: bytes) -> None:
        """Take bytes that the machines send."""
        for piece in Framer().feed(data):
            line = bytes_line(">", "", shown(piece, self._keep))
            self.waiting.append(cast("Sent", self._reader.read(line.encode()[:-1])).data)

    def equal(self, recorded: bytes, many: Collection[int] = ()) -> bool:
        """Whether the frame is the machines' next one, which it removes, or one of the user's.

        Args:
            recorded: a frame of the trace.
            many: numbers of the conversations whose requests are not in the trace.
        """
        if self.waiting and self._same(self.waiting[0], recorded, many):
            self.waiting.popleft()
            self.frames += 1
            self.size += len(recorded)
            return True
        words = _words(recorded)
        given = words[0] in _WORDS and not _reply(words).startswith((self._inbox, self._mux))
        self.given += given
        return given

    def _same(self, ours: bytes, recorded: bytes, many: Collection[int]) -> bool:
        if ours == recorded:
            return True
        words, others = _words(ours), _words(recorded)
        if words[0] == others[0] == _CONNECT:
            return _introduced(ours) == _introduced(recorded)
        reply = _reply(words)
        asks = reply.startswith(self._mux)
        if reply.startswith(self._inbox):
            asks = int(reply.removeprefix(self._inbox).split(b".")[0]) in many
        return asks and (words[1], reply, words[-1]) == (
            others[min(1, len(others) - 1)],
            _reply(others),
            others[-1],
        )


def _words(frame: bytes) -> list[bytes]:
    return TOKENS.split(frame.partition(b"\r\n")[0])


def _reply(words: list[bytes]) -> bytes:
    """The reply subject of a PUB or HPUB; empty if it has none."""
    return words[2] if len(words) == _WORDS.get(words[0]) else b""


def _introduced(frame: bytes) -> object:
    """Members of a CONNECT without the redacted ones."""
    try:
        value: object = json.loads(frame[len(_CONNECT) :])
    except (ValueError, RecursionError):
        return frame
    members = cast("dict[str, object]", value if isinstance(value, dict) else {"": value})
    return {name: item for name, item in members.items() if item != REDACTED}


def frame_told(data: bytes) -> str:
    """Write bytes as the trace shows them, and shorten a long text."""
    text = escaped(data[: _SHOWN + 1])
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
