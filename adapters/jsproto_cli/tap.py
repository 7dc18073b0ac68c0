"""The proxy of ``jsproto record``: it accepts clients, dials the server and passes bytes on.

Theory. Each connection has two tasks, one for each direction. If one side does not read, the task
stops reading from the other side, so the proxy buffers little. `jsproto.trace.record.tap` decides
what is recorded and what is passed on. With TLS the proxy is a TLS client of the server, and its
own client uses no TLS. NATS starts TLS after the first INFO, so the proxy reads that line first,
unless the server starts TLS first.
"""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeAlias, final

from attrs import frozen

from jsproto.trace.record.tap import Tapped

if TYPE_CHECKING:
    from collections.abc import Callable

    from jsproto.trace.record.tape import Tape

_Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]

_CHUNK: Final = 65_536
#: The most bytes of the INFO line before TLS.
_MOST_INFO: Final = 1_048_576
#: The most connections at once; each may hold one incomplete frame.
_MOST_CONNECTIONS: Final = 256
#: Seconds to dial the server, including TLS.
_PATIENCE: Final = 10.0
#: Seconds to send the last bytes.
_GRACE: Final = 2.0
#: Seconds that a new connection of one client waits for the end of the previous one, to take over
#: its name.
_HANDOVER: Final = 0.25


@final
@frozen(kw_only=True)
class Target:
    """The server of the proxy.

    Attributes:
        tls: the TLS context, if the server uses TLS.
        tls_first: whether TLS starts before the server's first message.
        gossip: whether the client sees the addresses of other servers; it may then bypass the
            proxy.
    """

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    tls_first: bool = False
    gossip: bool = False


@final
class Tap:
    """A proxy for one server.

    Args:
        target: the server.
        tape_of: returns the tape for a connection with this name; connections may share one.
        one_client: whether all connections belong to one client; then a name is reused after its
            connection has ended.
        tell: called with a line of text when a connection begins or ends.

    Attributes:
        accepted: number of connections so far.
        bytes: bytes of all connections, both directions.
    """

    def __init__(
        self,
        target: Target,
        tape_of: Callable[[str], Tape],
        *,
        one_client: bool = False,
        tell: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._target = target
        self._tape_of = tape_of
        self._one_client = one_client
        self._tell = tell
        self._start = monotonic()
        self._names: set[str] = set()
        self._lines: set[asyncio.Task[None]] = set()
        self._over: asyncio.Task[bool]
        self.accepted = 0
        self.bytes = 0

    async def serve(self, host: str, port: int, until: asyncio.Event) -> None:
        """Listen and pass on bytes until the event is set.

        Raises:
            OSError: it cannot listen on the address.
        """
        server = await asyncio.start_server(self._accept, host, port)
        self._over = asyncio.create_task(until.wait())
        async with server:
            place = server.sockets[0].getsockname()
            self._tell(f"listening on nats://{place[0]}:{place[1]}")
            await self._over
            server.close()
            while self._lines:
                await asyncio.wait(self._lines)

    def _now(self) -> float:
        return monotonic() - self._start

    def _name(self) -> str:
        number = 1 if self._one_client else self.accepted
        while str(number) in self._names:
            number += 1
        return str(number)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = asyncio.create_task(self._line(reader, writer))
        self._lines.add(line)
        line.add_done_callback(self._lines.discard)

    async def _line(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Handle one connection, from its first byte to the end of both streams."""
        if len(self._lines) > _MOST_CONNECTIONS:
            self._tell(f"refused a connection: there are {_MOST_CONNECTIONS}")
            await _closed(writer)
            return
        self.accepted += 1
        others = self._lines - {asyncio.current_task()}
        if self._one_client and others:  # its previous link may have ended unnoticed
            await asyncio.wait(others, timeout=_HANDOVER, return_when=asyncio.FIRST_COMPLETED)
        name = self._name()
        self._names.add(name)
        dialled = asyncio.create_task(self._dialled())
        await asyncio.wait(
            (dialled, self._over), timeout=_PATIENCE, return_when=asyncio.FIRST_COMPLETED
        )
        dialled.cancel()
        try:
            first, there, back = await dialled
        except (OSError, EOFError, ValueError, asyncio.CancelledError) as error:
            self._tell(
                f"connection {name}: the server cannot be reached: {type(error).__name__}: {error}"
            )
        else:
            await self._carried(name, first, (reader, writer), (there, back))
            await _closed(back)
        await _closed(writer)
        self._names.discard(name)

    async def _carried(self, name: str, first: bytes, client: _Streams, server: _Streams) -> None:
        """Pass on bytes until one side ends or the proxy stops."""
        target = self._target
        tapped = Tapped(
            self._tape_of(name),
            name,
            self._now(),
            gossip=target.gossip,
            ends_tls=target.tls is not None,
        )
        self._tell(f"connection {name} begins")
        client[1].write(tapped.from_server(first, self._now()))
        there = asyncio.create_task(_pass(client[0], server[1], tapped.from_client, self._now))
        back = asyncio.create_task(_pass(server[0], client[1], tapped.from_server, self._now))
        await asyncio.wait((there, back, self._over), return_when=asyncio.FIRST_COMPLETED)
        why = "client_close" if there.done() else "eof" if back.done() else "closed"
        for way in (there, back):
            way.cancel()
        await asyncio.wait((there, back))
        client[1].write(tapped.ended(why, self._now()))
        self.bytes += tapped.bytes
        self._tell(f"connection {name} ends: {why}, {tapped.bytes} bytes")

    async def _dialled(self) -> tuple[bytes, asyncio.StreamReader, asyncio.StreamWriter]:
        """Dial the server; return the bytes that it sent before TLS, and its streams."""
        target = self._target
        direct = target.tls if target.tls_first else None
        reader, writer = await asyncio.open_connection(
            target.host, target.port, ssl=direct, limit=_MOST_INFO
        )
        if target.tls is None or target.tls_first:
            return b"", reader, writer
        try:
            first = await reader.readuntil(b"\n")
            await writer.start_tls(target.tls, server_hostname=target.host)
        except BaseException:
            writer.transport.abort()
            raise
        return first, reader, writer


async def _closed(writer: asyncio.StreamWriter) -> None:
    """Close a stream; a peer that does not read in time loses the rest."""
    writer.close()
    try:
        await asyncio.wait_for(writer.wait_closed(), _GRACE)
    except OSError:
        writer.transport.abort()


async def _pass(
    source: asyncio.StreamReader,
    sink: asyncio.StreamWriter,
    through: Callable[[bytes, float], bytes],
    now: Callable[[], float],
) -> None:
    """Pass on one direction, until its source ends or its sink fails."""
    with suppress(OSError):
        while data := await source.read(_CHUNK):
            sink.write(through(data, now()))
            await sink.drain()
