"""Clients of a model server in memory, on virtual time: an application is tested as it is, without
a server or a socket.

    with MemoryServer():
        application()                            # whatever it connects to with jsproto_io.blocking
    MemoryServer().run(application)              # a coroutine function, on asyncio
    MemoryServer().run(application, backend="trio")

Theory. A `MemoryServer` is a `jsproto.testing.Switchboard` that adapters can dial. Whoever waits is
woken by its lines; what differs is who notices that everybody waits, and lets time leap. On asyncio
that is the selector of a `_Loop`, which is asked to sleep; on trio it is the clock, which is asked
how long to sleep; without ``await`` it is the client itself, when it would sleep.

Every address leads to the one server, so URLs stay as they are. Only connections of ours are in
memory. What else an application on asyncio connects to is real; but time waits for nobody out
there.

It belongs to one thread of one process. While it is active, a client elsewhere is refused and
reaches no real server (`_network`).
"""

# ruff: noqa: SLF001 - client and transport are one thing in several classes

from __future__ import annotations

import asyncio
import importlib
import math
import os
import selectors
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Executor
from contextvars import Token
from threading import get_ident
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias, TypeVar, TypeVarTuple, cast, final

from jsproto.core.connection.server_pool import Server
from jsproto.errors import LocalProtocolError
from jsproto.testing import Clock, Line, SimServer, Switchboard
from jsproto_io._transport.asyncio_protocol import AsyncioProtocol as _Protocol
from jsproto_io._transport.backend import Event, Nursery
from jsproto_io._transport.network import NETWORK, Linked, Network, activate, deactivate
from jsproto_io._transport.nursery_stream import Owner
from jsproto_io._transport.selector_socket import OPENED, ConnectionGone, Happened

__all__ = ["Backend", "MemoryServer"]

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
Backend: TypeAlias = Literal["asyncio", "trio"]


@final
class MemoryServer(Switchboard):
    """A model server that clients of every adapter can connect to, and that a test breaks by its
    verbs.

    As a context manager it is the network of all clients that are entered in its body. Those with
    ``await`` also need its clock, so `run` them. While it is active, no client of this process, or
    of a process that it starts, opens a real socket: a client that it cannot serve, in another
    thread, process or event loop, raises `LocalProtocolError`.

    Args:
        model: the server; a plain `SimServer` if none is given.
        clock: the time of everybody.
        limit: virtual seconds that a test may take.
    """

    def __init__(
        self, model: SimServer | None = None, *, clock: Clock | None = None, limit: float = 86_400.0
    ) -> None:
        super().__init__(model, clock=clock, limit=limit)
        self._tokens: list[Token[Network | None]] = []
        self._homes: list[tuple[int, int]] = []

    def __repr__(self) -> str:
        return f"<MemoryServer: {'active' if self._homes else 'not active'}>"

    def __enter__(self) -> Self:
        self._tokens.append(NETWORK.set(self))
        self._begin_here()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end_here()
        try:
            NETWORK.reset(self._tokens.pop())
        except ValueError:  # left in another context, as some test runners do; it is not active any more in any case
            NETWORK.set(None)

    def _begin_here(self) -> None:
        """Serve this process and thread."""
        self._homes.append((os.getpid(), get_ident()))
        activate(self)

    def _end_here(self) -> None:
        """Serve whomever it served before."""
        deactivate(self)
        self._homes.pop()

    def run(
        self,
        main: Callable[[*Ts], Coroutine[Any, Any, T]],
        *args: *Ts,
        backend: Backend = "asyncio",
    ) -> T:
        """Run a coroutine function in this world, as `asyncio.run` or ``trio.run`` would in the
        real one, and give its result.

        Args:
            main: the application, or the test.
            args: its arguments.
            backend: what to run it on; `jsproto_io.anyio` runs on both.

        Raises:
            LocalProtocolError: it took longer than the limit.
            BaseException: what it raises.
        """
        with self:
            if backend == "asyncio":
                with asyncio.Runner(loop_factory=self.loop) as runner:
                    return runner.run(main(*args))
            trio = importlib.import_module("trio")
            clock = _TrioClock(self)
            return cast("T", trio.run(clock.bounded, main, args, clock=clock))

    def loop(self) -> asyncio.AbstractEventLoop:
        """An event loop for asyncio: ``asyncio.Runner(loop_factory=server.loop)``."""
        return _Loop(self)

    # ------------------------------------------------------------------ as a network

    def admit(self) -> None:
        """Take a client that is entered here.

        Raises:
            LocalProtocolError: the server belongs to another process or thread.
        """
        process, thread = self._homes[-1]
        if process != os.getpid():
            raise LocalProtocolError(
                f"expected a client in process {process}, which has the model server, this is its fork {os.getpid()}: a"
                " model server serves one process, so start one here, or test with a real server"
            )
        if thread != get_ident():
            raise LocalProtocolError(
                "expected a client in the thread that has the model server, this is another one: a model server serves"
                " one thread, so start one here, or test with a real server"
            )

    def now(self) -> float:
        """The time, in seconds."""
        return self.clock.now

    def plug(self) -> _Plug:
        """For a client that blocks."""
        return _Plug(self)

    def link(self, owner: Owner, server: Server) -> Linked:
        """For a client with a nursery."""
        return _Link(owner, self)


