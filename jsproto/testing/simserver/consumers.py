"""Pull consumers: who gets which message, and what happens until it is acknowledged.

A consumer runs one loop whenever something may have changed (nats-server ``consumer.go``, ``loopAndGatherMsgs``): while
pulls wait, take the next message (redeliveries first, then the stream, unless max_ack_pending stalls it), give it to the
next pull, and when nothing more can be done, look over the waiting pulls. All timers of the server are here as moments:
acknowledgements overdue, pulls expiring, heartbeats, inactivity, the end of a pause.

Push consumers will be a sister of this class: what is shared is everything but `_turn`.
"""

from __future__ import annotations

from typing import Final, Protocol

from jsproto.testing.simserver.acks import AckAddress, AckWord, ack_subject, ack_word, nak_delay
from jsproto.testing.simserver.documents import Table, integer, integers, text, texts
from jsproto.testing.simserver.gotime import MILLISECOND, go_duration, parse_rfc3339, rfc3339
from jsproto.testing.simserver.profile import Profile
from jsproto.testing.simserver.pulls import BadPullError, Pull, Waiting, parse_pull
from jsproto.testing.simserver.streams import Stored, Stream, header
from jsproto.testing.simserver.subjects import covers, matches

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


class Outstanding:
    """A delivery that waits for its acknowledgement: when it was sent (nanoseconds), under which consumer sequence."""

    __slots__ = ("consumer_seq", "time")

    def __init__(self, consumer_seq: int, time: int) -> None:
        self.consumer_seq = consumer_seq
        self.time = time


