"""What stands between the byte stream of a client and its connection: the way through a proxy, TLS,
a WebSocket.

The client gives it what comes from the stream, and asks it what is to be written. Which layers there
are follows from the options, the URL of the server, and whether the connection asks for TLS.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from functools import reduce
from typing import final

from jsproto.core.connection.connection import Connection
from jsproto.core.connection.events import HangUp
from jsproto.core.connection.options import Options
from jsproto.core.connection.server_pool import Server
from jsproto.driver import Driver
from jsproto.errors import JsprotoError, LinkError, TlsFailed
from jsproto_io._client.options import ConnectOptions
from jsproto_io._layers.stack import ByteFilter, StackedFilter
from jsproto_io._layers.tls import Filter, TlsFiles
from jsproto_io._layers.websocket_options import WebSocket, WebSocketClient, speaker
from jsproto_io.proxies import Tunnel, tunnel_of


@final
class LayeredStream:
    """The layers over one byte stream after another.

    Args:
        options: with the certificates, the proxy and the WebSocket.
        checked: the same, checked by the core.
        write: hands bytes to the byte stream.
        close: closes it.
        lost: reports why it is of no use.

    Attributes:
        owes: whether a layer has answers for a peer that does not read.
        top: the layer that the connection speaks through; ``None`` while it speaks to the stream.
        tunnel: how a proxy is passed; ``None`` without a proxy.
    """

    __slots__ = (
        "_certificates",
        "_close",
        "_connection",
        "_driver",
        "_lost",
        "_secure",
        "_speaker",
        "_web",
        "_write",
        "owes",
        "top",
        "tunnel",
    )

    def __init__(
        self,
        options: ConnectOptions,
        checked: Options,
        *,
        write: Callable[[bytes], None],
        close: Callable[[], None],
        lost: Callable[[Exception | None], None],
    ) -> None:
        self._certificates: ssl.SSLContext | TlsFiles = options.get("tls_context") or TlsFiles()
        if isinstance(self._certificates, TlsFiles) and "tls_context" in options:
            self._certificates.context()  # wrong files raise here, before the client is entered
        self._web = options.get("websocket") or WebSocket()
        self._speaker: WebSocketClient | None = (
            speaker() if any(server.web for server in checked.servers) else None
        )
        self._secure = False
        self._write = write
        self._close = close
        self._lost = lost
        self._connection: Connection
        self._driver: Driver
        self.tunnel = tunnel_of(options.get("proxy"))
        self.top: ByteFilter | None = None
        self.owes = False

    def attach(self, connection: Connection, driver: Driver) -> None:
        """The connection has been made."""
        self._connection = connection
        self._driver = driver

    def begin(self, *, secure: bool) -> None:
        """A new stream is dialled; with ``secure``, TLS comes before anything else."""
        self.top = None
        self.owes = False
        self._secure = secure

    def entrance(self, server: Server) -> Server:
        """What to dial to reach a server: itself, or a proxy."""
        return server if self.tunnel is None else self.tunnel.entrance

    def opened(self, now: float) -> None:
        """The byte stream is open."""
        server = self._connection.server
        if self._secure or server.web or self.tunnel is not None:
            self.cover(server, secure=self._secure, tunnel=self.tunnel)
        else:
            self._connection.transport_up(now)

    def cover(self, server: Server, *, secure: bool, tunnel: Tunnel | None = None) -> None:
        """Put layers over the open stream, and begin their handshakes."""
        try:
            top = self.top = self._stack(server, secure=secure, tunnel=tunnel)
            top.begin()
        except (
            JsprotoError,
            ValueError,
        ) as error:  # ValueError: a name that no certificate can show
            self._close()
            self._lost(
                error
                if isinstance(error, JsprotoError)
                else TlsFailed(f"expected TLS with {server}: {error}")
            )
        else:
            self._write(top.outgoing())

    def _stack(self, server: Server, *, secure: bool, tunnel: Tunnel | None) -> ByteFilter:
        """The layers of this stream, one at least: the way through a proxy is the lowest, then TLS,
        then a WebSocket.
        """
        layers: list[ByteFilter] = []
        if tunnel is not None:
            layers.append(tunnel.layer(server))
        if secure:
            given = self._certificates
            layers.append(Filter(given.context() if isinstance(given, TlsFiles) else given, server))
        if server.web and self._speaker is not None:
            layers.append(self._speaker(self._web, server))
        return reduce(lambda lower, upper: StackedFilter(upper, lower), layers)

    def received(self, top: ByteFilter, data: bytes, now: float) -> None:
        """Bytes came from the stream for the top layer: hand what they say to the connection."""
        stood = top.stands
        try:
            said = top.received(data)
        except LinkError as error:
            self._write(top.outgoing())
            self.top = None
            self._close()
            self._lost(error)
            return
        if self._connection.clogged:
            self.owes = True
        else:
            self.answer()
        if top.stands and not stood:
            self._connection.transport_up(now)
        if said:
            self._connection.receive_data(said, now)
        if top.ended and not self._leaving():
            self._close()
            self._lost(top.close_reason)

    def answer(self) -> None:
        """Write what the layer itself has to say, as the answer to a ping."""
        self.owes = False
        answer = self.top.outgoing() if self.top is not None else b""
        if answer:
            self._write(answer)

    def farewell(self, data: bytes) -> bytes:
        """The last bytes of this stream: ``data``, and what the layers say at their end."""
        top, self.top = self.top, None
        return data if top is None else (top.sent(data) if data else b"") + top.close_frame()

    def loss(self, error: Exception | None) -> Exception | None:
        """Why the stream is gone: a layer knows better, if it was cut off before its own end."""
        top, self.top = self.top, None
        return error if error is not None or top is None or top.ended else top.cut()

    def _leaving(self) -> bool:
        """Whether the connection has left this stream already; it may be waiting for the next one."""
        self._driver.collect()
        return any(isinstance(order, HangUp) for order in self._driver.orders)
