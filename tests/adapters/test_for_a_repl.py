"""What a user at a prompt needs: keywords that complete, text as payload, a client without
``with``, an answer in one word.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect

import pytest

from jsproto.core.connection.options import Options
from jsproto.errors import ConversationClosed, InvalidSubject, LocalProtocolError
from jsproto.jetstream.api.config.settings import ConsumerSettings, StreamSettings
from jsproto.jetstream.api.publishing.options import PublishSettings
from jsproto.wire.commands import Publish
from jsproto_io import blocking
from jsproto_io._async_client.facade import AsyncConsumer, AsyncJetStream, AsyncStream
from jsproto_io._client.options import ConnectOptions
from jsproto_io._sync_client.facade import SyncConsumer, SyncJetStream, SyncStream
from jsproto_io.asyncio import connect as connect_async
from jsproto_io.memory import MemoryServer

UNWRITABLE = "a\udc80"


@pytest.fixture
def nc():
    with MemoryServer(), blocking.connect() as nc:
        yield nc


# ---------------------------------------------------------------------------------------------- keywords


@pytest.mark.parametrize("adapter", ["asyncio", "trio", "anyio", "blocking"])
def test_connect_names_every_option(adapter):
    shown = inspect.signature(importlib.import_module(f"jsproto_io.{adapter}").connect).parameters

    assert set(ConnectOptions.__annotations__) < set(shown)
    assert "options" not in shown
    assert shown["connect_timeout"].annotation == "float | timedelta"
    assert repr(shown["connect_timeout"].default) == "..."


@pytest.mark.parametrize("handles", [(AsyncJetStream, AsyncStream), (SyncJetStream, SyncStream)])
def test_verbs_name_every_setting(handles):
    js, stream = handles
    for verb, settings in (
        (js.create_stream, StreamSettings),
        (js.publish, PublishSettings),
        (stream.publish, PublishSettings),
        (stream.create_consumer, ConsumerSettings),
    ):
        assert set(settings.__annotations__) < set(inspect.signature(verb).parameters)


@pytest.mark.parametrize(
    "handle", [AsyncJetStream, AsyncStream, AsyncConsumer, SyncJetStream, SyncStream, SyncConsumer]
)
def test_no_verb_hides_its_keywords(handle):
    hidden = [
        name
        for name, verb in vars(handle).items()
        if inspect.isfunction(verb)
        and any(
            each.kind is each.VAR_KEYWORD for each in inspect.signature(verb).parameters.values()
        )
    ]

    assert hidden == []


def test_a_method_of_a_handle_shows_its_keywords_without_self(nc):
    shown = list(inspect.signature(nc.jetstream().create_stream).parameters)

    assert shown[0] == "config"
    assert "subjects" in shown


# ---------------------------------------------------------------------------------------------- text


def test_text_is_published_as_utf8_by_every_verb(nc):
    js = nc.jetstream()
    js.create_stream(name="S", subjects=["s.>"], allow_atomic=True)
    stream = js.stream("S")
    nc.publish("s.core", "é")
    js.publish("s.js", "é")
    stream.publish("s.stream", "é")
    js.publish_once("s.once", "é")
    with js.publish_window() as window:
        window.put(("s.window", "é"))
        window.put(Publish("s.window", "é"))
        window.put(("s.window", bytearray("é".encode())))
    js.publish_batch([("s.batch", "é"), Publish("s.batch", "é")])

    with stream.read() as messages:
        stored = [(message.subject, message.payload) for message in messages]

    assert {payload for _, payload in stored} == {"é".encode()}
    assert sorted(subject.partition(".")[2] for subject, _ in stored) == [
        "batch",
        "batch",
        "core",
        "js",
        "once",
        "stream",
        "window",
        "window",
        "window",
    ]


def test_text_that_utf8_cannot_carry_is_refused_by_every_verb(nc):
    js = nc.jetstream()
    js.create_stream(name="S", subjects=["s.>"], allow_atomic=True)
    window = js.publish_window()
    ingest = js.ingest()
    with window as w, ingest as i:
        for refused in (
            lambda: nc.publish("s.a", UNWRITABLE),
            lambda: nc.request("s.a", UNWRITABLE),
            nc.request_many("s.a", UNWRITABLE).__enter__,
            lambda: js.publish("s.a", UNWRITABLE),
            lambda: js.publish_once("s.a", UNWRITABLE),
            lambda: w.put(("s.a", UNWRITABLE)),
            lambda: w.put(Publish("s.a", UNWRITABLE)),
            lambda: js.publish_batch([("s.a", UNWRITABLE)]),
            lambda: i.put(("s.a", UNWRITABLE)),
        ):
            with pytest.raises(LocalProtocolError, match="a lone surrogate at character 1"):
                refused()

    assert js.stream("S").info().state.messages == 0


# ---------------------------------------------------------------------------------------------- open and close


def test_a_blocking_client_is_opened_and_closed_by_hand():
    with MemoryServer():
        nc = blocking.connect().open()
        assert nc.connected
        assert nc.flush() >= 0
        nc.close()

        assert nc.closed
        with pytest.raises(ConversationClosed):
            nc.open()


# ---------------------------------------------------------------------------------------------- answers


def test_a_message_is_answered_with_respond(nc):
    with nc.subscribe("ask") as asked, nc.request_many("ask", "who?", count=1) as answers:
        question = asked.next(5)
        question.respond("mé", headers={"A": "1"})
        answer = answers.next(5)

    assert (answer.payload, answer.headers.get("A")) == ("mé".encode(), "1")


def test_a_message_without_a_reply_subject_cannot_be_answered(nc):
    with nc.subscribe("ask") as asked:
        nc.publish("ask")
        message = asked.next(5)

    with pytest.raises(InvalidSubject, match="reply subject, the one on 'ask' wants no answer"):
        message.respond("x")


def test_the_answer_to_a_request_can_be_answered_too(nc):
    with nc.subscribe("back") as back, nc.subscribe("ask") as asked:
        with nc.request_many("ask", count=1) as answers:
            nc.publish(asked.next(5).reply, "and you?", reply="back")
            answers.next(5).respond("fine")
        assert back.next(5).payload == b"fine"


def test_a_message_is_answered_with_await():
    async def main() -> list[bytes]:
        async with connect_async() as nc, nc.subscribe("ask") as asked:

            async def answer() -> None:
                question = await asked.next(5)
                await question.respond("yes", headers={"A": "1"})

            task = asyncio.create_task(answer())
            got = await nc.request("ask", "ok?")
            await task
            await nc.publish("ask", "x")
            with pytest.raises(InvalidSubject, match="wants no answer"):
                await (await asked.next(5)).respond()
            with pytest.raises(InvalidSubject, match="wants no answer"):
                await got.respond()
            return [got.payload, str(got.headers.get("A")).encode()]

    with MemoryServer() as server:
        assert server.run(main) == [b"yes", b"1"]


def test_options_of_connect_are_those_of_the_connection():
    names = {each for each in Options.__slots__ if not each.startswith("__")} - {
        "servers",
        "ask_for_credentials",
    }

    assert names < set(inspect.signature(blocking.connect).parameters)
