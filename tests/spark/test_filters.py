"""Filters of a query narrow what is read, and never to less than what passes."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.jetstream.api.timestamps import Timestamp
from jsproto_spark.read.filters import FilterPushdown, narrowed

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NS = Timestamp.of(NOON).ns

PASSES = {
    "EqualTo": lambda seen, value: seen == value,
    "EqualNullSafe": lambda seen, value: seen == value,
    "In": lambda seen, value: seen in value,
    "GreaterThan": lambda seen, value: seen > value,
    "GreaterThanOrEqual": lambda seen, value: seen >= value,
    "LessThan": lambda seen, value: seen < value,
    "LessThanOrEqual": lambda seen, value: seen <= value,
}
ONE = st.integers(-3, 12)
FILTERS = st.one_of(
    st.tuples(st.sampled_from(sorted(PASSES.keys() - {"In"})), ONE),
    st.tuples(st.just("In"), st.lists(ONE, min_size=1, max_size=4)),
)


def all_of(column, *filters):
    narrowing = FilterPushdown()
    for operator, value in filters:
        narrowing = narrowed(narrowing, operator, column, value)
    return narrowing


@given(st.lists(FILTERS, max_size=4))
def test_every_sequence_that_passes_is_in_the_range(filters):
    narrowing = all_of("sequence", *filters)

    for seq in range(1, 15):
        if all(PASSES[operator](seq, value) for operator, value in filters):
            assert narrowing.lo <= seq
            assert narrowing.hi is None or seq < narrowing.hi


@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(PASSES.keys() - {"In"})), st.integers(-2, 2)), max_size=3
    ),
    st.integers(-3, 3),
    st.integers(0, 999),
)
def test_every_message_whose_microsecond_passes_is_in_the_time(filters, us, ns):
    narrowing = all_of(
        "timestamp", *((operator, NOON + timedelta(microseconds=at)) for operator, at in filters)
    )
    stored = Timestamp(NS + us * 1000 + ns)  # the column shows it cut to its microsecond

    if all(PASSES[operator](us, at) for operator, at in filters):
        assert narrowing.since is None or narrowing.since <= stored
        assert narrowing.until is None or stored < narrowing.until


def test_a_range_of_sequences_is_exact():
    assert FilterPushdown(lo=500_001, hi=500_101) == all_of(
        "sequence", ("GreaterThanOrEqual", 500_001), ("LessThanOrEqual", 500_100)
    )


def test_a_time_of_another_zone_is_the_same_instant():
    east = NOON.astimezone(timezone(timedelta(hours=9)))

    assert all_of("timestamp", ("LessThan", NOON)) == all_of("timestamp", ("LessThan", east))


@pytest.mark.parametrize(
    ("column", "operator", "value"),
    [
        ("payload", "EqualTo", b"x"),
        ("sequence", "IsNotNull", None),
        ("sequence", "In", []),
        ("sequence", "EqualTo", None),
        ("timestamp", "EqualTo", datetime(2026, 1, 1)),  # noqa: DTZ001 - nobody knows which instant it means
        ("timestamp", "In", [NOON]),
        ("timestamp", "LessThan", datetime.max.replace(tzinfo=UTC)),
        ("subject", "StringEndsWith", "x"),
        ("subject", "StringStartsWith", "ord"),
        ("subject", "EqualTo", "a b"),
        ("subject", "EqualTo", None),
        ("subject", "In", [f"s{number}" for number in range(101)]),
        ("headers.a", "EqualTo", "x"),
    ],
)
def test_what_a_stream_does_not_know_narrows_nothing(column, operator, value):
    assert FilterPushdown() == narrowed(FilterPushdown(), operator, column, value)


def test_subjects_are_those_named_and_only_the_first_filter_counts():
    assert ("a.b",) == all_of("subject", ("EqualTo", "a.b")).subjects
    assert ("a", "b") == all_of("subject", ("In", ["a", "b", "a"])).subjects
    assert ("a.b.>",) == all_of("subject", ("StringStartsWith", "a.b.c")).subjects
    assert ("a",) == all_of("subject", ("EqualTo", "a"), ("EqualTo", "b")).subjects


@pytest.mark.parametrize(
    ("wished", "configured", "read"),
    [
        (None, ("a.*",), ("a.*",)),
        (("a.b",), (), ("a.b",)),
        (("a.b", "c"), ("a.*",), ("a.b",)),
        (("c",), ("a.*",), None),
        (("a.>",), ("a.*",), ("a.*",)),
    ],
)
def test_the_subjects_of_the_options_are_never_left(wished, configured, read):
    assert read == FilterPushdown(subjects=wished).within(configured)
