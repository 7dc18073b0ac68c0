"""The blocking adapter where things go wrong: against a peer that plays what the test says."""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from datetime import timedelta

import pytest

from jsproto.core.connection.auth import Auth
from jsproto.core.connection.events import Closed, Connected, Disconnected, Notice, NoticeKind
from jsproto.core.connection.options import Tls
from jsproto.core.conversation.conversation import Conversation
from jsproto.driver import Listener
from jsproto.errors import (
    AuthorizationFailed,
    BusyConversation,
    ConnectFailed,
    ConnectionClosed,
    ConversationClosed,
    InvalidConfig,
    InvalidHeader,
    InvalidSubject,
    NoResponders,
    OutboundFull,
    PayloadTooLarge,
    RequestTimeout,
    TlsUnavailable,
)
from jsproto.jetstream.context import JetStream
from jsproto.jetstream.delivery.ack import AckState
from jsproto.jetstream.publish.window import PublishWindow
from jsproto_io._testing.model_server import ModelServer
from jsproto_io._transport.selector_socket import OPENED, ConnectionGone, SelectorTransport
from jsproto_io.blocking import Client, connect
from tests.adapters.conftest import Line, gives_two, gives_two_and_goes, takes_two, until_ended
from tests.forked import forked

PROMPT = {
    "close_timeout": 0.05,
    "reconnect_wait": 0.01,
    "reconnect_jitter": 0.0,
    "reconnect_wait_max": 0.02,
}


def consumer():
    return JetStream().stream("S").consumer("C")


def quiet(line):
    """Let the client in and say nothing more."""
    line.greet()
    line.until_gone()


# ---------------------------------------------------------------------------------------------- connecting


def test_nobody_there_is_connect_failed_and_says_where(nobody):
    with pytest.raises(ConnectFailed, match=f"{nobody}.*refused"):
        connect(nobody).__enter__()


def test_an_unknown_host_is_connect_failed():
    with pytest.raises(ConnectFailed):
        connect("nats://no-such-host.invalid:4222").__enter__()


def test_b143_a_peer_that_says_nothing_fails_within_the_connect_timeout(deaf):
    begun = time.monotonic()
    with pytest.raises(ConnectFailed, match=r"to answer within 0\.1 s"):
        connect(deaf, connect_timeout=0.1).__enter__()

    assert time.monotonic() - begun < 5.0


def test_wrong_credentials_are_authorization_failed_and_not_shown(peer):
    def refuse(line):
        line.say(b'INFO {"auth_required":true}\r\n')
        line.hear(b"PING\r\n")
        line.say(b"-ERR 'Authorization Violation'\r\n")
        line.stream.close()

    there = peer(refuse)
    with pytest.raises(AuthorizationFailed) as caught:
        connect(f"nats://joe:secret@127.0.0.1:{there.port}").__enter__()

    assert "secret" not in str(caught.value)


def test_b145_end_of_stream_while_connecting_is_an_error(peer):
    there = peer(lambda line: line.say(b'INFO {"max_payload":10}\r\n'))
    with pytest.raises(ConnectFailed, match=r"end of stream|ConnectionResetError"):
        connect(there.url).__enter__()


def test_bad_options_are_refused_before_anything_is_dialled():
    with pytest.raises(InvalidConfig):
        connect("http://127.0.0.1:1")
    with pytest.raises(InvalidConfig):
        connect(connect_timeout=-1.0)


def test_tls_that_cannot_be_had_is_an_error_and_never_clear_text(peer):
    heard = []

    def offer(line):
        line.say(b"INFO {}\r\n")
        heard.append(line.until_gone())

    there = peer(offer)
    with pytest.raises(TlsUnavailable):
        connect(there.url, tls=Tls.REQUIRED).__enter__()
    there.finish()

    assert heard == [b""]


def test_python_may_specialise_the_attributes_of_a_client():
    assert not hasattr(
        Client, "__getattr__"
    )  # of a class that has it each attribute is looked for in full, each time


def test_a_client_is_entered_before_it_is_used_and_once(peer):
    there = peer(quiet)
    client = connect(there.url, **PROMPT)
    client.close()
    with pytest.raises(ConversationClosed, match="expected a connected client"):
        client.publish("a", b"")
    with client:
        assert client.connected is True
        assert client.info.max_payload == 1048576
    assert client.closed is True
    with pytest.raises(ConversationClosed, match="entered before"):
        client.__enter__()


def test_a_client_without_an_info_has_none_to_show(nobody):
    client = connect(nobody)
    with pytest.raises(ConnectFailed):
        client.__enter__()
    with pytest.raises(ConversationClosed, match="no INFO has come yet"):
        client.info  # noqa: B018


