"""Pull consumers: who gets which message, and what happens until it is acknowledged.

A consumer runs one loop whenever something may have changed (nats-server ``consumer.go``, ``loopAndGatherMsgs``): while
pulls wait, take the next message (redeliveries first, then the stream, unless max_ack_pending stalls it), give it to the
next pull, and when nothing more can be done, look over the waiting pulls. It is made of four parts: the
:class:`~jsproto.testing.simserver.cursor.Cursor` in the stream, the pulls that wait, the ledger of what is handed out, and
the advisories. All timers of the server are here as moments: acknowledgements overdue, pulls expiring, heartbeats,
inactivity, the end of a pause.

Push consumers will be a sister of this class: what is shared is everything but pulling.
"""

from __future__ import annotations

from typing import Final, Protocol

from jsproto.testing.simserver.acks import AckAddress, AckWord, ack_subject, ack_word, nak_delay
from jsproto.testing.simserver.advisories import Advisories
from jsproto.testing.simserver.cursor import Cursor
from jsproto.testing.simserver.documents import Table, integer, text
from jsproto.testing.simserver.gotime import MILLISECOND, go_duration, parse_rfc3339, rfc3339
from jsproto.testing.simserver.ledger import Ledger
from jsproto.testing.simserver.profile import Profile
from jsproto.testing.simserver.pulls import BadPullError, Pull, Waiting, parse_pull
from jsproto.testing.simserver.streams import Stored, Stream, header

#: The server lets so much pass beyond ack_wait before it looks (nats-server ``ackWaitDelay``).
_GRACE: Final = MILLISECOND
#: After a delayed nak the server looks again this soon, however late the redelivery is due.
_LOOK_SOON: Final = 10 * MILLISECOND


class Outlet(Protocol):
    """The way out of a consumer."""

    def deliver(self, inbox: str, subject: str, reply: str, block: bytes | None, payload: bytes) -> None:
        """Send a message with its own subject to whoever listens on ``inbox``."""

    def say(self, inbox: str, block: bytes | None, payload: bytes = b"") -> None:
        """Send something of the server's own to ``inbox``."""

    def interested(self, inbox: str) -> bool:
        """Whether anybody listens on ``inbox``."""
        ...

    def advise(self, subject: str, kind: str, members: Table, now: int) -> None:
        """Publish an advisory or a metric."""


