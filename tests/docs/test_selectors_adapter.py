"""The third adapter of the documentation: it keeps the contract, and serves several clients with
callbacks on one thread.
"""

from __future__ import annotations

import functools
import importlib.util
import socket
import threading
from pathlib import Path

import pytest

from jsproto import ConnectFailed, ConnectionClosed, JetStream, Subscription
from jsproto.errors import BusyConversation, TlsUnavailable
from jsproto_io.testing import CONTRACT, ModelServer, check_driver
from tests.code_lines import code_lines

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "selectors_adapter.py"


def _example():
    spec = importlib.util.spec_from_file_location("selectors_adapter", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ADAPTER = _example()
KEPT = [clause for clause in CONTRACT if clause.needs != "tasks"]


@pytest.fixture
def loop():
    loop = ADAPTER.Loop()
    yield loop
    left = (loop.clients, dict(loop.selector.get_map()), loop.calls)
    loop.selector.close()

    assert left == (set(), {}, []), "nobody is left to turn for"


@pytest.fixture
def connect(loop):
    return functools.partial(ADAPTER.connect, loop=loop)


def until(loop, condition):
    while not condition():
        loop.turn()


@pytest.mark.parametrize("clause", KEPT, ids=lambda clause: clause.name.replace(" ", "_"))
def test_the_third_adapter_keeps_the_contract(clause, connect):
    check_driver(connect, backend="blocking", only=clause.name)


def test_it_uses_nothing_of_ours_but_the_pure_part():
    text = EXAMPLE.read_text(encoding="utf-8")

    assert not any(
        word in text for word in ("import asyncio", "import jsproto_io", "from jsproto_io", "._")
    )
    assert code_lines(text) < 250


def test_one_thread_serves_two_clients_and_three_feeds_with_callbacks(loop, connect):
    got, ends = [], []
    with ModelServer() as hosted, connect(hosted.url) as nc, connect(hosted.url) as other:
        for client, subject in ((nc, "a"), (nc, "b"), (other, "a")):
            client.each(
                Subscription(subject),
                lambda msg, to=client: got.append((to is nc, msg.subject)),
                ends.append,
            )
        loop.turn()
        nc.run(ADAPTER.jsproto.Flush(5.0))
        other.run(ADAPTER.jsproto.Flush(5.0))
        threads = threading.active_count()
        for _ in range(50):
            other.publish("a", b"1")
            nc.publish("b", b"2")
        until(loop, lambda: len(got) == 150)

        assert {(True, "a"): 50, (True, "b"): 50, (False, "a"): 50} == {
            each: got.count(each) for each in set(got)
        }
        assert threading.active_count() == threads

    assert [ConnectionClosed] * 3 == [type(each) for each in ends], (
        "and each was told once why it ended"
    )


def test_a_callback_may_use_the_client_and_has_ended_before_the_next_one(connect):
    seen, inside, ends = [], [], []
    with ModelServer() as hosted, connect(hosted.url) as nc:
        js = JetStream()
        nc.run(js.create_stream(name="S", subjects=["s.*"]))
        nc.run(js.stream("S").create_consumer(durable_name="C"))
        for number in range(30):
            nc.run(js.publish("s.a", b"%d" % number))

        def work(msg):
            assert not inside
            inside.append(msg)
            nc.run(js.publish("s.b", msg.payload) if len(seen) < 5 else ADAPTER.jsproto.Flush(5.0))
            assert msg.ack()
            seen.append(msg.payload)
            inside.remove(msg)

        nc.each(js.stream("S").consumer("C").consume(max_messages=10), work, ends.append)
        until(nc.loop, lambda: len(seen) == 35)

        assert [b"%d" % number for number in (*range(30), *range(5))] == seen


def test_what_a_callback_raises_comes_out_of_the_turn_and_ends_nothing(connect):
    got = []
    with ModelServer() as hosted, connect(hosted.url) as nc:

        def fail(msg):
            got.append(msg.payload)
            if len(got) == 1:
                raise ZeroDivisionError

        nc.each(Subscription("a"), fail, print)
        nc.publish("a", b"1")
        nc.publish("a", b"2")
        with pytest.raises(ZeroDivisionError):
            until(nc.loop, lambda: False)
        until(nc.loop, lambda: len(got) == 2)

        assert got == [b"1", b"2"]


def test_a_feed_with_a_callback_has_its_reader(connect):
    feed = Subscription("a")
    with ModelServer() as hosted, connect(hosted.url) as nc:
        nc.each(feed, print, print)
        until(nc.loop, lambda: feed.context.taker)
        with pytest.raises(BusyConversation):
            next(iter(ADAPTER.Feed(nc, feed)))


def test_what_ends_well_says_so(connect):
    ends = []
    with ModelServer() as hosted, connect(hosted.url) as nc:
        nc.each(Subscription("a", limit=1), print, ends.append)
        nc.publish("a", b"1")
        until(nc.loop, lambda: ends)

    assert ends == [None]


def test_a_server_that_wants_tls_is_left_with_an_error(connect):
    with socket.create_server(("127.0.0.1", 0)) as door:
        client = connect(f"nats://127.0.0.1:{door.getsockname()[1]}")
        greeting = b'INFO {"server_id":"S","version":"2.15.1","max_payload":1,"headers":true,"tls_required":true}\r\n'
        streams = []

        def greet():
            streams.append(door.accept()[0])
            streams[0].sendall(greeting)

        greeter = threading.Thread(target=greet)
        greeter.start()
        with pytest.raises(TlsUnavailable), client:
            pass
        greeter.join()
        with streams[0] as stream:
            heard = stream.recv(100)

    assert heard == b"", "and it hears no word before it is left"


def test_every_address_of_a_name_is_tried(connect, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as door:
        gone = door.getsockname()
    with ModelServer() as hosted:
        places = [gone, ("127.0.0.1", int(hosted.url.rsplit(":", 1)[1]))]
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", place) for place in places]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        with connect("nats://somewhere:4222") as nc:
            assert nc.connected


def test_a_name_that_cannot_be_resolved_is_an_error(connect, monkeypatch):
    def fail(*_, **__):
        raise socket.gaierror("no such name")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(ConnectFailed, match="no such name"), connect("nats://somewhere:4222"):
        pass


@pytest.mark.live
def test_no_message_is_lost_when_a_real_server_is_killed_under_it(connect, start_server):
    server = start_server()
    js, seen, total = JetStream(), set(), 300
    with connect(server.url, reconnect_wait=0.05) as nc:
        nc.run(js.create_stream(name="ORDERS", subjects=["ORDERS.*"]))
        nc.run(js.stream("ORDERS").create_consumer(durable_name="NEW"))
        with nc.sink(js.publish_window()) as window:
            for number in range(total):
                window.put(("ORDERS.received", b"%d" % number))
            window.drain()
        first = server.pid

        def work(msg):
            seen.add(int(msg.payload))
            msg.ack()
            if len(seen) == total // 2 and server.pid == first:
                server.kill()
                server.start()

        nc.each(js.stream("ORDERS").consumer("NEW").consume(max_messages=50), work, print)
        until(nc.loop, lambda: len(seen) == total)
        connects = nc.stats.connects

    assert (seen, connects >= 2) == (set(range(total)), True)
