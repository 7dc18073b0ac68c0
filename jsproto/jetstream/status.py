"""The table of all statuses that JetStream sends: code, text, and what a client does about it.

Theory (ADR-37, ADR-15). A status is the inline first line of a header block. Its code alone is
not enough: 409 has eleven meanings. So a row is found by the code *and* by the beginning of the
text. A row's `StatusAction` says what a machine does. Its `EndReason` says how the pull or the
operation ended. Its `Remainder` says how much of the request will not arrive any more. No other
module compares a status code or text, so a new server version needs only a new row here.

The rows follow what servers 2.9.10 to 2.15.1 sent in tests. Where an ADR differs, the table
follows the servers.

The table also covers unknown statuses. A code of 400 or more ends the operation and is reported.
A lower code is reported and changes nothing. Code 100 never ends anything.

A publisher can write a status line into its own message, and servers before 2.12 store it. So a
frame is a status only if it came on the reader's own inbox and is no delivery
(`jsproto.jetstream.pull.request`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Final, final

from attrs import field, frozen

from jsproto.core.state import IdentityEnum
from jsproto.errors.tree import JsprotoError, NoResponders, StatusError, shorten
from jsproto.jetstream.errors import (
    BadRequestStatus,
    ConsumerDeleted,
    ConsumerIsPush,
    DirectGetFoundNothing,
    HigherApiLevelRequired,
    LeadershipChanged,
    NextMessageTooLarge,
    PinLost,
    PublishDropped,
    PullLimitExceeded,
    ServerShutdown,
    SnapshotBroken,
    TooManyResults,
    UnknownStatus,
)
from jsproto.wire.headers import header_value


class StatusContext(Enum):
    """The exchange in which a status comes; the same code and text can mean different things."""

    PULL = "PULL"
    PUSH = "PUSH"
    DIRECT = "DIRECT"
    SNAPSHOT = "SNAPSHOT"
    PUBLISH = "PUBLISH"


class StatusAction(IdentityEnum):
    """What a machine does about a status."""

    #: Record a sign of life; nothing else.
    HEARTBEAT = "HEARTBEAT"
    #: Answer the flow-control request of the server.
    FLOW_CONTROL = "FLOW_CONTROL"
    #: The pull ended normally; no report to the user.
    PULL_ENDED = "PULL_ENDED"
    #: The next message does not fit into the rest of the byte budget. It may even be larger than
    #: the whole budget.
    DOES_NOT_FIT = "DOES_NOT_FIT"
    #: The server rejected the request: warn. The same request again would fail again.
    PULL_REFUSED = "PULL_REFUSED"
    #: All pulls of this inbox are lost: ask again.
    RESET = "RESET"
    #: No server serves the subject now: try again later.
    GONE_FOR_NOW = "GONE_FOR_NOW"
    #: The same request would always fail.
    FATAL = "FATAL"
    #: The consumer is gone: fatal, unless the user waits for its return.
    DELETED = "DELETED"
    #: The pin id is not the current one: drop it.
    PIN_LOST = "PIN_LOST"
    #: The last of several answers, a normal end.
    COMPLETE = "COMPLETE"
    #: An operation failed.
    FAILED = "FAILED"
    #: An unknown status that ends the operation.
    UNKNOWN = "UNKNOWN"
    #: An unknown status that ends nothing.
    STRANGE = "STRANGE"


class EndReason(IdentityEnum):
    """How a pull, a fetch or a consume ended; each ends exactly once."""

    #: All requested messages arrived.
    FILLED = "FILLED"
    #: The stream has no (more) messages now, and the request did not want to wait.
    NO_MESSAGES = "NO_MESSAGES"
    #: The request expired.
    EXPIRED = "EXPIRED"
    #: The request did not want to wait, and older pulls come first.
    REQUESTS_PENDING = "REQUESTS_PENDING"
    #: The byte budget is used up.
    BYTES_SPENT = "BYTES_SPENT"
    #: One message is larger than the whole byte budget.
    TOO_LARGE = "TOO_LARGE"
    #: The server rejected the request.
    REFUSED = "REFUSED"
    #: The consumer has a new leader, or its server shut down.
    RESET = "RESET"
    #: No server answered the request.
    NO_RESPONDERS = "NO_RESPONDERS"
    #: The consumer was deleted.
    DELETED = "DELETED"
    #: A status after which another request is useless.
    FATAL = "FATAL"
    #: Another client is pinned.
    PIN_LOST = "PIN_LOST"
    #: A status that this version does not know.
    UNKNOWN = "UNKNOWN"
    #: Heartbeats were missed.
    SILENT = "SILENT"
    #: The server sent no end; the local deadline, later than the server's, has passed.
    DEADLINE = "DEADLINE"
    #: The link was lost.
    DISCONNECTED = "DISCONNECTED"
    #: The user closed it.
    CLOSED = "CLOSED"


class Limit(Enum):
    """Which number of a request exceeded the consumer's limit."""

    BATCH = "BATCH"
    #: The limit is a Go duration.
    EXPIRES = "EXPIRES"
    MAX_BYTES = "MAX_BYTES"
    #: Too many pulls wait already; the server does not tell the limit.
    MAX_WAITING = "MAX_WAITING"


