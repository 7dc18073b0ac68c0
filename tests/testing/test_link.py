import pytest

from jsproto.core.connection.auth import Auth as Credentials
from jsproto.core.connection.connection import Connection
from jsproto.core.connection.events import (
    Authenticate,
    Closed,
    Connected,
    Dial,
    Disconnected,
    HangUp,
    Upgrade,
)
from jsproto.core.connection.options import Options
from jsproto.core.connection.server_pool import Server
from jsproto.errors import LocalProtocolError
from jsproto.jetstream.pull.consume import Consume
from jsproto.jetstream.pull.consume_options import ConsumeOptions
from jsproto.signals import NEED_DATA
from jsproto.testing import Clock, Cutter, Pair, SimServer
from jsproto.testing.simserver import Login


def entropy():
    count = 0

    def give(size):
        nonlocal count
        count += 1
        return bytes((count * 7 + at * 13) % 256 for at in range(size))

    return give


def connection(**options):
    return Connection(Options(servers="nats://sim", **options), entropy=entropy(), now=0.0)


def kinds(events):
    return [type(event).__name__ for event in events]


class Puppet:
    """A machine that only says what a test gives it."""

    def __init__(self, *events):
        self.events = list(events)
        self.calls = []

    def transport_up(self, now):
        self.calls.append("up")

    def receive_data(self, data, now):
        self.calls.append(data)

    def transport_down(self, error, now):
        self.calls.append(type(error).__name__)

    def handle_tick(self, now):
        self.calls.append("tick")

    def authenticate(self, auth, now):
        self.calls.append(auth)

    def next_event(self):
        return self.events.pop(0) if self.events else None

    def data_to_send(self):
        return b""

    def next_deadline(self):
        return None


SERVER = Server(host="sim")


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_a_connection_connects_to_the_model_however_reads_are_cut(seed):
    pair = Pair(connection(), SimServer(), cutter=Cutter(seed, longest=5) if seed else None)

    assert kinds(pair.step()) == ["Connected"]


def test_messages_arrive_while_time_passes_and_links_break():
    server = SimServer()
    server.request("STREAM.CREATE.S", {"name": "S", "subjects": ["s.>"]}, 0.0)
    config = {"durable_name": "C", "ack_policy": "explicit", "ack_wait": 5_000_000_000}
    server.request("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": config}, 0.0)
    machine = connection()
    pair = Pair(machine, server, cutter=Cutter(3))
    consume = machine.open(
        Consume("$JS.API.CONSUMER.MSG.NEXT.S.C", ConsumeOptions(max_messages=10)), pair.now
    )
    pair.step()
    got = []

    def take():
        pair.step()
        while (item := machine.take(consume, pair.now)) is not NEED_DATA:
            got.append(int(item.payload))
            machine.settle(item, pair.now)
            pair.step()

    for number in range(40):
        server.publish("s.a", str(number).encode(), pair.now)
        if number == 10:
            pair.drop()
        if number == 20:
            pair.cut()
            pair.advance(3.0)
            pair.restore()
        if number == 30:
            server.kill_and_restart(pair.now)
        pair.advance(10.0)
        take()

    info = server.request("CONSUMER.INFO.S.C", None, pair.now)
    assert sorted(set(got)) == list(range(40))
    assert info["ack_floor"]["stream_seq"] == 40
    assert info["num_ack_pending"] == 0


def test_a_cut_line_refuses_until_it_is_restored():
    pair = Pair(connection(), SimServer())
    pair.step()
    pair.cut()

    assert pair.cid is None
    assert "Connected" not in kinds(pair.advance(20.0))
    pair.restore()
    assert "Connected" in kinds(pair.advance(20.0))


def test_a_dropped_line_comes_back_by_itself():
    pair = Pair(connection(), SimServer())
    pair.step()
    pair.drop()

    assert kinds(pair.advance(5.0)) == ["Disconnected", "Connected"]


def test_a_server_that_hangs_up_is_noticed():
    server = SimServer()
    pair = Pair(connection(), server)
    pair.step()
    server.kill(pair.now)

    assert isinstance(pair.step()[0], Disconnected)


def test_a_refusal_with_last_words_is_heard():
    server = SimServer(max_connections=1)
    Pair(connection(), server).step()
    pair = Pair(connection(), server)
    events = pair.advance(10.0)

    assert isinstance(events[-1], Closed)
    assert "maximum connections" in str(events)


def test_credentials_are_given_when_asked_for():
    server = SimServer(auth=Login(user="u", password="p"))
    machine = connection(ask_for_credentials=True)
    pair = Pair(machine, server, auth=Credentials(user="u", password="p"))

    assert kinds(pair.step()) == ["Connected"]


def test_without_credentials_the_question_is_left_to_the_test():
    pair = Pair(connection(ask_for_credentials=True), SimServer())

    assert isinstance(pair.step()[0], Authenticate)


def test_a_hang_up_delivers_what_was_left_and_disconnects():
    server = SimServer()
    machine = connection()
    pair = Pair(machine, server, clock=Clock(1.0))
    assert isinstance(pair.step()[0], Connected)
    machine.close(None, pair.now)
    events = pair.advance(2.0)

    assert isinstance(events[-1], Closed)
    assert server.connections == ()


def test_a_hang_up_without_a_line_is_nothing():
    pair = Pair(Puppet(HangUp("bye")), SimServer())
    pair.step()

    assert pair.cid is None


def test_tls_is_not_spoken_here():
    puppet = Puppet(Dial(SERVER), Upgrade(SERVER))
    Pair(puppet, SimServer()).step()

    assert puppet.calls == ["up", "TlsUnavailable"]


def test_a_machine_without_rest_is_found_out():
    class Restless(Puppet):
        def next_event(self):
            return HangUp("again")

    with pytest.raises(LocalProtocolError, match="rest"):
        Pair(Restless(), SimServer()).step()


def test_pieces_are_the_same_bytes_and_the_same_for_the_same_seed():
    data = bytes(range(256)) * 4

    pieces = Cutter(7, longest=9).pieces(data)
    assert b"".join(pieces) == data
    assert max(map(len, pieces)) <= 9
    assert pieces == Cutter(7, longest=9).pieces(data)
    with pytest.raises(LocalProtocolError, match="longest=0"):
        Cutter(1, longest=0)
