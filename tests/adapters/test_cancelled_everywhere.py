"""Every public coroutine of the clients with ``await`` is cancelled at its first wait, at its
second, and so on, on every framework.

A story uses one of them. After each cut the client lives on and answers, nothing of the story is
left open, and every message that the server had is either in the story's hands or comes again.
`STORIES` names all coroutines that there are: one that is added without a story fails.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
from datetime import timedelta
from functools import partial

import anyio
import pytest

from jsproto import JetStream
from jsproto.core.pubsub.request import Flush
from jsproto_io._async_client import facade as facade_async
from jsproto_io._async_client.client import AsyncClient
from jsproto_io._async_client.events import Events
from jsproto_io._async_client.feed import Feed
from jsproto_io._async_client.messages import AsyncMessage
from jsproto_io._async_client.sink import Sink
from jsproto_io._testing.harness import PromiseBroken, settles
from jsproto_io._testing.model_server import ModelServer
from jsproto_io.testing import _Rig
from tests.adapters.conftest import FLAVOURS, Flavour

JS = JetStream()
CONSUMER = JS.stream("S").consumer("C")
COUNT = 3
#: More waits than any story has.
MOST = 400


class Told:
    """What a story can use, and where it notes what it holds: payloads of messages that were handed
    to it.
    """

    def __init__(self, nc, url):
        self.nc = nc
        self.url = url
        self.held = set()

    @property
    def js(self):
        return self.nc.jetstream()

    @property
    def consumer(self):
        return self.js.stream("S").consumer("C")

    def holds(self, message):
        self.held.add(message.payload)
        return message


# ---------------------------------------------------------------------------------------------- stories of stored messages


async def take_and_ack(told):
    async with told.consumer.consume(max_messages=2) as messages:
        async for message in messages:
            await told.holds(message).ack()
            if message.metadata.num_pending == 0:
                break


async def take_next(told):
    async with told.consumer.consume() as messages:
        for _ in range(COUNT):
            await told.holds(await messages.next(5.0)).ack_confirmed()


async def take_batches(told):
    async with told.consumer.fetch(COUNT) as messages:
        async for batch in messages.batches():
            for message in batch:
                await told.holds(message).ack()


async def take_one(told):
    for _ in range(COUNT):
        await told.holds(await told.consumer.next()).ack()


async def handle_each(told):
    async with told.consumer.fetch(COUNT) as messages:
        await messages.each(lambda message: told.held.add(message.payload))


async def hand_back(told):
    async with told.consumer.ack_next() as messages:
        for _ in range(COUNT):
            await messages.put(told.holds(await messages.next(5.0)))


async def settle_in_every_way(told):
    async with told.consumer.fetch(COUNT) as messages:
        message = told.holds(await messages.next())
        await message.in_progress()
        await message.term("done")
        await (await messages.next()).nak()
        await told.nc.settle(told.holds(await messages.next()))


async def end_a_feed(told):
    async with told.consumer.consume() as messages:
        await messages.ready()
        await messages.drain()
        async for message in messages:
            await told.holds(message).ack()
        await messages.ended()
    async with told.consumer.consume() as messages:
        await messages.stop()
        await messages.close()


# ---------------------------------------------------------------------------------------------- stories of core NATS and of the connection


async def subscribe(told):
    async with told.nc.subscribe("q") as messages:
        await messages.limit(2)
        await told.nc.publish("q", b"1")
        await anext(messages)
        await messages.unsubscribe()


async def ask(told):
    async with told.nc.subscribe("svc") as questions:
        await told.nc.publish("svc", b"")
        await questions.next()
        await told.nc.flush()
        await told.nc.rtt()
        await told.nc.rtts(5.0)
        await told.nc.run(Flush(5.0))
        with pytest.raises(Exception, match="nobody listens"):
            await told.nc.request("nobody", timeout=5.0)


async def hear(told):
    events = told.nc.events()
    try:
        await told.nc.reconnect()
        for _ in range(2):
            await anext(events)
    finally:
        events.close()


async def fill(told):
    async with told.js.publish_window(max_pending=1) as window:
        for number in range(COUNT):
            await window.put(("other.a", b"%d" % number))
        await window.drain()
        async for _ in window.results():
            pass
    async with told.js.publish_window() as window:
        await window.close()


async def live(told):
    async with told.again() as nc, nc.subscribe("q"):
        await nc.drain()
        await nc.close()


STORIES = {
    take_and_ack: {"Feed.__aenter__", "Feed.__aexit__", "Feed.__anext__", "AsyncMessage.ack"},
    take_next: {"Feed.next", "AsyncMessage.ack_confirmed"},
    take_batches: {"Feed.batches"},
    take_one: {"AsyncClient.run"},
    handle_each: {"Feed.each"},
    hand_back: {"Feed.put"},
    settle_in_every_way: {
        "AsyncMessage.in_progress",
        "AsyncMessage.term",
        "AsyncMessage.nak",
        "AsyncClient.settle",
    },
    end_a_feed: {"Feed.ready", "Feed.drain", "Feed.ended", "Feed.stop", "Feed.close"},
    subscribe: {"Feed.limit", "Feed.unsubscribe", "AsyncClient.publish"},
    ask: {"AsyncClient.request", "AsyncClient.flush", "AsyncClient.rtt", "AsyncClient.rtts"},
    hear: {"AsyncClient.reconnect", "Events.__anext__"},
    fill: {
        "Sink.__aenter__",
        "Sink.__aexit__",
        "Sink.put",
        "Sink.drain",
        "Sink.results",
        "Sink.close",
    },
    live: {
        "AsyncClient.__aenter__",
        "AsyncClient.__aexit__",
        "AsyncClient.drain",
        "AsyncClient.close",
    },
}
WAYS = [
    (name, native)
    for name in FLAVOURS
    for native in ([False, True] if name == "asyncio" else [False])
]


def nothing_open(nc):
    return nc._connection.conversations == 0


async def cut_at_each_wait(rig, story):
    """Tell the story again and again, cut one wait later each time, until it is over before it is
    cut.
    """
    async with rig.connect() as nc:
        stream = await nc.jetstream().create_stream(name="S", subjects=["s.*"])
        await nc.jetstream().create_stream(name="OTHER", subjects=["other.*"])
        await stream.create_consumer(durable_name="C", ack_wait=timedelta(seconds=0.3))
        for at in range(1, MOST):
            sent = {b"%d.%d" % (at, number) for number in range(COUNT)}
            for payload in sorted(sent):
                await nc.jetstream().publish("s.a", payload)
            told = Told(nc, rig.hosted.url)
            told.again = rig.connect
            over = await rig.cut_short(story(told), at)

            assert await nc.flush() > 0.0, f"cut at wait {at}: the client lives on"
            async with nc.jetstream().stream("S").consumer("C").consume() as rest:
                with anyio.fail_after(20):
                    while rig.hosted.unsettled():
                        with anyio.move_on_after(0.05):
                            await told.holds(await anext(rest)).ack()
                            await nc.flush()
            assert told.held >= sent, f"cut at wait {at}: {sent - told.held} were lost"
            await settles(
                rig, partial(nothing_open, nc), f"cut at wait {at}: nothing of it is open any more"
            )
            if over:
                return at
    raise AssertionError("expected a story that ends")


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
@pytest.mark.parametrize(("name", "native"), WAYS)
def test_whatever_is_cancelled_loses_no_message_and_leaves_nothing(name, native, story):
    flavour = Flavour(*FLAVOURS[name])
    with ModelServer() as hosted:
        rig = _Rig(flavour.connect, hosted, waits=True, native=native)

        async def whole():
            cuts = await cut_at_each_wait(rig, story)
            await settles(rig, lambda: hosted.connected == 0, "the server sees all of them go")
            return cuts

        assert flavour.play(whole) > 1


async def next_of_consumer(consumer):
    return await consumer.next(timeout=10.0)


async def next_of_fetch(consumer):
    async with consumer.fetch(1, expires=10.0) as messages:
        return await messages.next(10.0)


async def next_of_consume(consumer):
    async with consumer.consume() as messages:
        return await messages.next(10.0)


async def next_of_ack_next(consumer):
    async with consumer.ack_next() as messages:
        return await anext(messages)


@pytest.mark.parametrize(
    "take", [next_of_consumer, next_of_fetch, next_of_consume, next_of_ack_next]
)
@pytest.mark.parametrize(("name", "native"), WAYS)
def test_a_message_that_a_cancelled_task_did_not_get_comes_again_at_once(name, native, take):
    """The consumer waits a minute for an ack, so only a nak brings the message back in time."""
    flavour = Flavour(*FLAVOURS[name])
    with ModelServer() as hosted:
        rig = _Rig(flavour.connect, hosted, waits=True, native=native)

        async def whole():
            async with rig.connect() as nc:
                stream = await nc.jetstream().create_stream(name="S", subjects=["s.*"])
                await stream.create_consumer(durable_name="C", ack_wait=timedelta(seconds=60))
                consumer = nc.jetstream().stream("S").consumer("C")
                for at in range(1, MOST):
                    held = []

                    async def story():
                        held.append(await take(consumer))  # noqa: B023 - called within the turn

                    await nc.jetstream().publish("s.a", b"x")
                    over = await rig.cut_short(story(), at)
                    message = held[0] if held else await consumer.next(timeout=10.0)
                    await message.ack_confirmed()
                    assert hosted.unsettled() == 0, f"cut at wait {at}"
                    if over:
                        return at
                raise AssertionError("expected a story that ends")

        assert flavour.play(whole) > 1


def test_a_cancellation_that_is_swallowed_is_found(monkeypatch):
    ack = AsyncMessage.ack_confirmed

    async def swallow(self, *arguments, **options):
        try:
            return await ack(self, *arguments, **options)
        except asyncio.CancelledError:
            return False

    monkeypatch.setattr(AsyncMessage, "ack_confirmed", swallow)
    with ModelServer() as hosted:
        rig = _Rig(Flavour(*FLAVOURS["asyncio"]).connect, hosted, waits=True, native=True)
        with pytest.raises(PromiseBroken, match="swallowed"):
            anyio.run(cut_at_each_wait, rig, take_next)


def coroutines(kind):
    names = {"__aenter__", "__aexit__", "__anext__"}
    for name, member in inspect.getmembers(kind):
        waits = inspect.iscoroutinefunction(member) or inspect.isasyncgenfunction(member)
        if waits and (not name.startswith("_") or name in names):
            yield f"{kind.__name__}.{name}"


def test_every_coroutine_has_a_story():
    all_of_them = {
        each
        for kind in (AsyncClient, Feed, Sink, Events, AsyncMessage)
        for each in coroutines(kind)
    }
    told = set().union(*STORIES.values())

    assert told == all_of_them


def test_the_friendly_methods_wait_for_nothing_but_run():
    """So what holds of `run`, with whatever conversation, holds of all of them."""
    tree = ast.parse(inspect.getsource(facade_async))
    verbs = [node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef)]
    waits = {
        ast.unparse(wait.value.func)
        for verb in verbs
        for wait in ast.walk(verb)
        if isinstance(wait, ast.Await) and isinstance(wait.value, ast.Call)
    }

    assert len(verbs) > 60
    assert waits == {"self._nc.run"}
    assert not any(isinstance(node, (ast.AsyncFor, ast.AsyncWith)) for node in ast.walk(tree))
