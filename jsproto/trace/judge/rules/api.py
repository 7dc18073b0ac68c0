"""Rules of the JetStream API: requests that cannot be answered, and those that do harm."""

from __future__ import annotations

from typing import Final

from jsproto.trace.judge.rules.table import ERROR, WARNING, Rule
from jsproto.trace.observe.client import number
from jsproto.trace.observe.facts import ApiErrorSeen, ApiRequestSeen
from jsproto.trace.observe.ledger import SECOND

#: Behind a new link, what a client does by itself it does within so much time.
AT_ONCE: Final = SECOND
#: Errors that say that the request contradicts itself or cannot be read, whatever there is on the
#: server.
_MALFORMED: Final = frozenset({
    10003, *range(10015, 10021), 10025, 10038, 10056, *range(10078, 10084), *range(10086, 10092), 10094, 10095, 10102, 10103, 10107,
    10108, 10112, 10114, 10115, 10116, 10127, 10128, *range(10131, 10134), *range(10135, 10140), 10159, 10161, 10162, 10178,
    *range(10181, 10185), 10193, 10196, 10197, *range(10218, 10223),
})  # fmt: skip
_DIRECT: Final = frozenset({"seq", "last_by_subj", "next_by_subj", "start_time", "multi_last"})


def _unknown(fact: ApiRequestSeen) -> str | None:
    return (
        None
        if fact.request.verb
        else f"{fact.request.subject[:80]} is no call of the API: nobody will answer"
    )


def _no_reply(fact: ApiRequestSeen) -> str | None:
    return None if fact.request.reply else "a request without a reply subject: its answer is lost"


def _no_interest(fact: ApiRequestSeen) -> str | None:
    request = fact.request
    if not request.reply or fact.link.interest_in(request.reply) or "interests" in fact.link.forgot:
        return None
    return f"nobody listens on {request.reply}, so neither an answer nor a 503 can come"


def _reused(fact: ApiRequestSeen) -> str | None:
    if fact.waiting is None:
        return None
    return f"the request in line {fact.waiting.line} still waits for its answer on the same subject"


def _offset(fact: ApiRequestSeen) -> str | None:
    if fact.request.body is not None and number(fact.request.body, "offset") < 0:
        return "a negative offset makes servers before 2.12 panic"
    return None


def _delete(fact: ApiRequestSeen) -> str | None:
    if fact.request.verb in {"STREAM.DELETE", "CONSUMER.DELETE"} and fact.request.payload:
        return f"{fact.request.verb} with a body is refused"
    return None


def _direct(fact: ApiRequestSeen) -> str | None:
    request = fact.request
    if request.verb != "DIRECT.GET":
        return None
    if len(request.names) > 1:
        return None
    if request.body is None or not _DIRECT & set(request.body):
        return "a direct get that does not say which message: 408 Empty Request"
    return None


def _refused(fact: ApiErrorSeen) -> str | None:
    if fact.err_code not in _MALFORMED:
        return None
    return f"the server refused the request in line {fact.request.line}: {fact.text[:120]} ({fact.err_code})"


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
        f"{request.names[1]} was read on the link before, and is asked about before it is read on"
    )


# fmt: off
RULES: Final = (
    Rule(name="api-unknown", fact=ApiRequestSeen, severity=ERROR, judge=_unknown,
        clause="WIRE.g1: unknown verbs under $JS.API have no answer", right="Use the subjects of the API as they are."),
    Rule(name="api-without-reply", fact=ApiRequestSeen, severity=WARNING, judge=_no_reply,
        clause="WIRE.g2 (ADR-1)", right="Send a reply subject, and wait for a while."),
    Rule(name="api-without-interest", fact=ApiRequestSeen, severity=ERROR, judge=_no_interest,
        clause="WIRE.g2 (ADR-1)", right="SUB the inbox before the request."),
    Rule(name="reply-reused", fact=ApiRequestSeen, severity=ERROR, judge=_reused,
        clause="WIRE.g3 (B181)", right="Take a reply subject that no open request has."),
    Rule(name="offset-negative", fact=ApiRequestSeen, severity=ERROR, judge=_offset,
        clause="WIRE.g4: servers 2.9 to 2.11 panic", right="Never send one."),
    Rule(name="delete-with-body", fact=ApiRequestSeen, severity=ERROR, judge=_delete,
        clause="WIRE.g5: 10038", right="Send an empty body."),
    Rule(name="request-refused", fact=ApiErrorSeen, severity=ERROR, judge=_refused, cause=_code_of, proof=_line_of,
        clause="WIRE.f5, WIRE.g6, WIRE.g7: requests that the server cannot take", right="Send what the server can take: the same request is refused again."),
    Rule(name="asked-before-pull", fact=ApiRequestSeen, severity=WARNING, judge=_asks_first,
        clause="ADR-37.43: nobody asks after a reconnect whether the consumer is there", right="Pull at once: a consumer that is gone is told by a status."),
    Rule(name="direct-get-empty", fact=ApiRequestSeen, severity=ERROR, judge=_direct,
        clause="WIRE.i1 (ADR-31): 408 Empty Request", right="Name a sequence, a subject or a time."),
)
# fmt: on
