"""Rules of acknowledgements: their subject, their body, and when no more may follow (ADR-15)."""

from __future__ import annotations

import re
from typing import Final

from jsproto.jetstream.delivery.ack import AckSubject, InvalidAckSubject
from jsproto.trace.judge.rules.table import ERROR, WARNING, Rule, per_link
from jsproto.trace.observe.client import json_object
from jsproto.trace.observe.facts import Acked

_DURATION: Final = re.compile(rb"(?:[0-9]+(?:\.[0-9]+)?(?:ns|us|\xc2\xb5s|ms|s|m|h))+").fullmatch
_TERMINAL: Final = (b"+ACK", b"+OK", b"-NAK", b"+TERM", b"+NXT")


def _terminal(body: bytes) -> bool:
    return not body or body.startswith(_TERMINAL)


def _malformed(fact: Acked) -> str | None:
    if fact.delivery is not None:
        return None
    try:
        AckSubject.parse(fact.command.subject)
    except InvalidAckSubject as error:
        return str(error)
    return None


def _altered(fact: Acked) -> str | None:
    if fact.alike is None:
        return None
    return (
        f"{fact.command.subject} was never a reply subject; "
        f"the delivery in line {fact.alike.line} has another"
    )


def _unknown(fact: Acked) -> str | None:
    body = fact.command.payload
    known = body in {b"", b"+ACK", b"+OK", b"+WPI"} or body.startswith((b"-NAK", b"+TERM", b"+NXT"))
    return None if known else f"the server ignores {body[:40]!r}"


def _delay(fact: Acked) -> str | None:
    body = fact.command.payload
    if not body.startswith(b"-NAK") or body == b"-NAK":
        return None
    rest = body[4:].strip()
    members = json_object(rest)
    delay = None if members is None else members.get("delay")
    sound = isinstance(delay, int) and not isinstance(delay, bool) and delay >= 0
    return (
        None
        if sound or _DURATION(rest)
        else f"no delay can be read in {body[:60]!r}, so the server delivers again at once"
    )


def _bare_next(fact: Acked) -> str | None:
    if fact.command.payload.startswith(b"+NXT") and not fact.command.reply:
        return "+NXT without a reply subject only acknowledges, and requests no message"
    return None


def _reason(fact: Acked) -> str | None:
    body = fact.command.payload
    if not body.startswith(b"+TERM") or body == b"+TERM":
        return None
    version = fact.link.version
    if version is not None and version < (2, 10):
        return "a server before 2.10 ignores +TERM with a reason, and delivers the message again"
    return None


def _twice(fact: Acked) -> str | None:
    delivery = fact.delivery
    if delivery is None or delivery.settled is None or delivery.link is not fact.link:
        return None
    if delivery.asked and not delivery.confirmed:
        return None  # the answer to the first ack may be lost
    if not _terminal(fact.command.payload):
        return None
    return (
        f"the delivery in line {delivery.line} was settled already, "
        f"by {delivery.settled or b'an empty body'!r}"
    )


def _progress(fact: Acked) -> str | None:
    delivery = fact.delivery
    if delivery is None or delivery.settled is None or fact.command.payload != b"+WPI":
        return None
    return f"in-progress for the delivery in line {delivery.line}, which was settled already"


def _mute(fact: Acked) -> str | None:
    if fact.consumer is not None and fact.consumer.config.get("ack_policy") == "none":
        return f"{fact.consumer.key[1]} has ack policy none, so nothing may be acknowledged"
    return None


def _invented(fact: Acked) -> str | None:
    if not fact.invented:
        return None
    return (
        f"{fact.command.subject} was not the reply subject of any delivery, "
        "and the trace has all deliveries of that consumer"
    )


def _consumer_of(fact: Acked) -> object:
    return None if fact.consumer is None else fact.consumer.key


def _body_of(fact: Acked) -> object:
    return fact.command.payload[:40]


# fmt: off
RULES: Final = (
    Rule(
        name="ack-subject-malformed", fact=Acked, severity=ERROR, judge=_malformed,
        clause="ADR-15.30: 9 tokens, or 11 and more",
        right="Publish the ack to the reply subject as it came.",
    ),
    Rule(
        name="ack-subject-altered", fact=Acked, severity=ERROR, judge=_altered,
        clause="ADR-15.27",
        right="Publish the ack to the reply subject as it came.",
    ),
    Rule(
        name="ack-invented", fact=Acked, severity=WARNING, judge=_invented,
        clause="ADR-15.27, ADR-15.30: the reply subject of the delivery",
        right="Acknowledge only delivered messages, on the reply subject of the delivery.",
    ),
    Rule(
        name="ack-body-unknown", fact=Acked, severity=ERROR, judge=_unknown, cause=_body_of,
        clause="ADR-15.33, WIRE.e1; server: consumer.go processAck, exact bytes",
        right="Send +ACK, -NAK, +WPI, +TERM or +NXT.",
    ),
    Rule(
        name="nak-delay-unreadable", fact=Acked, severity=ERROR, judge=_delay,
        clause="WIRE.e2: a delay of a wrong type makes a plain nak",
        right="Send the delay as a whole number of nanoseconds.",
    ),
    Rule(
        name="next-without-reply", fact=Acked, severity=WARNING, judge=_bare_next, cause=per_link,
        clause="README.20, WIRE.e4: only the ack counts then",
        right="Send +NXT with the inbox for the next message as its reply subject.",
    ),
    Rule(
        name="term-reason-too-new", fact=Acked, severity=ERROR, judge=_reason, cause=per_link,
        clause="WIRE.e3: before 2.10 only the exact +TERM counts",
        right="Leave the reason out if INFO names a version before 2.10.",
    ),
    Rule(
        name="ack-twice", fact=Acked, severity=ERROR, judge=_twice,
        clause="ADR-15.35: a message is acknowledged once",
        right="Ignore every ack after the first, unless the first asked for an answer and got "
            "none.",
    ),
    Rule(
        name="progress-after-ack", fact=Acked, severity=ERROR, judge=_progress,
        clause="ADR-15.35",
        right="Stop sending +WPI when the message is settled.",
    ),
    Rule(
        name="ack-of-none", fact=Acked, severity=WARNING, judge=_mute, cause=_consumer_of,
        clause="ADR-15.37: ack policy none",
        right="Send no ack.",
    ),
)
# fmt: on
