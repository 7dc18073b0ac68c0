"""Push subscriptions, ordered consumers and handlers through the adapters with ``await``, on a real
server.
"""

from __future__ import annotations

import uuid
from datetime import timedelta

import anyio
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
    BusyConversation,
    ConversationClosed,
    DuplicateSubscription,
    NoMatchingStream,
    NoSubject,
    PullOnPush,
    PushOnPull,
)
from jsproto.jetstream import EndReason
from jsproto.jetstream.push.subscription import PushState

pytestmark = pytest.mark.live

BEAT = timedelta(milliseconds=500)
QUICK = {"reconnect_wait": 0.05, "reconnect_wait_max": 0.2, "reconnect_jitter": 0.0}
NOT_YET = (NoResponders, RequestTimeout, LinkError, ServerError)


async def until(condition):
    """Ask until the answer is true; `flavour.play` bounds it."""
    while not (seen := await condition()):  # noqa: ASYNC110 - the server has no event for it
        await anyio.sleep(0.01)
    return seen


async def note(verb, results):
    """Put down what a verb gives."""
    results.append(await verb())


async def patient(verb):
    """A server that was just started again may say no for a while."""
    while True:
        try:
            return await verb()
        except NOT_YET:
            await anyio.sleep(0.01)


async def stream_of(js, name, count):
    """A stream with so many messages, each holding its sequence."""
    stream = await js.create_stream(name=name, subjects=[f"{name}.*"])
    for number in range(1, count + 1):
        await js.publish(f"{name}.a", b"%d" % number)
    return stream


@pytest.fixture
def name():
    """A name of a stream, and first token of its subjects, that no other test uses."""
    return f"T{uuid.uuid4().hex[:12]}"


# ------------------------------------------------------------------------------------------------ handlers


def test_a_handler_gets_what_is_pushed_acknowledges_by_coming_back_and_drains(
    flavour, nats_server, name
):
    async def story():
        got = []
        async with flavour.connect(nats_server.url) as nc:
            js = nc.jetstream()
            stream = await stream_of(js, name, 5)
            pushed = await stream.create_consumer(
                durable_name="P", deliver_subject=f"deliver.{name}"
            )
            async with pushed.subscribe() as messages:
                await messages.ready()

                async def handle(msg):
                    got.append(int(msg.payload))
                    if len(got) == 5:
                        await messages.drain()

                reason = await messages.each(handle)

            async def acked():
                info = await pushed.info()
                return not info.num_ack_pending and info.ack_floor.consumer_seq

            return reason, got, await until(acked), await stream.consumer_names()

    assert flavour.play(story) == (EndReason.CLOSED, [1, 2, 3, 4, 5], 5, ("P",))


def test_what_a_handler_has_settled_is_left_so_and_manual_acks_are_the_handlers(
    flavour, nats_server, name
):
    async def story():
        async with flavour.connect(nats_server.url) as nc:
            js = nc.jetstream()
            stream = await stream_of(js, name, 3)
            own = await stream.create_consumer(durable_name="OWN")
            mixed = await stream.create_consumer(durable_name="MIXED")
            seen = []

            async def handle(msg):
                seen.append((int(msg.payload), msg.metadata.num_delivered))
                if msg.metadata.num_delivered == 1:
                    await msg.nak()

            reason = await mixed.consume(stop_after=6).each(handle)
            manual = await own.consume(stop_after=3).each(lambda msg: None, manual_ack=True)
            left = (await own.info()).num_ack_pending

            async def settled():
                info = await mixed.info()
                return not info.num_ack_pending and info.ack_floor.stream_seq

            return reason, sorted(seen), manual, left, await until(settled)

    each = [(number, delivery) for number in (1, 2, 3) for delivery in (1, 2)]
    assert flavour.play(story) == (EndReason.FILLED, each, EndReason.FILLED, 3, 3)


