"""Reading a range by consumer: an ephemeral one that acknowledges nothing, and another one when
that is lost.

Theory. The parts are those of an ordered consumer: `EphemeralConsumer` makes a consumer with a name
of its own that starts behind the position, `PullSource` asks it for what there is room for,
`SequenceCheck` sees from its numbering whether a message is missing, `ConsumerCleanup` deletes it.
What is special to a range: never is more asked for than can lie between the position and the end,
messages behind the end are dropped, and a message that says that none is left, or a pull that
waits, is told as `QUIET`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import ClassVar, Final, cast

from jsproto.core.conversation.conversation import Port
from jsproto.core.pubsub.frame_queue import FrameQueue
from jsproto.core.state import PART, PLAIN, Codecs
from jsproto.errors.tree import JsprotoError
from jsproto.jetstream.api.config.consumer import ConsumerInfo
from jsproto.jetstream.api.errors import ConfigIgnored
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.delivery.ack import AckSubject, InvalidAckSubject
from jsproto.jetstream.errors import HeartbeatsMissed
from jsproto.jetstream.gaps import sequence_of
from jsproto.jetstream.ordered.cleanup import ConsumerCleanup
from jsproto.jetstream.ordered.ephemeral import EphemeralConfig, EphemeralConsumer
from jsproto.jetstream.ordered.pull_source import PullSource
from jsproto.jetstream.ordered.resume_point import StartPoint
from jsproto.jetstream.ordered.sequence_check import SequenceCheck
from jsproto.jetstream.ordered.states import NOTHING_LEFT, UNKNOWN_OUTCOME
from jsproto.jetstream.range_read.options import RangeOptions
from jsproto.jetstream.range_read.progress import RangeProgress
from jsproto.jetstream.range_read.rows import DeliveredRows
from jsproto.jetstream.range_read.source import RangeSource, SourceEvent
from jsproto.jetstream.range_read.states import FATAL
from jsproto.jetstream.status import EndReason, StatusAction, StatusRow, judge, pull_error
from jsproto.wire.frames import BLOCK, REPLY, SID, Delivery
from jsproto.wire.headers import status_of

#: What it means for the reader that a consumer serves us no more: another one would fare better at
#: once, or none would.
_KINDS: Final = {
    StatusAction.DELETED: SourceEvent.GONE,
    StatusAction.RESET: SourceEvent.GONE,
    StatusAction.FATAL: SourceEvent.FATAL,
}


class ConsumerSource(RangeSource):
    """A row of ephemeral pull consumers.

    Attributes:
        incarnation: the present one.
        order: what its next message is.
        pulls: what was asked of it.
        leftovers: what is to be deleted.
        reading: the present one is there and can be asked.
        over: something of it is lost; nothing of it counts any more.
    """

    __slots__ = (
        "_api",
        "_stream",
        "_subjects",
        "incarnation",
        "leftovers",
        "order",
        "over",
        "pulls",
        "reading",
    )

    STATE: ClassVar[Codecs] = {
        **RangeSource.STATE,
        "incarnation": PART,
        "leftovers": PART,
        "order": PART,
        "over": PLAIN,
        "pulls": PART,
        "reading": PLAIN,
    }

    rows = DeliveredRows

    def __init__(
        self, api: ApiSubjects, stream: str, options: RangeOptions, track: RangeProgress
    ) -> None:
        super().__init__(track)
        self._api = api
        self._stream = stream
        self._subjects = options.subjects
        self.order = SequenceCheck()
        self.incarnation = EphemeralConsumer(
            api, stream, cast("EphemeralConfig", options)
        )  # cast: pyright takes a field with a converter for a descriptor
        self.pulls = PullSource(FrameQueue(), options.pulls)
        self.leftovers = ConsumerCleanup(api, stream, options.create_timeout)
        self.reading = False
        self.over = False

    # ------------------------------------------------------------------ life

    def begin(self, port: Port, now: float) -> None:
        """Make a consumer that starts behind the position."""
        self.incarnation.inbox(port, literal=False)
        self.order.restart(self.incarnation.name)
        self.over = False
        self.incarnation.ask(port, StartPoint.behind(self.track.last), "", now)
        self._answered(port, now)

    def again(self, port: Port, now: float) -> None:
        """A pull waits all the time: what comes, comes by itself."""
        self.happened.append((SourceEvent.QUIET, None))

    def leave(self, port: Port, now: float) -> None:
        """The present one is not needed any more."""
        if self.reading:
            self.reading = False
            self.pulls.void(EndReason.RESET)
            self.leftovers.add(self.incarnation.name, port, now)
        elif self.incarnation.script is not None:
            self.incarnation.script = None
            self.leftovers.add(self.incarnation.name, port, now)

    def flush(self, port: Port, now: float) -> None:
        """Ask for all deletions at once."""
        self.leftovers.flush(port)

    # ------------------------------------------------------------------ the creation

    def replied(self, token: int, frame: Delivery, port: Port, now: float) -> None:
        """An answer to a creation or a deletion; or a late one, whose consumer must go (B083)."""
        create = self.incarnation.script
        if create is not None:
            create.replied(port, token, frame, now)
            if self._answered(port, now):
                return
        if not self.leftovers.replied(port, token, frame, now):
            name = self.incarnation.late(frame)
            if name and (name != self.incarnation.name or not self.reading):
                self.leftovers.add(name, port, now)

    def _answered(self, port: Port, now: float) -> bool:
        """Whether the creation is over, well or not."""
        outcome = self.incarnation.outcome(now)
        if isinstance(outcome, ConsumerInfo):
            self.reading = True
            several = len(self._subjects) > 1 and not self.incarnation.filter
            if several and set(outcome.config.filter_subjects) != set(self._subjects):
                text = f"expected a consumer of stream {self._stream} with {len(self._subjects)} filters"
                said = f"{text}, the server has left them out: it knows several since 2.10"
                self._lost(ConfigIgnored(said, ("filter_subjects",)), SourceEvent.FATAL)
                return True
            if self.incarnation.unsound(outcome):
                self.leave(port, now)
                self.begin(port, now)
                return True
            self.pulls.begin(self._api.consumer_msg_next(self._stream, outcome.name), now)
            self._ask(port, now)
            if not outcome.num_pending:
                self.happened.append((SourceEvent.QUIET, None))
        elif outcome is not None:
            if isinstance(outcome, UNKNOWN_OUTCOME):
                self.leftovers.add(self.incarnation.name, port, now)
            fatal = isinstance(outcome, FATAL)
            self.happened.append((SourceEvent.FATAL if fatal else SourceEvent.LOST, outcome))
        return outcome is not None

    def _ask(self, port: Port, now: float) -> None:
        if self.reading and not self.over:
            self.pulls.limit(self.track.left)
            self.pulls.ask(port, now)

    # ------------------------------------------------------------------ messages

    def delivered(self, run: Sequence[Delivery], port: Port, now: float, *, closed: bool) -> None:
        """Messages and statuses of one sid, in order. Those of an earlier consumer change nothing
        (B073).
        """
        if closed or not self.reading or run[0][SID] != port.sid:
            self.strays += len(run)
            return
        data: list[Delivery] = []
        for frame in run:
            if frame[REPLY]:
                data.append(frame)
                continue
            if data:
                self._received(data, port, now)
                data = []
            self._said(frame, port, now)
        if data:
            self._received(data, port, now)

    def _received(self, data: list[Delivery], port: Port, now: float) -> None:
        if self.over:
            self.strays += len(data)
            return
        track = self.track
        fresh, repeated, strays, last, gap = self.order.judge(data, track.last)
        self.strays += strays
        if repeated:
            self.pulls.received(repeated)
            self.pulls.taken(repeated)
        if last is not None:
            self.pulls.liveness.seen(now)
        if fresh and last is not None:
            self.pulls.received(fresh)
            self._keep(fresh, last)
        if gap is not None:
            self._lost(None)
            return
        if last is not None and not last.num_pending and not track.complete:
            self.happened.append((SourceEvent.QUIET, None))
        if self.pulls.lead.wanting:
            self._ask(port, now)

    def _keep(self, fresh: list[Delivery], last: AckSubject) -> None:
        """Messages for the reader, up to the end of the range."""
        track = self.track
        passed = last.stream_sequence >= track.hi
        if passed:
            inside = bisect_left(fresh, track.hi, key=_sequence)
            self.pulls.taken(fresh[inside:])
            fresh = fresh[:inside]
        if fresh:
            end = _sequence(fresh[-1]) if passed else last.stream_sequence
            track.received(_sequence(fresh[0]), end, len(fresh), _sequences(fresh))
            ours, others = self.incarnation.wanted(fresh)
            self.pulls.taken(others)
            self.happened.append((SourceEvent.ROWS, ours))
        if passed:
            track.passed()

    def taken(self, frames: Sequence[Delivery], port: Port, now: float) -> None:
        """There is room for more."""
        self.pulls.taken(frames)
        if self.pulls.lead.wanting:
            self._ask(port, now)

    # ------------------------------------------------------------------ words

    def _said(self, frame: Delivery, port: Port, now: float) -> None:
        """A word of the server about one of our pulls."""
        block = frame[BLOCK]
        status = status_of(block) if block is not None else None
        if block is None or status is None or self.over or not self.pulls.knows(frame):
            self.strays += 1
            return
        self.pulls.liveness.seen(now)
        row = judge(*status)
        if row.verdict is StatusAction.HEARTBEAT:
            self._heartbeat(block, port, now)
        elif row.verdict in {StatusAction.PULL_ENDED, StatusAction.DOES_NOT_FIT}:
            if not self.pulls.ended(frame, row, block, now):
                self._lost(self._error_of(row, status), SourceEvent.FATAL)
                return
            if row.end in NOTHING_LEFT:
                self.happened.append((SourceEvent.QUIET, None))
            self._ask(port, now)
        elif row.verdict is StatusAction.STRANGE:
            self.strays += 1
        else:
            self._on_consumer_lost(row, status)

    def _heartbeat(self, block: bytes, port: Port, now: float) -> None:
        """A pull waits in vain, and the last delivery is named (WIRE f: it is compared behind
        everything before it).
        """
        self.pulls.heartbeat(block, port, now)
        last = sequence_of(block, b"Nats-Last-Consumer")
        if last is not None and self.order.guard.heartbeat(last) is not None:
            self._lost(None)
        else:
            self.happened.append((SourceEvent.QUIET, None))

    def _on_consumer_lost(self, row: StatusRow, status: tuple[int, str]) -> None:
        """This consumer serves us no more."""
        self._lost(self._error_of(row, status), _KINDS.get(row.verdict, SourceEvent.LOST))

    def _error_of(self, row: StatusRow, status: tuple[int, str]) -> JsprotoError:
        subject = self.pulls.subject
        return pull_error(row, *status, f"reading a range by {subject}", subject)

    def _lost(self, error: JsprotoError | None, kind: SourceEvent = SourceEvent.LOST) -> None:
        self.over = True
        self.happened.append((kind, error))

    # ------------------------------------------------------------------ time and links

    def ticked(self, port: Port, now: float, *, at_hand: bool) -> None:
        """Answers that did not come, silence, pulls that are overdue."""
        if self.incarnation.script is not None:
            self.incarnation.script.ticked(port, now)
            self._answered(port, now)
        self.leftovers.ticked(port, now)
        if not self.reading:
            return
        liveness = self.pulls.liveness
        if liveness.deadline is not None and liveness.deadline <= now:
            if at_hand:
                liveness.watch(now)  # a slow reader is no silent server (B080)
            else:
                text = (
                    f"expected a heartbeat every {liveness.heartbeat:g} s on {self.pulls.subject}"
                )
                self._lost(HeartbeatsMissed(f"{text}, nothing came for {liveness.period:g} s"))
                return
        if self.pulls.ticked(now):
            self._lost(None)
            return
        self._ask(port, now)

    def link_down(self, port: Port, now: float) -> None:
        """The consumer is lost with the link: what its inbox would still get, nobody hears."""
        self.leftovers.link_down()
        self.leave(port, now)

    def link_up(self, port: Port, now: float) -> None:
        """Go on with the deletions."""
        self.leftovers.link_up(port, now)

    def refused(self, subject: str, error: JsprotoError, port: Port, now: float) -> None:
        """The server, or our own encoder, does not let something through."""
        create = self.incarnation.script
        if create is not None:
            create.refused(port, subject, error, now)
            if self._answered(port, now):
                return
        self.leftovers.refused(port, subject, error, now)
        if subject and subject in {self.pulls.subject, port.subject}:
            self.happened.append((SourceEvent.FATAL, error))

    # ------------------------------------------------------------------ what it shows

    @property
    def deadline(self) -> float | None:
        """When an answer, silence or the age of a pull call for action."""
        moments = [self.leftovers.deadline, self.incarnation.deadline]
        if self.reading:
            moments += [self.pulls.deadline, self.pulls.liveness.deadline]
        return min((at for at in moments if at is not None), default=None)

    @property
    def never(self) -> bool:
        """No consumer was ever made, or may have been."""
        return not self.incarnation.made and self.resting

    @property
    def resting(self) -> bool:
        """No consumer of ours is left that is not known to be gone."""
        return self.incarnation.script is None and not self.leftovers.names

    @property
    def given_up(self) -> Sequence[str]:
        """Consumers that could not be deleted."""
        return self.leftovers.given_up


def _sequence(frame: Delivery) -> int:
    """The sequence of a message; 0 if it does not say it, which whoever reads it will be told by
    `DeliveredRows`.
    """
    try:
        return AckSubject.parse(frame[REPLY]).stream_sequence
    except InvalidAckSubject:
        return 0


def _sequences(frames: Sequence[Delivery]) -> Iterator[int]:
    return map(_sequence, frames)
