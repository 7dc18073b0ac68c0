from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.jetstream.gaps import Gap, GapDetector, sequence_of


def named(text: str) -> int | None:
    return sequence_of(
        b"NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: %s\r\n\r\n" % text.encode(),
        b"Nats-Last-Consumer",
    )


@pytest.mark.parametrize(
    "number", [0, 7, 9_999_999_999_999_999_999, 10_000_000_000_000_000_000, 2**64 - 1]
)
def test_a_status_names_a_sequence_as_large_as_a_uint64(number):
    assert named(str(number)) == number


@pytest.mark.parametrize(
    "text", ["", "many", "-1", "+1", "1 2", "\u0663", "\u00b2", str(2**64), "0" * 21, "9" * 30]
)
def test_what_is_no_uint64_in_decimal_digits_is_no_sequence(text):
    assert named(text) is None


def test_a_sequence_that_is_not_named_is_none():
    assert (
        sequence_of(
            b"NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Stream: 7\r\n\r\n", b"Nats-Last-Consumer"
        )
        is None
    )


def test_the_first_delivery_seen_sets_the_number():
    guard = GapDetector()

    assert guard.run(41, 43, 3) is None
    assert guard.run(44, 44, 1) is None
    assert guard.expected == 45


def test_a_guard_that_starts_at_one_sees_a_missing_first_delivery():
    guard = GapDetector(1)

    assert guard.run(2, 2, 1) == Gap(1, 2)
    assert guard.run(3, 3, 1) is None


def test_where_nothing_is_known_a_heartbeat_says_what_comes_next():
    guard = GapDetector()

    assert guard.heartbeat(7) is None
    assert guard.expected == 8
    assert guard.run(8, 8, 1) is None


def test_a_hole_inside_a_run_is_seen():
    guard = GapDetector(1)
    gap = guard.run(1, 5, 4)

    assert gap is not None
    assert gap.missing == 1


def test_a_heartbeat_that_names_a_later_delivery_is_a_gap_once():
    guard = GapDetector(1)
    guard.run(1, 3, 3)

    assert guard.heartbeat(3) is None
    assert guard.heartbeat(5) == Gap(4, 6)
    assert guard.heartbeat(5) is None


def test_a_heartbeat_can_be_the_first_that_is_known():
    guard = GapDetector()

    assert guard.heartbeat(7) is None
    assert guard.run(8, 8, 1) is None
    assert guard.heartbeat(8) is None


def test_a_heartbeat_that_names_the_very_next_delivery_is_a_gap_of_one_and_the_guard_goes_on_behind_it():
    for named in (4, 6):
        guard = GapDetector(4)
        gap = guard.heartbeat(named)

        assert gap == Gap(4, named + 1)
        assert gap.missing == named - 3
        assert guard.run(named + 1, named + 2, 2) is None


def test_what_a_heartbeat_said_first_is_what_comes_next():
    guard = GapDetector()
    guard.heartbeat(7)

    assert guard.run(10, 10, 1) == Gap(8, 10)


def test_a_guard_that_was_restarted_knows_what_it_was_told_or_nothing():
    guard = GapDetector(1)
    guard.restart()
    assert guard.expected == 0
    assert guard.run(9, 9, 1) is None
    guard.restart(20)
    assert guard.run(22, 22, 1) == Gap(20, 22)


def test_numbering_that_begins_anew_is_a_negative_gap_unless_it_was_restarted():
    guard = GapDetector(1)
    guard.run(1, 9, 9)
    gap = guard.run(1, 1, 1)

    assert gap is not None
    assert gap.missing == -9
    guard.restart(1)
    assert guard.run(1, 2, 2) is None


@given(st.lists(st.integers(1, 5), min_size=1, max_size=20), st.integers(1, 10**6))
def test_runs_without_holes_are_no_gap_however_they_are_cut(counts, first):
    guard = GapDetector()
    for count in counts:
        assert guard.run(first, first + count - 1, count) is None
        first += count


@given(st.sets(st.integers(1, 40), min_size=1), st.integers(1, 40))
def test_what_is_missing_is_found_whatever_the_runs(numbers, length):
    guard = GapDetector(1)
    numbers = sorted(numbers)
    missing = 0
    for at in range(0, len(numbers), length):
        run = numbers[at : at + length]
        before = guard.expected
        gap = guard.run(run[0], run[-1], len(run))
        if gap is not None:
            missing += 1
        assert (gap is None) == (run == list(range(before, before + len(run))))


@given(st.integers(0, 100))
def test_a_snapshot_put_back_is_the_same_guard(expected):
    other = GapDetector()
    other.restore(GapDetector(expected).snapshot())

    assert other.expected == expected
