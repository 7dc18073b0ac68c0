"""A client of ours in the network: what each fault does to it, got from outside."""

from __future__ import annotations

import math

import pytest

from jsproto.core.connection.connection import Connection
from jsproto.core.connection.events import (
    Authenticate,
    Connected,
    Dial,
    Disconnected,
    Event,
    Upgrade,
)
from jsproto.core.connection.options import Options, Tls
from jsproto.jetstream.publish.window import PublishWindow
from jsproto.testing import Chance, Host, Network, Road, SimServer
from jsproto.testing.network import Restless
from jsproto.trace.formats.recording import Happened, Received, Sent


class Listens:
    """A user who only listens."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.events: list[Event] = []
        self.turned: list[float] = []
        self.wants: float | None = None

    def happened(self, event: Event, now: float) -> None:
        self.events.append(event)

    def turn(self, now: float) -> None:
        self.turned.append(now)
        if self.wants is not None and now >= self.wants:
            self.wants = None

    def due(self) -> float | None:
        return self.wants

    @property
    def names(self) -> list[str]:
        return [
            type(each).__name__
            for each in self.events
            if isinstance(each, (Connected, Disconnected))
        ]


class World:
    def __init__(self, road: Road | None = None, **options: object) -> None:
        self.records: list[object] = []
        self.server = SimServer()
        self.network = Network(self.server, Chance(5), road=road, tap=self.records.append)
        connection = Connection(
            Options(servers="nats://sim", connect_sweeps=None, **options),
            entropy=Chance(6).entropy,
            now=0.0,
        )
        self.user = Listens(connection)
        self.connection = connection
        self.host = self.network.join(Host("H", connection, self.user))

    def up(self) -> World:
        self.network.advance(1.0)
        assert self.connection.connected
        return self


def test_a_client_connects_and_everything_on_the_line_is_told():
    world = World().up()

    assert world.user.names == ["Connected"]
    assert [each.name for each in world.records if isinstance(each, Happened)] == ["connected"]
    heard = b"".join(each.data for each in world.records if isinstance(each, Received))
    said = b"".join(each.data for each in world.records if isinstance(each, Sent))
    assert (heard[:5], said[:8]) == (b"INFO ", b"CONNECT ")
    assert (world.host.read, world.host.written) == (len(heard), len(said))


def test_the_same_seed_is_the_same_run_byte_for_byte():
    def digest(seed: int) -> int:
        world = World(Road(latency=0.01, jitter=0.05, longest=seed))
        world.network.advance(60.0)
        return world.network.digest

    assert digest(9) == digest(9) != digest(8)


@pytest.mark.parametrize("longest", [0, 1, 3])
def test_it_makes_no_difference_how_reads_are_cut(longest):
    assert World(Road(longest=longest)).up().connection.info == World().up().connection.info


@pytest.mark.parametrize("error", [None, ConnectionResetError("reset")])
def test_a_cut_link_is_lost_and_found_again(error):
    world = World().up()
    world.network.cut(world.host, error=error)
    world.network.advance(5.0)

    assert world.user.names == ["Connected", "Disconnected", "Connected"]
    assert len(world.server.connections) == 1


def test_nothing_comes_through_a_partition_and_the_client_gives_up():
    world = World(ping_interval=1.0, max_pings_out=1).up()
    world.network.hold(world.host, 100.0)
    world.network.advance(5.0)

    assert world.user.names[1] == "Disconnected"
    assert not world.connection.connected
    assert world.server.connections  # of the first nobody has told the server
    world.network.heal()
    world.network.advance(5.0)
    assert len(world.server.connections) == 1


@pytest.mark.parametrize(("up", "down"), [(True, False), (False, True)])
def test_a_partition_of_one_way_holds_that_way_only(up, down):
    world = World(ping_interval=1.0, max_pings_out=5).up()
    world.network.hold(world.host, 3.0, up=up, down=down)
    before = world.host.read
    world.network.advance(2.9)

    cable = world.host.cable
    assert cable is not None
    assert (cable.up.size > 0, cable.down.size > 0) == (up, down)
    assert (world.host.read > before) is up  # the PING of the server
    world.network.advance(1.0)
    assert (world.host.read > before, world.connection.connected) == (True, True)


def test_half_open_the_client_hears_of_it_when_it_writes():
    world = World(ping_interval=10.0).up()
    world.network.strand(world.host)
    world.network.strand(world.host)
    assert world.server.connections == ()
    world.network.advance(5.0)
    assert world.connection.connected
    world.network.advance(10.0)

    assert world.user.names == ["Connected", "Disconnected", "Connected"]


def test_nobody_answers_a_dial_for_a_while():
    world = World()
    world.network.refuse(3.0)
    world.network.advance(2.5)
    assert not world.connection.connected
    world.network.advance(6.0)

    assert world.connection.connected


def test_a_killed_server_comes_back():
    world = World().up()
    world.network.kill()
    world.network.advance(1.0)
    assert not world.connection.connected
    world.server.start(world.network.now)
    world.network.advance(5.0)

    assert world.user.names == ["Connected", "Disconnected", "Connected"]


def test_what_the_disk_lost_is_gone():
    world = World().up()
    world.server.request("STREAM.CREATE.S", {"name": "S"}, 0.0)
    image = world.server.image(world.network.now)
    world.server.publish("S", b"x", world.network.now)
    world.network.lose(image)
    world.server.start(world.network.now)

    assert world.server.jetstream.streams["S"].last == 0


def test_a_client_that_does_not_read_is_cut_in_a_frame_and_without_a_word():
    world = World().up()
    world.network.cut_slow(world.host)
    world.network.advance(5.0)

    assert world.user.names == ["Connected", "Disconnected", "Connected"]
    heard = b"".join(each.data for each in world.records if isinstance(each, Received))
    assert b"-ERR" not in heard


def test_what_waits_for_a_client_is_bounded():
    server = SimServer()
    network = Network(server, Chance(1), max_pending=1000)
    connection = Connection(Options(servers="nats://sim"), entropy=Chance(2).entropy, now=0.0)
    host = network.join(Host("H", connection, Listens(connection)))
    network.advance(1.0)
    network.freeze(host, 10.0)
    for _ in range(20):
        server.lame_duck(network.now, grace=100.0)
        network.flush_conversation()

    assert server.connections == ()


def test_a_jump_of_the_clock_is_seen_by_the_client_alone():
    world = World(ping_interval=100.0).up()
    world.network.jump(world.host, 1000.0)
    world.network.advance(1.0)

    assert world.network.now == 2.0
    assert world.user.turned[-1] > 1000.0
    assert world.connection.stats.pings_out == 1


def test_a_starved_client_reads_and_does_not_tick():
    world = World(ping_interval=1.0).up()
    world.network.starve(world.host, 5.0)
    world.network.advance(4.0)
    assert world.connection.stats.pings_out == 0
    world.network.advance(2.0)

    assert world.connection.stats.pings_out > 0


def test_a_frozen_process_reads_first_when_it_goes_on():
    world = World(ping_interval=1.0, max_pings_out=1).up()
    world.network.advance(0.99)
    world.connection.reconnect(world.network.now)
    world.network.freeze(world.host, 30.0)
    world.network.flush_conversation()
    turned = len(world.user.turned)
    world.network.advance(29.0)
    assert len(world.user.turned) == turned
    world.network.advance(6.0)

    assert world.connection.connected


def test_what_is_planned_is_done_in_order():
    world, done = World(), []
    world.network.at(2.0, lambda: done.append("third"))
    world.network.at(1.0, lambda: done.append("first"))
    world.network.at(1.0, lambda: done.append("second"))
    world.network.advance(1.5)
    assert done == ["first", "second"]
    world.network.advance(1.0)

    assert (done[2], world.network.now) == ("third", 2.5)


def test_a_user_has_a_time_of_his_own_in_the_time_of_his_client():
    world = World().up()
    world.network.jump(world.host, 0.1)
    world.user.wants = 7.3
    world.network.advance(10.0)

    assert world.user.wants is None
    assert min(each for each in world.user.turned if each >= 7.3) == pytest.approx(7.3)


def test_a_road_with_a_small_window_leaves_bytes_with_the_writer():
    world = World().up()
    world.server.request("STREAM.CREATE.S", {"name": "S"}, 0.0)
    world.network.travel(Road(window=10, latency=1.0))
    window = world.connection.open(PublishWindow(), world.network.now)
    for _ in range(3):
        world.connection.put(window, ("S", b"x" * 50), world.network.now)
    world.network.flush_conversation()

    cable = world.host.cable
    assert cable is not None
    assert cable.unsent == cable.up.size - 10 > 150
    world.network.advance(3.0)
    assert (cable.unsent, window.pending) == (0, 0)


def test_nobody_has_tls_here():
    world = World(tls=Tls.REQUIRED)
    world.network.advance(1.0)

    assert not world.connection.connected


class Chatters:
    """A machine that never comes to rest, in one of three ways."""

    def __init__(self, way: str) -> None:
        self.way = way
        self.asked = [Authenticate(Options().servers[0], ""), Upgrade(Options().servers[0])]

    def transport_up(self, now: float) -> None: ...
    def receive_data(self, data: bytes, now: float) -> None: ...
    def transport_down(self, error: Exception | None, now: float) -> None: ...
    def transport_unsent(self, unsent: int, now: float) -> None: ...
    def handle_tick(self, now: float) -> None: ...
    def authenticate(self, auth: object, now: float) -> None: ...

    def next_event(self) -> Event | None:
        return self.asked.pop() if self.asked else None

    def data_to_send(self) -> bytes:
        return b"PING\r\n" if self.way == "bytes" else b""

    def next_deadline(self) -> float | None:
        return 1.0 if self.way == "ticks" else None


def test_a_machine_that_is_always_due_is_found_out():
    network = Network(SimServer(), Chance(1))
    machine = Chatters("ticks")
    network.join(Host("H", machine, Listens(None)))

    with pytest.raises(Restless, match="expected rest, got 2000 moments at second 1"):
        network.advance(2.0)


def test_a_machine_that_always_has_something_to_say_is_found_out():
    network = Network(SimServer(), Chance(1))
    machine = Chatters("bytes")
    machine.asked = [Dial(Options().servers[0])]

    with pytest.raises(Restless, match="rounds"):
        network.join(Host("H", machine, Listens(None)))


def test_a_quiet_machine_is_left_alone():
    network = Network(SimServer(), Chance(1))
    host = network.join(Host("H", Chatters(""), Listens(None)))
    network.advance(10.0)

    assert (network.moments, host.due(), network.idle) == (0, math.inf, True)
