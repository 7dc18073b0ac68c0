"""An ordered consumer: every message of a stream once and in order, whatever happens to consumers,
servers and links.

Theory. The server numbers what a consumer delivers 1, 2, 3, ..., so a reader sees at once whether
one is missing, and since it knows the stream sequence of the last that came in order, it can always
go on behind that with a new consumer. So this machine reads from a row of short-lived consumers,
its *incarnations*, and hides the joints. Nothing is acknowledged.

An incarnation is a name, an inbox, a start and the expectation that consumer sequence 1 comes
first; they change in one step. Whatever is of an earlier one does nothing: frames are told by their
sid, answers by the name that was asked for.

    gap, in a message or a heartbeat          a reset: UNSUB, SUB of a new inbox, DELETE of the old
        consumer, which
    missed heartbeats, a pull is overdue      nobody waits for, CREATE behind the last message
    received in order consumer deleted, moved, nobody there link lost
    the same, once the next one is up

What was received in order stays at hand and is handed out first; a silence is judged only when
nothing is at hand (B080). After a reset there is none for a while, longer each time, unless the
last incarnation lived longer than that. A new link clears that, but behind the third short link in
a row there is a wait too. The first creation fails after some attempts. Later ones never give up:
only a stream that is gone, or a configuration that the server refuses, end an ordered consumer
(INVARIANTS 38).

At its end the machine stays until its consumers are deleted: an answer to a creation that is late
is waited for too.

The parts: `ResumePoint` says where to begin and, with `SubjectCensus` where subjects count, when
all has come that was there; `PullSource` or `PushSource` how messages come, `SequenceCheck` what
comes next, `Backoff` when the next attempt may be, `ConsumerCleanup` what to delete,
`EphemeralConsumer` steps the creation, `ReplayWatch` asks for it in the silence of a replay, a
`View` makes items of messages.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import ClassVar, Final, Generic, TypeAlias, TypeVar, cast

from jsproto.core.conversation.conversation import Conversation, Stage, StopMode
from jsproto.core.pubsub.frame_queue import FrameQueue
from jsproto.core.state import PART, PLAIN, Codecs
from jsproto.core.timers import Timers
from jsproto.errors.tree import JsprotoError, LinkError
from jsproto.jetstream.api.config.consumer import ConsumerInfo
from jsproto.jetstream.api.config.enums import DeliverPolicy
from jsproto.jetstream.api.errors import StreamNotFound
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.backoff import Backoff, ShortLinks
from jsproto.jetstream.delivery.ack import MUTE, AckState
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.delivery.replay_check import ReplayWatch
from jsproto.jetstream.errors import HeartbeatsMissed, ServerShutdown
from jsproto.jetstream.gaps import sequence_of
from jsproto.jetstream.heartbeat import HeartbeatAlarm
from jsproto.jetstream.ordered.cleanup import ConsumerCleanup
from jsproto.jetstream.ordered.ephemeral import EphemeralConfig, EphemeralConsumer
from jsproto.jetstream.ordered.options import OrderedOptions, SourceKind
from jsproto.jetstream.ordered.pull_source import PullSource
from jsproto.jetstream.ordered.push_source import PushSource
from jsproto.jetstream.ordered.resume_point import ResumePoint
from jsproto.jetstream.ordered.sequence_check import SequenceCheck
from jsproto.jetstream.ordered.source import OrderedSource
from jsproto.jetstream.ordered.states import (
    FATAL,
    FATAL_AT_FIRST,
    NOTHING_LEFT,
    STATUS_NOTICES,
    TRANSITIONS,
    UNKNOWN_OUTCOME,
    OrderedInput,
    OrderedNotice,
    OrderedState,
    OrderedTimer,
)
from jsproto.jetstream.ordered.subject_census import SubjectCensus
from jsproto.jetstream.ordered.view import Messages, View
from jsproto.jetstream.pull.request import PullNotice
from jsproto.jetstream.status import EndReason, StatusAction, StatusRow, judge, pull_error
from jsproto.signals import Ended, NeedData
from jsproto.wire.frames import BLOCK, REPLY, SID, SUBJECT, Delivery
from jsproto.wire.headers import status_of
from jsproto.wire.subjects import stream_name

__all__ = [
    "TRANSITIONS",
    "OrderedConsumer",
    "OrderedInput",
    "OrderedNotice",
    "OrderedOptions",
    "OrderedState",
    "OrderedTimer",
    "SourceKind",
]

T = TypeVar("T")

#: Makes a message of a frame, the conversation that it came through, and the state of its
#: acknowledgement.
Make: TypeAlias = Callable[[Delivery, object, AckState], JsMessage]

#: Stands in the backlog where the reader was caught up; no frame has an empty sid.
_CAUGHT_UP: Final[Delivery] = ("", "", "", None, b"")


class OrderedConsumer(Conversation[T], Generic[T]):
    """A feed of a stream's messages, each once and in order, got through a view.

    Args:
        api: where the API is.
        stream: the stream.
        view: what is made of the messages; `Messages` for themselves.
        options: what to read and how.

    Raises:
        InvalidSubject: no stream can have this name.

    Attributes:
        message: makes a user's message; an adapter puts its own in before the conversation is
            opened.
        state: where in its life it is.
        reason: how it ended, ``None`` before.
        resets: how many incarnations that were there are lost.
        strays: frames of earlier incarnations, and what was no message or status of the present
            one; they change nothing.
        repeated: messages that an incarnation brought again; nobody saw them twice.
        incarnation: the present one; to look at.
        position: where the reader is; to look at.
        census: which subjects were seen, for ``last_per_subject``; to look at.
        intake: how messages come; to look at.
        replay: asks for the consumer in the silence of a replay; to look at.
    """

    __slots__ = (
        "_api",
        "_items",
        "_newest",
        "_overdue",
        "_pace",
        "_plain",
        "_proven",
        "_short_links",
        "_timers",
        "backlog",
        "census",
        "incarnation",
        "intake",
        "leftovers",
        "message",
        "options",
        "order",
        "position",
        "reason",
        "repeated",
        "replay",
        "resets",
        "state",
        "strays",
        "stream",
        "view",
    )

    STATE: ClassVar[Codecs] = {
        **Conversation.STATE,
        "_items": PLAIN,
        "_newest": PLAIN,
        "_overdue": PLAIN,
        "_pace": PART,
        "_proven": PLAIN,
        "_short_links": PART,
        "_timers": PART,
        "backlog": PART,
        "census": PART,
        "incarnation": PART,
        "intake": PART,
        "leftovers": PART,
        "order": PART,
        "position": PART,
        "reason": EndReason,
        "repeated": PLAIN,
        "replay": PART,
        "resets": PLAIN,
        "state": OrderedState,
        "strays": PLAIN,
        "view": PART,
    }

    def __init__(
        self, api: ApiSubjects, stream: str, view: View[T], options: OrderedOptions | None = None
    ) -> None:
        super().__init__()
        self.options = options or OrderedOptions()
        self.stream = stream_name(stream)
        self.view = view
        self.message: Make = JsMessage
        self.state = OrderedState.NEW
        self.reason: EndReason | None = None
        self.resets = 0
        self.strays = 0
        self.repeated = 0
        self.backlog = FrameQueue()
        self.order = SequenceCheck()
        self.incarnation = EphemeralConsumer(
            api, self.stream, cast("EphemeralConfig", self.options)
        )  # cast: pyright takes a field with a converter for a descriptor
        self.position = ResumePoint(self.options.start)
        self.census = SubjectCensus(
            api, self.stream, self.options.filters, self.options.create_timeout
        )
        pulls = self.options.pulls
        form = PushSource if self.options.form is SourceKind.PUSH else PullSource
        self.intake: OrderedSource = form(self.backlog, pulls, paced=self.options.paced)
        self.replay = ReplayWatch(api, self.options.create_timeout)
        self.leftovers = ConsumerCleanup(api, self.stream, self.options.create_timeout)
        self._api = api
        self._plain = isinstance(view, Messages)
        self._items: deque[T] = deque()
        self._pace = Backoff(pulls.retry_wait, pulls.retry_wait_max)
        self._short_links = ShortLinks(pulls.retry_wait, pulls.retry_wait_max)
        self._timers = Timers(OrderedTimer)
        # A frame came once.
        self._proven = False
        # Heartbeats were missed while messages were at hand.
        self._overdue = False
        # Subjects count: the first values are still coming.
        self._newest = self.options.config.deliver_policy == DeliverPolicy.LAST_PER_SUBJECT

    # ------------------------------------------------------------------ the user's side

    def take(self, now: float) -> T | NeedData | Ended:
        """The next item. May ask for more."""
        if not self._plain:
            return self._next_item(now)
        # Runs once per message: the level is lowered by plain arithmetic.
        waiting = self.backlog.waiting
        if not waiting:
            return self.nothing()
        frame = waiting.popleft()
        intake = self.intake
        lead = intake.lead
        if intake.by_messages:
            lead.level -= 1
        else:
            intake.taken([frame])
        if lead.level <= lead.low:
            intake.ask(self.port, now)
        if self._overdue and not waiting:
            self._silent(now)
        return cast("T", self.message(frame, self, MUTE))

    def take_all(self, now: float) -> list[T] | NeedData | Ended:
        """All items at hand. May ask for more."""
        if not self._plain:
            return self._all_items(now)
        frames = self.backlog.pop_run()
        if not frames:
            return self.nothing()
        self.intake.taken(frames)
        self.intake.ask(self.port, now)
        if self._overdue and not self.backlog.count:
            self._silent(now)
        make = self.message
        return cast("list[T]", [make(frame, self, MUTE) for frame in frames])

    # ------------------------------------------------------------------ through a view

    def _next_item(self, now: float) -> T | NeedData | Ended:
        items = self._items
        while not items:
            frame = self.backlog.pop()
            if frame is None:
                return self.nothing()
            self._see(frame, now)
        return items.popleft()

    def _all_items(self, now: float) -> list[T] | NeedData | Ended:
        while (frame := self.backlog.pop()) is not None:
            self._see(frame, now)
        items = list(self._items)
        self._items.clear()
        return items or self.nothing()

    def _see(self, frame: Delivery, now: float) -> None:
        if frame[SID]:
            self.intake.taken([frame])
            self._items.extend(self.view.see(self.message(frame, self, MUTE)))
        else:
            self._items.extend(self.view.caught_up())
        if self.view.done:
            self.backlog.clear()
            if not self.ended:
                self._finish(EndReason.FILLED, None, now)
        else:
            self.intake.ask(self.port, now)
            if self._overdue and not self.backlog.count:
                self._silent(now)

    # ------------------------------------------------------------------ facts: the life

    def opened(self, now: float) -> None:
        """Ask for the first incarnation, if the link is up."""
        self._move(OrderedInput.OPENED)
        if self.view.done:
            self._finish(EndReason.FILLED, None, now)
        elif self.port.up:
            self._attempt(now)

    def replied(self, token: int, frame: Delivery, now: float) -> None:
        """An answer to a creation or a deletion; or a late one, to an incarnation that was given up
        (B083).
        """
        create = self.incarnation.script
        if create is not None:
            create.replied(self.port, token, frame, now)
            if self._answered(now):
                return
        if self.census.replied(self.port, token, frame, now):
            self._survey(now)
        elif self.replay.replied(self.port, token, frame, now):
            self._look_after(now)
            self._look_for_pulls(now)
        elif not self.leftovers.replied(self.port, token, frame, now):
            self._late(frame, now)
        self._rest()

    def fenced(self, token: int, now: float) -> None:
        """The server has read everything that was sent before."""
        self.intake.fenced(token)

    def ticked(self, now: float) -> None:
        """Answers that did not come, silence, pulls that are overdue, delays that are over."""
        if self.incarnation.script is not None:
            self.incarnation.script.ticked(self.port, now)
            self._answered(now)
        self.leftovers.ticked(self.port, now)
        self.census.ticked(self.port, now)
        self._survey(now)
        self.replay.ticked(self.port, now)
        self._look_after(now)
        for _ in self._timers.expired(now):
            self._attempt(now)
        if self.state is OrderedState.READING:
            self._watch(now)
        self._rest()

    def link_down(self, error: JsprotoError, now: float) -> None:
        """The incarnation is lost with the link: what its inbox would still get, nobody hears."""
        self.leftovers.link_down()
        self.census.link_down()
        self.replay.end()
        self._timers.clear()
        if self.state is OrderedState.READING or self.incarnation.script is not None:
            self.leftovers.add(self.incarnation.name, self.port, now)
            self.incarnation.script = None
            self._short_links.lost(self.incarnation.since, now)
            if self.state is not OrderedState.CLOSING:
                self._lost(EndReason.DISCONNECTED)
            if self.intake.early:
                self.port.unsubscribe()  # it is a subject, which the next link would restore

    def link_up(self, now: float) -> None:
        """The inbox is a fresh one: go on behind what was received, at once unless the links before
        were short.
        """
        self.leftovers.link_up(self.port, now)
        self._pace.restart()
        if self.state is OrderedState.WAITING:
            at = self._short_links.wait(self.incarnation.since, now)
            if at is None:
                self._attempt(now)
            else:
                self.port.unsubscribe()
                self._timers.set(OrderedTimer.ATTEMPT, at)

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """The server, or our own encoder, does not let something of ours through."""
        create = self.incarnation.script
        if create is not None:
            create.refused(self.port, subject, error, now)
            if self._answered(now):
                return
        self.leftovers.refused(self.port, subject, error, now)
        self.census.refused(self.port, subject, error, now)
        self._survey(now)
        self.replay.refused(self.port, subject, error, now)
        self._look_after(now)
        if not self.ended and subject and subject in {self.intake.subject, self.port.subject}:
            if not self._proven:
                self.port.notify(PullNotice.REFUSED, error)
                self._finish(EndReason.REFUSED, error, now)
            elif self.state is OrderedState.READING:
                self.port.notify(PullNotice.REFUSED, error)
                self._reset(now, later=True)
        self._rest()

    def told(self, wish: StopMode, now: float) -> None:
        """Stop or drain: what is at hand is handed out, then it ends. Nothing is lost by that,
        there are no acks.
        """
        if not self.ended:
            self._finish(EndReason.CLOSED, None, now)

    def closed(self, error: JsprotoError | None, now: float) -> None:
        """The user leaves, and what is at hand with him; or the connection is closed, and nothing
        is made any more (B089).
        """
        if not self.ended:
            self._finish(
                EndReason.DISCONNECTED if isinstance(error, LinkError) else EndReason.CLOSED,
                error,
                now,
            )
        if error is None:
            self.backlog.clear()
            self._items.clear()
        elif self.state is not OrderedState.OVER:
            if self.incarnation.script is not None:
                self.incarnation.script = None
                self.leftovers.add(self.incarnation.name, self.port, now)
            self.leftovers.flush(self.port)
            self._rest()

    # ------------------------------------------------------------------ what it shows

    @property
    def readable(self) -> int:
        """How many items are at hand; what the view makes of messages that it has not seen is not
        known.
        """
        return self.backlog.count + self.intake.behind + len(self._items)

    @property
    def deadline(self) -> float | None:
        """When an answer, silence, the age of a pull or a delay call for action."""
        moments = [
            self._timers.next(),
            self.leftovers.deadline,
            self.incarnation.deadline,
            self.census.deadline,
            self.replay.deadline,
        ]
        if self.state is OrderedState.READING and not self._overdue:
            liveness = self.intake.liveness
            moments += [self.intake.deadline, liveness.deadline, self.replay.due(liveness.since)]
        return min((at for at in moments if at is not None), default=None)

    @property
    def stage(self) -> Stage:
        """It goes on as soon as its first incarnation is there, whatever becomes of that one."""
        if self.ended:
            return Stage.ENDED
        return Stage.GOING if self.incarnation.made else Stage.BEGINNING

    @property
    def finished(self) -> bool:
        """Nothing is left to be done on the server; items at hand can still be taken."""
        return self.state is OrderedState.OVER

    # ------------------------------------------------------------------ incarnations

    def _attempt(self, now: float, old: str = "") -> None:
        """Everything of an incarnation in one step: a fresh inbox, the farewell to the old one, and
        the creation.
        """
        self.incarnation.inbox(self.port, literal=self.intake.early)
        if old:
            self.leftovers.add(old, self.port, now)
        self._move(OrderedInput.ASKED)
        self.order.restart(self.incarnation.name)
        self.position.asked()
        deliver = self.intake.prepare(self.port)
        self.incarnation.ask(self.port, self.position.resume(), deliver, now)
        self._answered(now)

    def _answered(self, now: float) -> bool:
        """Whether the creation is over, well or not."""
        outcome = self.incarnation.outcome(now)
        if outcome is None:
            return False
        if self.ended:
            if isinstance(outcome, (ConsumerInfo, *UNKNOWN_OUTCOME)):
                self.leftovers.add(self.incarnation.name, self.port, now)
            self._rest()
        elif isinstance(outcome, ConsumerInfo):
            self._created(outcome, now)
        else:
            self._failed(outcome, now)
        return True

    def _created(self, info: ConsumerInfo, now: float) -> None:
        self._move(OrderedInput.CREATED)
        self.intake.begin(self._api.consumer_msg_next(self.stream, info.name), now)
        if self.intake.replaying:
            self.replay.begin(self.stream, info.name, self.intake.liveness.period, now)
        if self.position.created(info):
            self._caught_up(now)
        else:
            self._survey(now)
        if self.incarnation.unsound(info) and not self.ended:
            self._lost(EndReason.RESET)
            self._attempt(now, info.name)
        else:
            self.intake.ask(self.port, now)

    def _failed(self, error: JsprotoError, now: float) -> None:
        incarnation = self.incarnation
        fatal = isinstance(error, FATAL) or (
            not incarnation.made
            and (
                isinstance(error, FATAL_AT_FIRST)
                or incarnation.count >= self.options.first_attempts
            )
        )
        if isinstance(error, UNKNOWN_OUTCOME):
            self.leftovers.add(incarnation.name, self.port, now)
        if fatal:
            self._finish(
                EndReason.FATAL if isinstance(error, StreamNotFound) else EndReason.REFUSED,
                error,
                now,
            )
        else:
            self.port.notify(OrderedNotice.CREATE_FAILED, error)
            self._lost(EndReason.REFUSED)
            self._timers.set(OrderedTimer.ATTEMPT, self._pace.failed(now))

    def _late(self, frame: Delivery, now: float) -> None:
        """An answer that nobody waits for: a consumer that was made too late for us must go."""
        name = self.incarnation.late(frame)
        if name and (name != self.incarnation.name or self.ended):
            self.leftovers.add(name, self.port, now)

    def _lost(self, end: EndReason) -> None:
        """The incarnation is worth nothing from this moment on."""
        self._move(OrderedInput.LOST)
        self.intake.void(end)
        self.replay.end()
        self._overdue = False

    def _reset(self, now: float, *, deleted: bool = False, later: bool = False) -> None:
        """The next incarnation, now or after a delay, in any case ``later`` if it would fare no
        better; the old one is left.
        """
        old = "" if deleted else self.incarnation.name
        self.incarnation.script = None
        self._lost(EndReason.RESET)
        self.resets += 1
        self.port.notify(OrderedNotice.RESET, self.position.last)
        at = (
            self._pace.failed(now)
            if later
            else self._pace.record_empty(self.incarnation.since, now)
        )
        if at is None:
            self._attempt(now, old)
            return
        self.port.unsubscribe()
        if old:
            self.leftovers.add(old, self.port, now)
        self._timers.set(OrderedTimer.ATTEMPT, at)

    # ------------------------------------------------------------------ what comes

    def delivered(self, run: Sequence[Delivery], now: float) -> None:
        """Messages and statuses of one sid, in order. Those of an earlier incarnation change
        nothing (B073).
        """
        data: list[Delivery] = []
        words = self.intake.deliver
        for frame in run:
            if frame[REPLY] and frame[SUBJECT] != words:
                data.append(frame)
                continue
            if data:
                self._received(data, now)
                data = []
            self._said(frame, now)
        if data:
            self._received(data, now)

    def _present(self, frame: Delivery) -> bool:
        state = self.state
        if state is OrderedState.READING or (state is OrderedState.CREATING and self.intake.early):
            return frame[SID] == self.port.sid
        return False

    def _received(self, data: list[Delivery], now: float) -> None:
        if not self._present(data[0]):
            self.strays += len(data)
            return
        ahead = 0 if self.position.caught_up else self.position.ahead
        if 0 < ahead < len(data):
            # What completes the first messages is told apart from what follows, however the bytes
            # came.
            self._received(data[:ahead], now)
            data = data[ahead:]
            if not self._present(data[0]):
                self.strays += len(data)
                return
        fresh, repeated, strays, last, gap = self.order.judge(data, self.position.last)
        self.strays += strays
        if fresh:
            self.intake.received(fresh)
            if self._newest:
                self.census.saw(fresh)
            ours, others = self.incarnation.wanted(fresh)
            self.intake.taken(others)
            if ours:
                self.intake.keep(ours)
        if repeated:
            self.repeated += len(repeated)
            self.intake.received(repeated)
            self.intake.taken(repeated)
        if last is not None:
            self._alive(now)
            if self.position.received(last):
                self._caught_up(now)
            elif self._newest:
                self._survey(now)
        if self.ended:
            return
        if gap is not None:
            self.port.notify(PullNotice.GAP, gap)
            self._reset(now)
        elif self.intake.lead.wanting:
            self.intake.ask(self.port, now)

    def _alive(self, now: float) -> None:
        self._proven = True
        self._overdue = False
        if self.intake.liveness.seen(now):
            self.port.notify(PullNotice.RESUMED)

    def _survey(self, now: float) -> None:
        """Has each subject been seen? Beside a writer only the stream can tell."""
        position, census = self.position, self.census
        if not position.unsure or self.ended:
            return
        passed = position.passed()
        if not position.seems_caught_up(len(census.seen)) and not census.complete:
            census.ask(position.last, self.port, now)
            if not (census.blind and passed):
                return
        position.settled()
        self._caught_up(now)

    def _caught_up(self, now: float) -> None:
        """Everything that was there has been received."""
        self._newest = False
        self.census.forget()
        self.port.notify(OrderedNotice.CAUGHT_UP, self.position.last)
        if not self._plain:
            self.intake.keep([_CAUGHT_UP])
        if self.options.until_caught_up:
            self._finish(EndReason.FILLED, None, now)

    def _said(self, frame: Delivery, now: float) -> None:
        """A word of the server about one of our pulls."""
        block = frame[BLOCK]
        status = status_of(block) if block is not None else None
        if (
            block is None
            or status is None
            or not self._present(frame)
            or not self.intake.knows(frame)
        ):
            self.strays += 1
            return
        self._alive(now)
        row = judge(*status, self.intake.place, asks=bool(frame[REPLY]))
        if row.verdict is StatusAction.HEARTBEAT:
            self._heartbeat(block, now)
        elif row.verdict is StatusAction.FLOW_CONTROL:
            self.intake.question(frame[REPLY], self.port, now)
        elif row.verdict is StatusAction.STRANGE:
            self.port.notify(PullNotice.UNKNOWN_STATUS, self._error_of(row, status))
        elif row.verdict in {StatusAction.PULL_ENDED, StatusAction.DOES_NOT_FIT}:
            if not self.intake.ended(frame, row, block, now):
                self.port.notify(PullNotice.MESSAGE_TOO_LARGE, self._error_of(row, status))
            if row.end in NOTHING_LEFT:
                self._quiet(now)
            if self.state is OrderedState.READING:
                self.intake.ask(self.port, now)
        else:
            self._on_consumer_lost(row, status, now)

    def _heartbeat(self, block: bytes, now: float) -> None:
        """A sign of life, which also names the last delivery (WIRE f: compared behind everything
        that came before it).
        """
        holds = (sequence_of(block, b"Nats-Last-Stream") or 0) > self.position.last
        idle = self.intake.heartbeat(block, self.port, now, holds=holds)
        if not self.intake.replaying:
            self.replay.end()
        last = sequence_of(block, b"Nats-Last-Consumer")
        if last is None:
            return
        gap = self.order.guard.heartbeat(last)
        if gap is not None:
            self.port.notify(PullNotice.GAP, gap)
            self._reset(now)
        elif idle:
            self._quiet(now)

    def _quiet(self, now: float) -> None:
        """A pull waits in vain: what was there and has not come is gone. Not so if the server waits
        on purpose.
        """
        if self.options.hurried and self.position.quiet():
            self._caught_up(now)

    def _on_consumer_lost(self, row: StatusRow, status: tuple[int, str], now: float) -> None:
        """The incarnation serves us no more."""
        kind = STATUS_NOTICES.get(row.verdict, PullNotice.UNKNOWN_STATUS)
        if row.error is ServerShutdown:
            kind = PullNotice.SERVER_SHUTDOWN
        self.port.notify(kind, self._error_of(row, status))
        # Whoever is gone can be replaced at once (B074); whoever moves or refuses would do so
        # again.
        gone = row.verdict in {StatusAction.DELETED, StatusAction.GONE_FOR_NOW}
        self._reset(now, deleted=row.verdict is StatusAction.DELETED, later=not gone)

    def _error_of(self, row: StatusRow, status: tuple[int, str]) -> JsprotoError:
        return pull_error(row, *status, self._about, self.intake.subject)

    @property
    def _about(self) -> str:
        return f"an ordered consumer on {self.intake.subject}"

    # ------------------------------------------------------------------ silence

    def _watch(self, now: float) -> None:
        """Silence is judged when nothing is at hand (B080); then pulls may be overdue, and new ones
        due.
        """
        since = self.intake.liveness.deadline
        if since is not None and since <= now:
            if self.backlog.count:
                self._overdue = True
            else:
                self._silent(now)
        due = self.replay.due(self.intake.liveness.since)
        if due is not None and due <= now and self.state is OrderedState.READING:
            self.replay.ask(self.intake.liveness.since, self.port, now)
        if self.state is OrderedState.READING and not self._overdue:
            if self.intake.ticked(now):
                self._reset(now)
            else:
                self.intake.ask(self.port, now)

    def _look_after(self, now: float) -> None:
        """In the silence of a replay the server has said whether the consumer is there."""
        if self.replay.gone and self.state is OrderedState.READING:
            self._reset(now, deleted=True)

    def _look_for_pulls(self, now: float) -> None:
        """While a replay is silent, two answers in a row said that no pull waits."""
        replay = self.replay
        if replay.unserved > 1 and self.state is OrderedState.READING:
            holds = replay.reached > self.position.last
            if self.intake.unserved(self.port, now, holds=holds):
                self._reset(now)

    def _silent(self, now: float) -> None:
        liveness = self.intake.liveness
        if liveness.judge(now) is HeartbeatAlarm.EDGE:
            text = (
                f"expected a heartbeat every {liveness.heartbeat:g} s for {self._about}, "
                f"nothing came for {liveness.period:g} s"
            )
            self.port.notify(PullNotice.HEARTBEAT_MISSED, HeartbeatsMissed(text))
        self._reset(now)

    # ------------------------------------------------------------------ ends

    def _finish(self, reason: EndReason, error: JsprotoError | None, now: float) -> None:
        """It is over for the user; what is left on the server is deleted."""
        self.reason = reason
        self.end(error)
        self.intake.void(reason)
        self.census.forget()
        self.replay.end()
        self._timers.clear()
        self._overdue = False
        if self.state is OrderedState.READING:
            self.leftovers.add(self.incarnation.name, self.port, now)
        if self.incarnation.script is None and not self.leftovers.names:
            self._end()
        else:
            self._move(OrderedInput.LEFT)

    def _rest(self) -> None:
        """Once nothing is left on the server it is over."""
        if (
            self.state is OrderedState.CLOSING
            and self.incarnation.script is None
            and not self.leftovers.names
        ):
            self._end()

    def _end(self) -> None:
        self._move(OrderedInput.ENDED)
        if self.leftovers.given_up:
            self.port.notify(OrderedNotice.LEFT_BEHIND, tuple(self.leftovers.given_up))

    def _move(self, fact: OrderedInput) -> None:
        self.state = TRANSITIONS[self.state][fact]
