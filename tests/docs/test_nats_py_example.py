"""The example that puts our pull consumer into nats-py: it runs, and it loses nothing when the
server is killed.
"""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import nats
import pytest

from jsproto import JetStream, Nak
from jsproto.jetstream import OnDeleted
from jsproto.jetstream.pull.request import PullNotice
from tests.code_lines import code_lines

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "nats_py.py"
pytestmark = pytest.mark.live


def _example():
    spec = importlib.util.spec_from_file_location("nats_py", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


Feed = _example().Feed
NEW = JetStream().stream("ORDERS").consumer("NEW")


async def quiet(error):
    """nats-py logs what it survives unless somebody listens."""


async def connected(server, conversation):
    """A feed and its nats-py connection, with the stream and the consumer of the docs."""
    nc = nats.NATS()
    feed, feed.linked = Feed(nc, conversation), asyncio.Event()

    async def link_up():
        await feed.link_up()
        feed.linked.set()

    await nc.connect(
        server.url,
        disconnected_cb=feed.link_down,
        reconnected_cb=link_up,
        error_cb=quiet,
        reconnect_time_wait=0.05,
        max_reconnect_attempts=-1,
    )
    js = nc.jetstream()
    await js.add_stream(name="ORDERS", subjects=["ORDERS.*"])
    await js.add_consumer("ORDERS", durable_name="NEW", ack_policy="explicit", ack_wait=1)
    await feed.link_up()
    return nc, js, feed


def run(story):
    """Play a story; no condition that it waits for may take more than a minute.

    What nats-py leaves open is collected here, also after a failure: it may not warn in somebody
    else's test.
    """
    try:
        asyncio.run(asyncio.wait_for(story, 60))
    finally:
        gc.collect()


async def settled(js):
    """Wait until the consumer owes nothing and is owed nothing."""
    while True:
        with suppress(nats.errors.Error):  # there may be no server just now
            info = await js.consumer_info("ORDERS", "NEW", timeout=1)
            if not (info.num_pending or info.num_ack_pending):
                return info
        await asyncio.sleep(0.01)


def test_the_example_is_short():
    assert code_lines(EXAMPLE.read_text(encoding="utf-8")) < 90


def test_the_example_uses_what_nats_py_shows_to_everybody():
    assert "nc._" not in EXAMPLE.read_text(encoding="utf-8")


def test_the_example_runs_and_acknowledges_what_it_prints(start_server):
    server = start_server()

    async def before():
        nc, js, feed = await connected(server, NEW.fetch(1))
        await feed.close()
        for number in (1, 2, 3):
            await js.publish("ORDERS.received", b"order %d" % number)
        await nc.close()

    run(before())
    source = EXAMPLE.read_text(encoding="utf-8").replace("nats://127.0.0.1:4222", server.url)
    done = subprocess.run(
        [sys.executable, "-"], input=source, capture_output=True, text=True, check=False, timeout=60
    )

    expected = "".join(f"ORDERS.received order {number}\n" for number in (1, 2, 3))
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")


@pytest.mark.filterwarnings(
    "ignore::ResourceWarning"
)  # nats-py forgets the streams of attempts that it gave up
def test_no_message_is_lost_when_the_server_is_killed_under_the_example(start_server):
    server = start_server()
    total = 600

    async def story():
        nc, js, feed = await connected(server, NEW.consume(max_messages=50))
        for number in range(total):
            await js.publish("ORDERS.received", b"%d" % number)
        seen = {}

        async def work():
            async for msg in feed:
                seen.setdefault(int(msg.payload), []).append(msg)
                await feed.ack(msg)
                if len(seen) == total // 2 and server.pid == first:
                    server.kill()
                    server.start()

        first = server.pid
        worker = asyncio.create_task(work())
        info = await settled(js)
        await feed.close()
        await worker
        await nc.close()

        assert server.pid != first
        assert sorted(seen) == list(range(total))
        assert max(map(len, seen.values())) <= 2, "each at most once in each life of the server"
        assert info.ack_floor.stream_seq == total

    run(story())


def test_a_reset_by_the_server_does_not_stop_the_example(start_server):
    server = start_server()

    async def story():
        nc, js, feed = await connected(
            server, NEW.consume(max_messages=10, on_deleted=OnDeleted.RETRY)
        )
        await js.publish("ORDERS.received", b"before")
        first = await anext(aiter(feed))
        await feed.ack(first)
        await js.delete_consumer("ORDERS", "NEW")
        await js.add_consumer(
            "ORDERS",
            durable_name="NEW",
            ack_policy="explicit",
            opt_start_seq=2,
            deliver_policy="by_start_sequence",
        )
        await js.publish("ORDERS.received", b"after")
        second = await anext(aiter(feed))
        notices = [kind for kind, _ in feed.machine.notices()]
        await feed.close()
        await nc.close()

        assert (first.payload, second.payload) == (b"before", b"after")
        assert PullNotice.CONSUMER_DELETED in notices

    run(story())


def test_leaving_gives_back_what_was_not_taken(start_server):
    server = start_server()

    async def story():
        nc, js, feed = await connected(server, NEW.consume(max_messages=10))
        for number in range(10):
            await js.publish("ORDERS.received", b"%d" % number)
        async for msg in feed:
            await feed.ack(msg, Nak(60))
            break
        while feed.conversation.readable < 9:
            feed.changed.clear()
            await feed.changed.wait()
        await feed.close()
        again = Feed(nc, NEW.fetch(9))
        came = [(msg.payload, msg.metadata.num_delivered) async for msg in again]
        await nc.close()

        assert came == [(b"%d" % number, 2) for number in range(1, 10)]

    run(story())


@pytest.mark.filterwarnings(
    "ignore::ResourceWarning"
)  # nats-py forgets the streams of attempts that it gave up
def test_another_link_to_the_same_server_means_another_inbox(start_server):
    server = start_server()
    total = 200

    async def story():
        nc, js, feed = await connected(server, NEW.consume(max_messages=20))
        inboxes, seen = set(), []

        async def work():
            async for msg in feed:
                inboxes.add(feed.conversation.port.subject)
                seen.append(msg.headers["Number"])
                await feed.ack(msg)

        async def another_link():
            """Leave the link between two publishes; nats-py forgets a PING that it sends before the
            new one stands.
            """
            feed.linked.clear()
            await nc.force_reconnect()
            await feed.linked.wait()

        worker = asyncio.create_task(work())
        for number in range(total):
            await js.publish("ORDERS.received", headers={"Number": str(number)})
            if number in {50, 100}:
                await another_link()
        info = await settled(js)
        await feed.close()
        await worker
        await nc.close()

        assert len(inboxes) == 3
        assert set(seen) == set(map(str, range(total)))
        assert info.ack_floor.stream_seq == total

    run(story())
