"""What the adapters with nurseries have in common: a client whose every task ends before ``async
with`` is left.

Theory. `connect` opens a nursery of its own for one task, which pumps: it sleeps until a verb or a
link rings its bell, so that all wishes of one moment leave in one write. In it live the others: one
that sleeps until the one deadline, one for each link, which dials, reads and closes its socket
itself, and for a while one that writes what the kernel did not take, or one that asks for
credentials. What the kernel takes is written in the pump itself.

Whoever cancels the body of ``async with`` cancels none of these: they are shielded, since what was
acked a moment before shall still reach the server. Leaving is bounded instead: the core closes
within ``close_timeout``, and a link that nobody wants any more has as long for what was written. So
leaving always comes to its end, and what the body raised, Cancelled above all, is raised as it is,
in no group.

On trio, Ctrl-C may be raised in whatever task runs. In one of ours it would come out as a group and
leave half a step behind, so they are sheltered from it, and trio gives it to the main task
(`_run_outside_tasks`).

What is there already is given without a checkpoint; a reader who has taken everything waits, which
is one. So a checkpoint costs a run of messages what it costs one message, and nothing is taken
before a wait that may be cancelled.

`AsyncBackend` is all that trio and anyio differ in.
"""

# ruff: noqa: SLF001 - client and stream are one thing in several classes

from __future__ import annotations

import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from types import TracebackType
from typing import ClassVar, Final, Self, TypeVar, cast

from jsproto.core.connection.events import Authenticate
from jsproto.core.connection.server_pool import Server
from jsproto_io._async_client.client import AsyncClient
from jsproto_io._async_client.waits import changed
from jsproto_io._client.options import AsyncCredentials, ConnectOptions, Servers, asks, nobody
from jsproto_io._transport.backend import NEVER, AddrInfo, AsyncBackend, Event, Nursery, Scope
from jsproto_io._transport.network import Linked, wrong_clock
from jsproto_io._transport.nursery_stream import Stream

T = TypeVar("T")


