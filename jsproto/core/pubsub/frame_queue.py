"""Messages between their arrival and the user: a queue of frames.

The connection hands over whole runs of messages, and batches are taken as whole runs too; both are
one step for the queue. A message object is made when it is taken.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import ClassVar

from jsproto.core.state import PLAIN, Codecs, Snapshottable
from jsproto.wire.frames import Delivery


class FrameQueue(Snapshottable):
    """Frames that have come and are not taken.

    Attributes:
        waiting: the frames, oldest first. Who takes them one by one takes them here: a call would
            cost as much again.
    """

    __slots__ = ("waiting",)

    STATE: ClassVar[Codecs] = {"waiting": PLAIN}

    def __init__(self) -> None:
        self.waiting: deque[Delivery] = deque()

    def __len__(self) -> int:
        return len(self.waiting)

    @property
    def count(self) -> int:
        """How many frames are there."""
        return len(self.waiting)

    def push(self, run: Iterable[Delivery]) -> None:
        """Append a run."""
        self.waiting.extend(run)

    def pop(self) -> Delivery | None:
        """Take the oldest frame, ``None`` if there is none."""
        return self.waiting.popleft() if self.waiting else None

    def pop_run(self) -> list[Delivery]:
        """Take everything, oldest first."""
        frames = list(self.waiting)
        self.waiting.clear()
        return frames

    def frames(self) -> list[Delivery]:
        """All frames, oldest first, without taking them."""
        return list(self.waiting)

    def clear(self) -> None:
        """Forget everything."""
        self.waiting.clear()
