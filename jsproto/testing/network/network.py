"""The network: one model server, several clients, the links between them, and what can go wrong
with all of it.

Theory. Time goes from one moment at which something happens to the next. In each, what has arrived
at the server is heard, the server lives, what it says goes on its way, and then each client that
has something to do is driven like an adapter would: reads first, then its tick, then events, its
user, and bytes out. Nobody waits for anybody, and the same seed gives the same run.

Faults are verbs, to be called between two moments (`at` plans one): of a link (`cut`, `close`,
`hold`, `strand`, `travel`), of the way to the server (`refuse`), of a client's process (`jump`,
`starve`, `freeze`), of the server (`kill`, `lose`, `stop`, `lame_duck`, `start`, `cut_slow`; the
rest are verbs of the model itself).

What is on the line is told to ``tap``, as records that a trace is made of.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Final, final
from zlib import crc32

from jsproto.core.connection.events import Authenticate, Dial, HangUp, Upgrade
from jsproto.errors.tree import ConnectFailed, JsprotoError, TlsUnavailable
from jsproto.testing.chance import Chance
from jsproto.testing.network.cable import Cable
from jsproto.testing.network.host import Host
from jsproto.testing.network.pipe import End, Road, joined
from jsproto.testing.simserver import SimServer
from jsproto.testing.simserver.account.disk import Image
from jsproto.trace.formats.recording import Happened, Received, Record, Sent

#: So many moments without time passing are a machine that talks to itself.
_MOST_MOMENTS: Final = 2_000
#: So many rounds of events and bytes of one client at one moment are the same.
_MOST_ROUNDS: Final = 10_000
#: How long an operating system goes on asking where nobody answers (Linux, ``tcp_syn_retries`` 6).
_SYN_PATIENCE: Final = 127.0
#: What the server holds for a client that does not read; beyond it is cut (nats-server
#: ``max_pending``, which has 64 MiB).
_MAX_PENDING: Final = 4 * 1024 * 1024


class Restless(JsprotoError, AssertionError):
    """Somebody does not come to rest although no time passes."""


@final
class Network:
    """Clients and a server in virtual time.

    Args:
        server: the model.
        chance: source of all that is left to chance here.
        road: what links are like, unless a client is given another road.
        max_pending: bytes that the server holds for one client before it cuts it.
        tap: is told everything that is on the line, as the client sees it.

    Attributes:
        now: the time, in seconds.
        hosts: the clients.
        server: the model.
        road: what new links are like.
        moments: how many moments there were.
        digest: a checksum of all bytes that clients read and wrote, and when: equal runs have equal
            ones.
        tap: see above.
    """

    __slots__ = (
        "_agenda",
        "_cables",
        "_chance",
        "_deadline",
        "_max_pending",
        "_order",
        "_refused_until",
        "_served",
        "_standing",
        "_told",
        "_told_at",
        "digest",
        "hosts",
        "moments",
        "now",
        "road",
        "server",
        "tap",
    )

    def __init__(
        self,
        server: SimServer,
        chance: Chance,
        *,
        road: Road | None = None,
        max_pending: int = _MAX_PENDING,
        tap: Callable[[Record], object] | None = None,
    ) -> None:
        self.now = 0.0
        self.server = server
        self.road = Road() if road is None else road
        self.hosts: list[Host] = []
        self.moments = 0
        self.digest = 0
        self.tap = tap
        self._chance = chance
        self._max_pending = max_pending
        self._cables: dict[int, tuple[Cable, Host]] = {}
        self._agenda: list[tuple[float, int, Callable[[], object]]] = []
        self._order = 0
        self._refused_until = -math.inf
        self._standing = 0
        #: Something may have happened to the server, so its deadline has to be found out anew.
        self._served = True
        self._deadline = math.inf
        #: When something was on a line last, and whose: what goes into the digest in front of the
        #: bytes.
        self._told_at = math.nan
        self._told: Host | None = None

    # ------------------------------------------------------------------------------------------------ time

    def join(self, host: Host) -> Host:
        """One more client; it dials at once."""
        self.hosts.append(host)
        self._drive(host)
        return host

    def at(self, moment: float, do: Callable[[], object]) -> None:
        """Plan something; what is planned for the same moment is done in the order of planning."""
        self._order += 1
        heappush(self._agenda, (moment, self._order, do))

    def advance(self, seconds: float) -> None:
        """Let time pass.

        Raises:
            Restless: somebody does not come to rest.
        """
        self.until(self.now + seconds)

    def until(self, end: float) -> None:
        """Let time pass until ``end``.

        Raises:
            Restless: somebody does not come to rest.
        """
        self._unsettle()
        while (moment := self._next()) <= end:
            self._live(moment)
        self.now = max(self.now, end)

    def flush_conversation(self) -> None:
        """Somebody did something beside the network, with a machine or with the model: let it take
        its course.
        """
        self._unsettle()
        self._collect()
        for host in self.hosts:
            if self.now >= host.frozen_until:
                self._drive(host)

    @property
    def idle(self) -> bool:
        """Nothing is on its way, in no direction."""
        return not any(cable.up.size or cable.down.size for cable, _ in self._cables.values())

    def _next(self) -> float:
        """The next moment at which something happens."""
        if self._served:
            self._served = False
            deadline = self.server.next_deadline()
            self._deadline = math.inf if deadline is None else deadline
        moment = self._deadline
        if self._agenda and self._agenda[0][0] < moment:
            moment = self._agenda[0][0]
        for host in self.hosts:
            moment = min(moment, host.due())
        for cable, _ in self._cables.values():
            moment = min(moment, cable.up.due)
        return moment

    def _unsettle(self) -> None:
        """Whatever was known of what comes next may have changed."""
        self._served = True
        for host in self.hosts:
            host.stale = True

    def _live(self, moment: float) -> None:
        """All that happens at one moment."""
        if moment > self.now:
            self.now = moment
            self._standing = 0
        self._standing += 1
        self.moments += 1
        if self._standing > _MOST_MOMENTS:
            raise Restless(f"expected rest, got {_MOST_MOMENTS} moments at second {self.now:.6f}")
        now = self.now
        while self._agenda and self._agenda[0][0] <= now:
            heappop(self._agenda)[2]()
            self._unsettle()
        for cable, _ in list(self._cables.values()):
            if cable.up.due <= now:
                self._hear(cable)
        if self._deadline <= now:
            self.server.handle_tick(now)
            self._served = True
        if self._served:
            self._collect()
        for host in self.hosts:
            if host.due() <= now:
                self._drive(host)

    # ------------------------------------------------------------------------------------------------ the server's end

    def _hear(self, cable: Cable) -> None:
        """What has arrived at the server."""
        server, now = self.server, self.now
        self._served = True
        for each in joined(cable.up.arrived(now)):
            if isinstance(each, End):
                if cable.heard:
                    cable.heard = False
                    server.disconnect(cable.cid, now)
                cable.down.finish(each.error, now)
            elif cable.heard:
                server.receive_data(cable.cid, each, now)
            else:
                # Nobody is there any more: a reset goes back.
                cable.down.finish(
                    ConnectionResetError("the server knows nothing of this link"), now
                )
        if not cable.heard and not cable.held:
            self._cables.pop(cable.cid, None)

    def _collect(self) -> None:
        """What the server has said goes on its way."""
        server, now = self.server, self.now
        for cid, (cable, _) in list(self._cables.items()):
            if not cable.heard:
                continue
            data, closed = server.collect(cid)
            if data:
                cable.down.push(data, now)
                if cable.down.size > self._max_pending:
                    self._cut_slow(cable)
                    continue
            if closed:
                self._forgotten(cable)
                cable.down.finish(None, now)

    def _forgotten(self, cable: Cable) -> None:
        """The server's end is closed."""
        cable.heard = False
        self.server.disconnect(cable.cid, self.now)
        if not cable.held:
            self._cables.pop(cable.cid, None)

    # ------------------------------------------------------------------------------------------------ the clients' end

    def _drive(self, host: Host) -> None:
        """Do for one client what an adapter does."""
        now = self.now
        host.due()  # finds out its deadlines, unless they are known
        host.stale = True
        machine = host.machine
        local = now + host.shift
        deadline, wish = host.deadline, host.wish
        # No sum of floats shall keep either from being due.
        if deadline > local and deadline - host.shift <= now:
            local = deadline
        if wish > local and wish - host.shift <= now:
            local = wish
        cable = host.cable
        if host.dialled is not None and host.dialled <= now:
            self._dialled(host, local)
        elif cable is not None:
            for each in cable.down.arrived(now):
                if isinstance(each, End):
                    self._lost(host, cable, each.error, local)
                    break
                host.read += len(each)
                self._tell(Received, host, each)
                machine.receive_data(each, local)
                if host.cable is not cable:
                    break
        if deadline <= local and now >= host.starved_until:
            machine.handle_tick(local)
        self._apply_event(host, local)

    def _apply_event(self, host: Host, local: float) -> None:
        """Events, the user, and bytes, until nobody has anything to say."""
        machine, user = host.machine, host.user
        for _ in range(_MOST_ROUNDS):
            while (event := machine.next_event()) is not None:
                if isinstance(event, Dial):
                    host.dialled = self.now + 2 * self.road.latency
                    if max(host.held_until) > self.now and self._chance.often(0.5):
                        host.dialled = self.now + _SYN_PATIENCE
                elif isinstance(event, HangUp):
                    self._hang_up(host)
                elif isinstance(event, Upgrade):
                    self._hang_up(host)
                    machine.transport_down(TlsUnavailable("expected no wish for TLS here"), local)
                elif not isinstance(event, Authenticate):
                    user.happened(event, local)
            user.turn(local)
            out = machine.data_to_send()
            cable = host.cable
            if out and cable is not None:
                self._write(host, cable, out)
                machine.transport_unsent(cable.unsent, local)
            elif not out:
                return
        raise Restless(
            f"expected rest of {host.name}, got {_MOST_ROUNDS} rounds at second {self.now:.6f}"
        )

    def _dialled(self, host: Host, local: float) -> None:
        """An attempt to connect comes to its end, well or not."""
        now = self.now
        host.dialled = None
        cid = self.server.connect(now) if now >= self._refused_until else None
        if cid is not None and self.server.closed(cid):
            self.server.disconnect(cid, now)
            cid = None
        if cid is None:
            host.machine.transport_down(
                ConnectFailed("expected a server that answers, got none"), local
            )
            return
        cable = Cable(cid, self.road, self._chance.fork(f"{host.name} {cid}"))
        cable.hold(*host.held_until)
        self._cables[cid] = (cable, host)
        host.cable = cable
        self._happened("connected", host)
        host.machine.transport_up(local)
        self._collect()

    def _hang_up(self, host: Host) -> None:
        """The client wants its link no more; what it has said still goes out."""
        out = host.machine.data_to_send()
        cable = host.cable
        host.cable = None
        host.dialled = None
        if cable is not None:
            if out:
                self._write(host, cable, out)
            self._happened("client_closed", host)
            self._left(cable)

    def _write(self, host: Host, cable: Cable, data: bytes) -> None:
        """Bytes of a client go on their way."""
        host.written += len(data)
        self._tell(Sent, host, data)
        cable.up.push(data, self.now)

    def _lost(self, host: Host, cable: Cable, error: Exception | None, local: float) -> None:
        """The client sees the end of its link."""
        host.cable = None
        self._happened("eof", host)
        self._left(cable)
        host.machine.transport_down(error, local)

    def _left(self, cable: Cable) -> None:
        cable.held = False
        if cable.heard:
            cable.up.finish(None, self.now)
        else:
            self._cables.pop(cable.cid, None)

    def _tell(self, kind: type[Sent | Received], host: Host, data: bytes) -> None:
        if self._told_at != self.now or self._told is not host:
            self._told_at, self._told = self.now, host
            self.digest = crc32(b"%r %b" % (self.now, host.label), self.digest)
        self.digest = crc32(data, self.digest)
        if self.tap is not None:
            self.tap(kind(at=self.now, conn=host.name, data=data))

    def _happened(self, name: str, host: Host) -> None:
        if self.tap is not None:
            self.tap(Happened(at=self.now, name=name, conn=host.name, detail={}))

    # ------------------------------------------------------------------------------------------------ faults of links

    def cut(self, host: Host, *, error: Exception | None = None) -> None:
        """The link breaks, at any byte of what is in flight; with an ``error`` for a reset, without
        for an end of stream.
        """
        cable = host.cable
        if cable is not None:
            chance = self._chance
            cable.cut(
                chance.below(cable.up.size + 1), chance.below(cable.down.size + 1), error, self.now
            )

    def hold(self, host: Host, seconds: float, *, up: bool = True, down: bool = True) -> None:
        """Nothing comes through for so long, then all of it: a partition, of one way if it is said.

        A dial is not answered for a long time then, or, half the time, is taken by somebody on the
        way.
        """
        until = self.now + seconds
        before = host.held_until
        host.held_until = (
            max(before[0], until) if up else before[0],
            max(before[1], until) if down else before[1],
        )
        if host.cable is not None:
            host.cable.hold(*host.held_until)

    def strand(self, host: Host) -> None:
        """The server's end dies and nobody tells the client: half-open. It will hear if it writes."""
        cable = host.cable
        if cable is not None and cable.heard:
            cable.heard = False
            self.server.disconnect(cable.cid, self.now)

    def travel(self, road: Road) -> None:
        """All links are like that from now on, and new ones too."""
        self.road = road
        for cable, _ in self._cables.values():
            cable.travel(road)

    def refuse(self, seconds: float) -> None:
        """Nobody answers a dial for so long."""
        self._refused_until = max(self._refused_until, self.now + seconds)

    # ------------------------------------------------------------------------------------------------ faults of clients

    def jump(self, host: Host, seconds: float) -> None:
        """Its clock jumps, forwards or back."""
        host.shift += seconds

    def starve(self, host: Host, seconds: float) -> None:
        """Nobody ticks for so long; what comes is read."""
        host.starved_until = max(host.starved_until, self.now + seconds)

    def freeze(self, host: Host, seconds: float) -> None:
        """The process stands still for so long."""
        host.frozen_until = max(host.frozen_until, self.now + seconds)

    def heal(self) -> None:
        """What was held comes through, whoever stood still goes on, dials are answered."""
        self._refused_until = -math.inf
        for cable, _ in self._cables.values():
            cable.up.let_go()
            cable.down.let_go()
        for host in self.hosts:
            host.frozen_until = host.starved_until = -math.inf
            host.held_until = (-math.inf, -math.inf)

    # ------------------------------------------------------------------------------------------------ faults of the server

    def kill(self) -> None:
        """SIGKILL: what was in flight is lost at some byte."""
        self._collect()
        self.server.kill(self.now)
        self._all_cut()

    def lose(self, image: Image) -> None:
        """The same, and the disk is as it was when the image was taken."""
        self._collect()
        self.server.lose(image, self.now)
        self._all_cut()

    def cut_slow(self, host: Host) -> None:
        """The server gives up on a client that does not read: it closes the link within a frame and
        says nothing.
        """
        if host.cable is not None and host.cable.heard:
            self._cut_slow(host.cable)

    def _cut_slow(self, cable: Cable) -> None:
        # Seen on all versions: no -ERR, the stream ends inside a frame (trace core_slow_consumer).
        self._cut_off(cable, None)

    def _all_cut(self) -> None:
        for cable, _ in list(self._cables.values()):
            if cable.heard:
                reset = self._chance.often(0.5)
                self._cut_off(
                    cable, ConnectionResetError("connection reset by peer") if reset else None
                )

    def _cut_off(self, cable: Cable, error: Exception | None) -> None:
        """The server's end closes, at any byte of what is in flight."""
        self._forgotten(cable)
        cable.down.cut(self._chance.below(cable.down.size + 1), error, self.now)
