"""Rules of publishing: headers, ids, expectations, batches (ADR-4, 22, 43, 49 and 50)."""

from __future__ import annotations

import re
from typing import Final

from jsproto.trace.judge.rules.table import ERROR, WARNING, Rule
from jsproto.trace.observe.facts import Published
from jsproto.wire.headers import Headers

#: Header names that the server compares byte by byte in stored messages.
_KNOWN: Final = {
    name.casefold(): name
    for name in (
        "Nats-Msg-Id", "Nats-Expected-Stream", "Nats-Expected-Last-Sequence",
        "Nats-Expected-Last-Subject-Sequence", "Nats-Expected-Last-Msg-Id", "Nats-Rollup",
        "Nats-TTL", "Nats-Incr", "Nats-Batch-Id", "Nats-Batch-Sequence", "Nats-Batch-Commit",
    )
}  # fmt: skip
_TTL: Final = re.compile(r"never|[0-9]+|(?:[0-9]+(?:\.[0-9]+)?(?:ns|us|µs|ms|s|m|h))+").fullmatch
_SHORT: Final = re.compile(r"0+|(?:[0-9]+(?:\.[0-9]+)?(?:ns|us|µs|ms))+|0*(?:\.[0-9]+)?s").fullmatch
_MOST_BATCH_ID: Final = 64
#: Subjects for messages between servers and for their events.
_RESERVED: Final = ("$JS.EVENT.", "$SYS.", "$NRG.", "$JSC.", "$GR.", "_R_.", "_GR_.")


def _headers(fact: Published) -> Headers:
    return Headers.parse(fact.command.block or b"NATS/1.0\r\n\r\n")


def _digits(value: str) -> bool:
    """Whether the text is ASCII digits; the server reads no digits of other scripts."""
    return value.isascii() and value.isdigit()


def _damaged(fact: Published) -> str | None:
    if not fact.command.block:
        return None
    defects = _headers(fact).defects
    return f"the header block is damaged: {defects[0].reason}" if defects else None


def _status(fact: Published) -> str | None:
    status = _headers(fact).status
    return (
        f"the client published the status {status[0]}, which readers take for the server's"
        if status
        else None
    )


def _case(fact: Published) -> str | None:
    for name in _headers(fact):
        right = _KNOWN.get(name.casefold())
        if right is not None and right != name:
            return f"{name} is not {right}: the server does not find the header"
    return None


def _blank(fact: Published) -> str | None:
    for line in (fact.command.block or b"").split(b"\n"):
        if line.startswith(b"Nats-Msg-Id:") and line.removesuffix(b"\r").endswith((b" ", b"\t")):
            return "a blank after the message id makes it another id"
    return None


def _clash(fact: Published) -> str | None:
    if fact.clash is None:
        return None
    return (
        f"line {fact.clash.line} used the id {fact.clash.msg_id[:60]} for another payload: "
        "the server drops this message as a duplicate"
    )


def _retried(fact: Published) -> str | None:
    if fact.unknown is None:
        return None
    lost = "is not known" if fact.unknown.link.up else "was lost with its link"
    return (
        f"the client repeats the message of line {fact.unknown.line}, whose outcome {lost}, "
        "without a message id"
    )


def _number(fact: Published) -> str | None:
    for name in ("Nats-Expected-Last-Sequence", "Nats-Expected-Last-Subject-Sequence"):
        value = _headers(fact).last(name)
        if value is not None and not _digits(value):
            return f"expected digits as {name}, got {value[:40]!r}: the server reports a mismatch"
    return None


def _rollup(fact: Published) -> str | None:
    value = _headers(fact).last("Nats-Rollup")
    return (
        None
        if value is None or value.casefold() in {"sub", "all"}
        else f"expected sub or all as Nats-Rollup, got {value[:40]!r}"
    )


def _ttl(fact: Published) -> str | None:
    value = _headers(fact).last("Nats-TTL")
    if value is None or (_TTL(value) and not _SHORT(value)):
        return None
    return f"expected never, seconds, or a duration of at least 1s as Nats-TTL, got {value[:40]!r}"


