"""Pull consumers: messages go to the pulls that wait, one each in turn.

What is special here is the queue of pulls: who is refused a place in it (limits of the consumer, a
full queue, priority groups), what is answered at once, and what becomes of pulls when the loop
comes to rest.
"""

from __future__ import annotations

from jsproto.testing.simserver.consumers.acks import AckAddress
from jsproto.testing.simserver.consumers.consumers import Handing, SimConsumer
from jsproto.testing.simserver.consumers.outlet import Surroundings
from jsproto.testing.simserver.consumers.priorities import Priorities
from jsproto.testing.simserver.consumers.pulls import BadPullError, Waiting, WaitingPull, parse_pull
from jsproto.testing.simserver.streams.streams import SimStream
from jsproto.testing.simserver.values.documents import Table, integer
from jsproto.testing.simserver.values.gotime import earlier, go_duration


class PullConsumer(SimConsumer):
    """A consumer that clients pull from."""

    __slots__ = ("_idle_at", "_priorities", "_pull", "_threshold", "waiting")

    def __init__(
        self, name: str, config: Table, stream: SimStream, around: Surroundings, now: int
    ) -> None:
        super().__init__(name, config, stream, around, now)
        self.waiting = Waiting(0, around.profile, around.outlet.interested, now)
        self._priorities = Priorities(around.profile, around.outlet.name, self._advisories)
        #: The pull that takes the message at hand.
        self._pull: WaitingPull | None = None
        self._threshold = 0
        #: When to look whether anybody still uses it.
        self._idle_at = now
        self._take_over(config, now)
        self._idle_at = now + self._threshold

    def _take_over(self, config: Table, now: int) -> None:
        super()._take_over(config, now)
        self.waiting.resize(integer(config, "max_waiting"))
        self._priorities.configure(config)
        self.waiting.prioritized = self._priorities.sorted
        threshold = integer(config, "inactive_threshold")
        self._idle_at += threshold - self._threshold
        self._threshold = threshold

    def info(self, now: int) -> Table:
        """The members of a consumer info behind ``type``. Looks over the waiting pulls, as the
        server does.
        """
        self._sweep(now, at_end=False)
        info = super().info(now)
        info["num_waiting"] = len(self.waiting)
        groups = self._priorities.state()
        if groups:
            info["priority_groups"] = groups
        return info

    # ------------------------------------------------------------------------------------------------ pulling

    def pulled(self, body: bytes, reply: str, now: int) -> None:
        """A pull request came. Without a reply subject, as an acknowledgement may have none, it
        waits until somebody looks.
        """
        try:
            pull = parse_pull(body, reply, now, self._profile)
        except BadPullError as bad:
            self._status(reply, f"400 Bad Request - {bad}")
            return
        refused = self._beyond_limits(pull, now)
        if refused:
            self._status(reply, refused)
            return
        told, admitted = self._priorities.admit(pull, now)
        for line in told:
            self._status(reply, line)
        if not admitted:
            return
        if self.waiting.full and (self._profile.sweeps_at_once or self.waiting.stale(now)):
            self._sweep(now, at_end=False)
        if pull.no_wait and not self._worth_waiting(pull, now):
            return
        if self.waiting.full:
            if not (pull.heartbeat and self._profile.silent_full_with_heartbeat):
                self._status(reply, "409 Exceeded MaxWaiting")
            return
        self.waiting.add(pull, now)
        self.turned(now)

    def _beyond_limits(self, pull: WaitingPull, now: int) -> str:
        batch, expires, size = (
            integer(self.config, name) for name in ("max_batch", "max_expires", "max_bytes")
        )
        if 0 < batch < pull.batch:
            return f"409 Exceeded MaxRequestBatch of {batch}"
        if 0 < expires < pull.expires_at - now:
            return f"409 Exceeded MaxRequestExpires of {go_duration(expires)}"
        if 0 < size < pull.max_bytes:
            return f"409 Exceeded MaxRequestMaxBytes of {size}"
        return ""

    def _worth_waiting(self, pull: WaitingPull, now: int) -> bool:
        """What becomes of a no_wait pull: answered here and now, or worth a place in the queue."""
        pending = self.ahead
        if pending == 0 and not pull.expires_at:
            self.waiting.last = now
            self._status(pull.reply, "404 No Messages")
            return False
        if pending > 0:
            self._sweep(now, at_end=False)
            if pending < self.waiting.asked:
                self._status(pull.reply, "408 Requests Pending")
                return False
        return True

    def _status(self, reply: str, line: str) -> None:
        self._outlet.say(reply, f"NATS/1.0 {line}\r\n\r\n".encode())

    def _say(self, reply: str, block: bytes) -> None:
        self._outlet.say(reply, block)

    def _beat(self, reply: str) -> None:
        block = (
            b"NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: %d\r\nNats-Last-Stream: %d\r\n\r\n"
        )
        self._outlet.say(reply, block % (self._consumer_seq - 1, self._cursor.next_seq - 1))

    def _sweep(self, now: int, *, at_end: bool) -> None:
        self.waiting.sweep(now, self._say, self._beat, at_end=at_end)

    # ------------------------------------------------------------------------------------------------ the loop

    def _ready(self) -> bool:
        return bool(self.waiting.pulls)

    def _inbox_for(self, size: int, now: int) -> str | None:
        priorities = self._priorities
        judge = (
            priorities.judge(self._cursor.pending + 1, len(self._ledger.outstanding), now)
            if priorities.policy
            else None
        )
        pull = self._pull = self.waiting.serve(size, now, self._say, judge)
        return None if pull is None else pull.reply

    def _dressed(self, block: bytes | None) -> bytes | None:
        priorities = self._priorities
        return priorities.dressed(block) if priorities.policy and priorities.pins else block

    def _handed(self, handing: Handing, now: int) -> None:
        self.waiting.last = now
        pull = self._pull
        if (
            pull is not None
            and pull.batch <= 0
            and pull.max_bytes > 0
            and self._profile.batch_completed
        ):
            self._say(pull.reply, b"NATS/1.0 409 Batch Completed\r\n" + pull.pending + b"\r\n")

    def _rested(self, now: int) -> None:
        waiting = self.waiting
        if waiting.pulls and waiting.looked_at != now:
            self._sweep(now, at_end=not self._stalled)

    # ------------------------------------------------------------------------------------------------ priority groups

    def unpin(self, group: str, now: int) -> None:
        """On request, the client that is pinned is so no more."""
        self._priorities.unpin(group, "admin", now)
        self.turned(now)

    @property
    def groups(self) -> list[str]:
        """The priority groups that pulls may name."""
        return self._priorities.groups

    @property
    def pins(self) -> bool:
        """The policy is pinned_client."""
        return self._priorities.pins

    # ------------------------------------------------------------------------------------------------ ends and faults

    def ended(self) -> None:
        """The consumer is deleted: every waiting pull is told."""
        for pull in self.waiting.take_all():
            self._status(pull.reply, "409 Consumer Deleted")

    def stopped(self) -> bool:
        """The server stops gracefully: one status for each inbox, with the numbers of its newest
        pull. Any at all?
        """
        for reply, pull in self.waiting.newest_by_reply().items():
            self._say(reply, b"NATS/1.0 409 Server Shutdown\r\n" + pull.pending + b"\r\n")
        return bool(self.waiting.take_all())

    def led_elsewhere(self) -> None:
        """The leader moved: one status for each inbox, without headers; no pull survives."""
        for reply in self.waiting.newest_by_reply():
            self._status(reply, "409 Leadership Change")
        self.waiting.take_all()

    def forsaken(self) -> None:
        """No pull survives."""
        self.waiting.take_all()
        self._priorities.forget()

    def restarted(self, now: int) -> None:
        """The server comes back from its files: no pull survives, what was delivered is still owed."""
        super().restarted(now)
        self.waiting.last = now
        self._idle_at = now + self._threshold

    # ------------------------------------------------------------------------------------------------ time

    def acked(self, address: AckAddress, payload: bytes, reply: str, now: int) -> None:
        """An acknowledgement came; it is a sign of life."""
        self.waiting.last = now
        self._idle_at = now + self._threshold
        super().acked(address, payload, reply, now)

    def _own_deadline(self) -> int | None:
        idle = self._idle_at if self._threshold else None
        # While a replay holds a message back, the server does nothing else for this consumer.
        swept = self.waiting.deadline() if self._held is None else None
        return earlier(earlier(swept, idle), self._priorities.deadline())

    def _own_ticked(self, now: int) -> bool:
        if self._priorities.ticked(now):
            self.turned(now)
        due = self.waiting.deadline() if self._held is None else None
        if due is not None and due <= now:
            self._sweep(now, at_end=False)
        return bool(self._threshold) and self._idle_at <= now and self._unused(now)

    def _unused(self, now: int) -> bool:
        """Whether nobody has pulled for too long, nor waits, nor works on something
        (``deleteNotActive``).
        """
        if now - self.waiting.last < self._threshold:
            self._idle_at = self.waiting.last + self._threshold
            return False
        if self.waiting:
            self._sweep(now, at_end=True)
        if self.waiting:
            self._idle_at = now + self._threshold
            return False
        if not self._profile.waits_for_acks:
            return True
        for seq, outstanding in self._ledger.outstanding.items():
            due = outstanding.time + self._patience(seq)
            self._idle_at = max(self._idle_at, due + self._threshold)
        return self._idle_at <= now