# ---------------------------------------------------------------------- without await


@final
class _Plug:
    """One line after another, and whoever waits for one lets time leap; see
    `jsproto_io._transport.selector_socket.SelectorTransport`.
    """

    __slots__ = ("_board", "_line", "_opening", "asleep", "broken", "due", "unsent")

    def __init__(self, board: MemoryServer) -> None:
        self._board = board
        self._line: Line | None = None
        self._opening = False
        self.asleep = False
        self.broken: OSError | None = None
        self.due: float | None = None
        self.unsent = bytearray()

    def dial(
        self, host: str, port: int, *, randomize: bool = False, within: float = math.inf
    ) -> ConnectionGone | None:
        try:
            self._line = self._board.dial(_nobody)
        except OSError as error:
            return ConnectionGone(error)
        self._opening = True
        return None

    def wait(self, patience: float | None) -> bytes | Happened | ConnectionGone | None:
        happened = self._look()
        if happened is None and patience != 0.0:
            self.asleep = True
            self._leap(patience)
            self.asleep = False
            happened = self._look()
        return happened

    def _leap(self, patience: float | None) -> None:
        now = self._board.clock.now
        # However short the patience, it ends.
        until = None if patience is None else max(now + patience, math.nextafter(now, math.inf))
        if not self._board.leap(until):
            raise LocalProtocolError("expected something to wait for, nothing will ever happen")

    def _look(self) -> bytes | Happened | ConnectionGone | None:
        line = self._line
        if line is None:
            return None
        if self._opening:
            self._opening = False
            return OPENED
        data = line.read()
        if data:
            return data
        if line.ended:
            self._line = None
            return ConnectionGone(line.error)
        return None

    def write(self, data: bytes, *, more: bool = False) -> None:
        if self._line is not None:
            self._line.write(data)

    def hang_up(self) -> None:
        self._opening = False
        line, self._line = self._line, None
        if line is not None:
            line.hang_up()

    def pull(self) -> None:
        self.hang_up()


def _nobody() -> None:
    """Who waits looks by himself."""


# ---------------------------------------------------------------------- asyncio


@final
class _Loop(asyncio.SelectorEventLoop):
    """An event loop in virtual time, on which connections of ours are lines of a switchboard."""

    def __init__(self, board: MemoryServer) -> None:
        self._board = self.network = board
        #: How many threads work for somebody here; time waits for them.
        self.working = 0
        super().__init__(_Leaping(board, self))

    def time(self) -> float:
        return self._board.clock.now

    def run_forever(self) -> None:
        self._board._begin_here()
        try:
            super().run_forever()
        finally:
            self._board._end_here()

    async def create_connection(self, protocol_factory: Any, *args: Any, **options: Any) -> Any:
        protocol = protocol_factory()
        if not isinstance(protocol, _Protocol):
            return await super().create_connection(lambda: protocol, *args, **options)
        await asyncio.sleep(0)
        transport = _Transport(self, self._board, protocol)
        protocol.connection_made(transport)
        return transport, protocol

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        future = super().run_in_executor(executor, func, *args)
        self.working += 1
        future.add_done_callback(self._worked)
        return future

    def _worked(self, _future: object) -> None:
        self.working -= 1


@final
class _Leaping(selectors.SelectSelector):
    """A selector that does not sleep: what it would sleep for comes at once."""

    def __init__(self, board: MemoryServer, loop: _Loop) -> None:
        super().__init__()
        self._board = board
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0.0)
        if ready or timeout == 0.0:
            return ready
        if self._loop.working:
            return super().select(None)
        if self._board.leap(None if timeout is None else self._board.clock.now + timeout):
            return []
        return super().select(None)


