"""The scenarios with natsrpy, which is the Rust client async-nats in Python."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress

from natsrpy import Nats
from natsrpy.exceptions import NatsrpyBaseError
from natsrpy.js import PushConsumerConfig
from talk import ask, play

TRIES = 40


@asynccontextmanager
async def connected(url):
    nats = Nats([url])
    await nats.startup()
    try:
        js = await nats.jetstream(timeout=5)
        yield js, await js.streams.get("S")
    finally:
        await nats.shutdown()


async def gathered(consumer, wanted, *, batch=10, expires=5.0, heartbeat=None, **more):
    got = 0
    for _ in range(TRIES):
        with suppress(NatsrpyBaseError, TimeoutError):
            for msg in await consumer.fetch(
                min(batch, wanted - got),
                expires=expires,
                heartbeat=heartbeat,
                timeout=expires + 2,
                **more,
            ):
                await msg.ack()
                got += 1
        if got == wanted:
            return
    raise RuntimeError(f"expected {wanted} messages, got {got}")


async def taken(messages, wanted, patience=60.0):
    async def take():
        for _ in range(wanted):
            await (await messages.__anext__()).ack()

    await asyncio.wait_for(take(), patience)


async def fetch(url):
    async with connected(url) as (_, stream):
        consumer = await stream.consumers.get_pull("C")
        await gathered(consumer, 20)
        for msg in await consumer.fetch(20, expires=2, timeout=4):
            await msg.ack()


async def consume(url):
    async with connected(url) as (_, stream):
        consumer = await stream.consumers.get_pull("C")
        async with consumer.consume() as messages:
            await taken(messages, 100)


async def while_consuming(url, what):
    async with connected(url) as (_, stream):
        consumer = await stream.consumers.get_pull("C")
        async with consumer.consume() as messages:
            await taken(messages, 10)
            await ask(what)
            await ask("publish")
            await taken(messages, 10)


async def heartbeat(url):
    async with connected(url) as (_, stream):
        consumer = await stream.consumers.get_pull("C")
        await gathered(consumer, 10)
        waiting = asyncio.ensure_future(consumer.fetch(10, expires=8, heartbeat=1, timeout=10))
        await asyncio.sleep(0.5)
        await ask("freeze")
        with suppress(NatsrpyBaseError, TimeoutError):
            for msg in await waiting:
                await msg.ack()
        await ask("publish")
        await gathered(consumer, 10, heartbeat=1)


async def restart(url):
    await while_consuming(url, "restart")


async def leader(url):
    await while_consuming(url, "stepdown")


async def max_messages_1(url):
    async with connected(url) as (_, stream):
        await gathered(await stream.consumers.get_pull("C"), 20, batch=1)


async def byte_bounded(url):
    async with connected(url) as (_, stream):
        consumer = await stream.consumers.get_pull("C")
        for _ in range(3):
            with suppress(NatsrpyBaseError, TimeoutError):
                for msg in await consumer.fetch(
                    max_messages=100, max_bytes=1500, expires=2, timeout=4
                ):
                    await msg.ack()


async def deleted(url):
    async with connected(url) as (_, stream):
        consumer = await stream.consumers.get_pull("C")
        async with consumer.consume() as messages:
            await taken(messages, 10)
            await ask("delete")
            with suppress(NatsrpyBaseError, TimeoutError, StopAsyncIteration):
                await taken(messages, 1, patience=10.0)


async def flow_control(url):
    async with connected(url) as (_, stream):
        config = PushConsumerConfig(
            deliver_subject="deliver.flow",
            name="F",
            flow_control=True,
            idle_heartbeat=1,
            max_ack_pending=1000,
        )
        consumer = await stream.consumers.create(config)
        async with consumer.consume() as messages:
            await taken(messages, 300)
            await asyncio.sleep(2.5)


async def window(url):
    async with connected(url) as (js, _):
        await asyncio.gather(*(js.publish("s.w", b"x" * 20, wait=True) for _ in range(200)))


async def tokens(url):
    async with connected(url) as (_, stream):
        consumer = await stream.consumers.get_pull("C")
        msgs = await consumer.fetch(10, expires=5, timeout=7)
        await msgs[0].ack()
        await msgs[1].nack()
        await msgs[2].progress()
        await msgs[2].ack(double=True)
        await msgs[3].term()
        await msgs[4].nack(delay=1)
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
    *(window, tokens),
)


async def main():
    await play({each.__name__: each for each in NAMES})


if __name__ == "__main__":
    asyncio.run(main())
