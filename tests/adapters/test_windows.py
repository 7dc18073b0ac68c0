"""Everything can be imported and driven where the names of POSIX are missing, as on Windows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

#: Takes away what Windows does not have, and makes what it has as narrow as it is there.
WINDOWS = """
import asyncio, importlib, os, pkgutil, selectors, signal, socket, subprocess, sys, threading
import multiprocessing, tempfile
import anyio, pytest, rich, trio, websockets

for module, names in {
    os: "register_at_fork fork forkpty getuid geteuid getgid killpg setsid fchmod fchown chown"
        " mkfifo sendfile sched_getaffinity sched_setaffinity nice openpty pread pwrite statvfs sync fdatasync O_DIRECTORY"
        " O_NOFOLLOW O_CLOEXEC O_NONBLOCK",
    signal: "SIGALRM SIGUSR1 SIGUSR2 SIGHUP SIGCHLD SIGPIPE SIGQUIT alarm setitimer getitimer ITIMER_REAL pthread_kill"
        " pthread_sigmask sigwait pause siginterrupt",
    socket: "MSG_DONTWAIT MSG_MORE MSG_NOSIGNAL TCP_USER_TIMEOUT SO_REUSEPORT SCM_RIGHTS",
    selectors: "EpollSelector PollSelector KqueueSelector DevpollSelector",
}.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)

class Selector(selectors.SelectSelector):
    def select(self, timeout=None):
        if not self.get_map():
            raise OSError(10022, "An invalid argument was supplied")
        return super().select(timeout)

selectors.DefaultSelector = Selector

def none(self, *args):
    raise NotImplementedError

asyncio.SelectorEventLoop.add_signal_handler = none
asyncio.SelectorEventLoop.remove_signal_handler = none
"""

IMPORTS = """
import jsproto, jsproto_io, jsproto_cli
for package in (jsproto, jsproto_io, jsproto_cli):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(found.name)
print("imported")
"""

BLOCKING = """
from jsproto_io import blocking
from jsproto_io._testing.model_server import ModelServer
from jsproto.errors import LocalProtocolError
QUICK = {"reconnect_wait": 0.01, "reconnect_jitter": 0.0}
for pump in (False, True):
    with ModelServer() as server, blocking.connect(server.url, pump=pump, **QUICK) as nc:
        with nc.subscribe("a") as messages:
            nc.publish("a", b"1")
            assert messages.next().payload == b"1"
            server.cut()
            nc.reconnect()
            assert nc.flush() > 0
        try:
            nc._plug.fileno()
        except LocalProtocolError as error:
            assert "epoll" in str(error)
        else:
            raise AssertionError("expected an error")
with ModelServer() as server:
    url = server.url
try:
    blocking.connect(url, connect_sweeps=3, **QUICK).__enter__()  # waits between its attempts, with nothing to select on
except jsproto.ConnectFailed:
    print("driven")
"""

AWAITING = """
from jsproto_io import asyncio as on_asyncio, anyio as on_anyio
from jsproto_io._testing.model_server import ModelServer
async def story(connect, url):
    async with connect(url) as nc, nc.subscribe("a") as messages:
        await nc.publish("a", b"1")
        assert (await messages.next()).payload == b"1"
with ModelServer() as server:
    for module in (on_asyncio, on_anyio):
        asyncio.run(story(module.connect, server.url))
print("driven")
"""

KIT = """
from jsproto_io import blocking, memory, testing
from jsproto_io._testing.nats_server import LaunchFailed, NatsServer
from jsproto_cli.demo.command import _bounded
testing.check_driver(blocking.connect, backend="blocking", only="interrupted_reader")
testing.check_driver(blocking.connect, backend="blocking", only="publish")
with _bounded(5), memory.MemoryServer(), blocking.connect() as nc:
    nc.flush()
with NatsServer() as server:
    with blocking.connect(server.url) as nc:
        nc.flush()
    try:
        server.lame_duck()
    except LaunchFailed as error:
        assert "SIGUSR2" in str(error)
        print("driven")
"""

RECORD = """
from jsproto_cli.main import main
from jsproto_io._testing.model_server import ModelServer
os.chdir(tempfile.mkdtemp())
with ModelServer() as server:
    threading.Timer(1.0, os.kill, [os.getpid(), signal.SIGINT]).start()
    try:
        code = main(["record", "--server", server.url, "--listen", "127.0.0.1:0", "--output", "out.trace"])
    except SystemExit as end:
        code = end.code
print("driven" if not code else code)
"""


def on_windows(program):
    paths = [
        str(REPOSITORY),
        str(REPOSITORY / "adapters"),
        *filter(None, [os.environ.get("PYTHONPATH")]),
    ]
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", WINDOWS + "import jsproto\n" + program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    return done.stdout.split()[-1:], done.stderr


def test_every_module_can_be_imported():
    assert on_windows(IMPORTS) == (["imported"], "")


def test_a_blocking_client_can_be_driven():
    assert on_windows(BLOCKING) == (["driven"], "")


def test_clients_with_await_can_be_driven():
    assert on_windows(AWAITING) == (["driven"], "")


def test_the_kit_and_a_real_server_can_be_driven():
    assert on_windows(KIT) == (["driven"], "")


def test_recording_ends_by_a_signal():
    said, errors = on_windows(RECORD)

    assert said == ["driven"], errors
