"""The network of a client that shall not use the machine's own: how code that connects is tested without a server.

Theory. Whoever tests sets `NETWORK` around the code under test, and that code stays as it is: its clients find the network when they are
made. Of a network an adapter needs what it would have of the machine: a `Plugged` for the one that blocks, a `Linked` for those with
nurseries, and the time that goes with them. On asyncio the event loop is clock and network both, so nothing is needed there.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any, Final, Protocol

from jsproto.core.servers import Server
from jsproto_io._plug import Happened, Lost
from jsproto_io._stream import Owner


class Plugged(Protocol):
    """One byte stream after another, for whoever blocks; see `jsproto_io._plug.Plug`."""

    asleep: bool
    due: float | None
    unsent: bytearray

    def dial(self, host: str, port: int, *, randomize: bool = False, within: float = ...) -> Lost | None:
        """Begin to open a stream; `wait` says what came of it, unless it is clear at once."""
        ...

    def wait(self, patience: float | None) -> bytes | Happened | Lost | None:
        """Sleep until something happens, at most so many seconds, or for ever."""
        ...

    def write(self, data: bytes, *, more: bool = False) -> None:
        """Have it sent; with ``more`` it may wait a moment for what follows."""

    def hang_up(self) -> None:
        """Close the stream, or stop opening it."""

    def pull(self) -> None:
        """Be done with."""


class Linked(Protocol):
    """One byte stream that lives in a task; see `jsproto_io._stream.Stream`."""

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

    def plug(self) -> Plugged:
        """For a client that blocks."""
        ...

    def link(self, owner: Owner, server: Server) -> Linked:
        """For a client with a nursery, which starts its life."""
        ...


#: What clients that are made here use; ``None``: the network of the machine.
NETWORK: Final[ContextVar[Network | None]] = ContextVar("NETWORK", default=None)
