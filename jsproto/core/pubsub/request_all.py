"""One question, the answers of everybody as one result: for who wants no feed.

Theory. How such answers end is `RequestMany`'s to judge; this waits for that end and makes one
value of what came. It has one result or one error, as a `Procedure` has, so it is run and not
streamed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final, TypeVar, cast, final

from jsproto.core.conversation.conversation import Conversation, StopMode
from jsproto.core.conversation.message import Message
from jsproto.core.pubsub.request_many import RequestMany
from jsproto.core.state import PART, PLAIN, Codecs
from jsproto.errors.tree import ConnectionClosed, JsprotoError
from jsproto.signals import Ended, NeedData
from jsproto.wire.frames import Delivery

T_co = TypeVar("T_co", covariant=True)

#: Seconds without another answer after which nobody more is waited for, where nothing else is said.
STALL: Final = 0.3


@final
class Gather(Conversation[T_co]):
    """Ask once, and make one result of all that answer.

    Args:
        many: the question, and when its answers have come.
        read: makes the result of the answers, in the order in which they came; errors of ours that
            it raises are the outcome.

    Attributes:
        many: the same.
    """

    __slots__ = ("_given", "_read", "many")

    STATE: ClassVar[Codecs] = {**Conversation.STATE, "_given": PLAIN, "many": PART}

    def __init__(self, many: RequestMany, read: Callable[[Sequence[Message]], T_co]) -> None:
        super().__init__()
        self.many = many
        self._read = read
        self._given = False

    # ------------------------------------------------------------------ facts

    def opened(self, now: float) -> None:
        """Ask, if there is a link."""
        self.many.port = self.port
        self.many.opened(now)

    def link_up(self, now: float) -> None:
        """Ask now, if it was opened without a link."""
        self.many.link_up(now)

    def link_down(self, error: JsprotoError, now: float) -> None:
        """Who had not answered yet is unknown now."""
        self.many.link_down(error, now)
        self._judge()

    def delivered(self, run: Sequence[Delivery], now: float) -> None:
        """Answers came."""
        self.many.delivered(run, now)
        self._judge()

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """Not permitted."""
        self.many.refused(subject, error, now)
        self._judge()

    def ticked(self, now: float) -> None:
        """No more may be waited for."""
        self.many.ticked(now)
        self._judge()

    def told(self, wish: StopMode, now: float) -> None:
        """A question that is open is finished, whatever is wished."""

    def closed(self, error: JsprotoError | None, now: float) -> None:
        """Given up: what came so far is not the result."""
        if not self.ended:
            self.many.closed(error or ConnectionClosed("closed while answers were waited for"), now)
            self._judge()

    # ------------------------------------------------------------------ the user's side

    def take(self, now: float) -> T_co | NeedData | Ended:
        """The result once; raises what went wrong."""
        if not self.readable:
            return self.nothing()
        self._given = self.served = True
        answers = self.many.take_all(now)
        # It ended well, so there is at least one.
        return self._read(cast("list[Message]", answers))

    @property
    def readable(self) -> int:
        """1 while the result is there and not taken."""
        return 1 if self.ended and self.error is None and not self._given else 0

    @property
    def deadline(self) -> float | None:
        """When no more is waited for."""
        return self.many.deadline

    def restore(self, data: Mapping[str, object]) -> None:
        """Put back what `snapshot` gave."""
        super().restore(data)
        self.many.port = self.port

    def _judge(self) -> None:
        if self.many.ended and not self.ended:
            self.end(self.many.error)
