"""Parse the bytes of a server, in any pieces, into frames; the parser never raises.

Theory. ``feed`` takes the bytes of one read and returns every frame that is complete now. A frame
comes out with its last byte, wherever the stream was cut. The parser holds an unfinished rest. This
is either a control line without its LF, or a message whose payload is incomplete (:class:`_Body`).
The parser counts the bytes of a payload and never scans them; CR LF must follow the payload.

Damage is final. The frames before the damage are returned, :attr:`Parser.failure` is set, and every
later ``feed`` returns ``[]``: after a wrong size no later byte has a meaning.

Three paths give the same frames; tests compare them.

- `jsproto.wire.batch_parser` reads a long segment of messages of one form by columns. After each
  failed try in a row the parser waits twice as long before the next one.
- The loop in ``feed`` reads the usual form of a message line: single blanks and CR LF. It uses
  find, decode and split, and looks numbers up in a table. A number found in the table needs no
  other check.
- :meth:`Parser._line` knows the whole grammar and reads every other line: tabs, runs of blanks, LF
  alone, lower case, bytes that are not UTF-8, other operations, damage.

The grammar is that of the server's own parser (server/parser.go). Blanks and tabs separate words in
runs, so two blanks before the size mean no reply subject. A sid is digits unless ``any_sid`` is
set.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, final

from jsproto.errors.tree import LocalProtocolError, RemoteProtocolError, shorten
from jsproto.wire import batch_parser
from jsproto.wire.frames import Control, Delivery, Err, Frame
from jsproto.wire.info import parse_info

#: Texts of the most frequent numbers. A text in the table is known to be ASCII digits within
#: bounds.
_SMALL: Final = {str(number): number for number in range(1024)}
#: Sizes at the end of a line, with the CR. One look-up checks both the number and the line end.
_SMALL_CR: Final = {f"{number}\r": number for number in range(2049)}
#: Most digits of a number: 10**15 bytes exceed any payload and stay below every integer limit.
_MAX_DIGITS: Final = 15
_ANY_SIZE: Final = 10**_MAX_DIGITS
#: Number of pieces of a payload that are kept as they are. Later pieces smaller than ``_PIECE``
#: bytes are collected first, so that tiny segments do not cost more memory than their bytes.
_PIECES: Final = 64
_PIECE: Final = 16_384
#: Failed tries in a row after which the pause grows no more: it is 63 segments then.
_MISSES: Final = 6
_BLANK: Final = " \t"
_BLANKS: Final = re.compile(r"[ \t]+")
_SNAPSHOT: Final = 1


@final
class Parser:
    """Incremental parser of the bytes that arrive on one connection.

    Args:
        max_control_line: most bytes before the LF of any line but INFO (the server's own limit is
            4096 by default).
        max_info: most bytes before the LF of INFO.
        max_payload: most bytes of header block and payload of one message together. It may be
            changed at any time; it applies when a control line is parsed.
        max_header: most bytes of one header block; JetStream stores at most 64 kB.
        any_sid: accept any token as a sid, as other clients choose them; else 1 to 15 digits.

    Attributes:
        failure: the error that ended the parser, or ``None``.
    """

    __slots__ = (
        "_body",
        "_held",
        "_misses",
        "_resting",
        "any_sid",
        "failure",
        "max_control_line",
        "max_header",
        "max_info",
        "max_payload",
    )

    def __init__(
        self,
        *,
        max_control_line: int = 8192,
        max_info: int = 65_536,
        max_payload: int = 67_108_864,
        max_header: int = 1_048_576,
        any_sid: bool = False,
    ) -> None:
        self.max_control_line = max_control_line
        self.max_info = max_info
        self.max_payload = max_payload
        self.max_header = max_header
        self.any_sid = any_sid
        self.failure: RemoteProtocolError | None = None
        self._held = bytearray()
        self._body: _Body | None = None
        self._misses = 0
        self._resting = 0

    def feed(self, data: bytes) -> list[Frame]:
        """Return every frame that these bytes complete, in order. Never raises: see `failure`."""
        frames: list[Frame] = []
        if self.failure is not None:
            return frames
        size = len(data)
        pos = 0
        if self._body is not None or self._held:
            pos = self._resumed(data, frames)
            if pos == size:  # the frame is still incomplete, or it ended with the data
                return frames
        if size - pos >= batch_parser.WORTH:
            pos = self._columns(data, pos, frames)
        find = data.find
        append = frames.append
        max_line = self.max_control_line
        max_payload = self.max_payload
        max_header = self.max_header
        tabs = b"\t" in data
        while pos < size:
            end = find(b"\n", pos)
            if end < 0 or end - pos > max_line:
                pos = self._odd_line(data, pos, end, frames)
                continue
            start = end + 1
            try:
                line = data[pos:end].decode()
            except UnicodeDecodeError:
                pos = self._line(data[pos:start], data, start, frames)
                continue
            words = line.split(" ")
            count = len(words)
            block = None
            if count == 5:
                op, subject, sid, reply, text = words
                if op != "MSG":
                    if op == "HMSG":
                        reply, block = "", reply
                    else:
                        subject = ""
            elif count == 6:
                op, subject, sid, reply, block, text = words
                if op != "HMSG":
                    subject = ""
            elif count == 4:
                op, subject, sid, text = words
                reply = ""
                if op != "MSG":
                    subject = ""
            else:
                pos = self._line(data[pos:start], data, start, frames)
                continue
            if subject and not (tabs and "\t" in line) and (sid in _SMALL or self._is_sid(sid)):
                try:
                    total = _SMALL_CR[text]
                except KeyError:
                    total = _number_cr(text)
                if block is None:
                    stop = start + total
                    if data[stop : stop + 2] == b"\r\n" and 0 <= total <= max_payload:
                        append((sid, subject, reply, None, data[start:stop]))
                        pos = stop + 2
                        continue
                    header = 0
                else:
                    header = _SMALL[block] if block in _SMALL else _number(block)
                if 0 <= header <= total <= max_payload and header <= max_header:
                    stop = start + total
                    if data[stop : stop + 2] != b"\r\n":
                        body = _Body(
                            data[pos:start],
                            (sid, subject, reply),
                            None if block is None else header,
                            total,
                        )
                        pos = self._payload(body, data, start, frames)
                        continue
                    middle = start + header
                    append((sid, subject, reply, data[start:middle], data[middle:stop]))
                    pos = stop + 2
                    continue
            pos = self._line(data[pos:start], data, start, frames)
        return frames

    def _columns(self, data: bytes, pos: int, frames: list[Frame]) -> int:
        """Read messages by columns as far as possible; return the position after them.

        Each failed try in a row doubles the number of segments until the next try.
        """
        if self._resting:
            self._resting -= 1
            return pos
        while len(data) - pos >= batch_parser.WORTH:
            found = batch_parser.read(
                data,
                pos,
                max_line=self.max_control_line,
                max_payload=self.max_payload,
                is_sid=self._is_sid,
            )
            if found is None:
                self._misses = min(self._misses + 1, _MISSES)
                self._resting = (1 << self._misses) - 1
                break
            self._misses = 0
            frames += found[0]
            pos = found[1]
        return pos

    # -------------------------------------------------------------------------------------- state

    @property
    def held(self) -> int:
        """Number of bytes that were fed and belong to no frame yet."""
        return len(self._held) if self._body is None else len(self._body.line) + self._body.arrived

    def snapshot(self) -> dict[str, object]:
        """Return the state as plain data: the held bytes and the failure, but not the limits."""
        held = bytes(self._held) if self._body is None else self._body.line + self._body.joined()
        return {
            "v": _SNAPSHOT,
            "held": held,
            "failure": None if self.failure is None else str(self.failure),
        }

    def restore(self, data: Mapping[str, object]) -> None:
        """Continue from the state of a snapshot.

        Raises:
            LocalProtocolError: the data is not a snapshot of this version; nothing has changed.
        """
        held, failure = data.get("held"), data.get("failure")
        if (
            data.get("v") != _SNAPSHOT
            or not isinstance(held, bytes)
            or not isinstance(failure, str | None)
        ):
            raise LocalProtocolError(
                f"expected a parser snapshot of version {_SNAPSHOT}, got {shorten(dict(data))}"
            )
        self._body = None
        self._held.clear()
        self.failure = None
        limits = self.max_payload, self.max_header
        self.max_payload = self.max_header = (
            _ANY_SIZE  # the held bytes were checked when they arrived
        )
        self.feed(held)
        self.max_payload, self.max_header = limits
        self.failure = None if failure is None else RemoteProtocolError(failure)

    # -------------------------------------------------------------------------------- incomplete
    # input

    def _resumed(self, data: bytes, frames: list[Frame]) -> int:
        """Continue the held input; return the position after it.

        If it is still incomplete, this is the end of ``data``.
        """
        if self._body is not None:
            return self._payload(self._body, data, 0, frames)
        return self._odd_line(data, 0, data.find(b"\n"), frames)

    def _odd_line(self, data: bytes, pos: int, end: int, frames: list[Frame]) -> int:
        """Read a line that began earlier or is long; hold it if it has no LF yet (``end`` < 0)."""
        length = len(self._held) + (len(data) if end < 0 else end) - pos
        if end < 0 and length <= self.max_control_line and length <= self.max_info:
            self._held += data[pos:]
            return len(data)
        head = (bytes(self._held[:4]) + data[pos : pos + 4])[:4]
        bound = self.max_info if head.upper() == b"INFO" else self.max_control_line
        if length > bound:
            return self._failed(
                f"a line of at most {bound} bytes", f"{length} bytes after {head!r}", data
            )
        if end < 0:
            self._held += data[pos:]
            return len(data)
        line = bytes(self._held) + data[pos : end + 1]
        self._held.clear()
        return self._line(line, data, end + 1, frames)

    def _payload(self, body: _Body, data: bytes, pos: int, frames: list[Frame]) -> int:
        stop = pos + body.missing
        if stop > len(data):
            body.hold(data[pos:])
            self._body = body
            return len(data)
        self._body = None
        delivery = body.delivery(data, pos, stop)
        if delivery is None:
            return self._failed("CR LF after the announced payload", shorten(body.line), data)
        frames.append(delivery)
        return stop

    def _failed(self, expected: str, seen: str, data: bytes) -> int:
        """Set the failure, after which nothing is parsed any more."""
        self.failure = RemoteProtocolError(f"expected {expected}, got {seen}")
        return len(data)

    # ------------------------------------------------------------------------------- the whole
    # grammar

    def _line(self, line: bytes, data: bytes, start: int, frames: list[Frame]) -> int:
        """Parse one control line with its LF; return the position after its payload.

        The payload begins at ``start`` of ``data``.
        """
        op = line[:4].upper()
        text = line[:-1].removesuffix(b"\r").decode("utf-8", "surrogateescape")
        if op[:3] == b"MSG" and text[3:4] in _BLANK:
            return self._message(line, _BLANKS.split(text[3:].strip(_BLANK)), data, start, frames)
        if op == b"HMSG" and text[4:5] in _BLANK:
            return self._message(line, _BLANKS.split(text[4:].strip(_BLANK)), data, start, frames)
        if op == b"INFO":
            return self._info(line[4:], data, start, frames)
        if op == b"-ERR":
            frames.append(Err(_unquoted(text[4:])))
        elif op == b"PING":
            frames.append(Control.PING)
        elif op == b"PONG":
            frames.append(Control.PONG)
        elif op[:3] == b"+OK":
            frames.append(Control.OK)
        else:
            return self._failed("INFO, MSG, HMSG, PING, PONG, +OK or -ERR", shorten(text), data)
        return start

    def _info(self, text: bytes, data: bytes, start: int, frames: list[Frame]) -> int:
        try:
            frames.append(parse_info(text))
        except RemoteProtocolError as error:
            self.failure = error
            return len(data)
        return start

    def _message(
        self, line: bytes, words: list[str], data: bytes, start: int, frames: list[Frame]
    ) -> int:
        headers = line[:1] in b"Hh"
        if len(words) not in ((4, 5) if headers else (3, 4)):
            form = (
                "HMSG <subject> <sid> [reply] <header> <total>"
                if headers
                else "MSG <subject> <sid> [reply] <size>"
            )
            return self._failed(form, shorten(line), data)
        subject, sid, total = words[0], words[1], _number(words[-1])
        block = _number(words[-2]) if headers else 0
        reply = words[2] if len(words) == 4 + headers else ""
        if not self._is_sid(sid):
            return self._failed(f"a sid of 1 to {_MAX_DIGITS} digits", shorten(line), data)
        if total < 0 or block < 0 or block > total:
            return self._failed(
                f"sizes of 1 to {_MAX_DIGITS} digits, header within total", shorten(line), data
            )
        if total > self.max_payload:
            return self._failed(
                f"a message of at most {self.max_payload} bytes", f"{total} announced", data
            )
        if block > self.max_header:
            return self._failed(
                f"a header block of at most {self.max_header} bytes", f"{block} announced", data
            )
        body = _Body(line, (sid, subject, reply), block if headers else None, total)
        return self._payload(body, data, start, frames)

    def _is_sid(self, sid: str) -> bool:
        return _number(sid) >= 0 or (self.any_sid and sid != "")


@final
class _Body:
    """A message whose payload is incomplete: its control line, its fields, the pieces so far."""

    __slots__ = ("arrived", "block", "line", "missing", "names", "pieces", "small")

    def __init__(
        self, line: bytes, names: tuple[str, str, str], block: int | None, total: int
    ) -> None:
        self.line = line
        self.names = names
        self.block = block
        self.missing = total + 2
        self.arrived = 0
        self.pieces: list[bytes] = []
        self.small = bytearray()

    def hold(self, piece: bytes) -> None:
        """Keep a piece of the payload.

        Many small pieces are collected, so that the memory in use stays near the payload's size.
        """
        self.missing -= len(piece)
        self.arrived += len(piece)
        if len(self.pieces) < _PIECES:
            self.pieces.append(piece)
        elif len(piece) < _PIECE:
            self.small += piece
            if len(self.small) >= _PIECE:
                self._gathered()
        else:
            self._gathered()
            self.pieces.append(piece)

    def _gathered(self) -> None:
        if self.small:
            self.pieces.append(bytes(self.small))
            self.small.clear()

    def joined(self, rest: bytes = b"") -> bytes:
        """Return all bytes that arrived, followed by ``rest``."""
        return b"".join((*self.pieces, self.small, rest))

    def delivery(self, data: bytes, pos: int, stop: int) -> Delivery | None:
        """Return the message that ends at ``stop``, or ``None`` if it does not end with CR LF."""
        if stop - pos >= 2:
            line_end, whole = data[stop - 2 : stop], self.joined(data[pos : stop - 2])
            self.pieces.clear()  # never hold three copies of a payload
        else:  # the CR arrived earlier
            whole = self.joined(data[pos:stop])
            self.pieces.clear()
            line_end, whole = whole[-2:], whole[:-2]
        if line_end != b"\r\n":
            return None
        sid, subject, reply = self.names
        if self.block is None:
            return sid, subject, reply, None, whole
        return sid, subject, reply, whole[: self.block], whole[self.block :]


def _number(text: str) -> int:
    """Return the number of 1 to 15 ASCII digits, or -1 for any other text."""
    return int(text) if text.isdigit() and len(text) <= _MAX_DIGITS and text.isascii() else -1


def _number_cr(text: str) -> int:
    """Return the number before a CR, or -1. ``int`` ignores the CR, as it does a blank."""
    digits = text[:-1]
    sound = (
        digits.isdigit() and text[-1] == "\r" and len(digits) <= _MAX_DIGITS and digits.isascii()
    )
    return int(text) if sound else -1


def _unquoted(text: str) -> str:
    """Remove blanks and one quote on either side."""
    return text.strip(_BLANK).removeprefix("'").removesuffix("'").strip(_BLANK)
