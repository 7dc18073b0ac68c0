"""nats-py. It has no continuous pull: its users loop over fetch, and so does ``consume`` here."""

from __future__ import annotations

import asyncio
import time

import nats
from nats.js.api import AckPolicy, ConsumerConfig
from nats.protocol.parser import Parser


class Peer:
    async def open(self, url):
        self._nc = await nats.connect(url)
        self._js = self._nc.jetstream()

    async def close(self):
        await self._nc.close()

    def parser(self):
        class Sink:
            got = 0

            async def _process_msg(self, sid, subject, reply, data, headers):
                self.got += 1

        sink = Sink()
        parser = Parser(sink)

        async def feed(chunks):
            for chunk in chunks:
                await parser.parse(chunk)
            return sink.got

        return feed

    async def core_publish(self, watch, subject, payload, n):
        publish = self._nc.publish
        watch.start()
        for _ in range(n):
            await publish(subject, payload)
        await self._nc.flush(30)
        watch.stop()

    async def core_subscribe(self, watch, subject, n, go):
        done = asyncio.Event()
        got = 0

        async def count(_):
            nonlocal got
            got += 1
            if got == n:
                done.set()

        await self._nc.subscribe(subject, cb=count, pending_msgs_limit=0, pending_bytes_limit=0)
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
            await self._nc.request(subject, payload, timeout=5)
            took.append(clock() - start)
        watch.stop()
        return took

    async def subscriptions(self, watch, n):
        watch.start()
        kept = [await self._nc.subscribe(f"s.{i}") for i in range(n)]
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
        js = self._nc.jetstream(publish_async_max_pending=window)
        watch.start()
        for _ in range(n):
            await js.publish_async(subject, payload)
        await js.publish_async_completed()
        watch.stop()

    async def fetch(self, watch, stream, consumer, n, batch):
        await self.consume(watch, stream, consumer, n, batch, ack=False)

    async def consume(self, watch, stream, consumer, n, batch, *, ack):
        pull = await self._js.pull_subscribe_bind(consumer=consumer, stream=stream)
        got = 0
        watch.start()
        while got < n:
            messages = await pull.fetch(min(batch, n - got), timeout=5)
            if ack:
                for message in messages:
                    await message.ack()
            got += len(messages)
        if ack:
            await self._nc.flush()
        watch.stop()

    async def push(self, watch, stream, subject, n):
        config = ConsumerConfig(ack_policy=AckPolicy.NONE)
        await self._pushed(
            watch, n, subject, stream=stream, config=config, flow_control=True, idle_heartbeat=5
        )

    async def ordered(self, watch, stream, subject, n, batch):
        await self.ordered_push(watch, stream, subject, n)

    async def ordered_push(self, watch, stream, subject, n):
        await self._pushed(watch, n, subject, stream=stream, ordered_consumer=True)

    async def read_range(self, watch, stream, subject, n):
        got = total = 0
        watch.start()
        subscription = await self._js.subscribe(subject, stream=stream, ordered_consumer=True)
        async for message in subscription.messages:
            place = message.metadata
            total += place.sequence.stream and len(message.headers) + len(message.data)
            got += 1
            if got == n:
                break
        watch.stop()
        await subscription.unsubscribe()

    async def read_range_by_callback(self, watch, stream, subject, n):
        await self._pushed(watch, n, subject, read=True, stream=stream, ordered_consumer=True)

    async def _pushed(self, watch, n, subject, *, read=False, **how):
        done = asyncio.Event()
        got = 0
        total = 0

        async def count(message):
            nonlocal got, total
            if read:
                place = message.metadata
                total += place.sequence.stream and len(message.headers) + len(message.data)
            got += 1
            if got == n:
                done.set()

        watch.start()
        subscription = await self._js.subscribe(subject, cb=count, manual_ack=True, **how)
        await done.wait()
        watch.stop()
        await subscription.unsubscribe()

    async def next(self, watch, stream, consumer, n):
        pull = await self._js.pull_subscribe_bind(consumer=consumer, stream=stream)
        took = []
        clock = time.perf_counter_ns
        watch.start()
        for _ in range(n):
            start = clock()
            await pull.fetch(1, timeout=5)
            took.append(clock() - start)
        watch.stop()
        return took
