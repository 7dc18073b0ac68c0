"""No name of a user can end its line: every public entry that takes one, with forty families of
hostile text.

An entry is a function of one hostile text that opens what it makes, on a connection that is up.
Each must raise one error of ours before a byte exists. Behind the entries that are written down
stand all verbs that the facade has, as their signatures say them: a verb that is added later is
held to the same.
"""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from jsproto import (
    Connection,
    ConsumerConfig,
    JetStream,
    JsprotoError,
    Options,
    StreamConfig,
    StreamSource,
)
from jsproto.core.pubsub.request import request
from jsproto.core.pubsub.request_many import RequestMany
from jsproto.core.pubsub.subscription import Subscription
from jsproto.jetstream.api.events.advisories import MessageFate
from jsproto.jetstream.context import Consumer, Meta, StoredMessages, Stream, System
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.signals import NEED_DATA
from jsproto.wire.client_commands import ClientCommandParser, PubLine
from jsproto.wire.commands import Publish, Sub, Unsub
from jsproto.wire.encoder import encode
from jsproto.wire.headers import Headers

#: Text that no subject, name, header name or header value can hold.
FAMILIES = {
    "CR LF": "a\r\nb",
    "LF": "a\nb",
    "CR": "a\rb",
    "CR LF first": "\r\na",
    "LF first": "\na",
    "CR first": "\ra",
    "CR LF last": "a\r\n",
    "LF last": "a\n",
    "CR last": "a\r",
    "NUL": "a\0b",
    "NUL first": "\0a",
    "NUL last": "a\0",
    "NUL and a line": "a\0\r\nPING\r\n",
    "surrogate": "a\ud800b",
    "second half of a pair": "a\udfffb",
    "byte that was no UTF-8": "a\udcff",
    "PUB behind": "a\r\nPUB hacked 0\r\n\r\n",
    "PUB behind LF": "a\nPUB hacked 0\r\n\r\n",
    "PUB behind CR": "a\rPUB hacked 0\r\n\r\n",
    "PUB behind a size": "a 0\r\n\r\nPUB hacked 0\r\n\r\n",
    "PUB behind a reply and a size": "a b 0\r\n\r\nPUB hacked 0\r\n\r\n",
    "HPUB behind": "a\r\nHPUB hacked 12 12\r\nNATS/1.0\r\n\r\n\r\n",
    "SUB behind": "a\r\nSUB > 666",
    "UNSUB behind": "a\r\nUNSUB 1",
    "CONNECT behind": 'a\r\nCONNECT {"user":"x"}',
    "PING behind": "a\r\nPING",
    "PONG behind": "a\r\nPONG",
    "+OK behind": "a\r\n+OK",
    "-ERR behind": "a\r\n-ERR 'Stale Connection'",
    "MSG behind": "a\r\nMSG a 1 0\r\n",
    "INFO behind": "a\r\nINFO {}",
    "header behind": "a\r\nNats-Rollup: all",
    "header behind LF": "a\nNats-Rollup: all",
    "end of headers": "a\r\n\r\nbody",
    "status line": "a\r\nNATS/1.0 503",
    "many line ends": "\r\n" * 50,
    "only LF": "\n",
    "only CR": "\r",
    "only NUL": "\0",
    "long and a line": "a" * 3000 + "\r\nPING",
}

#: And what no name of any kind can hold, but a header value can.
BLANK = {
    "blank": "a b",
    "blank first": " a",
    "blank last": "a ",
    "tab": "a\tb",
    "vertical tab": "a\vb",
    "form feed": "a\fb",
    "escape": "a\x1b[31mb",
    "DEL": "a\x7fb",
    "only a blank": " ",
}

JS = JetStream()
STREAM = JS.stream("S")
CONSUMER = STREAM.consumer("C")


