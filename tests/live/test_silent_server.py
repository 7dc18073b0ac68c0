"""A server that has stopped in its tracks: every drain and every close comes to its end within its
limit, in every state.

SIGSTOP leaves all sockets open, so nothing tells the client but the silence.
"""

from __future__ import annotations

import importlib
import inspect
import os
import signal
from pathlib import Path
from time import monotonic

import anyio
import pytest

from jsproto.core.connection.events import Connected, Disconnected, Notice, NoticeKind
from jsproto.errors import JsprotoError
from jsproto_io.blocking import connect
from tests.adapters.conftest import FLAVOURS
from tests.live.conftest import QUICK

pytestmark = pytest.mark.live

LIMITS = {"drain_timeout": 0.3, "close_timeout": 0.2}
#: What the machine may add.
SLACK = 3.0

FEEDS = {
    "subscription": lambda nc, stream: nc.subscribe("a"),
    "consume": lambda nc, stream: stream.consumer("C").consume(10),
    "fetch": lambda nc, stream: stream.consumer("C").fetch(10, expires=30.0),
    "push": lambda nc, stream: nc.jetstream().subscribe("s.a", stream="S"),
    "ordered": lambda nc, stream: stream.ordered(),
}


@pytest.fixture
def silent(start_server):
    """A server of its own with a stream and a consumer, and how it falls silent and speaks again."""
    server = start_server()
    with connect(server.url, **QUICK) as nc:
        stream = nc.jetstream().create_stream(name="S", subjects=["s.*"])
        stream.create_consumer(durable_name="C")
    yield server
    os.kill(server.pid, signal.SIGCONT)


@pytest.fixture
def stop(eventually):
    """Stop a server in its tracks; it takes a moment until the last of its threads has."""

    def stopped(server):
        os.kill(server.pid, signal.SIGSTOP)
        threads = list(Path(f"/proc/{server.pid}/task").iterdir())
        eventually(lambda: all(") T " in each.joinpath("stat").read_text() for each in threads))

    return stopped


@pytest.mark.parametrize("kind", FEEDS)
def test_a_drain_of_one_feed_ends_within_its_limit(silent, stop, kind):
    with connect(silent.url, **QUICK, **LIMITS) as nc:
        feed = FEEDS[kind](nc, nc.jetstream().stream("S"))
        with feed:
            feed.ready()
            nc.flush()
            events = nc.events()
            stop(silent)
            begun = monotonic()
            feed.drain()
            left = list(feed)

            assert monotonic() - begun < LIMITS["drain_timeout"] + SLACK
            assert left == []
            assert nc.connected  # it is this feed alone that has ended
        begun = monotonic()
        nc.close()

        assert monotonic() - begun < LIMITS["close_timeout"] + SLACK
        told = [
            event
            for event in events
            if isinstance(event, Notice) and event.conversation is feed.feed
        ]
        waited = [event.kind for event in told if event.kind is NoticeKind.DRAIN_TIMEOUT]
        assert len(waited) == (kind != "ordered")  # which owes its server nothing, and ends at once


@pytest.mark.parametrize("kind", FEEDS)
def test_a_drain_of_the_connection_ends_within_its_limit(silent, stop, kind):
    with (
        connect(silent.url, **QUICK, **LIMITS) as nc,
        FEEDS[kind](nc, nc.jetstream().stream("S")) as feed,
    ):
        feed.ready()
        nc.flush()
        stop(silent)
        begun = monotonic()
        nc.drain()

        assert nc.closed
        assert monotonic() - begun < sum(LIMITS.values()) + SLACK


@pytest.mark.parametrize("end", ["drain", "close"])
def test_an_end_while_there_is_no_link_comes_at_once(silent, end):
    with connect(silent.url, **QUICK, **LIMITS) as nc, nc.subscribe("a") as messages:
        nc.flush()
        silent.stop()
        for event in nc.events():
            if isinstance(event, Disconnected):
                break
        begun = monotonic()
        getattr(nc, end)()

        assert nc.closed
        assert monotonic() - begun < SLACK
        with pytest.raises((JsprotoError, StopIteration)):
            next(messages)
    silent.start()


