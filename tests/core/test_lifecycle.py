"""Beginnings, ends and detours of a connection, in every state: who is told, what is sent, what is
left.
"""

from __future__ import annotations

import pytest

from jsproto.core.connection.auth import Auth
from jsproto.core.connection.events import (
    Closed,
    Dial,
    Disconnected,
    HangUp,
    Notice,
    NoticeKind,
    Ready,
)
from jsproto.core.connection.link import OPEN, LinkState
from jsproto.core.connection.options import Options, Tls
from jsproto.core.connection.outbound import announced
from jsproto.core.connection.server_pool import Server, ServerPool
from jsproto.core.conversation.conversation import Call, Conversation, StopMode
from jsproto.core.conversation.procedure import Procedure, Sleep
from jsproto.core.pubsub.request import Flush, request
from jsproto.core.pubsub.subscription import Subscription
from jsproto.errors import (
    ConnectFailed,
    ConnectionClosed,
    InvalidConfig,
    InvalidSubject,
    JsprotoError,
    LocalProtocolError,
    RemoteProtocolError,
)
from jsproto.signals import ENDED, NEED_DATA
from jsproto.wire.commands import Publish
from tests.core.world import Puller


def test_messages_before_the_handshake_is_verified_are_nobodys(wire, info):
    w = wire().up()
    sub = w.open(Subscription("a"))
    puller = w.open(Puller())
    w.down().redial().connection.transport_up(w.now)
    w.told()
    w.feed(b"MSG a 2 1\r\nx\r\n" + info() + b"MSG a 3 1\r\nx\r\n")
    (notice,) = w.told()

    assert (NoticeKind.UNKNOWN_SID, 2) == (notice.kind, notice.detail)
    assert 0 == sub.readable + puller.readable


@pytest.mark.parametrize("behind", [b"PING\r\n", b"MSG a 2 1\r\nx\r\n", b"INFO {}\r\n", b"PI"])
@pytest.mark.parametrize("later", [False, True])
def test_nothing_in_clear_stands_between_info_and_tls(wire, info, behind, later):
    w = wire("tls://a")
    w.connection.transport_up(0.0)
    w.told()
    if later:
        w.feed(info(tls_required=True)).feed(behind)
    else:
        w.feed(info(tls_required=True) + behind)
    *_, hang_up, failed, closed = w.told()

    assert isinstance(hang_up, HangUp)
    assert failed.detail is closed.error
    assert isinstance(closed.error, RemoteProtocolError)
    assert b"" == w.out()


def test_a_server_that_was_down_at_the_first_connect_is_dialled_later(wire):
    w = wire("nats://a:1", "nats://b:2")
    w.down()
    w.up().down().redial()

    assert "a" == w.connection.server.host


def test_a_lame_server_is_dialled_again_when_the_others_are_dead(wire, info):
    w = wire("nats://a:1", "nats://b:2").up()
    w.feed(info(ldm=True))
    hosts = set()
    for _ in range(4):
        hosts.add(w.redial().connection.server.host)
        w.down()

    assert {"a", "b"} == hosts


def test_a_lame_duck_notice_in_the_handshake_is_told_behind_connected_and_acted_upon(wire, info):
    w = wire("nats://a:1", "nats://b:2").greet()
    w.told()
    w.feed(info(ldm=True) + b"PONG\r\n")

    assert ["Connected", "LameDuck", "HangUp", "Disconnected", "Dial"] == w.kinds()
    assert "b" == w.connection.server.host


def test_messages_around_a_lame_duck_notice_are_delivered_before_the_move(wire, info):
    w = wire("nats://a:1", "nats://b:2").up()
    sub = w.open(Subscription("a"))
    w.feed(b"MSG a 2 1\r\n1\r\n" + info(ldm=True) + b"MSG a 2 1\r\n2\r\n")

    assert [b"1", b"2"] == [each.payload for each in w.connection.take_all(sub, w.now)]
    assert LinkState.DIALING is w.connection.state


def test_connect_says_that_tls_stands_also_with_credentials_that_were_asked_for(wire, info):
    w = wire("tls://a", ask_for_credentials=True)
    w.connection.transport_up(0.0)
    w.feed(info(tls_required=True))
    w.connection.transport_up(0.0)
    w.connection.authenticate(Auth(user="u"), 0.0)

    assert b'"tls_required":true' in w.out()


