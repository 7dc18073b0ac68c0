"""The network of a client that shall not use the machine's own: how code that connects is tested
without a server.

Theory. Whoever tests sets `NETWORK` around the code under test, and that code stays as it is: its
clients find the network when they are entered (`network_here`). A context variable does not reach
other threads, other contexts or new processes. So whoever sets it also calls `activate`: while a
network is active, a client that does not find it is refused, and no client opens a real socket. A
child process learns of it by the environment variable `MARK`. Of a network an adapter needs what it
would have of the machine: a `Plugged` for the one that blocks, a `Linked` for those with nurseries,
and the time that goes with them. On asyncio the event loop is clock and network both; such a loop
has the attribute ``network``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any, Final, Protocol

from jsproto.errors import LocalProtocolError
from jsproto_io._transport.backend import AsyncBackend
from jsproto_io._transport.inlet import Inlet
from jsproto_io._transport.selector_socket import ConnectionGone, Happened


class Plugged(Protocol):
    """One byte stream after another, for whoever blocks; see
    `jsproto_io._transport.selector_socket.SelectorTransport`.
    """

    asleep: bool
    broken: OSError | None
    due: float | None
    unsent: bytearray

    def dial(
        self, host: str, port: int, *, randomize: bool = False, within: float = ...
    ) -> ConnectionGone | None:
        """Begin to open a stream; `wait` says what came of it, unless it is clear at once."""
        ...

    def wait(self, patience: float | None) -> bytes | Happened | ConnectionGone | None:
        """Sleep until something happens, at most so many seconds, or for ever."""
        ...

    def write(self, data: bytes, *, more: bool = False) -> None:
        """Have it sent; with ``more`` it may wait a moment for what follows."""

    def hang_up(self) -> None:
        """Close the stream, or stop opening it."""

    def pull(self) -> None:
        """Be done with."""


class Linked(Protocol):
    """One byte stream that lives in a task; see `jsproto_io._transport.nursery_stream.Stream`."""

    broken: bool
    unsent: bytearray

    async def live(self) -> None:
        """The whole life."""

    def write(self, data: bytes) -> None:
        """Have it sent."""

    def hang_up(self) -> None:
        """Nobody wants it any more."""

    def drop(self) -> None:
        """Close this process's end without a word to the peer."""

    def start_soon(self, work: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """A task that ends with the stream."""


class Network(Protocol):
    """Time, and what can be dialled in it."""

    def now(self) -> float:
        """The time, in seconds."""
        ...

    def admit(self) -> None:
        """Take a client that is entered here.

        Raises:
            LocalProtocolError: the network belongs to another process or thread.
        """

    def plug(self) -> Plugged:
        """For a client that blocks."""
        ...

    def link(self, inlet: Inlet, ways: AsyncBackend) -> Linked:
        """For a client with a nursery, which starts its life."""
        ...


#: What clients that are entered here use; ``None``: the network of the machine.
NETWORK: Final[ContextVar[Network | None]] = ContextVar("NETWORK", default=None)

#: The environment variable that tells child processes of an active network; its value is the
#: process id of the parent.
MARK: Final = "JSPROTO_MODEL_SERVER"
#: Every network that is active in this process, once for each time it was activated.
_ACTIVE: Final[list[Network]] = []


def activate(network: Network) -> None:
    """From now on no client of this process, or of a process that it starts, opens a real socket."""
    _ACTIVE.append(network)
    os.environ.setdefault(MARK, str(os.getpid()))


def deactivate(network: Network) -> None:
    """Undo one `activate`."""
    _ACTIVE.remove(network)
    if not _ACTIVE and os.environ.get(MARK) == str(os.getpid()):
        del os.environ[MARK]


def network_here() -> Network | None:
    """The network of a client that is entered here; ``None`` for the machine's own.

    Raises:
        LocalProtocolError: a network is active, and this is not the process, the thread or the task
            that it can serve.
    """
    network = _of_the_loop() or NETWORK.get()
    if network is None or network not in _ACTIVE:
        refuse_real_sockets()
        return None
    network.admit()
    return network


def refuse_real_sockets() -> None:
    """Raise while a network is active: a client must not reach a real server behind a test's back.

    Raises:
        LocalProtocolError: one is.
    """
    if _ACTIVE or MARK in os.environ:
        raise LocalProtocolError(
            "expected no model server to be active where a client would open a real socket: a MemoryServer is active in"
            f" this process or in its parent (see the variable {MARK}), and it cannot serve this thread, task or"
            " process. Run the code with MemoryServer.run, or leave the MemoryServer first"
        )


def wrong_clock() -> LocalProtocolError:
    """The error for a client under a model server whose event loop keeps another time."""
    return LocalProtocolError(
        "expected the event loop of the model server, another one runs here: run the code with MemoryServer.run instead of"
        " asyncio.run or trio.run, and have a test run by jsproto_io.pytest_plugin, with its fixture nats_server, instead"
        " of by another plugin or test case class"
    )


def _of_the_loop() -> Network | None:
    """The network of the asyncio loop that runs here, if it is one with a network."""
    asyncio = sys.modules.get("asyncio")
    return getattr(asyncio and asyncio._get_running_loop(), "network", None)  # noqa: SLF001 - a documented function
