"""A model server for a client that blocks: the client itself lets time leap when it would sleep."""

from __future__ import annotations

import math
from typing import final

from jsproto.errors import LocalProtocolError
from jsproto.testing import Line, Switchboard
from jsproto_io._transport.selector_socket import OPENED, ConnectionGone, Happened


@final
class MemoryPlug:
    """One line after another. A caller who waits lets time leap. See
    `jsproto_io._transport.selector_socket.SelectorTransport`.
    """

    __slots__ = ("_board", "_line", "_opening", "asleep", "broken", "due", "unsent")

    def __init__(self, board: Switchboard) -> None:
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
            self._line = self._board.dial(_look_yourself)
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


def _look_yourself() -> None:
    """Nothing: the caller who waits looks at the line."""
