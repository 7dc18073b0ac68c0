"""The fixtures for pytest, used as somebody else would: in a project of their own, in a process of
its own.
"""

from __future__ import annotations

from tests.projects import run_by_pytest

PROJECT = {
    "conftest.py": 'pytest_plugins = ["jsproto_io.pytest_plugin"]\n',
    "test_each.py": """
import time
import pytest

@pytest.fixture(params=["asyncio", "trio", "anyio", "anyio+trio"])
def nats_adapter(request):
    return request.param

class Shop:
    def __init__(self, nc):
        self.js = nc.jetstream()

@pytest.fixture
def shop(nats):
    return Shop(nats)

async def test_an_application_that_is_given_a_client(shop, nats_server):
    orders = await shop.js.create_stream(name="ORDERS", subjects=["ORDERS.*"])
    new = await orders.create_consumer(durable_name="NEW")
    begun = time.perf_counter()
    async with new.fetch(1, expires=30.0) as messages:
        assert [msg async for msg in messages] == []
    assert time.perf_counter() - begun < 0.5
    assert nats_server.clock.now > 29.0

class TestInAClass:
    @pytest.mark.parametrize("times", [1, 2])
    async def test_an_application_that_connects_itself(self, nats_server, nats_adapter, times):
        import importlib
        connect = importlib.import_module("jsproto_io." + nats_adapter.split("+")[0]).connect
        for _ in range(times):
            async with connect("nats://somewhere:4222") as nc:
                await nc.flush()
        assert nats_server.accepted == times
""",
    "test_without.py": """
def test_without_await(nats_sync, nats_server):
    nats_sync.jetstream().create_stream(name="ORDERS", subjects=["ORDERS.*"])
    nats_server.publish("ORDERS.new", b"1")
    assert nats_server.request("STREAM.INFO.ORDERS")["state"]["messages"] == 1
""",
    "test_older.py": """
import pytest
from jsproto.testing import SimServer

@pytest.fixture
def nats_model():
    return SimServer(version="2.9")

@pytest.fixture
def nats_limit():
    return 60.0

def test_an_older_server(nats_sync, nats_server):
    assert nats_sync.info.version.startswith("2.9")

async def test_who_waits_for_ever_fails(nats):
    async with nats.subscribe("never") as messages:
        async for _ in messages:
            pass
""",
    "test_wrong.py": """
import pytest

@pytest.fixture
def nats_adapter():
    return "twisted"

def test_it(nats_server):
    pass
""",
}


def test_fixtures_serve_every_adapter_and_failures_fail(tmp_path):
    for name, text in PROJECT.items():
        (tmp_path / name).write_text(text)

    done = run_by_pytest(tmp_path)

    assert "1 failed, 14 passed, 1 error" in done.stdout, done.stdout + done.stderr
    assert "before virtual second 60," in done.stdout
    assert (
        "expected nats_adapter to be one of asyncio, trio, anyio, anyio+trio, got 'twisted'"
        in done.stdout
    )