# ---------------------------------------------------------------------------------------------- credentials


def test_credentials_are_asked_with_the_nonce_and_sent(peer):
    shown = []

    def serve(line):
        line.say(b'INFO {"auth_required":true,"nonce":"abc"}\r\n')
        shown.append(line.hear(b"PING\r\n"))
        line.say(b"PONG\r\n")
        line.until_gone()

    there = peer(serve)
    with connect(
        there.url, credentials=lambda server, nonce: Auth(user=nonce, password="x"), **PROMPT
    ):
        pass
    there.finish()

    assert b'"user":"abc"' in shown[0]


@pytest.mark.parametrize(
    ("raised", "match"),
    [
        (RuntimeError("secret"), "asking for them raised RuntimeError$"),
        (AuthorizationFailed("no key"), "no key"),
    ],
)
def test_credentials_that_cannot_be_had_are_the_error(peer, raised, match):
    def wait(line):
        line.say(b'INFO {"nonce":"abc"}\r\n')
        line.until_gone()

    there = peer(wait)

    def ask(server, nonce):
        raise raised

    with pytest.raises(AuthorizationFailed, match=match):
        connect(there.url, credentials=ask).__enter__()


# ---------------------------------------------------------------------------------------------- core NATS


def test_messages_come_one_by_one_and_in_batches(peer):
    def serve(line):
        line.greet()
        sid = line.subscribed().encode()
        line.say(b"MSG a %b r 1\r\n1\r\nMSG a %b 1\r\n2\r\nMSG a %b 1\r\n3\r\n" % (sid, sid, sid))
        line.until_gone()

    there = peer(serve)
    with connect(there.url, **PROMPT) as nc, nc.subscribe("a") as messages:
        first = next(messages)
        rest = []
        for batch in messages.batches():
            rest += batch
            if len(rest) == 2:
                break

        assert (first.payload, first.reply) == (b"1", "r")
        assert [each.payload for each in rest] == [b"2", b"3"]


def test_b211_a_drained_subscription_ends_behind_its_fence(peer):
    def serve(line):
        line.greet()
        sid = line.subscribed().encode()
        line.hear(b"UNSUB %b\r\nPING\r\n" % sid)
        line.say(b"MSG a %b 1\r\n1\r\nPONG\r\n" % sid)
        line.until_gone()

    there = peer(serve)
    with connect(there.url, **PROMPT) as nc, nc.subscribe("a") as messages:
        messages.drain()

        assert [each.payload for each in messages] == [b"1"]


def test_a_stopped_feed_ends(peer):
    def serve(line):
        line.greet()
        line.hear(b"UNSUB")
        line.hear(b"PING\r\n")
        line.say(b"PONG\r\n")
        line.until_gone()

    there = peer(serve)
    with connect(there.url, **PROMPT) as nc, nc.subscribe("a") as messages:
        messages.stop()

        assert list(messages.batches()) == []


def test_requests_end_in_an_answer_or_in_typed_errors(peer):
    def serve(line):
        line.greet()
        line.say(b"HMSG %b 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n" % line.asked().encode())
        line.asked()
        line.say(b"MSG %b 1 2\r\nok\r\n" % line.asked().encode())
        line.until_gone()

    there = peer(serve)
    with connect(there.url, **PROMPT) as nc:
        with pytest.raises(NoResponders, match="'a'"):
            nc.request("a")
        with pytest.raises(RequestTimeout, match=r"within 0\.01 s"):
            nc.request("b", timeout=0.01)
        assert nc.request("c").payload == b"ok"
        with pytest.raises(InvalidSubject):
            nc.request("a b")
        with pytest.raises(InvalidHeader):
            nc.publish("a", headers={"K": "v\r\nPUB x 0"})
        with pytest.raises(PayloadTooLarge):
            nc.publish("a", b"x" * 1048577)


class Empty(Conversation[object]):
    """Ends as soon as it is opened."""

    def opened(self, now):
        self.end()


def test_a_conversation_that_ends_without_a_result_is_an_error(peer):
    there = peer(quiet)
    with (
        connect(there.url, **PROMPT) as nc,
        pytest.raises(ConversationClosed, match="of Empty, it ended without"),
    ):
        nc.run(Empty())


def test_when_a_verb_returns_the_kernel_has_its_bytes(peer):
    heard = []

    def serve(line):
        line.greet()
        heard.append(line.hear(b"PUB a 1\r\nx\r\n"))
        came.set()
        line.until_gone()

    came = threading.Event()
    there = peer(serve)
    with connect(there.url, **PROMPT) as nc:
        nc.publish("a", b"x")

        assert came.wait(5.0)  # nobody drives the connection meanwhile


