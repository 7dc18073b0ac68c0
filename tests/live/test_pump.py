"""The blocking adapter with a thread of its own, on real servers: what the caller does not do while
he works is done all the same.
"""

from __future__ import annotations

from datetime import timedelta
from time import monotonic

import pytest

from jsproto.core.connection.events import Connected
from jsproto.jetstream.delivery.ack_options import AckOptions
from jsproto_io.blocking import connect

pytestmark = pytest.mark.live

SOON = timedelta(seconds=1)
KEEP = AckOptions(in_progress=True)


@pytest.fixture
def pumped(server, within):
    with within(10.0):
        client = connect(server.url, pump=True, ping_interval=0.5).__enter__()
    yield client
    client.close()


def deliveries(orders):
    return orders.consumer.info().delivered.consumer_seq


def test_a_long_job_is_not_given_to_another_while_its_worker_makes_no_call(
    pumped, stored, other, until
):
    orders = stored(pumped, ack_wait=SOON)
    orders.publish(1)
    seen = orders.through(other)
    with orders.consumer.consume(1, acking=KEEP) as messages:
        message = next(messages)
        begun = monotonic()
        until(lambda: monotonic() - begun > 3 * SOON.total_seconds(), other)

        assert deliveries(seen) == 1
        assert message.ack()
    until(lambda: seen.left() == (0, 0), other)


def test_without_a_pump_it_is(stored, other, server):
    with connect(server.url) as nc:
        orders = stored(nc, ack_wait=SOON)
        orders.publish(1)
        seen = orders.through(other)
        mine = orders.consumer.next(acking=KEEP)
        again = seen.consumer.next()

        assert (mine.metadata.num_delivered, again.metadata.num_delivered) == (1, 2)


def test_pings_go_out_and_what_comes_is_read_while_nobody_calls(pumped, stored, other, until):
    orders = stored(pumped)
    with orders.consumer.consume(50) as messages:
        orders.through(other).publish(20)
        until(lambda: messages.feed.readable == 20, other)
        before = pumped._connection.stats.bytes_in
        until(lambda: pumped._connection.stats.bytes_in > before, other)  # a PONG


def test_a_new_link_is_made_while_nobody_calls(pumped, server, other, until):
    told = pumped.events()
    server.kill()
    server.start()
    until(lambda: pumped._connection.stats.connects == 2, seconds=30.0)

    assert any(isinstance(each, Connected) for each in told)
