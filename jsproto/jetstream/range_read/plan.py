"""A range of a stream in parts of about equal size, and how they are best read: arithmetic over one
STREAM.INFO.

Theory. What is planned once is read later, elsewhere and perhaps again, so a plan is plain data:
`RangeFacts`, what the leader said of the stream at that time, and the parts, each half open. What
was not there then is in no part. Parts have equal widths in sequences; where messages were deleted
they hold less.
"""

from __future__ import annotations

from itertools import pairwise
from typing import final

from attrs import frozen

from jsproto.core.numbers import check_number
from jsproto.errors.tree import InvalidConfig
from jsproto.jetstream.api.config.enums import RetentionPolicy
from jsproto.jetstream.api.config.stream import StreamInfo
from jsproto.jetstream.api.requests.maintenance import sequence
from jsproto.jetstream.api.timestamps import Timestamp
from jsproto.jetstream.range_read.options import ReadMode


@final
@frozen(kw_only=True)
class RangeFacts:
    """What the leader said of a stream.

    Attributes:
        stream: its name.
        created: when it was created: the same name may be another stream later.
        first_seq: its first message; behind ``last_seq`` if it is empty.
        last_seq: its last sequence, 0 if it never had one.
        messages: how many it holds.
        bytes: how many bytes they are.
        retention: when it lets go of a message, in the server's words.
        replicas: how many servers hold it.
        allow_direct: whether direct gets are answered. A mirror's ``mirror_direct`` says nothing of
            that: it answers those for its origin (stream.go ``subscribeToMirrorDirect``).
        mirror: whether it is the mirror of another stream.
        compacts: whether it keeps only the newest messages of each subject: then its beginning also
            moves over values that were replaced.
    """

    stream: str
    created: Timestamp | None
    first_seq: int
    last_seq: int
    messages: int
    bytes: int
    retention: str
    replicas: int
    allow_direct: bool
    mirror: bool
    compacts: bool

    @classmethod
    def of(cls, info: StreamInfo) -> RangeFacts:
        """As a STREAM.INFO says."""
        config, state = info.config, info.state
        return cls(
            stream=config.name,
            created=info.created,
            first_seq=state.first_seq if state.messages else state.last_seq + 1,
            last_seq=state.last_seq,
            messages=state.messages,
            bytes=state.bytes,
            retention=str(config.retention or RetentionPolicy.LIMITS),
            replicas=config.num_replicas or 1,
            allow_direct=bool(config.allow_direct),
            mirror=config.mirror is not None,
            compacts=(config.max_msgs_per_subject or 0) > 0,
        )

    @property
    def workqueue(self) -> bool:
        """Each message is for one consumer, and one that acknowledges nothing is refused (10084)."""
        return self.retention == RetentionPolicy.WORKQUEUE

    def way(self, wished: ReadMode = ReadMode.AUTO) -> ReadMode:
        """How it is best read, or as wished, if that can be.

        Raises:
            InvalidConfig: a work queue by consumer, which its server refuses (10084), or a stream
                directly that does not allow it.
        """
        if wished is ReadMode.CONSUMER and self.workqueue:
            raise InvalidConfig(
                f"expected way DIRECT for the work queue {self.stream}: a consumer that acknowledges nothing is refused (10084)"
            )
        direct = wished is ReadMode.DIRECT or self.workqueue
        if direct and not self.allow_direct:
            raise InvalidConfig(
                f"expected stream {self.stream} to allow direct gets (allow_direct), it does not"
            )
        return ReadMode.DIRECT if direct else ReadMode.CONSUMER


@final
@frozen
class RangePart:
    """The sequences from ``lo`` on that are before ``hi``."""

    lo: int
    hi: int

    def __len__(self) -> int:
        return self.hi - self.lo


@final
@frozen(kw_only=True)
class RangePlan:
    """What to read.

    Attributes:
        facts: of the stream.
        way: how, never `ReadMode.AUTO`.
        parts: in order, side by side, none of them empty; none at all if there is nothing to read.
    """

    facts: RangeFacts
    way: ReadMode
    parts: tuple[RangePart, ...]

    @property
    def lo(self) -> int:
        """The first sequence; that behind the stream's end if there is nothing to read."""
        return self.parts[0].lo if self.parts else self.facts.last_seq + 1

    @property
    def hi(self) -> int:
        """The first sequence behind all parts."""
        return self.parts[-1].hi if self.parts else self.lo


def plan_of(
    facts: RangeFacts,
    *,
    lo: int | None = None,
    hi: int | None = None,
    partitions: int = 1,
    max_messages: int = 0,
    way: ReadMode = ReadMode.AUTO,
) -> RangePlan:
    """Split a range of a stream.

    Args:
        facts: of the stream.
        lo: from this sequence on; its first if left out, and never before that.
        hi: up to this one, exclusive; behind its last if left out, and never behind that.
        partitions: at least so many parts, as far as there are sequences.
        max_messages: at most so many sequences in one part; 0 for no bound.
        way: how to read.

    Raises:
        InvalidConfig: numbers that are none, or a way that the stream does not allow.
    """
    sequence("lo", lo)
    sequence("hi", hi)
    sequence("partitions", partitions)
    check_number("max_messages", max_messages, (int,))
    first = max(facts.first_seq, lo or 1)
    end = min(facts.last_seq + 1, facts.last_seq + 1 if hi is None else hi)
    width = max(0, end - first)
    count = max(partitions, -(-width // max_messages) if max_messages else 1)
    return RangePlan(facts=facts, way=facts.way(way), parts=split(first, end, count))


def split(lo: int, hi: int, count: int) -> tuple[RangePart, ...]:
    """``[lo, hi)`` in ``count`` parts whose widths differ by one at most; fewer if there are not so
    many sequences.
    """
    width = max(0, hi - lo)
    count = min(count, width)
    edges = [lo + width * at // count for at in range(count + 1)] if count else []
    return tuple(RangePart(*each) for each in pairwise(edges))
