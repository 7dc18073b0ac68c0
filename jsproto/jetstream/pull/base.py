"""What `Fetch` and `Consume` share: messages at hand, and giving back what nobody will take.

A frame on the conversation's inbox is a message of the consumer if its reply subject is that of a
delivery (``$JS.ACK.``), and a word about a pull if it has none. With any other reply subject it is
nobody's: it is not handed out, and nothing is ever sent there. Whatever came is in exactly one
place (invariant 18): at hand, taken, or given back with a nak, so that the server can hand it to
somebody at once and not only after ``ack_wait``.

What is taken is in the user's hands. If that matters to the feed (`AckOptions`), its messages are
made by way of `_made`, which puts them into `InProgressTracker` and `AckFloor`; else by the bare
factory, and nothing costs anything. A feed that keeps messages in progress outlives its end until
they are settled: it is not `finished` before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from operator import itemgetter
from typing import ClassVar, Final, Generic, TypeAlias, TypeVar, cast

from jsproto.core.conversation.conversation import Conversation
from jsproto.core.pubsub.frame_queue import FrameQueue
from jsproto.core.state import PART, PLAIN, Codecs
from jsproto.errors.tree import JsprotoError, LocalProtocolError
from jsproto.jetstream.delivery.ack import (
    ACK_ROOT,
    CUMULATIVE,
    IN_PROGRESS,
    MUTE,
    NAK,
    OPEN,
    TRANSITIONS,
    AckFact,
    is_ack_for,
)
from jsproto.jetstream.delivery.ack_floor import AckFloor
from jsproto.jetstream.delivery.ack_options import AckOptions
from jsproto.jetstream.delivery.in_progress import InProgressTracker
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.errors import HeartbeatsMissed
from jsproto.jetstream.heartbeat import HeartbeatMonitor
from jsproto.jetstream.pull.existence_check import names_of
from jsproto.jetstream.pull.request import PullNotice
from jsproto.jetstream.status import StatusRow, pull_error
from jsproto.signals import Ended, NeedData
from jsproto.wire.commands import Publish
from jsproto.wire.frames import BLOCK, REPLY, SUBJECT, Delivery
from jsproto.wire.headers import status_of

M = TypeVar("M")

#: Makes the user's message of a frame and the conversation that it came through.
Make: TypeAlias = Callable[[Delivery, "PullFeed[M]"], M]

#: What a feed has that looks after nothing: they are never changed, so one serves all.
_NO_HANDS: Final = InProgressTracker()
_NO_FLOOR: Final = AckFloor()

_REPLY_OF: Final = itemgetter(REPLY)
_NAK: Final = NAK.payload()
_WPI: Final = IN_PROGRESS.payload()


def _all_deliveries(run: Sequence[Delivery]) -> bool:
    """Whether each frame has the reply subject of a delivery; judged for all together, without a
    step of Python for each.
    """
    if len(run) == 1:
        return run[0][REPLY].startswith(ACK_ROOT)
    # No reply subject holds a line feed: the parser splits lines there.
    return ("\n" + "\n".join(map(_REPLY_OF, run))).count("\n" + ACK_ROOT) == len(run)


class PullFeed(Conversation[M], Generic[M]):
    """Base of conversations that pull.

    Attributes:
        subject: where pulls are published: the consumer's NEXT subject.
        message: makes a user's message; an adapter puts its own in before the conversation is
            opened.
        strays: frames that were neither messages nor statuses of a pull that is known; they change
            nothing.
        returned: messages that were given back to the server.
        acking: what is known of acknowledgements, and wished.
        hands: messages in the user's hands, if they are kept in progress.
        floor: what was acked, of a consumer that is known to have ack policy all.
        prolonged: how often the server was told by itself that a message is being worked on.
    """

    __slots__ = (
        "_barred",
        "_make",
        "acking",
        "backlog",
        "floor",
        "hands",
        "liveness",
        "message",
        "prolonged",
        "returned",
        "strays",
        "subject",
    )

    STATE: ClassVar[Codecs] = {
        **Conversation.STATE,
        "_barred": PLAIN,
        "backlog": PART,
        "floor": PART,
        "hands": PART,
        "liveness": PART,
        "prolonged": PLAIN,
        "returned": PLAIN,
        "strays": PLAIN,
    }

    def __init__(
        self,
        subject: str,
        liveness: HeartbeatMonitor,
        acking: AckOptions,
        message: Make[M] | None = None,
    ) -> None:
        super().__init__()
        self.subject = subject
        self.acking = acking.checked()
        self.hands = InProgressTracker(acking.every) if acking.every else _NO_HANDS
        self.floor = AckFloor() if acking.state is CUMULATIVE else _NO_FLOOR
        self.prolonged = 0
        # It was said for this link that acks are refused.
        self._barred = False
        self._make: Make[M] | None = None
        self.message: Make[M] = message or cast("Make[M]", JsMessage)
        self.backlog = FrameQueue()
        self.liveness = liveness
        self.strays = 0
        self.returned = 0

    # ------------------------------------------------------------------ the user's side

    @property
    def readable(self) -> int:
        """How many messages are at hand."""
        return len(self.backlog.waiting)

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

    @property
    def strict(self) -> bool:
        """Whether settling a message twice is an error."""
        return self.acking.strict

    def covered(self, message: JsMessage) -> None:
        """A message of a consumer with ack policy all was acked."""
        self.floor.ack(message)

    # ------------------------------------------------------------------ facts

    def link_up(self, now: float) -> None:
        """Who may do what can be different on a new link."""
        self._barred = False

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """The server, or our own encoder, does not let something through. If it is an ack of this
        consumer, the user is told once.
        """
        if not self._barred and is_ack_for(subject, *names_of(self.subject)):
            self._barred = True
            self.port.notify(PullNotice.ACK_REFUSED, error)

    def delivered(self, run: Sequence[Delivery], now: float) -> None:
        """Messages and statuses of one sid, in order."""
        if _all_deliveries(run):
            self._received(run if isinstance(run, list) else list(run), now)
            return
        data: list[Delivery] = []
        for frame in run:
            if frame[REPLY].startswith(ACK_ROOT):
                data.append(frame)
                continue
            if data:
                self._received(data, now)
                data = []
            self._said(frame, now)
        if data:
            self._received(data, now)

    def _said(self, frame: Delivery, now: float) -> None:
        if frame[REPLY]:
            self.strays += 1
            self.port.notify(PullNotice.STRAY, frame[SUBJECT])
            return
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

    # ------------------------------------------------------------------ messages in hand

    def _configure_messages(self) -> None:
        """Let the factory make messages as the consumer's ack policy and the user's wishes have
        them; called once it is known.
        """
        make = self.message
        state = self.acking.state
        if self._make is not None or (state is OPEN and not self.acking.keeps):
            return
        self._make = make
        if state is MUTE and isinstance(make, type) and issubclass(make, JsMessage):
            self.message = cast("Make[M]", partial(make, state=MUTE))
        else:
            self.message = self._made

    def _made(self, frame: Delivery, feed: PullFeed[M]) -> M:
        message = cast("Make[M]", self._make)(frame, feed)
        if not isinstance(message, JsMessage):
            raise LocalProtocolError(
                f"expected a factory of JsMessage where acknowledgements are looked after, it made {type(message).__name__}"
            )
        message.said = self.acking.state
        if message.said is CUMULATIVE:
            self.floor.hand(message)
        if self.acking.keeps:
            self.hands.hand(message)
        return message

    def _beat(self, now: float) -> None:
        """Say that ripe messages are being worked on; or that messages age at hand, if that is not
        wished.
        """
        hands = self.hands
        while hands.due is not None and now >= hands.due and self.port.up:
            aged = hands.ageing
            held, ripe = hands.beat(now, self.backlog.count)
            if self.acking.keeps:
                replies = [
                    each.reply for each in held if AckFact.PROGRESSED in TRANSITIONS[each.said]
                ]
                replies += [
                    frame[REPLY] for frame in islice(self.backlog.frames() if ripe else (), ripe)
                ]
                for reply in replies:
                    self.port.publish(Publish(reply, _WPI))
                self.prolonged += len(replies)
            elif hands.ageing:
                self._aged(once=not aged)

    def _aged(self, *, once: bool) -> None:
        """Messages at hand will be delivered again before they can be taken; ``once`` for each
        spell of it.
        """
        if once:
            self.port.notify(PullNotice.AGEING, self.hands.ageing)

    @property
    def _held(self) -> bool:
        """Whether there are messages that nobody has settled; it matters where they are kept in
        progress.
        """
        return bool(self.backlog.count or not self.hands.empty)

    def _let_go(self, error: JsprotoError | None) -> None:
        """The feed is closed: give back what is in hand, if that is wished; after an error nobody
        can be told.
        """
        if error is None and self.port.up and self.acking.nak_held:
            self._give_back(
                [message.frame for message in self.hands.open if message.told(AckFact.SENT)]
            )
        if error is not None:
            self.hands.clear()

    # ------------------------------------------------------------------ for subclasses

    def _give_back(self, frames: Sequence[Delivery]) -> None:
        """Nak messages that nobody will take. Without a link there is nobody to tell, and the
        server knows by itself.

        A consumer that wants no acks listens to no nak either: its messages are lost to this
        reader, which is told.
        """
        if self.acking.state is MUTE:
            self.port.lost += len(frames)
            if frames:
                self.port.notify(PullNotice.DROPPED, len(frames))
            return
        if not self.port.up:
            self.strays += len(frames)
            return
        for frame in frames:
            self.port.publish(Publish(frame[REPLY], _NAK))
        self.returned += len(frames)
        if frames:
            self.port.notify(PullNotice.RETURNED, len(frames))

    def _abandon(self) -> None:
        """The user takes no more: give back what is at hand. Without a link it stays at hand."""
        if self.port.up and self.backlog.count:
            self._give_back(self.backlog.pop_run())

    # ------------------------------------------------------------------ state

    def restore(self, data: Mapping[str, object]) -> None:
        """Put back what `snapshot` gave. Messages that were in the user's hands are new objects, in
        ``hands`` and ``floor``.
        """
        super().restore(data)
        held = {message.reply: message for message in self.hands.open}
        self.floor.adopt(held)
        for message in (*held.values(), *self.floor.pending):
            message.feed = self
        self._configure_messages()

    def _missed(self) -> HeartbeatsMissed:
        return HeartbeatsMissed(
            f"expected a heartbeat every {self.liveness.heartbeat:g} s for a pull on {self.subject}, "
            f"nothing came for {self.liveness.period:g} s"
        )

    def _error_of(self, row: StatusRow, status: tuple[int, str]) -> JsprotoError:
        """A status that is no good end as the error that it is."""
        return pull_error(row, *status, f"a pull on {self.subject}", self.subject)
