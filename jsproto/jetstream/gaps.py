"""Finds gaps in the consumer sequence: messages that the server sent and the client did not get.

Theory. A consumer numbers its deliveries 1, 2, 3, ... without holes; redeliveries count as well.
The stream sequence may jump (filters, deletes). So only the consumer sequence shows a gap: a
delivery is not the next one, or a heartbeat names a later delivery than the last that arrived. A
heartbeat tells what the server has *sent*. So the client compares it only after it has processed
everything that came before it.

A pull consumer may have other readers; their deliveries look like a gap here. So only a user whose
client is the only reader can enable this check. The detector of an ordered consumer starts at 1.
For an existing consumer it starts with the first delivery that it sees.
"""

from __future__ import annotations

from typing import ClassVar, Final, NamedTuple

from jsproto.core.state import PLAIN, Codecs, Snapshottable
from jsproto.jetstream.api.timestamps import UINT64_MAX
from jsproto.wire.headers import header_value

#: Number of digits of the largest uint64.
_MOST_DIGITS: Final = 20


class Gap(NamedTuple):
    """Deliveries that are missing: from ``expected`` up to, without, ``seen``.

    ``seen`` is the sequence that arrived; for a heartbeat it is the named sequence plus one.
    """

    expected: int
    seen: int

    @property
    def missing(self) -> int:
        """Number of missing deliveries; negative if the server restarted the numbering."""
        return self.seen - self.expected


def sequence_of(block: bytes, name: bytes) -> int | None:
    """The sequence in a header of a status.

    Returns:
        ``None`` if the header is missing or is no uint64 in decimal digits.
    """
    text = header_value(block, name)
    if text is None or len(text) > _MOST_DIGITS or not (text.isascii() and text.isdigit()):
        return None
    number = int(text)
    return number if number <= UINT64_MAX else None


class GapDetector(Snapshottable):
    """Checks that each delivery has the next consumer sequence.

    Attributes:
        expected: the next consumer sequence; 0 if unknown.
    """

    __slots__ = ("expected",)

    STATE: ClassVar[Codecs] = {"expected": PLAIN}

    def __init__(self, expected: int = 0) -> None:
        self.expected = expected

    def run(self, first: int, last: int, count: int) -> Gap | None:
        """Check a run of ``count`` deliveries with these first and last sequences.

        After a gap the detector continues after the run.
        """
        expected = self.expected or first
        self.expected = last + 1
        if first != expected:
            return Gap(expected, first)
        if last - first + 1 != count:
            return Gap(first + count, last + 1)
        return None

    def heartbeat(self, last: int) -> Gap | None:
        """Check a heartbeat that names the last delivery, after all frames that came before it."""
        expected = self.expected
        if not expected:
            self.expected = last + 1
            return None
        if last >= expected:
            self.expected = last + 1
            return Gap(expected, last + 1)
        return None

    def restart(self, expected: int = 0) -> None:
        """Restart with a new numbering."""
        self.expected = expected
