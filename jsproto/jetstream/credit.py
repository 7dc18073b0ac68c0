"""How much may be asked for: what was asked and has not come, and what has come and was not taken,
never exceed a limit.

Theory. A pull consumer's flow control is in its reader's hands. Two numbers carry it, in whatever
unit is bounded (messages, or bytes as the server counts them, ADR-37):

    level = asked + buffered        level <= limit

Asking raises both ``asked`` and ``level``; a message that comes only moves from asked to buffered,
so arrival costs one subtraction and the level stays; taking lowers the level, and when it has
fallen to ``low`` the difference to the limit may be asked for. ``low`` lies below the limit by at
least one, and the comparison is *at or below*, so that every limit from 1 on works: with a limit of
one the next request goes out when nothing is left (B001).

What comes without having been asked for (from an inbox that was given up, or beyond what a pull
asked) is buffered like everything else and can lift the level above the limit; then nothing is
asked until it is taken.
"""

from __future__ import annotations

from typing import ClassVar

from jsproto.core.state import PLAIN, Codecs, Snapshottable
from jsproto.errors import InvalidConfig, LocalProtocolError, shorten


class Credit(Snapshottable):
    """Asked, buffered and a limit, in one unit.

    Args:
        limit: the most that may be asked and buffered together; from 1.
        low: ask again when the level is at or below it; half of the limit if left out.

    Raises:
        InvalidConfig: a limit below 1, or ``low`` negative or above the limit.

    Attributes:
        asked: what open pulls still owe.
        level: asked and buffered together. The hot path of a feed lowers it directly.
    """

    __slots__ = ("asked", "level", "limit", "low")

    STATE: ClassVar[Codecs] = {"asked": PLAIN, "level": PLAIN, "limit": PLAIN, "low": PLAIN}

    def __init__(self, limit: int, low: int | None = None) -> None:
        if limit < 1:
            raise InvalidConfig(f"expected a limit of at least 1, got {shorten(limit)}")
        if low is not None and not 0 <= low <= limit:
            raise InvalidConfig(
                f"expected a threshold from 0 to the limit {limit}, got {shorten(low)}"
            )
        self.limit = limit
        # At the limit itself there would be nothing to ask for (ADR-37 allows that threshold, and
        # means "always full").
        self.low = limit // 2 if low is None else min(low, limit - 1)
        self.asked = 0
        self.level = 0

    @property
    def buffered(self) -> int:
        """What has come and was not taken."""
        return self.level - self.asked

    @property
    def room(self) -> int:
        """What could be asked for now."""
        return max(0, self.limit - self.level)

    @property
    def wanting(self) -> bool:
        """Whether the level is low enough to ask again."""
        return self.level <= self.low

    def ask(self, amount: int) -> None:
        """A request for ``amount`` goes out.

        Raises:
            LocalProtocolError: there is no room for so much.
        """
        if not 0 < amount <= self.limit - self.level:
            raise LocalProtocolError(f"expected to ask for 1 to {self.room}, got {amount}")
        self.asked += amount
        self.level += amount

    def received(self, amount: int) -> None:
        """So much has come for what was asked; more than was asked is buffered too."""
        if amount <= self.asked:
            self.asked -= amount
        else:
            self.level += amount - self.asked
            self.asked = 0

    def unsolicited(self, amount: int) -> None:
        """So much has come that nobody asked for on this inbox."""
        self.level += amount

    def taken(self, amount: int) -> None:
        """The user took so much."""
        self.level -= amount

    def settled(self, rest: int) -> None:
        """So much of what was asked will never come."""
        rest = min(rest, self.asked)
        self.asked -= rest
        self.level -= rest

    def reset(self) -> None:
        """Nothing of what was asked will come any more."""
        self.level -= self.asked
        self.asked = 0

    def narrow(self, limit: int) -> None:
        """The server allows requests up to ``limit`` only: live within it. Never widens."""
        if 0 < limit < self.limit:
            self.low = min(self.low, limit // 2)
            self.limit = limit
