"""A peer on a real socket that plays what a test tells it, connection by connection, in a thread of
its own.

And the four ways to be driven with ``await``, so that one test can ask them all: `flavour`. A test
in words that all adapters share asks each of them, the blocking one too: `use`.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import itertools
import json
import socket
import struct
import threading
import time
from collections.abc import Callable

import anyio
import pytest

#: Nobody here waits longer than this for anything, in seconds.
PATIENCE = 30.0
#: First byte of what Linux tells of a TCP connection that stands.
ESTABLISHED = b"\x01"


class Line:
    """One accepted connection, from the server's side."""

    def __init__(self, stream: socket.socket) -> None:
        self.stream = stream
        self.heard = b""
        stream.settimeout(PATIENCE)

    def say(self, data: bytes) -> None:
        self.stream.sendall(data)

    def hear(self, mark: bytes) -> bytes:
        """Read up to the end of ``mark``; gives what came until then."""
        heard = bytearray(self.heard)
        looked = 0
        while (at := heard.find(mark, looked)) < 0:
            looked = max(0, len(heard) - len(mark))
            data = self.stream.recv(65536)
            assert data, f"expected {mark!r}, the client went after {bytes(heard)!r}"
            heard += data
        end = at + len(mark)
        self.heard = bytes(heard[end:])
        return bytes(heard[:end])

    def greet(self, **info: object) -> bytes:
        """The whole handshake; gives CONNECT and PING."""
        self.say(
            b"INFO "
            + json.dumps({"max_payload": 1048576, "headers": True, **info}).encode()
            + b"\r\n"
        )
        shown = self.hear(b"PING\r\n")
        self.say(b"PONG\r\n")
        return shown

    def subscribed(self) -> str:
        """The sid of the next SUB."""
        self.hear(b"SUB ")
        return self.hear(b"\r\n").split()[-1].decode()

    def asked(self) -> str:
        """The reply subject of the next request without a payload of more than one line."""
        self.hear(b"PUB ")
        return self.hear(b"\r\n").split()[1].decode()

    def until_gone(self) -> bytes:
        """Everything until the client hangs up."""
        try:
            while data := self.stream.recv(65536):
                self.heard += data
        except ConnectionError:
            pass
        return self.heard

    def reset(self) -> None:
        """Go without a goodbye."""
        self.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.stream.close()


Script = Callable[[Line], object]


def gives_two(line: Line) -> None:
    """Give two messages of a consumer to the first pull."""
    line.greet()
    sid = line.subscribed().encode()
    line.hear(b"PUB $JS.API.CONSUMER.MSG.NEXT.S.C ")
    for at in b"12":
        line.say(b"MSG s %b $JS.ACK.S.C.1.%c.%c.1700000000000000000.0 1\r\nx\r\n" % (sid, at, at))


def gives_two_and_goes(line: Line) -> None:
    """Give two messages, and go when asked to."""
    gives_two(line)
    line.hear(b"PUB bye 0\r\n")


def takes_two(line: Line) -> None:
    """Hear two acks."""
    line.greet()
    line.hear(b"+ACK\r\n")
    line.hear(b"+ACK\r\n")
    line.until_gone()


class Peer:
    """Plays one script for each connection, in the order in which they come.

    Args:
        receives: the size of the kernel's receive buffer in bytes; 0 leaves it to the kernel. With a
            small buffer the client has to wait after fewer bytes.
    """

    def __init__(self, *scripts: Script, receives: int = 0) -> None:
        self.scripts = scripts
        self.failures: list[BaseException] = []
        self.gone = threading.Event()
        self._door = socket.create_server(("127.0.0.1", 0))
        self._door.settimeout(PATIENCE)
        if receives:
            self._door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
        self.port = self._door.getsockname()[1]
        self.url = f"nats://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            for script in self.scripts:
                stream, _ = self._door.accept()
                with stream:
                    script(Line(stream))
        except BaseException as failure:  # noqa: BLE001 - raised in the test
            self.failures.append(failure)
        finally:
            self._door.close()
            self.gone.set()

    def finish(self) -> None:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "expected the peer to come to its end"
        for failure in self.failures:
            raise failure


def until_ended(stream):
    """Wait until the kernel knows that the other side has gone; nothing is read for it."""
    give_up = time.monotonic() + PATIENCE
    while stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1) == ESTABLISHED:
        assert time.monotonic() < give_up
        time.sleep(0.001)


@pytest.fixture
def peer():
    """``peer(script, ...)`` listens and gives each connection its script; what fails there fails
    the test.
    """
    peers: list[Peer] = []

    def listen(*scripts: Script, receives: int = 0) -> Peer:
        peers.append(Peer(*scripts, receives=receives))
        return peers[-1]

    yield listen
    for each in peers:
        each.finish()