def connection() -> Connection:
    """One that is up."""
    up = Connection(Options(servers="nats://a:4222"), entropy=bytes, now=0.0)
    up.transport_up(0.0)
    up.receive_data(
        b'INFO {"server_id":"N","version":"2.15.1","headers":true,"max_payload":1048576}\r\n', 0.0
    )
    up.receive_data(b"PONG\r\n", 0.0)
    up.data_to_send()
    return up


Entry = Callable[[Connection, str], object]


def opens(make: Callable[[str], object]) -> Entry:
    """An entry that makes a conversation; what can only be known with an answer is refused by the
    first `take`.
    """

    def entry(up: Connection, text: str) -> None:
        conversation = make(text)
        up.open(conversation, 0.0)
        up.take(conversation, 0.0)

    return entry


def puts(make: Callable[[str], object]) -> Entry:
    """An entry that puts an item into a window."""

    def entry(up: Connection, text: str) -> None:
        window = up.open(JS.publish_window(), 0.0)
        up.data_to_send()
        up.put(window, make(text), 0.0)

    return entry


def writes(make: Callable[[str], object]) -> Entry:
    """An entry that makes one command."""
    return lambda _, text: encode(make(text))


#: Entries that take the text as a name: neither line ends nor blanks.
NAMES: dict[str, Entry] = {
    "send: subject": lambda up, text: up.send(Publish(text), 0.0),
    "send: reply": lambda up, text: up.send(Publish("a", b"", text), 0.0),
    "encode: subject": writes(Publish),
    "encode: reply": writes(lambda text: Publish("a", b"", text)),
    "encode: SUB subject": writes(lambda text: Sub(text, "1")),
    "encode: SUB queue": writes(lambda text: Sub("a", "1", text)),
    "encode: SUB sid": writes(lambda text: Sub("a", text)),
    "encode: UNSUB sid": writes(Unsub),
    "Options: inbox_prefix": lambda _, text: Options(servers="nats://a:4222", inbox_prefix=text),
    "request: subject": opens(request),
    "request_many: subject": opens(RequestMany),
    "subscription: subject": opens(Subscription),
    "subscription: queue": opens(lambda text: Subscription("a", queue=text)),
    "publish: subject": opens(JS.publish),
    "publish_window: subject": puts(lambda text: (text, b"")),
    "publish_window: subject of a Publish": puts(Publish),
    "publish_window: reply": puts(lambda text: Publish("a", b"", text)),
    "JetStream: domain": lambda _, text: JetStream(domain=text),
    "StreamSource: domain": lambda _, text: StreamSource.in_domain("S", text),
    "JetStream: prefix": lambda _, text: JetStream(prefix=text),
    "stream: name": opens(lambda text: JS.stream(text).info()),
    "consumer: name": opens(lambda text: STREAM.consumer(text).info()),
    "consumer: next": opens(lambda text: STREAM.consumer(text).next()),
    "consumer: fetch": opens(lambda text: STREAM.consumer(text).fetch(1)),
    "consumer: consume": opens(lambda text: STREAM.consumer(text).consume()),
    "create_stream: name": opens(lambda text: JS.create_stream(name=text, subjects=["a"])),
    "create_stream: config": opens(lambda text: JS.create_stream(StreamConfig(name=text))),
    "create_stream: subjects": opens(lambda text: JS.create_stream(name="S", subjects=[text])),
    "update_stream: name": opens(lambda text: JS.update_stream(name=text)),
    "create_or_update_stream: name": opens(lambda text: JS.create_or_update_stream(name=text)),
    "stream_info: stream": opens(JS.stream_info),
    "stream_info: subjects_filter": opens(lambda text: JS.stream_info("S", subjects_filter=text)),
    "delete_stream: stream": opens(JS.delete_stream),
    "stream_names: subject": opens(lambda text: JS.stream_names(subject=text)),
    "streams: subject": opens(lambda text: JS.streams(subject=text)),
    "stream_by_subject: subject": opens(JS.stream_by_subject),
    "stream_drift: name": opens(lambda text: JS.stream_drift(name=text)),
    "subscribe: subject": opens(JS.subscribe),
    "subscribe: stream": opens(lambda text: JS.subscribe("a", stream=text)),
    "subscribe: consumer": opens(lambda text: JS.subscribe("a", stream="S", consumer=text)),
    "subscribe: queue": opens(lambda text: JS.subscribe("a", queue=text)),
    "subscribe: durable_name": opens(lambda text: JS.subscribe("a", stream="S", durable_name=text)),
    "pull_subscribe: subject": opens(JS.pull_subscribe),
    "pull_subscribe: stream": opens(lambda text: JS.pull_subscribe("a", stream=text)),
    "pull_subscribe: consumer": opens(
        lambda text: JS.pull_subscribe("a", stream="S", consumer=text)
    ),
    "ordered_consumer: stream": opens(JS.ordered_consumer),
    "ordered_consumer: name_prefix": opens(lambda text: JS.ordered_consumer("S", name_prefix=text)),
    "ordered_consumer: filter_subject": opens(
        lambda text: JS.ordered_consumer("S", filter_subject=text)
    ),
    "purge: filter_subject": opens(lambda text: STREAM.purge(filter_subject=text)),
    "remove_peer: peer": opens(STREAM.remove_peer),
    "evacuate_peer: peer": opens(STREAM.evacuate_peer),
    "create_consumer: name": opens(lambda text: STREAM.create_consumer(name=text)),
    "create_consumer: durable_name": opens(lambda text: STREAM.create_consumer(durable_name=text)),
    "create_consumer: config": opens(
        lambda text: STREAM.create_consumer(ConsumerConfig(name=text))
    ),
    "create_consumer: filter_subject": opens(
        lambda text: STREAM.create_consumer(filter_subject=text)
    ),
    "create_consumer: deliver_subject": opens(
        lambda text: STREAM.create_consumer(deliver_subject=text)
    ),
    "create_consumer: deliver_group": opens(
        lambda text: STREAM.create_consumer(deliver_subject="a", deliver_group=text)
    ),
    "update_consumer: name": opens(lambda text: STREAM.update_consumer(name=text)),
    "consumer_drift: name": opens(lambda text: STREAM.consumer_drift(name=text)),
    "create_consumer: filter_subjects": opens(
        lambda text: STREAM.create_consumer(filter_subjects=["a", text])
    ),
    "create_consumer: priority_groups": opens(
        lambda text: STREAM.create_consumer(priority_groups=[text], priority_policy="overflow")
    ),
    "unpin: group": opens(CONSUMER.unpin),
    "fetch: group": opens(lambda text: CONSUMER.fetch(1, group=text)),
    "consume: group": opens(lambda text: CONSUMER.consume(group=text)),
    "messages.last: subject": opens(STREAM.messages.last),
    "messages.last: subject, direct": opens(lambda text: STREAM.messages.last(text, direct=True)),
    "messages.next: subject": opens(STREAM.messages.next),
    "messages.next: subject, direct": opens(lambda text: STREAM.messages.next(text, direct=True)),
    "messages.batch: subject": opens(lambda text: STREAM.messages.batch(subject=text)),
    "messages.last_of: subjects": opens(lambda text: STREAM.messages.last_of([text])),
    "meta.remove_server: server": opens(JS.meta.remove_server),
    "meta.remove_server: peer_id": opens(lambda text: JS.meta.remove_server(peer_id=text)),
    "meta.remove_server: peer_id beside server": opens(
        lambda text: JS.meta.remove_server("s", peer_id=text)
    ),
    "meta.evacuate_server: server": opens(JS.meta.evacuate_server),
    "meta.evacuate_server: peer_id": opens(lambda text: JS.meta.evacuate_server(peer_id=text)),
    "meta.move_stream: account": opens(lambda text: JS.meta.move_stream(text, "S", server="s")),
    "meta.move_stream: stream": opens(lambda text: JS.meta.move_stream("A", text, server="s")),
    "meta.cancel_move: account": opens(lambda text: JS.meta.cancel_move(text, "S")),
    "meta.cancel_move: stream": opens(lambda text: JS.meta.cancel_move("A", text)),
    "meta.purge_account: account": opens(JS.meta.purge_account),
}

