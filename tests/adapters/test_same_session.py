"""One hundred scripted sessions, each played by every adapter: what the user sees and what the
server hears are the same.

A script is drawn from a seed: publishes, requests, fetches, consumers with every verb of
acknowledgement, windows, ordered reads, upkeep, mistakes, and links that are cut between two of
them. Its trace is the outcome of each step, values and errors alike, and then every command that
the server has read, in order, with the random part of inboxes and consumer names replaced.
"""

from __future__ import annotations

import importlib
import random
import re
from datetime import timedelta

import anyio
import pytest

from jsproto import FetchMode, JetStream, JsprotoError, Publish
from jsproto.core.connection.events import Connected
from jsproto.core.pubsub.request import Flush, request
from jsproto.core.pubsub.subscription import Subscription
from jsproto.wire.client_commands import ClientCommandParser, ConnectLine
from jsproto_io._testing.harness import given, until_told
from jsproto_io._testing.model_server import ModelServer
from jsproto_io.testing import _at_once, _Rig
from tests.adapters.table import ADAPTERS

JS = JetStream()
STREAM = JS.stream("S")
CONSUMER = STREAM.consumer("C")
STEPS = 12
NUID = re.compile(r"[0-9A-Za-z]{22}")
#: When a message was stored, as its acknowledgement says it.
MOMENT = re.compile(r"\b[0-9]{19}\b")


def seen_of(message):
    """A stored message as the user sees it."""
    told = message.metadata
    return (
        message.subject,
        message.payload,
        told.stream_sequence,
        told.consumer_sequence,
        told.num_delivered,
        told.num_pending,
    )


class Session:
    """One script and its trace. Every step is a coroutine function that gives what is to be
    remembered of it.
    """

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.trace = []

    async def play(self, rig):
        async with rig.connect() as nc:
            self.nc, self.rig = nc, rig
            await nc.run(JS.create_stream(name="S", subjects=["s.*"]))
            await nc.run(
                STREAM.create_consumer(
                    durable_name="C", ack_policy="explicit", ack_wait=timedelta(minutes=1)
                )
            )
            for _ in range(STEPS):
                step = self.dice.choice(STORY)
                try:
                    outcome = await step(self)
                except JsprotoError as error:
                    outcome = type(error).__name__
                self.trace.append((step.__name__, outcome))
            await nc.run(Flush(5.0))

    async def publish(self):
        await self.nc.publish("s.a", b"%d" % self.dice.randrange(1000))
        await self.nc.run(Flush(5.0))

    async def publish_and_wait(self):
        ids = {"Nats-Msg-Id": f"id-{self.dice.randrange(6)}"}
        ack = await self.nc.run(JS.publish("s.b", b"x" * self.dice.randrange(50), headers=ids))
        return ack.seq, ack.duplicate

    async def publish_to_nobody(self):
        return await self.nc.run(JS.publish("nowhere", retries=0))

    async def mistake(self):
        return await self.nc.run(JS.publish(self.dice.choice(["a b", "a..b", "a\r\nb", "s.*"])))

    async def window(self):
        async with self.nc.sink(JS.publish_window(max_pending=self.dice.randrange(1, 9))) as window:
            for number in range(self.dice.randrange(20)):
                await window.put(Publish("s.c", b"%d" % number))
            await window.drain()
            return [(each.number, each.outcome.name) async for each in window.results()]

    async def info(self):
        state = (await self.nc.run(STREAM.info())).state
        return state.messages, state.first_seq, state.last_seq

    async def consumer_info(self):
        info = await self.nc.run(CONSUMER.info())
        return (
            info.num_pending,
            info.num_ack_pending,
            info.num_redelivered,
            info.ack_floor.stream_seq,
        )

    async def missing(self):
        return await self.nc.run(JS.stream_info("NONE"))

    async def purge(self):
        return await self.nc.run(STREAM.purge(keep=self.dice.randrange(1, 20)))

    async def settled(self, message):
        verb = self.dice.choice(
            ["ack", "ack", "ack", "nak", "term", "in_progress", "ack_confirmed"]
        )
        return verb, await given(getattr(message, verb)())

    async def fetch(self):
        wish = CONSUMER.fetch(self.dice.randrange(1, 6), mode=FetchMode.NO_WAIT)
        async with self.nc.stream(wish) as messages:
            seen = [(*seen_of(message), await self.settled(message)) async for message in messages]
        return seen, wish.reason.name

    async def next(self):
        message = await self.nc.run(CONSUMER.next(mode=FetchMode.NO_WAIT))
        return seen_of(message), await self.settled(message)

    async def consume(self):
        info = await self.nc.run(CONSUMER.info())
        most = min(info.num_pending, self.dice.randrange(1, 12))
        if not most or info.num_ack_pending:
            return None
        feed = CONSUMER.consume(self.dice.randrange(1, 9), stop_after=most)
        seen = []
        async with self.nc.stream(feed) as messages:
            async for message in messages:
                seen.append(seen_of(message))
                await given(message.ack())
        return seen, feed.reason.name

    async def read(self):
        async with self.nc.stream(STREAM.read(max_messages=1000)) as messages:
            return [
                (message.metadata.stream_sequence, message.payload) async for message in messages
            ]

    async def subscribe(self):
        async with self.nc.stream(
            Subscription("q.*", queue=self.dice.choice(["", "g"]), limit=2)
        ) as messages:
            await self.nc.publish("q.a", b"1")
            await self.nc.publish("q.b", b"2", reply="r", headers={"k": "v"})
            return [
                (each.subject, each.payload, each.reply, repr(each.headers))
                async for each in messages
            ]

    async def ask_nobody(self):
        return await self.nc.run(request("q.nobody", b"?"))

    async def cut(self):
        await self.nc.run(Flush(5.0))
        told = self.nc.events()
        self.rig.hosted.cut()
        await until_told(told, Connected)


