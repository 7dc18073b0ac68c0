"""Consume: an endless feed over pulls, which asks for more as the user takes (ADR-37 "Consume").

Theory. One inbox, at most so many messages (or bytes) asked for and buffered together, and a new
pull for the difference whenever the level has fallen to the threshold. The parts do the arithmetic:
`PullCredit` the level, `PendingPulls` who owes what, `HeartbeatMonitor` the silence, `Backoff` the
delays, `GapDetector` gaps. What is left to this class is when to pull and when to end.

*Data by sid, statuses by token, everything by generation.* A message of the present inbox counts
for the open pulls; one of an inbox that was given up is the user's all the same, but counts for
nobody. A status acts on the pull that it names.

Nothing ends a consume but the user, a deleted consumer (unless `OnDeleted.RETRY`), and what asking
again can't mend: a bad request, a push consumer, a missing permission. Everything else makes all
that is open void and pulls anew:

    lost link               at link up at once, on the fresh inbox that the connection has made
    missed heartbeats       at once, on a fresh inbox, once each period
    a pull is overdue       at once, on a fresh inbox
    leader or server gone   after a short delay, on a fresh inbox
    refused, nobody there   after a growing delay; a limit that the server names is kept from then
    on

Messages in hand. Where ``ack_wait`` is known, the messages at hand are watched: when some have
waited for two thirds of it, more was asked for than the user can take in time, and the server would
deliver them again, and again. Then a notice says so and the bound in messages is halved (one in
bytes is not: it must hold a whole message). With automatic in-progress nothing of that is needed,
and a consume is not finished before what it handed out is settled.

``stop_after`` bounds all requests together: what is owed and what has come never exceed it.

States. `told(STOP)` asks for nothing new and ends when what is open has ended; `told(DRAIN)` gives
up the interest and ends behind a fence; messages at hand are handed out in both. `closed` ends at
once: what is at hand, and what still comes before the fence, is given back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, cast

from jsproto.core.conversation.conversation import Call, StopMode
from jsproto.core.state import PART, PLAIN, Codecs, IdentityEnum
from jsproto.core.timers import Timers
from jsproto.errors.tree import JsprotoError, LinkError
from jsproto.jetstream.backoff import Backoff
from jsproto.jetstream.delivery.ack import AckSubject, InvalidAckSubject
from jsproto.jetstream.errors import (
    BadRequestStatus,
    HeartbeatsMissed,
    PullLimitExceeded,
    ServerShutdown,
)
from jsproto.jetstream.gaps import Gap, GapDetector, sequence_of
from jsproto.jetstream.heartbeat import HeartbeatAlarm, HeartbeatMonitor
from jsproto.jetstream.pull.base import M, Make, PullFeed
from jsproto.jetstream.pull.consume_options import ConsumeOptions, OnDeleted
from jsproto.jetstream.pull.existence_check import absence, info_subject
from jsproto.jetstream.pull.pending_pulls import PendingPulls
from jsproto.jetstream.pull.pull_credit import PullCredit
from jsproto.jetstream.pull.request import (
    OpenPull,
    Pull,
    PullNotice,
    message_size,
    pin_of,
    pinned_size,
)
from jsproto.jetstream.status import EndReason, Limit, StatusAction, StatusRow, judge, pending_of
from jsproto.signals import Ended, NeedData
from jsproto.wire.frames import PAYLOAD, REPLY, SID, SUBJECT, Delivery

__all__ = [
    "TRANSITIONS",
    "Consume",
    "ConsumeInput",
    "ConsumeOptions",
    "ConsumeState",
    "ConsumeTimer",
    "OnDeleted",
]

#: How much later than its expiry a pull is taken for over without a word: a tenth, 1 s to 5 s.
_MARGINS: Final = (1.0, 5.0)
#: ``OnDeleted.RETRY`` asks again after this many seconds at least.
_DELETED_DELAY: Final = 1.0


class ConsumeState(IdentityEnum):
    """The life of a consume."""

    #: Not opened yet.
    NEW = "NEW"
    #: Asks for more whenever the level is low.
    PULLING = "PULLING"
    #: Told to stop: no new pulls, what is open may still be served.
    STOPPING = "STOPPING"
    #: Told to drain: the interest is given up, what comes before the fence is still handed out.
    DRAINING = "DRAINING"
    #: Over for the user; what comes before the fence is given back.
    CLOSING = "CLOSING"
    #: Nothing can come any more.
    OVER = "OVER"


class ConsumeInput(IdentityEnum):
    """What moves a consume."""

    #: It has a port now.
    OPENED = "OPENED"
    #: The user wants nothing new, but what was asked for.
    STOPPED = "STOPPED"
    #: The user wants only what is on its way or at hand.
    DRAINED = "DRAINED"
    #: It ended, and nothing can come any more.
    ENDED = "ENDED"
    #: It ended here first.
    LEFT = "LEFT"


TRANSITIONS: Final[Mapping[ConsumeState, Mapping[ConsumeInput, ConsumeState]]] = {
    ConsumeState.NEW: {
        ConsumeInput.OPENED: ConsumeState.PULLING,
        ConsumeInput.ENDED: ConsumeState.OVER,
    },
    ConsumeState.PULLING: {
        ConsumeInput.STOPPED: ConsumeState.STOPPING,
        ConsumeInput.DRAINED: ConsumeState.DRAINING,
        ConsumeInput.ENDED: ConsumeState.OVER,
        ConsumeInput.LEFT: ConsumeState.CLOSING,
    },
    ConsumeState.STOPPING: {
        ConsumeInput.DRAINED: ConsumeState.DRAINING,
        ConsumeInput.ENDED: ConsumeState.OVER,
        ConsumeInput.LEFT: ConsumeState.CLOSING,
    },
    ConsumeState.DRAINING: {
        ConsumeInput.ENDED: ConsumeState.OVER,
        ConsumeInput.LEFT: ConsumeState.CLOSING,
    },
    ConsumeState.CLOSING: {ConsumeInput.ENDED: ConsumeState.OVER},
    ConsumeState.OVER: {},
}


class ConsumeTimer(IdentityEnum):
    """The deadlines of a consume beside the server's silence and the age of its pulls."""

    #: The delay after a fruitless pull is over.
    RETRY = "RETRY"


