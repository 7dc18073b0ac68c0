"""A core subscription alone: limits, policies, ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.core.connection.events import NoticeKind
from jsproto.core.conversation.conversation import Port, StopMode
from jsproto.core.pubsub.subscription import Overflow, SlowConsumer, Subscription
from jsproto.errors import (
    ConnectionClosed,
    ConnectionLost,
    InvalidConfig,
    InvalidSubject,
    PermissionViolation,
)
from jsproto.signals import ENDED, NEED_DATA
from jsproto.wire.commands import Ping, Sub, Unsub


def frame(payload=b"x", block=None):
    return ("2", "a", "", block, payload)


def opened(**options):
    sub = Subscription("a", **options)
    sub.port = Port()
    sub.opened(0.0)
    return sub


def payloads(sub):
    taken = sub.take_all(0.0)
    return [] if taken in (NEED_DATA, ENDED) else [message.payload for message in taken]


@pytest.mark.parametrize("options", [{"limit": -1}, {"max_messages": 0}, {"max_bytes": 0}])
def test_limits_that_cannot_work_are_refused(options):
    with pytest.raises(InvalidConfig):
        Subscription("a", **options)


@pytest.mark.parametrize("subject", ["", "a b", "a..b", "a\r\nPUB x 0", "a.>.b"])
def test_bad_subjects_are_refused(subject):
    with pytest.raises(InvalidSubject):
        Subscription(subject)


@pytest.mark.parametrize("queue", ["q 1", "q\r\nPUB x 0", "q\t", "\x00"])
def test_bad_queue_names_are_refused(queue):
    with pytest.raises(InvalidSubject):
        Subscription("a", queue=queue)


@pytest.mark.parametrize(
    ("policy", "kept", "dropped"),
    [(Overflow.DROP_NEWEST, [b"1", b"2"], 2), (Overflow.DROP_OLDEST, [b"3", b"4"], 2)],
)
def test_what_does_not_fit_goes_by_policy_and_is_counted_and_told_once(policy, kept, dropped):
    sub = opened(max_messages=2, policy=policy)
    sub.delivered([frame(b"1"), frame(b"2"), frame(b"3")], 0.0)
    sub.delivered([frame(b"4")], 0.0)

    assert dropped == sub.dropped
    assert [(NoticeKind.SLOW_CONSUMER, 1)] == sub.port.notices
    assert kept == payloads(sub)

    sub.delivered([frame(b"5"), frame(b"6"), frame(b"7")], 0.0)

    assert 2 == len(sub.port.notices)


def test_bytes_count_headers_and_payload():
    sub = opened(max_bytes=10)
    sub.delivered([frame(b"1234", b"NATS/1"), frame(b"5")], 0.0)

    assert 1 == sub.dropped
    assert b"1234" == sub.take(0.0).payload

    sub.delivered([frame(bytes(10))], 0.0)

    assert 1 == sub.readable


def test_a_message_larger_than_the_buffer_empties_nothing_for_ever():
    sub = opened(max_bytes=10, policy=Overflow.DROP_OLDEST)
    sub.delivered([frame(b"1"), frame(bytes(11)), frame(b"2")], 0.0)

    assert 2 == sub.dropped
    assert [b"2"] == payloads(sub)


def test_failing_ends_and_still_serves_the_buffer():
    sub = opened(max_messages=1, policy=Overflow.FAIL)
    sub.delivered([frame(b"1"), frame(b"2")], 0.0)
    sub.delivered([frame(b"3")], 0.0)

    assert [b"1"] == payloads(sub)
    with pytest.raises(SlowConsumer, match="1 messages"):
        sub.take(0.0)
    assert Unsub("2") == sub.port.commands[-1]


def test_what_comes_behind_an_end_that_was_wished_is_no_loss():
    sub = opened(limit=3)
    sub.delivered([frame(b"1")], 0.0)

    assert not sub.ended

    sub.closed(None, 0.0)
    sub.delivered([frame(b"2")], 0.0)

    assert (0, [b"1"]) == (sub.dropped, payloads(sub))


def test_a_limit_ends_by_itself():
    sub = opened(limit=2)
    sub.port.received = 2
    sub.delivered([frame(b"1"), frame(b"2")], 0.0)

    assert [Sub("a", "2"), Unsub("2", 2)] == sub.port.commands
    assert [b"1", b"2"] == payloads(sub)
    assert ENDED is sub.take_all(0.0)


@pytest.mark.parametrize("count", [-1, 0, 4])
def test_a_limit_can_be_lowered_and_no_more(count):
    sub = opened(limit=3)
    with pytest.raises(InvalidConfig, match=f"<= 3, the current limit; got {count}"):
        sub.limited(count, 0.0)

    sub.limited(3, 0.0)
    sub.limited(2, 0.0)

    assert [Sub("a", "2"), Unsub("2", 3), Unsub("2", 3), Unsub("2", 2)] == sub.port.commands

    with pytest.raises(InvalidConfig, match="got 0"):
        opened().limited(0, 0.0)


def test_what_has_come_is_handed_out_and_what_was_on_its_way_is_not():
    sub = opened()
    sub.delivered([frame(b"1"), frame(b"2")], 0.0)
    sub.limited(3, 0.0)
    sub.delivered([frame(b"3"), frame(b"4"), frame(b"5")], 0.0)

    assert [b"1", b"2", b"3"] == payloads(sub)
    assert (True, 0) == (sub.ended, sub.dropped)

    late = opened()
    late.delivered([frame(b"1"), frame(b"2")], 0.0)
    late.limited(1, 0.0)

    assert Unsub("2") == late.port.commands[-1]
    assert [b"1", b"2"] == payloads(late)
    assert late.ended


def test_what_ends_already_is_not_limited():
    ended, draining = opened(), opened()
    ended.closed(None, 0.0)
    draining.told(StopMode.DRAIN, 0.0)
    for sub in (ended, draining):
        before = list(sub.port.commands)
        sub.limited(7, 0.0)

        assert before == sub.port.commands


def test_draining_hands_out_what_was_routed_before_the_fence_B211():
    sub = opened()
    sub.told(StopMode.DRAIN, 0.0)
    sub.told(StopMode.DRAIN, 0.0)

    assert [Sub("a", "2"), Unsub("2"), Ping()] == sub.port.commands

    sub.delivered([frame(b"1")], 0.0)
    sub.fenced(99, 0.0)

    assert not sub.ended

    sub.fenced(1, 0.0)
    sub.told(StopMode.DRAIN, 0.0)

    assert [b"1"] == payloads(sub)
    assert ENDED is sub.take(0.0)


def test_draining_ends_with_the_link_or_without_one():
    sub = opened()
    sub.link_down(ConnectionLost("x"), 0.0)

    assert not sub.ended

    sub.told(StopMode.DRAIN, 0.0)
    sub.link_down(ConnectionLost("x"), 0.0)

    assert sub.ended

    other = opened()
    other.port.up = False
    other.told(StopMode.DRAIN, 0.0)

    assert other.ended


def test_only_its_own_refusal_ends_it():
    sub = opened()
    sub.refused("a", PermissionViolation("no", "a", "publish"), 0.0)
    sub.refused("b", PermissionViolation("no", "b", "subscription"), 0.0)

    assert NEED_DATA is sub.take_all(0.0)

    for _ in range(2):
        sub.refused("a", PermissionViolation("no", "a", "subscription"), 0.0)

    with pytest.raises(PermissionViolation):
        sub.take_all(0.0)


def test_closing_from_within_is_harmless_B217():
    sub = opened()
    sub.delivered([frame(b"1"), frame(b"2")], 0.0)
    sub.take(0.0)
    sub.closed(None, 0.0)
    sub.closed(ConnectionClosed("x"), 0.0)

    assert [b"2"] == payloads(sub)
    assert ENDED is sub.take(0.0)
    assert 1 == sub.port.commands.count(Unsub("2"))


@given(
    st.lists(st.integers(1, 5) | st.just("take") | st.just("all"), max_size=30),
    st.integers(1, 6),
    st.sampled_from(Overflow),
)
def test_every_message_is_taken_waiting_or_counted_as_dropped(script, most, policy):
    sub, twin = opened(max_messages=most, policy=policy), opened(max_messages=most, policy=policy)
    came = taken = 0
    for step in script:
        fresh = Subscription("a", max_messages=most, policy=policy)
        fresh.port = Port()
        fresh.restore(twin.snapshot())
        twin = fresh
        for each in (sub, twin):
            if isinstance(step, int):
                each.delivered([frame(b"%d" % number) for number in range(came, came + step)], 0.0)
        if isinstance(step, int):
            came += step
        elif sub.ended and not sub.readable:
            pass  # nothing but the error is left
        elif step == "take":
            one, other = sub.take(0.0), twin.take(0.0)
            assert (one is NEED_DATA) is (other is NEED_DATA)
            taken += one is not NEED_DATA
        else:
            got = payloads(sub)
            assert got == payloads(twin)
            taken += len(got)

        assert came == taken + sub.readable + sub.dropped
        assert sub.readable <= most
        assert (sub.readable, sub.dropped) == (twin.readable, twin.dropped)
