"""Is the server still there? Silence is judged against the heartbeats that it has promised (ADR-37
"Idle heartbeats").

Theory. Whoever asks for heartbeats may take ``factor`` intervals without any frame for a broken
promise. The watch is on only while there is somebody to keep the promise: a link that is up and a
request that waits. It starts with the first request, starts anew with each frame, and rests while
the link is down. Further requests postpone nothing: only input proves life (invariant 26), and who
asks again and again into silence would never hear of it. A slow reader is no silence: what counts
is when a frame reached the machine, not when the user took it.

An alarm has an edge and a period. The first alarm of a silence is the edge, the notice for the
user; the alarm then comes back each period, so that recovery is tried again and again. The silence
ends with the next frame, not with a request.

A heartbeat of 0 was not asked for, so nothing can be missed.
"""

from __future__ import annotations

from enum import Enum
from math import inf, isfinite
from typing import ClassVar, Final

from jsproto.core.numbers import is_number
from jsproto.core.state import PLAIN, Codecs, Snapshottable
from jsproto.errors import InvalidConfig, shorten

DEFAULT_FACTOR: Final = 2.0


class HeartbeatAlarm(Enum):
    """What `HeartbeatMonitor.judge` sees."""

    #: Silence begins: say so, and act.
    EDGE = "EDGE"
    #: It goes on: act again.
    PERIOD = "PERIOD"


class HeartbeatMonitor(Snapshottable):
    """The watch over one promise of heartbeats.

    Args:
        heartbeat: seconds between heartbeats as asked for; 0 for none.
        factor: how many of them may be missed (2 by ADR-37, 3 by ADR-15).

    Attributes:
        since: the last sign of life, or the start of the watch. The hot path of a feed sets it
            directly.
        watching: whether the promise holds now.
        silent: an alarm was given and no frame came since.
    """

    __slots__ = ("_factor", "heartbeat", "period", "silent", "since", "watching")

    STATE: ClassVar[Codecs] = {
        "heartbeat": PLAIN,
        "period": PLAIN,
        "silent": PLAIN,
        "since": PLAIN,
        "watching": PLAIN,
    }

    def __init__(self, heartbeat: float, factor: float = DEFAULT_FACTOR) -> None:
        if not (isfinite(heartbeat) and heartbeat >= 0):
            raise InvalidConfig(
                f"expected a heartbeat of 0 or more seconds, got {shorten(heartbeat)}"
            )
        if not (is_number(factor, (int, float)) and 1 <= factor < inf):
            raise InvalidConfig(
                f"expected a heartbeat_factor of at least 1, a number, got {shorten(factor)}"
            )
        self._factor = factor
        self.heartbeat = heartbeat
        self.period = heartbeat * factor
        self.since = 0.0
        self.watching = False
        self.silent = False

    def promised(self, heartbeat: float) -> None:
        """From the next request on, heartbeats are asked for at this interval."""
        self.heartbeat = heartbeat
        self.period = heartbeat * self._factor

    def asked(self, now: float) -> None:
        """A request went out that asks for heartbeats. If others wait already, the window that runs
        goes on.
        """
        if not self.watching:
            self.watch(now)

    def watch(self, now: float) -> None:
        """A request went out that asks for heartbeats: the window starts anew."""
        self.watching = self.period > 0
        self.since = now

    def goes_on(self, since: float) -> None:
        """What was asked anew stands for what was asked before: the window that ran since then goes
        on.
        """
        if self.watching:
            self.since = since

    def rest(self) -> None:
        """Nobody has promised anything now: the link is down, or no request waits."""
        self.watching = False

    def seen(self, now: float) -> bool:
        """A frame came. True if that ends a silence."""
        self.since = now
        if self.silent:
            self.silent = False
            return True
        return False

    @property
    def deadline(self) -> float | None:
        """When silence becomes an alarm."""
        return self.since + self.period if self.watching else None

    def judge(self, now: float) -> HeartbeatAlarm | None:
        """The alarm that is due, if one is; the next is due a period later."""
        if not self.watching or now < self.since + self.period:
            return None
        self.since = now
        return self.alarm()

    def alarm(self) -> HeartbeatAlarm:
        """Nothing will come: a silence is an alarm, however it was found out."""
        if self.silent:
            return HeartbeatAlarm.PERIOD
        self.silent = True
        return HeartbeatAlarm.EDGE


class _Unpromised(HeartbeatMonitor):
    """No heartbeats were asked for: nothing can be missed and nothing changes, so one serves all."""

    __slots__ = ()

    #: What never changes is no state; what is put back must not change what all share.
    STATE: ClassVar[Codecs] = {}

    def promised(self, heartbeat: float) -> None:
        pass

    def watch(self, now: float) -> None:
        pass

    def rest(self) -> None:
        pass

    def seen(self, now: float) -> bool:
        return False


_UNPROMISED: Final = _Unpromised(0.0)


def liveness_of(heartbeat: float, factor: float) -> HeartbeatMonitor:
    """The watch over heartbeats that are asked for at this interval in every request, or in none.

    Raises:
        InvalidConfig: times that can't work.
    """
    return (
        HeartbeatMonitor(heartbeat, factor)
        if heartbeat or factor != DEFAULT_FACTOR
        else _UNPROMISED
    )
