"""Public bug reports of other clients, told to a whole connection: the frames in, what must come
out.
"""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from jsproto.core.connection.auth import Auth
from jsproto.core.connection.events import (
    Closed,
    Dial,
    Disconnected,
    HangUp,
    NoticeKind,
    Ready,
    Upgrade,
)
from jsproto.core.connection.link import OPEN, LinkState
from jsproto.core.conversation.conversation import StopMode
from jsproto.core.pubsub.request import Flush, request
from jsproto.core.pubsub.subscription import Overflow, Subscription
from jsproto.errors import (
    ConnectFailed,
    ConnectionClosed,
    NoResponders,
    PayloadTooLarge,
    RemoteProtocolError,
    RequestTimeout,
    StaleConnection,
)
from jsproto.errors import ConnectionLost as LinkLost
from jsproto.signals import ENDED, NEED_DATA
from jsproto.wire.commands import Publish
from jsproto.wire.headers import Headers


def listening(wire, *subjects, **options):
    """A link that is up, with subscriptions on sids 2, 3 ...; what was sent and told so far is
    dropped.
    """
    w = wire(**options).up()
    subs = [w.open(Subscription(subject)) for subject in subjects]
    w.out()
    w.told()
    return w, *subs


def payloads(w, sub):
    taken = []
    while (item := w.take(sub)) is not NEED_DATA and item is not ENDED:
        taken.append(item.payload)
    return taken


# ---------------------------------------------------------------------------------------------- parser


def test_B124_an_empty_payload_whose_cr_and_lf_come_apart_is_there_with_the_lf(wire):
    w, sub = listening(wire, "foo")
    w.feed(b"MSG foo 2 0\r\n\r")

    assert [] == payloads(w, sub)

    w.feed(b"\n")

    assert [b""] == payloads(w, sub)


STREAM = (
    b"MSG s 2 0\r\n\r\nMSG s 2 1\r\nx\r\nMSG s 2 300\r\n%b\r\n+OK\r\nHMSG s 2 r 12 14\r\nNATS/1.0\r\n\r\nhi\r\nPING\r\n"
    b"-ERR 'maximum subscriptions exceeded'\r\nMSG s 2 4\r\nlast\r\n" % (bytes(range(150, 250)) * 3)
)


def heard(wire, pieces):
    w, sub = listening(wire, "s")
    for piece in pieces:
        w.feed(piece)
    return payloads(w, sub), w.out(), [repr(event) for event in w.told()]


def test_B125_nothing_depends_on_where_the_transport_cuts(wire):
    whole = heard(wire, [STREAM])

    assert [b"", b"x", 300, b"hi", b"last"] == [
        len(each) if len(each) > 9 else each for each in whole[0]
    ]
    assert b"PONG\r\n" == whole[1]
    assert whole == heard(wire, [STREAM[at : at + 1] for at in range(len(STREAM))])
    for at in range(len(STREAM)):
        assert whole == heard(wire, [STREAM[:at], STREAM[at:]])


def test_B127_half_an_info_starts_no_handshake(wire):
    w = wire()
    w.connection.transport_up(0.0)
    w.feed(b'INFO {"server_id":"x",')

    assert LinkState.GREETED is w.connection.state
    assert b"" == w.out()

    w.feed(b'"max_payload":1}\r\n')

    assert LinkState.CHECKING is w.connection.state
    assert 1 == w.connection.info.max_payload


def test_B128_a_status_without_payload_does_not_eat_the_next_frame(wire):
    w, first, second = listening(wire, "a", "b")
    w.feed(b"HMSG a 2 28 28\r\nNATS/1.0 404 No Messages\r\n\r\n\r\nMSG b 3 2\r\nok\r\n")

    assert (404, "No Messages") == tuple(w.take(first).status)
    assert [b"ok"] == payloads(w, second)


def test_B130_runs_of_blanks_and_tabs_separate(wire):
    w, sub = listening(wire, "a")
    asked = w.open(request("svc"))
    reply = next(line.split()[2] for line in w.lines() if line.startswith("PUB"))
    w.feed(f"MSG {reply} 1  3\r\nabc\r\n".encode())
    w.feed(b"MSG\t a  2\tr  3 \r\nabc\r\n")
    message = w.take(sub)

    assert b"abc" == w.take(asked).payload
    assert ("a", "r", b"abc") == (message.subject, message.reply, message.payload)


