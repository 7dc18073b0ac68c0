"""The friendly methods: fresh, complete, and over nothing but the three verbs."""

from __future__ import annotations

import ast
import asyncio
import importlib
import inspect
from collections.abc import Iterator

import attrs
import pytest

from jsproto.core.connection.options import Options
from jsproto.core.conversation.procedure import Procedure
from jsproto.core.pubsub.request_all import Gather
from jsproto.errors import LinkError
from jsproto.jetstream.api.config.consumer import ConsumerInfo
from jsproto.jetstream.api.config.stream import StreamConfig, StreamInfo
from jsproto.jetstream.api.events.advisories import MessageFate
from jsproto.jetstream.api.timestamps import Timestamp
from jsproto.jetstream.context import (
    Consumer,
    JetStream,
    Meta,
    NextMessage,
    StoredMessages,
    Stream,
    System,
)
from jsproto.jetstream.ordered.consumer import OrderedConsumer
from jsproto.jetstream.publish.batch import BatchPublish, WholeBatch
from jsproto.jetstream.publish.fast_ingest import FastIngest
from jsproto.jetstream.publish.window import PublishWindow
from jsproto.jetstream.pull.ack_next import AckNext
from jsproto.jetstream.pull.consume import Consume
from jsproto.jetstream.pull.fetch import Fetch
from jsproto.jetstream.push.subscription import PushSubscription
from jsproto.jetstream.range_read.reader import RangeReader
from jsproto.jetstream.stored.direct_batch import DirectBatch
from jsproto.jetstream.stored.snapshot import Origin, Restore, Snapshot
from jsproto_io._async_client import facade as facade_async
from jsproto_io._client import generate, uncolour
from jsproto_io._client.options import ConnectOptions, options_of
from jsproto_io._sync_client import facade as facade_sync

COROUTINES = (ast.AsyncFunctionDef, ast.Await, ast.AsyncWith, ast.AsyncFor)
COLOURS = [(generate.ASYNC, facade_async), (generate.SYNC, facade_sync)]


def written_parameters(function):
    """The parameters as they are written; a signature may show more, namely the settings by name."""
    code = function.__code__
    more = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + more]


@pytest.mark.parametrize(("colour", "module"), COLOURS)
def test_the_generated_files_are_what_the_generator_writes_now(colour, module):
    assert inspect.getsource(module) == generate.facade(colour)


@pytest.mark.parametrize("name", uncolour.MADE)
def test_a_file_without_await_is_made_of_the_one_with_it_and_says_so_in_its_first_line(name):
    text = (generate._PACKAGE / name).read_text(encoding="utf-8")

    assert text == uncolour.blocking(name)
    assert "Made by ``_client/generate.py``" in text.splitlines()[0]
    assert not [node for node in ast.walk(ast.parse(text)) if isinstance(node, COROUTINES)]


def test_the_generator_says_whether_they_are_fresh_and_writes_what_is_not(tmp_path, monkeypatch):
    assert generate.main(["--check"]) == 0

    monkeypatch.setattr(generate, "_PACKAGE", tmp_path)

    assert generate.main(["--check"]) == 2 + len(uncolour.MADE)
    assert list(tmp_path.rglob("*")) == []
    assert generate.main([]) == 0
    assert generate.main(["--check"]) == 0


@pytest.mark.parametrize(("colour", "module"), COLOURS)
@pytest.mark.parametrize("pure", [JetStream, Meta, System, Stream, StoredMessages, Consumer])
def test_every_public_name_of_the_facade_is_there_with_its_signature_and_docstring(
    colour, module, pure
):
    friendly = getattr(module, colour.name + pure.__name__)
    names = [name for name in vars(pure) if not name.startswith("_") and name != "api"]

    assert names != []
    for name in names:
        theirs = inspect.getattr_static(friendly, name)
        ours = inspect.getattr_static(pure, name)
        if inspect.isfunction(ours):
            assert written_parameters(ours) == written_parameters(theirs)
            assert inspect.getdoc(theirs) == inspect.getdoc(ours)


class Verbs:
    """Notes what it was asked, and answers what the test wants."""

    def __init__(self, result: object = None) -> None:
        self.result = result
        self.asked: list[tuple[str, object]] = []

    def run(self, conversation):
        self.asked.append(("run", conversation))
        return self.result

    def stream(self, feed):
        self.asked.append(("stream", feed))
        return "streamed"

    def sink(self, window):
        self.asked.append(("sink", window))
        return "sunk"