#: Entries that take it for a header, whose value may hold blanks.
VALUES: dict[str, Entry] = {
    "Headers: name": lambda _, text: Headers({text: "v"}),
    "Headers: value": lambda _, text: Headers({"k": text}),
    "request: header": opens(lambda text: request("a", headers=Headers({"k": text}))),
    "publish: header": opens(lambda text: JS.publish("a", headers={"k": text})),
    "publish_window: header": puts(lambda text: ("a", b"", Headers({"k": text}))),
}


#: Bytes that were no UTF-8 go back as they came in the value of a header, and only there.
KEPT = "byte that was no UTF-8"
CASES = [(entry, family) for entry in [*NAMES, *VALUES] for family in FAMILIES]


@pytest.mark.parametrize(
    ("entry", "family"), [case for case in CASES if case[0] in NAMES or case[1] != KEPT]
)
def test_a_text_that_ends_a_line_is_refused_by_every_entry_before_a_byte_exists(entry, family):
    up = connection()

    with pytest.raises(JsprotoError):
        (NAMES | VALUES)[entry](up, FAMILIES[family])
    assert b"" == up.data_to_send()
    assert 0 == up.conversations or "window" in entry


@pytest.mark.parametrize("entry", NAMES)
@pytest.mark.parametrize("family", BLANK)
def test_a_text_that_ends_a_token_is_refused_by_every_entry_that_takes_a_name(entry, family):
    up = connection()

    with pytest.raises(JsprotoError):
        NAMES[entry](up, BLANK[family])
    assert b"" == up.data_to_send()


