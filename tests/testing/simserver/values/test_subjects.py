import pytest

from jsproto.testing.simserver.values.subjects import (
    InterestTable,
    SubjectMapping,
    matches,
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


def test_interest_follows_who_comes_and_goes():
    interest = InterestTable()
    literal, wild, one, two = Sub("a.b"), Sub("a.*"), Sub("a.b", "q"), Sub("a.>", "q")
    for sub in (literal, wild, one, two):
        interest.add(sub)

    assert interest.match("a.b") == ((literal, wild), ((one, two),))
    assert interest.match("a.b") == ((literal, wild), ((one, two),))
    for sub in (literal, wild, one, two, wild):
        interest.remove(sub)
    assert interest.wants("a.b") is False


def test_interest_keeps_literal_neighbours_apart_and_forgets_in_time():
    interest = InterestTable()
    one, two = Sub("a"), Sub("a")
    interest.add(one)
    interest.add(two)
    interest.remove(one)
    for number in range(5000):
        interest.wants(f"x.{number}")

    assert interest.match("a") == ((two,), ())


@pytest.mark.parametrize(
    "patterns",
    [
        ("a.*", "a.b.*", "a.b"),
        ("a.*", "a.*.c", "a.b.*"),
        ("*.b", "a.>", "a.*"),
        (">", "a.*", "a", "a.b.c"),
    ],
)
def test_what_is_remembered_of_one_subject_is_true_of_its_neighbours(patterns):
    subjects = ["", "a", "b", "a.b", "a.c", ".b", "a.", "a.b.c", "a.b.d", "b.b", "a.c.c", "a.b.c.d"]
    interest = InterestTable()
    for step, pattern in enumerate(patterns, start=1):
        interest.add(Sub(pattern))
        for subject in subjects * 2:
            wanted = {each for each in patterns[:step] if matches(each, subject)}
            assert {each.subject for each in interest.match(subject)[0]} == wanted


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
