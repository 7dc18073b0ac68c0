"""What all parts of the Observer share: the clock, who is told, the newest links, and the consumers
that are known.

Theory. What did *not* happen is a fact too, and it happens when the time for it has passed: such
times wait in a heap, and are looked at before the record that is later than they are. A trace that
ends early says nothing about what might have come. What waits is a record of what it waits for
(`Due`), so the books are data, whenever one looks.
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

#: What is waited for at once.
MOST_WATCHES: Final = 32_768


class Due(Protocol):
    """Something that may be a fact when its time has come."""

    @property
    def fact(self) -> str:
        """What kind of fact that is."""
        ...

    def look(self, books: TraceContext, now: int) -> None:
        """Its time has come, and the next record is of ``now``: tell, or wait again."""
        ...


@final
class TraceContext:
    """The clock of a trace and what was seen of links and consumers.

    Args:
        tell: called with each fact at once.

    Attributes:
        now: nanoseconds since the start; it never goes back.
        line: the number of the record that is being read.
        links: the newest links, oldest first.
        consumers: consumers whose configuration is known.
        awaited: kinds of facts that were waited for.
        most: entries that a table of one link keeps.
        changed: pulls of which the record that is being read has changed what they got, or whether
            they ended; one may stand there twice.
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
        """Everything but who is told."""
        return None, {name: getattr(self, name) for name in self.__slots__ if name != "tell"}

    def watch(self, at: int, due: Due) -> None:
        """Look at this time, or as soon as a record is later; where very much is looked for, no
        more is.

        While something is looked at, the next look is later: at one moment nothing is looked at
        twice.
        """
        self.awaited.add(due.fact)
        if len(self._watches) >= MOST_WATCHES:
            return
        self._watched += 1
        heappush(self._watches, (max(at, self.now + 1), self._watched, due))

    def change(self, pull: SeenPull) -> None:
        """Something of a pull changes."""
        if not self.changed or self.changed[-1] is not pull:
            self.changed.append(pull)

    def move(self, line: int, seconds: float) -> None:
        """A record of this line and time comes next; looks that are due before it come first, each
        of them twice at most.
        """
        watches, at = self._watches, nanoseconds(seconds)
        self.changed.clear()
        while watches and watches[0][0] < at:
            when, _, due = heappop(watches)
            self.now = max(self.now, when)
            due.look(self, at)
        self.line = line
        self.now = max(self.now, at)
