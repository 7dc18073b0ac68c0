"""The adapters with ``await`` on a real server: asyncio, trio, and anyio on both."""

from __future__ import annotations

import uuid
from datetime import timedelta

import anyio
import pytest

from jsproto.core.connection.events import Connected
from jsproto.errors import (
    AuthorizationFailed,
    ConversationClosed,
    InvalidConfig,
    InvalidSubject,
    JsprotoError,
    NoResponders,
    PermissionViolation,
    RequestTimeout,
)
from jsproto.jetstream.api.errors import (
    ConfigurationRefused,
    ConsumerNotFound,
    JetStreamNotEnabled,
    StreamNotFound,
    WrongLastSequence,
)
from jsproto.jetstream.errors import ConsumerDeleted
from jsproto.jetstream.publish.window import Outcome
from jsproto_io._async_client.messages import AsyncMessage

pytestmark = pytest.mark.live


async def until(condition):
    """Ask until the answer is true; `flavour.play` bounds it."""
    while not (seen := await condition()):  # noqa: ASYNC110 - the server has no event for it
        await anyio.sleep(0.01)
    return seen


@pytest.fixture
def name():
    """A name of a stream, and first token of its subjects, that no other test uses."""
    return f"T{uuid.uuid4().hex[:12]}"


async def filled(js, name, count, **settings):
    """A stream with so many messages ``0``, ``1``, ... on ``<name>.a``."""
    stream = await js.create_stream(name=name, subjects=[f"{name}.>"], **settings)
    async with js.publish_window() as window:
        for at in range(count):
            await window.put((f"{name}.a", b"%d" % at))
    return stream


# ---------------------------------------------------------------------------------------------- JetStream


def test_the_story_of_the_front_page(flavour, nats_server, name):
    async def story():
        async with flavour.connect(nats_server.url) as nc:
            js = nc.jetstream()
            orders = await js.create_stream(name=name, subjects=[f"{name}.*"])
            await js.publish(f"{name}.received", b"1", msg_id="order-1")
            work = await orders.create_consumer(
                durable_name="NEW", filter_subject=f"{name}.received"
            )
            async with work.consume(max_messages=500) as messages:
                async for msg in messages:
                    assert isinstance(msg, AsyncMessage)
                    assert (msg.subject, msg.payload, msg.headers["Nats-Msg-Id"]) == (
                        f"{name}.received",
                        b"1",
                        "order-1",
                    )
                    assert msg.metadata.stream_sequence == 1
                    assert await msg.ack() is True
                    assert await msg.ack() is False
                    break
            await until(lambda: floor_is(work, 1))

            assert (await work.info()).num_ack_pending == 0

    async def floor_is(work, floor):
        return (await work.info()).ack_floor.stream_seq == floor

    flavour.play(story)


def test_a_message_can_be_settled_in_every_way(flavour, nats_server, name):
    async def story():
        async with flavour.connect(nats_server.url) as nc:
            stream = await filled(nc.jetstream(), name, 4)
            work = await stream.create_consumer(name="C", max_deliver=5)
            deliveries = []
            async with work.consume() as messages:
                async for msg in messages:
                    deliveries.append((msg.payload, msg.metadata.num_delivered))
                    assert await msg.in_progress() is True
                    if msg.payload == b"0":
                        assert await msg.ack() is True
                    elif msg.payload == b"1" and msg.metadata.num_delivered == 1:
                        assert await msg.nak() is True
                    elif msg.payload == b"2" and msg.metadata.num_delivered == 1:
                        assert await msg.nak(0.05) is True
                    elif msg.payload == b"3":
                        assert await msg.term("never") is True
                    else:
                        assert await msg.ack_confirmed() is True
                    assert await msg.in_progress() is (await msg.ack())
                    if len(deliveries) == 6:
                        break
            info = await work.info()

            assert sorted(deliveries) == [
                (b"0", 1),
                (b"1", 1),
                (b"1", 2),
                (b"2", 1),
                (b"2", 2),
                (b"3", 1),
            ]
            assert info.ack_floor.stream_seq == 4
            assert info.num_ack_pending == 0

    flavour.play(story)


