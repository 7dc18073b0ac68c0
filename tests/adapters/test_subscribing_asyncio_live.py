"""Push subscriptions, ordered consumers and handlers through the asyncio adapter, on a real server."""

from __future__ import annotations

import asyncio
import uuid
from datetime import timedelta

import pytest

from jsproto import (
    BusyConversation,
    ConnectionClosed,
    ConsumerNotFound,
    ConversationClosed,
    DuplicateSubscription,
    End,
    Form,
    LinkError,
    NoMatchingStream,
    NoResponders,
    NoSubject,
    PullOnPush,
    PushOnPull,
    RequestTimeout,
    ServerError,
)
from jsproto.jetstream.push import PushState
from jsproto_io.asyncio import connect

pytestmark = pytest.mark.live

BEAT = timedelta(milliseconds=500)
QUICK = {"reconnect_wait": 0.05, "reconnect_wait_max": 0.2, "reconnect_jitter": 0.0}
NOT_YET = (NoResponders, RequestTimeout, LinkError, ServerError)


def play(story, *, patience=60.0):
    """Run a coroutine function, and see that it leaves no task behind."""

    async def whole():
        async with asyncio.timeout(patience):
            result = await story()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return result

    return asyncio.run(whole())


async def until(condition):
    """Ask until the answer is true; `play` bounds it."""
    while not (seen := await condition()):  # noqa: ASYNC110 - the server has no event for it
        await asyncio.sleep(0.01)
    return seen


async def patient(verb):
    """A server that was just started again may say no for a while."""
    while True:
        try:
            return await verb()
        except NOT_YET:
            await asyncio.sleep(0.01)


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


def test_a_handler_gets_what_is_pushed_acknowledges_by_coming_back_and_drains(nats_server, name):
    async def story():
        got = []
        async with connect(nats_server.url) as nc:
            js = nc.jetstream()
            stream = await stream_of(js, name, 5)
            pushed = await stream.create_consumer(durable_name="P", deliver_subject=f"deliver.{name}")
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

    assert play(story) == (End.CLOSED, [1, 2, 3, 4, 5], 5, ("P",))


def test_what_a_handler_has_settled_is_left_so_and_manual_acks_are_the_handlers(nats_server, name):
    async def story():
        async with connect(nats_server.url) as nc:
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
    assert play(story) == (End.FILLED, each, End.FILLED, 3, 3)


def test_what_a_handler_raises_comes_out_and_its_message_is_not_acknowledged(nats_server, name):
    async def story():
        async with connect(nats_server.url) as nc:
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

    ended, open_ = play(story)
    assert ended
    assert open_ >= 1


def test_every_kind_of_feed_has_handlers(nats_server, name):
    async def story():
        async with connect(nats_server.url) as nc:
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
    assert play(story) == ((End.FILLED, End.FILLED, End.FILLED, None), [*numbers, *numbers, b"5", b"6"], 4)


def test_a_consume_is_ended_from_outside_and_every_watcher_hears_of_it(nats_server, name):
    async def story():
        async with connect(nats_server.url) as nc:
            js = nc.jetstream()
            stream = await stream_of(js, name, 3)
            work = await stream.create_consumer(durable_name="W")
            got = []
            async with work.consume(max_messages=10) as messages:
                tasks = [
                    asyncio.create_task(messages.each(lambda msg: got.append(msg.payload))),
                    asyncio.create_task(messages.ended()),
                    asyncio.create_task(messages.ended()),
                ]
                while len(got) < 3:
                    await nc.flush()
                await messages.drain()
                return await asyncio.gather(*tasks), len(got)

    assert play(story) == ([End.CLOSED] * 3, 3)


# ------------------------------------------------------------------------------------------------ next


def test_next_waits_so_long_and_the_feed_goes_on(nats_server, name):
    async def story():
        async with connect(nats_server.url) as nc:
            js = nc.jetstream()
            await stream_of(js, name, 1)
            async with js.subscribe(f"{name}.*", ack_policy="none") as messages:
                got = [(await messages.next()).payload]
                with pytest.raises(RequestTimeout, match=r"within 0\.05 s"):
                    await messages.next(0.05)
                await js.publish(f"{name}.a", b"2")
                got.append((await messages.next(5.0)).payload)
                cancelled = asyncio.create_task(messages.next(None))
                await asyncio.sleep(0)
                cancelled.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await cancelled
                await js.publish(f"{name}.a", b"3")
                got.append((await messages.next(None)).payload)
                await messages.unsubscribe()
                with pytest.raises(ConversationClosed, match="it has ended"):
                    await messages.next()
            return got

    assert play(story) == [b"1", b"2", b"3"]


# ------------------------------------------------------------------------------------------------ push


def test_a_consumer_of_ours_is_gone_when_unsubscribe_returns(nats_server, name):
    async def story():
        async with connect(nats_server.url) as nc:
            js = nc.jetstream()
            stream = await stream_of(js, name, 2)
            async with js.subscribe(f"{name}.*", idle_heartbeat=BEAT, flow_control=True) as messages:
                await messages.ready()
                there = await stream.consumer_names()
                bound = messages.feed.info.name
                reader = asyncio.create_task(anext(messages))
                first = await reader
                reason = await messages.unsubscribe()
                return there == (bound,), int(first.payload), reason, await stream.consumer_names()

    assert play(story) == (True, 1, End.CLOSED, ())


def test_unsubscribe_raises_the_error_of_the_delete(nats_server, name):
    async def story():
        async with connect(nats_server.url) as nc:
            js = nc.jetstream()
            stream = await stream_of(js, name, 1)
            async with js.subscribe(f"{name}.*") as messages:
                await messages.ready()
                await stream.consumer(messages.feed.info.name).delete()
                with pytest.raises(ConsumerNotFound):
                    await messages.unsubscribe()
                assert messages.feed.state is PushState.OVER

    play(story)


