"""The scenarios with nats-py."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress

import nats
from nats.errors import Error
from nats.js.api import ConsumerConfig
from talk import ask, play

#: So often a fetch that came to nothing is tried again.
TRIES = 40


@asynccontextmanager
async def connected(url):
    nc = await nats.connect(url, name="nats-py", reconnect_time_wait=0.2, max_reconnect_attempts=-1)
    try:
        yield nc.jetstream(timeout=5)
    finally:
        await nc.close()


async def gathered(sub, wanted, *, batch=10, patience=5.0, heartbeat=None):
    """Fetch and ack until there are so many."""
    got = 0
    for _ in range(TRIES):
        with suppress(Error, asyncio.TimeoutError):
            for msg in await sub.fetch(
                min(batch, wanted - got), timeout=patience, heartbeat=heartbeat
            ):
                await msg.ack()
                got += 1
        if got == wanted:
            return
    raise RuntimeError(f"expected {wanted} messages, got {got}")


async def fetch(url):
    async with connected(url) as js:
        sub = await js.pull_subscribe_bind("C", "S")
        await gathered(sub, 20)
        for msg in await sub.fetch(20, timeout=2):
            await msg.ack()
        await sub.unsubscribe()


async def pending(url, what):
    """A fetch waits while something happens; then there are messages again."""
    async with connected(url) as js:
        sub = await js.pull_subscribe_bind("C", "S")
        await gathered(sub, 10)
        waiting = asyncio.create_task(sub.fetch(10, timeout=8, heartbeat=1))
        await asyncio.sleep(0.5)
        await ask(what)
        with suppress(Error, asyncio.TimeoutError):
            for msg in await waiting:
                await msg.ack()
        await ask("publish")
        await gathered(sub, 10, heartbeat=1)


async def heartbeat(url):
    await pending(url, "freeze")


async def restart(url):
    await pending(url, "restart")


async def leader(url):
    await pending(url, "stepdown")


async def max_messages_1(url):
    async with connected(url) as js:
        sub = await js.pull_subscribe_bind("C", "S")
        await gathered(sub, 20, batch=1)


async def deleted(url):
    async with connected(url) as js:
        sub = await js.pull_subscribe_bind("C", "S")
        await gathered(sub, 10)
        waiting = asyncio.create_task(sub.fetch(10, timeout=5, heartbeat=1))
        await asyncio.sleep(0.5)
        await ask("delete")
        for _ in range(3):
            with suppress(Error, asyncio.TimeoutError):
                await waiting
            waiting = asyncio.create_task(sub.fetch(10, timeout=2))
        with suppress(Error, asyncio.TimeoutError):
            await waiting


async def flow_control(url):
    async with connected(url) as js:
        sub = await js.subscribe(
            "s.>",
            stream="S",
            flow_control=True,
            idle_heartbeat=1,
            config=ConsumerConfig(max_ack_pending=1000),
        )
        for _ in range(300):
            await (await sub.next_msg(10)).ack()
        await asyncio.sleep(2.5)
        await sub.unsubscribe()


async def ordered_push(url):
    async with connected(url) as js:
        sub = await js.subscribe("s.>", stream="S", ordered_consumer=True, idle_heartbeat=1)
        for _ in range(20):
            await sub.next_msg(10)
        await ask("delete all")
        await ask("publish")
        for _ in range(90):
            await sub.next_msg(20)
        await sub.unsubscribe()


async def window(url):
    async with connected(url) as js:
        for _ in range(200):
            await js.publish_async("s.w", b"x" * 20)
        await js.publish_async_completed()


async def tokens(url):
    async with connected(url) as js:
        sub = await js.pull_subscribe_bind("C", "S")
        msgs = await sub.fetch(10, timeout=5)
        await msgs[0].ack()
        await msgs[1].nak()
        await msgs[2].in_progress()
        await msgs[2].ack_sync(5)
        await msgs[3].term()
        await msgs[4].nak(delay=1)
        for msg in msgs[5:]:
            await msg.ack()


NAMES = (
    fetch,
    heartbeat,
    restart,
    leader,
    max_messages_1,
    deleted,
    flow_control,
    ordered_push,
    window,
    tokens,
)

if __name__ == "__main__":
    asyncio.run(play({each.__name__: each for each in NAMES}))
