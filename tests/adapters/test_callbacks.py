"""Callbacks that nobody awaits: refused by every adapter before a message is acknowledged, a link
dialled or a question asked.
"""

from __future__ import annotations

import logging

import pytest

from jsproto.errors import InvalidConfig, LocalProtocolError
from jsproto_io import blocking
from jsproto_io._backup.progress import Phase, Progress, ProgressReporter
from jsproto_io.asyncio import connect
from jsproto_io.memory import MemoryServer
from tests.core.test_callbacks import Waiting, both, waits, yields


def hidden(function):
    """A plain function around another one, whose kind cannot be seen before it is called."""

    def call(*args):
        return function(*args)

    return call


def stored(js, count=3):
    stream = js.create_stream(name="S", subjects=["S.*"])
    consumer = stream.create_consumer(durable_name="C")
    for number in range(count):
        js.publish("S.a", b"%d" % number)
    return consumer


def unsettled(server):
    info = server.request("CONSUMER.INFO.S.C")
    return info["num_pending"] + info["num_ack_pending"]


@pytest.mark.parametrize("handler", [waits, yields, both, Waiting()])
def test_blocking_each_refuses_it_before_anything_is_asked_for(handler):
    with MemoryServer() as server, blocking.connect() as nc:
        consumer = stored(nc.jetstream())
        with pytest.raises(InvalidConfig, match="expected a plain function as handler"):
            consumer.consume().each(handler)

        assert unsettled(server) == 3
        assert server.request("CONSUMER.INFO.S.C")["num_waiting"] == 0


@pytest.mark.parametrize("handler", [hidden(waits), hidden(yields)])
def test_blocking_each_acknowledges_nothing_that_a_hidden_coroutine_was_to_handle(handler):
    with MemoryServer() as server, blocking.connect() as nc:
        consumer = stored(nc.jetstream())
        with pytest.raises(InvalidConfig, match="nobody awaits"):
            consumer.consume().each(handler)
        nc.flush()

        assert unsettled(server) == 3


def each_of(handler):
    """How many messages are left when asyncio's ``each`` has come to its end, or the error."""
    server = MemoryServer()

    async def story():
        async with connect() as nc:
            js = nc.jetstream()
            stream = await js.create_stream(name="S", subjects=["S.*"])
            consumer = await stream.create_consumer(durable_name="C")
            for _ in range(3):
                await js.publish("S.a", b"1")
            await consumer.fetch(3).each(handler)
            await nc.flush()

    server.run(story)
    return unsettled(server)


@pytest.mark.parametrize(
    "handler",
    [
        waits,
        Waiting(),
        hidden(waits),
        lambda _: 5,
        lambda _: "done",
        lambda _: object(),
        lambda _: None,
    ],
)
def test_asyncio_each_takes_a_function_with_any_result(handler):
    assert each_of(handler) == 0


@pytest.mark.parametrize("handler", [yields, both, hidden(yields)])
def test_asyncio_each_refuses_a_function_that_nobody_would_run(handler):
    with pytest.raises(InvalidConfig):
        each_of(handler)


@pytest.mark.parametrize("module", ["asyncio", "trio", "anyio", "blocking"])
@pytest.mark.parametrize("watch", [waits, [print, waits], Waiting(), 5, [5]])
def test_a_watcher_that_nobody_would_await_is_refused(module, watch):
    module = pytest.importorskip(f"jsproto_io.{module}")
    with pytest.raises(InvalidConfig, match="as watch"):
        module.connect(watch=watch)


def test_a_watcher_that_gives_a_coroutine_is_logged(caplog):
    caplog.set_level(logging.ERROR, logger="jsproto_io")
    with MemoryServer(), blocking.connect(watch=hidden(waits)) as nc:
        nc.flush()

    assert "a watcher has raised" in caplog.text
    assert "nobody awaits" in caplog.text


def test_a_sentinel_that_gives_a_coroutine_ends_the_request_with_an_error():
    with MemoryServer(), blocking.connect() as nc, nc.subscribe("ask") as asked:
        question = nc.request_many("ask", sentinel=hidden(waits), timeout=1.0)
        with question as answers:
            nc.publish(asked.next().reply, b"1")
            with pytest.raises(LocalProtocolError, match="sentinel"):
                answers.next()


def test_who_is_told_of_progress_is_told_by_a_call():
    progress = Progress(deed="backup", stream="S", phase=Phase.BEGUN, number=1, of=1)
    with pytest.raises(InvalidConfig, match="as tell"):
        ProgressReporter(progress, waits)
    with (
        pytest.raises(InvalidConfig, match="nobody awaits"),
        ProgressReporter(progress, hidden(waits)),
    ):
        pass
