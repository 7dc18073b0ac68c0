"""The protocol of fast ingest: reply subjects of the publisher and answers of the stream.

Theory (2.14, ADR-50). A message of a fast batch has no special headers; its reply subject says
all:

    <inbox>.<id>.<flow>.<gap mode>.<number>.<operation>.$FI

``flow`` is the number of messages between two answers that the publisher wants. ``number`` counts
from 1. The operation is an `Operation`. The stream answers on the reply subject of the message
that caused the answer:

    {"type":"ack","seq":10,"msgs":5}                  10 is processed; now one answer per 5 messages
    {"type":"gap","last_seq":12,"seq":14}             12 and 13 did not arrive
    {"type":"err","seq":2,"error":{...}}              2 is rejected
    {"stream":"S","seq":13,"batch":"...","count":15}  the end; all up to 15 are processed

or with an error, as for every publish. This module reads the answers; all other bodies are an
`InvalidPubAck`.
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
    """How a stream handles missing numbers and rejected messages."""

    #: Report it and continue.
    OK = "ok"
    #: Report it and end the batch with the messages before.
    FAIL = "fail"


@unique
class Operation(StrEnum):
    """The meaning of a message in a fast batch."""

    START = "0"
    APPEND = "1"
    #: The last message.
    COMMIT = "2"
    #: No message, but the end of the batch.
    COMMIT_EOB = "3"
    #: No message, but a request for the progress.
    PING = "4"


@final
@frozen
class FlowAck:
    """All messages up to number ``seq`` are processed; one answer comes per ``msgs`` messages."""

    seq: int
    msgs: int


@final
@frozen
class FlowGap:
    """The messages from number ``last_seq`` to ``seq`` minus one did not arrive."""

    last_seq: int
    seq: int


@final
@frozen
class FlowError:
    """The stream rejected the message with number ``seq``."""

    seq: int
    error: JetStreamError


IngestAnswer: TypeAlias = FlowAck | FlowGap | FlowError | PubAck


def ingest_id(batch_id: str) -> str:
    """Check the id of a fast batch: one token of a subject (10207).

    Raises:
        InvalidConfig: the id is no single token, or is too long.
        InvalidSubject: no subject can carry it.
    """
    if (
        not 0 < len(reply_subject(batch_id).encode("utf-8", "replace")) <= _LONGEST_ID
        or "." in batch_id
    ):
        raise InvalidConfig(
            f"expected one token of at most {_LONGEST_ID} bytes as batch_id, "
            f"got {shorten(batch_id)} (10207)"
        )
    return batch_id


def ingest_answer(body: bytes, about: RequestContext) -> IngestAnswer:
    """Parse an answer of the stream.

    Raises:
        JetStreamError: the stream rejects the batch.
        InvalidPubAck: the body is no answer of a stream.
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
    """The number of processed messages in an answer that rejects the rest of a fast batch.

    Returns:
        ``None`` if the answer does not contain it.
    """
    count = parse_object(body, about).get("count")
    return count if isinstance(count, int) and not isinstance(count, bool) and count > 0 else None


def _number(members: Mapping[str, object], name: str) -> int:
    value = members.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= UINT64_MAX:
        raise InvalidResponse(f"expected a whole number as {name!r}, got {shorten(value)}")
    return value
