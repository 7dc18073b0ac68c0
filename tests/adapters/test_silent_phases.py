"""A server, a resolver or a signer that falls silent in the middle of an attempt: draining and
closing end within their limit in each phase of it.

The client was connected before, so that there is something to end: a subscription, and a publish
that waits for the next link.
"""

from __future__ import annotations

import importlib
import inspect
import threading
import time
from functools import partial

import anyio
import pytest

from jsproto.core.connection.auth import Auth
from tests.adapters.conftest import ADAPTERS, PATIENCE, Line

#: Far longer than a test may take: what ends here is ended by closing.
OPTIONS = {
    "connect_timeout": 600.0,
    "close_timeout": 0.2,
    "drain_timeout": 0.3,
    "reconnect_wait": 0.01,
    "reconnect_jitter": 0.0,
    "randomize": False,
}
#: What the machine may add.
SLACK = 3.0


def silent(say=b"", hear=b""):
    """A peer that says this, hears that, and then nothing is heard of it until the client goes."""

    def script(reached, line):
        line.say(say)
        if hear:
            line.hear(hear)
        reached.set()
        line.until_gone()

    return script


HELLO = b"\x16\x03"
INFO = b'INFO {"max_payload":1048576,"headers":true%b}\r\n'
#: How a server is named that falls silent in a phase, in which state the link is then, and what the
#: peer does. ``None``: nobody is there.
PHASES = {
    "looking up": ("nats://dns.silent:4222", "DIALING", None),
    "dialling": ("nats://{hole}", "DIALING", None),
    "greeting": ("nats://{peer}", "GREETED", silent()),
    "TLS by upgrade": ("nats://{peer}", "UPGRADING", silent(INFO % b',"tls_required":true', HELLO)),
    "TLS first": ("wss://{peer}", "DIALING", silent(hear=HELLO)),
    "WebSocket": ("ws://{peer}", "DIALING", silent(hear=b"GET / ")),
    "credentials": ("nats://{peer}", "ASKING", silent(INFO % b"")),
    "checking": ("nats://{peer}", "CHECKING", silent(INFO % b"", b"PING\r\n")),
}


@pytest.mark.parametrize("end", ["drain", "close"])
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_an_end_comes_within_its_limit(peer, hole, silence, nobody, adapter, phase, end):  # noqa: PLR0917
    url, state, script = PHASES[phase]
    name, backend = ADAPTERS[adapter]
    if phase == "credentials" and not backend:
        pytest.skip("who blocks waits for credentials in a function of the user")
    lost, reached = threading.Event(), threading.Event()
    asked = []

    def first(line: Line):
        line.greet()
        line.hear(b"PING\r\n")
        line.say(b"PONG\r\n")
        lost.set()

    there = peer(first)
    if script is None:
        reached.set()
        port = int(nobody.rpartition(":")[2])
        url = url.format(hole=f"{hole(port)[0]}:{port}")
        second = None
    else:
        second = peer(partial(script, reached))
        url = url.format(peer=f"127.0.0.1:{second.port}")

    async def credentials(server, nonce):
        asked.append(server)
        if len(asked) > 1:
            await anyio.sleep_forever()
        return Auth()

    async def story():
        extra = {"credentials": credentials} if phase == "credentials" else {}
        module = importlib.import_module(f"jsproto_io.{name}")
        nc = module.connect([there.url, url], **OPTIONS, **extra)

        async def ended():
            feed = nc.subscribe("a")
            await done(feed.__aenter__() if backend else feed.__enter__())
            await done(nc.flush())
            while nc._connection.state.name != state or not reached.is_set():
                await done(anyio.sleep(0.001) if backend else nc._turn(0.001))
            await done(nc.publish("b", b"kept"))
            begun = time.monotonic()
            await done(getattr(nc, end)())
            took = time.monotonic() - begun
            silence.set()  # a loop of asyncio waits for its threads when it ends

            assert nc.closed
            assert took < OPTIONS["drain_timeout"] + OPTIONS["close_timeout"] + SLACK

        with anyio.fail_after(2 * PATIENCE):
            if backend:
                async with nc:
                    await ended()
            else:
                with nc:
                    await ended()

    anyio.run(story, backend=backend or "asyncio")
    if second is not None:
        second.finish()  # it has seen the client go


async def done(given):
    """What a verb gives, in either colour."""
    return await given if inspect.isawaitable(given) else given