class Consumer:
    """One pull consumer of a stream."""

    __slots__ = (
        "_ack_policy",
        "_ack_time",
        "_address",
        "_advisories",
        "_check_at",
        "_consumer_seq",
        "_cursor",
        "_delivered_seq",
        "_delivered_time",
        "_ledger",
        "_outlet",
        "_paused_until",
        "_profile",
        "_stalled",
        "_stream",
        "config",
        "created",
        "name",
        "waiting",
    )

    def __init__(
        self,
        name: str,
        config: Table,
        stream: Stream,
        outlet: Outlet,
        now: int,
        *,
        profile: Profile,
        v2: bool = False,
        domain: str = "",
    ) -> None:
        self.name = name
        self.created = now
        self.config: Table = {}
        self._stream = stream
        self._outlet = outlet
        self._profile = profile
        #: Form and domain of its acknowledgement subjects.
        self._address = (v2, domain)
        self.waiting = Waiting(0, profile, outlet.interested, now)
        self._cursor = Cursor(stream, config)
        self._ledger = Ledger(self._cursor.next_seq - 1)
        self._advisories = Advisories(stream.name, name, outlet.advise)
        self._ack_policy = ""
        self._consumer_seq = 1
        self._delivered_seq = self._cursor.next_seq - 1
        self._delivered_time = 0
        self._ack_time = 0
        self._check_at: int | None = None
        self._stalled = False
        self._paused_until = 0
        self._take_over(config)

    # ------------------------------------------------------------------------------------------------ what it is

    def configure(self, config: Table, now: int) -> None:
        """Take over an updated configuration; a new filter changes what is pending."""
        self._take_over(config)
        self._cursor.choose(config)
        self._cursor.count()
        self.turned(now)

    def _take_over(self, config: Table) -> None:
        self.config = config
        self._ack_policy = text(config, "ack_policy")
        self._paused_until = parse_rfc3339(text(config, "pause_until")) or 0
        self.waiting.resize(integer(config, "max_waiting"))

    @property
    def in_memory(self) -> bool:
        """A restart of the server loses it."""
        return self._stream.in_memory or bool(self.config.get("mem_storage"))

    @property
    def filters(self) -> list[str]:
        """The subjects that it wants; empty: all."""
        return self._cursor.filters

    def info(self, now: int) -> Table:
        """The members of a consumer info behind ``type``. Looks over the waiting pulls, as the server does."""
        self._sweep(now, at_end=False)
        ledger = self._ledger
        delivered: Table = {"consumer_seq": self._consumer_seq - 1, "stream_seq": self._delivered_seq}
        floor: Table = {"consumer_seq": ledger.consumer_floor, "stream_seq": ledger.stream_floor}
        if self._delivered_time:
            delivered["last_active"] = rfc3339(self._delivered_time)
        if self._ack_time:
            floor["last_active"] = rfc3339(self._ack_time)
        info: Table = {
            "stream_name": self._stream.name,
            "name": self.name,
            "created": rfc3339(self.created),
            "config": self.config,
            "delivered": delivered,
            "ack_floor": floor,
            "num_ack_pending": len(ledger.outstanding),
            "num_redelivered": len(ledger.again),
            "num_waiting": len(self.waiting),
            "num_pending": self._cursor.pending,
        }
        if self._profile.timestamps:
            info["ts"] = rfc3339(now)
        if self._paused_until > now:
            info["paused"] = True
            info["pause_remaining"] = self._paused_until - now
        return info

    # ------------------------------------------------------------------------------------------------ pulling

    def pulled(self, body: bytes, reply: str, now: int) -> None:
        """A pull request came. Without a reply subject it is ignored."""
        if not reply:
            return
        try:
            pull = parse_pull(body, reply, now, self._profile)
        except BadPullError as bad:
            self._status(reply, f"400 Bad Request - {bad}")
            return
        refused = self._beyond_limits(pull, now)
        if refused:
            self._status(reply, refused)
            return
        if self.waiting.full and (self._profile.sweeps_at_once or self.waiting.stale(now)):
            self._sweep(now, at_end=False)
        if pull.no_wait and not self._worth_waiting(pull, now):
            return
        if self.waiting.full:
            if not (pull.heartbeat and self._profile.silent_full_with_heartbeat):
                self._status(reply, "409 Exceeded MaxWaiting")
            return
        self.waiting.add(pull)
        self.turned(now)

    def _beyond_limits(self, pull: Pull, now: int) -> str:
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

    def _worth_waiting(self, pull: Pull, now: int) -> bool:
        """What becomes of a no_wait pull: answered here and now, or worth a place in the queue."""
        pending = self._cursor.pending + len(self._ledger.due)
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
        block = b"NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: %d\r\nNats-Last-Stream: %d\r\n\r\n"
        self._outlet.say(reply, block % (self._consumer_seq - 1, self._cursor.next_seq - 1))

    def _sweep(self, now: int, *, at_end: bool) -> None:
        self.waiting.sweep(now, self._say, self._beat, at_end=at_end)

    # ------------------------------------------------------------------------------------------------ the loop

    def turned(self, now: int) -> None:
        """Something may have changed: deliver what can be delivered, then look over who waits."""
        waiting = self.waiting
        self._stalled = False
        while waiting and self._paused_until <= now and self._turn(now):
            pass
        if waiting:
            self._sweep(now, at_end=not self._stalled)

    def _turn(self, now: int) -> bool:
        """Deliver one message; ``False``: none could be."""
        taken = self._next(now)
        if taken is None:
            return False
        message, count, single = taken
        pending = self._cursor.pending - (count == 1)
        numbers = (count, message.seq, self._consumer_seq, message.time, pending)
        v2, domain = self._address
        reply = ack_subject(self._stream.name, self.name, numbers, v2=v2, domain=domain)
        block, payload = message.block, message.payload
        if self.config.get("headers_only"):
            block, payload = _headers_only(block, len(payload)), b""
        size = (
            len(message.subject.encode("utf-8", "surrogateescape"))
            + len(reply)
            + len(block or b"")
            + len(payload)
        )
        pull = self.waiting.serve(size, now, self._say)
        if pull is None:
            self._put_back(message.seq, count, single=single)
            return False
        self._cursor.pending = pending
        self._outlet.deliver(pull.reply, message.subject, reply, block, payload)
        self._delivered(message.seq, now)
        if pull.batch <= 0 and pull.max_bytes > 0 and self._profile.batch_completed:
            self._say(pull.reply, b"NATS/1.0 409 Batch Completed\r\n" + pull.pending + b"\r\n")
        return True

    def _next(self, now: int) -> tuple[Stored, int, bool] | None:
        """The next message, how often it will then have been delivered, and whether the cursor gave it singly."""
        ledger, limit = self._ledger, integer(self.config, "max_deliver")
        while ledger.due:
            seq = next(iter(ledger.due))
            del ledger.due[seq]
            again = ledger.again.get(seq, 0) + 1
            message = self._stream.message(seq)
            if 0 < limit < again + 1:
                self._exceeded(seq, again, now)
            elif message is not None:
                ledger.again[seq] = again
                return message, again + 1, False
        if 0 < integer(self.config, "max_ack_pending") <= len(ledger.outstanding):
            self._stalled = True
            return None
        step = self._cursor.step()
        return (step[0], 1, step[1]) if step is not None else None

    def _put_back(self, seq: int, count: int, *, single: bool) -> None:
        if count == 1:
            self._cursor.back(seq, single=single)
            return
        again = self._ledger.again
        again[seq] -= 1
        if not again[seq]:
            del again[seq]
        self._ledger.due[seq] = None

    def _delivered(self, seq: int, now: int) -> None:
        consumer_seq = self._consumer_seq
        self._consumer_seq += 1
        self._delivered_seq = max(self._delivered_seq, seq)
        self._delivered_time = now
        self.waiting.last = now
        if self._ack_policy == "none":
            self._ledger.consumer_floor, self._ledger.stream_floor = consumer_seq, seq
            self._stream.acknowledged(seq, now)
            return
        self._ledger.sent(seq, consumer_seq, now)
        if self._check_at is None:
            self._check_at = now + integer(self.config, "ack_wait") + _GRACE

    # ------------------------------------------------------------------------------------------------ acknowledging

    def listens_for_acks(self) -> bool:
        """Whether acknowledgements reach anybody."""
        return self._ack_policy != "none" or self._profile.answers_ack_none

    def acked(self, address: AckAddress, payload: bytes, reply: str, now: int) -> None:
        """An acknowledgement came, of whatever meaning; with a ``reply`` it is answered, if the server answers it."""
        word = ack_word(payload, term_reason=self._profile.term_reason)
        known, signal = True, False
        if word is AckWord.NAK:
            signal = self._nak(address, payload, now)
        elif word is AckWord.PROGRESS:
            outstanding = self._ledger.outstanding.get(address.stream_seq)
            if outstanding is not None:
                outstanding.time = now
        elif word is not AckWord.UNKNOWN:
            known, signal = self._done(address, now)
        if word is AckWord.ACK:
            self._sample(address, now)
        elif word is AckWord.TERM:
            reason = payload[len(b"+TERM") :].strip().decode("utf-8", "replace")
            self._advisories.terminated(address, reason, now)
        answered = address.stream_seq > 0 and (known or self._profile.answers_undelivered)
        if reply and answered and word is not AckWord.NEXT:
            self._outlet.say(reply, None)
        if signal:
            self.turned(now)
        if word is AckWord.NEXT:
            self.pulled(payload[len(b"+NXT") :], reply, now)

    def _done(self, address: AckAddress, now: int) -> tuple[bool, bool]:
        """Note one delivery as done. Answers whether the server knows it, and whether room was made."""
        ledger, seq = self._ledger, address.stream_seq
        if seq >= self._cursor.next_seq and seq not in ledger.outstanding:
            return False, False
        if self._ack_policy == "none":
            return True, False
        stalled = 0 < integer(self.config, "max_ack_pending") <= len(ledger.outstanding)
        if self._ack_policy == "all":
            closed = ledger.done_to(seq, address.consumer_seq)
            if not closed:
                return True, False
        else:
            closed = range(seq, seq + 1)
            ledger.done(seq, address.consumer_seq, self._consumer_seq, self._cursor.next_seq)
        self._ack_time = now
        for each in closed:
            self._stream.acknowledged(each, now)
        return True, stalled

    def _nak(self, address: AckAddress, payload: bytes, now: int) -> bool:
        """Give a delivery back; answers whether it is due again at once."""
        ledger, seq = self._ledger, address.stream_seq
        outstanding = ledger.outstanding.get(seq)
        if outstanding is None or not ledger.consumer_floor < address.consumer_seq < self._consumer_seq:
            return False
        self._advisories.naked(address, now)
        delay = nak_delay(payload)
        if delay is None:
            ledger.due.setdefault(seq)
            return True
        ledger.due.pop(seq, None)
        outstanding.time = now - integer(self.config, "ack_wait") + delay
        self._check_at = now + min(_LOOK_SOON, max(delay, 0))
        return False

    def _sample(self, address: AckAddress, now: int) -> None:
        if text(self.config, "sample_freq"):
            message = self._stream.message(address.stream_seq)
            since = message.time if message is not None else self._delivered_time
            self._advisories.sampled(address, now - since, now)

    # ------------------------------------------------------------------------------------------------ redelivering

    def _check(self, now: int) -> None:
        """Which acknowledgements are overdue; those are delivered again, or given up at max_deliver."""
        ledger = self._ledger
        late, following = ledger.overdue(now, self.config)
        late = [seq for seq in late if not self._exhausted(seq, now)]
        if late:
            ledger.queue(late, now)
        self._check_at = now + following + _GRACE if ledger.outstanding else None
        if late:
            self.turned(now)

    def _exhausted(self, seq: int, now: int) -> bool:
        count = self._ledger.again.get(seq, 0) + 1
        if not 0 < integer(self.config, "max_deliver") <= count:
            return False
        self._exceeded(seq, count, now)
        return True

    def _exceeded(self, seq: int, count: int, now: int) -> None:
        """max_deliver is reached: the message is given up, an advisory says so, and there is room again."""
        ledger = self._ledger
        room = 0 < integer(self.config, "max_ack_pending") <= len(ledger.outstanding)
        if ledger.outstanding.pop(seq, None) is None:
            return
        ledger.again[seq] = count - 1
        self._advisories.exceeded(seq, count, now)
        if room:
            self.turned(now)

    # ------------------------------------------------------------------------------------------------ the stream

    def stored(self, message: Stored, now: int) -> None:
        """The stream has a new message."""
        if self._cursor.stored(message):
            self.turned(now)

    def removed(self, message: Stored, now: int, *, told: bool) -> None:
        """A message left the stream; who still holds it is told that it counts as terminated."""
        self._cursor.removed(message)
        outstanding = self._ledger.outstanding.get(message.seq)
        if told and outstanding is not None:
            count = self._ledger.again.get(message.seq, 0) + 1
            address = AckAddress(self._stream.name, self.name, count, message.seq, outstanding.consumer_seq)
            self._done(address, now)
            self._advisories.terminated(address, self._profile.deletion_reason, now)

    def purged(self, first: int, now: int) -> None:
        """Everything below ``first`` is gone."""
        self._cursor.purged(first)
        gone = [seq for seq in self._ledger.outstanding if self._stream.message(seq) is None]
        self._ledger.purged(gone, first, self._consumer_seq, self._cursor.next_seq)
        self._delivered_seq = max(self._delivered_seq, first - 1)
        self.turned(now)

    def needs(self, message: Stored) -> bool:
        """Whether this consumer has not done with the message (interest retention)."""
        seq, ledger = message.seq, self._ledger
        if not self._cursor.wants(message.subject) or seq <= ledger.stream_floor:
            return False
        if self._ack_policy == "explicit" and seq < self._cursor.next_seq:
            return seq in ledger.outstanding
        return True

    # ------------------------------------------------------------------------------------------------ ends and faults

    def ended(self, line: str) -> None:
        """The consumer is deleted: every waiting pull gets the status."""
        for pull in self.waiting.take_all():
            self._status(pull.reply, line)

    def stopped(self) -> bool:
        """The server stops gracefully: one status for each inbox, with the numbers of its newest pull. Any at all?"""
        for reply, pull in self.waiting.newest_by_reply().items():
            self._say(reply, b"NATS/1.0 409 Server Shutdown\r\n" + pull.pending + b"\r\n")
        return bool(self.waiting.take_all())

    def led_elsewhere(self) -> None:
        """The leader moved: one status for each inbox, without headers; no pull survives."""
        for reply in self.waiting.newest_by_reply():
            self._status(reply, "409 Leadership Change")
        self.waiting.take_all()

    def pause(self, until: int, now: int) -> None:
        """Deliver nothing before ``until`` (nanoseconds; 0: at once)."""
        self._paused_until = until
        config = {name: value for name, value in self.config.items() if name != "pause_until"}
        self.config = {**config, "pause_until": rfc3339(until)} if until else config
        self.turned(now)

    def restarted(self, now: int) -> None:
        """The server comes back from its files: no pull survives, what was delivered is still owed."""
        self.waiting.take_all()
        self.waiting.last = now
        self._ledger.due.clear()
        self._check_at = now + _GRACE if self._ledger.outstanding else None

    # ------------------------------------------------------------------------------------------------ time

    def deadline(self) -> int | None:
        """The next moment at which something may be due, in nanoseconds."""
        paused = self._paused_until if self._paused_until and self.waiting else None
        moments = (self.waiting.deadline(), self._check_at, self._inactive_at(), paused)
        return min((moment for moment in moments if moment is not None), default=None)

    def _inactive_at(self) -> int | None:
        threshold = integer(self.config, "inactive_threshold")
        return self.waiting.last + threshold if threshold and not self.waiting else None

    def ticked(self, now: int) -> bool:
        """Do what is due; ``True``: the consumer has been inactive for too long and has to go."""
        if self._check_at is not None and self._check_at <= now:
            self._check(now)
        if self._paused_until and self._paused_until <= now:
            self._paused_until = 0
            self.turned(now)
        due = self.waiting.deadline()
        if due is not None and due <= now:
            self._sweep(now, at_end=False)
        inactive = self._inactive_at()
        return inactive is not None and inactive <= now


def _headers_only(block: bytes | None, size: int) -> bytes:
    if block is None:
        return b"NATS/1.0\r\nNats-Msg-Size: %d\r\n\r\n" % size
    if header(block, b"Nats-Msg-Size") is not None:
        return block
    return block[:-2] + b"Nats-Msg-Size: %d\r\n\r\n" % size
