"""The floor: a blocking socket, blocks built beforehand, next to no parsing. What no client can be
faster than.

Also the whole interface of a peer: every verb may be left out and is then reported as not
supported. Verbs call ``watch.start()`` when all is bound and ``watch.stop()`` when the last item is
done.
"""

from __future__ import annotations

import json
import time

from plain import Plain

_INBOX = b"_INBOX.raw"
_BUFFER = 1 << 18


class Peer:
    async def open(self, url):
        self._plain = Plain(url)
        self._sock = self._plain.sock

    async def close(self):
        self._plain.__exit__()

    def parser(self):
        """A function, or a coroutine function, that takes the list of chunks and gives the count of
        messages.
        """

        def feed(chunks):  # touch each chunk once and find what ends each message of this payload
            got, tail = 0, b""
            for chunk in chunks:
                got += (tail + chunk).count(b"abcdef\r\n")
                tail = chunk[-7:]
            return got

        return feed

    async def core_publish(self, watch, subject, payload, n):
        one = _pub(subject.encode(), b"", payload)
        per = 400
        block = one * per
        watch.start()
        for done in range(0, n, per):
            self._sock.sendall(block if n - done >= per else one * (n - done))
        self._plain.flush()
        watch.stop()

    async def core_subscribe(self, watch, subject, n, go):
        """``go()`` asks for the burst of n messages."""
        self._subscribe(subject.encode())
        self._receive_size(watch, n * len(b"MSG %s 7 128\r\n" % subject.encode()) + n * 130, go)

    async def request(self, watch, subject, payload, n):
        """Gives the nanoseconds of each exchange."""
        self._subscribe(_INBOX)
        return self._exchanges(watch, _pub(subject.encode(), _INBOX, payload), n)

    async def subscriptions(self, watch, n):
        """Make n subscriptions that stay; gives what must be kept for that."""
        watch.start()
        self._sock.sendall(b"".join(b"SUB s.%d %d\r\n" % (i, i + 100) for i in range(n)))
        self._plain.flush()
        watch.stop()
        return []

    async def publish(self, watch, subject, payload, n):
        """JetStream, each acknowledgement awaited."""
        self._subscribe(_INBOX)
        self._exchanges(watch, _pub(subject.encode(), _INBOX, payload), n)

    async def publish_window(self, watch, subject, payload, n, window):
        """JetStream, ``window`` acknowledgements outstanding; ends when all n are in."""
        self._subscribe(_INBOX)
        one = _pub(subject.encode(), _INBOX, payload)
        half = max(1, window // 2)
        block = one * half
        sent = acked = 0
        watch.start()
        while acked < n:
            while sent < n and sent - acked <= window - half:
                step = min(half, n - sent)
                self._sock.sendall(block if step == half else one * step)
                sent += step
            acked += self._sock.recv(_BUFFER).count(b"{")
        watch.stop()
        self._unsubscribe()

    async def consume(self, watch, stream, consumer, n, batch, *, ack):
        """Continuous pull, ``batch`` messages at hand or asked for. With ``ack``, each is
        acknowledged.
        """
        if ack:
            raise NotImplementedError("no parsing, no acknowledging")
        self._pull(watch, stream, consumer, n)

    async def fetch(self, watch, stream, consumer, n, batch):
        """A loop of fetches of ``batch`` messages, not acknowledged."""
        del batch
        self._pull(watch, stream, consumer, n)

    async def next(self, watch, stream, consumer, n):
        """Messages one at a time; gives the nanoseconds of each."""
        self._subscribe(_INBOX)
        subject = b"$JS.API.CONSUMER.MSG.NEXT.%s.%s" % (stream.encode(), consumer.encode())
        return self._exchanges(watch, _pub(subject, _INBOX, b'{"batch":1}'), n)

    def _pull(self, watch, stream, consumer, n):
        """One request for more than there is: the status at the end says that all have come."""
        subject = b"$JS.API.CONSUMER.MSG.NEXT.%s.%s" % (stream.encode(), consumer.encode())
        request = json.dumps({"batch": n + 1, "no_wait": True}).encode()
        buffer = bytearray(_BUFFER)
        tail = b""
        self._subscribe(_INBOX)
        watch.start()
        self._sock.sendall(_pub(subject, _INBOX, request))
        while b"NATS/1.0 4" not in tail:
            got = self._sock.recv_into(buffer)
            tail = (tail + bytes(buffer[max(0, got - 200) : got]))[-200:]
        watch.stop()

    def _receive_size(self, watch, size, go):
        buffer = bytearray(_BUFFER)
        watch.start()
        go()
        while size > 0:
            size -= self._sock.recv_into(buffer)
        watch.stop()

    def _exchanges(self, watch, frame, n):
        """Send a frame, receive one message that ends with a line end, n times."""
        took = []
        clock = time.perf_counter_ns
        watch.start()
        for _ in range(n):
            start = clock()
            self._sock.sendall(frame)
            data = b""
            while not (data.endswith(b"\r\n") and data.count(b"\r\n") >= 2):
                data += self._sock.recv(_BUFFER)
            took.append(clock() - start)
        watch.stop()
        self._unsubscribe()
        return took

    def _subscribe(self, subject):
        self._sock.sendall(b"SUB %s 7\r\n" % subject)
        self._plain.flush()

    def _unsubscribe(self):
        self._sock.sendall(b"UNSUB 7\r\n")
        self._plain.flush()


def _pub(subject, reply, payload):
    return b"PUB %s %s %d\r\n%s\r\n" % (subject, reply, len(payload), payload)
