import pytest
from hypothesis import given, settings

from jsproto.testing import strategies
from jsproto.testing.simserver.subjects import (
    Interest,
    SubjectMapping,
    covers,
    is_literal,
    is_valid,
    matches,
    overlap,
)


class Sub:
    def __init__(self, subject, queue=""):
        self.subject = subject
        self.queue = queue


@pytest.mark.parametrize(
    ("pattern", "subject", "expected"),
    [
        ("a.b", "a.b", True),
        ("a.*", "a.b", True),
        ("a.*", "a.b.c", False),
        ("a.>", "a.b.c", True),
        ("a.>", "a", False),
        (">", "a", True),
        ("*.b", "a.c", False),
        ("a", "b", False),
    ],
)
def test_matching(pattern, subject, expected):
    assert matches(pattern, subject) is expected


@pytest.mark.parametrize(
    ("wide", "narrow", "expected"),
    [
        (">", "a.*", True),
        ("a.>", "a.>", True),
        ("a.*", "a.b", True),
        ("a.*", "a.>", False),
        ("a.b", "a.*", False),
        ("a.b.c", "a.b", False),
        ("a", "a.b", False),
        ("a.>", "a", False),
    ],
)
def test_covering(wide, narrow, expected):
    assert covers(wide, narrow) is expected


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
def test_overlapping(one, other, expected):
    assert overlap(one, other) is expected
    assert overlap(other, one) is expected


@settings(max_examples=100, deadline=None)
@given(strategies.patterns(), strategies.patterns(), strategies.subjects())
def test_the_three_relations_agree(one, other, subject):
    assert covers(one, one)
    if covers(one, other):
        assert overlap(one, other)
        assert not matches(other, subject) or matches(one, subject)
    if matches(one, subject) and matches(other, subject):
        assert overlap(one, other)


def test_what_a_subject_may_be():
    assert is_literal("a.*b") is True
    assert is_literal("a.*") is False
    assert is_valid("a.>") is True
    assert is_valid("a..b") is False
    assert is_valid("a.>.b") is False
    assert is_valid("a b") is False


def test_interest_follows_who_comes_and_goes():
    interest = Interest()
    literal, wild, one, two = Sub("a.b"), Sub("a.*"), Sub("a.b", "q"), Sub("a.>", "q")
    for sub in (literal, wild, one, two):
        interest.add(sub)

    assert interest.match("a.b") == ((literal, wild), ((one, two),))
    assert interest.match("a.b") == ((literal, wild), ((one, two),))
    for sub in (literal, wild, one, two, wild):
        interest.remove(sub)
    assert interest.wants("a.b") is False


def test_interest_keeps_literal_neighbours_apart_and_forgets_in_time():
    interest = Interest()
    one, two = Sub("a"), Sub("a")
    interest.add(one)
    interest.add(two)
    interest.remove(one)
    for number in range(5000):
        interest.wants(f"x.{number}")

    assert interest.match("a") == ((two,), ())


@pytest.mark.parametrize(
    ("source", "dest", "subject", "moved"),
    [
        ("s.>", "r.>", "s.a.b", "r.a.b"),
        ("", "r.>", "s.a", "r.s.a"),
        ("s.*.*", "*.*", "s.a.b", "a.b"),
        ("s.*.*", "$2.$1", "s.a.b", "b.a"),
        ("s.*", "x.{{wildcard(1)}}", "s.a", "x.a"),
        ("s.*", "x.{{ Wildcard( 1 ) }}", "s.a", "x.a"),
        ("s.*", "fixed", "s.a", "fixed"),
        ("s.*", "x", "t.a", ""),
    ],
)
def test_subjects_are_mapped(source, dest, subject, moved):
    assert SubjectMapping(source, dest).apply(subject) == moved
