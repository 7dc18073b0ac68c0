"""The pulls of an ordered consumer: what is asked of the present incarnation, what it owes, and
whether it is still there.

Theory. The arithmetic is that of the pull machines, by the same parts: `PullCredit` the level,
`PendingPulls` who owes what, `HeartbeatMonitor` the silence, `Backoff` the delay behind a pull that
brought nothing. Here they are one part, because they begin and end together: with `begin` an
incarnation can be asked, with `void` nothing that it owes will ever come. What was received stays
counted until the user takes it, whichever incarnation it came from, so buffered and asked together
never exceed the bound, and a reset asks only for what there is room for.

What a status means for the order is the conversation's business; this part only says which row it
is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, cast

from jsproto.core.conversation.conversation import Port
from jsproto.core.pubsub.frame_queue import FrameQueue
from jsproto.core.state import PART, Codecs, IdentityEnum
from jsproto.core.timers import Timers
from jsproto.jetstream.backoff import Backoff
from jsproto.jetstream.heartbeat import HeartbeatMonitor
from jsproto.jetstream.ordered.source import OrderedSource
from jsproto.jetstream.pull.consume_options import ConsumeOptions
from jsproto.jetstream.pull.pending_pulls import PendingPulls
from jsproto.jetstream.pull.pull_credit import PullCredit
from jsproto.jetstream.pull.request import Pull, message_sizes
from jsproto.jetstream.status import EndReason, StatusAction, StatusContext, StatusRow, pending_of
from jsproto.wire.frames import SUBJECT, Delivery

#: How much later than its expiry a pull is taken for over without a word: a tenth, 1 s to 5 s.
_MARGINS: Final = (1.0, 5.0)


class PullTimer(IdentityEnum):
    """The deadlines beside the server's silence and the age of the pulls."""

    #: The delay behind a fruitless pull is over.
    AGAIN = "AGAIN"


