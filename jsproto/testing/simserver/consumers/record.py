"""What a server has written down of a consumer: how far it has delivered, and up to where all is
acknowledged.

A consumer keeps two accounts: the ledger, by which it works, and its store, which is what it tells
of itself (nats-server ``consumerMemStore``: ``UpdateDelivered``, ``UpdateAcks``). They part where
the consumer has passed messages that nobody wants, since only deliveries are written down. A purge
writes the ledger over the store, unless something would go back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class StoredPosition(NamedTuple):
    """A place in both numberings: that of the consumer and that of the stream."""

    consumer_seq: int
    stream_seq: int


class Record:
    """The written account of one consumer."""

    __slots__ = ("_consumer_floor", "_consumer_seq", "_owed", "_stream_floor", "_stream_seq")

    def __init__(self, delivered: int, floor: int) -> None:
        """Nothing is delivered yet, and what lies up to these sequences of the stream is passed."""
        self._consumer_seq = self._consumer_floor = 0
        self._stream_seq = delivered
        self._stream_floor = floor
        #: Deliveries that wait for their acknowledgement: consumer sequences by that of the stream,
        #: in its order.
        self._owed: dict[int, int] = {}

    @property
    def delivered(self) -> StoredPosition:
        """How far it has delivered."""
        return StoredPosition(self._consumer_seq, self._stream_seq)

    @property
    def floor(self) -> StoredPosition:
        """Up to where all is acknowledged."""
        return StoredPosition(self._consumer_floor, self._stream_floor)

    def sent(self, seq: int, consumer_seq: int, *, owed: bool) -> None:
        """A message was handed out, and is ``owed`` an acknowledgement or counts as having got it."""
        self._consumer_seq = max(self._consumer_seq, consumer_seq)
        if seq > self._stream_seq:
            self._stream_seq = seq
            if owed:
                self._owed[seq] = consumer_seq
        if not owed:
            self._consumer_floor, self._stream_floor = self._consumer_seq, self._stream_seq

    def done(self, seq: int, consumer_seq: int) -> None:
        """One delivery is acknowledged (policy explicit)."""
        if consumer_seq <= self._consumer_floor or seq not in self._owed:
            return
        consumer_seq = min(consumer_seq, self._owed.pop(seq))
        if not self._owed:
            self._consumer_floor, self._stream_floor = self._consumer_seq, self._stream_seq
        elif consumer_seq == self._consumer_floor + 1:
            self._consumer_floor, self._stream_floor = consumer_seq, seq
            for following, number in self._owed.items():
                if following > seq:
                    self._consumer_floor, self._stream_floor = number - 1, following - 1
                    break

    def done_to(self, seq: int, consumer_seq: int) -> None:
        """Everything up to a delivery is acknowledged (policy all)."""
        if consumer_seq <= self._consumer_floor or seq not in self._owed:
            return
        self._consumer_floor, self._stream_floor = consumer_seq, seq
        self._owed = {each: number for each, number in self._owed.items() if each > seq}

    def given_up(self, seq: int) -> None:
        """A message has been delivered as often as it may be."""
        self._owed.pop(seq, None)

    def replaced(
        self, delivered: StoredPosition, floor: StoredPosition, owed: Mapping[int, int]
    ) -> None:
        """Write this instead of all that was written, unless it contradicts itself or goes back."""
        sound = floor.consumer_seq <= delivered.consumer_seq and all(
            floor.stream_seq < seq <= delivered.stream_seq for seq in owed
        )
        older = delivered.consumer_seq < self._consumer_seq or floor.stream_seq < self._stream_floor
        if sound and floor.stream_seq <= delivered.stream_seq and not older:
            self._consumer_seq, self._stream_seq = delivered
            self._consumer_floor, self._stream_floor = floor
            self._owed = dict(sorted(owed.items()))
