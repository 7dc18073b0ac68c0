"""Who may read but not acknowledge, on a real server: each message says that it is open, and the
user is told.
"""

from __future__ import annotations

import asyncio
from itertools import islice

import pytest

from jsproto.core.connection.events import Notice, NoticeKind
from jsproto.errors import PermissionViolation
from jsproto.jetstream.delivery.ack import AckState
from jsproto.jetstream.delivery.message import AckBatch
from jsproto.jetstream.pull.request import PullNotice
from jsproto.jetstream.push.base import PushNotice
from jsproto_io import asyncio as nats
from jsproto_io.blocking import connect

pytestmark = pytest.mark.live


@pytest.fixture
def address(start_server):
    server = start_server(
        config=(
            "authorization { users: [ { user: admin, password: p }, "
            '{ user: mute, password: p, permissions { publish { deny: "$JS.ACK.>" } } } ] }'
        )
    )
    address = server.url.removeprefix("nats://")
    with connect(f"nats://admin:p@{address}") as admin:
        stream = admin.jetstream().create_stream(name="S", subjects=["s.*"], storage="memory")
        stream.create_consumer(durable_name="C")
        for _ in range(6):
            admin.jetstream().publish("s.a", b"x")
    return address


@pytest.fixture
def mute(address):
    with connect(f"nats://mute:p@{address}") as nc:
        yield nc


def refusals(events, count):
    """The notices up to so many errors of the server."""
    told = []
    while [each.kind for each in told].count(NoticeKind.SERVER_ERROR) < count:
        event = next(events)
        told += [event] if isinstance(event, Notice) else []
    return told


@pytest.mark.parametrize("verb", ["ack", "nak", "term"])
def test_a_refused_settlement_leaves_the_message_open(mute, within, verb):
    message = mute.jetstream().stream("S").consumer("C").next()
    assert getattr(message, verb)() is True
    assert message.state is AckState.SETTLED
    with within(10.0):
        mute.flush()  # the refusal comes before the answer to the flush

    assert message.state is AckState.OPEN
    assert message.ack() is True, "it may be said again"
    with within(10.0):
        mute.flush()
    assert message.ack() is True, "nobody has to look at its state before"


def test_acks_that_were_refused_are_written_again_with_others(mute, within):
    with mute.jetstream().stream("S").consumer("C").fetch(3) as feed:
        messages = list(feed)
    assert mute.settle(AckBatch(messages[:2])) is True
    with within(10.0):
        mute.flush()
    assert mute.settle(AckBatch(messages)) is True
    with within(10.0):
        mute.flush()

    assert [each.state for each in messages] == [AckState.OPEN] * 3


@pytest.mark.parametrize("verb", ["fetch", "consume"])
def test_a_feed_says_once_that_acks_are_refused(mute, within, verb):
    consumer = mute.jetstream().stream("S").consumer("C")
    with within(20.0), consumer.fetch(100) if verb == "fetch" else consumer.consume() as messages:
        events = mute.events()
        for message in islice(messages, 3):
            message.ack()
        mute.flush()
        told = refusals(events, 3)

    assert [each.kind for each in told] == [
        NoticeKind.SERVER_ERROR,
        PullNotice.ACK_REFUSED,
        NoticeKind.SERVER_ERROR,
        NoticeKind.SERVER_ERROR,
    ]
    assert isinstance(told[1].detail, PermissionViolation)
    assert told[1].detail.subject.startswith("$JS.ACK.S.C.1.1.1.")


def test_a_push_subscription_says_that_acks_are_refused(mute, within):
    with within(20.0), mute.jetstream().subscribe("s.*", stream="S") as messages:
        events = mute.events()
        for message in islice(messages, 3):
            message.ack()
        mute.flush()
        told = refusals(events, 3)

    (error,) = [each.detail for each in told if each.kind is PushNotice.REFUSED]
    assert isinstance(error, PermissionViolation)
    assert error.subject.startswith("$JS.ACK.S.")


def test_a_refused_ack_leaves_the_message_open_in_async_too(address):
    async def main():
        async with nats.connect(f"nats://mute:p@{address}") as nc:
            message = await nc.jetstream().stream("S").consumer("C").next()
            assert await message.ack() is True
            await nc.flush()

            assert message.state is AckState.OPEN

    asyncio.run(asyncio.wait_for(main(), 20.0))
