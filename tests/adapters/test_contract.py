"""Every adapter keeps the contract, and an adapter that breaks it is found."""

from __future__ import annotations

import asyncio
import importlib
import threading

import pytest

from jsproto.signals import NEED_DATA
from jsproto_io import asyncio as on_asyncio
from jsproto_io import blocking as on_blocking
from jsproto_io._async_client.client import AsyncClient
from jsproto_io._async_client.feed import Feed
from jsproto_io._async_client.sink import Sink
from jsproto_io._async_client.waits import taking
from jsproto_io._testing.harness import PromiseBroken
from jsproto_io.testing import CONTRACT, check_driver
from tests.adapters.table import ADAPTERS


@pytest.mark.parametrize("clause", CONTRACT, ids=lambda clause: clause.name.replace(" ", "_"))
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_the_contract(adapter, clause):
    module, backend = ADAPTERS[adapter]
    check_driver(
        importlib.import_module(f"jsproto_io.{module}").connect, backend=backend, only=clause.name
    )


def test_clauses_can_be_told_apart_by_name():
    names = [clause.name for clause in CONTRACT]

    assert len(set(names)) == len(names)
    assert [each for each in names if sum(each in other for other in names) > 1] == []


def broken(match, *, only, connect=on_asyncio.connect, backend="asyncio"):
    with pytest.raises(PromiseBroken, match=match):
        check_driver(connect, backend=backend, only=only)


def test_a_swallowed_cancellation_is_found(monkeypatch):
    run = AsyncClient.run

    async def swallow(self, conversation):
        try:
            return await run(self, conversation)
        except asyncio.CancelledError:
            return 0.0

    monkeypatch.setattr(AsyncClient, "run", swallow)
    broken("swallowed", only="cancelled request")


def test_a_message_taken_before_the_wait_is_found(monkeypatch):
    async def greedy(self):
        client = self._client
        while True:
            item = client._connection.take(self.feed, client._now())
            if item is not NEED_DATA:
                await asyncio.sleep(0)
                return item
            await taking(client, self._seat)

    monkeypatch.setattr(Feed, "__anext__", greedy)
    broken("cancelled at wait 2", only="cancelled reader")


def test_an_item_put_twice_is_found(monkeypatch):
    put = Sink.put

    async def twice(self, item):
        await put(self, item)
        await put(self, item)

    monkeypatch.setattr(Sink, "put", twice)
    broken("cancelled at wait", only="cancelled put")


def test_a_task_that_is_left_is_found(monkeypatch):
    leave = on_asyncio.Client.close

    async def forget(self):
        await leave(self)
        kept.append(asyncio.ensure_future(asyncio.sleep(3600)))

    kept: list[object] = []
    monkeypatch.setattr(on_asyncio.Client, "close", forget)
    broken("no task to be left", only="a client is connected")


def test_a_thread_that_is_left_is_found(monkeypatch):
    over = threading.Event()
    close = on_blocking.Client.close

    def forget(self):
        close(self)
        threading.Thread(target=over.wait).start()

    monkeypatch.setattr(on_blocking.Client, "close", forget)
    try:
        broken(
            "no thread to be left",
            only="a client is connected",
            connect=on_blocking.connect,
            backend="blocking",
        )
    finally:
        over.set()


def test_a_file_that_is_left_is_found(monkeypatch, tmp_path):
    kept = []

    def forget(*args, **options):
        kept.append((tmp_path / "left").open("w"))
        return on_blocking.connect(*args, **options)

    try:
        broken("open files", only="a client is connected", connect=forget, backend="blocking")
    finally:
        for each in kept:
            each.close()


def test_an_adapter_that_waits_is_not_blocking(monkeypatch):
    async def wait(*_):
        await asyncio.sleep(0)

    monkeypatch.setattr("jsproto_io.testing._Awaited.__aenter__", wait)
    broken(
        "waits for an event loop",
        only="a client is connected",
        connect=on_blocking.connect,
        backend="blocking",
    )


def test_a_check_that_does_not_end_is_ended(monkeypatch):
    monkeypatch.setattr("jsproto_io.testing._PATIENCE", 0.1)
    monkeypatch.setattr(on_blocking.Client, "__enter__", lambda _: threading.Event().wait())
    broken(
        "not done", only="a client is connected", connect=on_blocking.connect, backend="blocking"
    )
