from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from jsproto.testing import Chance


def draws(chance, count=50):
    return [chance.below(1000) for _ in range(count)]


def test_the_same_seed_draws_the_same():
    assert draws(Chance(7)) == draws(Chance(7))
    assert draws(Chance(7)) != draws(Chance(8))


def test_a_fork_follows_from_seed_and_name_and_not_from_what_was_drawn():
    fresh, used = Chance(7), Chance(7)
    draws(used)

    assert draws(fresh.fork("a")) == draws(used.fork("a"))
    assert draws(fresh.fork("a")) != draws(fresh.fork("b"))
    assert draws(fresh.fork("a")) != draws(Chance(8).fork("a"))


@given(st.integers(0, 2**32), st.floats(-1e6, 1e6), st.floats(0, 1e6))
def test_numbers_lie_between_their_bounds(seed, low, width):
    chance = Chance(seed)

    assert 0 <= chance.fraction() < 1
    assert low <= chance.between(low, low + width) <= low + width
    assert chance.choice("abc") in "abc"
    assert len(chance.entropy(12)) == 12


def test_often_is_as_often_as_it_says():
    chance = Chance(1)
    seen = Counter(chance.often(0.25) for _ in range(4000))

    assert 900 < seen[True] < 1100
    assert not any(chance.often(0.0) for _ in range(100))
    assert all(chance.often(1.0) for _ in range(100))
