"""Patterns as sets of subjects, held against a slow answer that tries all subjects of a small
world.
"""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jsproto.jetstream.api.patterns import (
    any_pair_collides,
    any_within_another,
    collide,
    literal,
    valid,
    within,
)
from jsproto.testing import strategies
from jsproto.wire.subjects import subject_matches
from tests.lines_run import lines_run

WORLD = [".".join(words) for size in (1, 2, 3, 4) for words in product("ab", repeat=size)]
PATTERNS = [".".join(words) for size in (1, 2, 3) for words in product("ab*", repeat=size)]
PATTERNS += [f"{each}.>" for each in PATTERNS if each.count(".") < 2] + [">"]


def test_collisions_and_inclusions_are_those_of_the_sets_of_subjects() -> None:
    sets = {
        each: {subject for subject in WORLD if subject_matches(each, subject)} for each in PATTERNS
    }
    for one, other in product(PATTERNS, repeat=2):
        assert collide(one, other) == bool(sets[one] & sets[other]), (one, other)
        if literal(one) or within(one, other):
            assert within(one, other) == (sets[one] <= sets[other]), (one, other)


@pytest.mark.parametrize(
    ("inner", "outer", "expected"),
    [
        ("a.*", ">", True),
        ("a.>", "a.>", True),
        ("a.b", "a.*", True),
        ("a.>", "a.*", False),
        ("a.*", "a.b", False),
        ("a.b", "a.b.c", False),
        ("a.b", "a", False),
        ("a", "a.>", False),
    ],
)
def test_one_pattern_within_another(inner: str, outer: str, expected: bool) -> None:
    assert within(inner, outer) is expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("a.*", "*.b", True),
        ("a.>", "a.b.c", True),
        ("a.b", "a.c", False),
        ("a", "a.b", False),
        ("a", ">", True),
    ],
)
def test_two_patterns_that_collide(one: str, other: str, expected: bool) -> None:
    assert collide(one, other) is expected
    assert collide(other, one) is expected


@settings(max_examples=100, deadline=None)
@given(strategies.patterns(), strategies.patterns(), strategies.subjects())
def test_the_three_relations_agree(one: str, other: str, subject: str) -> None:
    assert within(one, one)
    if within(other, one):
        assert collide(one, other)
        assert not subject_matches(other, subject) or subject_matches(one, subject)
    if subject_matches(one, subject) and subject_matches(other, subject):
        assert collide(one, other)


def test_a_list_of_patterns_may_hold_one_twice_and_still_not_collide() -> None:
    assert not any_pair_collides(["a", "a"])
    assert any_pair_collides(["a.*", "b", "a.b"])


@pytest.mark.parametrize("subject", ["", ".", "a.", ".a", "a..b", "a b", ">.a", "a\tb"])
def test_what_the_server_would_not_subscribe_to_is_not_valid(subject: str) -> None:
    assert not valid(subject)


@pytest.mark.parametrize("subject", ["a", "a.b", "*", ">", "a.*.>", "a*b", "a>"])
def test_what_the_server_subscribes_to_is_valid(subject: str) -> None:
    assert valid(subject)
    assert literal("a*b.c>")
    assert not literal("a.*")


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PATTERNS), max_size=6))
def test_many_patterns_at_once_are_judged_as_pair_by_pair(patterns: list[str]) -> None:
    places = list(enumerate(patterns))

    assert any_pair_collides(patterns) == any(
        collide(one, other) for one, other in product(patterns, repeat=2) if one != other
    )
    assert any_within_another(patterns) == any(
        within(one, other) for (at, one), (place, other) in product(places, repeat=2) if at != place
    )


@pytest.mark.parametrize("judge", [any_pair_collides, any_within_another])
@pytest.mark.parametrize(
    "pattern",
    [
        lambda n: f"orders.{n}.new",
        lambda n: f"{n}.*.new",
        lambda n: f"*.{n}",
        lambda n: f"a.*.{n}.>",
    ],
)
def test_the_work_for_many_patterns_grows_with_their_number_alone(judge, pattern) -> None:
    def work(size: int) -> int:
        patterns, found = [pattern(n) for n in range(size)], []
        lines = lines_run(lambda: found.append(judge(patterns)))
        assert found == [False]
        return lines

    assert work(1600) < 5 * work(400)


def test_a_pattern_of_many_tokens_is_no_deep_recursion() -> None:
    long = ".".join(["a"] * 5000)

    assert any_pair_collides([f"{long}.*", f"{long}.b"])
    assert not any_within_another([f"{long}.a", f"{long}.b"])
