"""What a range can be, and what is refused before anything is sent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from jsproto.errors import InvalidConfig, InvalidSubject
from jsproto.jetstream.api.timestamps import Timestamp
from jsproto.jetstream.ordered.resume_point import StartPoint
from jsproto.jetstream.range_read.options import RangeOptions, ReadMode


def options(lo=1, hi=10, **more):
    return RangeOptions(lo=lo, hi=hi, **more)


def test_its_consumers_acknowledge_nothing_and_are_forgotten_soon():
    config = options(subjects=["s.a"]).shared

    assert config.to_wire() == {
        "filter_subject": "s.a",
        "ack_policy": "none",
        "max_deliver": 1,
        "mem_storage": True,
        "inactive_threshold": int(timedelta(seconds=60).total_seconds() * 1e9),
    }


def test_replicas_are_left_to_the_server_which_knows_what_the_stream_demands():
    assert "num_replicas" not in options().shared.to_wire()


def test_several_subjects_are_several_filters():
    assert options(subjects=("s.a", "s.b.>")).shared.to_wire()["filter_subjects"] == [
        "s.a",
        "s.b.>",
    ]
    assert "filter_subjects" not in options().shared.to_wire()


def test_its_first_consumer_starts_at_the_first_sequence():
    assert options(lo=7).start == StartPoint("by_start_sequence", 7)


def test_a_pull_is_bounded_by_messages_and_bytes():
    pulls = options(max_messages=7, max_bytes=1000).pulls

    assert (pulls.max_messages, pulls.within_bytes) == (7, 1000)


def test_payloads_are_left_out_only_if_that_is_asked():
    assert "headers_only" not in options().shared.to_wire()
    assert options(headers_only=True).shared.to_wire()["headers_only"] is True


def test_an_empty_range_is_one():
    assert options(5, 5).hi == 5


def test_a_moment_is_exact():
    moment = datetime(2026, 1, 1, tzinfo=UTC)

    assert options(created=moment).created == Timestamp.of(moment)
    assert options(created=Timestamp(17)).created == Timestamp(17)


@pytest.mark.parametrize(
    "wrong",
    [
        {"lo": 0},
        {"lo": 10, "hi": 9},
        {"hi": 2**64},
        {"subjects": "s.a"},
        {"max_messages": 0},
        {"max_bytes": 0},
        {"patience": 0.0},
        {"patience": float("nan")},
        {"create_timeout": -1.0},
        {"created": datetime(2026, 1, 1)},  # noqa: DTZ001 - that is what is wrong with it
    ],
)
def test_what_cannot_work(wrong):
    with pytest.raises(InvalidConfig):
        options(**wrong)


@pytest.mark.parametrize(
    "wrong", [{"subjects": ["s a"]}, {"subjects": [""]}, {"name_prefix": "a.b"}]
)
def test_names_that_are_none(wrong):
    with pytest.raises(InvalidSubject):
        options(**wrong)


def test_the_ways():
    assert [way.name for way in ReadMode] == ["AUTO", "CONSUMER", "DIRECT"]
