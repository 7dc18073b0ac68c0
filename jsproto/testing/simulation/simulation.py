"""A simulation: a world drawn from a seed, lived through, and judged.

Theory. The model server holds one stream; clients of ours work on it, each over a link of its own;
messages come from the side and through windows. In storms faults happen; in the calm behind each of
them everything heals, publishing ends after a while, and when the calm is over every rule of the
oracle must hold. In the end all clients are closed or drained and must leave nothing behind. One
seed is one run, byte for byte.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final, final

from attrs import frozen

from jsproto.core.connection.connection import Connection
from jsproto.core.connection.options import Options
from jsproto.core.conversation.conversation import StopMode
from jsproto.testing.chance import Chance
from jsproto.testing.network import Host, Network, Road
from jsproto.testing.simserver import SimServer
from jsproto.testing.simserver.values.documents import Table
from jsproto.testing.simserver.values.gotime import to_nanos
from jsproto.testing.simulation.asking import Asks
from jsproto.testing.simulation.catching import Catches
from jsproto.testing.simulation.fetching import Fetches
from jsproto.testing.simulation.headers import STRANGE
from jsproto.testing.simulation.hearing import Hears
from jsproto.testing.simulation.inquiring import Gets, Lists
from jsproto.testing.simulation.oracle import DeliveryRecord, RuleBroken, Truth
from jsproto.testing.simulation.ordering import Orders
from jsproto.testing.simulation.publishing import Publishes
from jsproto.testing.simulation.reading import Consumes, Shares, Steady
from jsproto.testing.simulation.scenario import CALM, QUIET, READERS, Scenario, Work, drawn
from jsproto.testing.simulation.trouble import Trouble
from jsproto.testing.simulation.worker import Household, Worker
from jsproto.trace.formats.recording import Record

_STREAM: Final = "S"
#: Messages leave the stream after so many seconds: longer than a storm and its calm.
_MAX_AGE: Final = 1200.0
#: No message is larger, where that matters.
_LARGEST: Final = 2_000
#: Seconds between two looks at the consumers that readers make for themselves; how many each may
#: leave behind, and how many it may make within two looks.
_WATCHED: Final = 10.0
_MOST_LEFT: Final = 6
_MOST_MADE: Final = 15
#: In the last seconds of a calm nothing new is begun.
_HUSH: Final = 30.0
#: After a calm has ended, the network may take so long to come to rest.
_REST: Final = 10.0
#: What a client may say, in bytes: for each message or operation, each second and worker, each
#: fault, and at all.
_PER_MESSAGE: Final = 500
_PER_SECOND: Final = 600
_PER_FAULT: Final = 4_000
_AT_ALL: Final = 50_000
#: After the end of a client its link may live so long.
_END: Final = 60.0


@final
@frozen(kw_only=True)
class SimulationReport:
    """How a simulation went.

    Attributes:
        seed: where it came from.
        seconds: how much virtual time it lived through.
        hosts: clients; ``readers``: workers that read.
        handed: messages that were handed out to them.
        stored: messages that the stream has taken.
        faults: how many were done.
        digest: a checksum of everything on all lines, in time.
        failure: the rule that was broken, ``None`` if none was.
    """

    seed: int
    seconds: float
    hosts: int
    readers: int
    handed: int
    stored: int
    faults: int
    digest: int
    failure: Exception | None


@final
class Simulation:
    """One simulated world.

    Args:
        seed: where everything comes from.
        hours: how long, in virtual time.
        scenario: lives through this instead of what would be drawn from the seed.
        tap: is told everything that is on the lines.

    Attributes:
        scenario: what happens.
        network: clients, links, server.
        households: the users, by client.
        trouble: does the faults.
        truth: what the model knows.
        consumers: the configurations that the stream's consumers shall have.
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        hours: float = 0.2,
        scenario: Scenario | None = None,
        tap: Callable[[Record], object] | None = None,
    ) -> None:
        self.scenario = drawn(seed, hours) if scenario is None else scenario
        self.stream_name = _STREAM
        self.consumers: dict[str, Table] = {}
        self.households: list[Household] = []
        self.away: set[str] = set()
        self.calm = True
        self._chance = Chance(self.scenario.seed)
        server = SimServer(version=self.scenario.version, seed=self.scenario.seed)
        self.network = Network(
            server, self._chance.fork("network"), road=Road(jitter=0.0005), tap=tap
        )
        self.truth = Truth(server, _STREAM)
        self.trouble = Trouble(self)
        self._books: dict[str, DeliveryRecord] = {}
        self._workers: list[Worker] = []  # all of them, those of clients that are closed too
        self._calm_since = 0.0
        self._judged_at = 0.0
        self._said: list[int] = []
        self._worked = 0
        self._faults = 0
        self._published = 0
        self._source = self._chance.fork("source")
        self._configure_messages = self._chance.fork("dress")
        self._payload = b"." * self.scenario.size
        self._build()

    def run(self) -> SimulationReport:
        """Live through all of it, or until a rule is broken."""
        failure: Exception | None = None
        try:
            for begin, end in self.scenario.storms:
                self.network.until(begin)
                self._request_burst()
                self.network.until(end)
                self._heal()
                self.network.until(end + CALM - QUIET)
                vain = [None if worker.replays() else worker.vain for worker in self._workers]
                self.network.until(end + CALM)
                self._judge(vain)
            self._end()
        except Exception as error:  # noqa: BLE001 - an input that raises is a failure like any other
            failure = error
        scenario = self.scenario
        return SimulationReport(
            seed=scenario.seed,
            seconds=self.network.now,
            hosts=len(self.network.hosts),
            readers=sum(each.kind in READERS for each in scenario.works),
            handed=sum(worker.handed for worker in self._workers),
            stored=self._published,
            faults=self.trouble.counts.total(),
            digest=self.network.digest,
            failure=failure,
        )

    # ------------------------------------------------------------------ what workers and trouble see

    @property
    def now(self) -> float:
        """The time of the network, which no clock of a client knows."""
        return self.network.now

    @property
    def quiet(self) -> bool:
        """It has been calm for so long that nothing of a storm is left."""
        return self.calm and self.network.now >= self._calm_since + CALM - QUIET

    @property
    def hushed(self) -> bool:
        """The calm is nearly over, and nobody shall begin anything new."""
        return self.calm and self.network.now >= self._calm_since + CALM - _HUSH

    def troubled(self, *kinds: str) -> bool:
        """Whether one of these faults has happened since the last calm."""
        return not self.trouble.recent.isdisjoint(kinds)

    def starving(self, worker: Worker) -> bool:
        """Whether nobody ticks at present where it lives."""
        return any(each.starving for each in self.households if worker in each.workers)

    def books(self, consumer: str) -> DeliveryRecord:
        """What a consumer has handed out."""
        return self._books[consumer]

    def provide(self, consumer: str, config: Table) -> None:
        """The stream shall have this consumer, whenever it is made anew."""
        self.consumers[consumer] = config
        self._books[consumer] = DeliveryRecord(consumer)

    def furnish(self) -> None:
        """Make the stream and the consumers that are missing, if the server answers."""
        server, now = self.network.server, self.network.now
        if not server.up or not server.jetstream.serving:
            return
        if self.truth.stream is None:
            config: Table = {
                "name": _STREAM,
                "subjects": ["s.*"],
                "retention": self.scenario.retention,
                "max_age": round(_MAX_AGE * 1e9),
                "allow_direct": True,
            }
            if any(each.kind == "read" for each in self.scenario.works):
                config["max_msg_size"] = (
                    _LARGEST  # how much a consumer with a rate may push at once
                )
            self._ask(f"STREAM.CREATE.{_STREAM}", config, now)
        for name, wished in self.consumers.items():
            if self.truth.consumer(name) is None and name not in self.away:
                body: Table = {"stream_name": _STREAM, "config": wished}
                self._ask(f"CONSUMER.DURABLE.CREATE.{_STREAM}.{name}", body, now)

    def bereave(self) -> None:
        """The stream, or a consumer, is not what it was."""
        for books in self._books.values():
            books.forget()
        for household in self.households:
            for worker in household.workers:
                worker.bereft()

    def taken_away(self, consumer: str) -> None:
        """A consumer that pushes is gone, and nobody tells its listener."""
        self.away.add(consumer)
        self._books[consumer].forget()
        for worker in self._workers:
            if isinstance(worker, Hears) and worker.name == consumer:
                worker.robbed()

    def given_back(self) -> None:
        """Those consumers have been away for long enough in a calm: everybody must have noticed."""
        away, self.away = self.away, set()
        for worker in self._workers:
            if (
                isinstance(worker, Hears)
                and worker.name in away
                and self.truth.consumer(worker.name) is None
            ):
                worker.noticed()
        self.furnish()
        self.bereave()

    def forgotten(self, *, whole: bool) -> None:
        """The disk has lost something: of the consumers, or of everything."""
        if whole:
            self.truth.forget()
            self.bereave()
        for books in self._books.values():
            books.forget()

    # ------------------------------------------------------------------ its life

    def _ask(self, subject: str, body: Table, now: float) -> None:
        answer = self.network.server.request(subject, body, now)
        if "error" in answer:
            raise RuleBroken("progress", f"the server refuses {subject}: {answer['error']}")

    def _build(self) -> None:
        scenario = self.scenario
        hosts = 1 + max((each.host for each in scenario.works), default=0)
        connections = [self._connection(at) for at in range(hosts)]
        self.households = [Household(each) for each in connections]
        for work in scenario.works:
            worker = self._worker(work, connections[work.host])
            self._workers.append(worker)
            self.households[work.host].workers.append(worker)
        self.furnish()
        for at, connection in enumerate(connections):
            self.network.join(Host(f"H{at}", connection, self.households[at]))
        self._said = [0] * hosts
        for fault in scenario.faults:
            self.trouble.plan(fault)
        self.network.at(0.0, self._publish)
        if any(isinstance(worker, (Orders, Catches)) for worker in self._workers):
            self.network.at(_WATCHED, self._watch_consumers)

    def _connection(self, at: int) -> Connection:
        chance = self._chance.fork(f"client {at}")
        options = Options(
            servers="nats://sim",
            connect_sweeps=None,
            ping_interval=chance.choice((5.0, 15.0)),
            max_pings_out=chance.choice((1, 2)),
            max_backlog=chance.choice((1_000, 8_000_000)),
        )
        return Connection(options, entropy=chance.entropy, now=0.0)

    def _worker(self, work: Work, connection: Connection) -> Worker:
        name, chance = work.name, self._chance.fork(work.name)
        match work.kind:
            case "consume":
                return Consumes(name, connection, self, chance)
            case "steady":
                return Steady(name, connection, self, chance)
            case "push":
                return Hears(name, connection, self, chance)
            case "fetch":
                return Fetches(name, connection, self, chance)
            case "next":
                return Fetches(name, connection, self, chance, single=True)
            case "window":
                return Publishes(name, connection, self, chance)
            case "ordered":
                return Orders(name, connection, self, chance)
            case "read":
                return Catches(name, connection, self, chance)
            case "group":
                return Shares(name, connection, self, chance)
            case "get":
                return Gets(name, connection, self, chance)
            case "list":
                return Lists(name, connection, self, chance)
            case _:
                return Asks(name, connection, self, chance)

    def _publish(self) -> None:
        """Messages from the side, until the calm is quiet."""
        network, scenario = self.network, self.scenario
        if not self.quiet:
            self.publish("s.side", scenario.burst)
        pause = scenario.burst / scenario.rate
        network.at(network.now + self._source.between(0.5 * pause, 1.5 * pause), self._publish)

    def publish(self, subject: str, count: int) -> None:
        """So many messages from the side; some bear headers under names that are the server's own."""
        network = self.network
        first = self._published + 1
        self._published += count
        payloads = [
            b"%d%b" % (number, self._payload) for number in range(first, self._published + 1)
        ]
        block = (
            self._configure_messages.choice(STRANGE)
            if self._configure_messages.often(self.scenario.dressed)
            else None
        )
        network.server.publish_run(subject, payloads, network.now, block=block)

    def _watch_consumers(self) -> None:
        """How many consumers readers make for themselves, and leave behind, is bounded at all
        times.
        """
        network, jetstream = self.network, self.network.server.jetstream
        since = to_nanos(network.now - 2 * _WATCHED)
        made = Counter(name.partition("-")[0] for at, name in jetstream.made if at >= since)
        left = Counter(
            name.partition("-")[0]
            for name in jetstream.consumers.get(_STREAM, ())
            if name not in self.consumers
        )
        for worker in self._workers:
            name = worker.name
            if left[name] > _MOST_LEFT:
                raise RuleBroken(
                    "consumers",
                    f"{name} has left {left[name]} consumers on the stream: {worker.shown()}",
                )
            if isinstance(worker, Orders) and made[name] > _MOST_MADE:
                raise RuleBroken(
                    "consumers",
                    f"{name} has made {made[name]} consumers within {2 * _WATCHED:.0f} s: {worker.shown()}",
                )
        network.at(network.now + _WATCHED, self._watch_consumers)

    def _request_burst(self) -> None:
        self.calm = False

    def _heal(self) -> None:
        self.trouble.heal()
        self.calm = True
        self._calm_since = self.network.now
        for household in self.households:
            for worker in household.workers:
                worker.woken = True

    def _judge(self, vain: list[int | None]) -> None:
        """The calm is over; so often everybody had waited in vain when it became quiet, but for
        those whose consumer replayed then.
        """
        network = self.network
        end = network.now + _REST
        while not network.idle and network.now < end:
            network.advance(0.05)
        if not network.idle:
            raise RuleBroken("rest", f"somebody still talks {_REST} s after a calm")
        fresh = self.truth.fresh()
        for worker, before in zip(self._workers, vain, strict=True):
            if before is not None and worker.vain != before:
                raise RuleBroken(
                    "silence",
                    f"{worker.name} has waited in vain {worker.vain - before} times while it was quiet: {worker.shown()}",
                )
        for household in self.households:
            for worker in household.workers:
                worker.judge()
        for name, books in self._books.items():
            consumer = self.truth.consumer(name)
            paced = consumer is not None and consumer.paced
            if books.owed:
                stream = self.truth.stream
                kept: set[bytes] = (
                    set() if stream is None else {each.payload for each in stream.after(0)}
                )
                books.owed = [each for each in books.owed if each in kept]
            books.settled(fresh, self.truth.mistaken(name), paced=paced)
        self._judge_frames()
        self.trouble.recent.clear()
        self._judged_at = network.now

    def _judge_frames(self) -> None:
        """What clients have said is bounded, and so is what they hold."""
        network = self.network
        seconds = network.now - self._judged_at
        worked = sum(worker.handed + worker.operations for worker in self._workers)
        faults = self.trouble.counts.total()
        workers = sum(len(each.workers) for each in self.households)
        bound = (
            _PER_MESSAGE * (worked - self._worked)
            + _PER_SECOND * seconds * workers
            + _PER_FAULT * (faults - self._faults)
            + _AT_ALL
        )
        for at, (host, household) in enumerate(zip(network.hosts, self.households, strict=True)):
            said = host.written - self._said[at]
            if said > bound:
                raise RuleBroken(
                    "frames",
                    f"{host.name} has said {said} bytes in {seconds:.0f} s, {bound:.0f} are due",
                )
            self._said[at] = host.written
            connection = household.connection
            open_ones = sum(len(worker.left()) for worker in household.workers)
            if connection.conversations > open_ones:
                raise RuleBroken(
                    "memory",
                    f"{host.name} keeps {connection.conversations} conversations, {open_ones} are open",
                )
            subs = 0 if host.cable is None else network.server.subscriptions(host.cable.cid)
            if (
                subs > open_ones + len(household.workers) + 1
            ):  # each worker may keep a clean inbox, and one is for requests
                raise RuleBroken(
                    "memory", f"{host.name} has {subs} subscriptions for {open_ones} conversations"
                )
        self._worked, self._faults = worked, faults

    def _end(self) -> None:
        """Close every client, one way or the other; nothing may be left."""
        network = self.network
        for host, household in zip(network.hosts, self.households, strict=True):
            connection = household.connection
            household.workers.clear()
            local = network.now + host.shift
            if self._chance.often(0.5):
                connection.tell(None, StopMode.DRAIN, local)
            else:
                connection.close(None, local)
        network.flush_conversation()
        network.advance(_END)
        for host, household in zip(network.hosts, self.households, strict=True):
            connection = household.connection
            left = (
                connection.closed,
                connection.next_deadline(),
                connection.conversations,
                connection.data_to_send(),
            )
            if left != (True, None, 0, b""):
                raise RuleBroken(
                    "residue",
                    f"{host.name} is closed, has a deadline, conversations, bytes: {left}",
                )
        if network.server.connections:
            raise RuleBroken("residue", f"the server still knows {network.server.connections}")
