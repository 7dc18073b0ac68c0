"""While a model server is active, no client opens a real socket: a real server on the default port
stays untouched.

Each test file below is a project of its own, with the plugins that its author may have, and a real
listener where a client would go by default. A test either works in the model's time or is refused
with a typed error.
"""

from __future__ import annotations

import importlib.util
import socket
import threading

import pytest

from tests.projects import run_by_pytest

CONFTEST = """
pytest_plugins = ["jsproto_io.pytest_plugin"]
"""

#: Coroutine tests with the fixtures: they work, whichever plugin is there and whatever mark they
#: have.
WITH_FIXTURES = """
import os
import pytest
from jsproto.errors import LocalProtocolError
from jsproto_io.asyncio import connect

pytestmark = {mark}

async def test_the_client_is_connected_to_the_model(nats, nats_server):
    await nats.jetstream().create_stream(name="S", subjects=["S.*"])
    await nats.jetstream().publish("S.a", b"1")
    assert nats_server.request("STREAM.INFO.S")["state"]["messages"] == 1

class TestInAClass:
    async def test_the_application_connects_itself(self, nats_server):
        async with connect(os.environ["TEST_URL"]) as nc:
            await nc.flush()
        assert nats_server.accepted == 1

    @pytest.mark.parametrize("times", [1, 2])
    async def test_parameters_arrive(self, nats, times):
        for _ in range(times):
            await nats.flush()
"""

#: Tests that would leave the model: each is refused.
LEAVING = """
import asyncio
import multiprocessing
import os
import subprocess
import sys
import threading
import unittest

import pytest
import trio

from jsproto.errors import JsprotoError, LocalProtocolError
from jsproto_io import anyio as on_anyio, asyncio as on_asyncio, blocking, trio as on_trio
from jsproto_io.memory import MemoryServer

URL = os.environ["TEST_URL"]

async def application(connect):
    async with connect(URL) as nc:
        await nc.publish("a", b"STRAY")
        await nc.flush()

def blocking_application():
    with blocking.connect(URL) as nc:
        nc.publish("a", b"STRAY")
        nc.flush()

def outcome(work, *args):
    try:
        work(*args)
    except Exception as error:
        return type(error).__name__
    return "went through"

def in_a_thread(work, *args):
    given = []
    thread = threading.Thread(target=lambda: given.append(outcome(work, *args)))
    thread.start()
    thread.join(20)
    return given

WAYS = {
    "asyncio.run": lambda: asyncio.run(application(on_asyncio.connect)),
    "asyncio.run of anyio": lambda: asyncio.run(application(on_anyio.connect)),
    "trio.run": lambda: trio.run(application, on_trio.connect),
    "trio.run of anyio": lambda: trio.run(application, on_anyio.connect),
}

@pytest.mark.parametrize("way", WAYS)
def test_in_a_plain_test(nats_server, way):
    assert outcome(WAYS[way]) == "LocalProtocolError"

@pytest.mark.parametrize("way", [*WAYS, "blocking"])
def test_in_a_thread(nats_server, way):
    assert in_a_thread(WAYS.get(way, blocking_application)) == ["LocalProtocolError"]

async def test_in_a_thread_of_the_loop(nats_server):
    assert await asyncio.to_thread(outcome, blocking_application) == "LocalProtocolError"

def sent(queue, way):
    queue.put(outcome(WAYS.get(way, blocking_application)))

@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
@pytest.mark.parametrize("how", ["spawn", "fork", "forkserver"])
@pytest.mark.parametrize("way", ["asyncio.run", "blocking"])
def test_in_a_new_process(nats_server, how, way):
    context = multiprocessing.get_context(how)
    queue = context.Queue()
    process = context.Process(target=sent, args=(queue, way))
    process.start()
    assert queue.get(timeout=60) == "LocalProtocolError"
    process.join(60)
    queue.close()
    queue.join_thread()

def test_in_a_program(nats_server):
    code = "import os; from jsproto_io.blocking import connect; connect(os.environ['TEST_URL']).__enter__()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "LocalProtocolError: expected no model server to be active" in done.stderr

def test_a_loop_of_the_server_alone_is_the_model_too():
    server = MemoryServer()
    with asyncio.Runner(loop_factory=server.loop) as runner:
        runner.run(application(on_asyncio.connect))
        runner.run(application(on_anyio.connect))
    assert server.accepted == 2

class TestCase(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.server = MemoryServer().__enter__()

    def tearDown(self):
        self.server.__exit__(None, None, None)

    async def test_in_an_asyncio_test_case(self):
        with self.assertRaises(LocalProtocolError):
            await application(on_asyncio.connect)

    async def test_inside_of_it(self):
        with MemoryServer(), self.assertRaises(LocalProtocolError):
            await application(on_asyncio.connect)
"""

