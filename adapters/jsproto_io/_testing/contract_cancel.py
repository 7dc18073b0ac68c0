"""The part of the contract about cancelling: at every wait of every verb, nothing is lost, and
nothing is left.

A story is cancelled at its first wait, then told again and cancelled at its second, and so on,
until it is over before it is cancelled.
"""

from __future__ import annotations

import signal
import threading
from _thread import interrupt_main
from collections.abc import Awaitable, Callable
from typing import Any, Final

from jsproto.core.pubsub.request import Flush
from jsproto.core.pubsub.subscription import Subscription
from jsproto_io._testing.harness import (
    JS,
    Clause,
    Harness,
    PromiseBroken,
    a_stream,
    equal,
    holds,
    settles,
)


async def a_cancelled_reader_loses_nothing(rig: Harness) -> None:
    async with rig.connect() as nc:
        for at in range(1, 400):
            sent: list[bytes] = []
            got: list[bytes] = []
            async with nc.stream(Subscription("a")) as feed:

                async def story() -> None:
                    for number in range(5):
                        payload = b"%d" % number
                        sent.append(payload)  # noqa: B023 - called within the turn
                        await nc.publish("a", payload)
                        got.append((await feed.__anext__()).payload)  # noqa: B023 - the same

                over = await rig.cut_short(story(), at)
                await nc.publish("a", b"end")
                while (payload := (await feed.__anext__()).payload) != b"end":
                    got.append(payload)
            holds(got == sent, f"cancelled at wait {at}")
            if over:
                return
    raise PromiseBroken("expected a story that ends")


async def a_cancelled_request_gives_up_itself_and_nothing_else(rig: Harness) -> None:
    async with rig.connect() as nc:
        for at in range(1, 400):
            asked: list[Any] = []

            async def story() -> None:
                for _ in range(5):
                    asked.append(Flush(5.0))  # noqa: B023 - called within the turn
                    await nc.run(asked[-1])  # noqa: B023 - the same

            over = await rig.cut_short(story(), at)
            holds(all(each.finished for each in asked), f"cancelled at wait {at}: given up")
            holds(await nc.run(Flush(5.0)) >= 0.0, "await nc.run(Flush(5.0)) >= 0.0")
            if over:
                return
    raise PromiseBroken("expected a story that ends")


async def a_cancelled_put_is_put_or_not_and_never_twice(rig: Harness) -> None:
    async with rig.connect() as nc:
        await nc.run(a_stream())
        handed = 0
        for at in range(1, 400):
            sink = nc.sink(JS.publish_window(max_pending=2))
            async with sink as window:

                async def story() -> None:
                    nonlocal handed
                    for _ in range(10):
                        await window.put(("s.a", b"%d" % handed))
                        handed += 1

                over = await rig.cut_short(story(), at)
                await window.put(("s.a", b"%d" % handed))
                handed += 1
            holds(rig.hosted.stored() == handed, f"cancelled at wait {at}")
            if over:
                return
    raise PromiseBroken("expected a story that ends")


async def a_cancelled_sink_is_over(rig: Harness) -> None:
    async with rig.connect() as nc:
        await nc.run(a_stream())
        for at in range(1, 400):
            sink = JS.publish_window(max_pending=2)

            async def story() -> None:
                async with nc.sink(sink) as window:  # noqa: B023 - called within the turn
                    for number in range(10):
                        await window.put(("s.a", b"%d" % number))

            over = await rig.cut_short(story(), at)
            holds(sink.finished, f"cancelled at wait {at}")
            if over:
                return
    raise PromiseBroken("expected a story that ends")


async def a_cancelled_life_leaves_nothing(rig: Harness) -> None:
    async def story() -> None:
        async with rig.connect() as nc, nc.stream(Subscription("a")) as feed:
            await nc.publish("a", b"x")
            await feed.__anext__()
            await nc.run(Flush(5.0))

    for at in range(1, 400):
        over = await rig.cut_short(story(), at)
        await settles(
            rig, lambda: rig.hosted.connected == 0, f"cancelled at wait {at}, the server sees it go"
        )
        if over:
            return
    raise PromiseBroken("expected a story that ends")


async def a_cancelled_close_is_closed_all_the_same(rig: Harness) -> None:
    await _ended(rig, lambda nc: nc.close())


async def a_cancelled_drain_can_be_closed(rig: Harness) -> None:
    await _ended(rig, lambda nc: nc.drain())


async def _ended(rig: Harness, end: Callable[[Any], Awaitable[None]]) -> None:
    for at in range(1, 400):
        async with rig.connect() as nc, nc.stream(Subscription("a")):
            over = await rig.cut_short(end(nc), at)
            await nc.close()
            holds(nc.closed, f"cancelled at wait {at}")
        if over:
            return
    raise PromiseBroken("expected a story that ends")


async def an_interrupted_reader_loses_nothing(rig: Harness) -> None:
    async with rig.connect() as nc, nc.stream(Subscription("a")) as feed:
        await nc.run(Flush(5.0))
        here = threading.get_ident()
        press = getattr(signal, "pthread_kill", None)  # Windows has none
        timer = threading.Timer(
            0.05, lambda: press(here, signal.SIGINT) if press else interrupt_main()
        )
        # A job in the background has it ignored.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        timer.start()
        try:
            await feed.__anext__()
        except KeyboardInterrupt:
            timer.join()
        else:
            raise PromiseBroken("expected that Ctrl-C ends the wait")
        finally:
            signal.signal(signal.SIGINT, before)
        await nc.publish("a", b"x")
        equal((await feed.__anext__()).payload, b"x")


CANCELLED: Final = (
    Clause(a_cancelled_reader_loses_nothing, needs="tasks"),
    Clause(a_cancelled_request_gives_up_itself_and_nothing_else, needs="tasks"),
    Clause(a_cancelled_put_is_put_or_not_and_never_twice, needs="tasks"),
    Clause(a_cancelled_sink_is_over, needs="tasks"),
    Clause(a_cancelled_life_leaves_nothing, needs="tasks"),
    Clause(a_cancelled_close_is_closed_all_the_same, needs="tasks"),
    Clause(a_cancelled_drain_can_be_closed, needs="tasks"),
    Clause(an_interrupted_reader_loses_nothing, needs="a thread"),
)
