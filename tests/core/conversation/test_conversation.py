"""A conversation alone: a bare port, facts in, wishes out."""

from __future__ import annotations

import pytest

from jsproto.core.conversation.conversation import Call, Conversation, Port, StopMode
from jsproto.errors import ConnectionLost, LocalProtocolError
from jsproto.signals import ENDED, NEED_DATA
from jsproto.wire.commands import Ping, Publish, Sub, Unsub


class Numbers(Conversation[int]):
    def __init__(self):
        super().__init__()
        self.items: list[int] = []

    def take(self, now):
        return self.items.pop(0) if self.items else self.nothing()

    @property
    def readable(self):
        return len(self.items)


def test_a_port_states_interest_and_takes_it_back():
    port = Port(3)
    port.subscribe("a.b", "q")
    port.unsubscribe(5)
    port.unsubscribe()
    port.unsubscribe()

    assert [Sub("a.b", "4", "q"), Unsub("4", 5), Unsub("4")] == port.commands


def test_a_fresh_inbox_each_time_and_no_sid_twice():
    port = Port(3)
    port.subscribe()
    first = port.token()
    port.subscribe()
    second = port.token()

    assert ["_INBOX.P.3.1.1", "_INBOX.P.3.2.2"] == [first, second]
    assert [Sub("_INBOX.P.3.1.*", "4"), Unsub("4"), Sub("_INBOX.P.3.2.*", "5")] == port.commands


def test_a_token_needs_an_inbox():
    port = Port()
    with pytest.raises(LocalProtocolError, match="inbox"):
        port.token()

    port.subscribe("a")
    with pytest.raises(LocalProtocolError, match="inbox"):
        port.token()


def test_an_address_is_below_the_ports_root_and_outlives_the_link():
    port = Port(3)
    first, second = port.address(), port.address()
    port.subscribe(second, "q")
    port.commands.clear()
    port.renew()

    assert first != second
    assert ("_INBOX.P.3.1.2", [Sub(second, "4", "q")]) == (second, port.commands)


def test_calls_and_fences_have_tokens():
    port = Port(3)
    call = port.call(Call("svc", b"x"))
    fence = port.fence()

    assert (1, 2) == (call, fence)
    assert [Publish("svc", b"x", "_INBOX.R.3.1"), Ping()] == port.commands


def test_nothing_can_be_sent_while_the_link_is_down_but_interest_can_be_stated():
    port = Port(up=False)
    port.subscribe("a")
    for verb in (lambda: port.publish(Publish("a")), lambda: port.call(Call("a")), port.fence):
        with pytest.raises(LocalProtocolError, match="link that is up"):
            verb()

    assert [Sub("a", "2")] == port.commands


def test_renewing_restates_what_is_left():
    port = Port()
    port.renew()

    assert [] == port.commands

    port.subscribe("a")
    port.unsubscribe(2)
    port.received = 1
    port.commands.clear()
    port.renew()

    assert [Sub("a", "2"), Unsub("2", 1)] == port.commands

    port.received = 2
    port.commands.clear()
    port.renew()

    assert [] == port.commands
    assert port.subject == ""


def test_a_limit_that_is_reached_needs_no_unsub():
    port = Port()
    port.subscribe("a")
    port.unsubscribe(2)
    port.received = 2
    port.commands.clear()
    port.unsubscribe()

    assert [] == port.commands


def test_a_limit_below_what_came_ends_at_once():
    port = Port()
    port.subscribe("a")
    port.received = 2
    port.unsubscribe(1)

    assert Unsub("2") == port.commands[-1]
    assert port.subject == ""


def test_the_base_hears_every_fact_and_does_nothing():
    talk = Conversation()
    talk.port = Port()
    talk.opened(0.0)
    talk.delivered([], 0.0)
    talk.replied(1, ("1", "a", "", None, b""), 0.0)
    talk.fenced(1, 0.0)
    talk.ticked(0.0)
    talk.link_down(ConnectionLost("x"), 0.0)
    talk.link_up(0.0)
    talk.refused("a", ConnectionLost("x"), 0.0)

    assert [] == talk.port.commands
    assert NEED_DATA is talk.take(0.0)
    assert talk.take_blocked
    assert (0, False, None, False) == (talk.readable, talk.room, talk.deadline, talk.finished)
    with pytest.raises(LocalProtocolError, match="takes no items"):
        talk.offered(1, 0.0)

    talk.told(StopMode.STOP, 0.0)
    talk.closed(ConnectionLost("late"), 0.0)

    assert talk.finished
    assert ENDED is talk.take(0.0)
    assert ENDED is talk.take_all(0.0)


def test_take_all_takes_what_is_there_and_the_error_comes_after():
    talk = Numbers()
    talk.port = Port()
    talk.items = [1, 2, 3]

    assert [1, 2, 3] == talk.take_all(0.0)
    assert NEED_DATA is talk.take_all(0.0)

    talk.items = [4]
    talk.closed(ConnectionLost("gone"), 0.0)

    assert [4] == talk.take_all(0.0)
    for _ in range(2):
        with pytest.raises(ConnectionLost):
            talk.take(0.0)


def test_a_snapshot_of_a_port_gives_the_same_names_again():
    port, twin = Port(3), Port(3)
    port.subscribe()
    port.token()
    port.fence()
    twin.restore(port.snapshot())

    assert port.token() == twin.token()
    assert port.fence() == twin.fence()
    assert port.fences == twin.fences
