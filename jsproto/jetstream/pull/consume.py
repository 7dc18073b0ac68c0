"""Consume: an endless feed over pulls, which asks for more as the user takes (ADR-37 "Consume").

A consume has one inbox. What is asked for and what is buffered never exceed the user's bound
together, in messages or in bytes. Whenever the level has fallen to the threshold, a new pull asks
for the difference. `PullEngine` does this arithmetic and `GapDetector` finds gaps. This class
decides when to pull and when to end.

*Data by sid, statuses by token, everything by generation.* A message on the present inbox counts
for the open pulls. One on an earlier inbox goes to the user too, but counts for no pull. A status
acts on the pull that it names.

A consume ends when the user ends it, when its consumer is deleted (unless `OnDeleted.RETRY`), or
when a new pull would fail in the same way: a bad request, a push consumer, a missing permission.
After anything else it gives up all open pulls and pulls anew:

    lost link                  at link up at once, on the fresh inbox that the connection has made
    missed heartbeats          at once, on a fresh inbox, once each period
    a pull is overdue          at once, on a fresh inbox
    leader or server gone      after a short delay, on a fresh inbox
    refused, or no responder   after a growing delay; later pulls keep to a limit that the server
                               has named

Buffered messages that age. If ``ack_wait`` is known, the consume watches how long messages are
buffered. When some have waited for two thirds of it, it has asked for more than the user takes in
time, and the server would deliver the same messages again and again. Then a notice tells the user,
and the bound in messages is halved. A bound in bytes stays, because it must hold a whole message.
With automatic in-progress the server waits, so none of this is needed. Such a consume is not
finished before all messages that it handed out are settled.

``stop_after`` bounds all requests together: what is owed and what has come never exceed it.

Stopping. After `told(STOP)` the consume sends no new pulls and ends when the open ones have ended.
After `told(DRAIN)` it unsubscribes and ends when the PONG of a fence has come. In both cases the
user still gets the buffered messages. `closed` ends it at once: buffered messages, and those that
come before the fence, go back to the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, cast

from jsproto.core.conversation.conversation import Call, StopMode
from jsproto.core.state import PART, PLAIN, Codecs, IdentityEnum
from jsproto.errors.tree import JsprotoError, LinkError
from jsproto.jetstream.delivery.ack import AckSubject, InvalidAckSubject
from jsproto.jetstream.errors import BadRequestStatus, PullLimitExceeded, ServerShutdown
from jsproto.jetstream.gaps import Gap, GapDetector, sequence_of
from jsproto.jetstream.heartbeat import HeartbeatAlarm
from jsproto.jetstream.pull.base import M, Make, PullFeed
from jsproto.jetstream.pull.consume_options import ConsumeOptions, OnDeleted
from jsproto.jetstream.pull.engine import PullEngine
from jsproto.jetstream.pull.existence_check import absence, info_subject
from jsproto.jetstream.pull.pending_pulls import PendingPulls
from jsproto.jetstream.pull.request import OpenPull, Pull, PullNotice, pin_of
from jsproto.jetstream.status import EndReason, StatusAction, StatusRow, judge
from jsproto.signals import Ended, NeedData
from jsproto.wire.frames import PAYLOAD, REPLY, SID, SUBJECT, Delivery

__all__ = [
    "TRANSITIONS",
    "Consume",
    "ConsumeInput",
    "ConsumeOptions",
    "ConsumeState",
    "OnDeleted",
]

#: ``OnDeleted.RETRY`` asks again after this many seconds at least.
_DELETED_DELAY: Final = 1.0


class ConsumeState(IdentityEnum):
    """The life of a consume."""

    #: Not opened yet.
    NEW = "NEW"
    #: Asks for more whenever the level is low.
    PULLING = "PULLING"
    #: The user stopped it: no new pulls, but the server may still serve the open ones.
    STOPPING = "STOPPING"
    #: The user drains it: it has unsubscribed, and hands out what comes before the fence.
    DRAINING = "DRAINING"
    #: It has ended for the user. What comes before the fence goes back to the server.
    CLOSING = "CLOSING"
    #: Nothing can come any more.
    OVER = "OVER"


class ConsumeInput(IdentityEnum):
    """What moves a consume."""

    #: It has a port now.
    OPENED = "OPENED"
    #: The user wants no more than what was asked for already.
    STOPPED = "STOPPED"
    #: The user wants only what is buffered or on its way.
    DRAINED = "DRAINED"
    #: It ended, and nothing can come any more.
    ENDED = "ENDED"
    #: It ended, but the server does not know yet, so something can still come.
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


class Consume(PullFeed[M]):
    """An endless feed of a consumer's messages.

    Args:
        subject: the consumer's NEXT subject.
        options: how to consume.
        message: makes the user's message.

    Attributes:
        state: where in its life it is.
        reason: how it ended, ``None`` before.
        engine: the open pulls, and how much may be asked for; to look at.
        got: messages that came; counted only where ``stop_after`` is given.
        pin: the pin id of a pinned consumer, ``""`` while none is known.
    """

    __slots__ = (
        "_absent",
        "_by_messages",
        "_fence",
        "_guard",
        "_lead",
        "_missing",
        "_question",
        "_trusts",
        "engine",
        "got",
        "options",
        "pin",
        "reason",
        "state",
    )

    STATE: ClassVar[Codecs] = {
        **PullFeed.STATE,
        "_absent": PLAIN,
        "_fence": PLAIN,
        "_guard": PART,
        "_missing": PLAIN,
        "_question": PLAIN,
        "_trusts": PLAIN,
        "engine": PART,
        "got": PLAIN,
        "pin": PLAIN,
        "reason": EndReason,
        "state": ConsumeState,
    }

    def __init__(
        self, subject: str, options: ConsumeOptions | None = None, message: Make[M] | None = None
    ) -> None:
        options = options or ConsumeOptions()
        self.engine = PullEngine(options)
        super().__init__(subject, self.engine.liveness, options.acking, message)
        self.options = options
        self.state = ConsumeState.NEW
        self.reason: EndReason | None = None
        self.got = 0
        self.pin = ""
        # For the hot path: the credit whose level decides when to ask, and whether each message
        # counts as one in it.
        self._lead = self.engine.credit.lead
        self._by_messages = self.engine.by_messages
        self._guard = GapDetector()
        # The last pull had no responder and the user got a notice; and the user got a notice that
        # the consumer does not exist.
        self._missing = False
        self._absent = False
        # The token of the open question whether the consumer exists, 0 if there is none.
        self._question = 0
        # Whether a pin id of a message may be the server's.
        self._trusts = options.may_pin
        self._fence = 0

    # ------------------------------------------------------------------ the user's side

    def take(self, now: float) -> M | NeedData | Ended:
        """The next message. May ask for more."""
        # Runs once per message: the level is lowered by plain arithmetic.
        waiting = self.backlog.waiting
        if not waiting:
            return self.nothing()
        frame = waiting.popleft()
        lead = self._lead
        if self._by_messages:
            lead.level -= 1
        else:
            self.engine.credit.taken(1, self.engine.size([frame]))
        if lead.level <= lead.low:
            self._refill(now)
        return self.message(frame, self)

    def take_all(self, now: float) -> list[M] | NeedData | Ended:
        """All buffered messages. May ask for more."""
        frames = self.backlog.pop_run()
        if not frames:
            return self.nothing()
        lead = self._lead
        if self._by_messages:
            lead.level -= len(frames)
        else:
            self.engine.credit.taken(len(frames), self.engine.size(frames))
        if lead.level <= lead.low:
            self._refill(now)
        make = self.message
        return [make(frame, self) for frame in frames]

    # ------------------------------------------------------------------ facts

    def opened(self, now: float) -> None:
        """Subscribe, and pull if the link is up."""
        self._configure_messages()
        self._move(ConsumeInput.OPENED)
        self.port.subscribe()
        self._refill(now)

    def link_down(self, error: JsprotoError, now: float) -> None:
        """All pulls ended with the link. Buffered messages stay; the next link pulls again."""
        self.engine.stop(EndReason.DISCONNECTED)
        self._end_if_stopped()
        if self.state is ConsumeState.CLOSING:
            self._move(ConsumeInput.ENDED)
        elif self.state is ConsumeState.DRAINING:
            self._finish(EndReason.CLOSED)

    def link_up(self, now: float) -> None:
        """The inbox is new: pull at once for all that there is room for."""
        super().link_up(now)
        self.engine.restart()
        self._guard.restart()
        self._refill(now)
        self._beat(now)

    def replied(self, token: int, frame: Delivery, now: float) -> None:
        """The answer whether the consumer exists. If it does not, the user gets one notice, and the
        consume ends unless `OnDeleted.RETRY` waits for a new one.
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
        """All that the server sent before the fence has come."""
        if token != self._fence:
            return
        if self.state is ConsumeState.DRAINING:
            self._finish(EndReason.CLOSED)
        elif self.state is ConsumeState.CLOSING:
            self._move(ConsumeInput.ENDED)

    def ticked(self, now: float) -> None:
        """Act on missed heartbeats, overdue pulls and retry delays that are over."""
        self._beat(now)
        if self.state not in {ConsumeState.PULLING, ConsumeState.STOPPING}:
            return
        alarm = self.liveness.judge(now)
        if alarm is not None:
            self._silence(alarm)
        if self.engine.ticked(now):
            # The pull or its messages may still be on their way. On the same inbox the messages
            # would count for the pulls that follow.
            heard = self.liveness.since
            self._reset(EndReason.DEADLINE)
            self._refill(now)
            self.liveness.goes_on(heard)
        self._refill(now)

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """The server or our own encoder refused a pull or the subscription."""
        super().refused(subject, error, now)
        if not self.ended and subject in {self.subject, self.port.subject}:
            self.port.notify(PullNotice.REFUSED, error)
            self._finish(EndReason.REFUSED, error, left=True)

    def told(self, wish: StopMode, now: float) -> None:
        """The user stops or drains it; see the head of this file."""
        if self.ended or self.state is ConsumeState.DRAINING:
            return
        if self.state is ConsumeState.NEW or not self.port.up:
            self._finish(EndReason.CLOSED)
        elif wish is StopMode.DRAIN:
            self._move(ConsumeInput.DRAINED)
            self.engine.stop(EndReason.CLOSED)
            self.port.unsubscribe()
            self._fence = self.port.fence()
        elif self.state is ConsumeState.PULLING:
            self._move(ConsumeInput.STOPPED)
            self.engine.retry_at = None
            self._end_if_stopped()

    def closed(self, error: JsprotoError | None, now: float) -> None:
        """The user ends it. Buffered messages and those that still come go back to the server."""
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
        """When the next alarm, overdue pull, retry or in-progress beat is due."""
        if not self.port.up:
            return None
        beat = self.hands.due
        if self.ended or self.state is ConsumeState.DRAINING:
            return beat  # nothing is asked any more, so a retry delay does not matter
        moments = [
            at for at in (self.liveness.deadline, self.engine.deadline, beat) if at is not None
        ]
        return min(moments) if moments else None

    @property
    def finished(self) -> bool:
        """Nothing can come any more, and nothing is kept in progress. The user can still take
        buffered messages.
        """
        return self.state is ConsumeState.OVER and not (self.acking.keeps and self._held)

    def pulls(self, now: float) -> tuple[OpenPull, ...]:
        """The open pulls as values, oldest first."""
        return tuple(pull.shown(now) for pull in self.ledger.open.values())

    @property
    def ledger(self) -> PendingPulls:
        """The records of pulls: open, filled, and how many ended in which way. Only to look at."""
        return self.engine.ledger

    @property
    def asked(self) -> int:
        """Messages that open pulls still owe, or bytes in a consume by bytes."""
        return self._lead.asked

    # ------------------------------------------------------------------ asking

    def _refill(self, now: float) -> None:
        """Ask for the difference, if the level is low and asking is allowed now."""
        request = self._wish()
        if request is not None and self.engine.may_ask(now):
            self._ask(self.subject, b"", request, now)

    def _wish(self) -> tuple[int, int] | None:
        """Messages and bytes to ask for now, apart from any retry delay; ``None`` for nothing."""
        if self.state is not ConsumeState.PULLING or not self.port.up:
            return None
        request = self.engine.credit.request()
        if request is None or self.options.stop_after is None:
            return request
        batch = (
            self.options.stop_after
            - self.got
            - sum(pull.owed for pull in self.engine.ledger.open.values())
        )
        return (min(batch, request[0]), request[1]) if batch > 0 else None

    def _ask(self, subject: str, verb: bytes, request: tuple[int, int], now: float) -> None:
        """Send a pull; for one that is an ack too, ``verb`` and ``subject`` are those of the ack."""
        self.engine.ask(self.port, subject, request, now, verb=verb, pin=self.pin)
        self.liveness.asked(now)

    def _reset(self, end: EndReason) -> None:
        """End all open pulls. A fresh inbox keeps apart what the server may still send for them."""
        self.engine.end_all(end)
        self._end_if_stopped()
        if self.state is ConsumeState.PULLING:
            self.port.subscribe()
            self._guard.restart()

    def _failed(self, now: float, at_least: float = 0.0) -> None:
        self.engine.retry_at = self.engine.backoff.failed(now, at_least)

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
        """Count messages that will be handed out for the pulls that asked for them."""
        engine = self.engine
        size = 0 if self._by_messages else engine.size(data)
        if data[0][SID] != self.port.sid:
            # They came on an earlier inbox: the user gets them, but no open pull asked for them.
            engine.credit.unsolicited(count, size)
            return
        self._alive(now)
        self._missing = self._absent = False
        if self._trusts:
            self._pinned(data)
        if self.options.watch_gaps:
            self._watch(data)
        if engine.received(count, size):
            self._end_if_stopped()
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
        pull = self.engine.ledger.find(frame[SUBJECT])
        if pull is None:
            self.strays += 1
            return
        row = judge(*status)
        verdict = row.verdict
        if verdict is StatusAction.HEARTBEAT:
            self._missing = self._absent = False
            self.engine.backoff.reset_delay()
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
        """The server accepts no pin id, so a publisher wrote the header that ours came from. From now
        on pin ids in messages are ignored.
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
        """A status ended one pull, and the consume goes on."""
        self.engine.pull_ended(pull, row, block)
        self._end_if_stopped()
        verdict = row.verdict
        if verdict is StatusAction.PULL_ENDED:
            self._missing = self._absent = False
            if not pull.got:
                self.engine.backoff.record_empty(pull.issued, now)
        elif verdict is StatusAction.DOES_NOT_FIT:
            self._missing = self._absent = False
            if not (pull.got or pull.size) and self.engine.credit.did_not_fit(pull.max_bytes):
                self.port.notify(PullNotice.MESSAGE_TOO_LARGE, self._error_of(row, status))
                self._failed(now)
        elif verdict is StatusAction.GONE_FOR_NOW:
            if not self._missing:
                self.port.notify(PullNotice.NO_RESPONDERS, self._error_of(row, status))
            self._missing = True
            self._inquire()
            self._failed(now)
        elif verdict is StatusAction.PULL_REFUSED:
            error = cast("PullLimitExceeded", self._error_of(row, status))
            self.port.notify(PullNotice.LIMIT_EXCEEDED, error)
            self.engine.narrow(row.limit, error.limit or 0)
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

    # ------------------------------------------------------------------ silence and ends

    def _aged(self, *, once: bool) -> None:
        """The consume asked for more than the user takes in time. It halves the bound, unless the
        buffered messages were asked for under a higher bound.
        """
        super()._aged(once=once)
        messages = self.engine.credit.messages
        if messages is not None and self.backlog.count <= messages.limit:
            messages.narrow(messages.limit // 2)

    def _silence(self, alarm: HeartbeatAlarm) -> None:
        if alarm is HeartbeatAlarm.EDGE:
            self.port.notify(PullNotice.HEARTBEAT_MISSED, self._missed())
        self._reset(EndReason.SILENT)
        if alarm is HeartbeatAlarm.EDGE:
            self._inquire()  # servers before 2.10 say nothing about a consumer that is not there

    def _inquire(self) -> None:
        """No server answers the pulls: ask whether the consumer exists."""
        subject = info_subject(self.subject)
        if subject and self.port.up and self.state is ConsumeState.PULLING:
            self._question = self.port.call(Call(subject))

    def _end_if_stopped(self) -> None:
        """If the user stopped it, it ends as soon as no pull is open."""
        if self.state is ConsumeState.STOPPING and not self.engine.ledger.open:
            self._finish(EndReason.CLOSED, left=True)

    def _finish(
        self, reason: EndReason, error: JsprotoError | None = None, *, left: bool = False
    ) -> None:
        """End for the user. ``left``: the server does not know yet, so something can still come."""
        self.reason = reason
        self.end(error)
        self.engine.stop(reason)
        if not self.acking.keeps:
            self.hands.clear()
        if left and self.port.up:
            self._fence = self.port.fence()
            self._move(ConsumeInput.LEFT)
        else:
            self._move(ConsumeInput.ENDED)

    def _move(self, fact: ConsumeInput) -> None:
        self.state = TRANSITIONS[self.state][fact]
