"""What live tests of pull consumers share: servers of four versions, a tapped line, a clock that
ends waiting, and books.

Nothing sleeps. Whoever waits, waits in a verb of the client (which reads the line meanwhile) inside
``with within(seconds)``, which ends the wait with an error when the time is up.

One server of each version serves all tests, each with a stream of its own; a test that kills it
starts it again, and the next test finds it running. The cluster is three servers with routes
between them.
"""

from __future__ import annotations

import contextlib
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from time import monotonic

import pytest

from jsproto.core.connection.auth import Auth
from jsproto.core.connection.events import Notice
from jsproto.core.conversation.procedure import Procedure, Sleep, Steps
from jsproto.driver import Told
from jsproto.errors import ApiError, JsprotoError, LinkError, NoResponders, RequestTimeout
from jsproto.jetstream.delivery.ack import AckSubject
from jsproto.signals import ENDED, NEED_DATA
from jsproto_io._testing.nats_server import NatsServer
from jsproto_io.blocking import (
    Client,
    Feed,
    SyncConsumer,
    SyncJetStream,
    SyncMessage,
    SyncStream,
    connect,
)
from tests.live.proxy import Tap
from tests.ports import free_ports

VERSIONS = ("2.9.10", "2.11.11", "2.14.0", "2.15.1")
LAME_DUCK = 'lame_duck_duration: "30s"\nlame_duck_grace_period: "1s"\n'
#: Reconnecting is quick, so that tests are; the pace of pulls stays what it is by default.
QUICK = {
    "reconnect_wait": 0.05,
    "reconnect_wait_max": 0.2,
    "reconnect_jitter": 0.0,
    "ignore_gossip": True,
}
#: What a store that is just being found again may answer to a publish; then the same message is
#: sent again.
NOT_YET = (NoResponders, RequestTimeout, LinkError, ApiError)
#: "no suitable peers for placement": a server that was just started again is not known to all yet.
PEER_OFFLINE = 10005

_NAMES = count(1)


# ------------------------------------------------------------------------------------------------ time


@contextlib.contextmanager
def _within(seconds: float) -> Iterator[None]:
    def over(number: int, frame: object) -> None:
        raise TimeoutError(f"expected it within {seconds} s")

    before = signal.signal(signal.SIGALRM, over)
    begun = monotonic()
    outer, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if outer:  # whoever waits around this goes on with what is left of his time
            signal.setitimer(signal.ITIMER_REAL, max(0.001, outer - (monotonic() - begun)))


def turn(nc: Client, seconds: float = 0.02) -> None:
    """Let a client read its line for a moment: between two looks at a condition."""

    def steps() -> Steps[None]:
        yield Sleep(seconds)

    nc.run(Procedure(steps))


@pytest.fixture
def until():
    """``until(condition, *clients)`` lets these clients read until the condition answers something
    true.
    """

    def wait(condition: Callable[[], object], *clients: Client, seconds: float = 10.0) -> object:
        with _within(seconds):
            while not (seen := condition()):
                for nc in clients:
                    turn(nc)
        return seen

    return wait


@pytest.fixture
def within():
    """``with within(5.0): ...`` ends what is waited for inside with `TimeoutError`."""
    return _within


# ------------------------------------------------------------------------------------------------ servers


def _least(server: NatsServer, *version: int) -> bool:
    return tuple(int(part) for part in server.version.split(".")[: len(version)]) >= version


@pytest.fixture(scope="session", params=VERSIONS)
def one_server(request, server_binary_of):
    with NatsServer(server_binary_of(request.param), config=LAME_DUCK) as server:
        yield server


@pytest.fixture
def server(one_server):
    """A server that runs; the test may end it."""
    if one_server.pid is None:
        one_server.start()
    return one_server


@pytest.fixture
def since(server):
    """``since(2, 11)``: whether the server is of that version or later."""
    return lambda *version: _least(server, *version)


@pytest.fixture
def tap(server):
    """A line to the server that counts pulls."""
    line = Tap(server.port)
    yield line
    line.close()


@pytest.fixture
def nc(tap, server):
    """A client behind the tap."""
    with _within(10.0):
        client = connect(tap.url, **QUICK).__enter__()
    yield client
    client.close()


@pytest.fixture
def other(server):
    """A second client, on a line of its own."""
    with _within(10.0):
        client = connect(server.url, **QUICK).__enter__()
    yield client
    client.close()


# ------------------------------------------------------------------------------------------------ a stream and its books


