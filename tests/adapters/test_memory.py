"""Applications on a model server in memory: each adapter as it is, half a minute in no time, and
whatever may break.
"""

from __future__ import annotations

import asyncio
import threading
import time

import anyio
import pytest
import trio

from jsproto.errors import (
    ConnectFailed,
    ConnectionLost,
    LocalProtocolError,
    RequestTimeout,
    ServerError,
    WindowFull,
)
from jsproto.jetstream.errors import ConsumerDeleted
from jsproto.testing import SimServer
from jsproto_io import asyncio as on_asyncio
from jsproto_io import blocking
from jsproto_io import trio as on_trio
from jsproto_io.memory import MemoryServer

ELSEWHERE = "nats://nats.example.com:4222"


@pytest.fixture
def server():
    return MemoryServer()


async def stocked(nc, count=0):
    """A consumer of a stream with so many messages."""
    js = nc.jetstream()
    orders = await js.create_stream(name="ORDERS", subjects=["ORDERS.*"])
    for each in range(count):
        await js.publish("ORDERS.a", b"%d" % each)
    return await orders.create_consumer(durable_name="NEW")


def stocked_sync(nc, count=0):
    js = nc.jetstream()
    orders = js.create_stream(name="ORDERS", subjects=["ORDERS.*"])
    for each in range(count):
        js.publish("ORDERS.a", b"%d" % each)
    return orders.create_consumer(durable_name="NEW")


def waiting(server):
    return server.request("CONSUMER.INFO.ORDERS.NEW")["num_ack_pending"]


# ------------------------------------------------------------------------------------------------ with await


def test_messages_are_consumed_and_acknowledged(flavour, server):
    async def story():
        async with flavour.connect(ELSEWHERE) as nc:
            new = await stocked(nc, 3)
            seen = []
            async with new.consume(stop_after=3) as messages:
                async for msg in messages:
                    seen.append(msg.payload)
                    await msg.ack()
            await nc.flush()
            return seen

    assert [b"0", b"1", b"2"] == server.run(story, backend=flavour.backend)
    assert waiting(server) == 0
    assert (1, 0) == (server.accepted, server.connected)


def test_of_a_long_turn_the_first_commands_are_with_the_server_before_it_ends(flavour, server):
    async def story():
        async with flavour.connect(ELSEWHERE) as nc:
            new = await stocked(nc, 300)
            async with new.fetch(300) as messages:
                await messages.ended()
                before = nc.stats.messages_out
                async for msg in messages:  # all are there, so nothing waits
                    await msg.ack()
                acked = nc.stats.messages_out - before
            await nc.flush()
            async with nc.jetstream().publish_window(max_pending=300, results=False) as window:
                before = nc.stats.messages_out
                for each in range(300):
                    await window.put(("ORDERS.b", b"%d" % each))
                put = nc.stats.messages_out - before
            before = nc.stats.messages_out
            for each in range(300):
                await nc.publish("elsewhere", b"%d" % each)
            return acked, put, nc.stats.messages_out - before

    for written in server.run(story, backend=flavour.backend):
        assert 200 < written < 300  # in a few writes, and the rest behind the turn
    assert waiting(server) == 0


@pytest.mark.parametrize("stall_wait", [2.0, 0.0])
def test_a_put_does_not_wait_for_room_for_longer_than_was_said(flavour, server, stall_wait):
    async def story():
        async with flavour.connect(ELSEWHERE) as nc:
            js = nc.jetstream()
            await js.create_stream(name="SILENT", subjects=["silent"], no_ack=True)
            begun = server.clock.now
            try:
                async with js.publish_window(
                    max_pending=2, ack_timeout=60.0, stall_wait=stall_wait
                ) as window:
                    for each in range(3):
                        await window.put(("silent", b"%d" % each))
            except WindowFull as full:
                await nc.flush()
                return full.pending, full.waited, server.clock.now - begun

    pending, waited, virtual = server.run(story, backend=flavour.backend)

    assert (pending, server.request("STREAM.INFO.SILENT")["state"]["messages"]) == (2, 2)
    assert [waited, virtual] == pytest.approx([stall_wait, stall_wait], abs=0.01)


