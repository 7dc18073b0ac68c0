"""jsproto on blocking calls: ``with connect("nats://127.0.0.1:4222") as nc``. No thread, no event loop.

Theory. Nothing runs but what a caller waits for: caller-driven. `_drive` is one turn: sleep in the `Plug` until something comes
or the one deadline is due, feed it, tick, pump. Between two verbs nobody reads, so a caller that computes
for longer than the server's patience with unanswered PINGs should call something now and then; verbs look at the socket
at least once in `_LOOK` seconds on their own. Or the client is made with ``pump=True``: then a thread, the `Keeper`, does that for
the caller, and says in time that messages in hand are being worked on.

A fork leaves the connection with the parent. The child's copy closes its descriptors, without a word on the wire and without
touching the selector that both share, and every verb there says whose connection it was.
"""

# ruff: noqa: SLF001 - client and transport are one thing in several classes

from __future__ import annotations

import os
import socket
import threading
import weakref
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Final, Self, Unpack, final

from jsproto.core.events import Authenticate
from jsproto.core.servers import Server
from jsproto.errors import ConnectionClosed, JsprotoError
from jsproto_io._base import answer_of, refusal_of
from jsproto_io._facade_sync import SyncConsumer, SyncJetStream, SyncStream
from jsproto_io._keeper import Keeper
from jsproto_io._messages import SyncMessage
from jsproto_io._network import NETWORK, Plugged
from jsproto_io._options import ConnectOptions, Credentials, Servers, nobody
from jsproto_io._plug import OPENED, Lost, Plug
from jsproto_io._sync import Alone, Barred, Events, Feed, Sink, SyncClient
from jsproto_io._ways import Place

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

#: A reader that acks faster than this, in seconds, lets the kernel put its acks together.
_SOON: Final = 0.001
#: Verbs that need not wait look at the socket at least so often, in seconds.
_LOOK: Final = 1.0


def connect(
    servers: Servers = "nats://127.0.0.1:4222",
    *,
    credentials: Credentials | None = None,
    linger: float = 0.0,
    pump: bool = False,
    **options: Unpack[ConnectOptions],
) -> Client:
    """A client, to be entered with ``with``.

    Args:
        servers: one URL, several with commas between, or a collection of URLs and `Server` values.
        credentials: asked at each handshake for the server and the nonce to sign: a source of `jsproto_io.credentials`, or a
            function of one's own.
        linger: seconds for which publishes and acks may wait for company before they are given to the kernel; whatever
            waits for the server gives them at once. With more than 0 many small writes become few, and a caller that
            computes for long directly after an ack sends it late.
        pump: a thread keeps the connection alive while the caller computes: pings, automatic in-progress, reading. It
            begins with the first link. One caller at a time is still the rule.
        options: see `jsproto.core.options.Options`.

    Raises:
        InvalidConfig: an option, a URL or a certificate that cannot work. What connecting raises comes when the client is entered:
            `ConnectFailed` (nobody there, no answer in time, or all servers failed), `TlsUnavailable`, `TlsFailed`, `WebSocketFailed`,
            `AuthorizationFailed` (also: asking for credentials raised), `CredentialsUnavailable` and `InvalidCredentials` (what was
            asked for them), `RemoteProtocolError` (no NATS server), `ServerError` (what else the server says), `ConversationClosed`
            (it was entered before).
    """
    return Client(servers, credentials, linger, options, pump=pump)


