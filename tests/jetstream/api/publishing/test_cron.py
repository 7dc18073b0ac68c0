"""Cron patterns match what the server matches. The reference walks second by second and looks at
the clock on the wall.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jsproto.errors import InvalidConfig
from jsproto.jetstream.api.publishing.cron import WORDS, Cron

BERLIN = ZoneInfo("Europe/Berlin")


def following(pattern: str, start: datetime, zone=UTC) -> str | None:
    second = Cron.parse(pattern).following(int(start.timestamp()), zone)
    return None if second is None else datetime.fromtimestamp(second, zone).isoformat()


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)


@pytest.mark.parametrize(
    ("pattern", "start", "then"),
    [
        ("* * * * * *", at(2026, 1, 1), "2026-01-01T00:00:01+00:00"),
        ("? ? ? ? ? ?", at(2026, 1, 1, 23, 59, 59), "2026-01-02T00:00:00+00:00"),
        ("0 0 12 * * *", at(2026, 1, 1, 12), "2026-01-02T12:00:00+00:00"),
        ("*/15 * * * * *", at(2026, 1, 1, 0, 0, 46), "2026-01-01T00:01:00+00:00"),
        ("0 10/20 * * * *", at(2026, 1, 1, 0, 31), "2026-01-01T00:50:00+00:00"),
        ("0 0 8-18/4 * * *", at(2026, 1, 1, 9), "2026-01-01T12:00:00+00:00"),
        ("0 0 0 1 1 *", at(2026, 1, 1), "2027-01-01T00:00:00+00:00"),
        ("0 0 0 29 feb *", at(2026, 1, 1), "2028-02-29T00:00:00+00:00"),
        ("0 0 0 31 * *", at(2026, 1, 31), "2026-03-31T00:00:00+00:00"),
        ("0 0 0 * * mon-fri", at(2026, 1, 2), "2026-01-05T00:00:00+00:00"),
        ("0 0 0 13 * FRI", at(2026, 1, 1), "2026-01-02T00:00:00+00:00"),
        ("0 0 0 */2 * FRI", at(2026, 1, 2), "2026-01-03T00:00:00+00:00"),
        ("0 0 0 * * 0", at(2026, 1, 1), "2026-01-04T00:00:00+00:00"),
        ("+5,07 0 0 * Jan,DEC *", at(2026, 2, 1), "2026-12-01T00:00:05+00:00"),
        ("0 0 0 30 2 *", at(2026, 1, 1), None),
        ("0 0 0 29 2 *", at(2096, 3, 1), None),
        ("0 0 0 1 1 *", at(9999, 6, 1), None),
    ],
)
def test_the_next_match_of_a_pattern(pattern: str, start: datetime, then: str | None) -> None:
    assert following(pattern, start) == then


@pytest.mark.parametrize("word", WORDS)
def test_a_word_is_its_pattern(word: str) -> None:
    assert Cron.parse(word) == Cron.parse(WORDS[word])


@pytest.mark.parametrize(
    ("pattern", "start", "then"),
    [
        # Clocks go from 02:00 to 03:00: the half past is missing that day.
        ("0 30 2 * * *", at(2026, 3, 28, 12), "2026-03-30T02:30:00+02:00"),
        # Clocks go from 03:00 back to 02:00: it comes twice.
        ("0 30 2 * * *", at(2026, 10, 24, 12), "2026-10-25T02:30:00+02:00"),
        ("0 30 2 * * *", at(2026, 10, 25, 0, 30), "2026-10-25T02:30:00+01:00"),
        ("0 0 0 * * *", at(2026, 7, 1), "2026-07-02T00:00:00+02:00"),
        ("0 0 0 1 * *", at(2026, 7, 1), "2026-08-01T00:00:00+02:00"),
    ],
)
def test_days_and_hours_are_those_of_the_clocks_of_the_zone(
    pattern: str, start: datetime, then: str
) -> None:
    assert following(pattern, start, BERLIN) == then


def test_a_midnight_that_is_missing_holds_nobody_up() -> None:
    # In Santiago clocks go from 24:00 to 01:00, in Havana too, and on Lord Howe by half an hour.
    santiago, lord_howe = ZoneInfo("America/Santiago"), ZoneInfo("Australia/Lord_Howe")

    assert following("0 0 0 * * *", at(2026, 9, 5, 12), santiago) == "2026-09-07T00:00:00-03:00"
    assert following("0 0 1 6 9 *", at(2026, 9, 1), santiago) == "2026-09-06T01:00:00-03:00"
    assert following("0 15 2 * * *", at(2026, 10, 3, 12), lord_howe) == "2026-10-05T02:15:00+11:00"
    # The jump to the day after lands an hour early, on the day itself.
    assert following("0 0 0 7 9 *", at(2026, 9, 5), santiago) == "2026-09-07T00:00:00-03:00"


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "* * * * *",
        "* * * * * * *",
        "60 * * * * *",
        "* 60 * * * *",
        "* * 24 * * *",
        "* * * 0 * *",
        "* * * 32 * *",
        "* * * * 13 *",
        "* * * * * 7",
        "x * * * * *",
        "-5 * * * * *",
        "5-1 * * * * *",
        "1-2-3 * * * * *",
        "1/2/3 * * * * *",
        "*/0 * * * * *",
        "*/x * * * * *",
        "5-x * * * * *",
        ", * * * * *",
        "\u0665 * * * * *",
        "9999999999 * * * * *",
        "@never",
    ],
)
def test_what_the_server_refuses_is_refused_with_its_number(pattern: str) -> None:
    with pytest.raises(InvalidConfig, match="10189"):
        Cron.parse(pattern)


def fields(least: int, most: int):
    numbers = st.integers(least, most)
    spans = st.tuples(numbers, numbers).map(lambda pair: f"{min(pair)}-{max(pair)}")
    plain = st.one_of(st.just("*"), numbers.map(str), spans)
    stepped = st.tuples(plain, st.integers(1, 20)).map(lambda pair: f"{pair[0]}/{pair[1]}")
    return st.lists(st.one_of(plain, stepped), min_size=1, max_size=3).map(",".join)


def matching(values: str, value: int, most: int) -> bool:
    for part in values.split(","):
        span, _, step = part.partition("/")
        low, _, high = span.partition("-")
        start = 0 if low == "*" else int(low)
        end = most if low == "*" or (step and not high) else int(high or low)
        if start <= value <= end and (value - start) % int(step or 1) == 0:
            return True
    return False


@settings(max_examples=40)
@given(fields(0, 59), fields(0, 59), fields(0, 23), st.integers(0, 2**31))
@example("*", "59", "2", 1793494800 - 60)
def test_a_match_within_a_day_is_the_first_second_whose_fields_match(
    second, minute, hour, start
) -> None:
    found = Cron.parse(f"{second} {minute} {hour} * * *").following(start, BERLIN)

    moment = start + 1
    while True:
        local = datetime.fromtimestamp(moment, BERLIN)
        if not matching(hour, local.hour, 23):
            moment += 3600 - local.minute * 60 - local.second
        elif not matching(minute, local.minute, 59):
            moment += 60 - local.second
        elif not matching(second, local.second, 59):
            moment += 1
        else:
            break
    assert found == moment


@settings(max_examples=60)
@given(
    st.text(max_size=30)
    | st.lists(st.text("*?/-,0123456789aejnsu+", max_size=6), min_size=6, max_size=6).map(" ".join)
    | st.lists(
        st.sampled_from(["*", "?", "1", "2-5", "*/2", "1,6", "3/1"]), min_size=6, max_size=6
    ).map(" ".join)
    | st.sampled_from(sorted(WORDS))
)
@example("0 0 0 30 2 *")
def test_any_text_is_a_pattern_or_refused(text: str) -> None:
    try:
        pattern = Cron.parse(text)
    except InvalidConfig:
        return
    found = pattern.following(0, timezone(timedelta(hours=5, minutes=30)))

    assert found is None or 0 < found < 6 * 366 * 86400
