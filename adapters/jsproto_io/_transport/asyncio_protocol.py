"""One byte stream of the client on asyncio, from dialling to its end: a protocol that its transport
calls.

Theory. What comes is handed to the connection in the transport's own call, and pumped there; what
is written goes to the transport. Once nobody wants the stream any more, what was written has
``close_timeout`` to leave.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, cast, final

from jsproto.core.connection.options import Options
from jsproto_io._transport.happy_eyeballs import HappyEyeballs
from jsproto_io._transport.inlet import Inlet
from jsproto_io._transport.selector_socket import CHUNK


@final
class AsyncioProtocol(asyncio.BufferedProtocol):
    """One byte stream, from dialling to its end.

    Attributes:
        broken: the stream has refused what was written; ``connection_lost`` will say why.
        inlet: where it puts what it has; ``None`` once the client does not want it any more.
        unsent: what it held when it was asked last, or has refused.
    """

    __slots__ = (
        "_bound",
        "_end",
        "_keep",
        "_low",
        "_room",
        "broken",
        "dialling",
        "inlet",
        "lost",
        "stream",
        "transport",
        "unsent",
    )

    def __init__(self, inlet: Inlet, options: Options, keep: set[AsyncioProtocol]) -> None:
        self.inlet: Inlet | None = inlet
        self.broken = False
        self.unsent = 0
        self.dialling: asyncio.Task[None] | None = None
        self.transport: asyncio.Transport | None = None
        self.stream: socket.socket | None = None
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._keep = keep
        self._bound = options.close_timeout
        self._low = options.outbound_low
        self._end: asyncio.TimerHandle | None = None
        self._room = memoryview(bytearray(CHUNK))

    def write(self, data: bytes) -> None:
        """Have it sent."""
        transport = self.transport
        if transport is None:
            return
        held = transport.get_write_buffer_size()
        transport.write(data)
        self.broken = transport.is_closing()
        # A transport that breaks forgets what it held.
        self.unsent = held + len(data) if self.broken else transport.get_write_buffer_size()

    def hang_up(self) -> None:
        """The client does not want it any more: let what was written leave, for a while, or stop dialling."""
        self.inlet = None
        if self.transport is None:
            if self.dialling is not None:
                self.dialling.cancel()
            return
        self.transport.close()
        if self.transport.get_write_buffer_size():
            self._end = self.lost.get_loop().call_later(self._bound, self.transport.abort)

    def drop(self) -> None:
        """Close this process's copy of the socket, without a word to the peer or to the event loop."""
        self.inlet = None
        if self.stream is not None:
            self.stream.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The stream is open."""
        self.transport = cast("asyncio.Transport", transport)
        inlet = self.inlet
        if inlet is None:
            self.transport.abort()
            return
        self._keep.add(self)
        self.transport.set_write_buffer_limits(high=self._low)
        inlet.up()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next bytes go; a plain protocol would be given new memory of 256 KiB each time."""
        return self._room

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes came."""
        self.heard(self._room[:nbytes].tobytes())

    def heard(self, data: bytes) -> None:
        """These bytes came."""
        inlet = self.inlet
        if inlet is not None:
            if self.unsent:
                inlet.unsent(self._left())
            inlet.data(data)

    def _left(self) -> int:
        """How many bytes are still to leave."""
        if self.transport is not None and not self.broken:
            self.unsent = self.transport.get_write_buffer_size()
        return self.unsent

    def resume_writing(self) -> None:
        """Enough has left that the core may want to hear of it."""
        if self.inlet is not None:
            self.inlet.room(self._left())

    def eof_received(self) -> None:
        """The peer says nothing more: the transport closes itself after this."""
        if self.inlet is not None:
            self.inlet.unsent(self._left())

    def connection_lost(self, exc: Exception | None) -> None:
        """The stream is gone."""
        self._keep.discard(self)
        if self._end is not None:
            self._end.cancel()
        self.lost.set_result(None)
        inlet, self.inlet = self.inlet, None
        if inlet is not None:
            inlet.lost(exc)


async def winner_of(
    race: HappyEyeballs, spawn: Callable[[Coroutine[object, object, None]], asyncio.Task[None]]
) -> socket.socket:
    """A stream to whichever address stands first; each is tried in a task that ``spawn`` starts.

    A task that is cancelled before its first step never runs. So its stream is closed when the task
    is done, and not by the task.

    Raises:
        OSError: none could be connected.
    """
    won: list[socket.socket] = []
    trying: set[asyncio.Task[None]] = set()
    try:
        while not won:
            entrant = race.next()
            if entrant is not None:
                task = spawn(_tried(race, *entrant, won))
                task.add_done_callback(partial(_close_unless_won, entrant[0], won))
                trying.add(task)
            if not trying:
                break
            _, trying = await asyncio.wait(
                trying,
                timeout=race.moment if race.left else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
    except BaseException:
        for stream in won:
            stream.close()
        raise
    finally:
        for task in trying:
            task.cancel()
    if won:
        return won[0]
    raise race.why


async def _tried(
    race: HappyEyeballs, stream: socket.socket, place: Any, won: list[socket.socket]
) -> None:
    """See one address to its end, which may be that another has won."""
    try:
        await asyncio.get_running_loop().sock_connect(stream, place)
    except OSError as error:
        race.failed(stream, error)
    else:
        if not won:
            won.append(stream)


def _close_unless_won(
    stream: socket.socket, won: list[socket.socket], _: asyncio.Task[None]
) -> None:
    if stream not in won:
        stream.close()
