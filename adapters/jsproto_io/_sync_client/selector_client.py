"""A client that its caller drives over a `SelectorTransport`: what every adapter without an event
loop has in common.

Theory. `_drive` is one turn: sleep in the plug until something comes or the one deadline is due,
feed it, tick, pump. Whoever waits runs turns until it is woken. Who comes back after a while
catches up with what has come since, before anything of his goes out: the server may have hung up
long ago, and what is written into a link of yesterday is lost. If it had, a verb that does not wait
for the server waits at most ``connect_timeout`` for the next link, if it has something to say: its
caller may leave at once, and nobody else would make one. Who sleeps otherwise, for many clients at
once or in a loop of one's own, says so in `_drive` and calls `_turn` without patience when the plug
has something: it can be asked for its descriptor.

A fork leaves the connection with the parent. The child's copy closes its descriptors, without a
word on the wire and without touching the selector that both share, and every verb there says whose
connection it was.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import timedelta
from time import monotonic
from typing import Final, Self, TypeVar

from jsproto.core.connection.events import Authenticate
from jsproto.core.connection.server_pool import Server
from jsproto.core.conversation.conversation import Conversation
from jsproto.core.numbers import seconds
from jsproto.driver import WaitSlot
from jsproto.errors import ConnectionClosed, JsprotoError
from jsproto_io._client.handshake import answer_of, refusal_of
from jsproto_io._client.options import ConnectOptions, Credentials, Servers, asks, nobody
from jsproto_io._sync_client.base import ClosedLock, SyncGuard
from jsproto_io._sync_client.client import SyncClient
from jsproto_io._sync_client.waits import changed
from jsproto_io._transport.backend import AddrInfo
from jsproto_io._transport.network import Plugged
from jsproto_io._transport.resolver import looked_up
from jsproto_io._transport.selector_socket import OPENED, ConnectionGone, SelectorTransport

#: A reader that acks faster than this, in seconds, lets the kernel put its acks together. (Who
#: lingers has put them together already.)
_SOON: Final = 0.001
#: Verbs that need not wait look at the socket at least so often, in seconds.
_LOOK: Final = 1.0
#: Catching up ends after so many turns even if more is there: a flood is read as fast as somebody
#: takes it.
_TURNS: Final = 8

T = TypeVar("T")


class SelectorClient(SyncClient):
    """One connection to one NATS system, driven by whoever waits."""

    __slots__ = (
        "_credentials",
        "_deadline",
        "_linger",
        "_plug",
        "_pushed",
        "_soon",
    )

    def __init__(
        self,
        servers: Servers,
        credentials: Credentials | None,
        options: ConnectOptions,
        *,
        linger: float | timedelta = 0.0,
    ) -> None:
        pause = seconds("linger", linger, above=False)
        super().__init__(servers, options, ask=asks(credentials))
        self._credentials: Credentials = credentials or nobody
        self._guard = SyncGuard(self)
        self._now = monotonic
        self._gate = threading.Lock()
        self._feeds = set()
        self._plug: Plugged
        self._deadline: float | None = None
        self._linger = pause
        self._soon = 0.0 if pause else _SOON
        self._look_at = 0.0
        self._pushed = 0.0

    # ------------------------------------------------------------------ life

    def __enter__(self) -> Self:
        try:
            with self._guard:
                if not self._begun:
                    network = self._find_network()
                    if (
                        network is not None
                    ):  # in a test, where nothing happens while the caller computes
                        self._now = network.now
                    self._plug = self._plugged() if network is None else network.plug()
                self._begin(self._now())
                self._pump()
                while not self._driver.linked():
                    changed(self)
        except BaseException:
            self.close()
            raise
        return self

    def open(self) -> Self:
        """Connect without ``with``; `close` ends it. Raises what entering the client raises."""
        return self.__enter__()

    def close(self) -> None:
        """End everything, wait at most ``close_timeout`` until the server has read what was sent,
        and hang up.
        """
        if not self._begun or isinstance(self._gate, ClosedLock):
            return
        with self._guard:
            try:
                self._catch_up()
                self._connection.close(None, self._now())
                self._pump()
                while not self._driver.closed:
                    self._drive()
            finally:
                if not self._driver.closed:
                    for _ in range(2):  # the second time does not wait
                        self._connection.close(None, self._now())
                    self._pump()
                self._plug.pull()

    def _plugged(self) -> Plugged:
        """A plug of this machine; who derives from this class may register it with a selector of
        its own.
        """
        return SelectorTransport()

    def _bar(self, error: JsprotoError) -> None:
        """Give the connection up without a word to the server. Every later verb raises this error."""
        self._gate = ClosedLock(error)
        super()._bar(error)

    def _drop(self) -> None:
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

    def _opened(self, conversation: Conversation[T], now: float) -> WaitSlot:
        self._come_back()
        return super()._opened(conversation, now)

    def _catch_up(self) -> None:
        """Read what has come while nobody looked, up to the end of the link, and say nothing
        before.
        """
        for _ in range(_TURNS):
            if self._driver.closed or not self._awaited(0.0) or not self.connected:
                break
        self._pump()

    def _come_back(self) -> None:
        """Catch up, and if the link has ended with something of the caller's unsaid, wait a while
        for the next one before he goes on.
        """
        unsaid = self.connected and len(self._connection.outgoing) > 0
        self._catch_up()
        until = self._now() + self._options.connect_timeout
        while unsaid and not self.connected and not self._driver.closed and self._now() < until:
            self._drive()

    def _pump(self) -> None:
        if self._connection.outgoing and self._now() > self._look_at:
            self._come_back()
        super()._pump()

    def _turn(self, patience: float | None) -> bool:
        """Sleep until something comes or so many seconds have passed, feed it, and say what is to
        be said; whether something came.
        """
        came = self._awaited(patience)
        self._pump()
        return came

    def _awaited(self, patience: float | None) -> bool:
        """Sleep until something comes, which is fed before time is judged; whether something came,
        and so more may be there.
        """
        plug = self._plug
        connection = self._connection
        held = len(plug.unsent)
        happened = plug.wait(patience)
        now = self._now()
        self._look_at = now + _LOOK
        if isinstance(happened, bytes):
            self._arrived(happened, now)
        elif isinstance(happened, ConnectionGone):
            self._lost(happened.error)
        elif happened is OPENED:
            self._up(now)
        if held:
            connection.transport_unsent(len(plug.unsent), now)
        if self._deadline is not None and self._deadline <= now:
            connection.handle_tick(now)
        return happened is not None

    def _flush(self, now: float, *, more: bool = False) -> None:
        if now > self._look_at:
            self._come_back()
            return
        since = now - self._pushed
        if since < self._linger:
            return
        data = self._connection.data_to_send()
        if data:
            if not more or since > self._soon:
                self._pushed = now
                more = False
            top = self._layers.top
            self._write(data if top is None else top.sent(data), more=more)
            if self._broken:
                self._come_back()

    def _arm(self, deadline: float | None) -> None:
        due = self._plug.due
        self._deadline = (
            deadline if due is None or (deadline is not None and deadline < due) else due
        )

    # ------------------------------------------------------------------ the transport

    def _dial(self, server: Server) -> None:
        options = self._options
        lost = self._plug.dial(
            server.host, server.port, randomize=options.randomize, within=options.connect_timeout
        )
        if lost is not None:
            self._lost(lost.error)

    def _hang_up(self) -> None:
        self._plug.hang_up()

    def _write(self, data: bytes, *, more: bool = False) -> None:
        plug = self._plug
        plug.write(data, more=more)
        if plug.broken is not None:
            self._broken = True
            self._look_at = 0.0
        if plug.unsent or self._connection.write_blocked:
            self._connection.transport_unsent(len(plug.unsent), self._now())

    def _places(self, host: str, port: int, patience: float) -> Sequence[AddrInfo]:
        return looked_up(host, port, patience)

    def _probe(self, server: Server, options: ConnectOptions) -> Self:
        return type(self)(
            server, None if self._credentials is nobody else self._credentials, options
        )

    def _authenticate(self, order: Authenticate) -> None:
        try:
            auth = answer_of(order, self._credentials(order.server, order.nonce))
        except Exception as error:  # noqa: BLE001 - whatever the user's function raises is why there are none
            self._connection.authentication_failed(refusal_of(order, error), self._now())
        else:
            self._connection.authenticate(auth, self._now())
