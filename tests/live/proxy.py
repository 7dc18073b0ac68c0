"""A line between client and server that counts: how often somebody asks is seen here, not in the
client's own books.

A `Tap` listens on a port of its own and carries bytes to a server's port both ways, in threads. It
reads what clients say with the model server's reader, and keeps each pull request with the moment
when it passed. A server that is down is a connection that ends at once; `cut` ends all connections,
as a broken line would.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from bisect import bisect_left
from time import monotonic
from typing import NamedTuple

from jsproto.wire.client_commands import ClientCommandParser, PubLine

NEXT = "$JS.API.CONSUMER.MSG.NEXT."


class Pulled(NamedTuple):
    """A pull request, and when it passed."""

    at: float
    consumer: str
    request: dict[str, object]


class Tap:
    """One door to one server."""

    def __init__(self, port: int) -> None:
        self.target = port
        self.pulls: list[Pulled] = []
        self.connections = 0
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._door.getsockname()[1]
        self.url = f"nats://127.0.0.1:{self.port}"
        self._run(self._accept)

    # ------------------------------------------------------------------ what it saw

    def since(self, moment: float) -> list[Pulled]:
        """The pull requests from a moment on."""
        return [pull for pull in self.pulls if pull.at >= moment]

    def busiest(self, since: float, until: float, seconds: float = 1.0) -> int:
        """The most pull requests within so many seconds on end."""
        times = [pull.at for pull in self.pulls if since <= pull.at < until]
        return max(
            (bisect_left(times, at + seconds) - index for index, at in enumerate(times)), default=0
        )

    # ------------------------------------------------------------------ what it does

    def cut(self) -> None:
        """End all connections without a word."""
        with self._lock:
            streams = list(self._open)
        for stream in streams:
            with contextlib.suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End everything, and wait for the threads."""
        with contextlib.suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        self.cut()
        for thread in self._threads:
            thread.join(5)
        assert not [thread for thread in self._threads if thread.is_alive()]

    # ------------------------------------------------------------------ carrying

    def _run(self, what, *args: object) -> None:
        thread = threading.Thread(target=what, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._door.accept()
            except OSError:
                return
            self.connections += 1
            try:
                server = socket.create_connection(("127.0.0.1", self.target), timeout=5)
            except OSError:
                client.close()
                continue
            for stream in (client, server):
                stream.settimeout(None)
                stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._open |= {client, server}
            ends = threading.Barrier(2, action=lambda both=(client, server): self._forget(*both))
            self._run(self._carry, client, server, ClientCommandParser(), ends)
            self._run(self._carry, server, client, None, ends)

    def _carry(
        self,
        source: socket.socket,
        sink: socket.socket,
        reader: ClientCommandParser | None,
        ends: threading.Barrier,
    ) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if reader is not None:
                    self._read(reader, data)
                sink.sendall(data)
        for stream in (source, sink):
            with contextlib.suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)
        ends.wait(5)

    def _forget(self, *streams: socket.socket) -> None:
        with self._lock:
            self._open -= set(streams)
        for stream in streams:
            stream.close()

    def _read(self, reader: ClientCommandParser, data: bytes) -> None:
        now = monotonic()
        for command in reader.feed(data):
            if isinstance(command, PubLine) and command.subject.startswith(NEXT):
                request = json.loads(command.payload) if command.payload.startswith(b"{") else {}
                self.pulls.append(Pulled(now, command.subject.removeprefix(NEXT), request))
