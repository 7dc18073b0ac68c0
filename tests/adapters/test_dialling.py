"""Names with several addresses, and resolvers that say nothing: every adapter tries what there is,
within its deadline.
"""

from __future__ import annotations

import gc
import socket
import threading
import time
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from jsproto.core.connection.events import Notice
from jsproto.errors import ConnectFailed
from jsproto_io._transport.happy_eyeballs import MOMENT, HappyEyeballs
from jsproto_io._transport.resolver import Lookup, looked_up
from jsproto_io._transport.selector_socket import OPENED, ConnectionGone, SelectorTransport
from jsproto_io.blocking import connect
from tests.adapters.conftest import PATIENCE, over
from tests.forked import forked

ONCE = {"connect_sweeps": 1, "randomize": False}


def flush(nc):
    return nc.flush()


def tries(nc):
    return nc.stats.attempts_failed


def sockets():
    """How many sockets this process has."""
    gc.collect()
    return sum(each.is_socket() for each in Path("/proc/self/fd").iterdir())


def place(host, port):
    return (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (host, port))


def turned(plug):
    """What a plug that dials ends with, if whoever waits wakes it when it is due."""
    give_up = time.monotonic() + PATIENCE
    while (happened := plug.wait(max(0.0, (plug.due or give_up) - time.monotonic()))) is None:
        assert time.monotonic() < give_up
    return happened


# ---------------------------------------------------------------------------------------------- several addresses


@pytest.mark.live
def test_an_address_that_swallows_everything_costs_a_moment_and_not_the_attempt(
    use, nats_server, names, hole
):
    names({"many.test": [hole(nats_server.port)[0], hole(nats_server.port)[0], "127.0.0.1"]})
    before = sockets()

    took, failed = use(f"nats://many.test:{nats_server.port}", flush, tries, **ONCE)

    assert took > 0.0
    assert failed == 0
    assert sockets() == before


def test_many_that_swallow_everything_end_with_the_deadline(use, nobody, names, hole):
    port = int(nobody.rpartition(":")[2])
    names({"many.test": [hole(port)[0] for _ in range(3)]})
    before = sockets()

    with pytest.raises(ConnectFailed, match=r"within 0\.2 s, stuck at DIALING"):
        use(f"nats://many.test:{port}", flush, connect_timeout=0.2, **ONCE)

    assert sockets() == before


def test_a_name_all_of_whose_addresses_refuse_says_so(use, nobody, names):
    names({"many.test": ["127.0.0.1", "127.0.0.2"]})

    with pytest.raises(ConnectFailed, match=r"ConnectionRefused|refused"):
        use(nobody.replace("127.0.0.1", "many.test"), flush, **ONCE)


def test_many_addresses_leave_the_last_half_of_the_time():
    many, few = (
        HappyEyeballs("a", [place("a", 1)] * number, randomize=False, within=2.0)
        for number in (10, 2)
    )

    assert (many.moment, few.moment) == (0.1, MOMENT)
    assert HappyEyeballs("a", [], randomize=True, within=2.0).moment == MOMENT


def test_who_was_begun_may_still_win_when_others_were_begun_later(monkeypatch, nobody, hole):
    port = int(nobody.rpartition(":")[2])
    (slow, door), (other, _) = hole(port), hole(port)
    found = [place(slow, port), place("127.0.0.1", port), place(other, port)]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    plug = SelectorTransport()
    assert plug.dial("many", port, within=0.1) is None
    while plug.due is not None:  # until the last was begun
        assert plug.wait(max(0.0, plug.due - time.monotonic())) is None
    door.accept()[0].close()  # makes room for who knocks again

    assert turned(plug) is OPENED
    assert plug._stream.getpeername() == (slow, port)
    assert plug._trying == set()
    plug.hang_up()
    plug.pull()


def test_a_plug_that_is_pulled_in_mid_race_leaves_no_socket(monkeypatch, nobody, hole):
    port = int(nobody.rpartition(":")[2])
    found = [place(hole(port)[0], port) for _ in range(2)]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    before = sockets()
    plug = SelectorTransport()
    plug.dial("many", port, within=0.0)
    assert plug.wait(0.0) is None  # both were begun
    assert sockets() == before + 2
    plug.pull()

    assert sockets() == before


# ---------------------------------------------------------------------------------------------- a resolver that is silent