@pytest.fixture
def nobody():
    """A URL at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
    return f"nats://127.0.0.1:{port}"


@pytest.fixture
def deaf():
    """A URL that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        yield f"nats://127.0.0.1:{door.getsockname()[1]}"


def resolving(monkeypatch, addresses):
    """Every resolver asks ``addresses(name)`` what a name stands for, and looks it up itself where
    that is ``None``.
    """
    resolve = socket.getaddrinfo

    def found(host, port, *args, **options):
        name = host.decode() if isinstance(host, bytes) else host
        given = None if numeric(*args, **options) else addresses(name)
        return [
            each for address in given or [name] for each in resolve(address, port, *args, **options)
        ]

    monkeypatch.setattr(socket, "getaddrinfo", found)


def numeric(family=0, _type=0, _proto=0, flags=0, **_):
    """Whether a resolver with these arguments is asked for addresses that are written out, and for
    no name.
    """
    return flags & socket.AI_NUMERICHOST


def over():
    """Wait until every lookup that was left is over."""
    for thread in threading.enumerate():
        if thread.name == "jsproto resolver":
            thread.join(PATIENCE)


@pytest.fixture
def names(monkeypatch):
    """``names({name: [...], ...})`` makes every resolver give these addresses for a name."""
    known = {}
    resolving(monkeypatch, known.get)
    return known.update


@pytest.fixture
def silence(monkeypatch):
    """A resolver that does not answer for names that end in .silent, until it is set."""
    answered = threading.Event()

    def addresses(name):
        if not name.endswith(".silent"):
            return None
        assert answered.wait(PATIENCE)
        return ["127.0.0.1"]

    resolving(monkeypatch, addresses)
    yield answered
    answered.set()
    over()


@pytest.fixture
def hole():
    """``hole(port)`` gives an address that swallows whoever knocks at this port, and the door
    behind it, which nobody opens.
    """
    held = contextlib.ExitStack()

    def make(port):
        host = f"127.0.7.{next(hosts)}"
        door = held.enter_context(socket.socket())
        door.bind((host, port))
        door.listen(0)
        for _ in range(
            2
        ):  # with Linux one waits behind a backlog of 0, and who comes later is not answered
            waiting = held.enter_context(socket.socket())
            waiting.settimeout(0.0)
            waiting.connect_ex((host, port))
        return host, door

    hosts = itertools.count(1)
    with held:
        yield make


class Flavour:
    """One adapter with ``await`` on one framework. Tests speak anyio, which both frameworks
    understand.
    """

    def __init__(self, adapter: str, backend: str) -> None:
        self.adapter = adapter
        self.backend = backend
        self.module = importlib.import_module(f"jsproto_io.{adapter}")
        self.connect = self.module.connect

    def play(self, story, *, patience=60.0):
        """Run a coroutine function, and see that it leaves no task behind."""

        async def whole():
            before = {task.id for task in anyio.get_running_tasks()}
            with anyio.fail_after(patience):
                result = await story()
            assert {task.id for task in anyio.get_running_tasks()} <= before
            return result

        return anyio.run(whole, backend=self.backend)


FLAVOURS = {
    "asyncio": ("asyncio", "asyncio"),
    "trio": ("trio", "trio"),
    "anyio-asyncio": ("anyio", "asyncio"),
    "anyio-trio": ("anyio", "trio"),
}


@pytest.fixture(params=FLAVOURS)
def flavour(request):
    """Each adapter with ``await``."""
    return Flavour(*FLAVOURS[request.param])


#: A link that is lost is there again at once.
PROMPT = {
    "connect_timeout": 5.0,
    "reconnect_wait": 0.01,
    "reconnect_wait_max": 0.05,
    "reconnect_jitter": 0.0,
    "reconnect_jitter_tls": 0.0,
}
ADAPTERS = {
    "asyncio": ("asyncio", "asyncio"),
    "trio": ("trio", "trio"),
    "anyio": ("anyio", "asyncio"),
    "blocking": ("blocking", ""),
}


@pytest.fixture(params=ADAPTERS)
def use(request):
    """``use(url, verb, ..., **options)`` connects, lets each verb do something with the client, and
    gives what they gave.
    """
    name, backend = ADAPTERS[request.param]
    connect = importlib.import_module(f"jsproto_io.{name}").connect

    def use(url, *verbs, **options):
        options = {**PROMPT, **options}

        async def awaited():
            with anyio.fail_after(20):
                async with connect(url, **options) as nc:
                    given = []
                    for verb in verbs:
                        result = verb(nc)
                        given.append(await result if inspect.isawaitable(result) else result)
                    return given

        if backend:
            return anyio.run(awaited, backend=backend)
        with connect(url, **options) as nc:
            return [verb(nc) for verb in verbs]

    return use