class Remainder(Enum):
    """How much of a request a status without pending headers ends.

    If the frame has pending headers, they decide.
    """

    #: Nothing: the request continues, or there is none.
    NONE = "NONE"
    #: The part that has not arrived.
    OWED = "OWED"
    #: The whole request: the server did not begin it.
    WHOLE = "WHOLE"
    #: The rest of every pull of this inbox.
    ALL = "ALL"


@final
@frozen(kw_only=True)
class StatusRow:
    """One row of the table.

    Attributes:
        code: three digits.
        text: how the description begins, without regard to case; ``""`` for every other text.
        place: the exchange in which the status comes.
        verdict: what a machine does.
        end: how the pull or the operation ended, ``None`` if it continues.
        rest: how much of the request ends if the frame has no pending headers.
        limit: which limit was exceeded.
        headers: whether the frame carries ``Nats-Pending-Messages`` and ``Nats-Pending-Bytes``.
        error: the error class, ``None`` if the status is no error.
        since: first server version, ``""`` if all tested versions send it (from 2.9).
        note: remarks.
    """

    code: int
    text: str = ""
    place: StatusContext = StatusContext.PULL
    verdict: StatusAction
    end: EndReason | None = None
    rest: Remainder = Remainder.NONE
    limit: Limit | None = None
    headers: bool = False
    error: type[StatusError] | None = None
    since: str = ""
    note: str = field(default="", repr=False)


