"""Every status that JetStream sends, judged in one place: rows of code, text and verdict (ADR-37,
ADR-15).

Theory. A status is the inline first line of a header block. Its code alone says little: 409 stands
for eleven things, so a row is found by code *and* by how the text begins. What a machine does
depends on the row's `StatusAction`; how the pull or the operation ended is its `EndReason`; how
much of the pull's request is settled is its `Remainder`. No other module compares a status code or
a text, so a new server version is one new row here.

The rows follow what servers 2.9.10 to 2.15.1 were seen to send; where the ADR says something else,
the server wins.

Unknown statuses are judged too: from 400 on they end what they are addressed to and are reported,
below they are reported and change nothing. Code 100 never ends anything.

Who may be believed: a publisher can write a status line into a message of his own, and servers
before 2.12 store it. A frame is a status only if it came on the reader's own inbox and is no
delivery (`jsproto.jetstream.pull.request`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Final, final

from attrs import field, frozen

from jsproto.core.state import IdentityEnum
from jsproto.errors import JsprotoError, NoResponders, StatusError, shorten
from jsproto.jetstream.errors import (
    ApiLevelRefused,
    BadRequest,
    ConsumerDeleted,
    ConsumerIsPush,
    LeadershipChanged,
    LimitExceeded,
    MessageTooLarge,
    NothingFound,
    PinLost,
    PublishDropped,
    ServerShutdown,
    SnapshotBroken,
    TooManyResults,
    UnknownStatus,
)
from jsproto.wire.headers import header_value


class StatusContext(Enum):
    """In which exchange a status is met; the same code and text can mean different things."""

    PULL = "PULL"
    PUSH = "PUSH"
    DIRECT = "DIRECT"
    SNAPSHOT = "SNAPSHOT"
    PUBLISH = "PUBLISH"


class StatusAction(IdentityEnum):
    """What a machine does about a status."""

    #: A sign of life, nothing else.
    HEARTBEAT = "HEARTBEAT"
    #: The server wants to know how far the reader is.
    FLOW_CONTROL = "FLOW_CONTROL"
    #: The pull is over, in good order and without a word to the user.
    PULL_ENDED = "PULL_ENDED"
    #: The next message does not fit into what is left of the byte budget; alone it may not fit into
    #: the whole.
    DOES_NOT_FIT = "DOES_NOT_FIT"
    #: The request was never taken: a warning; the same request again would loop.
    PULL_REFUSED = "PULL_REFUSED"
    #: All pulls of this inbox are lost: start anew.
    RESET = "RESET"
    #: Nobody is there to serve: come back later.
    GONE_FOR_NOW = "GONE_FOR_NOW"
    #: It will not get better by asking again.
    FATAL = "FATAL"
    #: The consumer is gone: fatal, unless the user waits for it to come back.
    DELETED = "DELETED"
    #: The pin id is not the current one: forget it.
    PIN_LOST = "PIN_LOST"
    #: The last answer of several, in good order.
    COMPLETE = "COMPLETE"
    #: An operation failed.
    FAILED = "FAILED"
    #: A status that nobody knows and that ends what it is addressed to.
    UNKNOWN = "UNKNOWN"
    #: A status that nobody knows and that ends nothing.
    STRANGE = "STRANGE"


class EndReason(IdentityEnum):
    """How a pull, a fetch or a consume ended. Each ends exactly once."""

    #: Everything that was asked for has come.
    FILLED = "FILLED"
    #: Nothing (more) is there now, and the request was not to wait.
    NO_MESSAGES = "NO_MESSAGES"
    #: The request's time is up.
    EXPIRED = "EXPIRED"
    #: Not waiting was asked for, and older pulls of others come first.
    REQUESTS_PENDING = "REQUESTS_PENDING"
    #: The byte budget is used up.
    BYTES_SPENT = "BYTES_SPENT"
    #: One message is larger than the whole byte budget.
    TOO_LARGE = "TOO_LARGE"
    #: The server did not take the request.
    REFUSED = "REFUSED"
    #: The consumer moved or its server stopped.
    RESET = "RESET"
    #: Nobody served the request.
    NO_RESPONDERS = "NO_RESPONDERS"
    #: The consumer was deleted.
    DELETED = "DELETED"
    #: A status after which asking again is of no use.
    FATAL = "FATAL"
    #: Another client is pinned.
    PIN_LOST = "PIN_LOST"
    #: A status that this version does not know.
    UNKNOWN = "UNKNOWN"
    #: Heartbeats were missed.
    SILENT = "SILENT"
    #: The server never said how it ended; the local deadline, later than the server's, has passed.
    DEADLINE = "DEADLINE"
    #: The link was lost.
    DISCONNECTED = "DISCONNECTED"
    #: The user ended it.
    CLOSED = "CLOSED"


class Limit(Enum):
    """Which number of a request was above the consumer's limit."""

    BATCH = "BATCH"
    #: The limit is a Go duration.
    EXPIRES = "EXPIRES"
    MAX_BYTES = "MAX_BYTES"
    #: Too many pulls wait already; the server does not say how many may.
    MAX_WAITING = "MAX_WAITING"


