"""Cases of consumers that strangers have reported of other clients, each with its number: on the
core, and on a model server.
"""

from __future__ import annotations

import json

import pytest

from jsproto.core.connection.connection import Connection
from jsproto.core.connection.events import Dial, HangUp
from jsproto.core.connection.options import Options
from jsproto.core.pubsub.request import Flush, request
from jsproto.errors import JsprotoError, RequestTimeout
from jsproto.jetstream.delivery.ack import AckState
from jsproto.jetstream.pull.consume import Consume, ConsumeOptions
from jsproto.jetstream.pull.fetch import Fetch, FetchOptions
from jsproto.signals import ENDED, NEED_DATA
from jsproto_io._testing.model_server import ModelServer
from jsproto_io.blocking import connect

NEXT = "$JS.API.CONSUMER.MSG.NEXT.S.C"
INFO = {"max_payload": 1048576, "headers": True, "version": "2.15.1"}


class Line:
    """A connection, and whichever server it dials."""

    def __init__(self, **options):
        servers = ("nats://a:1", "nats://b:2", "nats://c:3")
        given = {"reconnect_jitter": 0.0, "reconnect_wait": 0.5, **options}
        self.now = 0.0
        self.connection = Connection(
            Options(servers=servers, randomize=False, **given), entropy=bytes, now=0.0
        )

    def events(self, kind):
        found = []
        while (event := self.connection.next_event()) is not None:
            if isinstance(event, kind):
                found.append(event)
        return found

    def run(self, seconds):
        """Let time pass."""
        end = self.now + seconds
        while (due := self.connection.next_deadline()) is not None and due <= end:
            self.now = max(self.now, due)
            self.connection.handle_tick(self.now)
        self.now = end

    def until_dialled(self):
        while not self.events(Dial):
            self.now = max(self.now, self.connection.next_deadline())
            self.connection.handle_tick(self.now)

    def refuse(self):
        self.connection.transport_down(ConnectionRefusedError("nobody"), self.now)

    def greet(self):
        """Let it in; gives what it says behind the handshake."""
        self.connection.transport_up(self.now)
        self.connection.receive_data(b"INFO " + json.dumps(INFO).encode() + b"\r\n", self.now)
        self.connection.data_to_send()
        self.connection.receive_data(b"PONG\r\n", self.now)
        return self.connection.data_to_send()


def test_each_move_of_a_lame_server_leaves_one_subscription_and_one_pull_n083():
    line = Line(max_reconnects=2)
    line.until_dialled()
    line.greet()
    consume = line.connection.open(Consume(NEXT, ConsumeOptions(expires=300.0)), line.now)
    said = line.connection.data_to_send()
    for number in range(6):
        assert said.count(b"\nSUB ") + said.startswith(b"SUB ") == 1
        assert said.count(b"PUB " + NEXT.encode()) == 1
        frame = f"MSG s.a {consume.port.sid} $JS.ACK.S.C.1.{number}.{number}.1.0 1\r\nx\r\n"
        line.connection.receive_data(frame.encode(), line.now)
        assert line.connection.take(consume, line.now).payload == b"x"
        lame = json.dumps({**INFO, "ldm": True}).encode()
        line.connection.receive_data(b"INFO " + lame + b"\r\n", line.now)
        if not line.events(HangUp):
            line.run(30.0)
            line.connection.transport_down(None, line.now)
        line.until_dialled()
        said = line.greet()
    line.connection.transport_down(None, line.now)
    for _ in range(20):
        if line.connection.closed:
            break
        line.until_dialled()
        line.refuse()

    assert line.connection.closed
    with pytest.raises(JsprotoError):
        line.connection.take(consume, line.now)


def test_a_consume_of_one_asks_again_as_soon_as_it_was_taken_n085():
    line = Line()
    line.until_dialled()
    line.greet()
    consume = line.connection.open(Consume(NEXT, ConsumeOptions(max_messages=1)), line.now)
    line.connection.data_to_send()
    for number in range(1, 4):
        frame = f"MSG s.a {consume.port.sid} $JS.ACK.S.C.{number}.1.{number}.1.0 1\r\nx\r\n"
        line.connection.receive_data(frame.encode(), line.now)
        assert line.connection.take(consume, line.now).metadata.num_delivered == number

        assert line.connection.data_to_send().count(b"PUB " + NEXT.encode()) == 1
        assert len(consume.pulls(line.now)) == 1