@pytest.mark.parametrize(
    "line",
    [
        b"MSG a x 3\r\n",
        b"MSG a 2 -3\r\n",
        b"MSG a 2 99999999999999999999\r\n",
        b"MSG a 2\r\n",
        b"MSG a 2 0x10\r\n",
        b"MSG a 2 r s 3\r\n",
        b"HMSG a 2 20 10\r\n",
    ],
)
def test_B131_bad_numbers_end_the_link_once_and_the_next_one_is_dialled(wire, line):
    w, sub = listening(wire, "a")
    w.feed(b"MSG a 2 1\r\nx\r\n" + line).feed(b"MSG a 2 1\r\ny\r\n")
    hang_up, lost = w.told()
    w.redial()

    assert isinstance(hang_up, HangUp)
    assert isinstance(lost.error, RemoteProtocolError)
    assert [b"x"] == payloads(w, sub)
    assert ["Dial"] == w.kinds()


def test_B133_operations_match_without_case(wire):
    w = wire()
    w.connection.transport_up(0.0)
    w.feed(b"info {}\r\n")
    w.out()
    w.feed(b"pong\r\n")
    sub = w.open(Subscription("a"))
    w.told()
    w.out()
    w.feed(b"ping\r\nMsg a 2 1\r\nx\r\n+ok\r\n-err 'Stale Connection'\r\n")
    notice, _, lost = w.told()

    assert [b"x"] == payloads(w, sub)
    assert notice.detail is lost.error
    assert isinstance(lost.error, StaleConnection)


def test_B134_what_follows_ping_pong_and_ok_is_ignored(wire):
    w, _ = listening(wire, "a")
    flush = w.open(Flush())
    w.out()
    w.feed(b"PING x\r\nPONG  \r\n+OK done\r\n")

    assert b"PONG\r\n" == w.out()
    assert flush.ended
    assert w.connection.connected


@pytest.mark.parametrize("line", [b"-ERR 'a'\r\n", b"-ERR a\r\n", b"-ERR 'a\r\n"])
def test_B134_quotes_of_an_error_are_removed(wire, line):
    w, _ = listening(wire, "a")
    w.feed(line)
    (notice,) = w.told()

    assert "server said 'a'" == str(notice.detail)


def test_B136_a_reply_subject_in_two_pieces_is_one(wire):
    w, sub = listening(wire, "subj")
    for piece in (b"MSG subj 2 reply.to", b".me 3\r\na", b"bc\r\n"):
        w.feed(piece)
    message = w.take(sub)

    assert ("subj", "reply.to.me", b"abc") == (message.subject, message.reply, message.payload)


def test_B137_everything_behind_a_lame_duck_notice_is_delivered_before_the_move(wire, info):
    w, sub = listening(wire, "a")
    w.feed(
        info(ldm=True, connect_urls=["b:4222"])
        + b"MSG a 2 1\r\n1\r\nMSG a 2 1\r\n2\r\n-ERR 'Stale Connection'\r\nMSG a 2 1\r\n3\r\n"
    )

    assert [b"1", b"2", b"3"] == payloads(w, sub)
    assert ["Notice", "LameDuck", "Notice", "HangUp", "Disconnected", "Dial"] == w.kinds()


def test_B139_a_payload_is_counted_and_not_read(wire):
    w, sub = listening(wire, "a")
    payload = b"x\r\nPING\r\n-ERR 'y"
    w.feed(b"MSG a 2 %d\r\n" % len(payload) + payload + b"\r\n")

    assert [payload] == payloads(w, sub)
    assert b"" == w.out()

    w.feed(b"MSG a 2 2\r\nabX\r\n")

    assert isinstance(w.told()[-1].error, RemoteProtocolError)


def test_B098_a_message_shows_its_own_subject(wire):
    w, sub = listening(wire, "D.x")
    w.feed(b"MSG orders.new 2 $JS.ACK.S.P.1.1.1.1700000000000000000.0 1\r\na\r\n")

    assert "orders.new" == w.take(sub).subject