def test_with_linger_small_writes_wait_for_company_until_somebody_waits_for_the_server(peer):
    heard = []

    def serve(line):
        line.greet()
        heard.append(line.hear(b"PING\r\n"))
        line.say(b"PONG\r\n")
        line.until_gone()

    there = peer(serve)
    with connect(there.url, linger=60.0, **PROMPT) as nc:
        nc._pushed = time.monotonic()
        nc.publish("a", b"x")
        nc.publish("a", b"y")
        sent = nc.stats.bytes_out
        nc.flush()

        assert nc.stats.bytes_out == sent + len(b"PUB a 1\r\nx\r\nPUB a 1\r\ny\r\nPING\r\n")
    there.finish()

    assert heard == [b"PUB a 1\r\nx\r\nPUB a 1\r\ny\r\nPING\r\n"]


def test_with_linger_the_first_write_after_a_pause_goes_at_once(peer):
    there = peer(quiet)
    with connect(there.url, linger=60.0, **PROMPT) as nc:
        nc._pushed = time.monotonic() - 61.0
        sent = nc.stats.bytes_out
        nc.publish("a", b"x")
        nc.publish("a", b"y")

        assert nc.stats.bytes_out == sent + len(b"PUB a 1\r\nx\r\n")


def test_what_sends_nothing_is_no_write_that_the_next_ack_could_follow(peer):
    over = threading.Event()
    there = peer(offers(2, 1, over))
    with connect(there.url, **PROMPT) as nc, nc.stream(consumer().fetch(2)) as messages:
        first = next(messages)
        first.ack()
        nc._pushed = -10.0  # long ago
        assert first.ack() is False

        assert nc._pushed == -10.0


def offers(count, heard, over):
    """Give so many messages of a consumer to the first pull, and hear as many acks as ``heard`` has
    room for.
    """

    def serve(line):
        line.greet()
        sid = line.subscribed().encode()
        line.hear(b"PUB $JS.API.CONSUMER.MSG.NEXT.S.C ")
        line.say(
            b"".join(
                b"MSG s %b $JS.ACK.S.C.1.%d.%d.1700000000000000000.0 1\r\nx\r\n" % (sid, at, at)
                for at in range(1, count + 1)
            )
        )
        for _ in range(heard):
            line.hear(b"+ACK\r\n")
        over.set()
        line.until_gone()

    return serve


def test_the_kernel_sends_the_acks_of_a_quick_reader_who_goes_away_to_compute(peer):
    over = threading.Event()
    there = peer(offers(6, 3, over))
    with connect(there.url, **PROMPT) as nc, nc.stream(consumer().fetch(6)) as messages:
        for _ in range(3):
            assert next(messages).ack() is True

        assert over.wait(5.0)  # nobody drives the connection meanwhile
        for message in messages:
            message.ack()


@pytest.mark.parametrize(
    ("step", "told"),
    [(0.0, [False, True, True, False]), (0.0009, [False, True, False, False]), (0.01, [False] * 4)],
)
def test_an_ack_may_wait_in_the_kernel_if_the_reader_is_quick_and_more_is_at_hand(
    peer, monkeypatch, step, told
):
    over = threading.Event()
    there = peer(offers(4, 4, over))
    write, seen = SelectorTransport.write, []

    def written(plug, data, *, more=False):
        if b"+ACK" in data:
            seen.append(more)
        write(plug, data, more=more)

    monkeypatch.setattr(SelectorTransport, "write", written)
    with connect(there.url, **PROMPT) as nc, nc.stream(consumer().fetch(4)) as messages:
        held = [next(messages)]
        while messages.feed.readable < 3:
            nc._turn(0.1)
        clock = time.monotonic()
        with monkeypatch.context() as patched:
            patched.setattr(nc, "_now", lambda: clock)
            while held:
                clock += step
                held.pop().ack()
                if messages.feed.readable:
                    held.append(next(messages))

        assert over.wait(5.0)
    assert seen == told


def test_what_waits_for_company_goes_when_the_plug_begins_to_sleep():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        plug = SelectorTransport()
        plug.dial(*listening.getsockname())
        with listening.accept()[0] as line:
            while plug.wait(0.1) is not OPENED:
                pass
            line.settimeout(0.0)
            plug.write(b"1", more=True)
            plug.wait(0.01)

            assert line.recv(10) == b"1"

            plug.write(b"2", more=True)
            plug.write(b"3")

            assert line.recv(10) == b"23"

            plug.write(b"4", more=True)
            plug.hang_up()
            plug.wait(0.0)
            line.settimeout(5.0)

            assert line.recv(10) == b"4"
            assert line.recv(10) == b""
        plug.pull()


