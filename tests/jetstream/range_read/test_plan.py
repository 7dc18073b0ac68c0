"""A range in parts: side by side, of about equal width, and only what was there."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.errors import InvalidConfig
from jsproto.jetstream.api.config.stream import StreamInfo
from jsproto.jetstream.api.errors import RequestContext
from jsproto.jetstream.api.timestamps import Timestamp
from jsproto.jetstream.range_read.options import ReadMode
from jsproto.jetstream.range_read.plan import RangeFacts, RangePart, RangePlan, plan_of, split


def facts(first=1, last=100, messages=None, **config) -> RangeFacts:
    state = {
        "first_seq": first,
        "last_seq": last,
        "messages": last - first + 1 if messages is None else messages,
        "bytes": 7,
    }
    said = {"config": {"name": "S", **config}, "created": "2026-01-01T00:00:00Z", "state": state}
    return RangeFacts.of(StreamInfo.from_wire(said, RequestContext()))


def test_what_the_leader_said():
    seen = facts(
        3, 9, retention="interest", num_replicas=3, allow_direct=True, max_msgs_per_subject=1
    )

    assert seen == RangeFacts(
        stream="S",
        created=Timestamp.parse("2026-01-01T00:00:00Z"),
        first_seq=3,
        last_seq=9,
        messages=7,
        bytes=7,
        retention="interest",
        replicas=3,
        allow_direct=True,
        mirror=False,
        compacts=True,
    )


def test_what_it_did_not_say_is_what_the_server_takes():
    seen = facts(mirror={"name": "O"}, mirror_direct=True)

    assert (seen.retention, seen.replicas, seen.allow_direct, seen.mirror, seen.compacts) == (
        "limits",
        1,
        False,  # a mirror answers direct gets for its origin, not for itself
        True,
        False,
    )


@pytest.mark.parametrize(("first", "last"), [(0, 0), (101, 100), (0, 100)])
def test_an_empty_stream_begins_behind_its_end(first, last):
    seen = facts(first, last, messages=0)
    plan = plan_of(seen, partitions=4)

    assert seen.first_seq == last + 1
    assert plan.parts == ()
    assert (plan.lo, plan.hi) == (last + 1, last + 1)


@pytest.mark.parametrize(
    ("wishes", "parts"),
    [
        ({}, [(1, 101)]),
        ({"partitions": 3}, [(1, 34), (34, 67), (67, 101)]),
        ({"lo": 40, "hi": 50, "partitions": 2}, [(40, 45), (45, 50)]),
        ({"lo": 99, "partitions": 5}, [(99, 100), (100, 101)]),
        ({"hi": 10**9}, [(1, 101)]),
        ({"lo": 101}, []),
        ({"lo": 50, "hi": 50}, []),
        ({"lo": 60, "hi": 50}, []),
        ({"max_messages": 40}, [(1, 34), (34, 67), (67, 101)]),
        ({"max_messages": 40, "partitions": 4}, [(1, 26), (26, 51), (51, 76), (76, 101)]),
    ],
)
def test_what_is_planned(wishes, parts):
    plan = plan_of(facts(), **wishes)

    assert [(part.lo, part.hi) for part in plan.parts] == parts


def test_what_was_removed_is_in_no_part():
    plan = plan_of(facts(40, 100), lo=1, partitions=2)

    assert plan.parts == (RangePart(40, 70), RangePart(70, 101))
    assert (plan.lo, plan.hi) == (40, 101)
    assert [len(part) for part in plan.parts] == [30, 31]


@pytest.mark.parametrize(
    "wishes",
    [
        {"lo": 0},
        {"hi": 0},
        {"partitions": 0},
        {"max_messages": -1},
        {"lo": True},
        {"partitions": 1.5},
    ],
)
def test_numbers_that_are_none(wishes):
    with pytest.raises(InvalidConfig):
        plan_of(facts(), **wishes)


@pytest.mark.parametrize(
    ("config", "wished", "way"),
    [
        ({}, ReadMode.AUTO, ReadMode.CONSUMER),
        ({"retention": "interest"}, ReadMode.AUTO, ReadMode.CONSUMER),
        ({"retention": "workqueue", "allow_direct": True}, ReadMode.AUTO, ReadMode.DIRECT),
        ({"allow_direct": True}, ReadMode.AUTO, ReadMode.CONSUMER),
        ({"allow_direct": True}, ReadMode.DIRECT, ReadMode.DIRECT),
        ({"allow_direct": True}, ReadMode.CONSUMER, ReadMode.CONSUMER),
    ],
)
def test_how_it_is_read(config, wished, way):
    assert plan_of(facts(**config), way=wished).way is way


@pytest.mark.parametrize(
    ("config", "wished", "expected"),
    [
        ({"retention": "workqueue"}, ReadMode.AUTO, "allow_direct"),
        ({"retention": "workqueue", "allow_direct": True}, ReadMode.CONSUMER, "10084"),
        ({}, ReadMode.DIRECT, "allow_direct"),
        ({"mirror": {"name": "O"}, "mirror_direct": True}, ReadMode.DIRECT, "allow_direct"),
    ],
)
def test_a_way_that_the_stream_does_not_allow(config, wished, expected):
    with pytest.raises(InvalidConfig, match=expected):
        plan_of(facts(**config), way=wished)


def test_a_plan_travels():
    plan = plan_of(facts(), partitions=3)

    assert pickle.loads(pickle.dumps(plan)) == plan
    assert isinstance(plan, RangePlan)


@given(st.integers(1, 10**6), st.integers(0, 10**4), st.integers(1, 200))
def test_parts_lie_side_by_side_and_differ_by_one_at_most(lo, width, count):
    parts = split(lo, lo + width, count)
    sizes = [len(part) for part in parts]

    assert sum(sizes) == width
    assert len(parts) == min(count, width)
    assert not sizes or max(sizes) - min(sizes) <= 1
    assert [part.lo for part in parts[1:]] == [part.hi for part in parts[:-1]]
    assert not parts or (parts[0].lo, parts[-1].hi) == (lo, lo + width)
