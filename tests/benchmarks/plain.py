"""The harness' own NATS client, on one blocking socket.

It makes streams and consumers, fills streams, sends bursts, answers requests and checks afterwards
what the server holds, so that no peer has to do the work of another and none is judged by its own
word.
"""

from __future__ import annotations

import json
import socket
import threading
from typing import Self
from urllib.parse import urlsplit

_CONNECT = b'CONNECT {"verbose":false,"headers":true,"no_responders":true,"lang":"bench","version":"0"}\r\n'
_SECONDS = 30.0
_BLOCK = (
    b"NATS/1.0\r\nOrder: order-00000001\r\n"
    b"Trace-Parent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n\r\n"
)


class Plain:
    """A context manager over one connection. Every wait ends after 30 s."""

    def __init__(self, url: str) -> None:
        self._url = url
        at = urlsplit(url)
        self.sock = socket.create_connection((at.hostname or "", at.port or 4222), timeout=_SECONDS)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._read = self.sock.makefile("rb", buffering=1 << 18)
        self._read.readline()  # INFO
        self.sock.sendall(_CONNECT)
        self.sock.sendall(b"SUB _INBOX.plain 1\r\n")
        self.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._read.close()
        self.sock.close()

    def frame(self) -> tuple[bytes, bytes, bytes]:
        """``(operation, reply subject, body)`` of the next frame; PING is answered, -ERR is raised."""
        while line := self._read.readline():
            words = line.split()
            if words[0] in {b"MSG", b"HMSG"}:
                sizes = 1 if words[0] == b"MSG" else 2
                body = self._read.read(int(words[-1]) + 2)[:-2]
                return words[0], words[3] if len(words) == 4 + sizes else b"", body
            if words[0] == b"PING":
                self.sock.sendall(b"PONG\r\n")
            elif words[0] == b"-ERR":
                raise RuntimeError(line.decode())
            elif words[0] == b"PONG":
                return b"PONG", b"", b""
        raise ConnectionError("the server closed the harness' connection")

    def flush(self) -> None:
        """Wait until the server has worked off everything sent so far."""
        self.sock.sendall(b"PING\r\n")
        while self.frame()[0] != b"PONG":
            pass

    def api(self, name: str, request: object = None) -> dict:
        """The answer of ``$JS.API.<name>``; an error in it is raised."""
        body = b"" if request is None else json.dumps(request).encode()
        self.sock.sendall(
            b"PUB $JS.API.%s _INBOX.plain %d\r\n%s\r\n" % (name.encode(), len(body), body)
        )
        answer = json.loads(self.frame()[2])
        if "error" in answer:
            raise RuntimeError(f"{name}: {answer['error']}")
        return answer

    def stream(self, name: str, subject: str) -> None:
        """Create a stream in memory."""
        self.api(
            f"STREAM.CREATE.{name}", {"name": name, "subjects": [subject], "storage": "memory"}
        )

    def consumer(self, stream: str, name: str, ack: str) -> None:
        """Create a durable pull consumer that never limits what is in flight."""
        config = {"durable_name": name, "ack_policy": ack, "mem_storage": True, "max_waiting": 2048}
        if ack != "none":
            config |= {"max_ack_pending": -1, "ack_wait": 120_000_000_000}
        self.api(f"CONSUMER.CREATE.{stream}.{name}", {"stream_name": stream, "config": config})

    def fill(self, subject: str, n: int, size: int, *, headers: bool = False) -> None:
        """Store n messages, with two headers each if wished, by publishes of which at most some
        thousand are unacknowledged at a time.

        A plain burst of core publishes would lose some: a stream drops what overflows its inbound
        queue.
        """
        payload = b"x" * size
        one = b"PUB %s _INBOX.plain %d\r\n%s\r\n" % (subject.encode(), size, payload)
        if headers:
            sizes = len(_BLOCK), len(_BLOCK) + size
            one = b"HPUB %s _INBOX.plain %d %d\r\n%s%s\r\n" % (
                subject.encode(),
                *sizes,
                _BLOCK,
                payload,
            )
        per = 1024
        block = one * per
        sent = acked = 0
        while acked < n:
            while sent < n and sent - acked <= 3 * per:
                step = min(per, n - sent)
                self.sock.sendall(block if step == per else one * step)
                sent += step
            body = self.frame()[2]
            if b'"error"' in body:
                raise RuntimeError(f"fill: {body.decode()}")
            acked += 1

    def burst(self, subject: str, n: int, size: int) -> None:
        """Publish n messages as fast as the socket takes them."""
        one = b"PUB %s %d\r\n%s\r\n" % (subject.encode(), size, b"x" * size)
        per = 512
        block = one * per
        for done in range(0, n, per):
            self.sock.sendall(block if n - done >= per else one * (n - done))
        self.flush()

    def answer(self, subject: str) -> None:
        """Echo requests from a thread of its own, until the server goes."""
        other = Plain(self._url)
        other.sock.settimeout(None)
        other.sock.sendall(b"SUB %s 2\r\n" % subject.encode())
        other.flush()

        def echo() -> None:
            try:
                while True:
                    _, reply, body = other.frame()
                    other.sock.sendall(b"PUB %s %d\r\n%s\r\n" % (reply, len(body), body))
            except OSError:
                other.__exit__()

        threading.Thread(target=echo, daemon=True).start()
