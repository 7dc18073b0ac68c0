"""Shared state of all parts of the Observer: clock, links, known consumers, and pending checks.

Theory. Some facts say that something did *not* happen. Such a fact is due when its time has passed.
Checks wait in a heap, and run before the first record that is later than their time. If a trace
ends earlier, the check never runs, because the event might still have come. Each pending check is a
record of data (`Due`) and not a closure, so the whole state can be saved.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Final, Protocol, final

from jsproto.trace.observe.facts import Fact
from jsproto.trace.observe.ledger import (
    MOST,
    ConsumerKey,
    SeenConsumer,
    SeenLink,
    SeenPull,
    nanoseconds,
)

#: Highest number of checks that wait at once.
MOST_WATCHES: Final = 32_768


class Due(Protocol):
    """A check that waits for its time, and then may report a fact."""

    @property
    def fact(self) -> str:
        """Name of the class of fact that the check may report."""
        ...

    def look(self, books: TraceContext, now: int) -> None:
        """Run the check: report the fact, or wait again. ``now`` is the next record's time."""
        ...


@final
class TraceContext:
    """The clock of a trace and what was seen of links and consumers.

    Args:
        tell: called with each fact as soon as it is known.

    Attributes:
        now: nanoseconds since the start of the trace; it never goes back.
        line: line number of the record that is being read.
        links: the newest links, oldest first.
        consumers: consumers whose configuration is known.
        awaited: names of the facts for which a check was ever scheduled.
        most: highest number of entries in a table of one link.
        changed: pulls that the current record changed: what came for them, or whether they ended.
            A pull may be listed twice.
    """

    __slots__ = (
        "_watched",
        "_watches",
        "awaited",
        "changed",
        "consumers",
        "line",
        "links",
        "most",
        "now",
        "tell",
    )

    def __init__(self, tell: Callable[[Fact], None]) -> None:
        self.tell = tell
        self.now = 0
        self.awaited: set[str] = set()
        self.line = 0
        self.links: list[SeenLink] = []
        self.consumers: dict[ConsumerKey, SeenConsumer] = {}
        self.most = MOST
        self.changed: list[SeenPull] = []
        self._watches: list[tuple[int, int, Due]] = []
        self._watched = 0

    def __getstate__(self) -> tuple[None, dict[str, object]]:
        """Give every attribute but ``tell``, which is a function."""
        return None, {name: getattr(self, name) for name in self.__slots__ if name != "tell"}

    def watch(self, at: int, due: Due) -> None:
        """Schedule a check for this time.

        The check runs before the first record that is later. A time that is not after the present
        moves one nanosecond past it, so that a check cannot run twice at one moment. When
        `MOST_WATCHES` checks wait, a new one is not scheduled.
        """
        self.awaited.add(due.fact)
        if len(self._watches) >= MOST_WATCHES:
            return
        self._watched += 1
        heappush(self._watches, (max(at, self.now + 1), self._watched, due))

    def change(self, pull: SeenPull) -> None:
        """Note that the current record has changed this pull."""
        if not self.changed or self.changed[-1] is not pull:
            self.changed.append(pull)

    def move(self, line: int, seconds: float) -> None:
        """Move to the record of this line and time, after the checks that are due before it.

        A check that waits again may run a second time here, and no more often.
        """
        watches, at = self._watches, nanoseconds(seconds)
        self.changed.clear()
        while watches and watches[0][0] < at:
            when, _, due = heappop(watches)
            self.now = max(self.now, when)
            due.look(self, at)
        self.line = line
        self.now = max(self.now, at)
