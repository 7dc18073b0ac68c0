"""jsproto on blocking calls: ``with connect("nats://127.0.0.1:4222") as nc``. No thread, no event loop.

Theory. The socket never blocks; a selector does, and only while a caller waits: caller-driven. `_drive` is one turn: pump, sleep
until bytes come or the one deadline is due, feed what came, tick. Between two verbs nobody reads, so a caller that computes
for longer than the server's patience with unanswered PINGs should call something now and then; verbs look at the socket
at least once in `_LOOK` seconds on their own. (A pump thread that does it for the caller has its place in `_drive`.)

A fork leaves the connection with the parent. The child's copy closes its descriptors, without a word on the wire and without
touching the selector that both share, and every verb there says whose connection it was.
"""

# ruff: noqa: SLF001 - client and transport are one thing in several classes

from __future__ import annotations

import errno
import os
import selectors
import socket
import threading
import weakref
from collections import deque
from time import monotonic
from types import TracebackType
from typing import Any, Final, Self, TypeAlias, Unpack, final

from jsproto.core.events import Authenticate
from jsproto.core.servers import Server
from jsproto.errors import ConnectionClosed, JsprotoError
from jsproto_io._base import refusal_of
from jsproto_io._facade_sync import SyncConsumer, SyncJetStream, SyncStream
from jsproto_io._messages import SyncMessage
from jsproto_io._options import ConnectOptions, Credentials, Servers, nobody
from jsproto_io._sync import Alone, Barred, Events, Feed, Sink, SyncClient

__all__ = [
    "Client",
    "Events",
    "Feed",
    "Sink",
    "SyncConsumer",
    "SyncJetStream",
    "SyncMessage",
    "SyncStream",
    "connect",
]

#: Bytes read at once.
_CHUNK: Final = 262_144
#: Verbs that need not wait look at the socket at least so often, in seconds.
_LOOK: Final = 1.0
#: What connecting a socket that does not block says when nothing is wrong.
_UNDER_WAY: Final = frozenset({0, errno.EINPROGRESS, errno.EWOULDBLOCK})
#: What a resolver gives: family, type, protocol and address.
_Place: TypeAlias = tuple[int, int, int, Any]


def connect(
    servers: Servers = "nats://127.0.0.1:4222",
    *,
    credentials: Credentials | None = None,
    **options: Unpack[ConnectOptions],
) -> Client:
    """A client, to be entered with ``with``.

    Args:
        servers: one URL, several with commas between, or a collection of URLs and `Server` values.
        credentials: asked at each handshake for the server and the nonce to sign.
        options: see `jsproto.core.options.Options`.

    Raises:
        InvalidConfig: an option or a URL that cannot work. What connecting raises comes when the client is entered:
            `ConnectFailed`, `AuthorizationFailed`, `TlsUnavailable`.
    """
    return Client(servers, credentials, **options)