def test_what_was_handed_out_can_be_settled_after_its_feed_is_closed(flavour, nats_server, name):
    async def story():
        async with flavour.connect(nats_server.url) as nc:
            stream = await filled(nc.jetstream(), name, 1)
            work = await stream.create_consumer(name="C")
            async with work.fetch(1) as messages:
                msg = await anext(messages)

            assert await msg.ack_confirmed() is True
            assert (await work.info()).num_ack_pending == 0

    flavour.play(story)


def test_fetch_gives_what_was_asked_for_and_ends(flavour, nats_server, name):
    async def story():
        async with flavour.connect(nats_server.url) as nc:
            stream = await filled(nc.jetstream(), name, 25)
            work = await stream.create_consumer(name="C", ack_policy="none")
            got = []
            for _ in range(3):
                async with work.fetch(10, timeout=1.0) as messages:
                    async for batch in messages.batches():
                        got += batch

            assert [msg.payload for msg in got] == [b"%d" % at for at in range(25)]

    flavour.play(story)


def test_next_is_one_message_or_a_timeout(flavour, nats_server, name):
    async def story():
        async with flavour.connect(nats_server.url) as nc:
            stream = await filled(nc.jetstream(), name, 1)
            work = await stream.create_consumer(name="C")

            msg = await work.next()
            assert (msg.payload, await msg.ack()) == (b"0", True)
            with pytest.raises(RequestTimeout, match="got none"):
                await work.next(timeout=0.05)

    flavour.play(story)


def test_a_window_gives_a_result_for_each_message_in_order(flavour, nats_server, name):
    async def story():
        async with flavour.connect(nats_server.url) as nc:
            js = nc.jetstream()
            await js.create_stream(name=name, subjects=[f"{name}.a"])
            results = []
            async with js.publish_window(max_pending=10) as window:

                async def collect():
                    results.extend([result async for result in window.results()])

                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(collect)
                    for at in range(100):
                        await window.put((f"{name}.a", b"%d" % at))
                    await window.drain()

            assert [(result.number, result.ack.seq) for result in results] == [
                (n, n) for n in range(1, 101)
            ]
            with pytest.raises(ConversationClosed):
                await window.put((f"{name}.a", b"too late"))

    flavour.play(story)


def test_a_window_left_with_a_failure_that_nobody_took_raises_it(flavour, nats_server, name):
    async def story():
        async with flavour.connect(nats_server.url) as nc:
            js = nc.jetstream()
            await js.create_stream(name=name, subjects=[f"{name}.a"])
            window = js.publish_window(retries=0)
            with pytest.raises(NoResponders, match=rf"{name}\.b"):
                await fill(window)
            outcomes = {result.subject: result.outcome async for result in window.results()}

            assert outcomes == {f"{name}.a": Outcome.ACKED, f"{name}.b": Outcome.NO_RESPONDERS}

    async def fill(window):
        async with window:
            await window.put((f"{name}.a", b"stored"))
            await window.put((f"{name}.b", b"no stream"))

    flavour.play(story)


def test_a_window_left_by_an_error_closes_at_once(flavour, nats_server, name):
    async def story():
        async with flavour.connect(nats_server.url) as nc:
            js = nc.jetstream()
            await js.create_stream(name=name, subjects=[f"{name}.a"])
            window = js.publish_window()
            with pytest.raises(ZeroDivisionError):
                await fill(window)

            assert window.window.ended is True

    async def fill(window):
        async with window:
            await window.put((f"{name}.a", b"x"))
            raise ZeroDivisionError

    flavour.play(story)


