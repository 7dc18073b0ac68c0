"""Fast ingest: a stream of publishes with few answers, at the stream's pace (2.14, ADR-50).

Theory. The stream stores each message as soon as it arrives. The batch adds order, flow control,
and a report of missing messages. The stream sends one answer for many messages and sets their
number; twice that number may be outstanding. So the client need not wait, and the stream is not
flooded. The first message is sent alone. Its answer shows that the stream knows fast batches, and
how often it answers.

*Missing messages.* Messages are numbered in the order in which they were accepted. A gap is a
message that never arrived at the stream. Gaps and refused messages become an `IngestFault` with
those numbers. In gap mode ``ok`` the batch continues. In mode ``fail`` the stream ends the batch
before the first fault, so the stored messages are an unbroken beginning of the sent ones. The last
result is the acknowledgement of the whole batch.

*Room.* At most `ANSWERS` times the wanted number of messages may be outstanding. A message is
outstanding until the stream mentions it or a later one. That is an acknowledgement, a gap, a
refusal, or the answer to a ping, which carries the number of the newest message that the stream has
seen. Acknowledgements alone are not enough: the stream sends none while it refuses one message
after another, and gaps and refusals may be lost with a link.

*Silence.* The stream drops a batch after 10 s without input. A ping asks for its progress and
counts as input. The client sends one whenever the stream has sent nothing for ``quiet`` seconds,
even if it sent messages meanwhile. After the first unanswered ping the stream has ``timeout``
seconds.

*A lost link.* The batch lives on in the stream for those 10 s. On the next link a ping with the
last number shows whether messages are missing, and the batch continues. If the stream has dropped
it (after a restart or a longer outage), the batch ends with `ConnectionLost`. Messages up to
``acked`` are settled; the outcome of the later ones is unknown.

    NEW ──first──▶ BEGINNING ──answer──▶ OPEN ──drain──▶ COMMITTING ──▶ OVER
                                         │ ▲
                               link lost ▼ │ answer to the ping
                                        ASKING
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import Enum
from typing import ClassVar, Final, TypeAlias, cast, final

from attrs import frozen

from jsproto.core.conversation.conversation import Conversation, StopMode
from jsproto.core.numbers import seconds
from jsproto.core.state import ERROR, PART, PLAIN, Codecs, IdentityEnum, error_read, error_written
from jsproto.core.timers import Timers
from jsproto.errors.tree import (
    ConnectionLost,
    InvalidConfig,
    JsprotoError,
    NoResponders,
    RequestTimeout,
    StatusError,
    shorten,
)
from jsproto.jetstream.api.errors import (
    BatchUnsupported,
    InvalidPubAck,
    JetStreamError,
    RequestContext,
)
from jsproto.jetstream.api.publishing.fast_ingest import (
    MOST_FLOW,
    SUFFIX,
    FlowAck,
    FlowError,
    FlowGap,
    GapMode,
    Operation,
    dealt_with,
    ingest_answer,
    ingest_id,
)
from jsproto.jetstream.api.publishing.puback import PubAck
from jsproto.jetstream.errors import MessagesLost
from jsproto.jetstream.publish.items import outgoing
from jsproto.signals import Ended, NeedData
from jsproto.wire.commands import Publish
from jsproto.wire.frames import Delivery
from jsproto.wire.headers import Headers, status_of
from jsproto.wire.nuid import derived

#: Most messages between two answers; the server allows at most 500.
FLOW: Final = 200
#: Number of answers that may be outstanding.
ANSWERS: Final = 2
#: Seconds of silence before a ping: half of the time after which the server drops a batch.
QUIET: Final = 5.0
#: Most faults that are kept for a user that does not take them.
MOST_RESULTS: Final = 65_536

#: Error code of "batch publish ID unknown".
_UNKNOWN_BATCH: Final = 10208
_NOBODY: Final = 503


@final
@frozen(kw_only=True)
class IngestFault:
    """Messages of a fast batch that are not stored; they are numbered from 1 as accepted.

    Attributes:
        first: the number of the first of them.
        last: the number of the last of them.
        error: the reason: `MessagesLost`, or the error with which the stream refused it.
    """

    first: int
    last: int
    error: JsprotoError

    @property
    def numbers(self) -> range:
        """All numbers of the fault."""
        return range(self.first, self.last + 1)


IngestResult: TypeAlias = PubAck | IngestFault


class IngestState(IdentityEnum):
    """The states of a fast batch."""

    #: No message was sent.
    NEW = "NEW"
    #: The first message was sent; the client waits for its answer.
    BEGINNING = "BEGINNING"
    #: The stream accepts messages.
    OPEN = "OPEN"
    #: The link was lost. The client asks for the stream's progress, now or on the next link.
    ASKING = "ASKING"
    #: The client or the stream has ended the batch; the client waits for the last answer.
    COMMITTING = "COMMITTING"
    #: The batch is over.
    OVER = "OVER"


class IngestInput(IdentityEnum):
    """The inputs of a fast batch."""

    #: The first message was sent.
    BEGUN = "BEGUN"
    #: The stream has reported its progress.
    ANSWERED = "ANSWERED"
    #: The link was lost.
    LINK_LOST = "LINK_LOST"
    #: No message follows.
    COMPLETED = "COMPLETED"
    #: The batch ended, with or without an error.
    ENDED = "ENDED"


TRANSITIONS: Final[Mapping[IngestState, Mapping[IngestInput, IngestState]]] = {
    IngestState.NEW: {
        IngestInput.BEGUN: IngestState.BEGINNING,
        IngestInput.LINK_LOST: IngestState.NEW,
        IngestInput.ENDED: IngestState.OVER,
    },
    IngestState.BEGINNING: {
        IngestInput.ANSWERED: IngestState.OPEN,
        IngestInput.COMPLETED: IngestState.COMMITTING,
        IngestInput.ENDED: IngestState.OVER,
    },
    IngestState.OPEN: {
        IngestInput.ANSWERED: IngestState.OPEN,
        IngestInput.LINK_LOST: IngestState.ASKING,
        IngestInput.COMPLETED: IngestState.COMMITTING,
        IngestInput.ENDED: IngestState.OVER,
    },
    IngestState.ASKING: {
        IngestInput.ANSWERED: IngestState.OPEN,
        IngestInput.LINK_LOST: IngestState.ASKING,
        IngestInput.COMPLETED: IngestState.COMMITTING,
        IngestInput.ENDED: IngestState.OVER,
    },
    IngestState.COMMITTING: {
        IngestInput.ANSWERED: IngestState.COMMITTING,
        IngestInput.LINK_LOST: IngestState.COMMITTING,
        IngestInput.COMPLETED: IngestState.COMMITTING,
        IngestInput.ENDED: IngestState.OVER,
    },
    IngestState.OVER: {},
}


class IngestTimer(IdentityEnum):
    """The timers of a fast batch."""

    #: An answer is due.
    ANSWER = "ANSWER"
    #: The silence is long enough for a ping.
    QUIET = "QUIET"


class IngestNotice(Enum):
    """The notices of a fast batch."""

    #: Faults were dropped because the user did not take them; the detail is how many are kept.
    RESULTS_DROPPED = "RESULTS_DROPPED"


class FastIngest(Conversation[IngestResult]):
    """A fast batch: it accepts messages; its results are faults and one acknowledgement.

    `StopMode.DRAIN` and `StopMode.STOP` end it in good order. If it is closed, sent messages stay
    stored.

    Args:
        gaps: the action of the stream after a fault.
        flow: most messages between two answers; the stream may choose fewer.
        batch_id: its name, one token of at most 64 bytes; by default a new one.
        timeout: seconds to wait for an answer.
        quiet: seconds of silence before a ping; less than the 10 s after which the server drops it.

    Attributes:
        sent: number of messages that were sent, which is also the number of the last one.
        acked: all messages up to this number are stored or were reported as faults. A refusal alone
            does not raise it: the stream may send it before earlier messages are stored.
        dropped: faults that were dropped because the user did not take them.

    Raises:
        InvalidConfig: an invalid mode, number, time or name.
        InvalidSubject: no subject can carry the name.
    """

    __slots__ = (
        "_draining",
        "_faulted",
        "_flow",
        "_gaps",
        "_heard",
        "_id",
        "_last",
        "_links",
        "_msgs",
        "_quiet",
        "_results",
        "_stem",
        "_stopped",
        "_timeout",
        "acked",
        "dropped",
        "sent",
        "state",
        "timers",
    )

    STATE: ClassVar[Codecs] = {
        **Conversation.STATE,
        "_draining": PLAIN,
        "_faulted": PLAIN,
        "_heard": PLAIN,
        "_id": PLAIN,
        "_last": PLAIN,
        "_links": PLAIN,
        "_msgs": PLAIN,
        "_stem": PLAIN,
        "_stopped": ERROR,
        "acked": PLAIN,
        "dropped": PLAIN,
        "sent": PLAIN,
        "state": IngestState,
        "timers": PART,
    }

    def __init__(
        self,
        *,
        gaps: GapMode | str = GapMode.FAIL,
        flow: int = FLOW,
        batch_id: str | None = None,
        timeout: float | timedelta = 5.0,
        quiet: float | timedelta = QUIET,
    ) -> None:
        super().__init__()
        if gaps not in tuple(GapMode):
            raise InvalidConfig(f"expected 'ok' or 'fail' as gaps, got {shorten(gaps)} (10206)")
        if not isinstance(flow, int) or isinstance(flow, bool) or not 0 < flow <= MOST_FLOW:
            raise InvalidConfig(
                f"expected a whole number of 1 to {MOST_FLOW} as flow, got {shorten(flow)}"
            )
        self._gaps = GapMode(gaps)
        self._flow = flow
        self._id = "" if batch_id is None else ingest_id(batch_id)
        self._timeout = seconds("timeout", timeout, finite=True)
        self._quiet = seconds("quiet", quiet, finite=True)
        self._stem = ""
        self._last = ""
        #: Number of links that were lost since the first message.
        self._links = 0
        self._msgs = 0
        #: The highest number that is known not to be stored.
        self._faulted = 0
        #: The highest number that the stream has mentioned; later messages are outstanding.
        self._heard = 0
        self._draining = False
        #: The first fault. In mode ``fail`` the stream ends the batch because of it, and the client
        #: sends no more messages.
        self._stopped: JsprotoError | None = None
        self._results: deque[IngestResult] = deque()
        self.sent = 0
        self.acked = 0
        self.dropped = 0
        self.state = IngestState.NEW
        self.timers = Timers(IngestTimer)

    # ------------------------------------------------------------------ properties

    @property
    def batch_id(self) -> str:
        """The id of the batch; empty before it is opened unless the user gave one."""
        return self._id

    @property
    def room(self) -> bool:
        """Whether an offer does not wait: it is sent, or refused after a fault in mode ``fail``."""
        if self._broken:
            return not self._draining and not self.ended
        if self._draining or not self.port.up:
            return False
        if self.state is IngestState.OPEN:
            return self.sent - self._heard < ANSWERS * self._msgs
        return self.state is IngestState.NEW

    @property
    def readable(self) -> int:
        """Number of available results."""
        return len(self._results)

    @property
    def deadline(self) -> float | None:
        """The earliest timer."""
        return self.timers.next()

    # ------------------------------------------------------------------ the user's side

    def offered(self, item: object, now: float) -> bool:
        """Send a `Publish` without a reply, or ``(subject, payload[, headers])``.

        Raises:
            InvalidSubject: the subject cannot be published to.
            LocalProtocolError: the item is no message, or has a reply.
            ConversationClosed: the batch is draining, or the stream has ended it; then
                ``__cause__`` is the fault that ended it.
            JsprotoError: the error that ended the batch.
        """
        subject, payload, headers = outgoing(item)
        if self._draining or self.ended or self._broken:
            raise self.too_late(
                "expected an ingest that takes messages, this one is draining or over",
                self._stopped,
            )
        if not self.room:
            return False
        self.sent += 1
        self._last = subject
        if self.sent == 1:
            self._move(IngestInput.BEGUN)
            self._say(Operation.START, 1, subject, payload, headers)
            self.timers.set(IngestTimer.ANSWER, now + self._timeout)
        else:
            self._say(Operation.APPEND, self.sent, subject, payload, headers)
        return True

    def take(self, now: float) -> IngestResult | NeedData | Ended:
        """Return the next fault, and at last the acknowledgement of the whole batch."""
        return self._results.popleft() if self._results else self.nothing()

    # ------------------------------------------------------------------ facts

    def opened(self, now: float) -> None:
        """Subscribe to the answers."""
        address = self.port.address()
        self._id = self._id or derived(address)
        self._stem = f"{address}.{self._id}"
        self.port.subscribe(f"{address}.>")

    def delivered(self, run: Sequence[Delivery], now: float) -> None:
        """Process answers."""
        for _, subject, _, block, body in run:
            if self.ended:
                return
            status = None if block is None else status_of(block)
            try:
                if status is not None and not body:
                    raise self._unheard(status)
                self._judge(subject, body, now)
            except JsprotoError as error:
                self.end(error)

    def ticked(self, now: float) -> None:
        """Process a timer: send a ping after silence, or end because an answer is overdue."""
        for timer in self.timers.expired(now):
            if timer is IngestTimer.QUIET:
                self._ping(now)
                self.timers.set(IngestTimer.QUIET, now + self._quiet)
            else:
                text = (
                    f"expected an answer to fast batch {self._id!r}"
                    f" within {self._timeout} s, none came"
                )
                self.end(RequestTimeout(f"{text}; {self._known}"))

    def link_down(self, error: JsprotoError, now: float) -> None:
        """The link is lost; the stream keeps the batch for some seconds.

        If only the first message was sent, the batch ends, because it is unknown whether it
        arrived.
        """
        if self.ended:
            return
        self.timers.clear()
        if self.state is IngestState.BEGINNING:
            lost = ConnectionLost(
                f"link lost at the beginning of fast batch {self._id!r}; {self._known}"
            )
            lost.__cause__ = error
            self.end(lost)
            return
        self._links += bool(self.sent)
        self._move(IngestInput.LINK_LOST)

    def link_up(self, now: float) -> None:
        """Ask the stream whether messages are missing."""
        if self.state is IngestState.ASKING:
            self._ping(now)
        elif self.state is IngestState.COMMITTING:
            self._commit(now)

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """End if the server refused a message, or the subscription to the answers."""
        if not self.ended and (subject in {self._last, self.port.subject}):
            self.end(error)

    def told(self, wish: StopMode, now: float) -> None:
        """End the batch in good order: the user has no more messages."""
        self._draining = True
        self._settle(now)

    def closed(self, error: JsprotoError | None, now: float) -> None:
        """Abandon the batch; sent messages stay stored. The stream is notified if possible."""
        if not self.ended:
            if error is None and self.state is IngestState.OPEN and self.port.up:
                self._say(Operation.COMMIT_EOB, self.sent + 1, self._last, b"", None)
            self.end(error)

    def end(self, error: JsprotoError | None = None) -> None:
        """End, and clear the timers."""
        self._move(IngestInput.ENDED)
        self.timers.clear()
        super().end(error)

    # ------------------------------------------------------------------ judging

    def _judge(self, subject: str, body: bytes, now: float) -> None:
        """Process one answer."""
        if not self.sent:
            raise InvalidPubAck("expected no answer before the first message", body)
        try:
            said = ingest_answer(
                body, RequestContext(what=f"fast batch {self._id}", subject=self._last)
            )
        except JetStreamError as error:
            if error.err_code == _UNKNOWN_BATCH and self._links:
                text = (
                    f"link lost in the middle of fast batch {self._id!r},"
                    " which the stream has forgotten since"
                )
                raise ConnectionLost(f"{text}; {self._known}") from error
            count = dealt_with(body, RequestContext())
            if count is not None:
                self._all_up_to(min(count, self.sent), error)
            raise
        match said:
            case FlowAck(seq, msgs):
                seq = min(seq, self.sent)
                self.acked = max(self.acked, seq)
                self._msgs = msgs
                pinged = self._pinged(subject)
                self._heard = max(self._heard, seq, pinged or 0)
                if self.state is not IngestState.ASKING or pinged is not None:
                    self._move(IngestInput.ANSWERED)
            case FlowGap(last_seq, seq):
                lost = (
                    f"expected the stream to get every message, {last_seq} to {seq - 1} never came"
                )
                self._fault(last_seq, seq - 1, MessagesLost(lost))
            case FlowError(seq, refusal):
                self._fault(seq, seq, refusal)
            case _:
                self._over(said, body)
                return
        if self._broken:
            self._move(
                IngestInput.COMPLETED
            )  # the stream ends the batch, and its acknowledgement follows
        if self.state is IngestState.OPEN:
            self.timers.stop(IngestTimer.ANSWER)
            self.timers.set(IngestTimer.QUIET, now + self._quiet)
        else:
            self.timers.stop(IngestTimer.QUIET)
            self.timers.set(IngestTimer.ANSWER, now + self._timeout)
        self._settle(now)

    @property
    def _broken(self) -> bool:
        """Whether the stream ends the batch because of a fault."""
        return self._gaps is GapMode.FAIL and self._stopped is not None

    def _pinged(self, subject: str) -> int | None:
        """Return the number of the ping that this subject answers, ``None`` for no ping."""
        found = _PINGED(subject)
        return None if found is None else min(int(found[1]), self.sent)

    def _over(self, ack: PubAck, body: bytes) -> None:
        """Process a publish acknowledgement.

        It ends the batch. A stream that does not know fast batches sends one for a single message.
        """
        if ack.batch is None:
            raise BatchUnsupported(
                "expected a server that knows fast batches (2.14),"
                " this one has stored a message by itself:"
                f" stream {ack.stream!r}, sequence {ack.seq}",
                body,
                ack.stream,
                ack.seq,
            )
        if ack.batch != self._id:
            raise InvalidPubAck(
                f"expected the acknowledgement of batch {self._id!r},"
                f" got that of batch {shorten(ack.batch)}",
                body,
            )
        count = ack.count
        if count is None or not 0 <= count <= self.sent:
            raise InvalidPubAck(
                f"expected the number up to which batch {self._id!r} was dealt with,"
                f" of {self.sent}, got {shorten(count)}; {self._known}",
                body,
            )
        self._all_up_to(count, None)
        self._results.append(ack)
        self.end()

    def _all_up_to(self, count: int, error: JsprotoError | None) -> None:
        """The stream ended the batch after ``count`` messages; the later ones are not stored."""
        self.acked = max(self.acked, count)
        rest = max(count, self._faulted) + 1
        if rest <= self.sent:
            behind = (
                "expected the stream to take every message,"
                f" it ended the batch before {rest} to {self.sent}"
            )
            self._fault(rest, self.sent, error or MessagesLost(behind))

    def _fault(self, first: int, last: int, error: JsprotoError) -> None:
        if not 1 <= first <= last <= self.sent:
            raise InvalidPubAck(
                f"expected numbers of 1 to {self.sent} in an answer, got {first} to {last}"
            )
        self._faulted = max(self._faulted, last)
        self._heard = max(self._heard, last)
        if self._stopped is None:
            self._stopped = error
        self._results.append(IngestFault(first=first, last=last, error=error))
        if len(self._results) > MOST_RESULTS:
            if not self.dropped:
                self.port.notify(IngestNotice.RESULTS_DROPPED, MOST_RESULTS)
            self.dropped += 1
            self._results.popleft()

    def _unheard(self, status: tuple[int, str]) -> JsprotoError:
        """Return the error for a status reply."""
        if status[0] != _NOBODY:
            return StatusError(*status)
        text = f"expected a stream that stores {self._last!r}, nobody listens there (503)"
        return NoResponders(f"{text}; {self._known}", self._last)

    @property
    def _known(self) -> str:
        """What the client knows about the sent messages, for an error."""
        if self.acked >= self.sent:
            return f"all {self.sent} messages were dealt with"
        return (
            f"{self.acked} messages were dealt with,"
            f" the outcome of the {self.sent - self.acked} after them is unknown"
        )

    # ------------------------------------------------------------------ sending

    def _say(
        self,
        operation: Operation,
        number: int,
        subject: str,
        payload: bytes,
        headers: Headers | None,
    ) -> None:
        reply = f"{self._stem}.{self._flow}.{self._gaps}.{number}.{operation}.{SUFFIX}"
        self.port.publish(Publish(subject, payload, reply, headers))

    def _ping(self, now: float) -> None:
        """Ask for the stream's progress.

        If an earlier ping is unanswered, its deadline stays.
        """
        self._say(Operation.PING, self.sent, self._last, b"", None)
        if self.timers.at(IngestTimer.ANSWER) is None:
            self.timers.set(IngestTimer.ANSWER, now + self._timeout)

    def _commit(self, now: float) -> None:
        self._say(Operation.COMMIT_EOB, self.sent + 1, self._last, b"", None)
        self.timers.set(IngestTimer.ANSWER, now + self._timeout)

    def _settle(self, now: float) -> None:
        """Commit or end, if the user has no more messages."""
        if not self._draining or self.ended:
            return
        if self.state is IngestState.NEW:
            self.end()
        elif self.state is IngestState.OPEN:
            self.timers.clear()
            self._move(IngestInput.COMPLETED)
            self._commit(now)

    def _move(self, what: IngestInput) -> None:
        self.state = TRANSITIONS[self.state][what]

    # ------------------------------------------------------------------ snapshot

    def snapshot(self) -> dict[str, object]:
        """Return the state, and the results that were not taken."""
        return {**super().snapshot(), "results": [_written(each) for each in self._results]}

    def restore(self, data: Mapping[str, object]) -> None:
        """Restore the state that `snapshot` returned."""
        super().restore(data)
        self._results = deque(_read(each) for each in cast("list[object]", data["results"]))


#: Matches the reply subject of a ping, with its number.
_PINGED: Final = re.compile(
    rf".*\.([0-9]{{1,20}})\.{Operation.PING}\.{re.escape(SUFFIX)}", re.ASCII
).fullmatch


def _written(result: IngestResult) -> object:
    if isinstance(result, PubAck):
        return result.to_wire()
    return (result.first, result.last, error_written(result.error))


def _read(data: object) -> IngestResult:
    if isinstance(data, dict):
        return PubAck.from_wire(cast("dict[str, object]", data))
    first, last, error = cast("tuple[int, int, object]", data)
    return IngestFault(first=first, last=last, error=cast("JsprotoError", error_read(error)))
