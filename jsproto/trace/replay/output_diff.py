"""What our machines say beside what was recorded: frame by frame, with the same redaction.

Theory. Bytes of our machines go in as a transport would get them, and are cut into frames and shown
as the trace shows its own; recorded frames follow one by one. Each is the next of ours, or one of
the user's, which the machines know nothing of: a publish or an ack, told by a reply subject that is
none of this connection's own. Anything else is a difference. Requests whose body is not in the
trace are compared by their subject, their address and their size, CONNECT by all of its members
that were not redacted.
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

#: So much of a frame is shown.
_SHOWN: Final = 200
_CONNECT: Final = b"CONNECT"
#: Words of a PUB and HPUB that has a reply subject.
_WORDS: Final = {b"PUB": 4, b"HPUB": 5}


@final
class OutputDiff:
    """Two sayings of one connection.

    Args:
        keep: what the trace kept of that which users wrote.

    Attributes:
        waiting: what our machines said and nobody has compared yet.
        frames: frames of ours that were equal, and ``size`` their bytes.
        given: frames of the user.
    """

    __slots__ = ("_inbox", "_keep", "_mux", "_reader", "frames", "given", "size", "waiting")

    def __init__(self, keep: Keep) -> None:
        self._keep = keep
        self._reader = LineReader()
        self._inbox = self._mux = b""
        self.waiting: deque[bytes] = deque()
        self.frames = self.size = self.given = 0

    def began(self, router: Router) -> None:
        """The connection begins; a router like its own knows where its answers come."""
        self._inbox = f"{router.inbox_root}.".encode()
        self._mux = f"{router.mux_root}.".encode()

    def take(self, data: bytes) -> None:
        """Our machines say this."""
        for piece in Framer().feed(data):
            line = bytes_line(">", "", shown(piece, self._keep))
            self.waiting.append(cast("Sent", self._reader.read(line.encode()[:-1])).data)

    def equal(self, recorded: bytes, many: Collection[int] = ()) -> bool:
        """Whether this is the next of ours, which is used up then, or one of the user's.

        Args:
            recorded: one frame of the trace.
            many: the numbers of conversations whose questions are not in the trace.
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
    """The reply subject of a PUB or HPUB, empty if it has none."""
    return words[2] if len(words) == _WORDS.get(words[0]) else b""


def _introduced(frame: bytes) -> object:
    """What a CONNECT says, without what nobody may know."""
    try:
        value: object = json.loads(frame[len(_CONNECT) :])
    except (ValueError, RecursionError):
        return frame
    members = cast("dict[str, object]", value if isinstance(value, dict) else {"": value})
    return {name: item for name, item in members.items() if item != REDACTED}


def frame_told(data: bytes) -> str:
    """Bytes as the trace shows them, cut where they are long."""
    text = escaped(data[: _SHOWN + 1])
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
