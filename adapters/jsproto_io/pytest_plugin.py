"""Fixtures for pytest: a test that asks for ``nats`` has a connected client and no server.

    pytest_plugins = ["jsproto_io.pytest_plugin"]          # in conftest.py

    async def test_an_order_is_confirmed(nats, nats_server): ...
    def test_an_order_is_printed(nats_sync): ...

Theory. `nats_server` is a `MemoryServer`, new for each test, and the network of whatever connects
in it. A coroutine test that has it is run in its time by this plugin, so no other plugin is needed.
One that is there and would run it, as pytest-asyncio, anyio or pytest-trio, is given a plain
function in its place. The client `nats` is entered around the test, in the task of the test, since
that is what trio wants. Three fixtures say how things are, and are there to be overridden:
`nats_adapter`, `nats_model`, `nats_limit`.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Awaitable, Callable, Generator, Iterator
from typing import Any, Final, cast

import pytest

from jsproto.errors import InvalidConfig
from jsproto.testing import SimServer
from jsproto_io import blocking
from jsproto_io._async_client.client import AsyncClient
from jsproto_io.memory import Backend, MemoryServer

__all__ = ["nats", "nats_adapter", "nats_limit", "nats_model", "nats_server", "nats_sync"]

#: Which module speaks, and what it runs on.
_ADAPTERS: Final[dict[str, tuple[str, Backend]]] = {
    "asyncio": ("jsproto_io.asyncio", "asyncio"),
    "trio": ("jsproto_io.trio", "trio"),
    "anyio": ("jsproto_io.anyio", "asyncio"),
    "anyio+trio": ("jsproto_io.anyio", "trio"),
}

#: A coroutine test as it was written.
_WRITTEN: Final = pytest.StashKey[Callable[..., Awaitable[object]]]()


@pytest.fixture
def nats_adapter() -> str:
    """Whose client `nats` is, and what coroutine tests run on: ``asyncio``, ``trio``, ``anyio`` or
    ``anyio+trio``.
    """
    return "asyncio"


@pytest.fixture
def nats_model() -> SimServer:
    """The server, before anybody has connected: of another version, with permissions, without
    JetStream.
    """
    return SimServer()


@pytest.fixture
def nats_limit() -> float:
    """How much virtual time a test may take, in seconds."""
    return 86_400.0


@pytest.fixture
def nats_server(
    nats_model: SimServer, nats_limit: float, nats_adapter: str
) -> Iterator[MemoryServer]:
    """The server in memory that whatever connects in this test is connected to, with verbs to break
    it.

    Raises:
        InvalidConfig: there is no such adapter.
    """
    if nats_adapter not in _ADAPTERS:
        raise InvalidConfig(
            f"expected nats_adapter to be one of {', '.join(_ADAPTERS)}, got {nats_adapter!r}"
        )
    with MemoryServer(nats_model, limit=nats_limit) as server:
        yield server


@pytest.fixture
def nats(nats_server: MemoryServer, nats_adapter: str) -> AsyncClient:
    """A client with ``await``, connected as long as the test runs."""
    connect = importlib.import_module(_ADAPTERS[nats_adapter][0]).connect
    return cast("AsyncClient", connect(nats_server.url))


@pytest.fixture
def nats_sync(nats_server: MemoryServer) -> Iterator[blocking.Client]:
    """A client without ``await``, connected as long as the test runs."""
    with blocking.connect(nats_server.url) as client:
        yield client


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Keep a coroutine test as its author wrote it: other plugins put a function of their own in
    its place to run it.
    """
    if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
        item.stash[_WRITTEN] = item.obj


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Run a coroutine test that has a server in memory in that server's time, whichever plugin
    meant to run it.
    """
    given: dict[str, Any] = pyfuncitem.funcargs
    server = given.get("nats_server")
    test = pyfuncitem.stash.get(_WRITTEN, None)
    if not isinstance(server, MemoryServer) or test is None:
        return (yield)
    wanted = {name: given[name] for name in inspect.signature(test).parameters if name in given}
    client: AsyncClient | None = given.get("nats")

    async def story() -> None:
        if client is None:
            await test(**wanted)
        else:
            async with client:
                await test(**wanted)

    def run(**_arguments: object) -> None:
        server.run(story, backend=_ADAPTERS[given["nats_adapter"]][1])

    replaced, pyfuncitem.obj = pyfuncitem.obj, run
    try:
        return (yield)
    finally:
        pyfuncitem.obj = replaced
