"""What the clients of all adapters have in common, and nothing that waits.

A client owns one `Driver`. After every input it *pumps*: obeys the orders, wakes the waiters,
writes the bytes, arms the one deadline. How each of these is done is the adapter's; that they are
done in this order is said here, once.
"""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Final, NoReturn, TypeVar, cast, final

from attrs import evolve

import jsproto
import jsproto_io
from jsproto.core.connection.connection import Connection
from jsproto.core.connection.dispatcher import Stats
from jsproto.core.connection.events import Authenticate, Dial, Upgrade
from jsproto.core.connection.options import Options
from jsproto.core.connection.server_pool import Server, at_addresses
from jsproto.core.conversation.conversation import Conversation
from jsproto.core.conversation.message import Message
from jsproto.driver import ANY_TIME, Driver, Order, WaitSlot
from jsproto.errors import (
    ConnectionClosed,
    ConversationClosed,
    JsprotoError,
    LocalProtocolError,
)
from jsproto.errors.tree import cut, shorten
from jsproto.jetstream.delivery.ack import NAK
from jsproto.jetstream.delivery.message import JsMessage, Settlement
from jsproto.wire.frames import Info
from jsproto_io._client.layers import LayeredStream
from jsproto_io._client.messages import CoreMessage
from jsproto_io._client.options import ConnectOptions, Servers, check_words, options_of
from jsproto_io._event_logger import EventLogger, watchers_of
from jsproto_io._transport.backend import AddrInfo
from jsproto_io._transport.network import Network, network_here, refuse_real_sockets

T = TypeVar("T")


@final
class _NotYet:
    """Stands where a connection will be, and says so to whoever asks it for anything.

    A client could say it itself, for attributes that are missing; but Python finds all attributes
    of a class with ``__getattr__`` slowly, and each ack needs ten.
    """

    def __getattr__(self, name: str) -> NoReturn:
        raise not_entered()


def not_entered() -> ConversationClosed:
    """The error for a verb of a client that has no connection yet."""
    return ConversationClosed(
        "expected a connected client: enter connect(...) with a with statement (async with, if the client has await)"
    )


_NOT_YET: Final = _NotYet()