def test_bad_input_is_one_typed_error_that_says_what_was_asked(flavour, nats_server, name):
    async def story():
        async with flavour.connect(nats_server.url) as nc:
            js = nc.jetstream()
            stream = await filled(js, name, 1)
            with pytest.raises(StreamNotFound, match="NOPE"):
                await js.stream("NOPE").info()
            with pytest.raises(ConsumerNotFound, match="NOPE"):
                await stream.consumer("NOPE").info()
            with pytest.raises(InvalidSubject):
                await js.publish("a b", b"")
            with pytest.raises(NoResponders, match=r"a stream that stores 'no\.stream'"):
                await js.publish("no.stream", b"", retries=0)
            with pytest.raises(InvalidConfig):
                await js.create_stream(name=name, no_such=1)
            with pytest.raises(ConfigurationRefused, match="heartbeat"):
                await stream.create_consumer(
                    name="C", deliver_subject="d", idle_heartbeat=timedelta(microseconds=1)
                )
            with pytest.raises(WrongLastSequence, match="wrong last sequence: 1"):
                await js.publish(f"{name}.a", b"", expected_last_sequence=7)
            with pytest.raises(JetStreamNotEnabled):
                await nc.jetstream(domain="nowhere").account_info()

    flavour.play(story)


def test_a_consume_ends_when_its_consumer_is_deleted(flavour, nats_server, name):
    async def story():
        async with flavour.connect(nats_server.url) as nc:
            stream = await filled(nc.jetstream(), name, 0)
            work = await stream.create_consumer(name="C")
            async with work.consume() as messages:

                async def read():
                    with pytest.raises(ConsumerDeleted):
                        await anext(messages)

                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(read)
                    await until(lambda: waits(work))
                    await work.delete()

    async def waits(work):
        return (await work.info()).num_waiting

    flavour.play(story)


# ---------------------------------------------------------------------------------------------- core NATS


def test_requests_are_answered_through_a_queue_group_by_one_of_its_members(
    flavour, nats_server, name
):
    async def story():
        async with flavour.connect(nats_server.url) as nc:
            served = []

            async def serve(who):
                async with nc.subscribe(name, queue="workers") as messages:
                    ready.release()
                    async for msg in messages:
                        served.append(who)
                        await nc.publish(msg.reply, msg.payload.upper(), headers={"Who": who})

            ready = anyio.Semaphore(0)
            async with anyio.create_task_group() as tasks:
                for who in "ab":
                    tasks.start_soon(serve, who)
                await ready.acquire()
                await ready.acquire()
                answers = [
                    await nc.request(name, b"x%d" % at, headers={"K": "v"}) for at in range(20)
                ]
                tasks.cancel_scope.cancel()

            assert [answer.payload for answer in answers] == [b"X%d" % at for at in range(20)]
            assert [answer.headers["Who"] for answer in answers] == served
            with pytest.raises(NoResponders):
                await nc.request(name)

    flavour.play(story)


def test_a_subscription_with_a_limit_ends_by_itself(flavour, nats_server, name):
    async def story():
        async with (
            flavour.connect(nats_server.url) as nc,
            nc.subscribe(f"{name}.*", limit=3) as messages,
        ):
            for at in range(5):
                await nc.publish(f"{name}.{at}", headers={"At": str(at)})
            assert await nc.flush() > 0.0
            assert await nc.rtt() > 0.0

            assert [msg.headers["At"] async for msg in messages] == ["0", "1", "2"]

    flavour.play(story)


def test_a_limit_on_a_running_subscription_holds_over_a_reconnect(flavour, nats_server, name):
    async def story():
        async with (
            flavour.connect(nats_server.url) as other,
            flavour.connect(nats_server.url) as nc,
            nc.subscribe(name) as messages,
            nc.subscribe(name) as unlimited,
        ):
            with pytest.raises(ConversationClosed):
                await nc.subscribe(name).limit(1)
            await nc.flush()
            for at in range(2):
                await other.publish(name, b"%d" % at)

            assert [(await messages.next()).payload for _ in range(2)] == [b"0", b"1"]

            await other.flush()
            await nc.reconnect()
            await nc.flush()
            await messages.limit(5)
            with pytest.raises(InvalidConfig):
                await messages.limit(6)
            await nc.flush()
            for at in range(2, 9):
                await other.publish(name, b"%d" % at)

            assert [msg.payload async for msg in messages] == [b"2", b"3", b"4"]
            assert [(await unlimited.next()).payload for _ in range(9)] == [
                b"%d" % at for at in range(9)
            ]

    flavour.play(story)