# ---------------------------------------------------------------------------------------------- all verbs, as their signatures say them

OWNERS = {
    JetStream: JS,
    Stream: STREAM,
    Consumer: CONSUMER,
    StoredMessages: STREAM.messages,
    Meta: JS.meta,
    System: JS.system,
}
#: What a verb needs beside the text, by the name of the parameter.
NEEDED = {
    "account": "A",
    "event": MessageFate(stream="S", stream_seq=1),
    "group": "g",
    "hi": 2,
    "lo": 1,
    "message": JsMessage(("1", "s.a", "$JS.ACK.S.C.1.1.1.1.0", None, b"x")),
    "messages": [("a", b"")],
    "name": "S",
    "peer": "n",
    "start_time": datetime(2026, 1, 1, tzinfo=UTC),
    "stream": "S",
    "subject": "a",
    "subjects": ["a"],
    "what": "INFO",
}
#: And what some verbs, and some texts, make sense with only.
COMPANY = {
    "create_stream": {"name": "T"},
    "create_or_update_stream": {"name": "T"},
    "update_stream": {"name": "T"},
    "stream_drift": {"name": "T"},
    "copy": {"name": "T"},
    "create_consumer": {"name": "C"},
    "update_consumer": {"name": "C"},
    "create_or_update_consumer": {"name": "C"},
    "consumer_drift": {"name": "C"},
    "subscribe": {"subject": "a"},
    "pull_subscribe": {"subject": "a"},
    "deliver_group": {"deliver_subject": "d"},
    "priority_groups": {"priority_policy": "overflow"},
    "expected_last_subject_sequence_subject": {"expected_last_subject_sequence": 1},
    "consumer": {"stream": "S"},
    "pin": {"group": "g"},
}
#: No text will do here: a pull subscription has none, and says so.
REFUSED = {("pull_subscribe", "deliver_group"), ("pull_subscribe", "deliver_subject")}
#: What a text must be, where not everything harmless will do.
HARMLESS = {"what": "VARZ", "name": "C", "durable_name": "C"}
#: Texts that are nobody's name: they are a member of a JSON document, which escapes what it holds,
#: and may say anything. A payload is counted, so any text in it stays within it.
FREE = {
    "payload",
    "description",
    "metadata",
    "template_owner",
    "extra",
    "sample_freq",
    "options",
    "tags",
    "cluster",
}
#: The same, of one verb.
FREE_OF = {
    ("move_stream", "server"),
    ("jsz", "account"),
    ("connz", "account"),
    ("healthz", "account"),
}
#: What is compared here, and never sent.
COMPARED = {("stream_drift", "subjects")}
#: What the server has, for verbs that look first.
THERE = {
    "created": "2026-01-01T00:00:00Z",
    "state": {"messages": 1, "bytes": 1, "first_seq": 1, "last_seq": 1},
    "stream_name": "S",
    "name": "C",
}


