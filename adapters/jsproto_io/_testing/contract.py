"""What every adapter must do, one check for each promise: the contract that
`jsproto_io.testing.check_driver` judges by.

A check is a coroutine function over a `Harness`. It is written once, in the words that all adapters
share; for an adapter without ``await`` the rig answers at once, so its coroutine never waits. Its
name is the promise.
"""

from __future__ import annotations

from time import monotonic
from typing import Final

from jsproto.core.connection.auth import Auth
from jsproto.core.connection.events import Closed, Connected, Disconnected
from jsproto.core.pubsub.request import Flush, request
from jsproto.core.pubsub.subscription import Subscription
from jsproto.errors import (
    AuthorizationFailed,
    BusyConversation,
    ConnectFailed,
    ConversationClosed,
    JsprotoError,
    LinkError,
    NoResponders,
)
from jsproto_io._testing.harness import (
    JS,
    PROMPT,
    SLACK,
    Clause,
    Harness,
    a_stream,
    enter,
    equal,
    failure_of,
    filled,
    given,
    hears,
    holds,
    model_of,
    settles,
    sid_of,
    until_told,
)

# ------------------------------------------------------------------------------------------------ connecting and ending


async def a_client_is_connected_while_it_is_entered(rig: Harness) -> None:
    client = rig.connect()
    holds(not client.closed, "a client that was not entered is not closed")
    async with client as nc:
        holds(nc.connected, "inside, the link is up")
        holds(not nc.closed, "not nc.closed")
        equal(rig.hosted.connected, 1)
        holds(nc.info.max_payload > 0, "nc.info.max_payload > 0")
        holds(await nc.run(Flush(5.0)) >= 0.0, "await nc.run(Flush(5.0)) >= 0.0")
    holds(client.closed, "it is closed when it is left")
    holds(not client.connected, "not client.connected")
    await hears(rig, lambda heard: heard.startswith(b"CONNECT {"), "CONNECT is the first word")
    await hears(rig, lambda heard: heard.count(b"CONNECT ") == 1, "and said once")
    await settles(rig, lambda: rig.hosted.connected == 0, "the server sees it go")


async def nobody_there_is_an_error_when_it_is_entered(rig: Harness) -> None:
    with rig.hosted.again() as other:
        url = other.url
    error = await failure_of(enter(rig.connect(url, connect_timeout=2.0)))
    holds(isinstance(error, ConnectFailed), f"expected ConnectFailed, got {error!r}")


async def a_silent_peer_is_an_error_within_the_connect_timeout(rig: Harness) -> None:
    rig.hosted.freeze(10.0)
    begun = monotonic()
    error = await failure_of(enter(rig.connect(connect_timeout=0.1)))
    rig.hosted.freeze(0.0)
    holds(isinstance(error, ConnectFailed), f"expected ConnectFailed, got {error!r}")
    holds(monotonic() - begun < 0.1 + SLACK, "monotonic() - begun < 0.1 + SLACK")


async def an_error_of_the_body_is_raised_as_it_is(rig: Harness) -> None:
    ours = ZeroDivisionError("ours")

    async def story() -> None:
        async with rig.connect():
            raise ours

    holds(await failure_of(story()) is ours, "not another one, and in no group")


async def what_is_closed_says_so_and_does_not_wait(rig: Harness) -> None:
    client = rig.connect()
    async with client as nc:
        feed = nc.stream(Subscription("a"))
        async with feed:
            await nc.close()
            await nc.close()
            holds(nc.closed, "nc.closed")
            error = await failure_of(nc.run(Flush(5.0)))
            holds(
                isinstance(error, ConversationClosed), f"expected ConversationClosed, got {error!r}"
            )
            error = await failure_of(nc.publish("a", b""))
            holds(
                isinstance(error, ConversationClosed), f"expected ConversationClosed, got {error!r}"
            )
            error = await failure_of(feed.__anext__())
            holds(isinstance(error, (JsprotoError, StopAsyncIteration)), f"got {error!r}")
    error = await failure_of(enter(client))
    holds(isinstance(error, ConversationClosed), "a client is entered once")


