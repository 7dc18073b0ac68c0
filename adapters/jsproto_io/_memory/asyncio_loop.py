"""A model server for asyncio: an event loop in virtual time. Its selector is asked to sleep when all
tasks wait, and lets time leap instead.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, TypeVar, TypeVarTuple, final

from jsproto.testing import Switchboard
from jsproto_io._transport.asyncio_protocol import AsyncioProtocol as _Protocol

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


@final
class MemoryLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time, on which connections of ours are lines of a switchboard."""

    def __init__(
        self, board: Switchboard, begin: Callable[[], None], end: Callable[[], None]
    ) -> None:
        self._board = self.network = board
        self._begin = begin
        self._finish = end
        #: How many threads work for this loop; time waits for them.
        self.working = 0
        super().__init__(_Leaping(board, self))

    def time(self) -> float:
        return self._board.clock.now

    def run_forever(self) -> None:
        self._begin()
        try:
            super().run_forever()
        finally:
            self._finish()

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

    def __init__(self, board: Switchboard, loop: MemoryLoop) -> None:
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

    def __init__(self, loop: MemoryLoop, board: Switchboard, protocol: _Protocol) -> None:
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