# ---------------------------------------------------------------------------------------------- connection


def test_B140_a_link_that_follows_a_stale_one_owes_no_pings(wire):
    w = wire(ping_interval=10.0, max_pings_out=2, reconnect_wait=0.25).up()
    w.told()

    assert b"PING\r\nPING\r\n" == w.at(20.0).out()

    w.at(30.0)

    assert isinstance(w.told()[1].error, StaleConnection)

    w.redial().up()
    start = w.now
    w.told()
    w.out()

    assert b"PING\r\n" == w.at(start + 10.0).out()

    w.feed(b"PONG\r\n").at(start + 19.0)

    assert [] == w.told()


def test_B142_publishing_does_not_postpone_the_keepalive(wire):
    w = wire(ping_interval=10.0, max_pings_out=2).up()
    w.told()
    pings = []
    for second in range(1, 31):
        w.send(Publish("a", b"x"))
        w.at(float(second))
        pings += [second] * w.out().count(b"PING\r\n")

    assert [10, 20] == pings
    assert [HangUp, Disconnected] == [type(event) for event in w.told()[:2]]


@pytest.mark.parametrize("info_at", [None, 1.5])
def test_B143_one_deadline_from_dial_to_pong(wire, info, info_at):
    w = wire(connect_timeout=2.0)
    w.connection.transport_up(0.0)
    w.told()
    if info_at is not None:
        w.at(info_at).feed(info())
    w.at(1.99)

    assert [] == w.told()

    w.at(2.0)
    hang_up, failed, closed = w.told()

    assert isinstance(hang_up, HangUp)
    assert isinstance(failed.detail, ConnectFailed)
    assert isinstance(closed, Closed)


def test_B145_an_end_of_stream_while_connecting_tries_the_next_server(wire, info):
    w = wire("nats://a", "nats://b")
    w.connection.transport_up(0.0)
    w.feed(info())
    w.told()
    w.down()
    failed, dial = w.told()

    assert NoticeKind.ATTEMPT_FAILED is failed.kind
    assert "b" == dial.server.host


def test_B146_nothing_is_replayed_into_a_link_that_refuses_us(wire, info):
    w, _ = listening(wire, "a")
    w.down()
    w.send(Publish("b", b"x"))
    w.redial().connection.transport_up(w.now)
    w.told()
    w.feed(info())
    said = w.lines()
    w.feed(b"-ERR 'Authorization Violation'\r\n")

    assert ["CONNECT", "PING"] == [line.split()[0] for line in said]
    assert b"" == w.out()
    assert "Connected" not in w.kinds()


@pytest.mark.parametrize(("received", "replayed"), [(0, 5), (2, 3), (4, 1), (5, None)])
def test_B148_what_is_left_of_a_limit_comes_back(wire, received, replayed):
    w = wire().up()
    w.open(Subscription("a", limit=5))
    w.feed(b"MSG a 2 1\r\nx\r\n" * received)
    w.down().redial().up()

    assert ([] if replayed is None else ["SUB a 2", f"UNSUB 2 {replayed}"]) == w.lines()


def test_B149_a_subscription_made_while_down_is_sent_once_and_before_what_was_published(wire):
    w = wire().up()
    w.down()
    w.open(Subscription("a"))
    w.send(Publish("b", b"x"))
    w.redial().up()

    assert b"SUB a 2\r\nPUB b 1\r\nx\r\n" == w.out()


def test_B151_an_unsubscribe_that_was_not_sent_yet_dies_with_its_link(wire):
    w, first, _ = listening(wire, "a", "b")
    w.close(first)  # in the outbound buffer when the link goes
    w.down()
    w.open(Subscription("c"))
    w.redial().up()

    assert ["SUB b 3", "SUB c 4"] == w.lines()


def test_B152_a_flush_of_a_lost_link_ends(wire):
    w, _ = listening(wire, "a")
    flush = w.open(Flush())
    w.take(flush)
    w.down()

    assert Ready(flush) in w.all_told()
    with pytest.raises(LinkLost):
        w.take(flush)