def test_an_ack_beyond_the_backlog_waits_for_the_link(peer):
    there = peer(gives_two_and_goes, takes_two)
    with (
        connect(there.url, max_backlog=30, **PROMPT) as nc,
        nc.stream(consumer().fetch(2)) as messages,
    ):
        events = nc.events()
        got = [next(messages), next(messages)]
        nc.publish("bye")
        while not isinstance(next(events), Disconnected):
            pass

        assert [message.ack() for message in got] == [True, True]
        assert nc.connected is True


def test_an_ack_that_has_no_room_is_an_error_in_the_end_and_the_message_is_open(peer):
    there = peer(gives_two_and_goes)
    with (
        connect(there.url, max_backlog=0, **PROMPT) as nc,
        nc.stream(consumer().fetch(2)) as messages,
    ):
        events = nc.events()
        message, _ = [next(messages), next(messages)]
        nc.publish("bye")
        while not isinstance(next(events), Disconnected):
            pass

        for _ in range(2):
            with pytest.raises(OutboundFull):
                nc.settle(message, 0.05)
        assert message.state is AckState.OPEN
        assert nc.closed is False


def test_publishing_waits_while_the_peer_does_not_read(peer, monkeypatch):
    heard = []
    go_on = threading.Event()

    def serve(line):
        line.greet()
        assert go_on.wait(10.0)
        heard.append(line.hear(b"PING\r\n"))
        line.say(b"PONG\r\n")
        line.until_gone()

    there = peer(serve)
    with connect(there.url, outbound_high=65536, outbound_low=1024, **PROMPT) as nc:
        wait = nc._plug.wait

        def waited(plug, patience):
            go_on.set()  # only when the client waits does the peer begin to read
            return wait(patience)

        monkeypatch.setattr(SelectorTransport, "wait", waited)
        for _ in range(400):
            nc.publish("a", b"x" * 32768)
            assert len(nc._plug.unsent) < 65536 + 2 * 32768
        nc.flush()
    there.finish()

    assert heard[0].count(b"PUB a 32768") == 400


def test_verbs_that_need_not_wait_look_at_the_socket_now_and_then(peer):
    def serve(line):
        line.greet()
        line.say(b"PING\r\n")
        pinged.set()
        line.hear(b"PONG\r\n")
        line.until_gone()

    pinged = threading.Event()
    there = peer(serve)
    with connect(there.url, **PROMPT) as nc:
        assert pinged.wait(5.0)
        assert select.select([nc._plug], [], [], 5.0)[0]
        nc._look_at = -10.0  # long ago
        nc.publish("a")

        assert nc.stats.pings_in == 1


def hangs_up(how, mark):
    """A server that loses patience while its client computes, and its successor, who waits for a
    mark and says when it came.
    """
    entered, heard = threading.Event(), []

    def first(line):
        line.greet()
        assert entered.wait(5.0)
        line.say(b"PING\r\n" * 2)
        how(line)

    def second(line):
        said = line.greet()
        while mark not in said:
            said += line.hear(b"PING\r\n")
            line.say(b"PONG\r\n")
        heard.append(said)
        line.until_gone()

    return (first, second), entered, heard


def leaves(begin, entered):
    """A script that begins so, and goes without a word when its client is busy with something else."""

    def script(line):
        begin(line)
        assert entered.wait(5.0)
        line.stream.close()

    return script


def unsent(events):
    """How many bytes were told to have been left unsaid, each time."""
    return [
        each.detail
        for each in events
        if isinstance(each, Notice) and each.kind is NoticeKind.UNSENT
    ]


def stale(line):
    line.say(b"-ERR 'Stale Connection'\r\n")
    line.stream.close()


#: How a server ends a link.
EACH_END = pytest.mark.parametrize(
    "how", [stale, lambda line: line.stream.close(), Line.reset], ids=["told", "end", "reset"]
)


@EACH_END
@pytest.mark.parametrize(
    ("verb", "mark"),
    [
        (lambda nc: nc.publish("a", b"x"), b"PUB a 1\r\nx\r\n"),
        (Client.flush, b"PING\r\nPING\r\n"),
        (lambda nc: nc.sink(PublishWindow()).__enter__().put(("a", b"x")), b" 1\r\nx\r\n"),
    ],
    ids=["publish", "flush", "window"],
)
def test_a_caller_who_comes_back_to_a_link_of_yesterday_loses_nothing_in_it(peer, how, verb, mark):
    scripts, entered, heard = hangs_up(how, mark)
    there = peer(*scripts)
    with connect(there.url, **PROMPT) as nc:
        entered.set()
        until_ended(nc._plug._stream)
        nc._look_at = -10.0  # long ago
        verb(nc)
        if b"PING" not in mark:
            nc.flush()
    there.finish()

    assert len(heard) == 1