@final
class Client(SyncClient):
    """One connection to one NATS system, driven by whoever waits."""

    __slots__ = (
        "_connecting",
        "_credentials",
        "_deadline",
        "_looked",
        "_places",
        "_selector",
        "_socket",
        "_unsent",
    )

    def __init__(
        self,
        servers: Servers,
        credentials: Credentials | None = None,
        **options: Unpack[ConnectOptions],
    ) -> None:
        super().__init__(servers, ask=credentials is not None, **options)
        self._credentials: Credentials = credentials or nobody
        self._alone = Alone(self)
        self._gate = threading.Lock()
        self._waiting = False
        self._feeds = set()
        self._selector = selectors.DefaultSelector()
        self._socket: socket.socket | None = None
        self._connecting = False
        self._places: deque[_Place] = deque()
        self._unsent = bytearray()
        self._deadline: float | None = None
        self._looked = 0.0

    # ------------------------------------------------------------------ life

    def __enter__(self) -> Self:
        try:
            with self._alone:
                self._begin(monotonic())
                _CLIENTS.add(self)
                self._pump()
                while not self._driver.linked():
                    self._changed()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End everything, wait at most ``close_timeout`` until the server has read what was sent, and hang up."""
        if self.closed:
            return
        with self._alone:
            try:
                self._connection.close(None, monotonic())
                self._pump()
                while not self._driver.closed:
                    self._drive()
            finally:
                if not self._driver.closed:
                    self._connection.close(None, monotonic())  # the second time does not wait
                    self._pump()

    def _bar(self, error: JsprotoError) -> None:
        """All is over, and every verb from now on says why. Nothing goes out any more, not even a goodbye."""
        self._gate = Barred(error)
        if self._socket is not None:
            self._socket.close()
        self._selector.close()

    def _judge(self, error: BaseException) -> None:
        in_mid_step = not isinstance(error, Exception) and not self._waiting
        self._waiting = False
        if in_mid_step:
            name = type(error).__name__
            self._bar(
                ConnectionClosed(
                    f"the connection was cut because {name} hit in the middle of a step, connect anew"
                )
            )

    # ------------------------------------------------------------------ driving

    def _drive(self) -> None:
        deadline = self._deadline
        self._turn(None if deadline is None else max(0.0, deadline - monotonic()))

    def _turn(self, patience: float | None) -> None:
        """Sleep until something comes or so many seconds have passed; what came is fed before time is judged."""
        self._waiting = True
        ready = self._selector.select(patience)
        self._waiting = False
        now = self._looked = monotonic()
        for _, mask in ready:
            if self._connecting:
                self._connected_or_not(now)
                break
            if mask & selectors.EVENT_READ:
                self._read(now)
            if mask & selectors.EVENT_WRITE and self._socket is not None:
                self._write(b"")
        if self._deadline is not None and self._deadline <= now:
            self._connection.handle_tick(now)
        self._pump()

    def _flush(self, now: float) -> None:
        data = self._connection.data_to_send()
        if data:
            self._write(data)
        if now - self._looked > _LOOK:
            self._pump()
            self._turn(0.0)

    def _arm(self, deadline: float | None) -> None:
        self._deadline = deadline

    # ------------------------------------------------------------------ the transport

    def _dial(self, server: Server) -> None:
        try:
            places = socket.getaddrinfo(server.host, server.port, type=socket.SOCK_STREAM)
        except (OSError, ValueError) as error:  # ValueError: a host name that no resolver takes
            self._failed(error)
        else:
            self._places = deque((family, kind, proto, place) for family, kind, proto, _, place in places)
            self._connect(OSError(f"no address for {server.host}"))

    def _connect(self, why: OSError) -> None:
        """Begin with the next address; if there is none left, the attempt has failed."""
        while self._places:
            family, kind, proto, place = self._places.popleft()
            try:
                stream = socket.socket(family, kind, proto)
            except OSError as error:
                why = error
                continue
            stream.settimeout(0.0)
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            code = stream.connect_ex(place)
            if code in _UNDER_WAY:
                self._socket = stream
                self._connecting = True
                self._selector.register(stream, selectors.EVENT_WRITE)
                return
            stream.close()
            why = OSError(code, os.strerror(code))
        self._failed(why)

    def _connected_or_not(self, now: float) -> None:
        stream = self._socket
        if stream is None:
            return
        code = stream.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        self._connecting = False
        self._selector.unregister(stream)
        if code:
            self._shut()
            self._connect(OSError(code, os.strerror(code)))
        else:
            self._selector.register(stream, selectors.EVENT_READ)
            self._connection.transport_up(now)

    def _read(self, now: float) -> None:
        stream = self._socket
        if stream is None:
            return
        try:
            data = stream.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError as error:
            self._hang_up()
            self._failed(error)
            return
        if data:
            self._connection.receive_data(data, now)
        else:
            self._hang_up()
            self._failed(None)

    def _write(self, data: bytes) -> None:
        stream = self._socket
        if stream is None:
            return
        unsent = self._unsent
        held = bool(unsent)
        if held:
            unsent += data
            del unsent[: _sent(stream, unsent)]
        else:
            sent = _sent(stream, data)
            if sent < len(data):
                unsent += memoryview(data)[sent:]
        if bool(unsent) is not held:
            both = selectors.EVENT_READ | selectors.EVENT_WRITE
            self._selector.modify(stream, both if unsent else selectors.EVENT_READ)
        if held or unsent or self._connection.choked:
            self._connection.transport_unsent(len(unsent), monotonic())

    def _hang_up(self) -> None:
        self._places.clear()
        if self._socket is not None:
            self._selector.unregister(self._socket)
            self._shut()

    def _shut(self) -> None:
        self._connecting = False
        self._unsent.clear()
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _failed(self, error: Exception | None) -> None:
        self._connection.transport_down(error, monotonic())

    def _authenticate(self, order: Authenticate) -> None:
        try:
            auth = self._credentials(order.server, order.nonce)
        except Exception as error:  # noqa: BLE001 - whatever the user's function raises is why there are none
            self._connection.authentication_failed(refusal_of(order, error), monotonic())
        else:
            self._connection.authenticate(auth, monotonic())


def _sent(stream: socket.socket, data: bytes | bytearray) -> int:
    """How many bytes the kernel takes now. A broken stream takes all of them: reading will say that it is broken."""
    try:
        return stream.send(data)
    except BlockingIOError:
        return 0
    except OSError:
        return len(data)


_CLIENTS: Final[weakref.WeakSet[Client]] = weakref.WeakSet()


def _forked() -> None:
    """In the child of a fork: what is connected stays with the parent."""
    for client in list(_CLIENTS):
        if not client.closed:
            client._bar(
                ConnectionClosed(
                    f"the connection belongs to process {os.getppid()}, this is its fork {os.getpid()}: connect anew"
                )
            )


os.register_at_fork(after_in_child=_forked)