def _incr(fact: Published) -> str | None:
    value = _headers(fact).last("Nats-Incr")
    if value is None:
        return None
    if value[:1] not in {"+", "-"} or not _digits(value[1:]):
        return f"expected a sign and digits as Nats-Incr, got {value[:40]!r}"
    return "a message with Nats-Incr must have an empty payload" if fact.command.payload else None


def _batch(fact: Published) -> str | None:
    headers = _headers(fact)
    name, sequence = headers.last("Nats-Batch-Id"), headers.last("Nats-Batch-Sequence")
    if name is None and sequence is None:
        return None
    if not name or len(name.encode("utf-8", "surrogateescape")) > _MOST_BATCH_ID:
        return f"expected a batch id of 1 to {_MOST_BATCH_ID} bytes, got an empty or longer one"
    if sequence is None or not _digits(sequence) or int(sequence[:19]) < 1:
        return "expected a batch sequence from 1, got a smaller one or none"
    return None


def _subject(fact: Published) -> str | None:
    subject = fact.command.subject
    if not subject.startswith(_RESERVED) or subject.startswith("$SYS.REQ."):
        return None
    return f"{subject[:80]} is a subject that is reserved for servers"


def _reserved(fact: Published) -> str | None:
    return (
        "the header Nats-Stream-Source is reserved for servers"
        if "Nats-Stream-Source" in _headers(fact)
        else None
    )


# fmt: off
RULES: Final = (
    Rule(
        name="header-damaged", fact=Published, severity=ERROR, judge=_damaged,
        clause="WIRE.a15 (ADR-4): CR LF in a value is another header",
        right="Refuse names and values that break the block.",
    ),
    Rule(
        name="status-forged", fact=Published, severity=WARNING, judge=_status,
        clause="WIRE.a17 (ADR-4): servers before 2.12 store it",
        right="Publish no status line.",
    ),
    Rule(
        name="header-case", fact=Published, severity=ERROR, judge=_case,
        clause="WIRE.a16: the server compares header names byte by byte",
        right="Spell the names as the server does.",
    ),
    Rule(
        name="msg-id-blank", fact=Published, severity=ERROR, judge=_blank,
        clause="WIRE.a16: the server skips leading blanks only",
        right="Write values without blanks at their ends.",
    ),
    Rule(
        name="msg-id-reused", fact=Published, severity=WARNING, judge=_clash,
        clause="README.9, WIRE.h3 (ADR-22): deduplication",
        right="Use each id for one message only.",
    ),
    Rule(
        name="publish-retried", fact=Published, severity=WARNING, judge=_retried,
        clause="WIRE.h2 (ADR-22): the outcome is unknown",
        right="Repeat a message only with a message id, or after 503.",
    ),
    Rule(
        name="expectation-not-numeric", fact=Published, severity=ERROR, judge=_number,
        clause="WIRE.h4: a mismatch",
        right="Send digits.",
    ),
    Rule(
        name="rollup-unknown", fact=Published, severity=ERROR, judge=_rollup,
        clause="WIRE.h5: 10111",
        right="Send sub or all.",
    ),
    Rule(
        name="ttl-unreadable", fact=Published, severity=ERROR, judge=_ttl,
        clause="WIRE.h6 (ADR-43): 10165",
        right="Send whole seconds, a duration of at least a second, or never.",
    ),
    Rule(
        name="increment-unreadable", fact=Published, severity=ERROR, judge=_incr,
        clause="WIRE.h7 (ADR-49)",
        right="Send a sign and digits, and no payload.",
    ),
    Rule(
        name="batch-unreadable", fact=Published, severity=ERROR, judge=_batch,
        clause="WIRE.h8 (ADR-50)",
        right="Send an id of at most 64 bytes and sequences from 1.",
    ),
    Rule(
        name="subject-reserved", fact=Published, severity=WARNING, judge=_subject,
        clause="WIRE.a13 (ADR-6): reserved names",
        right="Publish on your own subjects: subscribers take a message on this one for the "
            "server's.",
    ),
    Rule(
        name="header-reserved", fact=Published, severity=ERROR, judge=_reserved,
        clause="WIRE.h9: 10227",
        right="Leave the header out.",
    ),
)
# fmt: on
