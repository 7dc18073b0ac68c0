"""One heap for the deadlines of all conversations.

Each conversation has one deadline; the heap finds the earliest. A move of a deadline only pushes
the new one. The old entry stays in the heap and is stale, because the table names another moment.
It is dropped when it reaches the top. The heap is rebuilt when stale entries outnumber the live
ones, so that a consumer that moves its deadline for every message does not grow it.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import ClassVar, Final

from jsproto.core.state import PLAIN, Codecs, Snapshottable

_SLACK: Final = 64


class DeadlineHeap(Snapshottable):
    """Deadlines by key (a port's number), earliest first, ties by key."""

    __slots__ = ("_heap", "_table")

    STATE: ClassVar[Codecs] = {"_heap": PLAIN, "_table": PLAIN}

    def __init__(self) -> None:
        self._heap: list[tuple[float, int]] = []
        self._table: dict[int, float] = {}

    def __len__(self) -> int:
        """Number of keys with a deadline."""
        return len(self._table)

    def put(self, key: int, at: float | None) -> None:
        """Set, move or (with ``None``) remove the deadline of ``key``."""
        if at is None:
            self._table.pop(key, None)
            return
        if self._table.get(key) == at:
            return
        self._table[key] = at
        heappush(self._heap, (at, key))
        if len(self._heap) > 2 * len(self._table) + _SLACK:
            self._heap = [(moment, each) for each, moment in self._table.items()]
            heapify(self._heap)

    def next(self) -> float | None:
        """Return the earliest deadline."""
        heap, table = self._heap, self._table
        while heap:
            at, key = heap[0]
            if table.get(key) == at:
                return at
            heappop(heap)
        return None

    def due(self, now: float) -> int | None:
        """Remove and return the key with the earliest deadline up to ``now``; ``None`` if none."""
        at = self.next()
        if at is None or at > now:
            return None
        _, key = heappop(self._heap)
        del self._table[key]
        return key
