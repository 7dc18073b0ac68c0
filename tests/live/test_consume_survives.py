"""A consume outlives what happens to its server: nothing lost, nothing twice that the server does
not count, no storm.
"""

# ruff: noqa: PLR0917 - fixtures are asked for by name

from __future__ import annotations

from datetime import timedelta
from time import monotonic

import pytest

from jsproto.core.connection.events import Connected, Disconnected, LameDuck
from jsproto.errors import NoResponders
from jsproto.jetstream.errors import ConsumerDeleted
from jsproto.jetstream.pull.consume import OnDeleted
from jsproto.jetstream.pull.request import PullNotice

pytestmark = pytest.mark.live

ACK_WAIT = timedelta(seconds=1)
FILE = {"storage": "file"}


def test_sigkill_and_restart(work, books, nc, tap, server, calm):
    orders = work(stream=FILE, ack_wait=ACK_WAIT)
    orders.publish(60)
    kept = books(orders)
    with orders.consumer.consume(10, expires=4.0, idle_heartbeat=0.5) as messages:
        kept.take(messages, 25)
        server.kill()
        died = monotonic()
        kept.until(Disconnected)
        server.restart()
        kept.take(messages, messages.feed.readable)  # delivered before, and perhaps once more after
        kept.forget()
        kept.settle(messages)
        calm(tap, died, most=30)  # what it has in stock comes at once, ten messages a pull at most
        orders.publish(20)
        kept.settle(messages)

    kept.check()
    assert orders.stream.info().state.messages == 80


def test_a_graceful_stop(work, books, nc, tap, server, calm):
    orders = work(stream=FILE, ack_wait=ACK_WAIT)
    orders.publish(12)
    kept = books(orders)
    with orders.consumer.consume(10, expires=60.0) as messages:  # no expiry, no alarm meanwhile
        kept.take(messages, 12)
        kept.settle(messages)
        server.stop()
        stopped = monotonic()
        kept.until(PullNotice.SERVER_SHUTDOWN)
        kept.until(Disconnected)
        server.start()
        orders.publish(12)
        kept.settle(messages)
        calm(tap, stopped)

    kept.check()
    assert kept.redelivered == 0


def test_a_lame_duck(work, books, nc, tap, server, since, calm):
    orders = work(stream=FILE, ack_wait=ACK_WAIT)
    orders.publish(5)
    kept = books(orders)
    with orders.consumer.consume(10, expires=4.0, idle_heartbeat=0.5) as messages:
        kept.take(messages, 5)
        kept.settle(messages)
        server.lame_duck()
        began = monotonic()
        kept.until(LameDuck)
        if since(2, 10):  # JetStream goes first
            with pytest.raises(NoResponders):
                orders.js.publish(orders.subject, b"too late")
        else:  # it serves on until the end
            orders.publish(3)
            kept.take(messages, 3)
        kept.until(Disconnected)
        server.restart()
        orders.publish(5)
        kept.settle(messages)
        calm(tap, began)

    kept.check()
    assert kept.redelivered == 0


def test_a_broken_line(work, books, nc, tap, calm):
    orders = work(ack_wait=ACK_WAIT)
    orders.publish(40)
    kept = books(orders)
    with orders.consumer.consume(10, expires=4.0, idle_heartbeat=0.5) as messages:
        for _ in range(3):
            kept.take(messages, 5)
            began = monotonic()
            tap.cut()
            kept.until(Disconnected, fresh=True)
            kept.until(Connected, fresh=True)
        kept.settle(messages)
        calm(tap, began, most=30)

    kept.check()


def test_a_deleted_consumer_ends_it_behind_what_is_at_hand(work, books, nc, other, within):
    orders = work()
    orders.publish(3)
    kept = books(orders)
    with orders.consumer.consume(10, expires=4.0) as messages:
        kept.take(messages, 1)
        other.jetstream().stream(orders.name).consumer("C").delete()
        notice = kept.until(PullNotice.CONSUMER_DELETED)
        kept.take(messages, 2)
        with within(5.0), pytest.raises(ConsumerDeleted) as caught:
            next(messages)

    assert notice.detail is caught.value


def test_a_deleted_stream_ends_it_as_a_deleted_consumer(work, books, nc, other, within):
    orders = work()
    kept = books(orders)
    with orders.consumer.consume(10, expires=4.0) as messages:
        nc.flush()
        other.jetstream().delete_stream(orders.name)
        with within(5.0), pytest.raises(ConsumerDeleted):
            next(messages)

    assert kept.notices == [PullNotice.CONSUMER_DELETED]


def test_a_consumer_that_comes_back_is_waited_for_if_that_is_wished(
    work, books, nc, tap, since, calm
):
    orders = work()
    orders.publish(2)
    kept = books(orders)
    with orders.consumer.consume(
        10, expires=4.0, idle_heartbeat=0.5, on_deleted=OnDeleted.RETRY
    ) as messages:
        kept.take(messages, 2)
        began = monotonic()
        orders.consumer.delete()
        kept.until(PullNotice.CONSUMER_DELETED)
        # Since 2.10 the server says that nobody is there, before it is silent.
        kept.until(PullNotice.NO_RESPONDERS if since(2, 10) else PullNotice.HEARTBEAT_MISSED)
        orders.stream.create_consumer(durable_name="C", deliver_policy="new")
        orders.publish(2)
        kept.take(messages, 2)
        calm(tap, began)
