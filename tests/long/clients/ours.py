"""The scenarios with an adapter of ours that is driven with ``await``: `python ours.py URL SCENARIO
ADAPTER BACKEND`.
"""

from __future__ import annotations

import importlib
import sys
from contextlib import suppress
from datetime import timedelta

import anyio
from talk import ask, play

from jsproto.jetstream.errors import ConsumerDeleted
from jsproto.jetstream.ordered.options import SourceKind

ADAPTER, BACKEND = sys.argv[3:5]
connect = importlib.import_module(f"jsproto_io.{ADAPTER}").connect
QUICK = {"expires": 5.0, "idle_heartbeat": 1.0}


def connected(url):
    return connect(
        url,
        name=f"jsproto {ADAPTER}",
        reconnect_wait=0.2,
        reconnect_jitter=0.0,
        max_reconnects=None,
    )


async def taken(messages, wanted, patience=60.0):
    with anyio.fail_after(patience):
        for _ in range(wanted):
            await (await messages.__anext__()).ack()


async def fetch(url):
    async with connected(url) as nc:
        consumer = nc.jetstream().stream("S").consumer("C")
        for batch, expires in ((10, 5.0), (10, 5.0), (20, 2.0)):
            async with consumer.fetch(batch, expires=expires) as messages:
                async for msg in messages:
                    await msg.ack()


async def consume(url):
    async with (
        connected(url) as nc,
        nc.jetstream().stream("S").consumer("C").consume(50, **QUICK) as messages,
    ):
        await taken(messages, 100)


async def while_consuming(url, what):
    async with (
        connected(url) as nc,
        nc.jetstream().stream("S").consumer("C").consume(10, **QUICK) as messages,
    ):
        await taken(messages, 10)
        await ask(what)
        await ask("publish")
        await taken(messages, 10)


async def heartbeat(url):
    await while_consuming(url, "freeze")


async def restart(url):
    await while_consuming(url, "restart")


async def leader(url):
    await while_consuming(url, "stepdown")


async def max_messages_1(url):
    async with (
        connected(url) as nc,
        nc.jetstream().stream("S").consumer("C").consume(1, **QUICK) as messages,
    ):
        await taken(messages, 20)


async def byte_bounded(url):
    async with connected(url) as nc:
        consumer = nc.jetstream().stream("S").consumer("C")
        async with consumer.fetch(max_bytes=1500, expires=2.0) as messages:
            async for msg in messages:
                await msg.ack()
        async with consumer.consume(max_bytes=3000, **QUICK) as messages:
            await taken(messages, 30)


async def deleted(url):
    async with (
        connected(url) as nc,
        nc.jetstream().stream("S").consumer("C").consume(10, **QUICK) as messages,
    ):
        await taken(messages, 10)
        await ask("delete")
        with suppress(StopAsyncIteration, TimeoutError, ConsumerDeleted):
            await taken(messages, 1, patience=8.0)


async def flow_control(url):
    async with connected(url) as nc:
        js = nc.jetstream()
        settings = {
            "flow_control": True,
            "idle_heartbeat": timedelta(seconds=1),
            "max_ack_pending": 1000,
        }
        async with js.subscribe("s.>", stream="S", **settings) as messages:
            await taken(messages, 300)
            with anyio.move_on_after(2.5):
                await messages.__anext__()


async def ordered_as(url, form):
    async with connected(url) as nc:
        options = QUICK if form is SourceKind.PULL else {}
        async with nc.jetstream().ordered_consumer("S", form=form, **options) as messages:
            for at in range(110):
                if at == 20:
                    await ask("delete all")
                    await ask("publish")
                with anyio.fail_after(30):
                    await messages.__anext__()


async def ordered(url):
    await ordered_as(url, SourceKind.PULL)


async def ordered_push(url):
    await ordered_as(url, SourceKind.PUSH)


async def window(url):
    async with connected(url) as nc, nc.jetstream().publish_window() as sink:
        for _ in range(200):
            await sink.put(("s.w", b"x" * 20))


async def tokens(url):
    async with connected(url) as nc:
        async with nc.jetstream().stream("S").consumer("C").fetch(10, expires=5.0) as messages:
            msgs = [msg async for msg in messages]
        await msgs[0].ack()
        await msgs[1].nak()
        await msgs[2].in_progress()
        await msgs[2].ack_confirmed()
        await msgs[3].term("not wanted")
        await msgs[4].nak(1.0)
        for msg in msgs[5:]:
            await msg.ack()


NAMES = (
    *(
        fetch,
        consume,
        heartbeat,
        restart,
        leader,
        max_messages_1,
        byte_bounded,
        deleted,
        flow_control,
    ),
    *(ordered, ordered_push, window, tokens),
)

if __name__ == "__main__":
    anyio.run(play, {each.__name__: each for each in NAMES}, backend=BACKEND)
