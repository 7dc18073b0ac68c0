"""natsrpy, a binding of the Rust client. It has no parser of its own to measure and a fixed window
for consume.
"""

from __future__ import annotations

import asyncio
import time

import natsrpy


class Peer:
    async def open(self, url):
        self._nc = natsrpy.Nats([url])
        await self._nc.startup()
        self._js = await self._nc.jetstream()

    async def close(self):
        await self._nc.shutdown()

    async def core_publish(self, watch, subject, payload, n):
        publish = self._nc.publish
        watch.start()
        for _ in range(n):
            await publish(subject, payload)
        await self._nc.flush()
        watch.stop()

    async def core_subscribe(self, watch, subject, n, go):
        got = 0
        async with self._nc.subscribe(subject) as messages:
            await self._nc.flush()
            watch.start()
            go()
            async for _ in messages:
                got += 1
                if got == n:
                    break
            watch.stop()

    async def request(self, watch, subject, payload, n):
        took = []
        clock = time.perf_counter_ns
        watch.start()
        for _ in range(n):
            start = clock()
            await self._nc.request(subject, payload)
            took.append(clock() - start)
        watch.stop()
        return took

    async def subscriptions(self, watch, n):
        watch.start()
        kept = [await self._nc.subscribe(f"s.{i}").detatch() for i in range(n)]
        await self._nc.flush()
        watch.stop()
        return kept

    async def publish(self, watch, subject, payload, n):
        publish = self._js.publish
        watch.start()
        for _ in range(n):
            await publish(subject, payload, wait=True)
        watch.stop()

    async def publish_window(self, watch, subject, payload, n, window):
        publish = self._js.publish
        watch.start()
        for done in range(0, n, window):
            step = min(window, n - done)
            await asyncio.gather(*[publish(subject, payload, wait=True) for _ in range(step)])
        watch.stop()

    async def consume(self, watch, stream, consumer, n, batch, *, ack):
        del batch  # cannot be chosen
        pull = await self._pull(stream, consumer)
        got = 0
        watch.start()
        async with pull.consume() as messages:
            async for message in messages:
                if ack:
                    await message.ack()
                got += 1
                if got == n:
                    break
            if ack:
                await self._nc.flush()
            watch.stop()

    async def fetch(self, watch, stream, consumer, n, batch):
        pull = await self._pull(stream, consumer)
        got = 0
        watch.start()
        while got < n:
            got += len(await pull.fetch(max_messages=min(batch, n - got), expires=5))
        watch.stop()

    async def next(self, watch, stream, consumer, n):
        pull = await self._pull(stream, consumer)
        took = []
        clock = time.perf_counter_ns
        watch.start()
        for _ in range(n):
            start = clock()
            await pull.fetch(max_messages=1, expires=5)
            took.append(clock() - start)
        watch.stop()
        return took

    async def _pull(self, stream, consumer):
        return await (await self._js.streams.get(stream)).consumers.get_pull(consumer)