class Remainder(Enum):
    """What a status without pending headers says about the rest of a request. Headers, where there
    are any, win.
    """

    #: Nothing: the request goes on, or there is none.
    NONE = "NONE"
    #: What had not come so far.
    OWED = "OWED"
    #: The whole request: it was never begun.
    WHOLE = "WHOLE"
    #: The rest of every pull of this inbox.
    ALL = "ALL"


@final
@frozen(kw_only=True)
class StatusRow:
    """One status.

    Attributes:
        code: three digits.
        text: how the description begins, in any case of letters; ``""`` for whatever comes behind
            the other rows.
        place: in which exchange.
        verdict: what a machine does.
        end: how the pull or operation ended, ``None`` if it goes on.
        rest: what is settled when the frame has no pending headers.
        limit: which limit was exceeded.
        headers: the frame carries ``Nats-Pending-Messages`` and ``Nats-Pending-Bytes``.
        error: what it is as an error, ``None`` if it is none.
        since: first server version, ``""`` if all that were tried (2.9 on).
        note: what else to know.
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
        note="Nats-Last-Consumer, Nats-Last-Stream; the interval starts anew with each message of that pull"),
    StatusRow(code=404, text="No Messages", verdict=StatusAction.PULL_ENDED, end=EndReason.NO_MESSAGES, rest=Remainder.OWED,
        note="no_wait; from 2.11 on also behind the last message of a partial answer"),
    StatusRow(code=404, verdict=StatusAction.PULL_ENDED, end=EndReason.NO_MESSAGES, rest=Remainder.OWED,
        note="whatever else a later server may say: the code is a good end"),
    StatusRow(code=408, text="Request Timeout", verdict=StatusAction.PULL_ENDED, end=EndReason.EXPIRED, rest=Remainder.OWED, headers=True,
        note="on 2.9 and 2.10 also the end of a partial no_wait"),
    StatusRow(code=408, text="Requests Pending", verdict=StatusAction.PULL_ENDED, end=EndReason.REQUESTS_PENDING, rest=Remainder.WHOLE,
        note="no_wait while older pulls ask for more than is there"),
    StatusRow(code=408, text="Interest Expired", verdict=StatusAction.PULL_ENDED, end=EndReason.EXPIRED, rest=Remainder.OWED, headers=True,
        note="through an account import whose inbox lost interest (server source)"),
    StatusRow(code=408, verdict=StatusAction.PULL_ENDED, end=EndReason.EXPIRED, rest=Remainder.OWED, headers=True,
        note="whatever else a later server may say: the code is a good end"),
    StatusRow(code=409, text="Message Size Exceeds MaxBytes", verdict=StatusAction.DOES_NOT_FIT, end=EndReason.BYTES_SPENT, rest=Remainder.OWED,
        headers=True, error=MessageTooLarge, note="an error only if nothing was delivered: pending bytes equal the request's"),
    StatusRow(code=409, text="Batch Completed", verdict=StatusAction.PULL_ENDED, end=EndReason.FILLED, rest=Remainder.OWED, headers=True,
        since="2.10", note="batch filled while bytes are left; 2.9 says nothing then"),
    StatusRow(code=409, text="Exceeded MaxRequestBatch", verdict=StatusAction.PULL_REFUSED, end=EndReason.REFUSED, rest=Remainder.WHOLE,
        limit=Limit.BATCH, error=LimitExceeded),
    StatusRow(code=409, text="Exceeded MaxRequestExpires", verdict=StatusAction.PULL_REFUSED, end=EndReason.REFUSED, rest=Remainder.WHOLE,
        limit=Limit.EXPIRES, error=LimitExceeded, note="limit as a Go duration"),
    StatusRow(code=409, text="Exceeded MaxRequestMaxBytes", verdict=StatusAction.PULL_REFUSED, end=EndReason.REFUSED, rest=Remainder.WHOLE,
        limit=Limit.MAX_BYTES, error=LimitExceeded),
    StatusRow(code=409, text="Exceeded MaxWaiting", verdict=StatusAction.PULL_REFUSED, end=EndReason.REFUSED, rest=Remainder.WHOLE,
        limit=Limit.MAX_WAITING, error=LimitExceeded, note="from 2.11 on silence instead, if the pull asks for heartbeats"),
    StatusRow(code=409, text="Exceeded", verdict=StatusAction.PULL_REFUSED, end=EndReason.REFUSED, rest=Remainder.WHOLE, error=LimitExceeded,
        note="limits that later servers may add"),
    StatusRow(code=409, text="Consumer is push based", verdict=StatusAction.FATAL, end=EndReason.FATAL, rest=Remainder.ALL, error=ConsumerIsPush),
    StatusRow(code=409, text="Consumer Deleted", verdict=StatusAction.DELETED, end=EndReason.DELETED, rest=Remainder.ALL, error=ConsumerDeleted,
        note="also for a deleted stream; one per waiting pull"),
    StatusRow(code=409, text="Leadership Change", verdict=StatusAction.RESET, end=EndReason.RESET, rest=Remainder.ALL, error=LeadershipChanged,
        note="one per reply subject"),
    StatusRow(code=409, text="Server Shutdown", verdict=StatusAction.RESET, end=EndReason.RESET, rest=Remainder.ALL, headers=True,
        error=ServerShutdown, note="one per reply subject, with the numbers of the newest pull; the end of the link follows"),
    StatusRow(code=400, text="Bad Request", verdict=StatusAction.FATAL, end=EndReason.FATAL, rest=Remainder.WHOLE, error=BadRequest,
        note="the text behind it is Go's own and changes with it"),
    StatusRow(code=412, verdict=StatusAction.FATAL, end=EndReason.FATAL, rest=Remainder.WHOLE, error=ApiLevelRefused, since="2.12"),
    StatusRow(code=423, text="Nats-Pin-Id mismatch", verdict=StatusAction.PIN_LOST, end=EndReason.PIN_LOST, rest=Remainder.WHOLE, error=PinLost,
        since="2.11"),
    StatusRow(code=423, text="Nats-Wrong-Pin-Id", verdict=StatusAction.PIN_LOST, end=EndReason.PIN_LOST, rest=Remainder.OWED, headers=True,
        error=PinLost, since="2.11", note="pending headers from 2.12 on"),
    StatusRow(code=423, verdict=StatusAction.PIN_LOST, end=EndReason.PIN_LOST, rest=Remainder.OWED, error=PinLost),
    StatusRow(code=503, verdict=StatusAction.GONE_FOR_NOW, end=EndReason.NO_RESPONDERS, rest=Remainder.WHOLE, since="2.10",
        note="no text; Nats-Subject from 2.12 on; 2.9 is silent about an unknown consumer"),
)
_PUSH: Final = (
    StatusRow(code=100, text="Idle Heartbeat", place=StatusContext.PUSH, verdict=StatusAction.HEARTBEAT,
        note="with Nats-Consumer-Stalled while a flow-control answer is owed"),
    StatusRow(code=100, text="FlowControl Request", place=StatusContext.PUSH, verdict=StatusAction.FLOW_CONTROL,
        note="has a reply subject: answer there, once, when everything before it was taken"),
    StatusRow(code=409, place=StatusContext.PUSH, verdict=StatusAction.FATAL, end=EndReason.FATAL, error=StatusError,
        note="ADR-15: an error for the user; no server that was tried sends it"),
    StatusRow(code=503, place=StatusContext.PUSH, verdict=StatusAction.FATAL, end=EndReason.NO_RESPONDERS, error=StatusError,
        note="ADR-15: an error for the user; a flow-control answer has no reply subject, so no server has a reason"),
)
_DIRECT: Final = (
    StatusRow(code=204, text="EOB", place=StatusContext.DIRECT, verdict=StatusAction.COMPLETE, since="2.11"),
    StatusRow(code=404, place=StatusContext.DIRECT, verdict=StatusAction.FAILED, error=NothingFound,
        note="Message Not Found, No Results"),
    StatusRow(code=408, place=StatusContext.DIRECT, verdict=StatusAction.FAILED, error=BadRequest,
        note="Empty Request, Malformed Request, Bad Request"),
    StatusRow(code=412, place=StatusContext.DIRECT, verdict=StatusAction.FAILED, error=ApiLevelRefused, since="2.12"),
    StatusRow(code=413, place=StatusContext.DIRECT, verdict=StatusAction.FAILED, error=TooManyResults, since="2.11"),
    StatusRow(code=503, place=StatusContext.DIRECT, verdict=StatusAction.GONE_FOR_NOW, since="2.10"),
)
_SNAPSHOT: Final = (
    StatusRow(code=204, place=StatusContext.SNAPSHOT, verdict=StatusAction.COMPLETE, since="2.10", note="2.9 ends with an empty message"),
    StatusRow(code=408, place=StatusContext.SNAPSHOT, verdict=StatusAction.FAILED, error=SnapshotBroken, since="2.12",
        note="No Flow Response, No Interest"),
    StatusRow(code=500, place=StatusContext.SNAPSHOT, verdict=StatusAction.FAILED, error=SnapshotBroken),
)
_PUBLISH: Final = (
    StatusRow(code=429, place=StatusContext.PUBLISH, verdict=StatusAction.FAILED, error=PublishDropped, since="2.11",
        note="body is a publish answer with error 10167; try again later"),
    StatusRow(code=503, place=StatusContext.PUBLISH, verdict=StatusAction.GONE_FOR_NOW, note="no stream, or none just now"),
)
# fmt: on

#: All rows, in the order in which they are tried within one code.
ROWS: Final = _PULL + _PUSH + _DIRECT + _SNAPSHOT + _PUBLISH


def _index() -> Mapping[tuple[StatusContext, int], tuple[tuple[str, StatusRow], ...]]:
    index: dict[tuple[StatusContext, int], tuple[tuple[str, StatusRow], ...]] = {}
    for row in ROWS:
        key = (row.place, row.code)
        index[key] = (*index.get(key, ()), (row.text.casefold(), row))
    return index


_BY_CODE: Final = _index()


#: On a push subscription a 100 with a reply subject asks for an answer there, whatever its text is
#: (ADR-15).
_QUESTION: Final = next(row for row in _PUSH if row.verdict is StatusAction.FLOW_CONTROL)


def judge(
    code: int, text: str, place: StatusContext = StatusContext.PULL, *, asks: bool = False
) -> StatusRow:
    """The row of a status; for one that is not in the table a row that says so.

    Args:
        code: three digits.
        text: the description.
        place: in which exchange it came.
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