def test_a_message_in_work_is_watched_by_nobody_n091():
    line = Line()
    line.until_dialled()
    line.greet()
    options = FetchOptions(max_messages=1, expires=5.0, idle_heartbeat=1.0)
    fetch = line.connection.open(Fetch(NEXT, options), line.now)
    line.connection.data_to_send()
    line.connection.receive_data(
        f"MSG s.a {fetch.port.sid} $JS.ACK.S.C.1.1.1.1.0 1\r\nx\r\n".encode(), line.now
    )
    message = line.connection.take(fetch, line.now)
    assert fetch.deadline is None
    for _ in range(12):
        line.run(5.0)
        line.connection.receive_data(b"PONG\r\n", line.now)

    assert (fetch.reason.name, fetch.cause) == ("FILLED", None)
    assert line.connection.settle(message, line.now)
    assert message.state is AckState.SETTLED
    assert b"+ACK" in line.connection.data_to_send()


@pytest.mark.parametrize("verb", ["fetch", "request", "flush"])
def test_a_loop_that_fails_without_a_link_is_paced_n094(verb):
    line = Line(connect_sweeps=None)
    make = {
        "fetch": lambda: Fetch(NEXT, FetchOptions(max_messages=10, expires=5.0)),
        "request": lambda: request("svc", timeout=5.0),
        "flush": lambda: Flush(5.0),
    }[verb]
    calls = attempts = 0
    while line.now < 20.0:
        calls += 1
        asked = line.connection.open(make(), line.now)
        while not asked.ended:
            attempts += len(line.events(Dial))
            if line.connection.state.name == "DIALING":
                line.refuse()
            line.now = max(line.now, line.connection.next_deadline())
            line.connection.handle_tick(line.now)
        with pytest.raises(JsprotoError):
            line.connection.take(asked, line.now)

    assert calls <= 20
    assert attempts <= 120  # three servers, half a second and more between two rounds


def test_a_consume_without_a_link_stays_one_conversation_n094():
    line = Line(connect_sweeps=None)
    consume = line.connection.open(Consume(NEXT, ConsumeOptions()), line.now)
    for _ in range(10):
        line.until_dialled()
        line.refuse()

    assert line.connection.take(consume, line.now) is NEED_DATA
    assert line.connection.conversations == 1


def test_after_a_timeout_the_iterator_gives_messages_and_nothing_else_n092():
    with ModelServer() as hosted, connect(hosted.url) as nc:
        stream = nc.jetstream().create_stream(name="S", subjects=["s.*"])
        consumer = stream.create_consumer(durable_name="C")
        with consumer.consume() as messages:
            for _ in range(2):
                with pytest.raises(RequestTimeout):
                    messages.next(0.05)
            nc.jetstream().publish("s.a", b"1")
            assert messages.next(5.0).payload == b"1"
            with pytest.raises(RequestTimeout):
                messages.next(0.05)
            assert messages.feed.take(0.0) in {NEED_DATA, ENDED}


def test_the_servers_answer_decides_about_acks_and_another_wish_is_refused_n089():
    with ModelServer() as hosted, connect(hosted.url) as nc:
        stream = nc.jetstream().create_stream(name="S", subjects=["s.*"])
        consumer = stream.create_consumer(durable_name="C")
        assert consumer.cached.config.ack_policy == "explicit"
        nc.jetstream().publish("s.a", b"1")
        with consumer.fetch(1) as messages:
            messages.each(lambda _: None)
        nc.flush()
        assert consumer.info().num_ack_pending == 0
        with pytest.raises(JsprotoError):
            stream.create_consumer(durable_name="C", ack_policy="none")
        none = stream.create_consumer(durable_name="N", ack_policy="none")
        with none.fetch(1) as messages:
            assert next(messages).state is AckState.MUTE
