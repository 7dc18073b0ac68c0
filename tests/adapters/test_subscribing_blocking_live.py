"""Push subscriptions, ordered consumers and handlers through the blocking adapter, on a real
server.
"""

from __future__ import annotations

import uuid
from datetime import timedelta
from time import monotonic

import pytest

from jsproto import (
    ConnectionClosed,
    ConsumerNotFound,
    LinkError,
    NoResponders,
    RequestTimeout,
    ServerError,
    SourceKind,
)
from jsproto.errors import (
    ConversationClosed,
    DuplicateSubscription,
    NoMatchingStream,
    NoSubject,
    PullOnPush,
    PushOnPull,
)
from jsproto.jetstream import EndReason
from jsproto.jetstream.push.subscription import PushState
from jsproto_io.blocking import connect

pytestmark = pytest.mark.live

BEAT = timedelta(milliseconds=500)
QUICK = {"reconnect_wait": 0.05, "reconnect_wait_max": 0.2, "reconnect_jitter": 0.0}
NOT_YET = (NoResponders, RequestTimeout, LinkError, ServerError)


def patient(verb):
    """A server that was just started again may say no for a while."""
    while True:
        try:
            return verb()
        except NOT_YET:
            continue


def stream_of(nc, name, count):
    """A stream with so many messages, each holding its sequence."""
    js = nc.jetstream()
    stream = js.create_stream(name=name, subjects=[f"{name}.*"])
    for number in range(1, count + 1):
        js.publish(f"{name}.a", b"%d" % number)
    return stream


@pytest.fixture
def name():
    """A name of a stream, and first token of its subjects, that no other test uses."""
    return f"T{uuid.uuid4().hex[:12]}"


@pytest.fixture
def nc(nats_server):
    with connect(nats_server.url) as client:
        yield client


# ------------------------------------------------------------------------------------------------ handlers


def test_a_handler_gets_what_is_pushed_acknowledges_by_coming_back_and_drains(nc, name, eventually):
    stream = stream_of(nc, name, 5)
    pushed = stream.create_consumer(durable_name="P", deliver_subject=f"deliver.{name}")
    got = []
    with pushed.subscribe() as messages:
        messages.ready()

        def handle(msg):
            got.append(int(msg.payload))
            if len(got) == 5:
                messages.drain()

        assert messages.each(handle) is EndReason.CLOSED

    assert got == [1, 2, 3, 4, 5]
    eventually(
        lambda: pushed.info().ack_floor.consumer_seq == 5 and not pushed.info().num_ack_pending
    )
    assert stream.consumer_names() == ("P",)


def test_manual_acks_are_the_handlers_and_what_it_has_settled_is_left_so(nc, name, eventually):
    stream = stream_of(nc, name, 3)
    own, mixed = (stream.create_consumer(durable_name=each) for each in ("OWN", "MIXED"))
    seen = []

    def handle(msg):
        seen.append((int(msg.payload), msg.metadata.num_delivered))
        if msg.metadata.num_delivered == 1:
            msg.nak()

    assert mixed.consume(stop_after=6).each(handle) is EndReason.FILLED
    assert sorted(seen) == [(number, delivery) for number in (1, 2, 3) for delivery in (1, 2)]
    assert own.consume(stop_after=3).each(lambda msg: None, manual_ack=True) is EndReason.FILLED
    assert own.info().num_ack_pending == 3
    eventually(lambda: mixed.info().ack_floor.stream_seq == 3)


def test_what_a_handler_raises_comes_out_and_its_message_is_not_acknowledged(nc, name, eventually):
    work = stream_of(nc, name, 3).create_consumer(durable_name="W")
    feed = work.consume()

    def handle(msg):
        if msg.payload == b"2":
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        feed.each(handle)

    assert feed.feed.ended
    eventually(lambda: work.info().ack_floor.stream_seq == 1 and work.info().num_ack_pending >= 1)


def test_every_kind_of_feed_has_handlers(nc, name, eventually):
    stream = stream_of(nc, name, 4)
    work = stream.create_consumer(durable_name="W")
    got = []

    def handle(msg):
        got.append(int(msg.payload))

    assert work.fetch(2).each(handle) is EndReason.FILLED
    assert work.ack_next(stop_after=2).each(handle) is EndReason.FILLED
    assert stream.read().each(handle) is EndReason.FILLED
    with nc.subscribe("core", limit=1) as messages:
        nc.publish("core", b"5")
        assert messages.each(handle) is None
    assert got == [1, 2, 3, 4, 1, 2, 3, 4, 5]
    eventually(lambda: work.info().ack_floor.stream_seq == 4)


def test_the_end_is_waited_for_and_not_while_only_the_caller_can_go_on(nc, name):
    work = stream_of(nc, name, 2).create_consumer(durable_name="W")
    with work.consume(max_messages=10, stop_after=2) as messages:
        reasons = [messages.ended()]
        next(messages)
        next(messages)
        reasons.append(messages.ended())

    assert reasons[1] is EndReason.FILLED


# ------------------------------------------------------------------------------------------------ next


def test_next_waits_so_long_and_the_feed_goes_on(nc, name):
    stream_of(nc, name, 1)
    with nc.jetstream().subscribe(f"{name}.*", ack_policy="none") as messages:
        got = [messages.next().payload]
        begun = monotonic()
        with pytest.raises(RequestTimeout, match=r"within 0\.05 s"):
            messages.next(0.05)
        assert monotonic() - begun >= 0.05
        nc.jetstream().publish(f"{name}.a", b"2")
        got.append(messages.next(5.0).payload)
        nc.jetstream().publish(f"{name}.a", b"3")
        got.append(messages.next(None).payload)
        messages.unsubscribe()
        with pytest.raises(ConversationClosed, match=r"it has ended \(CLOSED\)"):
            messages.next()

    assert got == [b"1", b"2", b"3"]


