"""Every verb of a client and of what it gives, for tests about who may call it."""

from __future__ import annotations

import inspect
import threading
from contextlib import AsyncExitStack, ExitStack

from jsproto.core.pubsub.request import Flush
from jsproto.jetstream.delivery.ack import Nak
from jsproto.jetstream.delivery.message import Settlement

#: Each verb of a client.
CLIENT = {
    "publish": lambda nc: nc.publish("a", b"STRAY"),
    "request": lambda nc: nc.request("a", b"STRAY"),
    "run": lambda nc: nc.run(Flush(1.0)),
    "flush": lambda nc: nc.flush(),
    "rtt": lambda nc: nc.rtt(),
    "rtts": lambda nc: nc.rtts(),
    "events": lambda nc: nc.events(),
    "reconnect": lambda nc: nc.reconnect(),
    "drain": lambda nc: nc.drain(),
    "a feed is entered": lambda nc: entered(nc.subscribe("a")),
    "each of a new feed": lambda nc: nc.subscribe("a").each(print),
    "many answers are asked for": lambda nc: entered(nc.request_many("a", b"STRAY")),
    "a window is entered": lambda nc: entered(nc.jetstream().publish_window()),
    "JetStream publish": lambda nc: nc.jetstream().publish("S.a", b"STRAY"),
    "JetStream streams": lambda nc: nc.jetstream().account_info(),
}
#: Each verb of what an entered client gave: a subscription, a window, a message of a consumer.
HELD = {
    "next of a feed": lambda held: held.feed.next(1.0),
    "the iterator of a feed": lambda held: first(held.feed),
    "batches of a feed": lambda held: first(held.feed.batches()),
    "each of a feed": lambda held: held.feed.each(print),
    "ready of a feed": lambda held: held.feed.ready(),
    "ended of a feed": lambda held: held.feed.ended(),
    "limit of a feed": lambda held: held.feed.limit(3),
    "put to a feed": lambda held: held.feed.put(b"STRAY"),
    "drain of a feed": lambda held: held.feed.drain(),
    "stop of a feed": lambda held: held.feed.stop(),
    "unsubscribe of a feed": lambda held: held.feed.unsubscribe(),
    "put to a window": lambda held: held.window.put(("S.a", b"STRAY")),
    "drain of a window": lambda held: held.window.drain(),
    "results of a window": lambda held: first(held.window.results()),
    "ack": lambda held: held.message.ack(),
    "nak": lambda held: held.message.nak(),
    "term": lambda held: held.message.term(),
    "in_progress": lambda held: held.message.in_progress(),
    "ack_confirmed": lambda held: held.message.ack_confirmed(),
    "settle": lambda held: held.client.settle(Settlement(held.message, Nak())),
}


def entered(thing):
    return thing.__aenter__() if hasattr(thing, "__aenter__") else thing.__enter__()


def first(items):
    return items.__anext__() if hasattr(items, "__anext__") else next(iter(items))


class Held:
    """What a client gave before the test asks who may use it."""

    def __init__(self, client, feed, window, message):
        self.client = client
        self.feed = feed
        self.window = window
        self.message = message

    def verbs(self):
        """``(name, call)`` of every verb."""
        for name, verb in CLIENT.items():
            yield name, lambda verb=verb: verb(self.client)
        for name, verb in HELD.items():
            yield name, lambda verb=verb: verb(self)


def at_once(call):
    """What a verb raises before it first waits; ``None`` if it raises nothing, ``"waits"`` if it
    waits.
    """
    try:
        result = call()
        if inspect.iscoroutine(result):
            try:
                result.send(None)
            except StopIteration:
                return None
            finally:
                result.close()
            return "waits"
        if inspect.isawaitable(result):
            steps = result.__await__()
            try:
                next(steps)
            except StopIteration:
                return None
            finally:
                getattr(steps, "close", int)()
            return "waits"
    except Exception as error:  # noqa: BLE001 - the test judges it
        return error
    return None


def in_a_thread(work):
    """What ``work`` gives in another thread, while this one is blocked."""
    given = []
    thread = threading.Thread(target=lambda: given.append(work()))
    thread.start()
    thread.join(20.0)
    assert given, "expected the thread to come to its end"
    return given[0]


async def with_held(connect, url, story, **options):
    """Enter a client with ``await``, make what it gives, and run ``story(held)``."""
    async with AsyncExitStack() as stack:
        nc = await stack.enter_async_context(connect(url, **options))
        stream = await nc.jetstream().create_stream(name="S", subjects=["S.*"])
        consumer = await stream.create_consumer(durable_name="C")
        await nc.jetstream().publish("S.a", b"1")
        feed = await stack.enter_async_context(nc.subscribe("a"))
        window = nc.jetstream().publish_window()
        await window.__aenter__()
        message = await consumer.next()
        await nc.flush()
        return await story(Held(nc, feed, window, message))


def with_held_blocking(connect, url, story, **options):
    """The same for a client without ``await``."""
    with ExitStack() as stack:
        nc = stack.enter_context(connect(url, **options))
        stream = nc.jetstream().create_stream(name="S", subjects=["S.*"])
        consumer = stream.create_consumer(durable_name="C")
        nc.jetstream().publish("S.a", b"1")
        feed = stack.enter_context(nc.subscribe("a"))
        window = nc.jetstream().publish_window()
        window.__enter__()
        message = consumer.next()
        nc.flush()
        return story(Held(nc, feed, window, message))
