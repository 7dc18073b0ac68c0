"""Acknowledgements: their subject and what their payload says.

The subject is the address of one delivery, in two forms: nine tokens, and (behind a feature flag)
eleven or more with domain and account hash in front (ADR-15). The payload is a word; words are
compared exactly or by prefix just as the server compares them (nats-server ``consumer.go``,
``processAck``), so ``+ack`` and ``+ACK `` mean nothing.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from jsproto.testing.simserver.values.documents import is_table, read
from jsproto.testing.simserver.values.gotime import parse_go_duration

PREFIX: Final = "$JS.ACK."
#: Stands for the account in subjects of the second form. Opaque to clients.
ACCOUNT_HASH: Final = "szMpdrwD"


#: What acknowledges.
_ACKS: Final = frozenset({b"", b"+ACK", b"+OK"})


class AckAddress(NamedTuple):
    """Which delivery of which consumer. A number is 0 where the subject holds none.

    ``time`` is when the message was stored, in nanoseconds since 1970; the server reads it as
    little as the pending number behind it.
    """

    stream: str
    consumer: str
    deliveries: int
    stream_seq: int
    consumer_seq: int
    time: int = 0


class Mistaken(NamedTuple):
    """A message that was settled by the acknowledgement of another one.

    Sequences come again when a stream is made anew, or its disk has lost its end, and all that a
    server looks up is the sequence: an acknowledgement that was on its way meanwhile settles what
    bears its number now (seen on 2.9 to 2.15).
    """

    stream: str
    consumer: str
    stream_seq: int
    payload: bytes


class AckWord(Enum):
    """What a payload means."""

    ACK = "ACK"
    NAK = "NAK"
    PROGRESS = "PROGRESS"
    TERM = "TERM"
    NEXT = "NEXT"
    #: Anything else: without effect, and answered all the same.
    UNKNOWN = "UNKNOWN"


#: The word of nearly every payload: a member of an enum is looked up through its class each time.
ACK: Final = AckWord.ACK


def ack_subject(
    stream: str,
    consumer: str,
    numbers: tuple[int, int, int, int, int],
    *,
    v2: bool,
    domain: str = "",
) -> str:
    """The reply subject of a delivery; ``numbers``: deliveries, stream seq, consumer seq,
    timestamp, pending.
    """
    return ack_front(stream, consumer, v2=v2, domain=domain) + ".".join(map(str, numbers))


def ack_front(stream: str, consumer: str, *, v2: bool, domain: str = "") -> str:
    """What the reply subjects of a consumer have in front of their numbers."""
    front = f"{PREFIX}{domain or '_'}.{ACCOUNT_HASH}." if v2 else PREFIX
    return f"{front}{stream}.{consumer}."


def parse_ack_subject(subject: str, *, v2: bool, domain: str = "") -> AckAddress | None:
    """Whose acknowledgement this is; ``None`` where no consumer can listen on that subject.

    With the second form switched on the first is still understood; a wrong domain or account hash
    reaches nobody.
    """
    tokens = subject.split(".")
    if len(tokens) == 9:
        _, _, stream, consumer, deliveries, stream_seq, consumer_seq, time, _ = tokens
    elif v2 and len(tokens) >= 11 and tokens[2] == (domain or "_") and tokens[3] == ACCOUNT_HASH:
        stream, consumer, deliveries, stream_seq, consumer_seq, time = tokens[4:10]
    else:
        return None
    digits = deliveries + stream_seq + consumer_seq + time
    if (
        len(digits) <= 20 + len(time) <= 40
        and digits.isdigit()
        and digits.isascii()
        and deliveries
        and stream_seq
        and consumer_seq
        and time
    ):
        return AckAddress(
            stream, consumer, int(deliveries), int(stream_seq), int(consumer_seq), int(time)
        )
    return AckAddress(
        stream,
        consumer,
        _number(deliveries),
        _number(stream_seq),
        _number(consumer_seq),
        _number(time),
    )


def ack_word(payload: bytes, *, term_reason: bool) -> AckWord:
    """The meaning of a payload. ``term_reason``: a termination may carry a reason (2.10 and later)."""
    if payload in _ACKS:
        return ACK
    if payload.startswith(b"+NXT"):
        return AckWord.NEXT
    if payload.startswith(b"-NAK"):
        return AckWord.NAK
    if payload == b"+WPI":
        return AckWord.PROGRESS
    if payload == b"+TERM" or (term_reason and payload.startswith(b"+TERM")):
        return AckWord.TERM
    return AckWord.UNKNOWN


def nak_delay(payload: bytes) -> int | None:
    """Nanoseconds of delay in a ``-NAK ...``; ``None`` where there is none or nobody can read it."""
    argument = payload[len(b"-NAK") :].strip()
    if not argument:
        return None
    text = argument.decode("utf-8", "replace")
    if not text.startswith("{"):
        return parse_go_duration(text)
    try:
        members = read(text)
    except ValueError:
        return None
    delay = members.get("delay", 0) if is_table(members) else None
    return delay if isinstance(delay, int) and not isinstance(delay, bool) else None


def _number(token: str) -> int:
    return int(token) if token.isdigit() and len(token) <= 20 and token.isascii() else 0
