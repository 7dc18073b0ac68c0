"""The engine under everything that pulls again and again: how much to ask for, when, and what each
pull still owes.

A `Consume` and the pull form of an ordered consumer hold one `PullEngine` each. The engine does the
arithmetic with four parts:

    credit     `PullCredit`        how many messages and bytes may be asked for now
    ledger     `PendingPulls`      which pulls are open, and what the server still owes for each
    backoff    `Backoff`           the delay before the next pull after one that brought nothing
    liveness   `HeartbeatMonitor`  the heartbeats that the server has promised

The parts belong together, because each event changes several of them. A pull that goes out lowers
the credit, opens an entry in the ledger and starts the heartbeat monitor. When the last open pull
ends, the credit is reset and the monitor stops: the server owes nothing and has promised nothing.

The engine does not decide what an event means. Its owner reads the statuses, chooses the moment to
ask, sends notices to the user, and ends.

A pull whose expiry has passed without any status is overdue after a margin of a tenth of the
expiry, but at least 1 s and at most 5 s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, cast

from jsproto.core.conversation.conversation import Port
from jsproto.core.state import PART, PLAIN, Codecs, Snapshottable
from jsproto.jetstream.backoff import Backoff
from jsproto.jetstream.heartbeat import HeartbeatMonitor
from jsproto.jetstream.pull.consume_options import ConsumeOptions
from jsproto.jetstream.pull.pending_pulls import PendingPulls
from jsproto.jetstream.pull.pull_credit import PullCredit
from jsproto.jetstream.pull.request import Pull, message_sizes, pinned_sizes
from jsproto.jetstream.status import EndReason, Limit, StatusRow, pending_of
from jsproto.wire.frames import Delivery

#: The least and the most seconds from a pull's expiry to the moment when it is overdue.
_MARGINS: Final = (1.0, 5.0)


class PullEngine(Snapshottable):
    """Credit, open pulls, retry delay and heartbeats of one conversation that pulls.

    Args:
        options: bounds, expiry, heartbeat and retry delays.

    Attributes:
        by_messages: only messages are bounded, so the size of a message does not matter.
        retry_at: when the owner must ask again because a retry delay is over; ``None`` for never.
    """

    __slots__ = (
        "_expires",
        "_options",
        "_sizes",
        "_template",
        "backoff",
        "by_messages",
        "credit",
        "ledger",
        "liveness",
        "retry_at",
    )

    #: The heartbeat monitor is not in it: it is in the table of the owner, who shares it.
    STATE: ClassVar[Codecs] = {
        "_expires": PLAIN,
        "backoff": PART,
        "credit": PART,
        "ledger": PART,
        "retry_at": PLAIN,
    }

    def __init__(self, options: ConsumeOptions) -> None:
        self._options = options
        self._expires = options.expires
        self._template = options.template
        self._sizes = pinned_sizes if options.may_pin else message_sizes
        self.credit = PullCredit(*options.credits())
        self.by_messages = self.credit.size is None
        self.ledger = PendingPulls()
        self.backoff = Backoff(options.retry_wait, options.retry_wait_max)
        self.liveness = HeartbeatMonitor(options.heartbeat, options.heartbeat_factor)
        self.retry_at: float | None = None

    # ------------------------------------------------------------------ asking

    def restart(self) -> None:
        """There is a new link or a new consumer: ask at once, and for any part of the bounds."""
        self.backoff.restart()
        self.credit.whole = False

    def may_ask(self, now: float) -> bool:
        """Whether no retry delay runs. If one does, its end becomes `retry_at`."""
        if self.backoff.opened(now):
            return True
        self.retry_at = self.backoff.not_before
        return False

    def ask(
        self,
        port: Port,
        subject: str,
        request: tuple[int, int],
        now: float,
        *,
        verb: bytes = b"",
        pin: str = "",
    ) -> None:
        """Send a pull.

        Args:
            port: where it is sent.
            subject: the consumer's NEXT subject, or the reply subject of a message whose ack is a
                pull too.
            request: messages and bytes, as `PullCredit.request` gives them.
            now: the current time.
            verb: the ack in front of the request.
            pin: the pin id to send, ``""`` for none.
        """
        batch, size = request
        token = port.ask(subject, verb + self._template.body(batch, size, pin))
        self.credit.ask(batch, size)
        least, most = _MARGINS
        until = now + self._expires + min(max(self._expires / 10, least), most)
        self.ledger.issue(Pull(token, batch, size, now, until))

    def narrow(self, bound: Limit | None, limit: float) -> None:
        """The server has named a limit. The next requests stay within it, because the server would
        refuse the same request again.
        """
        credit = self.credit
        if bound is Limit.BATCH and credit.messages is not None:
            credit.messages.narrow(int(limit))
        elif bound is Limit.MAX_BYTES and credit.size is not None:
            credit.size.narrow(int(limit))
        elif bound is Limit.EXPIRES and 0 < limit < self._expires:
            self._expires = limit
            self._template = self._options.request(limit)
            self.liveness.promised(self._template.idle_heartbeat)

    # ------------------------------------------------------------------ messages

    def size(self, frames: Sequence[Delivery]) -> int:
        """The bytes of messages as the server counts them; 0 where bytes are not bounded."""
        return 0 if self.by_messages else self._sizes(frames)

    def received(self, count: int, size: int) -> bool:
        """Messages came for the open pulls. Whether pulls ended by it, or none was open."""
        self.backoff.reset_delay()
        self.credit.received(count, size)
        messages, left = self.ledger.credit(count, size)
        if not (messages or left) and self.ledger.open:
            return False
        # A pull that is full in one bound leaves over what its other bound had room for.
        self._release(messages, left)
        return True

    # ------------------------------------------------------------------ ends

    def pull_ended(self, pull: Pull, row: StatusRow, block: bytes) -> None:
        """A status has ended a pull."""
        released = self.ledger.settle(pull, cast("EndReason", row.end), row.rest, pending_of(block))
        self._release(released.messages, released.size)

    def end_all(self, end: EndReason) -> None:
        """All open pulls have ended, and nothing of them will count."""
        self.ledger.end_all(end)
        self._idle()

    def stop(self, end: EndReason) -> None:
        """All open pulls have ended, and no retry is due."""
        self.end_all(end)
        self.retry_at = None

    def ticked(self, now: float) -> bool:
        """Time has passed. Whether the oldest open pull is overdue; whether anything is to be asked
        is for the owner to see.
        """
        if self.retry_at is not None and self.retry_at <= now:
            self.retry_at = None
        return self.ledger.overdue(now)

    @property
    def deadline(self) -> float | None:
        """When `ticked` must be called; the heartbeat monitor has a deadline of its own."""
        moments = [at for at in (self.retry_at, self.ledger.deadline) if at is not None]
        return min(moments, default=None)

    def _release(self, messages: int, size: int) -> None:
        """The server will never send these messages and bytes, which a pull asked for."""
        self.credit.settled(messages, size)
        if not self.ledger.open:
            self._idle()

    def _idle(self) -> None:
        """No pull is open: the server owes nothing and has promised no heartbeats."""
        self.credit.reset()
        self.liveness.rest()

    # ------------------------------------------------------------------ state

    def restore(self, data: Mapping[str, object]) -> None:
        """Put back what `snapshot` gave, into an engine with the same options."""
        super().restore(data)
        if self._expires != self._options.expires:
            self._template = self._options.request(self._expires)
