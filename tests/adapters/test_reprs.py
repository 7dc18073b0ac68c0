"""What a REPL or a log shows of our objects: what each is and how far it is, never an address,
never a secret.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re

import pytest

import jsproto
from jsproto import Connection, JsMessage, Message, Options, RequestMany, Subscription
from jsproto.api import Timestamp
from jsproto.core.conversation.conversation import Port
from jsproto.errors import InvalidConfig
from jsproto.jetstream.delivery.ack import AckState
from jsproto.jetstream.delivery.message import AckBatch
from jsproto.jetstream.ordered.view import Messages
from jsproto.testing.simserver.server import SimServer
from jsproto_io import anyio, asyncio, blocking, trio
from jsproto_io.memory import MemoryServer
from jsproto_io.testing import ModelServer
from tests.forked import forked

MODULES = (
    "jsproto",
    "jsproto_io.anyio",
    "jsproto_io.async_backup",
    "jsproto_io.asyncio",
    "jsproto_io.backup",
    "jsproto_io.blocking",
    "jsproto_io.contexts",
    "jsproto_io.credentials",
    "jsproto_io.kit",
    "jsproto_io.memory",
    "jsproto_io.otel",
    "jsproto_io.proxies",
    "jsproto_io.recording",
    "jsproto_io.testing",
    "jsproto_io.trio",
)
#: Nobody holds one: they are there to inherit from.
BASES = {"RedactedSecret"}
REPLY = "$JS.ACK.ORDERS.C.2.7.9.1700000000000000000.0"


def classes():
    """All classes of ours that users are shown."""
    for name in MODULES:
        module = importlib.import_module(name)
        for word in getattr(module, "__all__", [each for each in vars(module) if each[0] != "_"]):
            kind = getattr(module, word)
            if inspect.isclass(kind) and kind.__module__.partition(".")[0] in {
                "jsproto",
                "jsproto_io",
            }:
                yield pytest.param(kind, id=f"{name}.{word}")


@pytest.mark.parametrize("kind", list(classes()))
def test_no_public_class_is_shown_by_its_address(kind):
    assert (
        kind.__repr__ is not object.__repr__
        or getattr(kind, "_is_protocol", False)
        or kind.__name__ in BASES
    )


@pytest.mark.parametrize("adapter", [anyio, asyncio, blocking, trio])
def test_a_client_that_was_not_entered_says_so_and_tells_no_secret(adapter):
    client = adapter.connect("nats://ann:sesame@h:4222,nats://i:4222", name="orders")

    assert (
        f"<{adapter.__name__}.Client 'orders' for nats://h:4222,nats://i:4222: not entered>"
        == repr(client)
    )


def test_a_client_says_whether_it_is_connected_and_to_whom():
    server = SimServer(now=0.0)
    with MemoryServer(server) as there:
        client = blocking.connect(name="orders")
        with client:
            up = repr(client)
            feed = client.subscribe("a")
            before = repr(feed)
            with feed, client.jetstream().publish_window() as window:
                seen = (repr(feed), repr(window), repr(client.events()))
        assert "<MemoryServer: active>" == repr(there)

    address = "nats://127.0.0.1:4222"
    assert f"<jsproto_io.blocking.Client 'orders' at {address}: connected>" == up
    assert f"<jsproto_io.blocking.Client 'orders' at {address}: closed>" == repr(client)
    assert "<Feed of <Subscription: not opened>>" == before
    assert (
        "<Feed of <Subscription: open>>",
        "<Sink of <PublishWindow: open>>",
        f"<Events of {up}>",
    ) == seen
    assert "<Feed of <Subscription: ended>>" == repr(feed)


@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
def test_a_client_in_a_fork_says_whose_connection_it_was():
    with ModelServer() as there, blocking.connect(there.url) as client:
        parent = os.getpid()

        def look():
            assert f"closed, the connection belongs to process {parent}" in repr(client)

        assert 0 == forked(look)
        assert f"<jsproto_io.blocking.Client at {there.url}: connected>" == repr(client)


def test_a_client_that_looks_for_its_server_says_how_far_it_is():
    server = SimServer(now=0.0)
    with MemoryServer(server), blocking.connect(name="orders") as client:
        client.reconnect()
        shown = repr(client)

    assert re.search(r"4222: not connected \((WAITING|DIALING|CLOSING)\)>", shown), shown


def test_a_client_whose_options_were_refused_can_be_shown():
    client = blocking.Client.__new__(blocking.Client)
    with pytest.raises(InvalidConfig):
        client.__init__("nats://h", None, {"max_payload": -1})

    assert "<jsproto_io.blocking.Client: not made, its options were refused>" == repr(client)


@pytest.mark.parametrize(
    ("ns", "shown"),
    [
        (1_893_456_000_000_000_000, "Timestamp.parse('2030-01-01T00:00:00Z')"),
        (1_893_456_000_000_000_001, "Timestamp.parse('2030-01-01T00:00:00.000000001Z')"),
        (
            -62_135_596_800_000_000_000 + 31_536_000_000_000_000,
            "Timestamp.parse('0002-01-01T00:00:00Z')",
        ),
    ],
)
def test_an_instant_is_shown_as_people_write_it_and_nothing_is_lost(ns, shown):
    moment = Timestamp(ns)

    assert shown == repr(moment)
    assert moment == eval(shown)  # the repr says how to make it


def test_a_message_shows_where_it_stands_and_how_its_payload_begins():
    message = JsMessage(("2", "orders.new", REPLY, None, b"x" * 50))

    assert repr(message) == (
        "JsMessage(subject='orders.new', stream='ORDERS', sequence=7, delivery=2, state=OPEN, "
        f"payload={b'x' * 40!r}... of 50 bytes)"
    )
    assert "Message(subject='a', reply='', payload=b'hi')" == repr(
        Message(("2", "a", "", None, b"hi"))
    )


def test_a_message_that_no_consumer_sent_shows_its_reply():
    message = JsMessage(("2", "a", "r", None, b""))

    assert "JsMessage(subject='a', reply='r', state=OPEN, payload=b'')" == repr(message)


def test_showing_a_message_whose_ack_was_refused_changes_nothing():
    feed = Subscription("a")
    feed.port = Port()
    message = JsMessage(("2", "a", REPLY, None, b""), feed)
    message.said = AckState.SETTLED
    settled = repr(message)
    feed.port.denied.add(REPLY)

    assert "state=SETTLED" in settled
    assert ["state=OPEN" in repr(message), "state=OPEN" in repr(message)] == [True, True]
    assert (message.said, message.state) == (AckState.SETTLED, AckState.OPEN)


def test_conversations_and_their_ports_show_how_far_they_are():
    many = RequestMany("a")
    port = many.port = Port()
    fresh = repr(port)
    many.opened(0.0)
    opened = (repr(many), repr(port))
    many.delivered([("2", port.subject, "", None, b"1"), ("2", port.subject, "", None, b"2")], 0.0)
    full = repr(many)
    many.link_down(jsproto.ConnectionLost("gone"), 0.0)

    assert ("<Port 1: up>", "<RequestMany: open>", f"<Port 1 for '{port.stem}*': up>") == (
        fresh,
        *opened,
    )
    assert "<RequestMany: open, 2 at hand>" == full
    assert "<RequestMany: ended by ConnectionLost, 2 at hand>" == repr(many)
    connection = Connection(Options(servers="nats://ann:sesame@h"), entropy=bytes, now=0.0)
    assert "<Connection to nats://h:4222: DIALING>" == repr(connection)
    assert ("AckBatch(0 messages)", "Messages()") == (repr(AckBatch([])), repr(Messages()))