class Consumer:
    """One pull consumer of a stream."""

    __slots__ = (
        "_ack_policy",
        "_ack_time",
        "_acked_consumer_seq",
        "_acked_stream_seq",
        "_check_at",
        "_consumer_seq",
        "_delivered_stream_seq",
        "_delivered_time",
        "_deliveries",
        "_domain",
        "_filters",
        "_outlet",
        "_outstanding",
        "_paused_until",
        "_pending",
        "_profile",
        "_redeliver",
        "_skips",
        "_stalled",
        "_stream",
        "_stream_seq",
        "_v2",
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
        self._stream = stream
        self._outlet = outlet
        self._profile = profile
        self._v2 = v2
        self._domain = domain
        self.waiting = Waiting(0, profile, outlet.interested, now)
        #: Delivered and not acknowledged, by stream sequence.
        self._outstanding: dict[int, Outstanding] = {}
        #: How often a message was delivered again, by stream sequence.
        self._deliveries: dict[int, int] = {}
        #: Stream sequences that are due again, oldest first.
        self._redeliver: dict[int, None] = {}
        #: ``last_per_subject``: what is to be given before the stream is followed.
        self._skips: list[int] = []
        self._consumer_seq = 1
        self._acked_consumer_seq = 0
        self._delivered_time = 0
        self._ack_time = 0
        self._check_at: int | None = None
        self._stalled = False
        self._paused_until = 0
        self._pending = 0
        self.config: Table = {}
        self._filters: list[str] = []
        self._ack_policy = ""
        self._stream_seq = 0
        self._take_over(config)
        self._start(now)
        self._delivered_stream_seq = self._acked_stream_seq = self._stream_seq - 1

    # ------------------------------------------------------------------------------------------------ configuration

    def configure(self, config: Table, now: int) -> None:
        """Take over an updated configuration; a new filter changes what is pending."""
        self._take_over(config)
        self._count()
        self.turned(now)

    def _take_over(self, config: Table) -> None:
        self.config = config
        self._ack_policy = text(config, "ack_policy")
        one = text(config, "filter_subject")
        self._filters = [one] if one else texts(config, "filter_subjects")
        subjects = self._stream.subjects
        if self._filters and all(
            any(covers(each, subject) for each in self._filters) for subject in subjects
        ):
            self._filters = []
        self._paused_until = parse_rfc3339(text(config, "pause_until")) or 0
        self.waiting.resize(integer(config, "max_waiting"))

    def _start(self, now: int) -> None:
        stream, policy = self._stream, text(self.config, "deliver_policy")
        first = max(stream.first, 1)
        if policy == "new":
            first = stream.last + 1
        elif policy == "last":
            newest = max(
                (each.seq for each in stream.after(stream.first) if self._wants(each.subject)), default=0
            )
            first = newest or stream.last + 1
        elif policy == "by_start_sequence":
            first = max(first, integer(self.config, "opt_start_seq"))
        elif policy == "by_start_time":
            start = parse_rfc3339(text(self.config, "opt_start_time")) or 0
            first = next((each.seq for each in stream.after(first) if each.time >= start), stream.last + 1)
        elif policy == "last_per_subject":
            self._skips = stream.newest_per_subject(self._filters or [">"])
            first = stream.last + 1
        self._stream_seq = min(first, stream.last + 1) if policy != "by_start_sequence" else first
        self._count()
        self.waiting.last = now

    def _count(self) -> None:
        wanted = sum(self._wants(each.subject) for each in self._stream.after(self._stream_seq))
        self._pending = wanted + len(self._skips)

    def _wants(self, subject: str) -> bool:
        return not self._filters or any(matches(pattern, subject) for pattern in self._filters)

    @property
    def durable(self) -> bool:
        """It has a durable name."""
        return bool(text(self.config, "durable_name"))

    @property
    def in_memory(self) -> bool:
        """A restart of the server loses it."""
        return self._stream.in_memory or bool(self.config.get("mem_storage"))

    @property
    def filters(self) -> list[str]:
        """The subjects that it wants; empty: all."""
        return self._filters

    def info(self, now: int) -> Table:
        """The members of a consumer info behind ``type``. Looks over the waiting pulls, as the server does."""
        self._sweep(now, at_end=False)
        delivered: Table = {"consumer_seq": self._consumer_seq - 1, "stream_seq": self._delivered_stream_seq}
        floor: Table = {"consumer_seq": self._acked_consumer_seq, "stream_seq": self._acked_stream_seq}
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
            "num_ack_pending": len(self._outstanding),
            "num_redelivered": len(self._deliveries),
            "num_waiting": len(self.waiting),
            "num_pending": self._pending,
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
        pending = self._pending + len(self._redeliver)
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
        self._outlet.say(reply, block % (self._consumer_seq - 1, self._stream_seq - 1))

    def _sweep(self, now: int, *, at_end: bool) -> None:
        self.waiting.sweep(now, self._say, self._beat, at_end=at_end)

    # ------------------------------------------------------------------------------------------------ the loop

    def turned(self, now: int) -> None:
        """Something may have changed: deliver what can be delivered, then look over who waits."""
        waiting = self.waiting
        if not waiting:
            return
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
        message, count, skipped = taken
        if count == 1:
            self._pending -= 1
        reply = ack_subject(
            self._stream.name,
            self.name,
            (count, message.seq, self._consumer_seq, message.time, self._pending),
            v2=self._v2,
            domain=self._domain,
        )
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
            self._put_back(message.seq, count, skipped=skipped)
            return False
        self._outlet.deliver(pull.reply, message.subject, reply, block, payload)
        self._delivered(message.seq, now)
        if pull.batch <= 0 and pull.max_bytes > 0 and self._profile.batch_completed:
            self._say(pull.reply, b"NATS/1.0 409 Batch Completed\r\n" + pull.pending + b"\r\n")
        return True

    def _next(self, now: int) -> tuple[Stored, int, bool] | None:
        """The next message, how often it will then have been delivered, and whether it came from the skip list."""
        limit = integer(self.config, "max_deliver")
        while self._redeliver:
            seq = next(iter(self._redeliver))
            del self._redeliver[seq]
            again = self._deliveries.get(seq, 0) + 1
            if 0 < limit < again + 1:
                self._exceeded(seq, again, now)
                continue
            message = self._stream.message(seq)
            if message is None:
                continue
            self._deliveries[seq] = again
            return message, again + 1, False
        most = integer(self.config, "max_ack_pending")
        if 0 < most <= len(self._outstanding):
            self._stalled = True
            return None
        while self._skips:
            message = self._stream.message(self._skips.pop(0))
            if message is not None:
                return message, 1, True
        for message in self._stream.after(self._stream_seq):
            if self._wants(message.subject):
                self._stream_seq = message.seq + 1
                return message, 1, False
        self._stream_seq = max(self._stream_seq, self._stream.last + 1)
        return None

    def _put_back(self, seq: int, count: int, *, skipped: bool) -> None:
        if count == 1:
            self._pending += 1
            if skipped:
                self._skips.insert(0, seq)
            else:
                self._stream_seq = seq
            return
        self._deliveries[seq] -= 1
        if not self._deliveries[seq]:
            del self._deliveries[seq]
        self._redeliver[seq] = None

    def _delivered(self, seq: int, now: int) -> None:
        consumer_seq = self._consumer_seq
        self._consumer_seq += 1
        self._delivered_stream_seq = max(self._delivered_stream_seq, seq)
        self._delivered_time = now
        self.waiting.last = now
        if self._ack_policy == "none":
            self._acked_consumer_seq, self._acked_stream_seq = consumer_seq, seq
            self._stream.acknowledged(seq, now)
            return
        known = self._outstanding.get(seq)
        if known is not None:
            known.time = now
        else:
            self._outstanding[seq] = Outstanding(consumer_seq, now)
        if self._check_at is None:
            self._check_at = now + integer(self.config, "ack_wait") + _GRACE

    # ------------------------------------------------------------------------------------------------ acknowledging

    def listens_for_acks(self) -> bool:
        """Whether acknowledgements reach anybody."""
        return self._ack_policy != "none" or self._profile.answers_ack_none

    def acked(self, address: AckAddress, payload: bytes, reply: str, now: int) -> None:
        """An acknowledgement came, of whatever meaning; with a ``reply`` it is answered, if the server answers it."""
        word = ack_word(payload, term_reason=self._profile.term_reason)
        answer = bool(reply) and address.stream_seq > 0
        signal = False
        if word is AckWord.ACK:
            known, signal = self._done(address, now)
            self._sample(address, now)
            answer = answer and (known or self._profile.answers_undelivered)
        elif word is AckWord.TERM:
            known, signal = self._done(address, now)
            answer = answer and (known or self._profile.answers_undelivered)
            self._terminated(address, payload[len(b"+TERM") :].strip().decode("utf-8", "replace"), now)
        elif word is AckWord.NEXT:
            _, signal = self._done(address, now)
            answer = False
        elif word is AckWord.NAK:
            signal = self._nak(address, payload, now)
        elif word is AckWord.PROGRESS:
            outstanding = self._outstanding.get(address.stream_seq)
            if outstanding is not None:
                outstanding.time = now
        if answer:
            self._outlet.say(reply, None)
        if signal:
            self.turned(now)
        if word is AckWord.NEXT:
            self.pulled(payload[len(b"+NXT") :], reply, now)

    def _done(self, address: AckAddress, now: int) -> tuple[bool, bool]:
        """Note one delivery as done. Answers whether the server knows it, and whether room was made."""
        seq = address.stream_seq
        if seq >= self._stream_seq and seq not in self._outstanding:
            return False, False
        if self._ack_policy == "none":
            return True, False
        most = integer(self.config, "max_ack_pending")
        stalled = 0 < most <= len(self._outstanding)
        if self._ack_policy == "all":
            if address.consumer_seq <= self._acked_consumer_seq or seq <= self._acked_stream_seq:
                return True, False
            before = self._acked_stream_seq
            self._acked_consumer_seq, self._acked_stream_seq = address.consumer_seq, seq
            done = [each for each in (*self._outstanding, *self._deliveries) if each <= seq]
            gone = range(before + 1, seq + 1)
        else:
            done, gone = [seq], range(seq, seq + 1)
        outstanding = self._outstanding.get(seq)
        for each in done:
            self._forget(each)
        if self._ack_policy == "explicit":
            self._raise_floor(
                outstanding.consumer_seq if outstanding is not None else address.consumer_seq, seq
            )
        self._ack_time = now
        for each in gone:
            self._stream.acknowledged(each, now)
        return True, stalled

    def _forget(self, seq: int) -> None:
        self._outstanding.pop(seq, None)
        self._deliveries.pop(seq, None)
        self._redeliver.pop(seq, None)

    def _raise_floor(self, consumer_seq: int, seq: int) -> None:
        if not self._outstanding:
            self._acked_consumer_seq, self._acked_stream_seq = self._consumer_seq - 1, self._stream_seq - 1
        elif consumer_seq == self._acked_consumer_seq + 1:
            self._acked_consumer_seq, self._acked_stream_seq = consumer_seq, seq
            following = min((each for each in self._outstanding if each > seq), default=0)
            if following:
                self._acked_consumer_seq = self._outstanding[following].consumer_seq - 1
                self._acked_stream_seq = following - 1

    def _nak(self, address: AckAddress, payload: bytes, now: int) -> bool:
        """Give a delivery back; answers whether it is due again at once."""
        seq = address.stream_seq
        outstanding = self._outstanding.get(seq)
        if outstanding is None or not self._acked_consumer_seq < address.consumer_seq < self._consumer_seq:
            return False
        self._advise("MSG_NAKED", "nak", self._about(address), now)
        delay = nak_delay(payload)
        if delay is not None:
            self._redeliver.pop(seq, None)
            outstanding.time = now - integer(self.config, "ack_wait") + delay
            self._check_at = now + min(_LOOK_SOON, max(delay, 0))
            return False
        self._redeliver.setdefault(seq)
        return True

    def _terminated(self, address: AckAddress, reason: str, now: int) -> None:
        members = self._about(address)
        if reason:
            members["reason"] = reason
        self._advise("MSG_TERMINATED", "terminated", members, now)

    def _sample(self, address: AckAddress, now: int) -> None:
        percent = text(self.config, "sample_freq").rstrip("%")
        if not percent:
            return
        message = self._stream.message(address.stream_seq)
        members = self._about(address)
        members["ack_time"] = now - (self._delivered_time if message is None else message.time)
        members["deliveries"] = members.pop("deliveries")
        self._outlet.advise(
            f"$JS.EVENT.METRIC.CONSUMER.ACK.{self._stream.name}.{self.name}",
            "io.nats.jetstream.metric.v1.consumer_ack",
            members,
            now,
        )

    def _about(self, address: AckAddress) -> Table:
        return {
            "stream": self._stream.name,
            "consumer": self.name,
            "consumer_seq": address.consumer_seq,
            "stream_seq": address.stream_seq,
            "deliveries": address.deliveries,
        }

    def _advise(self, event: str, kind: str, members: Table, now: int) -> None:
        subject = f"$JS.EVENT.ADVISORY.CONSUMER.{event}.{self._stream.name}.{self.name}"
        self._outlet.advise(subject, f"io.nats.jetstream.advisory.v1.{kind}", members, now)

    # ------------------------------------------------------------------------------------------------ redelivering

    def _check(self, now: int) -> None:
        """Which acknowledgements are overdue (nats-server ``checkPending``)."""
        wait, backoff = integer(self.config, "ack_wait"), integers(self.config, "backoff")
        following = backoff[-1] if backoff else wait
        overdue: list[int] = []
        for seq, outstanding in list(self._outstanding.items()):
            if backoff:
                at = self._deliveries.get(seq, 0)
                wait = backoff[min(at, len(backoff) - 1)]
                following = min(following, backoff[min(at + 1, len(backoff) - 1)])
            elapsed = now - outstanding.time
            if elapsed >= wait:
                if seq not in self._redeliver and not self._exhausted(seq, now):
                    overdue.append(seq)
            else:
                following = min(following, wait - elapsed)
        if overdue:
            overdue.sort()
            shift = now - self._outstanding[overdue[0]].time
            for seq in overdue:
                self._outstanding[seq].time += shift
                self._redeliver[seq] = None
        self._check_at = now + following + _GRACE if self._outstanding else None
        if overdue:
            self.turned(now)

    def _exhausted(self, seq: int, now: int) -> bool:
        limit = integer(self.config, "max_deliver")
        count = self._deliveries.get(seq, 0) + 1
        if limit <= 0 or count < limit:
            return False
        self._exceeded(seq, count, now)
        return True

    def _exceeded(self, seq: int, count: int, now: int) -> None:
        """max_deliver is reached: the message is given up, and an advisory says so."""
        most = integer(self.config, "max_ack_pending")
        room = 0 < most <= len(self._outstanding)
        if self._outstanding.pop(seq, None) is None:
            return
        self._deliveries[seq] = count
        members: Table = {
            "stream": self._stream.name,
            "consumer": self.name,
            "stream_seq": seq,
            "deliveries": count,
        }
        self._advise("MAX_DELIVERIES", "max_deliver", members, now)
        if room:
            self.turned(now)

    # ------------------------------------------------------------------------------------------------ the stream

    def stored(self, message: Stored, now: int) -> None:
        """The stream has a new message."""
        if self._wants(message.subject) and message.seq >= self._stream_seq:
            self._pending += 1
            self.turned(now)

    def removed(self, message: Stored, now: int, *, told: bool) -> None:
        """A message left the stream."""
        if message.seq in self._skips:
            self._skips.remove(message.seq)
            self._pending -= 1
        elif message.seq >= self._stream_seq and self._wants(message.subject):
            self._pending -= 1
        outstanding = self._outstanding.get(message.seq)
        if told and outstanding is not None:
            count = self._deliveries.get(message.seq, 0) + 1
            address = AckAddress(self._stream.name, self.name, count, message.seq, outstanding.consumer_seq)
            self._done(address, now)
            self._terminated(address, self._profile.deletion_reason, now)

    def purged(self, first: int, now: int) -> None:
        """Everything below ``first`` is gone."""
        self._stream_seq = max(self._stream_seq, first)
        for seq in [each for each in self._outstanding if self._stream.message(each) is None]:
            self._acked_consumer_seq = max(self._acked_consumer_seq, self._outstanding[seq].consumer_seq)
            self._forget(seq)
        self._acked_stream_seq = max(self._acked_stream_seq, first - 1)
        self._delivered_stream_seq = max(self._delivered_stream_seq, first - 1)
        if not self._outstanding:
            self._acked_consumer_seq, self._acked_stream_seq = self._consumer_seq - 1, self._stream_seq - 1
            self._deliveries.clear()
            self._redeliver.clear()
        self._count()
        self.turned(now)

    def interested_in(self, subject: str) -> bool:
        """Whether the subject is one that this consumer wants."""
        return self._wants(subject)

    def needs(self, message: Stored) -> bool:
        """Whether this consumer has not done with the message (interest retention)."""
        seq = message.seq
        if not self._wants(message.subject) or seq <= self._acked_stream_seq:
            return False
        if self._ack_policy == "explicit" and seq < self._stream_seq:
            return seq in self._outstanding
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
        if until:
            self.config = {**self.config, "pause_until": rfc3339(until)}
        else:
            self.config = {name: value for name, value in self.config.items() if name != "pause_until"}
        self.turned(now)

    @property
    def paused_until(self) -> int:
        """The end of the pause, 0 if there is none."""
        return self._paused_until

    def restarted(self, now: int) -> None:
        """The server comes back from its files: no pull survives, what was delivered is still owed."""
        self.waiting.take_all()
        self.waiting.last = now
        self._redeliver.clear()
        if self._outstanding:
            self._check_at = now + _GRACE

    # ------------------------------------------------------------------------------------------------ time

    def deadline(self) -> int | None:
        """The next moment at which something may be due, in nanoseconds."""
        moments = [self.waiting.deadline(), self._check_at, self._inactive_at()]
        if self.waiting and self._paused_until:
            moments.append(self._paused_until)
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
