"""A few named deadlines, and the earliest of them.

An operation has few timers, and each has a name. So a table from name to time is enough. `set`
starts or restarts a timer, and `stop` stops it. `next` is the earliest time. `expired` yields the
timers that are due, earliest first, and stops them. This module does not know what a timer means.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Generic, TypeVar, cast

from jsproto.core.state import Snapshot, Snapshottable

NameT = TypeVar("NameT", bound=Enum)


class Timers(Snapshottable, Generic[NameT]):
    """Deadlines by name, in seconds of the clock that feeds ``now``."""

    __slots__ = ("_armed", "_names")

    def __init__(self, names: type[NameT]) -> None:
        self._names = names
        self._armed: dict[NameT, float] = {}

    def set(self, name: NameT, at: float) -> None:
        """Start ``name`` for the time ``at``, or restart it."""
        self._armed[name] = at

    def stop(self, name: NameT) -> None:
        """Stop ``name``; harmless if it is not running."""
        self._armed.pop(name, None)

    def clear(self) -> None:
        """Stop all timers: an operation that has ended has none."""
        self._armed.clear()

    def at(self, name: NameT) -> float | None:
        """Return the time of ``name``, ``None`` if it is not running."""
        return self._armed.get(name)

    def next(self) -> float | None:
        """Return the earliest time, ``None`` if no timer is running."""
        return min(self._armed.values()) if self._armed else None

    def expired(self, now: float) -> Iterator[NameT]:
        """Yield each timer that is due at ``now``, earliest first; it is stopped first.

        A timer that the caller starts for the past meanwhile is yielded too. Timers of the same
        time come in the order of the names.
        """
        while due := [name for name, at in self._armed.items() if at <= now]:
            order = list(self._names)
            name = min(due, key=lambda each: (self._armed[each], order.index(each)))
            del self._armed[name]
            yield name

    def snapshot(self) -> Snapshot:
        """Return the running timers and their times."""
        return {**super().snapshot(), "armed": {name.name: at for name, at in self._armed.items()}}

    def restore(self, data: object) -> None:
        """Restore the state that `snapshot` returned."""
        table = cast("dict[str, object]", data)
        super().restore(table)
        armed = cast("dict[str, float]", table["armed"])
        self._armed = {self._names[name]: at for name, at in armed.items()}