@EACH_END
def test_who_comes_back_with_a_word_and_leaves_at_once_has_it_said(peer, how):
    scripts, entered, heard = hangs_up(how, b"PUB a 1\r\nx\r\n")
    there = peer(*scripts)
    with connect(there.url, **PROMPT) as nc:
        entered.set()
        until_ended(nc._plug._stream)
        nc._look_at = -10.0  # long ago
        nc.publish("a", b"x")
    there.finish()

    assert len(heard) == 1


def test_who_comes_back_to_a_server_that_is_gone_for_good_does_not_wait_for_ever(peer):
    entered = threading.Event()
    there = peer(leaves(Line.greet, entered))
    events = []
    options = {"connect_timeout": 0.1, "watch": lambda _, told: events.append(told), **PROMPT}
    with connect(there.url, **options) as nc:
        entered.set()
        there.finish()
        nc._look_at = -10.0  # long ago
        nc.publish("a", b"x")

        assert nc.connected is False

    assert unsent(events) == [len(b"PUB a 1\r\nx\r\n")]


@pytest.mark.parametrize(
    ("verb", "lingers"),
    [
        (lambda nc, messages, held: held.ack(), False),
        (lambda nc, messages, held: messages.stop(), True),
        (lambda nc, messages, held: messages.drain(), True),
        (lambda nc, messages, held: messages.close(), True),
        (lambda nc, messages, held: nc.events().close() or nc.subscribe("b").__enter__(), True),
    ],
    ids=["ack", "stop", "drain", "close", "subscribe"],
)
def test_an_ack_of_who_comes_back_is_not_lost_in_a_link_of_yesterday(peer, verb, lingers):
    entered = threading.Event()

    def second(line):
        line.greet()
        heard.append(line.hear(b"+ACK\r\n"))
        line.until_gone()

    heard = []
    there = peer(leaves(gives_two, entered), second)
    with (
        connect(there.url, linger=1e9, **PROMPT) as nc,
        nc.stream(consumer().consume(2)) as messages,
    ):
        held, other = next(messages), next(messages)
        nc._pushed = nc._now()  # something was sent just now
        nc._look_at = nc._now() + 10.0
        if lingers:
            other.ack()
        entered.set()
        until_ended(nc._plug._stream)
        nc._look_at = -10.0  # long ago
        verb(nc, messages, held)

        assert nc.connected
    there.finish()

    assert len(heard) == 1


def test_a_close_says_what_was_held_back_for_a_link_of_yesterday(peer):
    entered = threading.Event()
    there = peer(leaves(Line.greet, entered))
    events = []
    with connect(there.url, linger=1e9, watch=lambda _, told: events.append(told), **PROMPT) as nc:
        nc._pushed = nc._now()
        nc.publish("a", b"x")
        entered.set()
        until_ended(nc._plug._stream)
    there.finish()

    assert unsent(events) == [len(b"PUB a 1\r\nx\r\n")]


@pytest.mark.parametrize(
    ("verb", "scripts"),
    [(Client.reconnect, (quiet,)), (Client.drain, ())],
    ids=["reconnect", "drain"],
)
def test_what_has_come_before_a_link_is_left_is_handed_out(peer, verb, scripts):
    def first(line):
        line.greet()
        sid = line.subscribed().encode()
        line.hear(b"PUB ready 0\r\n\r\n")
        line.say(b"MSG a %b 1\r\nx\r\n" % sid)
        line.until_gone()

    there = peer(first, *scripts)
    with connect(there.url, drain_timeout=0.1, **PROMPT) as nc, nc.subscribe("a") as messages:
        nc.publish("ready")
        assert select.select([nc._plug], [], [], 5.0)[0]
        verb(nc)

        assert messages.next(0.5).payload == b"x"
        while scripts and not nc.connected:
            nc._drive()


def test_what_has_come_before_it_is_waited_for_needs_no_waiting(peer, monkeypatch):
    def serve(line):
        line.greet()
        sid = line.subscribed()
        line.say(f"MSG a {sid} 1\r\nx\r\n".encode())
        line.until_gone()

    there = peer(serve)
    with connect(there.url, **PROMPT) as nc, nc.subscribe("a") as messages:
        assert select.select([nc._plug], [], [], 5.0)[0]
        wait = SelectorTransport.wait
        with monkeypatch.context() as patch:
            patch.setattr(
                SelectorTransport,
                "wait",
                lambda plug, patience: (
                    wait(plug, patience) if patience == 0.0 else pytest.fail("it sleeps")
                ),
            )

            assert messages.next(5.0).payload == b"x"


