"""Durations as Go writes and reads them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.jetstream.api.go_duration import duration_text, parse_duration
from jsproto.jetstream.api.timestamps import Duration

S = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("0", 0),
        ("-0", 0),
        ("5s", 5 * S),
        ("1h30m", 5400 * S),
        ("1.5s", S + S // 2),
        (".5m", 30 * S),
        ("5.s", 5 * S),
        ("2ms3us4ns", 2_003_004),
        ("7µs", 7_000),
        ("7μs", 7_000),
        ("-2s", -2 * S),
        ("+2s", 2 * S),
        ("9223372036854775807ns", 2**63 - 1),
    ],
)
def test_a_duration_is_read_as_go_reads_it(text: str, ns: int) -> None:
    assert parse_duration(text) == ns


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "s",
        ".s",
        "5x",
        "5 s",
        "1d",
        "s5",
        "5s ",
        "--5s",
        "9223372036854775808ns",
        "\u0665s",
    ],
)
def test_what_go_would_not_take_is_nothing(text: str) -> None:
    assert parse_duration(text) is None


@given(st.integers(0, 2**63 - 1))
def test_what_is_written_is_read_again(ns: int) -> None:
    assert parse_duration(duration_text(Duration.from_ns(ns))) == ns


def test_whole_seconds_are_written_as_such() -> None:
    assert duration_text(timedelta(hours=1)) == "3600s"
    assert duration_text(timedelta(milliseconds=1500)) == "1500000000ns"
