"""Which of the messages that came are the next ones in order, and were not seen before.

Theory. A run of messages of one incarnation is judged by its two ends: if the first is the one that
is expected, and the numbers between first and last are as many as the messages, nothing is missing.
Only where that fails one must look at each of them: up to a gap everything still counts, what lies
behind it will come again.

A frame without a consumer's reply subject, or with that of another consumer, is nobody's. A message
whose stream sequence was seen already is a repetition: it counts for the consumer, but not for the
reader.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from jsproto.core.state import PART, PLAIN, Codecs, Snapshottable
from jsproto.jetstream.delivery.ack import AckSubject, InvalidAckSubject
from jsproto.jetstream.gaps import Gap, GapDetector
from jsproto.wire.frames import REPLY, Delivery


class SequenceCheckResult(NamedTuple):
    """What a run holds.

    Attributes:
        fresh: messages for the reader.
        repeated: messages that he has seen.
        strays: how many were nobody's, or lie behind a gap.
        last: the last that was in order, ``None`` if none was.
        gap: what is missing, ``None`` if nothing is.
    """

    fresh: list[Delivery]
    repeated: list[Delivery]
    strays: int
    last: AckSubject | None
    gap: Gap | None


class SequenceCheck(Snapshottable):
    """The expectation of one incarnation at a time.

    Attributes:
        consumer: the name of the incarnation.
        guard: the next consumer sequence.
    """

    __slots__ = ("consumer", "guard")

    STATE: ClassVar[Codecs] = {"consumer": PLAIN, "guard": PART}

    def __init__(self) -> None:
        self.consumer = ""
        self.guard = GapDetector(1)

    def restart(self, consumer: str) -> None:
        """A new incarnation: its first delivery is number 1 (B079)."""
        self.consumer = consumer
        self.guard.restart(1)

    def judge(self, run: list[Delivery], seen: int) -> SequenceCheckResult:
        """What is in a run of messages, when everything up to the stream sequence ``seen`` is
        known.
        """
        try:
            last = AckSubject.parse(run[-1][REPLY])
            first = last if len(run) == 1 else AckSubject.parse(run[0][REPLY])
        except InvalidAckSubject:
            return self._one_by_one(run, seen)
        sequence = first.consumer_sequence
        if (
            sequence != self.guard.expected
            or last.consumer_sequence - sequence + 1 != len(run)
            or first.stream_sequence <= seen
            or first.consumer != self.consumer
            or last.consumer != self.consumer
        ):
            return self._one_by_one(run, seen)
        self.guard.restart(last.consumer_sequence + 1)
        return SequenceCheckResult(run, [], 0, last, None)

    def _one_by_one(self, run: list[Delivery], seen: int) -> SequenceCheckResult:
        fresh: list[Delivery] = []
        repeated: list[Delivery] = []
        last: AckSubject | None = None
        for frame in run:
            ack = self._of_ours(frame)
            if ack is None:
                continue
            gap = self.guard.run(ack.consumer_sequence, ack.consumer_sequence, 1)
            if gap is not None:
                return SequenceCheckResult(
                    fresh, repeated, len(run) - len(fresh) - len(repeated), last, gap
                )
            last = ack
            if ack.stream_sequence > seen:
                seen = ack.stream_sequence
                fresh.append(frame)
            else:
                repeated.append(frame)
        return SequenceCheckResult(
            fresh, repeated, len(run) - len(fresh) - len(repeated), last, None
        )

    def _of_ours(self, frame: Delivery) -> AckSubject | None:
        try:
            ack = AckSubject.parse(frame[REPLY])
        except InvalidAckSubject:
            return None
        return ack if ack.consumer == self.consumer else None