def test_a_stale_link_is_found_within_the_configured_time_and_the_other_server_taken(
    silent, stop, start_server
):
    other = start_server()
    with connect(other.url) as nc:
        stream = nc.jetstream().create_stream(name="S", subjects=["s.*"])
        stream.create_consumer(durable_name="C")
        nc.jetstream().publish("s.a", b"on the other")
    urls = [silent.url, other.url]
    with connect(
        urls, randomize=False, ping_interval=0.2, max_pings_out=2, **QUICK, **LIMITS
    ) as nc:
        consumer = nc.jetstream().stream("S").consumer("C")
        with consumer.consume(10) as messages:
            nc.jetstream().publish("s.a", b"on the first")
            messages.next().ack_confirmed()
            events = nc.events()
            begun = monotonic()
            stop(silent)
            for event in events:
                if isinstance(event, Disconnected):
                    assert monotonic() - begun < 0.2 * 3 + SLACK
                if isinstance(event, Connected):
                    break

            assert messages.next().payload == b"on the other"


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_the_same_on_every_adapter_with_await(silent, stop, start_server, flavour):
    adapter, backend = FLAVOURS[flavour]
    other = start_server()
    with connect(other.url) as nc:
        nc.jetstream().create_stream(name="S", subjects=["s.*"]).create_consumer(durable_name="C")
        nc.jetstream().publish("s.a", b"on the other")

    async def story():
        module = importlib.import_module(f"jsproto_io.{adapter}")
        urls, patience = [silent.url, other.url], {"ping_interval": 0.2, "max_pings_out": 2}
        async with (
            module.connect(urls, randomize=False, **patience, **QUICK, **LIMITS) as nc,
            nc.jetstream().stream("S").consumer("C").consume(10) as messages,
        ):
            await nc.jetstream().publish("s.a", b"on the first")
            await (await messages.next()).ack_confirmed()
            events = nc.events()
            begun = monotonic()
            stop(silent)
            async for event in events:
                if isinstance(event, Disconnected):
                    assert monotonic() - begun < 0.2 * 3 + SLACK
                if isinstance(event, Connected):
                    break
            return (await messages.next()).payload

    assert anyio.run(story, backend=backend) == b"on the other"


@pytest.mark.parametrize("end", ["drain", "close"])
@pytest.mark.parametrize("flavour", [*FLAVOURS, "blocking"])
def test_an_end_in_mid_everything_comes_within_its_limit_on_every_adapter(
    silent, stop, flavour, end
):
    """A consume with a message in hand, a subscription, and a window whose publishes nobody
    answers.
    """
    adapter, backend = FLAVOURS.get(flavour, ("blocking", "asyncio"))
    module = importlib.import_module(f"jsproto_io.{adapter}")
    with connect(silent.url) as nc:
        nc.jetstream().publish("s.a", b"1")

    async def done(given):
        return await given if inspect.isawaitable(given) else given

    async def enter(each):
        return await done(each.__aenter__() if hasattr(each, "__aenter__") else each.__enter__())

    async def story():
        nc = await enter(module.connect(silent.url, **QUICK, **LIMITS))
        js = nc.jetstream()
        messages = await enter(js.stream("S").consumer("C").consume(10))
        held = await done(messages.next())
        await enter(nc.subscribe("a"))
        window = await enter(js.publish_window())
        await done(nc.flush())
        stop(silent)
        for number in range(3):
            await done(window.put(("s.a", b"%d" % number)))
        await done(held.ack())
        begun = monotonic()
        await done(getattr(nc, end)())
        took = monotonic() - begun
        while not nc.closed:  # the window is served before a drain ends
            await done(nc.close())

        assert took < sum(LIMITS.values()) + SLACK

        results = window.window
        leave = nc.__aexit__ if hasattr(nc, "__aexit__") else nc.__exit__
        await done(leave(None, None, None))
        assert results.ended

    anyio.run(story, backend=backend)
