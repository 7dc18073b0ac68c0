"""A clock that obeys the test.

The machines never read a clock, they are told the time; so a test needs no patching, only a number
and somebody who moves it. Time moves forward by :meth:`Clock.advance` (the usual way) and leaps by
:meth:`Clock.jump`, which may also go backwards: what a suspended laptop or a stepped clock does to
a program.
"""

from __future__ import annotations

import math

from jsproto.errors.tree import LocalProtocolError


class Clock:
    """Virtual seconds. ``now`` is a plain number; nothing happens by itself."""

    __slots__ = ("_now",)

    def __init__(self, now: float = 0.0) -> None:
        self._now = _finite(now, "a start")

    @property
    def now(self) -> float:
        """The present moment in seconds."""
        return self._now

    def advance(self, seconds: float) -> float:
        """Let ``seconds`` pass and answer the new moment.

        Raises:
            LocalProtocolError: time was asked to run backwards; that is what `jump` is for.
        """
        if _finite(seconds, "a span") < 0:
            raise LocalProtocolError(
                f"time advances by 0 or more seconds, not by {seconds!r}; a leap back is jump()"
            )
        self._now += seconds
        return self._now

    def until(self, moment: float) -> float:
        """Advance to ``moment`` if it lies ahead; answer the new moment."""
        self._now = max(self._now, _finite(moment, "a moment"))
        return self._now

    def jump(self, seconds: float) -> float:
        """Leap by ``seconds``, forwards or backwards, and answer the new moment."""
        self._now += _finite(seconds, "a leap")
        return self._now

    def __repr__(self) -> str:
        return f"Clock(now={self._now!r})"


def _finite(value: float, what: str) -> float:
    if not math.isfinite(value):
        raise LocalProtocolError(f"expected {what} of the clock in finite seconds, got {value!r}")
    return value
