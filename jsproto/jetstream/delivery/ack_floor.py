"""The floor of a consumer with ack policy all: an ack settles its message and every earlier one.

Theory. "Earlier" is by stream sequence, as the server counts (consumer.go ``processAckMsg``), so a
redelivered message lies below an ack of a newer one. The floor is the highest sequence acked here.
What was handed out above it is *pending*; when an ack lifts the floor, everything pending at or
below it is settled without a word on the wire, and a late delivery from below the floor is settled
already when it is handed out. A nak or term speaks for its own message only and moves nothing.

The server's own floor may be higher, by acks of others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heappush
from typing import ClassVar, Final

from jsproto.core.state import PLAIN, Codecs, Snapshot, Snapshottable
from jsproto.jetstream.delivery.ack import CUMULATIVE, OPEN, SETTLED, InvalidAckSubject
from jsproto.jetstream.delivery.in_progress import read, written
from jsproto.jetstream.delivery.message import JsMessage

_SLACK: Final = 64


class AckFloor(Snapshottable):
    """What was handed out and acked, of one feed.

    Attributes:
        stream_sequence: the highest that was acked, 0 before the first ack.
        consumer_sequence: that of the same delivery.
        acked: how many acks were said.
        covered: how many messages were settled by the ack of a later one.
    """

    __slots__ = (
        "_bound",
        "_count",
        "_pending",
        "acked",
        "consumer_sequence",
        "covered",
        "stream_sequence",
    )

    STATE: ClassVar[Codecs] = {
        "acked": PLAIN,
        "consumer_sequence": PLAIN,
        "covered": PLAIN,
        "stream_sequence": PLAIN,
    }

    def __init__(self) -> None:
        self.stream_sequence = 0
        self.consumer_sequence = 0
        self.acked = 0
        self.covered = 0
        # A heap by stream sequence; the number keeps messages of one sequence apart.
        self._pending: list[tuple[int, int, JsMessage]] = []
        self._count = 0
        self._bound = _SLACK

    def hand(self, message: JsMessage) -> None:
        """A message is in the user's hands now."""
        try:
            sequence = message.metadata.stream_sequence
        except InvalidAckSubject:
            message.said = OPEN  # nobody knows what is before it
            return
        if sequence <= self.stream_sequence:
            message.said = SETTLED
            self.covered += 1
            return
        self._count += 1
        heappush(self._pending, (sequence, self._count, message))
        if len(self._pending) > self._bound:
            self._keep(
                (at, message) for _, at, message in self._pending if message.said is not SETTLED
            )

    def ack(self, message: JsMessage) -> None:
        """A message was acked: so is everything before it."""
        self.acked += 1
        sequence = message.metadata.stream_sequence
        if sequence > self.stream_sequence:
            self.stream_sequence = sequence
            self.consumer_sequence = message.metadata.consumer_sequence
        pending = self._pending
        while pending and pending[0][0] <= self.stream_sequence:
            _, _, each = heappop(pending)
            if each.said is CUMULATIVE:
                each.said = SETTLED
                self.covered += 1

    @property
    def pending(self) -> tuple[JsMessage, ...]:
        """What is above the floor and not settled, by stream sequence."""
        return tuple(each for _, _, each in sorted(self._pending) if each.said is not SETTLED)

    # ------------------------------------------------------------------ state

    def snapshot(self) -> Snapshot:
        """The floor, and the messages above it with their states."""
        return {
            **super().snapshot(),
            "pending": written(each for _, _, each in sorted(self._pending)),
        }

    def restore(self, data: Mapping[str, object]) -> None:
        """Put back what `snapshot` gave. The messages are new ones, to be found in `pending`."""
        super().restore(data)
        messages = read(data["pending"])
        self._count = len(messages)
        self._keep(enumerate(messages, 1))

    def adopt(self, held: Mapping[str, JsMessage]) -> None:
        """Use these objects, by reply subject, for the same deliveries."""
        self._keep((at, held.get(each.reply, each)) for _, at, each in self._pending)

    def _keep(self, messages: Iterable[tuple[int, JsMessage]]) -> None:
        self._pending = [(each.metadata.stream_sequence, at, each) for at, each in messages]
        heapify(self._pending)
        self._bound = 2 * len(self._pending) + _SLACK