# ---------------------------------------------------------------------------------------------- one at a time


def test_a_second_thread_is_told_that_the_client_is_in_use(peer):
    there = peer(quiet)
    with connect(there.url, **PROMPT) as nc, nc.subscribe("a") as messages:
        asleep = threading.Event()
        select = nc._plug._selector.select

        def sleep(patience):
            asleep.set()
            return select(patience)

        nc._plug._selector.select = sleep
        caught = []

        def read():
            try:
                nc.flush(timeout=0.5)
            except RequestTimeout as error:
                caught.append(error)

        reading = threading.Thread(target=read)
        reading.start()
        assert asleep.wait(5.0)
        for verb in (
            lambda: nc.publish("a"),
            lambda: next(messages),
            messages.drain,
            nc.events,
            nc.close,
        ):
            with pytest.raises(BusyConversation, match="one caller at a time"):
                verb()
        reading.join(5.0)

        assert len(caught) == 1
        nc.publish("a")


def test_a_feed_is_opened_before_it_is_read(peer):
    there = peer(quiet)
    with (
        connect(there.url, **PROMPT) as nc,
        pytest.raises(ConversationClosed, match="a with statement"),
    ):
        next(nc.subscribe("a"))


# ---------------------------------------------------------------------------------------------- interrupts


def test_an_interrupt_while_waiting_changes_nothing(peer):
    def serve(line):
        line.greet()
        sid = line.subscribed().encode()
        line.hear(b"PUB go 0\r\n")
        line.say(b"MSG a %b 1\r\n1\r\n" % sid)
        line.until_gone()

    there = peer(serve)
    with connect(there.url, **PROMPT) as nc, nc.subscribe("a") as messages:
        selector = nc._plug._selector
        select = selector.select

        def interrupted(patience):
            selector.select = select
            raise KeyboardInterrupt

        selector.select = interrupted
        with pytest.raises(KeyboardInterrupt):
            next(messages)
        nc.publish("go")

        assert next(messages).payload == b"1"


def late(client, error):
    """The next wait of this client ends as it should, and then an exception comes out of it."""
    until = client._until

    def _until(waiter):
        client.__class__._until = original
        until(waiter)
        client._plug.asleep = True  # as a signal handler that raises before the wait has returned
        raise error

    original = client.__class__._until
    client.__class__._until = lambda self, waiter: _until(waiter)


def after_a_flush(client, error):
    """The next flush of this client ends as it should, and then an exception comes out of it."""
    flush = client.__class__._flush

    def _flush(self, now, **options):
        client.__class__._flush = flush
        flush(self, now, **options)
        client._look_at = float("inf")
        self._plug.asleep = True
        raise error

    client.__class__._flush = _flush
    client._look_at = float("-inf")  # the next step of a reader looks what has come


def one(messages):
    """The message of a feed that is open, whatever way it is taken."""
    return [
        lambda: next(messages),
        lambda: messages.next(5.0),
        lambda: next(messages.batches())[0],
    ]


@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError])
def test_a_message_that_an_exception_kept_from_the_caller_goes_back_at_once(error):
    with ModelServer() as hosted, connect(hosted.url) as nc:
        stream = nc.jetstream().create_stream(name="S", subjects=["s.*"])
        stream.create_consumer(durable_name="C", ack_wait=timedelta(seconds=60))
        nc.jetstream().publish("s.a", b"x")
        cached = stream.consumer("C")
        late(nc, error)
        with pytest.raises(error):
            cached.next(timeout=10.0)

        assert cached.next(timeout=10.0).payload == b"x"
        assert hosted.stored() == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError])
@pytest.mark.parametrize("way", [0, 1, 2])
@pytest.mark.parametrize("again", [0, 1, 2])
def test_an_item_that_an_exception_kept_from_the_caller_is_the_next_one(error, way, again):
    with ModelServer() as hosted, connect(hosted.url) as nc, nc.subscribe("a") as messages:
        for payload in (b"1", b"2"):
            nc.publish("a", payload)
        nc.flush()
        after_a_flush(nc, error)
        with pytest.raises(error):
            one(messages)[way]()
        nc.publish("a", b"end")  # so that a loss shows as a wrong item, not as a wait

        assert one(messages)[again]().payload == b"1"