def sweeps(wire, entropy):
    """When each of three servers that refuse is dialled, over 20 s."""
    w = wire(
        "nats://a",
        "nats://b",
        "nats://c",
        entropy=entropy,
        reconnect_wait=2.0,
        reconnect_wait_max=2.0,
        reconnect_jitter=0.1,
    ).up()
    w.down()
    dials = []
    while w.now < 20.0:
        dials += [(event.server.host, w.now) for event in w.told() if isinstance(event, Dial)]
        if w.connection.state is LinkState.WAITING:
            w.at(w.connection.next_deadline())
        else:
            w.down()
    return dials


def test_B154_attempts_at_one_server_are_apart_and_no_two_clients_in_step(wire):
    one = sweeps(wire, bytes)
    other = sweeps(wire, lambda count: b"\xc0" * count)
    for host in "abc":
        times = [at for each, at in one if each == host]

        assert all(later - earlier >= 2.0 for earlier, later in pairwise(times))
        assert len(times) > 5
    assert one != other


def test_B155_addresses_of_gossip_are_dialled_without_brackets(wire, info):
    w = wire().up()
    w.feed(info(connect_urls=["[2001:db8::1]:4222", "10.0.0.2:4222", "[::ffff:10.0.0.3]:4222"]))
    w.down()
    dial = w.told()[-1]

    assert 4 == len(w.connection.servers)
    assert ("2001:db8::1", 4222) == dial.server.address
    assert "nats://[2001:db8::1]:4222" == str(dial.server)


def test_B157_a_server_of_gossip_gets_tls_and_user_too(wire, info):
    w = wire("tls://u:p@a:4222")
    w.connection.transport_up(0.0)
    w.feed(info(tls_required=True))
    w.connection.transport_up(0.0)
    w.feed(b"PONG\r\n" + info(connect_urls=["b:4222"]))
    w.down()
    w.connection.transport_up(w.now)
    w.told()
    w.out()
    w.feed(info(tls_available=True))
    (upgrade,) = w.told()

    assert isinstance(upgrade, Upgrade)
    assert b"" == w.out()

    w.connection.transport_up(w.now)

    assert {"user": "u", "pass": "p"}.items() <= json.loads(
        w.lines()[0].removeprefix("CONNECT ")
    ).items()


def test_B158_a_lame_duck_is_left_and_its_subscriptions_come_back_elsewhere(wire, info):
    w, _ = listening(wire, "a")
    w.feed(info(ldm=True, connect_urls=["b:4222"]))

    assert ["Notice", "LameDuck", "HangUp", "Disconnected", "Dial"] == w.kinds()
    assert "b" == w.connection.server.host

    w.up()

    assert ["SUB a 2"] == w.lines()


@pytest.mark.parametrize(
    "text", ["Some New Error", "Stale Connection", "Server Shutdown", "Slow Consumer"]
)
def test_B161_no_error_closes_the_client_for_good(wire, text):
    w = wire().up()
    w.feed(f"-ERR '{text}'\r\n".encode())
    w.down()
    w.redial().up()
    kinds = w.kinds()

    assert "Closed" not in kinds
    assert 2 == kinds.count("Connected")


def test_B163_one_subscription_too_many_costs_only_itself(wire):
    w, sub = listening(wire, "a")
    w.feed(b"-ERR 'maximum subscriptions exceeded'\r\nMSG a 2 1\r\nx\r\n")

    assert ["Notice"] == w.kinds()
    assert [b"x"] == payloads(w, sub)


# ---------------------------------------------------------------------------------------------- authentication


def test_B164_credentials_that_ran_out_are_asked_for_again(wire, info):
    w = wire(ask_for_credentials=True)
    for nonce in ("n1", "n2"):
        w.connection.transport_up(w.now)
        w.feed(info(nonce=nonce))
        asked = w.told()[-1]

        assert nonce == asked.nonce

        w.connection.authenticate(Auth(jwt=f"jwt of {nonce}", nonce=nonce), w.now)

        assert f"jwt of {nonce}" in w.lines()[0]

        w.feed(b"PONG\r\n").feed(b"-ERR 'User Authentication Expired'\r\n").redial()

    assert not w.connection.closed


