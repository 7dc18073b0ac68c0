"""A model server for trio, and for anyio on both: a line that lives in a task, and the clock of trio,
which is asked how long to sleep when all tasks wait.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar, final

from jsproto.errors import LocalProtocolError
from jsproto.testing import Line, Switchboard
from jsproto_io._transport.backend import AsyncBackend, Event, Nursery
from jsproto_io._transport.inlet import Inlet

T = TypeVar("T")


def _no_test() -> None:
    """Nothing runs yet that could be given up."""


@final
class MemoryStream:
    """A line that lives in a task; see `jsproto_io._transport.nursery_stream.Stream`. ``inlet`` is
    ``None`` once the client does not want it any more.
    """

    __slots__ = (
        "_bell",
        "_board",
        "_line",
        "_nursery",
        "_scope",
        "_ways",
        "broken",
        "inlet",
        "unsent",
    )

    def __init__(self, inlet: Inlet, ways: AsyncBackend, board: Switchboard) -> None:
        self.inlet: Inlet | None = inlet
        self.broken = False
        self.unsent = bytearray()
        self._board = board
        self._ways = ways
        self._scope = ways.scope()
        self._bell: Event = ways.event()
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
        inlet = self.inlet
        if inlet is None:
            return
        inlet.up()
        while True:
            await self._bell.wait()
            self._bell = self._ways.event()
            data = self._line.read()
            if self.inlet is not None and data:
                self.inlet.data(data)
            if self.inlet is None:
                return
            if self._line.ended:
                self._lost(self._line.error)
                return

    def _lost(self, error: Exception | None) -> None:
        self._scope.cancel()
        inlet, self.inlet = self.inlet, None
        if inlet is not None:
            inlet.lost(error)

    def hang_up(self) -> None:
        """The client does not want it any more."""
        self.inlet = None
        self._scope.cancel()

    def drop(self) -> None:
        """Forget the client; there is no socket."""
        self.inlet = None

    def start_soon(self, work: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """A task that ends with the stream."""
        self._nursery.start_soon(work)

    def write(self, data: bytes) -> None:
        """Have it heard."""
        self._line.write(data)


@final
class TrioClock:
    """A clock for trio that leaps when all tasks wait (trio's ``abc.Clock``)."""

    def __init__(self, board: Switchboard) -> None:
        self._board = board
        self._looked = False
        self._failure: LocalProtocolError | None = None
        self._give_up: Callable[[], object] = _no_test
        self._trio: Any = importlib.import_module("trio")

    def start_clock(self) -> None:
        """Nothing has to be started."""

    def current_time(self) -> float:
        """The time, in seconds."""
        return self._board.clock.now

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Asked when all tasks wait: first look what comes from outside, then leap. An exception
        here would be a fault of trio.
        """
        self._looked = not self._looked
        if self._looked:
            return 0.0
        if self._trio.to_thread.current_default_thread_limiter().borrowed_tokens:
            return math.inf  # a thread works for a task, and rings when it is done
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
