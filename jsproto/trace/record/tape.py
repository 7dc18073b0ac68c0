"""Writes a trace while it happens: records go in, bounded text goes out to a sink.

Theory. A tape takes records from a recorder (`jsproto.trace.record.recorder`) or a tap, and writes
text to a sink. The writer redacts the records, so the sink never holds a secret. A `Room` limits
how much is written, by one tape or by several together. When the room is full, the tape writes one
last line, and ignores all later records. The recorded connection goes on undisturbed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol, final

from jsproto.errors.tree import InvalidConfig, shorten
from jsproto.trace.formats.format import record_line
from jsproto.trace.formats.recording import Happened, Record
from jsproto.trace.formats.redaction import Keep
from jsproto.trace.formats.writing import TraceWriter

#: Default limit: 1 GiB.
MOST_WRITTEN: Final = 1 << 30
#: Last event of a tape whose room is full; its detail holds the limit.
FULL: Final = "full"


class Sink(Protocol):
    """Destination of the text. It must not raise, even if it cannot write."""

    def write(self, text: str, /) -> object:
        """Append the text."""
        ...

    def close(self) -> object:
        """End the text."""
        ...


@final
class Room:
    """Number of characters that may still be written.

    Args:
        most: limit in characters, which are bytes if the descriptions are ASCII.

    Raises:
        InvalidConfig: the limit is below 1.
    """

    __slots__ = ("left", "most")

    def __init__(self, most: int = MOST_WRITTEN) -> None:
        if most < 1:
            raise InvalidConfig(f"expected room for at least one byte, got {shorten(most)}")
        self.most = most
        self.left = most

    def takes(self, text: str) -> bool:
        """Reserve room for the text, and return whether it fits.

        After a text that does not fit, the room counts as full.
        """
        fits = len(text) <= self.left
        self.left = self.left - len(text) if fits else 0
        return fits


@final
class Tape:
    """Writes one trace to a sink.

    Args:
        keep: how much of the users' data is kept.
        about: texts of the first lines.
        room: limit of what this tape, and all that share the room, may write.

    Attributes:
        running: whether records are still written.
        records: number of records that were written.

    Raises:
        LocalProtocolError: a name in ``about`` is more than one word, or a text has more than one
            line.
    """

    __slots__ = ("_room", "_sink", "_writer", "records", "running")

    def __init__(
        self,
        sink: Sink,
        *,
        keep: Keep = Keep.LENGTH,
        about: Mapping[str, str] | None = None,
        room: Room | None = None,
    ) -> None:
        self._sink = sink
        self._room = room or Room()
        self._writer = TraceWriter(keep, about)
        self.running = True
        self.records = 0
        self._room.takes(self._writer.head)  # always written: without its head a file is no trace
        sink.write(self._writer.head)

    @property
    def keep(self) -> Keep:
        """How much of the users' data is kept."""
        return self._writer.keep

    def mark_reads(self) -> None:
        """Write from now on which frames came with one read."""
        self._writer.reads = True

    def record(self, *records: Record) -> None:
        """Write records that belong together: all of them, or none if the room is full.

        A time before the last one counts as the last one.
        """
        if self.running:
            self.records += len(records)
            self._write("".join(map(self._writer.lines, records)))

    def end(self) -> None:
        """Write unfinished frames, and close the sink."""
        if self.running:
            self._write(self._writer.end())
        if self.running:
            self.running = False
            self._sink.close()

    def _write(self, text: str) -> None:
        if not text:
            return
        if self._room.takes(text):
            self._sink.write(text)
            return
        self.running = False
        self._sink.write(
            record_line(Happened(at=0.0, name=FULL, conn="", detail={"bytes": self._room.most}))
        )
        self._sink.close()
