"""The envelope of every JetStream API answer: bytes to members, or one of two errors; and members
to bytes.

Theory. Reading is total: whatever comes, the outcome is the members of a JSON object,
``JetStreamError`` if the server says no, or ``InvalidResponse`` if what came is no answer. Nothing
else can escape, however deep, long or odd the body is: nesting, digits, ``NaN``, lone surrogates,
members named twice and bodies of nothing but tiny values, which would take many times their size in
memory, are all refused by name. A non-null ``error`` member always wins, even beside ``stream`` and
``seq`` (B175).

Writing is strict: compact UTF-8, integers as they are, the members in the order given, so that
equal input gives equal bytes (B064).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Final, cast

from jsproto.errors.tree import InvalidConfig, InvalidResponse, shorten
from jsproto.jetstream.api.answers import AnswerType
from jsproto.jetstream.api.errors import RequestContext, api_error

#: A uint64 has 20 digits; everything longer is refused before it costs anything.
_MAX_DIGITS: Final = 21
#: Objects, lists and members that a body may have: some thousand, and one in each so many bytes.
_FREE_PARTS: Final = 4096
_BYTES_A_PART: Final = 8
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")


def parse_object(body: bytes, about: object = "") -> dict[str, object]:
    """The members of a JSON object.

    Raises:
        InvalidResponse: the body is anything else; the message says what, and what was asked.
    """
    try:
        _bounded(body)
        text = body.decode("utf-8")
        value: object = _DECODER.decode(text)
        if _SURROGATE.search(text) is not None:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        why = "nested too deep" if isinstance(error, RecursionError) else shorten(str(error))
        raise InvalidResponse(_unlike("a JSON object", about, body) + f": {why}") from None
    if not isinstance(value, dict):
        raise InvalidResponse(_unlike("a JSON object", about, body))
    return cast("dict[str, object]", value)


def answer(body: bytes, about: RequestContext, expected: AnswerType) -> dict[str, object]:
    """The members of a successful API answer, without its ``type``.

    Args:
        body: the payload of the reply.
        about: what was asked, for the messages of errors.
        expected: the answer that belongs to the request. A member that it needs counts as missing
            when it is ``null``.

    Raises:
        JetStreamError: there is a non-null ``error`` member; its class is that of the ``err_code``.
        InvalidResponse: the body is no JSON object, or the answer of somebody else, or lacks what
            it needs.
    """
    members = members_or_error(body, about)
    said = members.pop("type", None)
    if said is not None and said not in expected.types:
        raise InvalidResponse(_unlike(f"an answer of type {expected.types[0]!r}", about, body))
    if said is None and not expected.needs:
        raise InvalidResponse(
            _unlike(f"an answer with its type {expected.types[0]!r}", about, body)
        )
    for name in expected.needs:
        if members.get(name) is None:
            raise InvalidResponse(_unlike(f"an answer with {name!r}", about, body))
    return members


def members_or_error(body: bytes, about: RequestContext) -> dict[str, object]:
    """The members of an answer that is no answer of the JSON API but may carry its ``error``, such
    as a publish ack.

    Raises:
        JetStreamError: there is a non-null ``error`` member.
        InvalidResponse: the body is no JSON object.
    """
    members = parse_object(body, about)
    error = members.get("error")
    if error is not None:
        raise api_error(error, about)
    return members


def to_json(members: Mapping[str, object]) -> bytes:
    """Compact JSON of a request.

    Raises:
        InvalidConfig: a value that JSON has no word for.
    """
    try:
        return json.dumps(
            members, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        ).encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        names = shorten(", ".join(str(name) for name in members))
        raise InvalidConfig(
            f"expected values that JSON can carry in {names}, got {shorten(str(error))}"
        ) from None


def _unlike(expected: str, about: object, body: bytes) -> str:
    asked = f" ({about})" if str(about) else ""
    return f"expected {expected}{asked}, got {len(body)} bytes {shorten(body)}"


def _bounded(body: bytes) -> None:
    parts = sum(map(body.count, (b"{", b"[", b'":')))
    if parts > _FREE_PARTS + len(body) // _BYTES_A_PART:
        raise ValueError(f"more than a value in each {_BYTES_A_PART} bytes")


def _integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def _fraction(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number beyond every float")
    return number


def _constant(word: str) -> object:
    raise ValueError(f"the number {word}")


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member named twice")
    return members


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_members, parse_float=_fraction, parse_int=_integer, parse_constant=_constant
)
