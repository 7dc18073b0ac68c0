"""Counters: subjects whose messages the stream adds up (2.12, ADR-49).

Theory. A publisher sends an increment (`PublishOptions.incr`), and the acknowledgement contains
the new value (`PubAck.val`). The last message of the subject holds the value as text in JSON, so
that no JSON reader rounds it. Its headers hold the last increment. If the stream collects counters
from other streams, they also hold the value from each. All values are exact, of any size.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final, cast, final

from attrs import field, frozen

from jsproto.errors.tree import InvalidResponse, shorten
from jsproto.jetstream.api.publishing.options import INCR
from jsproto.wire.headers import Headers

SOURCES: Final = "Nats-Counter-Sources"
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,4000}").fullmatch


@final
@frozen(kw_only=True)
class Counter:
    """The contents of a counter's last message.

    Attributes:
        value: the counter's value.
        incr: the last increment, ``None`` if the message has none.
        sources: values from other streams: by stream, then by subject.
    """

    value: int
    incr: int | None = None
    sources: Mapping[str, Mapping[str, int]] = field(factory=dict[str, Mapping[str, int]])

    @classmethod
    def read(cls, payload: bytes, headers: Headers | None = None) -> Counter:
        """Read the payload and headers of a stored message.

        Raises:
            InvalidResponse: it is no counter message.
        """
        members = _object(payload, "the payload of a counter")
        said = None if headers is None else headers.last(INCR)
        listed = None if headers is None else headers.last(SOURCES)
        sources = _object(b"{}" if listed is None else listed.encode("utf-8", "replace"), SOURCES)
        return cls(
            value=_number(members.get("val"), "val"),
            incr=None if said is None else _number(said, INCR),
            sources={stream: _numbers(subjects) for stream, subjects in sources.items()},
        )


def _object(text: bytes, what: str) -> Mapping[str, object]:
    try:
        read: object = json.loads(text)
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        raise InvalidResponse(f"expected a JSON object as {what}, got {shorten(text)}")
    return cast("Mapping[str, object]", read)


def _numbers(subjects: object) -> Mapping[str, int]:
    if not isinstance(subjects, dict):
        raise InvalidResponse(f"expected values by subject in {SOURCES}, got {shorten(subjects)}")
    return {
        subject: _number(value, SOURCES)
        for subject, value in cast("Mapping[str, object]", subjects).items()
    }


def _number(value: object, what: str) -> int:
    if not isinstance(value, str) or _NUMBER(value) is None:
        raise InvalidResponse(f"expected a whole number as text in {what}, got {shorten(value)}")
    return int(value)
