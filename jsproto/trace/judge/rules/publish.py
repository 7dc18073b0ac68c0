"""Rules of publishing: headers, ids, expectations, batches (ADR-4, ADR-22, ADR-43, ADR-49, ADR-50)."""

from __future__ import annotations

import re
from typing import Final

from jsproto.trace.judge.rules.table import ERROR, WARNING, Rule
from jsproto.trace.observe.facts import Published
from jsproto.wire.headers import Headers

#: Names that the server looks up in stored messages, byte by byte.
_KNOWN: Final = {
    name.casefold(): name
    for name in (
        "Nats-Msg-Id", "Nats-Expected-Stream", "Nats-Expected-Last-Sequence", "Nats-Expected-Last-Subject-Sequence",
        "Nats-Expected-Last-Msg-Id", "Nats-Rollup", "Nats-TTL", "Nats-Incr", "Nats-Batch-Id", "Nats-Batch-Sequence",
        "Nats-Batch-Commit",
    )
}  # fmt: skip
_TTL: Final = re.compile(r"never|[0-9]+|(?:[0-9]+(?:\.[0-9]+)?(?:ns|us|µs|ms|s|m|h))+").fullmatch
_SHORT: Final = re.compile(r"0+|(?:[0-9]+(?:\.[0-9]+)?(?:ns|us|µs|ms))+|0*(?:\.[0-9]+)?s").fullmatch
_MOST_BATCH_ID: Final = 64
#: What servers say to each other, and tell of themselves.
_RESERVED: Final = ("$JS.EVENT.", "$SYS.", "$NRG.", "$JSC.", "$GR.", "_R_.", "_GR_.")


def _headers(fact: Published) -> Headers:
    return Headers.parse(fact.command.block or b"NATS/1.0\r\n\r\n")


def _digits(value: str) -> bool:
    """ASCII digits: other scripts have some too, which no server reads, and neither does ``int``."""
    return value.isascii() and value.isdigit()


def _damaged(fact: Published) -> str | None:
    if not fact.command.block:
        return None
    defects = _headers(fact).defects
    return f"the header block is damaged: {defects[0].reason}" if defects else None


def _status(fact: Published) -> str | None:
    status = _headers(fact).status
    return (
        f"a published message carries the status {status[0]}, which readers take for the server's"
        if status
        else None
    )


def _case(fact: Published) -> str | None:
    for name in _headers(fact):
        right = _KNOWN.get(name.casefold())
        if right is not None and right != name:
            return f"{name} is not {right}: the server does not see it"
    return None


def _blank(fact: Published) -> str | None:
    for line in (fact.command.block or b"").split(b"\n"):
        if line.startswith(b"Nats-Msg-Id:") and line.removesuffix(b"\r").endswith((b" ", b"\t")):
            return "a blank behind the id makes it another id"
    return None


def _clash(fact: Published) -> str | None:
    if fact.clash is None:
        return None
    return f"the id {fact.clash.msg_id[:60]} was given to another payload in line {fact.clash.line}: this one is dropped as a duplicate"


def _retried(fact: Published) -> str | None:
    if fact.unknown is None:
        return None
    lost = "is not known" if fact.unknown.link.up else "was lost with its link"
    return f"the message of line {fact.unknown.line}, whose outcome {lost}, is published again without an id"


def _number(fact: Published) -> str | None:
    for name in ("Nats-Expected-Last-Sequence", "Nats-Expected-Last-Subject-Sequence"):
        value = _headers(fact).last(name)
        if value is not None and not _digits(value):
            return f"{name} is {value[:40]!r}, no number: the server takes it for a mismatch"
    return None


def _rollup(fact: Published) -> str | None:
    value = _headers(fact).last("Nats-Rollup")
    return (
        None
        if value is None or value.casefold() in {"sub", "all"}
        else f"Nats-Rollup is {value[:40]!r}, and must be sub or all"
    )


def _ttl(fact: Published) -> str | None:
    value = _headers(fact).last("Nats-TTL")
    if value is None or (_TTL(value) and not _SHORT(value)):
        return None
    return f"Nats-TTL is {value[:40]!r}, and must be never, seconds, or a duration of at least 1s"


