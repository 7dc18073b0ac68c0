"""A client machine and the model server on one virtual line.

:class:`Pair` is the smallest world in which the whole protocol runs: it dials when the machine
wants to dial, carries bytes both ways until nobody has anything to say, and moves virtual time from
deadline to deadline. Nothing waits, and a run with the same seed is the same run. Reads can be cut
into pieces by a :class:`Cutter`, because a stream promises order and nothing else; the link itself
can be cut and restored.

Latency, loss, half-open links and several clients are the business of a network, not of a pair.
"""

from __future__ import annotations

from typing import Final, Protocol

from jsproto.core.connection.auth import Auth
from jsproto.core.connection.events import Authenticate, Dial, Event, HangUp, Upgrade
from jsproto.errors.tree import (
    ConnectFailed,
    ConnectionLost,
    JsprotoError,
    LocalProtocolError,
    TlsUnavailable,
)
from jsproto.testing.clock import Clock
from jsproto.testing.simserver.account.routing import Lottery

#: More exchanges than this without time passing is a machine that talks to itself.
_MOST_ROUNDS: Final = 100_000


class Machine(Protocol):
    """The inputs and outputs of a client that a pair drives:
    `jsproto.core.connection.connection.Connection`, or one's own.
    """

    def transport_up(self, now: float) -> None:
        """A byte stream exists."""

    def receive_data(self, data: bytes, now: float) -> None:
        """Bytes have arrived."""

    def transport_down(self, error: Exception | None, now: float) -> None:
        """The stream is gone, or could not be opened."""

    def handle_tick(self, now: float) -> None:
        """Something may be due."""

    def authenticate(self, auth: Auth, now: float) -> None:
        """Credentials, as asked for."""

    def next_event(self) -> Event | None:
        """What happened."""
        ...

    def data_to_send(self) -> bytes:
        """What must go out."""
        ...

    def next_deadline(self) -> float | None:
        """When to tick."""
        ...


class Peer(Protocol):
    """The server's end: `SimServer`, or one's own."""

    def connect(self, now: float) -> int:
        """Somebody dials; answers the number of the connection."""
        ...

    def receive_data(self, cid: int, data: bytes, now: float) -> None:
        """Bytes of that client."""

    def data_to_send(self, cid: int) -> bytes:
        """Bytes for that client."""
        ...

    def disconnect(self, cid: int, now: float) -> None:
        """That client has gone."""

    def closed(self, cid: int) -> bool:
        """Whether the server has hung up."""
        ...

    def handle_tick(self, now: float) -> None:
        """Something may be due."""

    def next_deadline(self) -> float | None:
        """When to tick."""
        ...


class Cutter:
    """Cuts bytes into pieces of 1 to ``longest`` bytes, the same for the same seed."""

    __slots__ = ("_longest", "_lottery")

    def __init__(self, seed: int, *, longest: int = 64) -> None:
        if longest < 1:
            raise LocalProtocolError(f"expected pieces of at least 1 byte, got longest={longest!r}")
        self._lottery = Lottery(seed)
        self._longest = longest

    def pieces(self, data: bytes) -> list[bytes]:
        """The same bytes in pieces."""
        found: list[bytes] = []
        at = 0
        while at < len(data):
            size = 1 + self._lottery.below(self._longest)
            found.append(data[at : at + size])
            at += size
        return found


