"""What a stream says to a fast batch is one of four things, or an error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.errors import InvalidConfig, InvalidSubject
from jsproto.jetstream.api.errors import (
    InvalidBatch,
    InvalidPubAck,
    JetStreamError,
    RequestContext,
    WrongLastSequence,
)
from jsproto.jetstream.api.publishing.fast_ingest import (
    FlowAck,
    FlowError,
    FlowGap,
    GapMode,
    Operation,
    ingest_answer,
    ingest_id,
)
from jsproto.jetstream.api.publishing.puback import PubAck

ABOUT = RequestContext(what="fast batch b")


def test_the_words_are_those_of_the_wire() -> None:
    assert [each.value for each in GapMode] == ["ok", "fail"]
    assert [each.value for each in Operation] == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"type":"ack","seq":0,"msgs":10}', FlowAck(0, 10)),
        (b'{"type":"ack","seq":10,"msgs":0}', FlowAck(10, 1)),
        (b'{"type":"gap","last_seq":12,"seq":14}', FlowGap(12, 14)),
        (
            b'{"stream":"S","seq":13,"batch":"u1","count":15}',
            PubAck(stream="S", seq=13, batch="u1", count=15),
        ),
        (b'{"stream":"S","seq":13}', PubAck(stream="S", seq=13)),
    ],
)
def test_each_answer_is_read(body: bytes, said: object) -> None:
    assert ingest_answer(body, ABOUT) == said


def test_a_refused_message_is_its_number_and_a_typed_error() -> None:
    said = ingest_answer(
        b'{"type":"err","seq":2,"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 16"}}',
        ABOUT,
    )

    assert isinstance(said, FlowError)
    assert said.seq == 2
    assert isinstance(said.error, WrongLastSequence)
    assert said.error.sequence == 16


def test_an_error_is_that_of_any_publish() -> None:
    with pytest.raises(InvalidBatch) as caught:
        ingest_answer(
            b'{"error":{"code":400,"err_code":10208,"description":"unknown"},"stream":"S","seq":0}',
            ABOUT,
        )
    assert caught.value.err_code == 10208


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"pong",
        b"[]",
        b'{"type":"ack","seq":-1,"msgs":1}',
        b'{"type":"ack","seq":"1","msgs":1}',
        b'{"type":"gap","last_seq":true,"seq":1}',
        b'{"type":"other"}',
        b'{"type":"ack","seq":18446744073709551616,"msgs":1}',
    ],
)
def test_what_is_no_answer_is_refused_with_its_bytes(body: bytes) -> None:
    with pytest.raises(InvalidPubAck) as caught:
        ingest_answer(body, ABOUT)
    assert caught.value.body == body


@given(
    st.binary(max_size=40)
    | st.from_regex(
        rb'\{"type":"(ack|gap|err|x)"(,"(seq|msgs|last_seq)":[0-9]{1,22}){0,3}(,"error":(null|\{\}|5))?\}',
        fullmatch=True,
    )
)
def test_any_bytes_are_an_answer_or_one_of_two_errors(body: bytes) -> None:
    try:
        said = ingest_answer(body, ABOUT)
    except (JetStreamError, InvalidPubAck):
        return
    assert isinstance(said, (FlowAck, FlowGap, FlowError, PubAck))


def test_an_id_is_one_token_of_64_bytes_at_most() -> None:
    assert ingest_id("x" * 64) == "x" * 64
    for bad in ("x" * 65, "a.b", "ü" * 33):
        with pytest.raises(InvalidConfig, match="10207"):
            ingest_id(bad)
    for bad in ("", "a b", "*"):
        with pytest.raises(InvalidSubject):
            ingest_id(bad)
