"""The order of one incarnation: a run that is as expected is judged by its ends alone, any other
one by one.
"""

from __future__ import annotations

import pytest

from jsproto.jetstream.gaps import Gap
from jsproto.jetstream.ordered.sequence_check import SequenceCheck


def frame(consumer_sequence: int, stream_sequence: int, consumer: str = "C"):
    reply = f"$JS.ACK.S.{consumer}.1.{stream_sequence}.{consumer_sequence}.1795811553265218855.0"
    return ("2", "s.a", reply, None, b"x")


STRANGE = ("2", "s.a", "$JS.ACK.S", None, b"x")


@pytest.fixture
def order():
    fresh = SequenceCheck()
    fresh.restart("C")
    return fresh


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_a_run_that_is_as_expected_is_handed_on_as_it_is(order, count):
    run = [frame(number, 10 + 2 * number) for number in range(1, count + 1)]
    found = order.judge(run, 11)

    assert found.fresh is run
    assert (found.repeated, found.strays, found.gap) == ([], 0, None)
    assert (found.last.consumer_sequence, found.last.stream_sequence) == (count, 10 + 2 * count)
    assert order.guard.expected == count + 1


def test_what_was_seen_is_repeated_and_what_lies_behind_it_is_fresh(order):
    run = [frame(1, 5), frame(2, 6), frame(3, 7)]
    found = order.judge(run, 6)

    assert (found.fresh, found.repeated, found.strays, found.gap) == ([run[2]], run[:2], 0, None)
    assert found.last.stream_sequence == 7


def test_a_single_message_that_was_seen_is_repeated(order):
    run = [frame(1, 5)]

    found = order.judge(run, 5)

    assert (found.fresh, found.repeated, found.strays, found.gap) == ([], run, 0, None)
    assert found.last.stream_sequence == 5
    assert order.guard.expected == 2


@pytest.mark.parametrize(
    ("run", "fresh"),
    [
        ([frame(1, 1, "OLD"), frame(1, 1), frame(2, 2)], 2),
        ([frame(1, 1), frame(2, 2), frame(9, 9, "OLD")], 2),
        ([frame(1, 1, "OLD"), frame(2, 2, "OLD")], 0),
        ([STRANGE, frame(1, 1)], 1),
        ([frame(1, 1), STRANGE], 1),
        ([STRANGE], 0),
    ],
)
def test_what_is_of_another_incarnation_or_of_none_is_a_stray(order, run, fresh):
    found = order.judge(run, 0)

    assert (len(found.fresh), found.strays, found.gap) == (fresh, len(run) - fresh, None)
    assert found.repeated == []
    assert (found.last is None) == (fresh == 0)
    assert order.guard.expected == fresh + 1


def test_what_lies_before_a_gap_is_fresh_and_what_lies_behind_is_nobodys(order):
    run = [frame(1, 1), frame(2, 2), frame(4, 4), frame(5, 5)]
    found = order.judge(run, 0)

    assert (found.fresh, found.repeated, found.strays, found.gap) == (run[:2], [], 2, Gap(3, 4))
    assert found.last.consumer_sequence == 2


def test_a_gap_behind_what_was_seen_counts_all_of_it(order):
    run = [frame(1, 1), frame(2, 2), frame(4, 4)]
    found = order.judge(run, 1)

    assert (found.fresh, found.repeated, found.strays, found.gap) == (
        [run[1]],
        [run[0]],
        1,
        Gap(3, 4),
    )


def test_the_first_message_must_be_number_one_and_after_a_restart_again(order):
    found = order.judge([frame(2, 2)], 0)
    assert (found.fresh, found.gap, found.last) == ([], Gap(1, 2), None)

    order.restart("D")
    run = [frame(1, 2, "D")]
    assert order.judge(run, 0).fresh is run
