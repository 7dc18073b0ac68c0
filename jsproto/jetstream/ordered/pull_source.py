"""The pulls of an ordered consumer: it asks the present incarnation for messages.

`PullEngine` does the arithmetic, as for every machine that pulls. After `begin` the source can
send pulls to a consumer on the server. After `void` the source ignores what that consumer still
owes. Messages count until the user takes them, whichever consumer delivered them. So buffered and
requested messages together never exceed the bound, and after a reset the reader requests only what
it has room for.

What a status means for the order is for the `OrderedConsumer` to decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from jsproto.core.conversation.conversation import Port
from jsproto.core.pubsub.frame_queue import FrameQueue
from jsproto.core.state import PART, Codecs
from jsproto.jetstream.ordered.source import OrderedSource
from jsproto.jetstream.pull.consume_options import ConsumeOptions
from jsproto.jetstream.pull.engine import PullEngine
from jsproto.jetstream.pull.request import Pull
from jsproto.jetstream.status import EndReason, StatusAction, StatusContext, StatusRow
from jsproto.wire.frames import SUBJECT, Delivery


class PullSource(OrderedSource):
    """Asks one incarnation after the other for messages.

    Args:
        options: bounds, expiry and heartbeat.
        paced: the consumer replays at the original speed, so the server may be silent for long.

    Attributes:
        engine: the open pulls, and how much may be asked for.
    """

    __slots__ = ("engine",)

    STATE: ClassVar[Codecs] = {**OrderedSource.STATE, "engine": PART}

    place = StatusContext.PULL
    early = False

    def __init__(
        self, backlog: FrameQueue, options: ConsumeOptions, *, paced: bool = False
    ) -> None:
        self.engine = PullEngine(options)
        super().__init__(backlog, self.engine.credit.lead, self.engine.liveness, paced=paced)
        self.by_messages = self.engine.by_messages

    # ------------------------------------------------------------------ life

    def begin(self, subject: str, now: float) -> None:
        """The server has made an incarnation: pulls can go to this subject."""
        self.subject = subject
        self.engine.restart()

    def void(self, end: EndReason) -> None:
        """The incarnation is lost: nothing that was asked for counts, and there is no one to ask."""
        self.subject = ""
        self.engine.stop(end)

    # ------------------------------------------------------------------ asking

    def ask(self, port: Port, now: float) -> None:
        """Ask for the difference if the level is low, there is an incarnation and no delay runs."""
        if not self.subject:
            return
        request = self.engine.credit.request()
        if request is not None and self.engine.may_ask(now):
            self.engine.ask(port, self.subject, request, now)
            if not self._replaying:
                self.liveness.asked(now)

    def limit(self, left: int) -> None:
        """The stream holds at most so many more messages: ask for no more than that."""
        self.engine.credit.left = left

    # ------------------------------------------------------------------ what comes and goes

    def received(self, frames: Sequence[Delivery]) -> None:
        """Messages came for what was asked."""
        self.engine.received(len(frames), self.engine.size(frames))

    def taken(self, frames: Sequence[Delivery]) -> None:
        """Messages were taken by the user or discarded."""
        self.engine.credit.taken(len(frames), self.engine.size(frames))

    def knows(self, frame: Delivery) -> bool:
        """Whether the frame's subject is the token of one of the pulls."""
        return self.engine.ledger.find(frame[SUBJECT]) is not None

    def heartbeat(self, block: bytes, port: Port, now: float, *, holds: bool = False) -> bool:
        """A pull waits for messages."""
        self.engine.backoff.reset_delay()
        return super().heartbeat(block, port, now, holds=holds)

    def ended(self, frame: Delivery, row: StatusRow, block: bytes, now: float) -> bool:
        """A status ended one pull. False if the next message is larger than all that may be asked
        for.

        `ask` sets the deadline for a delay that follows. If there is nothing to ask for, no wake-up
        is needed.
        """
        engine = self.engine
        pull = cast("Pull", engine.ledger.find(frame[SUBJECT]))
        engine.pull_ended(pull, row, block)
        if pull.got:
            return True
        if row.verdict is StatusAction.DOES_NOT_FIT:
            if not engine.credit.did_not_fit(pull.max_bytes):
                return True
            engine.backoff.failed(now)
            return False
        engine.backoff.record_empty(pull.issued, now)
        return True

    def ticked(self, now: float) -> bool:
        """Whether a pull is overdue. A delay that is over is forgotten; `ask` then asks again.

        The overdue pull, or its messages, may still be on the way. The messages would count for the
        pulls after it, so the owner gives up the incarnation.
        """
        return self.engine.ticked(now) and not self._replaying

    def unserved(self, port: Port, now: float, *, holds: bool) -> bool:
        """The server has said that no pull waits. A server of 2.9 ends an overdue pull without a
        status.

        A message that the server may hold back can be the last one that a pull asked for, so the
        reader waits for it. If more than one message is still asked for, no pull of the server owes
        them any more. Then the reader needs a new consumer: the server says how far it has come,
        not whether the message that it holds is one that the reader wants.
        """
        if not self.engine.ledger.overdue(now):
            return False
        if holds:
            return self.by_messages and self.lead.asked > 1
        self.engine.end_all(EndReason.DEADLINE)
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
        """When `ticked` must be called; the heartbeat monitor has a deadline of its own."""
        return self.engine.retry_at if self._replaying else self.engine.deadline