@final
class _Transport(asyncio.Transport):
    """A line with callbacks."""

    def __init__(self, loop: _Loop, board: MemoryServer, protocol: _Protocol) -> None:
        super().__init__()
        self._loop = loop
        self._protocol = protocol
        self._rung = False
        self._closing = False
        self._line = board.dial(self._ring)

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        self._line.write(bytes(data))

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self._closing

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Nothing is ever buffered."""

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._line.hang_up()
            self._loop.call_soon(self._protocol.connection_lost, None)

    def abort(self) -> None:
        self.close()

    def _ring(self) -> None:
        if not self._rung:
            self._rung = True
            self._loop.call_soon(self._look)

    def _look(self) -> None:
        self._rung = False
        data = self._line.read()
        if data and not self._closing:
            self._protocol.heard(data)
        if self._line.ended and not self._closing:
            self._closing = True
            self._protocol.connection_lost(self._line.error)


# ---------------------------------------------------------------------- trio, and anyio on both


@final
class _Link:
    """A line that lives in a task; see `jsproto_io._transport.nursery_stream.Stream`. ``client`` is
    ``None`` once nobody wants it any more.
    """

    __slots__ = (
        "_bell",
        "_board",
        "_line",
        "_nursery",
        "_scope",
        "_ways",
        "broken",
        "client",
        "unsent",
    )

    def __init__(self, client: Owner, board: MemoryServer) -> None:
        self.client: Owner | None = client
        self.broken = False
        self.unsent = bytearray()
        self._board = board
        self._ways = client.WAYS
        self._scope = client.WAYS.scope()
        self._bell: Event = client.WAYS.event()
        self._line: Line
        self._nursery: Nursery

    async def live(self) -> None:
        """The whole life."""
        with self._scope:
            try:
                self._line = self._board.dial(self._ring)
            except OSError as error:
                self._lost(error)
                return
            try:
                async with self._ways.nursery() as self._nursery:
                    await self._read()
            finally:
                self._line.hang_up()

    def _ring(self) -> None:
        self._bell.set()

    async def _read(self) -> None:
        client = self.client
        if client is None:
            return
        client._opened_stream(client._now())
        client._pump()
        while True:
            await self._bell.wait()
            self._bell = self._ways.event()
            data = self._line.read()
            client = self.client
            if client is not None and data:
                client._arrived(data, client._now())
                client._received()
            if self.client is None:
                return
            if self._line.ended:
                self._lost(self._line.error)
                return

    def _lost(self, error: Exception | None) -> None:
        self._scope.cancel()
        client, self.client = self.client, None
        if client is not None:
            client._failed(error)
            client._pump()

    def hang_up(self) -> None:
        """Nobody wants it any more."""
        self.client = None
        self._scope.cancel()

    def drop(self) -> None:
        """Forget the client; there is no socket."""
        self.client = None

    def start_soon(self, work: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """A task that ends with the stream."""
        self._nursery.start_soon(work)

    def write(self, data: bytes) -> None:
        """Have it heard."""
        self._line.write(data)


@final
class _TrioClock:
    """A clock for trio that leaps when nobody can go on (trio's ``abc.Clock``)."""

    def __init__(self, board: MemoryServer) -> None:
        self._board = board
        self._looked = False
        self._failure: LocalProtocolError | None = None
        self._give_up: Callable[[], object] = _nobody
        self._trio: Any = importlib.import_module("trio")

    def start_clock(self) -> None:
        """Nothing has to be started."""

    def current_time(self) -> float:
        """The time, in seconds."""
        return self._board.clock.now

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Asked when nobody can go on: first look what comes from outside, then leap. An exception
        here would be a fault of trio.
        """
        self._looked = not self._looked
        if self._looked:
            return 0.0
        if self._trio.to_thread.current_default_thread_limiter().borrowed_tokens:
            return math.inf  # a thread works for somebody here, and rings when it is done
        try:
            return 0.0 if self._board.leap(deadline) else math.inf
        except LocalProtocolError as error:
            self._failure = error
            self._give_up()
            return 0.0

    async def bounded(self, main: Callable[..., Awaitable[T]], args: tuple[object, ...]) -> T:
        """Run it until it is over, or has gone beyond the limit."""
        results: list[T] = []
        with self._trio.CancelScope() as scope:
            self._give_up = scope.cancel
            results.append(await main(*args))
        if self._failure is not None:
            raise self._failure
        return results[0]
