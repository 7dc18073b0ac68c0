"""Codecs of the members of API documents: how each is read, accepted from a user, and written.

A codec rejects a value with :class:`CodecError`, which has the expected form, the value and its
place. The document turns it into an error of the user or of the server. Values of the server are
read more tolerantly than values of the user are accepted: unknown words of a newer server are
kept, a zero time means "not set", nulls in lists are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Generic, NoReturn, TypeVar, cast, final

from jsproto.errors.tree import InvalidConfig, InvalidResponse
from jsproto.jetstream.api.timestamps import (
    INT64_MAX,
    INT64_MIN,
    UINT64_MAX,
    Duration,
    Timestamp,
    duration_of,
    nanoseconds,
)

T = TypeVar("T")
W = TypeVar("W", bound=StrEnum)


#: Python converts no longer numbers by default.
_BIG: Final = re.compile(r"-?[0-9]{1,4000}").fullmatch


def is_label_of_server(name: str) -> bool:
    """Whether a label in ``metadata`` belongs to the server; such labels are no settings."""
    return name.startswith("_nats.")


def comparable(members: Mapping[str, object]) -> dict[str, object]:
    """The members of a configuration without the labels of the server."""
    found = dict(members)
    labels = found.pop("metadata", None)
    if isinstance(labels, Mapping):
        named = cast("Mapping[str, object]", labels).items()
        own = {name: value for name, value in named if not is_label_of_server(name)}
        if own:
            found["metadata"] = own
    return found


class CodecError(Exception):
    """A value of the wrong form; :class:`Document` turns it into one of two errors."""

    def __init__(self, expected: str, seen: object, path: str = "") -> None:
        super().__init__(expected)
        self.expected = expected
        self.seen = seen
        self.path = path


class Codec(Generic[T]):
    """One form of a member: how it is read, accepted from a user, and written."""

    def read(self, value: object) -> T | None:
        """The value from JSON, ``None`` for "not set"; raises :class:`CodecError`."""
        return self.accept(value)

    def accept(self, value: object) -> T:
        """The user's value as the document keeps it; raises :class:`CodecError`."""
        raise NotImplementedError

    def write(self, value: T) -> object:
        """The value for JSON."""
        return value

    def schema(self) -> dict[str, object]:
        """The form on the wire, as JSON Schema."""
        raise NotImplementedError


@final
class _Text(Codec[str]):
    def accept(self, value: object) -> str:
        if isinstance(value, str):
            return str(value)
        raise CodecError("text", value)

    def schema(self) -> dict[str, object]:
        return {"type": "string"}


@final
class _Name(Codec[str]):
    def accept(self, value: object) -> str:
        if isinstance(value, str) and value:
            return str(value)
        raise CodecError("a name", value)

    def schema(self) -> dict[str, object]:
        return {"type": "string", "minLength": 1}


@final
class _Flag(Codec[bool]):
    def accept(self, value: object) -> bool:
        if isinstance(value, bool):
            return value
        raise CodecError("true or false", value)

    def schema(self) -> dict[str, object]:
        return {"type": "boolean"}


@final
class _Integer(Codec[int]):
    def accept(self, value: object) -> int:
        if (
            isinstance(value, int)
            and not isinstance(value, bool)
            and INT64_MIN <= value <= UINT64_MAX
        ):
            return value
        raise CodecError("an integer of 64 bits", value)

    def schema(self) -> dict[str, object]:
        return {"type": "integer", "minimum": INT64_MIN, "maximum": UINT64_MAX}


@final
class _Number(Codec[float]):
    def accept(self, value: object) -> float:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return value
        raise CodecError("a number", value)

    def schema(self) -> dict[str, object]:
        return {"type": "number"}


