"""Rules of the JetStream API: requests that the server cannot answer, and harmful ones."""

from __future__ import annotations

from typing import Final

from jsproto.trace.judge.rules.table import ERROR, WARNING, Rule
from jsproto.trace.observe.client import number
from jsproto.trace.observe.facts import ApiErrorSeen, ApiRequestSeen
from jsproto.trace.observe.ledger import SECOND

#: Time after the start of a link in which a request counts as the client's own, not the user's.
AT_ONCE: Final = SECOND
#: API errors which say that the request contradicts itself or cannot be read, whatever streams and
#: consumers the server has.
_MALFORMED: Final = frozenset({
    10003, *range(10015, 10021), 10025, 10038, 10056, *range(10078, 10084), *range(10086, 10092),
    10094, 10095, 10102, 10103, 10107, 10108, 10112, 10114, 10115, 10116, 10127, 10128,
    *range(10131, 10134), *range(10135, 10140), 10159, 10161, 10162, 10178, *range(10181, 10185),
    10193, 10196, 10197, *range(10218, 10223),
})  # fmt: skip
_DIRECT: Final = frozenset({"seq", "last_by_subj", "next_by_subj", "start_time", "multi_last"})


def _unknown(fact: ApiRequestSeen) -> str | None:
    return (
        None
        if fact.request.verb
        else f"the API has no subject {fact.request.subject[:80]}, so no answer will come"
    )


def _no_reply(fact: ApiRequestSeen) -> str | None:
    return None if fact.request.reply else "the request has no reply subject, so its answer is lost"


def _no_interest(fact: ApiRequestSeen) -> str | None:
    request = fact.request
    if not request.reply or fact.link.interest_in(request.reply) or "interests" in fact.link.forgot:
        return None
    return (
        f"the link has no subscription for {request.reply}, so neither an answer nor a 503 can come"
    )


def _reused(fact: ApiRequestSeen) -> str | None:
    if fact.waiting is None:
        return None
    return (
        f"the request in line {fact.waiting.line} still waits for its answer "
        "on the same reply subject"
    )


def _offset(fact: ApiRequestSeen) -> str | None:
    if fact.request.body is not None and number(fact.request.body, "offset") < 0:
        return "a negative offset makes servers before 2.12 panic"
    return None


def _delete(fact: ApiRequestSeen) -> str | None:
    if fact.request.verb in {"STREAM.DELETE", "CONSUMER.DELETE"} and fact.request.payload:
        return f"the server refuses {fact.request.verb} with a body"
    return None


def _direct(fact: ApiRequestSeen) -> str | None:
    request = fact.request
    if request.verb != "DIRECT.GET":
        return None
    if len(request.names) > 1:
        return None
    if request.body is None or not _DIRECT & set(request.body):
        return "the direct get does not say which message it wants: 408 Empty Request"
    return None


def _refused(fact: ApiErrorSeen) -> str | None:
    if fact.err_code not in _MALFORMED:
        return None
    return (
        f"the server refused the request in line {fact.request.line}: "
        f"{fact.text[:120]} ({fact.err_code})"
    )


def _line_of(fact: ApiErrorSeen) -> int:
    return fact.request.line


def _code_of(fact: ApiErrorSeen) -> object:
    return fact.err_code, fact.request.verb


def _asks_first(fact: ApiRequestSeen) -> str | None:
    link, request = fact.link, fact.request
    if request.verb != "CONSUMER.INFO" or len(request.names) != 2 or link.before is None:
        return None
    key = (request.names[0], request.names[1])
    reading = any(each.loop for each in link.before.readers.get(key, {}).values())
    if not reading or key in link.asked or request.at - link.at > AT_ONCE:
        return None
    return (
        f"the client pulled from {request.names[1]} on the link before, "
        "and now requests its information before it pulls again"
    )


# fmt: off
RULES: Final = (
    Rule(
        name="api-unknown", fact=ApiRequestSeen, severity=ERROR, judge=_unknown,
        clause="WIRE.g1: unknown verbs under $JS.API have no answer",
        right="Use only the subjects of the API.",
    ),
    Rule(
        name="api-without-reply", fact=ApiRequestSeen, severity=WARNING, judge=_no_reply,
        clause="WIRE.g2 (ADR-1)",
        right="Send a reply subject, and wait for the answer with a timeout.",
    ),
    Rule(
        name="api-without-interest", fact=ApiRequestSeen, severity=ERROR, judge=_no_interest,
        clause="WIRE.g2 (ADR-1)",
        right="SUB the inbox before the request.",
    ),
    Rule(
        name="reply-reused", fact=ApiRequestSeen, severity=ERROR, judge=_reused,
        clause="WIRE.g3",
        right="Use a reply subject that no open request has.",
    ),
    Rule(
        name="offset-negative", fact=ApiRequestSeen, severity=ERROR, judge=_offset,
        clause="WIRE.g4: servers 2.9 to 2.11 panic",
        right="Send no negative offset.",
    ),
    Rule(
        name="delete-with-body", fact=ApiRequestSeen, severity=ERROR, judge=_delete,
        clause="WIRE.g5: 10038",
        right="Send an empty body.",
    ),
    Rule(
        name="request-refused", fact=ApiErrorSeen, severity=ERROR, judge=_refused, cause=_code_of,
        proof=_line_of,
        clause="WIRE.f5, WIRE.g6, WIRE.g7: requests that the server cannot take",
        right="Send a request that the server can accept; it refuses the same one again.",
    ),
    Rule(
        name="asked-before-pull", fact=ApiRequestSeen, severity=WARNING, judge=_asks_first,
        clause="ADR-37.43: no consumer info after a reconnect",
        right="Pull at once: a status reports a consumer that is gone.",
    ),
    Rule(
        name="direct-get-empty", fact=ApiRequestSeen, severity=ERROR, judge=_direct,
        clause="WIRE.i1 (ADR-31): 408 Empty Request",
        right="Name a sequence, a subject or a time.",
    ),
)
# fmt: on