class Work:
    """A stream with one pull consumer, and how messages get into it."""

    def __init__(
        self, nc: Client, *, stream: dict[str, object] | None = None, **consumer: object
    ) -> None:
        number = next(_NAMES)
        self.nc = nc
        self.js: SyncJetStream = nc.jetstream(timeout=2.0)
        self.name = f"S{number}"
        self.subject = f"s{number}.a"
        config = {"storage": "memory", **(stream or {})}
        self.stream: SyncStream = self._retried(
            lambda: self.js.create_stream(name=self.name, subjects=[self.subject], **config)
        )
        self.consumer: SyncConsumer = self._retried(
            lambda: self.stream.create_consumer(durable_name="C", **consumer)
        )
        self.stored = 0

    def _retried(self, making, seconds: float = 30.0):
        """A cluster that has just found together may refuse for a moment."""
        with _within(seconds):
            while True:
                try:
                    return making()
                except NOT_YET as error:
                    if (
                        isinstance(error, ApiError)
                        and error.code < 500
                        and error.err_code != PEER_OFFLINE
                    ):
                        raise
                    turn(self.nc)

    def through(self, nc: Client) -> Work:
        """The same, got by another client."""
        work = Work.__new__(Work)
        work.nc, work.js, work.name, work.subject = (
            nc,
            nc.jetstream(timeout=2.0),
            self.name,
            self.subject,
        )
        work.stream = work.js.stream(self.name)
        work.consumer = work.stream.consumer("C")
        work.stored = self.stored
        return work

    def publish(self, amount: int, payload: bytes = b"x", seconds: float = 30.0) -> None:
        """Store so many messages, whatever it takes: each is sent again, with its id, until the
        server says it has it.
        """
        with _within(seconds):
            for _ in range(amount):
                self.stored += 1
                while True:
                    try:
                        self.js.publish(self.subject, payload, msg_id=str(self.stored))
                        break
                    except NOT_YET:
                        turn(self.nc)

    def left(self) -> tuple[int, int]:
        """What the server has still to deliver, and to see acknowledged."""
        try:
            info = self.consumer.info(timeout=1.0)
        except NOT_YET:
            return -1, -1
        return info.num_pending, info.num_ack_pending


class Books:
    """Every delivery that was seen, by the server's own numbers, and what was heard beside."""

    def __init__(self, nc: Client, work: Work) -> None:
        self.nc = nc
        self.work = work
        self.deliveries: list[AckSubject] = []
        #: Deliveries of servers that lost their memory since; a killed server may count some of
        #: them again.
        self.before: list[AckSubject] = []
        self.events = nc.events()
        self.heard: list[Told] = []

    # ------------------------------------------------------------------ messages

    def note(self, message: SyncMessage) -> SyncMessage:
        self.deliveries.append(message.metadata)
        return message

    def take(
        self, feed: Feed[SyncMessage], amount: int, seconds: float = 10.0, *, ack: bool = True
    ) -> list[SyncMessage]:
        """The next messages of a feed, acknowledged."""
        with _within(seconds):
            taken = [self.note(next(feed)) for _ in range(amount)]
        if ack:
            for message in taken:
                message.ack()
        return taken

    def settle(self, feed: Feed[SyncMessage], seconds: float = 15.0) -> None:
        """Take and acknowledge until all has come, and the server has nothing to deliver and waits
        for no ack.

        A consumer whose leader is new can say that nothing is pending before it has seen what is
        stored.
        """
        with _within(seconds):
            while self.missing or self.work.left() != (0, 0):
                while feed.feed.readable:
                    self.note(next(feed)).ack()
                turn(self.nc)

    @property
    def missing(self) -> set[int]:
        """What was stored and has not come."""
        seen = {each.stream_sequence for each in self.before + self.deliveries}
        return set(range(1, self.work.stored + 1)) - seen

    def forget(self) -> None:
        """The server was killed: it counts on from what it had written down."""
        self.before += self.deliveries
        self.deliveries = []

    def check(self) -> None:
        """Nothing is lost, and nothing came twice unless the server says that it was sent twice."""
        assert self.missing == set()
        twice = Counter((each.stream_sequence, each.num_delivered) for each in self.deliveries)
        assert [each for each, times in twice.items() if times > 1] == []
        again = Counter(each.consumer_sequence for each in self.deliveries)
        assert [each for each, times in again.items() if times > 1] == []
        last = max(each.consumer_sequence for each in self.deliveries)
        assert self.work.consumer.info().delivered.consumer_seq >= last

    @property
    def redelivered(self) -> int:
        """How many deliveries say of themselves that they are not the first."""
        return sum(each.num_delivered > 1 for each in self.deliveries)

    # ------------------------------------------------------------------ notices

    def listen(self) -> list[Told]:
        """What was heard so far."""
        while True:
            told = self.events._listener.take()
            if told is NEED_DATA or told is ENDED:
                return self.heard
            self.heard.append(told)

    @property
    def notices(self) -> list[object]:
        """The kinds of the notices so far, in order."""
        return [told.kind for told in self.listen() if isinstance(told, Notice)]

    def until(self, wanted: object, seconds: float = 10.0, *, fresh: bool = False) -> Told:
        """Wait for a notice of a kind, or an event of a class; ``fresh`` ones only if that is said."""
        if not fresh:
            for told in self.listen():
                if self._is(told, wanted):
                    return told
        self.listen()
        with _within(seconds):
            for told in self.events:
                self.heard.append(told)
                if self._is(told, wanted):
                    return told
        raise AssertionError(f"expected {wanted}, the connection is over")

    def _is(self, told: Told, wanted: object) -> bool:
        if isinstance(wanted, type):
            return isinstance(told, wanted)
        return isinstance(told, Notice) and told.kind is wanted


