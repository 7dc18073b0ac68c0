"""natsio, a pure Python client for asyncio; its releases with JetStream need a newer Python than
3.11.
"""

from __future__ import annotations

import asyncio
import time

import natsio
from natsio._internal.protocol import Parser
from natsio._internal.protocol.events import NEED_DATA


class Peer:
    async def open(self, url):
        self._nc = await natsio.connect(url)
        self._js = self._nc.jetstream()

    async def close(self):
        await self._nc.close()

    def parser(self):
        parser = Parser()

        def feed(chunks):
            got = 0
            next_event = parser.next_event
            for chunk in chunks:
                parser.receive_data(chunk)
                while next_event() is not NEED_DATA:
                    got += 1
            return got

        return feed

    async def core_publish(self, watch, subject, payload, n):
        publish = self._nc.publish
        watch.start()
        for _ in range(n):
            await publish(subject, payload)
        await self._nc.flush()
        watch.stop()

    async def core_subscribe(self, watch, subject, n, go):
        done = asyncio.Event()
        got = 0

        def count(_):
            nonlocal got
            got += 1
            if got == n:
                done.set()

        self._nc.subscribe(subject, cb=count, pending_msgs_limit=0, pending_bytes_limit=0)
        await self._nc.flush()
        watch.start()
        go()
        await done.wait()
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
        kept = [self._nc.subscribe(f"s.{i}") for i in range(n)]
        await self._nc.flush()
        watch.stop()
        return kept

    async def publish(self, watch, subject, payload, n):
        publish = self._js.publish
        watch.start()
        for _ in range(n):
            await publish(subject, payload)
        watch.stop()

    async def publish_window(self, watch, subject, payload, n, window):
        js = self._nc.jetstream(publish_async_max_pending=window, publish_async_stall_wait=20)
        watch.start()
        for _ in range(n):
            await js.publish_async(subject, payload)
        await js.publish_async_complete()
        watch.stop()

    async def consume(self, watch, stream, consumer, n, batch, *, ack):
        pull = await self._pull(stream, consumer)
        got = 0
        watch.start()
        async with pull.consume(max_messages=batch) as messages:
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
            got += len(await pull.fetch(min(batch, n - got), timeout=5.0))
        watch.stop()

    async def next(self, watch, stream, consumer, n):
        pull = await self._pull(stream, consumer)
        took = []
        clock = time.perf_counter_ns
        watch.start()
        for _ in range(n):
            start = clock()
            await pull.next(timeout=5.0)
            took.append(clock() - start)
        watch.stop()
        return took

    async def _pull(self, stream, consumer):
        return await (await self._js.stream(stream)).consumer(consumer)
