"""A push subscription: the subscribe workflow, then the feed, then the way out (ADR-15).

Theory. `PushFeed` reads; this class says from whom and for how long. Its generators are those of
`jsproto.jetstream.push.subscribe`, stepped by scripts in one port, and between them the interest is
stated:

    LOCATING    which stream; is the consumer there?
       there: listen on its deliver subject -> BOUND
       else:  listen on a fresh subject     -> CREATING   messages that come before the answer are
           kept
    CREATING    made: -> BOUND. Somebody was faster and it can be shared: listen on its deliver
        subject -> BOUND
    BOUND       what comes is handed out

There are three ways out, and each deletes the consumer if we made it and own it:

    `told(DRAIN)`   the interest ends; what is there is handed out; when the reader comes back for
    more and nothing is left, it is
                    over for the reader, and the consumer is deleted behind its back: a failure is a
                        notice
    `told(STOP)`    unsubscribe: the interest ends, what is at hand goes back; the end comes when
    the delete is answered,
                    and `take` raises its error
    `closed`        as STOP, but over at once: a failure of the delete is a notice. A connection
        that closes sends the
                    delete and waits for no answer

A link that is lost ends nothing: interest in the deliver subject is stated again by the connection,
and the server goes on. Only a question of the workflow that was under way fails. A consumer that is
deleted by somebody else just falls silent: the alarm over missed heartbeats is all that a push
subscription can see (seen on 2.9 to 2.15). Under replay policy ``original`` silence is no alarm
before the first heartbeat, so `ReplayWatch` asks for the consumer. If the server does not find it,
that is the same alarm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, cast

from jsproto.core.connection.events import NoticeKind
from jsproto.core.conversation.conversation import Call, Stage, StopMode
from jsproto.core.conversation.procedure import Script, Steps
from jsproto.core.pubsub.frame_queue import FrameQueue
from jsproto.core.state import PART, PLAIN, Codecs, IdentityEnum
from jsproto.errors.tree import JsprotoError, LocalProtocolError, PermissionViolation
from jsproto.jetstream.api.config.consumer import ConsumerInfo
from jsproto.jetstream.api.requests.manage import DEFAULT_TIMEOUT, delete_consumer
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.delivery.ack import ACK_ROOT, NAK, OPEN, is_ack_for
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.delivery.replay_check import ReplayWatch
from jsproto.jetstream.errors import HeartbeatsMissed
from jsproto.jetstream.heartbeat import HeartbeatAlarm
from jsproto.jetstream.push.base import M, Make, PushFeed, PushNotice
from jsproto.jetstream.push.options import PushOptions
from jsproto.jetstream.push.subscribe import (
    BoundConsumer,
    ConsumerLookup,
    Subscribe,
    ensure,
    locate,
)
from jsproto.signals import Ended, NeedData
from jsproto.wire.commands import Publish
from jsproto.wire.frames import REPLY, SID, SUBJECT, Delivery

_NAK: Final = NAK.payload()


class PushState(IdentityEnum):
    """The life of a push subscription."""

    #: Not opened.
    NEW = "NEW"
    #: The stream and the consumer are looked up.
    LOCATING = "LOCATING"
    #: The interest is stated and the consumer is being made; what comes is kept.
    CREATING = "CREATING"
    #: What the consumer pushes is handed out.
    BOUND = "BOUND"
    #: The interest is given up; what came before the fence is handed out.
    DRAINING = "DRAINING"
    #: Told to stop: the answer to the delete is waited for.
    DELETING = "DELETING"
    #: Over for the user; the fence or the delete is not answered yet.
    LEAVING = "LEAVING"
    #: Nothing more comes or goes.
    OVER = "OVER"


class PushInput(IdentityEnum):
    """What moves a push subscription."""

    #: It has a port.
    OPENED = "OPENED"
    #: The consumer is there.
    FOUND = "FOUND"
    #: It is to be made.
    ABSENT = "ABSENT"
    #: It was made, here or by somebody else.
    CREATED = "CREATED"
    #: The user wants what is there and nothing more.
    DRAINED = "DRAINED"
    #: The user wants nothing more, and a consumer of ours is to be deleted first.
    STOPPED = "STOPPED"
    #: It ended here first.
    LEFT = "LEFT"
    #: It ended, and nothing can come any more.
    ENDED = "ENDED"


_ENDS: Final[Mapping[PushInput, PushState]] = {
    PushInput.LEFT: PushState.LEAVING,
    PushInput.ENDED: PushState.OVER,
}
TRANSITIONS: Final[Mapping[PushState, Mapping[PushInput, PushState]]] = {
    PushState.NEW: {PushInput.OPENED: PushState.LOCATING, PushInput.ENDED: PushState.OVER},
    PushState.LOCATING: {
        PushInput.FOUND: PushState.BOUND,
        PushInput.ABSENT: PushState.CREATING,
        PushInput.ENDED: PushState.OVER,
    },
    PushState.CREATING: {PushInput.CREATED: PushState.BOUND, **_ENDS},
    PushState.BOUND: {
        PushInput.DRAINED: PushState.DRAINING,
        PushInput.STOPPED: PushState.DELETING,
        **_ENDS,
    },
    PushState.DRAINING: {PushInput.STOPPED: PushState.DELETING, **_ENDS},
    PushState.DELETING: _ENDS,
    PushState.LEAVING: {PushInput.ENDED: PushState.OVER},
    PushState.OVER: {},
}


class PushSubscription(PushFeed[M]):
    """What a consumer pushes.

    Args:
        api: subjects of the JetStream API.
        asked: what is subscribed to.
        options: how to read.
        timeout: seconds that each question of the workflow waits for its answer.
        message: makes the user's message.

    Attributes:
        replay: asks for the consumer in the silence of a replay; to look at.
        state: where in its life it is.
        returned: messages that went back to the server because nobody took them.
    """

    __slots__ = (
        "_barred",
        "_create",
        "_early",
        "_early_bounds",
        "_fence",
        "_flushed",
        "_locate",
        "_remove",
        "_stopping",
        "api",
        "asked",
        "replay",
        "returned",
        "state",
        "timeout",
    )

    STATE: ClassVar[Codecs] = {
        **PushFeed.STATE,
        # In this order: each script is made of what the one before it has found.
        "_locate": PART,
        "_create": PART,
        "_remove": PART,
        "_barred": PLAIN,
        "_early": PART,
        "_early_bounds": PART,
        "_fence": PLAIN,
        "_flushed": PLAIN,
        "_stopping": PLAIN,
        "replay": PART,
        "returned": PLAIN,
        "state": PushState,
    }

    def __init__(
        self,
        api: ApiSubjects,
        asked: Subscribe,
        options: PushOptions | None = None,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        message: Make[M] | None = None,
    ) -> None:
        super().__init__(options or PushOptions(), message)
        self.api = api
        self.asked = asked
        self.timeout = timeout
        self.state = PushState.NEW
        self.returned = 0
        self.replay = ReplayWatch(api, timeout)
        self._locate: Script[ConsumerLookup] = Script(lambda: locate(api, asked, timeout=timeout))
        self._create: Script[BoundConsumer] = Script(self._ensuring)
        self._remove: Script[None] = Script(self._removing)
        # What came before the consumer was known to be ours.
        self._early = FrameQueue()
        self._early_bounds = self.options.bounds()
        self._fence = 0
        # Draining: everything that was on its way has come.
        self._flushed = False
        # Told to end before it was bound.
        self._stopping = False
        # It was said for this link that acks are refused.
        self._barred = False

    # ------------------------------------------------------------------ the consumer

    @property
    def info(self) -> ConsumerInfo | None:
        """The consumer as it was when we bound to it, ``None`` before."""
        if self._create.done and self._create.error is None:
            return self._create.result.info
        if self._locate.done and self._locate.error is None:
            return self._locate.result.info
        return None

    @property
    def created(self) -> bool:
        """Whether the consumer was made here."""
        return self._create.done and self._create.error is None and self._create.result.created

    @property
    def owned(self) -> bool:
        """Whether the consumer goes when we go."""
        return self.created and self.asked.owned

    def _ensuring(self) -> Steps[BoundConsumer]:
        return ensure(
            self.api, self.asked, self._locate.result.stream, self._deliver, timeout=self.timeout
        )

    def _removing(self) -> Steps[None]:
        info = cast("ConsumerInfo", self.info)
        return delete_consumer(self.api, info.stream_name, info.name, timeout=self.timeout)

    # ------------------------------------------------------------------ the user's side

    def nothing_left(self, now: float) -> NeedData | Ended:
        """Nothing is at hand: in a drain that is the end."""
        if self.state is PushState.DRAINING and self._flushed:
            self._over(now)
        return self.nothing()

    @property
    def stage(self) -> Stage:
        """It goes on as soon as it is bound to its consumer."""
        if self.ended:
            return Stage.ENDED
        early = self.state in {PushState.NEW, PushState.LOCATING, PushState.CREATING}
        return Stage.BEGINNING if early else Stage.GOING

    @property
    def finished(self) -> bool:
        """Nothing can come any more; messages at hand can still be taken."""
        return self.state is PushState.OVER

    @property
    def deadline(self) -> float | None:
        """When the server is silent for too long, or a question of ours."""
        if self.state is PushState.OVER:
            return None
        moments = [
            self.liveness.deadline,
            self._locate.deadline,
            self._create.deadline,
            self._remove.deadline,
        ]
        if self._quiet:
            moments += [self.replay.deadline, self.replay.due(self.liveness.since)]
        known = [at for at in moments if at is not None]
        return min(known) if known else None

    # ------------------------------------------------------------------ facts

    def opened(self, now: float) -> None:
        """Ask for the stream and the consumer."""
        self._move(PushInput.OPENED)
        self._locate.opened(self.port, now)
        self._judge(now)

    def delivered(self, run: Sequence[Delivery], now: float) -> None:
        """Messages and statuses. Before the consumer is known to be ours they are kept, after the
        end only messages count.
        """
        if self.state is PushState.CREATING:
            self._keep(run, now)
        elif (self.ended or self.state is PushState.DELETING) and run[0][SID] == self.port.sid:
            self._give_back(run)
        else:
            super().delivered(run, now)

    def received(self, data: list[Delivery], now: float) -> None:
        """Messages came: the user's, or after the end nobody's."""
        if self.ended or self.state is PushState.DELETING:
            self._give_back(data)
        else:
            super().received(data, now)

    def replied(self, token: int, frame: Delivery, now: float) -> None:
        """The answer to a question."""
        for script in self._scripts:
            script.replied(self.port, token, frame, now)
        self._judge(now)
        self.replay.replied(self.port, token, frame, now)
        self._look_after(now)

    def ticked(self, now: float) -> None:
        """Silence, and questions that were not answered in time."""
        self.judge_silence(now)
        for script in self._scripts:
            script.ticked(self.port, now)
        self._judge(now)
        self.replay.ticked(self.port, now)
        self._look_after(now)
        due = self.replay.due(self.liveness.since)
        if due is not None and due <= now:
            self.replay.ask(self.liveness.since, self.port, now)

    def fenced(self, token: int, now: float) -> None:
        """Nothing that was sent before the end of the interest can come any more."""
        super().fenced(token, now)
        if token == self._fence:
            self._fence = 0
            self._flush(now)

    def link_down(self, error: JsprotoError, now: float) -> None:
        """A question that was sent fails; the subscription itself goes on with the next link."""
        self.link_lost()
        self._fence = 0
        for script in self._scripts:
            script.link_down(self.port, now)
        self._judge(now)
        self._flush(now)

    def link_up(self, now: float) -> None:
        """The interest is there again, and the server goes on."""
        self._barred = False
        for script in self._scripts:
            script.link_up(self.port, now)
        if self.state is PushState.BOUND:
            self.watch(now)
        self.acknowledge()
        self._judge(now)

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """The server, or our own encoder, does not let something through."""
        for script in self._scripts:
            script.refused(self.port, subject, error, now)
        self._judge(now)
        self.replay.refused(self.port, subject, error, now)
        port = self.port
        of_interest = isinstance(error, PermissionViolation) and error.operation == "subscription"
        if isinstance(error, PermissionViolation) and error.bars(
            port.subject, port.queue, port.sid
        ):
            self.failed(error, now)
        elif not of_interest and self.flow.answered and subject == self.flow.answered:
            self.flow.forget()
            self.port.notify(PushNotice.REFUSED, error)
        elif not self._barred and self._acks_at(subject):
            self._barred = True
            self.port.notify(PushNotice.REFUSED, error)

    def _acks_at(self, subject: str) -> bool:
        info = self.info
        return info is not None and is_ack_for(subject, info.stream_name, info.name)

    def failed(self, error: JsprotoError, now: float) -> None:
        """End with an error, behind what is at hand."""
        if not self.ended and self.state is not PushState.DELETING:
            self._over(now, error)

    def told(self, wish: StopMode, now: float) -> None:
        """Drain or stop; see the head of this file."""
        state = self.state
        if state in {PushState.NEW, PushState.LOCATING}:
            self._over(now)
        elif state is PushState.CREATING:
            self._stopping = True
        elif wish is StopMode.STOP and state in {PushState.BOUND, PushState.DRAINING}:
            self._stop(now)
        elif state is PushState.BOUND:
            self._move(PushInput.DRAINED)
            self._leave()
            self._flush(now)

    def closed(self, error: JsprotoError | None, now: float) -> None:
        """The user leaves at once: what is at hand and what still comes goes back to the server."""
        if error is not None:
            self._cut(error)
            return
        if not self.ended:
            self._over(now)
        if self.port.up:
            self._give_back([*self._early.frames(), *self.clear()])
            self._early.clear()

    # ------------------------------------------------------------------ silence of a replay

    def watch(self, now: float) -> None:
        """From now on the server is expected to speak; while it replays in silence, it is asked."""
        super().watch(now)
        self._ask_in_silence(now)

    def unwatch(self) -> None:
        """From now on the server is not expected to speak, and it is not asked."""
        super().unwatch()
        self.replay.end()

    def resumed(self, now: float) -> None:
        """The consumer is there after all: the next silence is asked about."""
        super().resumed(now)
        self._ask_in_silence(now)

    def replayed(self, now: float) -> None:
        """The server sends heartbeats, so it is not asked any more."""
        super().replayed(now)
        self.replay.end()

    def _ask_in_silence(self, now: float) -> None:
        if self._quiet and self.liveness.period:
            info = cast("ConsumerInfo", self.info)
            self.replay.begin(info.stream_name, info.name, self.liveness.period, now)

    def _look_after(self, now: float) -> None:
        """Report a consumer that the server does not find, as if heartbeats were missed."""
        replay = self.replay
        if replay.gone:
            replay.end()
            if self.liveness.alarm() is HeartbeatAlarm.EDGE:
                text = (
                    f"expected the consumer that sends to {self._deliver}, "
                    f"the server did not find it after {self.liveness.period:g} s of silence"
                )
                self.port.notify(PushNotice.HEARTBEAT_MISSED, HeartbeatsMissed(text))

    # ------------------------------------------------------------------ the workflow

    @property
    def _scripts(self) -> tuple[Script[ConsumerLookup], Script[BoundConsumer], Script[None]]:
        return self._locate, self._create, self._remove

    def _judge(self, now: float) -> None:
        """Go on from what the scripts have found out."""
        if self.state is PushState.LOCATING and self._locate.done:
            if self._locate.error is not None:
                self._over(now, self._locate.error)
            elif self._locate.result.info is not None:
                self._bind(self._locate.result.info, PushInput.FOUND, now)
            else:
                self._make(now)
        if self.state is PushState.CREATING and self._create.done:
            if self._create.error is not None:
                self._over(now, self._create.error)
            else:
                self._bind(self._create.result.info, PushInput.CREATED, now)
        if self.state is PushState.DELETING and self._remove.done:
            self.end(self._remove.error)
            self._move(PushInput.LEFT)
        if self.state is PushState.LEAVING:
            self._leaving(now)

    def _make(self, now: float) -> None:
        asked = self.asked
        deliver = asked.config.deliver_subject or self.port.address()
        self.port.subscribe(deliver, asked.queue)
        self.expect(deliver, 1)
        self.agreed(asked.created(deliver))
        self._move(PushInput.ABSENT)
        self._create.opened(self.port, now)

    def _bind(self, info: ConsumerInfo, how: PushInput, now: float) -> None:
        config = info.config
        deliver = config.deliver_subject or self._deliver
        self.agreed(config)
        self._careful = self._careful or (self.owned and not self._mute)
        if not self.created:
            # It is not ours: the interest moves to where it delivers (ADR-15 "Creating the JS
            # Consumer").
            try:
                if deliver != self.port.subject:
                    self.port.subscribe(deliver, config.deliver_group or "")
            except LocalProtocolError as error:
                self._over(now, error)
                return
            self.expect(deliver)
        self._move(how)
        self.port.notify(PushNotice.BOUND, info)
        self.watch(now)
        early = list(self._early.frames())
        self._early.clear()
        if early:
            # They all came on one sid; if that was given up they are strays.
            super().delivered(early, now)
        if self._stopping and self.state is PushState.BOUND:
            self._stop(now)

    def _keep(self, run: Sequence[Delivery], now: float) -> None:
        """Keep what comes before the answer to CREATE, within the bounds and by the policy that
        hold afterwards too.

        With flow control there is no bound: the server itself waits for our answers. Without it
        only messages count, and a heartbeat, which is no more than a sign of life then, is not
        kept.
        """
        if not self._bounded:
            self._early.push(list(run))
            return
        deliver = self._deliver
        data = [
            frame for frame in run if self.options.raw or frame[SUBJECT] != deliver or frame[REPLY]
        ]
        dropped = self._early_bounds.admit(data, self._early) if data else 0
        if dropped is None:
            self.too_slow(now)
        elif dropped:
            self.drop(dropped)
            self.port.notify(NoticeKind.SLOW_CONSUMER, dropped)

    # ------------------------------------------------------------------ the ways out

    def _leave(self) -> None:
        """Give up the interest, and find out when nothing of it can come any more."""
        self.unwatch()
        self.port.unsubscribe()
        if self.port.up:
            self._fence = self.port.fence()

    def _flush(self, now: float) -> None:
        """The fence is answered, or void."""
        if self.state is PushState.DRAINING and not self._fence:
            self._flushed = True
            if not self.readable and (self.take_blocked or not self._in_hand):
                self._over(now)
        self._judge(now)

    @property
    def _in_hand(self) -> bool:
        """Whether the reader has something that is not settled."""
        return any(each.said is OPEN for each in cast("list[JsMessage]", self._held))

    def _stop(self, now: float) -> None:
        """Unsubscribe."""
        self.came_back()
        left = self.clear()
        if self.owned:
            if self.state is PushState.BOUND:
                self._leave()
            self._move(PushInput.STOPPED)
            self._remove.opened(self.port, now)
        else:
            self._over(now)
        self._give_back(left)

    def _over(self, now: float, error: JsprotoError | None = None) -> None:
        """It ends for the user; what is to be done for the server goes on."""
        state = self.state
        if state is PushState.BOUND:
            self._leave()
        pending = self._create.waiting is not None and self.port.up
        early = state in {PushState.NEW, PushState.LOCATING, PushState.CREATING}
        self.end(error)
        self._move(PushInput.ENDED if early and not pending else PushInput.LEFT)
        self._judge(now)

    def _leaving(self, now: float) -> None:
        """It has ended for the user; is there anything left to do, or to wait for?"""
        if self._create.waiting is not None:
            return
        remove = self._remove
        if self.owned and not remove.done and remove.waiting is None:
            remove.opened(self.port, now)
        if self._fence or remove.waiting is not None:
            return
        if remove.error is not None and remove.error is not self.error:
            self.port.notify(PushNotice.DELETE_FAILED, remove.error)
        self._move(PushInput.ENDED)

    def _cut(self, error: JsprotoError) -> None:
        """The connection closes: say what can be said, and wait for nothing."""
        state = self.state
        if state is PushState.OVER:
            return
        if self.owned and self.port.up and not self._remove.done and self._remove.waiting is None:
            info = cast("ConsumerInfo", self.info)
            self.port.call(Call(self.api.consumer_delete(info.stream_name, info.name)))
        self.unwatch()
        if not self.ended:
            self.end(error)
        self._move(PushInput.ENDED)

    def _give_back(self, frames: Sequence[Delivery]) -> None:
        """Nobody takes these: the server shall hand them to somebody else, where it can."""
        replies = [frame[REPLY] for frame in frames if frame[REPLY].startswith(ACK_ROOT)]
        if not replies:
            return
        if self._mute or self.owned or not self.port.up:
            self.drop(len(replies))
            self.port.notify(PushNotice.DROPPED, len(replies))
            return
        for reply in replies:
            self.port.publish(Publish(reply, _NAK))
        self.returned += len(replies)
        self.port.notify(PushNotice.RETURNED, len(replies))

    def _move(self, fact: PushInput) -> None:
        self.state = TRANSITIONS[self.state][fact]