def test_missing_credentials_are_not_asked_for_once_for_each_server_B169(wire, info):
    w = wire("nats://a", "nats://b", ask_for_credentials=True)
    w.connection.transport_up(0.0)
    w.feed(info())
    w.told()
    cause = FileNotFoundError("x.creds")
    w.connection.authentication_failed(cause, w.now)
    hang_up, closed = w.told()

    assert isinstance(hang_up, HangUp)
    assert cause is closed.error.__cause__


def test_credentials_that_go_missing_later_are_one_failed_attempt(wire, info):
    w = wire(ask_for_credentials=True)
    for _ in range(2):
        w.connection.transport_up(w.now)
        w.feed(info())
        w.connection.authenticate(Auth(), w.now)
        w.feed(b"PONG\r\n").down().redial()
    w.connection.transport_up(w.now)
    w.feed(info())
    w.told()
    w.connection.authentication_failed(FileNotFoundError("x.creds"), w.now)

    assert ["HangUp", "Notice"] == w.kinds()
    assert "Dial" in w.redial().kinds()


@pytest.mark.parametrize("how", ["dialling", "greeted", "checking"])
def test_reconnect_lets_an_attempt_go_on(wire, how):
    w = wire()
    if how != "dialling":
        w.connection.transport_up(0.0)
    if how == "checking":
        w.greet()
    w.told()
    w.connection.reconnect(w.now)

    assert [] == w.told()


def test_reconnect_while_waiting_dials_at_once_and_keeps_the_pace_afterwards(wire):
    w = wire(reconnect_wait=4.0).up()
    w.down()
    w.told()
    w.connection.reconnect(w.now)

    assert ["Dial"] == w.kinds()

    w.down()

    assert 4.0 <= w.connection.next_deadline()


def test_what_was_opened_before_a_first_connect_that_fails_ends_with_its_error(wire):
    w = wire()
    opened = [w.open(each) for each in (Subscription("a"), request("b"), Flush(), Puller())]
    w.send(Publish("c", b"kept"))
    for each in opened:
        assert NEED_DATA is w.take(each)
    w.told()
    w.down(OSError("refused"))
    events = w.all_told()
    closed = events[-1]

    assert opened == [event.conversation for event in events if isinstance(event, Ready)]
    for each in opened:
        with pytest.raises(ConnectFailed, match="refused"):
            w.take(each)
    assert isinstance(closed, Closed)
    assert NoticeKind.UNSENT is events[-2].kind


STATES = [
    "WAITING",
    "DIALING",
    "GREETED",
    "UPGRADING",
    "ASKING",
    "CHECKING",
    "UP",
    "CLOSING",
    "CLOSED",
]


def in_state(wire, info, name):
    """A connection with a subscription, an open request and a flush, in one of its states; events
    are read.
    """
    w = wire(
        "nats://a",
        ask_for_credentials=name == "ASKING",
        tls=Tls.REQUIRED if name == "UPGRADING" else Tls.IF_ASKED,
    )
    w.opened = [w.open(Subscription("a")), w.open(request("b")), w.open(Flush())]
    if name not in ("DIALING", "WAITING"):
        w.connection.transport_up(0.0)
    if name in ("UPGRADING", "ASKING", "CHECKING"):
        w.feed(info(tls_required=name == "UPGRADING"))
    if name in ("WAITING", "UP", "CLOSING", "CLOSED"):
        w.up()
    if name == "WAITING":
        w.down()
    if name in ("CLOSING", "CLOSED"):
        w.close()
    if name == "CLOSED":
        w.close()

    assert LinkState[name] is w.connection.state

    for each in w.opened:
        if not each.ended:
            w.take(each)
    w.told()
    return w


@pytest.mark.parametrize("name", STATES)
def test_close_works_in_every_state_and_hangs_up_what_is_open_once(wire, info, name):
    w = in_state(wire, info, name)
    open_before = w.connection.state in OPEN or name == "DIALING"
    waiting = [each for each in w.opened if not each.ended]
    w.close()
    events = w.all_told() + w.at(10.0).all_told()
    kinds = [type(event) for event in events]

    assert waiting == [event.conversation for event in events if isinstance(event, Ready)]
    assert int(open_before) == kinds.count(HangUp)
    assert int(name != "CLOSED") == kinds.count(Closed)
    assert name == "CLOSED" or kinds[-1] is Closed
    assert Disconnected not in kinds
    assert w.connection.next_deadline() is None


