"""What a consumer's own settings do to a consume: it waits, says why where the server says it, and
goes on.
"""

# ruff: noqa: PLR0917 - fixtures are asked for by name

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from time import monotonic

import pytest

from jsproto.errors import RequestTimeout
from jsproto.jetstream.errors import ConsumerIsPush, PullLimitExceeded
from jsproto.jetstream.pull.fetch import FetchMode
from jsproto.jetstream.pull.request import PullNotice
from jsproto.jetstream.status import EndReason, Limit

pytestmark = pytest.mark.live

LONG = timedelta(seconds=30)


def test_beyond_max_waiting_a_consume_waits_for_its_turn(work, books, nc, other, tap, since, calm):
    orders = work(max_waiting=1)
    kept = books(orders)
    first = other.jetstream().stream(orders.name).consumer("C").fetch(1, expires=20.0)
    with first:
        other.flush()
        began = monotonic()
        with orders.consumer.consume(10, expires=4.0, idle_heartbeat=0.5) as messages:
            if since(2, 11):  # a pull that asks for heartbeats gets no other answer than none
                kept.until(PullNotice.HEARTBEAT_MISSED)
            else:
                notice = kept.until(PullNotice.LIMIT_EXCEEDED)
                assert isinstance(notice.detail, PullLimitExceeded)
            first.close()
            other.flush()
            orders.publish(5)
            kept.take(messages, 5)
            calm(tap, began)

    assert EndReason.REFUSED not in messages.feed.ledger.counts or not since(2, 11)


def test_beyond_max_waiting_a_pull_without_heartbeat_is_refused(work, nc, other, within):
    orders = work(max_waiting=1)
    with other.jetstream().stream(orders.name).consumer("C").fetch(1, expires=20.0):
        other.flush()
        fetch = orders.consumer.fetch(5, expires=4.0, idle_heartbeat=0)
        with (
            within(2.0),
            fetch,
            pytest.raises(PullLimitExceeded, match="Exceeded MaxWaiting") as caught,
        ):
            next(fetch)

    assert caught.value.limit is None
    assert fetch.feed.reason is EndReason.REFUSED


def test_at_max_ack_pending_delivery_rests_until_an_ack(work, books, nc, tap, until, calm):
    orders = work(max_ack_pending=3, ack_wait=LONG)
    orders.publish(8)
    kept = books(orders)
    began = monotonic()
    with orders.consumer.consume(10, expires=1.0, idle_heartbeat=0.5) as messages:
        held = kept.take(messages, 3, ack=False)
        until(lambda: messages.feed.ledger.counts.get(EndReason.EXPIRED, 0) == 2, nc)
        assert not messages.feed.readable
        held[0].ack()
        held += kept.take(messages, 1, seconds=2.0, ack=False)
        for message in held[1:]:
            message.ack()
        kept.settle(messages)
        calm(tap, began)

    kept.check()
    assert kept.redelivered == 0
    assert kept.notices == []


def test_at_max_ack_pending_a_pull_that_does_not_wait_gets_no_answer_at_all(work, nc, within):
    orders = work(max_ack_pending=1, ack_wait=LONG)
    orders.publish(2)
    held = orders.consumer.next()
    with within(3.0), orders.consumer.fetch(1, mode=FetchMode.NO_WAIT, timeout=0.5) as fetch:
        assert list(fetch) == []

    assert fetch.feed.reason is EndReason.DEADLINE
    held.ack_confirmed()
    assert orders.consumer.next(timeout=2.0).metadata.stream_sequence == 2


def test_a_paused_consumer_is_waited_for_without_alarm(work, books, nc, tap, since, calm):
    until = datetime.now(UTC) + timedelta(seconds=1.2)
    orders = work(pause_until=until)
    orders.publish(3)
    kept = books(orders)
    began = monotonic()
    with orders.consumer.consume(10, expires=1.0, idle_heartbeat=0.5) as messages:
        kept.take(messages, 3)
        late = datetime.now(UTC) >= until
        calm(tap, began)

    assert late == since(2, 11)  # what pausing is, older servers do not know
    assert kept.notices == []


@pytest.mark.parametrize(
    ("limit", "asked", "kind", "said"),
    [
        ({"max_batch": 5}, {"max_messages": 20}, Limit.BATCH, 5),
        (
            {"max_expires": timedelta(seconds=2)},
            {"max_messages": 20, "expires": 10.0},
            Limit.EXPIRES,
            2.0,
        ),
        ({"max_bytes": 2000}, {"max_bytes": 9000}, Limit.MAX_BYTES, 2000),
    ],
    ids=["batch", "expires", "bytes"],
)
def test_a_consume_lives_within_the_limits_that_it_is_told(
    work, books, nc, tap, within, calm, limit, asked, kind, said
):
    orders = work(**limit)
    orders.publish(30)
    kept = books(orders)
    began = monotonic()
    unknown = orders.stream.consumer("C")  # a handle that was bound by name knows no limits
    with unknown.consume(**{"expires": 1.0, "idle_heartbeat": 0.5, **asked}) as messages:
        notice = kept.until(PullNotice.LIMIT_EXCEEDED)
        kept.settle(messages)
        calm(tap, began, most=30)
    fetch = orders.consumer.fetch(**{"timeout": 12.0, **asked})
    with within(3.0), fetch, pytest.raises(PullLimitExceeded) as caught:
        next(fetch)

    kept.check()
    assert notice.detail.limit == caught.value.limit == said
    assert kept.notices.count(PullNotice.LIMIT_EXCEEDED) == 1


@pytest.mark.parametrize(
    ("limit", "asked"),
    [
        ({"max_batch": 5}, {"max_messages": 20}),
        ({"max_expires": timedelta(seconds=2)}, {"expires": 10.0}),
        ({"max_bytes": 2000}, {"max_bytes": 9000}),
        ({"max_ack_pending": 4}, {"max_messages": 20}),
    ],
    ids=["batch", "expires", "bytes", "pending"],
)
def test_a_consumer_that_is_known_is_never_asked_for_too_much(work, books, nc, limit, asked):
    orders = work(**limit)
    orders.publish(30)
    kept = books(orders)
    with orders.consumer.consume(**{"expires": 2.0, "idle_heartbeat": 0.5, **asked}) as messages:
        kept.settle(messages)

    kept.check()
    assert kept.notices == []


def test_a_push_consumer_can_not_be_pulled(work, nc, books, within):
    orders = work(deliver_subject="somewhere")
    kept = books(orders)
    with within(3.0), orders.consumer.consume(5) as messages, pytest.raises(ConsumerIsPush):
        next(messages)

    assert kept.notices == [PullNotice.REFUSED]


def test_an_unknown_consumer_is_nobody_home_or_silence(work, nc, since, within):
    orders = work()
    stranger = orders.stream.consumer("NOBODY").fetch(1, expires=0.5)
    with within(3.0), stranger:
        if since(2, 10):
            with pytest.raises(Exception, match="503"):
                next(stranger)
        else:
            assert list(stranger) == []
    assert stranger.feed.reason is (EndReason.NO_RESPONDERS if since(2, 10) else EndReason.DEADLINE)
    with within(3.0), pytest.raises(Exception, match="503" if since(2, 10) else "within") as caught:
        orders.stream.consumer("NOBODY").next(timeout=0.5)
    assert isinstance(caught.value, RequestTimeout) != since(2, 10)
