"""Acknowledgements of one consumer: what each word does, and what happens when none comes.

The part of a consumer that is the same whether it is pulled from or pushes. Acknowledgements close
deliveries in the :class:`~jsproto.testing.simserver.consumers.ledger.DeliveryLedger` (nats-server
``consumer.go``, ``processAck``); what is overdue, or given back, becomes due again
(``checkPending``) until max_deliver gives it up. Whoever inherits says what `turned` does:
something may have changed, so deliver what can be delivered.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from jsproto.testing.simserver.consumers.acks import ACK, AckAddress, AckWord, ack_word, nak_delay
from jsproto.testing.simserver.consumers.advisories import Advisories
from jsproto.testing.simserver.consumers.cursor import Cursor
from jsproto.testing.simserver.consumers.ledger import DeliveryLedger
from jsproto.testing.simserver.consumers.outlet import Outlet
from jsproto.testing.simserver.consumers.record import Record
from jsproto.testing.simserver.streams.streams import SimStream
from jsproto.testing.simserver.values.documents import Table, integer, integers, text
from jsproto.testing.simserver.values.gotime import MILLISECOND
from jsproto.testing.simserver.values.profile import Profile

#: The server lets so much pass beyond ack_wait before it looks (nats-server ``ackWaitDelay``).
GRACE: Final = MILLISECOND
#: After a delayed nak the server looks again this soon, however late the redelivery is due.
_LOOK_SOON: Final = 10 * MILLISECOND


class Settling:
    """What a consumer has delivered, and what its clients say about it."""

    __slots__ = (
        "_ack_policy",
        "_ack_time",
        "_ack_wait",
        "_advisories",
        "_backoff",
        "_check_at",
        "_consumer_seq",
        "_cursor",
        "_delivered_time",
        "_ledger",
        "_max_ack_pending",
        "_max_deliver",
        "_outlet",
        "_profile",
        "_record",
        "_sampled",
        "config",
        "hears_acks",
        "name",
        "stream",
    )

    def __init__(
        self, name: str, config: Table, stream: SimStream, outlet: Outlet, profile: Profile
    ) -> None:
        self.name = name
        self.config = config
        self.stream = stream
        self._outlet = outlet
        self._profile = profile
        self._cursor = Cursor(stream, config, profile)
        passed = self._cursor.next_seq - 1
        self._ledger = DeliveryLedger(passed if profile.floor_at_start else 0)
        self._record = Record(passed, self._ledger.stream_floor)
        self._advisories = Advisories(stream.name, name, outlet.advise)
        self._consumer_seq = 1
        self._delivered_time = 0
        self._ack_time = 0
        self._check_at: int | None = None
        self._ack_policy = ""
        #: Acknowledgements reach somebody.
        self.hears_acks = False
        self._ack_wait = self._max_deliver = self._max_ack_pending = 0
        self._backoff: list[int] = []
        self._sampled = False
        self._settle_by(config)

    def _settle_by(self, config: Table) -> None:
        self.config = config
        self._ack_policy = text(config, "ack_policy")
        silent = {"flow_control"} if self._profile.answers_ack_none else {"flow_control", "none"}
        self.hears_acks = self._ack_policy not in silent
        self._ack_wait = integer(config, "ack_wait")
        self._max_deliver = integer(config, "max_deliver")
        self._max_ack_pending = integer(config, "max_ack_pending")
        self._backoff = integers(config, "backoff")
        # A frequency stays until there is another one.
        frequency = text(config, "sample_freq").removesuffix("%")
        self._sampled = int(frequency) > 0 if frequency.isdigit() else self._sampled

    @abstractmethod
    def turned(self, now: int) -> None:
        """Something may have changed: deliver what can be delivered."""

    @abstractmethod
    def pulled(self, body: bytes, reply: str, now: int) -> None:
        """Somebody asks for messages: by a request, or with an acknowledgement (``+NXT``)."""

    # ------------------------------------------------------------------------------------------------ delivered

    @property
    def _full(self) -> bool:
        """max_ack_pending deliveries wait for their acknowledgements."""
        return 0 < self._max_ack_pending <= len(self._ledger.outstanding)

    def _sent(self, seq: int, now: int) -> None:
        """A message was handed out."""
        consumer_seq = self._consumer_seq
        self._consumer_seq += 1
        self._delivered_time = now
        ledger = self._ledger
        self._record.sent(seq, consumer_seq, owed=self._ack_policy != "none")
        if self._ack_policy == "none":
            ledger.consumer_floor, ledger.stream_floor = consumer_seq, seq
            self.stream.acknowledged(seq, now)
            return
        ledger.sent(seq, consumer_seq, now)
        if self._ack_wait and (self._check_at is None or self._backoff):
            due = now + self._patience(seq) + GRACE
            self._check_at = due if self._check_at is None else min(self._check_at, due)

    def _patience(self, seq: int) -> int:
        """How long the present delivery of a message may go without an acknowledgement."""
        if not self._backoff:
            return self._ack_wait
        return self._backoff[min(self._ledger.again.get(seq, 0), len(self._backoff) - 1)]

    def owes(self, seq: int) -> bool:
        """Whether a delivery of this message waits for its acknowledgement."""
        return seq in self._ledger.outstanding

    # ------------------------------------------------------------------------------------------------ acknowledged

    def acked(self, address: AckAddress, payload: bytes, reply: str, now: int) -> None:
        """An acknowledgement came, of whatever meaning; with a ``reply`` it is answered, if the
        server answers it.
        """
        word = ack_word(payload, term_reason=self._profile.term_reason)
        if word is ACK:
            if self._sampled:
                self._sample(address, now)
            known, signal = self._done(address, now)
        else:
            known, signal = self._said(word, address, payload, now)
        if word is not ACK and word is AckWord.NEXT:
            # The one who asks for more comes before whoever waits for room.
            self.pulled(payload[len(b"+NXT") :], reply, now)
        elif reply and address.stream_seq > 0 and (known or self._profile.answers_undelivered):
            self._outlet.say(reply, None)
        if signal:
            self.turned(now)

    def _said(
        self, word: AckWord, address: AckAddress, payload: bytes, now: int
    ) -> tuple[bool, bool]:
        """What is no plain acknowledgement. Answers whether the server knows the delivery, and
        whether to look for messages.
        """
        if word is AckWord.NAK:
            return True, self._nak(address, payload, now)
        if word is AckWord.PROGRESS:
            outstanding = self._ledger.outstanding.get(address.stream_seq)
            if outstanding is not None:
                outstanding.time = now
            return True, False
        if word is AckWord.UNKNOWN:
            return True, False
        if word is AckWord.NEXT and self._sampled:
            self._sample(address, now)
        done = self._done(address, now)
        if word is AckWord.TERM:
            reason = payload[len(b"+TERM") :].strip().decode("utf-8", "replace")
            self._advisories.terminated(address, reason, now)
        return done

    def _done(self, address: AckAddress, now: int) -> tuple[bool, bool]:
        """Note one delivery as done. Answers whether the server knows it, and whether room was
        made.
        """
        ledger, seq = self._ledger, address.stream_seq
        if seq >= self._cursor.next_seq and seq not in ledger.outstanding:
            return False, False
        if self._ack_policy == "none":
            return True, False
        stalled = self._full
        if self._ack_policy == "explicit":
            outstanding = ledger.outstanding.get(seq)
            self._record.done(
                seq, outstanding.consumer_seq if outstanding else address.consumer_seq
            )
            ledger.done(seq, self._consumer_seq, self._cursor.next_seq)
            self._ack_time = now
            self.stream.acknowledged(seq, now)
            return True, stalled
        closed = ledger.done_to(seq, address.consumer_seq)
        if not closed:
            return True, False
        self._record.done_to(seq, address.consumer_seq)
        self._ack_time = now
        for each in closed:
            self.stream.acknowledged(each, now)
        return True, stalled

    def _nak(self, address: AckAddress, payload: bytes, now: int) -> bool:
        """Give a delivery back; answers whether it is due again at once."""
        ledger, seq = self._ledger, address.stream_seq
        outstanding = ledger.outstanding.get(seq)
        if (
            outstanding is None
            or not ledger.consumer_floor < address.consumer_seq < self._consumer_seq
        ):
            return False
        self._advisories.naked(address, now)
        delay = nak_delay(payload)
        if delay is None:
            ledger.due.setdefault(seq)
            return True
        ledger.due.pop(seq, None)
        outstanding.time = now - self._ack_wait + delay
        self._check_at = now + min(_LOOK_SOON, max(delay, 0))
        return False

    def _sample(self, address: AckAddress, now: int) -> None:
        if self._ack_policy == "explicit" and address.stream_seq in self._ledger.outstanding:
            message = self.stream.message(address.stream_seq)
            since = message.time if message is not None else self._delivered_time
            self._advisories.sampled(address, now - since, now)

    # ------------------------------------------------------------------------------------------------ overdue

    def _check(self, now: int) -> None:
        """Which acknowledgements are overdue; those are delivered again, or given up at
        max_deliver.
        """
        ledger = self._ledger
        # What has left the stream since, by its age or by a limit, is owed no more (nats-server
        # ``checkPending``).
        gone = [seq for seq in ledger.outstanding if seq < self.stream.first]
        if gone:
            ledger.purged(gone, max(gone) + 1)
        late, following = ledger.overdue(now, self._ack_wait, self._backoff)
        late = [seq for seq in late if not self._exhausted(seq, now)]
        if late:
            ledger.queue(late, now)
        self._check_at = now + following + GRACE if ledger.outstanding else None
        if late:
            self.turned(now)

    def _exhausted(self, seq: int, now: int) -> bool:
        count = self._ledger.again.get(seq, 0) + 1
        if not 0 < self._max_deliver <= count:
            return False
        self._exceeded(seq, count, now)
        return True

    def _exceeded(self, seq: int, count: int, now: int) -> None:
        """max_deliver is reached: the message is given up, an advisory says so, and there is room
        again.
        """
        ledger = self._ledger
        room = self._full
        if ledger.outstanding.pop(seq, None) is None:
            return
        self._record.given_up(seq)
        ledger.again[seq] = count - 1
        self._advisories.exceeded(seq, count, now)
        if room:
            self.turned(now)
