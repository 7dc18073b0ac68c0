"""A consumer that is not there, on real servers: a typed error at once, unless the reader waits for
it.
"""

from __future__ import annotations

from datetime import timedelta
from time import monotonic

import pytest

from jsproto.core.connection.events import Notice
from jsproto.jetstream.api.errors import ConsumerNotFound, StreamNotFound
from jsproto.jetstream.pull.consume_options import OnDeleted
from jsproto.jetstream.pull.request import PullNotice
from jsproto.signals import NEED_DATA

pytestmark = pytest.mark.live

#: Servers before 2.10 are silent, so there it takes two heartbeats.
QUICKLY = {"expires": 2.0, "idle_heartbeat": 0.5}


@pytest.mark.parametrize("verb", ["consume", "ack_next"])
@pytest.mark.parametrize(("there", "error"), [(True, ConsumerNotFound), (False, StreamNotFound)])
def test_what_is_not_there_is_a_typed_error_at_once(  # noqa: PLR0917 - fixtures are asked for by name
    work, nc, within, verb, there, error
):
    name = work().name if there else "NOT_THERE"
    consumer = nc.jetstream().stream(name).consumer("X")
    feed = getattr(consumer, verb)(**QUICKLY)
    began = monotonic()
    with within(10.0), feed as messages, pytest.raises(error, match="X"):
        messages.next(8.0)

    assert monotonic() - began < 5.0


def test_who_waits_for_it_is_served_when_it_is_made(work, nc, within):
    orders = work()
    orders.publish(1)
    consumer = nc.jetstream().stream(orders.name).consumer("LATER")
    events = nc.events()
    with within(20.0), consumer.consume(on_deleted=OnDeleted.RETRY, **QUICKLY) as messages:
        while True:
            told = next(events)
            if isinstance(told, Notice) and told.kind is PullNotice.CONSUMER_DELETED:
                break
        assert isinstance(told.detail, ConsumerNotFound)
        orders.stream.create_consumer(durable_name="LATER")
        assert messages.next(15.0).payload == b"x"


def gone(nc, orders):
    try:
        nc.jetstream().stream(orders.name).consumer("C").info()
    except ConsumerNotFound:
        return True
    return False


def test_a_consumer_that_went_while_its_reader_was_busy_is_an_error_that_says_why_n086(
    work, nc, other, within, until
):
    orders = work(inactive_threshold=timedelta(seconds=1))
    orders.publish(1)
    events = nc.events()
    with (
        within(30.0),
        orders.consumer.consume(max_messages=1, expires=1.0, idle_heartbeat=0.5) as messages,
    ):
        message = messages.next(5.0)
        message.ack()  # a server from 2.10 on keeps a consumer that waits for an ack
        # Nobody drives this client while its user works, so no pull is open after a second.
        until(lambda: gone(other, orders), other, seconds=20.0)
        assert message.payload == b"x"
        with pytest.raises(ConsumerNotFound, match=r"inactive_threshold \(1 s\)"):
            messages.next(10.0)
        nc.flush()
        heard = []
        while (told := events._listener.take()) is not NEED_DATA:
            heard.append(told.kind if isinstance(told, Notice) else told)
    assert heard.count(PullNotice.HEARTBEAT_MISSED) <= 1
    assert heard.count(PullNotice.CONSUMER_DELETED) == 1
