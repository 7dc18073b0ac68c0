"""What is recorded as it happens: records go in, text comes out at a sink, and both are bounded.

Theory. A tape stands between somebody who sees bytes (`jsproto.trace.record.recorder`, a tap) and
somebody who has a file. What may be kept is the writer's to say, so the sink never holds a secret.
A `Room` is how much may be written at all, by one tape or by several together: when it is used up
the tape says so in its last line, and is silent from then on; what it watches is not disturbed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol, final

from jsproto.errors.tree import InvalidConfig, shorten
from jsproto.trace.formats.format import record_line
from jsproto.trace.formats.recording import Happened, Record
from jsproto.trace.formats.redaction import Keep
from jsproto.trace.formats.writing import TraceWriter

#: What is written if nothing else is said: 1 GiB.
MOST_WRITTEN: Final = 1 << 30
#: The event behind which nothing was recorded any more; its detail is the bound.
FULL: Final = "full"


class Sink(Protocol):
    """Where the text goes. What cannot be written is the sink's affair: it must not raise."""

    def write(self, text: str, /) -> object:
        """Keep the text behind what was kept before."""
        ...

    def close(self) -> object:
        """Nothing follows."""
        ...


@final
class Room:
    """How many characters may still be written.

    Args:
        most: characters, which are bytes where nothing but ASCII is said about a trace.

    Raises:
        InvalidConfig: not even one.
    """

    __slots__ = ("left", "most")

    def __init__(self, most: int = MOST_WRITTEN) -> None:
        if most < 1:
            raise InvalidConfig(f"expected room for at least one byte, got {shorten(most)}")
        self.most = most
        self.left = most

    def takes(self, text: str) -> bool:
        """Whether there is room for the text; then it is taken. Where something did not fit,
        nothing smaller does later.
        """
        fits = len(text) <= self.left
        self.left = self.left - len(text) if fits else 0
        return fits


@final
class Tape:
    """One trace on its way to a sink.

    Args:
        keep: what is kept of that which users wrote.
        about: what the first lines say.
        room: how much may be written, by this tape and by all that share it.

    Attributes:
        running: whether what comes is still written.
        records: how many were.

    Raises:
        LocalProtocolError: a name in ``about`` that is more than one word, or a text of more than
            one line.
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
        self._room.takes(self._writer.head)  # a file without its head would be no trace
        sink.write(self._writer.head)

    @property
    def keep(self) -> Keep:
        """What is kept of that which users wrote."""
        return self._writer.keep

    def mark_reads(self) -> None:
        """Say from here on which frames came with one read."""
        self._writer.reads = True

    def record(self, *records: Record) -> None:
        """Write records that belong together: all of them in one piece, or none where the room
        ends. Time never runs back.
        """
        if self.running:
            self.records += len(records)
            self._write("".join(map(self._writer.lines, records)))

    def end(self) -> None:
        """Nothing follows."""
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
