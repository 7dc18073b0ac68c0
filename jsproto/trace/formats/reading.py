"""One door to traces of both formats: lines go in, one by one, records come out with the numbers of
their lines.

Theory. The first line tells which format it is: a JSON object is a raw recording
(`jsproto.trace.formats.recording`), ``#jsproto-trace/`` is ours (`jsproto.trace.formats.format`).
Lines are taken as they are asked for, so a trace of any length is read in the memory of its longest
line. A fault is one `TraceError` that names its line; what was read before it has been given out
already.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Final, final

from jsproto.errors.tree import LocalProtocolError, shorten
from jsproto.trace.formats import format as own
from jsproto.trace.formats.recording import SCHEMA, Record, raw_first, raw_record

#: The longest line that is read, in bytes. Writers cut bytes into records long before.
MOST_LINE: Final = 8_388_608


class TraceError(LocalProtocolError):
    """A trace that cannot be read; ``line`` is the number of the line at fault, from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


@final
class Trace:
    """What a file says about itself, and its records while they last.

    Attributes:
        schema: ``jsproto-trace/1`` for raw recordings, ``jsproto-trace/2`` for our format.
        about: what the first lines say, texts only: ``scenario``, ``server_version``,
            ``description`` ...
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
        """Each record with the number of its line, once.

        Raises:
            TraceError: a line that cannot be read, or one that breaks off in the middle.
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
        """The next line without its end."""
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
    """The trace that these bytes are; a last line without an end is taken as broken off, as in a
    file.

    Raises:
        TraceError: the first lines are not those of a trace.
    """
    return Trace(lines_of(data))


def text_of(line: bytes) -> bytes:
    """A line without its end.

    Raises:
        LocalProtocolError: it is too long, or has no end.
    """
    if len(line) > MOST_LINE:
        raise LocalProtocolError(f"expected a line of at most {MOST_LINE} bytes, got a longer one")
    if line[-1:] != b"\n":
        raise LocalProtocolError("expected the end of the line, the file breaks off in it")
    return line.rstrip(b"\r\n")


def lines_of(data: bytes) -> Iterator[bytes]:
    """The lines in these bytes, each with its end, which is a line feed and nothing else; the last
    may have none.
    """
    start = 0
    while start < len(data):
        end = data.find(b"\n", start) + 1 or len(data)
        yield data[start:end]
        start = end