@final
class _BigIntCodec(Codec[int]):
    """A whole number of any size. It is text on the wire, as JSON readers round large numbers."""

    def read(self, value: object) -> int:
        if isinstance(value, str) and _BIG(value):
            return int(value)
        raise CodecError("a whole number as text", value)

    def accept(self, value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise CodecError("a whole number", value)

    def write(self, value: int) -> str:
        return str(value)

    def schema(self) -> dict[str, object]:
        return {"type": "string", "pattern": "^-?[0-9]{1,4000}$"}


@final
class _Unnamed(Codec[str]):
    """An optional name: servers write "" for none, users leave it out."""

    def read(self, value: object) -> str | None:
        return TEXT.read(value) or None

    def accept(self, value: object) -> str:
        return NAME.accept(value)

    def schema(self) -> dict[str, object]:
        return {"type": "string"}


@final
class _DurationCodec(Codec[timedelta]):
    """A duration: nanoseconds on the wire; users give a timedelta or seconds."""

    def read(self, value: object) -> timedelta:
        if (
            isinstance(value, int)
            and not isinstance(value, bool)
            and INT64_MIN <= value <= INT64_MAX
        ):
            return Duration.from_ns(value)
        raise CodecError("integer nanoseconds of 64 bits", value)

    def accept(self, value: object) -> timedelta:
        given = duration_of(value) if isinstance(value, (int, float)) else value
        if isinstance(given, timedelta) and INT64_MIN <= nanoseconds(given) <= INT64_MAX:
            return given
        raise CodecError("seconds, or a timedelta, of at most 2**63 - 1 nanoseconds", value)

    def write(self, value: timedelta) -> int:
        return nanoseconds(value)

    def schema(self) -> dict[str, object]:
        return {
            "type": "integer",
            "minimum": INT64_MIN,
            "maximum": INT64_MAX,
            "description": "nanoseconds",
        }


@final
class _Ago(Codec[timedelta]):
    """A duration that only servers send; a negative one means "never"."""

    def read(self, value: object) -> timedelta | None:
        since = DURATION.read(value)
        return None if since is None or since < timedelta() else since

    def accept(self, value: object) -> timedelta:
        return DURATION.accept(value)

    def write(self, value: timedelta) -> int:
        return nanoseconds(value)

    def schema(self) -> dict[str, object]:
        return DURATION.schema()


@final
class _TimestampCodec(Codec["Timestamp | datetime"]):
    def read(self, value: object) -> Timestamp | datetime | None:
        if not isinstance(value, str):
            raise CodecError("an RFC 3339 time", value)
        try:
            return Timestamp.parse(value)
        except InvalidResponse:
            raise CodecError("an RFC 3339 time", value) from None

    def accept(self, value: object) -> Timestamp | datetime:
        if not isinstance(value, (Timestamp, datetime)):
            raise CodecError("a Timestamp or a datetime with a time zone", value)
        try:
            return Timestamp.of(value)
        except InvalidConfig:
            raise CodecError("a datetime with a time zone", value) from None

    def write(self, value: Timestamp | datetime) -> str:
        return str(value)

    def schema(self) -> dict[str, object]:
        return {"type": "string", "format": "date-time"}


@final
class _Percent(Codec["str | int"]):
    """``sample_freq``: text with or without a percent sign; users may give a number too."""

    def accept(self, value: object) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        raise CodecError("a percentage", value)

    def schema(self) -> dict[str, object]:
        return {"type": ["string", "integer"]}


class UnknownWord(str):
    """A word outside a closed set, sent by a server newer than this library; it is kept."""

    __slots__ = ()


@final
class EnumCodec(Codec[W | str], Generic[W]):
    """One word of a closed set; an unknown word of a newer server is an :class:`UnknownWord`."""

    def __init__(self, words: type[W]) -> None:
        self._words = words

    def read(self, value: object) -> W | str:
        """The member of the enum, or the unknown word."""
        if not isinstance(value, str):
            raise CodecError("a word", value)
        try:
            return self._words(value)
        except ValueError:
            return UnknownWord(value)

    def accept(self, value: object) -> W | str:
        """A member of the enum, its text, or an unknown word that was read before."""
        if isinstance(value, UnknownWord):
            return value
        try:
            return self._words(value) if isinstance(value, str) else self._none(value)
        except ValueError:
            return self._none(value)

    def write(self, value: W | str) -> str:
        """The word."""
        return str(value)

    def _none(self, value: object) -> NoReturn:
        raise CodecError("one of " + ", ".join(sorted(self._words)), value) from None

    def schema(self) -> dict[str, object]:
        """Any word, because a newer server may have more; the known words are examples."""
        return {"type": "string", "examples": sorted(self._words)}


@final
class ListCodec(Codec[Sequence[T]], Generic[T]):
    """A list whose items have one codec; kept as a tuple."""

    def __init__(self, each: Codec[T]) -> None:
        self._each = each

    def read(self, value: object) -> Sequence[T]:
        """The list without its nulls."""
        if not isinstance(value, list):
            raise CodecError("a list", value)
        return self._all(self._each.read, cast("list[object]", value), skip_null=True)

    def accept(self, value: object) -> Sequence[T]:
        """Any sequence except text."""
        if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
            raise CodecError("a sequence", value)
        return self._all(self._each.accept, cast("Sequence[object]", value))

    def write(self, value: Sequence[T]) -> list[object]:
        """A list, each item by its codec."""
        return [self._each.write(each) for each in value]

    @staticmethod
    def _all(
        take: Callable[[object], T | None], values: Iterable[object], *, skip_null: bool = False
    ) -> tuple[T, ...]:
        taken: list[T] = []
        for number, value in enumerate(values):
            try:
                one = None if skip_null and value is None else take(value)
            except CodecError as misfit:
                raise within(f"[{number}]", misfit) from None
            if one is not None:
                taken.append(one)
        return tuple(taken)

    def schema(self) -> dict[str, object]:
        """A list, or null: servers write null for an empty list."""
        return {"type": ["array", "null"], "items": self._each.schema()}


@final
class MapCodec(Codec[Mapping[str, T]], Generic[T]):
    """A JSON object with names chosen by the user, all values with one codec."""

    def __init__(self, value: Codec[T]) -> None:
        self._value = value

    def read(self, value: object) -> Mapping[str, T]:
        """A new mapping, without its nulls."""
        return self._all(self._value.read, value, skip_null=True)

    def accept(self, value: object) -> Mapping[str, T]:
        """A copy, so that later changes of the caller's mapping have no effect here."""
        return self._all(self._value.accept, value)

    def write(self, value: Mapping[str, T]) -> dict[str, object]:
        """A new dict, each value by its codec."""
        return {name: self._value.write(each) for name, each in value.items()}

    @staticmethod
    def _all(
        take: Callable[[object], T | None], value: object, *, skip_null: bool = False
    ) -> dict[str, T]:
        if not isinstance(value, Mapping):
            raise CodecError("a mapping", value)
        taken: dict[str, T] = {}
        for name, each in cast("Mapping[object, object]", value).items():
            if not isinstance(name, str):
                raise CodecError("names of text", name)
            try:
                one = None if skip_null and each is None else take(each)
            except CodecError as misfit:
                raise within(f".{name}", misfit) from None
            if one is not None:
                taken[name] = one
        return taken

    def schema(self) -> dict[str, object]:
        """An object, or null."""
        return {"type": ["object", "null"], "additionalProperties": self._value.schema()}


@final
class _Anything(Codec[object]):
    """Any value; kept as it is."""

    def accept(self, value: object) -> object:
        return value

    def schema(self) -> dict[str, object]:
        return {}


def within(part: str, misfit: CodecError) -> CodecError:
    """The same error, with one more level of its path."""
    return CodecError(misfit.expected, misfit.seen, part + misfit.path)


TEXT: Final[Codec[str]] = _Text()
NAME: Final[Codec[str]] = _Name()
#: A name that a configuration may leave out. A "" from a user is rejected, because it would mean
#: something else.
OPTIONAL_NAME: Final[Codec[str]] = _Unnamed()
FLAG: Final[Codec[bool]] = _Flag()
INTEGER: Final[Codec[int]] = _Integer()
NUMBER: Final[Codec[float]] = _Number()
BIG: Final[Codec[int]] = _BigIntCodec()
DURATION: Final[Codec[timedelta]] = _DurationCodec()
#: The time since an event; a negative value means "never" and becomes ``None``.
AGO: Final[Codec[timedelta]] = _Ago()
GIVEN_TIME: Final[Codec[Timestamp | datetime]] = _TimestampCodec()
#: The same codec for times that only servers send, so that readers need no narrowing.
TIME: Final = cast("Codec[Timestamp]", GIVEN_TIME)
PERCENT: Final[Codec[str | int]] = _Percent()
TEXTS: Final[Codec[Sequence[str]]] = ListCodec(TEXT)
INTEGERS: Final[Codec[Sequence[int]]] = ListCodec(INTEGER)
DURATIONS: Final[Codec[Sequence[timedelta]]] = ListCodec(DURATION)
LABELS: Final[Codec[Mapping[str, str]]] = MapCodec(TEXT)
COUNTS: Final[Codec[Mapping[str, int]]] = MapCodec(INTEGER)
OBJECT: Final[Codec[Mapping[str, object]]] = MapCodec(_Anything())
