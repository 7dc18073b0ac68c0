"""How far a micro-batch goes."""

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from jsproto.errors import InvalidConfig
from jsproto.jetstream.api.config.stream import StreamInfo
from jsproto.jetstream.range_read.options import ReadMode
from jsproto.jetstream.range_read.plan import RangeFacts, split
from jsproto_spark.read.planning import behind, capped, holes, there, vanished, way

FACTS = RangeFacts(
    stream="S",
    created=None,
    first_seq=101,
    last_seq=200,
    messages=100,
    bytes=10_000,
    retention="limits",
    replicas=1,
    allow_direct=False,
    mirror=False,
    compacts=False,
)
NO_LIMIT = {"most_messages": None, "most_bytes": None}


@pytest.mark.parametrize(
    ("first", "last", "messages"), [(101, 200, 100), (201, 200, 0), (0, 0, 0), (1, 0, 0)]
)
def test_a_stream_ends_behind_its_last_sequence_and_an_empty_one_begins_there(
    first, last, messages
):
    state = {"first_seq": first, "last_seq": last, "messages": messages}
    facts = RangeFacts.of(StreamInfo.from_wire({"config": {"name": "S"}, "state": state}))

    assert last + 1 == behind(facts)
    assert (first if messages else last + 1) == facts.first_seq


@pytest.mark.parametrize(
    ("start", "limits", "end"),
    [
        (101, NO_LIMIT, 201),
        (101, {"most_messages": 30, "most_bytes": None}, 131),
        (1, {"most_messages": 30, "most_bytes": None}, 131),
        (101, {"most_messages": None, "most_bytes": 1000}, 111),
        (101, {"most_messages": 5, "most_bytes": 1000}, 106),
        (101, {"most_messages": None, "most_bytes": 1}, 102),
        (201, {"most_messages": 1, "most_bytes": 1}, 201),
    ],
)
def test_the_nearest_limit_ends_it(start, limits, end):
    assert end == capped(start, 201, FACTS, **limits)


@given(
    start=st.integers(1, 300),
    most_messages=st.none() | st.integers(1, 300),
    most_bytes=st.none() | st.integers(1, 30_000),
)
def test_it_never_goes_back_nor_beyond_the_end_and_always_ends_somewhere(
    start, most_messages, most_bytes
):
    limits = {"most_messages": most_messages, "most_bytes": most_bytes}
    end = capped(start, 201, FACTS, **limits)

    assert start <= end <= max(start, 201)
    if start < 201:
        assert end > max(start, 101) or end == 201


def test_messages_have_vanished_if_the_stream_begins_behind_the_range():
    assert vanished(101, 150, FACTS, filtered=False) is None
    assert 101 == vanished(100, 150, FACTS, filtered=True)
    assert 50 == vanished(1, 50, FACTS, filtered=False)


def test_what_was_replaced_or_meant_for_others_is_no_loss():
    assert vanished(1, 150, evolve(FACTS, compacts=True), filtered=False) is None
    assert vanished(1, 150, evolve(FACTS, retention="interest"), filtered=True) is None
    assert 101 == vanished(1, 150, evolve(FACTS, retention="interest"), filtered=False)


@pytest.mark.parametrize(
    ("facts", "wished", "version", "seen"),
    [
        ({"mirror": True, "allow_direct": True}, ReadMode.AUTO, "2.11.0", ReadMode.DIRECT),
        ({"mirror": True, "allow_direct": True}, ReadMode.CONSUMER, "2.11.0", ReadMode.CONSUMER),
        ({"mirror": True, "allow_direct": True}, ReadMode.AUTO, "2.10.26", ReadMode.CONSUMER),
        ({"mirror": True}, ReadMode.AUTO, "2.15.1", ReadMode.CONSUMER),
        ({"allow_direct": True}, ReadMode.AUTO, "2.15.1", ReadMode.CONSUMER),
        (
            {"allow_direct": True, "retention": "workqueue"},
            ReadMode.AUTO,
            "2.15.1",
            ReadMode.DIRECT,
        ),
        ({"allow_direct": True}, ReadMode.DIRECT, "no version", ReadMode.DIRECT),
        ({"mirror": True}, ReadMode.DIRECT, "2.15.1", "allow_direct"),
        ({"retention": "workqueue"}, ReadMode.AUTO, "2.15.1", "allow_direct"),
        ({"allow_direct": True}, ReadMode.DIRECT, "2.10.26", "expected a server of 2.11 or newer"),
        ({"allow_direct": True, "retention": "workqueue"}, ReadMode.AUTO, "2.9.10", "2.11"),
    ],
)
def test_how_a_range_is_read_depends_on_the_stream_and_on_the_server(facts, wished, version, seen):
    there = evolve(FACTS, **facts)

    if isinstance(seen, ReadMode):
        assert seen is way(there, wished, version)
    else:
        with pytest.raises(InvalidConfig, match=seen):
            way(there, wished, version)


@pytest.mark.parametrize(
    ("sequences", "parts", "least", "seen"),
    [
        ([1, 2, 400_003], 21, 1, [1, 400_003]),  # a hole
        (range(1, 101), 4, 4, [1, 26, 51, 76]),  # none
        (
            [*range(1, 11), *range(400_001, 400_011)],
            4,
            4,
            None,
        ),  # few places, but enough messages for four tasks
        ([7], 4, 4, [7]),
        ([], 4, 4, []),
        ([5], 1, 1, [1]),  # one part finds out by itself
    ],
)
def test_parts_begin_where_messages_are(sequences, parts, least, seen):
    asked = []

    def after(seq):
        asked.append(seq)
        return min((each for each in sequences if each >= seq), default=None)

    hi = max(sequences, default=100) + 1
    cut = split(1, hi, parts)
    found = there(cut, least, after)

    if seen is not None:
        assert seen == [part.lo for part in found]
    elif len(sequences) >= least:
        assert least <= len(found) <= 4 * least
    read = [seq for part in found for seq in sequences if part.lo <= seq < part.hi]
    assert list(sequences) == read
    assert len(asked) <= 12 * (4 * parts + 1)


@given(
    sequences=st.sets(st.integers(1, 500), max_size=30),
    parts=st.integers(1, 20),
    least=st.integers(1, 20),
)
def test_parts_that_begin_where_messages_are_hold_each_message_once(sequences, parts, least):
    def after(seq):
        return min((each for each in sequences if each >= seq), default=None)

    found = there(split(1, 501, parts), min(least, parts), after)
    ends = [end for part in found for end in (part.lo, part.hi)]

    assert sorted(sequences) == [
        seq for part in found for seq in sorted(sequences) if part.lo <= seq < part.hi
    ]
    assert ends == sorted(ends)
    if parts > 1:
        assert all(part.lo in sequences for part in found)


def test_a_stream_has_holes_if_it_holds_less_than_its_sequences_say():
    assert not holes(FACTS)
    assert holes(evolve(FACTS, messages=99))
    assert not holes(evolve(FACTS, first_seq=201, messages=0))