@pytest.fixture
def stored():
    """``stored(client, stream={...}, ack_wait=...)``: a stream of its own with the consumer ``C``;
    gone with the test.
    """
    made: list[Work] = []

    def make(client: Client, **settings: object) -> Work:
        made.append(Work(client, **settings))
        return made[-1]

    yield make
    for each in made:
        if not each.nc.closed:
            with contextlib.suppress(JsprotoError), _within(5.0):
                each.stream.delete(timeout=2.0)


@pytest.fixture
def work(nc, stored):
    """The same through the client ``nc``."""
    return lambda **settings: stored(nc, **settings)


@pytest.fixture
def books():
    """``books(work)``: what came, and what was heard, from now on."""

    def keep(work: Work) -> Books:
        return Books(work.nc, work)

    return keep


@pytest.fixture
def calm():
    """``calm(tap, since)``: whoever asked in vain did not ask in a loop."""

    def judge(lines: Tap | Iterable[Tap], moment: float, most: int = 8) -> None:
        for line in [lines] if isinstance(lines, Tap) else lines:
            assert line.busiest(moment, monotonic()) <= most

    return judge


# ------------------------------------------------------------------------------------------------ three servers


class Cluster:
    """Three servers on loopback, each behind a tap. ``config`` is for each; where it has accounts,
    ``user`` is one of them.
    """

    def __init__(
        self,
        binary_of: Callable[[str], object],
        version: str,
        config: str = "",
        user: Auth | None = None,
    ) -> None:
        self.user = user
        ports = free_ports(3)
        routes = ", ".join(f'"nats://127.0.0.1:{port}"' for port in ports)
        self.nodes = {
            f"n{number}": NatsServer(
                binary_of(version),
                config=(
                    f"server_name: n{number}\n{LAME_DUCK}{config}"
                    f"cluster {{ name: C1, listen: 127.0.0.1:{port}, routes: [{routes}] }}\n"
                ),
            )
            for number, port in enumerate(ports, 1)
        }
        self.taps: dict[str, Tap] = {}

    def start(self) -> None:
        for node in self.nodes.values():
            node.start()
        self.taps = {name: Tap(node.port) for name, node in self.nodes.items()}
        self.ready()

    def ready(self) -> None:
        """All nodes run, and JetStream has a leader that answers through each of them."""
        for node in self.nodes.values():
            if node.pid is None:
                node.start()
        for name in self.nodes:
            with self.client(name) as nc, _within(60.0):
                js = nc.jetstream(timeout=1.0)
                while True:
                    try:
                        js.account_info()
                        break
                    except NOT_YET:
                        turn(nc)

    def client(self, *names: str) -> Client:
        """A client that knows only these nodes, in this order."""
        urls = [self.taps[name].url for name in names or self.taps]
        return connect(urls, auth=self.user, randomize=False, connect_sweeps=None, **QUICK)

    def close(self) -> None:
        for tap in self.taps.values():
            tap.close()
        for node in self.nodes.values():
            node.kill()
            node.close()


@pytest.fixture(scope="session", params=VERSIONS)
def one_cluster(request, server_binary_of):
    cluster = Cluster(server_binary_of, request.param)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()


@pytest.fixture
def cluster(one_cluster):
    """Three servers that run, and agree on a leader."""
    one_cluster.ready()
    return one_cluster


@pytest.fixture
def joined(cluster):
    """``joined("n1", "n2")``: a client that knows these nodes, connected to the first; all of them
    if none is named.
    """
    clients: list[Client] = []

    def join(*names: str) -> Client:
        with _within(10.0):
            clients.append(cluster.client(*names).__enter__())
        return clients[-1]

    yield join
    for client in clients:
        client.close()