def _incr(fact: Published) -> str | None:
    value = _headers(fact).last("Nats-Incr")
    if value is None:
        return None
    if value[:1] not in {"+", "-"} or not _digits(value[1:]):
        return f"Nats-Incr is {value[:40]!r}, and must be a sign and digits"
    return "a message with Nats-Incr has an empty payload" if fact.command.payload else None


def _batch(fact: Published) -> str | None:
    headers = _headers(fact)
    name, sequence = headers.last("Nats-Batch-Id"), headers.last("Nats-Batch-Sequence")
    if name is None and sequence is None:
        return None
    if not name or len(name.encode("utf-8", "surrogateescape")) > _MOST_BATCH_ID:
        return f"a batch id has 1 to {_MOST_BATCH_ID} bytes"
    if sequence is None or not _digits(sequence) or int(sequence[:19]) < 1:
        return "a message of a batch has a sequence from 1"
    return None


def _subject(fact: Published) -> str | None:
    subject = fact.command.subject
    if not subject.startswith(_RESERVED) or subject.startswith("$SYS.REQ."):
        return None
    return f"{subject[:80]} is a subject of the server's own"


def _reserved(fact: Published) -> str | None:
    return (
        "Nats-Stream-Source is the server's own" if "Nats-Stream-Source" in _headers(fact) else None
    )


# fmt: off
RULES: Final = (
    Rule(name="header-damaged", fact=Published, severity=ERROR, judge=_damaged,
        clause="WIRE.a15 (ADR-4; B115): CR LF in a value is another header", right="Refuse names and values that break the block."),
    Rule(name="status-forged", fact=Published, severity=WARNING, judge=_status,
        clause="WIRE.a17 (ADR-4): servers before 2.12 store it", right="Leave the status line to the server."),
    Rule(name="header-case", fact=Published, severity=ERROR, judge=_case,
        clause="WIRE.a16: headers are looked up byte by byte (B121)", right="Spell names as the server does."),
    Rule(name="msg-id-blank", fact=Published, severity=ERROR, judge=_blank,
        clause="WIRE.a16: only leading blanks are skipped", right="Write values without blanks at their ends."),
    Rule(name="msg-id-reused", fact=Published, severity=WARNING, judge=_clash,
        clause="README.9, WIRE.h3 (ADR-22): deduplication", right="Give an id to one message only."),
    Rule(name="publish-retried", fact=Published, severity=WARNING, judge=_retried,
        clause="WIRE.h2 (ADR-22; B176): the outcome is unknown", right="Repeat only with a message id, or after 503."),
    Rule(name="expectation-not-numeric", fact=Published, severity=ERROR, judge=_number,
        clause="WIRE.h4: a mismatch", right="Send digits."),
    Rule(name="rollup-unknown", fact=Published, severity=ERROR, judge=_rollup,
        clause="WIRE.h5: 10111", right="Send sub or all."),
    Rule(name="ttl-unreadable", fact=Published, severity=ERROR, judge=_ttl,
        clause="WIRE.h6 (ADR-43): 10165", right="Send whole seconds, a duration of at least a second, or never."),
    Rule(name="increment-unreadable", fact=Published, severity=ERROR, judge=_incr,
        clause="WIRE.h7 (ADR-49)", right="Send a sign and digits, and no payload."),
    Rule(name="batch-unreadable", fact=Published, severity=ERROR, judge=_batch,
        clause="WIRE.h8 (ADR-50)", right="Send an id of at most 64 bytes and sequences from 1."),
    Rule(name="subject-reserved", fact=Published, severity=WARNING, judge=_subject,
        clause="WIRE.a13 (ADR-6): reserved names", right="Publish below names of your own: whoever listens there takes it for the server's word."),
    Rule(name="header-reserved", fact=Published, severity=ERROR, judge=_reserved,
        clause="WIRE.h9: 10227", right="Leave it out."),
)
# fmt: on