def there(verb: str, name: str, subject: str) -> dict[str, object] | None:
    """The answer to a question; ``None`` if it is none about what is there."""
    if subject.startswith("$JS.API.STREAM.INFO."):
        return {**THERE, "config": {"name": "S", "subjects": ["a"]}}
    if not subject.startswith("$JS.API.CONSUMER.INFO."):
        return None
    pushed = {"deliver_subject": "d"} if verb == "subscribe" or name == "deliver_group" else {}
    group = {"deliver_group": "x"} if name == "queue" else {}
    return {
        **THERE,
        "config": {"name": "C", "durable_name": "C", "ack_policy": "explicit", **pushed, **group},
    }


def parameters(kind: type[object], verb: str) -> dict[str, str]:
    """What a verb can be told, settings one by one, and as what."""
    function = getattr(kind, verb)
    found = {}
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        told = str(parameter.annotation)
        if told.startswith("Unpack["):
            settings = getattr(importlib.import_module(function.__module__), told[7:-1])
            found |= {name: each.__forward_arg__ for name, each in settings.__annotations__.items()}
        elif parameter.name != "config":  # its members are settings
            found[parameter.name] = told
    return found


def taken_texts() -> Iterator[tuple[type[object], str, str, str]]:
    """Every parameter of every verb that is text, or holds some: class, verb, parameter,
    annotation.
    """
    for kind in OWNERS:
        for verb, function in vars(kind).items():
            if verb.startswith("_") or not inspect.isfunction(function):
                continue  # what was removed from servers is never asked of them
            for name, told in parameters(kind, verb).items():
                if any(word in told for word in ("str", "HeaderItems", "Outgoing", "tuple[")):
                    yield kind, verb, name, told


TAKEN = list(taken_texts())


def arguments(kind: type[object], verb: str, name: str, told: str, text: str) -> dict[str, object]:
    """What the verb is called with."""
    given: dict[str, object] = {
        each.name: NEEDED[each.name]
        for each in list(inspect.signature(getattr(kind, verb)).parameters.values())[1:]
        if each.default is inspect.Parameter.empty
        and each.kind is not inspect.Parameter.VAR_KEYWORD
    }
    whole = (
        {"stream": "S"}
        if verb.endswith("subscribe") and "filter" in name
        else COMPANY.get(verb, {})
    )
    company = {**whole, **COMPANY.get(name, {})}
    given |= {each: value for each, value in company.items() if each in parameters(kind, verb)}
    if name == "durable_name":
        given.pop("name", None)
    if verb == "fetch":
        given["max_messages"] = 1
    if name == "messages":
        given[name] = [(text, b"")]
    elif name in {"headers", "metadata", "extra"} or "Mapping" in told:
        given[name] = {"k": text} if name == "headers" else {text: text}
    else:
        given[name] = [text] if told.startswith(("Sequence", "Iterable")) else text
    return given


