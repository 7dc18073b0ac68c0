"""Publish with many outstanding acknowledgements: a sink with results.

Theory. `offered` sends a message at once, with a reply subject of its own below the window's inbox.
It returns False when the window is full or the link is down. Answers arrive in the inbox as whole
runs, in any order. Only the reply subject tells which message an answer belongs to (503 and 429
overtake acks). Every accepted message ends exactly once, as an `Outcome`:

    ACKED          a stream has stored it
    REFUSED        the stream refused it, or a client that is no stream answered
    NO_RESPONDERS  no stream stores this subject, also after the retries; it is not stored
    TIMED_OUT      no progress for too long ┐
    DISCONNECTED   the link was lost        ├ whether it is stored is unknown
    CLOSED         the window was closed    ┘
    FORBIDDEN      the user may not publish there; it is not stored
    INVALID        it cannot be sent: a bad name, or more bytes than the server accepts;
                   it is not stored

Only a 503 is repeated (ADR-22): no stream has got the message, so it cannot become a duplicate.
With ``resend``, messages with an id also survive a lost link, because the stream stores an id once.
They stay outstanding and are sent again on the next link. They are also sent again on the same link
after a second without an answer. A leader that died has lost some messages, and its successor
answers at once. The rate is limited: a few messages per second of silence, and twice the number of
answers as soon as answers arrive again. So a slow stream is not flooded. The reply subject stays
the same, so an answer to any attempt counts. After a resend only an acknowledgement proves the
outcome. All attempts of a message share one ack timeout.

The ack timeout measures silence. It starts when a message is sent and starts again with each answer
to an earlier message. A slow stream that answers one message after another is not silent. An answer
after the end of its message is late and is only counted.

A full window makes its user wait. With ``stall_wait`` the wait is limited. Its time starts with the
first refused offer and runs while there is no room, for any reason. When it is over, the window
wakes the waiter, and the next offer raises `WindowFull` unless there is room. Then the time starts
again. Outstanding messages are not affected.

The usual acknowledgement is recognized by its form, and its numbers are parsed only on request.
Every other answer is parsed at once. Counts are added once per run.

Results. Message n, counted from 1 in the order of acceptance, has the `PublishResult` with
``number`` n. With ``results=False`` only results other than `ACKED` are given to the user. At most
``max_results`` are kept for a user that does not take them. Then the oldest one is dropped and
counted, and one notice is sent.
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

#: Items of a window: a `Publish` without a reply, or a plain tuple, which is cheaper.
PublishItem: TypeAlias = Publish | tuple[str, bytes] | tuple[str, bytes, Headers | None]

#: The acknowledgement of a message that is no duplicate, in the form of all servers. `pub_ack`
#: accepts every text that matches.
_USUAL: Final = re.compile(
    rb'\{"stream":"[!#-\[\]-~]+", ?"seq": ?(?:0|[1-9][0-9]{0,18})(?:, ?"domain":"[!#-\[\]-~]+")?\}'
).fullmatch


#: Seconds of silence after which messages with an id are sent again, and most messages of one such
#: resend.
RESEND_WAIT: Final = 1.0
RESEND_BURST: Final = 16


class Outcome(IdentityEnum):
    """The ways in which a published message ends."""

    ACKED = "ACKED"
    REFUSED = "REFUSED"
    NO_RESPONDERS = "NO_RESPONDERS"
    TIMED_OUT = "TIMED_OUT"
    DISCONNECTED = "DISCONNECTED"
    CLOSED = "CLOSED"
    FORBIDDEN = "FORBIDDEN"
    INVALID = "INVALID"


class WindowNotice(Enum):
    """The notices of a window."""

    #: Results were dropped because the user did not take them; the detail is ``max_results``.
    RESULTS_DROPPED = "RESULTS_DROPPED"


#: ``(number, outcome, subject, body of the answer, error as plain data)`` of a result that was not
#: taken.
Result: TypeAlias = tuple[int, Outcome, str, bytes, object]


@final
class PublishResult:
    """The end of one published message.

    Attributes:
        number: the number of the message among those that the window accepted, from 1.
        outcome: see `Outcome`.
        subject: the subject of the message.
        body: the body of the answer, empty if none came.
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
        """The acknowledgement of the stream, parsed from the answer at each access.

        Raises:
            JetStreamError, InvalidPubAck, StatusError: `REFUSED`; the class tells why.
            NoResponders, PermissionViolation, LocalProtocolError: the message is not stored.
            RequestTimeout, ConnectionLost, ConnectionClosed: it is unknown whether it is stored.
        """
        error = error_read(self._error)
        if error is not None:
            raise error
        return pub_ack(self.body, RequestContext(what="publish", subject=self.subject))

    @property
    def error(self) -> JsprotoError | None:
        """The error that `ack` raises; ``None`` for a message that is stored."""
        if self.outcome is not Outcome.ACKED:
            try:
                self.ack  # noqa: B018 - the question is whether it raises
            except JsprotoError as error:
                return error
        return None

    def __repr__(self) -> str:
        return f"PublishResult({self.number}, {self.outcome.name}, {self.subject!r})"


