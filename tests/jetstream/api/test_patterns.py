"""Patterns as sets of subjects, held against a slow answer that tries all subjects of a small world."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings

from jsproto.jetstream.api.patterns import any_pair_collides, collide, literal, valid, within
from jsproto.testing import strategies
from jsproto.wire.subjects import subject_matches

WORLD = [".".join(words) for size in (1, 2, 3, 4) for words in product("ab", repeat=size)]
PATTERNS = [".".join(words) for size in (1, 2, 3) for words in product("ab*", repeat=size)]
PATTERNS += [f"{each}.>" for each in PATTERNS if each.count(".") < 2] + [">"]


def test_collisions_and_inclusions_are_those_of_the_sets_of_subjects() -> None:
    sets = {each: {subject for subject in WORLD if subject_matches(each, subject)} for each in PATTERNS}
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
