"""One direction of a link: what is on its way, when it comes, and in which pieces.

A stream promises the order of bytes and nothing else. So a pipe may be slow and uneven, may hand
over what came together in pieces (of one byte, if it is asked to) or what came apart in one; it may
be held, and then all of it comes at once; and it may end at any byte of what was on its way. What
it cannot do is lose, repeat or reorder: that is what TCP is for.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Final, NamedTuple, final

from attrs import frozen

from jsproto.testing.chance import Chance

#: Now and then (once in ``_GAPS``) between two pieces that were one write, in seconds; mostly they
#: come at one moment, as reads of their own.
_GAP: Final = 0.0005
_GAPS: Final = 8


@final
@frozen(kw_only=True)
class Road:
    """What a link is like.

    Attributes:
        latency: seconds that everything takes.
        jitter: most seconds on top, drawn for each write; the order stays.
        longest: reads have at most so many bytes; 0: what comes at one moment is one read.
        tick: arrivals wait for the next multiple of so many seconds, and come together; 0: none.
        window: bytes that the network holds; what is written beyond waits with the writer.
    """

    latency: float = 0.0005
    jitter: float = 0.0
    longest: int = 0
    tick: float = 0.0
    window: int = 65_536


class End(NamedTuple):
    """The end of the stream: in order (``None``), or with an error."""

    error: Exception | None


@final
class Pipe:
    """Bytes in flight in one direction.

    Attributes:
        road: what it is like from now on.
        size: bytes in flight.
        held_until: nothing comes out before.
        due: when something comes out; infinity for never.
        ended: its end is in flight, or has come.
    """

    __slots__ = ("_chance", "_flying", "_last", "due", "ended", "held_until", "road", "size")

    def __init__(self, road: Road, chance: Chance) -> None:
        self.road = road
        self._chance = chance
        self._flying: deque[tuple[float, bytes | End]] = deque()
        self._last = 0.0
        self.size = 0
        self.held_until = -math.inf
        self.due = math.inf
        self.ended = False

    def push(self, data: bytes, now: float) -> None:
        """A write. Behind the end nothing is taken."""
        if self.ended:
            return
        road = self.road
        at = self._arrival(now)
        size = len(data)
        self.size += size
        if not road.longest:
            self._flying.append((at, data))
            self._last = at
            self._look()
            return
        start = 0
        below, fly, most = self._chance.below, self._flying.append, road.longest * _GAPS
        while start < size:
            longer, gap = divmod(below(most), _GAPS)
            end = start + 1 + longer
            fly((at, data[start:end]))
            self._last = at
            start = end
            if not gap:
                at += _GAP
        self._look()

    def finish(self, error: Exception | None, now: float) -> None:
        """The writer's end is over; this comes behind everything in flight."""
        if not self.ended:
            self.ended = True
            self._last = self._arrival(now)
            self._flying.append((self._last, End(error)))
            self._look()

    def cut(self, keep: int, error: Exception | None, now: float) -> None:
        """Only ``keep`` of the bytes in flight still come, then the end."""
        kept: deque[tuple[float, bytes | End]] = deque()
        left = keep
        for at, each in self._flying:
            if isinstance(each, End) or not left:
                break
            kept.append((at, each[:left]))
            left -= min(left, len(each))
        self._flying = kept
        self.size = keep - left
        self.ended = False
        self.finish(error, now)

    def hold(self, until: float) -> None:
        """Nothing comes out before."""
        self.held_until = max(self.held_until, until)
        self._look()

    def let_go(self) -> None:
        """It is held no more."""
        self.held_until = -math.inf
        self._look()

    def arrived(self, now: float) -> list[bytes | End]:
        """What has come: reads in order, perhaps with the end behind them."""
        reads: list[bytes | End] = []
        if now < self.due:
            return reads
        flying = self._flying
        while flying and flying[0][0] <= now:
            reads.append(flying.popleft()[1])
        self._look()
        if self.road.longest or len(reads) < 2:
            for each in reads:
                if not isinstance(each, End):
                    self.size -= len(each)
            return reads
        reads = joined(reads)
        if not isinstance(reads[0], End):
            self.size -= len(reads[0])
        return reads

    def _look(self) -> None:
        """What flies, or holds it, has changed."""
        self.due = max(self._flying[0][0], self.held_until) if self._flying else math.inf

    def _arrival(self, now: float) -> float:
        road = self.road
        at = now + road.latency
        if road.jitter:
            at += road.jitter * self._chance.fraction()
        if road.tick:
            at = math.ceil(at / road.tick) * road.tick
        return max(at, self._last)


def joined(reads: list[bytes | End]) -> list[bytes | End]:
    """What came, as one read, perhaps with the end behind it."""
    if len(reads) < 2:
        return reads
    whole = b"".join(each for each in reads if not isinstance(each, End))
    end = reads[-1]
    return [whole, end] if isinstance(end, End) else [whole]
