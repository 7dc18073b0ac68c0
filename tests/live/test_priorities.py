"""Priority groups (ADR-42) on servers that have them, and the same settings on one that has not."""

# ruff: noqa: PLR0917 - fixtures are asked for by name

from __future__ import annotations

from datetime import timedelta

import pytest

from jsproto.errors import ApiError, JsprotoError
from jsproto.jetstream.errors import BadRequestStatus, PinLost
from jsproto.jetstream.pull.request import PullNotice
from tests.live.conftest import VERSIONS

pytestmark = pytest.mark.live

LONG = timedelta(seconds=30)
QUICKLY = {"expires": 1.0, "idle_heartbeat": 0.5}


@pytest.fixture
def both(work, other):
    """A consumer with a group, a reader of it on each of two clients, and the books of both."""

    def make(policy, **settings):
        orders = work(ack_wait=LONG, priority_groups=["A"], priority_policy=policy, **settings)
        second = other.jetstream().stream(orders.name).consumer("C")
        return orders, second

    return make


GROUPS = pytest.mark.parametrize("one_server", VERSIONS[1:], indirect=True, scope="session")


def read(feed):
    """What is at hand, acknowledged."""
    taken = [next(feed) for _ in range(feed.feed.readable)]
    for message in taken:
        message.ack()
    return taken


@pytest.mark.parametrize("one_server", VERSIONS[:1], indirect=True, scope="session")
def test_before_2_11_a_group_is_not_heard(both, books, nc):
    orders, _ = both("overflow")
    assert orders.consumer.info().config.priority_groups == ()
    orders.publish(2)
    kept = books(orders)
    with orders.consumer.consume(5, group="A", min_pending=10, **QUICKLY) as messages:
        kept.take(messages, 2)

    assert kept.notices == []


@GROUPS
def test_overflow_comes_when_enough_is_pending(both, books, nc, until):
    orders, _ = both("overflow")
    kept = books(orders)
    with orders.consumer.consume(10, group="A", min_pending=5, **QUICKLY) as messages:
        orders.publish(4)
        expired = messages.feed.ledger.counts
        until(lambda: sum(expired.values()) >= 1, nc)
        assert not messages.feed.readable
        orders.publish(1)
        kept.take(messages, 1)  # one, then there are four again
        until(lambda: sum(expired.values()) >= 2, nc)
        assert not messages.feed.readable
        orders.publish(3)
        kept.take(messages, 3)

    assert kept.notices == []


@GROUPS
def test_overflow_comes_when_enough_waits_for_acks(both, books, nc, other, until, within):
    orders, second = both("overflow")
    orders.publish(3)
    kept = books(orders)
    with orders.consumer.consume(10, group="A", min_ack_pending=2, **QUICKLY) as messages:
        nc.flush()
        assert not messages.feed.readable
        with within(5.0), second.fetch(2, group="A", expires=4.0) as mine:
            held = [next(mine) for _ in range(2)]
            kept.take(messages, 1)
            for message in held:
                message.ack_confirmed()

    assert orders.left()[0] == 0


@GROUPS
def test_one_is_pinned_until_the_pin_is_taken(both, books, nc, other, until):
    orders, second = both("pinned_client", priority_timeout=timedelta(seconds=20))
    kept = books(orders)
    with orders.consumer.consume(4, group="A", **QUICKLY) as one:
        orders.publish(1)
        kept.take(one, 1)
        with second.consume(4, group="A", **QUICKLY) as two:
            orders.publish(9)
            kept.take(one, 9)
            other.flush()
            assert not two.feed.readable
            pin = one.feed.pin
            nc.request(f"$JS.API.CONSUMER.UNPIN.{orders.name}.C", b'{"group":"A"}')
            orders.publish(20)
            lost = kept.until(PullNotice.PIN_LOST)

            def all_read():
                for message in read(one) + read(two):
                    kept.note(message)
                return orders.left() == (0, 0)

            until(all_read, nc, other)
            pins = {one.feed.pin, two.feed.pin}

    kept.check()
    assert kept.redelivered == 0
    assert pin
    assert pin not in pins
    assert isinstance(lost.detail, PinLost)


@GROUPS
def test_when_the_pinned_one_goes_the_next_is_pinned(both, nc, other, until):
    orders, second = both("pinned_client", priority_timeout=timedelta(seconds=1))
    first, then = (
        orders.consumer.consume(4, group="A", **QUICKLY),
        second.consume(4, group="A", **QUICKLY),
    )
    with first as one, then as two:
        orders.publish(1)
        until(lambda: read(one) or read(two), nc, other)
        pinned, waiting = (one, two) if one.feed.pin else (two, one)
        before = pinned.feed.pin
        pinned.close()
        nc.flush()
        other.flush()
        orders.publish(5)
        got = []
        until(lambda: got.extend(read(waiting)) or len(got) >= 5, nc, other)

    assert before
    assert waiting.feed.pin not in {"", before}
    assert [message.metadata.num_delivered for message in got] == [1] * 5


@GROUPS
def test_bytes_of_a_pinned_client_are_the_servers(both, books, nc, tap):
    orders, _ = both("pinned_client")
    orders.publish(60, b"y" * 300)
    kept = books(orders)
    with orders.consumer.consume(max_bytes=2000, group="A", **QUICKLY) as messages:
        kept.take(messages, 60)
        kept.settle(messages)

    kept.check()
    assert kept.notices == [PullNotice.PINNED]
    assert len(tap.pulls) <= 60


@GROUPS
def test_the_lower_priority_is_served_first(both, nc, other, since, until):
    if not since(2, 12):
        with pytest.raises(ApiError):
            both("prioritized")
        return
    orders, second = both("prioritized")
    with second.consume(4, group="A", priority=5, **QUICKLY) as later:
        other.flush()
        with orders.consumer.consume(4, group="A", priority=1, **QUICKLY) as sooner:
            nc.flush()
            got = []
            for _ in range(6):
                orders.publish(1)
                until(lambda: got.extend(read(sooner)) or got, nc)
                nc.flush()
            until(lambda: got.extend(read(sooner)) or len(got) == 6, nc, other)
            assert not later.feed.readable
        nc.flush()
        orders.publish(3)
        rest = []
        until(lambda: rest.extend(read(later)) or len(rest) == 3, nc, other)


@GROUPS
def test_one_message_can_be_asked_for_in_a_group_too(both):
    orders, _ = both("overflow")
    orders.publish(1)

    assert orders.consumer.next(timeout=3.0, group="A").ack_confirmed()
    with pytest.raises(BadRequestStatus):
        orders.consumer.next(timeout=3.0)


@GROUPS
def test_a_pull_without_the_group_is_refused_for_good(both, books, nc, within):
    orders, _ = both("overflow")
    kept = books(orders)
    with (
        within(3.0),
        orders.consumer.consume(5, **QUICKLY) as messages,
        pytest.raises(BadRequestStatus) as caught,
    ):
        next(messages)

    assert isinstance(caught.value, JsprotoError)
    assert kept.notices == [PullNotice.REFUSED]
