"""What a consumer has handed out and not got back: outstanding deliveries, their floors, and what
is due again.

Floors are the numbers below which everything is done, once by consumer and once by stream sequence
(nats-server ``processAckMsg``). A delivery is due again when it is given back or overdue; `overdue`
finds the latter the way the server does, including the lists of ``backoff``, and tells when to look
again (``checkPending``).
"""

from __future__ import annotations


class Outstanding:
    """A delivery that waits for its acknowledgement.

    Attributes:
        consumer_seq: the consumer sequence of its first delivery.
        time: from when on its acknowledgement is waited for, in nanoseconds; a delayed nak or
            ``+WPI`` moves it.
        sent: when it last went out, in nanoseconds; nothing moves that.
    """

    __slots__ = ("consumer_seq", "sent", "time")

    def __init__(self, consumer_seq: int, time: int) -> None:
        self.consumer_seq = consumer_seq
        self.time = self.sent = time


class DeliveryLedger:
    """Deliveries of one consumer, by stream sequence."""

    __slots__ = ("again", "consumer_floor", "due", "outstanding", "stream_floor")

    def __init__(self, stream_floor: int) -> None:
        self.outstanding: dict[int, Outstanding] = {}
        #: How often a message was delivered again.
        self.again: dict[int, int] = {}
        #: What is to be delivered again, in this order.
        self.due: dict[int, None] = {}
        self.consumer_floor: int = 0
        self.stream_floor = stream_floor

    def sent(self, seq: int, consumer_seq: int, now: int) -> None:
        """A message was handed out, for the first time or again (it keeps its first consumer
        sequence).
        """
        known = self.outstanding.get(seq)
        if known is not None:
            known.time = known.sent = now
        else:
            self.outstanding[seq] = Outstanding(consumer_seq, now)

    def forget(self, seq: int) -> None:
        """A message is done with."""
        self.outstanding.pop(seq, None)
        self.again.pop(seq, None)
        self.due.pop(seq, None)

    def done(self, seq: int, next_consumer: int, next_stream: int) -> None:
        """One delivery is acknowledged (policy explicit); ``next_*``: the sequences that will be
        handed out next.
        """
        outstanding = self.outstanding.pop(seq, None)
        self.again.pop(seq, None)
        self.due.pop(seq, None)
        if outstanding is None:
            return
        consumer_seq = outstanding.consumer_seq
        if not self.outstanding:
            self.consumer_floor, self.stream_floor = next_consumer - 1, next_stream - 1
        elif consumer_seq == self.consumer_floor + 1:
            self.consumer_floor, self.stream_floor = consumer_seq, seq
            for following in range(seq + 1, next_stream):
                if following in self.outstanding:
                    self.consumer_floor = self.outstanding[following].consumer_seq - 1
                    self.stream_floor = following - 1
                    break

    def done_to(self, seq: int, consumer_seq: int) -> range:
        """Everything up to a delivery is acknowledged (policy all); answers the stream sequences
        that this closes.
        """
        if consumer_seq <= self.consumer_floor or seq <= self.stream_floor:
            return range(0)
        closed = range(self.stream_floor + 1, seq + 1)
        self.consumer_floor, self.stream_floor = consumer_seq, seq
        for each in [one for one in (*self.outstanding, *self.again) if one <= seq]:
            self.forget(each)
        return closed

    def purged(self, gone: list[int], first: int) -> None:
        """Messages left the stream, which begins at ``first`` now: they are owed no more."""
        self.stream_floor = first - 1
        for seq in gone:
            self.consumer_floor = max(self.consumer_floor, self.outstanding[seq].consumer_seq)
            self.forget(seq)

    def overdue(self, now: int, wait: int, backoff: list[int]) -> tuple[list[int], int]:
        """Deliveries whose time (``wait`` or a step of ``backoff``, in nanoseconds) is up, and how
        long until the next look.
        """
        following = backoff[-1] if backoff else wait
        late: list[int] = []
        for seq, outstanding in self.outstanding.items():
            if backoff:
                at = self.again.get(seq, 0)
                wait = backoff[min(at, len(backoff) - 1)]
                following = min(following, backoff[min(at + 1, len(backoff) - 1)])
            elapsed = now - outstanding.time
            if elapsed < wait:
                following = min(following, wait - elapsed)
            elif seq not in self.due:
                late.append(seq)
        return sorted(late), following

    def queue(self, late: list[int], now: int) -> None:
        """Put overdue deliveries in line, and start their time anew so that their order stays."""
        shift = now - self.outstanding[late[0]].time
        for seq in late:
            self.outstanding[seq].time += shift
            self.due[seq] = None