class AsyncVerbs(Verbs):
    async def run(self, conversation):
        return super().run(conversation)


def calls() -> Iterator[
    tuple[type[object], str, tuple[object, ...], dict[str, object], str, type[object]]
]:
    """Every method with arguments that will do, the verb that it must use, and on what."""
    config = {"name": "S"}
    yield JetStream, "publish", ("s.a", b"x"), {"msg_id": "1"}, "run", Procedure
    yield JetStream, "publish_once", ("s.a", b"x"), {"msg_id": "1"}, "run", Procedure
    yield JetStream, "relay", ("message", "s.b"), {}, "run", Procedure
    yield Stream, "publish", ("s.a", b"x"), {"msg_id": "1"}, "run", Procedure
    yield JetStream, "publish_batch", ([("s.a", b"x")],), {}, "run", WholeBatch
    yield JetStream, "batch", (), {"eob": True}, "sink", BatchPublish
    yield JetStream, "ingest", (), {"gaps": "ok"}, "sink", FastIngest
    yield Stream, "publish_window", (), {"stall_wait": 1.0}, "sink", PublishWindow
    yield Stream, "publish_batch", ([("s.a", b"x")],), {}, "run", WholeBatch
    yield Stream, "batch", (), {"eob": True}, "sink", BatchPublish
    yield Stream, "ingest", (), {"gaps": "ok"}, "sink", FastIngest
    yield JetStream, "publish_window", (), {"max_pending": 3}, "sink", PublishWindow
    yield (
        JetStream,
        "dead_letter",
        (MessageFate(stream="S", stream_seq=1), "dead"),
        {},
        "run",
        Procedure,
    )
    yield (
        JetStream,
        "restore",
        (Origin({"config": {"name": "S"}, "state": {}}),),
        {},
        "sink",
        Restore,
    )
    yield Stream, "snapshot", (), {"consumers": False}, "stream", Snapshot
    yield JetStream, "confirm", ("message",), {}, "run", Procedure
    yield JetStream, "account_info", (), {}, "run", Procedure
    yield JetStream, "create_stream", (StreamConfig(name="S"),), {}, "run", Procedure
    yield JetStream, "update_stream", (), config, "run", Procedure
    yield JetStream, "create_or_update_stream", (), config, "run", Procedure
    yield JetStream, "stream_info", ("S",), {}, "run", Procedure
    yield JetStream, "delete_stream", ("S",), {}, "run", Procedure
    yield JetStream, "stream_names", (), {}, "run", Procedure
    yield JetStream, "streams", (), {}, "run", Procedure
    yield JetStream, "inventory", (), {"consumers": False}, "run", Procedure
    yield JetStream, "subscribe", ("s.a",), {"ack_policy": "none"}, "stream", PushSubscription
    yield JetStream, "pull_subscribe", ("s.a",), {"durable_name": "C"}, "run", Procedure
    yield (
        JetStream,
        "ordered_consumer",
        ("S",),
        {"deliver_policy": "new"},
        "stream",
        OrderedConsumer,
    )
    yield JetStream, "stream_by_subject", ("s.a",), {}, "run", Procedure
    yield JetStream, "stream_drift", (), config, "run", Procedure
    yield Meta, "step_down", (), {}, "run", Procedure
    yield Meta, "remove_server", ("n1",), {}, "run", Procedure
    yield Meta, "evacuate_server", ("n1",), {}, "run", Procedure
    yield Meta, "move_stream", ("A", "S"), {"server": "n1"}, "run", Procedure
    yield Meta, "cancel_move", ("A", "S"), {}, "run", Procedure
    yield Meta, "purge_account", ("A",), {}, "run", Procedure
    yield System, "ask", ("ROUTEZ",), {}, "run", Gather
    yield System, "statsz", (), {}, "run", Gather
    yield System, "varz", (), {"server": "NABC"}, "run", Gather
    yield System, "jsz", (), {"accounts": True}, "run", Gather
    yield System, "connz", (), {"account": "A"}, "run", Gather
    yield System, "healthz", (), {"stream": "S"}, "run", Gather
    yield System, "account", ("A",), {}, "run", Gather
    yield System, "user_info", (), {}, "run", Gather
    yield Stream, "step_down", (), {"wait": False}, "run", Procedure
    yield Stream, "remove_peer", ("n1",), {}, "run", Procedure
    yield Stream, "evacuate_peer", ("n1",), {}, "run", Procedure
    yield Stream, "cancel_move", (), {}, "run", Procedure
    yield Stream, "info", (), {}, "run", Procedure
    yield Stream, "purge", (), {"keep": 1}, "run", Procedure
    yield Stream, "seal", (), {}, "run", Procedure
    yield Stream, "copy", (), {"name": "T"}, "run", Procedure
    yield Stream, "consumer_drift", (), config, "run", Procedure
    yield Stream, "change", (), {"max_msgs": 1}, "run", Procedure
    yield Stream, "delete", (), {}, "run", Procedure
    yield Stream, "create_consumer", (), config, "run", Procedure
    yield Stream, "update_consumer", (), config, "run", Procedure
    yield Stream, "create_or_update_consumer", (), config, "run", Procedure
    yield Stream, "consumer_names", (), {}, "run", Procedure
    yield Stream, "consumers", (), {}, "run", Procedure
    yield Stream, "ordered", (), {}, "stream", OrderedConsumer
    yield Stream, "read", (), {"filter_subject": "s.a"}, "stream", OrderedConsumer
    yield Stream, "read_range", (3, 9), {"subjects": ["s.a"]}, "stream", RangeReader
    yield Stream, "plan_range", (), {"partitions": 3}, "run", Procedure
    yield StoredMessages, "by_seq", (3,), {}, "run", Procedure
    yield StoredMessages, "last", ("s.a",), {"direct": True}, "run", Procedure
    yield StoredMessages, "next", ("s.*",), {"seq": 2}, "run", Procedure
    yield StoredMessages, "since", (Timestamp(1),), {}, "run", Procedure
    yield StoredMessages, "batch", (), {"subject": "s.a"}, "stream", DirectBatch
    yield StoredMessages, "last_of", (["s.a"],), {}, "stream", DirectBatch
    yield StoredMessages, "delete", (3,), {"erase": True}, "run", Procedure
    yield Consumer, "info", (), {}, "run", Procedure
    yield Consumer, "refresh", (), {}, "run", Procedure
    yield Consumer, "change", (), {"max_deliver": 1}, "run", Procedure
    yield Consumer, "delete", (), {}, "run", Procedure
    yield Consumer, "step_down", (), {}, "run", Procedure
    yield Consumer, "pause", (Timestamp(1),), {}, "run", Procedure
    yield Consumer, "resume", (), {}, "run", Procedure
    yield Consumer, "reset", (), {"seq": 5}, "run", Procedure
    yield Consumer, "unpin", ("g",), {}, "run", Procedure
    yield Consumer, "subscribe", (), {"queue": "q"}, "stream", PushSubscription
    yield Consumer, "fetch", (10,), {}, "stream", Fetch
    yield Consumer, "consume", (), {"max_messages": 10}, "stream", Consume
    yield Consumer, "ack_next", (), {"expires": 2.0}, "stream", AckNext
    yield Consumer, "next", (), {"timeout": 1.0}, "run", NextMessage


