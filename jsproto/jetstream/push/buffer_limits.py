"""How much a feed may hold when the server does not know how far its reader is: a bound, and what
gives way beyond it.

Theory. A push consumer without flow control has no credit. What comes faster than it is taken must
be bounded by the feed, and every message that gives way is counted. Messages are counted exactly.
Bytes are summed when a run comes and given back when the whole run was taken, so the price is paid
once per run and not once per take; the sum is never too small.
"""

from __future__ import annotations

from collections import deque
from typing import ClassVar

from jsproto.core.pubsub.frame_queue import FrameQueue
from jsproto.core.pubsub.subscription import Overflow
from jsproto.core.state import PLAIN, Codecs, Snapshottable
from jsproto.errors.tree import InvalidConfig, shorten
from jsproto.wire.frames import BLOCK, PAYLOAD, Delivery


def size_of(frame: Delivery) -> int:
    """Bytes of header block and payload."""
    block = frame[BLOCK]
    return len(frame[PAYLOAD]) + (0 if block is None else len(block))


class BufferLimits(Snapshottable):
    """The bounds of one backlog.

    Args:
        max_messages: most messages at hand.
        max_bytes: most bytes of headers and payloads at hand.
        policy: what gives way.

    Raises:
        InvalidConfig: a bound below 1.
    """

    __slots__ = ("_bytes", "_came", "_runs", "max_bytes", "max_messages", "policy")

    STATE: ClassVar[Codecs] = {"_bytes": PLAIN, "_came": PLAIN, "_runs": PLAIN}

    def __init__(self, max_messages: int, max_bytes: int, policy: Overflow) -> None:
        for name, given in (("max_messages", max_messages), ("max_bytes", max_bytes)):
            if not isinstance(given, int) or isinstance(given, bool) or given < 1:
                raise InvalidConfig(f"expected {name} of at least 1, got {shorten(given)}")
        self.max_messages = max_messages
        self.max_bytes = max_bytes
        self.policy = policy
        self._bytes = 0
        self._came = 0
        # (how many had come with this run, its bytes)
        self._runs: deque[tuple[int, int]] = deque()

    def admit(self, data: list[Delivery], backlog: FrameQueue) -> int | None:
        """Put messages into the backlog as far as they fit; how many gave way, ``None`` if none may
        (`Overflow.FAIL`).
        """
        size = sum(map(size_of, data))
        self._trim(backlog)
        if backlog.count + len(data) <= self.max_messages and self._bytes + size <= self.max_bytes:
            self._push(data, size, backlog)
            return 0
        dropped = 0
        for frame in data:
            size = size_of(frame)
            if self.policy is Overflow.DROP_OLDEST:
                while backlog.count and not self._fits(size, backlog):
                    backlog.pop()
                    self._trim(backlog)
                    dropped += 1
            if self._fits(size, backlog):
                self._push([frame], size, backlog)
            elif self.policy is Overflow.FAIL:
                return None
            else:
                dropped += 1
        return dropped

    def _push(self, data: list[Delivery], size: int, backlog: FrameQueue) -> None:
        backlog.push(data)
        self._came += len(data)
        self._bytes += size
        self._runs.append((self._came, size))

    def _fits(self, size: int, backlog: FrameQueue) -> bool:
        return backlog.count < self.max_messages and self._bytes + size <= self.max_bytes

    def _trim(self, backlog: FrameQueue) -> None:
        """Give back the bytes of the runs that were taken whole."""
        gone = self._came - backlog.count
        runs = self._runs
        while runs and runs[0][0] <= gone:
            self._bytes -= runs.popleft()[1]
