"""The pace of a consumer: messages as far apart as they were stored, or not above a rate.

A replay keeps the original distances until it comes to rest with all delivered that was stored when
it began; a rate limit is a bucket of bytes that starts full, with room for the largest message
(nats-server ``loopAndGatherMsgs``, ``setRateLimit``).
"""

from __future__ import annotations

from jsproto.testing.simserver.streams.store import Stored
from jsproto.testing.simserver.values.documents import Table, integer
from jsproto.testing.simserver.values.gotime import MILLISECOND, SECOND
from jsproto.wire.client_commands import MAX_PAYLOAD


class DeliveryPace:
    """How long a message has to wait before it may go. Times are nanoseconds."""

    __slots__ = (
        "_burst",
        "_filled_at",
        "_last_time",
        "_rate",
        "_replaying",
        "_target",
        "_tokens",
        "slow",
    )

    def __init__(self, last: int) -> None:
        #: Whether anything has to wait at all.
        self.slow = False
        #: The last sequence when the replay began, and whether it still goes on.
        self._target = last
        self._replaying = True
        self._last_time = 0
        self._rate = 0
        self._burst = self._tokens = float(MAX_PAYLOAD)
        self._filled_at = 0

    def configure(self, config: Table, stream: Table) -> None:
        """Take over the configurations of consumer and stream."""
        self._replaying = self._replaying and config.get("replay_policy") == "original"
        self._rate = integer(config, "rate_limit_bps") // 8
        size = integer(stream, "max_msg_size")
        self._burst = self._tokens = float(size if size > 0 else MAX_PAYLOAD)
        self.slow = self._replaying or self._rate > 0

    def rested(self, next_seq: int) -> None:
        """Nothing is left to deliver, or nobody takes it."""
        if self._replaying and next_seq > self._target:
            self._replaying = False
            self.slow = self._rate > 0

    def wait(self, message: Stored, size: int, now: int) -> int:
        """How long a message of ``size`` bytes waits from now on."""
        delay = 0
        if self._replaying:
            apart = message.time - self._last_time
            delay = apart if self._last_time and apart > MILLISECOND else 0
            self._last_time = message.time
        if self._rate:
            at = now + delay
            filled = (at - self._filled_at) * self._rate / SECOND if self._filled_at else 0.0
            self._tokens = min(self._burst, self._tokens + filled) - size
            self._filled_at = at
            delay += max(0, round(-self._tokens * SECOND / self._rate))
        return delay
