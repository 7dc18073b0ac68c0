"""Parses the text of options: one type for each kind of value, with its error texts."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from itertools import permutations
from typing import Final

from jsproto.core.connection.options import servers_of
from jsproto.errors import InvalidConfig
from jsproto.errors.tree import shorten
from jsproto.jetstream.api.patterns import within
from jsproto.jetstream.api.timestamps import UINT64_MAX, Timestamp
from jsproto.wire.secret import file_name
from jsproto.wire.subjects import (
    consumer_name,
    publish_subject,
    stream_name,
    subject_prefix,
    subscription_subject,
)


class OptionType(Enum):
    """How the text of an option is parsed."""

    #: Any text that is not empty.
    TEXT = "TEXT"
    #: The name of a file that contains a secret.
    FILE = "FILE"
    #: Servers separated by commas, without user and password.
    SERVERS = "SERVERS"
    #: The name of a stream or of a consumer, or a prefix of one.
    STREAM = "STREAM"
    CONSUMER = "CONSUMER"
    #: The first tokens of a subject.
    PREFIX = "PREFIX"
    #: A prefix of the JetStream API; one final dot is removed.
    API_PREFIX = "API_PREFIX"
    #: A subject to publish to.
    SUBJECT = "SUBJECT"
    #: Subjects separated by commas, wildcards allowed.
    SUBJECTS = "SUBJECTS"
    #: ``true`` or ``false``.
    FLAG = "FLAG"
    #: A whole number of at least one.
    COUNT = "COUNT"
    #: Seconds: ``10``, ``10s``, ``500ms``, ``2m``, ``1h``.
    SECONDS = "SECONDS"
    #: One of the words of the row, or a sequence.
    OFFSET = "OFFSET"
    #: Milliseconds since 1970, as in Kafka, or RFC 3339.
    MOMENT = "MOMENT"
    #: One of the words of the row.
    WORD = "WORD"
    #: The name of an environment variable.
    VARIABLE = "VARIABLE"


_UNITS: Final = {"": 1.0, "s": 1.0, "ms": 0.001, "m": 60.0, "min": 60.0, "h": 3600.0}


def value_of(form: OptionType, text: str, words: tuple[str, ...] = ()) -> object:
    """Parse the text of an option.

    Args:
        form: how to parse it.
        text: the user's text.
        words: the allowed words, for types that have some.

    Raises:
        InvalidConfig, InvalidResponse: the text is invalid; the error says what was expected. It
            does not quote a text that may be a secret by mistake.
    """
    match form:
        case OptionType.FLAG:
            return _flag(text)
        case OptionType.COUNT:
            return _count(text)
        case OptionType.SECONDS:
            return _seconds(text)
        case OptionType.OFFSET:
            return text.lower() if text.lower() in words else _sequence(text, words)
        case OptionType.MOMENT:
            return _moment(text)
        case OptionType.WORD:
            return _word(text, words)
        case OptionType.SUBJECTS:
            return _subjects(text)
        case OptionType.API_PREFIX:
            return _name(OptionType.PREFIX, text.removesuffix("."))
        case _:
            return _name(form, text)


def _name(form: OptionType, text: str) -> str:
    if not text:
        raise InvalidConfig("expected a text, got none")
    match form:
        case OptionType.FILE:
            file_name(text)
        case OptionType.SERVERS:
            if "@" in text:
                raise InvalidConfig(
                    "expected servers without user and password, because every plan would show "
                    "them: "
                    "use user and passwordEnv, or tokenEnv"
                )
            servers_of(text)
        case OptionType.STREAM:
            stream_name(text)
        case OptionType.CONSUMER:
            consumer_name(text)
        case OptionType.PREFIX:
            subject_prefix(text)
        case OptionType.SUBJECT:
            publish_subject(text)
        case OptionType.VARIABLE:
            if not text.replace("_", "a").isalnum() or text[0].isdigit():
                raise InvalidConfig(
                    "expected the name of an environment variable, got something else"
                )
        case _:
            pass
    return text


def _flag(text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise InvalidConfig(f"expected true or false, got {shorten(text)}")
    return text.lower() == "true"


def _count(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else 0
    if number < 1:
        raise InvalidConfig(f"expected a whole number of at least 1, got {shorten(text)}")
    return number


def _sequence(text: str, words: Iterable[str]) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else 0
    if not 1 <= number <= UINT64_MAX:
        raise InvalidConfig(
            f"expected {', '.join(words)} or a sequence of at least 1, got {shorten(text)}"
        )
    return number


def _seconds(text: str) -> float:
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text[len(digits) :]
    try:
        seconds = float(digits) * _UNITS[unit]
    except (ValueError, KeyError):
        seconds = -1.0
    if not 0 < seconds < 1e9:
        raise InvalidConfig(f"expected a time above 0 as 10s, 500ms or 2m, got {shorten(text)}")
    return seconds


def _moment(text: str) -> Timestamp:
    if text.isascii() and text.isdigit() and len(text) <= 15:
        return Timestamp(int(text) * 1_000_000)
    moment = Timestamp.parse(text)
    if moment is None:
        raise InvalidConfig(f"expected an instant, got {shorten(text)}")
    return moment


def _word(text: str, words: Iterable[str]) -> str:
    for word in words:
        if text.lower() == word.lower():
            return word
    raise InvalidConfig(f"expected one of {', '.join(words)}, got {shorten(text)}")


def _subjects(text: str) -> tuple[str, ...]:
    subjects = tuple(dict.fromkeys(each.strip() for each in text.split(",")))
    for subject in subjects:
        subscription_subject(subject)
    for one, other in permutations(subjects, 2):
        if within(one, other):
            raise InvalidConfig(
                "expected subjects none of which contains another, "
                f"got {shorten(one)} within {shorten(other)}: leave it out"
            )
    return subjects
