"""One byte stream of a structured client, from dialling to its end, in one task that owns its socket.

Theory. The task dials, reads, and closes the socket itself when its scope is cancelled: so nobody closes a socket that
somebody waits for. Writing goes to the kernel at once, in whatever task writes; only what the kernel does not take is left to
a second task. Once nobody wants the stream any more, reading ends, and what was written has ``close_timeout`` to leave.
"""

# ruff: noqa: SLF001 - client and stream are one thing in two classes

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, Protocol, final

from jsproto.core.connection import Connection
from jsproto.core.options import Options
from jsproto.core.servers import Server
from jsproto_io._plug import CHUNK, UNDER_WAY, taken
from jsproto_io._ways import Nursery, Ways, in_turn


class Owner(Protocol):
    """The client, as its stream sees it."""

    WAYS: ClassVar[Ways]
    _connection: Connection
    _options: Options
    _now: Callable[[], float]

    def _opened_stream(self, now: float) -> None: ...

    def _arrived(self, data: bytes, now: float) -> None: ...

    def _failed(self, error: Exception | None) -> None: ...

    def _received(self) -> None: ...

    def _pump(self) -> None: ...


@final
class Stream:
    """One byte stream, from dialling to its end. ``client`` is ``None`` once nobody wants it any more."""

    __slots__ = (
        "_bound",
        "_nursery",
        "_randomize",
        "_scope",
        "_server",
        "_stream",
        "_ways",
        "client",
        "unsent",
    )

    def __init__(self, client: Owner, server: Server) -> None:
        self.client: Owner | None = client
        self.unsent = bytearray()
        self._ways = client.WAYS
        self._scope = client.WAYS.scope()
        self._server = server
        self._bound = client._options.close_timeout
        self._randomize = client._options.randomize
        self._stream: socket.socket
        self._nursery: Nursery

    async def live(self) -> None:
        """The whole life."""
        with self._scope:
            try:
                self._stream = await self._dialled()
            except (OSError, ValueError) as error:  # ValueError: a host name that no resolver takes
                self._lost(error)
                return
            try:
                async with self._ways.nursery() as self._nursery:
                    await self._read()
            finally:
                self._stream.close()

    async def _dialled(self) -> socket.socket:
        """One address of the host after the other."""
        host = self._server.host
        why = OSError(f"no address for {host}")
        places = await self._ways.places(host, self._server.port, type=socket.SOCK_STREAM)
        for family, kind, proto, _, place in in_turn(places, randomize=self._randomize):
            try:
                stream = socket.socket(family, kind, proto)
            except OSError as error:
                why = error
                continue
            try:
                stream.settimeout(0.0)
                stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                code = stream.connect_ex(place)
                if code in UNDER_WAY:
                    await self._ways.writable(stream)
                    code = stream.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            except BaseException:
                stream.close()
                raise
            if not code:
                return stream
            stream.close()
            why = OSError(code, os.strerror(code))
        raise why

    async def _read(self) -> None:
        """Read as long as somebody wants it. What is still to be written then keeps the nursery open, for a while."""
        stream = self._stream
        readable = self._ways.readable
        client = self.client
        if client is None:
            return
        client._opened_stream(client._now())
        client._pump()
        while True:
            await readable(stream)
            try:
                data = stream.recv(CHUNK)
            except BlockingIOError:
                continue
            except OSError as error:
                self._lost(error)
                return
            if self.client is None:
                return
            if not data:
                self._lost(None)
                return
            client._arrived(data, client._now())
            client._received()

    def _lost(self, error: Exception | None) -> None:
        self._scope.cancel()
        client, self.client = self.client, None
        if client is not None:
            client._failed(error)
            client._pump()

    def hang_up(self) -> None:
        """Nobody wants it any more: let what was written leave, for a while, or stop dialling."""
        self.client = None
        if self.unsent:
            self._scope.deadline = self._ways.now() + self._bound
        else:
            self._scope.cancel()

    def start_soon(self, work: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """A task that ends with the stream."""
        self._nursery.start_soon(work)

    def write(self, data: bytes) -> None:
        """Give the kernel what it takes, and keep the rest for a task."""
        if self.unsent:
            self.unsent += data
            return
        gone = taken(self._stream, data)
        if gone < len(data):
            self.unsent += memoryview(data)[gone:]
            self._nursery.start_soon(self._rest)

    async def _rest(self) -> None:
        while self.unsent:
            await self._ways.writable(self._stream)
            del self.unsent[: taken(self._stream, self.unsent)]
            client = self.client
            if client is not None:
                client._connection.transport_unsent(len(self.unsent), client._now())
                client._pump()
        if self.client is None:
            self._scope.cancel()
