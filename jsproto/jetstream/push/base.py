"""What reads from a push consumer: messages, markers and statuses of one deliver subject, in order
(ADR-15).

Theory. The server pushes to a subject, and three things come on its sid:

    messages             on their stored subject, with a reply subject to acknowledge to
    heartbeats           on the deliver subject, without a reply subject
    flow-control marks   on the deliver subject, with the reply subject to answer to

So a frame is a status if and only if it came on the deliver subject and has a status line: a stored
message with a forged one (servers before 2.12 keep it) came on another subject, since a stream
never stores what its consumers deliver.

What comes goes through here in order. A heartbeat is compared when it comes, after the messages
before it. A flow-control mark waits between the messages: it is answered in the step in which the
last message before it is taken, and never before. Where the answer *is* the acknowledgement (ack
policy flow_control, ADR-60), taken is not enough: the reader must have come back for more, which
says that it is done with what it had.

The consumer's own configuration decides what holds, not what anybody asked for (B092): `agreed` is
told of it.

This is a base. `PushSubscription` adds the subscribe workflow, and whoever has a consumer by
another way can derive from it: subscribe, say `expect` with the deliver subject, `agreed` with the
configuration and `watch`. `clear` and the same again start anew with another consumer: frames of a
sid that is not the present one change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import ClassVar, Final, Generic, NamedTuple, TypeAlias, TypeVar, cast

from jsproto.core.connection.events import NoticeKind
from jsproto.core.conversation.conversation import Conversation
from jsproto.core.pubsub.frame_queue import FrameQueue
from jsproto.core.pubsub.subscription import SlowConsumer
from jsproto.core.state import PART, PLAIN, Codecs, Snapshot
from jsproto.errors.tree import JsprotoError, LinkError
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.enums import AckPolicy, ReplayPolicy
from jsproto.jetstream.delivery.ack import (
    ACK,
    ACK_ROOT,
    MUTE,
    OPEN,
    AckFact,
    AckState,
    AckSubject,
    InvalidAckSubject,
)
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.errors import HeartbeatsMissed
from jsproto.jetstream.gaps import Gap, GapDetector, sequence_of
from jsproto.jetstream.heartbeat import HeartbeatAlarm
from jsproto.jetstream.push.flow_control import FlowControl, FlowMark
from jsproto.jetstream.push.options import PushOptions
from jsproto.jetstream.status import EndReason, StatusAction, StatusContext, judge, status_error
from jsproto.signals import Ended, NeedData
from jsproto.wire.commands import Publish
from jsproto.wire.frames import BLOCK, REPLY, SID, SUBJECT, Delivery
from jsproto.wire.headers import Headers, header_value, status_of

M = TypeVar("M")

#: Messages with their ack states, written down.
Written: TypeAlias = list[tuple[Delivery, str]]
#: Makes the user's message of a frame and the conversation that it came through.
Make: TypeAlias = Callable[[Delivery, "PushFeed[M]"], M]

_ACK: Final = ACK.payload()
#: How the reply subject of every stored message begins (ADR-15 "JSAck").
#: Where settling a single message means nothing: nobody listens, or the flow-control answer does
#: it.
_MUTE_POLICIES: Final = frozenset({AckPolicy.NONE, AckPolicy.FLOW_CONTROL})


class PushNotice(Enum):
    """What a push subscription tells beside its messages; the detail is in brackets."""

    #: It is bound to a consumer (`ConsumerInfo`).
    BOUND = "BOUND"
    #: No frame came for longer than heartbeats allow (`HeartbeatsMissed`); once per silence.
    HEARTBEAT_MISSED = "HEARTBEAT_MISSED"
    #: The silence is over.
    RESUMED = "RESUMED"
    #: Deliveries are missing (`Gap`).
    GAP = "GAP"
    #: A status that this version does not know and that ends nothing (`UnknownStatus`).
    UNKNOWN_STATUS = "UNKNOWN_STATUS"
    #: The server did not take a flow-control answer, or lets no ack through (the error); of acks
    #: once for each link.
    REFUSED = "REFUSED"
    #: Messages that nobody took went back to the server (their number).
    RETURNED = "RETURNED"
    #: Messages that nobody took are lost to this reader: there is no way to give them back (their
    #: number).
    DROPPED = "DROPPED"
    #: Something came that is neither a message of a consumer nor a status (the frame's subject).
    STRAY = "STRAY"
    #: The consumer that was to be deleted could not be (the error).
    DELETE_FAILED = "DELETE_FAILED"


class PushProgress(NamedTuple):
    """How far the server is, as a heartbeat says: its last delivery by both sequences."""

    consumer: int
    stream: int


class PushFeed(Conversation[M], Generic[M]):
    """Base of conversations that are pushed to.

    Args:
        options: how to read.
        message: makes a user's message; an adapter puts its own in before the conversation is
            opened.

    Attributes:
        flow: the markers, and what was answered; to look at.
        liveness: the watch over heartbeats.
        position: what the newest heartbeat said, ``None`` before the first.
        dropped: messages lost to the bounds, or with nobody to give them back to.
        strays: frames that were neither messages nor statuses, or of another sid than the present
            one.
    """

    __slots__ = (
        "_auto",
        "_bounded",
        "_bounds",
        "_by_flow",
        "_careful",
        "_deliver",
        "_done",
        "_doubt",
        "_guard",
        "_held",
        "_mute",
        "_overflowing",
        "_owed",
        "_quiet",
        "_replays",
        "_watching",
        "backlog",
        "dropped",
        "flow",
        "liveness",
        "message",
        "options",
        "position",
        "strays",
    )

    STATE: ClassVar[Codecs] = {
        **Conversation.STATE,
        "_auto": PLAIN,
        "_bounded": PLAIN,
        "_bounds": PART,
        "_by_flow": PLAIN,
        "_careful": PLAIN,
        "_deliver": PLAIN,
        "_done": PLAIN,
        "_doubt": PLAIN,
        "_guard": PART,
        "_mute": PLAIN,
        "_overflowing": PLAIN,
        "_quiet": PLAIN,
        "_replays": PLAIN,
        "_watching": PLAIN,
        "backlog": PART,
        "dropped": PLAIN,
        "flow": PART,
        "liveness": PART,
        "position": PLAIN,
        "strays": PLAIN,
    }

    def __init__(self, options: PushOptions, message: Make[M] | None = None) -> None:
        super().__init__()
        self.options = options
        self.message: Make[M] = message or cast("Make[M]", JsMessage)
        self.backlog = FrameQueue()
        self.flow = FlowControl()
        self.liveness = options.liveness()
        self.position: PushProgress | None = None
        self.dropped = 0
        self.strays = 0
        self._guard = GapDetector()
        self._bounds = options.bounds()
        # What the consumer's configuration means; see `agreed`.
        self._bounded = True
        self._mute = False
        self._by_flow = False
        self._watching = False
        # Under replay original the server is silent between messages, so it may be until the first
        # heartbeat has come.
        self._replays = False
        self._quiet = False
        # The deliver subject of the present consumer.
        self._deliver = ""
        self._overflowing = False
        # Whether it matters what is in the reader's hands: kept in `_held` until the reader comes
        # back.
        self._careful = self._auto = options.auto_ack
        self._held: list[M] = []
        # To be acknowledged as soon as there is a link.
        self._owed: list[M] = []
        # The last message that the reader is done with; kept where the flow-control answer
        # acknowledges.
        self._done: Delivery | None = None
        # The fence behind an answer that the server misses.
        self._doubt = 0

    # ------------------------------------------------------------------ for subclasses: whom we read from

    def expect(self, deliver: str, first: int = 0) -> None:
        """The present consumer delivers to this subject, its next delivery is number ``first`` (0:
        not known).
        """
        self._deliver = deliver
        self._guard.restart(first)
        self.position = None

    def agreed(self, config: ConsumerConfig) -> None:
        """What the consumer is, as the server says it (B092)."""
        heartbeat = 0.0 if config.idle_heartbeat is None else config.idle_heartbeat.total_seconds()
        raw = self.options.raw
        self.liveness.promised(0.0 if raw else heartbeat)
        self._mute = config.ack_policy in _MUTE_POLICIES
        self._by_flow = config.ack_policy == AckPolicy.FLOW_CONTROL and not raw
        self._watching = self.options.watch_gaps and not config.deliver_group and not raw
        self._replays = config.replay_policy == ReplayPolicy.ORIGINAL
        self._bounded = not config.flow_control
        self._auto = self.options.auto_ack and not self._mute
        self._careful = self._auto or self._by_flow

    def watch(self, now: float) -> None:
        """From now on the server is expected to speak, unless it replays at the original pace."""
        self._quiet = self._replays
        if not self._quiet:
            self.liveness.watch(now)

    def unwatch(self) -> None:
        """From now on the server is not expected to speak, and whatever it still says promises
        nothing.
        """
        self._quiet = False
        self.liveness.rest()

    def clear(self) -> list[Delivery]:
        """Nothing of the present consumer counts any more; gives what was at hand."""
        left = self.at_hand()
        self.backlog.clear()
        self.flow.clear()
        self.flow.forget()
        self.unwatch()
        self._held.clear()
        self._owed.clear()
        return left

    def at_hand(self) -> list[Delivery]:
        """The messages that were not taken, oldest first."""
        return [*self.backlog.frames(), *self.flow.frames()]

    # ------------------------------------------------------------------ the user's side

    @property
    def readable(self) -> int:
        """How many messages are at hand."""
        return self.backlog.count + self.flow.behind

    def take(self, now: float) -> M | NeedData | Ended:
        """The next message; raises why it ended once those at hand are taken."""
        if self._careful:
            self.came_back()
        waiting = self.backlog.waiting
        if not waiting:
            return self.nothing_left(now)
        frame = waiting.popleft()
        made = self.message(frame, self)
        if self._mute:
            cast("JsMessage", made).said = MUTE
        if self._careful:
            self._held.append(made)
        if self.flow.marks and not waiting:
            self._pass()
        return made

    def take_all(self, now: float) -> list[M] | NeedData | Ended:
        """The messages at hand up to the next flow-control mark."""
        if self._careful:
            self.came_back()
        frames = self.backlog.pop_run()
        if not frames:
            return self.nothing_left(now)
        make = self.message
        made = [make(frame, self) for frame in frames]
        if self._mute:
            for each in made:
                cast("JsMessage", each).said = MUTE
        if self._careful:
            self._held.extend(made)
        if self.flow.marks:
            self._pass()
        return made

    def nothing_left(self, now: float) -> NeedData | Ended:
        """What `take` answers when nothing is at hand."""
        return self.nothing()

    def came_back(self) -> None:
        """The reader is done with what it had."""
        held = self._held
        if held:
            if self._by_flow:
                self._done = cast("JsMessage", held[-1]).frame
            elif self._auto:
                self._owed.extend(held)
                self.acknowledge()
            held.clear()
        if self.flow.marks and not self.backlog.count:
            self._pass()

    def acknowledge(self) -> None:
        """Say ack for what the reader is done with and has not settled itself; without a link
        later.
        """
        if not self.port.up:
            return
        for each in cast("list[JsMessage]", self._owed):
            if each.said is OPEN and each.reply:
                self.port.publish(Publish(each.reply, _ACK))
                each.told(AckFact.SENT)
        self._owed.clear()

    # ------------------------------------------------------------------ what it shows

    @property
    def reason(self) -> EndReason | None:
        """How it ended, ``None`` before."""
        if not self.ended:
            return None
        if isinstance(self.error, LinkError):
            return EndReason.DISCONNECTED
        return EndReason.CLOSED if self.error is None else EndReason.FATAL

    # ------------------------------------------------------------------ facts

    def delivered(self, run: Sequence[Delivery], now: float) -> None:
        """Messages, marks and statuses of one sid, in order."""
        if run[0][SID] != self.port.sid:
            self.strays += len(run)
            return
        if self.liveness.seen(now):
            self.resumed(now)
        deliver = self._deliver
        if self.options.raw or deliver not in [frame[SUBJECT] for frame in run]:
            self.received(list(run), now)
            return
        data: list[Delivery] = []
        for frame in run:
            if frame[SUBJECT] != deliver:
                data.append(frame)
                continue
            if data:
                self.received(data, now)
                data = []
            self._said(frame, now)
        if data:
            self.received(data, now)

    def fenced(self, token: int, now: float) -> None:
        """The server has read everything that was sent before this fence."""
        if token == self._doubt:
            self.flow.assured()

    def received(self, data: list[Delivery], now: float) -> None:
        """Messages came; the list is ours."""
        if self._watching:
            self._watch(data, now)
        if self.flow.marks:
            self.flow.hold(data)
        elif self._bounded:
            self._admit(data, now)
        else:
            self.backlog.push(data)

    def link_lost(self) -> None:
        """For `link_down`: what is at hand stays, what was promised or answered on that link is
        void.
        """
        self.unwatch()
        self.flow.forget()

    def judge_silence(self, now: float) -> None:
        """For `ticked`: say once that the server is silent."""
        if self.liveness.judge(now) is HeartbeatAlarm.EDGE:
            text = (
                f"expected a heartbeat every {self.liveness.heartbeat:g} s on {self._deliver}, "
                f"nothing came for {self.liveness.period:g} s"
            )
            self.port.notify(PushNotice.HEARTBEAT_MISSED, HeartbeatsMissed(text))

    def resumed(self, now: float) -> None:
        """Something has come after an alarm."""
        self.port.notify(PushNotice.RESUMED)

    def replayed(self, now: float) -> None:
        """The first heartbeat has come: the replay is over, and from now on silence counts."""
        self._quiet = False
        self.liveness.watch(now)

    def failed(self, error: JsprotoError, now: float) -> None:
        """The server or our own policy ends it with an error."""
        raise NotImplementedError

    def gap(self, gap: Gap, now: float) -> None:
        """Deliveries are missing."""
        self.port.notify(PushNotice.GAP, gap)

    # ------------------------------------------------------------------ messages

    def _watch(self, data: list[Delivery], now: float) -> None:
        try:
            first = AckSubject.parse(data[0][REPLY]).consumer_sequence
            last = AckSubject.parse(data[-1][REPLY]).consumer_sequence
        except InvalidAckSubject:
            return  # the message says so itself when it is asked for its metadata
        gap = self._guard.run(first, last, len(data))
        if gap is not None:
            self.gap(gap, now)

    def _admit(self, data: list[Delivery], now: float) -> None:
        dropped = self._bounds.admit(data, self.backlog)
        if dropped is None:
            self.too_slow(now)
            return
        self.drop(dropped)
        if dropped and not self._overflowing:
            self.port.notify(NoticeKind.SLOW_CONSUMER, dropped)
        self._overflowing = dropped > 0

    def too_slow(self, now: float) -> None:
        """More came than may wait, and nothing may give way: that ends it."""
        bounds = self._bounds
        text = f"expected at most {bounds.max_messages} messages and {bounds.max_bytes} bytes waiting on {self._deliver}, more came"
        self.failed(SlowConsumer(text), now)

    def drop(self, count: int) -> None:
        """So many messages have no place here."""
        self.dropped += count
        self.port.lost += count

    # ------------------------------------------------------------------ statuses

    def _said(self, frame: Delivery, now: float) -> None:
        if frame[REPLY].startswith(ACK_ROOT):
            self.received(
                [frame], now
            )  # a stored message, whatever status line its publisher wrote
            return
        block = frame[BLOCK]
        status = None if block is None else status_of(block)
        if block is None or status is None:
            self._stray(frame)
            return
        row = judge(*status, StatusContext.PUSH, asks=bool(frame[REPLY]))
        verdict = row.verdict
        if verdict is StatusAction.HEARTBEAT:
            self._heartbeat(block, now)
        elif verdict is StatusAction.FLOW_CONTROL:
            if frame[REPLY]:
                self._met(frame[REPLY])
            else:
                self._stray(frame)
        elif verdict is StatusAction.STRANGE:
            self.port.notify(PushNotice.UNKNOWN_STATUS, status_error(row, *status))
        else:
            self.failed(status_error(row, *status, f"the subscription on {self._deliver}"), now)

    def _stray(self, frame: Delivery) -> None:
        self.strays += 1
        self.port.notify(PushNotice.STRAY, frame[SUBJECT])

    def _heartbeat(self, block: bytes, now: float) -> None:
        stalled = header_value(block, b"Nats-Consumer-Stalled")
        # A server that waits for an answer to flow control may be in the middle of its replay.
        if self._quiet and not stalled:
            self.replayed(now)
        consumer = sequence_of(block, b"Nats-Last-Consumer")
        stream = sequence_of(block, b"Nats-Last-Stream")
        if consumer is not None:
            self.position = PushProgress(consumer, stream or 0)
            gap = self._guard.heartbeat(consumer) if self._watching else None
            if gap is not None:
                self.gap(gap, now)
        if stalled:
            self._met(stalled)

    # ------------------------------------------------------------------ flow control

    def _met(self, subject: str) -> None:
        met = self.flow.met(subject)
        if met is FlowMark.MARKED:
            if not self.backlog.count:
                self._pass()
        elif met is FlowMark.DOUBTED and self.port.up:
            self._doubt = self.port.fence()

    def _pass(self) -> None:
        """Nothing is before the first mark: answer, and go on with what was behind it."""
        flow = self.flow
        while flow.marks and not self.backlog.count and not (self._by_flow and self._held):
            passed = flow.passed()
            if self.port.up:
                self.port.publish(Publish(passed.subject, b"", "", self._acks()))
                flow.answer(passed.subject)
            # Without a link nobody can be told, and the next link's heartbeats will ask again.
            if passed.behind:
                self.backlog.push(passed.behind)

    def _acks(self) -> Headers | None:
        """What the reader is done with, where the answer says so (ADR-60)."""
        if self._done is None:
            return None
        try:
            done = AckSubject.parse(self._done[REPLY])
        except InvalidAckSubject:
            return None
        return Headers(
            [
                ("Nats-Last-Consumer", str(done.consumer_sequence)),
                ("Nats-Last-Stream", str(done.stream_sequence)),
            ]
        )

    # ------------------------------------------------------------------ state

    def snapshot(self) -> Snapshot:
        """What `STATE` names, and what is in the reader's hands."""
        return {**super().snapshot(), "held": _written(self._held), "owed": _written(self._owed)}

    def restore(self, data: Mapping[str, object]) -> None:
        """Put back what `snapshot` gave, into a feed with the same options."""
        super().restore(data)
        self.position = None if self.position is None else PushProgress(*self.position)
        self._held = [self._again(*each) for each in cast("Written", data["held"])]
        self._owed = [self._again(*each) for each in cast("Written", data["owed"])]

    def _again(self, frame: Delivery, state: str) -> M:
        made = self.message(frame, self)
        cast("JsMessage", made).said = AckState[state]
        return made


def _written(messages: list[M]) -> Written:
    return [(each.frame, each.said.name) for each in cast("list[JsMessage]", messages)]
