"""A consume that is bounded by bytes, on real servers: the sums agree with the server's, and one
message too large is no end.
"""

# ruff: noqa: PLR0917 - fixtures are asked for by name

from __future__ import annotations

from random import Random
from time import monotonic

import pytest

from jsproto.jetstream.pull.request import PullNotice, message_size

pytestmark = pytest.mark.live


@pytest.mark.parametrize(
    "bound", [{"max_bytes": 5000}, {"max_messages": 7, "within_bytes": 5000}], ids=str
)
def test_all_comes_and_never_more_was_asked_than_fits(work, books, nc, tap, bound):
    orders = work()
    draw = Random(1)
    for _ in range(150):
        orders.publish(1, draw.randbytes(draw.choice([0, 10, 300, 2000, 4000])))
    kept = books(orders)
    with orders.consumer.consume(expires=4.0, idle_heartbeat=0.5, **bound) as messages:
        for _ in range(150):
            (message,) = kept.take(messages, 1)
            at_hand = sum(map(message_size, messages.feed.backlog.frames()))
            assert at_hand <= 5000
            assert message.size <= 5000
        kept.settle(messages)
        ledger = messages.feed.ledger
        # What the server still owes is what its own numbers say: an open pull, all of it.
        assert sum(pull.owed_bytes for pull in ledger.open.values()) <= 5000

    kept.check()
    assert kept.redelivered == 0
    assert kept.notices == []
    assert max(pull.request["max_bytes"] for pull in tap.pulls) <= 5000


def test_one_message_that_never_fits_is_said_once_and_is_no_storm(
    work, books, nc, tap, until, calm
):
    orders = work()
    orders.publish(1, b"a" * 100)
    orders.publish(1, b"b" * 6000)
    kept = books(orders)
    began = monotonic()
    with orders.consumer.consume(max_bytes=3000, expires=4.0, idle_heartbeat=0.5) as messages:
        kept.take(messages, 1)
        kept.until(PullNotice.MESSAGE_TOO_LARGE)
        before = len(tap.pulls)
        until(
            lambda: len(tap.pulls) >= before + 2, nc
        )  # it tries again, with longer and longer pauses
        calm(tap, began)
        nc.request(f"$JS.API.STREAM.PURGE.{orders.name}")
        orders.publish(1, b"c" * 100)
        assert kept.take(messages, 1)[0].payload == b"c" * 100


def test_the_largest_message_that_fits_exactly(work, books, nc, within):
    orders = work()
    orders.publish(1, b"y" * 500)
    kept = books(orders)
    with within(3.0), orders.consumer.fetch(1) as one:
        message = kept.note(next(one))
        message.ack_confirmed()
    orders.publish(5, b"y" * 500)
    with orders.consumer.consume(
        max_bytes=message.size, expires=4.0, idle_heartbeat=0.5
    ) as messages:
        kept.take(messages, 5)
        kept.settle(messages)

    assert kept.notices == []
