"""Public cases about the life of a client with ``await``: cancelled tasks, errors that nobody asked
for, lists that are cut.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import warnings

import pytest

from jsproto.errors import AuthorizationFailed, ConnectionLost, JsprotoError, RequestTimeout
from jsproto_io.asyncio import connect
from jsproto_io.memory import MemoryServer
from jsproto_io.testing import ModelServer

PROMPT = {
    "close_timeout": 0.5,
    "drain_timeout": 0.5,
    "reconnect_wait": 0.01,
    "reconnect_jitter": 0.0,
}
LOOPS = {"asyncio": asyncio.new_event_loop}
with contextlib.suppress(ImportError):
    LOOPS["uvloop"] = importlib.import_module("uvloop").new_event_loop


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("module", ["asyncio", "anyio"])
@pytest.mark.parametrize("verb", ["flush", "drain", "close", "publish"])
def test_verbs_end_when_somebody_cancelled_every_task_n095(module, verb, loop):
    client = importlib.import_module(f"jsproto_io.{module}")

    async def story(url):
        nc = client.connect(url, **PROMPT)
        await nc.__aenter__()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0)
        async with asyncio.timeout(5.0):
            with contextlib.suppress(JsprotoError):
                await (nc.publish("a", b"1") if verb == "publish" else getattr(nc, verb)())
            with contextlib.suppress(asyncio.CancelledError):
                await nc.__aexit__(None, None, None)
        assert nc.closed is True

    with ModelServer() as server, asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(story(server.url))


@pytest.mark.filterwarnings("error")
def test_no_error_is_reported_that_nobody_asked_for_n098():
    reported = []
    server = MemoryServer()

    async def story():
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: reported.append(context)
        )
        nc = await connect(max_reconnects=1, **PROMPT)
        js = nc.jetstream()
        stream = await js.create_stream(name="S", subjects=["S.*"])
        consumer = await stream.create_consumer(durable_name="C")
        asked = await nc.subscribe("silent").__aenter__()
        window = js.publish_window()
        await window.__aenter__()
        fetch = await consumer.fetch(5, expires=30.0).__aenter__()
        server.freeze()
        for _ in range(10):
            await window.put(("S.a", b"1"))
        requests = [asyncio.create_task(nc.request("silent", timeout=30.0)) for _ in range(3)]
        await asyncio.sleep(0.1)
        server.thaw()
        server.kill()
        outcomes = await asyncio.gather(*requests, return_exceptions=True)
        assert all(isinstance(each, JsprotoError) for each in outcomes)
        del outcomes, requests, window, fetch, asked
        await nc.close()
        del nc, js, stream, consumer

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        server.run(story)
        gc.collect()
    assert reported == []
    assert [str(each.message) for each in warned] == []


@pytest.mark.live
@pytest.mark.filterwarnings("error")
def test_a_refused_login_reports_nothing_else_n098(start_server):
    server = start_server(config="authorization { user: a, password: b }")
    reported = []

    async def story():
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: reported.append(context)
        )
        with pytest.raises(AuthorizationFailed):
            await connect(server.url.replace("//", "//a:wrong@"), **PROMPT)
        gc.collect()

    asyncio.run(story())
    gc.collect()

    assert reported == []


@pytest.mark.parametrize("trouble", ["cancelled", "timeout", "cut"])
def test_a_list_that_was_cut_is_never_given_as_a_whole_one_n100(trouble):
    server = MemoryServer()
    for number in range(600):
        server.request(
            f"STREAM.CREATE.S{number}", {"name": f"S{number}", "subjects": [f"s.{number}"]}
        )

    async def story():
        async with connect(**PROMPT) as nc:
            await nc.flush()
            before = nc.stats.messages_in
            listing = asyncio.create_task(nc.jetstream(timeout=2.0).streams())
            while nc.stats.messages_in == before:  # noqa: ASYNC110 - what is waited for has no event
                await asyncio.sleep(0)
            assert not listing.done()
            if trouble == "cut":
                server.cut()
            else:
                server.freeze()
            if trouble == "cancelled":
                listing.cancel()
            try:
                return await listing
            finally:
                server.thaw()

    if trouble == "cancelled":
        with pytest.raises(asyncio.CancelledError):
            server.run(story)
    elif trouble == "timeout":
        with pytest.raises(RequestTimeout):
            server.run(story)
    else:
        try:
            whole = server.run(story)
        except ConnectionLost:
            return
        assert len(whole) == 600
