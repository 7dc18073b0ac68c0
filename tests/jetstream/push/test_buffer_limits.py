"""The bounds of a push feed without flow control."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.core.pubsub.frame_queue import FrameQueue
from jsproto.core.pubsub.subscription import Overflow
from jsproto.errors import InvalidConfig
from jsproto.jetstream.push.buffer_limits import BufferLimits, size_of


def frames(*sizes: int, block: bytes | None = None):
    return [("2", "s.a", "", block, b"x" * size) for size in sizes]


def sizes(backlog: FrameQueue) -> list[int]:
    return [len(frame[4]) for frame in backlog.frames()]


@pytest.mark.parametrize("bounds", [(0, 1), (1, 0), (True, 1), (1.5, 1)])
def test_a_bound_below_one_is_refused(bounds):
    with pytest.raises(InvalidConfig, match="expected max_"):
        BufferLimits(*bounds, Overflow.DROP_NEWEST)


def test_headers_count_as_payload_does():
    assert [size_of(frame) for frame in frames(3, block=b"NATS/1.0\r\n\r\n")] == [15]


def test_what_fits_is_taken_whole():
    bounds, backlog = BufferLimits(3, 100, Overflow.DROP_NEWEST), FrameQueue()

    assert bounds.admit(frames(1, 2, 3), backlog) == 0
    assert sizes(backlog) == [1, 2, 3]


def test_the_newest_give_way_by_count_and_by_size():
    by_count, one = BufferLimits(2, 100, Overflow.DROP_NEWEST), FrameQueue()
    by_size, other = BufferLimits(9, 10, Overflow.DROP_NEWEST), FrameQueue()

    assert (by_count.admit(frames(1, 2, 3), one), sizes(one)) == (1, [1, 2])
    assert (by_size.admit(frames(6, 6, 4), other), sizes(other)) == (1, [6, 4])


def test_the_oldest_give_way_by_count_and_by_size():
    by_count, one = BufferLimits(2, 100, Overflow.DROP_OLDEST), FrameQueue()
    by_size, other = BufferLimits(9, 10, Overflow.DROP_OLDEST), FrameQueue()

    assert (by_count.admit(frames(1, 2, 3), one), sizes(one)) == (1, [2, 3])
    assert (by_size.admit(frames(6, 6), other), sizes(other)) == (1, [6])


def test_a_message_above_the_whole_bound_gives_way_under_either_policy():
    backlog = FrameQueue()

    assert BufferLimits(9, 10, Overflow.DROP_OLDEST).admit(frames(11), backlog) == 1
    assert BufferLimits(9, 10, Overflow.DROP_NEWEST).admit(frames(11), backlog) == 1
    assert backlog.count == 0


def test_where_nothing_may_give_way_what_fits_is_kept_and_the_rest_is_told():
    bounds, backlog = BufferLimits(2, 100, Overflow.FAIL), FrameQueue()

    assert bounds.admit(frames(1, 2, 3), backlog) is None
    assert sizes(backlog) == [1, 2]


@given(
    st.sampled_from([Overflow.DROP_NEWEST, Overflow.DROP_OLDEST]),
    st.lists(
        st.tuples(st.lists(st.integers(0, 9), min_size=1, max_size=6), st.integers(0, 6)),
        max_size=20,
    ),
)
def test_never_more_than_the_bounds_and_nothing_unaccounted(policy, steps):
    bounds, backlog = BufferLimits(7, 30, policy), FrameQueue()
    came = took = dropped = 0
    for run, take in steps:
        dropped += bounds.admit(frames(*run), backlog)
        came += len(run)
        for _ in range(take):
            took += backlog.pop() is not None
        twin = BufferLimits(7, 30, policy)
        twin.restore(bounds.snapshot())

        assert backlog.count <= 7
        assert sum(sizes(backlog)) <= 30
        assert came == took + dropped + backlog.count
        bounds = twin
    assert len(bounds._runs) <= 8
