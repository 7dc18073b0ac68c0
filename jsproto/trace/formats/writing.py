"""Writes ``.trace`` files: records go in, and text without secrets comes out.

Theory. `jsproto.trace.formats.redaction` decides here what may be kept. No later step redacts, so
a file never holds a secret. The writer remembers the clock, and writes it only when it has moved.
For each connection and direction it remembers the frame that is not yet whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

from jsproto.trace.formats import format as own
from jsproto.trace.formats.recording import Happened, Received, Record, Sent
from jsproto.trace.formats.redaction import Keep, Redactor, silenced

#: Events after which the name of a connection stands for another link.
ENDS: Final = frozenset({"connected", "eof", "client_close", "closed", "lost"})


#: The event for a frame that the end of a link cut off.
UNFINISHED: Final = "unfinished"
#: The event before several frames of one read, with their number. Without it, a frame came alone.
READ: Final = "read"


@final
class TraceWriter:
    """Writes one trace.

    Args:
        keep: how much of the users' data is kept.
        about: texts of the first lines, such as ``server_version``, ``scenario``, ``client``.

    Attributes:
        head: the first lines of the file.
        keep: how much of the users' data is kept.
        reads: whether to write how many frames came with one read, if it was not one. A rerun needs
            this. With `Keep.FULL` each line is one read.

    Raises:
        LocalProtocolError: a name in ``about`` is more than one word, or a text has more than one
            line.
    """

    __slots__ = ("_at", "_halves", "_secrets", "head", "keep", "reads")

    def __init__(self, keep: Keep = Keep.LENGTH, about: Mapping[str, str] | None = None) -> None:
        self.keep = keep
        self.reads = False
        self._at = -1.0
        self._halves: dict[tuple[str, str], Redactor] = {}
        self._secrets: dict[str, set[bytes]] = {}
        self.head = own.first_lines({"payload": keep.value.lower(), **(about or {})})

    def lines(self, record: Record) -> str:
        """Return the lines of one record; the result may be empty until a frame is whole.

        An earlier time than the last one counts as the last one.

        Raises:
            LocalProtocolError: a name is more than one word, or JSON cannot hold a detail.
        """
        if isinstance(record, Received | Sent):
            kind = "<" if isinstance(record, Received) else ">"
            secrets = self._secrets.setdefault(record.conn, set())
            if kind == "<" and self.keep is Keep.FULL:
                line = own.record_line(record)
                return self._clock(record.at) + (
                    silenced(line, secrets) if b"-ERR" in record.data else line
                )
            half = self._halves.setdefault((kind, record.conn), Redactor(self.keep, secrets))
            lines = [own.bytes_line(kind, record.conn, text) for text in half.feed(record.data)]
            if self.reads and kind == "<" and len(lines) != 1:
                read = Happened(
                    at=record.at, name=READ, conn=record.conn, detail={"frames": len(lines)}
                )
                lines.insert(0, own.record_line(read))
            return self._clock(record.at) + "".join(lines) if lines else ""
        line = own.record_line(record)
        ended = (
            self._ended(record.conn) if isinstance(record, Happened) and record.name in ENDS else ""
        )
        return self._clock(record.at) + ended + line

    def end(self) -> str:
        """Return the lines for the unfinished frames."""
        return "".join(self._ended(conn) for conn in sorted({conn for _, conn in self._halves}))

    def _ended(self, conn: str) -> str:
        lines = ""
        self._secrets.pop(conn, None)
        for kind in "<>":
            half = self._halves.pop((kind, conn), None)
            left = half.rest() if half is not None else 0
            if left:
                detail = {"way": kind, "bytes": left}
                lines += own.record_line(
                    Happened(at=self._at, name=UNFINISHED, conn=conn, detail=detail)
                )
        return lines

    def _clock(self, at: float) -> str:
        if at <= self._at:
            return ""
        self._at = at
        return own.clock_line(at)