async def what_was_published_reaches_the_server_before_the_client_is_gone(rig: Harness) -> None:
    async with rig.connect() as nc:
        for at in range(90):
            await nc.publish("a", b"%d" % at)
    await settles(rig, lambda: rig.hosted.connected == 0, "the server sees it go")
    await hears(rig, lambda heard: heard.count(b"PUB a ") == 90, "all 90")


async def a_stuck_peer_does_not_hold_up_closing(rig: Harness) -> None:
    async with rig.connect() as nc:
        rig.hosted.freeze(20.0)
        await nc.publish("a", b"x" * 1_000_000)
        begun = monotonic()
        await nc.close()
        holds(
            monotonic() - begun < 2 * PROMPT["close_timeout"] + SLACK,
            "monotonic() - begun < 2 * PROMPT['close_timeout'] + SLACK",
        )
    rig.hosted.freeze(0.0)


async def a_stuck_peer_does_not_hold_up_draining(rig: Harness) -> None:
    async with rig.connect(drain_timeout=0.1) as nc, nc.stream(Subscription("a")):
        await nc.run(Flush(5.0))
        rig.hosted.freeze(20.0)
        begun = monotonic()
        await nc.drain()
        holds(
            monotonic() - begun < 0.1 + 2 * PROMPT["close_timeout"] + SLACK,
            "monotonic() - begun < 0.1 + 2 * PROMPT['close_timeout'] + SLACK",
        )
        holds(nc.closed, "nc.closed")
    rig.hosted.freeze(0.0)


# ------------------------------------------------------------------------------------------------ the three verbs


async def one_result_is_given_and_errors_are_raised(rig: Harness) -> None:
    async with rig.connect() as nc:
        info = await nc.run(a_stream())
        holds(info is not None, "info is not None")
        ack = await nc.run(JS.publish("s.a", b"1"))
        equal((ack.stream, ack.seq), ("S", 1))
        error = await failure_of(nc.run(request("nobody.there", b"", timeout=5.0)))
        holds(isinstance(error, NoResponders), f"expected NoResponders, got {error!r}")


async def many_results_come_each_once_and_in_order(rig: Harness) -> None:
    async with rig.connect() as nc, nc.stream(Subscription("a.*")) as feed:
        await nc.run(Flush(5.0))
        rig.hosted.publish((f"a.{at}", b"%d" % at) for at in range(2000))
        got = [await feed.__anext__() for _ in range(2000)]
        equal([msg.payload for msg in got], [b"%d" % at for at in range(2000)])
    await hears(
        rig,
        lambda heard: heard.count(b"SUB ") - heard.count(b"UNSUB ") <= 2,
        "interest is given up",
    )


async def several_readers_get_what_is_theirs(rig: Harness) -> None:
    got: dict[str, list[bytes]] = {"a": [], "b": [], "c": []}
    reading: list[str] = []

    async with rig.connect() as nc:

        async def read(subject: str) -> None:
            async with nc.stream(Subscription(subject)) as feed:
                reading.append(subject)
                async for msg in feed:
                    got[subject].append(msg.payload)
                    if len(got[subject]) == 50:
                        break

        async def write() -> None:
            await settles(rig, lambda: len(reading) == 3, "all read")
            await nc.run(Flush(5.0))
            for at in range(50):
                for subject in got:
                    await nc.publish(subject, b"%d" % at)

        await rig.together(lambda: read("a"), lambda: read("b"), lambda: read("c"), write)
    expected = [b"%d" % at for at in range(50)]
    equal(got, {"a": expected, "b": expected, "c": expected})


