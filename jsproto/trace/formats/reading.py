"""Reads traces of both formats: lines go in, and records come out with their line numbers.

Theory. The first line shows the format. A JSON object begins a raw recording
(`jsproto.trace.formats.recording`), ``#jsproto-trace/`` begins the format of
`jsproto.trace.formats.format`. The reader takes lines only when they are needed, so a trace of any
length needs the memory of its longest line. A fault raises one `TraceError` with its line number,
after the records before it were returned.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Final, final

from jsproto.errors.tree import LocalProtocolError, shorten
from jsproto.trace.formats import format as own
from jsproto.trace.formats.recording import SCHEMA, Record, raw_first, raw_record

#: Highest length of a line that is read, in bytes. Writers cut bytes into far smaller records.
MOST_LINE: Final = 8_388_608


class TraceError(LocalProtocolError):
    """A trace cannot be read; ``line`` is the number of the bad line, from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


@final
class Trace:
    """The description of a trace, and its records in order.

    Attributes:
        schema: ``jsproto-trace/1`` for raw recordings, ``jsproto-trace/2`` for ``.trace``.
        about: texts of the first lines, such as ``scenario``, ``server_version``, ``description``.
    """

    __slots__ = ("_lines", "_number", "about", "schema")

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._number = 0
        self._lines: Iterator[bytes] = iter(lines)
        first = self._line()
        if first is None:
            raise TraceError("expected a trace, got an empty file", 1)
        self.about: Mapping[str, str]
        if first[:1] == b"{":
            self.schema = SCHEMA
            self.about = _raw_about(first)
        elif first.startswith(own.MAGIC.encode()):
            if first != own.FIRST_LINE.encode():
                raise TraceError(
                    f"expected version {own.VERSION} of the format, got {shorten(first)}", 1
                )
            self.schema = own.FIRST_LINE[1:]
            self.about = self._own_about()
        else:
            raise TraceError(
                f"expected {own.FIRST_LINE} or a raw recording's JSON object, got {shorten(first)}",
                1,
            )

    def records(self) -> Iterator[tuple[int, Record]]:
        """Yield each record with its line number, once.

        Raises:
            TraceError: a line cannot be read, or the file ends within it.
        """
        read = raw_record if self.schema == SCHEMA else own.LineReader().read
        for line in self._lines:
            self._number += 1
            try:
                record = read(text_of(line))
            except (LocalProtocolError, ValueError, RecursionError, zlib.error) as error:
                raise TraceError(str(error), self._number) from None
            if record is not None:
                yield self._number, record

    def _line(self) -> bytes | None:
        """Read the next line without its end."""
        line = next(self._lines, None)
        if line is None:
            return None
        self._number += 1
        try:
            return text_of(line)
        except LocalProtocolError as error:
            raise TraceError(str(error), self._number) from None

    def _own_about(self) -> dict[str, str]:
        about: dict[str, str] = {}
        while (line := self._line()) is not None:
            if line[:2] != b": ":
                self._number -= 1
                self._lines = chain((line + b"\n",), self._lines)
                break
            try:
                name, text = own.about_line(line)
            except LocalProtocolError as error:
                raise TraceError(str(error), self._number) from None
            about[name] = text
        return about


def _raw_about(line: bytes) -> dict[str, str]:
    try:
        meta = raw_first(line)
    except (LocalProtocolError, ValueError, RecursionError) as error:
        raise TraceError(str(error), 1) from None
    return {name: value for name, value in meta.items() if isinstance(value, str)}


def read_trace(data: bytes) -> Trace:
    """Read a trace from bytes.

    A last line without a line feed counts as broken off, as in a file.

    Raises:
        TraceError: the first lines are not those of a trace.
    """
    return Trace(lines_of(data))


def text_of(line: bytes) -> bytes:
    """Remove the end of a line.

    Raises:
        LocalProtocolError: the line is too long, or has no end.
    """
    if len(line) > MOST_LINE:
        raise LocalProtocolError(f"expected a line of at most {MOST_LINE} bytes, got a longer one")
    if line[-1:] != b"\n":
        raise LocalProtocolError("expected the end of the line, got the end of the file")
    return line.rstrip(b"\r\n")


def lines_of(data: bytes) -> Iterator[bytes]:
    """Split bytes into lines, each with its line feed; the last one may have none."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start) + 1 or len(data)
        yield data[start:end]
        start = end
