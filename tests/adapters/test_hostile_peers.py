"""Peers that announce more than they may, ask without reading the answers, or break while much is
written: what that costs each adapter.

Bounds are counted in bytes that the client holds, and in messages that are lost and named.
"""

from __future__ import annotations

import inspect
import threading
import tracemalloc

import anyio
from websockets.frames import Frame, Opcode

from jsproto.core.connection.events import Connected, Disconnected, Notice, NoticeKind
from tests.adapters.conftest import PATIENCE
from tests.adapters.test_ws_adapters import answered, greeted, heard

#: Bytes that the client may have on their way before it waits; far less than the floods here.
LOW = 65_536
SMALL = {"outbound_low": LOW, "outbound_high": 2 * LOW}
#: What one turn may add to it: one read of the client, and what a layer makes of it.
TURN = 300_000


def held(nc):
    """Bytes that the adapter keeps for the kernel."""
    plug = getattr(nc, "_plug", None)
    if plug is not None:
        return len(plug.unsent)
    transport = getattr(nc._link, "transport", None)
    return len(nc._link.unsent) if transport is None else transport.get_write_buffer_size()


def by(verb):
    """A coroutine function of the client and a ``turn``, for each kind of client: a blocking one
    runs to the end at its first step.
    """

    def told(nc):
        awaits = hasattr(nc, "__aenter__")

        async def turn():
            if awaits:
                await anyio.sleep(0.001)
            else:
                nc._turn(0.001)

        async def done(result):
            return await result if inspect.isawaitable(result) else result

        story = verb(nc, turn, done)
        if awaits:
            return story
        try:
            story.send(None)
        except StopIteration as end:
            return end.value
        raise AssertionError("expected that a blocking client waits for nothing")

    return told


def flush(nc):
    return nc.flush()


# ---------------------------------------------------------------------------------------------- frames that are too large


def test_a_frame_of_120_megabytes_is_refused_at_its_header_on_each_link(use, peer):
    links = 4
    piece = bytes(1 << 20)

    def harm(line):
        greeted(line)
        line.say(b"\x82\x7f" + (120 << 20).to_bytes(8, "big"))
        try:
            for _ in range(120):
                line.say(piece)
        except OSError:
            return
        raise AssertionError("expected the client to go at the header")

    there = peer(*[harm] * links, answered)

    async def story(nc, turn, done):
        errors = []
        while nc.stats.connects <= links:
            await turn()
            errors += [error for error in nc._connection._failures if error not in errors]
        return errors, await done(nc.flush())

    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        _, rtt = use(there.url.replace("nats", "ws"), by(story))[0]
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()

    assert rtt > 0.0
    assert peak < 8_000_000


# ---------------------------------------------------------------------------------------------- answers that nobody reads


def test_a_peer_that_asks_for_ever_and_reads_nothing_gets_few_answers(use, peer):
    many = 600_000
    read = threading.Event()
    counted = []

    def flood(line):
        line.greet()
        line.hear(b"PUB go 0\r\n\r\n")
        for _ in range(100):
            line.say(b"PING\r\n" * (many // 100))
        assert read.wait(300)
        counted.append(line.hear(b"PUB end 0\r\n\r\n").count(b"PONG\r\n"))
        line.hear(b"PING\r\n")
        line.say(b"PONG\r\n")
        line.until_gone()

    there = peer(flood, receives=4096)
    most = []

    async def story(nc, turn, done):
        await done(nc.publish("go"))
        while nc.stats.pings_in < many:
            await turn()
            most.append(held(nc))
        asked = nc.stats.messages_out
        read.set()
        while held(nc):
            await turn()
        await done(nc.publish("end"))
        await done(nc.flush())
        return asked

    use(there.url, by(story), **SMALL)

    assert max(most) < LOW + TURN
    assert 0 < counted[0] < many


def test_pings_of_a_web_socket_whose_answers_nobody_reads_pile_nothing_up(use, peer):
    words = b"x" * 125
    ping = Frame(Opcode.PING, words).serialize(mask=False)
    many = 60_000
    read = threading.Event()
    pongs = []

    def deaf(line):
        layer = greeted(line)
        heard(line, layer, b"PUB go 0\r\n")
        assert read.wait(300)
        said = b""
        while b"PUB end 0\r\n" not in said:
            layer._protocol.receive_data(line.stream.recv(65_536))
            for event in layer._protocol.events_received():
                if event.opcode is Opcode.PONG:
                    pongs.append(bytes(event.data))
                else:
                    said += bytes(event.data)
        line.until_gone()

    there = peer(deaf)

    async def story(nc, turn, done):
        await done(nc.publish("go"))
        await turn()
        most = 0
        for at in range(many):
            nc._arrived(ping[:-6] + b"%06d" % at, nc._now())  # as if each came alone
            most = max(most, held(nc))
        read.set()
        while held(nc):
            await turn()
        await done(nc.publish("end"))
        while not pongs:
            await turn()
        return most

    [most] = use(there.url.replace("nats", "ws"), by(story), **SMALL)
    there.gone.wait(PATIENCE)

    assert most < LOW + TURN
    assert len(pongs) < many
    assert pongs[-1].endswith(b"%06d" % (many - 1))


# ---------------------------------------------------------------------------------------------- what did not leave


def test_what_is_published_into_a_broken_link_goes_out_on_the_next_or_is_told(use, peer):
    many = 880
    busy, lost = threading.Event(), threading.Event()
    arrived = []

    def breaks(line):
        line.greet()
        line.hear(b"PUB go 0\r\n\r\n")
        assert busy.wait(PATIENCE)
        line.reset()
        lost.set()

    def takes(line):
        line.greet()
        arrived.append(line.hear(b"PUB end 0\r\n"))
        line.hear(b"PING\r\n")
        line.say(b"PONG\r\n")
        line.until_gone()

    there = peer(breaks, takes)

    async def story(nc, turn, done):
        listener = nc._driver.listen()
        await done(nc.publish("go"))
        await turn()
        busy.set()
        assert lost.wait(PATIENCE)  # nothing of the client runs meanwhile
        for at in range(many):
            await done(nc.publish("a", b"%04d" % at))
        while nc.stats.connects < 2:
            await turn()
        await done(nc.publish("end"))
        await done(nc.flush())
        told = []
        while isinstance(event := listener.take(), (Connected, Disconnected, Notice)):
            told.append(event)
        return told

    [told] = use(there.url, by(story), max_reconnects=None)
    unsent = [
        each.detail for each in told if isinstance(each, Notice) and each.kind is NoticeKind.UNSENT
    ]
    missing = many - arrived[0].count(b"PUB a 4\r\n")
    size = len(b"PUB a 4\r\n0000\r\n")

    assert missing <= 129  # no more than one write
    assert missing * size <= sum(unsent) + size  # the kernel may have taken one before it knew
