"""A schedule says when and where, and says beforehand when it will fire."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest

from jsproto.errors import InvalidConfig, InvalidResponse, InvalidSubject
from jsproto.jetstream.api.publishing.options import PublishOptions
from jsproto.jetstream.api.publishing.schedule import Schedule, ttl_text
from jsproto.jetstream.api.timestamps import Duration, Timestamp
from jsproto.wire.headers import Headers

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


def first(schedule: Schedule, amount: int, start: datetime = NOON, zone=None) -> list[str]:
    return [each.isoformat() for each in islice(schedule.runs(start, zone=zone), amount)]


def test_a_schedule_travels_as_headers_and_is_read_from_them_again() -> None:
    schedule = Schedule.cron(
        "0 30 7 * * mon-fri",
        "orders.due",
        time_zone="Europe/Berlin",
        source="orders.last",
        ttl=timedelta(minutes=5),
        rollup=True,
    )

    assert schedule.items() == [
        ("Nats-Schedule", "0 30 7 * * mon-fri"),
        ("Nats-Schedule-Target", "orders.due"),
        ("Nats-Schedule-Source", "orders.last"),
        ("Nats-Schedule-TTL", "300"),
        ("Nats-Schedule-Rollup", "sub"),
        ("Nats-Schedule-Time-Zone", "Europe/Berlin"),
    ]
    assert Schedule.read(Headers(schedule.items())) == schedule


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule.at(NOON, "s.out"),
        Schedule.at(Timestamp(1_500_000_001), "s.out", ttl="never"),
        Schedule.every(timedelta(seconds=90), "s.out", ttl=timedelta(seconds=2)),
        Schedule.cron("@daily", "s.out"),
    ],
    ids=lambda schedule: schedule.pattern,
)
def test_what_is_written_is_read(schedule: Schedule) -> None:
    assert Schedule.read(Headers(schedule.items())) == schedule


def test_a_message_that_is_no_schedule_reads_as_none() -> None:
    assert Schedule.read(Headers({"Nats-Scheduler": "s.a"})) is None


@pytest.mark.parametrize(
    "headers",
    [
        {"Nats-Schedule": "@at noon", "Nats-Schedule-Target": "s.b"},
        {"Nats-Schedule": "@daily"},
        {"Nats-Schedule": "@daily", "Nats-Schedule-Target": "s.b", "Nats-Schedule-TTL": "soon"},
        {"Nats-Schedule": "@daily", "Nats-Schedule-Target": "s.b", "Nats-Schedule-TTL": "9" * 30},
    ],
)
def test_headers_that_no_server_stores_are_an_invalid_response(headers: dict[str, str]) -> None:
    with pytest.raises(InvalidResponse, match="expected the headers of a schedule"):
        Schedule.read(Headers(headers))


def test_a_time_to_live_that_somebody_else_wrote_is_read_in_all_of_its_forms() -> None:
    def ttl(text: str):
        schedule = Schedule.read(
            Headers(
                {
                    "Nats-Schedule": "@daily",
                    "Nats-Schedule-Target": "s.b",
                    "Nats-Schedule-TTL": text,
                }
            )
        )
        assert schedule is not None
        return schedule.ttl

    assert (ttl("60"), ttl("60.9s"), ttl("1m"), ttl("NEVER"), ttl("")) == (
        timedelta(minutes=1),
        timedelta(minutes=1),
        timedelta(minutes=1),
        "never",
        None,
    )


@pytest.mark.parametrize(
    ("make", "number"),
    [
        (lambda: Schedule.at(datetime(2026, 1, 1), "s.b"), "time zone"),  # noqa: DTZ001 - that is the point
        (lambda: Schedule.at("tomorrow", "s.b"), "datetime"),
        (lambda: Schedule.every(timedelta(milliseconds=999), "s.b"), "10189"),
        (lambda: Schedule.every(timedelta(seconds=-5), "s.b"), "10189"),
        (lambda: Schedule.every(5, "s.b"), "timedelta"),
        (lambda: Schedule.cron("* * * * *", "s.b"), "10189"),
        (lambda: Schedule.cron("@every 1h", "s.b"), "10189"),
        (lambda: Schedule(pattern="@every soon", target="s.b"), "10189"),
        (lambda: Schedule(pattern="@at 2026-01-01", target="s.b"), "10189"),
        (lambda: Schedule(pattern="@at 2026-01-01t00:00:00z", target="s.b"), "10189"),
        (lambda: Schedule(pattern="@at NOON", target="s.b"), "10189"),
        (lambda: Schedule(pattern="@at 0001-01-01T00:00:00Z", target="s.b"), "10189"),
        (lambda: Schedule(pattern="@AT 2026-01-01T00:00:00Z", target="s.b"), "10189"),
        (lambda: Schedule(pattern=5, target="s.b"), "text"),
        (lambda: Schedule(pattern="@daily", target="s.b", source="s.b"), "10203"),
        (lambda: Schedule(pattern="@daily", target="s.b", ttl=timedelta(milliseconds=5)), "10191"),
        (lambda: Schedule(pattern="@daily", target="s.b", ttl="forever"), "10191"),
        (lambda: Schedule(pattern="@every 1h", target="s.b", time_zone="UTC"), "10189"),
        (lambda: Schedule(pattern="@daily", target="s.b", time_zone=""), "10223"),
    ],
)
def test_what_the_server_would_refuse_is_refused_here(make, number: str) -> None:
    with pytest.raises(InvalidConfig, match=number):
        make()


@pytest.mark.parametrize(
    "names", [{"target": "s.*"}, {"target": "s.b", "source": "s b"}, {"target": ""}]
)
def test_target_and_source_are_literal_subjects(names: dict[str, str]) -> None:
    with pytest.raises(InvalidSubject):
        Schedule(pattern="@daily", **names)


def test_once_is_one_moment_even_if_it_is_past() -> None:
    past = Schedule.at(NOON - timedelta(days=1), "s.b")

    assert not past.repeats
    assert first(past, 5) == ["2026-05-31T12:00:00+00:00"]


def test_an_interval_counts_from_the_rounded_second_as_the_server_does() -> None:
    # Seen on 2.15.1: stored at .284, it fired at 57.5, 59.5 and so on.
    schedule = Schedule.every(timedelta(milliseconds=1500), "s.b")
    start = datetime(2026, 11, 28, 6, 21, 56, 284299, tzinfo=UTC)

    assert schedule.repeats
    assert first(schedule, 3, start) == [
        "2026-11-28T06:21:57.500000+00:00",
        "2026-11-28T06:21:59.500000+00:00",
        "2026-11-28T06:22:01.500000+00:00",
    ]
    assert first(Schedule.every(timedelta(hours=1), "s.b"), 1, start + timedelta(seconds=0.3)) == [
        "2026-11-28T07:21:57+00:00"
    ]


def test_a_cron_pattern_means_utc_unless_it_has_a_zone_whose_rules_are_given() -> None:
    plain = Schedule.cron("0 0 8 * * *", "s.b")
    zoned = Schedule.cron("0 0 8 * * *", "s.b", time_zone="Europe/Berlin")
    berlin = ZoneInfo("Europe/Berlin")

    assert first(plain, 2) == ["2026-06-02T08:00:00+00:00", "2026-06-03T08:00:00+00:00"]
    assert first(plain, 1, zone=berlin) == ["2026-06-02T10:00:00+02:00"]
    assert first(zoned, 2, zone=berlin) == [
        "2026-06-02T08:00:00+02:00",
        "2026-06-03T08:00:00+02:00",
    ]
    with pytest.raises(InvalidConfig, match="rules of time zone 'Europe/Berlin'"):
        zoned.runs(NOON)
    with pytest.raises(InvalidConfig, match="time zone"):
        plain.runs(datetime(2026, 1, 1))  # noqa: DTZ001 - that is the point


def test_a_schedule_that_fires_no_more_ends() -> None:
    leap = Schedule.cron("0 0 0 29 2 *", "s.b")

    assert first(leap, 5, datetime(2091, 1, 1, tzinfo=UTC)) == [
        "2092-02-29T00:00:00+00:00",
        "2096-02-29T00:00:00+00:00",
    ]
    assert first(
        Schedule.every(timedelta(days=300), "s.b"), 5, datetime(9999, 1, 1, tzinfo=UTC)
    ) == ["9999-10-28T00:00:00+00:00"]


@pytest.mark.parametrize(
    ("ttl", "text"),
    [
        (timedelta(seconds=1), "1"),
        (Duration.from_ns(2_000_000_000), "2"),
        (timedelta(days=1), "86400"),
        ("never", "never"),
    ],
)
def test_a_time_to_live_is_whole_seconds_or_never(ttl, text: str) -> None:
    assert ttl_text(ttl, "ttl", 10165) == text


@pytest.mark.parametrize(
    "ttl",
    [timedelta(seconds=2.9), timedelta(seconds=1, microseconds=1), Duration.from_ns(1_000_000_001)],
)
def test_parts_of_a_second_are_refused_because_the_server_forgets_them(ttl) -> None:
    with pytest.raises(InvalidConfig, match=r"expected whole seconds as ttl, .* would use [12] s"):
        PublishOptions(ttl=ttl)
    with pytest.raises(InvalidConfig, match="expected whole seconds as ttl of a schedule"):
        Schedule.cron("@daily", "s.b", ttl=ttl)
