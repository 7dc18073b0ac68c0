r"""The format ``.trace``: one record a line, as text that a person can read and a diff can show.

    #jsproto-trace/2
    : server_version 2.15.1
    : payload length
    @ 0.002156
    = a connected
    < a INFO {"server_id":"N","version":"2.15.1"} \r\n
    > a CONNECT {"lang":"python","pass":"[redacted]"}\r\n
    ! a fetch {"batch":10}
    > a PUB $JS.API.CONSUMER.MSG.NEXT.S.C _INBOX.x.1 12\r\n{"batch":10}\r\n
    < a MSG orders.new 2 $JS.ACK.S.C.1.1.1.1795813228857713434.0 5\r\n\{5}\r\n

Theory. The first line names the version. The lines with ``:`` after it describe the recording; each
has a name, a blank and text. The first character of any other line names its kind. ``@`` sets the
clock for the following lines, in seconds since the start. ``!`` is a verb of the user, ``<`` bytes
from the server, ``>`` bytes to it, and ``=`` an event or an item. Each record but the clock names a
connection (``-`` for none). Verbs and events have a name and may have a JSON object. Readers skip
empty lines and lines that begin with ``#``.

Printable ASCII stands for itself. ``\\`` is a backslash, ``\r \n \t`` have their usual meaning, and
``\xNN`` is any other byte. ``\{n}`` stands for n bytes that were not kept, ``\{n abc...}`` adds a
digest of them; `jsproto.trace.formats.redaction` decides which. A reader turns them into n dots, so
every count on the line stays correct.

A reader takes one line at a time, and keeps only the clock, the names of connections, and a count
of hidden bytes. The length of a line, of a hidden stretch, and of all hidden bytes together are
bounded, so a small file cannot cost much memory or time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final, cast

from jsproto.errors.tree import LocalProtocolError, shorten
from jsproto.trace.formats.recording import (
    MOST_BYTES,
    Happened,
    Received,
    Record,
    Sent,
    Waited,
    Wished,
)

MAGIC: Final = "#jsproto-trace/"
VERSION: Final = 2
FIRST_LINE: Final = f"{MAGIC}{VERSION}"
#: Hidden bytes of one file: enough for a day of a fast link, and read in less than a minute.
MOST_HIDDEN: Final = 1 << 34
#: Decimal places of the clock in a file.
_DIGITS: Final = 6

#: Names of connections that the reader remembers after checking them once.
_MOST_NAMES: Final = 1024
_WAYS: Final = frozenset({b"< ", b"> "})
_NAME: Final = re.compile(r"[^\s\x00-\x1f]{1,256}").fullmatch
_TIME: Final = re.compile(rb"[0-9]{1,15}(?:\.[0-9]{1,12})?").fullmatch
_PRINTABLE: Final = bytes(range(0x20, 0x7F))
_ESCAPED: Final = re.compile(rb"[^\\]*(?:\\(?:[\\rnt]|x[0-9a-f]{2})[^\\]*)*").fullmatch
#: Visible text before a hidden stretch, and the stretch. The pattern reads escapes in pairs, so two
#: backslashes never begin a stretch.
_PART: Final = re.compile(rb"([^\\]*(?:\\[^{][^\\]*)*)\\\{([0-9]{1,9})(?: [0-9a-f]{1,64})?\}").match
_ESCAPES: Final = {0x0D: "\\r", 0x0A: "\\n", 0x09: "\\t", 0x5C: "\\\\"}
_TABLE: Final = [
    _ESCAPES.get(byte, chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02x}")
    for byte in range(256)
]
_AS_LATIN: Final = {byte: text for byte, text in enumerate(_TABLE) if text != chr(byte)}


def escaped(data: bytes) -> str:
    """Write bytes with the escapes of the format."""
    return data.decode("latin-1").translate(_AS_LATIN)


def hidden(size: int, digest: str = "") -> str:
    """Write the stretch that stands for ``size`` hidden bytes."""
    return f"\\{{{size} {digest}}}" if digest else f"\\{{{size}}}" if size else ""


def maybe_hidden(data: bytes | str) -> bool:
    """Whether this may be a hidden stretch, as the reader gives it: only dots.

    The bytes behind it are unknown, so the judge must not report them.
    """
    return bool(data) and not (data.strip(b".") if isinstance(data, bytes) else data.strip("."))


# ------------------------------------------------------------------------------------------ writing


def first_lines(about: Mapping[str, str]) -> str:
    """Write the beginning of a file: its version, and a line for each name and text.

    Raises:
        LocalProtocolError: a name has blanks, or a text has more than one line.
    """
    lines = [FIRST_LINE]
    for name, text in about.items():
        if _NAME(name) is None or len(text.splitlines()) > 1 or text != text.strip():
            raise LocalProtocolError(
                f"expected a name and one line of text, got {shorten((name, text))}"
            )
        lines.append(f": {name} {text}".rstrip())
    return "\n".join(lines) + "\n"


def clock_line(at: float) -> str:
    """Write the line that sets the clock for the lines after it."""
    return f"@ {at:.{_DIGITS}f}\n"


def bytes_line(kind: str, conn: str, text: str) -> str:
    """Write a line of bytes, ``<`` or ``>``; ``text`` is already `escaped`."""
    return f"{kind} {_conn(conn)} {text}\n"


def record_line(record: Record) -> str:
    """Write one record without its time; the caller has redacted it.

    Raises:
        LocalProtocolError: a name is more than one word, or JSON cannot hold a detail.
    """
    match record:
        case Sent() | Received():
            return bytes_line(
                "<" if isinstance(record, Received) else ">", record.conn, escaped(record.data)
            )
        case Waited():
            return f"= {_conn(record.conn)} waited\n"
        case _:
            if _NAME(record.name) is None:
                raise LocalProtocolError(f"expected a name of one word, got {shorten(record.name)}")
            kind = "=" if isinstance(record, Happened) else "!"
            return f"{kind} {_conn(record.conn)} {record.name}{_detail(record.detail)}\n"


def _conn(conn: str) -> str:
    if conn and (_NAME(conn) is None or conn == "-"):
        raise LocalProtocolError(f"expected a connection's name of one word, got {shorten(conn)}")
    return conn or "-"


def _detail(detail: Mapping[str, object]) -> str:
    if not detail:
        return ""
    try:
        return " " + json.dumps(dict(detail), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise LocalProtocolError(f"expected details that JSON can hold, got {error}") from None


# ------------------------------------------------------------------------------------------ reading


class LineReader:
    """Reads the lines after the first ones; keeps the clock and counts hidden bytes.

    Args:
        most_hidden: highest number of hidden bytes in all lines together.
        at: time before the first line, in seconds.
    """

    __slots__ = ("_hidden", "_most", "_names", "at")

    def __init__(self, most_hidden: int = MOST_HIDDEN, at: float = 0.0) -> None:
        self.at = at
        self._hidden = 0
        self._most = most_hidden
        self._names: dict[bytes, str] = {}

    @property
    def left(self) -> int:
        """Hidden bytes that further lines may hold."""
        return self._most - self._hidden

    def read(self, line: bytes) -> Record | None:
        """Read a line without its end into a record.

        The result is ``None`` for a line that only sets the clock, an empty line, or a comment.

        Raises:
            LocalProtocolError: the line is not in this format.
        """
        kind = line[:2]
        if kind in _WAYS:
            conn, blank, text = line[2:].partition(b" ")
            if not blank:
                raise LocalProtocolError(f"expected a connection and bytes, got {shorten(line)}")
            name, data = self._names.get(conn) or self._name(conn), self._bytes(text)
            if kind == b"< ":
                return Received(at=self.at, conn=name, data=data)
            return Sent(at=self.at, conn=name, data=data)
        if kind == b"@ ":
            self._clock(line[2:])
            return None
        if kind in {b"= ", b"! "}:
            return self._words(kind, line[2:])
        if not line or line[:1] == b"#":
            return None
        raise LocalProtocolError(
            f"expected a line that begins with @ ! < > or =, got {shorten(line)}"
        )

    def _name(self, conn: bytes) -> str:
        name = self._names.get(conn)
        if name is None:
            name = "" if conn == b"-" else _text(conn)
            if len(self._names) < _MOST_NAMES:
                self._names[conn] = name
        return name

    def _clock(self, text: bytes) -> None:
        if _TIME(text) is None:
            raise LocalProtocolError(f"expected seconds since the start, got {shorten(text)}")
        at = float(text)
        if at < self.at:
            raise LocalProtocolError(f"expected a time of at least {self.at}, got {shorten(text)}")
        self.at = at

    def _words(self, kind: bytes, text: bytes) -> Record:
        parts = text.split(b" ", 2)
        if len(parts) < 2:
            raise LocalProtocolError(f"expected a connection and a name, got {shorten(text)}")
        conn, name = self._name(parts[0]), _text(parts[1])
        detail = _object(parts[2]) if len(parts) > 2 else {}
        if kind == b"! ":
            return Wished(at=self.at, name=name, conn=conn, detail=detail)
        if name == "waited":
            return Waited(at=self.at, conn=conn)
        return Happened(at=self.at, name=name, conn=conn, detail=detail)

    def _bytes(self, text: bytes) -> bytes:
        part = _PART(text) if b"\\{" in text else None
        if part is None:
            return _plain(text)
        data: list[bytes] = []
        at = 0
        while part is not None:
            shown, size = part.groups()
            data += (_plain(shown), self._unhidden(size))
            at = part.end()
            part = _PART(text, at)
        data.append(_plain(text[at:]))
        return b"".join(data)

    def _unhidden(self, digits: bytes) -> bytes:
        size = int(digits)
        if not 0 < size <= MOST_BYTES:
            raise LocalProtocolError(
                f"expected \\{{n}} with n from 1 to {MOST_BYTES}, got {shorten(digits.decode())}"
            )
        self._hidden += size
        if self._hidden > self._most:
            raise LocalProtocolError(
                f"expected at most {self._most} hidden bytes in one file, got more"
            )
        return b"." * size


def about_line(line: bytes) -> tuple[str, str]:
    """Read name and text of a ``:`` line.

    Raises:
        LocalProtocolError: the line has no name.
    """
    name, _, text = line[2:].partition(b" ")
    return _text(name), text.decode("utf-8", "replace")


def _plain(text: bytes) -> bytes:
    """Decode bytes without hidden stretches; nearly all have line ends as their only escapes."""
    if not text.translate(None, _PRINTABLE):
        data = text.replace(b"\\r\\n", b"\r\n")
        if b"\\" not in data:
            return data
        if _ESCAPED(text) is not None:
            return text.decode("unicode_escape").encode("latin-1")
    raise LocalProtocolError(
        f"expected printable ASCII with \\\\ \\r \\n \\t \\xNN or \\{{n}}, got {shorten(text)}"
    )


def _text(word: bytes) -> str:
    text = word.decode("utf-8", "replace")
    if _NAME(text) is None:
        raise LocalProtocolError(f"expected a name of one word, got {shorten(word)}")
    return text


def _object(text: bytes) -> dict[str, object]:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LocalProtocolError(f"expected a JSON object, got {shorten(text)} ({error})") from None
    if not isinstance(value, dict):
        raise LocalProtocolError(f"expected a JSON object, got {shorten(text)}")
    return cast("dict[str, object]", value)
