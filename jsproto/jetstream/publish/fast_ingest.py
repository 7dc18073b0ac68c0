"""Fast ingest: messages one behind the other at the pace that the stream wants, with few answers
(2.14, ADR-50).

Theory. Each message is stored by itself, as soon as it comes; what the batch adds is order, flow
control and the knowledge of what is missing. The stream answers once for many messages and says how
many; twice that many may be under way, so the road is never empty and the stream never flooded. The
first message is sent alone: its answer says that the stream knows fast batches, and how fast it
wants them.

*What is missing.* Messages are numbered in the order in which they were taken. What never came to
the stream (a gap) and what it refused are handed out as `IngestFault` with those numbers. In gap
mode ``ok`` the rest goes on; in mode ``fail`` the stream ends the batch before the first fault, so
that what is stored is a beginning of what was sent, without holes. The last result is the
acknowledgement of the whole.

*Room.* At most `ANSWERS` times the wanted number of messages may be under way. A message is under
way until the stream has spoken of it or of a later one: by an acknowledgement, a gap, a refusal, or
the answer to a ping, which carries the number of the newest message that the stream has seen. An
acknowledgement alone is not enough: the stream acknowledges nothing while it refuses message after
message, and gaps and refusals may be lost with a link.

*Silence.* The stream forgets a batch after 10 s. A ping asks how far it is, and is a sign of life.
One is sent whenever the stream has said nothing for ``quiet``, whether messages were put meanwhile
or not. From the first ping that is not answered the stream has ``timeout``.

*Link loss.* The batch lives on in the stream for those seconds. On the next link a ping with the
last number tells whether anything is missing, and the batch goes on. If the stream has forgotten it
(a restart, a longer outage), it ends with `ConnectionLost`: up to ``acked`` everything was dealt
with, of the rest it is not known.

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

#: Messages between two answers that are asked for; the server gives at most 500.
FLOW: Final = 200
#: So many answers may be owed.
ANSWERS: Final = 2
#: Half of the server's patience: after so many seconds of silence it is pinged.
QUIET: Final = 5.0
#: Faults that are kept for whoever does not take them.
MOST_RESULTS: Final = 65_536

#: "batch publish ID unknown".
_UNKNOWN_BATCH: Final = 10208
_NOBODY: Final = 503


@final
@frozen(kw_only=True)
class IngestFault:
    """Messages of a fast batch that are not stored, by the numbers in which they were taken, from
    1.

    Attributes:
        first: the first of them.
        last: the last of them.
        error: why: `MessagesLost`, or what the stream refused it with.
    """

    first: int
    last: int
    error: JsprotoError

    @property
    def numbers(self) -> range:
        """All of them."""
        return range(self.first, self.last + 1)


IngestResult: TypeAlias = PubAck | IngestFault


class IngestState(IdentityEnum):
    """The life of a fast batch."""

    #: Nothing was sent.
    NEW = "NEW"
    #: The first message was sent, its answer is waited for.
    BEGINNING = "BEGINNING"
    #: The stream takes messages.
    OPEN = "OPEN"
    #: The link was lost: the stream is asked, or will be on the next link, how far it is.
    ASKING = "ASKING"
    #: The stream was told, or has said, that this was all; the last answer is waited for.
    COMMITTING = "COMMITTING"
    #: It is over.
    OVER = "OVER"


class IngestInput(IdentityEnum):
    """What moves a fast batch."""

    #: The first message was sent.
    BEGUN = "BEGUN"
    #: The stream says how far it is.
    ANSWERED = "ANSWERED"
    #: The link was lost.
    LINK_LOST = "LINK_LOST"
    #: No message follows.
    COMPLETED = "COMPLETED"
    #: It ended, well or not.
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
    """What a fast batch waits for."""

    #: An answer that is owed.
    ANSWER = "ANSWER"
    #: A pause that is long enough for a ping.
    QUIET = "QUIET"


class IngestNotice(Enum):
    """What a fast batch has to tell beside its results."""

    #: Faults were dropped because nobody took them; the detail is how many are kept.
    RESULTS_DROPPED = "RESULTS_DROPPED"


class FastIngest(Conversation[IngestResult]):
    """A fast batch: a sink of messages, with faults and one acknowledgement as results.

    `StopMode.DRAIN` and `StopMode.STOP` end it well; closing it leaves what was sent stored.

    Args:
        gaps: what the stream does about faults.
        flow: how many messages may lie between two answers, at most; the stream may want fewer.
        batch_id: its name, one token of at most 64 bytes; else one is made.
        timeout: seconds that an answer may take.
        quiet: seconds of silence before a ping; less than the server's patience of 10.

    Attributes:
        sent: messages that were sent, which is the number of the last one.
        acked: all up to this number are stored, or were told as faults. A refusal alone does not
            move it: the stream may say it before the messages in front of it are stored.
        dropped: faults that were dropped because nobody took them.

    Raises:
        InvalidConfig: a mode, number, time or name that cannot be.
        InvalidSubject: a name that no subject can carry.
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
        #: Links that were lost since the first message.
        self._links = 0
        self._msgs = 0
        #: The last number that is known not to be stored.
        self._faulted = 0
        #: The last number that the stream has spoken of: those behind it are under way.
        self._heard = 0
        self._draining = False
        #: The first fault. In mode ``fail`` the stream ends the batch for it, and no message is
        #: sent behind it.
        self._stopped: JsprotoError | None = None
        self._results: deque[IngestResult] = deque()
        self.sent = 0
        self.acked = 0
        self.dropped = 0
        self.state = IngestState.NEW
        self.timers = Timers(IngestTimer)

    # ------------------------------------------------------------------ what it shows

    @property
    def batch_id(self) -> str:
        """Its name, empty before it is opened unless it was given."""
        return self._id

    @property
    def room(self) -> bool:
        """Whether a message would be sent, or refused at once because the stream has ended the
        batch.
        """
        if self._broken:
            return not self._draining and not self.ended
        if self._draining or not self.port.up:
            return False
        if self.state is IngestState.OPEN:
            return self.sent - self._heard < ANSWERS * self._msgs
        return self.state is IngestState.NEW

    @property
    def readable(self) -> int:
        """Results at hand."""
        return len(self._results)

    @property
    def deadline(self) -> float | None:
        """The next of its timers."""
        return self.timers.next()

    # ------------------------------------------------------------------ the user's side

    def offered(self, item: object, now: float) -> bool:
        """Send a `Publish` without a reply, or ``(subject, payload)``, or ``(subject, payload,
        headers)``.

        Raises:
            InvalidSubject: the subject can't be published to.
            LocalProtocolError: what is offered is no message, or names a reply.
            ConversationClosed: it is draining, or the stream has ended it; then the fault that it
                was ended for is the ``__cause__``.
            JsprotoError: what ended it.
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
        """The next fault; at last the acknowledgement of the whole."""
        return self._results.popleft() if self._results else self.nothing()

    # ------------------------------------------------------------------ facts

    def opened(self, now: float) -> None:
        """State interest in the answers."""
        address = self.port.address()
        self._id = self._id or derived(address)
        self._stem = f"{address}.{self._id}"
        self.port.subscribe(f"{address}.>")

    def delivered(self, run: Sequence[Delivery], now: float) -> None:
        """Answers came."""
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
        """It was quiet for so long that the stream is asked, or an answer is overdue."""
        for timer in self.timers.expired(now):
            if timer is IngestTimer.QUIET:
                self._ping(now)
                self.timers.set(IngestTimer.QUIET, now + self._quiet)
            else:
                text = f"expected an answer to fast batch {self._id!r} within {self._timeout} s, none came"
                self.end(RequestTimeout(f"{text}; {self._known}"))

    def link_down(self, error: JsprotoError, now: float) -> None:
        """The stream still has the batch, for a while; of a first message nobody knows whether it
        came.
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
        """Ask whether anything is missing."""
        if self.state is IngestState.ASKING:
            self._ping(now)
        elif self.state is IngestState.COMMITTING:
            self._commit(now)

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """A message may not be published, or is too large to be sent; or the answers will never
        come.
        """
        if not self.ended and (subject in {self._last, self.port.subject}):
            self.end(error)

    def told(self, wish: StopMode, now: float) -> None:
        """That was all."""
        self._draining = True
        self._settle(now)

    def closed(self, error: JsprotoError | None, now: float) -> None:
        """Leave it; what was sent is stored. The stream is told if there is a link."""
        if not self.ended:
            if error is None and self.state is IngestState.OPEN and self.port.up:
                self._say(Operation.COMMIT_EOB, self.sent + 1, self._last, b"", None)
            self.end(error)

    def end(self, error: JsprotoError | None = None) -> None:
        """End, and wait for nothing any more."""
        self._move(IngestInput.ENDED)
        self.timers.clear()
        super().end(error)

    # ------------------------------------------------------------------ judging

    def _judge(self, subject: str, body: bytes, now: float) -> None:
        """One answer."""
        if not self.sent:
            raise InvalidPubAck("expected no answer before the first message", body)
        try:
            said = ingest_answer(
                body, RequestContext(what=f"fast batch {self._id}", subject=self._last)
            )
        except JetStreamError as error:
            if error.err_code == _UNKNOWN_BATCH and self._links:
                text = f"link lost in the middle of fast batch {self._id!r}, which the stream has forgotten since"
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
            self._move(IngestInput.COMPLETED)  # the stream ends it, and its acknowledgement follows
        if self.state is IngestState.OPEN:
            self.timers.stop(IngestTimer.ANSWER)
            self.timers.set(IngestTimer.QUIET, now + self._quiet)
        else:
            self.timers.stop(IngestTimer.QUIET)
            self.timers.set(IngestTimer.ANSWER, now + self._timeout)
        self._settle(now)

    @property
    def _broken(self) -> bool:
        """Whether the stream ends the batch for a fault."""
        return self._gaps is GapMode.FAIL and self._stopped is not None

    def _pinged(self, subject: str) -> int | None:
        """The number of the ping that is answered on this subject, ``None`` if it is no ping of
        this batch.
        """
        found = _PINGED(subject)
        return None if found is None else min(int(found[1]), self.sent)

    def _over(self, ack: PubAck, body: bytes) -> None:
        """The acknowledgement of the whole; or that of a message, by a stream that does not know
        fast batches.
        """
        if ack.batch is None:
            raise BatchUnsupported(
                f"expected a server that knows fast batches (2.14), this one has stored a message by itself: "
                f"stream {ack.stream!r}, sequence {ack.seq}",
                body,
                ack.stream,
                ack.seq,
            )
        if ack.batch != self._id:
            raise InvalidPubAck(
                f"expected the acknowledgement of batch {self._id!r}, got that of batch {shorten(ack.batch)}",
                body,
            )
        count = ack.count
        if count is None or not 0 <= count <= self.sent:
            raise InvalidPubAck(
                f"expected the number up to which batch {self._id!r} was dealt with, of {self.sent}, got {shorten(count)}; {self._known}",
                body,
            )
        self._all_up_to(count, None)
        self._results.append(ack)
        self.end()

    def _all_up_to(self, count: int, error: JsprotoError | None) -> None:
        """The stream has ended the batch: so many were dealt with, and those behind are not stored."""
        self.acked = max(self.acked, count)
        rest = max(count, self._faulted) + 1
        if rest <= self.sent:
            behind = f"expected the stream to take every message, it ended the batch before {rest} to {self.sent}"
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
        """A status instead of an answer."""
        if status[0] != _NOBODY:
            return StatusError(*status)
        text = f"expected a stream that stores {self._last!r}, nobody listens there (503)"
        return NoResponders(f"{text}; {self._known}", self._last)

    @property
    def _known(self) -> str:
        """What is known of what was sent."""
        if self.acked >= self.sent:
            return f"all {self.sent} messages were dealt with"
        return f"{self.acked} messages were dealt with, of the {self.sent - self.acked} behind it is not known"

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
        """Ask how far the stream is; while an earlier ping waits for its answer, this one waits no
        longer than that.
        """
        self._say(Operation.PING, self.sent, self._last, b"", None)
        if self.timers.at(IngestTimer.ANSWER) is None:
            self.timers.set(IngestTimer.ANSWER, now + self._timeout)

    def _commit(self, now: float) -> None:
        self._say(Operation.COMMIT_EOB, self.sent + 1, self._last, b"", None)
        self.timers.set(IngestTimer.ANSWER, now + self._timeout)

    def _settle(self, now: float) -> None:
        """The end, if that was all and nothing else is owed."""
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
        """Where it is, and the results at hand."""
        return {**super().snapshot(), "results": [_written(each) for each in self._results]}

    def restore(self, data: Mapping[str, object]) -> None:
        """Put back what `snapshot` gave."""
        super().restore(data)
        self._results = deque(_read(each) for each in cast("list[object]", data["results"]))


#: The reply subject of a ping, with its number.
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