def said_by(kind: type[object], verb: str, name: str, told: str, text: str) -> list[object]:
    """The shapes of the commands that leave; a question of a verb that looks first is answered
    once.

    Raises:
        JsprotoError: the text is refused.
    """
    up = connection()
    out = b""
    try:
        described = getattr(OWNERS[kind], verb)(**arguments(kind, verb, name, told, text))
        conversation = described.info() if isinstance(described, (Stream, Consumer)) else described
        up.open(conversation, 0.0)
        up.take(conversation, 0.0)
        out = up.data_to_send()
        asked = [each for each in ClientCommandParser().feed(out) if isinstance(each, PubLine)]
        found = there(verb, name, asked[0].subject) if asked else None
        if found is not None:
            answer = json.dumps(found).encode()
            up.receive_data(
                b"MSG %b 1 %d\r\n%b\r\n" % (asked[0].reply.encode(), len(answer), answer), 0.0
            )
            while up.next_event() is not None:
                pass
            if up.take(conversation, 0.0) is NEED_DATA:
                out += up.data_to_send()
    finally:
        out += up.data_to_send()
    return [shape(each) for each in ClientCommandParser().feed(out)]


def shape(line: object) -> object:
    """What a command is but for what is said in it: its kind, and the members of its document."""
    payload = line.payload if isinstance(line, PubLine) else b""
    return type(line).__name__, members(json.loads(payload)) if payload.startswith(b"{") else None


def members(value: object) -> object:
    """The names in a document, at every depth."""
    if isinstance(value, dict):
        return sorted((name, str(members(each))) for name, each in value.items())
    return [members(each) for each in value] if isinstance(value, list) else None


def free(verb: str, name: str) -> bool:
    return name in FREE or (verb, name) in FREE_OF


@pytest.mark.parametrize(
    ("kind", "verb", "name", "told"), TAKEN, ids=[f"{k.__name__}.{v}: {n}" for k, v, n, _ in TAKEN]
)
def test_no_text_of_any_verb_makes_a_frame_of_its_own(kind, verb, name, told):
    harmless = None
    if (
        (verb, name) not in REFUSED
        and "Policy |" not in told
        and "Type |" not in told
        and "Mode |" not in told
        and "Compression" not in told
    ):
        try:
            harmless = said_by(kind, verb, name, told, HARMLESS.get(name, "x"))
        except JsprotoError as error:
            pytest.fail(f"expected that a harmless text is taken, got {error!r}")
    for family, text in FAMILIES.items():
        try:
            said = said_by(kind, verb, name, told, text)
        except JsprotoError:
            continue
        if "Mapping" not in told:
            assert said == harmless, family
        else:
            assert [kind for kind, _ in said] == [kind for kind, _ in harmless], family
        assert free(verb, name) or (verb, name) in COMPARED or family == KEPT, family


#: Text that would end the text of a JSON document, if it were put there as it is.
QUOTES = ('x","k":"x', "x\\", 'x\\","k":"x', 'x"},{"k":"x')


@pytest.mark.parametrize(
    ("kind", "verb", "name", "told"), TAKEN, ids=[f"{k.__name__}.{v}: {n}" for k, v, n, _ in TAKEN]
)
def test_no_text_of_any_verb_makes_a_member_of_its_own(kind, verb, name, told):
    if "Mapping" in told:
        return  # its members are the user's to name
    for text in QUOTES:
        try:
            said = said_by(kind, verb, name, told, text)
        except JsprotoError:
            continue
        assert said == said_by(kind, verb, name, told, HARMLESS.get(name, "x")), text


def test_what_may_say_anything_is_still_there():
    names = {name for _, _, name, _ in TAKEN}
    pairs = {(verb, name) for _, verb, name, _ in TAKEN}

    assert names >= FREE
    assert pairs >= FREE_OF | COMPARED
    assert len(TAKEN) > 200