# fmt: off
_PULL: Final = (
    StatusRow(code=100, text="Idle Heartbeat", verdict=StatusAction.HEARTBEAT,
        note="Nats-Last-Consumer, Nats-Last-Stream; each message of that pull restarts the "
            "interval"),
    StatusRow(code=404, text="No Messages", verdict=StatusAction.PULL_ENDED,
        end=EndReason.NO_MESSAGES, rest=Remainder.OWED,
        note="no_wait; from 2.11 on also after the last message of a partial answer"),
    StatusRow(code=404, verdict=StatusAction.PULL_ENDED, end=EndReason.NO_MESSAGES,
        rest=Remainder.OWED,
        note="any other text of a later server: the code is a normal end"),
    StatusRow(code=408, text="Request Timeout", verdict=StatusAction.PULL_ENDED,
        end=EndReason.EXPIRED, rest=Remainder.OWED, headers=True,
        note="on 2.9 and 2.10 also the end of a partial no_wait"),
    StatusRow(code=408, text="Requests Pending", verdict=StatusAction.PULL_ENDED,
        end=EndReason.REQUESTS_PENDING, rest=Remainder.WHOLE,
        note="no_wait while older pulls ask for more messages than the stream has"),
    StatusRow(code=408, text="Interest Expired", verdict=StatusAction.PULL_ENDED,
        end=EndReason.EXPIRED, rest=Remainder.OWED, headers=True,
        note="through an account import whose inbox lost interest (from the server's source)"),
    StatusRow(code=408, verdict=StatusAction.PULL_ENDED, end=EndReason.EXPIRED, rest=Remainder.OWED,
        headers=True,
        note="any other text of a later server: the code is a normal end"),
    StatusRow(code=409, text="Message Size Exceeds MaxBytes", verdict=StatusAction.DOES_NOT_FIT,
        end=EndReason.BYTES_SPENT, rest=Remainder.OWED, headers=True, error=NextMessageTooLarge,
        note="an error only if nothing was delivered: pending bytes equal the request's"),
    StatusRow(code=409, text="Batch Completed", verdict=StatusAction.PULL_ENDED,
        end=EndReason.FILLED, rest=Remainder.OWED, headers=True, since="2.10",
        note="the batch is full and bytes are left; 2.9 sends no status then"),
    StatusRow(code=409, text="Exceeded MaxRequestBatch", verdict=StatusAction.PULL_REFUSED,
        end=EndReason.REFUSED, rest=Remainder.WHOLE, limit=Limit.BATCH, error=PullLimitExceeded),
    StatusRow(code=409, text="Exceeded MaxRequestExpires", verdict=StatusAction.PULL_REFUSED,
        end=EndReason.REFUSED, rest=Remainder.WHOLE, limit=Limit.EXPIRES, error=PullLimitExceeded,
        note="limit as a Go duration"),
    StatusRow(code=409, text="Exceeded MaxRequestMaxBytes", verdict=StatusAction.PULL_REFUSED,
        end=EndReason.REFUSED, rest=Remainder.WHOLE, limit=Limit.MAX_BYTES, error=PullLimitExceeded),
    StatusRow(code=409, text="Exceeded MaxWaiting", verdict=StatusAction.PULL_REFUSED,
        end=EndReason.REFUSED, rest=Remainder.WHOLE, limit=Limit.MAX_WAITING, error=PullLimitExceeded,
        note="from 2.11 on no status if the pull asks for heartbeats"),
    StatusRow(code=409, text="Exceeded", verdict=StatusAction.PULL_REFUSED, end=EndReason.REFUSED,
        rest=Remainder.WHOLE, error=PullLimitExceeded,
        note="limits that later servers may add"),
    StatusRow(code=409, text="Consumer is push based", verdict=StatusAction.FATAL,
        end=EndReason.FATAL, rest=Remainder.ALL, error=ConsumerIsPush),
    StatusRow(code=409, text="Consumer Deleted", verdict=StatusAction.DELETED,
        end=EndReason.DELETED, rest=Remainder.ALL, error=ConsumerDeleted,
        note="also for a deleted stream; one per waiting pull"),
    StatusRow(code=409, text="Leadership Change", verdict=StatusAction.RESET, end=EndReason.RESET,
        rest=Remainder.ALL, error=LeadershipChanged,
        note="one per reply subject"),
    StatusRow(code=409, text="Server Shutdown", verdict=StatusAction.RESET, end=EndReason.RESET,
        rest=Remainder.ALL, headers=True, error=ServerShutdown,
        note="one per reply subject, with the pending headers of the newest pull; the link "
            "then ends"),
    StatusRow(code=400, text="Bad Request", verdict=StatusAction.FATAL, end=EndReason.FATAL,
        rest=Remainder.WHOLE, error=BadRequestStatus,
        note="the rest of the text comes from Go and differs between its versions"),
    StatusRow(code=412, verdict=StatusAction.FATAL, end=EndReason.FATAL, rest=Remainder.WHOLE,
        error=HigherApiLevelRequired, since="2.12"),
    StatusRow(code=423, text="Nats-Pin-Id mismatch", verdict=StatusAction.PIN_LOST,
        end=EndReason.PIN_LOST, rest=Remainder.WHOLE, error=PinLost, since="2.11"),
    StatusRow(code=423, text="Nats-Wrong-Pin-Id", verdict=StatusAction.PIN_LOST,
        end=EndReason.PIN_LOST, rest=Remainder.OWED, headers=True, error=PinLost, since="2.11",
        note="pending headers from 2.12 on"),
    StatusRow(code=423, verdict=StatusAction.PIN_LOST, end=EndReason.PIN_LOST, rest=Remainder.OWED,
        error=PinLost),
    StatusRow(code=503, verdict=StatusAction.GONE_FOR_NOW, end=EndReason.NO_RESPONDERS,
        rest=Remainder.WHOLE, since="2.10",
        note="no text; Nats-Subject from 2.12 on; 2.9 sends nothing for an unknown consumer"),
)
_PUSH: Final = (
    StatusRow(code=100, text="Idle Heartbeat", place=StatusContext.PUSH,
        verdict=StatusAction.HEARTBEAT,
        note="with Nats-Consumer-Stalled while the server waits for a flow-control answer"),
    StatusRow(code=100, text="FlowControl Request", place=StatusContext.PUSH,
        verdict=StatusAction.FLOW_CONTROL,
        note="has a reply subject: answer there once, when the user has taken everything "
            "before it"),
    StatusRow(code=409, place=StatusContext.PUSH, verdict=StatusAction.FATAL, end=EndReason.FATAL,
        error=StatusError,
        note="ADR-15: an error for the user; no tested server sends it"),
    StatusRow(code=503, place=StatusContext.PUSH, verdict=StatusAction.FATAL,
        end=EndReason.NO_RESPONDERS, error=StatusError,
        note="ADR-15: an error for the user; no tested server sends it, since a flow-control "
            "answer has no reply subject"),
)
_DIRECT: Final = (
    StatusRow(code=204, text="EOB", place=StatusContext.DIRECT, verdict=StatusAction.COMPLETE,
        since="2.11"),
    StatusRow(code=404, place=StatusContext.DIRECT, verdict=StatusAction.FAILED, error=DirectGetFoundNothing,
        note="Message Not Found, No Results"),
    StatusRow(code=408, place=StatusContext.DIRECT, verdict=StatusAction.FAILED, error=BadRequestStatus,
        note="Empty Request, Malformed Request, Bad Request"),
    StatusRow(code=412, place=StatusContext.DIRECT, verdict=StatusAction.FAILED,
        error=HigherApiLevelRequired, since="2.12"),
    StatusRow(code=413, place=StatusContext.DIRECT, verdict=StatusAction.FAILED,
        error=TooManyResults, since="2.11"),
    StatusRow(code=503, place=StatusContext.DIRECT, verdict=StatusAction.GONE_FOR_NOW,
        since="2.10"),
)
_SNAPSHOT: Final = (
    StatusRow(code=204, place=StatusContext.SNAPSHOT, verdict=StatusAction.COMPLETE, since="2.10",
        note="2.9 ends with an empty message"),
    StatusRow(code=408, place=StatusContext.SNAPSHOT, verdict=StatusAction.FAILED,
        error=SnapshotBroken, since="2.12",
        note="No Flow Response, No Interest"),
    StatusRow(code=500, place=StatusContext.SNAPSHOT, verdict=StatusAction.FAILED,
        error=SnapshotBroken),
)
_PUBLISH: Final = (
    StatusRow(code=429, place=StatusContext.PUBLISH, verdict=StatusAction.FAILED,
        error=PublishDropped, since="2.11",
        note="the body is a publish answer with error 10167; try again later"),
    StatusRow(code=503, place=StatusContext.PUBLISH, verdict=StatusAction.GONE_FOR_NOW,
        note="no stream takes the subject, perhaps only for a moment"),
)
# fmt: on