def test_what_a_handler_raises_comes_out_and_its_message_is_not_acknowledged(
    flavour, nats_server, name
):
    async def story():
        async with flavour.connect(nats_server.url) as nc:
            js = nc.jetstream()
            stream = await stream_of(js, name, 3)
            work = await stream.create_consumer(durable_name="W")
            feed = work.consume()

            def handle(msg):
                if msg.payload == b"2":
                    raise ZeroDivisionError

            with pytest.raises(ZeroDivisionError):
                await feed.each(handle)
            ended = feed.feed.ended

            async def acked():
                info = await work.info()
                return info.ack_floor.stream_seq == 1 and info.num_ack_pending

            return ended, await until(acked)

    ended, open_ = flavour.play(story)
    assert ended
    assert open_ >= 1


def test_every_kind_of_feed_has_handlers(flavour, nats_server, name):
    async def story():
        async with flavour.connect(nats_server.url) as nc:
            js = nc.jetstream()
            stream = await stream_of(js, name, 4)
            work = await stream.create_consumer(durable_name="W")
            got = []

            def handle(msg):
                got.append(msg.payload)

            fetched = await work.fetch(2).each(handle)
            one_by_one = await work.ack_next(stop_after=2).each(handle)
            read = await stream.read().each(handle)
            subscription = nc.subscribe("core", limit=2)
            async with subscription as messages:
                await nc.publish("core", b"5")
                await nc.publish("core", b"6")
                core = await messages.each(handle)

            async def acked():
                info = await work.info()
                return not info.num_ack_pending and info.ack_floor.stream_seq

            return (fetched, one_by_one, read, core), got, await until(acked)

    numbers = [b"1", b"2", b"3", b"4"]
    assert flavour.play(story) == (
        (EndReason.FILLED, EndReason.FILLED, EndReason.FILLED, None),
        [*numbers, *numbers, b"5", b"6"],
        4,
    )


def test_a_consume_is_ended_from_outside_and_every_watcher_hears_of_it(flavour, nats_server, name):
    async def story():
        async with flavour.connect(nats_server.url) as nc:
            js = nc.jetstream()
            stream = await stream_of(js, name, 3)
            work = await stream.create_consumer(durable_name="W")
            got = []
            reasons = []
            async with (
                work.consume(max_messages=10) as messages,
                anyio.create_task_group() as tasks,
            ):
                handling = lambda: messages.each(lambda msg: got.append(msg.payload))  # noqa: E731 - a verb to note
                for verb in (handling, messages.ended, messages.ended):
                    tasks.start_soon(note, verb, reasons)
                while len(got) < 3:
                    await nc.flush()
                await messages.drain()
            return reasons, len(got)

    assert flavour.play(story) == ([EndReason.CLOSED] * 3, 3)


# ------------------------------------------------------------------------------------------------ next


def test_next_waits_so_long_and_the_feed_goes_on(flavour, nats_server, name):
    async def story():
        async with flavour.connect(nats_server.url) as nc:
            js = nc.jetstream()
            await stream_of(js, name, 1)
            async with js.subscribe(f"{name}.*", ack_policy="none") as messages:
                got = [(await messages.next()).payload]
                with pytest.raises(RequestTimeout, match=r"within 0\.05 s"):
                    await messages.next(0.05)
                await js.publish(f"{name}.a", b"2")
                got.append((await messages.next(5.0)).payload)
                with anyio.move_on_after(0) as cancelled:
                    await messages.next(None)
                assert cancelled.cancelled_caught
                await js.publish(f"{name}.a", b"3")
                got.append((await messages.next(None)).payload)
                await messages.unsubscribe()
                with pytest.raises(ConversationClosed, match="it has ended"):
                    await messages.next()
            return got

    assert flavour.play(story) == [b"1", b"2", b"3"]


# ------------------------------------------------------------------------------------------------ push


def test_a_consumer_of_ours_is_gone_when_unsubscribe_returns(flavour, nats_server, name):
    async def story():
        async with flavour.connect(nats_server.url) as nc:
            js = nc.jetstream()
            stream = await stream_of(js, name, 2)
            async with js.subscribe(
                f"{name}.*", idle_heartbeat=BEAT, flow_control=True
            ) as messages:
                await messages.ready()
                there = await stream.consumer_names()
                bound = messages.feed.info.name
                first = await anext(messages)
                reason = await messages.unsubscribe()
                return there == (bound,), int(first.payload), reason, await stream.consumer_names()

    assert flavour.play(story) == (True, 1, EndReason.CLOSED, ())


