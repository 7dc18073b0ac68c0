"""Parse the commands that a client sends to a server, from bytes in any pieces.

The server of `jsproto.testing` and the trace tools use it. The parser knows the grammar only: the
server's session decides whether a client may send a command. A violation of the grammar ends the
parser for good with one :class:`MalformedCommand`. It carries the -ERR text, or ``""`` where
nats-server closes the connection without an -ERR.

Runs of blanks and tabs separate tokens. Operations are case-insensitive. A line ends at LF, with or
without CR. Text after PING and PONG is ignored. The line announces the size of a payload, and CR LF
must follow the payload (nats-server ``parser.go``).
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Final, NamedTuple, TypeAlias

#: Most bytes of the arguments of one line: subject, reply and sizes of a PUB, or the JSON of
#: CONNECT (server option ``max_control_line``).
MAX_CONTROL_LINE: Final = 4096
#: Most bytes of header block and payload together (server option ``max_payload``).
MAX_PAYLOAD: Final = 1_048_576
#: A number with more digits exceeds any payload; it is rejected before it is converted.
_MAX_DIGITS: Final = 10

UNKNOWN_OPERATION: Final = "Unknown Protocol Operation"
MAX_CONTROL_LINE_EXCEEDED: Final = "maximum control line exceeded"
MAX_PAYLOAD_VIOLATION: Final = "Maximum Payload Violation"

#: The usual form of a PUB line. The caller still checks its sizes against the limits.
_PUB: Final = re.compile(rb"PUB (\S+(?: \S+)?) ([0-9]{1,%d})\r\n" % _MAX_DIGITS)
#: Beginnings of a line that may become a publish.
_PUBLISHES: Final = (b"PUB ", b"HPUB ")
_PAYLOAD_OPS: Final = frozenset({b"PUB", b"HPUB"})
#: Number of names of a publish: a subject, or a subject and a reply.
_NAMES: Final = (1, 2)
_OPS: Final = (b"PUB", b"HPUB", b"SUB", b"UNSUB", b"PING", b"PONG", b"CONNECT", b"+OK", b"-ERR")


class ClientVerb(Enum):
    """Commands without arguments."""

    PING = "PING"
    PONG = "PONG"
    #: ``+OK`` and ``-ERR`` of a client: accepted and without effect.
    NOTHING = "NOTHING"


class ConnectLine(NamedTuple):
    """CONNECT with its JSON text, not parsed."""

    body: bytes


class PubLine(NamedTuple):
    """PUB (``block`` is ``None``) or HPUB; ``reply`` is ``""`` when there is none."""

    subject: str
    reply: str
    block: bytes | None
    payload: bytes


class SubLine(NamedTuple):
    """SUB; ``queue`` is ``""`` when there is none."""

    subject: str
    queue: str
    sid: str


class UnsubLine(NamedTuple):
    """UNSUB; a ``limit`` of 0 ends the subscription at once."""

    sid: str
    limit: int


class MalformedCommand(NamedTuple):
    """The client violated the grammar: send -ERR with ``text`` unless it is empty, then close."""

    text: str


ClientCommand: TypeAlias = (
    ConnectLine | PubLine | SubLine | UnsubLine | ClientVerb | MalformedCommand
)


class ClientCommandParser:
    """Incremental parser of the bytes that one client sends."""

    __slots__ = (
        "_awaited",
        "_dead",
        "_held",
        "_max_line",
        "_max_payload",
        "_open",
        "_partial",
        "_size",
    )

    def __init__(
        self, *, max_payload: int = MAX_PAYLOAD, max_control_line: int = MAX_CONTROL_LINE
    ) -> None:
        self._max_payload = max_payload
        self._max_line = max_control_line
        #: The pieces of an incomplete command, and their size in bytes.
        self._held: list[bytes] = []
        self._size = 0
        #: The PUB or HPUB whose payload is incomplete: subject, reply, header length (-1 for PUB),
        #: total.
        self._partial: tuple[str, str, int, int] | None = None
        #: Do not join the pieces before this many bytes are there. This keeps the cost of a large
        #: payload in small pieces linear.
        self._awaited = 0
        #: The held bytes begin a publish whose line has no LF yet and is within its limit.
        self._open = False
        self._dead = False

    @property
    def held(self) -> int:
        """Number of bytes that belong to an incomplete command."""
        return self._size

    def feed(self, data: bytes) -> list[ClientCommand]:
        """Return the commands that these bytes complete, in order.

        After a :class:`MalformedCommand` the result is always empty.
        """
        if self._dead:
            return []
        self._held.append(data)
        self._size += len(data)
        if self._size < self._awaited or (
            self._open and self._size <= self._max_line and b"\n" not in data
        ):
            return []
        buffer = b"".join(self._held)
        commands: list[ClientCommand] = []
        at = 0
        try:
            at = self._read(buffer, commands)
        except _BrokenError as broken:
            commands.append(MalformedCommand(broken.text))
            self._dead, self._partial = True, None
            self._held, self._size = [], 0
            return commands
        left = buffer[at:]
        self._held, self._size = [left] if left else [], len(left)
        return commands

    def _read(self, buffer: bytes, commands: list[ClientCommand]) -> int:
        at, end = 0, len(buffer)
        self._awaited = 0
        self._open = False
        while True:
            partial = self._partial
            if partial is not None:
                name, reply, header, total = partial
                stop = at + total
                if buffer[stop : stop + 2] != b"\r\n":
                    self._check_tail(buffer, stop)
                    # One byte more than the payload can already show that no CR LF follows it.
                    self._awaited = total + 1
                    return at
                middle = at + max(0, header)
                block = None if header < 0 else buffer[at:middle]
                commands.append(PubLine(name, reply, block, buffer[middle:stop]))
                at = stop + 2
                self._partial = None
                continue
            if at == end:
                return at
            usual = _PUB.match(buffer, at)
            if usual is not None:
                names, digits = usual.groups()
                start = usual.end()
                stop = start + int(digits)
                fits = stop - start <= self._max_payload and start - at <= self._max_line
                if fits and buffer[stop : stop + 2] == b"\r\n":
                    subject, _, answer = names.decode("utf-8", "surrogateescape").partition(" ")
                    commands.append(PubLine(subject, answer, None, buffer[start:stop]))
                    at = stop + 2
                    continue
            lf = buffer.find(b"\n", at)
            if lf < 0:
                self._open = buffer.startswith(_PUBLISHES, at) and end - at <= self._max_line
                if not self._open:
                    self._check_beginning(buffer[at : at + self._max_line + 16])
                return at
            line = buffer[at : lf - 1] if lf > at and buffer[lf - 1] == 0x0D else buffer[at:lf]
            at = lf + 1
            command = self._line(line)
            if command is not None:
                commands.append(command)

    def _line(self, line: bytes) -> ClientCommand | None:
        op, _, arguments = line.replace(b"\t", b" ").partition(b" ")
        op = op.upper()
        if len(arguments) > self._max_line:
            raise _BrokenError(MAX_CONTROL_LINE_EXCEEDED)
        if op in _PAYLOAD_OPS:
            self._partial = self._publish(arguments.split(), headers=op == b"HPUB")
            return None
        if op == b"SUB":
            return _subscribe(arguments.split())
        if op == b"UNSUB":
            return _unsubscribe(arguments.split())
        if op.startswith(b"PING"):
            return ClientVerb.PING
        if op.startswith(b"PONG"):
            return ClientVerb.PONG
        if op == b"CONNECT":
            return ConnectLine(arguments.strip())
        if op.startswith((b"+OK", b"-ERR")):
            return ClientVerb.NOTHING
        raise _BrokenError(UNKNOWN_OPERATION)

    def _publish(self, words: list[bytes], *, headers: bool) -> tuple[str, str, int, int]:
        names = len(words) - (2 if headers else 1)
        if names not in _NAMES:
            raise _BrokenError("")
        total = _number(words[-1])
        header = _number(words[-2]) if headers else -1
        if header > total:
            raise _BrokenError("")
        if total > self._max_payload:
            raise _BrokenError(MAX_PAYLOAD_VIOLATION)
        reply = _text(words[1]) if names == 2 else ""
        return _text(words[0]), reply, header, total

    def _check_tail(self, buffer: bytes, at: int) -> None:
        """Check that the bytes after a payload are CR LF, as far as they have arrived."""
        if not b"\r\n".startswith(buffer[at : at + 2]):
            raise _BrokenError(UNKNOWN_OPERATION)

    def _check_beginning(self, start: bytes) -> None:
        """Check a line without LF: it must be able to become an operation within the limit."""
        op, blank, arguments = start.replace(b"\t", b" ").partition(b" ")
        word = op.upper().rstrip(b"\r")
        known = any(each.startswith(word) for each in _OPS) or word.startswith(
            (b"PING", b"PONG", b"+OK", b"-ERR")
        )
        if not known or (blank and not any(word.startswith(each) for each in _OPS)):
            raise _BrokenError(UNKNOWN_OPERATION)
        if len(arguments) > self._max_line or len(op) > self._max_line:
            raise _BrokenError(MAX_CONTROL_LINE_EXCEEDED)


class _BrokenError(Exception):
    """Carries the -ERR text out of a nested call of ``feed``."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def _subscribe(words: list[bytes]) -> SubLine:
    if len(words) == 2:
        return SubLine(_text(words[0]), "", _text(words[1]))
    if len(words) == 3:
        return SubLine(_text(words[0]), _text(words[1]), _text(words[2]))
    raise _BrokenError("")


def _unsubscribe(words: list[bytes]) -> UnsubLine:
    if len(words) == 1:
        return UnsubLine(_text(words[0]), 0)
    if len(words) == 2:
        try:
            return UnsubLine(_text(words[0]), _number(words[1]))
        except _BrokenError:
            # A limit that is no number counts as absent: the subscription ends at once
            # (nats-server ``processUnsub``).
            return UnsubLine(_text(words[0]), 0)
    raise _BrokenError("")


def _number(word: bytes) -> int:
    if not word.isdigit() or len(word) > _MAX_DIGITS:
        raise _BrokenError("")
    return int(word)


def _text(word: bytes) -> str:
    """Decode a name. A subject need not be UTF-8; other bytes become surrogate escapes."""
    return word.decode("utf-8", "surrogateescape")