class StructuredClient(AsyncClient):
    """One connection to one NATS system, in a nursery of its own."""

    __slots__ = (
        "_armed",
        "_bell",
        "_closing",
        "_credentials",
        "_home",
        "_inner",
        "_link",
        "_nursery",
        "_over",
        "_scope",
        "_timer",
    )

    WAYS: ClassVar[AsyncBackend]

    def __init__(
        self, servers: Servers, credentials: AsyncCredentials | None, options: ConnectOptions
    ) -> None:
        super().__init__(servers, options, ask=asks(credentials))
        self._credentials: AsyncCredentials = credentials or nobody
        self._now = self.WAYS.now
        self._closing = False
        self._armed = NEVER
        self._link: Linked | None = None
        self._inner: Nursery | None = None
        self._home: object = None
        self._bell: Event
        self._over: Event
        self._scope: Scope
        self._timer: Scope
        self._nursery: AbstractAsyncContextManager[Nursery]

    # ------------------------------------------------------------------ life

    async def __aenter__(self) -> Self:
        ways = self.WAYS
        network = self._find_network()
        if network is not None and network.now() != self._now():
            raise wrong_clock()
        _run_outside_tasks()
        self._home = ways.here()
        self._begin(self._now())
        self._bell = ways.event()
        self._over = ways.event()
        self._timer = ways.scope()
        self._scope = ways.scope(shield=True)
        self._nursery = ways.nursery()
        nursery = await self._nursery.__aenter__()
        nursery.start_soon(self._live)
        try:
            while not self._driver.linked():
                await changed(self)
        except BaseException:
            await self._leave_nursery()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._leave_nursery()

    async def _leave_nursery(self) -> None:
        """Close, and see every task to its end, also when cancelled; all of it is bounded."""
        try:
            if self._barred is None:
                with self.WAYS.scope(shield=True):
                    await self.close()
                    await self._over.wait()
        finally:
            self._scope.cancel()  # does nothing, unless something has broken that shield
            await self._nursery.__aexit__(None, None, None)

    async def close(self) -> None:
        """End everything, wait at most ``close_timeout`` until the server has read what was sent,
        and hang up.
        """
        if not self._begun or self._gone():
            return
        self._at_home()
        if not self._closing:
            self._closing = True
            self._connection.close(None, self._now())
        try:
            while not self._driver.closed:
                await changed(self)
        except BaseException:
            self._connection.close(None, self._now())  # the second time does not wait
            self._schedule_flush()
            raise

    # ------------------------------------------------------------------ waiting

    def _waiter(self) -> Event:
        return self.WAYS.event()

    def _woken(self, waiter: object) -> Awaitable[object]:
        return cast("Event", waiter).wait()

    def _wake(self, waiter: object) -> None:
        cast("Event", waiter).set()

    # ------------------------------------------------------------------ who may use it

    def _away(self) -> bool:
        try:
            return self.WAYS.here() != self._home
        except RuntimeError:  # no event loop runs here
            return True

    def _drop(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.drop()

    # ------------------------------------------------------------------ driving

    async def _live(self) -> None:
        """The one task of the nursery: pump when the bell rings, until all is over and every link
        has come to its end.
        """
        try:
            with self._scope:
                async with self.WAYS.nursery() as inner:
                    self._inner = inner
                    inner.start_soon(self._tell_the_time)
                    self._pump()
                    while not self._driver.closed:
                        await self._bell.wait()
                        self._bell = self.WAYS.event()
                        self._pump()
                    self._inner = None
                    self._timer.cancel()
        finally:
            self._inner = None
            self._connection.close(None, self._now())
            self._connection.close(None, self._now())  # the second time does not wait
            self._pump()  # whoever still waits hears that it is over
            self._over.set()

    async def _tell_the_time(self) -> None:
        while self._inner is not None:
            with self.WAYS.scope(deadline=self._armed) as self._timer:
                await self.WAYS.forever()
            self._armed = NEVER
            self._connection.handle_tick(self._now())
            self._pump()

    def _arm(self, deadline: float | None) -> None:
        """One alarm, and it may be early: a tick that finds nothing due is cheaper than to set it
        each time.
        """
        if deadline is not None and deadline < self._armed:
            self._armed = self._timer.deadline = deadline

    def _schedule_flush(self) -> None:
        if not self._kicked:
            self._kicked = self._thread
            self._bell.set()

    def _pump(self) -> None:
        super()._pump()
        if self._driver.closed:
            self._bell.set()

    # ------------------------------------------------------------------ the transport

    def _dial(self, server: Server) -> None:
        if self._inner is not None:
            network = self._network
            self._link = (
                Stream(self._inlet, server, self._options, self.WAYS)
                if network is None
                else network.link(self._inlet, self.WAYS)
            )
            self._inner.start_soon(self._link.live)

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
                self._connection.transport_unsent(len(link.unsent), self._now())

    async def _run_in_thread(self, work: Callable[[], T]) -> T:
        """Do something that waits for a disk, in a thread, to its end."""
        return cast("T", await self.WAYS.aside(work))

    async def _places(self, host: str, port: int, patience: float) -> Sequence[AddrInfo]:
        with self.WAYS.scope(deadline=self.WAYS.now() + patience):
            return await self.WAYS.places(host, port, type=socket.SOCK_STREAM)
        raise TimeoutError

    def _probe(self, server: Server, options: ConnectOptions) -> Self:
        return type(self)(
            server, None if self._credentials is nobody else self._credentials, options
        )

    def _authenticate(self, order: Authenticate) -> None:
        link = self._link
        if link is not None:
            link.start_soon(partial(self._authenticated, order, lambda: link is self._link))


#: What runs in tasks of ours.
_TASKS: Final = (
    StructuredClient._live,
    StructuredClient._tell_the_time,
    StructuredClient._authenticated,
    Stream.live,
    Stream._tried,
    Stream._rest,
)


def _run_outside_tasks() -> None:
    """Have Ctrl-C raised outside of our tasks. anyio has no word for it, and trio need not be
    there: who runs on it has imported it.
    """
    trio = sys.modules.get("trio")
    if trio is not None:
        for task in _TASKS:
            trio.lowlevel.enable_ki_protection(task)