def test_unsubscribe_raises_the_error_of_the_delete(flavour, nats_server, name):
    async def story():
        async with flavour.connect(nats_server.url) as nc:
            js = nc.jetstream()
            stream = await stream_of(js, name, 1)
            async with js.subscribe(f"{name}.*") as messages:
                await messages.ready()
                await stream.consumer(messages.feed.info.name).delete()
                with pytest.raises(ConsumerNotFound):
                    await messages.unsubscribe()
                assert messages.feed.state is PushState.OVER

    flavour.play(story)


def test_a_drain_hands_out_what_is_there_and_then_deletes(flavour, nats_server, name):
    async def story():
        async with flavour.connect(nats_server.url) as nc:
            js = nc.jetstream()
            stream = await stream_of(js, name, 20)
            async with js.subscribe(f"{name}.*", ack_policy="none") as messages:
                await messages.next()
                await messages.drain()
                left = [int(msg.payload) async for msg in messages]

                async def gone():
                    return not await stream.consumer_names()

                return left, await until(gone)

    assert flavour.play(story) == (list(range(2, 21)), True)


def test_what_cannot_be_subscribed_to_says_so_when_it_is_waited_for_or_read(
    flavour, nats_server, name
):
    async def story():
        async with flavour.connect(nats_server.url) as nc:
            js = nc.jetstream()
            stream = await stream_of(js, name, 1)
            await stream.create_consumer(durable_name="PULLED")
            pushed = await stream.create_consumer(
                durable_name="PUSHED", deliver_subject=f"deliver.{name}"
            )
            async with pushed.subscribe() as first:
                await first.ready()

                async def noticed():
                    return (await pushed.info()).push_bound

                await until(noticed)
                refused = [
                    (PushOnPull, stream.consumer("PULLED").subscribe()),
                    (DuplicateSubscription, pushed.subscribe()),
                    (NoMatchingStream, js.subscribe("nobody.stores.this")),
                    (ConsumerNotFound, stream.consumer("NONE").subscribe()),
                ]
                for error, feed in refused:
                    async with feed as messages:
                        with pytest.raises(error):
                            await messages.ready()
                        with pytest.raises(error):
                            await anext(messages)
            with pytest.raises(NoSubject):
                js.subscribe()
            with pytest.raises(PullOnPush):
                await js.pull_subscribe(stream=name, consumer="PUSHED")

    flavour.play(story)


def test_a_closed_connection_ends_a_handler_with_an_error(flavour, nats_server, name):
    async def story():
        async with (
            flavour.connect(nats_server.url) as nc,
            flavour.connect(nats_server.url) as other,
        ):
            js = nc.jetstream()
            stream = await stream_of(js, name, 1)
            async with other.jetstream().subscribe(f"{name}.*", ack_policy="none") as messages:
                with pytest.raises(ConnectionClosed):
                    await messages.each(lambda msg: other.close())

            async def gone():
                return not await stream.consumer_names()

            return await until(gone)

    assert flavour.play(story)


def test_members_of_a_queue_share_a_consumer_which_stays(flavour, nats_server, name):
    async def story():
        async with (
            flavour.connect(nats_server.url) as nc,
            flavour.connect(nats_server.url) as other,
        ):
            js = nc.jetstream()
            stream = await js.create_stream(name=name, subjects=[f"{name}.*"])
            async with (
                js.subscribe(f"{name}.*", queue="workers") as one,
                other.jetstream().subscribe(f"{name}.*", queue="workers") as two,
            ):
                await one.ready()
                await two.ready()
                got = []
                async with anyio.create_task_group() as tasks:
                    for each in (one, two):
                        tasks.start_soon(each.each, lambda msg: got.append(int(msg.payload)))
                    for number in range(50):
                        await js.publish(f"{name}.a", b"%d" % number)
                    while len(got) < 50:
                        await nc.flush()
                    await one.unsubscribe()
                    await two.unsubscribe()
            return sorted(got), await stream.consumer_names()

    assert flavour.play(story) == (list(range(50)), ("workers",))


