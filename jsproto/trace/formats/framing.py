"""Finds where frames begin and end in one direction of a link; other modules read the frames.

Theory. Bytes go in as they were read or written, and whole frames come out with all their bytes.
The grammar is that of both directions, and lenient: an operation, blanks, and sizes at the end of
the line. Bytes that break the grammar end it, because no later frame boundary is certain. A frame
that is larger than `_MOST_FRAME` counts as broken, too.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, final

from jsproto.wire.client_commands import ClientCommandParser
from jsproto.wire.parser import Parser

#: Blanks between the words of a line.
TOKENS: Final = re.compile(rb"[ \t]+")
#: A size on a line.
SIZE: Final = re.compile(rb"[0-9]{1,9}").fullmatch
#: Operations with a payload after their line.
MESSAGES: Final = frozenset({b"MSG", b"HMSG", b"PUB", b"HPUB"})

#: Readers of traces refuse no frame for its size, because the reader of the file has bounded it.
_LIMIT: Final = 1 << 30
_MOST_LINE: Final = 1_048_576
_MOST_FRAME: Final = 67_108_864
_OTHERS: Final = (b"INFO", b"CONNECT", b"SUB", b"UNSUB", b"PING", b"PONG", b"+OK", b"-ERR")


class Piece(NamedTuple):
    """A frame: its line, and the header block and payload after it, each with its line end.

    A piece without a line holds bytes that break the grammar.
    """

    line: bytes
    body: bytes


@final
class Framer:
    """Cuts one direction of one link into frames."""

    __slots__ = ("_awaited", "_dead", "_held", "_size")

    def __init__(self) -> None:
        #: Bytes that are not yet a frame, as they came. They are joined only when enough are held,
        #: so that a large frame in small pieces is joined once.
        self._held: list[bytes] = []
        self._size = 0
        #: Bytes that must be held before the next frame can be whole.
        self._awaited = 0
        self._dead = False

    def feed(self, data: bytes) -> list[Piece]:
        """Return the frames that these bytes complete.

        After the first byte that breaks the grammar, all bytes of a call come as one piece.
        """
        if self._dead:
            return [Piece(b"", data)] if data else []
        self._held.append(data)
        self._size += len(data)
        if self._size < self._awaited:
            return []
        buffer = b"".join(self._held)
        pieces: list[Piece] = []
        at = 0
        while at < len(buffer):
            if self._dead:
                pieces.append(Piece(b"", buffer[at:]))
                at = len(buffer)
                break
            end = buffer.find(b"\n", at)
            if end < 0 and len(buffer) - at <= _MOST_LINE:
                break
            size = size_behind(buffer[at : end + 1]) if end >= 0 else -1
            if size < 0:
                self._dead, self._awaited = True, 0
                continue
            self._awaited = end + 1 - at + size
            if len(buffer) - at < self._awaited:
                break
            if size and buffer[at + self._awaited - 2 : at + self._awaited] != b"\r\n":
                self._dead, self._awaited = True, 0
                continue
            pieces.append(Piece(buffer[at : end + 1], buffer[end + 1 : at + self._awaited]))
            at += self._awaited
            self._awaited = 0
        left = buffer[at:]
        self._held, self._size = [left] if left else [], len(left)
        return pieces

    def rest(self) -> int:
        """Forget the unfinished frame at the end of a link, and return its number of bytes."""
        left = self._size
        self._held, self._size, self._awaited = [], 0, 0
        return left


def size_behind(line: bytes) -> int:
    """Bytes after this line that belong to its frame; -1 if the line breaks the grammar."""
    words = TOKENS.split(line.strip(b" \t\r\n"))
    operation = words[0].upper()
    if operation not in MESSAGES:
        return 0 if operation.startswith(_OTHERS) else -1
    if len(words) < 3 or SIZE(words[-1]) is None or int(words[-1]) > _MOST_FRAME:
        return -1
    return int(words[-1]) + 2


def server_reader() -> Parser:
    """Create a parser for the bytes of any server to any client."""
    return Parser(
        any_sid=True,
        max_control_line=_LIMIT,
        max_info=_LIMIT,
        max_payload=_LIMIT,
        max_header=_LIMIT,
    )


def client_reader() -> ClientCommandParser:
    """Create a parser for the bytes of any client."""
    return ClientCommandParser(max_payload=_LIMIT, max_control_line=_LIMIT)