def test_a_drain_hands_out_what_is_there_and_then_deletes(nats_server, name):
    async def story():
        async with connect(nats_server.url) as nc:
            js = nc.jetstream()
            stream = await stream_of(js, name, 20)
            async with js.subscribe(f"{name}.*", ack_policy="none") as messages:
                await messages.next()
                await messages.drain()
                left = [int(msg.payload) async for msg in messages]

                async def gone():
                    return not await stream.consumer_names()

                return left, await until(gone)

    assert play(story) == (list(range(2, 21)), True)


def test_what_cannot_be_subscribed_to_says_so_when_it_is_waited_for_or_read(nats_server, name):
    async def story():
        async with connect(nats_server.url) as nc:
            js = nc.jetstream()
            stream = await stream_of(js, name, 1)
            await stream.create_consumer(durable_name="PULLED")
            pushed = await stream.create_consumer(durable_name="PUSHED", deliver_subject=f"deliver.{name}")
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

    play(story)


def test_a_closed_connection_ends_a_handler_with_an_error(nats_server, name):
    async def story():
        async with connect(nats_server.url) as nc, connect(nats_server.url) as other:
            js = nc.jetstream()
            stream = await stream_of(js, name, 1)
            async with other.jetstream().subscribe(f"{name}.*", ack_policy="none") as messages:
                with pytest.raises(ConnectionClosed):
                    await messages.each(lambda msg: other.close())

            async def gone():
                return not await stream.consumer_names()

            return await until(gone)

    assert play(story)


def test_members_of_a_queue_share_a_consumer_which_stays(nats_server, name):
    async def story():
        async with connect(nats_server.url) as nc, connect(nats_server.url) as other:
            js = nc.jetstream()
            stream = await js.create_stream(name=name, subjects=[f"{name}.*"])
            async with (
                js.subscribe(f"{name}.*", queue="workers") as one,
                other.jetstream().subscribe(f"{name}.*", queue="workers") as two,
            ):
                await one.ready()
                await two.ready()
                got = []
                tasks = [
                    asyncio.create_task(each.each(lambda msg: got.append(int(msg.payload))))
                    for each in (one, two)
                ]
                for number in range(50):
                    await js.publish(f"{name}.a", b"%d" % number)
                while len(got) < 50:
                    await nc.flush()
                await one.unsubscribe()
                await two.unsubscribe()
                await asyncio.gather(*tasks)
            return sorted(got), await stream.consumer_names()

    assert play(story) == (list(range(50)), ("workers",))


# ------------------------------------------------------------------------------------------------ the pull form


def test_a_pull_subscription_finds_its_stream_and_makes_its_consumer_once(nats_server, name):
    async def story():
        async with connect(nats_server.url) as nc:
            js = nc.jetstream()
            await stream_of(js, name, 3)
            made = await js.pull_subscribe(f"{name}.*", durable_name="D")
            again = await js.pull_subscribe(f"{name}.*", durable_name="D")
            got = []
            await again.fetch(3).each(lambda msg: got.append(int(msg.payload)))
            return made.stream.name == name, made.name, again.name, again.cached.config.filter_subject, got

    assert play(story) == (True, "D", "D", f"{name}.*", [1, 2, 3])


# ------------------------------------------------------------------------------------------------ ordered


def test_a_finite_read_has_what_is_there_and_leaves_no_consumer(nats_server, name):
    async def story():
        async with connect(nats_server.url) as nc:
            js = nc.jetstream()
            stream = await stream_of(js, name, 100)
            read = []
            for form in Form:
                async with stream.read(form=form, max_messages=30) as messages:
                    await messages.ready()
                    read.append([int(msg.payload) async for msg in messages])

            async def gone():
                return not await stream.consumer_names()

            return read, await until(gone)

    assert play(story) == ([list(range(1, 101))] * 2, True)


@pytest.mark.parametrize("form", list(Form))
def test_a_server_killed_in_mid_stream_costs_an_ordered_reader_nothing(start_server, name, form):
    server = start_server()

    async def story():
        got = []
        async with connect(server.url, **QUICK) as nc, connect(server.url, **QUICK) as admin:
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

    reason, got, made, gone = play(story)
    assert (reason, got, gone) == (End.CLOSED, list(range(1, 1011)), True)
    assert made >= 2


def stream_reader(nc, name, form):
    return nc.jetstream().ordered_consumer(name, form=form, max_messages=100, expires=5.0, idle_heartbeat=0.5)


# ------------------------------------------------------------------------------------------------ misuse


def test_a_feed_that_was_not_entered_says_so_and_can_still_be_entered(nats_server, name):
    async def story():
        async with connect(nats_server.url) as nc:
            stream = await stream_of(nc.jetstream(), name, 1)
            feed = stream.ordered()
            for verb in (feed.unsubscribe, feed.drain, feed.ended, feed.ready, feed.next, feed.stop):
                with pytest.raises(ConversationClosed, match="opened"):
                    await verb()
            async with feed as messages:
                return int((await messages.next()).payload)

    assert play(story) == 1


def test_a_second_reader_is_told_that_somebody_waits(nats_server, name):
    async def story():
        async with connect(nats_server.url) as nc:
            stream = await stream_of(nc.jetstream(), name, 0)
            async with stream.ordered() as messages:
                first = asyncio.create_task(messages.next())
                await asyncio.sleep(0)
                with pytest.raises(BusyConversation):
                    await messages.next()
                await nc.jetstream().publish(f"{name}.a", b"1")
                return int((await first).payload)

    assert play(story) == 1
