"""Replays a trace through parsers and the Observer with three ways of cutting the bytes.

Theory. The meaning of bytes does not depend on how they were cut, so three readers of the same
records must agree after each record. One gets the bytes as they came, one gets them byte by byte,
and one gets pieces of random length. They advance together, so a trace of any length needs the
memory of one record. The first record after which they differ is the first divergence.

Of a long record only both ends are fed byte by byte, because in a stream of large payloads frames
begin and end there. Its middle is fed in small pieces. The random lengths are a fixed sequence, so
each replay gives the same result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final, cast, final

from jsproto.errors.tree import shorten
from jsproto.trace.formats.framing import client_reader, server_reader
from jsproto.trace.formats.recording import Happened, Received, Record, Sent
from jsproto.trace.observe.facts import Fact
from jsproto.trace.observe.observer import Observer
from jsproto.wire.client_commands import ClientCommandParser, MalformedCommand
from jsproto.wire.frames import Control, Err, Frame, Info
from jsproto.wire.parser import Parser

#: Highest size of a record that is fed byte by byte as a whole.
_SHORT: Final = 1024
#: Bytes at each end of a longer record that are fed byte by byte, and the size of pieces between.
_ENDS: Final = 128
_MIDDLE: Final = 251
_MOST_RANDOM: Final = 97


@final
class Divergence(Exception):  # it is what was found
    """Two ways of cutting the same bytes gave different results."""


@final
class Cuts:
    """Computes where pieces of random length end, in the same sequence each time."""

    __slots__ = ("_seed",)

    def __init__(self, seed: int = 5) -> None:
        self._seed = seed

    def __call__(self, size: int) -> Iterator[int]:
        """Yield the ends of pieces; the last one may be past ``size``."""
        at = 0
        while at < size:
            self._seed = (self._seed * 1_103_515_245 + 12_345) & 0x7FFF_FFFF
            at += 1 + (self._seed >> 8) % _MOST_RANDOM * (
                1 if size < _SHORT else 1 + size // _SHORT
            )
            yield at


@final
class Replay:
    """Three readers of one trace that advance together.

    Attributes:
        counted: number of server frames by operation.
        commands: number of client commands that were read.
        unknown: directions of links whose bytes broke the grammar: connection, ``<`` or ``>``,
            line, and reason.
    """

    __slots__ = (
        "_cuts",
        "_facts",
        "_failed",
        "_observers",
        "_readers",
        "commands",
        "counted",
        "unknown",
    )

    def __init__(self) -> None:
        self._facts: tuple[list[Fact], ...] = ([], [], [])
        self._observers = tuple(Observer(told.append) for told in self._facts)
        self._readers: dict[str, tuple[tuple[Parser, ClientCommandParser], ...]] = {}
        self._cuts = Cuts()
        self._failed: set[Parser] = set()
        self.counted: Counter[str] = Counter()
        self.commands = 0
        self.unknown: list[tuple[str, str, int, str]] = []

    @property
    def lost(self) -> list[tuple[str, str, int, str]]:
        """Those server directions in which bytes were left unread.

        A link that ended within its broken frame was read to its end, so it is not among them.
        """
        left = self._observers[0].unreadable
        return [each for each in self.unknown if each[:3] in left]

    def feed(self, line: int, record: Record) -> None:
        """Feed one record to all three readers.

        Raises:
            Divergence: they differ after the record.
        """
        if isinstance(record, Happened) and record.name == "connected":
            self._readers.pop(record.conn, None)
        ways = self._ways(record)
        for observer, pieces in zip(self._observers, ways, strict=True):
            for piece in pieces:
                observer.feed(line, piece)
        read = [self._read(record, way, pieces) for way, pieces in enumerate(ways)]
        told = [
            [(type(fact).__name__, fact.link.number) for fact in facts] for facts in self._facts
        ]
        for facts in self._facts:
            facts.clear()
        for way, name in ((1, "byte by byte"), (2, "cut at random")):
            if read[way] != read[0]:
                raise Divergence(
                    f"read {name} gives {shorten(read[way])}, as it came {shorten(read[0])}"
                )
            if told[way] != told[0]:
                raise Divergence(
                    f"observed {name} tells {shorten(told[way])}, as it came {shorten(told[0])}"
                )
        self._count(line, record, read[0])

    def _read(self, record: Record, way: int, pieces: list[Record]) -> list[object]:
        if not isinstance(record, Received | Sent):
            return []
        readers = self._readers.get(record.conn)
        if readers is None:
            readers = self._readers[record.conn] = tuple(
                (server_reader(), client_reader()) for _ in range(3)
            )
        reader = readers[way][0 if isinstance(record, Received) else 1]
        return [
            each
            for piece in pieces
            if isinstance(piece, Received | Sent)
            for each in reader.feed(piece.data)
        ]

    def _count(self, line: int, record: Record, read: list[object]) -> None:
        if isinstance(record, Received):
            self.counted.update(map(operation, cast("list[Frame]", read)))
            parser = self._readers[record.conn][0][0]
            if parser.failure is not None and parser not in self._failed:
                self._failed.add(parser)
                self.unknown.append((record.conn, "<", line, str(parser.failure)))
        elif isinstance(record, Sent):
            self.commands += len(read)
            self.unknown += [
                (record.conn, ">", line, each.text or "wrong words or sizes")
                for each in read
                if isinstance(each, MalformedCommand)
            ]

    # -------------------------------------------------------------------------------------- cutting

    def _ways(self, record: Record) -> tuple[list[Record], list[Record], list[Record]]:
        if not isinstance(record, Received | Sent):
            return [record], [record], [record]
        return (
            [record],
            _cut(record, _bytewise(len(record.data))),
            _cut(record, self._cuts(len(record.data))),
        )


def operation(frame: Frame) -> str:
    """Name the operation of a frame as it is on the wire."""
    match frame:
        case tuple():
            return "MSG" if frame[3] is None else "HMSG"
        case Info():
            return "INFO"
        case Err():
            return "-ERR"
        case _:
            return "+OK" if frame is Control.OK else frame.value


def _bytewise(size: int) -> Iterator[int]:
    if size <= _SHORT:
        yield from range(1, size + 1)
        return
    yield from range(1, _ENDS)
    yield from range(_ENDS, size - _ENDS, _MIDDLE)
    yield from range(size - _ENDS, size + 1)


def _cut(record: Received | Sent, ends: Iterator[int]) -> list[Record]:
    kind, start, pieces = type(record), 0, list[Record]()
    for end in ends:
        pieces.append(kind(at=record.at, conn=record.conn, data=record.data[start:end]))
        start = end
    return pieces