@pytest.mark.parametrize("wish", list(StopMode))
@pytest.mark.parametrize("name", STATES)
def test_a_drain_ends_in_time_in_every_state(wire, info, name, wish):
    w = in_state(wire, info, name)
    w.tell(None, wish)
    w.tell(None, wish)
    w.at(100.0)
    kinds = w.kinds()

    assert w.connection.closed
    assert int(name != "CLOSED") == kinds.count("Closed")
    assert w.connection.next_deadline() is None
    assert all(each.ended for each in w.opened)


def test_closing_in_the_handshake_sends_no_credentials(wire, info):
    w = wire(auth=Auth(user="u", password="p"))
    w.connection.transport_up(0.0)
    w.feed(info())
    w.close()

    assert b"" == w.out()


def test_no_keepalive_stands_between_close_and_its_fence(wire):
    w = wire(ping_interval=1.0, close_timeout=60.0).up()
    w.close()
    w.out()
    w.at(30.0)

    assert b"" == w.out()


def test_a_drain_does_not_wait_for_the_end_of_a_request_whose_answer_was_read(wire):
    w = wire().up()
    flush = w.open(Flush())
    w.tell(None, StopMode.DRAIN).feed(b"PONG\r\n")

    assert LinkState.UP is w.connection.state

    w.take(flush)

    assert LinkState.CLOSING is w.connection.state


def test_a_drain_does_not_wait_for_a_reader_who_has_gone(wire):
    w = wire().up()
    sub = w.open(Subscription("a"))
    w.feed(b"MSG a 2 1\r\n1\r\n")
    w.tell(None, StopMode.DRAIN).feed(b"PONG\r\n")

    assert LinkState.UP is w.connection.state

    w.close(sub)

    assert LinkState.CLOSING is w.connection.state


def test_an_unknown_refusal_does_not_explain_an_end_after_other_words(wire):
    w = wire().up()
    w.feed(b"-ERR 'Some New Error'\r\n").feed(b"PING\r\n").down(ConnectionResetError("reset"))
    lost = next(event for event in w.told() if isinstance(event, Disconnected))

    assert "reset" in str(lost.error)


def test_what_was_kept_and_is_too_large_for_the_server_is_left_out_and_told_B185(wire, info):
    w = wire()
    for size in (10, 200, 20):
        assert w.send(Publish("p", bytes(size)))
    w.greet(max_payload=100).told()
    w.feed(b"PONG\r\n")

    assert b"PUB p 10\r\n" + bytes(10) + b"\r\nPUB p 20\r\n" + bytes(20) + b"\r\n" == w.out()
    assert [(NoticeKind.UNSENT, 213)] == [
        (each.kind, each.detail) for each in w.told() if isinstance(each, Notice)
    ]


@pytest.mark.parametrize("up", [False, True])
def test_what_is_refused_in_open_leaves_nothing_behind(wire, up):
    class Wrong(Conversation[int]):
        def opened(self, now):
            self.port.subscribe("good")
            self.port.subscribe("b d")

    w = wire()
    if up:
        w.up()
    with pytest.raises(InvalidSubject):
        w.open(Wrong())

    assert 0 == w.connection.conversations
    assert b"" == w.out()

    w.up()

    assert b"" == w.out()


def test_the_fence_of_a_conversation_closed_meanwhile_is_nobodys(wire):
    w = wire().up()
    first, second = w.open(Flush()), w.open(Flush())
    w.close(first)
    w.out()
    w.feed(b"PONG\r\n")

    assert not second.ended

    w.feed(b"PONG\r\n")

    assert second.ended
    assert second.error is None


def test_a_large_backlog_is_restored_in_order_behind_all_subscriptions(wire):
    w = wire().up()
    subs = [w.open(Subscription(f"s.{number}")) for number in range(50)]
    w.down()
    for number in range(2000):
        assert w.send(Publish("p", b"%d" % number))
    w.redial().up()
    lines = w.lines()

    assert [f"SUB s.{number} {sub.port.sid}" for number, sub in enumerate(subs)] == lines[:50]
    assert [str(number) for number in range(2000)] == lines[51::2]


