"""Rules of acknowledgements: where they go, what they say, and when nothing may be said any more
(ADR-15).
"""

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
    return f"{fact.command.subject} was never a reply subject; the delivery in line {fact.alike.line} has another"


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
        else f"{body[:60]!r} is redelivered at once: no delay can be read in it"
    )


def _bare_next(fact: Acked) -> str | None:
    if fact.command.payload.startswith(b"+NXT") and not fact.command.reply:
        return "+NXT without a reply subject acknowledges, and asks for nothing"
    return None


def _reason(fact: Acked) -> str | None:
    body = fact.command.payload
    if not body.startswith(b"+TERM") or body == b"+TERM":
        return None
    version = fact.link.version
    if version is not None and version < (2, 10):
        return "a server before 2.10 ignores a term with a reason, and delivers the message again"
    return None


def _twice(fact: Acked) -> str | None:
    delivery = fact.delivery
    if delivery is None or delivery.settled is None or delivery.link is not fact.link:
        return None
    if delivery.asked and not delivery.confirmed:
        return None  # its answer may be lost
    if not _terminal(fact.command.payload):
        return None
    return f"the delivery in line {delivery.line} was settled already, by {delivery.settled or b'an empty body'!r}"


def _progress(fact: Acked) -> str | None:
    delivery = fact.delivery
    if delivery is None or delivery.settled is None or fact.command.payload != b"+WPI":
        return None
    return f"in-progress for the delivery in line {delivery.line}, which was settled already"


def _mute(fact: Acked) -> str | None:
    if fact.consumer is not None and fact.consumer.config.get("ack_policy") == "none":
        return f"{fact.consumer.key[1]} has ack policy none, nothing may be acknowledged"
    return None


def _invented(fact: Acked) -> str | None:
    if not fact.invented:
        return None
    return f"{fact.command.subject} was the reply subject of no delivery, and deliveries of that consumer were seen"


def _consumer_of(fact: Acked) -> object:
    return None if fact.consumer is None else fact.consumer.key


def _body_of(fact: Acked) -> object:
    return fact.command.payload[:40]


# fmt: off
RULES: Final = (
    Rule(name="ack-subject-malformed", fact=Acked, severity=ERROR, judge=_malformed,
        clause="ADR-15.30: 9 tokens, or 11 and more", right="Publish to the reply subject as it came."),
    Rule(name="ack-subject-altered", fact=Acked, severity=ERROR, judge=_altered,
        clause="ADR-15.27", right="Publish to the reply subject as it came."),
    Rule(name="ack-invented", fact=Acked, severity=WARNING, judge=_invented,
        clause="ADR-15.27, ADR-15.30: the reply subject of the delivery", right="Acknowledge what was delivered, on the reply subject with which it came."),
    Rule(name="ack-body-unknown", fact=Acked, severity=ERROR, judge=_unknown, cause=_body_of,
        clause="ADR-15.33, WIRE.e1; server: consumer.go processAck, exact bytes (B109)", right="Send +ACK, -NAK, +WPI, +TERM or +NXT."),
    Rule(name="nak-delay-unreadable", fact=Acked, severity=ERROR, judge=_delay,
        clause="WIRE.e2: a wrong type is a plain nak (B110)", right="Send a whole number of nanoseconds."),
    Rule(name="next-without-reply", fact=Acked, severity=WARNING, judge=_bare_next, cause=per_link,
        clause="README.20, WIRE.e4: only the ack counts then", right="Give +NXT the inbox that wants the next message."),
    Rule(name="term-reason-too-new", fact=Acked, severity=ERROR, judge=_reason, cause=per_link,
        clause="WIRE.e3: before 2.10 only the exact +TERM counts", right="Leave the reason out where INFO says a version before 2.10."),
    Rule(name="ack-twice", fact=Acked, severity=ERROR, judge=_twice,
        clause="ADR-15.35: a message is acknowledged once (B103)", right="Ignore every ack behind the first, unless that one asked for an answer and got none."),
    Rule(name="progress-after-ack", fact=Acked, severity=ERROR, judge=_progress,
        clause="ADR-15.35 (B100)", right="Stop saying in-progress when the message is settled."),
    Rule(name="ack-of-none", fact=Acked, severity=WARNING, judge=_mute, cause=_consumer_of,
        clause="ADR-15.37: ack policy none (B104)", right="Say nothing."),
)
# fmt: on