async def many_inputs_are_sent_each_once_and_have_their_results_in_order(rig: Harness) -> None:
    async with rig.connect() as nc:
        await nc.run(a_stream())
        sink = nc.sink(JS.publish_window(max_pending=10))
        async with sink as window:
            for at in range(500):
                await window.put(("s.a", b"%d" % at))
            await window.drain()
            results = [result async for result in window.results()]
        equal(
            [(result.number, result.ack.seq) for result in results], [(n, n) for n in range(1, 501)]
        )
    equal(rig.hosted.stored(), 500)


async def a_consumer_is_read_and_acknowledged(rig: Harness) -> None:
    async with rig.connect() as nc:
        await filled(nc, 300)
        got: list[bytes] = []
        async with nc.stream(JS.stream("S").consumer("C").consume(max_messages=50)) as feed:
            async for msg in feed:
                got.append(msg.payload)
                await given(msg.ack())
                if len(got) == 300:
                    break
            await nc.run(Flush(5.0))
        equal(got, [b"%d" % at for at in range(300)])
        await settles(rig, lambda: rig.hosted.unsettled() == 0, "all is acknowledged")


async def a_second_reader_of_one_feed_is_told_so(rig: Harness) -> None:
    async with rig.connect() as nc, nc.stream(Subscription("a")) as feed:
        errors: list[BaseException | None] = []

        async def first() -> None:
            await feed.__anext__()

        async def second() -> None:
            await rig.pause()
            errors.append(await failure_of(feed.__anext__()))
            await nc.publish("a", b"go")

        await rig.together(first, second)
        holds(
            isinstance(errors[0], BusyConversation), f"expected BusyConversation, got {errors[0]!r}"
        )


# ------------------------------------------------------------------------------------------------ bytes and pressure


async def bytes_may_come_one_by_one(rig: Harness) -> None:
    with rig.hosted.again(piece=1) as slow:
        async with rig.connect(slow.url) as nc, nc.stream(Subscription("a")) as feed:
            for at in range(20):
                await nc.publish("a", b"%d" % at)
            equal(
                [(await feed.__anext__()).payload for _ in range(20)],
                [b"%d" % at for at in range(20)],
            )


async def publishing_waits_while_the_peer_does_not_read(rig: Harness) -> None:
    size, count = 100_000, 300
    async with rig.connect(outbound_high=200_000, outbound_low=50_000) as nc:
        rig.hosted.freeze(0.3)
        begun = monotonic()
        for _ in range(count):
            await nc.publish("a", b"x" * size)
        took = monotonic() - begun
        await nc.run(Flush(30.0))
    holds(
        took > 0.2,
        f"{size * count} bytes were taken in {took} s from a peer that did not read for 0.3 s",
    )
    await hears(rig, lambda heard: heard.count(b"PUB a ") == count, "and nothing is lost")


# ------------------------------------------------------------------------------------------------ links that end


async def what_happens_is_told_in_order(rig: Harness) -> None:
    async with rig.connect() as nc:
        events = nc.events()
        rig.hosted.cut()
        told = [await until_told(events, Disconnected), await until_told(events, Connected)]
        holds(told[1].resumed is True, "told[1].resumed is True")
        await nc.reconnect()
        await until_told(events, Disconnected)
        await until_told(events, Connected)
        await nc.close()
        closed = await until_told(events, Closed)
        holds(closed.error is None, "closed.error is None")
        error = await failure_of(events.__anext__())
        holds(isinstance(error, StopAsyncIteration), "nothing follows Closed")
    equal(rig.hosted.accepted, 3)


async def what_is_open_goes_on_when_the_link_is_lost(rig: Harness) -> None:
    async with rig.connect() as nc:
        await filled(nc, 300)
        got: list[bytes] = []
        async with nc.stream(JS.stream("S").consumer("C").consume(max_messages=20)) as feed:
            async for msg in feed:
                got.append(msg.payload)
                await given(msg.ack())
                if len(got) in {50, 120, 121}:
                    rig.hosted.cut()
                if len(set(got)) == 300:
                    break
        holds(set(got) == {b"%d" % at for at in range(300)}, "every message was given")
        holds(nc.stats.connects >= 3, "nc.stats.connects >= 3")