STORY = [
    Session.publish,
    Session.publish_and_wait,
    Session.publish_and_wait,
    Session.publish_to_nobody,
    Session.mistake,
    Session.window,
    Session.window,
    Session.info,
    Session.consumer_info,
    Session.missing,
    Session.purge,
    Session.fetch,
    Session.fetch,
    Session.next,
    Session.next,
    Session.consume,
    Session.consume,
    Session.read,
    Session.subscribe,
    Session.ask_nobody,
    Session.cut,
]


def commands_of(heard: bytes) -> list[str]:
    """What the server has read, one line for each command, without what is drawn at random.

    The end of a subscription and its fence leave when the last message has come, which is a matter
    of the network and not of the user's steps: these commands stand sorted behind the others.
    """
    sessions = [
        ClientCommandParser().feed(b"CONNECT " + each) for each in heard.split(b"CONNECT ")[1:]
    ]
    lines = [
        "CONNECT" if isinstance(each, ConnectLine) else repr(each)
        for session in sessions
        for each in session
    ]
    known: dict[str, str] = {}
    lines = [
        NUID.sub(
            lambda nuid: known.setdefault(nuid[0], f"<{len(known)}>"), MOMENT.sub("<moment>", line)
        )
        for line in lines
    ]
    ends = ("UnsubLine", "<ClientVerb.PING")
    return [line for line in lines if not line.startswith(ends)] + sorted(
        line for line in lines if line.startswith(ends)
    )


def played(adapter: str, seed: int):
    """What the user saw, and what the server heard."""
    module, backend = ADAPTERS[adapter]
    connect = importlib.import_module(f"jsproto_io.{module}").connect
    session = Session(seed)
    with ModelServer() as hosted:
        rig = _Rig(connect, hosted, waits=backend != "blocking", native=False)
        if backend == "blocking":
            _at_once(session.play(rig))
        else:
            anyio.run(rig.play, session.play, backend=backend)
        return session.trace, commands_of(bytes(hosted.heard))


@pytest.mark.parametrize("seed", range(100))
def test_every_adapter_plays_the_same_session(seed):
    trace, commands = played("asyncio", seed)
    assert len(trace) == STEPS
    assert len(commands) > STEPS
    for adapter in list(ADAPTERS)[1:]:
        assert (trace, commands) == played(adapter, seed), adapter
