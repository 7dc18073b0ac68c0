"""Each form reads what servers say, takes what users may give, refuses all else by name, and writes
the server's words.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum

import pytest

from jsproto.jetstream.api.codecs import (
    AGO,
    BIG,
    COUNTS,
    DURATION,
    DURATIONS,
    FLAG,
    GIVEN_TIME,
    INTEGER,
    INTEGERS,
    LABELS,
    NAME,
    NUMBER,
    OBJECT,
    OPTIONAL_NAME,
    PERCENT,
    TEXT,
    TEXTS,
    TIME,
    Codec,
    CodecError,
    EnumCodec,
    ListCodec,
    UnknownWord,
)
from jsproto.jetstream.api.timestamps import Duration, Timestamp


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


COLOUR = EnumCodec(Colour)
MOMENT = datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("codec", "wire", "value"),
    [
        (TEXT, "", ""),
        (TEXT, "x", "x"),
        (NAME, "S", "S"),
        (FLAG, False, False),
        (INTEGER, 0, 0),
        (INTEGER, 2**64 - 1, 2**64 - 1),
        (INTEGER, -(2**63), -(2**63)),
        (DURATION, 1_500_000_001, Duration.from_ns(1_500_000_001)),
        (DURATION, -1, Duration.from_ns(-1)),
        (TIME, "2024-01-02T03:04:05Z", Timestamp.of(MOMENT)),
        (PERCENT, "100%", "100%"),
        (TEXTS, ["a", "b"], ("a", "b")),
        (INTEGERS, [1], (1,)),
        (DURATIONS, [1000], (timedelta(microseconds=1),)),
        (LABELS, {"a": "b"}, {"a": "b"}),
        (COUNTS, {"s": 3}, {"s": 3}),
        (OBJECT, {"a": [1, {"b": True}]}, {"a": [1, {"b": True}]}),
        (COLOUR, "red", Colour.RED),
        (COLOUR, "green", UnknownWord("green")),
    ],
)
def test_what_is_read_is_accepted_again_and_written_as_it_was(
    codec: Codec[object], wire: object, value: object
) -> None:
    read = codec.read(wire)

    assert read == value
    assert codec.accept(read) == value
    assert codec.write(read) == wire


@pytest.mark.parametrize(
    ("codec", "wire", "path"),
    [
        (TEXT, 1, ""),
        (NAME, "", ""),
        (NAME, None, ""),
        (FLAG, 1, ""),
        (INTEGER, True, ""),
        (INTEGER, 1.0, ""),
        (INTEGER, "1", ""),
        (INTEGER, 2**64, ""),
        (INTEGER, -(2**63) - 1, ""),
        (DURATION, 1.5, ""),
        (DURATION, True, ""),
        (DURATION, 2**63, ""),
        (DURATION, "1s", ""),
        (TIME, 5, ""),
        (TIME, "yesterday", ""),
        (PERCENT, True, ""),
        (PERCENT, 0.5, ""),
        (TEXTS, "text", ""),
        (TEXTS, {"a": 1}, ""),
        (TEXTS, ["a", 1], "[1]"),
        (LABELS, ["a"], ""),
        (LABELS, {"a": 1}, ".a"),
        (COLOUR, 1, ""),
    ],
)
def test_an_answer_of_another_form_is_a_misfit_with_its_place(
    codec: Codec[object], wire: object, path: str
) -> None:
    with pytest.raises(CodecError) as caught:
        codec.read(wire)

    assert caught.value.path == path
    assert caught.value.expected


@pytest.mark.parametrize(
    ("codec", "given", "kept"),
    [
        (DURATION, timedelta(seconds=1), timedelta(seconds=1)),
        (DURATION, 5, timedelta(seconds=5)),
        (DURATION, 0.25, timedelta(seconds=0.25)),
        (DURATION, -1, timedelta(seconds=-1)),
        (OPTIONAL_NAME, "C", "C"),
        (GIVEN_TIME, MOMENT, Timestamp.of(MOMENT)),
        (GIVEN_TIME, Timestamp(7), Timestamp(7)),
        (PERCENT, 50, "50"),
        (TEXTS, ["a"], ("a",)),
        (COLOUR, "blue", Colour.BLUE),
        (COLOUR, Colour.RED, Colour.RED),
        (COLOUR, UnknownWord("green"), UnknownWord("green")),
    ],
)
def test_what_users_give_is_kept_in_one_form(
    codec: Codec[object], given: object, kept: object
) -> None:
    assert codec.accept(given) == kept


@pytest.mark.parametrize(
    ("codec", "given"),
    [
        (DURATION, True),
        (DURATION, "5"),
        (DURATION, 9_300_000_000),
        (DURATION, float("nan")),
        (DURATION, float("inf")),
        (DURATION, timedelta(days=200_000)),
        (OPTIONAL_NAME, ""),
        (GIVEN_TIME, "2024-01-02T03:04:05Z"),
        (GIVEN_TIME, datetime(2024, 1, 1)),  # noqa: DTZ001 - that is the case
        (TEXTS, "subject"),
        (TEXTS, b"subject"),
        (TEXTS, {"a"}),
        (LABELS, {1: "a"}),
        (COLOUR, "green"),
        (COLOUR, 1),
    ],
)
def test_what_users_give_in_another_form_is_a_misfit(codec: Codec[object], given: object) -> None:
    with pytest.raises(CodecError):
        codec.accept(given)


def test_nulls_within_lists_and_mappings_vanish_and_the_zero_time_is_not_set() -> None:
    assert TEXTS.read([None, "a", None]) == ("a",)
    assert LABELS.read({"a": None, "b": "c"}) == {"b": "c"}
    assert OPTIONAL_NAME.read("") is None
    assert AGO.read(-1) is None
    assert AGO.read(1_000_000_000) == timedelta(seconds=1)
    assert TIME.read("0001-01-01T00:00:00Z") is None
    assert LABELS.read({"a": "b"}) == {"a": "b"}
    assert OBJECT.read({"a": None, "b": 1}) == {"b": 1}
    assert ListCodec(TIME).read(["0001-01-01T00:00:00Z", "2024-01-02T03:04:05Z"]) == (
        Timestamp.of(MOMENT),
    )


def test_a_form_has_to_say_what_it_accepts() -> None:
    with pytest.raises(NotImplementedError):
        Codec[str]().accept("x")


def test_a_mapping_is_copied_so_that_its_owner_may_go_on_changing_it() -> None:
    own = {"a": "b"}
    kept = LABELS.accept(own)
    own["a"] = "c"

    assert kept == {"a": "b"}


def test_the_words_that_are_possible_are_named_when_another_is_given() -> None:
    with pytest.raises(CodecError) as caught:
        COLOUR.accept("green")

    assert caught.value.expected == "one of blue, red"


@pytest.mark.parametrize(
    ("codec", "schema"),
    [
        (TEXT, {"type": "string"}),
        (NAME, {"type": "string", "minLength": 1}),
        (OPTIONAL_NAME, {"type": "string"}),
        (FLAG, {"type": "boolean"}),
        (INTEGER, {"type": "integer", "minimum": -(2**63), "maximum": 2**64 - 1}),
        (NUMBER, {"type": "number"}),
        (BIG, {"type": "string", "pattern": "^-?[0-9]{1,4000}$"}),
        (TIME, {"type": "string", "format": "date-time"}),
        (PERCENT, {"type": ["string", "integer"]}),
        (COLOUR, {"type": "string", "examples": ["blue", "red"]}),
        (TEXTS, {"type": ["array", "null"], "items": {"type": "string"}}),
        (LABELS, {"type": ["object", "null"], "additionalProperties": {"type": "string"}}),
        (OBJECT, {"type": ["object", "null"], "additionalProperties": {}}),
    ],
)
def test_each_form_has_a_schema_of_what_is_on_the_wire(codec, schema):
    assert codec.schema() == schema


def test_a_duration_is_nanoseconds_on_the_wire():
    assert DURATION.schema() == {
        "type": "integer",
        "minimum": -(2**63),
        "maximum": 2**63 - 1,
        "description": "nanoseconds",
    }


def test_a_form_has_to_say_its_schema():
    with pytest.raises(NotImplementedError):
        Codec().schema()
