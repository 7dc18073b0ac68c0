"""How far the reader of a range is, what is missing behind it, and whether what is missing was
lost.

Theory. Sequences may be missing for three reasons: they were deleted one by one, or a filter leaves
them out, or the stream's beginning has moved over them (age, limits, purge). Only the last is a
loss, and one look at the beginning tells: a gap that the beginning has not reached is none. At the
very beginning a deletion moves it as a purge does, and the server's state is then the same, so it
counts as a loss as well. What the beginning passes after it was read does no harm, so a gap must be
looked at soon after it was seen, and one that is looked at *is* settled. Which gap was meant by a
look is fixed when the question goes out (`asked`): the answer says nothing of later ones.

Of the gaps between two looks only the first is kept: if the beginning has not reached it, it has
reached none of them. Else messages from the first gap to the beginning are lost, how many of them
nobody knows: with a filter it may be none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, NamedTuple

from jsproto.core.state import PLAIN, Codecs, Snapshottable


class LostRange(NamedTuple):
    """What is gone: messages from ``first`` on that were not read before, up to ``until``, which is
    not gone.
    """

    first: int
    until: int


class RangeProgress(Snapshottable):
    """The position in a range.

    Args:
        lo: the first sequence.
        hi: the first behind it.

    Attributes:
        last: the last sequence that came, or is known to be gone.
        gap: the first sequence that is missing and was not looked at, 0 if none is.
        losses: what was lost.
    """

    __slots__ = ("_asked", "_losses", "gap", "hi", "last")

    STATE: ClassVar[Codecs] = {"_asked": PLAIN, "_losses": PLAIN, "gap": PLAIN, "last": PLAIN}

    def __init__(self, lo: int, hi: int) -> None:
        self.hi = hi
        self.last = lo - 1
        self.gap = 0
        self._asked = 0
        self._losses: list[tuple[int, int]] = []

    @property
    def next(self) -> int:
        """Where to go on."""
        return self.last + 1

    @property
    def complete(self) -> bool:
        """Nothing can come any more."""
        return self.last >= self.hi - 1

    @property
    def left(self) -> int:
        """So many messages can come at most."""
        return max(0, self.hi - 1 - self.last)

    @property
    def losses(self) -> list[LostRange]:
        """What was lost, in order."""
        return [LostRange(*each) for each in self._losses]

    def received(self, first: int, last: int, count: int, sequences: Iterable[int]) -> None:
        """Messages came in order, ``count`` from ``first`` to ``last``; ``sequences`` is read only
        to find a gap.
        """
        if not self.gap:
            if first > self.last + 1:
                self.gap = self.last + 1
            elif last - first + 1 != count:
                self.gap = next(due for due, seen in enumerate(sequences, first) if due != seen)
        self.last = last

    def passed(self) -> None:
        """A message behind the range came: there is nothing more in it."""
        if not self.complete:
            self.gap = self.gap or self.next
            self.last = self.hi - 1

    def asked(self) -> None:
        """The leader is asked for the stream's beginning."""
        if self.gap and not self._asked:
            self._asked = self.gap
        self.gap = 0

    def unasked(self) -> None:
        """The answer will not come."""
        if self._asked:
            self.gap = self._asked
        self._asked = 0

    def judge(self, first_seq: int, *, resting: bool) -> LostRange | None:
        """The stream begins at ``first_seq``: what was lost by that.

        Args:
            first_seq: the answer.
            resting: nothing is on its way to us, so what has not come until now, and is gone, will
                not come.
        """
        start = self._asked or (self.next if resting else 0)
        self._asked = 0
        until = min(first_seq, self.hi)
        if not start or until <= start:
            return None
        if resting:
            self.last = max(self.last, until - 1)
        self._losses.append((start, until))
        return LostRange(start, until)