def test_B170_an_answer_for_the_nonce_of_an_earlier_handshake_is_ignored(wire, info):
    w = wire(ask_for_credentials=True, connect_sweeps=None)
    w.connection.transport_up(0.0)
    w.feed(info(nonce="n1"))
    w.down()
    w.redial().connection.transport_up(w.now)
    w.feed(info(nonce="n2"))
    w.connection.authenticate(Auth(user="u", nonce="n1"), w.now)

    assert b"" == w.out()
    assert LinkState.ASKING is w.connection.state


# ---------------------------------------------------------------------------------------------- requests


def mux(w):
    return next(
        line.split()[1] for line in w.lines() if line.startswith("SUB") and line.endswith(" 1")
    )


def test_B181_two_clients_never_share_a_reply(wire):
    roots = set()
    for first in (1, 2):
        w = wire(inbox_prefix="APP", entropy=lambda count, first=first: bytes([first] * count)).up()
        w.open(request("svc"))
        roots.add(mux(w))

    assert 2 == len(roots)
    assert all(root.startswith("APP.") for root in roots)


def test_B181_a_random_source_that_repeats_itself_makes_no_two_replies_equal(wire):
    w = wire().up()
    for _ in range(100):
        w.open(request("svc"))
    replies = [line.split()[2] for line in w.lines() if line.startswith("PUB")]

    assert 100 == len(set(replies))


@pytest.mark.parametrize("prefix", ["_INBOX", "_MY.VERY.LONG_PREFIX", "p"])
def test_B182_answers_are_found_whatever_the_prefix(wire, prefix):
    w = wire(inbox_prefix=prefix).up()
    asked = w.open(request("svc"))
    reply = next(line.split()[2] for line in w.lines() if line.startswith("PUB"))
    w.feed(f"MSG {reply} 1 2\r\nok\r\n".encode())

    assert reply.startswith(prefix + ".")
    assert b"ok" == w.take(asked).payload


@pytest.mark.parametrize(
    ("first", "error"),
    [
        (lambda w, asked, reply: w.feed(f"MSG {reply} 1 2\r\nok\r\n".encode()), None),
        (
            lambda w, asked, reply: w.feed(
                f"HMSG {reply} 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n".encode()
            ),
            NoResponders,
        ),
        (lambda w, asked, reply: w.at(1.0), RequestTimeout),
        (lambda w, asked, reply: w.close(asked), ConnectionClosed),
        (lambda w, asked, reply: w.down(), LinkLost),
        (lambda w, asked, reply: w.close(), ConnectionClosed),
    ],
)
def test_B184_the_first_end_of_a_request_wins_and_what_comes_later_is_nothing(wire, first, error):
    w = wire().up()
    asked = w.open(request("svc", timeout=1.0))
    reply = next(line.split()[2] for line in w.lines() if line.startswith("PUB"))
    w.take(asked)
    w.told()
    first(w, asked, reply)

    assert 0 == w.connection.conversations

    w.all_told()
    if w.connection.state in OPEN:
        w.feed(f"MSG {reply} 1 4\r\nlate\r\n".encode())
    w.at(0.9).close(asked)

    assert Ready(asked) not in w.all_told()
    if error is None:
        assert b"ok" == w.take(asked).payload
        assert ENDED is w.take(asked)
    else:
        for _ in range(2):
            with pytest.raises(error):
                w.take(asked)


def test_B185_headers_count_and_the_newest_limit_counts(wire, info):
    w = wire().up(max_payload=100)
    headers = Headers([("k", "12")])
    block = len(headers.encode())
    data = bytes(100 - block + 1)
    with pytest.raises(PayloadTooLarge):
        w.send(Publish("a", data, headers=headers))

    assert b"" == w.out()
    assert w.send(Publish("a", bytes(100)))

    w.out()
    w.feed(info(max_payload=200))

    assert w.send(Publish("a", data, headers=headers))
    assert w.out().startswith(b"HPUB a %d 101\r\n" % block)


def test_B188_close_ends_every_request_in_the_same_step(wire):
    w = wire().up()
    asked = [w.open(request("svc", timeout=60.0)) for _ in range(3)]
    for each in asked:
        w.take(each)
    w.told()
    w.close()

    assert [Ready(each) for each in asked] == w.all_told()[:3]
    for each in asked:
        with pytest.raises(ConnectionClosed):
            w.take(each)


# ---------------------------------------------------------------------------------------------- drain and close