MADE = {
    "create_stream": Stream(js=JetStream(), name="S"),
    "update_stream": Stream(js=JetStream(), name="S"),
    "create_or_update_stream": Stream(js=JetStream(), name="S"),
    "stream_by_subject": Stream(js=JetStream(), name="S"),
    "seal": Stream(js=JetStream(), name="S"),
    "copy": Stream(js=JetStream(), name="T"),
    "change": None,
    "refresh": Consumer(stream=Stream(js=JetStream(), name="S"), name="C"),
    "pull_subscribe": Consumer(stream=Stream(js=JetStream(), name="S"), name="C"),
    "create_consumer": Consumer(stream=Stream(js=JetStream(), name="S"), name="C"),
    "update_consumer": Consumer(stream=Stream(js=JetStream(), name="S"), name="C"),
    "create_or_update_consumer": Consumer(stream=Stream(js=JetStream(), name="S"), name="C"),
}


@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize(
    "call", list(calls()), ids=[f"{each[0].__name__}.{each[1]}" for each in calls()]
)
def test_a_method_puts_its_verb_around_the_description(is_async, call):
    pure, name, args, kwargs, verb, kind = call
    made = MADE.get(name)
    if name == "change":
        made = MADE["create_stream" if pure is Stream else "create_consumer"]
    verbs = AsyncVerbs(made) if is_async else Verbs(made)
    module = facade_async if is_async else facade_sync
    js = (
        module.AsyncJetStream(verbs, JetStream())
        if is_async
        else module.SyncJetStream(verbs, JetStream())
    )
    stream = js.stream("S")
    on = {
        JetStream: js,
        Meta: js.meta,
        System: js.system,
        Stream: stream,
        StoredMessages: stream.messages,
        Consumer: stream.consumer("C"),
    }[pure]

    result = getattr(on, name)(*args, **kwargs)
    if inspect.iscoroutine(result):
        result = asyncio.run(result)

    assert [each for each, _ in verbs.asked] == [verb]
    assert isinstance(verbs.asked[0][1], kind)
    if isinstance(made, (Stream, Consumer)):
        assert result.name == made.name
    else:
        assert result == {"run": None, "stream": "streamed", "sink": "sunk"}[verb]