def test_a_feed_that_is_closed_gives_back_what_an_exception_kept_from_the_caller():
    with ModelServer() as hosted, connect(hosted.url) as nc:
        stream = nc.jetstream().create_stream(name="S", subjects=["s.*"])
        consumer = stream.create_consumer(durable_name="C", ack_wait=timedelta(seconds=60))
        nc.jetstream().publish("s.a", b"x")
        with consumer.fetch(1) as messages:
            while not messages.feed.readable:
                nc.flush()
            after_a_flush(nc, KeyboardInterrupt)
            with pytest.raises(KeyboardInterrupt):
                next(messages)

        assert consumer.next(timeout=10.0).payload == b"x"
        with pytest.raises(ConversationClosed):
            messages.next(0.1)


@pytest.mark.parametrize("verb", ["next", "publish"])
def test_an_interrupt_in_the_middle_of_a_step_cuts_the_connection_and_says_so(
    peer, verb, monkeypatch
):
    there = peer(quiet)

    def interrupted(*_):
        raise KeyboardInterrupt

    def use(nc, messages):
        if verb == "next":
            messages._take = interrupted
            next(messages)
        else:
            monkeypatch.setattr(type(nc), "_flush", interrupted)
            nc.publish("a")

    nc = connect(there.url, **PROMPT)
    with pytest.raises(KeyboardInterrupt), nc, nc.subscribe("a") as messages:
        use(nc, messages)

    assert nc.closed is True
    with pytest.raises(ConnectionClosed, match="KeyboardInterrupt hit in the middle of a step"):
        nc.publish("a")
    nc.close()


def test_an_interrupted_close_cuts(peer):
    there = peer(quiet)
    nc = connect(there.url, close_timeout=10.0).__enter__()
    selector = nc._plug._selector
    select = selector.select

    def interrupted(patience):
        selector.select = select
        raise KeyboardInterrupt

    selector.select = interrupted
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        nc.close()

    assert nc.closed is True
    assert time.monotonic() - begun < 5.0


# ---------------------------------------------------------------------------------------------- fork


def test_a_fork_leaves_the_connection_with_the_parent(peer):
    heard = []

    def serve(line):
        line.greet()
        heard.append(line.hear(b"PING\r\n"))
        line.say(b"PONG\r\n")
        line.until_gone()

    there = peer(serve)
    with connect(there.url, **PROMPT) as nc, nc.subscribe("a"):
        reader, writer = os.pipe()

        def used():
            try:
                nc.publish("a", b"from the child")
            except ConnectionClosed as error:
                os.write(writer, str(error).encode())
            nc.close()
            os.write(writer, b" closed quietly" if nc.closed else b" not closed")

        code = forked(used)
        os.close(writer)
        with os.fdopen(reader) as told:
            said = told.read()

        assert code == 0
        assert f"belongs to process {os.getpid()}" in said
        assert said.endswith("connect anew closed quietly")
        assert nc.flush() > 0.0
    there.finish()

    assert b"child" not in heard[0]


# ---------------------------------------------------------------------------------------------- life


def test_events_tell_the_life_of_a_connection_in_order(peer):
    def leave(line):
        line.greet()
        line.hear(b"PUB a 0\r\n")

    there = peer(leave, quiet)
    with connect(there.url, **PROMPT) as nc:
        events = nc.events()
        nc.publish("a")
        told = []
        for event in events:
            told.append(type(event))
            if isinstance(event, Connected):
                break
        nc.close()
        told += [type(event) for event in events]

        assert told == [Disconnected, Connected, Closed]
        assert events.missed == 0
        assert [each for each in nc._driver._listeners if isinstance(each, Listener)] == []


def test_a_reconnect_can_be_asked_for(peer):
    there = peer(
        lambda line: (line.greet(server_name="a"), line.until_gone()),
        lambda line: (line.greet(server_name="b"), line.until_gone()),
    )
    with connect(there.url, **PROMPT) as nc:
        events = nc.events()
        nc.reconnect()
        while not isinstance(next(events), Connected):
            pass

        assert nc.info.server_name == "b"
        assert nc.rtt is not None
        assert nc.server.port == there.port


def test_a_reset_by_the_peer_is_a_lost_link(peer):
    def leave(line):
        line.greet()
        line.hear(b"PUB a 0\r\n")
        line.reset()

    there = peer(leave)
    with connect(there.url, **PROMPT) as nc:
        events = nc.events()
        nc.publish("a")

        assert isinstance(next(events), Disconnected)