class Pair:
    """One machine, one server, and the line between them.

    Args:
        machine: the client; its first `Dial` is answered by the first `step`.
        server: the server's end.
        clock: the time of both; shared if the test wants to move it itself.
        cutter: cuts what either side reads; ``None`` hands over whole.
        auth: the answer to `Authenticate`; without it the event is left to the test.
    """

    __slots__ = ("_auth", "_cutter", "_reachable", "cid", "clock", "events", "machine", "server")

    def __init__(
        self,
        machine: Machine,
        server: Peer,
        *,
        clock: Clock | None = None,
        cutter: Cutter | None = None,
        auth: Auth | None = None,
    ) -> None:
        self.machine = machine
        self.server = server
        self.clock = clock if clock is not None else Clock()
        #: What the machine told, apart from what the pair did itself.
        self.events: list[Event] = []
        #: The server's number of the present link, ``None`` without one.
        self.cid: int | None = None
        self._cutter = cutter
        self._auth = auth
        self._reachable = True

    @property
    def now(self) -> float:
        """The present moment."""
        return self.clock.now

    def step(self) -> list[Event]:
        """Exchange until nobody has anything to say at this moment; answers the events of this
        step.

        Raises:
            LocalProtocolError: the two never come to rest.
        """
        seen = len(self.events)
        for _ in range(_MOST_ROUNDS):
            if not (self._apply_event() or self._carry()):
                return self.events[seen:]
        raise LocalProtocolError(f"expected rest within {_MOST_ROUNDS} exchanges, got none")

    def advance(self, seconds: float) -> list[Event]:
        """Let time pass, stopping at every deadline of either side; answers the events."""
        seen = len(self.events)
        end = self.clock.now + seconds
        self.step()
        while (due := self._due()) is not None and due <= end:
            self.clock.until(due)
            self._tick()
            self.step()
        self.clock.until(end)
        self._tick()
        self.step()
        return self.events[seen:]

    def cut(self, error: JsprotoError | None = None) -> None:
        """The link breaks, for both ends; dialling fails until `restore`."""
        self._reachable = False
        self._drop(error if error is not None else ConnectionLost("the line was cut"))

    def drop(self, error: JsprotoError | None = None) -> None:
        """The link breaks once, for both ends; the next dial succeeds."""
        self._drop(error if error is not None else ConnectionLost("the line was dropped"))

    def restore(self) -> None:
        """Dialling succeeds again."""
        self._reachable = True

    def _drop(self, error: JsprotoError) -> None:
        if self.cid is not None:
            self.server.disconnect(self.cid, self.now)
            self.cid = None
            self.machine.transport_down(error, self.now)

    def _due(self) -> float | None:
        moments = [self.machine.next_deadline(), self.server.next_deadline()]
        return min((moment for moment in moments if moment is not None), default=None)

    def _tick(self) -> None:
        self.server.handle_tick(self.now)
        self.machine.handle_tick(self.now)

    def _apply_event(self) -> bool:
        """Take one event: do what it asks of an adapter, keep what it tells everybody."""
        event = self.machine.next_event()
        if event is None:
            return False
        if isinstance(event, Dial):
            self._dial()
        elif isinstance(event, HangUp):
            self._hang_up()
        elif isinstance(event, Upgrade):
            self._drop(TlsUnavailable("expected a line without TLS, got a wish for it"))
        elif isinstance(event, Authenticate) and self._auth is not None:
            self.machine.authenticate(self._auth, self.now)
        else:
            self.events.append(event)
        return True

    def _dial(self) -> None:
        cid = self.server.connect(self.now) if self._reachable else None
        last_words = b""
        if cid is not None and self.server.closed(cid):
            # Whoever hangs up at once may still have said why.
            last_words = self.server.data_to_send(cid)
            cid = cid if last_words else None
        if cid is None:
            self.machine.transport_down(
                ConnectFailed("expected a server that answers, got none"), self.now
            )
            return
        self.cid = cid
        self.machine.transport_up(self.now)
        for piece in self._pieces(last_words):
            self.machine.receive_data(piece, self.now)

    def _hang_up(self) -> None:
        data = self.machine.data_to_send()
        if self.cid is not None:
            for piece in self._pieces(data):
                self.server.receive_data(self.cid, piece, self.now)
            self.server.disconnect(self.cid, self.now)
            self.cid = None

    def _carry(self) -> bool:
        """One exchange of bytes in both directions, and the end of the stream if there is one."""
        out = self.machine.data_to_send()
        cid = self.cid
        if cid is None:
            return False
        for piece in self._pieces(out):
            self.server.receive_data(cid, piece, self.now)
        back = self.server.data_to_send(cid)
        for piece in self._pieces(back):
            self.machine.receive_data(piece, self.now)
        if self.server.closed(cid) and self.cid == cid:
            self.cid = None
            self.machine.transport_down(None, self.now)
            return True
        return bool(out or back)

    def _pieces(self, data: bytes) -> list[bytes]:
        if self._cutter is not None:
            return self._cutter.pieces(data)
        return [data] if data else []