async def a_link_that_went_silent_is_left(rig: Harness) -> None:
    async with rig.connect(ping_interval=0.05, max_pings_out=1) as nc:
        events = nc.events()
        rig.hosted.freeze(0.5)
        lost = await until_told(events, Disconnected)
        holds(isinstance(lost.error, LinkError), f"got {lost.error!r}")
        await until_told(events, Connected)
        holds(await nc.run(Flush(5.0)) >= 0.0, "await nc.run(Flush(5.0)) >= 0.0")


async def a_ping_is_answered_while_somebody_waits(rig: Harness) -> None:
    async with rig.connect() as nc, nc.stream(Subscription("a")) as feed:
        await nc.run(Flush(5.0))
        model_of(rig).say(b"PING\r\nMSG a 2 1\r\nx\r\n".replace(b" 2 ", b" %b " % sid_of(rig)))
        equal((await feed.__anext__()).payload, b"x")
        await nc.run(Flush(5.0))
        await hears(rig, lambda heard: b"PONG\r\n" in heard, "it is heard")


# ------------------------------------------------------------------------------------------------ credentials


async def credentials_are_asked_for_at_each_handshake(rig: Harness) -> None:
    asked: list[str] = []

    def who(server: object, _nonce: str) -> Auth:
        asked.append(str(server))
        return Auth(user="joe", password=f"secret{len(asked)}")

    async with rig.connect(credentials=who) as nc:
        events = nc.events()
        rig.hosted.cut()
        await until_told(events, Disconnected)
        await until_told(events, Connected)
    equal(asked, [rig.hosted.url] * 2)
    await hears(
        rig, lambda heard: b"secret1" in heard and b"secret2" in heard, "both answers are said"
    )


async def credentials_that_cannot_be_had_are_an_error_that_shows_no_secret(rig: Harness) -> None:
    def who(_server: object, _nonce: str) -> Auth:
        raise ValueError("it is hunter two")

    error = await failure_of(enter(rig.connect(credentials=who)))
    holds(isinstance(error, AuthorizationFailed), f"expected AuthorizationFailed, got {error!r}")
    holds("hunter" not in str(error), "what the user's function said is not shown")
    await hears(rig, lambda heard: b"CONNECT" not in heard, "nothing is said without them")


CONTRACT: Final = (
    Clause(a_client_is_connected_while_it_is_entered),
    Clause(nobody_there_is_an_error_when_it_is_entered),
    Clause(a_silent_peer_is_an_error_within_the_connect_timeout),
    Clause(an_error_of_the_body_is_raised_as_it_is),
    Clause(what_is_closed_says_so_and_does_not_wait),
    Clause(what_was_published_reaches_the_server_before_the_client_is_gone),
    Clause(a_stuck_peer_does_not_hold_up_closing),
    Clause(a_stuck_peer_does_not_hold_up_draining),
    Clause(one_result_is_given_and_errors_are_raised),
    Clause(many_results_come_each_once_and_in_order),
    Clause(several_readers_get_what_is_theirs, needs="tasks"),
    Clause(many_inputs_are_sent_each_once_and_have_their_results_in_order),
    Clause(a_consumer_is_read_and_acknowledged),
    Clause(a_second_reader_of_one_feed_is_told_so, needs="tasks"),
    Clause(bytes_may_come_one_by_one),
    Clause(publishing_waits_while_the_peer_does_not_read),
    Clause(what_happens_is_told_in_order),
    Clause(what_is_open_goes_on_when_the_link_is_lost),
    Clause(a_link_that_went_silent_is_left),
    Clause(a_ping_is_answered_while_somebody_waits, model=True),
    Clause(credentials_are_asked_for_at_each_handshake),
    Clause(credentials_that_cannot_be_had_are_an_error_that_shows_no_secret),
)