@final
class Client(SyncClient):
    """One connection to one NATS system, driven by whoever waits."""

    __slots__ = (
        "_credentials",
        "_deadline",
        "_flushed",
        "_keeper",
        "_linger",
        "_looked",
        "_plug",
        "_plugs",
        "_pushed",
    )

    def __init__(
        self,
        servers: Servers,
        credentials: Credentials | None,
        linger: float,
        options: ConnectOptions,
        *,
        pump: bool = False,
    ) -> None:
        super().__init__(servers, ask=credentials is not None, **options)
        self._credentials: Credentials = credentials or nobody
        self._alone = Alone(self)
        network = NETWORK.get()  # in a test, where nothing happens while the caller computes
        self._now = monotonic if network is None else network.now
        self._plugs: Callable[[], Plugged] = Plug if network is None else network.plug
        self._keeper = Keeper(self) if pump and network is None else None
        self._gate = threading.Lock() if self._keeper is None else self._keeper.doors
        self._feeds = set()
        self._plug: Plugged
        self._deadline: float | None = None
        self._linger = linger
        self._flushed = 0.0
        self._looked = 0.0
        self._pushed = 0.0

    # ------------------------------------------------------------------ life

    def __enter__(self) -> Self:
        try:
            with self._alone:
                if not self._begun:
                    self._plug = self._plugs()
                self._begin(self._now())
                _CLIENTS.add(self)
                self._pump()
                while not self._driver.linked():
                    self._changed()
            if self._keeper is not None:
                self._keeper.start()
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """End everything, wait at most ``close_timeout`` until the server has read what was sent, and hang up."""
        if self._keeper is not None:
            self._keeper.stop()
        if not self._begun or isinstance(self._gate, Barred):
            return
        with self._alone:
            try:
                self._connection.close(None, self._now())
                self._pump()
                while not self._driver.closed:
                    self._drive()
            finally:
                if not self._driver.closed:
                    self._connection.close(None, self._now())  # the second time does not wait
                    self._pump()
                self._plug.pull()

    def _bar(self, error: JsprotoError) -> None:
        """All is over, and every verb from now on says why. Nothing goes out any more, not even a goodbye."""
        self._gate = Barred(error)
        self._plug.pull()

    def _judge(self, error: BaseException) -> None:
        if isinstance(error, Exception) or not self._begun:
            return
        if self._plug.asleep:
            self._plug.asleep = False
        else:
            name = type(error).__name__
            self._bar(
                ConnectionClosed(
                    f"the connection was cut because {name} hit in the middle of a step, connect anew"
                )
            )

    # ------------------------------------------------------------------ driving

    def _drive(self) -> None:
        deadline = self._deadline
        self._turn(None if deadline is None else max(0.0, deadline - self._now()))

    def _turn(self, patience: float | None) -> None:
        """Sleep until something comes or so many seconds have passed; what came is fed before time is judged."""
        plug = self._plug
        connection = self._connection
        held = len(plug.unsent)
        happened = plug.wait(patience)
        now = self._looked = self._now()
        if isinstance(happened, bytes):
            self._arrived(happened, now)
        elif isinstance(happened, Lost):
            self._failed(happened.error)
        elif happened is OPENED:
            self._opened_stream(now)
        if held:
            connection.transport_unsent(len(plug.unsent), now)
        if self._deadline is not None and self._deadline <= now:
            connection.handle_tick(now)
        self._pump()

    def _flush(self, now: float, *, more: bool = False) -> None:
        if now - self._flushed < self._linger:
            return
        self._flushed = now
        data = self._connection.data_to_send()
        if data:
            if not more or now - self._pushed > _SOON:
                self._pushed = now
                more = False
            self._write(data if self._layer is None else self._layer.sent(data), more=more)
        if now - self._looked > _LOOK:
            self._pump()
            self._turn(0.0)

    def _arm(self, deadline: float | None) -> None:
        self._deadline = deadline
        if self._keeper is not None:
            self._keeper.armed(deadline)

    # ------------------------------------------------------------------ the transport

    def _dial(self, server: Server) -> None:
        lost = self._plug.dial(server.host, server.port)
        if lost is not None:
            self._failed(lost.error)

    def _hang_up(self) -> None:
        self._plug.hang_up()

    def _failed(self, error: Exception | None) -> None:
        self._connection.transport_down(self._why(error), self._now())

    def _write(self, data: bytes, *, more: bool = False) -> None:
        plug = self._plug
        plug.write(data, more=more)
        if plug.unsent or self._connection.choked:
            self._connection.transport_unsent(len(plug.unsent), self._now())

    def _places(self, host: str, port: int) -> Sequence[Place]:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)

    def _probe(self, server: Server, options: ConnectOptions) -> Self:
        return type(self)(server, None if self._credentials is nobody else self._credentials, 0.0, options)

    def _authenticate(self, order: Authenticate) -> None:
        try:
            auth = answer_of(order, self._credentials(order.server, order.nonce))
        except Exception as error:  # noqa: BLE001 - whatever the user's function raises is why there are none
            self._connection.authentication_failed(refusal_of(order, error), self._now())
        else:
            self._connection.authenticate(auth, self._now())


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
