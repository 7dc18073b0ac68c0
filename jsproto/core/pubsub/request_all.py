"""A request whose replies from all responders are collected into one result.

Theory. `RequestMany` decides when the replies end. `Gather` waits for that end and makes one value
of the replies. Like a `Procedure` it has one result or one error.
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

#: Default time in seconds without another reply after which a request to many ends.
STALL: Final = 0.3


@final
class Gather(Conversation[T_co]):
    """Send one request, and make one result of all replies.

    Args:
        many: the request, and the rule when its replies are complete.
        read: makes the result from the replies, in the order of their arrival. A `JsprotoError`
            that it raises is the outcome.

    Attributes:
        many: the request.
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
        """Send the request, if the link is up."""
        self.many.port = self.port
        self.many.opened(now)

    def link_up(self, now: float) -> None:
        """Send the request now, if it was opened without a link."""
        self.many.link_up(now)

    def link_down(self, error: JsprotoError, now: float) -> None:
        """Fail, because further replies may be lost."""
        self.many.link_down(error, now)
        self._judge()

    def delivered(self, run: Sequence[Delivery], now: float) -> None:
        """Process replies."""
        self.many.delivered(run, now)
        self._judge()

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """Fail, because the server refused the request."""
        self.many.refused(subject, error, now)
        self._judge()

    def ticked(self, now: float) -> None:
        """End if the time for further replies is over."""
        self.many.ticked(now)
        self._judge()

    def told(self, wish: StopMode, now: float) -> None:
        """Do nothing: an open request is finished in every stop mode."""

    def closed(self, error: JsprotoError | None, now: float) -> None:
        """Cancel: the replies so far are not a result."""
        if not self.ended:
            self.many.closed(error or ConnectionClosed("closed while waiting for answers"), now)
            self._judge()

    # ------------------------------------------------------------------ the user's side

    def take(self, now: float) -> T_co | NeedData | Ended:
        """Return the result once; raises the error of the request."""
        if not self.readable:
            return self.nothing()
        self._given = self.served = True
        answers = self.many.take_all(now)
        # The request ended without an error, so there is at least one reply.
        return self._read(cast("list[Message]", answers))

    @property
    def readable(self) -> int:
        """1 while the result is available, else 0."""
        return 1 if self.ended and self.error is None and not self._given else 0

    @property
    def deadline(self) -> float | None:
        """When the wait for further replies ends."""
        return self.many.deadline

    def restore(self, data: Mapping[str, object]) -> None:
        """Restore the state that `snapshot` returned."""
        super().restore(data)
        self.many.port = self.port

    def _judge(self) -> None:
        if self.many.ended and not self.ended:
            self.end(self.many.error)