def test_what_is_kept_and_no_publish_announces_nothing():
    assert 0 == announced(b"PING\r\n")
    assert 5 == announced(b"HPUB a r 3 5\r\n12345\r\n")


# ---------------------------------------------------------------------------------------------- procedures


def stubborn():
    while True:
        try:
            yield Call("svc")
        except JsprotoError:
            continue


def test_a_procedure_that_will_not_end_is_ended_and_sends_nothing_on_its_way(wire):
    w = wire().up()
    asked = w.open(Procedure(stubborn))
    w.out()
    w.close(asked)

    assert b"" == w.out()
    assert asked.ended
    with pytest.raises(ConnectionClosed):
        w.take(asked)

    twin = Procedure(stubborn)
    twin.restore(asked.snapshot())

    assert asked.snapshot() == twin.snapshot()


def test_a_procedure_that_never_waits_has_one_step_in_each_tick(wire):
    steps = []

    def restless():
        while True:
            steps.append((yield Sleep(0.0)))

    w = wire().up()
    w.open(Procedure(restless))
    for count in (1, 2):
        assert w.now == w.connection.next_deadline()

        w.connection.handle_tick(w.now)

        assert count == len(steps)


def test_a_bug_in_a_procedure_reaches_who_asked_and_nobody_else(wire):
    def wrong():
        reply = yield Call("svc")
        return {}[reply.payload]

    w = wire().up()
    other = w.open(Subscription("a"))
    asked = w.open(Procedure(wrong))
    reply = next(line.split()[2] for line in w.lines() if line.startswith("PUB svc"))
    w.feed(f"MSG {reply} 1 1\r\na\r\nMSG a 2 1\r\nx\r\n".encode())

    with pytest.raises(LocalProtocolError, match="KeyError") as raised:
        w.take(asked)
    assert isinstance(raised.value.__cause__, KeyError)
    assert b"x" == w.take(other).payload


# ---------------------------------------------------------------------------------------------- configuration


@pytest.mark.parametrize(
    "url", ["nats://h:4222/x", "ws://h/#a", "nats://h#f", "nats://u:1/secret@h"]
)
def test_nothing_stands_behind_host_and_port(url):
    with pytest.raises(InvalidConfig) as raised:
        Server.parse(url)

    assert "secret" not in str(raised.value)
    assert Server.parse("ws://h:80/") == Server.parse("ws://h:80")


@pytest.mark.parametrize(
    "made",
    [
        lambda text: Auth(user=text),
        lambda text: Auth(password=text),
        lambda text: Auth(jwt=text),
        lambda text: Server(host="h", token=text),
        lambda text: Options(name=text),
    ],
)
def test_text_that_connect_cant_carry_is_refused_when_it_is_configured(made):
    with pytest.raises(InvalidConfig, match="UTF-8"):
        made("a\ud800")


def test_the_next_server_can_be_named(wire):
    w = wire(
        "nats://a:1", "nats://b:2", "nats://c:3", reconnect_wait=5.0, reconnect_wait_max=5.0
    ).up()
    w.told()
    w.connection.reconnect(w.now, server="nats://c:3")

    assert [event.server.host for event in w.told() if isinstance(event, Dial)] == ["c"]

    w.up().told()
    w.connection.reconnect(
        w.now, server=Server(host="a", port=1)
    )  # though it was dialled a moment ago

    assert [event.server.host for event in w.told() if isinstance(event, Dial)] == ["a"]

    w.up().down()
    w.told()
    w.connection.reconnect(w.now)  # whoever's turn it is

    assert [event.server.host for event in w.told() if isinstance(event, Dial)] != ["a"]


def test_one_that_is_named_while_all_wait_is_dialled_at_once(wire):
    w = wire(
        "nats://a:1", "nats://b:2", reconnect_wait=5.0, reconnect_wait_max=5.0, connect_sweeps=None
    )
    for _ in range(2):
        w.down()
    w.told()

    assert w.connection.state is LinkState.WAITING

    w.connection.reconnect(w.now, server="b:2")

    assert [event.server.host for event in w.told() if isinstance(event, Dial)] == ["b"]