class PublishWindow(Conversation[PublishResult]):
    """Publishes to streams with up to ``max_pending`` outstanding acknowledgements.

    `StopMode.DRAIN` and `StopMode.STOP` refuse further messages and end the window in good order
    when every message has ended.

    Args:
        max_pending: most outstanding messages.
        max_bytes: most outstanding bytes of subject, headers and payload; 0 for no limit.
        ack_timeout: seconds of silence after which a message ends. They start when it is sent, and
            again with each answer to an earlier message.
        retries: how often a message is sent again after "no responders".
        retry_wait: seconds before each of these attempts.
        results: whether results of acknowledged messages are given to the user too.
        max_results: most results that are kept for a user that does not take them.
        resend: send messages with an id (``Nats-Msg-Id``) again: after a lost link, and when no
            answer arrives for a second, or a quarter of ``ack_timeout`` if that is less. The stream
            must remember ids for as long as a message is outstanding.
        stall_wait: seconds that an offer waits for room before `WindowFull` is raised; 0: not at
            all, ``None``: without end.

    Attributes:
        taken: number of accepted messages, which is also the number of the last one.
        counts: number of messages that ended in each way. ``pending`` is ``taken`` minus their sum.
        duplicates: acknowledgements of messages whose id the stream had stored already.
        late: answers to messages that had ended.
        dropped: results that were dropped because the user did not take them.

    Raises:
        InvalidConfig: an invalid limit, number or time.
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
        #: Messages after "no responders", with the time of their next attempt, in that order.
        self._parked: deque[tuple[float, Sent]] = deque()
        self._resend = resend
        self._resend_wait = min(RESEND_WAIT, silence / 4)
        #: When to look for messages without an answer, while any is outstanding.
        self._look_at: float | None = None
        #: Tokens of messages that will be sent again, in this order.
        self._quiet: deque[str] = deque()
        #: Numbers of messages that were sent more than once and may be stored. The value is true if
        #: the reason was a lost link.
        self._doubtful: dict[int, bool] = {}
        self._draining = False
        self._wanted = 0
        self._stall_wait = seconds_or_none("stall_wait", stall_wait, above=False, finite=True)
        #: Time of the first refused offer since there was no room, and whether that is too long
        #: ago.
        self._full_since: float | None = None
        self._stalled = False
        self.counts: dict[Outcome, int] = dict.fromkeys(Outcome, 0)
        #: Body of the newest acknowledgement, and the subject of its message.
        self._newest: tuple[bytes, str] = (b"", "")
        self.taken = 0
        self.duplicates = 0
        self.late = 0
        self.dropped = 0

    # ------------------------------------------------------------------ properties

    @property
    def pending(self) -> int:
        """Number of messages that were accepted and have not ended."""
        return self._flight.pending

    @property
    def pending_bytes(self) -> int:
        """Number of their bytes."""
        return self._flight.bytes

    @property
    def last_ack(self) -> PubAck | None:
        """The newest acknowledgement, ``None`` before the first; parsed at each access."""
        body, subject = self._newest
        return pub_ack(body, RequestContext(what="publish", subject=subject)) if body else None

    @property
    def readable(self) -> int:
        """Number of available results."""
        return len(self._results)

    @property
    def room(self) -> bool:
        """Whether the last refused message would be accepted now, or has waited too long.

        If none was refused, whether a small message would be accepted.
        """
        return not self._draining and not self.ended and (self._stalled or self._fits)

    @property
    def deadline(self) -> float | None:
        """The earliest of ack timeout, next attempt, next resend, and end of the wait for room.

        An ack timeout may be shown too early.
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
        """Publish a `Publish` without a reply, or ``(subject, payload[, headers])``.

        Raises:
            ConversationClosed: the window is draining, or has ended without an error.
            InvalidSubject: the subject cannot be published to.
            LocalProtocolError: the item is no message, or has a reply.
            InvalidConfig: the window sends again, and the name of the id header is spelt so that
                the server does not recognize it.
            WindowFull: there was no room for ``stall_wait``.
            JsprotoError: the error that ended the window.
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
        if self._full_since is not None:  # this message is smaller than the one that waits
            self._relieved()
        if self._resend and not flight.open:
            self._look_at = now + self._resend_wait
        token = port.ask(subject, payload, headers)
        self.taken = number = self.taken + 1
        flight.sent(token, (number, now + self._timeout, 0, size, subject, payload, headers))
        return True

    def take(self, now: float) -> PublishResult | NeedData | Ended:
        """Return the next result, in the order in which the messages ended."""
        return PublishResult(*self._results.popleft()) if self._results else self.nothing()

    def take_all(self, now: float) -> list[PublishResult] | NeedData | Ended:
        """Return all available results."""
        if not self._results:
            return self.nothing()
        results = [PublishResult(*each) for each in self._results]
        self._results.clear()
        return results

    # ------------------------------------------------------------------ facts

    def opened(self, now: float) -> None:
        """Subscribe to the answers."""
        self.port.subscribe()

    def delivered(self, run: Sequence[Delivery], now: float) -> None:
        """Process answers."""
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
            # Answers arrive nearly in the order of the messages. To look at each for the lowest
            # number would cost more than it is worth.
            flight.heard(min(last[NUMBER], (first or last)[NUMBER]), now)
            if self._quiet:
                self._send_again(2 * len(run))
        if acked:
            self.counts[_ACKED] += acked
            flight.freed(acked, size)
        self._settle()

    def ticked(self, now: float) -> None:
        """Process ack timeouts, next attempts and resends."""
        for message in self._flight.overdue(now):
            text = (
                f"expected an acknowledgement on {message[TO]!r} within {self._timeout} s"
                " of the last one before it, none came"
            )
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
        """The link is lost: open messages end now, or wait for the next link to be sent again."""
        adrift = self._resendable() if self._resend else ()
        self._look_at = None
        self._quiet.clear()
        text = f"link lost before the acknowledgement came ({error}); unknown if stored"
        self._give_up(Outcome.DISCONNECTED, ConnectionLost(text))
        for message in adrift:
            self._flight.again(f"{_ADRIFT}{message[NUMBER]}", message)
        self._settle()

    def link_up(self, now: float) -> None:
        """Send the messages that waited for a link."""
        flight = self._flight
        if self._resend:
            self._look_at = now + self._resend_wait
            for adrift in [token for token in flight.open if token.startswith(_ADRIFT)]:
                message = cast("Sent", flight.answered(adrift))
                flight.again(self.port.ask(*message[TO:]), message)
        self._settle()

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """End the messages of a refused subject, or the window if its inbox was refused."""
        if self.port.subject and subject == self.port.subject:
            self.closed(error, now)
            return
        flight = self._flight
        tokens = [token for token, message in flight.open.items() if message[TO] == subject]
        if isinstance(error, LocalProtocolError):
            # The error is the client's own: only the newest message was not sent.
            for message in map(flight.answered, tokens[-1:]):
                self._ended(cast("Sent", message), Outcome.INVALID, error=error)
        else:
            for message in map(flight.answered, tokens):
                self._ended(cast("Sent", message), Outcome.FORBIDDEN, error=error)
        self._settle()

    def told(self, wish: StopMode, now: float) -> None:
        """Accept no more messages, and end when all have ended."""
        self._draining = True
        self._settle()

    def closed(self, error: JsprotoError | None, now: float) -> None:
        """End now, and with it all open messages."""
        if not self.ended:
            why = "" if error is None else f" ({error})"
            text = f"closed before the acknowledgement came{why}; unknown if stored"
            self._give_up(Outcome.CLOSED, ConnectionClosed(text))
            self._bound()
            self._relieved()
            self.end(error)

    # ------------------------------------------------------------------ sending again

    def _look(self, now: float) -> None:
        """Find messages with an id that have waited too long, and send some of them again."""
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
        """Send up to ``most`` of the waiting messages again, under their old reply subjects."""
        quiet = self._quiet
        while quiet and most:
            token = quiet.popleft()
            message = self._flight.open.get(token)
            if message is not None:
                most -= 1
                self._doubtful.setdefault(message[NUMBER], False)
                subject, payload, headers = message[TO:]
                self.port.publish(Publish(subject, payload, token, headers))

    # ------------------------------------------------------------------ waiting for room

    @property
    def _fits(self) -> bool:
        """Whether there is room for the last refused message."""
        return self.port.up and self._flight.fits(self._wanted)

    def _refuse(self, size: int, now: float) -> None:
        """Note that there is no room for ``size`` bytes; raise if the wait was too long."""
        self._wanted = size
        if self._full_since is None:
            self._full_since = now
        if self._too_long(now):
            waited = now - self._full_since
            self._relieved()
            seen = f"{self.pending} messages of {self.pending_bytes} bytes under way"
            if not self.port.up:
                seen += " and no link"
            text = (
                f"expected room within a stall_wait of {self._stall_wait} s,"
                f" got {seen} for {waited:.3f} s; nothing was sent"
            )
            raise WindowFull(text, self.pending, self.pending_bytes, waited)

    def _relieved(self) -> None:
        """Reset the stall timer."""
        self._full_since = None
        self._stalled = False

    def _too_long(self, now: float) -> bool:
        since, most = self._full_since, self._stall_wait
        return since is not None and most is not None and since + most <= now

    # ------------------------------------------------------------------ ends of messages

    def _judge(self, message: Sent, block: bytes | None, body: bytes, now: float) -> bool:
        """Process an unusual answer; tell whether it is an acknowledgement."""
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
        """End all messages, because nothing will be answered or sent any more.

        A message that waits for its next attempt is known not to be stored.
        """
        for message in self._flight.lost():
            self._ended(message, outcome, error=error)
        for _, message in self._parked:
            self._ended(message, Outcome.NO_RESPONDERS, error=_nobody(message))
        self._parked.clear()

    def _resendable(self) -> list[Sent]:
        """Remove and return the messages that can be sent on another link, in their order."""
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
        """Drop surplus results, end a stall if there is room, end a drain after the last one."""
        self._bound()
        if self._full_since is not None and (self._draining or self._fits):
            self._relieved()
        if self._draining and not self.ended and not self._flight.pending:
            self.end()

    def _bound(self) -> None:
        """Drop the oldest results above ``max_results``."""
        surplus = len(self._results) - self._max_results
        if surplus > 0:
            if not self.dropped:
                self.port.notify(WindowNotice.RESULTS_DROPPED, self._max_results)
            self.dropped += surplus
            for _ in range(surplus):
                self._results.popleft()

    # ------------------------------------------------------------------ snapshot

    def snapshot(self) -> Snapshot:
        """Return all outstanding messages, and the results that were not taken."""
        return {
            **super().snapshot(),
            "parked": [(at, sent_written(message)) for at, message in self._parked],
            "results": [(each[0], each[1].name, *each[2:]) for each in self._results],
            "counts": {outcome.name: count for outcome, count in self.counts.items()},
        }

    def restore(self, data: Mapping[str, object]) -> None:
        """Restore the state that `snapshot` returned."""
        super().restore(data)
        parked = cast("list[tuple[float, object]]", data["parked"])
        results = cast("list[tuple[int, str, str, bytes, object]]", data["results"])
        counts = cast("dict[str, int]", data["counts"])
        self._parked = deque((at, sent_read(message)) for at, message in parked)
        self._results = deque((each[0], Outcome[each[1]], *each[2:]) for each in results)
        self.counts = {Outcome[name]: count for name, count in counts.items()}


_ACKED: Final = Outcome.ACKED
#: Outcomes of one attempt that prove nothing about an earlier attempt.
_SECOND_TRY: Final = {Outcome.REFUSED, Outcome.NO_RESPONDERS, Outcome.FORBIDDEN, Outcome.INVALID}
#: Prefix of the token of a message that waits for a link; no reply subject begins so.
_ADRIFT: Final = " "


def _nobody(message: Sent) -> NoResponders:
    subject = message[TO]
    text = (
        f"expected a stream that listens on {subject!r}, there is none"
        f" (503, attempt {message[ATTEMPT] + 1})"
    )
    return NoResponders(text, subject)