# ------------------------------------------------------------------------------------------------ as an error


def status_error(row: StatusRow, code: int, text: str, about: str = "") -> StatusError:
    """The status as an error of its class. ``about`` names the operation; the message holds what
    the server said.
    """
    kind = row.error or StatusError
    message = (
        f"expected {about} to be served, the server said {code} {shorten(text)}" if about else ""
    )
    if issubclass(kind, LimitExceeded):
        return kind(code, text, message, limit_of(text))
    return kind(code, text, message)


def pull_error(row: StatusRow, code: int, text: str, about: str, subject: str) -> JsprotoError:
    """A status that is no good end of a pull on ``subject`` as the error that it is: nobody serves
    it, or what the server said.
    """
    if row.verdict is StatusAction.GONE_FOR_NOW:
        return NoResponders(f"expected a consumer to serve {subject}, nobody does (503)", subject)
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
    """The limit behind ``of``: a number as ``int``, a Go duration in seconds; ``None`` if the text
    has none.
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
    """``Nats-Pending-Messages`` and ``Nats-Pending-Bytes`` of a status, never negative; ``None`` if
    either is missing.
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


# ------------------------------------------------------------------------------------------------ as a table


def as_toml() -> str:
    """The table as ``spec/statuses.toml`` holds it, for readers in any language."""
    lines = [
        "# Statuses of JetStream, one table per row of jsproto/jetstream/status.py; a test compares.",
        "# Within one place and code the first row counts whose text begins the description, in any case of letters.",
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
