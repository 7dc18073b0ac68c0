"""Fetch on real servers: how each mode ends, by whose word, and that nothing is left behind."""

from __future__ import annotations

from time import monotonic

import pytest

from jsproto.errors import RequestTimeout
from jsproto.jetstream.errors import NextMessageTooLarge
from jsproto.jetstream.pull.fetch import FetchMode
from jsproto.jetstream.pull.fetch_options import AT_ONCE
from jsproto.jetstream.status import EndReason

pytestmark = pytest.mark.live


def fetched(feed, within, seconds=5.0, ack=True):
    """All of it, acknowledged, and how it ended."""
    with within(seconds), feed:
        taken = list(feed)
    for message in taken:
        if ack:
            message.ack()
    return len(taken), feed.feed.reason


def test_a_fetch_that_is_filled(work, nc, within):
    orders = work()
    orders.publish(5)

    assert fetched(orders.consumer.fetch(5), within) == (5, EndReason.FILLED)


def test_a_fetch_that_waits_ends_with_its_expiry_and_with_what_came(work, nc, within):
    orders = work()
    orders.publish(3)
    began = monotonic()

    assert fetched(orders.consumer.fetch(5, expires=0.4, timeout=4.0), within) == (
        3,
        EndReason.EXPIRED,
    )
    assert 0.4 <= monotonic() - began < 4.0  # the server's word came before the local deadline


def test_a_fetch_that_does_not_wait(work, nc, within, since):
    orders = work()
    assert fetched(orders.consumer.fetch(5, mode=FetchMode.NO_WAIT), within) == (
        0,
        EndReason.NO_MESSAGES,
    )
    orders.publish(3)
    # Until 2.10 the rest of a batch is a 408 with numbers, from 2.11 on a 404 without.
    reason = EndReason.NO_MESSAGES if since(2, 11) else EndReason.EXPIRED
    assert fetched(orders.consumer.fetch(5, mode=FetchMode.NO_WAIT), within) == (3, reason)


def test_a_fetch_that_drains_then_waits_gives_the_first_that_comes(work, nc, within):
    orders = work()
    fetch = orders.consumer.fetch(5, mode=FetchMode.DRAIN_THEN_WAIT, expires=4.5)
    with within(5.0), fetch:
        nc.flush()
        began = monotonic()
        orders.publish(1)
        taken = list(fetch)

    assert len(taken) == 1
    assert monotonic() - began < 4.0
    assert fetch.feed.reason in {EndReason.NO_MESSAGES, EndReason.EXPIRED}


def test_a_fetch_that_drains_then_waits_does_not_wait_if_something_is_there(work, nc, within):
    orders = work()
    orders.publish(2)
    began = monotonic()
    got, _ = fetched(orders.consumer.fetch(5, mode=FetchMode.DRAIN_THEN_WAIT, expires=4.5), within)

    assert got == 2
    assert monotonic() - began < 4.0


def test_who_does_not_wait_comes_behind_who_waits(work, nc, other, within):
    orders = work()
    with other.jetstream().stream(orders.name).consumer("C").fetch(10, expires=5.0) as first:
        other.flush()
        late = orders.consumer.fetch(5, mode=FetchMode.NO_WAIT)
        count, reason = fetched(late, within)
        orders.publish(2)
        with within(3.0):
            assert [next(first).metadata.stream_sequence for _ in range(2)] == [1, 2]

    assert count == 0
    assert reason in {EndReason.NO_MESSAGES, EndReason.REQUESTS_PENDING}


def test_bytes_are_counted_as_the_server_counts_them(work, nc, within, since):
    orders = work()
    orders.publish(4, b"y" * 100)
    with within(3.0), orders.consumer.fetch(1) as one:
        size = next(one).size

    exact = orders.consumer.fetch(max_bytes=2 * size, expires=2.0)
    assert fetched(exact, within, ack=False) == (2, EndReason.BYTES_SPENT)
    orders.publish(2, b"y" * 100)
    one_and_a_half = orders.consumer.fetch(max_bytes=size + size // 2, expires=2.0)
    assert fetched(one_and_a_half, within) == (1, EndReason.BYTES_SPENT)
    both = orders.consumer.fetch(1, max_bytes=5 * size, expires=2.0)
    assert fetched(both, within) == (1, EndReason.FILLED)
    nc.flush()
    assert both.feed.strays == 1 if since(2, 10) else both.feed.strays == 0  # 409 Batch Completed


def test_one_message_that_is_larger_than_the_budget_is_an_error(work, nc, within):
    orders = work()
    orders.publish(1, b"y" * 1000)
    fetch = orders.consumer.fetch(max_bytes=500, expires=2.0)
    with within(3.0), fetch, pytest.raises(NextMessageTooLarge):
        next(fetch)

    assert fetch.feed.reason is EndReason.TOO_LARGE


def test_what_an_abandoned_fetch_had_is_there_again_at_once(work, nc, within):
    orders = work()
    orders.publish(5)
    with within(3.0), orders.consumer.fetch(5) as fetch:
        next(fetch).ack()
    with within(3.0), orders.consumer.fetch(4) as again:
        seen = [(each.metadata.stream_sequence, each.metadata.num_delivered) for each in again]

    assert sorted(sequence for sequence, _ in seen) == [2, 3, 4, 5]
    assert {number for _, number in seen} <= {1, 2}


def test_an_abandoned_fetch_leaves_no_pull_that_takes_messages(work, nc, within, eventually):
    orders = work()
    with orders.consumer.fetch(5, expires=20.0):
        nc.flush()
    orders.publish(3)
    with within(5.0), orders.consumer.fetch(3, expires=3.0) as fetch:
        taken = [next(fetch) for _ in range(3)]

    assert [each.metadata.stream_sequence for each in taken] == [1, 2, 3]
    for each in taken:
        each.ack_confirmed()
    assert orders.left() == (0, 0)


def test_not_waiting_ends_soon_although_the_server_says_nothing_at_a_full_ack_window(work, within):
    orders = work(max_ack_pending=2)
    orders.publish(5)
    assert fetched(orders.consumer.fetch(2), within, ack=False) == (2, EndReason.FILLED)
    began = monotonic()

    assert fetched(orders.consumer.fetch(5, mode=FetchMode.NO_WAIT), within) == (
        0,
        EndReason.DEADLINE,
    )
    assert monotonic() - began < AT_ONCE + 2.0
    with pytest.raises(RequestTimeout, match=r"within 2.2 s, got none \(DEADLINE\)"), within(5.0):
        orders.consumer.next(mode=FetchMode.NO_WAIT)


def test_one_message_is_waited_for_nearly_as_long_as_asked_and_the_error_says_how_long(
    work, within
):
    orders = work()
    began = monotonic()
    with (
        pytest.raises(RequestTimeout, match=r"within 0.45 s, got none \((EXPIRED|DEADLINE)\)"),
        within(5.0),
    ):
        orders.consumer.next(timeout=0.5)

    assert monotonic() - began >= 0.45
    with pytest.raises(RequestTimeout, match=r"at once, got none \(NO_MESSAGES\)"), within(5.0):
        orders.consumer.next(mode=FetchMode.NO_WAIT)
