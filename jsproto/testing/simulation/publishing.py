"""A worker that publishes through a window and looks at each result."""

from __future__ import annotations

import math
from typing import Final, cast

from jsproto.core.connection.connection import Connection
from jsproto.core.conversation.conversation import Conversation
from jsproto.jetstream.publish.window import Outcome, PublishResult, PublishWindow
from jsproto.signals import NEED_DATA
from jsproto.testing.chance import Chance
from jsproto.testing.simulation.oracle import RuleBroken
from jsproto.testing.simulation.worker import Worker, World
from jsproto.wire.headers import Headers

#: Each ending that is no acknowledgement, and what can be the reason for it; nothing: whatever has
#: to do with the link or the server.
_REASONS: Final[dict[Outcome, tuple[str, ...]]] = {
    Outcome.REFUSED: ("disk_full",),
    Outcome.NO_RESPONDERS: ("delete_stream", "power", "lame_duck", "stop"),
    Outcome.TIMED_OUT: (),
    Outcome.DISCONNECTED: (),
}


class Publishes(Worker):
    """Publishes numbered messages at a pace of its own."""

    def __init__(self, name: str, connection: Connection, world: World, chance: Chance) -> None:
        super().__init__(name, connection, world, chance)
        self.window: PublishWindow | None = None
        self.resend = chance.often(0.5)
        self.results = chance.often(0.7)
        self.max_pending = chance.choice((1, 5, 100, 1000))
        self.timeout = chance.choice((1.0, 5.0, 20.0))
        self.pause = chance.choice((0.1, 0.5, 3.0, 20.0))
        self.burst = chance.choice((1, 1, 1, 5))
        self.size = chance.choice((0, 20, 300))
        self.at = chance.between(0.0, 3.0)
        self.next_at = self.at
        self.ended: set[int] = set()
        #: Messages of the present burst that did not fit yet.
        self.waiting = 0
        self.quiet_from = 0

    def turn(self, now: float) -> None:
        """Take results, and publish if it is time."""
        self.woken = False
        window = self.window
        if window is None:
            window = self.window = PublishWindow(
                max_pending=self.max_pending,
                ack_timeout=self.timeout,
                resend=self.resend,
                results=self.results,
                retries=self.chance.choice((0, 2)),
            )
            self.open(cast("Conversation[object]", window), now)
            self.woken = False
        while (results := self.connection.take_all(window, now)) is not NEED_DATA:
            for each in cast("list[PublishResult]", results):
                self._told(each)
        if self.world.hushed:
            self.waiting = 0
            self.next_at = max(self.next_at, now + 1.0)
        elif self.waiting or now >= self.next_at:
            self._publish(window, now)
        # Who waits for room is woken.
        self.at = math.inf if self.waiting else self.next_at

    def _publish(self, window: PublishWindow, now: float) -> None:
        if not self.waiting:
            self.waiting = self.burst
            self.next_at = now + self.pause * (0.5 + self.chance.fraction())
        while self.waiting:
            number = window.taken + 1
            headers = Headers({"Nats-Msg-Id": f"{self.name}-{number}"}) if self.resend else None
            if not self.connection.put(
                window, (f"s.{self.name}", self._payload(number), headers), now
            ):
                break
            self.waiting -= 1
            self.operations += 1
        if not self.world.quiet:
            self.quiet_from = window.taken

    def _payload(self, number: int) -> bytes:
        return f"{self.name}-{number}".encode().ljust(self.size, b".")

    def _told(self, result: PublishResult) -> None:
        number, outcome = result.number, result.outcome
        window = cast("PublishWindow", self.window)
        if number in self.ended or not 0 < number <= window.taken:
            raise RuleBroken(
                "outcome", f"{self.name}: message {number} of {window.taken} ended again: {result}"
            )
        self.ended.add(number)
        if outcome is Outcome.ACKED:
            self._acked(result)
            return
        reasons = _REASONS.get(outcome)
        wrong = (
            reasons is None
            or (number > self.quiet_from and self.world.quiet)
            or (reasons and not self.world.troubled(*reasons))
        )
        if wrong:
            raise RuleBroken("outcome", f"{self.name}: {result}: {result.error!r}")

    def _acked(self, result: PublishResult) -> None:
        """The stream has it where it says, unless it has gone since."""
        ack, stream = result.ack, self.world.truth.stream
        if stream is None or self.world.troubled("power", "delete_stream"):
            return
        message = stream.message(ack.seq)
        if ack.seq > stream.last or (
            message is not None and message.payload != self._payload(result.number)
        ):
            raise RuleBroken(
                "outcome", f"{self.name}: {result} says {ack}, the stream has {message}"
            )

    def judge(self) -> None:
        """Nothing is under way but what was just published, and each message ended once."""
        window = self.window
        if window is None:
            return
        ended = sum(window.counts.values())
        if window.pending != window.taken - ended:
            raise RuleBroken(
                "counters",
                f"{self.name}: {window.pending} pending of {window.taken}, {ended} have ended",
            )
        if window.pending:
            raise RuleBroken(
                "progress",
                f"{self.name}: {window.pending} pending in a calm: {window.snapshot()}"[:3000],
            )
        if self.results and len(self.ended) != ended:
            raise RuleBroken(
                "outcome", f"{self.name}: {ended} have ended, {len(self.ended)} were told"
            )
        for each in self.left():
            self.weigh(each)

    def left(self) -> tuple[Conversation[object], ...]:
        """The window."""
        return () if self.window is None else (cast("Conversation[object]", self.window),)
