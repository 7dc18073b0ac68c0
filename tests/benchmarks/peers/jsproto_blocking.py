"""This project, on blocking sockets, driven by its caller: the coroutines here never wait."""

from __future__ import annotations

import time
from datetime import timedelta

from jsproto import SourceKind
from jsproto_io.blocking import connect


class Peer:
    LINGER = 0.0

    async def open(self, url):
        self._nc = connect(url, linger=self.LINGER).__enter__()
        self._js = self._nc.jetstream()

    async def close(self):
        self._nc.close()

    async def core_publish(self, watch, subject, payload, n):
        publish = self._nc.publish
        watch.start()
        for _ in range(n):
            publish(subject, payload)
        self._nc.flush()
        watch.stop()

    async def core_subscribe(self, watch, subject, n, go):
        got = 0
        with self._nc.subscribe(subject, max_messages=n, max_bytes=1 << 30) as messages:
            self._nc.flush()
            watch.start()
            go()
            for _ in messages:
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
            self._nc.request(subject, payload)
            took.append(clock() - start)
        watch.stop()
        return took

    async def subscriptions(self, watch, n):
        watch.start()
        kept = [self._nc.subscribe(f"s.{i}").__enter__() for i in range(n)]
        self._nc.flush()
        watch.stop()
        return kept

    async def publish(self, watch, subject, payload, n):
        publish = self._js.publish
        watch.start()
        for _ in range(n):
            publish(subject, payload)
        watch.stop()

    async def publish_window(self, watch, subject, payload, n, window):
        watch.start()
        with self._js.publish_window(max_pending=window, results=False) as sink:
            for _ in range(n):
                sink.put((subject, payload))
        watch.stop()

    async def consume(self, watch, stream, consumer, n, batch, *, ack):
        pull = self._js.stream(stream).consumer(consumer)
        got = 0
        watch.start()
        with pull.consume(max_messages=batch) as messages:
            for message in messages:
                if ack:
                    message.ack()
                got += 1
                if got == n:
                    break
            if ack:
                self._nc.flush()
            watch.stop()

    async def consume_batches(self, watch, stream, consumer, n, batch):
        pull = self._js.stream(stream).consumer(consumer)
        got = 0
        watch.start()
        with pull.consume(max_messages=batch) as messages:
            for run in messages.batches():
                for message in run:
                    message.ack()
                got += len(run)
                if got == n:
                    break
            self._nc.flush()
            watch.stop()

    async def push(self, watch, stream, subject, n):
        calm = {"flow_control": True, "idle_heartbeat": timedelta(seconds=5)}
        got = 0
        watch.start()
        with self._js.subscribe(subject, stream=stream, ack_policy="none", **calm) as messages:
            for _ in messages:
                got += 1
                if got == n:
                    break
            watch.stop()

    async def ordered(self, watch, stream, subject, n, batch):
        self._read(
            watch, n, self._js.ordered_consumer(stream, max_messages=batch, filter_subject=subject)
        )

    async def ordered_push(self, watch, stream, subject, n):
        self._read(
            watch,
            n,
            self._js.ordered_consumer(stream, form=SourceKind.PUSH, filter_subject=subject),
        )

    async def read_range(self, watch, stream, subject, n):
        got = total = 0
        watch.start()
        with self._js.stream(stream).read_range(1, n + 1) as runs:
            for rows in runs:
                for _, _, headers, payload in zip(
                    rows.sequences, rows.timestamps, rows.headers, rows.payloads, strict=True
                ):
                    total += len(headers) + len(payload)
                got += len(rows)
        watch.stop()
        assert got == n

    read_range_by_callback = read_range

    def _read(self, watch, n, feed):
        got = 0
        watch.start()
        with feed as messages:
            for _ in messages:
                got += 1
                if got == n:
                    break
            watch.stop()

    async def fetch(self, watch, stream, consumer, n, batch):
        pull = self._js.stream(stream).consumer(consumer)
        got = 0
        watch.start()
        while got < n:
            with pull.fetch(min(batch, n - got), expires=5) as messages:
                for run in messages.batches():
                    got += len(run)
        watch.stop()

    async def next(self, watch, stream, consumer, n):
        pull = self._js.stream(stream).consumer(consumer)
        took = []
        clock = time.perf_counter_ns
        watch.start()
        for _ in range(n):
            start = clock()
            pull.next()
            took.append(clock() - start)
        watch.stop()
        return took
