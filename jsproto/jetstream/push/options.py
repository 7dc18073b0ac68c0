"""How a push subscription reads: options that can be checked before anything is sent (ADR-15)."""

from __future__ import annotations

from typing import Final, final

from attrs import frozen

from jsproto.core.pubsub.subscription import Overflow
from jsproto.jetstream.heartbeat import HeartbeatMonitor
from jsproto.jetstream.push.buffer_limits import BufferLimits

#: ADR-15 "Heartbeats": so many of them may be missed.
PUSH_FACTOR: Final = 3.0


@final
@frozen(kw_only=True)
class PushOptions:
    """How to read what the server pushes.

    Attributes:
        heartbeat_factor: how many heartbeats of silence are an alarm: 3 (ADR-15); 2 is what ADR-37
            has for pulls.
        watch_gaps: report holes in the consumer sequence; a queue group is never watched.
        auto_ack: acknowledge a message when the reader comes back for the next one, or when the
            subscription is stopped or drained. A message that the reader settled is left as it is.
            `Conversation.closed` acknowledges nothing.
        raw: hand out statuses like messages and act upon none of them: flow control is then the
            reader's own business.
        max_messages: most messages at hand, and ``max_bytes`` most bytes of them, while the
            consumer has no flow control.
        policy: what gives way beyond these bounds; each is counted, and told.

    Raises:
        InvalidConfig: what can't work.
    """

    heartbeat_factor: float = PUSH_FACTOR
    watch_gaps: bool = True
    auto_ack: bool = False
    raw: bool = False
    max_messages: int = 65_536
    max_bytes: int = 64 * 1024 * 1024
    policy: Overflow = Overflow.DROP_NEWEST

    def __attrs_post_init__(self) -> None:
        # The parts refuse what they can't work with.
        self.bounds()
        self.liveness()

    def bounds(self) -> BufferLimits:
        """The bounds of the buffer."""
        return BufferLimits(self.max_messages, self.max_bytes, self.policy)

    def liveness(self) -> HeartbeatMonitor:
        """The watch over the heartbeats; what they are is said by the consumer (B092)."""
        return HeartbeatMonitor(0.0, self.heartbeat_factor)
