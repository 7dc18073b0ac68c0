"""Acknowledgements: the subject they go to, the bodies that say them, and when one may still be
said (ADR-15).

Theory. A consumer delivers each message with a reply subject that describes the delivery
(`AckSubject`). Publishing one of a few fixed bodies there (`Verb`) settles the delivery, or asks
for more time. The server never complains about a body that it does not know, it ignores it (2.15.1,
consumer.go ``processAck``), so the exact bytes are written down here, once.

What may be said when is the automaton `AckState`, a table: any number of in-progress, then at most
one terminal ack, then nothing; only when it is known that the terminal ack did not go out, or that
the server refused it, or a confirmation of it did not come, the delivery is open again. A delivery
of a consumer with ack policy none is `MUTE` from the start, one of a consumer with ack policy all
is `CUMULATIVE`, if the policy is known. The state belongs to the delivery; there is one per
`JsMessage`, and a copy of a message is the message.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple, TypeAlias, final

from attrs import field, frozen

from jsproto.core.state import IdentityEnum
from jsproto.errors.tree import InvalidConfig, InvalidResponse, shorten
from jsproto.jetstream.api import timestamps
from jsproto.jetstream.api.timestamps import INT64_MAX, UINT64_MAX
from jsproto.wire.info import release_of

# ------------------------------------------------------------------------------------------------ the automaton


class AckState(IdentityEnum):
    """How far the acknowledgement of one delivery is."""

    #: Nothing terminal was said.
    OPEN = "OPEN"
    #: Nothing terminal was said, and an ack settles every earlier delivery too (ack policy all).
    CUMULATIVE = "CUMULATIVE"
    #: A terminal ack was sent as a request; its answer is waited for.
    ASKED = "ASKED"
    #: A terminal ack was sent; nothing more may follow.
    SETTLED = "SETTLED"
    #: The consumer wants no acks (ack policy none).
    MUTE = "MUTE"


class AckFact(IdentityEnum):
    """What can happen to a delivery."""

    #: In-progress was sent.
    PROGRESSED = "PROGRESSED"
    #: A terminal ack was sent.
    SENT = "SENT"
    #: A terminal ack was sent as a request.
    SENT_ASKING = "SENT_ASKING"
    #: The request was answered.
    CONFIRMED = "CONFIRMED"
    #: The request failed: refused, no answer in time, or the link was lost.
    UNCONFIRMED = "UNCONFIRMED"
    #: What was taken for sent is known not to have left, or not to have been taken.
    UNSENT = "UNSENT"


#: ADR-15: what is not in the table may not happen, and nothing is sent for it.
TRANSITIONS: Final[Mapping[AckState, Mapping[AckFact, AckState]]] = {
    AckState.OPEN: {
        AckFact.PROGRESSED: AckState.OPEN,
        AckFact.SENT: AckState.SETTLED,
        AckFact.SENT_ASKING: AckState.ASKED,
    },
    AckState.CUMULATIVE: {
        AckFact.PROGRESSED: AckState.CUMULATIVE,
        AckFact.SENT: AckState.SETTLED,
        AckFact.SENT_ASKING: AckState.ASKED,
    },
    AckState.ASKED: {
        AckFact.CONFIRMED: AckState.SETTLED,
        AckFact.UNCONFIRMED: AckState.OPEN,
    },
    AckState.SETTLED: {
        AckFact.UNSENT: AckState.OPEN,
    },
    AckState.MUTE: {},
}

# The members as globals: the hot path compares them for every message.
OPEN: Final = AckState.OPEN
CUMULATIVE: Final = AckState.CUMULATIVE
ASKED: Final = AckState.ASKED
SETTLED: Final = AckState.SETTLED
MUTE: Final = AckState.MUTE

# ------------------------------------------------------------------------------------------------ the verbs


def nanoseconds(seconds: float | timedelta, about: str) -> int:
    """Seconds or a ``timedelta`` as an integer of nanoseconds, to the nearest.

    Raises:
        InvalidConfig: negative, not finite, longer than the server can count, or no duration at
            all.
    """
    if isinstance(seconds, timedelta):
        exact: float = timestamps.nanoseconds(seconds)
    elif isinstance(seconds, (int, float)) and not isinstance(seconds, bool):
        exact = seconds * 1_000_000_000
    else:
        raise InvalidConfig(
            f"expected seconds or a timedelta as {about}, got {type(seconds).__name__} {shorten(seconds)}"
        )
    if not 0 <= exact <= INT64_MAX:
        raise InvalidConfig(
            f"expected {about} between 0 and {INT64_MAX} ns, got {shorten(seconds)}"
        )
    return round(exact)


@final
@frozen
class Ack:
    """The message is done."""

    def payload(self) -> bytes:
        """The body."""
        return b"+ACK"


def _delay(given: float | timedelta | None) -> int:
    return 0 if given is None else nanoseconds(given, "the delay of a nak")


@final
@frozen
class Nak:
    """The message shall be delivered again, at once or after a delay.

    Args:
        delay: seconds or a ``timedelta``; kept as ``delay_ns``.

    Raises:
        InvalidConfig: a negative or impossible delay.
    """

    delay_ns: int = field(default=None, converter=_delay, alias="delay")

    def payload(self) -> bytes:
        """The body; a delay of nothing is a plain nak."""
        return b'-NAK {"delay":%d}' % self.delay_ns if self.delay_ns else b"-NAK"


@final
@frozen
class InProgress:
    """The message is being worked on: its ``ack_wait`` starts anew. The only verb that settles
    nothing.
    """

    def payload(self) -> bytes:
        """The body."""
        return b"+WPI"


def _reason(given: str) -> str:
    if not isinstance(given, str):
        raise InvalidConfig(f"expected text as the reason of a term, got {type(given).__name__}")
    try:
        given.encode()
    except UnicodeEncodeError:
        raise InvalidConfig(
            f"expected a reason that UTF-8 can carry, got {shorten(given)}"
        ) from None
    return given.strip()


@final
@frozen
class Term:
    """The message shall never be delivered again. The reason shows up in the server's advisory.

    A server before 2.10 knows only the term without a reason and ignores any other (seen on
    2.9.10); see `known_to`.
    """

    reason: str = field(default="", converter=_reason)

    def known_to(self, version: str) -> Term:
        """The same for a server of this version: without the reason where it would not be
        understood.
        """
        release = release_of(version)
        return Term() if release is not None and release < (2, 10) else self

    def payload(self) -> bytes:
        """The body."""
        return f"+TERM {self.reason}".encode() if self.reason else b"+TERM"


def _expires(given: float | timedelta | None) -> int:
    return 0 if given is None else nanoseconds(given, "the expiry of a pull")


@final
@frozen(kw_only=True)
class Next:
    """The message is done, and more are wanted: an ack that is also a pull (``+NXT``).

    It is sent with a reply subject below the inbox of whoever wants them; without one the server
    only acks.

    Args:
        batch: how many messages.
        expires: seconds or a ``timedelta`` after which the server gives up; ``None`` for never.
        max_bytes: how many bytes at most; 0 for no bound.
        no_wait: whether to answer at once with what is there.

    Raises:
        InvalidConfig: a batch below 1, a negative duration or size.
    """

    batch: int = 1
    expires_ns: int = field(default=None, converter=_expires, alias="expires")
    max_bytes: int = 0
    no_wait: bool = False

    def __attrs_post_init__(self) -> None:
        for name, given, least in (("batch", self.batch, 1), ("max_bytes", self.max_bytes, 0)):
            if not isinstance(given, int) or isinstance(given, bool) or given < least:
                raise InvalidConfig(
                    f"expected a whole number of at least {least} as {name}, got {shorten(given)}"
                )

    def payload(self) -> bytes:
        """The body: ``+NXT`` and how many, or the same JSON object as in a pull request where that
        is not all.
        """
        if not (self.expires_ns or self.max_bytes or self.no_wait):
            return b"+NXT %d" % self.batch
        members = [b'"batch":%d' % self.batch]
        if self.expires_ns:
            members.append(b'"expires":%d' % self.expires_ns)
        if self.max_bytes:
            members.append(b'"max_bytes":%d' % self.max_bytes)
        if self.no_wait:
            members.append(b'"no_wait":true')
        return b"+NXT {%b}" % b",".join(members)


Verb: TypeAlias = Ack | Nak | InProgress | Term | Next

#: The verbs without arguments, ready made.
ACK: Final = Ack()
NAK: Final = Nak()
IN_PROGRESS: Final = InProgress()
TERM: Final = Term()

# ------------------------------------------------------------------------------------------------ the subject

#: How the reply subject of every delivery begins, in both of its forms.
ACK_ROOT: Final = "$JS.ACK."


class InvalidAckSubject(InvalidResponse, ValueError):
    """A reply subject that describes no JetStream delivery."""


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
#: Five times the 20 digits of the largest number.
_MOST_DIGITS: Final = 100


class AckSubject(NamedTuple):
    """What the reply subject of a delivery says, from either of its two forms (ADR-15).

        $JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<timestamp>.<pending>
        $JS.ACK.<domain>.<account hash>.<stream>. ... .<pending>[.<more>...]

    Attributes:
        domain: the JetStream domain, empty if there is none. The short form never names it.
        account_hash: empty in the short form.
        num_delivered: how often the message was delivered, this time included.
        stream_sequence: its sequence in the stream.
        consumer_sequence: the number of this delivery; redeliveries count too.
        timestamp_ns: when the stream stored it, in nanoseconds since 1970, UTC.
        num_pending: how many messages were left for this consumer after this one.
        tail: tokens behind ``num_pending`` that no present server writes, as they are.
    """

    domain: str
    account_hash: str
    stream: str
    consumer: str
    num_delivered: int
    stream_sequence: int
    consumer_sequence: int
    timestamp_ns: int
    num_pending: int
    tail: str = ""

    @classmethod
    def parse(cls, reply: str) -> AckSubject:
        """Read a reply subject.

        Raises:
            InvalidAckSubject: it has neither 9 nor 11 or more tokens, begins otherwise, or has a
                field that is empty or no decimal number of 64 bits.
        """
        tokens = reply.split(".")
        count = len(tokens)
        if count == 9:
            root, kind, stream, consumer, delivered, in_stream, in_consumer, stamp, pending = tokens
            domain = account = tail = ""
        elif count >= 11:
            (
                root,
                kind,
                domain,
                account,
                stream,
                consumer,
                delivered,
                in_stream,
                in_consumer,
                stamp,
                pending,
            ) = tokens if count == 11 else tokens[:11]
            tail = "" if count == 11 else ".".join(tokens[11:])
            if not (domain and account):
                raise _invalid(reply, "a domain and an account hash")
            if domain == "_":
                domain = ""
        else:
            raise _invalid(reply, f"9 or at least 11 tokens, not {count},")
        if root != "$JS" or kind != "ACK" or not (stream and consumer):
            raise _invalid(reply, "$JS.ACK, a stream and a consumer")
        digits = f"{delivered}{in_stream}{in_consumer}{stamp}{pending}"
        if not (digits.isascii() and digits.isdigit()) or len(digits) > _MOST_DIGITS:
            raise _invalid(reply, "five decimal numbers")
        try:
            one, two, three, four, five = (
                int(delivered), int(in_stream), int(in_consumer), int(stamp), int(pending)
            )  # fmt: skip
        except ValueError:  # one of them is empty
            raise _invalid(reply, "five decimal numbers") from None
        if one | two | three | four | five > UINT64_MAX:
            raise _invalid(reply, "numbers of at most 64 bits")
        return cls(domain, account, stream, consumer, one, two, three, four, five, tail)

    @property
    def timestamp(self) -> datetime:
        """When the stream stored the message, in UTC and to the microsecond below; ``timestamp_ns``
        is exact.
        """
        return _EPOCH + timedelta(microseconds=self.timestamp_ns // 1_000)

    def subject(self) -> str:
        """The reply subject again: the long form if it came from it."""
        numbers = (
            self.num_delivered,
            self.stream_sequence,
            self.consumer_sequence,
            self.timestamp_ns,
            self.num_pending,
        )
        front = f"{self.domain or '_'}.{self.account_hash}." if self.account_hash else ""
        back = f".{self.tail}" if self.tail else ""
        return f"$JS.ACK.{front}{self.stream}.{self.consumer}.{'.'.join(map(str, numbers))}{back}"


def is_ack_for(subject: str, stream: str, consumer: str) -> bool:
    """Whether this is where deliveries of this consumer are acknowledged."""
    if not subject.startswith(ACK_ROOT):
        return False
    try:
        parsed = AckSubject.parse(subject)
    except InvalidAckSubject:
        return False
    return (parsed.stream, parsed.consumer) == (stream, consumer)


def _invalid(reply: str, expected: str) -> InvalidAckSubject:
    return InvalidAckSubject(
        f"expected {expected} in the reply subject of a JetStream message, got {shorten(reply)}"
    )
