"""Gaps in the consumer sequence: a message that the server has sent to us and that never came.

Theory. A consumer numbers its deliveries 1, 2, 3, ... without holes, redeliveries included; the
stream sequence may jump (filters, deletes). So a gap is seen from the consumer sequence alone: a
delivery that is not the next one, or a heartbeat that names a later last delivery than the one that
came. A heartbeat says what was *sent*, so it may only be compared after everything in front of it
has been.

A pull consumer may have other readers, and what they got looks like a gap here; only who knows to
be alone can ask for this watch. The guard of an ordered consumer starts at 1, that of an existing
consumer with the first delivery that it sees.
"""

from __future__ import annotations

from typing import ClassVar, Final, NamedTuple

from jsproto.core.state import PLAIN, Codecs, Snapshottable
from jsproto.jetstream.api.timestamps import UINT64_MAX
from jsproto.wire.headers import header_value

#: So many has the largest uint64.
_MOST_DIGITS: Final = 20


class Gap(NamedTuple):
    """Deliveries that are missing: expected ``first``, got ``seen`` (for a heartbeat one more than
    it names).
    """

    expected: int
    seen: int

    @property
    def missing(self) -> int:
        """How many deliveries lie in the gap; negative when the numbering began anew."""
        return self.seen - self.expected


def sequence_of(block: bytes, name: bytes) -> int | None:
    """The sequence that a header of a status names; ``None`` if it is missing or no uint64 in
    decimal digits.
    """
    text = header_value(block, name)
    if text is None or len(text) > _MOST_DIGITS or not (text.isascii() and text.isdigit()):
        return None
    number = int(text)
    return number if number <= UINT64_MAX else None


class GapDetector(Snapshottable):
    """What the next consumer sequence must be.

    Attributes:
        expected: the next consumer sequence; 0 while none is known.
    """

    __slots__ = ("expected",)

    STATE: ClassVar[Codecs] = {"expected": PLAIN}

    def __init__(self, expected: int = 0) -> None:
        self.expected = expected

    def run(self, first: int, last: int, count: int) -> Gap | None:
        """A run of ``count`` deliveries came, the first and last with these sequences. The guard
        goes on behind it.
        """
        expected = self.expected or first
        self.expected = last + 1
        if first != expected:
            return Gap(expected, first)
        if last - first + 1 != count:
            return Gap(first + count, last + 1)
        return None

    def heartbeat(self, last: int) -> Gap | None:
        """A heartbeat names the last delivery; everything that came before it has been seen."""
        expected = self.expected
        if not expected:
            self.expected = last + 1
            return None
        if last >= expected:
            self.expected = last + 1
            return Gap(expected, last + 1)
        return None

    def restart(self, expected: int = 0) -> None:
        """The numbering begins anew."""
        self.expected = expected
