"""The asyncio adapter where things go wrong: against a peer that plays what the test says."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from jsproto.core.connection.auth import Auth
from jsproto.core.connection.events import Closed, Connected, Disconnected, Notice, NoticeKind
from jsproto.core.connection.options import Tls
from jsproto.core.pubsub.subscription import Subscription
from jsproto.driver import Listener
from jsproto.errors import (
    AuthorizationFailed,
    BusyConversation,
    ConnectFailed,
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
from jsproto_io._transport.asyncio_protocol import AsyncioProtocol
from jsproto_io.asyncio import Client, connect
from tests.adapters.conftest import gives_two_and_goes, takes_two

PROMPT = {
    "close_timeout": 0.05,
    "reconnect_wait": 0.01,
    "reconnect_jitter": 0.0,
    "reconnect_wait_max": 0.02,
}


def play(story, *, patience=20.0):
    """Run a coroutine function, and see that it leaves no task behind."""

    async def whole():
        async with asyncio.timeout(patience):
            result = await story()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return result

    return asyncio.run(whole())


async def settled(turns=5):
    for _ in range(turns):
        await asyncio.sleep(0)


async def until(condition):
    """Let the loop turn until the condition holds; `play` bounds it."""
    while not condition():  # noqa: ASYNC110 - what is waited for has no event
        await asyncio.sleep(0)


# ---------------------------------------------------------------------------------------------- connecting


def test_nobody_there_is_connect_failed_and_says_where(nobody):
    async def story():
        with pytest.raises(
            ConnectFailed, match=rf"{nobody.split('//')[1]}.*Connect call failed|refused"
        ):
            await connect(nobody)

    play(story)


def test_an_unknown_host_is_connect_failed():
    async def story():
        with pytest.raises(ConnectFailed):
            await connect("nats://no-such-host.invalid:4222", connect_timeout=5.0)

    play(story)


def test_b143_a_peer_that_says_nothing_fails_within_the_connect_timeout(deaf):
    async def story():
        begun = time.monotonic()
        with pytest.raises(ConnectFailed, match=r"to answer within 0\.1 s"):
            await connect(deaf, connect_timeout=0.1)

        assert time.monotonic() - begun < 5.0

    play(story)


def test_wrong_credentials_are_authorization_failed_and_not_shown(peer):
    def refuse(line):
        line.say(b'INFO {"auth_required":true}\r\n')
        line.hear(b"PING\r\n")
        line.say(b"-ERR 'Authorization Violation'\r\n")
        line.stream.close()

    there = peer(refuse)

    async def story():
        with pytest.raises(AuthorizationFailed) as caught:
            await connect(f"nats://joe:secret@127.0.0.1:{there.port}")

        assert "secret" not in str(caught.value)

    play(story)


def test_b145_end_of_stream_while_connecting_is_an_error(peer):
    there = peer(lambda line: line.say(b'INFO {"max_payload":10}\r\n'))

    async def story():
        with pytest.raises(ConnectFailed, match=r"end of stream|ConnectionResetError"):
            await connect(there.url)

    play(story)


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

    async def story():
        with pytest.raises(TlsUnavailable):
            await connect(there.url, tls=Tls.REQUIRED)

    play(story)
    there.finish()

    assert heard == [b""]


def test_a_first_connect_that_is_cancelled_leaves_nothing(deaf):
    async def story():
        connecting = asyncio.create_task(connect(deaf).__aenter__())
        await asyncio.sleep(0.01)
        connecting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await connecting

    play(story)


def test_dialling_that_never_ends_is_given_up(monkeypatch):
    async def story():
        async def never(*_):
            await asyncio.get_running_loop().create_future()

        monkeypatch.setattr(asyncio.get_running_loop(), "sock_connect", never)
        with pytest.raises(ConnectFailed, match="stuck at DIALING"):
            await connect(connect_timeout=0.02)

    play(story)


def test_a_stream_that_opens_when_nobody_wants_it_any_more_is_aborted():
    class Transport:
        aborted = False

        def abort(self):
            self.aborted = True

    async def story():
        client = Client("nats://127.0.0.1:1", None, {})
        client._loop = asyncio.get_running_loop()
        link = AsyncioProtocol(client._inlet, client._options, client._links)
        link.hang_up()
        transport = Transport()
        link.connection_made(transport)
        link.heard(b"INFO {}\r\n")
        link.resume_writing()
        link.connection_lost(None)

        assert transport.aborted is True
        assert link.lost.done()

    play(story)


def test_a_client_is_entered_before_it_is_used_and_once(peer):
    there = peer(lambda line: (line.greet(), line.until_gone()))

    async def story():
        client = connect(there.url, **PROMPT)
        with pytest.raises(ConversationClosed, match="expected a connected client"):
            await client.publish("a", b"")
        with pytest.raises(AttributeError, match="no_such"):
            client.no_such  # noqa: B018
        assert client.closed is False
        async with client:
            assert client.connected is True
        assert client.closed is True
        with pytest.raises(ConversationClosed, match="entered before"):
            await client

    play(story)


# ---------------------------------------------------------------------------------------------- credentials


def greeted_with(line, shown):
    line.say(b'INFO {"auth_required":true,"nonce":"abc"}\r\n')
    shown.append(line.hear(b"PING\r\n"))
    line.say(b"PONG\r\n")
    line.until_gone()


@pytest.mark.parametrize("is_async", [False, True])
def test_credentials_are_asked_with_the_nonce_and_sent(peer, is_async):
    shown, asked = [], []
    there = peer(lambda line: greeted_with(line, shown))

    def ask(server, nonce):
        asked.append((server.port, nonce))
        return Auth(user="joe", password="x")

    async def ask_later(server, nonce):
        await asyncio.sleep(0)
        return ask(server, nonce)

    async def story():
        async with connect(there.url, credentials=ask_later if is_async else ask, **PROMPT):
            pass

    play(story)
    there.finish()

    assert asked == [(there.port, "abc")]
    assert b'"user":"joe"' in shown[0]


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

    async def story():
        with pytest.raises(AuthorizationFailed, match=match):
            await connect(there.url, credentials=ask)

    play(story)


def test_credentials_that_come_too_late_are_not_used(peer):
    shown = []

    def leave(line):
        line.say(b'INFO {"nonce":"old"}\r\n')

    there = peer(leave, lambda line: greeted_with(line, shown))
    answers = []

    async def ask(server, nonce):
        answers.append(asyncio.get_running_loop().create_future())
        if nonce == "old":
            return await answers[0]
        answers[0].set_result(Auth(user="old"))
        await settled()
        return Auth(user="new")

    async def story():
        async with connect(there.url, credentials=ask, connect_sweeps=2, **PROMPT):
            pass

    play(story)
    there.finish()

    assert b'"user":"new"' in shown[0]


# ---------------------------------------------------------------------------------------------- cancelling


def test_a_cancelled_request_gives_up_itself_and_nothing_else(peer):
    def serve(line):
        line.greet()
        line.asked()
        reply = line.asked()
        line.say(b"MSG %b 1 2\r\nok\r\n" % reply.encode())
        line.until_gone()

    there = peer(serve)

    async def story():
        async with connect(there.url, **PROMPT) as nc:
            asking = asyncio.create_task(nc.request("a"))
            await asyncio.sleep(0.01)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking

            assert nc._connection.conversations == 0
            assert (await nc.request("b")).payload == b"ok"

    play(story)


def test_a_message_that_meets_a_cancelled_reader_is_not_lost(peer):
    there = peer(lambda line: (line.greet(), line.until_gone()))

    async def story():
        async with connect(there.url, **PROMPT) as nc, nc.subscribe("a") as messages:
            reading = asyncio.create_task(anext(messages))
            await settled()
            sid = messages.feed.port.sid.encode()
            nc._link.heard(b"MSG a %b 1\r\n1\r\nMSG a %b 1\r\n2\r\n" % (sid, sid))
            reading.cancel()  # in the same turn as its wake-up
            with pytest.raises(asyncio.CancelledError):
                await reading

            assert (await anext(messages)).payload == b"1"
            assert (await anext(messages)).payload == b"2"

    play(story)


def test_b215_a_cancelled_flush_breaks_nothing(peer):
    def serve(line):
        line.greet()
        line.hear(b"PING\r\n")
        line.hear(b"PUB a 1\r\nx\r\n")
        line.say(b"PONG\r\n")
        line.hear(b"PING\r\n")
        line.say(b"PONG\r\n")
        line.until_gone()

    there = peer(serve)

    async def story():
        async with connect(there.url, **PROMPT) as nc:
            flushing = asyncio.create_task(nc.flush())
            await settled()
            flushing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await flushing
            await nc.publish("a", b"x")

            assert await nc.flush() >= 0.0

    play(story)


def test_a_cancelled_close_cuts(peer):
    there = peer(lambda line: (line.greet(), line.until_gone()))

    async def story():
        nc = await connect(there.url, close_timeout=10.0)
        closing = asyncio.create_task(nc.close())
        await settled()
        closing.cancel()
        begun = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await closing

        assert nc.closed is True
        assert time.monotonic() - begun < 5.0

    play(story)


# ---------------------------------------------------------------------------------------------- one at a time


def test_a_second_reader_of_one_feed_is_told_so(peer):
    there = peer(lambda line: (line.greet(), line.until_gone()))

    async def story():
        async with connect(there.url, **PROMPT) as nc, nc.subscribe("a") as messages:
            reading = asyncio.create_task(anext(messages))
            await settled()
            with pytest.raises(BusyConversation, match="one take at a time on Subscription"):
                await anext(messages)
            with pytest.raises(BusyConversation):
                await anext(messages.batches())
            await messages.close()
            with pytest.raises(StopAsyncIteration):
                await reading

    play(story)


def test_a_second_putter_of_one_window_is_told_so(peer):
    there = peer(lambda line: (line.greet(), line.until_gone()))

    async def story():
        async with connect(there.url, **PROMPT) as nc:
            window = nc.jetstream().publish_window(max_pending=1)
            await window.__aenter__()
            await window.put(("a", b"1"))
            putting = asyncio.create_task(window.put(("a", b"2")))
            await settled()
            with pytest.raises(BusyConversation, match="one put at a time on PublishWindow"):
                await window.put(("a", b"3"))
            with pytest.raises(BusyConversation):
                await window.drain()
            await window.close()
            with pytest.raises(ConversationClosed):
                await putting

    play(story)


def test_a_feed_is_opened_before_it_is_read(peer):
    there = peer(lambda line: (line.greet(), line.until_gone()))

    async def story():
        async with connect(there.url, **PROMPT) as nc:
            with pytest.raises(ConversationClosed, match="async with"):
                await anext(nc.subscribe("a"))
            with pytest.raises(ConversationClosed, match="async with"):
                await nc.jetstream().publish_window().put(("a", b""))

    play(story)


# ---------------------------------------------------------------------------------------------- core NATS


def test_messages_come_one_by_one_and_in_batches(peer):
    def serve(line):
        line.greet()
        sid = line.subscribed().encode()
        line.say(
            b"MSG a %b r 1\r\n1\r\nHMSG a %b 20 21\r\nNATS/1.0\r\nK: v w\r\n\r\n2\r\n" % (sid, sid)
        )
        line.say(b"MSG a %b 1\r\n3\r\n" % sid)
        line.until_gone()

    there = peer(serve)

    async def story():
        async with connect(there.url, **PROMPT) as nc, nc.subscribe("a") as messages:
            first = await anext(messages)
            rest = []
            async for batch in messages.batches():
                rest += batch
                if len(rest) == 2:
                    break

            assert (first.payload, first.reply) == (b"1", "r")
            assert [each.payload for each in rest] == [b"2", b"3"]
            assert rest[0].headers["K"] == "v w"

    play(story)


def test_b211_a_drained_subscription_ends_behind_its_fence(peer):
    def serve(line):
        line.greet()
        sid = line.subscribed().encode()
        line.hear(b"UNSUB %b\r\nPING\r\n" % sid)
        line.say(b"MSG a %b 1\r\n1\r\nPONG\r\n" % sid)
        line.until_gone()

    there = peer(serve)

    async def story():
        async with connect(there.url, **PROMPT) as nc, nc.subscribe("a") as messages:
            await messages.drain()

            assert [each.payload async for each in messages] == [b"1"]

    play(story)


def test_a_stopped_feed_ends(peer):
    def serve(line):
        line.greet()
        line.hear(b"UNSUB")
        line.hear(b"PING\r\n")
        line.say(b"PONG\r\n")
        line.until_gone()

    there = peer(serve)

    async def story():
        async with connect(there.url, **PROMPT) as nc, nc.subscribe("a") as messages:
            await messages.stop()

            assert [batch async for batch in messages.batches()] == []

    play(story)


def test_requests_end_in_typed_errors(peer):
    def serve(line):
        line.greet()
        reply = line.asked().encode()
        line.say(b"HMSG %b 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n" % reply)
        line.until_gone()

    there = peer(serve)

    async def story():
        async with connect(there.url, **PROMPT) as nc:
            with pytest.raises(NoResponders, match="'a'"):
                await nc.request("a")
            with pytest.raises(RequestTimeout, match=r"within 0\.01 s"):
                await nc.request("b", timeout=0.01)
            with pytest.raises(InvalidSubject):
                await nc.request("a b")
            with pytest.raises(InvalidHeader):
                await nc.publish("a", headers={"K": "v\r\nPUB x 0"})
            with pytest.raises(PayloadTooLarge):
                await nc.publish("a", b"x" * 1048577)

    play(story)


def test_a_conversation_that_ends_without_a_result_is_an_error(peer):
    there = peer(lambda line: (line.greet(), line.until_gone()))

    async def story():
        async with connect(there.url, **PROMPT) as nc:
            feed = Subscription("a")
            running = asyncio.create_task(nc.run(feed))
            await settled()
            await nc.stream(feed).close()
            with pytest.raises(
                ConversationClosed, match="a result of Subscription, it ended without"
            ):
                await running

    play(story)


def test_publishing_waits_while_the_peer_does_not_read(peer):
    waiting = threading.Event()
    heard = []

    def serve(line):
        line.greet()
        assert waiting.wait(10.0)
        heard.append(line.hear(b"PING\r\n"))
        line.say(b"PONG\r\n")
        line.until_gone()

    there = peer(serve)

    async def story():
        async with connect(there.url, outbound_high=65536, outbound_low=1024, **PROMPT) as nc:

            async def publish():
                for _ in range(400):
                    await nc.publish("a", b"x" * 32768)

            publishing = asyncio.create_task(publish())
            await until(lambda: nc._connection.write_blocked)
            await settled(20)
            held = nc._link.transport.get_write_buffer_size()
            assert not publishing.done()
            assert held < 65536 + 3 * 32768  # the high-water mark, and what was under way
            waiting.set()
            await publishing
            await nc.flush()

    play(story)
    there.finish()

    assert heard[0].count(b"PUB a 32768") == 400


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

    async def story():
        async with connect(there.url, max_backlog=30, **PROMPT) as nc:
            events = nc.events()
            await nc.publish("bye")
            async for event in events:
                if isinstance(event, Disconnected):
                    break
            await nc.publish("a", b"xxxxxx")
            await nc.publish("a", b"yyyyyy")

            assert nc.connected is True

    play(story)


def test_an_ack_beyond_the_backlog_waits_for_the_link(peer):
    there = peer(gives_two_and_goes, takes_two)
    fetch = JetStream().stream("S").consumer("C").fetch(2)

    async def story():
        async with connect(there.url, max_backlog=30, **PROMPT) as nc, nc.stream(fetch) as messages:
            events = nc.events()
            got = [await anext(messages), await anext(messages)]
            await nc.publish("bye")
            while not isinstance(await anext(events), Disconnected):
                pass

            assert [await message.ack() for message in got] == [True, True]
            assert nc.connected is True

    play(story)


def test_an_ack_that_has_no_room_is_an_error_in_the_end_and_the_message_is_open(peer):
    there = peer(gives_two_and_goes)
    fetch = JetStream().stream("S").consumer("C").fetch(2)

    async def story():
        async with connect(there.url, max_backlog=0, **PROMPT) as nc, nc.stream(fetch) as messages:
            events = nc.events()
            message, _ = [await anext(messages), await anext(messages)]
            await nc.publish("bye")
            while not isinstance(await anext(events), Disconnected):
                pass

            for _ in range(2):
                with pytest.raises(OutboundFull):
                    await nc.settle(message, 0.05)
            assert message.state is AckState.OPEN
            waiting = asyncio.create_task(nc.settle(message, None))
            await settled()
            assert not waiting.done()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting

    play(story)


# ---------------------------------------------------------------------------------------------- life


def test_events_tell_the_life_of_a_connection_in_order(peer):
    def serve(line):
        line.greet()
        line.hear(b"PUB a 0\r\n")
        line.say(b"-ERR 'Some New Error'\r\n")

    there = peer(serve, lambda line: (line.greet(), line.until_gone()))
    told = []

    async def story():
        async with connect(there.url, **PROMPT) as nc:
            events = nc.events()

            async def hear():
                told.extend([event async for event in events])

            hearing = asyncio.create_task(hear())
            await nc.publish("a")
            again = nc.events()
            while not isinstance(await anext(again), Connected):
                pass
            again.close()
            await nc.close()
            await hearing

            assert events.missed == 0
            assert [each for each in nc._driver._listeners if isinstance(each, Listener)] == []

    play(story)

    kinds = [type(event) for event in told if not isinstance(event, Notice)]

    assert kinds == [Disconnected, Connected, Closed]
    assert told[0].kind is NoticeKind.SERVER_ERROR
    assert [event.resumed for event in told if isinstance(event, Connected)] == [True]


def test_a_reconnect_can_be_asked_for(peer):
    there = peer(
        lambda line: (line.greet(server_name="a"), line.until_gone()),
        lambda line: (line.greet(server_name="b"), line.until_gone()),
    )

    async def story():
        async with connect(there.url, **PROMPT) as nc:
            events = nc.events()
            assert nc.info.server_name == "a"
            await nc.reconnect()
            while not isinstance(await anext(events), Connected):
                pass

            assert nc.info.server_name == "b"
            assert nc.server.port == there.port

    play(story)


def test_b218_closing_waits_until_the_peer_has_read(peer):
    heard = []

    def serve(line):
        line.greet()
        heard.append(line.hear(b"PING\r\n"))
        line.say(b"PONG\r\n")
        line.until_gone()

    there = peer(serve)

    async def story():
        begun = time.monotonic()
        nc = await connect(there.url, close_timeout=10.0)
        await nc.publish("a", b"x")
        await nc.close()
        await nc.close()

        assert time.monotonic() - begun < 5.0
        with pytest.raises(ConversationClosed):
            await nc.publish("a")
        with pytest.raises(ConversationClosed):
            await nc.request("a")

    play(story)
    there.finish()

    assert heard == [b"PUB a 1\r\nx\r\nPING\r\n"]


def test_closing_is_bounded_when_the_peer_reads_nothing(peer):
    done = threading.Event()

    def serve(line):
        line.greet()
        done.wait(10.0)

    there = peer(serve)

    async def story():
        nc = await connect(there.url, close_timeout=0.05, outbound_high=2**30)
        for _ in range(64):
            await nc.publish("a", b"x" * 1_000_000)
        begun = time.monotonic()
        await nc.close()

        assert nc.closed is True
        assert time.monotonic() - begun < 5.0

    try:
        play(story)
    finally:
        done.set()


def test_b217_closing_from_inside_a_reader_ends_it_after_its_step(peer):
    def serve(line):
        line.greet()
        sid = line.subscribed().encode()
        line.say(b"MSG a %b 1\r\n1\r\n" % sid)
        line.until_gone()

    there = peer(serve)

    async def story():
        async with connect(there.url, **PROMPT) as nc, nc.subscribe("a") as messages:
            steps = []
            async for message in messages:
                steps.append(message.payload)
                await messages.close()
                await nc.close()
                steps.append("to its end")

            assert steps == [b"1", "to its end"]

    play(story)


def test_b212_a_drain_that_nobody_serves_is_cut_at_its_time(peer):
    def serve(line):
        line.greet()
        sid = line.subscribed().encode()
        line.say(b"MSG a %b 1\r\n1\r\n" % sid)
        line.until_gone()

    there = peer(serve)

    async def story():
        async with (
            connect(there.url, drain_timeout=0.05, **PROMPT) as nc,
            nc.subscribe("a") as messages,
        ):
            await until(lambda: messages.feed.readable)
            begun = time.monotonic()
            await nc.drain()

            assert nc.closed is True
            assert time.monotonic() - begun < 5.0

    play(story)


def test_a_drain_lets_readers_take_what_is_there(peer):
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

    async def story():
        async with connect(there.url, **PROMPT) as nc, nc.subscribe("a") as messages:

            async def read():
                return [message.payload async for message in messages]

            reading = asyncio.create_task(read())
            await settled()
            await nc.drain()

            assert await reading == [b"1", b"2"]
            assert nc.closed is True

    play(story)