def test_all_methods_are_called_above():
    called = {(each[0], each[1]) for each in calls()}
    there = {
        (pure, name)
        for pure in (JetStream, Meta, System, Stream, StoredMessages, Consumer)
        for name, member in vars(pure).items()
        if inspect.isfunction(member) and not name.startswith("_")
    }

    assert there - called == {(JetStream, "stream"), (Stream, "consumer")}


def test_no_handle_completes_a_verb_of_what_servers_do_no_more():
    handles = (JetStream, facade_sync.SyncJetStream, facade_async.AsyncJetStream)

    assert [name for handle in handles for name in dir(handle) if "template" in name] == []


@pytest.mark.parametrize("module", [facade_async, facade_sync])
def test_handles_lead_up_and_down_and_show_what_they_know(module):
    prefix = "Async" if module is facade_async else "Sync"
    info = ConsumerInfo(stream_name="S", name="C")
    pure = Stream(
        js=JetStream(domain="hub"), name="S", cached=StreamInfo(config=StreamConfig(name="S"))
    )
    verbs = Verbs()
    stream = getattr(module, f"{prefix}Stream")(verbs, pure)
    consumer = getattr(module, f"{prefix}Consumer")(
        verbs, Consumer(stream=pure, name="C", cached=info)
    )
    js = consumer.stream.js

    assert (js.domain, js.prefix, js.timeout) == ("hub", None, 5.0)
    assert stream.cached.config.name == "S"
    assert (consumer.name, consumer.cached) == ("C", info)
    assert consumer.next_subject == "$JS.hub.API.CONSUMER.MSG.NEXT.S.C"
    assert repr(consumer).startswith(f"{prefix}Consumer(stream=Stream(")
    assert verbs.asked == []


# ---------------------------------------------------------------------------------------------- options


def test_options_by_name_are_those_of_the_core_and_six_of_the_adapters():
    ours = {each.name: str(each.type) for each in attrs.fields(Options)}
    del ours["servers"], ours["ask_for_credentials"]

    named = {name: kind.__forward_arg__ for name, kind in ConnectOptions.__annotations__.items()}

    assert named.pop("tls_context") == "ssl.SSLContext | TlsFiles"
    assert named.pop("websocket") == "WebSocket"
    assert named.pop("jetstream") == "JetStream"
    assert named.pop("watch") == "Watcher | Iterable[Watcher]"
    assert named.pop("record") == "Record"
    assert named.pop("proxy") == "str | Tunnel"
    assert named.pop("reconnect_waits") == "Iterable[float | timedelta]"
    del ours["reconnect_waits"]
    assert {
        name: kind.replace("float | timedelta", "float") for name, kind in named.items()
    } == ours
    assert {name for name, kind in ours.items() if kind == "float"} == {
        name for name, kind in named.items() if kind == "float | timedelta"
    }


@pytest.mark.parametrize("adapter", ["asyncio", "trio", "anyio", "blocking"])
def test_connect_names_every_error_that_connecting_raises(adapter):
    links = {each.__name__ for each in LinkError.__subclasses__()} - {
        "ConnectionLost",
        "ConnectionClosed",
        "StaleConnection",
    }
    others = {
        "InvalidConfig",
        "AuthorizationFailed",
        "CredentialsUnavailable",
        "InvalidCredentials",
    }
    others |= {"RemoteProtocolError", "ServerError", "ConversationClosed"}
    said = importlib.import_module(f"jsproto_io.{adapter}").connect.__doc__.partition("Raises:")[2]

    assert [
        name
        for name in sorted(links | others)
        if f"`{name}`" not in said and f"{name}:" not in said
    ] == []


def test_options_are_made_of_servers_and_names():
    options = options_of(["a:1", "nats://b:2"], ask=True, name="me", ping_interval=3.0)

    assert [server.address for server in options.servers] == [("a", 1), ("b", 2)]
    assert (options.name, options.ping_interval, options.ask_for_credentials) == ("me", 3.0, True)
    assert options_of("a", ask=False).ask_for_credentials is False
