"""The words of fast ingest: what a publisher says in the reply subject, and what the stream answers
(2.14, ADR-50).

Theory. A message of a fast batch carries no headers for it; all is in its reply subject:

    <inbox>.<id>.<flow>.<gap mode>.<number>.<operation>.$FI

``flow`` is how many messages the publisher would like to lie between two answers, ``number`` counts
from 1, and the operation is one of `Operation`. The stream answers on the reply subject of the
message that gave cause for it:

    {"type":"ack","seq":10,"msgs":5}                  all up to 10 were dealt with; an answer for
    every 5 from now on {"type":"gap","last_seq":12,"seq":14}             12 and 13 never came
    {"type":"err","seq":2,"error":{...}}              2 was refused
    {"stream":"S","seq":13,"batch":"...","count":15}  it is over, all up to 15 were dealt with

or with an error as to any publish. Answers are read once, here; anything else is `InvalidPubAck`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum, unique
from typing import Final, TypeAlias, final

from attrs import frozen

from jsproto.errors.tree import InvalidConfig, InvalidResponse, shorten
from jsproto.jetstream.api.envelope import parse_object
from jsproto.jetstream.api.errors import InvalidPubAck, JetStreamError, RequestContext, api_error
from jsproto.jetstream.api.publishing.puback import PubAck, pub_ack
from jsproto.jetstream.api.timestamps import UINT64_MAX
from jsproto.wire.subjects import reply_subject

SUFFIX: Final = "$FI"
_LONGEST_ID: Final = 64
#: The server counts in 16 bits.
MOST_FLOW: Final = 65_535


@unique
class GapMode(StrEnum):
    """What a stream does when numbers are missing, or a message is refused."""

    #: Say so and go on.
    OK = "ok"
    #: Say so and end the batch with what came before.
    FAIL = "fail"


@unique
class Operation(StrEnum):
    """What a message of a fast batch is."""

    START = "0"
    APPEND = "1"
    #: The last message.
    COMMIT = "2"
    #: Not a message: that was all.
    COMMIT_EOB = "3"
    #: Not a message: say how far you are.
    PING = "4"


@final
@frozen
class FlowAck:
    """All messages up to number ``seq`` were dealt with, and an answer comes for every ``msgs``
    messages.
    """

    seq: int
    msgs: int


@final
@frozen
class FlowGap:
    """Messages from number ``last_seq`` up to the one before ``seq`` never came."""

    last_seq: int
    seq: int


@final
@frozen
class FlowError:
    """The message of number ``seq`` was refused."""

    seq: int
    error: JetStreamError


IngestAnswer: TypeAlias = FlowAck | FlowGap | FlowError | PubAck


def ingest_id(batch_id: str) -> str:
    """The id of a fast batch: one token of a subject (10207).

    Raises:
        InvalidConfig: it is none.
        InvalidSubject: no subject can carry it.
    """
    if (
        not 0 < len(reply_subject(batch_id).encode("utf-8", "replace")) <= _LONGEST_ID
        or "." in batch_id
    ):
        raise InvalidConfig(
            f"expected one token of at most {_LONGEST_ID} bytes as batch_id, got {shorten(batch_id)} (10207)"
        )
    return batch_id


def ingest_answer(body: bytes, about: RequestContext) -> IngestAnswer:
    """What the stream says.

    Raises:
        JetStreamError: it refuses the batch.
        InvalidPubAck: it is no answer of a stream.
    """
    try:
        members = parse_object(body, about)
        kind = members.get("type")
        if kind == "ack":
            return FlowAck(_number(members, "seq"), max(1, _number(members, "msgs")))
        if kind == "gap":
            return FlowGap(_number(members, "last_seq"), _number(members, "seq"))
        if kind == "err":
            return FlowError(_number(members, "seq"), api_error(members.get("error"), about))
    except InvalidResponse as error:
        raise InvalidPubAck(f"expected an answer to a fast batch: {error}", body) from None
    return pub_ack(body, about)


def dealt_with(body: bytes, about: RequestContext) -> int | None:
    """The number up to which a fast batch was dealt with, by the answer that refuses the rest;
    ``None`` if it does not say.
    """
    count = parse_object(body, about).get("count")
    return count if isinstance(count, int) and not isinstance(count, bool) and count > 0 else None


def _number(members: Mapping[str, object], name: str) -> int:
    value = members.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= UINT64_MAX:
        raise InvalidResponse(f"expected a whole number as {name!r}, got {shorten(value)}")
    return value
