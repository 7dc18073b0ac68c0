"""What a server has written down of a consumer: how far it has delivered, and up to where all is acknowledged.

A consumer keeps two accounts: the ledger, by which it works, and its store, which is what it tells of itself (nats-server
``consumerMemStore``: ``UpdateDelivered``, ``UpdateAcks``). They part where the consumer has passed messages that nobody
wants, since only deliveries are written down. A purge writes the ledger over the store, unless something would go back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Position(NamedTuple):
    """A place in both numberings: that of the consumer and that of the stream."""

    consumer_seq: int
    stream_seq: int


class Record:
    """The written account of one consumer."""

    __slots__ = ("_owed", "delivered", "floor")

    def __init__(self, delivered: int, floor: int) -> None:
        """Nothing is delivered yet, and what lies up to these sequences of the stream is passed."""
        self.delivered = Position(0, delivered)
        self.floor = Position(0, floor)
        #: Deliveries that wait for their acknowledgement: consumer sequences by that of the stream, in its order.
        self._owed: dict[int, int] = {}

    def sent(self, seq: int, consumer_seq: int, *, owed: bool) -> None:
        """A message was handed out, and is ``owed`` an acknowledgement or counts as having got it."""
        before = self.delivered
        self.delivered = Position(max(before.consumer_seq, consumer_seq), max(before.stream_seq, seq))
        if not owed:
            self.floor = self.delivered
        elif seq > before.stream_seq:
            self._owed[seq] = consumer_seq

    def done(self, seq: int, consumer_seq: int) -> None:
        """One delivery is acknowledged (policy explicit)."""
        if consumer_seq <= self.floor.consumer_seq or seq not in self._owed:
            return
        consumer_seq = min(consumer_seq, self._owed.pop(seq))
        if not self._owed:
            self.floor = self.delivered
        elif consumer_seq == self.floor.consumer_seq + 1:
            for following, number in self._owed.items():
                if following > seq:
                    self.floor = Position(number - 1, following - 1)
                    break
            else:
                self.floor = Position(consumer_seq, seq)

    def done_to(self, seq: int, consumer_seq: int) -> None:
        """Everything up to a delivery is acknowledged (policy all)."""
        if consumer_seq <= self.floor.consumer_seq or seq not in self._owed:
            return
        self.floor = Position(consumer_seq, seq)
        self._owed = {each: number for each, number in self._owed.items() if each > seq}

    def given_up(self, seq: int) -> None:
        """A message has been delivered as often as it may be."""
        self._owed.pop(seq, None)

    def replaced(self, delivered: Position, floor: Position, owed: Mapping[int, int]) -> None:
        """Write this instead of all that was written, unless it contradicts itself or goes back."""
        sound = floor.consumer_seq <= delivered.consumer_seq and all(
            floor.stream_seq < seq <= delivered.stream_seq for seq in owed
        )
        older = (
            delivered.consumer_seq < self.delivered.consumer_seq or floor.stream_seq < self.floor.stream_seq
        )
        if sound and floor.stream_seq <= delivered.stream_seq and not older:
            self.delivered, self.floor, self._owed = delivered, floor, dict(sorted(owed.items()))
