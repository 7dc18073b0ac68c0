"""Publishing with many acknowledgements under way: a sink with results.

Theory. `offered` sends a message at once with a reply subject of its own below the window's inbox,
and says False when the window is full or the link is down. Answers come to the inbox as whole runs,
in any order; the reply subject tells whose they are, nothing else does (503 and 429 overtake acks).
Every message taken ends exactly once, as an `Outcome`:

    ACKED          a stream has stored it
    REFUSED        the stream said no, or somebody answered who is no stream
    NO_RESPONDERS  no stream listens there, also after the retries; it is not stored
    TIMED_OUT      silence for too long     ┐
    DISCONNECTED   the link was lost        ├ whether it is stored is unknown
    CLOSED         the window was closed    ┘
    FORBIDDEN      the account may not publish there; it is not stored
    INVALID        it can't be sent: a bad name, or more bytes than the server takes; it is not
    stored

Only a 503 is repeated (ADR-22): nobody has got the message, so it can't become a duplicate. With
``resend`` a lost link is survived too by messages with an id, which the stream stores once: they
stay under way and are sent again on the next link. And they are sent again on the same link when no
word came for a second: a leader that died has taken messages with it, and its successor answers at
once. That goes at a pace: a few in each second of silence, and twice as many as were answered as
soon as there are answers again, so a stream that is only slow is never flooded. The reply subject
stays the same, so whichever answer comes counts. What ends a message after that is certain only if
it is the acknowledgement. All attempts of a message share its one ack timeout.

The ack timeout means silence. It runs from the sending of a message and begins anew with each
answer to a message that was sent before it: a stream that is slow, and answers one after the other,
is not silent. What comes after the end of a message is late: counted, and nothing else.

A full window lets its user wait. With ``stall_wait`` it does so only for a time, counted from the
first offer that it refused, as long as there is no room (so whatever it is that keeps it full, a
server or a link); then it wakes whoever waits, and the next offer raises `WindowFull` unless it is
taken. Then the time begins anew. Nothing else changes: what is under way stays so.

The usual acknowledgement is known by its shape, and its numbers are read when somebody asks for
them; everything else is read at once. Numbers are summed over a run.

Results. Message n, counted from 1 in the order in which they were taken, gives the `PublishResult`
with ``number`` n. With ``results=False`` only those that are not `ACKED` are handed out, for a user
who needs no sequences. At most ``max_results`` are kept for whoever doesn't take them; then the
oldest is dropped, counted, and a notice given once.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import Enum
from operator import itemgetter
from typing import ClassVar, Final, TypeAlias, cast, final

from jsproto.core.conversation.conversation import Conversation, StopMode
from jsproto.core.numbers import check_number, seconds, seconds_or_none
from jsproto.core.state import (
    PART,
    PLAIN,
    Codecs,
    IdentityEnum,
    Snapshot,
    error_read,
    error_written,
)
from jsproto.errors.tree import (
    ConnectionClosed,
    ConnectionLost,
    JsprotoError,
    LocalProtocolError,
    NoResponders,
    RequestTimeout,
    StatusError,
    WindowFull,
    shorten,
)
from jsproto.jetstream.api.errors import RequestContext
from jsproto.jetstream.api.publishing.options import message_id
from jsproto.jetstream.api.publishing.puback import PubAck, pub_ack
from jsproto.jetstream.publish.inflight import (
    ATTEMPT,
    DEADLINE,
    HEADERS,
    NUMBER,
    SIZE,
    TO,
    InFlight,
    Sent,
    sent_read,
    sent_written,
)
from jsproto.jetstream.publish.items import unpacked
from jsproto.signals import Ended, NeedData
from jsproto.wire.commands import Publish
from jsproto.wire.frames import Delivery
from jsproto.wire.headers import Headers, status_of
from jsproto.wire.subjects import publish_subject

#: What a window takes: a `Publish` without a reply, or the same as a plain tuple, which is cheaper.
PublishItem: TypeAlias = Publish | tuple[str, bytes] | tuple[str, bytes, Headers | None]

#: The acknowledgement of a message that is no duplicate, as all servers write it; what matches is
#: one to `pub_ack` too.
_USUAL: Final = re.compile(
    rb'\{"stream":"[!#-\[\]-~]+", ?"seq": ?(?:0|[1-9][0-9]{0,18})(?:, ?"domain":"[!#-\[\]-~]+")?\}'
).fullmatch


#: Seconds of silence behind which a message with an id is sent again, at most, and how many are in
#: each such time.
RESEND_WAIT: Final = 1.0
RESEND_BURST: Final = 16


class Outcome(IdentityEnum):
    """How a published message ended."""

    ACKED = "ACKED"
    REFUSED = "REFUSED"
    NO_RESPONDERS = "NO_RESPONDERS"
    TIMED_OUT = "TIMED_OUT"
    DISCONNECTED = "DISCONNECTED"
    CLOSED = "CLOSED"
    FORBIDDEN = "FORBIDDEN"
    INVALID = "INVALID"


class WindowNotice(Enum):
    """What a window has to tell beside its results."""

    #: Results were dropped because nobody took them; the detail is ``max_results``.
    RESULTS_DROPPED = "RESULTS_DROPPED"


#: ``(number, outcome, subject, body of the answer, error as plain data)`` of a result that was not
#: taken.
Result: TypeAlias = tuple[int, Outcome, str, bytes, object]


@final
class PublishResult:
    """How one message ended.

    Attributes:
        number: the place of the message among those that the window took, from 1.
        outcome: see `Outcome`.
        subject: where it was published.
        body: what the answer held, empty if none came.
    """

    __slots__ = ("_error", "body", "number", "outcome", "subject")

    def __init__(
        self, number: int, outcome: Outcome, subject: str, body: bytes = b"", error: object = None
    ) -> None:
        self.number = number
        self.outcome = outcome
        self.subject = subject
        self.body = body
        self._error = error

    @property
    def ack(self) -> PubAck:
        """The acknowledgement of the stream, read from the answer at each call.

        Raises:
            JetStreamError, InvalidPubAck, StatusError: `REFUSED`; the class says why.
            NoResponders, PermissionViolation, LocalProtocolError: it is not stored.
            RequestTimeout, ConnectionLost, ConnectionClosed: whether it is stored is unknown.
        """
        error = error_read(self._error)
        if error is not None:
            raise error
        return pub_ack(self.body, RequestContext(what="publish", subject=self.subject))

    @property
    def error(self) -> JsprotoError | None:
        """What `ack` raises, ``None`` for a message that is stored."""
        if self.outcome is not Outcome.ACKED:
            try:
                self.ack  # noqa: B018 - the question is whether it raises
            except JsprotoError as error:
                return error
        return None

    def __repr__(self) -> str:
        return f"PublishResult({self.number}, {self.outcome.name}, {self.subject!r})"


class PublishWindow(Conversation[PublishResult]):
    """Publishes to streams with up to ``max_pending`` acknowledgements under way.

    `StopMode.DRAIN` and `StopMode.STOP` refuse further messages and end the window well once every
    message has ended.

    Args:
        max_pending: messages under way.
        max_bytes: bytes of subject, headers and payload under way; 0 for no bound.
        ack_timeout: seconds of silence after which a message ends: counted from its sending, and
            anew from each answer to a message that was sent before it.
        retries: how often a message that met no responders is sent again.
        retry_wait: seconds before each of these.
        results: whether acknowledgements are handed out too, not only failures.
        max_results: how many results are kept for whoever doesn't take them.
        resend: send messages with an id (``Nats-Msg-Id``) again: after a lost link, and when no
            answer comes for a second, or a quarter of ``ack_timeout`` if that is less. The stream
            has to remember ids for as long as a message is under way.
        stall_wait: seconds that an offer waits for room before `WindowFull` is raised; 0: not at
            all, ``None``: as long as it takes.

    Attributes:
        taken: how many messages were taken, which is the number of the last one.
        counts: how many ended in each way. ``pending`` is ``taken`` minus their sum.
        duplicates: acknowledgements of messages that the stream had already, by their id.
        late: answers that came for messages which had ended.
        dropped: results that were dropped because nobody took them.

    Raises:
        InvalidConfig: a bound, number or time that can't work.
    """

    __slots__ = (
        "_doubtful",
        "_draining",
        "_flight",
        "_full_since",
        "_keep",
        "_look_at",
        "_max_results",
        "_newest",
        "_parked",
        "_quiet",
        "_resend",
        "_resend_wait",
        "_results",
        "_retries",
        "_retry_wait",
        "_stall_wait",
        "_stalled",
        "_timeout",
        "_wanted",
        "counts",
        "dropped",
        "duplicates",
        "late",
        "taken",
    )

    STATE: ClassVar[Codecs] = {
        **Conversation.STATE,
        "_doubtful": PLAIN,
        "_draining": PLAIN,
        "_flight": PART,
        "_full_since": PLAIN,
        "_look_at": PLAIN,
        "_newest": PLAIN,
        "_quiet": PLAIN,
        "_stalled": PLAIN,
        "_wanted": PLAIN,
        "dropped": PLAIN,
        "duplicates": PLAIN,
        "late": PLAIN,
        "taken": PLAIN,
    }

    def __init__(
        self,
        *,
        max_pending: int = 1000,
        max_bytes: int = 0,
        ack_timeout: float | timedelta = 5.0,
        retries: int = 2,
        retry_wait: float | timedelta = 0.25,
        results: bool = True,
        max_results: int = 65_536,
        resend: bool = False,
        stall_wait: float | timedelta | None = None,
    ) -> None:
        super().__init__()
        for name, given, least in (
            ("max_pending", max_pending, 1),
            ("max_bytes", max_bytes, 0),
            ("retries", retries, 0),
            ("max_results", max_results, 1),
        ):
            check_number(name, given, (int,), least=least)
        silence = seconds("ack_timeout", ack_timeout, finite=True)
        self._flight = InFlight(max_pending, max_bytes, silence)
        self._timeout = silence
        self._retries = retries
        self._retry_wait = seconds("retry_wait", retry_wait, above=False, finite=True)
        self._keep = results
        self._max_results = max_results
        self._results: deque[Result] = deque()
        #: Messages that met no responders, with the moment of their next attempt, in that order.
        self._parked: deque[tuple[float, Sent]] = deque()
        self._resend = resend
        self._resend_wait = min(RESEND_WAIT, silence / 4)
        #: When messages that heard no word are looked for, while any is under way.
        self._look_at: float | None = None
        #: Tokens of messages that are to be sent again, in this order.
        self._quiet: deque[str] = deque()
        #: Numbers of messages that were sent more than once, and may be stored: whether because a
        #: link was lost.
        self._doubtful: dict[int, bool] = {}
        self._draining = False
        self._wanted = 0
        self._stall_wait = seconds_or_none("stall_wait", stall_wait, above=False, finite=True)
        #: When the first offer was refused since which there was no room, and whether that is too
        #: long ago.
        self._full_since: float | None = None
        self._stalled = False
        self.counts: dict[Outcome, int] = dict.fromkeys(Outcome, 0)
        #: Body of the acknowledgement that came last, and where its message went.
        self._newest: tuple[bytes, str] = (b"", "")
        self.taken = 0
        self.duplicates = 0
        self.late = 0
        self.dropped = 0

    # ------------------------------------------------------------------ what it shows

    @property
    def pending(self) -> int:
        """Messages that were taken and have not ended."""
        return self._flight.pending

    @property
    def pending_bytes(self) -> int:
        """Their bytes."""
        return self._flight.bytes

    @property
    def last_ack(self) -> PubAck | None:
        """The acknowledgement that came last, ``None`` before the first; read at each call."""
        body, subject = self._newest
        return pub_ack(body, RequestContext(what="publish", subject=subject)) if body else None

    @property
    def readable(self) -> int:
        """Results at hand."""
        return len(self._results)

    @property
    def room(self) -> bool:
        """Whether the message that was refused last would be taken now, or a small one if none was;
        or has waited too long.
        """
        return not self._draining and not self.ended and (self._stalled or self._fits)

    @property
    def deadline(self) -> float | None:
        """The oldest ack timeout, the next attempt, the next look for messages to send again, or
        the end of the wait for room, whichever comes first.

        An ack timeout may be shown early.
        """
        due = self._flight.due
        if self._parked:
            at = self._parked[0][0]
            due = at if due is None or at < due else due
        if self._look_at is not None and self._flight.open:
            due = self._look_at if due is None or self._look_at < due else due
        if self._full_since is not None and self._stall_wait is not None and not self._stalled:
            at = self._full_since + self._stall_wait
            due = at if due is None or at < due else due
        return due

    # ------------------------------------------------------------------ the user's side

    def offered(self, item: object, now: float) -> bool:
        """Publish a `Publish` without a reply, or ``(subject, payload)``, or ``(subject, payload,
        headers)``.

        Raises:
            ConversationClosed: the window is draining or has ended well.
            InvalidSubject: the subject can't be published to.
            LocalProtocolError: what is offered is no message, or names a reply.
            InvalidConfig: a window that sends again is offered a message whose id is spelt so that
                the server does not see it.
            WindowFull: there was no room for ``stall_wait``.
            JsprotoError: what ended the window.
        """
        subject, payload, headers = unpacked(item)
        if self._draining or self.ended:
            raise self.too_late(
                "expected a window that takes messages, this one is draining or has ended"
            )
        publish_subject(subject)
        if self._resend and headers is not None:
            message_id(headers)
        flight = self._flight
        size = (
            len(subject if subject.isascii() else subject.encode())
            + len(payload)
            + (0 if headers is None else len(headers.encode()))
        )
        port = self.port
        if not port.up or not flight.fits(size):
            self._refuse(size, now)
            return False
        self._wanted = 0
        if self._full_since is not None:  # this one is smaller than the one that waits
            self._relieved()
        if self._resend and not flight.open:
            self._look_at = now + self._resend_wait
        token = port.ask(subject, payload, headers)
        self.taken = number = self.taken + 1
        flight.sent(token, (number, now + self._timeout, 0, size, subject, payload, headers))
        return True

    def take(self, now: float) -> PublishResult | NeedData | Ended:
        """The next result, in the order in which the messages ended."""
        return PublishResult(*self._results.popleft()) if self._results else self.nothing()

    def take_all(self, now: float) -> list[PublishResult] | NeedData | Ended:
        """All results at hand."""
        if not self._results:
            return self.nothing()
        results = [PublishResult(*each) for each in self._results]
        self._results.clear()
        return results

    # ------------------------------------------------------------------ facts

    def opened(self, now: float) -> None:
        """State interest in the answers."""
        self.port.subscribe()

    def delivered(self, run: Sequence[Delivery], now: float) -> None:
        """Answers came."""
        flight = self._flight
        answered = flight.answered
        results = self._results
        keep = self._keep
        acked = size = 0
        newest = b""
        first = last = flight.open.get(run[0][1])
        for _, token, _, block, body in run:
            message = answered(token)
            if message is None:
                self.late += 1
            elif block is None and _USUAL(body):
                acked += 1
                size += message[SIZE]
                if keep:
                    results.append((message[NUMBER], _ACKED, message[TO], body, None))
                newest, last = body, message
            elif self._judge(message, block, body, now):
                newest, last = body, message
        if last is not None and newest:
            self._newest = newest, last[TO]
            # Answers come in the order of the messages, or nearly: to look at each for the earliest
            # would cost more than it tells.
            flight.heard(min(last[NUMBER], (first or last)[NUMBER]), now)
            if self._quiet:
                self._send_again(2 * len(run))
        if acked:
            self.counts[_ACKED] += acked
            flight.freed(acked, size)
        self._settle()

    def ticked(self, now: float) -> None:
        """Time is up for some messages, or it is time for their next attempt."""
        for message in self._flight.overdue(now):
            text = f"expected an acknowledgement on {message[TO]!r} within {self._timeout} s of the last one before it, none came"
            self._ended(
                message, Outcome.TIMED_OUT, error=RequestTimeout(f"{text}; unknown if stored")
            )
        parked = self._parked
        while parked and parked[0][0] <= now:
            message = parked.popleft()[1]
            if self._flight.until(message) <= now:  # the tick came late
                self._ended(message, Outcome.NO_RESPONDERS, error=_nobody(message))
                continue
            number, deadline, attempt, size, subject, payload, headers = message
            token = self.port.ask(subject, payload, headers)
            self._flight.again(
                token, (number, deadline, attempt + 1, size, subject, payload, headers)
            )
        if self._look_at is not None and self._look_at <= now:
            self._look(now)
        self._settle()
        self._stalled = self._too_long(now)

    def link_down(self, error: JsprotoError, now: float) -> None:
        """No open message will be answered any more: each ends now, and its slot is free, or it
        waits for the next link.
        """
        adrift = self._resendable() if self._resend else ()
        self._look_at = None
        self._quiet.clear()
        text = f"link lost before the acknowledgement came ({error}); unknown if stored"
        self._give_up(Outcome.DISCONNECTED, ConnectionLost(text))
        for message in adrift:
            self._flight.again(f"{_ADRIFT}{message[NUMBER]}", message)
        self._settle()

    def link_up(self, now: float) -> None:
        """Send again what waited for a link."""
        flight = self._flight
        if self._resend:
            self._look_at = now + self._resend_wait
            for adrift in [token for token in flight.open if token.startswith(_ADRIFT)]:
                message = cast("Sent", flight.answered(adrift))
                flight.again(self.port.ask(*message[TO:]), message)
        self._settle()

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """A publish was refused, so no answer will come; or the inbox, then none will ever come."""
        if self.port.subject and subject == self.port.subject:
            self.closed(error, now)
            return
        flight = self._flight
        tokens = [token for token, message in flight.open.items() if message[TO] == subject]
        if isinstance(error, LocalProtocolError):
            # Not the server said so: the newest could not be sent at all, the others are on their
            # way.
            for message in map(flight.answered, tokens[-1:]):
                self._ended(cast("Sent", message), Outcome.INVALID, error=error)
        else:
            for message in map(flight.answered, tokens):
                self._ended(cast("Sent", message), Outcome.FORBIDDEN, error=error)
        self._settle()

    def told(self, wish: StopMode, now: float) -> None:
        """Take no more messages; end when all have ended."""
        self._draining = True
        self._settle()

    def closed(self, error: JsprotoError | None, now: float) -> None:
        """End now; what is open ends with it."""
        if not self.ended:
            why = "" if error is None else f" ({error})"
            text = f"closed before the acknowledgement came{why}; unknown if stored"
            self._give_up(Outcome.CLOSED, ConnectionClosed(text))
            self._bound()
            self._relieved()
            self.end(error)

    # ------------------------------------------------------------------ sending again

    def _look(self, now: float) -> None:
        """Find messages with an id that heard no word for so long, and send some of them again."""
        flight, since = self._flight, now - self._resend_wait
        under_way = {message[NUMBER] for message in flight.open.values()}
        under_way.update(message[NUMBER] for _, message in self._parked)
        self._doubtful = {
            number: lost for number, lost in self._doubtful.items() if number in under_way
        }
        waiting = set(self._quiet)
        for token, message in flight.open.items():
            silent = (
                message[DEADLINE] - self._timeout <= since and flight.last_word(message) <= since
            )
            if silent and token not in waiting and message_id(message[HEADERS]) is not None:
                self._quiet.append(token)
        self._send_again(RESEND_BURST)
        self._look_at = now + self._resend_wait

    def _send_again(self, most: int) -> None:
        """Send so many of the messages again that wait for it, under the reply subjects which they
        have.
        """
        quiet = self._quiet
        while quiet and most:
            token = quiet.popleft()
            message = self._flight.open.get(token)
            if message is not None:
                most -= 1
                self._doubtful.setdefault(message[NUMBER], False)
                subject, payload, headers = message[TO:]
                self.port.publish(Publish(subject, payload, token, headers))

    # ------------------------------------------------------------------ how long it is full

    @property
    def _fits(self) -> bool:
        """Whether there is room for the message that was refused last."""
        return self.port.up and self._flight.fits(self._wanted)

    def _refuse(self, size: int, now: float) -> None:
        """There is no room for so many bytes: whoever offers them waits, or has done so for too
        long.
        """
        self._wanted = size
        if self._full_since is None:
            self._full_since = now
        if self._too_long(now):
            waited = now - self._full_since
            self._relieved()
            seen = f"{self.pending} messages of {self.pending_bytes} bytes under way"
            if not self.port.up:
                seen += " and no link"
            text = f"expected room within a stall_wait of {self._stall_wait} s, got {seen} for {waited:.3f} s; nothing was sent"
            raise WindowFull(text, self.pending, self.pending_bytes, waited)

    def _relieved(self) -> None:
        """Nobody waits for room, or it is as if nobody had."""
        self._full_since = None
        self._stalled = False

    def _too_long(self, now: float) -> bool:
        since, most = self._full_since, self._stall_wait
        return since is not None and most is not None and since + most <= now

    # ------------------------------------------------------------------ how messages end

    def _judge(self, message: Sent, block: bytes | None, body: bytes, now: float) -> bool:
        """An answer that is not the usual one. Whether it is an acknowledgement nevertheless."""
        status = None if block is None else status_of(block)
        if status is not None and status[0] != 503 and not body:
            self._ended(message, Outcome.REFUSED, error=StatusError(*status))
            return False
        if status is not None and not body:
            again = now + self._retry_wait
            left = message[ATTEMPT] < self._retries or (
                self._retries and message[NUMBER] in self._doubtful
            )
            if left and again < self._flight.until(message):
                self._parked.append((again, message))
            else:
                self._ended(message, Outcome.NO_RESPONDERS, error=_nobody(message))
            return False
        self._flight.heard(message[NUMBER], now)
        try:
            ack = pub_ack(body, RequestContext(what="publish", subject=message[TO]))
        except JsprotoError:
            self._ended(message, Outcome.REFUSED, body)
            return False
        self.duplicates += ack.duplicate
        self._ended(message, Outcome.ACKED, body)
        return True

    def _give_up(self, outcome: Outcome, error: JsprotoError) -> None:
        """Nothing will be answered or sent any more. What waits for its next attempt is known to be
        stored nowhere.
        """
        for message in self._flight.lost():
            self._ended(message, outcome, error=error)
        for _, message in self._parked:
            self._ended(message, Outcome.NO_RESPONDERS, error=_nobody(message))
        self._parked.clear()

    def _resendable(self) -> list[Sent]:
        """What is under way and can be sent again on another link, in the order in which it was
        taken.
        """
        flight = self._flight
        named = [
            token for token, (*_, headers) in flight.open.items() if message_id(headers) is not None
        ]
        lost = [cast("Sent", flight.answered(token)) for token in named]
        nowhere = [message for _, message in self._parked]
        self._parked.clear()
        numbers = {message[NUMBER] for message in nowhere} & self._doubtful.keys()
        self._doubtful = dict.fromkeys(
            sorted(numbers.union(message[NUMBER] for message in lost)), True
        )
        return sorted([*lost, *nowhere], key=itemgetter(NUMBER))

    def _ended(
        self, message: Sent, outcome: Outcome, body: bytes = b"", error: JsprotoError | None = None
    ) -> None:
        if outcome in _SECOND_TRY and message[NUMBER] in self._doubtful:
            why = shorten(body) if error is None else str(error)
            text = (
                f"before the acknowledgement came, and sent again in vain: {why}; unknown if stored"
            )
            body = b""
            if self._doubtful[message[NUMBER]]:
                outcome, error = Outcome.DISCONNECTED, ConnectionLost(f"link lost {text}")
            else:
                outcome, error = Outcome.TIMED_OUT, RequestTimeout(f"silence {text}")
        self.counts[outcome] += 1
        self._flight.freed(1, message[SIZE])
        if self._keep or outcome is not _ACKED:
            self._results.append(
                (message[NUMBER], outcome, message[TO], body, error_written(error))
            )

    def _settle(self) -> None:
        """Messages may have ended: nobody waits for room where some is, and a drain ends with the
        last of them.
        """
        self._bound()
        if self._full_since is not None and (self._draining or self._fits):
            self._relieved()
        if self._draining and not self.ended and not self._flight.pending:
            self.end()

    def _bound(self) -> None:
        """Drop the oldest results that nobody took."""
        surplus = len(self._results) - self._max_results
        if surplus > 0:
            if not self.dropped:
                self.port.notify(WindowNotice.RESULTS_DROPPED, self._max_results)
            self.dropped += surplus
            for _ in range(surplus):
                self._results.popleft()

    # ------------------------------------------------------------------ snapshot

    def snapshot(self) -> Snapshot:
        """Everything under way, and the results at hand."""
        return {
            **super().snapshot(),
            "parked": [(at, sent_written(message)) for at, message in self._parked],
            "results": [(each[0], each[1].name, *each[2:]) for each in self._results],
            "counts": {outcome.name: count for outcome, count in self.counts.items()},
        }

    def restore(self, data: Mapping[str, object]) -> None:
        """Put back what `snapshot` gave."""
        super().restore(data)
        parked = cast("list[tuple[float, object]]", data["parked"])
        results = cast("list[tuple[int, str, str, bytes, object]]", data["results"])
        counts = cast("dict[str, int]", data["counts"])
        self._parked = deque((at, sent_read(message)) for at, message in parked)
        self._results = deque((each[0], Outcome[each[1]], *each[2:]) for each in results)
        self.counts = {Outcome[name]: count for name, count in counts.items()}


_ACKED: Final = Outcome.ACKED
#: What these say of one attempt says nothing of another.
_SECOND_TRY: Final = {Outcome.REFUSED, Outcome.NO_RESPONDERS, Outcome.FORBIDDEN, Outcome.INVALID}
#: Before the number of a message that waits for a link: no reply subject begins so.
_ADRIFT: Final = " "


def _nobody(message: Sent) -> NoResponders:
    subject = message[TO]
    text = f"expected a stream that listens on {subject!r}, there is none (503, attempt {message[ATTEMPT] + 1})"
    return NoResponders(text, subject)
