"""What the checks of the contract have in common: the rig they are given, and how they wait and
judge.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from datetime import timedelta
from time import monotonic
from typing import Any, Final, Literal, Protocol, TypeAlias, cast

from attrs import frozen

from jsproto.core.connection.events import Notice
from jsproto.core.conversation.procedure import Procedure
from jsproto.errors import JsprotoError
from jsproto.errors.tree import shorten
from jsproto.jetstream.api.config.enums import StorageType
from jsproto.jetstream.context import JetStream
from jsproto_io._testing.model_server import ModelServer
from jsproto_io._testing.relay import ServerRelay

JS: Final = JetStream()

#: What a machine that is busy with other things may add to any bound, in seconds.
SLACK: Final = 5.0
#: A link comes back at once, and nobody is waited for longer than a busy machine makes one.
PROMPT: Final[dict[str, Any]] = {
    "reconnect_wait": 0.01,
    "reconnect_wait_max": 0.05,
    "reconnect_jitter": 0.0,
    "reconnect_jitter_tls": 0.0,
    "close_timeout": 0.2,
    "connect_timeout": 2.0 + SLACK,
}


class Harness(Protocol):
    """What a check can use. Clients, feeds and sinks are the adapter's; their verbs are awaited,
    whatever its colour.
    """

    hosted: ModelServer | ServerRelay

    def connect(self, *urls: str, **options: object) -> Any:
        """A client of the hosted server, or of others."""
        ...

    async def together(self, *stories: Callable[[], Awaitable[object]]) -> None:
        """Several tasks, until all of them are done."""
        ...

    async def cut_short(self, story: Awaitable[object], at: int) -> bool:
        """Cancel a story at its ``at``-th wait; ``True`` if it was over before."""
        ...

    async def pause(self) -> None:
        """Let others go on, shortly."""
        ...


Check: TypeAlias = Callable[[Harness], Coroutine[Any, Any, None]]


@frozen
class Clause:
    """One promise, and what it needs: tasks, at least two or one to be cancelled, or a thread that
    can be interrupted.

    ``model``: only a model server can be made to do what it takes.
    """

    check: Check
    needs: Literal["", "tasks", "a thread"] = ""
    model: bool = False

    @property
    def name(self) -> str:
        """What is promised, in words."""
        return getattr(self.check, "__name__", "").replace("_", " ")


async def given(result: object) -> Any:
    """The result of a verb, whatever its colour."""
    return await result if inspect.isawaitable(result) else result


class PromiseBroken(JsprotoError, AssertionError):
    """An adapter does not do what every adapter does."""


def holds(fact: object, promise: str) -> None:
    """Judge.

    Raises:
        Broken: it does not hold.
    """
    if not fact:
        raise PromiseBroken(promise)


def equal(seen: object, expected: object) -> None:
    """Judge.

    Raises:
        Broken: they differ.
    """
    holds(seen == expected, f"expected {shorten(repr(expected))}, got {shorten(repr(seen))}")


async def enter(client: Any) -> None:
    """Enter a client and leave it."""
    async with client:
        pass


async def failure_of(verb: Awaitable[object]) -> BaseException | None:
    """What a verb raises, if it does."""
    try:
        await verb
    except Exception as error:  # noqa: BLE001 - the check judges it
        return error
    return None


async def settles(rig: Harness, condition: Callable[[], bool], promise: str) -> None:
    """Wait until a condition holds, within bounds."""
    end = monotonic() + SLACK
    while not condition():
        holds(monotonic() < end, promise)
        await rig.pause()


async def until_told(events: Any, kind: type[Any]) -> Any:
    """The next event of a kind; only notices may come before it."""
    async for event in events:
        if isinstance(event, kind):
            return event
        holds(isinstance(event, Notice), f"expected {kind.__name__}, told {event!r}")
    raise PromiseBroken(f"expected {kind.__name__}, nothing more was told")


def a_stream() -> Procedure[Any]:
    """Make the stream of the checks, in memory: files of a deleted stream can still be there when
    it is made anew (2.15.1).
    """
    return JS.create_stream(name="S", subjects=["s.*"], storage=StorageType.MEMORY)


async def filled(nc: Any, count: int) -> None:
    """A stream of so many messages, and a consumer."""
    await nc.run(a_stream())
    async with nc.sink(JS.publish_window()) as window:
        for at in range(count):
            await window.put(("s.a", b"%d" % at))
    await nc.run(JS.stream("S").create_consumer(durable_name="C", ack_wait=timedelta(seconds=0.5)))


async def hears(rig: Harness, condition: Callable[[bytes], bool], promise: str) -> None:
    """What clients have said is so, within bounds; over TLS nobody knows."""
    await settles(rig, lambda: not rig.hosted.hears or condition(bytes(rig.hosted.heard)), promise)


def model_of(rig: Harness) -> ModelServer:
    """The model server."""
    holds(isinstance(rig.hosted, ModelServer), "this takes a model server")
    return cast("ModelServer", rig.hosted)


def sid_of(rig: Harness) -> bytes:
    """The newest subscription."""
    return bytes(rig.hosted.heard).rsplit(b"SUB a ", 1)[1].split(b"\r\n", 1)[0]
