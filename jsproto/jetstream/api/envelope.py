"""The envelope of all API answers: bytes to members or to an error, and members to bytes.

Theory. Reading handles every input. The result is the members of a JSON object,
``JetStreamError`` if the server answered with an error, or ``InvalidResponse`` if the body is no
answer. No body can cause another exception, or use much more memory than its size. Rejected by
name are: deep nesting, long numbers, ``NaN``, lone surrogates, members named twice, and bodies of
very many tiny values. A non-null ``error`` member always wins, even with ``stream`` and ``seq``
beside it.

Writing is strict: compact UTF-8, integers as they are, the members in the given order, so that
equal input gives equal bytes.
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

#: A uint64 has 20 digits; longer numbers are rejected before they are converted.
_MAX_DIGITS: Final = 21
#: The most objects, lists and members of a body: this number, plus one per `_BYTES_A_PART` bytes.
_FREE_PARTS: Final = 4096
_BYTES_A_PART: Final = 8
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")


def parse_object(body: bytes, about: object = "") -> dict[str, object]:
    """The members of a JSON object.

    Raises:
        InvalidResponse: the body is something else; the message contains the request.
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
        about: the request, for error messages.
        expected: the type of answer to this request. A required member that is ``null`` counts
            as missing.

    Raises:
        JetStreamError: the answer has a non-null ``error`` member; its ``err_code`` selects the
            class.
        InvalidResponse: the body is no JSON object, comes from elsewhere, or lacks required
            members.
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
    """The members of a body that may carry the API's ``error``, such as a publish ack.

    Raises:
        JetStreamError: the body has a non-null ``error`` member.
        InvalidResponse: the body is no JSON object.
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
        InvalidConfig: a value that JSON cannot represent.
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
