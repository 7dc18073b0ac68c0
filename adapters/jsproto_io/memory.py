"""Clients of a model server in memory, on virtual time: an application is tested as it is, without
a server or a socket.

    with MemoryServer():
        application()                            # whatever it connects to with jsproto_io.blocking
    MemoryServer().run(application)              # a coroutine function, on asyncio
    MemoryServer().run(application, backend="trio")

Theory. A `MemoryServer` is a `jsproto.testing.Switchboard` that adapters can dial. Whoever waits is
woken by its lines; what differs is who notices that everybody waits, and lets time leap. On asyncio
that is the selector of a `MemoryLoop`, which is asked to sleep; on trio it is the clock, which is asked
how long to sleep; without ``await`` it is the client itself, when it would sleep.

Every address leads to the one server, so URLs stay as they are. Only connections of ours are in
memory. What else an application on asyncio connects to is real; but time waits for nobody out
there.

It belongs to one thread of one process. While it is active, a client elsewhere is refused and
reaches no real server (`_network`).
"""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import Callable, Coroutine
from contextvars import Token
from threading import get_ident
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias, TypeVar, TypeVarTuple, cast, final

from jsproto.errors import LocalProtocolError
from jsproto.testing import Clock, SimServer, Switchboard
from jsproto_io._memory.asyncio_loop import MemoryLoop
from jsproto_io._memory.nursery import MemoryStream, TrioClock
from jsproto_io._memory.plug import MemoryPlug
from jsproto_io._transport.backend import AsyncBackend
from jsproto_io._transport.inlet import Inlet
from jsproto_io._transport.network import NETWORK, Linked, Network, activate, deactivate

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
            clock = TrioClock(self)
            return cast("T", trio.run(clock.bounded, main, args, clock=clock))

    def loop(self) -> asyncio.AbstractEventLoop:
        """An event loop for asyncio: ``asyncio.Runner(loop_factory=server.loop)``."""
        return MemoryLoop(self, self._begin_here, self._end_here)

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

    def plug(self) -> MemoryPlug:
        """For a client that blocks."""
        return MemoryPlug(self)

    def link(self, inlet: Inlet, ways: AsyncBackend) -> Linked:
        """For a client with a nursery."""
        return MemoryStream(inlet, ways, self)
