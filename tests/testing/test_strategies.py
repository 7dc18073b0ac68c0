from hypothesis import given, settings
from hypothesis import strategies as st

from jsproto.jetstream.api.patterns import literal, valid
from jsproto.testing import strategies
from jsproto.wire.headers import Headers, status_of
from jsproto.wire.parser import Parser

FEW = settings(max_examples=60, deadline=None)


@FEW
@given(strategies.deliveries(), st.data())
def test_a_delivery_in_any_pieces_is_the_frame_that_the_parser_gives(delivery, data):
    pieces = data.draw(strategies.chunkings(strategies.frame_of(delivery)))
    parser = Parser()

    assert [frame for piece in pieces for frame in parser.feed(piece)] == [delivery]


@FEW
@given(strategies.subjects())
def test_subjects_are_literal_and_valid(subject):
    assert valid(subject)
    assert literal(subject)


@FEW
@given(strategies.patterns())
def test_patterns_are_what_a_subscription_may_ask_for(pattern):
    assert valid(pattern)


@FEW
@given(strategies.statuses())
def test_a_status_block_says_its_code_and_description(status):
    assert status_of(status.block) == (status.code, status.description)


@FEW
@given(strategies.headers())
def test_headers_survive_their_block(pairs):
    found = Headers.parse(strategies.block_of(pairs))

    assert list(found.items()) == pairs


@given(st.binary(max_size=1), st.data())
@FEW
def test_nothing_is_cut_into_nothing(data, draw):
    assert b"".join(draw.draw(strategies.chunkings(data))) == data