#: Coroutine tests of pytest-asyncio that enter a model server themselves, and fixtures that
#: connect: refused.
ASYNCIO_ITSELF = """
import os
import pytest
import pytest_asyncio
from jsproto.errors import ConversationClosed, LocalProtocolError
from jsproto_io.asyncio import connect
from jsproto_io.memory import MemoryServer

@pytest.mark.asyncio
async def test_a_model_server_on_a_foreign_loop():
    with MemoryServer(), pytest.raises(LocalProtocolError, match="MemoryServer.run"):
        async with connect(os.environ["TEST_URL"]):
            pass

@pytest_asyncio.fixture
async def refused(nats_server):
    with pytest.raises(LocalProtocolError, match="MemoryServer"):
        async with connect(os.environ["TEST_URL"]):
            pass

@pytest.mark.asyncio
async def test_a_coroutine_fixture_that_connects(refused):
    pass

@pytest_asyncio.fixture
async def early(nats):
    with pytest.raises(ConversationClosed, match="enter connect"):
        await nats.publish("a", b"STRAY")

@pytest.mark.asyncio
async def test_a_coroutine_fixture_that_uses_the_client(early):
    pass
"""


@pytest.fixture
def untouched():
    """The URL of a listener, on the default port if that is free, which nobody may reach."""
    try:
        door = socket.create_server(("127.0.0.1", 4222))
    except OSError:
        door = socket.create_server(("127.0.0.1", 0))
    reached = []

    def listen():
        while True:
            try:
                stream, peer = door.accept()
            except OSError:
                return
            reached.append(peer)
            stream.close()

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    yield f"nats://127.0.0.1:{door.getsockname()[1]}"
    door.shutdown(socket.SHUT_RDWR)
    door.close()
    thread.join(5.0)
    assert reached == [], "a client reached the real server"


def played(folder, url, files, *options, plugins=True):
    (folder / "conftest.py").write_text(CONFTEST)
    for name, text in files.items():
        (folder / name).write_text(text)
    loop_scope = ("-o", "asyncio_default_fixture_loop_scope=function") if plugins else ()
    done = run_by_pytest(folder, *loop_scope, *options, plugins=plugins, environ={"TEST_URL": url})
    return done.stdout + done.stderr


needs_plugins = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("pytest_asyncio", "pytest_trio"))),
    reason="pytest-asyncio and pytest-trio are not installed",
)


@needs_plugins
@pytest.mark.parametrize(
    ("mark", "options"),
    [
        ("[]", ["-o", "asyncio_mode=auto"]),
        ("pytest.mark.asyncio", ["-o", "asyncio_mode=auto"]),
        ("pytest.mark.asyncio", ["-o", "asyncio_mode=strict"]),
        ("[]", ["-o", "asyncio_mode=strict"]),
        ("pytest.mark.anyio", []),
        ("pytest.mark.trio", []),
        ("[]", ["-o", "trio_mode=true"]),
    ],
    ids=["auto", "auto-marked", "strict-marked", "strict", "anyio", "trio-marked", "trio-mode"],
)
def test_a_coroutine_test_with_the_fixtures_runs_in_the_model(tmp_path, untouched, mark, options):
    files = {"test_it.py": WITH_FIXTURES.replace("{mark}", mark)}

    said = played(tmp_path, untouched, files, *options)

    count = 8 if "anyio" in mark else 4  # anyio asks for both of its backends
    assert f"{count} passed" in said, said


@needs_plugins
def test_pytest_asyncio_cannot_take_a_client_out(tmp_path, untouched):
    said = played(tmp_path, untouched, {"test_it.py": ASYNCIO_ITSELF})

    assert "3 passed" in said, said


@pytest.mark.slow
def test_whoever_would_leave_the_model_is_refused(tmp_path, untouched):
    said = played(tmp_path, untouched, {"test_it.py": LEAVING}, plugins=False)

    assert "20 passed" in said, said
