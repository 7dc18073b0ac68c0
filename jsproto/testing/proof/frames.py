"""What a server said, cut into frames that keep their control line as it came.

The parser of clients forgets how many blanks stood in a line; the proof compares them, since servers differ there.
"""

from __future__ import annotations

from typing import NamedTuple


class Frame(NamedTuple):
    """One frame: the control line without its CR LF, header block and payload (both empty for control frames)."""

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

    __slots__ = ("_buffer",)

    def __init__(self) -> None:
        self._buffer = b""

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that these bytes complete."""
        buffer = self._buffer + data
        frames: list[Frame] = []
        at = 0
        while (end := buffer.find(b"\r\n", at)) >= 0:
            line = buffer[at:end]
            words = line.split()
            if words and words[0] in {b"MSG", b"HMSG"}:
                total = int(words[-1])
                start = end + 2
                if len(buffer) < start + total + 2:
                    break
                middle = start + (int(words[-2]) if words[0] == b"HMSG" else 0)
                frames.append(Frame(_text(line), buffer[start:middle], buffer[middle : start + total]))
                at = start + total + 2
            else:
                frames.append(Frame(_text(line), b"", b""))
                at = end + 2
        self._buffer = buffer[at:]
        return frames


def _text(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")
