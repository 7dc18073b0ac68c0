"""How long to wait before asking again, when asking brought nothing.

Theory. A request that is refused at once would be refused at line rate (three public storms: 24,955
pulls in two seconds). Between a fruitless pull and the next at least a delay passes, which doubles
with each failure up to a cap and falls back when data or a heartbeat shows that pulls are taken. A
pull that simply ran out of time is no failure, and after its own expiry there is nothing to wait
for; but if it ended sooner than the delay, the delay is kept all the same.

A new link is a new beginning, and so everything may be asked on it at once. But links can be short,
and then each of them would cost what a beginning costs: `ShortLinks` counts them, and behind the
third in a row one waits.

The moment before which nothing may be asked stays when the delay falls back: data of one pull must
not open the door for hammering with another.
"""

from __future__ import annotations

from typing import ClassVar, Final

from jsproto.core.state import PLAIN, Codecs, Snapshottable

#: The first short link in a row that is followed by a delay.
_DELAYED: Final = 3


class Backoff(Snapshottable):
    """The delay between fruitless requests.

    Args:
        first: seconds after the first failure.
        most: the cap.

    Attributes:
        failures: how many failed in a row.
        not_before: nothing may be asked before this moment.
    """

    __slots__ = ("failures", "first", "most", "not_before")

    STATE: ClassVar[Codecs] = {"failures": PLAIN, "not_before": PLAIN}

    def __init__(self, first: float, most: float) -> None:
        self.first = first
        self.most = most
        self.failures = 0
        self.not_before: float | None = None

    @property
    def delay(self) -> float:
        """Seconds that the next failure will cost."""
        return min(self.most, self.first * 2.0 ** min(self.failures, 32))

    def failed(self, now: float, at_least: float = 0.0) -> float:
        """A request failed. Gives the moment before which nothing may be asked."""
        return self._wait(now + max(self.delay, at_least))

    def record_empty(self, issued: float, now: float) -> float | None:
        """A request that went out at ``issued`` ended in good order with nothing. ``None`` if
        nothing is to be waited for.
        """
        at = issued + self.delay
        if at <= now:
            self.failures = 0
            return None
        return self._wait(at)

    def reset_delay(self) -> None:
        """Pulls are taken again."""
        self.failures = 0

    def opened(self, now: float) -> bool:
        """Whether asking is allowed now."""
        return self.not_before is None or now >= self.not_before

    def restart(self) -> None:
        """A new link: nothing that happened before counts."""
        self.failures = 0
        self.not_before = None

    def _wait(self, at: float) -> float:
        self.failures += 1
        self.not_before = at if self.not_before is None else max(at, self.not_before)
        return self.not_before


class ShortLinks(Snapshottable):
    """The delay before a new beginning on a link that follows short ones.

    Args:
        first: seconds from one beginning to the next after three short links; doubles with each
            further one.
        most: the cap; a link on which something lasted for so long was not short.

    Attributes:
        count: how many short links there were in a row.
    """

    __slots__ = ("_first", "_most", "count")

    STATE: ClassVar[Codecs] = {"count": PLAIN}

    def __init__(self, first: float, most: float) -> None:
        self._first = first
        self._most = most
        self.count = 0

    def lost(self, begun: float, now: float) -> None:
        """A link is lost, and with it what was begun on it."""
        self.count = 0 if now - begun >= self._most else self.count + 1

    def wait(self, begun: float, now: float) -> float | None:
        """A link is there; the last beginning was then. Until when to wait with the next, ``None``
        for at once.
        """
        if self.count < _DELAYED:
            return None
        at = begun + min(self._most, self._first * 2.0 ** min(self.count - _DELAYED, 32))
        return at if at > now else None
