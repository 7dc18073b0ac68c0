"""An inbox whose one answer has come is kept for whoever asks the same next, and for nobody else."""

from __future__ import annotations

import re

import pytest

from jsproto import NEED_DATA, Connection, JetStream, Options
from jsproto.core.connection.events import Notice, NoticeKind
from jsproto.core.conversation.inbox_pool import MOST, InboxPool
from jsproto.errors import RequestTimeout

INFO = (
    b'INFO {"server_id":"x","version":"2.15.1","headers":true,"max_payload":1048576,"proto":1}\r\n'
)
STREAM = JetStream().stream("S")


class Wire:
    """A connection that is up, and what it says."""

    def __init__(self):
        self.connection = Connection(
            Options(servers="nats://127.0.0.1:4222"), entropy=lambda count: b"a" * count, now=0.0
        )
        self.now = 0.0
        self.up()

    def up(self):
        self.connection.transport_up(self.now)
        self.connection.receive_data(INFO, self.now)
        self.connection.data_to_send()
        self.connection.receive_data(b"PONG\r\n", self.now)

    def said(self):
        return self.connection.data_to_send()

    def ask(self, consumer="C"):
        """Open a next; gives it and what was said for it."""
        following = STREAM.consumer(consumer).next()
        self.connection.open(following, self.now)
        return following, self.said()

    def answer(self, following, said):
        """The one message comes."""
        self.connection.receive_data(
            b"MSG s.a %b $JS.ACK.S.C.1.1.1.1795811553265218855.0 1\r\nx\r\n"
            % following.port.sid.encode(),
            self.now,
        )
        assert following.take(self.now).payload == b"x"

    def round(self, consumer="C"):
        following, said = self.ask(consumer)
        self.answer(following, said)
        return said + self.said()

    def events(self):
        events = []
        while (event := self.connection.next_event()) is not None:
            events.append(event)
        return events


@pytest.fixture
def wire():
    return Wire()


def token(said):
    return re.search(rb"PUB \S+ (\S+) ", said)[1].decode()


def test_who_asks_the_same_again_needs_no_sub(wire):
    assert wire.round().count(b"SUB") == 1
    rounds = [wire.round() for _ in range(3)]

    assert [each.count(b"SUB") for each in rounds] == [0, 0, 0]


def test_no_token_is_given_twice(wire):
    tokens = [token(wire.round()) for _ in range(5)]

    assert len(set(tokens)) == 5
    assert len({each.rpartition(".")[0] for each in tokens}) == 1


def test_another_consumer_has_an_inbox_of_its_own(wire):
    first, second = token(wire.round("C")), token(wire.round("D"))

    assert first.rpartition(".")[0] != second.rpartition(".")[0]


def test_two_at_once_do_not_share_an_inbox_and_the_second_to_end_gives_up_the_first_one(wire):
    wire.round()
    one, said_one = wire.ask()
    two, said_two = wire.ask()
    assert one.port.sid != two.port.sid
    kept = one.port.sid
    wire.answer(one, said_one)
    assert wire.said() == b""
    wire.answer(two, said_two)

    assert wire.said() == b"UNSUB %b\r\n" % kept.encode()


def test_a_status_is_an_answer_too(wire):
    following, said = wire.ask()
    block = b"NATS/1.0 408 Request Timeout\r\n\r\n"
    wire.connection.receive_data(
        b"HMSG %b %b %d %d\r\n%b\r\n"
        % (token(said).encode(), following.port.sid.encode(), len(block), len(block), block),
        0.0,
    )
    with pytest.raises(RequestTimeout):
        following.take(0.0)

    assert wire.said() == b""
    assert b"SUB" not in wire.ask()[1]


@pytest.mark.parametrize("end", ["close", "deadline"])
def test_what_the_server_can_still_answer_leaves_no_inbox(wire, end):
    following, _ = wire.ask()
    if end == "close":
        wire.connection.close(following, 0.0)
    else:
        wire.connection.handle_tick(60.0)
        wire.now = 60.0

    assert wire.said().startswith(b"UNSUB %b\r\n" % following.port.sid.encode())
    assert b"SUB" in wire.ask()[1]


def test_no_inbox_outlives_its_link(wire):
    wire.round()
    wire.connection.transport_down(None, 0.0)
    wire.now = 60.0
    wire.connection.handle_tick(60.0)
    wire.up()
    assert wire.said() == b""

    assert wire.round().count(b"SUB") == 1


def test_one_too_many_goes(wire):
    for number in range(MOST):
        assert b"UNSUB" not in wire.round(f"C{number}")

    assert b"UNSUB 2\r\n" in wire.round("last")
    assert b"SUB" in wire.ask("C0")[1]
    assert b"SUB" not in wire.ask("C1")[1]


def test_what_comes_to_an_inbox_that_nobody_uses_is_counted_and_told(wire):
    following, said = wire.ask()
    wire.answer(following, said)
    wire.events()
    wire.connection.receive_data(b"MSG s.a %b 1\r\nx\r\n" % following.port.sid.encode(), 0.0)

    assert wire.events() == [Notice(None, NoticeKind.UNKNOWN_SID, 1)]


def test_a_next_that_waits_for_a_link_has_an_inbox_of_the_link_that_comes(wire):
    wire.round()
    wire.connection.transport_down(None, 0.0)
    following, said = wire.ask()
    assert said == b""
    wire.now = 1.0
    wire.connection.handle_tick(1.0)
    wire.up()
    said = wire.said()

    assert said.startswith(b"SUB ")
    assert following.take(1.0) is NEED_DATA
    wire.answer(following, said)


def test_spares_are_counted_taken_once_and_cleared():
    spares = InboxPool()
    assert spares.keep("a", ("2", "i.", 1)) == ""
    assert spares.keep("a", ("3", "j.", 1)) == "2"
    assert len(spares) == 1

    assert spares.take("a") == ("3", "j.", 1)
    assert spares.take("a") is None
    spares.keep("b", ("4", "k.", 1))
    spares.clear()
    assert len(spares) == 0
