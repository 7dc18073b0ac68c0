"""A client belongs to the process, the event loop and the thread that entered it; everybody else is
refused at once and nothing is written.
"""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time

import anyio
import pytest
import trio

from jsproto.errors import ConnectionClosed, ConversationClosed, JsprotoError, LocalProtocolError
from jsproto_io import blocking
from jsproto_io.asyncio import connect
from jsproto_io.testing import ModelServer
from tests.adapters.whose import CLIENT, at_once, in_a_thread, with_held, with_held_blocking
from tests.forked import forked

PROMPT = {"close_timeout": 0.5, "reconnect_wait": 0.01, "reconnect_jitter": 0.0}
pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")


@pytest.fixture
def hosted():
    with ModelServer() as server:
        yield server


def wrong(held, kind, text):
    """Every verb that is not refused as it should be, and what it did instead."""
    outcomes = {name: at_once(call) for name, call in held.verbs()}
    return {
        name: outcome
        for name, outcome in outcomes.items()
        if not isinstance(outcome, kind) or text not in str(outcome)
    }


# ---------------------------------------------------------------------------------------------- a fork


def in_the_child(held):
    """Every verb is refused, and closing is quiet."""
    assert wrong(held, ConnectionClosed, "this is its fork") == {}
    assert held.client.connected is False
    assert held.client.closed is True
    for close in (held.feed.close, held.window.close, held.client.close):
        assert at_once(close) is None
    again = {name: at_once(call) for name, call in held.verbs()}
    assert all(isinstance(outcome, JsprotoError) for outcome in again.values())


def test_a_fork_of_a_client_with_await_is_refused_and_writes_nothing(flavour, hosted):
    async def story(held):
        before = len(hosted.heard)
        code = forked(lambda: in_the_child(held))
        assert code == 0
        assert held.client.connected is True
        await held.client.flush()
        assert bytes(hosted.heard[before:]) == b"PING\r\n"
        assert await held.message.ack_confirmed() is True

    flavour.play(lambda: with_held(flavour.connect, hosted.url, story, **PROMPT))


def test_a_fork_in_the_turn_of_a_publish_sends_it_once(flavour, hosted):
    async def story(held):
        await held.client.publish("a", b"OURS")  # it leaves behind this turn
        assert forked(lambda: in_the_child(held)) == 0
        await held.client.flush()
        assert hosted.heard.count(b"OURS") == 1

    flavour.play(lambda: with_held(flavour.connect, hosted.url, story, **PROMPT))


def test_a_fork_of_a_blocking_client_is_refused_and_writes_nothing(hosted):
    def story(held):
        before = len(hosted.heard)
        assert forked(lambda: in_the_child(held)) == 0
        assert held.client.connected is True
        held.client.flush()
        assert bytes(hosted.heard[before:]) == b"PING\r\n"

    with_held_blocking(blocking.connect, hosted.url, story, **PROMPT)


def test_the_server_sees_the_parent_go_while_a_fork_lives(flavour, hosted):
    """A copy of the socket in the child would keep the connection open."""
    go, gone = os.pipe()

    async def story(held):
        child = os.fork()
        if child == 0:
            os.read(go, 1)
            os._exit(0)
        return child

    child = flavour.play(lambda: with_held(flavour.connect, hosted.url, story, **PROMPT))
    try:
        until = time.monotonic() + 5.0
        while hosted.connected and time.monotonic() < until:
            threading.Event().wait(0.01)
        assert hosted.connected == 0
    finally:
        os.write(gone, b"!")
        os.waitpid(child, 0)
        os.close(go)
        os.close(gone)


def test_a_client_that_was_not_entered_before_the_fork_works_in_the_child(flavour, hosted):
    nc = flavour.connect(hosted.url, **PROMPT)

    async def story():
        async with nc:
            assert nc.connected is True
            await nc.flush()

    assert forked(lambda: flavour.play(story)) == 0


# ---------------------------------------------------------------------------------------------- threads


