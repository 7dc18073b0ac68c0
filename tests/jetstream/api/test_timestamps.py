"""Nanoseconds are exact both ways; what is no time is refused and Go's zero time is none."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.errors import InvalidConfig, InvalidResponse
from jsproto.jetstream.api.config.consumer import ConsumerInfo
from jsproto.jetstream.api.config.stream import StreamInfo
from jsproto.jetstream.api.timestamps import INT64_MAX, INT64_MIN, Duration, Timestamp, nanoseconds

INT64 = st.integers(INT64_MIN, INT64_MAX)


@given(INT64)
def test_every_duration_of_the_wire_comes_back_as_the_same_nanoseconds(ns: int) -> None:
    duration = Duration.from_ns(ns)

    assert duration.ns == ns
    assert nanoseconds(duration) == ns
    assert pickle.loads(pickle.dumps(duration)).ns == ns
    assert copy.copy(duration).ns == ns


@given(st.timedeltas(timedelta(days=-100_000), timedelta(days=100_000)))
def test_a_duration_of_whole_microseconds_is_the_timedelta_of_that_length(plain: timedelta) -> None:
    duration = Duration.from_ns(nanoseconds(plain))

    assert duration == plain
    assert plain == duration
    assert hash(duration) == hash(plain)
    assert duration.total_seconds() == pytest.approx(plain.total_seconds())


@given(INT64, INT64)
def test_durations_are_ordered_by_their_nanoseconds(left: int, right: int) -> None:
    one, other = Duration.from_ns(left), Duration.from_ns(right)

    assert (one < other, one <= other, one > other, one >= other, one == other) == (
        left < right,
        left <= right,
        left > right,
        left >= right,
        left == right,
    )


def test_a_nanosecond_more_makes_another_duration_with_another_hash() -> None:
    second, more = Duration(seconds=1), Duration.from_ns(1_000_000_001)

    assert second.ns == 1_000_000_000
    assert more != second
    assert more != "1s"
    assert len({second, more, Duration.from_ns(1_000_000_001)}) == 2
    assert more.total_seconds() == 1.000000001
    assert repr(more) == "Duration.from_ns(1000000001)"
    assert more + timedelta(seconds=1) == timedelta(seconds=2)


@pytest.mark.parametrize(
    ("text", "moment", "ns_below"),
    [
        ("2024-01-02T03:04:05Z", datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC), 0),
        ("2024-01-02T03:04:05.1Z", datetime(2024, 1, 2, 3, 4, 5, 100_000, tzinfo=UTC), 0),
        ("2024-01-02T03:04:05.123456789Z", datetime(2024, 1, 2, 3, 4, 5, 123_456, tzinfo=UTC), 789),
        ("2024-01-02T03:04:05.123+02:00", datetime(2024, 1, 2, 1, 4, 5, 123_000, tzinfo=UTC), 0),
        ("2024-01-02t03:04:05.5-00:30", datetime(2024, 1, 2, 3, 34, 5, 500_000, tzinfo=UTC), 0),
        (
            "1969-12-31T23:59:59.999999999z",
            datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
            999,
        ),
        (
            "9999-12-31T23:59:59.999999999Z",
            datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
            999,
        ),
        ("0002-01-01T00:00:00.000000001Z", datetime(2, 1, 1, tzinfo=UTC), 1),
    ],
)
def test_b197_any_fraction_and_offset_is_the_exact_instant(
    text: str, moment: datetime, ns_below: int
) -> None:
    read = Timestamp.parse(text)

    assert read is not None
    assert read.datetime == moment
    assert read.ns - Timestamp.of(moment).ns == ns_below


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00Z", "0001-01-01T02:00:00.000+02:00"])
def test_b197_the_zero_time_is_none(text: str) -> None:
    assert Timestamp.parse(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00+00:00",
        "0001-01-01T00:00:00-07:00",
        "0001-01-01T00:00:00+05:30",
        "0001-01-01T05:00:00Z",
        "0001-12-31T23:59:59.999999999Z",
        "0000-12-31T18:30:00Z",
        "0000-01-01T00:00:00Z",
    ],
)
@pytest.mark.parametrize(
    ("kind", "members"),
    [
        (StreamInfo, lambda text: {"config": {"name": "S"}, "created": text, "ts": text}),
        (
            StreamInfo,
            lambda text: {"config": {"name": "S"}, "state": {"first_ts": text, "last_ts": text}},
        ),
        (
            ConsumerInfo,
            lambda text: {"stream_name": "S", "name": "C", "delivered": {"last_active": text}},
        ),
        (
            ConsumerInfo,
            lambda text: {"stream_name": "S", "name": "C", "config": {"pause_until": text}},
        ),
    ],
)
def test_any_time_of_the_year_1_or_before_it_is_not_set_n115(kind, members, text: str) -> None:
    assert Timestamp.parse(text) is None
    assert kind.from_wire(members(text)) == kind.from_wire(members(None))


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2026-02-04T10:00:00Z", "2026-02-04T10:00:00.0Z"),
        ("2026-02-04T10:00:00.5-05:00", "2026-02-04T15:00:00.5Z"),
        ("2026-02-04t10:00:00z", "2026-02-04T10:00:00Z"),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"),
        ("2016-12-31T23:59:60.75Z", "2017-01-01T00:00:00Z"),
        ("2017-01-01T05:29:60+05:30", "2017-01-01T00:00:00Z"),
        ("2026-02-04T10:00:00.1234567891Z", "2026-02-04T10:00:00.123456789Z"),
        ("2026-02-04T10:00:00,5Z", "2026-02-04T10:00:00.5Z"),
    ],
)
def test_every_form_of_rfc_3339_is_read_n116(text: str, same: str) -> None:
    read = Timestamp.parse(text)

    assert read is not None
    assert read == Timestamp.parse(same)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2024-01-02",
        "2024-01-02 03:04:05Z",
        "2024-01-02T03:04:05",
        "2024-01-02T03:04:05.Z",
        "2024-13-02T03:04:05Z",
        "2024-02-30T03:04:05Z",
        "2024-01-02T24:04:05Z",
        "2024-01-02T03:04:61Z",
        "0000-13-01T00:00:00Z",
        "9999-12-31T23:59:59-02:00",
        "\uff12024-01-02T03:04:05Z",
        "2024-01-02T03:04:05Z\n",
    ],
)
def test_what_is_no_rfc_3339_time_is_refused(text: str) -> None:
    with pytest.raises(InvalidResponse, match="expected"):
        Timestamp.parse(text)


@given(st.integers(-62_104_060_800_000_000_000, 253_402_300_799_999_999_999))
def test_every_instant_is_written_in_the_servers_form_and_read_back(ns: int) -> None:
    text = str(Timestamp(ns))

    assert Timestamp.parse(text) == Timestamp(ns)
    assert not text.rstrip("Z").endswith(("0", ".")) or "." not in text


def test_trailing_zeros_of_the_fraction_are_cut_as_the_server_does() -> None:
    assert str(Timestamp(73_762_864_740)) == "1970-01-01T00:01:13.76286474Z"
    assert str(Timestamp(60_000_000_000)) == "1970-01-01T00:01:00Z"


def test_an_instant_is_made_of_an_aware_datetime_in_any_zone() -> None:
    there = datetime(2024, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))

    assert Timestamp.of(there) == Timestamp.of(datetime(2024, 1, 1, tzinfo=UTC))
    assert Timestamp.of(Timestamp(5)) == Timestamp(5)
    assert Timestamp(4) < Timestamp(5)


def test_a_datetime_without_a_zone_is_no_instant() -> None:
    with pytest.raises(InvalidConfig, match="time zone"):
        Timestamp.of(datetime(2024, 1, 1))  # noqa: DTZ001 - that is the case


@pytest.mark.parametrize("moment", [timedelta(minutes=1), 7, "now", None])
def test_what_is_no_instant_is_refused(moment):
    with pytest.raises(InvalidConfig, match="expected a datetime or a Timestamp"):
        Timestamp.of(moment)


@pytest.mark.parametrize("ns", [-62_104_060_800_000_000_001, 253_402_300_800_000_000_000])
def test_an_instant_outside_of_the_years_2_to_9999_cannot_be_made(ns: int) -> None:
    with pytest.raises(InvalidConfig, match="years 2 to 9999"):
        Timestamp(ns)
