"""An acknowledgement is what a stream says; everything else is an error with the bytes that came."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jsproto.errors import InvalidConfig
from jsproto.jetstream.api.envelope import members_or_error
from jsproto.jetstream.api.errors import (
    InvalidPubAck,
    JetStreamError,
    RequestContext,
    WrongLastSequence,
)
from jsproto.jetstream.api.publishing.puback import PubAck, pub_ack, usual_ack

ABOUT = RequestContext(what="publish", subject="orders.new")


def test_b173_a_duplicate_may_have_sequence_0() -> None:
    ack = pub_ack(b'{"stream":"S","seq":0,"duplicate":true}', ABOUT)

    assert ack == PubAck(stream="S", seq=0, duplicate=True)


def test_blanks_and_additions_of_all_versions_are_read() -> None:
    assert pub_ack(b'{"stream":"S", "seq":1,"duplicate": true, "domain":"hub"}', ABOUT) == PubAck(
        stream="S", seq=1, duplicate=True, domain="hub"
    )
    assert pub_ack(b'{"stream":"S","seq":3,"batch":"b1","count":3}', ABOUT) == PubAck(
        stream="S", seq=3, batch="b1", count=3
    )
    assert (
        pub_ack(b'{"stream":"S","seq":2,"val":"-12345678901234567890123"}', ABOUT).val
        == -12345678901234567890123
    )
    assert pub_ack(b'{"stream":"S","seq":18446744073709551615,"new":1}', ABOUT).extra == {"new": 1}


def test_b175_a_refusal_beside_stream_and_sequence_is_a_refusal() -> None:
    body = b'{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 44"},"stream":"S","seq":0}'

    with pytest.raises(WrongLastSequence, match=r"publish, subject orders\.new") as caught:
        pub_ack(body, ABOUT)
    assert (caught.value.code, caught.value.err_code, caught.value.sequence) == (400, 10071, 44)


@pytest.mark.parametrize(
    "body",
    [
        b"pong",
        b"",
        b'{"stream":""}',
        b'{"seq":1}',
        b'{"stream":1,"seq":1}',
        b'{"stream":"S","seq":-1.5}',
    ],
)
def test_b187_what_is_no_acknowledgement_is_refused_with_its_bytes(body: bytes) -> None:
    with pytest.raises(InvalidPubAck, match=r"expected an acknowledgement of a stream") as caught:
        pub_ack(body, ABOUT)
    assert caught.value.body == body


@given(
    st.binary(max_size=40)
    | st.from_regex(
        rb'\{"stream":"[ab]?","seq":[0-9]{1,22},?("error":(null|\{\}))?\}', fullmatch=True
    )
)
def test_any_bytes_are_an_acknowledgement_or_one_of_two_errors(body: bytes) -> None:
    try:
        ack = pub_ack(body, ABOUT)
    except (InvalidPubAck, JetStreamError):
        return
    assert ack.stream


@given(
    st.from_regex(
        rb'\{"stream":"[A-Z]{0,2}", ?"seq": ?[0-9]{1,21}(, ?"duplicate": ?(true|false))?(,"error":null)?\}',
        fullmatch=True,
    )
)
@example(b'{"stream":"S","seq":0}')
@example(b'{"stream":"S", "seq":9223372036854775807,"duplicate": true}')
def test_the_short_way_and_the_long_way_read_the_same(body: bytes) -> None:
    short = usual_ack(body)

    if short is not None:
        assert short == PubAck.from_wire(members_or_error(body, ABOUT))
        assert pub_ack(body, ABOUT) == short


@pytest.mark.parametrize(
    "body",
    [
        b'{"stream":"S","seq":01}',
        b'{"stream":"\\u0041","seq":1}',
        b'{"stream":"","seq":1}',
        b'{"stream":"S","seq":1}\n',
    ],
)
def test_another_shape_goes_the_long_way(body: bytes) -> None:
    assert usual_ack(body) is None


def test_the_value_of_a_counter_is_a_number_here_and_text_on_the_wire() -> None:
    ack = PubAck(stream="S", seq=1, val=-(10**40))

    assert ack.to_wire()["val"] == "-1" + "0" * 40
    assert pub_ack(json.dumps(ack.to_wire()).encode(), ABOUT) == ack
    with pytest.raises(InvalidConfig, match="val"):
        PubAck(stream="S", seq=1, val="5")


@pytest.mark.parametrize(
    "val", [b"5", b'"five"', b'"+5"', b'""', b'"1.5"', b'"' + b"9" * 5000 + b'"']
)
def test_a_value_that_is_no_whole_number_as_text_is_no_acknowledgement(val: bytes) -> None:
    with pytest.raises(InvalidPubAck, match="a whole number as text"):
        pub_ack(b'{"stream":"S","seq":1,"val":' + val + b"}", ABOUT)
