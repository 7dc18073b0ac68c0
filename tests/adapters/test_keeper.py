"""The thread of the blocking adapter and the gate that it shares with the caller."""

from __future__ import annotations

import os
import threading
from math import inf
from time import monotonic

import pytest

from jsproto.errors import BusyConversation, ConnectionClosed
from jsproto_io._sync_client.background_thread import BackgroundThread, TwoLevelLock
from jsproto_io._sync_client.base import NON_BLOCKING
from jsproto_io.blocking import connect
from tests.forked import forked


class Kept:
    """A client that counts turns, and ends its keeper's world at wish."""

    def __init__(self, deadline=None, error=None):
        self._deadline = deadline
        self.error = error
        self.turned = threading.Event()
        self.barred = None

    def _turn(self, patience):
        assert patience == 0.0
        self._deadline = None
        self.turned.set()
        if self.error is not None:
            raise self.error

    def _bar(self, error):
        self.barred = error


@pytest.fixture
def keep():
    """``keep(client)``: a keeper that ends with the test."""
    keepers = []

    def made(client):
        keepers.append(BackgroundThread(client))
        return keepers[-1]

    yield made
    for keeper in keepers:
        keeper.stop()


def test_the_gate_lets_one_caller_in_and_keeps_the_keeper_out_meanwhile():
    doors = TwoLevelLock()

    assert doors.acquire(NON_BLOCKING)
    assert not doors.acquire(NON_BLOCKING)
    assert not doors.slip_in()
    doors.release()
    assert doors.slip_in()
    doors.slip_out()
    assert doors.acquire(NON_BLOCKING)


def test_a_caller_waits_for_the_keepers_turn_and_for_nothing_else():
    doors = TwoLevelLock()
    doors.slip_in()
    let_go = threading.Timer(0.02, doors.slip_out)
    let_go.start()

    assert doors.acquire(NON_BLOCKING)
    let_go.join()


def test_a_caller_interrupted_at_the_inner_door_leaves_the_outer_one_open(monkeypatch):
    class Interrupted:
        def acquire(self):
            raise KeyboardInterrupt

    doors = TwoLevelLock()
    monkeypatch.setattr(doors, "_inner", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        doors.acquire(NON_BLOCKING)

    assert doors._outer.acquire(blocking=False)


def test_it_turns_when_the_deadline_has_come(keep):
    client = Kept(deadline=monotonic() + 0.01)
    keep(client).start()

    assert client.turned.wait(5)


def test_it_looks_now_and_then_without_any_deadline(keep):
    client = Kept()
    keep(client).start()

    assert client.turned.wait(5)


def test_a_nearer_deadline_is_seen_at_once(keep):
    client = Kept(deadline=inf)
    keeper = keep(client)
    keeper.start()
    keeper.start()  # the second time changes nothing
    client._deadline = monotonic()
    keeper.armed(client._deadline)
    keeper.armed(None)

    assert client.turned.wait(5)


def test_while_a_caller_is_inside_it_goes_away_and_comes_back(keep):
    client = Kept(deadline=monotonic())
    keeper = keep(client)
    keeper.doors.acquire(NON_BLOCKING)
    keeper.start()

    assert not client.turned.wait(0.1)
    keeper.doors.release()
    assert client.turned.wait(5)


def test_what_it_meets_bars_the_client_and_ends_it(keep):
    client = Kept(deadline=monotonic(), error=ValueError("oh"))
    keeper = keep(client)
    keeper.start()
    keeper._thread.join(5)

    assert isinstance(client.barred, ConnectionClosed)
    assert "its keeper met ValueError: oh" in str(client.barred)
    assert client.barred.__cause__ is client.error
    assert keeper.doors.slip_in()


@pytest.mark.live
def test_with_a_pump_one_caller_at_a_time_is_still_the_rule(nats_server):
    with connect(nats_server.url, pump=True) as nc:
        inside, leave = threading.Event(), threading.Event()

        def stay():
            with nc._guard:
                inside.set()
                leave.wait(5)

        other = threading.Thread(target=stay)
        other.start()
        inside.wait(5)
        with pytest.raises(BusyConversation, match="one caller at a time"):
            nc.flush()
        leave.set()
        other.join()
        nc.flush()


@pytest.mark.live
def test_the_thread_ends_with_the_client(nats_server):
    with connect(nats_server.url, pump=True) as nc:
        thread = nc._keeper._thread
        assert thread.is_alive()
        assert thread.daemon
    assert not thread.is_alive()
    assert connect(nats_server.url)._keeper is None


@pytest.mark.live
@pytest.mark.filterwarnings(
    "ignore:.*use of fork.*:DeprecationWarning"
)  # Python 3.12 on: that is what is tested
def test_a_fork_leaves_the_thread_and_the_connection_with_the_parent(nats_server):
    with connect(nats_server.url, pump=True) as nc, nc.subscribe("a") as messages:
        nc.flush()
        reader, writer = os.pipe()

        def used():
            for verb in (nc.flush, messages.next, nc.events):
                try:
                    verb()
                except ConnectionClosed as error:
                    os.write(writer, f"{error}\n".encode())
            nc.close()
            os.write(writer, f"closed {nc.closed}, threads {threading.active_count()}\n".encode())

        code = forked(used)
        os.close(writer)
        with os.fdopen(reader) as told:
            *refused, end = told.read().splitlines()
        nc.publish("a", b"from the parent")

        assert (code, len(refused)) == (0, 3)
        assert all(f"belongs to process {os.getpid()}" in each for each in refused)
        assert end == "closed True, threads 1"
        assert messages.next().payload == b"from the parent"
        assert nc._keeper._thread.is_alive()


@pytest.mark.live
def test_a_fork_stops_a_keeper_whose_event_was_locked_when_it_began(keep):
    """The copy of a lock that another thread held stays locked for ever in a fork."""
    keeper = keep(Kept())
    keeper.start()
    with keeper._nudge._cond:
        code = forked(keeper.stop)

    assert code == 0


@pytest.mark.parametrize("pump", [False, True])
def test_many_threads_have_a_client_each(nats_server, pump):
    many, each_sends = 20, 30
    ready = threading.Barrier(many)
    heard = [[] for _ in range(many)]

    def work(number):
        with connect(nats_server.url, pump=pump) as nc, nc.subscribe(f"many.{pump}") as messages:
            nc.flush()
            ready.wait(20.0)
            for at in range(each_sends):
                nc.publish(f"many.{pump}", b"%d.%d" % (number, at))
            heard[number] = [messages.next(20.0).payload for _ in range(many * each_sends)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(many)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    for got in heard:
        assert len(set(got)) == many * each_sends
        for number in range(many):
            mine = [each for each in got if each.startswith(b"%d." % number)]
            assert mine == [b"%d.%d" % (number, at) for at in range(each_sends)]
