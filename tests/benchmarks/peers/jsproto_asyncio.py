"""This project, driven by asyncio."""

from __future__ import annotations

import time
from datetime import timedelta

from jsproto import SourceKind
from jsproto.wire.parser import Parser
from jsproto_io.asyncio import connect


class Peer:
    async def open(self, url):
        self._nc = await connect(url)
        self._js = self._nc.jetstream()

    async def close(self):
        await self._nc.close()

    def parser(self):
        parser = Parser()

        def feed(chunks):
            got = 0
            for chunk in chunks:
                got += len(parser.feed(chunk))
            if parser.failure:
                raise parser.failure
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
        got = 0
        async with self._nc.subscribe(subject, max_messages=n, max_bytes=1 << 30) as messages:
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
        kept = [await self._nc.subscribe(f"s.{i}").__aenter__() for i in range(n)]
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
        watch.start()
        async with self._js.publish_window(max_pending=window, results=False) as sink:
            for _ in range(n):
                await sink.put((subject, payload))
        watch.stop()

    async def consume(self, watch, stream, consumer, n, batch, *, ack):
        pull = self._js.stream(stream).consumer(consumer)
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

    async def consume_batches(self, watch, stream, consumer, n, batch):
        pull = self._js.stream(stream).consumer(consumer)
        got = 0
        watch.start()
        async with pull.consume(max_messages=batch) as messages:
            async for run in messages.batches():
                for message in run:
                    await message.ack()
                got += len(run)
                if got == n:
                    break
            await self._nc.flush()
            watch.stop()

    async def push(self, watch, stream, subject, n):
        calm = {"flow_control": True, "idle_heartbeat": timedelta(seconds=5)}
        got = 0
        watch.start()
        async with self._js.subscribe(
            subject, stream=stream, ack_policy="none", **calm
        ) as messages:
            async for _ in messages:
                got += 1
                if got == n:
                    break
            watch.stop()

    async def ordered(self, watch, stream, subject, n, batch):
        await self._read(
            watch, n, self._js.ordered_consumer(stream, max_messages=batch, filter_subject=subject)
        )

    async def ordered_push(self, watch, stream, subject, n):
        await self._read(
            watch,
            n,
            self._js.ordered_consumer(stream, form=SourceKind.PUSH, filter_subject=subject),
        )

    async def _read(self, watch, n, feed):
        got = 0
        watch.start()
        async with feed as messages:
            async for _ in messages:
                got += 1
                if got == n:
                    break
            watch.stop()

    async def fetch(self, watch, stream, consumer, n, batch):
        pull = self._js.stream(stream).consumer(consumer)
        got = 0
        watch.start()
        while got < n:
            async with pull.fetch(min(batch, n - got), expires=5) as messages:
                async for run in messages.batches():
                    got += len(run)
        watch.stop()

    async def next(self, watch, stream, consumer, n):
        pull = self._js.stream(stream).consumer(consumer)
        took = []
        clock = time.perf_counter_ns
        watch.start()
        for _ in range(n):
            start = clock()
            await pull.next()
            took.append(clock() - start)
        watch.stop()
        return took
