"""Consumers: who gets which message.

A consumer runs one loop whenever something may have changed (nats-server ``consumer.go``,
``loopAndGatherMsgs``): while somebody can take a message, take the next one (redeliveries first,
then the stream, unless max_ack_pending stalls it) and hand it on. It is made of parts: the
:class:`~jsproto.testing.simserver.consumers.cursor.Cursor` in the stream, the ledger of what is
handed out, the advisories, and the pace at which a replay or a rate limit lets messages go. All
timers of the server are here as moments: acknowledgements overdue, a message held back, the end of
a pause.

To whom a message goes is the business of two sisters: `PullConsumer` has pulls that wait,
`PushConsumer` a subject that somebody listens on.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TypeAlias

from jsproto.jetstream.api.patterns import within
from jsproto.testing.simserver.consumers.acks import AckAddress, ack_front
from jsproto.testing.simserver.consumers.ledger import DeliveryLedger
from jsproto.testing.simserver.consumers.outlet import Surroundings
from jsproto.testing.simserver.consumers.pace import DeliveryPace
from jsproto.testing.simserver.consumers.record import Record, StoredPosition
from jsproto.testing.simserver.consumers.settling import GRACE, Settling
from jsproto.testing.simserver.streams.store import Stored
from jsproto.testing.simserver.streams.streams import SimStream
from jsproto.testing.simserver.values.documents import Table, integer, text
from jsproto.testing.simserver.values.gotime import (
    SECOND,
    earlier,
    parse_rfc3339,
    rfc3339,
    to_nanos,
)
from jsproto.testing.simserver.values.headers import header, with_headers

#: A message on its way out: to which inbox, which one, its reply subject, header block and payload,
#: and how large it counts.
Handing: TypeAlias = tuple[str, Stored, str, bytes | None, bytes, int]


class SimConsumer(Settling):
    """One consumer of a stream, whoever its messages go to."""

    __slots__ = (
        "_ack_front",
        "_address",
        "_headers_only",
        "_held",
        "_held_until",
        "_pace",
        "_paused_until",
        "_stalled",
        "_withdrawn",
        "created",
        "in_memory",
    )

    def __init__(
        self, name: str, config: Table, stream: SimStream, around: Surroundings, now: int
    ) -> None:
        super().__init__(name, config, stream, around.outlet, around.profile)
        self.created = now
        #: A restart of the server loses it.
        self.in_memory = stream.in_memory or bool(config.get("mem_storage"))
        #: Form and domain of its acknowledgement subjects.
        self._address = (around.v2, around.domain)
        self._ack_front = ack_front(stream.name, name, v2=around.v2, domain=around.domain)
        self._stalled = False
        self._paused_until = 0
        self._headers_only = False
        self._pace = DeliveryPace(stream.last)
        #: What was taken from the stream and may not go yet.
        self._held: Handing | None = None
        self._held_until = 0
        #: Deliveries whose message has left the stream and which have not been closed yet.
        self._withdrawn: list[AckAddress] = []

    # ------------------------------------------------------------------------------------------------ what it is

    def configure(self, config: Table, now: int) -> bool:
        """Take over an updated configuration; answers whether the server then looks for messages.

        Only another ``max_ack_pending`` makes it do so.
        """
        turns = config.get("max_ack_pending") != self.config.get("max_ack_pending")
        self._take_over(config, now)
        if self._cursor.choose(config):
            self._cursor.deaf &= self._profile.multiple_filters
            self.stream.unfollowed(now)
            self._cursor.count()
        return turns

    def _take_over(self, config: Table, now: int) -> None:
        self._settle_by(config)
        self._headers_only = bool(config.get("headers_only"))
        self._pause(parse_rfc3339(text(config, "pause_until")) or 0, now)
        self._pace.configure(config, self.stream.config)

    @property
    def ahead(self) -> int:
        """Messages that could be delivered now: new ones, and those that are due again."""
        return self._cursor.pending + len(self._ledger.due)

    @property
    def paced(self) -> bool:
        """Messages wait, as far apart as they were stored or not above a rate."""
        return self._pace.slow

    def kept_since(self, moment: float) -> list[int]:
        """The messages that were sent at a moment (in seconds) or later, and that nobody has
        settled or given back since.
        """
        since, ledger = to_nanos(moment), self._ledger
        return [
            seq
            for seq, each in ledger.outstanding.items()
            if each.sent >= since and seq not in ledger.due
        ]

    @property
    def settled_to(self) -> int:
        """Up to this sequence everything went out and was settled.

        The floor that the info tells may lie behind a message that a replay or a rate holds back: a
        server before 2.11 puts it behind all that was taken from the stream, once nothing waits for
        its acknowledgement. There it stays when that message goes out, and waits for its own.
        """
        unsettled = list(self._ledger.outstanding)
        if self._held is not None:
            unsettled.append(self._held[1].seq)
        floor = self._told[1].stream_seq
        return min(floor, min(unsettled) - 1) if unsettled else floor

    @property
    def filters(self) -> list[str]:
        """The subjects that it wants; empty: all."""
        return self._cursor.filters

    def info(self, now: int) -> Table:
        """The members of a consumer info behind ``type``."""
        self._cursor.looked()
        ledger = self._ledger
        at, done = self._told
        delivered: Table = at._asdict()
        floor: Table = done._asdict()
        if self._delivered_time:
            delivered["last_active"] = rfc3339(self._delivered_time)
        if self._ack_time:
            floor["last_active"] = rfc3339(self._ack_time)
        info: Table = {
            "stream_name": self.stream.name,
            "name": self.name,
            "created": rfc3339(self.created),
            "config": self.config,
            "delivered": delivered,
            "ack_floor": floor,
            "num_ack_pending": len(ledger.outstanding),
            "num_redelivered": len(ledger.again) if self._max_deliver != 1 else 0,
            "num_waiting": 0,
            "num_pending": self._cursor.pending,
        }
        if self._profile.timestamps:
            info["ts"] = rfc3339(now)
        if self._paused_until > now:
            info["paused"] = True
            info["pause_remaining"] = self._paused_until - now
        return info

    @property
    def _told(self) -> tuple[StoredPosition, StoredPosition]:
        """How far it says that it has come, and up to where that all is acknowledged."""
        record = self._record
        if not self._profile.tells_record:
            return self._come, self._floor
        if self.in_memory and not any(record.delivered):
            # Nothing is written: it tells where it looks.
            return StoredPosition(0, self._cursor.next_seq - 1), record.floor
        return record.delivered, record.floor

    @property
    def _come(self) -> StoredPosition:
        """How far it has come, whether there was something to deliver or not."""
        return StoredPosition(self._consumer_seq - 1, self._cursor.next_seq - 1)

    @property
    def _floor(self) -> StoredPosition:
        """Up to where all is acknowledged, or passed."""
        return StoredPosition(self._ledger.consumer_floor, self._ledger.stream_floor)

    # ------------------------------------------------------------------------------------------------ the loop

    def turned(self, now: int) -> None:
        """Something may have changed: deliver what can be delivered. A consumer that holds a
        message back does nothing else (``loopAndGatherMsgs``).
        """
        if self._held is not None:
            return
        self._stalled = False
        while (
            self._held is None and self._paused_until <= now and self._ready() and self._turn(now)
        ):
            pass
        if self._pace.slow and self._held is None:
            self._pace.rested(self._cursor.next_seq)
        self._rested(now)

    @abstractmethod
    def _ready(self) -> bool:
        """Whether somebody would take a message."""

    @abstractmethod
    def _inbox_for(self, size: int, now: int) -> str | None:
        """Who gets a message of ``size`` bytes; ``None``: nobody can take it after all."""

    @abstractmethod
    def _rested(self, now: int) -> None:
        """The loop has nothing more to do."""

    @abstractmethod
    def _handed(self, handing: Handing, now: int) -> None:
        """A message has gone to its inbox."""

    def _turn(self, now: int) -> bool:
        """Deliver one message; ``False``: there is no other, or none could be."""
        taken = self._next(now)
        if taken is None:
            return False
        message, count, single = taken
        cursor = self._cursor
        reply = f"{self._ack_front}{count}.{message.seq}.{self._consumer_seq}.{message.time}.{cursor.pending}"
        block, payload = message.block, message.payload
        if self._headers_only:
            block, payload = _headers_only(block, len(payload)), b""
        size = message.subject_size + len(reply) + len(payload)
        if block is not None:
            size += len(block)
        inbox = self._inbox_for(size, now)
        if inbox is None:
            self._put_back(message.seq, count, single=single)
            return False
        handing = (inbox, message, reply, self._dressed(block), payload, size)
        wait = self._pace.wait(message, size, now) if self._pace.slow else 0
        if wait:
            self._held, self._held_until = handing, now + wait
            return False
        self._hand(handing, now)
        return not cursor.at_end or bool(self._ledger.due) or self._full

    def _dressed(self, block: bytes | None) -> bytes | None:
        """The header block as it goes out."""
        return block

    def _hand(self, handing: Handing, now: int) -> None:
        inbox, message, reply, block, payload, _ = handing
        self._sent(message.seq, now)
        self._outlet.deliver(inbox, message.subject, reply, block, payload)
        self._handed(handing, now)

    def _next(self, now: int) -> tuple[Stored, int, bool] | None:
        """The next message, how often it will then have been delivered, and whether the cursor gave
        it singly.
        """
        ledger = self._ledger
        while ledger.due:
            seq = next(iter(ledger.due))
            del ledger.due[seq]
            again = ledger.again.get(seq, 0) + 1
            message = self.stream.message(seq)
            if 0 < self._max_deliver < again + 1:
                self._exceeded(seq, again, now)
            elif message is not None:
                ledger.again[seq] = again
                return message, again + 1, False
            elif seq in ledger.outstanding and self._profile.terminates_missing:
                self._owed_no_more(seq)
                self._terminate(now)
        if 0 < self._max_ack_pending <= len(ledger.outstanding):  # `_full`, written out
            self._stalled = True
            return None
        step = self._cursor.step()
        return (step[0], 1, step[1]) if step is not None else None

    def _put_back(self, seq: int, count: int, *, single: bool) -> None:
        if count == 1:
            self._cursor.back(seq, single=single)
            return
        ledger = self._ledger
        ledger.again[seq] -= 1
        if not ledger.again[seq] and self._profile.forgets_undelivered:
            del ledger.again[seq]
        ledger.due[seq] = None

    # ------------------------------------------------------------------------------------------------ the stream

    def stored(self, message: Stored) -> bool:
        """The stream has a new message; answers whether it is wanted."""
        return self._cursor.stored(message)

    def removed(self, message: Stored, now: int) -> bool:
        """A message left the stream; who still holds it is told that it counts as terminated. Is
        there room now for another?
        """
        self.withdrawn(message)
        return self._terminate(now)

    def withdrawn(self, message: Stored) -> None:
        """A message leaves the stream; that it counts as terminated is still to be said
        (nats-server ``decStreamPending``).
        """
        self._cursor.removed(message)
        outstanding = self._ledger.outstanding.get(message.seq)
        if outstanding is None:
            self._ledger.again.pop(message.seq, None)
        elif self.filtered(message.subject):
            self._owed_no_more(message.seq)

    def _owed_no_more(self, seq: int) -> None:
        count = max(1, self._ledger.again.get(seq, 0))
        consumer_seq = self._ledger.outstanding[seq].consumer_seq
        self._withdrawn.append(AckAddress(self.stream.name, self.name, count, seq, consumer_seq))

    def _terminate(self, now: int) -> bool:
        addresses, self._withdrawn = self._withdrawn, []
        room = False
        for address in addresses:
            room |= self._done(address, now)[1]
            self._advisories.terminated(address, self._profile.deletion_reason, now)
        return room

    def counted(self) -> None:
        """Several messages left at once: count anew what is ahead."""
        self._cursor.count()

    def purged(self, pattern: str, begin: int, now: int, *, whole: bool) -> bool:
        """What is left under ``pattern`` begins at this sequence; 0 if nothing is. Is there room
        now for another?

        The purge settles first what it can by itself; what it has taken counts as terminated only
        then, so that room is made by what was left over (the server does the latter in a goroutine
        of its own, which comes second).
        """
        self._skip_purged(pattern, begin, now, whole=whole)
        return self._terminate(now)

    def _skip_purged(self, pattern: str, begin: int, now: int, *, whole: bool) -> None:
        """Go on behind what is gone, and owe no more of it (nats-server ``purge``)."""
        cursor, ledger, stream = self._cursor, self._ledger, self.stream
        careful, blunt = self._profile.careful_purge, self._profile.blunt_purge
        covered = [within(each, pattern) for each in cursor.filters]
        narrow = not pattern or (all(covered) and covered != [] if careful else any(covered))
        wider = not cursor.filters or any(within(pattern, each) for each in cursor.filters)
        if blunt:
            narrow = whole or wider
        if not narrow and not wider:
            return
        begin = (begin or stream.last + 1) if narrow else stream.first
        cursor.next_seq = max(cursor.next_seq, begin)
        if blunt:
            cursor.count()
        if ledger.stream_floor < begin:
            gone = [
                seq
                for seq in ledger.outstanding
                if seq < begin or (not narrow and stream.message(seq) is None)
            ]
            if gone and careful:
                self._ack_time = now
                write = (
                    self._record.done if self._ack_policy == "explicit" else self._record.done_to
                )
                for seq in gone:
                    write(seq, ledger.outstanding[seq].consumer_seq)
            ledger.purged(gone, begin)
        if not ledger.outstanding:
            ledger.again.clear()
            ledger.consumer_floor, ledger.stream_floor = self._consumer_seq - 1, cursor.next_seq - 1
        ledger.due = {seq: None for seq in ledger.due if seq >= cursor.next_seq}
        self._record.replaced(
            self._come,
            self._floor,
            {seq: each.consumer_seq for seq, each in ledger.outstanding.items()},
        )

    def filtered(self, subject: str) -> bool:
        """Whether messages on this subject are for this consumer."""
        return self._cursor.hears(subject)

    def needs(self, message: Stored) -> bool:
        """Whether this consumer has not done with the message (interest retention)."""
        seq, ledger = message.seq, self._ledger
        if not self._cursor.wants(message.subject) or seq <= ledger.stream_floor:
            return False
        if self._ack_policy == "explicit" and seq < self._cursor.next_seq:
            return seq in ledger.outstanding
        return True

    def reset(self, seq: int) -> int:
        """Begin anew at a sequence of the stream (0: behind the acknowledgements); answers at
        which.

        Raises:
            ValueError: that lies before the start that the configuration asks for.
        """
        policy = text(self.config, "deliver_policy")
        if seq and policy == "by_start_sequence" and seq < integer(self.config, "opt_start_seq"):
            raise ValueError("below start seq")
        if seq and policy == "by_start_time" and seq < self._cursor.start(self.config):
            raise ValueError("below start time")
        if seq and policy not in {"all", "by_start_sequence", "by_start_time"}:
            raise ValueError("not allowed")
        seq = seq or self._ledger.stream_floor + 1
        self._ledger, self._record = DeliveryLedger(seq - 1), Record(seq - 1, seq - 1)
        self._cursor.jump(seq)
        self._consumer_seq = 1
        self._delivered_time = self._ack_time = 0
        return seq

    # ------------------------------------------------------------------------------------------------ ends and faults

    @abstractmethod
    def ended(self) -> None:
        """The consumer is deleted."""

    @abstractmethod
    def stopped(self) -> bool:
        """The server stops gracefully. Answers whether anybody was told."""

    @abstractmethod
    def led_elsewhere(self) -> None:
        """The leader moved."""

    @abstractmethod
    def forsaken(self) -> None:
        """Whoever waits here waits in vain, and nobody tells."""

    def pause(self, until: int, now: int) -> None:
        """Deliver nothing before ``until`` (nanoseconds; 0: at once)."""
        self._pause(until, now)
        config = {name: value for name, value in self.config.items() if name != "pause_until"}
        self.config = {**config, "pause_until": rfc3339(until)} if until else config

    def _pause(self, until: int, now: int) -> None:
        # A pause that is over has no end to come: nothing is looked for because of it.
        self._paused_until = until if until > now else 0

    def restarted(self, now: int) -> None:
        """The server comes back from its files: what was delivered is still owed, as far as it is
        still there.

        The files say how far it had delivered; not what it had passed or taken without a delivery,
        nor a list of single messages that it was at (nats-server ``applyState``).
        """
        self.forsaken()
        self._held = None
        self._cursor.jump(self._record.delivered.stream_seq + 1)
        self._ledger.consumer_floor, self._ledger.stream_floor = self._record.floor
        self._ledger.due.clear()
        for seq in [each for each in self._ledger.outstanding if self.stream.message(each) is None]:
            self._ledger.forget(seq)
        for outstanding in self._ledger.outstanding.values():
            # On the disk a delivery has its second (nats-server ``encodeConsumerState``).
            outstanding.time -= outstanding.time % SECOND
        self._check_at = now + GRACE if self._ledger.outstanding else None

    # ------------------------------------------------------------------------------------------------ time

    def deadline(self) -> int | None:
        """The next moment at which something may be due, in nanoseconds."""
        at = earlier(self._check_at, self._own_deadline())
        if self._held is not None:
            at = earlier(at, self._held_until)
        if self._paused_until and self._ready():
            at = earlier(at, self._paused_until)
        return at

    @abstractmethod
    def _own_deadline(self) -> int | None:
        """The next moment of a sister's own timers."""

    def ticked(self, now: int) -> bool:
        """Do what is due; ``True``: the consumer has been inactive for too long and has to go."""
        if self._check_at is not None and self._check_at <= now:
            self._check(now)
        if self._held is not None and self._held_until <= now:
            handing, self._held = self._held, None
            self._hand(handing, now)
            self.turned(now)
        if self._paused_until and self._paused_until <= now:
            self._paused_until = 0
            self.turned(now)
        return self._own_ticked(now)

    @abstractmethod
    def _own_ticked(self, now: int) -> bool:
        """Do what is due of a sister's own; ``True``: the consumer has to go."""


def _headers_only(block: bytes | None, size: int) -> bytes:
    if block is not None and header(block, b"Nats-Msg-Size") is not None:
        return block
    return with_headers(block, {"Nats-Msg-Size": size})
