"""Where the reader of an ordered consumer is, and from where the next incarnation must read
(ADR-17, INVARIANTS 35 and 37).

Theory. The position only moves forward, by messages received in order. What was received is at hand
for the user whatever happens next, so the next incarnation starts behind it, with exactly one start
field (B067, B088):

    something was received in order     by sequence, last + 1
    nothing was, and the policy is
      new, last                         where the first incarnation began, its anchor, as its create
      reply shows it (B086) anything else                     as the user said (B068)

``last_per_subject`` is special while its first values are still coming: behind the last of them by
sequence there are also values that were replaced since. So it starts anew with the same policy, and
what was seen already is left out by its sequence, which never falls (B226).

Caught up is who has received everything that was there at the creation (B220). What else is stored
meanwhile must not matter, or a writer that never pauses would put the end off for ever:

    as many messages came as the create reply counted     all of them came, or those that did not
    are gone
    the same with ``last_per_subject``                    no proof, since a value that was replaced
        comes later: `ResumePoint.unsure`
    a pull waits, or a pushed reader hears a heartbeat    the server has nothing more: what is
        missing was deleted

A message that says "none is left" is no proof: servers were seen to say so and go on. Each
incarnation counts anew from where the reader is, so a reset puts the end off by what was stored
until then and by no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple, cast

from jsproto.core.state import PLAIN, Codecs, Snapshottable
from jsproto.jetstream.api.config.consumer import ConsumerConfig, ConsumerInfo
from jsproto.jetstream.api.config.enums import DeliverPolicy
from jsproto.jetstream.api.timestamps import Timestamp
from jsproto.jetstream.delivery.ack import AckSubject


class StartPoint(NamedTuple):
    """Where an incarnation begins: a policy with its one field.

    Attributes:
        policy: in the server's words.
        sequence: for ``by_start_sequence``.
        time_ns: for ``by_start_time``, nanoseconds since 1970.
    """

    policy: str
    sequence: int | None = None
    time_ns: int | None = None

    @classmethod
    def behind(cls, sequence: int) -> StartPoint:
        """Behind a stream sequence."""
        return cls(DeliverPolicy.BY_START_SEQUENCE.value, sequence + 1)

    @classmethod
    def of(cls, config: ConsumerConfig) -> StartPoint:
        """As a configuration says."""
        moment = config.opt_start_time
        return cls(
            str(config.deliver_policy or DeliverPolicy.ALL),
            config.opt_start_seq,
            None if moment is None else Timestamp.of(moment).ns,
        )

    def into(self, config: ConsumerConfig, name: str) -> ConsumerConfig:
        """The configuration of one incarnation: nothing but its name and its start is replaced
        (B067, B085).
        """
        return config.evolve(
            name=name,
            deliver_policy=self.policy,
            opt_start_seq=self.sequence,
            opt_start_time=None if self.time_ns is None else Timestamp(self.time_ns),
        )


def anchor_of(info: ConsumerInfo, policy: str) -> StartPoint | None:
    """Where a consumer that starts by itself has begun, as its create reply shows it; ``None`` if
    its policy says it all.

    ``new`` and ``last`` mean another place each time they are asked for (B086). The reply says what
    lies before the first delivery; where that is nothing, the stream was empty, and the moment of
    creation is as good.
    """
    if policy not in {DeliverPolicy.NEW, DeliverPolicy.LAST}:
        return None
    if info.delivered.stream_seq and not info.delivered.consumer_seq:
        return StartPoint.behind(info.delivered.stream_seq)
    if info.created is None or (policy == DeliverPolicy.LAST and info.num_pending):
        return None
    return StartPoint(DeliverPolicy.BY_START_TIME.value, None, info.created.ns)


class ResumePoint(Snapshottable):
    """The one reader's place in the stream.

    Args:
        original: where the user wants to begin.

    Attributes:
        last: stream sequence of the last message received in order, 0 before the first.
        caught_up: everything that was there at a creation has been received; never taken back.
    """

    __slots__ = (
        "_anchor",
        "_created",
        "_due",
        "_got",
        "_left",
        "_mark",
        "_newest",
        "_original",
        "caught_up",
        "last",
    )

    STATE: ClassVar[Codecs] = {
        "_anchor": PLAIN,
        "_created": PLAIN,
        "_due": PLAIN,
        "_got": PLAIN,
        "_left": PLAIN,
        "_mark": PLAIN,
        "caught_up": PLAIN,
        "last": PLAIN,
    }

    def __init__(self, original: StartPoint) -> None:
        self._original = original
        self._newest = original.policy == DeliverPolicy.LAST_PER_SUBJECT
        self._anchor: StartPoint | None = None
        # Whether there was an incarnation; then of the present one: how many messages it was to
        # bring at least (below 0: not known yet), how many it brought, and how many the last of
        # them left.
        self._created = False
        self._due = -1
        self._got = 0
        self._left = 0
        # How many messages must have come until all has come that lay ahead at the first doubt; 0
        # before that.
        self._mark = 0
        self.last = 0
        self.caught_up = False

    def resume(self) -> StartPoint:
        """Where the next incarnation starts."""
        if self.last and not (self._newest and not self.caught_up):
            return StartPoint.behind(self.last)
        return self._anchor or self._original

    def asked(self) -> None:
        """An incarnation is asked for."""
        self._due = -1
        self._got = self._left = self._mark = 0

    def created(self, info: ConsumerInfo) -> bool:
        """The server made an incarnation. True if that shows that the reader is caught up."""
        if not self._created:
            self._created = True
            self._anchor = anchor_of(info, self._original.policy)
        # A push consumer may have delivered before it is answered.
        self._due = info.delivered.consumer_seq + info.num_pending
        return self._judge()

    def received(self, ack: AckSubject) -> bool:
        """Messages up to this one were received in order. True if the reader is caught up by it."""
        self.last = max(self.last, ack.stream_sequence)
        self._got = ack.consumer_sequence
        self._left = ack.num_pending
        return self._judge()

    def quiet(self) -> bool:
        """The server waits for something to deliver. True if the reader is caught up by it."""
        caught_up, self.caught_up = self.caught_up, True
        return not caught_up

    @property
    def ahead(self) -> int:
        """So many messages will complete what was counted; 0 if that is not known, or they have
        come.
        """
        return max(0, self._due - self._got)

    @property
    def unsure(self) -> bool:
        """All that was counted has come, but other values may have come in the place of some that
        were replaced.
        """
        return not self.caught_up and 0 <= self._due <= self._got

    def seems_caught_up(self, subjects: int) -> bool:
        """It is `unsure`. Whether nothing speaks against it: none is left, and as many subjects
        came as were counted.
        """
        return not self._left and subjects >= self._due

    def passed(self) -> bool:
        """It is `unsure`. Whether as much has come since the first doubt as lay ahead then."""
        self._mark = self._mark or self._got + self._left
        return self._got >= self._mark

    def settled(self) -> None:
        """It is known from elsewhere that the reader is caught up."""
        self.caught_up = True

    def _judge(self) -> bool:
        if self.unsure and not (self._newest and self._due):
            self.caught_up = True
            return True
        return False

    def restore(self, data: Mapping[str, object]) -> None:
        """Put back what `snapshot` gave."""
        super().restore(data)
        if self._anchor is not None:
            self._anchor = StartPoint(*cast("tuple[str, int | None, int | None]", self._anchor))