def test_another_thread_is_refused_and_writes_nothing(flavour, hosted):
    async def story(held):
        before = len(hosted.heard)
        found = await anyio.to_thread.run_sync(
            lambda: wrong(held, LocalProtocolError, "in this thread")
        )
        assert found == {}
        await held.client.flush()
        assert bytes(hosted.heard[before:]) == b"PING\r\n"

    flavour.play(lambda: with_held(flavour.connect, hosted.url, story, **PROMPT))


@pytest.mark.parametrize("run", [asyncio.run, trio.run], ids=["asyncio", "trio"])
def test_another_threads_event_loop_is_refused_even_in_a_turn_that_writes(flavour, hosted, run):
    verbs = ("publish", "flush", "JetStream publish", "events", "a feed is entered")

    async def story(held):
        async def stray(verb):
            result = CLIENT[verb](held.client)
            if hasattr(result, "__await__"):
                await result

        def work():
            outcomes = []
            for verb in verbs:
                try:
                    run(stray, verb) if run is trio.run else run(stray(verb))
                except Exception as error:  # noqa: BLE001 - judged below
                    outcomes.append(type(error))
            return outcomes

        await held.client.publish("a", b"OURS")  # the client has asked for a pump in this turn
        assert in_a_thread(work) == [LocalProtocolError] * len(verbs)
        await held.client.flush()
        assert hosted.heard.count(b"OURS") == 1
        assert b"STRAY" not in hosted.heard

    flavour.play(lambda: with_held(flavour.connect, hosted.url, story, **PROMPT))


# ---------------------------------------------------------------------------------------------- event loops


def test_a_second_event_loop_is_refused_and_the_first_goes_on(hosted):
    first, second = asyncio.new_event_loop(), asyncio.new_event_loop()
    try:

        async def enter():
            return await connect(hosted.url, **PROMPT)

        nc = first.run_until_complete(enter())

        async def strays():
            found = [at_once(lambda verb=verb: verb(nc)) for verb in CLIENT.values()]
            assert {type(each) for each in found} == {LocalProtocolError}
            assert all(
                "in this event loop" in str(each) and "jsproto_io.blocking" in str(each)
                for each in found
            )
            with pytest.raises(LocalProtocolError, match="in this event loop"):
                await nc.close()

        second.run_until_complete(strays())

        assert nc.connected is True
        assert first.run_until_complete(nc.flush()) > 0.0
        assert b"STRAY" not in hosted.heard
        first.run_until_complete(nc.close())
        assert second.run_until_complete(nc.close()) is None, (
            "what is closed can be closed from anywhere"
        )
        with pytest.raises(ConversationClosed, match="this one is closed"):
            second.run_until_complete(nc.publish("a", b"STRAY"))
    finally:
        first.close()
        second.close()


@pytest.mark.filterwarnings("ignore:unclosed transport:ResourceWarning")
def test_a_client_whose_event_loop_was_closed_says_so_in_the_next_loop_n097(hosted):
    kept = []

    async def enter():
        kept.append(await connect(hosted.url, **PROMPT))

    async def stray(verb):
        begun = time.monotonic()
        with pytest.raises(
            ConnectionClosed, match=r"was closed before .*asyncio\.run.*jsproto_io\.blocking"
        ):
            await verb(kept[0])
        assert time.monotonic() - begun < 0.5

    for verb in (
        lambda nc: nc.close(),
        lambda nc: nc.publish("a", b"STRAY"),
        lambda nc: nc.flush(),
        lambda nc: nc.request("a"),
    ):
        asyncio.run(enter())
        asyncio.run(stray(verb))
        assert kept[0].connected is False
        assert kept[0].closed is True
        asyncio.run(stray(lambda nc: nc.publish("a", b"STRAY")))
        assert asyncio.run(kept[0].close()) is None
        kept.clear()
        gc.collect()
    assert b"STRAY" not in hosted.heard


# ---------------------------------------------------------------------------------------------- before and after


