"""A real nats-server behind a relay: the other peer that the contract of adapters is checked
against.

Theory. The relay carries bytes both ways between a socket of its own and the server, in a thread of
its own, and has the faults of a network: lines are cut without a word, nobody reads or writes for a
while, bytes come one by one. Over TLS, or through a WebSocket, it does not understand what it
carries, so it cannot tell what clients have said (``hears``). What the checks want to know, or to
have done from the side, goes to the server itself, by the blocking client.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
import threading
from collections.abc import Iterable, Mapping
from time import monotonic
from types import TracebackType
from typing import Any, Final, Self, final

from jsproto.core.connection.server_pool import Server
from jsproto.jetstream.api.errors import StreamNotFound
from jsproto_io.blocking import Client, connect

_CHUNK: Final = 65_536
#: So many bytes may wait in the relay before it reads no more from that side.
_ENOUGH: Final = 262_144
#: Sent without a FIN, so that the other side sees a reset.
_AT_ONCE: Final = struct.pack("ii", 1, 0)


@final
class _Way:
    """One direction of a line."""

    __slots__ = ("ended", "held", "sink", "source")

    def __init__(self, source: socket.socket, sink: socket.socket) -> None:
        self.source = source
        self.sink = sink
        self.held = bytearray()
        self.ended = False

    @property
    def wants(self) -> bool:
        """Whether it would read."""
        return not self.ended and len(self.held) < _ENOUGH

    @property
    def over(self) -> bool:
        """Whether all that came has been carried, and nothing follows."""
        return self.ended and not self.held

    def read(self) -> bytes:
        """What has come."""
        try:
            data = self.source.recv(_CHUNK)
        except BlockingIOError:
            return b""
        except OSError:
            data = b""
        self.ended = not data
        self.held += data
        return data

    def write(self, piece: int) -> None:
        """Hand on what the other side takes."""
        try:
            while self.held:
                del self.held[: self.sink.send(self.held[:piece])]
        except BlockingIOError:
            pass
        except OSError:
            self.held.clear()
            self.ended = True


@final
class ServerRelay:
    """A context manager: the relay lives as long as its body, and the server longer.

    Args:
        server: URL of a running server with JetStream, which nobody else uses; its stream ``S`` is
            deleted.
        options: what a client needs to connect to it: certificates, credentials.
        piece: most bytes of one segment.

    Attributes:
        url: where clients find the relay, with the scheme of the server. Certificates must show
            127.0.0.1.
        options: those that were given.
        accepted: how many connections there were.
        heard: everything that all clients have said, if it ``hears``.
    """

    def __init__(
        self, server: str, options: Mapping[str, Any] | None = None, *, piece: int = 1 << 30
    ) -> None:
        there = Server.parse(server)
        self.options: Mapping[str, Any] = dict(options or {})
        self.accepted = 0
        self.heard = bytearray()
        self.hears = there.scheme == "nats" and not {"tls", "tls_context"} & set(self.options)
        self._server = server
        self._target = there.address
        self._piece = piece
        self._side: Client = connect(server, **self.options)
        self._lock = threading.Lock()
        self._lines: set[tuple[_Way, _Way]] = set()
        self._frozen_until = 0.0
        self._open = True
        self._failure: BaseException | None = None
        self._door = socket.create_server(("127.0.0.1", 0))
        self._door.settimeout(0.0)
        self._bell, self._ear = socket.socketpair()
        self._ear.settimeout(0.0)
        self._bell.settimeout(0.0)
        self._thread = threading.Thread(target=self._run, name="relayed", daemon=True)
        self.url = f"{there.scheme}://127.0.0.1:{self._door.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        self._side.__enter__()
        with contextlib.suppress(StreamNotFound):
            self._side.jetstream().delete_stream("S")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._side.close()
        self._open = False
        self._ring()
        self._thread.join()
        for each in (self._bell, self._ear, self._door):
            each.close()
        if self._failure is not None and error is None:
            raise self._failure

    def again(self, *, piece: int = 1 << 30) -> ServerRelay:
        """Another relay to the same server."""
        return ServerRelay(self._server, self.options, piece=piece)

    # ------------------------------------------------------------------ from the side

    def publish(self, messages: Iterable[tuple[str, bytes]]) -> None:
        """As another client does."""
        for subject, payload in messages:
            self._side.publish(subject, payload)
        self._side.flush()

    def stored(self) -> int:
        """How many messages the stream holds."""
        return self._side.jetstream().stream("S").info().state.messages

    def unsettled(self) -> int:
        """How many messages the consumer has still to deliver or to hear of."""
        info = self._side.jetstream().stream("S").consumer("C").info()
        return info.num_pending + info.num_ack_pending

    # ------------------------------------------------------------------ faults, from any thread

    @property
    def connected(self) -> int:
        """How many lines there are now."""
        return len(self._lines)

    def freeze(self, seconds: float) -> None:
        """Neither read nor write nor accept for so long."""
        with self._lock:
            self._frozen_until = monotonic() + seconds
        self._ring()

    def cut(self) -> None:
        """Reset every line."""
        with self._lock:
            for line in list(self._lines):
                line[0].source.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
                self._end(line)
        self._ring()

    def _ring(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._bell.send(b"!")

    # ------------------------------------------------------------------ the thread

    def _run(self) -> None:
        try:
            while self._open:
                self._turn()
        except BaseException as failure:  # noqa: BLE001 - raised where the relay is left
            self._failure = failure
        for line in list(self._lines):
            self._end(line)

    def _turn(self) -> None:
        frozen = self._frozen_until - monotonic()
        if frozen > 0.0:
            self._ear.settimeout(frozen)
            with contextlib.suppress(TimeoutError):
                self._ear.recv(_CHUNK)
            self._ear.settimeout(0.0)
            return
        with selectors.DefaultSelector() as selector:
            selector.register(self._door, selectors.EVENT_READ)
            selector.register(self._ear, selectors.EVENT_READ)
            with self._lock:
                for there, back in self._lines:
                    for stream, reads, writes in (
                        (there.source, there, back),
                        (back.source, back, there),
                    ):
                        wish = (selectors.EVENT_READ if reads.wants else 0) | (
                            selectors.EVENT_WRITE if writes.held else 0
                        )
                        if wish:
                            selector.register(stream, wish)
            ready = {key.fileobj for key, _ in selector.select()}
        with self._lock:
            if self._frozen_until > monotonic():
                return
            if self._ear in ready:
                self._ear.recv(_CHUNK)
            if self._door in ready:
                self._accept()
            for line in list(self._lines):
                self._carry(line, ready)

    def _accept(self) -> None:
        client, _ = self._door.accept()
        self.accepted += 1
        server = socket.create_connection(self._target)
        for stream in (client, server):
            stream.settimeout(0.0)
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._lines.add((_Way(client, server), _Way(server, client)))

    def _carry(self, line: tuple[_Way, _Way], ready: set[Any]) -> None:
        for way in line:
            if way.source in ready and way.wants:
                data = way.read()
                if self.hears and way is line[0]:
                    self.heard += data
            way.write(self._piece)
        if any(way.over for way in line):
            self._end(line)

    def _end(self, line: tuple[_Way, _Way]) -> None:
        self._lines.discard(line)
        for way in line:
            way.source.close()
