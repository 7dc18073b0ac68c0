"""Header blocks of many messages at once give what each of them gives alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.testing.strategies import blocks as any_block
from jsproto.wire.header_blocks import pairs_of_all
from jsproto.wire.headers import Headers, pairs_of

PLAIN = b"NATS/1.0\r\nOrder: 1\r\nTrace: a: b\r\n\r\n"


def alone(blocks):
    return [() if block is None else Headers.parse(block).items() for block in blocks]


def written(values):
    return [b"NATS/1.0\r\nOrder: %b\r\nTrace: x\r\n\r\n" % value for value in values]


def test_blocks_of_one_form_are_read_by_columns():
    blocks = [PLAIN.replace(b"1\r", b"%d\r" % number) for number in range(100)]

    assert pairs_of_all(blocks)[7] == (("Order", "7"), ("Trace", "a: b"))
    assert pairs_of_all(blocks) == alone(blocks)


def test_messages_without_headers_have_none():
    blocks = [None, PLAIN, None, b"NATS/1.0\r\n\r\n", PLAIN]

    assert pairs_of_all(blocks) == [(), alone([PLAIN])[0], (), (), alone([PLAIN])[0]]
    assert pairs_of_all([]) == []
    assert pairs_of_all([b"NATS/1.0\r\n\r\n"] * 5) == [()] * 5


# What a column must not be taken for, one of five blocks each.
ODD = {
    "another name": b"NATS/1.0\r\nOther: 1\r\nTrace: x\r\n\r\n",
    "another order": b"NATS/1.0\r\nTrace: x\r\nOrder: 1\r\n\r\n",
    "one more": b"NATS/1.0\r\nOrder: 1\r\nTrace: x\r\nMore: 2\r\n\r\n",
    "one less": b"NATS/1.0\r\nOrder: 1\r\n\r\n",
    "no blank": b"NATS/1.0\r\nOrder:1\r\nTrace: x\r\n\r\n",
    "two blanks": b"NATS/1.0\r\nOrder:  1\r\nTrace: x\r\n\r\n",
    "a blank behind": b"NATS/1.0\r\nOrder: 1 \r\nTrace: x\r\n\r\n",
    "a tab behind": b"NATS/1.0\r\nOrder: 1\t\r\nTrace: x\r\n\r\n",
    "LF alone": b"NATS/1.0\nOrder: 1\nTrace: x\n\n",
    "a CR inside": b"NATS/1.0\r\nOrder: 1\r2\r\nTrace: x\r\n\r\n",
    "an LF inside": b"NATS/1.0\r\nOrder: 1\nTrace: x\r\n\r\n",
    "a status": b"NATS/1.0 404\r\nOrder: 1\r\nTrace: x\r\n\r\n",
    "no end": b"NATS/1.0\r\nOrder: 1\r\nTrace: x\r\n",
    "an early end": b"NATS/1.0\r\n\r\nOrder: 1\r\n\r\n",
    "no version": b"Order: 1\r\nTrace: x\r\n\r\n",
    "no UTF-8": b"NATS/1.0\r\nOrder: \xff\xc3\r\nTrace: x\r\n\r\n",
    "a NUL": b"NATS/1.0\r\nOrder: \0\r\nTrace: x\r\n\r\n",
    "a name of blanks": b"NATS/1.0\r\nOr der: 1\r\nTrace: x\r\n\r\n",
    "folded": b"NATS/1.0\r\nOrder: 1\r\n Trace: x\r\n\r\n",
    "nothing": b"",
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize("at", [0, 2, 4])
def test_an_odd_block_among_others_is_read_as_it_is(odd, at):
    blocks = written(b"%d" % number for number in range(5))
    blocks[at] = odd

    assert pairs_of_all(blocks) == alone(blocks)


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_odd_blocks_of_one_form_are_read_as_they_are(odd):
    assert pairs_of_all([odd] * 5) == alone([odd] * 5)


def test_a_cut_at_the_wrong_place_is_no_form():
    """Together these are two blocks of one form, apart they are not."""
    blocks = [
        b"NATS/1.0\r\nOrder: 1\r\n",
        b"\r\nNATS/1.0\r\nOrder: 2\r\n\r\n",
        b"NATS/1.0\r\nOrder: 3\r\n\r\n",
        b"NATS/1.0\r\nOrder: 4\r\n\r\n",
    ]

    assert pairs_of_all(blocks) == alone(blocks)


@given(
    st.lists(
        st.binary(max_size=12).filter(lambda value: b"\r\n" not in value), min_size=4, max_size=20
    )
)
def test_any_values(values):
    blocks = written(values)

    assert pairs_of_all(blocks) == alone(blocks)


@given(st.lists(st.one_of(st.none(), any_block(), st.binary(max_size=60)), max_size=8))
def test_any_blocks(blocks):
    assert pairs_of_all(blocks) == alone(blocks)


@given(st.one_of(any_block(), st.binary(max_size=60)))
def test_pairs_are_those_of_the_headers(block):
    assert pairs_of(block) == Headers.parse(block).items()