#: All rows; within one code the first match counts.
ROWS: Final = _PULL + _PUSH + _DIRECT + _SNAPSHOT + _PUBLISH


def _index() -> Mapping[tuple[StatusContext, int], tuple[tuple[str, StatusRow], ...]]:
    index: dict[tuple[StatusContext, int], tuple[tuple[str, StatusRow], ...]] = {}
    for row in ROWS:
        key = (row.place, row.code)
        index[key] = (*index.get(key, ()), (row.text.casefold(), row))
    return index


_BY_CODE: Final = _index()


#: On a push subscription a 100 with a reply subject is a flow-control request, whatever its text
#: (ADR-15).
_QUESTION: Final = next(row for row in _PUSH if row.verdict is StatusAction.FLOW_CONTROL)


def judge(
    code: int, text: str, place: StatusContext = StatusContext.PULL, *, asks: bool = False
) -> StatusRow:
    """The row for a status; for an unknown status a new row with `UnknownStatus`.

    Args:
        code: three digits.
        text: the description.
        place: the exchange in which it came.
        asks: whether it came with a reply subject.
    """
    if asks and code == 100 and place is StatusContext.PUSH:
        return _QUESTION
    folded = text.casefold()
    for prefix, row in _BY_CODE.get((place, code), ()):
        if folded.startswith(prefix):
            return row
    if code < 400:
        return StatusRow(
            code=code, text=text, place=place, verdict=StatusAction.STRANGE, error=UnknownStatus
        )
    return StatusRow(
        code=code,
        text=text,
        place=place,
        verdict=StatusAction.UNKNOWN,
        end=EndReason.UNKNOWN,
        rest=Remainder.OWED,
        error=UnknownStatus,
    )