def test_B209_a_drain_without_a_link_ends_at_once_and_says_what_is_unsent(wire):
    w, sub = listening(wire, "a")
    w.feed(b"MSG a 2 1\r\nx\r\n").down()
    w.send(Publish("b", b"kept"))
    w.told()
    w.tell(None, StopMode.DRAIN)

    assert not w.connection.closed  # what is at hand is served first
    assert [b"x"] == payloads(w, sub)

    unsent, closed = w.told()

    assert (NoticeKind.UNSENT, len(b"PUB b 4\r\nkept\r\n")) == (unsent.kind, unsent.detail)
    assert isinstance(closed, Closed)
    assert b"" == w.out()


def test_B211_a_drain_has_a_fence_of_its_own_on_a_quiet_link(wire):
    w, sub = listening(wire, "a")
    w.tell(sub, StopMode.DRAIN)

    assert b"UNSUB 2\r\nPING\r\n" == w.out()

    w.feed(b"MSG a 2 1\r\nx\r\n")

    assert not sub.ended

    w.feed(b"PONG\r\n")

    assert [b"x"] == payloads(w, sub)
    assert sub.ended


def test_B212_close_during_a_drain_works_at_once(wire):
    w, sub = listening(wire, "a", drain_timeout=2.0, close_timeout=0.5)
    w.feed(b"MSG a 2 1\r\nx\r\n").tell(None, StopMode.DRAIN).at(1.0).close()

    assert LinkState.CLOSING is w.connection.state

    w.at(1.5)

    assert "Closed" in w.kinds()
    assert sub.ended


@pytest.mark.parametrize("policy", list(Overflow))
def test_B214_an_end_needs_no_room_in_a_full_queue(wire, policy):
    w = wire().up()
    full = w.open(Subscription("a", max_messages=2, policy=policy))
    waiting = w.open(Subscription("b", max_messages=2, policy=policy))
    w.feed(b"MSG a 2 1\r\n1\r\nMSG a 2 1\r\n2\r\n")
    w.take(waiting)
    w.all_told()
    w.close(full).close(waiting)

    assert full.ended
    assert [Ready(waiting)] == w.all_told()
    assert [b"1", b"2"] == payloads(w, full)
    assert ENDED is w.take(full)
    assert ENDED is w.take(full)
    assert ENDED is w.take(waiting)


def test_B215_a_flush_that_was_given_up_disturbs_nobody(wire):
    w, _ = listening(wire, "a")
    given_up, next_one = w.open(Flush()), w.open(Flush())
    w.close(given_up)
    w.send(Publish("a", b"x"))

    assert b"PING\r\nPING\r\nPUB a 1\r\nx\r\n" == w.out()

    w.feed(b"PONG\r\n")

    assert [] == w.told()
    assert not next_one.ended

    w.feed(b"PONG\r\n")

    assert next_one.ended
    assert w.send(Publish("a", b"y"))
    assert b"PUB a 1\r\ny\r\n" == w.out()


def test_B217_closing_from_within_ends_everything_once_and_in_order(wire):
    w, sub, other = listening(wire, "a", "b")
    w.take(sub)
    w.take(other)
    w.feed(b"MSG a 2 1\r\nx\r\n")

    assert b"x" == w.take(sub).payload

    w.take(sub)  # the handler of the message: it reads on ...
    w.all_told()
    w.close(sub).close().close(sub).close(other).close().close()
    kinds = [event if isinstance(event, Ready) else type(event) for event in w.all_told()]

    assert [Ready(sub), Ready(other), HangUp, Closed] == kinds
    assert ENDED is w.take(sub)
    with pytest.raises(ConnectionClosed):
        w.take(other)


@pytest.mark.parametrize("answered", [True, False])
def test_B218_close_waits_for_the_server_to_have_read_what_was_written(wire, answered):
    w = wire(close_timeout=0.5).up()
    w.send(Publish("a", b"x"))
    w.out()
    w.told()
    w.close()

    assert b"PING\r\n" == w.out()
    assert [] == w.told()

    if answered:
        w.feed(b"PONG\r\n")
    else:
        w.at(0.5)

    assert ["HangUp", "Closed"] == w.kinds()
