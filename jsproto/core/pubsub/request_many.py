"""One request, many answers: scatter and gather (ADR-47).

Theory. The request has an inbox of its own, so the client stops late answers by an UNSUB. The first
of these conditions ends it:

- ``count``: this number of answers has arrived. Without a sentinel, the client sends UNSUB max with
  the request, so the server delivers no more;
- ``stall``: no further answer arrived for this number of seconds. The first answer may take longer;
- ``sentinel``: an answer is the last one; it is not given to the user;
- ``timeout``: the total time is over.

These are good ends, and `RequestMany.end_of` says which one it was. No answer at all is an error,
as with a single request: `NoResponders` if no client subscribes to the subject, `RequestTimeout` if
the subscribers do not answer. A lost link ends it with `ConnectionLost`, after the answers that
have arrived, because others may be lost. While the link is down, the request waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import ClassVar, final

from jsproto.core.callbacks import check_callback, check_result
from jsproto.core.conversation.conversation import Conversation, StopMode
from jsproto.core.conversation.message import Message
from jsproto.core.numbers import check_number, seconds, seconds_or_none
from jsproto.core.pubsub.frame_queue import FrameQueue
from jsproto.core.pubsub.subscription import SlowConsumer
from jsproto.core.state import PART, PLAIN, Codecs, IdentityEnum
from jsproto.core.timers import Timers
from jsproto.errors.tree import (
    ConnectionLost,
    JsprotoError,
    LocalProtocolError,
    NoResponders,
    PermissionViolation,
    RequestTimeout,
)
from jsproto.signals import ENDED, NEED_DATA, Ended, NeedData
from jsproto.wire.frames import Delivery
from jsproto.wire.headers import Headers, status_of
from jsproto.wire.subjects import publish_subject

#: Tells whether an answer is the last one.
Sentinel = Callable[[Message], bool]


def empty_payload(message: Message) -> bool:
    """Tell whether an answer has no payload: the usual sentinel."""
    return not message.payload


class Gathered(IdentityEnum):
    """The good ends of a request for many answers."""

    #: The wanted number of answers arrived.
    COUNT = "COUNT"
    #: No further answer arrived for ``stall`` seconds.
    STALL = "STALL"
    #: An answer was the last one.
    SENTINEL = "SENTINEL"
    #: The total time was over.
    TIMEOUT = "TIMEOUT"
    #: The user closed it.
    CLOSED = "CLOSED"


class ManyTimer(IdentityEnum):
    """The timers of the request; if both fire together, it is a timeout."""

    TIMEOUT = "TIMEOUT"
    STALL = "STALL"


@final
class RequestMany(Conversation[Message]):
    """A request that many responders may answer.

    Args:
        subject: the subject of the request.
        payload: its payload.
        headers: its headers.
        count: end after this number of answers; 0 for no such end.
        stall: end when no further answer arrives for this number of seconds; ``None`` for no such
            end.
        sentinel: end with the answer for which this function returns true, see `empty_payload`;
            ``None`` for no such end.
        timeout: seconds in total.
        max_messages: most answers in the buffer; ``max_bytes`` is their most bytes. More end the
            request with `SlowConsumer`.

    Attributes:
        end_of: the reason of a good end; ``None`` before it and after an error.
        received: number of answers without the sentinel.
    """

    __slots__ = (
        "_backlog",
        "_bytes",
        "_count",
        "_headers",
        "_max_bytes",
        "_max_messages",
        "_payload",
        "_sentinel",
        "_stall",
        "_subject",
        "_timeout",
        "_timers",
        "end_of",
        "message",
        "received",
    )

    STATE: ClassVar[Codecs] = {
        **Conversation.STATE,
        "_backlog": PART,
        "_bytes": PLAIN,
        "_timers": PART,
        "end_of": Gathered,
        "received": PLAIN,
    }

    def __init__(
        self,
        subject: str,
        payload: bytes | str = b"",
        *,
        headers: Headers | None = None,
        count: int = 0,
        stall: float | timedelta | None = None,
        sentinel: Sentinel | None = None,
        timeout: float | timedelta = 5.0,
        max_messages: int = 65_536,
        max_bytes: int = 64 * 1024 * 1024,
    ) -> None:
        super().__init__()
        publish_subject(subject)
        check_number("count", count, (int,))
        check_number("max_messages", max_messages, (int,), least=1)
        check_number("max_bytes", max_bytes, (int,), least=1)
        if sentinel is not None:
            check_callback(sentinel, "sentinel")
        self._subject = subject
        self._payload = payload
        self._headers = headers
        self._count = count
        self._stall = seconds_or_none("stall", stall)
        self._sentinel = sentinel
        self._timeout = seconds("timeout", timeout)
        self._max_messages = max_messages
        self._max_bytes = max_bytes
        self._backlog = FrameQueue()
        self._bytes = 0
        self._timers = Timers(ManyTimer)
        self.end_of: Gathered | None = None
        self.received = 0
        #: Creates the message object for an answer; an adapter may set its own class before the
        #: request is opened.
        self.message: Callable[[Delivery], Message] = Message

    # ------------------------------------------------------------------ facts

    def opened(self, now: float) -> None:
        """Send the request, if the link is up."""
        self._timers.set(ManyTimer.TIMEOUT, now + self._timeout)
        if self.port.up:
            self._ask()

    def link_up(self, now: float) -> None:
        """Send the request that waited for the link."""
        self._ask()

    def link_down(self, error: JsprotoError, now: float) -> None:
        """Fail, because answers may be lost."""
        if self.port.subject and not self.ended:
            self._over(
                ConnectionLost(
                    f"link lost while waiting for answers on {self._subject!r},"
                    f" {self.received} had come"
                )
            )

    def delivered(self, run: Sequence[Delivery], now: float) -> None:
        """Process answers."""
        for frame in run:
            if self.ended:
                return
            self._answered(frame)
        if self._stall is not None and not self.ended:
            self._timers.set(ManyTimer.STALL, now + self._stall)

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """Fail if the server refused the request or the subscription to its answers."""
        of_interest = isinstance(error, PermissionViolation) and error.operation == "subscription"
        if (
            not self.ended
            and self.port.subject
            and subject == (self.port.subject if of_interest else self._subject)
        ):
            self._over(error)

    def ticked(self, now: float) -> None:
        """Process a timeout."""
        for timer in self._timers.expired(now):
            if timer is ManyTimer.STALL:
                self._well(Gathered.STALL)
            elif self.received:
                self._well(Gathered.TIMEOUT)
            else:
                self._over(
                    RequestTimeout(
                        f"expected answers on {self._subject!r} within {self._timeout} s, none came"
                    )
                )

    def told(self, wish: StopMode, now: float) -> None:
        """End for `StopMode.STOP`; with `StopMode.DRAIN` the request continues to its end."""
        if wish is StopMode.STOP:
            self.closed(None, now)

    def closed(self, error: JsprotoError | None, now: float) -> None:
        """End: the user closed it, or the connection is closed."""
        if not self.ended:
            if error is None:
                self._well(Gathered.CLOSED)
            else:
                self._over(error)

    # ------------------------------------------------------------------ the user's side

    def take(self, now: float) -> Message | NeedData | Ended:
        """Return the oldest answer."""
        frame = self._backlog.pop()
        if frame is None:
            return self.nothing()
        self._bytes -= _size(frame)
        return self.message(frame)

    def take_all(self, now: float) -> list[Message] | NeedData | Ended:
        """Return all available answers."""
        if not self._backlog.count:
            return NEED_DATA if self.nothing() is NEED_DATA else ENDED
        self._bytes = 0
        message = self.message
        return [message(frame) for frame in self._backlog.pop_run()]

    @property
    def readable(self) -> int:
        """Number of available answers."""
        return self._backlog.count

    @property
    def deadline(self) -> float | None:
        """When the total time, or the wait for a further answer, is over."""
        return self._timers.next()

    # ------------------------------------------------------------------ helpers

    def _ask(self) -> None:
        self.port.subscribe()
        if self._count and self._sentinel is None:
            self.port.unsubscribe(after=self._count)
        self.port.ask(self._subject, self._payload, self._headers)

    def _answered(self, frame: Delivery) -> None:
        block = frame[3]
        if block is not None and not self.received and not frame[4]:
            status = status_of(block)
            if status is not None and status[0] == 503:
                text = f"expected answers on {self._subject!r}, but nobody listens there (503)"
                self._over(NoResponders(text, self._subject))
                return
        if self._sentinel is not None and self._last(self._sentinel, frame):
            return
        if (
            self._backlog.count >= self._max_messages
            or self._bytes + _size(frame) > self._max_bytes
        ):
            self._over(
                SlowConsumer(
                    f"expected at most {self._max_messages} answers and {self._max_bytes} bytes"
                    f" waiting on {self._subject!r}, more came"
                )
            )
            return
        self._backlog.push((frame,))
        self._bytes += _size(frame)
        self.received += 1
        if self.received == self._count:
            self._well(Gathered.COUNT)

    def _last(self, sentinel: Sentinel, frame: Delivery) -> bool:
        """Tell whether this answer ends the request; an exception of the sentinel fails it."""
        try:
            answer: object = sentinel(Message(frame))
            check_result(answer, "a sentinel")
            if answer:
                self._well(Gathered.SENTINEL)
        except Exception as bug:  # noqa: BLE001  the caller gets any exception, and the reader of the link must go on
            error = LocalProtocolError(
                f"expected a sentinel to answer, it raised {type(bug).__name__}"
            )
            error.__cause__ = bug
            self._over(error)
        return self.ended

    def _well(self, how: Gathered) -> None:
        self.end_of = how
        self._over(None)

    def _over(self, error: JsprotoError | None) -> None:
        self._timers.clear()
        self.end(error)


def _size(frame: Delivery) -> int:
    return len(frame[4]) + (0 if frame[3] is None else len(frame[3]))
