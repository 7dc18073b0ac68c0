"""Reading an answer is total, an error beats everything, and writing is strict."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jsproto.errors import InvalidConfig, InvalidResponse
from jsproto.jetstream.api.answers import AnswerType
from jsproto.jetstream.api.envelope import answer, members_or_error, parse_object, to_json
from jsproto.jetstream.api.errors import JetStreamError, RequestContext, WrongLastSequence

ABOUT = RequestContext(what="stream info", stream="S")

BOMBS = [
    b"",
    b"pong",
    b"[]",
    b"null",
    b"1",
    b'"text"',
    b"{",
    b'{"a":1}}',
    b'{"a":1} {"b":2}',
    b'{"a":NaN}',
    b'{"a":-Infinity}',
    b'{"a":1e999}',
    b'{"a":' + b"9" * 22 + b"}",
    b'{"a":' + b"9" * 100_000 + b"}",
    b'{"a":1,"a":2}',
    b'{"error":{"code":400},"error":null}',
    b'{"a":"\\ud800"}',
    b'{"a":"\xff"}',
    b"\xef\xbb\xbf{}",
    b"{\x00}",
    b'{"a":' * 50_000,
    b"[" * 50_000,
    b'{"a":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "{}".encode("utf-16"),
]


@pytest.mark.parametrize("body", BOMBS, ids=lambda body: str(body[:24]))
def test_what_is_no_json_object_is_an_invalid_response_that_shows_a_little_of_it(
    body: bytes,
) -> None:
    with pytest.raises(InvalidResponse) as caught:
        parse_object(body, ABOUT)

    assert f"got {len(body)} bytes" in str(caught.value)
    assert "stream info, stream S" in str(caught.value)
    assert len(str(caught.value)) < 400


@given(st.binary(max_size=60))
@example(b'{"a":1}')
def test_any_bytes_are_an_object_or_an_invalid_response(body: bytes) -> None:
    try:
        members = parse_object(body)
    except InvalidResponse:
        return
    assert isinstance(members, dict)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=6), JSON, max_size=5))
def test_what_is_written_is_read_back_equal_and_equal_members_give_equal_bytes(
    members: dict[str, object],
) -> None:
    body = to_json(members)

    assert parse_object(body) == members
    assert to_json(dict(members)) == body


@settings(max_examples=60)
@given(st.dictionaries(st.sampled_from(["error", "stream", "type", "config"]), JSON))
def test_any_answer_is_a_success_without_an_error_or_one_of_two_errors(
    members: dict[str, object],
) -> None:
    body = json.dumps(members).encode()
    try:
        read = answer(body, ABOUT, AnswerType.STREAM_INFO)
    except JetStreamError:
        assert members.get("error") is not None
    except InvalidResponse:
        assert members.get("error") is None
        assert members.get("config") is None or members.get("type") is not None
    else:
        assert members.get("error") is None
        assert read["config"] == members["config"]


def test_b199_numbers_of_64_bits_are_exact() -> None:
    body = b'{"storage":3000000000,"last_seq":18446744073709551615,"reserved_memory":9223372036854775807,"low":-9223372036854775808}'

    assert to_json(parse_object(body)) == body


def test_b175_an_error_beats_the_success_that_stands_beside_it() -> None:
    body = b'{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 44"},"stream":"S","seq":0}'

    with pytest.raises(WrongLastSequence) as caught:
        members_or_error(body, RequestContext(what="publish"))
    assert (caught.value.code, caught.value.err_code, caught.value.sequence) == (400, 10071, 44)


def test_a_null_error_is_none_and_the_type_is_no_member_of_the_answer() -> None:
    body = b'{"type":"io.nats.jetstream.api.v1.stream_delete_response","error":null,"success":true}'

    assert answer(body, ABOUT, AnswerType.STREAM_DELETE) == {"error": None, "success": True}


@pytest.mark.parametrize("expected", AnswerType)
@pytest.mark.parametrize("body", [b"{}", b'{"stream":"ALL","seq":7}', b'{"type":null}'])
def test_an_empty_answer_and_the_ack_of_a_stream_over_the_api_answer_nothing(
    expected: AnswerType, body: bytes
) -> None:
    with pytest.raises(InvalidResponse, match="expected an answer with"):
        answer(body, ABOUT, expected)


@pytest.mark.parametrize("expected", [each for each in AnswerType if each.needs])
def test_a_type_alone_is_no_answer_where_a_server_always_says_more(expected: AnswerType) -> None:
    with pytest.raises(InvalidResponse, match="expected an answer with"):
        answer(json.dumps({"type": expected.types[0]}).encode(), ABOUT, expected)


def test_usage_of_an_account_is_always_told() -> None:
    assert AnswerType.ACCOUNT_INFO.needs == ("memory", "storage", "streams", "consumers")


@pytest.mark.parametrize("expected", AnswerType)
def test_the_answer_to_another_request_is_refused_by_its_type(expected: AnswerType) -> None:
    everything = {name: True for each in AnswerType for name in each.needs}
    for other in AnswerType:
        body = json.dumps({**everything, "type": other.types[0]}).encode()
        if other.types[0] in expected.types:
            assert answer(body, ABOUT, expected) == everything
        else:
            with pytest.raises(
                InvalidResponse, match=f"expected an answer of type '{expected.types[0]}'"
            ):
                answer(body, ABOUT, expected)


@pytest.mark.parametrize("said", [1, "", [], "io.nats.jetstream.api.v2.stream_info_response"])
def test_a_type_that_is_there_must_fit(said: object) -> None:
    body = json.dumps({"type": said, "config": {"name": "S"}}).encode()

    with pytest.raises(InvalidResponse, match="expected an answer of type"):
        answer(body, ABOUT, AnswerType.STREAM_INFO)


@pytest.mark.parametrize("body", [b"{}", b'{"config":null}'])
def test_an_answer_without_what_it_needs_is_invalid_and_says_what_is_missing(body: bytes) -> None:
    with pytest.raises(
        InvalidResponse, match=r"expected an answer with 'config' \(stream info, stream S\)"
    ):
        answer(body, ABOUT, AnswerType.STREAM_INFO)


def test_a_surrogate_pair_is_one_character_and_no_reason_to_refuse() -> None:
    assert parse_object(b'{"a":"\\ud83d\\ude00"}') == {"a": "\U0001f600"}


def test_requests_are_compact_utf8_in_the_order_given() -> None:
    assert (
        to_json({"b": 1, "a": ["x>y", "ä"], "c": True})
        == '{"b":1,"a":["x>y","ä"],"c":true}'.encode()
    )


def test_what_json_cannot_carry_is_refused_before_it_is_sent() -> None:
    loop: dict[str, object] = {}
    loop["loop"] = loop
    for value in (float("nan"), float("inf"), b"bytes", object(), "\ud800", loop):
        with pytest.raises(InvalidConfig, match="in 'a'"):
            to_json({"a": value})


def test_values_nested_beyond_every_sense_are_refused_as_well() -> None:
    nest: list[object] = []
    for _ in range(100_000):  # 3.11 gives up at 1,000, 3.13 at 10,000
        nest = [nest]

    with pytest.raises(InvalidConfig, match="in 'a'"):
        to_json({"a": nest})


@pytest.mark.parametrize("value", ["{}", "[]", '{"a":0}', '{"a":{}}'])
def test_a_body_of_nothing_but_tiny_values_is_refused_before_it_takes_memory(value: str) -> None:
    body = ('{"a":[' + f"{value}," * 100_000 + "0]}").encode()
    tracemalloc.start()
    with pytest.raises(InvalidResponse, match="more than a value in each 8 bytes"):
        parse_object(body, ABOUT)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < len(body)


def test_the_largest_page_of_subjects_with_short_names_is_read() -> None:
    subjects = {f"s.{number}": 1 for number in range(100_000)}

    assert parse_object(to_json({"state": {"subjects": subjects}})) == {
        "state": {"subjects": subjects}
    }
