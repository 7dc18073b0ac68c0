"""One filter for several, and which servers need it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.jetstream.api.config.consumer import ConsumerInfo
from jsproto.jetstream.api.errors import RequestContext
from jsproto.jetstream.api.patterns import within
from jsproto.jetstream.ordered.several_filters import cover, passes_over, wanted

WORDS = st.sampled_from(["a", "b", "*"])
SUBJECTS = st.builds(
    lambda words, end: ".".join([*words, *end]),
    st.lists(WORDS, min_size=1, max_size=3),
    st.sampled_from([[], [">"]]),
)


@pytest.mark.parametrize(
    ("subjects", "covered"),
    [
        (["a.b"], "a.b"),
        (["a.b", "a.c"], "a.*"),
        (["a.b", "c.b"], "*.b"),
        (["a.b", "a.b.c"], "a.>"),
        (["a.b.c", "a.b"], "a.>"),
        (["a", "b.c"], ">"),
        (["a.>", "a"], ">"),
        (["a.>", "a.b.c"], "a.>"),
        (["a.x.1", "a.y.2", "a.>"], "a.>"),
        (["a.*.c", "a.b.c"], "a.*.c"),
    ],
)
def test_a_cover_is_as_narrow_as_can_be(subjects, covered):
    assert cover(subjects) == covered


@given(st.lists(SUBJECTS, min_size=1, max_size=4))
def test_a_cover_covers_each(subjects):
    covered = cover(subjects)

    assert all(within(each, covered) for each in subjects)


@pytest.mark.parametrize(
    ("version", "passes"),
    [
        ("2.14.6", True),
        ("2.9.10", True),
        ("", True),
        ("odd", True),
        ("2.15.0", False),
        ("3.0", False),
    ],
)
def test_a_version_says_whether_a_server_passes_over_messages(version, passes):
    metadata = {"_nats.ver": version} if version else {}
    members = {"stream_name": "S", "name": "C", "config": {"metadata": metadata}}

    assert passes_over(ConsumerInfo.from_wire(members, RequestContext())) is passes


def test_what_is_wanted_is_told_from_the_rest_in_order():
    frames = [("1", subject, "", None, b"") for subject in ("a.b", "a.c", "a.d", "b.b")]

    ours, others = wanted(frames, ["a.b", "b.*"])
    assert [frame[1] for frame in ours] == ["a.b", "b.b"]
    assert [frame[1] for frame in others] == ["a.c", "a.d"]
