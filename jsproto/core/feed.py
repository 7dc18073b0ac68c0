"""Messages between their arrival and the user: a queue of runs.

The connection hands over whole runs of messages, and batches are taken as whole runs too, so the queue is a deque of
lists with a position in the first. Counting is summed over runs; a message object is made when it is taken.
"""

from __future__ import annotations

from collections import deque
from typing import ClassVar, cast

from jsproto.core.state import PLAIN, Codecs, Stateful
from jsproto.wire.frames import Delivery


class Backlog(Stateful):
    """Frames that have come and are not taken.

    Attributes:
        count: how many frames are there.
    """

    __slots__ = ("_at", "_run", "_runs", "count")

    STATE: ClassVar[Codecs] = {"_at": PLAIN, "_run": PLAIN, "_runs": PLAIN, "count": PLAIN}

    def __init__(self) -> None:
        self._run: list[Delivery] = []
        self._at = 0
        self._runs: deque[list[Delivery]] = deque()
        self.count = 0

    def __len__(self) -> int:
        return self.count

    def push(self, run: list[Delivery]) -> None:
        """Append a run; the list belongs to the backlog from now on."""
        self._runs.append(run)
        self.count += len(run)

    def pop(self) -> Delivery | None:
        """Take the oldest frame, ``None`` if there is none."""
        at = self._at
        run = self._run
        if at < len(run):
            self._at = at + 1
            self.count -= 1
            return run[at]
        if not self._runs:
            return None
        self._run = run = self._runs.popleft()
        self._at = 1
        self.count -= 1
        return run[0]

    def pop_run(self) -> list[Delivery]:
        """Take everything, oldest first."""
        if self._at < len(self._run):
            frames = self._run[self._at :]
        elif self._runs:
            frames = self._runs.popleft()
        else:
            frames = []
        while self._runs:
            frames.extend(self._runs.popleft())
        self._run = []
        self._at = 0
        self.count = 0
        return frames

    def drop_oldest(self, count: int) -> None:
        """Forget the oldest ``count`` frames (a slow-consumer policy counts them)."""
        for _ in range(count):
            self.pop()

    def frames(self) -> list[Delivery]:
        """All frames, oldest first, without taking them."""
        rest: list[Delivery] = self._run[self._at :]
        for run in self._runs:
            rest.extend(run)
        return rest

    def clear(self) -> None:
        """Forget everything."""
        self._run = cast("list[Delivery]", [])
        self._at = 0
        self._runs.clear()
        self.count = 0
