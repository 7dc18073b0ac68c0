"""The connection by its bytes and events: handshake, keepalive, loss and return, ends."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jsproto.core.connection.auth import Auth
from jsproto.core.connection.connection import Connection
from jsproto.core.connection.events import (
    Authenticate,
    Closed,
    Connected,
    Dial,
    Disconnected,
    HangUp,
    LameDuck,
    Notice,
    NoticeKind,
    Ready,
    Upgrade,
)
from jsproto.core.connection.link import LinkState
from jsproto.core.connection.options import Options, Tls
from jsproto.core.conversation.conversation import Conversation, StopMode
from jsproto.core.conversation.message import Message
from jsproto.core.conversation.procedure import Procedure, Sleep
from jsproto.core.pubsub.request import Flush, request
from jsproto.core.pubsub.subscription import Subscription
from jsproto.errors import (
    AuthorizationFailed,
    ConnectFailed,
    ConnectionClosed,
    ConversationClosed,
    InvalidSubject,
    LocalProtocolError,
    NoResponders,
    OutboundFull,
    PayloadTooLarge,
    PermissionViolation,
    RemoteProtocolError,
    RequestTimeout,
    ServerError,
    StaleConnection,
    TlsUnavailable,
)
from jsproto.errors import ConnectionLost as LinkLost
from jsproto.signals import ENDED, NEED_DATA
from jsproto.wire.commands import Publish


class Puller(Conversation[str]):
    """Asks once whenever a link is there: the smallest thing that behaves like a pull consumer."""

    def opened(self, now):
        self.port.subscribe()
        if self.port.up:
            self.link_up(now)

    def link_up(self, now):
        self.port.publish(Publish("pull", b"", self.port.token()))


class Single:
    """Something that may be written once."""

    def __init__(self, frame=b"PUB ack 0\r\n\r\n"):
        self._frame = frame
        self.marked = False

    def settle_by(self, write):
        if self.marked:
            return False
        write(self._frame)
        self.marked = True
        return True

    def repeated(self):
        return self.marked


# ---------------------------------------------------------------------------------------------- handshake


def test_the_constructor_asks_to_dial(wire):
    w = wire("nats://a:4222")

    assert ["Dial"] == w.kinds()
    assert w.connection.state is LinkState.DIALING


def test_connect_and_ping_answer_the_info(wire, info):
    w = wire(name="me")
    w.connection.transport_up(0.0)

    assert b"" == w.out()

    w.feed(info())
    connect, ping = w.lines()

    assert ping == "PING"
    members = json.loads(connect.removeprefix("CONNECT "))
    assert members["name"] == "me"
    assert members["headers"] is True
    assert members["no_responders"] is True


def test_only_the_pong_makes_the_link_up(wire):
    w = wire().greet()

    assert not w.connection.connected

    w.told()
    w.feed(b"PONG\r\n")

    assert w.connection.connected
    assert ["Connected"] == w.kinds()


def test_an_info_behind_the_pong_is_the_newest_and_no_new_handshake(wire, info):
    w = wire().greet()
    w.told()
    w.feed(b"PONG\r\n" + info(client_id=7, connect_info=True))
    (event,) = w.told()

    assert isinstance(event, Connected)
    assert event.info.client_id == 7
    assert w.out() == b""


def test_a_fatal_error_in_the_segment_of_the_pong_beats_connected(wire):
    w = wire().greet()
    w.told()
    w.feed(b"PONG\r\n-ERR 'Authorization Violation'\r\n")

    assert "Connected" not in w.kinds()
    assert not w.connection.connected


def test_nothing_happens_until_the_info_is_complete_B127(wire):
    w = wire()
    w.connection.transport_up(0.0)
    w.feed(b'INFO {"server_id":"x",')

    assert b"" == w.out()

    w.feed(b'"max_payload":1}\r\n')

    assert w.out().startswith(b"CONNECT ")


def test_one_deadline_spans_the_whole_attempt_B143(wire, info):
    silent = wire(connect_timeout=2.0)
    silent.connection.transport_up(0.0)
    silent.told()
    silent.at(1.99)

    assert silent.told() == []

    silent.at(2.0)
    hang_up, notice, closed = silent.told()

    assert isinstance(hang_up, HangUp)
    assert notice.kind is NoticeKind.ATTEMPT_FAILED
    assert isinstance(closed.error, ConnectFailed)

    late = wire(connect_timeout=2.0)
    late.connection.transport_up(0.0)
    late.told()
    late.at(1.5).feed(info()).at(2.0)

    assert ["HangUp", "Notice", "Closed"] == late.kinds()


def test_an_end_of_stream_in_the_handshake_tries_the_next_server_B145(wire):
    w = wire("nats://a:1", "nats://b:2").greet()
    w.told()
    w.down()
    notice, dial = w.told()

    assert isinstance(notice.detail, ConnectFailed)
    assert dial.server.host == "b"


def test_a_reconnect_is_verified_like_the_first_connect_B146(wire, info):
    w = wire().up()
    sub = w.open(Subscription("a"))
    w.out()
    w.down()
    w.at(1.0)
    w.send(Publish("b", b"x"))
    w.told()
    w.connection.transport_up(w.now)
    w.feed(info())
    w.out()
    w.feed(b"-ERR 'Authorization Violation'\r\n")

    assert "Connected" not in w.kinds()
    assert b"" == w.out()
    assert not sub.ended


def test_refused_dials_fail_the_first_connect_with_the_reason(wire):
    w = wire()
    w.told()
    w.down(ConnectionRefusedError(111, "refused"))
    notice, closed = w.told()

    assert notice.kind is NoticeKind.ATTEMPT_FAILED
    assert "ConnectionRefusedError" in str(closed.error)
    assert w.connection.closed
    assert w.connection.next_deadline() is None


def test_all_servers_refusing_names_them_all(wire):
    w = wire("nats://a:1", "nats://b:2")
    w.down(OSError("one"))
    w.down(OSError("two"))
    closed = w.told()[-1]

    assert isinstance(closed.error, ConnectFailed)
    assert "one" in str(closed.error)
    assert "two" in str(closed.error)


def test_more_sweeps_go_on_trying(wire):
    w = wire(connect_sweeps=2, reconnect_wait=1.0)
    w.told()
    w.down()

    assert ["Notice"] == w.kinds()

    w.at(1.0)

    assert ["Dial"] == w.kinds()

    w.down()

    assert ["Notice", "Closed"] == w.kinds()


def test_what_went_wrong_again_and_again_is_said_once(wire):
    w = wire(connect_sweeps=3, reconnect_wait=1.0)
    w.down(ConnectFailed("one"))
    for at in (2.0, 6.0):
        w.at(at)
        w.down(ConnectFailed("two"))
    closed = w.told()[-1]

    assert isinstance(closed.error, ConnectFailed)
    assert (1, 1) == (str(closed.error).count("one;"), str(closed.error).count("two"))


# ---------------------------------------------------------------------------------------------- credentials


def test_user_and_password_of_the_url_are_shown(wire):
    w = wire("nats://me:secret@a:4222")
    w.connection.transport_up(0.0)
    w.feed(b'INFO {"auth_required":true}\r\n')
    members = json.loads(w.lines()[0].removeprefix("CONNECT "))

    assert ("me", "secret") == (members["user"], members["pass"])


def test_a_token_beside_a_key_is_sent_too_B172(wire):
    w = wire(auth=Auth(token="t", nkey="U", signature=b"\x00\xfb\xff"))
    w.connection.transport_up(0.0)
    w.feed(b"INFO {}\r\n")
    members = json.loads(w.lines()[0].removeprefix("CONNECT "))

    assert ("t", "U", "APv_") == (members["auth_token"], members["nkey"], members["sig"])


def test_credentials_are_asked_for_with_the_nonce_of_each_info_B170(wire, info):
    w = wire(ask_for_credentials=True)
    w.connection.transport_up(0.0)
    w.told()
    w.feed(info(nonce="n1"))
    (asked,) = w.told()

    assert isinstance(asked, Authenticate)
    assert asked.nonce == "n1"
    assert b"" == w.out()

    w.connection.authenticate(Auth(user="u", password="p", nonce="old"), w.now)

    assert b"" == w.out()

    w.connection.authenticate(Auth(user="u", password="p", nonce="n1"), w.now)

    assert b'"user":"u"' in w.out()

    w.connection.authenticate(Auth(user="v"), w.now)

    assert b"" == w.out()


def test_a_failing_credential_source_ends_the_first_connect_with_its_error_B169(wire, info):
    w = wire(ask_for_credentials=True, connect_sweeps=None)
    w.connection.transport_up(0.0)
    w.feed(info(nonce="n1"))
    w.told()
    cause = FileNotFoundError("x.creds")
    w.connection.authentication_failed(cause, w.now)
    closed = w.told()[-1]

    assert cause is closed.error.__cause__
    assert b"" == w.out()


def test_a_typed_failure_of_the_source_is_kept_as_it_is(wire, info):
    w = wire(ask_for_credentials=True)
    w.connection.transport_up(0.0)
    w.feed(info())
    w.told()
    error = AuthorizationFailed("no key")
    w.connection.authentication_failed(error, w.now)

    assert error is w.told()[-1].error

    w.connection.authentication_failed(error, w.now)

    assert w.told() == []


def test_wrong_credentials_are_one_typed_error(wire):
    w = wire().greet()
    w.told()
    w.feed(b"-ERR 'Authorization Violation'\r\n")
    closed = w.told()[-1]

    assert isinstance(closed.error, AuthorizationFailed)
    assert "Authorization Violation" in str(closed.error)


def test_the_same_server_locking_us_out_twice_is_given_up(wire):
    w = wire(reconnect_wait=1.0).up()
    w.down()
    for _ in range(2):
        w.redial().greet()
        w.feed(b"-ERR 'Authorization Violation'\r\n")
    closed = w.told()[-1]

    assert isinstance(closed, Closed)
    assert isinstance(closed.error, AuthorizationFailed)


def test_expired_credentials_lead_to_a_fresh_attempt_B164(wire, info):
    w = wire(ask_for_credentials=True)
    w.connection.transport_up(0.0)
    w.feed(info(nonce="n1"))
    w.connection.authenticate(Auth(jwt="one"), w.now)
    w.feed(b"PONG\r\n")
    w.told()
    w.at(5.0).feed(b"-ERR 'User Authentication Expired'\r\n")

    assert ["Notice", "HangUp", "Disconnected", "Dial"] == w.kinds()

    w.connection.transport_up(w.now)
    w.feed(info(nonce="n2"))

    assert w.told()[-1].nonce == "n2"


# ---------------------------------------------------------------------------------------------- TLS


@pytest.mark.parametrize(
    ("wish", "offer", "events"),
    [
        (Tls.IF_ASKED, {}, []),
        (Tls.IF_ASKED, {"tls_available": True}, []),
        (Tls.IF_ASKED, {"tls_required": True}, ["Upgrade"]),
        (Tls.IF_OFFERED, {}, []),
        (Tls.IF_OFFERED, {"tls_available": True}, ["Upgrade"]),
        (Tls.IF_OFFERED, {"tls_required": True}, ["Upgrade"]),
        (Tls.REQUIRED, {"tls_available": True}, ["Upgrade"]),
        (Tls.REQUIRED, {"tls_required": True}, ["Upgrade"]),
    ],
)
def test_tls_by_wish_and_offer_B160(wire, info, wish, offer, events):
    w = wire(tls=wish)
    w.connection.transport_up(0.0)
    w.told()
    w.feed(info(**offer))

    assert events == w.kinds()
    assert (b"CONNECT" in w.out()) is (events == [])


def test_tls_wished_but_not_offered_sends_nothing(wire, info):
    w = wire("tls://me:secret@a:4222")
    w.connection.transport_up(0.0)
    w.told()
    w.feed(info())

    assert isinstance(w.told()[-1].error, TlsUnavailable)
    assert b"" == w.out()


def test_connect_follows_the_upgrade(wire, info):
    w = wire()
    w.connection.transport_up(0.0)
    w.told()
    w.feed(info(tls_required=True))
    (upgrade,) = w.told()

    assert isinstance(upgrade, Upgrade)
    assert b"" == w.out()

    w.connection.transport_up(w.now)

    assert b'"tls_required":true' in w.out()


def test_a_gossiped_server_inherits_security_and_user_B157(wire, info):
    w = wire("tls://u:p@a:4222")
    w.connection.transport_up(0.0)
    w.feed(info(tls_required=True, connect_urls=["c:4222"]))
    w.connection.transport_up(0.0)
    w.feed(b"PONG\r\n" + info(connect_urls=["b:4222"]))
    w.out()
    w.told()
    w.down()
    dial = w.told()[-1]

    assert (dial.server.host, dial.server.scheme, dial.server.user) == ("b", "tls", "u")
    assert dial.server.password == "p"
    assert [server.host for server in w.connection.servers] == ["b", "a"]  # c was named in clear


@pytest.mark.parametrize(
    ("words", "hosts"),
    [
        ({"tls": Tls.REQUIRED}, ["a", "10.0.0.2"]),
        ({"tls": Tls.FIRST}, ["a", "b", "10.0.0.2"]),
        ({"tls": Tls.IF_ASKED}, ["a", "b", "10.0.0.2"]),
        ({"tls": Tls.IF_OFFERED}, ["a", "b", "10.0.0.2"]),
    ],
    ids=["required", "first", "if asked", "if offered"],
)
def test_where_tls_was_asked_for_a_server_named_in_clear_is_not_known(wire, info, words, hosts):
    w = wire("nats://a:4222", **words)
    w.connection.transport_up(0.0)
    w.feed(info(tls_required=True, connect_urls=["b:4222", "10.0.0.2:4222"]))

    assert [server.host for server in w.connection.servers] == hosts


# ---------------------------------------------------------------------------------------------- keepalive


def test_a_new_session_starts_with_no_ping_owed_B140(wire):
    w = wire(ping_interval=10.0, max_pings_out=2).up()
    w.at(20.0)

    assert ["PING", "PING"] == w.lines()

    w.told()
    w.at(30.0)
    _hang_up, lost, dial = w.told()

    assert isinstance(lost.error, StaleConnection)
    assert isinstance(dial, Dial)

    w.at(31.0).up()
    w.told()
    w.at(41.0)

    assert ["PING"] == w.lines()

    w.feed(b"PONG\r\n")
    w.at(50.0)

    assert w.told() == []


def test_only_what_comes_in_proves_life_B142(wire):
    w = wire(ping_interval=10.0, max_pings_out=2).up()
    w.told()
    for second in range(1, 30):
        w.at(float(second)).send(Publish("a", b"x"))

    assert 2 == w.out().count(b"PING\r\n")

    w.at(30.0)

    assert "Disconnected" in w.kinds()


def test_input_postpones_the_ping(wire):
    w = wire(ping_interval=10.0).up()
    w.at(6.0).feed(b"+OK\r\n").at(15.9)

    assert b"" == w.out()

    w.at(16.0)

    assert b"PING\r\n" == w.out()


def test_a_ping_is_answered_in_the_step_that_brought_it_B035(wire):
    w = wire().up().feed(b"PING\r\n")

    assert b"PONG\r\n" == w.out()


# ---------------------------------------------------------------------------------------------- core traffic


def test_messages_reach_their_subscription_in_order(wire):
    w = wire().up()
    sub = w.open(Subscription("a.*", queue="q"))

    assert ["SUB a.* q 2"] == w.lines()
    assert NEED_DATA is w.take(sub)

    w.feed(b"MSG a.b 2 1\r\n1\r\nMSG a.c 2 r 1\r\n2\r\n")

    assert [Ready(sub)] == [each for each in w.all_told() if isinstance(each, Ready)]
    first, second = w.connection.take_all(sub, w.now)
    assert (b"1", "a.c", "r") == (first.payload, second.subject, second.reply)
    assert NEED_DATA is w.connection.take_all(sub, w.now)


def test_one_ready_for_a_run_and_none_for_who_does_not_wait(wire):
    w = wire().up()
    w.open(Subscription("a"))
    w.feed(b"MSG a 2 1\r\n1\r\n")

    assert [] == [each for each in w.all_told() if isinstance(each, Ready)]


def test_frames_for_nobody_are_counted_and_told(wire):
    w = wire().up()
    w.told()
    w.feed(b"MSG a 99 1\r\n1\r\nMSG a 99 1\r\n1\r\n")
    (notice,) = w.told()

    assert (NoticeKind.UNKNOWN_SID, 2) == (notice.kind, notice.detail)
    assert w.connection.stats.unknown_sid == 2


def test_requests_share_one_mux_and_their_address_is_their_route_B182(wire):
    w = wire(inbox_prefix="_MY.VERY.LONG_PREFIX").up()
    first = w.open(request("svc", b"1"))
    second = w.open(request("svc", b"2"))
    sub, *pubs = w.lines()

    assert sub.startswith("SUB _MY.VERY.LONG_PREFIX.R.")
    replies = [line.split()[2] for line in pubs if line.startswith("PUB")]
    assert len(set(replies)) == 2

    w.feed(f"MSG {replies[1]} 1 1\r\nb\r\nMSG {replies[0]} 1 1\r\na\r\n".encode())

    assert (b"a", b"b") == (w.take(first).payload, w.take(second).payload)
    assert ENDED is w.take(first)


def test_late_and_foreign_answers_vanish_B184(wire):
    w = wire().up()
    asked = w.open(request("svc", timeout=1.0))
    reply = w.lines()[1].split()[2]
    w.at(1.0)

    with pytest.raises(RequestTimeout):
        w.take(asked)

    w.told()
    w.feed(
        f"MSG {reply} 1 1\r\na\r\nMSG {reply}x 1 1\r\na\r\nMSG {reply[:-1]}99 1 1\r\na\r\n".encode()
    )

    assert 3 == w.connection.stats.unknown_sid
    assert 0 == w.connection.conversations


def test_no_responders_is_typed_and_names_the_subject(wire):
    w = wire().up()
    asked = w.open(request("svc"))
    reply = w.lines()[1].split()[2]
    w.feed(f"HMSG {reply} 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n".encode())

    with pytest.raises(NoResponders, match="svc") as caught:
        w.take(asked)
    assert caught.value.subject == "svc"


def test_a_cancelled_request_leaves_nothing_behind_B184(wire):
    w = wire().up()
    asked = w.open(request("svc"))
    w.close(asked)

    assert 0 == w.connection.conversations
    with pytest.raises(ConnectionClosed):
        w.take(asked)


def test_flush_gives_the_round_trip(wire):
    w = wire().up()
    flush = w.open(Flush())

    assert b"PING\r\n" == w.out()

    w.at(0.25).feed(b"PONG\r\n")

    assert 0.25 == w.take(flush)
    assert ENDED is w.take(flush)


def test_a_flush_of_a_lost_link_fails_B152(wire):
    w = wire().up()
    flush = w.open(Flush())
    w.down()

    with pytest.raises(LinkLost):
        w.take(flush)


def test_a_flush_while_down_stands_behind_what_was_kept(wire):
    w = wire().up()
    w.down()
    w.send(Publish("a", b"1"))
    flush = w.open(Flush())
    w.at(1.0).up()

    assert w.out() == b"PUB a 1\r\n1\r\nPING\r\n"

    w.feed(b"PONG\r\n")

    assert w.take(flush) == 0.0


def test_a_flush_has_a_timeout(wire):
    w = wire().up()
    flush = w.open(Flush(3.0))
    w.at(3.0)

    with pytest.raises(RequestTimeout):
        w.take(flush)


def test_permission_errors_reach_the_command_that_caused_them(wire):
    w = wire().up()
    sub = w.open(Subscription("secret"))
    other = w.open(Subscription("open"))
    asked = w.open(request("secret"))
    w.told()
    w.feed(b"-ERR 'Permissions Violation for Subscription to \"secret\"'\r\n")

    assert not asked.ended
    with pytest.raises(PermissionViolation):
        w.take(sub)
    assert NEED_DATA is w.take(other)

    w.feed(b"-ERR 'Permissions Violation for Publish to \"secret\"'\r\n")

    with pytest.raises(PermissionViolation):
        w.take(asked)
    assert w.connection.connected


def pausing():
    yield Sleep(1.0)


VIOLATION = "-ERR 'Permissions Violation for Subscription to {}'\r\n"


@pytest.mark.parametrize(
    ("text", "refused"),
    [('"a"', "plain"), ('"a" using queue "q"', "queued"), ('"a" (sid "{queued}")', "queued")],
)
def test_only_the_subscription_that_is_refused_ends_though_others_are_on_its_subject(
    wire, text, refused
):
    w = wire().up()
    subs = {
        "plain": w.open(Subscription("a")),
        "queued": w.open(Subscription("a", queue="q")),
        "other": w.open(Subscription("a", queue="r")),
    }
    w.feed(VIOLATION.format(text.format(queued=subs["queued"].port.sid)).encode())

    assert [name for name, each in subs.items() if each.ended] == [refused]
    with pytest.raises(PermissionViolation):
        w.take(subs[refused])


def test_without_the_right_to_hear_answers_a_request_is_an_error_at_once(wire):
    w = wire().up()
    first, second = w.open(request("a")), w.open(request("b", timeout=60.0))
    mux = w.lines()[0].split()[1]

    assert mux.endswith(".*.*")

    w.told()
    w.feed(VIOLATION.format(f'"{mux}"').encode())
    for each in (first, second):
        with pytest.raises(PermissionViolation, match=r"_INBOX"):
            w.take(each)
    (notice,) = w.told()

    assert notice.kind is NoticeKind.SERVER_ERROR

    third = w.open(request("c"))

    assert w.lines() == [f"SUB {mux} 1", f"PUB c {mux[:-3]}3.1 0"], (
        "it is tried again, and refused again"
    )

    w.feed(VIOLATION.format(f'"{mux}"').encode())
    with pytest.raises(PermissionViolation):
        w.take(third)


def test_one_who_waits_for_no_answer_does_not_mind_that_none_can_come(wire):
    w = wire().up()
    sub, flush, pause = w.open(Subscription("a")), w.open(Flush()), w.open(Procedure(pausing))
    w.feed(VIOLATION.format(f'"{pause.port.answers}"').encode())

    assert not any(each.ended for each in (sub, flush, pause))


@pytest.mark.parametrize("text", ["maximum subscriptions exceeded", "Invalid Subject"])
def test_some_refusals_leave_the_link_open_B163(wire, text):
    w = wire().up()
    w.told()
    w.feed(f"-ERR '{text}'\r\n".encode())
    (notice,) = w.told()

    assert notice.kind is NoticeKind.SERVER_ERROR
    assert isinstance(notice.detail, ServerError)
    assert w.connection.connected


def test_an_unknown_refusal_follows_the_fate_of_the_link_B161(wire):
    w = wire().up()
    w.told()
    w.feed(b"-ERR 'Some New Error'\r\n")

    assert ["Notice"] == w.kinds()
    assert w.connection.connected

    w.at(1.0).down()
    lost, dial = w.told()

    assert "Some New Error" in str(lost.error)
    assert isinstance(dial, Dial)


# ---------------------------------------------------------------------------------------------- sending


def test_a_publish_over_the_newest_limit_is_refused_B185(wire, info):
    w = wire().up(max_payload=100)

    with pytest.raises(PayloadTooLarge):
        w.send(Publish("a", bytes(101)))
    assert w.send(Publish("a", bytes(100)))

    w.feed(info(max_payload=200))

    assert w.send(Publish("a", bytes(101)))


def test_a_bad_subject_is_refused_and_changes_nothing(wire):
    w = wire().up()

    with pytest.raises(InvalidSubject):
        w.send(Publish("a b", b""))
    with pytest.raises(InvalidSubject):
        w.open(request("a b"))
    assert b"" == w.out()
    assert 0 == w.connection.conversations


class Asker(Conversation[str]):
    """Asks with whatever it is given, and remembers what was refused."""

    def __init__(self):
        super().__init__()
        self.refusals = []

    def opened(self, now):
        self.port.subscribe()

    def offered(self, item, now):
        self.port.ask("a", item)
        return True

    def refused(self, subject, error, now):
        self.refusals.append((subject, type(error)))


def test_what_is_asked_for_leaves_in_order_with_replies_below_the_own_inbox(wire):
    w = wire().up()
    asker = w.open(Asker())
    w.connection.put(asker, b"1", 0.0)
    w.connection.put(asker, b"2", 0.0)
    stem = asker.port.stem

    assert [
        f"SUB {stem}* {asker.port.sid}",
        f"PUB a {stem}1 1",
        "1",
        f"PUB a {stem}2 1",
        "2",
    ] == w.lines()


class Telling(Conversation[str]):
    """Publishes something whenever something is taken."""

    def opened(self, now):
        self.port.subscribe()

    def take(self, now):
        self.port.publish(Publish("told", b""))
        return "item"


def test_what_is_said_while_something_is_taken_leaves_at_once(wire):
    w = wire().up()
    telling = w.open(Telling())
    w.out()

    assert "item" == w.take(telling)
    assert b"PUB told 0\r\n\r\n" == w.out()


class Never:
    """Something that may not be written, and was not written before either."""

    def settle_by(self, write):
        return False

    def repeated(self):
        return False


def test_what_may_not_be_written_and_never_was_is_no_repetition(wire):
    w = wire().up()
    w.told()

    assert not w.connection.settle(Never(), 0.0)
    assert (b"", []) == (w.out(), w.told())


class Greedy(Conversation[str]):
    """Asks when something is taken, and wants an answer within a second."""

    def __init__(self):
        super().__init__()
        self.asked = None

    def opened(self, now):
        self.port.subscribe()

    def take(self, now):
        self.asked = now
        self.port.ask("a", b"")
        return "item"

    @property
    def deadline(self):
        return None if self.asked is None else self.asked + 1.0


def test_what_is_asked_for_while_something_is_taken_has_its_deadline_noted(wire):
    w = wire(ping_interval=100.0).up()
    greedy = w.open(Greedy())
    w.out()
    before = w.connection.next_deadline()
    w.take(greedy)

    assert b"PUB a " in w.out()
    assert w.connection.next_deadline() == w.now + 1.0 < before


def test_what_is_asked_for_and_too_large_is_refused_to_the_conversation(wire):
    w = wire().up(max_payload=2)
    asker = w.open(Asker())
    w.out()
    w.connection.put(asker, b"123", 0.0)

    assert [("a", PayloadTooLarge)] == asker.refusals
    assert b"" == w.out()


def test_what_was_asked_for_dies_with_its_link(wire):
    w = wire().up()
    asker = w.open(Asker())
    w.out()
    w.connection.put(asker, b"1", 0.0)
    w.connection.transport_down(None, 0.0)
    w.redial().greet().feed(b"PONG\r\n")

    assert b"PUB" not in w.out()


def test_a_request_too_large_is_refused_when_it_is_opened(wire):
    w = wire().up(max_payload=10)

    with pytest.raises(PayloadTooLarge):
        w.open(request("a", bytes(11)))
    assert 0 == w.connection.conversations


def test_send_says_full_above_high_water_and_ready_below_low(wire):
    w = wire(outbound_high=100, outbound_low=10).up()
    w.all_told()

    assert w.send(Publish("a", bytes(100)))
    assert not w.send(Publish("a", bytes(1)))
    assert w.connection.write_blocked

    unsent = len(w.out())
    w.connection.transport_unsent(unsent, w.now)

    assert w.all_told() == []

    w.connection.transport_unsent(5, w.now)

    assert [Ready(None)] == w.all_told()
    assert not w.connection.write_blocked


def test_what_is_published_while_down_goes_out_once_behind_the_subscriptions_B149(wire):
    w = wire().up()
    w.down()
    w.open(Subscription("a"))
    w.send(Publish("b", b"x"))

    assert b"" == w.out()

    w.at(1.0).up()

    assert ["SUB a 2", "PUB b 1", "x"] == w.lines()


def test_what_was_not_handed_over_survives_the_link_and_what_belongs_to_it_does_not(wire):
    w = wire().up()
    w.send(Publish("a", b"1"))
    w.open(request("svc", b"ask"))
    w.connection.settle(Single(), w.now)
    w.send(Publish("a", b"2"))
    w.down()
    w.at(1.0).up()
    text = w.out()

    assert text.index(b"PUB a 1\r\n1") < text.index(b"PUB ack") < text.index(b"PUB a 1\r\n2")
    assert b"svc" not in text


def test_the_backlog_is_bounded_and_ready_again_with_the_link(wire):
    w = wire(max_backlog=20).up()
    w.down()
    w.all_told()

    assert w.send(Publish("a", b"12345"))
    assert not w.send(Publish("a", b"12345"))
    with pytest.raises(OutboundFull):
        w.connection.settle(Single(), w.now)

    w.at(1.0).up()

    assert Ready(None) in w.all_told()


def test_settle_writes_once(wire):
    w = wire().up()
    once = Single()

    assert w.connection.settle(once, w.now)
    assert not w.connection.settle(once, w.now)
    assert [(each.kind, each.detail) for each in w.told() if isinstance(each, Notice)] == [
        (NoticeKind.REPEATED, once)
    ]
    assert 1 == w.out().count(b"PUB ack")


# ---------------------------------------------------------------------------------------------- loss and return


def test_the_first_pull_is_in_the_same_bytes_as_the_subscriptions_on_a_fresh_inbox_B007(wire):
    w = wire().up()
    w.open(Puller())
    before = w.lines()
    w.open(Subscription("core"))
    w.out()
    w.down()
    w.at(1.0).up()
    after = w.lines()

    assert [line.split()[0] for line in after] == ["SUB", "SUB", "PUB"]
    assert before[0].split()[1] != after[0].split()[1]
    inbox = after[0].split()[1].removesuffix("*")
    assert after[2].split()[2].startswith(inbox)
    assert not before[1].split()[2].startswith(inbox)


def test_a_limited_subscription_comes_back_with_its_remainder_B148(wire):
    w = wire().up()
    sub = w.open(Subscription("a", limit=5))

    assert ["SUB a 2", "UNSUB 2 5"] == w.lines()

    w.feed(b"MSG a 2 1\r\n1\r\nMSG a 2 1\r\n2\r\n").down().at(1.0).up()

    assert ["SUB a 2", "UNSUB 2 3"] == w.lines()

    w.feed(b"MSG a 2 1\r\n1\r\n" * 3).down().at(2.0).up()

    assert [] == w.lines()
    assert 5 == len(w.connection.take_all(sub, w.now))
    assert ENDED is w.take(sub)


def test_unsubscribing_while_down_only_edits_the_table_B151(wire):
    w = wire().up()
    first = w.open(Subscription("a"))
    w.open(Subscription("b"))
    w.out()
    w.down()
    w.close(first)
    w.open(Subscription("c"))
    w.at(1.0).up()

    assert ["SUB b 3", "SUB c 4"] == w.lines()


def test_ending_one_leaves_the_others_B032(wire):
    w = wire().up()
    first, second = w.open(Puller()), w.open(Puller())
    w.out()
    w.close(first)

    assert [f"UNSUB {first.port.sid}"] == w.lines()

    w.down().at(1.0).up()

    assert ["SUB", "PUB"] == [line.split()[0] for line in w.lines()]
    assert not second.ended


def test_attempts_at_one_server_keep_their_distance_B154(wire):
    w = wire("nats://a:1", "nats://b:2", reconnect_wait=2.0, reconnect_wait_max=2.0).up()
    w.at(10.0).down()
    dials: dict[str, list[float]] = {}
    while w.now < 30.0:
        for event in w.told():
            if isinstance(event, Dial):
                dials.setdefault(event.server.host, []).append(w.now)
                w.down(OSError("refused"))
        w.at(w.connection.next_deadline() or w.now)

    assert 10.0 == min(dials["a"] + dials["b"])
    for times in dials.values():
        assert len(times) > 3
        assert all(late - early >= 2.0 for early, late in itertools.pairwise(times))


def test_waits_grow_and_are_jittered_from_entropy(wire):
    def dials(entropy):
        w = wire(
            reconnect_wait=1.0, reconnect_wait_max=4.0, reconnect_jitter=0.5, entropy=entropy
        ).up()
        w.told()
        w.at(100.0).down()
        times = []
        while len(times) < 5:
            for event in w.told():
                if isinstance(event, Dial):
                    times.append(w.now)
                    w.down()
            w.at(w.connection.next_deadline() or w.now)
        return times

    plain = dials(bytes)
    jittered = dials(lambda count: b"\xff" * count)

    assert [100.0, 101.0, 103.0, 107.0, 111.0] == plain
    assert jittered != plain
    assert all(0 <= late - early for early, late in zip(plain, jittered, strict=True))


def test_too_many_attempts_in_a_row_give_up(wire):
    w = wire(max_reconnects=2, reconnect_wait=1.0).up()
    w.down()
    while not w.connection.closed:
        w.redial().down()
    closed = w.told()[-1]

    assert isinstance(closed.error, ConnectFailed)


def test_a_lame_duck_is_left_for_another_B158(wire, info):
    w = wire().up(connect_urls=["b:4222"])
    sub = w.open(Subscription("a"))
    w.told()
    w.feed(info(ldm=True, connect_urls=["b:4222"]) + b"MSG a 2 1\r\n1\r\nMSG a 2 1\r\n2\r\n")
    duck, hang_up, lost, dial = w.told()

    assert isinstance(duck, LameDuck)
    assert isinstance(hang_up, HangUp)
    assert isinstance(lost, Disconnected)
    assert dial.server.host == "b"
    assert 2 == len(w.connection.take_all(sub, w.now))


def test_a_lame_duck_is_told_once_and_kept_when_there_is_no_other_B137(wire, info):
    w = wire().up()
    w.told()
    w.feed(info(ldm=True) + info(ldm=True))

    assert ["LameDuck"] == w.kinds()
    assert w.connection.connected


def test_gossip_adds_prunes_and_tells(wire, info):
    w = wire().up()
    w.told()
    w.feed(info(connect_urls=["[2001:db8::1]:4222", "10.0.0.2:4222", "[::ffff:10.0.0.3]:4222"]))
    (notice,) = w.told()

    assert notice.kind is NoticeKind.POOL_CHANGED
    assert ("2001:db8::1", 4222) == notice.detail.added[0].address
    assert 4 == len(w.connection.servers)

    w.feed(info(connect_urls=["10.0.0.2:4222"]))
    (notice,) = w.told()

    assert 2 == len(notice.detail.removed)
    assert 2 == len(w.connection.servers)


def test_gossip_can_be_ignored_and_is_capped(wire, info):
    deaf = wire(ignore_gossip=True).up(connect_urls=["b:1"])

    assert 1 == len(deaf.connection.servers)

    many = wire().up()
    many.told()
    many.feed(info(connect_urls=[f"h{n}:1" for n in range(300)]))
    changed, truncated = many.told()

    assert 256 == len(changed.detail.added)
    assert (NoticeKind.POOL_TRUNCATED, 44) == (truncated.kind, truncated.detail)


def test_reconnect_leaves_and_dials_again(wire):
    w = wire().up()
    w.told()
    w.at(1.0)
    w.connection.reconnect(w.now)

    assert ["HangUp", "Disconnected", "Dial"] == w.kinds()


def test_garbage_is_one_typed_error_and_a_new_attempt(wire):
    w = wire().up()
    w.told()
    w.at(1.0).feed(b"\x00\x01garbage\r\nPING\r\n")
    _hang_up, lost, _dial = w.told()

    assert isinstance(lost.error, RemoteProtocolError)
    assert b"" == w.out()


def test_a_request_sent_over_a_lost_link_fails_and_one_not_sent_waits_for_the_next(wire):
    w = wire().up()
    sent = w.open(request("svc"))
    w.down()

    with pytest.raises(LinkLost):
        w.take(sent)

    waiting = w.open(request("svc"))
    w.at(1.0).up()

    assert any(line.startswith("PUB svc ") for line in w.lines())
    assert NEED_DATA is w.take(waiting)


# ---------------------------------------------------------------------------------------------- ends


def test_close_ends_everybody_at_once_then_waits_behind_a_fence_B188_B218(wire):
    w = wire(close_timeout=0.5).up()
    asked = w.open(request("svc", timeout=60.0))
    sub = w.open(Subscription("a"))
    w.send(Publish("a", b"x"))
    w.out()
    w.told()
    w.close()

    assert w.out().endswith(b"PING\r\n")
    with pytest.raises(ConnectionClosed):
        w.take(asked)
    with pytest.raises(ConnectionClosed):
        w.take(sub)
    assert w.told() == []

    w.feed(b"PONG\r\n")

    assert ["HangUp", "Closed"] == w.kinds()
    assert w.connection.next_deadline() is None


def test_close_does_not_wait_for_a_silent_server(wire):
    w = wire(close_timeout=0.5).up()
    w.told()
    w.close().at(0.5)

    assert ["HangUp", "Closed"] == w.kinds()


def test_a_second_close_cuts(wire):
    w = wire().up()
    w.told()
    w.close().close().close()

    assert ["HangUp", "Closed"] == w.kinds()


def test_a_peer_that_asks_and_reads_nothing_gets_64_answers_and_one_when_it_reads_again(wire):
    w = wire(outbound_low=100).up()
    w.connection.transport_unsent(101, w.now)
    w.feed(b"PING\r\n" * 5000)

    assert b"PONG\r\n" * 64 == w.out()
    assert (5000, True) == (w.connection.stats.pings_in, w.connection.clogged)

    w.connection.transport_unsent(101, w.now)

    assert b"" == w.out()

    w.connection.transport_unsent(100, w.now)

    assert b"PONG\r\n" == w.out()

    w.connection.transport_unsent(0, w.now)
    w.feed(b"PING\r\n" * 100)

    assert b"PONG\r\n" * 100 == w.out()


def test_a_few_pings_of_a_slow_peer_are_answered_at_once_and_once(wire):
    w = wire(outbound_low=100).up()
    w.connection.transport_unsent(101, w.now)
    w.feed(b"PING\r\n" * 3)

    assert b"PONG\r\n" * 3 == w.out()

    w.connection.transport_unsent(0, w.now)

    assert b"" == w.out()


def test_an_answer_that_is_owed_is_not_owed_to_the_next_link(wire):
    w = wire(outbound_low=100).up()
    w.connection.transport_unsent(101, w.now)
    w.feed(b"PING\r\n" * 100)
    w.out()
    w.down().redial().up()
    w.out()
    w.connection.transport_unsent(0, w.now)

    assert b"" == w.out()


def test_what_the_transport_held_when_the_link_ended_is_told(wire):
    w = wire().up()
    w.told()
    w.connection.transport_unsent(30, w.now)
    w.connection.transport_unsent(20, w.now)
    w.connection.transport_down(None, w.now)

    assert [(NoticeKind.UNSENT, 20)] == [
        (each.kind, each.detail) for each in w.told() if isinstance(each, Notice)
    ]

    w.redial().up().told()
    w.connection.transport_down(None, w.now)

    assert ["Disconnected"] == w.kinds()


@pytest.mark.parametrize("end", ["lost", "silent"])
def test_what_the_transport_held_when_the_connection_was_closed_is_told(wire, end):
    w = wire(close_timeout=0.5).up()
    w.told()
    w.connection.transport_unsent(20, w.now)
    w.close()
    if end == "lost":
        w.connection.transport_down(None, w.now)
    else:
        w.at(0.5)

    assert [(NoticeKind.UNSENT, 20)] == [
        (each.kind, each.detail) for each in w.told() if isinstance(each, Notice)
    ]


def test_close_while_down_says_what_is_unsent(wire):
    w = wire().up()
    w.down()
    w.send(Publish("a", b"x"))
    w.told()
    w.close()
    unsent, closed = w.told()

    assert (NoticeKind.UNSENT, 12) == (unsent.kind, unsent.detail)
    assert closed.error is None


def test_after_the_end_the_verbs_refuse_and_nothing_comes_out(wire):
    w = wire().up()
    w.close().feed(b"PONG\r\n")
    w.told()
    w.out()

    with pytest.raises(ConversationClosed):
        w.open(Subscription("a"))
    with pytest.raises(ConversationClosed):
        w.send(Publish("a", b""))
    with pytest.raises(ConversationClosed):
        w.connection.settle(Single(), w.now)
    w.feed(b"PING\r\n").down().at(1000.0)
    w.connection.transport_up(w.now)
    w.connection.reconnect(w.now)
    w.tell(None, StopMode.DRAIN).close()
    assert b"" == w.out()
    assert [] == w.told()


def test_a_conversation_is_opened_once(wire):
    w = wire().up()
    sub = w.open(Subscription("a"))

    with pytest.raises(ConversationClosed):
        w.open(sub)


def test_a_drained_subscription_ends_behind_its_fence_B211(wire):
    w = wire().up()
    sub = w.open(Subscription("a"))
    w.out()
    w.tell(sub, StopMode.DRAIN)

    assert b"UNSUB 2\r\nPING\r\n" == w.out()

    w.feed(b"MSG a 2 1\r\n1\r\nPONG\r\n")

    assert b"1" == w.take(sub).payload
    assert ENDED is w.take(sub)


def test_draining_the_connection_serves_the_backlog_first_B022(wire):
    w = wire().up()
    sub = w.open(Subscription("a"))
    w.feed(b"MSG a 2 1\r\n1\r\n")
    w.out()
    w.told()
    w.tell(None, StopMode.DRAIN)

    assert b"UNSUB 2\r\nPING\r\n" == w.out()

    w.feed(b"PONG\r\n")

    assert b"1" == w.take(sub).payload
    assert w.connection.settle(Single(), w.now)
    assert [] == w.told()
    assert ENDED is w.take(sub)
    assert b"PUB ack 0\r\n\r\nPING\r\n" == w.out()

    w.feed(b"PONG\r\n")

    assert ["HangUp", "Closed"] == w.kinds()


def test_a_drain_finishes_open_requests_and_ends_new_feeds(wire):
    w = wire().up()
    asked = w.open(request("svc"))
    reply = w.lines()[1].split()[2]
    w.tell(None, StopMode.DRAIN)
    late = w.open(Subscription("late"))

    assert w.connection.connected

    w.feed(b"PONG\r\n" + f"MSG {reply} 1 1\r\na\r\n".encode())

    assert b"a" == w.take(asked).payload
    assert ENDED is w.take(late)
    assert ENDED is w.take(asked)
    assert LinkState.CLOSING is w.connection.state


def test_a_drain_has_a_limit_B212(wire):
    w = wire(drain_timeout=2.0, close_timeout=0.5).up()
    sub = w.open(Subscription("a"))
    w.feed(b"MSG a 2 1\r\n1\r\n")
    w.told()
    w.tell(None, StopMode.DRAIN)
    w.feed(b"PONG\r\n").at(2.0)
    (notice,) = w.told()

    assert notice.kind is NoticeKind.DRAIN_TIMEOUT

    w.at(2.5)

    assert ["HangUp", "Closed"] == w.kinds()
    assert b"1" == w.take(sub).payload


def test_close_during_a_drain_works_at_once_B212(wire):
    w = wire().up()
    w.open(Subscription("a"))
    w.told()
    w.tell(None, StopMode.DRAIN).close().feed(b"PONG\r\nPONG\r\n")

    assert ["HangUp", "Closed"] == w.kinds()


def test_what_is_counted(wire):
    w = wire(max_reconnects=None).up()
    w.out()
    w.open(Subscription("a", max_messages=2))
    asked = w.open(request("svc", b"?", timeout=5.0))
    w.send(Publish("b", b"xyz"))
    sent = w.out()
    came = (
        b"MSG a 2 1\r\n1\r\nMSG a 2 1\r\n2\r\nMSG a 2 1\r\n3\r\nMSG gone 99 1\r\n4\r\n"
        b"PING\r\n-ERR 'Permissions Violation for Publish to \"b\"'\r\n"
    )
    before = w.connection.stats.bytes_in
    w.feed(came)
    sent += w.out()
    stats = w.connection.stats

    assert (4, 2, 1, 1) == (stats.messages_in, stats.messages_out, stats.dropped, stats.unknown_sid)
    assert (1, 1, 0) == (stats.pings_in, stats.errors, stats.pings_out)
    assert len(came) == stats.bytes_in - before
    assert len(sent) <= stats.bytes_out
    assert (1, 0, 0, 0) == (
        stats.connects,
        stats.reconnects,
        stats.disconnects,
        stats.attempts_failed,
    )

    w.down().redial().down().redial().up()

    assert (2, 1, 1, 1) == (
        stats.connects,
        stats.reconnects,
        stats.disconnects,
        stats.attempts_failed,
    )

    w.close().down()

    assert 1 == stats.disconnects
    assert asked.ended


def test_a_limit_on_a_running_subscription_counts_over_links(wire):
    w = wire().up()
    sub = w.open(Subscription("a"))
    w.feed(b"MSG a 2 1\r\n1\r\nMSG a 2 1\r\n2\r\n")
    w.down().redial().up().out()
    w.feed(b"MSG a 2 1\r\n3\r\n")
    w.connection.limit(sub, 5, w.now)

    assert ["UNSUB 2 3"] == w.lines()  # the server of this link has sent one, and two are to come

    w.feed(b"MSG a 2 1\r\n4\r\n").down().redial().up()

    assert ["SUB a 2", "UNSUB 2 1"] == w.lines()

    w.feed(b"MSG a 2 1\r\n5\r\n")

    assert [b"1", b"2", b"3", b"4", b"5"] == [msg.payload for msg in w.take_all(sub)]
    assert sub.ended
    assert b"" == w.out()


def test_a_limit_set_while_the_link_is_down_is_said_on_the_next(wire):
    w = wire().up()
    sub = w.open(Subscription("a"))
    w.feed(b"MSG a 2 1\r\n1\r\n").down()
    w.connection.limit(sub, 3, w.now)
    w.redial().up()

    assert ["SUB a 2", "UNSUB 2 2"] == w.lines()


def test_what_takes_no_limit_says_so(wire):
    w = wire().up()
    with pytest.raises(LocalProtocolError, match="Flush takes no limit"):
        w.connection.limit(w.open(Flush()), 1, w.now)


@pytest.mark.parametrize("wish", list(StopMode))
def test_a_drain_of_one_subscription_waits_no_longer_than_its_limit_B212(wire, wish):
    w = wire(drain_timeout=2.0).up()
    sub = w.open(Subscription("a"))
    other = w.open(Subscription("b"))
    w.feed(b"MSG a 2 1\r\n1\r\n")
    w.told()
    w.tell(sub, wish).at(1.5).tell(sub, wish).at(1.9)

    assert not sub.ended

    w.at(2.0)
    (notice,) = w.told()

    assert (sub, NoticeKind.DRAIN_TIMEOUT) == (notice.conversation, notice.kind)
    assert [b"1"] == [msg.payload for msg in w.take_all(sub)]
    assert sub.ended

    w.out()
    w.feed(b"PONG\r\nMSG b 3 1\r\nx\r\n").at(60.0)  # the server speaks at last

    assert b"x" == w.take(other).payload
    assert [] == w.told()


@pytest.mark.parametrize("whole", [True, False])
def test_a_drain_waits_for_a_silent_server_for_a_short_while_only(wire, whole):
    w = wire(drain_timeout=30.0, drain_silence=5.0, ping_interval=100.0).up()
    sub = w.open(Subscription("a"))
    w.told()
    w.tell(None if whole else sub, StopMode.DRAIN).at(4.9)

    assert not sub.ended

    w.at(5.0)

    assert sub.ended
    assert [NoticeKind.DRAIN_TIMEOUT] == [
        each.kind for each in w.told() if isinstance(each, Notice)
    ]
    assert (LinkState.CLOSING if whole else LinkState.UP) is w.connection.state


def test_a_server_that_still_speaks_is_waited_for_until_the_drain_has_taken_its_time(wire):
    w = wire(drain_timeout=30.0, drain_silence=5.0, ping_interval=100.0).up()
    sub = w.open(Subscription("a"))
    w.told()
    w.tell(sub, StopMode.DRAIN)
    for second in range(4, 30, 4):
        w.at(float(second)).feed(b"MSG a 2 1\r\n1\r\n")
    w.at(29.9)

    assert 7 == sub.readable
    assert [] == w.told()

    w.at(30.0)

    assert [NoticeKind.DRAIN_TIMEOUT] == [each.kind for each in w.told()]
    assert 7 == len(w.take_all(sub))
    assert sub.ended


class Ticking(Conversation[bytes]):
    """Drains behind a fence, and has something else to do at one moment."""

    def opened(self, now):
        self.ticks = 0

    @property
    def deadline(self):
        return 2.0

    def ticked(self, now):
        self.ticks += 1

    def told(self, wish, now):
        self.port.fence()

    def fenced(self, token, now):
        self.end()


def test_what_is_over_by_the_limit_of_its_drain_is_not_ticked_for_the_same_moment(wire):
    w = wire(drain_timeout=2.0).up()
    ticking = w.open(Ticking())
    w.tell(ticking, StopMode.DRAIN).at(2.0)

    assert (True, 0) == (ticking.ended, ticking.ticks)
    assert w.connection.next_deadline() > 2.0


def test_a_drain_that_the_server_answers_has_no_limit_left(wire):
    w = wire(drain_timeout=2.0).up()
    sub = w.open(Subscription("a"))
    w.told()
    w.tell(sub, StopMode.DRAIN).feed(b"PONG\r\n").at(60.0)

    assert sub.ended
    assert [] == w.told()


def test_a_drain_whose_subscription_is_closed_or_whose_link_is_lost_has_no_limit_left(wire):
    w = wire(drain_timeout=2.0).up()
    first = w.open(Subscription("a"))
    second = w.open(Subscription("b"))
    w.tell(first, StopMode.DRAIN).tell(second, StopMode.DRAIN).close(first).down().redial().up()
    w.told()
    w.at(60.0)

    assert [] == w.told()
    assert second.ended


def test_draining_while_down_closes_without_waiting_B209(wire):
    w = wire().up()
    w.open(Subscription("a"))
    w.down()
    w.told()
    w.tell(None, StopMode.DRAIN)

    assert "Closed" in w.kinds()
    assert b"" == w.out()


def test_an_end_of_stream_while_closing_is_the_end(wire):
    w = wire().up()
    w.told()
    w.close().down()

    assert ["Closed"] == w.kinds()


# ---------------------------------------------------------------------------------------------- time and purity


def test_time_does_not_run_backwards(wire):
    w = wire(ping_interval=10.0).up()
    w.at(9.0)
    w.connection.handle_tick(-5.0)
    w.connection.handle_tick(9.5)

    assert b"" == w.out()

    w.at(10.0)

    assert b"PING\r\n" == w.out()


class Timed(Conversation[float]):
    """Hands out the moment that it is told, and keeps the one at which it was given something."""

    __slots__ = ("said",)

    def offered(self, item, now):
        self.said = now
        return True

    def take(self, now):
        return now


def test_time_does_not_run_backwards_for_who_takes_or_puts(wire):
    w = wire().up()
    timed = w.connection.open(Timed(), 5.0)

    assert w.connection.take(timed, 3.0) == 5.0
    assert w.connection.take(timed, 6.0) == 6.0
    assert w.connection.put(timed, None, 4.0)
    assert timed.said == 6.0


@settings(max_examples=30, deadline=None)
@given(st.lists(st.binary(max_size=60), max_size=20), st.floats(-1e6, 1e6))
def test_any_bytes_at_any_time_raise_nothing_and_are_repeatable(chunks, start):
    def run():
        out = []
        connection = Connection(Options(randomize=False), entropy=bytes, now=start)
        connection.transport_up(start)
        for number, chunk in enumerate(chunks):
            connection.receive_data(chunk, start + number)
            connection.handle_tick(start + number)
            out.append(connection.data_to_send())
            while (event := connection.next_event()) is not None:
                out.append(repr(event))
        return out

    assert run() == run()


# ---------------------------------------------------------------------------------------------- the exchange


class Restless(Conversation[int]):
    """Always due."""

    def __init__(self):
        super().__init__()
        self.ticks = 0

    def ticked(self, now):
        self.ticks += 1

    @property
    def deadline(self):
        return 0.0


class Box(Conversation[int]):
    """Takes one item at a time; says aloud what it was told."""

    def __init__(self):
        super().__init__()
        self.full = False

    def offered(self, item, now):
        if self.full:
            return False
        self.full = True
        return True

    @property
    def room(self):
        return not self.full

    def delivered(self, run, now):
        self.full = False
        self.port.notify(NoticeKind.SLOW_CONSUMER, len(run))

    def opened(self, now):
        self.port.subscribe("box")


def test_who_is_always_due_starves_nobody(wire):
    w = wire().up()
    restless = w.open(Restless())
    flush = w.open(Flush(1.0))
    w.connection.handle_tick(1.0)

    assert flush.ended
    assert restless.ticks >= 1


def test_a_refused_put_is_woken_when_there_is_room(wire):
    w = wire().up()
    box = w.open(Box())
    w.all_told()

    assert w.connection.put(box, 1, w.now)
    assert not w.connection.put(box, 2, w.now)
    assert [] == w.all_told()

    w.feed(b"MSG box 2 1\r\nx\r\n")

    assert [Notice(box, NoticeKind.SLOW_CONSUMER, 1), Ready(box)] == w.all_told()
    assert w.connection.put(box, 3, w.now)


def test_a_refused_put_is_woken_by_the_end(wire):
    w = wire().up()
    box = w.open(Box())
    w.connection.put(box, 1, w.now)
    w.connection.put(box, 2, w.now)
    w.all_told()
    w.close(box)

    assert [Ready(box)] == w.all_told()


def test_nobody_but_a_sink_takes_items(wire):
    w = wire().up()
    sub = w.open(Subscription("a"))

    with pytest.raises(Exception, match="takes no items"):
        w.connection.put(sub, 1, w.now)
    assert not sub.put_blocked


class Moving(Conversation[bytes]):
    """Takes a fresh inbox whenever something comes, and keeps what still comes on the old ones."""

    def __init__(self):
        super().__init__()
        self.came = []

    def opened(self, now):
        self.port.subscribe()

    def delivered(self, run, now):
        self.came += [frame[4] for frame in run]
        self.port.subscribe()


def test_an_old_sid_is_served_until_its_fence(wire):
    w = wire().up()
    moving = w.open(Moving())
    w.out()
    w.feed(b"MSG a 2 1\r\n1\r\n")

    assert ["UNSUB 2", "SUB", "PING"] == [line if line[0] in "UP" else "SUB" for line in w.lines()]

    w.feed(b"MSG a 2 1\r\n2\r\n")

    assert [b"1", b"2"] == moving.came

    w.feed(b"PONG\r\nMSG a 2 1\r\n3\r\n")

    assert [b"1", b"2"] == moving.came
    assert 1 == w.connection.stats.unknown_sid


class Fencing(Conversation[bytes]):
    """Fences twice in one go whenever it is given something, and keeps which of them were answered."""

    def __init__(self):
        super().__init__()
        self.asked = []
        self.answered = []

    def offered(self, item, now):
        self.asked += [self.port.fence(), self.port.fence()]
        return True

    def fenced(self, token, now):
        self.answered.append(token)


def test_each_of_several_fences_in_one_go_is_answered_by_its_own_pong(wire):
    w = wire().up()
    fencing = w.open(Fencing())
    w.connection.put(fencing, "a", w.now)
    w.feed(b"PONG\r\n")
    w.connection.put(fencing, "b", w.now)
    for answered in range(1, 5):
        assert fencing.asked[:answered] == fencing.answered
        w.feed(b"PONG\r\n")

    assert len(set(fencing.asked)) == 4
    assert fencing.asked == fencing.answered


class Late(Conversation[bytes]):
    """Takes an item whenever there is a link."""

    def offered(self, item, now):
        return self.port.up


def test_one_that_is_finished_knows_whether_there_is_a_link_when_it_is_given_something(wire):
    w = wire().up()
    late = w.open(Late())
    w.close(late)
    w.down()

    assert w.connection.put(late, "a", w.now) is False
    w.redial().up()
    assert w.connection.put(late, "a", w.now) is True


def test_a_pong_nobody_waits_for_is_harmless(wire):
    w = wire().up()
    w.told()
    w.feed(b"PONG\r\nPONG\r\n")

    assert [] == w.told()


def test_answers_that_come_behind_the_end_of_the_asker_meet_nobody(wire):
    w = wire().up()
    flush = w.open(Flush())
    w.close(flush)
    w.told()
    w.feed(b"PONG\r\n")

    assert [] == w.told()
    assert b"PING\r\n" == w.out()


def test_inputs_without_a_link_are_harmless(wire):
    w = wire().up()
    w.down()
    w.told()
    w.feed(b"MSG a 2 1\r\n1\r\n").down()
    w.connection.transport_up(w.now)
    w.connection.transport_unsent(0, w.now)
    w.feed(b"")

    assert [] == w.told()
    assert LinkState.WAITING is w.connection.state
    assert w.connection.server.host == "a"


def test_a_sent_conversation_without_deadline_needs_no_tick(wire):
    w = wire().up()
    w.open(Subscription("a"))

    assert w.connection.next_deadline() == 120.0


def test_the_mux_comes_back_with_the_link(wire):
    w = wire().up()
    w.open(request("svc"))
    w.down().at(1.0).up()

    assert [line.split()[0] for line in w.lines()] == ["SUB"]


def test_a_closed_choke_is_woken(wire):
    w = wire(outbound_high=10).up()
    w.send(Publish("a", bytes(20)))
    w.send(Publish("a", b""))
    w.all_told()
    w.close().close()

    assert Ready(None) in w.all_told()


def test_a_segment_may_change_between_subscriptions_and_control_lines(wire):
    w = wire().up()
    one, two = w.open(Subscription("a")), w.open(Subscription("b"))
    w.out()
    w.feed(b"MSG a 2 1\r\n1\r\nMSG b 3 1\r\n2\r\nPING\r\nMSG a 2 1\r\n3\r\n+OK\r\n")

    assert [b"1", b"3"] == [message.payload for message in w.connection.take_all(one, w.now)]
    assert b"2" == w.take(two).payload
    assert b"PONG\r\n" == w.out()


def test_a_typed_reason_of_the_transport_is_kept(wire):
    w = wire()
    w.told()
    w.down(TlsUnavailable("this adapter has none"))

    assert isinstance(w.told()[-1].error, TlsUnavailable)


def test_a_drain_without_a_reader_ends_behind_its_fence(wire):
    w = wire().up()
    w.open(Subscription("a"))
    w.told()
    w.tell(None, StopMode.DRAIN)
    w.out()
    w.feed(b"PONG\r\n")

    assert b"PING\r\n" == w.out()

    w.feed(b"PONG\r\n")

    assert ["HangUp", "Closed"] == w.kinds()


def test_a_link_that_is_lost_while_draining_is_the_end(wire):
    w = wire().up()
    asked = w.open(request("svc"))
    w.told()
    w.tell(None, StopMode.DRAIN).down()

    assert ["Disconnected", "Closed"] == w.kinds()
    with pytest.raises(LinkLost):
        w.take(asked)


def test_a_timeout_can_be_the_last_thing_that_a_drain_waits_for(wire):
    w = wire().up()
    w.open(request("svc", timeout=1.0))
    w.tell(None, StopMode.DRAIN)
    w.out()
    w.at(1.0)

    assert b"PING\r\n" == w.out()


def test_an_ack_while_down_goes_out_with_the_next_link(wire):
    w = wire().up()
    w.down()

    assert w.connection.settle(Single(), w.now)

    w.at(1.0).up()

    assert b"PUB ack 0\r\n\r\n" == w.out()


class Killer(Conversation[int]):
    """Due at once; what ends with it is due at the same moment."""

    def ticked(self, now):
        self.end()

    @property
    def deadline(self):
        return None if self.ended else 1.0


def test_who_ended_meanwhile_is_not_ticked(wire):
    w = wire().up()
    w.open(Killer())
    w.open(Killer())
    w.connection.handle_tick(1.0)

    assert 0 == w.connection.conversations


def test_an_ended_conversation_can_still_be_told_and_taken(wire):
    w = wire().up()
    sub = w.open(Subscription("a"))
    w.close(sub)
    w.out()
    w.tell(sub, StopMode.DRAIN).close(sub)

    assert ENDED is w.take(sub)
    assert b"" == w.out()


class Lingering(Conversation[int]):
    """Ended for the user at once, but never finished; always has a deadline."""

    @property
    def finished(self):
        return False

    @property
    def deadline(self):
        return 7.0


def test_after_the_end_nobody_has_a_deadline_whatever_it_shows(wire):
    w = wire().up()
    lingering = w.open(Lingering())
    w.close().close()
    w.close(lingering)

    assert w.connection.next_deadline() is None
    assert 0 == w.connection.conversations


def test_an_ack_while_closing_still_goes_out(wire):
    w = wire().up()
    w.close()
    w.out()
    once = Single()

    assert w.connection.settle(once, w.now)
    assert not w.connection.settle(once, w.now)
    assert b"PUB ack 0\r\n\r\n" == w.out()


def test_what_is_no_settlement_is_refused_with_a_typed_error():
    connection = Connection(Options(servers=("nats://a:1",)), entropy=bytes, now=0.0)
    with pytest.raises(LocalProtocolError, match=r"expected a message of a consumer.*got Message"):
        connection.settle(Message(("1", "a", "", None, b"")), 0.0)


def test_a_request_that_never_had_a_link_says_that_nothing_was_sent():
    connection = Connection(Options(servers=("nats://a:1",)), entropy=bytes, now=0.0)
    asked = connection.open(request("svc", timeout=0.5), 0.0)
    connection.handle_tick(0.5)

    with pytest.raises(
        RequestTimeout, match=r"expected a link.*within 0.5 s, there was none: nothing was sent"
    ):
        connection.take(asked, 0.5)
