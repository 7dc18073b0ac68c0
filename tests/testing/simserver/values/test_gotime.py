import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jsproto.testing.simserver.values.gotime import (
    EPOCH_NS,
    go_duration,
    parse_go_duration,
    parse_rfc3339,
    rfc3339,
    to_nanos,
    to_seconds,
)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 3 * 10**17))
def test_ticking_at_the_seconds_of_a_moment_reaches_it(after):
    moment = EPOCH_NS + after

    assert moment <= to_nanos(to_seconds(moment)) <= moment + 100


@pytest.mark.parametrize(
    ("nanos", "text"),
    [
        (0, "0001-01-01T00:00:00Z"),
        (EPOCH_NS, "2027-01-15T08:00:00Z"),
        (EPOCH_NS + 120_000_000, "2027-01-15T08:00:00.12Z"),
        (EPOCH_NS + 1, "2027-01-15T08:00:00.000000001Z"),
    ],
)
def test_times_are_written_and_read_as_go_does(nanos, text):
    assert rfc3339(nanos) == text
    assert parse_rfc3339(text) == nanos


def test_times_with_offsets_and_times_that_are_none():
    assert parse_rfc3339("2027-01-15T10:30:00+02:30") == EPOCH_NS
    assert parse_rfc3339("2027-01-15T07:00:00-01:00") == EPOCH_NS
    assert parse_rfc3339("soon") is None
    assert parse_rfc3339("2027-02-30T00:00:00Z") is None


@pytest.mark.parametrize(
    ("nanos", "text"),
    [
        (0, "0s"),
        (5 * 10**9, "5s"),
        (60 * 10**9, "1m0s"),
        (3600 * 10**9 + 500_000_000, "1h0m0.5s"),
        (333_333_333, "333.333333ms"),
        (1_500, "1.5µs"),
        (7, "7ns"),
        (-5 * 10**9, "-5s"),
    ],
)
def test_durations_are_written_and_read_as_go_does(nanos, text):
    assert go_duration(nanos) == text
    assert parse_go_duration(text) == nanos


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("1.2s", 1_200_000_000),
        ("+1m", 60 * 10**9),
        (".5s", 500_000_000),
        ("0", 0),
        ("", None),
        ("x", None),
        ("1", None),
        ("1s x", None),
        ("1sx2s", None),
    ],
)
def test_durations_that_people_write(text, nanos):
    assert parse_go_duration(text) == nanos