def test_many_bytes_are_published_with_back_pressure_and_none_is_lost(flavour, nats_server, name):
    async def story():
        async with (
            flavour.connect(nats_server.url, outbound_high=100_000, outbound_low=10_000) as nc,
            flavour.connect(nats_server.url) as other,
            other.subscribe(name) as messages,
        ):
            await other.flush()

            sizes = []

            async def read():
                async for msg in messages:
                    sizes.append(len(msg.payload))
                    if len(sizes) == 5000:
                        break

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(read)
                for _ in range(5000):
                    await nc.publish(name, b"x" * 1000)

            assert sum(sizes) == 5_000_000

    flavour.play(story)


# ---------------------------------------------------------------------------------------------- being let in


ACCOUNTS = """
accounts { A { users [ { user: joe, password: right } ] }
           B { users [ { user: eve, password: right, permissions { publish { deny: "forbidden" } } } ] } }
"""


def test_wrong_credentials_and_missing_permissions_are_typed(flavour, start_server):
    server = start_server(config=ACCOUNTS)

    async def story():
        with pytest.raises(AuthorizationFailed) as caught:
            await flavour.connect(server.url, auth=None).__aenter__()
        with pytest.raises(AuthorizationFailed):
            await flavour.connect(f"nats://joe:wrong@127.0.0.1:{server.port}").__aenter__()
        assert "wrong" not in str(caught.value)
        async with flavour.connect(f"nats://joe:right@127.0.0.1:{server.port}") as nc:
            with pytest.raises(JetStreamNotEnabled):
                await nc.jetstream().account_info()
        async with flavour.connect(f"nats://eve:right@127.0.0.1:{server.port}") as nc:
            with pytest.raises(PermissionViolation, match="forbidden"):
                await nc.request("forbidden")
            assert await nc.flush() > 0.0

    flavour.play(story)


# ---------------------------------------------------------------------------------------------- a server dies


def test_a_server_killed_in_mid_consume_loses_nothing_that_it_kept(flavour, start_server, name):
    server = start_server()

    async def story():
        options = {"reconnect_wait": 0.02, "reconnect_wait_max": 0.1, "reconnect_jitter": 0.01}
        async with flavour.connect(server.url, **options) as nc:
            js = nc.jetstream()
            stream = await filled(js, name, 1000, storage="file")
            work = await stream.create_consumer(durable_name="C", ack_wait=timedelta(seconds=2))
            events = nc.events()
            seen = set()

            async def read(messages):
                async for msg in messages:
                    seen.add(msg.metadata.stream_sequence)
                    await msg.ack()
                    if len(seen) == 300:
                        halfway.set()
                        await back.wait()

            halfway, back = anyio.Event(), anyio.Event()
            async with (
                work.consume(max_messages=100) as messages,
                anyio.create_task_group() as tasks,
            ):
                tasks.start_soon(read, messages)
                await halfway.wait()
                await anyio.to_thread.run_sync(server.kill)
                back.set()
                await anyio.to_thread.run_sync(server.restart)
                while not isinstance(event := await anext(events), Connected):
                    pass
                assert event.resumed is True
                await until(lambda: stored(stream))
                async with js.publish_window(retries=20) as window:
                    for at in range(1000, 1100):
                        await window.put((f"{name}.a", b"%d" % at))
                await until(
                    lambda: settled(work)
                )  # some acks died with the server: those messages come again
                await messages.close()
            state = (await stream.info()).state

            assert state.messages == 1100
            assert seen == set(range(1, 1101))
            assert nc.stats.connects == 2

    async def stored(stream):
        try:
            return (await stream.info()).state.messages == 1000
        except JsprotoError:
            return False

    async def settled(work):
        info = await work.info()
        return info.num_ack_pending == 0 and info.ack_floor.stream_seq == 1100

    flavour.play(story)
