"""Detects a silent server: compares silence with the heartbeats the client asked for.

Theory (ADR-37 "Idle heartbeats"). A client that asked for heartbeats raises an alarm after
``factor`` intervals without a frame. The monitor runs only while the link is up and a request
waits. It starts with the first request, and each frame restarts it. Further requests do not
restart it: otherwise a client that repeats its requests would never notice a dead server. A slow
user causes no alarm: the time counts at which a frame reached the machine, not when the user took
it.

The first alarm of a silence is the edge: the machine notifies the user. The alarm then repeats
every period, so that the machine tries to recover again. The next frame ends the silence; a
request does not.

With a heartbeat of 0 the server sends none, so the monitor never raises an alarm.
"""

from __future__ import annotations

from enum import Enum
from math import inf, isfinite
from typing import ClassVar, Final

from jsproto.core.numbers import is_number
from jsproto.core.state import PLAIN, Codecs, Snapshottable
from jsproto.errors.tree import InvalidConfig, shorten

DEFAULT_FACTOR: Final = 2.0


class HeartbeatAlarm(Enum):
    """The two kinds of alarm from `HeartbeatMonitor.judge`."""

    #: The silence begins: notify the user, and recover.
    EDGE = "EDGE"
    #: The silence continues: try to recover again.
    PERIOD = "PERIOD"


class HeartbeatMonitor(Snapshottable):
    """Watches for the heartbeats that the server promised for a request.

    Args:
        heartbeat: seconds between heartbeats in the requests; 0 for none.
        factor: the alarm comes after this number of intervals (2 by ADR-37, 3 by ADR-15).

    Attributes:
        since: time of the last frame, or of the start. The hot path of a feed sets it directly.
        watching: whether the server owes heartbeats now.
        silent: whether an alarm was raised and no frame came since.
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
        """Set the interval that the next requests ask for."""
        self.heartbeat = heartbeat
        self.period = heartbeat * self._factor

    def asked(self, now: float) -> None:
        """Record a request that asks for heartbeats; a period that already runs continues."""
        if not self.watching:
            self.watch(now)

    def watch(self, now: float) -> None:
        """Record a request that asks for heartbeats, and restart the period."""
        self.watching = self.period > 0
        self.since = now

    def goes_on(self, since: float) -> None:
        """Continue the period that began at ``since``: a request replaced an earlier one."""
        if self.watching:
            self.since = since

    def rest(self) -> None:
        """Stop the monitor: the link is down, or no request waits."""
        self.watching = False

    def seen(self, now: float) -> bool:
        """Record a frame. True if it ends a silence."""
        self.since = now
        if self.silent:
            self.silent = False
            return True
        return False

    @property
    def deadline(self) -> float | None:
        """When silence becomes an alarm; ``None`` while the monitor is stopped."""
        return self.since + self.period if self.watching else None

    def judge(self, now: float) -> HeartbeatAlarm | None:
        """The alarm that is due, or ``None``; the next is due one period later."""
        if not self.watching or now < self.since + self.period:
            return None
        self.since = now
        return self.alarm()

    def alarm(self) -> HeartbeatAlarm:
        """Record a silence that was found in any way: the first call is the edge of the alarm."""
        if self.silent:
            return HeartbeatAlarm.PERIOD
        self.silent = True
        return HeartbeatAlarm.EDGE


class _Unpromised(HeartbeatMonitor):
    """A monitor without heartbeats: it never changes, so all feeds can share one."""

    __slots__ = ()

    #: Empty: restoring a snapshot must not change the shared instance.
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
    """The monitor for requests that ask for this heartbeat interval.

    Without heartbeats, and with the default factor, all callers get one shared instance.

    Raises:
        InvalidConfig: ``heartbeat`` is negative or not finite, or ``factor`` is below 1.
    """
    return (
        HeartbeatMonitor(heartbeat, factor)
        if heartbeat or factor != DEFAULT_FACTOR
        else _UNPROMISED
    )
