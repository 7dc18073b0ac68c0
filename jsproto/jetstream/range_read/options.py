"""Which part of a stream is read, and how: checked before anything is sent.

Theory. A range is half open, ``[lo, hi)``, and its ends are sequences, so that reading it again
reads the same. There are two ways of reading. *By consumer* costs the server least, but a work
queue refuses a consumer that does not acknowledge (10084), and one that does would take messages
away from others. *Direct* needs no consumer; any replica answers, the stream must allow it, and the
server must know batches (2.11).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, final

from attrs import Factory, field, frozen

from jsproto.core.numbers import in_seconds, seconds
from jsproto.core.state import IdentityEnum
from jsproto.errors.tree import InvalidConfig
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.enums import AckPolicy
from jsproto.jetstream.api.requests.maintenance import sequence
from jsproto.jetstream.api.requests.manage import DEFAULT_TIMEOUT
from jsproto.jetstream.api.timestamps import Timestamp
from jsproto.jetstream.ordered.resume_point import StartPoint
from jsproto.jetstream.pull.consume_options import ConsumeOptions
from jsproto.jetstream.pull.request import checked_amount
from jsproto.wire.subjects import consumer_name, subscription_subject

#: Most messages asked for and at hand together, and their bytes as the server counts them.
MESSAGES: Final = 5000
BYTES: Final = 16 * 1024 * 1024
#: Seconds without progress after which a read fails.
PATIENCE: Final = 120.0
#: Seconds between heartbeats, and until the server ends a pull.
HEARTBEAT: Final = 5.0
EXPIRES: Final = 30.0
#: So long the server keeps a consumer that nobody reads: a killed reader leaves nothing for longer.
INACTIVE: Final = timedelta(seconds=60)


class ReadMode(IdentityEnum):
    """How a range is read."""

    #: By consumer; but directly on a work queue, or if no consumer may be made and direct gets are
    #: allowed.
    AUTO = "AUTO"
    #: By an ephemeral pull consumer.
    CONSUMER = "CONSUMER"
    #: By batches of direct gets.
    DIRECT = "DIRECT"


def _subjects(given: Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str):
        raise InvalidConfig(f"expected several subjects, got {given!r}")
    return tuple(subscription_subject(each) for each in given)


def _pulls(options: RangeOptions) -> ConsumeOptions:
    checked_amount("max_bytes", options.max_bytes)
    return ConsumeOptions(
        max_messages=options.max_messages,
        within_bytes=options.max_bytes,
        expires=EXPIRES,
        idle_heartbeat=HEARTBEAT,
    )


def _shared(options: RangeOptions) -> ConsumerConfig:
    """What all consumers of one reader share.

    Replicas are left out: the server then makes one for a stream with limits, and as many as the
    stream has where interest or a work queue demands it (consumer.go ``replicas``).
    """
    subjects = options.subjects
    one = len(subjects) == 1
    return ConsumerConfig(
        filter_subject=subjects[0] if one else None,
        filter_subjects=() if one else subjects,
        ack_policy=AckPolicy.NONE,
        max_deliver=1,
        mem_storage=True,
        headers_only=options.headers_only or None,
        inactive_threshold=INACTIVE,
    ).checked()


@final
@frozen(kw_only=True)
class RangeOptions:
    """What to read and how. Never changed by a reader.

    Attributes:
        lo: the first sequence.
        hi: the first sequence behind the range; it should be behind the last one of the stream by
            one at most.
        subjects: only messages of subjects that match one of these; none means all.
        way: how.
        created: when the stream was created, if it must be that very stream.
        fail_on_loss: whether lost messages end the read, or are only told.
        headers_only: whether a consumer sends no payloads, and their sizes as a last header
            ``Nats-Msg-Size``.
        max_messages: most messages asked for and at hand.
        max_bytes: most bytes asked for and at hand, as the server counts them.
        patience: seconds without progress after which it fails.
        create_timeout: seconds that one question waits for its answer.
        name_prefix: begins the names of the consumers.
        pulls: how consumers are asked.
        shared: what all consumers have in common.

    Raises:
        InvalidConfig: ends that are no range, bounds that cannot work.
        InvalidSubject: a subject or prefix that is none.
    """

    lo: int
    hi: int
    subjects: Sequence[str] = field(default=(), converter=_subjects)
    way: ReadMode = ReadMode.AUTO
    created: Timestamp | datetime | None = field(default=None)
    fail_on_loss: bool = True
    headers_only: bool = False
    max_messages: int = MESSAGES
    max_bytes: int = BYTES
    patience: float = field(default=PATIENCE, converter=in_seconds)
    create_timeout: float = field(default=DEFAULT_TIMEOUT, converter=in_seconds)
    name_prefix: str = ""
    pulls: ConsumeOptions = field(
        init=False, repr=False, eq=False, default=Factory(_pulls, takes_self=True)
    )
    shared: ConsumerConfig = field(
        init=False, repr=False, eq=False, default=Factory(_shared, takes_self=True)
    )

    def __attrs_post_init__(self) -> None:
        sequence("lo", self.lo)
        sequence("hi", self.hi)
        if self.hi < self.lo:
            raise InvalidConfig(f"expected hi at or behind lo {self.lo}, got {self.hi}")
        seconds("patience", self.patience, finite=True)
        seconds("create_timeout", self.create_timeout, finite=True)
        if self.created is not None:
            object.__setattr__(self, "created", Timestamp.of(self.created))
        if self.name_prefix:
            consumer_name(self.name_prefix)

    @property
    def start(self) -> StartPoint:
        """Where the first consumer begins."""
        return StartPoint.behind(self.lo - 1)