def test_a_put_does_not_wait_for_a_link_for_longer_than_was_said(flavour, server):
    async def story():
        async with flavour.connect(ELSEWHERE) as nc:
            await stocked(nc)
            async with nc.jetstream().publish_window(stall_wait=2.0) as window:
                server.kill()
                with pytest.raises(ConnectionLost):
                    await nc.flush()
                with pytest.raises(
                    WindowFull, match="0 messages of 0 bytes under way and no link for 2"
                ):
                    await window.put(("ORDERS.a", b""))

    server.run(story, backend=flavour.backend)


def test_half_a_minute_of_patience_takes_no_time(flavour, server):
    async def story():
        async with flavour.connect(ELSEWHERE) as nc:
            new = await stocked(nc)
            begun, virtual = time.perf_counter(), server.clock.now
            async with new.fetch(1, expires=30.0) as messages:
                assert [] == [msg async for msg in messages]
            return time.perf_counter() - begun, server.clock.now - virtual

    real, virtual = server.run(story, backend=flavour.backend)

    assert virtual == pytest.approx(30.0, abs=0.01)
    assert real < 0.5  # a busy machine; it takes 2 ms


def test_a_consume_goes_on_when_its_server_was_killed_and_is_back_after_a_while(flavour, server):
    async def story():
        async with flavour.connect(ELSEWHERE) as nc, anyio.create_task_group() as tasks:
            new = await stocked(nc, 2)

            async def break_it():
                server.kill()
                await anyio.sleep(20.0)
                server.start()
                server.publish("ORDERS.a", b"after")

            seen = []
            async with new.consume() as messages:
                async for msg in messages:
                    await msg.ack_confirmed()
                    seen.append(msg.payload)
                    if len(seen) == 2:
                        tasks.start_soon(break_it)
                    if len(seen) == 3:
                        break
            return seen

    assert [b"0", b"1", b"after"] == server.run(story, backend=flavour.backend)
    assert server.accepted == 2


def test_a_consume_survives_cuts_and_frost(flavour, server):
    async def story():
        async with flavour.connect(ELSEWHERE, ping_interval=5.0) as nc:
            new = await stocked(nc, 1)
            async with new.consume() as messages:
                first = await messages.next()
                await first.ack_confirmed()
                server.cut()
                server.publish("ORDERS.a", b"second")
                second = await messages.next(timeout=60.0)
                await second.ack_confirmed()
                server.freeze(40.0)
                server.publish("ORDERS.a", b"third")
                third = await messages.next(timeout=600.0)
                return [first.payload, second.payload, third.payload]

    assert [b"0", b"second", b"third"] == server.run(story, backend=flavour.backend)


def test_a_consumer_that_somebody_deletes_ends_its_reader(flavour, server):
    async def story():
        async with flavour.connect(ELSEWHERE) as nc:
            new = await stocked(nc, 1)
            async with new.consume() as messages:
                async for msg in messages:
                    await msg.ack()
                    server.delete_consumer("ORDERS", "NEW")

    with pytest.raises(ConsumerDeleted):
        server.run(story, backend=flavour.backend)


def test_a_server_that_is_down_is_not_reached(flavour, server):
    server.kill()

    async def story():
        async with flavour.connect(ELSEWHERE, connect_timeout=5.0, max_reconnects=3):
            pass

    with pytest.raises(ConnectFailed):
        server.run(story, backend=flavour.backend)


def test_who_waits_for_ever_is_told_so(flavour):
    server = MemoryServer(limit=600.0)

    async def story():
        async with flavour.connect(ELSEWHERE) as nc, nc.subscribe("never") as messages:
            async for _ in messages:
                pass

    with pytest.raises(LocalProtocolError, match="before virtual second 600"):
        server.run(story, backend=flavour.backend)
    assert server.connected == 0