# ------------------------------------------------------------------------------------- as an error


def status_error(row: StatusRow, code: int, text: str, about: str = "") -> StatusError:
    """The error for a status, of the row's class.

    ``about`` names the operation. The message contains the server's text.
    """
    kind = row.error or StatusError
    message = f"expected {about} to be served, got {code} {shorten(text)}" if about else ""
    if issubclass(kind, PullLimitExceeded):
        return kind(code, text, message, limit_of(text))
    return kind(code, text, message)


def pull_error(row: StatusRow, code: int, text: str, about: str, subject: str) -> JsprotoError:
    """The error for a status that ends a pull on ``subject`` abnormally.

    It is `NoResponders` if no server serves the subject, else the error of the row.
    """
    if row.verdict is StatusAction.GONE_FOR_NOW:
        return NoResponders(f"expected a consumer to serve {subject}, got 503", subject)
    return status_error(row, code, text, about)


_LIMIT: Final = re.compile(r".* of (\S{1,40})").fullmatch
_NUMBER: Final = re.compile(r"[0-9]{1,19}").fullmatch
_DURATION: Final = re.compile(r"(?:[0-9]{1,19}(?:\.[0-9]{1,19})?(?:ns|us|µs|ms|s|m|h))+").fullmatch
_PARTS: Final = re.compile(r"([0-9.]+)(ns|us|µs|ms|s|m|h)").findall
_UNITS: Final[Mapping[str, float]] = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}


def limit_of(text: str) -> float | None:
    """The limit after ``of`` in a status text.

    Returns:
        A number as ``int``, a Go duration in seconds; ``None`` if the text has no limit.
    """
    found = _LIMIT(text)
    if found is None:
        return None
    said = found[1]
    if _NUMBER(said):
        return int(said)
    if _DURATION(said):
        return sum(float(number) * _UNITS[unit] for number, unit in _PARTS(said))
    return None


def pending_of(block: bytes) -> tuple[int, int] | None:
    """``Nats-Pending-Messages`` and ``Nats-Pending-Bytes`` of a status, never negative.

    Returns:
        ``None`` if either is missing.
    """
    messages = _count(header_value(block, b"Nats-Pending-Messages"))
    size = _count(header_value(block, b"Nats-Pending-Bytes"))
    return None if messages is None or size is None else (messages, size)


def _count(text: str | None) -> int | None:
    if text is None:
        return None
    digits = text.removeprefix("-")
    if not _NUMBER(digits):
        return None
    return int(digits) if digits == text else 0


# -------------------------------------------------------------------------------------- as a table


def as_toml() -> str:
    """The table in the form of ``spec/statuses.toml``, for readers in any language."""
    lines = [
        "# Statuses of JetStream: the rows of jsproto/jetstream/status.py; a test compares them.",
        "# In one place and code the first row counts whose text begins the description.",
    ]
    for row in ROWS:
        lines += ["", "[[status]]", f'place = "{row.place.value}"', f"code = {row.code}"]
        members: Mapping[str, object] = {
            "text": row.text,
            "verdict": row.verdict.value,
            "end": "" if row.end is None else row.end.value,
            "rest": "" if row.rest is Remainder.NONE else row.rest.value,
            "limit": "" if row.limit is None else row.limit.value,
            "headers": row.headers,
            "error": "" if row.error is None else row.error.__name__,
            "since": row.since,
            "note": row.note,
        }
        lines += [
            f"{name} = true" if value is True else f'{name} = "{value}"'
            for name, value in members.items()
            if value or name == "text"
        ]
    return "\n".join(lines) + "\n"
