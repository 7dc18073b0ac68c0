"""The parser: bytes of the server in any pieces, frames out; it never raises and never guesses.

Theory. ``feed`` takes what a read gave and returns every frame that is complete with it. A frame
comes out with its last byte, however the stream was cut. What is unfinished is held: either a
control line without its LF, or a message whose announced bytes are not all there (:class:`_Body`).
Payloads are counted, never scanned; the two bytes behind them must be CR LF.

Damage latches. The frames before it are returned, :attr:`Parser.failure` is set, and every later
``feed`` gives ``[]``: after a wrong count nothing that follows has a meaning.

Three paths give the same frames. A long segment of messages of one form is read by columns
(`jsproto.wire.batch_parser`); where that was tried in vain it is tried again later and later. The
loop in ``feed`` takes the usual line of a message, single blanks and CR LF, by find, decode and
split, and looks its numbers up in a table of texts that are numbers: what is in the table needs no
further check. A line that is anything else (tabs, runs of blanks, LF alone, lower case, bytes that
are no UTF-8, other operations, damage) goes to :meth:`Parser._line`, which knows the whole grammar.
Tests hold the three equal.

The grammar is that of the server's own parser (server/parser.go): blanks and tabs separate in runs,
so two blanks before the size are an absent reply. A sid is digits unless ``any_sid``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, final

from jsproto.errors.tree import LocalProtocolError, RemoteProtocolError, shorten
from jsproto.wire import batch_parser
from jsproto.wire.frames import Control, Delivery, Err, Frame
from jsproto.wire.info import parse_info

#: Texts of the numbers that nearly every line carries. Membership is the check: ASCII digits, in
#: bounds.
_SMALL: Final = {str(number): number for number in range(1024)}
#: Sizes at the end of a line, with its CR: one look-up checks number and line end.
_SMALL_CR: Final = {f"{number}\r": number for number in range(2049)}
#: B131: so many digits at most; 10**15 bytes is beyond any payload and below every integer limit.
_MAX_DIGITS: Final = 15
_ANY_SIZE: Final = 10**_MAX_DIGITS
#: Behind the first pieces of a payload, small ones are gathered: a peer of tiny segments costs no
#: more than its bytes.
_PIECES: Final = 64
_PIECE: Final = 16_384
#: Misses in a row that still make the rest longer: 63 segments.
_MISSES: Final = 6
_BLANK: Final = " \t"
_BLANKS: Final = re.compile(r"[ \t]+")
_SNAPSHOT: Final = 1


@final
class Parser:
    """Incremental parser of one link's inbound bytes.

    Args:
        max_control_line: bytes before the LF of any line but INFO (the server's own limit is 4096
            by default).
        max_info: bytes before the LF of INFO.
        max_payload: header block and payload together of one message, in bytes. May be set anew at
            any time; it is judged when a control line is read.
        max_header: bytes of one header block; JetStream stores at most 64 kB.
        any_sid: a sid may be any token, as foreign clients choose them; else 1 to 15 digits.

    Attributes:
        failure: why the stream makes no sense any more, or ``None``.
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
        """Every frame that these bytes complete, in order. Never raises: see :attr:`failure`."""
        frames: list[Frame] = []
        if self.failure is not None:
            return frames
        size = len(data)
        pos = 0
        if self._body is not None or self._held:
            pos = self._resumed(data, frames)
            if pos == size:  # a piece, or the last of one
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
        """Read what can be read by columns; the position behind it. Each miss in a row doubles the
        rest before the next try.
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

    # ------------------------------------------------------------------------------------------ state

    @property
    def held(self) -> int:
        """Bytes that were fed and belong to no frame yet."""
        return len(self._held) if self._body is None else len(self._body.line) + self._body.arrived

    def snapshot(self) -> dict[str, object]:
        """The state as plain data: the bytes held and the failure. Limits are configuration and not
        in it.
        """
        held = bytes(self._held) if self._body is None else self._body.line + self._body.joined()
        return {
            "v": _SNAPSHOT,
            "held": held,
            "failure": None if self.failure is None else str(self.failure),
        }

    def restore(self, data: Mapping[str, object]) -> None:
        """Go on where the parser of this snapshot stood.

        Raises:
            LocalProtocolError: the data is no snapshot of this version; nothing changed.
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
        self.max_payload = self.max_header = _ANY_SIZE  # what is held was judged when it came
        self.feed(held)
        self.max_payload, self.max_header = limits
        self.failure = None if failure is None else RemoteProtocolError(failure)

    # ------------------------------------------------------------------------------------------ what is cut

    def _resumed(self, data: bytes, frames: list[Frame]) -> int:
        """Complete what is held; the position behind it, or the end of ``data`` if it is unfinished
        still.
        """
        if self._body is not None:
            return self._payload(self._body, data, 0, frames)
        return self._odd_line(data, 0, data.find(b"\n"), frames)

    def _odd_line(self, data: bytes, pos: int, end: int, frames: list[Frame]) -> int:
        """A line that began earlier, or is long, or has no LF yet (``end`` < 0) and so is held."""
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
            return self._failed("CR LF behind the announced payload", shorten(body.line), data)
        frames.append(delivery)
        return stop

    def _failed(self, expected: str, seen: str, data: bytes) -> int:
        """Latch: nothing that follows can be read."""
        self.failure = RemoteProtocolError(f"expected {expected}, got {seen}")
        return len(data)

    # ------------------------------------------------------------------------------------------ the whole grammar

    def _line(self, line: bytes, data: bytes, start: int, frames: list[Frame]) -> int:
        """One control line with its LF, its payload at ``start`` of ``data``; the position behind
        both.
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
    """A message whose payload is not all there: its line, what the line said, and the pieces so
    far.
    """

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
        """Keep a piece. Many small ones are gathered, so that the memory for a payload stays near
        its size.
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
        """All that arrived, and ``rest``."""
        return b"".join((*self.pieces, self.small, rest))

    def delivery(self, data: bytes, pos: int, stop: int) -> Delivery | None:
        """The message that ends at ``stop`` of ``data``, or ``None`` if it does not end with CR LF."""
        if stop - pos >= 2:
            line_end, whole = data[stop - 2 : stop], self.joined(data[pos : stop - 2])
            self.pieces.clear()  # at no time are there three copies of a payload
        else:  # the CR came before
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
    """The number, or -1: 1 to 15 ASCII digits and nothing else (B131)."""
    return int(text) if text.isdigit() and len(text) <= _MAX_DIGITS and text.isascii() else -1


def _number_cr(text: str) -> int:
    """The same with the CR behind it, which ``int`` takes for a blank."""
    digits = text[:-1]
    sound = (
        digits.isdigit() and text[-1] == "\r" and len(digits) <= _MAX_DIGITS and digits.isascii()
    )
    return int(text) if sound else -1


def _unquoted(text: str) -> str:
    """B134: blanks and one quote removed on either side."""
    return text.strip(_BLANK).removeprefix("'").removesuffix("'").strip(_BLANK)
