"""Rules of the JetStream API: requests that cannot be answered, and those that do harm."""

from __future__ import annotations

from typing import Final

from jsproto.trace.client import number
from jsproto.trace.facts import Asked
from jsproto.trace.rules.table import ERROR, WARNING, Rule

_DIRECT: Final = frozenset({"seq", "last_by_subj", "next_by_subj", "start_time", "multi_last"})


def _unknown(fact: Asked) -> str | None:
    return (
        None
        if fact.request.verb
        else f"{fact.request.subject[:80]} is no call of the API: nobody will answer"
    )


def _no_reply(fact: Asked) -> str | None:
    return None if fact.request.reply else "a request without a reply subject: its answer is lost"


def _no_interest(fact: Asked) -> str | None:
    request = fact.request
    if not request.reply or fact.link.interest_in(request.reply) or "interests" in fact.link.forgot:
        return None
    return f"nobody listens on {request.reply}, so neither an answer nor a 503 can come"


def _reused(fact: Asked) -> str | None:
    if fact.waiting is None:
        return None
    return f"the request in line {fact.waiting.line} still waits for its answer on the same subject"


def _offset(fact: Asked) -> str | None:
    if fact.request.body is not None and number(fact.request.body, "offset") < 0:
        return "a negative offset makes servers before 2.12 panic"
    return None


def _delete(fact: Asked) -> str | None:
    if fact.request.verb in {"STREAM.DELETE", "CONSUMER.DELETE"} and fact.request.payload:
        return f"{fact.request.verb} with a body is refused"
    return None


def _direct(fact: Asked) -> str | None:
    request = fact.request
    if request.verb != "DIRECT.GET":
        return None
    if len(request.names) > 1:
        return None
    if request.body is None or not _DIRECT & set(request.body):
        return "a direct get that does not say which message: 408 Empty Request"
    return None


# fmt: off
RULES: Final = (
    Rule(name="api-unknown", fact=Asked, severity=ERROR, judge=_unknown,
        clause="WIRE.g1: unknown verbs under $JS.API have no answer", right="Use the subjects of the API as they are."),
    Rule(name="api-without-reply", fact=Asked, severity=WARNING, judge=_no_reply,
        clause="WIRE.g2 (ADR-1)", right="Send a reply subject, and wait for a while."),
    Rule(name="api-without-interest", fact=Asked, severity=ERROR, judge=_no_interest,
        clause="WIRE.g2 (ADR-1)", right="SUB the inbox before the request."),
    Rule(name="reply-reused", fact=Asked, severity=ERROR, judge=_reused,
        clause="WIRE.g3 (B181)", right="Take a reply subject that no open request has."),
    Rule(name="offset-negative", fact=Asked, severity=ERROR, judge=_offset,
        clause="WIRE.g4: servers 2.9 to 2.11 panic", right="Never send one."),
    Rule(name="delete-with-body", fact=Asked, severity=ERROR, judge=_delete,
        clause="WIRE.g5: 10038", right="Send an empty body."),
    Rule(name="direct-get-empty", fact=Asked, severity=ERROR, judge=_direct,
        clause="WIRE.i1 (ADR-31): 408 Empty Request", right="Name a sequence, a subject or a time."),
)
# fmt: on
