"""jsproto on asyncio: ``async with connect("nats://127.0.0.1:4222") as nc``.

Theory. There is no task that reads or writes. The transport calls `AsyncioProtocol`, which hands
the bytes to the connection and pumps; a user's verb hands its wish to the connection and asks for a
pump with ``call_soon``, so that all wishes of one turn of the loop leave in one write, and those of
a long one in a few; the one deadline is one ``call_at``. A verb that has to wait makes one future,
and a run of messages costs one wake-up, not one for each message.

Only dialling, and credentials that are awaited, are tasks; both end with the client. Reading never
stops while the link lives. Closing is bounded by ``close_timeout``, whatever the peer does: what
the peer does not take by then is aborted.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine, Generator, Sequence
from time import monotonic
from typing import TYPE_CHECKING, NoReturn, Self, TypeVar, Unpack, cast, final

from jsproto.core.connection.events import Authenticate
from jsproto.core.connection.server_pool import Server
from jsproto.errors import ConnectionClosed
from jsproto_io import _async_client
from jsproto_io._async_client import AsyncCoreMessage, AsyncMessage, Events, Feed, Sink
from jsproto_io._async_client.client import AsyncClient
from jsproto_io._async_client.waits import changed
from jsproto_io._client.options import AsyncCredentials, ConnectOptions, Servers, asks, nobody
from jsproto_io._client.signatures import show_options
from jsproto_io._transport.asyncio_protocol import AsyncioProtocol, winner_of
from jsproto_io._transport.backend import AddrInfo
from jsproto_io._transport.happy_eyeballs import HappyEyeballs
from jsproto_io._transport.network import wrong_clock
from jsproto_io._transport.resolver import written_out

T = TypeVar("T")

if TYPE_CHECKING:
    from jsproto_io._async_client import AsyncConsumer, AsyncJetStream, AsyncStream
else:
    __getattr__ = _async_client.__getattr__

__all__ = [
    "AsyncConsumer",
    "AsyncCoreMessage",
    "AsyncJetStream",
    "AsyncMessage",
    "AsyncStream",
    "Client",
    "Events",
    "Feed",
    "Sink",
    "connect",
]


def connect(
    servers: Servers = "nats://127.0.0.1:4222",
    *,
    credentials: AsyncCredentials | None = None,
    **options: Unpack[ConnectOptions],
) -> Client:
    """A client, to be entered with ``async with``, or awaited and closed by hand.

    Args:
        servers: one URL, several with commas between, or a collection of URLs and `Server` values.
        credentials: asked at each handshake for the server and the nonce to sign: a source of
            `jsproto_io.credentials`, or a function of one's own, which may be a coroutine function.
        options: see `jsproto.core.connection.options.Options`.

    Raises:
        InvalidConfig: an option, a URL or a certificate that cannot work. What connecting raises
            comes when the client is entered: `ConnectFailed` (nobody there, no answer in time, or
            all servers failed), `TlsUnavailable`, `TlsFailed`, `WebSocketFailed`,
            `AuthorizationFailed` (also: asking for credentials raised), `CredentialsUnavailable`
            and `InvalidCredentials` (what was asked for them), `RemoteProtocolError` (no NATS
            server), `ServerError` (what else the server says), `ConversationClosed` (it was entered
            before).
    """
    return Client(servers, credentials, options)


show_options(connect)


@final
class Client(AsyncClient):
    """One connection to one NATS system, on the running event loop."""

    __slots__ = (
        "_armed",
        "_closing",
        "_credentials",
        "_link",
        "_links",
        "_loop",
        "_tasks",
        "_timer",
    )

    def __init__(
        self, servers: Servers, credentials: AsyncCredentials | None, options: ConnectOptions
    ) -> None:
        super().__init__(servers, options, ask=asks(credentials))
        self._credentials: AsyncCredentials = credentials or nobody
        self._loop: asyncio.AbstractEventLoop
        self._link: AsyncioProtocol | None = None
        self._links: set[AsyncioProtocol] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._armed = 0.0
        self._closing = False
        self._now = monotonic

    # ------------------------------------------------------------------ life

    async def __aenter__(self) -> Self:
        loop = self._loop = asyncio.get_running_loop()
        if self._find_network() is not getattr(loop, "network", None):
            raise wrong_clock()
        # The loops of the standard library read this clock, through one more call for each message.
        self._now = monotonic if type(loop).time is asyncio.BaseEventLoop.time else loop.time
        self._begin(self._now())
        self._pump()
        try:
            while not self._driver.linked():
                await changed(self)
        except BaseException:
            await self.close()
            raise
        return self

    def __await__(self) -> Generator[object, None, Self]:
        return self.__aenter__().__await__()

    async def close(self) -> None:
        """End everything, wait at most ``close_timeout`` until the server has read what was sent,
        and hang up.
        """
        if not self._begun or self._gone():
            return
        self._at_home()
        try:
            if not self._closing:
                self._closing = True
                self._connection.close(None, self._now())
                self._pump()
            while not self._driver.closed:
                await changed(self)
        except asyncio.CancelledError:
            self._connection.close(None, self._now())  # the second time does not wait
            self._pump()
            raise
        finally:
            await self._reap()

    async def _reap(self) -> None:
        """Let tasks and transports that were given up come to their end; all of them are bounded."""
        for task in self._tasks:
            task.cancel()
        left: set[asyncio.Future[None]] = {*self._tasks, *(link.lost for link in self._links)}
        if left:
            await asyncio.wait(left, timeout=2 * self._options.close_timeout)

    # ------------------------------------------------------------------ waiting

    def _waiter(self) -> asyncio.Future[None]:
        return self._loop.create_future()

    def _woken(self, waiter: object) -> asyncio.Future[None]:
        return cast("asyncio.Future[None]", waiter)

    def _wake(self, waiter: object) -> None:
        future = cast("asyncio.Future[None]", waiter)
        if not future.done():
            future.set_result(None)

    # ------------------------------------------------------------------ who may use it

    def _away(self) -> bool:
        return not self._loop.is_running()  # a thread runs one loop at a time

    def _refuse(self) -> NoReturn:
        if self._thread and self._loop.is_closed() and not self._driver.closed:
            error = ConnectionClosed(
                "expected an open event loop, the one of this client was closed before the client was left, so what was"
                " not flushed may be lost: enter the client within one asyncio.run, connect anew in this loop, or use"
                " jsproto_io.blocking"
            )
            self._bar(error)
            raise error
        super()._refuse()

    def _drop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        link, self._link = self._link, None
        for each in {*self._links, link}:
            if each is not None:
                each.drop()

    # ------------------------------------------------------------------ driving

    def _schedule_flush(self) -> None:
        if not self._kicked:
            self._kicked = self._thread
            self._loop.call_soon(self._pump)

    def _arm(self, deadline: float | None) -> None:
        """One timer, and it may be early: a tick that finds nothing due is cheaper than a new timer
        each time.
        """
        timer = self._timer
        if timer is not None:
            if deadline is not None and self._armed <= deadline:
                return
            timer.cancel()
        if deadline is None:
            self._timer = None
        else:
            self._timer = self._loop.call_at(deadline, self._tick)
            self._armed = deadline

    def _tick(self) -> None:
        self._timer = None
        self._connection.handle_tick(self._now())
        self._pump()

    def _spawn(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # ------------------------------------------------------------------ the transport

    def _dial(self, server: Server) -> None:
        self._link = link = AsyncioProtocol(self._inlet, self._options, self._links)
        link.dialling = self._spawn(self._dialled(server, link))

    async def _dialled(self, server: Server, link: AsyncioProtocol) -> None:
        try:
            if self._network is None:
                options = self._options
                places = await self._places(server.host, server.port, None)
                race = HappyEyeballs(
                    server.host, places, randomize=options.randomize, within=options.connect_timeout
                )
                stream = link.stream = await winner_of(race, self._spawn)
                await self._loop.create_connection(lambda: link, sock=stream)
            else:
                await self._loop.create_connection(lambda: link, server.host, server.port)
        except (OSError, ValueError) as error:  # ValueError: a host name that no resolver takes
            if link.inlet is not None:
                link.inlet.lost(error)

    def _lost(self, error: Exception | None) -> None:
        self._link = None
        super()._lost(error)

    def _hang_up(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.hang_up()

    def _write(self, data: bytes) -> None:
        link = self._link
        if link is not None:
            link.write(data)
            self._broken = link.broken
            if link.unsent or self._connection.write_blocked:
                self._connection.transport_unsent(link.unsent, self._now())

    async def _run_in_thread(self, work: Callable[[], T]) -> T:
        """Do something that waits for a disk, in a thread, to its end."""
        doing = self._loop.run_in_executor(None, work)
        try:
            return await asyncio.shield(doing)
        except asyncio.CancelledError:
            await asyncio.wait(
                [doing]
            )  # it may still be at work on what the caller is about to close
            raise

    async def _places(self, host: str, port: int, patience: float | None) -> Sequence[AddrInfo]:
        async with asyncio.timeout(patience):
            return written_out(host, port) or await self._loop.getaddrinfo(
                host, port, type=socket.SOCK_STREAM
            )

    def _probe(self, server: Server, options: ConnectOptions) -> Self:
        return type(self)(
            server, None if self._credentials is nobody else self._credentials, options
        )

    # ------------------------------------------------------------------ credentials

    def _authenticate(self, order: Authenticate) -> None:
        link = self._link
        self._spawn(self._authenticated(order, lambda: link is self._link))