def test_verbs_of_a_client_with_await_that_was_not_entered(flavour, hosted):
    async def story():
        nc = flavour.connect(hosted.url, **PROMPT)
        found = {name: at_once(lambda verb=verb: verb(nc)) for name, verb in CLIENT.items()}
        assert {
            name: each for name, each in found.items() if not isinstance(each, ConversationClosed)
        } == {}
        assert all("enter connect(...)" in str(each) for each in found.values())
        assert (nc.connected, nc.closed) == (False, False)
        feed, window = nc.subscribe("a"), nc.jetstream().publish_window()
        held = [
            feed.next,
            feed.ready,
            feed.ended,
            feed.drain,
            feed.stop,
            feed.unsubscribe,
            feed.pulls,
            feed.close,
        ]
        held += [lambda: first_of(feed), lambda: first_of(feed.batches()), lambda: feed.limit(1)]
        held += [lambda: feed.put(1), lambda: window.put(("a", b"")), window.drain, window.close]
        held += [
            lambda: first_of(window.results()),
            lambda: nc.info,
            lambda: nc.stats,
            lambda: nc.server,
        ]
        found = [at_once(each) for each in held]
        assert [each for each in found if not isinstance(each, ConversationClosed)] == []
        await nc.close()
        async with nc:
            assert nc.connected is True

    def first_of(items):
        return anext(items)

    flavour.play(story)


def test_verbs_of_a_blocking_client_that_was_not_entered(hosted):
    nc = blocking.connect(hosted.url, **PROMPT)
    found = {name: at_once(lambda verb=verb: verb(nc)) for name, verb in CLIENT.items()}
    assert {
        name: each for name, each in found.items() if not isinstance(each, ConversationClosed)
    } == {}
    assert all("enter connect(...)" in str(each) for each in found.values())
    assert (nc.connected, nc.closed) == (False, False)
    feed, window = nc.subscribe("a"), nc.jetstream().publish_window()
    held = [feed.next, feed.ready, feed.ended, feed.drain, feed.stop, feed.unsubscribe, feed.close]
    held += [lambda: next(feed), lambda: next(feed.batches()), lambda: feed.limit(1)]
    held += [lambda: feed.put(1), lambda: window.put(("a", b"")), window.drain, window.close]
    held += [lambda: next(window.results()), lambda: nc.info, lambda: nc.stats, lambda: nc.server]
    found = [at_once(each) for each in held]
    assert [each for each in found if not isinstance(each, ConversationClosed)] == []
    nc.close()
    with nc:
        assert nc.connected is True


def test_verbs_of_a_client_with_await_that_was_left(flavour, hosted):
    async def story():
        kept = []

        async def keep(held):
            kept.append(held)

        await with_held(flavour.connect, hosted.url, keep, **PROMPT)
        return kept[0]

    held = flavour.play(story)
    outside = {name: at_once(call) for name, call in held.verbs()}

    async def inside():
        return {name: at_once(call) for name, call in held.verbs()}

    again = flavour.play(inside)
    for found in (outside, again):
        assert {
            name: each for name, each in found.items() if not isinstance(each, ConversationClosed)
        } == {}
    assert (held.client.connected, held.client.closed) == (False, True)


def test_verbs_in_the_run_in_which_a_client_with_await_was_left(flavour, hosted):
    async def story():
        kept = []

        async def keep(held):
            kept.append(held)

        await with_held(flavour.connect, hosted.url, keep, **PROMPT)
        found = {}
        for name, call in kept[0].verbs():
            with anyio.fail_after(2.0):
                try:
                    result = call()
                    found[name] = await result if hasattr(result, "__await__") else None
                except (JsprotoError, StopAsyncIteration) as error:
                    found[name] = error
        return found

    found = flavour.play(story)

    writers = [
        "publish",
        "request",
        "flush",
        "JetStream publish",
        "a feed is entered",
        "put to a window",
        "ack",
        "nak",
    ]
    assert [name for name in writers if not isinstance(found[name], JsprotoError)] == []


def test_verbs_of_a_blocking_client_that_was_left(hosted):
    kept = []
    with_held_blocking(blocking.connect, hosted.url, kept.append, **PROMPT)
    found = {name: at_once(call) for name, call in kept[0].verbs()}

    told = (JsprotoError, StopIteration)  # a feed that ended well only stops
    assert {
        name: each
        for name, each in found.items()
        if each is not None and not isinstance(each, told)
    } == {}
    assert isinstance(found["publish"], ConversationClosed)
    assert isinstance(found["ack"], ConversationClosed)
