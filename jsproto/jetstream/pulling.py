"""What `Fetch` and `Consume` share: messages at hand, and giving back what nobody will take.

A frame on the conversation's inbox is a message of the consumer if it has a reply subject, and else a word about a pull.
Whatever came is in exactly one place (invariant 18): at hand, taken, or given back with a nak, so that the server can
hand it to somebody at once and not only after ``ack_wait``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Final, Generic, TypeAlias, TypeVar, cast

from jsproto.core.conversation import Conversation
from jsproto.core.feed import Backlog
from jsproto.core.state import PART, PLAIN, Codecs
from jsproto.errors import JsprotoError, NoResponders
from jsproto.jetstream.ack import Nak
from jsproto.jetstream.liveness import Liveness
from jsproto.jetstream.message import JsMessage
from jsproto.jetstream.pull import PullNotice
from jsproto.jetstream.status import Row, Verdict, status_error
from jsproto.signals import Ended, NeedData
from jsproto.wire.commands import Publish
from jsproto.wire.frames import BLOCK, REPLY, Delivery
from jsproto.wire.headers import status_of

M = TypeVar("M")

#: Makes the user's message of a frame and the conversation that it came through.
Make: TypeAlias = Callable[[Delivery, "PullFeed[M]"], M]

_NAK: Final = Nak().payload()


class PullFeed(Conversation[M], Generic[M]):
    """Base of conversations that pull.

    Attributes:
        subject: where pulls are published: the consumer's NEXT subject.
        message: makes a user's message; an adapter puts its own in before the conversation is opened.
        strays: frames that were neither messages nor statuses of a pull that is known; they change nothing.
        returned: messages that were given back to the server.
    """

    __slots__ = ("backlog", "liveness", "message", "returned", "strays", "subject")

    STATE: ClassVar[Codecs] = {
        **Conversation.STATE,
        "backlog": PART,
        "liveness": PART,
        "returned": PLAIN,
        "strays": PLAIN,
    }

    def __init__(self, subject: str, liveness: Liveness, message: Make[M] | None = None) -> None:
        super().__init__()
        self.subject = subject
        self.message: Make[M] = message or cast("Make[M]", JsMessage)
        self.backlog = Backlog()
        self.liveness = liveness
        self.strays = 0
        self.returned = 0

    # ------------------------------------------------------------------ the user's side

    @property
    def readable(self) -> int:
        """How many messages are at hand."""
        return self.backlog.count

    def take(self, now: float) -> M | NeedData | Ended:
        """The next message; raises why it ended once those at hand are taken."""
        frame = self.backlog.pop()
        return self.nothing() if frame is None else self.message(frame, self)

    def take_all(self, now: float) -> list[M] | NeedData | Ended:
        """All messages at hand."""
        frames = self.backlog.pop_run()
        if not frames:
            return self.nothing()
        make = self.message
        return [make(frame, self) for frame in frames]

    # ------------------------------------------------------------------ facts

    def delivered(self, run: Sequence[Delivery], now: float) -> None:
        """Messages and statuses of one sid, in order."""
        whole = [frame for frame in run if frame[REPLY]]
        if len(whole) == len(run):
            self._received(whole, now)
            return
        data: list[Delivery] = []
        for frame in run:
            if frame[REPLY]:
                data.append(frame)
                continue
            if data:
                self._received(data, now)
                data = []
            self._said(frame, now)
        if data:
            self._received(data, now)

    def _said(self, frame: Delivery, now: float) -> None:
        block = frame[BLOCK]
        status = status_of(block) if block is not None else None
        if block is None or status is None:
            self.strays += 1
        else:
            self._status(frame, block, status, now)

    def _received(self, data: list[Delivery], now: float) -> None:
        """Messages came; the list is ours."""
        raise NotImplementedError

    def _status(self, frame: Delivery, block: bytes, status: tuple[int, str], now: float) -> None:
        """A status came."""
        raise NotImplementedError

    # ------------------------------------------------------------------ for subclasses

    def _give_back(self, frames: Sequence[Delivery]) -> None:
        """Nak messages that nobody will take. Without a link there is nobody to tell, and the server knows by itself."""
        if not self.port.up:
            self.strays += len(frames)
            return
        for frame in frames:
            self.port.publish(Publish(frame[REPLY], _NAK))
        self.returned += len(frames)
        self.port.notify(PullNotice.RETURNED, len(frames))

    def _abandon(self) -> None:
        """The user takes no more: give back what is at hand. Without a link it stays at hand."""
        if self.port.up and self.backlog.count:
            self._give_back(self.backlog.pop_run())

    def _error_of(self, row: Row, status: tuple[int, str]) -> JsprotoError:
        """A status that is no good end as the error that it is."""
        if row.verdict is Verdict.GONE_FOR_NOW:
            return NoResponders(
                f"expected a consumer to serve {self.subject}, nobody does (503)", self.subject
            )
        return status_error(row, *status, f"a pull on {self.subject}")