def test_one_that_was_given_up_can_be_named(wire):
    w = wire("nats://a:1", "nats://b:2", max_reconnects=1).up().down()
    w.redial().down().told()
    w.up()
    gave_up = "b" if w.connection.server.host == "a" else "a"
    w.told()
    w.connection.reconnect(w.now, server=gave_up + (":1" if gave_up == "a" else ":2"))

    assert w.connection.server.host == gave_up


@pytest.mark.parametrize("server", ["nats://d:4", Server(host="a", port=2)])
def test_a_server_that_is_not_known_is_refused_and_nothing_is_done(wire, server):
    w = wire("nats://a:1").up()
    w.told()
    with pytest.raises(InvalidConfig, match="expected one of 1 known servers, got"):
        w.connection.reconnect(w.now, server=server)

    assert w.connection.connected
    assert [] == w.told()


def test_waits_that_are_said_one_by_one_are_kept_to_exactly(wire):
    w = wire("nats://a:1", reconnect_waits=[0.5, 2.0], connect_sweeps=None, reconnect_jitter=9.0)
    dialled = []
    for _ in range(4):
        dialled.append(w.now)
        w.down().redial()

    assert dialled == [0.0, 0.5, 2.5, 4.5]


@pytest.mark.parametrize("waits", [[0.0], [1.0, -1.0]])
def test_waits_that_cannot_be_are_refused(wire, waits):
    with pytest.raises(InvalidConfig, match="reconnect_waits > 0"):
        wire(reconnect_waits=waits)


def test_nobody_is_hurried_when_nobody_is_left():
    pool = ServerPool(
        [Server(host="a")],
        entropy=bytes,
        wait=1.0,
        wait_max=1.0,
        jitter=0.0,
        jitter_tls=0.0,
        randomize=False,
    )
    pool.entries[0].spent = True
    pool.retry_now(0.0)

    assert pool.next(0.0) is None


def test_one_that_was_never_opened_can_be_closed(wire):
    w = wire().up()
    sub = Subscription("a")
    w.close(sub)

    assert sub.ended
    assert ENDED is w.take(sub)
    assert b"" == w.out()


def test_restoring_one_that_was_never_opened_leaves_the_others_alone(wire):
    w = wire().up()
    flush = w.open(Flush())
    twin = Flush()
    twin.restore(flush.snapshot())

    assert flush.port.number == twin.port.number
    assert w.open(Flush()).port.number not in (0, flush.port.number)


# ---------------------------------------------------------------------------------------------- sinks


class Sink(Conversation[str]):
    """Publishes what it is offered and hands out what became of that; due a second after each."""

    def __init__(self):
        super().__init__()
        self.items = []
        self.due = None

    def offered(self, item, now):
        if self.port.up:
            self.port.publish(Publish("sink", item))
        self.due = now + 1.0
        return True

    def refused(self, subject, error, now):
        self.items.append(type(error).__name__)

    def ticked(self, now):
        self.due = None

    def take(self, now):
        return self.items.pop(0) if self.items else self.nothing()

    @property
    def readable(self):
        return len(self.items)

    @property
    def deadline(self):
        return self.due


def test_who_waits_for_a_result_is_woken_when_a_put_is_refused_at_once(wire):
    w = wire().up(max_payload=10)
    sink = w.open(Sink())
    w.take(sink)
    w.all_told()

    assert w.connection.put(sink, bytes(20), w.now)
    assert [Ready(sink)] == w.all_told()
    assert "PayloadTooLarge" == w.take(sink)


def test_a_put_is_sent_and_its_deadline_noted(wire):
    w = wire().up()
    sink = w.open(Sink())

    assert w.connection.put(sink, b"x", w.now)
    assert b"PUB sink 1\r\nx\r\n" == w.out()
    assert w.now + 1.0 == w.connection.next_deadline()


def test_a_put_to_one_that_was_never_opened_is_nothing_to_the_connection(wire):
    w = wire().up()
    before = w.connection.next_deadline()

    assert w.connection.put(Sink(), b"x", w.now)
    assert before == w.connection.next_deadline()
    assert b"" == w.out()