def test_time_waits_for_threads(server):
    async def on_asyncio_loop():
        before = server.clock.now
        done = await asyncio.wait_for(asyncio.to_thread(threading.Event().wait, 0.01), 5.0)
        return done, server.clock.now - before

    async def in_trio():
        before = server.clock.now
        with trio.fail_after(5.0):
            done = await trio.to_thread.run_sync(threading.Event().wait, 0.01)
        return done, server.clock.now - before

    assert (False, 0.0) == server.run(on_asyncio_loop)
    assert (False, 0.0) == server.run(in_trio, backend="trio")


def test_what_else_is_connected_to_is_real(server):
    heard = []

    async def story():
        async def answer(reader, writer):
            writer.write(b"real")
            writer.close()

        door = await asyncio.start_server(answer, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*door.sockets[0].getsockname()[:2])
        heard.append(await reader.read())
        writer.close()
        await writer.wait_closed()
        door.close()
        await door.wait_closed()

    server.run(story)
    assert [b"real"] == heard


def test_where_nothing_ever_happens_a_callback_of_another_thread_is_still_heard(server):
    async def story():
        loop = asyncio.get_running_loop()
        woken = loop.create_future()
        threading.Timer(0.02, loop.call_soon_threadsafe, (woken.set_result, 1)).start()
        return await woken

    assert server.run(story) == 1


def test_another_clock_is_refused_with_a_word_about_it(server):
    async def story():
        with server:
            async with on_trio.connect(ELSEWHERE, max_reconnects=0):
                pass

    with pytest.raises(LocalProtocolError, match=r"MemoryServer\.run"):
        trio.run(story)


def test_arguments_and_results_pass(flavour, server):
    async def story(one, two):
        await anyio.sleep(1_000.0)
        return one + two

    assert server.run(story, 1, 2, backend=flavour.backend) == 3
    assert server.clock.now == pytest.approx(1_000.0)


def test_runs_of_one_server_share_its_time_and_its_streams(flavour, server):
    async def first():
        async with flavour.connect(ELSEWHERE) as nc:
            await stocked(nc, 1)
            await anyio.sleep(5.0)

    async def second():
        async with flavour.connect(ELSEWHERE) as nc:
            return (await nc.jetstream().stream("ORDERS").consumer("NEW").next()).payload

    server.run(first, backend=flavour.backend)
    assert server.run(second, backend=flavour.backend) == b"0"
    assert server.clock.now >= 5.0


def test_a_client_made_outside_is_none_of_ours(server):
    with server:
        pass

    with pytest.raises(ConnectFailed), blocking.connect("nats://127.0.0.1:1", max_reconnects=0):
        pass


def test_a_refusal_with_words_reaches_asyncio_too():
    server = MemoryServer(SimServer(max_connections=1))

    async def story():
        async with on_asyncio.connect(ELSEWHERE), on_asyncio.connect(ELSEWHERE, max_reconnects=0):
            pass

    with pytest.raises(ServerError, match="maximum connections"):
        server.run(story)


# ------------------------------------------------------------------------------------------------ without


def test_without_await_messages_are_consumed_and_acknowledged(server):
    with server, blocking.connect(ELSEWHERE) as nc:
        new = stocked_sync(nc, 3)
        seen = []
        with new.consume(stop_after=3) as messages:
            for msg in messages:
                seen.append(msg.payload)
                msg.ack()
        nc.flush()

    assert [b"0", b"1", b"2"] == seen
    assert waiting(server) == 0
    assert (1, 0) == (server.accepted, server.connected)


