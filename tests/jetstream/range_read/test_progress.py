"""How far a reader is, what is missing, and what of it is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jsproto.jetstream.range_read.progress import LostRange, RangeProgress


def came(track, *sequences):
    track.received(sequences[0], sequences[-1], len(sequences), sequences)
    return track


def test_a_range_without_a_hole():
    track = came(came(RangeProgress(3, 8), 3, 4), 5, 6, 7)

    assert (track.last, track.gap, track.complete, track.left) == (7, 0, True, 0)


def test_the_first_hole_is_kept():
    assert came(RangeProgress(1, 20), 1, 2, 4, 5, 7).gap == 3
    assert came(came(RangeProgress(1, 20), 1, 2), 5, 8).gap == 3
    assert came(came(RangeProgress(1, 20), 1, 4), 9).gap == 2
    assert came(RangeProgress(5, 20), 6).gap == 5


def test_numbers_that_do_not_rise_are_looked_at():
    assert came(RangeProgress(1, 20), 1, 5, 2, 3).gap == 2
    assert came(RangeProgress(1, 20), 1, 2, 3, 3).gap == 4


def test_a_hole_that_the_beginning_has_not_reached_is_none():
    track = came(RangeProgress(1, 20), 1, 2, 5, 6)
    track.asked()

    assert track.judge(3, resting=False) is None
    assert (track.gap, track.losses) == (0, [])


def test_a_hole_that_the_beginning_has_passed_is_a_loss():
    track = came(RangeProgress(1, 20), 1, 2, 5, 6)
    track.asked()

    assert track.judge(5, resting=False) == LostRange(3, 5)
    assert track.losses == [LostRange(3, 5)]
    assert track.last == 6


def test_what_the_beginning_passes_after_it_was_read_does_no_harm():
    track = came(RangeProgress(1, 20), 1, 2, 3)
    track.asked()

    assert track.judge(19, resting=False) is None


def test_what_has_not_come_until_now_and_is_gone_is_lost_if_nothing_is_on_its_way():
    track = came(RangeProgress(1, 20), 1, 2, 3)
    track.asked()

    assert track.judge(9, resting=True) == LostRange(4, 9)
    assert track.next == 9


def test_a_loss_ends_with_the_range():
    track = RangeProgress(5, 20)
    track.asked()

    assert track.judge(1000, resting=True) == LostRange(5, 20)
    assert track.complete
    assert track.judge(1001, resting=True) is None


def test_a_hole_that_is_seen_after_the_question_is_not_settled_by_its_answer():
    track = came(RangeProgress(1, 20), 1, 3)
    track.asked()
    came(track, 5)

    assert track.judge(1, resting=False) is None
    assert track.gap == 4
    track.asked()
    assert track.judge(5, resting=False) == LostRange(4, 5)


def test_an_answer_that_does_not_come_settles_nothing():
    track = came(RangeProgress(1, 20), 1, 3)
    track.asked()
    track.unasked()

    assert track.gap == 2

    track.asked()
    came(track, 9)
    track.unasked()

    assert track.gap == 2

    track = came(RangeProgress(1, 20), 1, 3)
    track.unasked()
    assert track.gap == 2


def test_asking_again_before_the_answer_means_the_first_hole():
    track = came(RangeProgress(1, 20), 1, 3)
    track.asked()
    came(track, 9)
    track.asked()

    assert track.judge(3, resting=False) == LostRange(2, 3)


def test_a_message_behind_the_range_ends_it():
    track = came(RangeProgress(1, 20), 1, 2)
    track.passed()

    assert (track.complete, track.gap, track.last) == (True, 3, 19)

    track = came(RangeProgress(1, 3), 1, 2)
    track.passed()

    assert track.gap == 0

    track = came(RangeProgress(1, 20), 1, 4)
    track.passed()

    assert track.gap == 2


def test_an_empty_range_is_complete():
    assert RangeProgress(4, 4).complete
    assert RangeProgress(4, 4).left == 0


@given(st.sets(st.integers(1, 40)), st.integers(1, 45), st.lists(st.integers(1, 10), max_size=6))
def test_a_loss_is_seen_exactly_if_the_beginning_has_passed_a_hole(there, first_seq, cuts):
    track = RangeProgress(1, 41)
    rest = sorted(there)
    for cut in cuts:
        run, rest = rest[:cut], rest[cut:]
        if run:
            came(track, *run)
    read = [each for each in there if each not in rest]
    holes = [each for each in range(1, max(read, default=0)) if each not in read]
    track.asked()

    lost = track.judge(first_seq, resting=False)

    assert (lost is not None) == any(hole < first_seq for hole in holes)
    assert lost is None or lost == (min(holes), min(first_seq, 41))


@given(st.sets(st.integers(1, 30), min_size=1), st.booleans())
def test_a_snapshot_brings_it_back(there, asked):
    track = came(RangeProgress(1, 41), *sorted(there))
    if asked:
        track.asked()
    other = RangeProgress(1, 41)
    other.restore(track.snapshot())

    assert other.snapshot() == track.snapshot()
    assert other.judge(30, resting=True) == track.judge(30, resting=True)
    assert other.losses == track.losses