class PullSource(OrderedSource):
    """Asking one incarnation after the other.

    Args:
        options: bounds, expiry and heartbeat.
        paced: the server may be silent for as long as it likes (replay original).

    Attributes:
        ledger: the open pulls.
    """

    __slots__ = ("_budget", "_expires", "_pace", "_template", "_timers", "ledger")

    STATE: ClassVar[Codecs] = {
        **OrderedSource.STATE,
        "_budget": PART,
        "_pace": PART,
        "_timers": PART,
        "ledger": PART,
    }

    place = StatusContext.PULL
    early = False

    def __init__(
        self, backlog: FrameQueue, options: ConsumeOptions, *, paced: bool = False
    ) -> None:
        self._budget = PullCredit(*options.credits())
        liveness = HeartbeatMonitor(options.heartbeat, options.heartbeat_factor)
        super().__init__(backlog, self._budget.lead, liveness, paced=paced)
        self.by_messages = self._budget.size is None
        self.ledger = PendingPulls()
        self._expires = options.expires
        self._pace = Backoff(options.retry_wait, options.retry_wait_max)
        self._template = options.template
        self._timers = Timers(PullTimer)

    # ------------------------------------------------------------------ life

    def begin(self, subject: str, now: float) -> None:
        """An incarnation is there and can be asked."""
        self.subject = subject
        self._pace.restart()
        self._budget.whole = False

    def void(self, end: EndReason) -> None:
        """Nothing that was asked will come any more, and nobody can be asked."""
        self.subject = ""
        self.ledger.end_all(end)
        self._timers.clear()
        self._balance()

    # ------------------------------------------------------------------ asking

    def ask(self, port: Port, now: float) -> None:
        """Ask for the difference, if the level is low, somebody is there, and it may be asked now."""
        if not self.subject:
            return
        request = self._budget.request()
        if request is None:
            return
        if not self._pace.opened(now):
            self._timers.set(PullTimer.AGAIN, cast("float", self._pace.not_before))
            return
        batch, size = request
        token = port.ask(self.subject, self._template.body(batch, size))
        self._budget.ask(batch, size)
        least, most = _MARGINS
        until = now + self._expires + min(max(self._expires / 10, least), most)
        self.ledger.issue(Pull(token, batch, size, now, until))
        if not self._replaying:
            self.liveness.asked(now)

    def limit(self, left: int) -> None:
        """So many messages can still come at most, whatever is asked."""
        self._budget.left = left

    # ------------------------------------------------------------------ what comes and goes

    def size(self, frames: Sequence[Delivery]) -> int:
        """The bytes of messages, where bytes are bounded."""
        return 0 if self.by_messages else message_sizes(frames)

    def received(self, frames: Sequence[Delivery]) -> None:
        """Messages came for what was asked."""
        count, size = len(frames), self.size(frames)
        self._pace.reset_delay()
        self._budget.received(count, size)
        messages, left = self.ledger.credit(count, size)
        if messages or left or not self.ledger.open:
            self._settle(messages, left)

    def taken(self, frames: Sequence[Delivery]) -> None:
        """The user took messages, or nobody will."""
        self._budget.taken(len(frames), self.size(frames))

    def knows(self, frame: Delivery) -> bool:
        """It names one of the pulls."""
        return self.ledger.find(frame[SUBJECT]) is not None

    def heartbeat(self, block: bytes, port: Port, now: float, *, holds: bool = False) -> bool:
        """A pull waits for messages."""
        self._pace.reset_delay()
        return super().heartbeat(block, port, now, holds=holds)

    def ended(self, frame: Delivery, row: StatusRow, block: bytes, now: float) -> bool:
        """A status ended one pull. False if the next message is larger than all that may be asked
        for.

        The delay that this may cost gets its deadline from `ask`: where nothing is to be asked
        nobody needs to wake up.
        """
        pull = cast("Pull", self.ledger.find(frame[SUBJECT]))
        settled = self.ledger.settle(pull, cast("EndReason", row.end), row.rest, pending_of(block))
        self._settle(settled.messages, settled.size)
        if pull.got:
            return True
        if row.verdict is StatusAction.DOES_NOT_FIT:
            if not self._budget.did_not_fit(pull.max_bytes):
                return True
            self._pace.failed(now)
            return False
        self._pace.record_empty(pull.issued, now)
        return True

    def ticked(self, now: float) -> bool:
        """Pulls that are overdue, and delays that are over: whether something is to be asked is
        seen by `ask`.

        What is overdue may be on its way, or its request is: it would be taken for what the pulls
        behind it owe.
        """
        for _ in self._timers.expired(now):
            pass
        return not self._replaying and self.ledger.overdue(now)

    def unserved(self, port: Port, now: float, *, holds: bool) -> bool:
        """The server has said that no pull waits. A server of 2.9 ends an overdue pull without a
        status.

        A message that the server may hold back can be the last one that a pull asked for, so the
        reader waits for it. If more than one message is still asked for, no pull of the server owes
        them any more. Then the reader needs a new consumer: the server says how far it has come,
        not whether the message that it holds is one that the reader wants.
        """
        if not self.ledger.overdue(now):
            return False
        if holds:
            return self.by_messages and self.lead.asked > 1
        self.ledger.end_all(EndReason.DEADLINE)
        self._balance()
        self.ask(port, now)
        return False

    @property
    def replaying(self) -> bool:
        """Under replay original, until the first heartbeat: a server that holds a message back
        answers no pull meanwhile.
        """
        return self._replaying

    @property
    def deadline(self) -> float | None:
        """When `ticked` can change something; silence has a deadline of its own."""
        overdue = None if self._replaying else self.ledger.deadline
        moments = [at for at in (self._timers.next(), overdue) if at is not None]
        return min(moments) if moments else None

    def _settle(self, messages: int, size: int) -> None:
        self._budget.settled(messages, size)
        if not self.ledger.open:
            self._balance()

    def _balance(self) -> None:
        """No pull is open: nobody owes anything, and nobody has promised heartbeats."""
        self._budget.reset()
        self.liveness.rest()