# ------------------------------------------------------------------------------------------------ the pull form


def test_a_pull_subscription_finds_its_stream_and_makes_its_consumer_once(
    flavour, nats_server, name
):
    async def story():
        async with flavour.connect(nats_server.url) as nc:
            js = nc.jetstream()
            await stream_of(js, name, 3)
            made = await js.pull_subscribe(f"{name}.*", durable_name="D")
            again = await js.pull_subscribe(f"{name}.*", durable_name="D")
            got = []
            await again.fetch(3).each(lambda msg: got.append(int(msg.payload)))
            return (
                made.stream.name == name,
                made.name,
                again.name,
                again.cached.config.filter_subject,
                got,
            )

    assert flavour.play(story) == (True, "D", "D", f"{name}.*", [1, 2, 3])


# ------------------------------------------------------------------------------------------------ ordered


def test_a_finite_read_has_what_is_there_and_leaves_no_consumer(flavour, nats_server, name):
    async def story():
        async with flavour.connect(nats_server.url) as nc:
            js = nc.jetstream()
            stream = await stream_of(js, name, 100)
            read = []
            for form in SourceKind:
                async with stream.read(form=form, max_messages=30) as messages:
                    await messages.ready()
                    read.append([int(msg.payload) async for msg in messages])

            async def gone():
                return not await stream.consumer_names()

            return read, await until(gone)

    assert flavour.play(story) == ([list(range(1, 101))] * 2, True)


@pytest.mark.parametrize("form", list(SourceKind))
def test_a_server_killed_in_mid_stream_costs_an_ordered_reader_nothing(
    flavour, start_server, name, form
):
    server = start_server()

    async def story():
        got = []
        async with (
            flavour.connect(server.url, **QUICK) as nc,
            flavour.connect(server.url, **QUICK) as admin,
        ):
            stream = await stream_of(admin.jetstream(), name, 1000)
            async with stream_reader(nc, name, form) as messages:

                async def handle(msg):
                    got.append(int(msg.payload))
                    if len(got) == 500:
                        server.kill()
                        server.restart()
                        for number in range(1001, 1011):
                            await patient(
                                lambda number=number: admin.jetstream().publish(
                                    f"{name}.a", b"%d" % number, msg_id=str(number)
                                )
                            )
                    if len(got) == 1010:
                        await messages.stop()

                reason = await messages.each(handle)
                made = messages.feed.incarnation.count

            async def gone():
                return not await patient(stream.consumer_names)

            return reason, got, made, await until(gone)

    reason, got, made, gone = flavour.play(story)
    assert (reason, got, gone) == (EndReason.CLOSED, list(range(1, 1011)), True)
    assert made >= 2


def stream_reader(nc, name, form):
    return nc.jetstream().ordered_consumer(
        name, form=form, max_messages=100, expires=5.0, idle_heartbeat=0.5
    )


# ------------------------------------------------------------------------------------------------ misuse


def test_a_feed_that_was_not_entered_says_so_and_can_still_be_entered(flavour, nats_server, name):
    async def story():
        async with flavour.connect(nats_server.url) as nc:
            stream = await stream_of(nc.jetstream(), name, 1)
            feed = stream.ordered()
            for verb in (
                feed.unsubscribe,
                feed.drain,
                feed.ended,
                feed.ready,
                feed.next,
                feed.stop,
            ):
                with pytest.raises(ConversationClosed, match="opened"):
                    await verb()
            async with feed as messages:
                return int((await messages.next()).payload)

    assert flavour.play(story) == 1


def test_a_second_reader_is_told_that_somebody_waits(flavour, nats_server, name):
    async def story():
        async with flavour.connect(nats_server.url) as nc:
            stream = await stream_of(nc.jetstream(), name, 0)
            got = []
            async with stream.ordered() as messages, anyio.create_task_group() as tasks:
                tasks.start_soon(note, messages.next, got)
                await anyio.wait_all_tasks_blocked()
                with pytest.raises(BusyConversation):
                    await messages.next()
                await nc.jetstream().publish(f"{name}.a", b"1")
            return int(got[0].payload)

    assert flavour.play(story) == 1