@pytest.mark.parametrize("stall_wait", [2.0, 0.0])
@pytest.mark.parametrize("pump", [False, True])
def test_without_await_a_put_does_not_wait_for_room_for_longer_than_was_said(
    server, pump, stall_wait
):
    with server, blocking.connect(ELSEWHERE, pump=pump) as nc:
        js = nc.jetstream()
        js.create_stream(name="SILENT", subjects=["silent"], no_ack=True)
        begun, told = server.clock.now, []
        try:
            with js.publish_window(
                max_pending=2, ack_timeout=60.0, stall_wait=stall_wait
            ) as window:
                for each in range(3):
                    window.put(("silent", b"%d" % each))
        except WindowFull as full:
            told += [full.pending, full.waited, server.clock.now - begun]
        nc.flush()

    assert told == pytest.approx([2, stall_wait, stall_wait], abs=0.01)
    assert server.request("STREAM.INFO.SILENT")["state"]["messages"] == 2


@pytest.mark.parametrize("pump", [False, True])
def test_without_await_half_a_minute_of_patience_takes_no_time(server, pump):
    threads = threading.active_count()
    with server, blocking.connect(ELSEWHERE, pump=pump) as nc:
        new = stocked_sync(nc)
        begun, virtual = time.perf_counter(), server.clock.now
        with new.fetch(1, expires=30.0) as messages:
            assert [] == list(messages)
        assert time.perf_counter() - begun < 0.5
        assert server.clock.now - virtual == pytest.approx(30.0, abs=0.01)
        assert threading.active_count() == threads


def test_without_await_a_consume_goes_on_when_its_server_was_killed(server):
    with server, blocking.connect(ELSEWHERE) as nc:
        new = stocked_sync(nc, 1)
        with new.consume() as messages:
            first = messages.next()
            first.ack_confirmed()
            server.restart()
            server.publish("ORDERS.a", b"after")
            second = messages.next(timeout=60.0)

    assert [b"0", b"after"] == [first.payload, second.payload]
    assert server.accepted == 2


def test_without_await_a_cut_is_survived_and_a_frost_runs_into_the_timeout(server):
    with server, blocking.connect(ELSEWHERE) as nc:
        stocked_sync(nc)
        server.cut()
        nc.flush()  # finds out before it says anything
        assert nc.stats.disconnects == 1
        server.freeze(30.0)
        with pytest.raises(RequestTimeout):
            nc.request("$JS.API.INFO", timeout=2.0)
        server.thaw()
        assert nc.request("$JS.API.INFO").payload


def test_without_await_a_consumer_that_somebody_deletes_ends_its_reader(server):
    def deleted(msg):
        msg.ack()
        server.delete_consumer("ORDERS", "NEW")

    with server, blocking.connect(ELSEWHERE) as nc:
        new = stocked_sync(nc, 1)
        with pytest.raises(ConsumerDeleted):
            new.consume().each(deleted)


def test_without_await_a_server_that_is_down_is_not_reached(server):
    server.kill()

    with server, pytest.raises(ConnectFailed), blocking.connect(ELSEWHERE, max_reconnects=2):
        pass


def test_without_await_who_waits_for_ever_is_told_so():
    with MemoryServer(limit=600.0), blocking.connect(ELSEWHERE) as nc:
        never = nc.subscribe("never")
        with pytest.raises(LocalProtocolError, match="before virtual second 600"):
            never.each(print)


def test_time_that_passes_while_the_caller_computes_brings_the_message_again(server):
    with server, blocking.connect(ELSEWHERE) as nc:
        stocked_sync(nc, 1)
        late = nc.jetstream().stream("ORDERS").consumer("NEW")
        first = late.next()
        server.advance(31.0)
        again = late.next()

    assert (1, 2) == (first.metadata.num_delivered, again.metadata.num_delivered)


def test_without_await_nobody_waits_for_what_never_happens(server):
    plug = server.plug()

    with pytest.raises(LocalProtocolError, match="nothing will ever happen"):
        plug.wait(None)
    plug.write(b"to nobody")
    assert plug.wait(1.0) is None
    assert server.clock.now == 1.0
