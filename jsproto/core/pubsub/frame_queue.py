"""A queue of received frames that the user has not taken yet.

The connection adds runs of messages, and the user may take them as a list; each is one step. A
message object is created when its frame is taken.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import ClassVar

from jsproto.core.state import PLAIN, Codecs, Snapshottable
from jsproto.wire.frames import Delivery


class FrameQueue(Snapshottable):
    """Frames that arrived and were not taken.

    Attributes:
        waiting: the frames, oldest first. Code that takes them one by one uses it directly, because
            a method call would double the cost.
    """

    __slots__ = ("waiting",)

    STATE: ClassVar[Codecs] = {"waiting": PLAIN}

    def __init__(self) -> None:
        self.waiting: deque[Delivery] = deque()

    def __len__(self) -> int:
        return len(self.waiting)

    @property
    def count(self) -> int:
        """Number of frames in the queue."""
        return len(self.waiting)

    def push(self, run: Iterable[Delivery]) -> None:
        """Append a run of frames."""
        self.waiting.extend(run)

    def pop(self) -> Delivery | None:
        """Remove and return the oldest frame, ``None`` if there is none."""
        return self.waiting.popleft() if self.waiting else None

    def pop_run(self) -> list[Delivery]:
        """Remove and return all frames, oldest first."""
        frames = list(self.waiting)
        self.waiting.clear()
        return frames

    def frames(self) -> list[Delivery]:
        """Return all frames, oldest first, without removing them."""
        return list(self.waiting)

    def clear(self) -> None:
        """Drop all frames."""
        self.waiting.clear()
