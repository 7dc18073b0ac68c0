"""Bounds what a client asks for: requested and buffered amounts together stay within a limit.

Theory. The reader of a pull consumer controls the flow. Two numbers do this, in one unit
(messages, or bytes as the server counts them, ADR-37):

    level = asked + buffered        level <= limit

A request raises ``asked`` and ``level``. A message that arrives moves from asked to buffered: one
subtraction, and the level stays. When the user takes a message, the level falls. When the level
has fallen to ``low``, the client may ask for the difference to the limit. ``low`` is at most the
limit minus one, and the comparison is *at or below*. So every limit from 1 on works: with a limit
of 1 the client asks again when nothing is left.

The server may send messages that the client did not ask for: to an abandoned inbox, or more than
a pull requested. They are buffered as well and can lift the level above the limit. Then the client
asks for nothing until the user has taken enough.
"""

from __future__ import annotations

from typing import ClassVar

from jsproto.core.state import PLAIN, Codecs, Snapshottable
from jsproto.errors.tree import InvalidConfig, LocalProtocolError, shorten


class Credit(Snapshottable):
    """The requested amount, the buffered amount and their common limit, in one unit.

    Args:
        limit: the most that may be requested and buffered together; from 1.
        low: the client may ask again at this level or below; half of the limit by default.

    Raises:
        InvalidConfig: a limit below 1, or ``low`` negative or above the limit.

    Attributes:
        asked: what open pulls can still bring.
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
        # At the limit itself there would be nothing to ask for (ADR-37 allows that threshold; it
        # means "always full").
        self.low = limit // 2 if low is None else min(low, limit - 1)
        self.asked = 0
        self.level = 0

    @property
    def buffered(self) -> int:
        """What has arrived and the user has not taken."""
        return self.level - self.asked

    @property
    def room(self) -> int:
        """What the client may ask for now."""
        return max(0, self.limit - self.level)

    @property
    def wanting(self) -> bool:
        """Whether the level is low enough for another request."""
        return self.level <= self.low

    def ask(self, amount: int) -> None:
        """Record a request for ``amount``.

        Raises:
            LocalProtocolError: ``amount`` is below 1 or exceeds the room.
        """
        if not 0 < amount <= self.limit - self.level:
            raise LocalProtocolError(f"expected to ask for 1 to {self.room}, got {amount}")
        self.asked += amount
        self.level += amount

    def received(self, amount: int) -> None:
        """Record ``amount`` that arrived for a request; a surplus is buffered too."""
        if amount <= self.asked:
            self.asked -= amount
        else:
            self.level += amount - self.asked
            self.asked = 0

    def unsolicited(self, amount: int) -> None:
        """Record ``amount`` that arrived without a request."""
        self.level += amount

    def taken(self, amount: int) -> None:
        """Record that the user took ``amount``."""
        self.level -= amount

    def settled(self, rest: int) -> None:
        """Record that ``rest`` of what was requested will not arrive."""
        rest = min(rest, self.asked)
        self.asked -= rest
        self.level -= rest

    def reset(self) -> None:
        """Record that nothing of what was requested will arrive."""
        self.level -= self.asked
        self.asked = 0

    def narrow(self, limit: int) -> None:
        """Lower the limit, because the server allows no larger requests; never raise it."""
        if 0 < limit < self.limit:
            self.low = min(self.low, limit // 2)
            self.limit = limit