def test_b218_closing_waits_until_the_peer_has_read(peer):
    heard = []

    def serve(line):
        line.greet()
        heard.append(line.hear(b"PING\r\n"))
        line.say(b"PONG\r\n")
        line.until_gone()

    there = peer(serve)
    begun = time.monotonic()
    with connect(there.url, close_timeout=10.0) as nc:
        nc.publish("a", b"x")
        nc.close()
        nc.close()

    assert time.monotonic() - begun < 5.0
    with pytest.raises(ConversationClosed):
        nc.publish("a")
    there.finish()

    assert heard == [b"PUB a 1\r\nx\r\nPING\r\n"]


def test_closing_is_bounded_when_the_peer_reads_nothing(peer):
    done = threading.Event()

    def serve(line):
        line.greet()
        done.wait(10.0)

    there = peer(serve)
    nc = connect(there.url, close_timeout=0.05, outbound_high=2**30).__enter__()
    for _ in range(32):
        nc.publish("a", b"x" * 1_000_000)
    begun = time.monotonic()
    nc.close()
    done.set()

    assert nc.closed is True
    assert time.monotonic() - begun < 5.0


def test_a_drain_returns_when_only_the_caller_can_go_on_and_ends_when_he_did(peer):
    def serve(line):
        line.greet()
        sid = line.subscribed().encode()
        line.hear(b"UNSUB")
        line.hear(b"PING\r\n")
        line.say(b"MSG a %b 1\r\n1\r\nMSG a %b 1\r\n2\r\nPONG\r\n" % (sid, sid))
        line.hear(b"PING\r\n")
        line.say(b"PONG\r\n")
        line.until_gone()

    there = peer(serve)
    with connect(there.url, **PROMPT) as nc, nc.subscribe("a") as messages:
        nc.drain()
        assert nc.closed is False
        assert [message.payload for message in messages] == [b"1", b"2"]
        nc.drain()

        assert nc.closed is True
        messages.close()


def test_what_is_published_offline_beyond_the_backlog_waits_for_the_link(peer):
    def leave(line):
        line.greet()
        line.hear(b"PUB bye 0\r\n")

    def serve(line):
        line.greet()
        line.hear(b"PUB a 6\r\nxxxxxx\r\n")
        line.hear(b"PUB a 6\r\nyyyyyy\r\n")
        line.until_gone()

    there = peer(leave, serve)
    with connect(there.url, max_backlog=30, **PROMPT) as nc:
        events = nc.events()
        nc.publish("bye")
        while not isinstance(next(events), Disconnected):
            pass
        nc.publish("a", b"xxxxxx")
        nc.publish("a", b"yyyyyy")

        assert nc.connected is True


# ---------------------------------------------------------------------------------------------- the plug


def test_the_plug_tries_one_address_after_the_other(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
        with socket.create_server(("127.0.0.1", 0)) as gone:
            closed = gone.getsockname()[1]
        places = [
            (socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", closed)),
            (-1, socket.SOCK_STREAM, 0, "", ("127.0.0.1", port)),
            (socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", port)),
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: places)
        plug = SelectorTransport()
        assert plug.dial("many", port) is None
        happened = None
        while happened is None:
            happened = plug.wait(5.0)

        assert happened is OPENED
        plug.hang_up()
        plug.hang_up()
        plug.pull()


def test_a_plug_without_an_address_left_says_why_the_last_failed(monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [])
    plug = SelectorTransport()
    lost = plug.dial("nowhere", 1)

    assert isinstance(lost, ConnectionGone)
    assert "no address for nowhere" in str(lost.error)
    assert plug.wait(0.0) is None
    plug.write(b"x")
    assert plug.unsent == b""
    plug.pull()


def test_an_address_that_cannot_even_be_tried_is_an_error(monkeypatch):
    places = [(socket.AF_INET6, socket.SOCK_STREAM, 0, "", ("::ffff:0:0:1%", 1, 0, 0))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: places)
    monkeypatch.setattr(socket.socket, "connect_ex", lambda self, place: 101)
    plug = SelectorTransport()
    lost = plug.dial("nowhere", 1)

    assert "unreachable" in str(lost.error)
    plug.pull()


def test_a_broken_stream_swallows_what_is_written_and_says_so_when_read(peer):
    def leave(line):
        line.stream.recv(1)
        line.reset()

    there = peer(leave)
    plug = SelectorTransport()
    plug.dial("127.0.0.1", there.port)
    while plug.wait(5.0) is not OPENED:
        pass
    plug.write(b"x")
    assert there.gone.wait(5.0)
    plug._selector.select(5.0)  # the reset has arrived
    plug.write(b"y" * 10)
    plug.write(b"y" * 10)
    happened = plug.wait(5.0)

    assert isinstance(happened, ConnectionGone)
    assert plug.unsent == b""
    plug.pull()
