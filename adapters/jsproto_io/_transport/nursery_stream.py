"""One byte stream of a structured client, from dialling to its end, in one task that owns its
socket.

Theory. The task dials, reads, and closes the socket itself when its scope is cancelled: so nobody
closes a socket that somebody waits for. While several addresses are tried, each has a task of its
own until one of them stands. Writing goes to the kernel at once, in whatever task writes; only what
the kernel does not take is left to a second task. Once nobody wants the stream any more, reading
ends, and what was written has ``close_timeout`` to leave.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, final

from jsproto.core.connection.options import Options
from jsproto.core.connection.server_pool import Server
from jsproto_io._transport.backend import AsyncBackend, Event, Nursery, Scope
from jsproto_io._transport.happy_eyeballs import HappyEyeballs
from jsproto_io._transport.inlet import Inlet
from jsproto_io._transport.selector_socket import CHUNK, taken


@final
class Stream:
    """One byte stream, from dialling to its end.

    Attributes:
        broken: the stream takes nothing more; reading it will say why.
        inlet: where it puts what it has; ``None`` once the client does not want it any more.
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
        "inlet",
        "unsent",
    )

    def __init__(self, inlet: Inlet, server: Server, options: Options, ways: AsyncBackend) -> None:
        self.inlet: Inlet | None = inlet
        self.broken = False
        self.unsent = bytearray()
        self._ways = ways
        self._scope = ways.scope()
        self._server = server
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
        inlet = self.inlet
        if inlet is None:
            return
        inlet.up()
        while True:
            await readable(stream)
            try:
                data = stream.recv(CHUNK)
            except BlockingIOError:
                continue
            except OSError as error:
                self._lost(error)
                return
            if self.inlet is None:
                return
            if not data:
                self._lost(None)
                return
            inlet.data(data)

    def _lost(self, error: Exception | None) -> None:
        self._scope.cancel()
        inlet, self.inlet = self.inlet, None
        if inlet is not None:
            inlet.lost(error)

    def hang_up(self) -> None:
        """The client does not want it any more: let what was written leave, for a while, or stop dialling."""
        self.inlet = None
        if self.unsent:
            self._scope.deadline = self._ways.now() + self._bound
        else:
            self._scope.cancel()

    def drop(self) -> None:
        """Close this process's copy of the socket, without a word to the peer or to the event loop."""
        self.inlet = None
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
            if self.inlet is not None:
                self.inlet.room(len(self.unsent))
        if self.inlet is None:
            self._scope.cancel()
