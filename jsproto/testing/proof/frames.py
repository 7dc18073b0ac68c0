"""What a server said, cut into frames that keep their control line as it came.

The parser of clients forgets how many blanks stood in a line; the proof compares them, since
servers differ there.
"""

from __future__ import annotations

from typing import NamedTuple

from jsproto.trace.formats.framing import Framer, Piece


class Frame(NamedTuple):
    """One frame: the control line without its CR LF, header block and payload (both empty for
    control frames).
    """

    line: str
    block: bytes
    payload: bytes

    @property
    def is_message(self) -> bool:
        """MSG or HMSG."""
        return self.line.startswith(("MSG ", "HMSG "))

    @property
    def subject(self) -> str:
        """Of a message: its subject."""
        return self.line.split()[1]

    @property
    def reply(self) -> str:
        """Of a message: its reply subject, ``""`` if it has none."""
        words = self.line.split()
        return words[3] if len(words) > (5 if words[0] == "HMSG" else 4) else ""


class FrameReader:
    """Turns the bytes of one direction into frames."""

    __slots__ = ("_framer",)

    def __init__(self) -> None:
        self._framer = Framer()

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that these bytes complete; bytes that make no sense stand as a control line."""
        return [_frame(each) for each in self._framer.feed(data)]


def _frame(piece: Piece) -> Frame:
    line, body = piece.line.removesuffix(b"\r\n"), piece.body[:-2]
    if not line:
        return Frame(_text(piece.body), b"", b"")
    words = line.split()
    middle = int(words[-2]) if words[0] == b"HMSG" else 0
    return Frame(_text(line), body[:middle], body[middle:])


def _text(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")
