import math

from hypothesis import given
from hypothesis import strategies as st

from jsproto.testing import Chance
from jsproto.testing.network.pipe import End, Pipe, Road

ROADS = st.builds(
    lambda latency, jitter, longest, tick: Road(
        latency=latency, jitter=jitter, longest=longest, tick=tick
    ),
    st.sampled_from([0.0, 0.01, 1.0]),
    st.sampled_from([0.0, 0.02, 1.0]),
    st.sampled_from([0, 1, 7]),
    st.sampled_from([0.0, 0.1]),
)


def drained(pipe):
    """All reads until nothing is in flight, with their moments."""
    reads = []
    while (due := pipe.due) < math.inf:
        reads += [(due, each) for each in pipe.arrived(due)]
    return reads


@given(ROADS, st.lists(st.binary(min_size=1, max_size=40), max_size=8), st.integers(0, 99))
def test_bytes_come_whole_once_and_in_order_and_never_before_their_time(road, writes, seed):
    pipe = Pipe(road, Chance(seed))
    for at, data in enumerate(writes):
        pipe.push(data, at / 10)
    size = pipe.size
    reads = drained(pipe)

    assert size == sum(map(len, writes))
    assert b"".join(each for _, each in reads) == b"".join(writes)
    assert [at for at, _ in reads] == sorted(at for at, _ in reads)
    assert all(at >= road.latency for at, _ in reads)
    assert not road.longest or all(len(each) <= road.longest for _, each in reads)
    assert pipe.size == 0


def test_what_came_together_is_one_read_and_waits_for_the_tick():
    pipe = Pipe(Road(tick=0.5, latency=0.1), Chance(1))
    pipe.push(b"one", 0.0)
    pipe.push(b"two", 0.2)

    assert pipe.arrived(0.49) == []
    assert pipe.arrived(0.5) == [b"onetwo"]


def test_the_end_comes_behind_everything_and_nothing_behind_it():
    pipe, error = Pipe(Road(), Chance(1)), ConnectionResetError()
    pipe.push(b"last", 0.0)
    pipe.push(b" words", 0.0)
    pipe.finish(error, 0.0)
    pipe.push(b"too late", 0.0)
    pipe.finish(None, 0.0)

    assert pipe.arrived(1.0) == [b"last words", End(error)]
    assert (pipe.due, pipe.size) == (math.inf, 0)


def test_an_end_alone_is_an_end():
    pipe = Pipe(Road(), Chance(1))
    pipe.finish(None, 0.0)

    assert pipe.arrived(1.0) == [End(None)]


@given(st.integers(0, 12), st.integers(0, 5))
def test_a_cut_keeps_so_many_bytes_and_then_ends(keep, longest):
    pipe = Pipe(Road(longest=longest), Chance(3))
    for data in (b"abcd", b"efgh"):
        pipe.push(data, 0.0)
    pipe.cut(keep, None, 0.0)
    reads = [each for _, each in drained(pipe)]

    assert b"".join(reads[:-1]) == b"abcdefgh"[:keep]
    assert reads[-1] == End(None)


def test_a_cut_replaces_an_end_that_was_on_its_way():
    pipe, error = Pipe(Road(), Chance(1)), ConnectionResetError()
    pipe.push(b"abc", 0.0)
    pipe.finish(None, 0.0)
    pipe.cut(99, error, 0.0)

    assert pipe.arrived(1.0) == [b"abc", End(error)]


def test_what_is_held_comes_all_at_once_afterwards():
    pipe = Pipe(Road(), Chance(1))
    pipe.push(b"a", 0.0)
    pipe.hold(5.0)
    pipe.push(b"b", 1.0)

    assert (pipe.due, pipe.arrived(4.9)) == (5.0, [])
    assert pipe.arrived(5.0) == [b"ab"]
