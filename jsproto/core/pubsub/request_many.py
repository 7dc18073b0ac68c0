"""One question, many answers: the feed behind a scatter and gather (ADR-47).

Theory. The question goes out with an inbox of its own, so that giving up the interest stops whoever
still answers. The feed ends by whichever comes first:

- ``count``: so many answers have come; the server is told at once, so that it sends no more than
  these;
- ``stall``: for so many seconds no further answer came. The first one may take longer;
- ``sentinel``: an answer that says that it is the last; it is not handed out;
- ``timeout``: the time for all of it is over.

Each of them is a good end, and `RequestMany.end_of` says which it was. No answer at all is an
error, as with one request: `NoResponders` if nobody listens, `RequestTimeout` if those who do are
silent. A link that is lost ends it with `ConnectionLost`, behind the answers that had come: nobody
knows how many were on their way. While there is no link the question waits for one.
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

#: Says of an answer whether it is the last.
Sentinel = Callable[[Message], bool]


def empty_payload(message: Message) -> bool:
    """The usual sentinel: an answer without payload."""
    return not message.payload


class Gathered(IdentityEnum):
    """What ended a request for many answers well."""

    #: As many came as were wanted.
    COUNT = "COUNT"
    #: No further one came for a while.
    STALL = "STALL"
    #: One said that it is the last.
    SENTINEL = "SENTINEL"
    #: The time was over.
    TIMEOUT = "TIMEOUT"
    #: The user gave it up.
    CLOSED = "CLOSED"


class ManyTimer(IdentityEnum):
    """What it waits for; both at once are a timeout."""

    TIMEOUT = "TIMEOUT"
    STALL = "STALL"


@final
class RequestMany(Conversation[Message]):
    """A request that many may answer.

    Args:
        subject: what is asked.
        payload: the question.
        headers: its headers.
        count: end after so many answers; 0 for no such end.
        stall: end when no further answer comes for so many seconds; ``None`` for no such end.
        sentinel: end with the answer of which this is true, see `empty_payload`; ``None`` for no
            such end.
        timeout: seconds for all of it.
        max_messages: most answers that may wait here; ``max_bytes`` most bytes of them. More end it
            with `SlowConsumer`.

    Attributes:
        end_of: what ended it, ``None`` before and where an error did.
        received: how many answers came, the sentinel not counted.
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
        #: How an answer is made for the user; an adapter may set its own class before the feed is
        #: opened.
        self.message: Callable[[Delivery], Message] = Message

    # ------------------------------------------------------------------ facts

    def opened(self, now: float) -> None:
        """Ask, if there is a link."""
        self._timers.set(ManyTimer.TIMEOUT, now + self._timeout)
        if self.port.up:
            self._ask()

    def link_up(self, now: float) -> None:
        """Ask the question that waited for the link."""
        self._ask()

    def link_down(self, error: JsprotoError, now: float) -> None:
        """Nobody knows what was on its way."""
        if self.port.subject and not self.ended:
            self._over(
                ConnectionLost(
                    f"link lost while answers on {self._subject!r} were waited for, {self.received} had come"
                )
            )

    def delivered(self, run: Sequence[Delivery], now: float) -> None:
        """Answers came."""
        for frame in run:
            if self.ended:
                return
            self._answered(frame)
        if self._stall is not None and not self.ended:
            self._timers.set(ManyTimer.STALL, now + self._stall)

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """The server refused the question, or the interest in its answers."""
        of_interest = isinstance(error, PermissionViolation) and error.operation == "subscription"
        if (
            not self.ended
            and self.port.subject
            and subject == (self.port.subject if of_interest else self._subject)
        ):
            self._over(error)

    def ticked(self, now: float) -> None:
        """Time has passed."""
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
        """`StopMode.STOP` gives it up; while the connection drains, it is finished in its own time."""
        if wish is StopMode.STOP:
            self.closed(None, now)

    def closed(self, error: JsprotoError | None, now: float) -> None:
        """Given up by the user, or the connection is closed."""
        if not self.ended:
            if error is None:
                self._well(Gathered.CLOSED)
            else:
                self._over(error)

    # ------------------------------------------------------------------ the user's side

    def take(self, now: float) -> Message | NeedData | Ended:
        """The oldest answer."""
        frame = self._backlog.pop()
        if frame is None:
            return self.nothing()
        self._bytes -= _size(frame)
        return self.message(frame)

    def take_all(self, now: float) -> list[Message] | NeedData | Ended:
        """All answers at hand."""
        if not self._backlog.count:
            return NEED_DATA if self.nothing() is NEED_DATA else ENDED
        self._bytes = 0
        message = self.message
        return [message(frame) for frame in self._backlog.pop_run()]

    @property
    def readable(self) -> int:
        """Answers at hand."""
        return self._backlog.count

    @property
    def deadline(self) -> float | None:
        """When its time, or the patience for a further answer, is over."""
        return self._timers.next()

    # ------------------------------------------------------------------ small things

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
                    f"expected at most {self._max_messages} answers and {self._max_bytes} bytes waiting on "
                    f"{self._subject!r}, more came"
                )
            )
            return
        self._backlog.push((frame,))
        self._bytes += _size(frame)
        self.received += 1
        if self.received == self._count:
            self._well(Gathered.COUNT)

    def _last(self, sentinel: Sentinel, frame: Delivery) -> bool:
        """Whether it ends here. What the user's function raises is the user's."""
        try:
            answer: object = sentinel(Message(frame))
            check_result(answer, "a sentinel")
            if answer:
                self._well(Gathered.SENTINEL)
        except Exception as bug:  # noqa: BLE001  whatever it is belongs to who asked, not to the reader of the link
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