def test_a_resolver_that_is_silent_ends_an_attempt_with_its_deadline(use, silence):
    before = sockets()

    def failed(_, told):
        if isinstance(told, Notice):
            silence.set()  # a loop of asyncio waits for its threads when it ends

    with pytest.raises(ConnectFailed, match=r"within 0\.1 s, stuck at DIALING"):
        use("nats://dns.silent:4222", flush, connect_timeout=0.1, watch=failed, **ONCE)

    over()
    assert sockets() == before


@pytest.mark.live
def test_the_round_trips_do_not_wait_for_a_resolver_that_is_silent(use, nats_server, silence):
    found, _ = use(
        [nats_server.url, "nats://dns.silent:1"],
        lambda nc: nc.rtts(0.1),
        lambda _: silence.set(),
        randomize=False,
    )

    assert found[nats_server.url] > 0.0
    assert "none in time" in str(found["nats://dns.silent:1"])


def test_a_blocking_client_comes_out_of_a_lookup_by_an_interrupt(silence, monkeypatch):
    def interrupted(plug, patience):
        plug.asleep = True
        raise KeyboardInterrupt

    monkeypatch.setattr(SelectorTransport, "wait", interrupted)
    with (
        pytest.raises(KeyboardInterrupt),
        connect("nats://dns.silent:4222", connect_timeout=PATIENCE),
    ):
        pass


@pytest.mark.live
def test_no_thread_is_left_of_a_name_that_was_found(nats_server):
    before = set(threading.enumerate())
    with connect(nats_server.url.replace("127.0.0.1", "localhost")) as nc:
        assert nc.flush() > 0.0
        assert set(threading.enumerate()) == before


def test_a_name_that_is_not_known_is_an_error_of_the_resolver(use, monkeypatch):
    def unknown(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "not known here")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(ConnectFailed, match="not known here"):
        use("nats://nowhere.test:4222", flush, **ONCE)


def test_a_name_is_found_by_a_thread_that_is_over_then(silence):
    silence.set()
    before = set(threading.enumerate())

    assert [each[4] for each in looked_up("found.silent", 7, PATIENCE)] == [("127.0.0.1", 7)]
    assert [each[4] for each in looked_up("127.0.0.3", 7, 0.0)] == [("127.0.0.3", 7)]
    assert set(threading.enumerate()) == before


def test_where_no_thread_can_be_had_no_name_is_found(monkeypatch):
    def start(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    plug = SelectorTransport()
    before = sockets()
    lost = plug.dial("localhost", 1)

    assert isinstance(lost, ConnectionGone)
    assert "can't start new thread" in str(lost.error)
    assert sockets() == before
    plug.pull()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_in_mid_lookup_leaves_it_with_the_parent(silence):
    plug = SelectorTransport()
    before = sockets()
    assert plug.dial("later.silent", 1) is None

    def child():
        plug.pull()
        assert sockets() == before

    assert forked(child) == 0
    silence.set()
    assert isinstance(turned(plug), ConnectionGone)  # nobody listens there
    plug.pull()


def test_a_lookup_that_was_left_ends_alone(silence):
    lookup = Lookup("left.silent", 1)
    lookup.leave()
    silence.set()
    lookup._thread.join(PATIENCE)

    assert not lookup._thread.is_alive()
    assert (lookup._ours.fileno(), lookup._theirs.fileno()) == (-1, -1)


@pytest.mark.parametrize("turns", range(8))
def test_a_dial_that_is_cancelled_early_leaves_no_socket(flavour, hole, nobody, monkeypatch, turns):
    port = int(nobody.rpartition(":")[2])
    made = []
    begin = HappyEyeballs.next

    def noted(race):
        entrant = begin(race)
        if entrant is not None:
            made.append(entrant[0])
        return entrant

    monkeypatch.setattr(HappyEyeballs, "next", noted)
    where = f"nats://{hole(port)[0]}:{port}"

    async def story():
        async with anyio.create_task_group() as group:

            async def enter():
                async with flavour.connect(where, connect_timeout=60.0):
                    raise AssertionError("expected nobody there")

            group.start_soon(enter)
            for _ in range(turns):
                await anyio.lowlevel.checkpoint()
            with anyio.fail_after(PATIENCE):
                while turns == 7 and not made:  # The thread of the lookup may take longer.
                    await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()

    flavour.play(story)

    assert [-1] * len(made) == [each.fileno() for each in made]
    assert made or turns < 7
