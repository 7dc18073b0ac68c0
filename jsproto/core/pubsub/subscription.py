"""A core NATS subscription: the server pushes messages into it.

Theory. Core NATS has no flow control, so everything that the server routes arrives. Therefore the
buffer has limits in messages and bytes, and a policy for messages that do not fit. Every dropped
message is counted, and the user gets one notice per overflow. With a limit of messages (UNSUB max)
the subscription ends after that many; the limit may be set or lowered at any time. A drain
unsubscribes and sends a PING. Messages that the server had routed before its PONG are still
delivered, then the subscription ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import ClassVar, final

from jsproto.core.connection.events import NoticeKind
from jsproto.core.conversation.conversation import Conversation, StopMode
from jsproto.core.conversation.message import Message
from jsproto.core.numbers import check_number, is_number
from jsproto.core.pubsub.frame_queue import FrameQueue
from jsproto.core.state import PART, PLAIN, Codecs
from jsproto.errors.tree import InvalidConfig, JsprotoError, LocalProtocolError, PermissionViolation
from jsproto.signals import ENDED, NEED_DATA, Ended, NeedData
from jsproto.wire.frames import Delivery
from jsproto.wire.subjects import queue_name, subscription_subject


class Overflow(Enum):
    """The action of a subscription whose buffer is full."""

    DROP_NEWEST = "DROP_NEWEST"
    DROP_OLDEST = "DROP_OLDEST"
    #: End with `SlowConsumer`; the messages in the buffer can still be taken.
    FAIL = "FAIL"


class SlowConsumer(LocalProtocolError):
    """The user was slower than the messages, and the policy ends the subscription."""


@final
class Subscription(Conversation[Message]):
    """A subscription to a subject.

    Args:
        subject: may hold wildcards.
        queue: shares the messages with the other members of this queue group.
        limit: end after this number of messages; 0 for none.
        max_messages: most messages in the buffer; ``max_bytes`` is the most payload and header
            bytes.
        policy: the action for messages that do not fit.

    Attributes:
        dropped: number of messages dropped by the policy. Every received message was taken, waits
            in the buffer, or is counted here.
    """

    __slots__ = (
        "_backlog",
        "_bytes",
        "_came",
        "_fence",
        "_limit",
        "_max_bytes",
        "_max_messages",
        "_overflowing",
        "_policy",
        "_queue",
        "_subject",
        "dropped",
        "message",
    )

    STATE: ClassVar[Codecs] = {
        **Conversation.STATE,
        "_backlog": PART,
        "_bytes": PLAIN,
        "_came": PLAIN,
        "_fence": PLAIN,
        "_limit": PLAIN,
        "_overflowing": PLAIN,
        "dropped": PLAIN,
    }

    def __init__(
        self,
        subject: str,
        *,
        queue: str = "",
        limit: int = 0,
        max_messages: int = 65_536,
        max_bytes: int = 64 * 1024 * 1024,
        policy: Overflow = Overflow.DROP_NEWEST,
    ) -> None:
        super().__init__()
        subscription_subject(subject)
        if queue:
            queue_name(queue)
        check_number("limit", limit, (int,))
        check_number("max_messages", max_messages, (int,), least=1)
        check_number("max_bytes", max_bytes, (int,), least=1)
        self._subject = subject
        self._queue = queue
        self._limit = limit
        self._came = 0
        self._max_messages = max_messages
        self._max_bytes = max_bytes
        self._policy = policy
        self._backlog = FrameQueue()
        self._bytes = 0
        self._overflowing = False
        self._fence = 0
        self.dropped = 0
        #: Creates the message object for the user; an adapter may set its own class before the
        #: subscription is opened.
        self.message: Callable[[Delivery], Message] = Message

    # ------------------------------------------------------------------ facts

    def opened(self, now: float) -> None:
        """Subscribe."""
        self.port.subscribe(self._subject, self._queue)
        if self._limit:
            self.port.unsubscribe(self._limit)

    def delivered(self, run: Sequence[Delivery], now: float) -> None:
        """Buffer messages."""
        if self.ended:
            if isinstance(self.error, SlowConsumer):
                self._drop(len(run))
            return
        limit = self._limit
        if limit:
            run = run[: limit - self._came]  # the limit may be lowered while messages are in flight
        self._came += len(run)
        size = 0
        for frame in run:
            size += len(frame[4])
            if frame[3] is not None:
                size += len(frame[3])
        if (
            self._backlog.count + len(run) <= self._max_messages
            and self._bytes + size <= self._max_bytes
        ):
            self._backlog.push(run)
            self._bytes += size
        else:
            self._overflow(run)
        if limit and self._came >= limit and not self.ended:
            self.end()

    def fenced(self, token: int, now: float) -> None:
        """The PONG after the UNSUB arrived: end."""
        if token == self._fence:
            self.end()

    def link_down(self, error: JsprotoError, now: float) -> None:
        """End if it drains, because no more messages will arrive."""
        if self._fence:
            self.end()

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """End if the server refused this subscription."""
        if self.ended or not isinstance(error, PermissionViolation):
            return
        if error.bars(self._subject, self._queue, self.port.sid):
            self.end(error)

    def limited(self, count: int, now: float) -> None:
        """End after this number of messages since it was opened (UNSUB max).

        It ends at once if that many have arrived already. A limit can be lowered and not raised,
        because the server may have reached it and dropped the subscription.

        Raises:
            InvalidConfig: the limit is less than 1, or more than the current limit.
        """
        if not is_number(count, (int,)) or count < 1 or (self._limit and count > self._limit):
            most = f" and <= {self._limit}, the current limit" if self._limit else ""
            raise InvalidConfig(f"expected a limit >= 1{most}; got {count}")
        if self.ended or self._fence:
            return
        if count <= self._came:
            self.end()
            return
        self._limit = count
        self.port.unsubscribe(after=count)

    def told(self, wish: StopMode, now: float) -> None:
        """Unsubscribe, and end when everything routed so far has arrived."""
        if self.ended or self._fence:
            return
        if not self.port.up:
            self.end()
            return
        self.port.unsubscribe()
        self._fence = self.port.fence()

    # ------------------------------------------------------------------ the user's side

    def take(self, now: float) -> Message | NeedData | Ended:
        """Return the oldest message."""
        frame = self._backlog.pop()
        if frame is None:
            return self.nothing()
        self._bytes -= _size(frame)
        self._overflowing = False
        return self.message(frame)

    def take_all(self, now: float) -> list[Message] | NeedData | Ended:
        """Return all available messages."""
        if not self._backlog.count:
            nothing = self.nothing()
            return NEED_DATA if nothing is NEED_DATA else ENDED
        self._bytes = 0
        self._overflowing = False
        message = self.message
        return [message(frame) for frame in self._backlog.pop_run()]

    @property
    def readable(self) -> int:
        """Number of available messages."""
        return self._backlog.count

    # ------------------------------------------------------------------ overflow

    def _overflow(self, run: Sequence[Delivery]) -> None:
        dropped = 0
        for at, frame in enumerate(run):
            size = _size(frame)
            if self._policy is Overflow.DROP_OLDEST:
                while self._backlog.count and not self._fits(size):
                    oldest = self._backlog.pop()
                    self._bytes -= 0 if oldest is None else _size(oldest)
                    dropped += 1
            if self._fits(size):
                self._backlog.push([frame])
                self._bytes += size
            elif self._policy is Overflow.FAIL:
                self._drop(len(run) - at)
                self.end(
                    SlowConsumer(
                        f"expected at most {self._max_messages} messages and {self._max_bytes}"
                        f" bytes waiting on {self._subject!r}, more came"
                    )
                )
                return
            else:
                dropped += 1
        self._drop(dropped)
        if not self._overflowing:
            self._overflowing = True
            self.port.notify(NoticeKind.SLOW_CONSUMER, dropped)

    def _drop(self, count: int) -> None:
        self.dropped += count
        self.port.lost += count

    def _fits(self, size: int) -> bool:
        return self._backlog.count < self._max_messages and self._bytes + size <= self._max_bytes


def _size(frame: Delivery) -> int:
    return len(frame[4]) + (0 if frame[3] is None else len(frame[3]))