# ------------------------------------------------------------------------------------------------ push


def test_a_consumer_of_ours_is_gone_when_unsubscribe_returns(nc, name):
    stream = stream_of(nc, name, 2)
    with nc.jetstream().subscribe(f"{name}.*", idle_heartbeat=BEAT, flow_control=True) as messages:
        messages.ready()
        assert stream.consumer_names() == (messages.feed.info.name,)
        assert int(next(messages).payload) == 1
        assert messages.unsubscribe() is EndReason.CLOSED
        assert stream.consumer_names() == ()


def test_unsubscribe_raises_the_error_of_the_delete(nc, name):
    stream = stream_of(nc, name, 1)
    with nc.jetstream().subscribe(f"{name}.*") as messages:
        messages.ready()
        stream.consumer(messages.feed.info.name).delete()
        with pytest.raises(ConsumerNotFound):
            messages.unsubscribe()
        assert messages.feed.state is PushState.OVER


def test_a_drain_hands_out_what_is_there_and_then_deletes(nc, name, eventually):
    stream = stream_of(nc, name, 20)
    with nc.jetstream().subscribe(f"{name}.*", ack_policy="none") as messages:
        messages.next()
        messages.drain()
        assert [int(msg.payload) for msg in messages] == list(range(2, 21))
        eventually(lambda: stream.consumer_names() == ())


def test_what_cannot_be_subscribed_to_says_so_when_it_is_waited_for_or_read(nc, name, eventually):
    js = nc.jetstream()
    stream = stream_of(nc, name, 1)
    stream.create_consumer(durable_name="PULLED")
    pushed = stream.create_consumer(durable_name="PUSHED", deliver_subject=f"deliver.{name}")
    with pushed.subscribe() as first:
        first.ready()
        eventually(lambda: pushed.info().push_bound)
        refused = [
            (PushOnPull, stream.consumer("PULLED").subscribe()),
            (DuplicateSubscription, pushed.subscribe()),
            (NoMatchingStream, js.subscribe("nobody.stores.this")),
            (ConsumerNotFound, stream.consumer("NONE").subscribe()),
        ]
        for error, feed in refused:
            with feed as messages:
                with pytest.raises(error):
                    messages.ready()
                with pytest.raises(error):
                    next(messages)
    with pytest.raises(NoSubject):
        js.subscribe()
    with pytest.raises(PullOnPush):
        js.pull_subscribe(stream=name, consumer="PUSHED")


def test_a_closed_connection_ends_a_handler_with_an_error(nc, nats_server, name, eventually):
    stream = stream_of(nc, name, 1)
    with connect(nats_server.url) as other:
        feed = other.jetstream().subscribe(f"{name}.*", ack_policy="none")
        with feed as messages, pytest.raises(ConnectionClosed):
            messages.each(lambda msg: other.close())

    eventually(lambda: stream.consumer_names() == ())


# ------------------------------------------------------------------------------------------------ the pull form


def test_a_pull_subscription_finds_its_stream_and_makes_its_consumer_once(nc, name):
    js = nc.jetstream()
    stream_of(nc, name, 3)
    made = js.pull_subscribe(f"{name}.*", durable_name="D")
    again = js.pull_subscribe(f"{name}.*", durable_name="D")
    got = []
    again.fetch(3).each(lambda msg: got.append(int(msg.payload)))

    assert (made.stream.name, made.name, again.name) == (name, "D", "D")
    assert got == [1, 2, 3]


# ------------------------------------------------------------------------------------------------ ordered


@pytest.mark.parametrize("form", list(SourceKind))
def test_a_finite_read_has_what_is_there_and_leaves_no_consumer(nc, name, form, eventually):
    stream = stream_of(nc, name, 100)
    with stream.read(form=form, max_messages=30) as messages:
        messages.ready()
        assert [int(msg.payload) for msg in messages] == list(range(1, 101))

    eventually(lambda: stream.consumer_names() == ())


@pytest.mark.parametrize("form", list(SourceKind))
def test_a_server_killed_in_mid_stream_costs_an_ordered_reader_nothing(
    start_server, name, form, eventually
):
    server = start_server()
    got = []
    with connect(server.url, **QUICK) as nc, connect(server.url, **QUICK) as admin:
        stream = stream_of(admin, name, 1000)
        feed = nc.jetstream().ordered_consumer(
            name, form=form, max_messages=100, expires=5.0, idle_heartbeat=0.5
        )
        with feed as messages:

            def handle(msg):
                got.append(int(msg.payload))
                if len(got) == 500:
                    server.kill()
                    server.restart()
                    for number in range(1001, 1011):
                        patient(
                            lambda number=number: admin.jetstream().publish(
                                f"{name}.a", b"%d" % number, msg_id=str(number)
                            )
                        )
                if len(got) == 1010:
                    messages.stop()

            assert messages.each(handle) is EndReason.CLOSED
            assert messages.feed.incarnation.count >= 2
        nc.flush()

        assert got == list(range(1, 1011))
        eventually(lambda: patient(stream.consumer_names) == ())


# ------------------------------------------------------------------------------------------------ misuse


def test_a_feed_that_was_not_entered_says_so_and_can_still_be_entered(nc, name):
    feed = stream_of(nc, name, 1).ordered()
    for verb in (feed.unsubscribe, feed.drain, feed.ended, feed.ready, feed.next, feed.stop):
        with pytest.raises(ConversationClosed, match="opened"):
            verb()
    with feed as messages:
        assert int(messages.next().payload) == 1
