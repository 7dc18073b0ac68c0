"""Push consumers: messages go to a subject as long as somebody listens there.

Interest is what counts as listening: a subscription of exactly the deliver subject, in the deliver
group if there is one. Two things keep a push consumer from running away (ADR-15): heartbeats tell
of silence, and flow control asks, when half a window of bytes is on its way, for an answer; without
it nothing more is sent than the window, and the heartbeats say on which subject an answer is owed.
The window doubles with each answer (nats-server ``needFlowControl``, ``processFlowControl``). With
the ack policy ``flow_control`` the answers are the acknowledgements, too.
"""

from __future__ import annotations

from typing import Final

from jsproto.testing.simserver.consumers.acks import ACCOUNT_HASH, AckAddress
from jsproto.testing.simserver.consumers.consumers import Handing, SimConsumer
from jsproto.testing.simserver.consumers.outlet import Surroundings
from jsproto.testing.simserver.streams.streams import SimStream
from jsproto.testing.simserver.values.documents import Table, integer, text
from jsproto.testing.simserver.values.headers import number

FLOW_PREFIX: Final = "$JS.FC."
_WINDOW: Final = 2 * 1024 * 1024
_LARGEST_WINDOW: Final = 32 * 1024 * 1024


class PushConsumer(SimConsumer):
    """A consumer that sends to a subject."""

    __slots__ = (
        "_beat_at",
        "_flow",
        "_flow_pending",
        "_flow_subject",
        "_group",
        "_heartbeat",
        "_idle_since",
        "_inbox",
        "_pending_bytes",
        "_threshold",
        "_window",
        "active",
    )

    def __init__(
        self, name: str, config: Table, stream: SimStream, around: Surroundings, now: int
    ) -> None:
        super().__init__(name, config, stream, around, now)
        self._inbox = self._group = ""
        self._heartbeat = self._threshold = 0
        self._flow = False
        #: Subject on which an answer is owed, ``""`` if none is, and the bytes that it will account
        #: for.
        self._flow_subject = ""
        self._flow_pending = 0
        self._pending_bytes = 0
        self._window = _WINDOW
        self._take_over(config, now)
        self._beat_at = now + self._heartbeat
        self._idle_since = now
        #: Somebody listens.
        self.active = around.outlet.bound(self._inbox, self._group)

    def _take_over(self, config: Table, now: int) -> None:
        super()._take_over(config, now)
        inbox = text(config, "deliver_subject")
        if inbox != self._inbox:
            # Another group alone is not noticed.
            self._inbox, self._group = inbox, text(config, "deliver_group")
        self._heartbeat = integer(config, "idle_heartbeat")
        self._threshold = integer(config, "inactive_threshold")
        self._flow = bool(config.get("flow_control"))

    def info(self, now: int) -> Table:
        """The members of a consumer info behind ``type``."""
        info = super().info(now)
        if self.active:
            info["push_bound"] = True
        return info

    # ------------------------------------------------------------------------------------------------ interest

    def configure(self, config: Table, now: int) -> bool:
        """Take over an updated configuration; the deliver subject may be another."""
        turns = super().configure(config, now)
        self.interest_changed(now)
        return turns

    def interest_changed(self, now: int) -> None:
        """Somebody came to listen, or went."""
        bound = self._outlet.bound(self._inbox, self._group)
        if bound == self.active:
            return
        self.active = bound
        if not bound:
            self._idle_since = now
            return
        if self._heartbeat and self._beat_at <= now:
            # The timer went on while nobody listened.
            self._beat_at += ((now - self._beat_at) // self._heartbeat + 1) * self._heartbeat
        self.turned(now)

    # ------------------------------------------------------------------------------------------------ the loop

    def _ready(self) -> bool:
        return self.active and not (self._flow and self._pending_bytes > self._window)

    def _inbox_for(self, size: int, now: int) -> str:
        del size, now
        return self._inbox

    def _handed(self, handing: Handing, now: int) -> None:
        self._beat_at = now + self._heartbeat
        if not self._flow:
            return
        inbox, message, _, _, _, whole = handing
        size = whole - message.subject_size + len(inbox)
        self._pending_bytes += size
        if not self._flow_subject:
            acknowledging = self._ack_policy == "flow_control" and self._full
            if self._pending_bytes > self._window // 2 or acknowledging:
                self._ask()
        elif self._pending_bytes - self._flow_pending >= self._window:
            self._flow_pending += size

    def _rested(self, now: int) -> None:
        del now

    # ------------------------------------------------------------------------------------------------ flow control

    def _ask(self) -> None:
        v2, domain = self._address
        front = f"{FLOW_PREFIX}{domain or '_'}.{ACCOUNT_HASH}." if v2 else FLOW_PREFIX
        self._flow_subject = f"{front}{self.stream.name}.{self.name}.{self._outlet.name(4)}"
        self._flow_pending = self._pending_bytes
        self._outlet.ask(
            self._inbox, b"NATS/1.0 100 FlowControl Request\r\n\r\n", self._flow_subject
        )

    def answered(self, subject: str, block: bytes | None, now: int) -> None:
        """An answer to flow control came; only the one that is owed counts."""
        if subject != self._flow_subject:
            return
        self._window = min(2 * self._window, _LARGEST_WINDOW)
        self._pending_bytes = max(0, self._pending_bytes - self._flow_pending)
        self._flow_subject, self._flow_pending = "", 0
        if self._ack_policy == "flow_control" and block:
            seq = number(block, b"Nats-Last-Stream")
            if seq:
                consumer_seq = number(block, b"Nats-Last-Consumer") or 0
                self._done(AckAddress(self.stream.name, self.name, 1, seq, consumer_seq), now)
        self.turned(now)

    def _beat(self, now: int) -> None:
        if self.active:
            stalled = (
                f"Nats-Consumer-Stalled: {self._flow_subject}\r\n".encode()
                if self._flow_subject
                else b""
            )
            block = b"NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: %d\r\nNats-Last-Stream: %d\r\n%b\r\n"
            self._outlet.say(
                self._inbox, block % (self._consumer_seq - 1, self._cursor.next_seq - 1, stalled)
            )
            if (
                self._ack_policy == "flow_control"
                and self._ledger.outstanding
                and not self._flow_subject
            ):
                self._ask()
        self._beat_at = now + self._heartbeat
        self.turned(now)

    def pulled(self, body: bytes, reply: str, now: int) -> None:
        """Somebody takes it for a pull consumer."""
        del body, now
        if reply:
            self._outlet.say(reply, b"NATS/1.0 409 Consumer is push based\r\n\r\n")

    # ------------------------------------------------------------------------------------------------ ends and faults

    def ended(self) -> None:
        """The consumer is deleted: nobody is told."""

    def stopped(self) -> bool:
        """The server stops gracefully: nobody is told."""
        return False

    def led_elsewhere(self) -> None:
        """The leader moved: nobody is told, and flow control begins anew."""
        self._flow_subject, self._flow_pending, self._pending_bytes = "", 0, 0
        self._window = _WINDOW

    def forsaken(self) -> None:
        """Nobody listens any more."""
        self.active = False

    def restarted(self, now: int) -> None:
        """The server comes back from its files: nobody is bound yet."""
        super().restarted(now)
        self.led_elsewhere()
        self._beat_at = now + self._heartbeat
        self._idle_since = now

    # ------------------------------------------------------------------------------------------------ time

    def _own_deadline(self) -> int | None:
        gone = self._idle_since + self._threshold if self._threshold and not self.active else None
        # While a replay holds a message back, the server does nothing else for this consumer.
        beat = self._beat_at if self._heartbeat and self.active and self._held is None else None
        return gone if beat is None else beat

    def _own_ticked(self, now: int) -> bool:
        if self._heartbeat and self._beat_at <= now and self._held is None:
            self._beat(now)
        return (
            bool(self._threshold) and not self.active and self._idle_since + self._threshold <= now
        )
