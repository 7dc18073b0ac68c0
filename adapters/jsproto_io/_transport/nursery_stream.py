"""One byte stream of a structured client, from dialling to its end, in one task that owns its
socket.

Theory. The task dials, reads, and closes the socket itself when its scope is cancelled: so nobody
closes a socket that somebody waits for. While several addresses are tried, each has a task of its
own until one of them stands. Writing goes to the kernel at once, in whatever task writes; only what
the kernel does not take is left to a second task. Once nobody wants the stream any more, reading
ends, and what was written has ``close_timeout`` to leave.
"""

# ruff: noqa: SLF001 - client and stream are one thing in two classes

from __future__ import annotations

import socket
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, ClassVar, Protocol, final

from jsproto.core.connection.connection import Connection
from jsproto.core.connection.options import Options
from jsproto.core.connection.server_pool import Server
from jsproto_io._transport.backend import AsyncBackend, Event, Nursery, Scope
from jsproto_io._transport.happy_eyeballs import HappyEyeballs
from jsproto_io._transport.selector_socket import CHUNK, taken


class Owner(Protocol):
    """The client, as its stream sees it."""

    WAYS: ClassVar[AsyncBackend]
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
    """One byte stream, from dialling to its end.

    Attributes:
        broken: the stream takes nothing more; reading it will say why.
        client: who uses it; ``None`` once nobody wants it any more.
        unsent: what the kernel has not taken, or has refused.
    """

    __slots__ = (
        "_bound",
        "_nursery",
        "_opened",
        "_race",
        "_scope",
        "_server",
        "_stream",
        "_ways",
        "broken",
        "client",
        "unsent",
    )

    def __init__(self, client: Owner, server: Server) -> None:
        self.client: Owner | None = client
        self.broken = False
        self.unsent = bytearray()
        self._ways = client.WAYS
        self._scope = client.WAYS.scope()
        self._server = server
        options = client._options
        self._bound = options.close_timeout
        self._race = partial(
            HappyEyeballs, server.host, randomize=options.randomize, within=options.connect_timeout
        )
        self._opened: socket.socket | None = None
        self._stream: socket.socket
        self._nursery: Nursery

    async def live(self) -> None:
        """The whole life."""
        with self._scope:
            try:
                self._stream = self._opened = await self._dialled()
            except (OSError, ValueError) as error:  # ValueError: a host name that no resolver takes
                self._lost(error)
                return
            try:
                async with self._ways.nursery() as self._nursery:
                    await self._read()
            finally:
                self._stream.close()

    async def _dialled(self) -> socket.socket:
        """The addresses of the host in a race."""
        ways = self._ways
        server = self._server
        race = self._race(await ways.places(server.host, server.port, type=socket.SOCK_STREAM))
        won: list[socket.socket] = []
        try:
            with ways.scope() as over:
                async with ways.nursery() as nursery:
                    while (stream := race.begun()) is not None:
                        failed = ways.event()
                        nursery.start_soon(partial(self._tried, race, stream, won, failed, over))
                        with ways.scope(deadline=ways.now() + race.moment):
                            await failed.wait()
        except BaseException:
            for stream in won:
                stream.close()
            raise
        if won:
            return won[0]
        raise race.why

    async def _tried(
        self,
        race: HappyEyeballs,
        stream: socket.socket,
        won: list[socket.socket],
        failed: Event,
        over: Scope,
    ) -> None:
        """See one address to its end, which may be that another has won."""
        try:
            await self._ways.writable(stream)
            if not won and race.stands(stream):
                won.append(stream)
                over.cancel()
        finally:
            if stream not in won:
                stream.close()
        failed.set()

    async def _read(self) -> None:
        """Read as long as somebody wants it. What is still to be written then keeps the nursery
        open, for a while.
        """
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

    def drop(self) -> None:
        """Close this process's copy of the socket, without a word to the peer or to the event loop."""
        self.client = None
        if self._opened is not None:
            self._opened.close()

    def start_soon(self, work: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """A task that ends with the stream."""
        self._nursery.start_soon(work)

    def write(self, data: bytes) -> None:
        """Give the kernel what it takes, and keep the rest for a task."""
        if self.unsent or self.broken:
            self.unsent += data
            return
        gone = self._taken(data)
        if gone < len(data):
            self.unsent += memoryview(data)[gone:]
            if not self.broken:
                self._nursery.start_soon(self._rest)

    def _taken(self, data: bytes | bytearray) -> int:
        try:
            return taken(self._stream, data)
        except OSError:
            self.broken = True
            return 0

    async def _rest(self) -> None:
        while self.unsent and not self.broken:
            await self._ways.writable(self._stream)
            del self.unsent[: self._taken(self.unsent)]
            client = self.client
            if client is not None:
                client._connection.transport_unsent(len(self.unsent), client._now())
                client._pump()
        if self.client is None:
            self._scope.cancel()