class Base:
    """A client without its ways of waiting. ``MESSAGE`` is what its feeds of stored messages make,
    ``CORE`` what the others make.
    """

    __slots__ = (
        "__weakref__",
        "_barred",
        "_begun",
        "_broken",
        "_connection",
        "_driver",
        "_jetstream",
        "_layers",
        "_network",
        "_options",
        "_watchers",
        "_words",
    )

    MESSAGE: type[JsMessage]
    CORE: type[CoreMessage]

    _now: Callable[[], float]

    def __init__(self, servers: Servers, options: ConnectOptions, *, ask: bool) -> None:
        check_words(options)
        #: Whether the stream refused what was written last: what follows waits for the next link.
        self._broken = False
        self._words = options
        self._jetstream = options.get("jetstream")
        self._watchers = watchers_of(options.get("watch"))
        checked = options_of(servers, ask=ask, **options)
        self._layers = LayeredStream(
            options, checked, write=self._write, close=self._hang_up, lost=self._lost
        )
        self._options: Options = checked
        self._begun = False
        self._barred: JsprotoError | None = None
        self._network: Network | None = None
        self._connection: Connection = cast("Connection", _NOT_YET)
        self._driver: Driver = cast("Driver", _NOT_YET)

    # ------------------------------------------------------------------ what it shows

    def __repr__(self) -> str:
        kind = f"{type(self).__module__}.{type(self).__qualname__}"
        options: Options | None = getattr(self, "_options", None)
        if options is None:
            return f"<{kind}: not made, its options were refused>"
        name = "" if options.name is None else f" {shorten(options.name)}"
        connection: object = self._connection
        if not isinstance(connection, Connection):
            servers = ",".join(str(server) for server in options.servers)
            return f"<{kind}{name} for {cut(servers)}: not entered>"
        if self._barred is not None:
            state = f"closed, {self._barred}"
        elif connection.connected or connection.closed:
            state = "connected" if connection.connected else "closed"
        else:
            state = f"not connected ({connection.state.name})"
        return f"<{kind}{name} at {connection.server}: {state}>"

    @property
    def info(self) -> Info:
        """The newest INFO of the server.

        Raises:
            ConversationClosed: none has come yet.
        """
        info = self._connection.info
        if info is None:
            raise ConversationClosed("expected a client that was connected, no INFO has come yet")
        return info

    @property
    def name(self) -> str | None:
        """What this client is called, as the server was told."""
        return self._options.name

    @property
    def server(self) -> Server:
        """The server of the present link or attempt."""
        return self._connection.server

    @property
    def stats(self) -> Stats:
        """Counters since the client was connected."""
        return self._connection.stats

    @property
    def connected(self) -> bool:
        """Whether a link is up now, and this process may use it."""
        return self._begun and self._barred is None and self._connection.connected

    @property
    def closed(self) -> bool:
        """Whether it is over; a client that was never entered is not."""
        return self._begun and (self._barred is not None or self._connection.closed)

    def _js(
        self, domain: str | None, prefix: str | None, timeout: float | timedelta | None
    ) -> jsproto.JetStream:
        """JetStream of the client's options, or as it is told otherwise."""
        own = self._jetstream or jsproto.JetStream()
        if domain is not None or prefix is not None:
            own = jsproto.JetStream(domain=domain, prefix=prefix, timeout=own.timeout)
        return own if timeout is None else evolve(own, timeout=timeout)

    def _words_of_a_probe(self, timeout: float | timedelta) -> ConnectOptions:
        """Options for a client that looks at one address, once."""
        probe: ConnectOptions = {
            "connect_sweeps": 1,
            "connect_timeout": timeout,
            "ignore_gossip": True,
        }
        words: ConnectOptions = {**self._words, **probe}
        words.pop("record", None)  # an incident of this client is not in the links of a probe
        words.pop(
            "watch", None
        )  # and who watches this client would take the end of a probe for its end
        return words

    def _probed(self, server: Server, places: Sequence[AddrInfo]) -> list[Server]:
        """What probes look at: the server at each of these addresses, or as it is named, where a
        proxy looks up its name.
        """
        return (
            [server]
            if self._named()
            else at_addresses(server, [str(place[4][0]) for place in places])
        )

    def _named(self) -> bool:
        """Whether nobody here looks up the names of servers: a proxy does, or there is no real
        network.
        """
        return self._layers.tunnel is not None or self._network is not None

    # ------------------------------------------------------------------ driving

    def _find_network(self) -> Network | None:
        """Find out what to dial in, before anything else.

        Raises:
            LocalProtocolError: a model server is active that cannot serve a client here.
        """
        if not self._begun:
            self._network = network_here()
        return self._network

    def _begin(self, now: float) -> None:
        """Make the connection, which asks to dial at once.

        Raises:
            ConversationClosed: this client was entered before.
            InvalidConfig: it is to be recorded, and the file cannot be made.
        """
        if self._begun:
            raise ConversationClosed(
                "expected a new client, this one was entered before: connect anew"
            )
        record = self._words.get("record")
        tape = None if record is None else jsproto_io.recording.tape_of(record)
        self._begun = True
        self._connection = (
            Connection(self._options, entropy=os.urandom, now=now)
            if tape is None
            else jsproto.trace.Recorder(self._options, entropy=os.urandom, now=now, tape=tape)
        )
        self._driver = Driver(self._connection, self)
        self._layers.attach(self._connection, self._driver)
        self._driver.attend(EventLogger(self, self._watchers))
        _CLIENTS.add(self)

    def _opened(self, conversation: Conversation[T], now: float) -> WaitSlot:
        """Open a conversation; a feed of stored messages makes messages of this client's colour."""
        made = getattr(conversation, "message", None)
        if made is JsMessage:
            setattr(conversation, "message", self.MESSAGE)  # noqa: B010 - only feeds of messages have it
        elif made is Message:
            setattr(conversation, "message", partial(self.CORE, client=self))  # noqa: B010
        return self._driver.open(conversation, now)

    def _give_back(self, item: object) -> None:
        """An item was taken and will reach nobody: an open message goes back to the server at once."""
        if isinstance(item, JsMessage):
            with contextlib.suppress(
                JsprotoError
            ):  # then the server delivers it again after its ack_wait
                self._connection.settle(Settlement(item, NAK), ANY_TIME)

    def _pump(self) -> None:
        """Drain the outputs of the connection: events, bytes, deadline."""
        connection = self._connection
        driver = self._driver
        driver.collect()
        while driver.orders:
            self._apply_event(driver.orders.popleft())
            driver.collect()
        choked = connection.write_blocked
        layers = self._layers
        if layers.owes and not connection.clogged:
            layers.answer()
        data = b"" if self._broken else connection.data_to_send()
        if data:
            if layers.top is not None:
                data = layers.top.sent(data)
            self._write(data)
            if choked:
                driver.collect()
        self._wake_all()
        self._arm(connection.next_deadline())

    def _wake_all(self) -> None:
        driver = self._driver
        if driver.woken:
            woken, driver.woken = driver.woken, []
            for waiter in woken:
                self._wake(waiter)

    def _apply_event(self, order: Order) -> None:
        if isinstance(order, Dial):
            self._broken = False
            self._layers.begin(secure=order.secure)
            if self._network is None:
                try:
                    refuse_real_sockets()
                except LocalProtocolError as error:
                    self._lost(error)
                    return
            self._dial(self._layers.entrance(order.server))
        elif isinstance(order, Authenticate):
            self._authenticate(order)
        elif isinstance(order, Upgrade):
            self._layers.cover(order.server, secure=True)
        else:
            data = self._layers.farewell(self._connection.data_to_send())
            if data:
                self._write(data)
            self._hang_up()

    # ------------------------------------------------------------------ what the byte stream says

    def _up(self, now: float) -> None:
        """The byte stream is open."""
        self._layers.opened(now)

    def _arrived(self, data: bytes, now: float) -> None:
        """Bytes came from the stream."""
        top = self._layers.top
        if top is None:
            self._connection.receive_data(data, now)
        else:
            self._layers.received(top, data, now)

    def _lost(self, error: Exception | None) -> None:
        """The byte stream is gone, or could not be opened; a pump follows."""
        self._connection.transport_down(self._layers.loss(error), self._now())

    # ------------------------------------------------------------------ who may use it

    def _bar(self, error: JsprotoError) -> None:
        """Give the connection up without a word to the server. Every later verb raises this error."""
        self._barred = error
        self._drop()

    # ------------------------------------------------------------------ what an adapter adds

    def _drop(self) -> None:
        """Close this process's copy of the socket. Write nothing, and leave alone what a parent
        process may share.
        """

    def _dial(self, server: Server) -> None:
        """Begin to open a byte stream; later `transport_up` or `transport_down`."""
        raise NotImplementedError

    def _authenticate(self, order: Authenticate) -> None:
        """Find credentials; then or later `authenticate` or `authentication_failed`."""
        raise NotImplementedError

    def _hang_up(self) -> None:
        """Close the byte stream or stop opening it, without waiting and without `transport_down`."""
        raise NotImplementedError

    def _write(self, data: bytes) -> None:
        """Hand bytes to the byte stream and say `transport_unsent`."""
        raise NotImplementedError

    def _wake(self, waiter: object) -> None:
        """Let a waiter look again."""
        raise NotImplementedError

    def _arm(self, deadline: float | None) -> None:
        """Note when `handle_tick` is due."""
        raise NotImplementedError


#: Every client that was entered and is still referenced.
_CLIENTS: Final[weakref.WeakSet[Base]] = weakref.WeakSet()


def _forked() -> None:
    """Bar every client in the child of a fork: the parent keeps the connections."""
    for client in list(_CLIENTS):
        if not client.closed:
            client._bar(  # noqa: SLF001 - the hook and the client are one thing
                ConnectionClosed(
                    f"the connection belongs to process {os.getppid()}, this is its fork {os.getpid()}: connect anew"
                )
            )


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_forked)
