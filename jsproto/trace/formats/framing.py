"""Where frames begin and end in the bytes of one direction, of a client or of a server; what they
say is for others.

Theory. Bytes go in as they were read or written, whole frames come out, each with every byte that
it was sent with. The grammar is that of both sides, and lenient: an operation, blanks, numbers at
the end of the line. Bytes that make no sense end it: from there on nobody knows where a frame
begins. A frame that is larger than any server allows counts as senseless.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, final

from jsproto.wire.client_commands import ClientCommandParser
from jsproto.wire.parser import Parser

#: Blanks between the words of a line.
TOKENS: Final = re.compile(rb"[ \t]+")
#: A count on a line.
SIZE: Final = re.compile(rb"[0-9]{1,9}").fullmatch
#: Operations that have a payload behind their line.
MESSAGES: Final = frozenset({b"MSG", b"HMSG", b"PUB", b"HPUB"})

#: Readers of traces refuse nothing for its size: whoever read the file has bounded it.
_LIMIT: Final = 1 << 30
_MOST_LINE: Final = 1_048_576
_MOST_FRAME: Final = 67_108_864
_OTHERS: Final = (b"INFO", b"CONNECT", b"SUB", b"UNSUB", b"PING", b"PONG", b"+OK", b"-ERR")


class Piece(NamedTuple):
    """One frame: its line, and the header block and payload behind it, both with their line ends.

    A piece without a line is bytes that make no sense.
    """

    line: bytes
    body: bytes


@final
class Framer:
    """Cuts one direction of one link into frames."""

    __slots__ = ("_awaited", "_dead", "_held", "_size")

    def __init__(self) -> None:
        #: What is not yet a frame, as it came: joined when it is looked at, so that a large frame
        #: in small pieces is joined once.
        self._held: list[bytes] = []
        self._size = 0
        #: Nobody need look before so many bytes are held.
        self._awaited = 0
        self._dead = False

    def feed(self, data: bytes) -> list[Piece]:
        """The frames that these bytes complete; behind the first senseless byte, all that comes as
        one piece.
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
        """Bytes left at the end of a link: of a frame that never became whole."""
        left = self._size
        self._held, self._size, self._awaited = [], 0, 0
        return left


def size_behind(line: bytes) -> int:
    """Bytes behind this line that belong to it; -1 if nobody can tell."""
    words = TOKENS.split(line.strip(b" \t\r\n"))
    operation = words[0].upper()
    if operation not in MESSAGES:
        return 0 if operation.startswith(_OTHERS) else -1
    if len(words) < 3 or SIZE(words[-1]) is None or int(words[-1]) > _MOST_FRAME:
        return -1
    return int(words[-1]) + 2


def server_reader() -> Parser:
    """Reads what any server says to any client."""
    return Parser(
        any_sid=True,
        max_control_line=_LIMIT,
        max_info=_LIMIT,
        max_payload=_LIMIT,
        max_header=_LIMIT,
    )


def client_reader() -> ClientCommandParser:
    """Reads what any client says."""
    return ClientCommandParser(max_payload=_LIMIT, max_control_line=_LIMIT)
