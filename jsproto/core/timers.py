"""A handful of named deadlines, and the one that comes first.

An operation has few timers and each has a name, so a table from name to moment is the whole design:
`set` arms or re-arms, `stop` disarms, `next` is the earliest moment, `expired` hands out what is
due, earliest first, and disarms it. Nothing here knows what a timer means.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Generic, TypeVar, cast

from jsproto.core.state import Snapshot, Snapshottable

NameT = TypeVar("NameT", bound=Enum)


class Timers(Snapshottable, Generic[NameT]):
    """Deadlines by name, in seconds of whatever clock feeds ``now``."""

    __slots__ = ("_armed", "_names")

    def __init__(self, names: type[NameT]) -> None:
        self._names = names
        self._armed: dict[NameT, float] = {}

    def set(self, name: NameT, at: float) -> None:
        """Arm ``name`` for the moment ``at``, whether or not it was armed before."""
        self._armed[name] = at

    def stop(self, name: NameT) -> None:
        """Disarm ``name``; harmless if it is not armed."""
        self._armed.pop(name, None)

    def clear(self) -> None:
        """Disarm everything: an operation that has ended has no timers."""
        self._armed.clear()

    def at(self, name: NameT) -> float | None:
        """The moment for which ``name`` is armed."""
        return self._armed.get(name)

    def next(self) -> float | None:
        """The earliest armed moment."""
        return min(self._armed.values()) if self._armed else None

    def expired(self, now: float) -> Iterator[NameT]:
        """Hand out each timer that is due at ``now``, earliest first; it is disarmed as it is
        handed out.

        What is armed for the past while handing out is handed out too; ties go by the order of the
        names.
        """
        while due := [name for name, at in self._armed.items() if at <= now]:
            order = list(self._names)
            name = min(due, key=lambda each: (self._armed[each], order.index(each)))
            del self._armed[name]
            yield name

    def snapshot(self) -> Snapshot:
        """Armed names and their moments."""
        return {**super().snapshot(), "armed": {name.name: at for name, at in self._armed.items()}}

    def restore(self, data: object) -> None:
        """Put back what `snapshot` gave."""
        table = cast("dict[str, object]", data)
        super().restore(table)
        armed = cast("dict[str, float]", table["armed"])
        self._armed = {self._names[name]: at for name, at in armed.items()}
