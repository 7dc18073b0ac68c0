"""How a consume ends when its reader wants it to: what was delivered is handed out or given back,
and the next reader has the rest.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from jsproto.jetstream.pull.request import PullNotice
from jsproto.jetstream.status import EndReason

pytestmark = pytest.mark.live

LONG = timedelta(seconds=30)


def rest(feed, kept):
    """What a feed that was told to end still gives."""
    taken = [kept.note(message) for message in feed]
    for message in taken:
        message.ack()
    return taken


@pytest.mark.parametrize("wish", ["stop", "drain"])
def test_what_is_at_hand_is_handed_out_and_nothing_comes_twice(work, books, nc, within, wish):
    orders = work(ack_wait=LONG)
    orders.publish(40)
    kept = books(orders)
    with orders.consumer.consume(10, expires=1.0, idle_heartbeat=0.5) as messages:
        kept.take(messages, 7)
        getattr(messages, wish)()
        with within(4.0):
            late = rest(messages, kept)
        assert messages.feed.reason is EndReason.CLOSED
    assert 1 <= len(late) <= 10
    with orders.consumer.consume(50, expires=1.0, idle_heartbeat=0.5) as messages:
        kept.settle(messages)

    kept.check()
    assert kept.redelivered == 0
    assert kept.notices == []


def test_a_drain_waits_for_no_expiry(work, books, nc, within):
    orders = work(ack_wait=LONG)
    orders.publish(3)
    kept = books(orders)
    with orders.consumer.consume(10, expires=30.0) as messages:
        kept.take(messages, 1)
        messages.drain()
        with within(2.0):
            assert len(rest(messages, kept)) == 2


def test_a_stop_lets_open_pulls_be_served_until_they_expire(work, books, nc, within):
    orders = work(ack_wait=LONG)
    kept = books(orders)
    with orders.consumer.consume(10, expires=1.0, idle_heartbeat=0.5) as messages:
        nc.flush()
        messages.stop()
        orders.publish(3)
        with within(3.0):
            assert len(rest(messages, kept)) == 3

    assert messages.feed.ledger.counts == {EndReason.EXPIRED: 1}


def test_what_the_reader_leaves_behind_is_there_again_at_once(work, books, nc, until):
    orders = work(ack_wait=LONG)
    orders.publish(10)
    kept = books(orders)
    with orders.consumer.consume(10, expires=5.0, idle_heartbeat=0.5) as messages:
        kept.take(messages, 4)
        until(lambda: messages.feed.readable == 6, nc)
    kept.until(PullNotice.RETURNED)
    with orders.consumer.consume(10, expires=5.0, idle_heartbeat=0.5) as messages:
        kept.settle(messages, seconds=5.0)

    kept.check()
    assert kept.redelivered == 6


@pytest.mark.parametrize("size", [1, 2, 3, 64, 500])
def test_every_size_takes_all_with_as_few_requests_as_it_can(work, books, nc, tap, size):
    orders = work(ack_wait=LONG)
    orders.publish(60)
    kept = books(orders)
    with orders.consumer.consume(size, expires=5.0, idle_heartbeat=0.5) as messages:
        kept.take(messages, 60)
        kept.settle(messages)

    kept.check()
    assert kept.redelivered == 0
    step = max(1, size - size // 2)  # it asks when half is left
    assert len(tap.pulls) <= 60 // step + 3
    assert max(pull.request["batch"] for pull in tap.pulls) <= size