class Consume(PullFeed[M]):
    """An endless feed of a consumer's messages.

    Args:
        subject: the consumer's NEXT subject.
        options: how to consume.
        message: makes the user's message.

    Attributes:
        state: where in its life it is.
        reason: how it ended, ``None`` before.
        ledger: the open pulls; to look at. `pulls` shows them as values.
        got: messages that came; counted only where ``stop_after`` is given.
        pin: the pin id of a pinned consumer, ``""`` while none is known.
    """

    __slots__ = (
        "_absent",
        "_budget",
        "_by_messages",
        "_expires",
        "_fence",
        "_guard",
        "_missing",
        "_pace",
        "_question",
        "_source",
        "_template",
        "_timers",
        "_trusts",
        "got",
        "ledger",
        "options",
        "pin",
        "reason",
        "state",
    )

    STATE: ClassVar[Codecs] = {
        **PullFeed.STATE,
        "_absent": PLAIN,
        "_budget": PART,
        "_expires": PLAIN,
        "_fence": PLAIN,
        "_guard": PART,
        "_missing": PLAIN,
        "_pace": PART,
        "_question": PLAIN,
        "_timers": PART,
        "_trusts": PLAIN,
        "got": PLAIN,
        "ledger": PART,
        "pin": PLAIN,
        "reason": EndReason,
        "state": ConsumeState,
    }

    def __init__(
        self, subject: str, options: ConsumeOptions | None = None, message: Make[M] | None = None
    ) -> None:
        options = options or ConsumeOptions()
        super().__init__(
            subject,
            HeartbeatMonitor(options.heartbeat, options.heartbeat_factor),
            options.acking,
            message,
        )
        self.options = options
        self.state = ConsumeState.NEW
        self.reason: EndReason | None = None
        self.ledger = PendingPulls()
        self.got = 0
        self.pin = ""
        self._budget = PullCredit(*options.credits())
        # For the hot path: the credit that makes us ask, and whether a message counts for one in
        # it.
        self._source = self._budget.lead
        self._by_messages = self._budget.size is None
        self._pace = Backoff(options.retry_wait, options.retry_wait_max)
        self._guard = GapDetector()
        self._timers = Timers(ConsumeTimer)
        self._template = options.template
        self._expires = options.expires
        # Nobody was there the last time we asked, and it was said; and it was said that there is no
        # such consumer.
        self._missing = False
        self._absent = False
        # The question whether the consumer is there, 0 if none is open.
        self._question = 0
        # Whether a pin id of a message may be the server's.
        self._trusts = bool(options.group) and options.pinned is not False
        self._fence = 0

    # ------------------------------------------------------------------ the user's side

    def take(self, now: float) -> M | NeedData | Ended:
        """The next message. May ask for more."""
        # Runs once per message: the level is lowered by plain arithmetic.
        waiting = self.backlog.waiting
        if not waiting:
            return self.nothing()
        frame = waiting.popleft()
        lead = self._source
        if self._by_messages:
            lead.level -= 1
        else:
            self._budget.taken(1, self._size([frame]))
        if lead.level <= lead.low:
            self._refill(now)
        return self.message(frame, self)

    def take_all(self, now: float) -> list[M] | NeedData | Ended:
        """All messages at hand. May ask for more."""
        frames = self.backlog.pop_run()
        if not frames:
            return self.nothing()
        lead = self._source
        if self._by_messages:
            lead.level -= len(frames)
        else:
            self._budget.taken(len(frames), self._size(frames))
        if lead.level <= lead.low:
            self._refill(now)
        make = self.message
        return [make(frame, self) for frame in frames]

    def _size(self, frames: list[Delivery]) -> int:
        may_pin = self.options.group and self.options.pinned is not False
        return sum(map(pinned_size if may_pin else message_size, frames))

    # ------------------------------------------------------------------ facts

    def opened(self, now: float) -> None:
        """Subscribe, and pull if the link is up."""
        self._configure_messages()
        self._move(ConsumeInput.OPENED)
        self.port.subscribe()
        self._refill(now)

    def link_down(self, error: JsprotoError, now: float) -> None:
        """All pulls died with the link. What is at hand stays; pulling goes on with the next link."""
        self._timers.clear()
        self._expire_all(EndReason.DISCONNECTED)
        if self.state is ConsumeState.CLOSING:
            self._move(ConsumeInput.ENDED)
        elif self.state is ConsumeState.DRAINING:
            self._finish(EndReason.CLOSED)

    def link_up(self, now: float) -> None:
        """The inbox is a fresh one: pull at once for all that there is room for."""
        super().link_up(now)
        self._pace.restart()
        self._guard.restart()
        self._budget.whole = False
        self._refill(now)
        self._beat(now)

    def replied(self, token: int, frame: Delivery, now: float) -> None:
        """Whether the consumer is there. If it is not, that ends it, unless the user waits for one;
        he is told once.
        """
        if token != self._question or self.state not in {
            ConsumeState.PULLING,
            ConsumeState.STOPPING,
        }:
            return
        self._question = 0
        error = absence(frame[PAYLOAD], self.subject, self.options.inactive_threshold)
        if error is None or self._absent:
            return
        self._absent = True
        self.port.notify(PullNotice.CONSUMER_DELETED, error)
        if self._ends_when_deleted:
            self._finish(EndReason.DELETED, error, left=True)

    def fenced(self, token: int, now: float) -> None:
        """Nothing that was sent before we left can come any more."""
        if token != self._fence:
            return
        if self.state is ConsumeState.DRAINING:
            self._finish(EndReason.CLOSED)
        elif self.state is ConsumeState.CLOSING:
            self._move(ConsumeInput.ENDED)

    def ticked(self, now: float) -> None:
        """Silence, pulls that are overdue, and delays that are over."""
        self._beat(now)
        if self.state not in {ConsumeState.PULLING, ConsumeState.STOPPING}:
            return
        alarm = self.liveness.judge(now)
        if alarm is not None:
            self._silence(alarm)
        if self.ledger.overdue(now):
            # Its messages may be on their way, or it is itself: they would be taken for those of
            # the pulls that go on.
            heard = self.liveness.since
            self._reset(EndReason.DEADLINE)
            self._refill(now)
            self.liveness.goes_on(heard)
        for _ in self._timers.expired(now):
            pass  # the delay is over: whether there is something to ask for is seen below
        self._refill(now)

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """The server, or our own encoder, does not let a pull or the subscription through."""
        super().refused(subject, error, now)
        if not self.ended and subject in {self.subject, self.port.subject}:
            self.port.notify(PullNotice.REFUSED, error)
            self._finish(EndReason.REFUSED, error, left=True)

    def told(self, wish: StopMode, now: float) -> None:
        """Stop or drain; see the head of this file."""
        if self.ended or self.state is ConsumeState.DRAINING:
            return
        if self.state is ConsumeState.NEW or not self.port.up:
            self._finish(EndReason.CLOSED)
        elif wish is StopMode.DRAIN:
            self._move(ConsumeInput.DRAINED)
            self._expire_all(EndReason.CLOSED)
            self._timers.clear()
            self.port.unsubscribe()
            self._fence = self.port.fence()
        elif self.state is ConsumeState.PULLING:
            self._move(ConsumeInput.STOPPED)
            self._timers.clear()
            self._stopped()

    def closed(self, error: JsprotoError | None, now: float) -> None:
        """The user leaves: what is at hand and what still comes goes back to the server."""
        if not self.ended:
            if error is None:
                self._finish(EndReason.CLOSED, left=self.state is not ConsumeState.NEW)
            else:
                self._finish(
                    EndReason.DISCONNECTED if isinstance(error, LinkError) else EndReason.CLOSED,
                    error,
                )
        if error is None:
            self._abandon()
        self._let_go(error)

    # ------------------------------------------------------------------ what it shows

    @property
    def deadline(self) -> float | None:
        """When silence, a pull's age, a delay or a beat calls for action."""
        if not self.port.up:
            return None
        beat = self.hands.due
        if self.ended or self.state is ConsumeState.DRAINING:
            return beat  # a status that came since may have set a delay: nobody acts on it any more
        moments = [
            at
            for at in (self.liveness.deadline, self._timers.next(), self.ledger.deadline, beat)
            if at is not None
        ]
        return min(moments) if moments else None

    @property
    def finished(self) -> bool:
        """Nothing can come any more, and nothing is kept in progress; messages at hand can still be
        taken.
        """
        return self.state is ConsumeState.OVER and not (self.acking.keeps and self._held)

    def pulls(self, now: float) -> tuple[OpenPull, ...]:
        """The open pulls as they stand, oldest first."""
        return tuple(pull.shown(now) for pull in self.ledger.open.values())

    @property
    def asked(self) -> int:
        """Messages that open pulls still owe; in a consume by bytes: bytes."""
        return self._source.asked

    # ------------------------------------------------------------------ asking

    def _refill(self, now: float) -> None:
        """Ask for the difference, if the level is low and asking is allowed now."""
        request = self._wish()
        if request is None:
            return
        if not self._pace.opened(now):
            self._timers.set(ConsumeTimer.RETRY, cast("float", self._pace.not_before))
            return
        self._ask(self.subject, b"", *request, now)

    def _wish(self) -> tuple[int, int] | None:
        """Messages and bytes to ask for now, whatever the pace; ``None`` if it is not the time."""
        if self.state is not ConsumeState.PULLING or not self.port.up:
            return None
        request = self._budget.request()
        if request is None or self.options.stop_after is None:
            return request
        batch = (
            self.options.stop_after
            - self.got
            - sum(pull.owed for pull in self.ledger.open.values())
        )
        return (min(batch, request[0]), request[1]) if batch > 0 else None

    def _ask(self, subject: str, verb: bytes, batch: int, size: int, now: float) -> None:
        """A pull goes out; for one that is an ack too, ``verb`` and ``subject`` are those of the
        ack.
        """
        token = self.port.ask(subject, verb + self._template.body(batch, size, self.pin))
        self._budget.ask(batch, size)
        least, most = _MARGINS
        until = now + self._expires + min(max(self._expires / 10, least), most)
        self.ledger.issue(Pull(token, batch, size, now, until))
        self.liveness.asked(now)

    def _settle(self, messages: int, size: int) -> None:
        """So much of what was asked will not come."""
        self._budget.settled(messages, size)
        if not self.ledger.open:
            self._balance()

    def _balance(self) -> None:
        """No pull is open: nobody owes anything, and nobody has promised heartbeats."""
        self._budget.reset()
        self.liveness.rest()
        if self.state is ConsumeState.STOPPING:
            self._stopped()

    def _expire_all(self, end: EndReason) -> None:
        """Everything that is open is over."""
        self.ledger.end_all(end)
        self._balance()

    def _reset(self, end: EndReason) -> None:
        """Everything that is open is over, and nothing of it may be served any more: a fresh inbox."""
        self._expire_all(end)
        if self.state is ConsumeState.PULLING:
            self.port.subscribe()
            self._guard.restart()

    def _failed(self, now: float, at_least: float = 0.0) -> None:
        self._timers.set(ConsumeTimer.RETRY, self._pace.failed(now, at_least))

    # ------------------------------------------------------------------ what comes

    def _received(self, data: list[Delivery], now: float) -> None:
        if self.ended:
            self._give_back(data)
            return
        surplus: list[Delivery] = []
        if self.options.stop_after is not None:
            room = self.options.stop_after - self.got
            data, surplus = data[:room], data[room:]
            self.got += len(data)
        self.backlog.push(data)
        count = len(data)
        if self.hands.every:
            self.hands.came(count, now)
        self._counted(data, count, now)
        if self.got == self.options.stop_after and not self.ended:
            self._finish(EndReason.FILLED, left=True)
        if surplus:
            self._give_back(surplus)

    def _counted(self, data: list[Delivery], count: int, now: float) -> None:
        """Messages came that will be handed out: who owed them?"""
        size = 0 if self._by_messages else self._size(data)
        if data[0][SID] != self.port.sid:
            # Of an inbox that was given up: the user's, but nobody's debt.
            self._budget.unsolicited(count, size)
            return
        self._alive(now)
        self._pace.reset_delay()
        self._missing = self._absent = False
        self._budget.received(count, size)
        if self._trusts:
            self._pinned(data)
        if self.options.watch_gaps:
            self._watch(data)
        messages, left = self.ledger.credit(count, size)
        if messages or left or not self.ledger.open:
            # A pull that is full leaves over what its other bound had room for.
            self._settle(messages, left)
            self._refill(now)

    def _alive(self, now: float) -> None:
        if self.liveness.seen(now):
            self.port.notify(PullNotice.RESUMED)

    def _pinned(self, data: list[Delivery]) -> None:
        pin = next((pin for pin in map(pin_of, reversed(data)) if pin), "")
        if pin and pin != self.pin:
            self.pin = pin
            self.port.notify(PullNotice.PINNED, pin)

    def _watch(self, data: list[Delivery]) -> None:
        try:
            first = AckSubject.parse(data[0][REPLY]).consumer_sequence
            last = AckSubject.parse(data[-1][REPLY]).consumer_sequence
        except InvalidAckSubject:
            return  # the message says so itself when it is asked for its metadata
        self._gap(self._guard.run(first, last, len(data)))

    def _gap(self, gap: Gap | None) -> None:
        if gap is not None:
            self.port.notify(PullNotice.GAP, gap)

    # ------------------------------------------------------------------ statuses

    def _status(self, frame: Delivery, block: bytes, status: tuple[int, str], now: float) -> None:
        if self.ended or frame[SID] != self.port.sid:
            self.strays += 1
            return
        self._alive(now)
        pull = self.ledger.find(frame[SUBJECT])
        if pull is None:
            self.strays += 1
            return
        row = judge(*status)
        verdict = row.verdict
        if verdict is StatusAction.HEARTBEAT:
            self._missing = self._absent = False
            self._pace.reset_delay()
            if self.options.watch_gaps:
                self._heartbeat(block)
        elif row.end is None:
            self.port.notify(PullNotice.UNKNOWN_STATUS, self._error_of(row, status))
        elif verdict is StatusAction.RESET:
            self._moved(row, status, now)
        elif row.error is BadRequestStatus and self.pin and not self.options.pinned:
            self._unpin(row, status, now)
        elif verdict is StatusAction.FATAL or (
            verdict is StatusAction.DELETED and self._ends_when_deleted
        ):
            error = self._error_of(row, status)
            kind = (
                PullNotice.CONSUMER_DELETED
                if verdict is StatusAction.DELETED
                else PullNotice.REFUSED
            )
            self.port.notify(kind, error)
            self._finish(row.end, error, left=True)
        else:
            self._ended(pull, row, block, status, now)
            self._refill(now)

    @property
    def _ends_when_deleted(self) -> bool:
        return self.options.on_deleted is OnDeleted.END

    def _heartbeat(self, block: bytes) -> None:
        last = sequence_of(block, b"Nats-Last-Consumer")
        if last is not None:
            self._gap(self._guard.heartbeat(last))

    def _unpin(self, row: StatusRow, status: tuple[int, str], now: float) -> None:
        """The server takes no pin id, so ours was a header of some publisher's. No other is
        believed, and nobody hears it again.
        """
        self.pin = ""
        self._trusts = False
        self.port.notify(PullNotice.PIN_LOST, self._error_of(row, status))
        self._reset(EndReason.REFUSED)
        self._refill(now)

    def _moved(self, row: StatusRow, status: tuple[int, str], now: float) -> None:
        shutdown = row.error is ServerShutdown
        kind = PullNotice.SERVER_SHUTDOWN if shutdown else PullNotice.LEADERSHIP_CHANGED
        self.port.notify(kind, self._error_of(row, status))
        self._reset(EndReason.RESET)
        self._failed(now)

    def _ended(
        self, pull: Pull, row: StatusRow, block: bytes, status: tuple[int, str], now: float
    ) -> None:
        """One pull is over, the consume goes on."""
        settled = self.ledger.settle(pull, cast("EndReason", row.end), row.rest, pending_of(block))
        self._settle(settled.messages, settled.size)
        verdict = row.verdict
        if verdict is StatusAction.PULL_ENDED:
            self._missing = self._absent = False
            if not pull.got:
                self._pace.record_empty(pull.issued, now)
        elif verdict is StatusAction.DOES_NOT_FIT:
            self._missing = self._absent = False
            if not (pull.got or pull.size) and self._budget.did_not_fit(pull.max_bytes):
                self.port.notify(PullNotice.MESSAGE_TOO_LARGE, self._error_of(row, status))
                self._failed(now)
        elif verdict is StatusAction.GONE_FOR_NOW:
            if not self._missing:
                self.port.notify(PullNotice.NO_RESPONDERS, self._error_of(row, status))
            self._missing = True
            self._inquire()
            self._failed(now)
        elif verdict is StatusAction.PULL_REFUSED:
            self._limited(row, cast("PullLimitExceeded", self._error_of(row, status)))
            self._failed(now)
        elif verdict is StatusAction.DELETED:
            self.port.notify(PullNotice.CONSUMER_DELETED, self._error_of(row, status))
            self._failed(now, _DELETED_DELAY)
        elif verdict is StatusAction.PIN_LOST:
            self.pin = ""
            self.port.notify(PullNotice.PIN_LOST, self._error_of(row, status))
            self._failed(now)
        else:
            self.port.notify(PullNotice.UNKNOWN_STATUS, self._error_of(row, status))
            self._failed(now)

    def _limited(self, row: StatusRow, error: PullLimitExceeded) -> None:
        """The server named a limit: live within it, the same request would be refused for ever."""
        self.port.notify(PullNotice.LIMIT_EXCEEDED, error)
        limit = error.limit or 0
        budget = self._budget
        if row.limit is Limit.BATCH and budget.messages is not None:
            budget.messages.narrow(int(limit))
        elif row.limit is Limit.MAX_BYTES and budget.size is not None:
            budget.size.narrow(int(limit))
        elif row.limit is Limit.EXPIRES and 0 < limit < self._expires:
            self._expires = limit
            self._template = self.options.request(limit)
            self.liveness.promised(self._template.idle_heartbeat)

    # ------------------------------------------------------------------ silence and ends

    def _aged(self, *, once: bool) -> None:
        """More was asked for than can be taken in time: from now on half, unless what is at hand
        was asked for before.
        """
        super()._aged(once=once)
        messages = self._budget.messages
        if messages is not None and self.backlog.count <= messages.limit:
            messages.narrow(messages.limit // 2)

    def _silence(self, alarm: HeartbeatAlarm) -> None:
        if alarm is HeartbeatAlarm.EDGE:
            self.port.notify(PullNotice.HEARTBEAT_MISSED, self._missed())
        self._reset(EndReason.SILENT)
        if alarm is HeartbeatAlarm.EDGE:
            self._inquire()  # servers before 2.10 say nothing about a consumer that is not there

    def _inquire(self) -> None:
        """Nobody serves us: ask whether the consumer is there."""
        subject = info_subject(self.subject)
        if subject and self.port.up and self.state is ConsumeState.PULLING:
            self._question = self.port.call(Call(subject))

    def _missed(self) -> HeartbeatsMissed:
        return HeartbeatsMissed(
            f"expected a heartbeat every {self.liveness.heartbeat:g} s for a pull on {self.subject}, "
            f"nothing came for {self.liveness.period:g} s"
        )

    def _stopped(self) -> None:
        """A stop is complete when nothing is open any more."""
        if not self.ledger.open:
            self._finish(EndReason.CLOSED, left=True)

    def _finish(
        self, reason: EndReason, error: JsprotoError | None = None, *, left: bool = False
    ) -> None:
        """End for the user. ``left``: the server does not know yet, so something can still come."""
        self.reason = reason
        self.end(error)
        self.ledger.end_all(reason)
        self._budget.reset()
        self.liveness.rest()
        self._timers.clear()
        if not self.acking.keeps:
            self.hands.clear()
        if left and self.port.up:
            self._fence = self.port.fence()
            self._move(ConsumeInput.LEFT)
        else:
            self._move(ConsumeInput.ENDED)

    def _move(self, fact: ConsumeInput) -> None:
        self.state = TRANSITIONS[self.state][fact]

    # ------------------------------------------------------------------ state

    def restore(self, data: Mapping[str, object]) -> None:
        """Put back what `snapshot` gave, into a consume with the same options."""
        super().restore(data)
        if self._expires != self.options.expires:
            self._template = self.options.request(self._expires)
