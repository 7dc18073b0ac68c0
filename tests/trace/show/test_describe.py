import json

import pytest

from jsproto.trace.show.describe import MOST_TEXT, command_meaning, delivered_as, frame_meaning
from jsproto.wire.client_commands import (
    ClientVerb,
    ConnectLine,
    MalformedCommand,
    PubLine,
    SubLine,
    UnsubLine,
)
from jsproto.wire.frames import Control, Err, Info

ACK = "$JS.ACK.S.C.1.12.7.1700000000000000000.3"


def status(line, **headers):
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"NATS/1.0 {line}\r\n{lines}\r\n".encode()


@pytest.mark.parametrize(
    ("frame", "kind", "fields"),
    [
        (
            ("2", "orders.new", ACK, None, b"abc"),
            "delivery",
            {
                "subject": "orders.new",
                "sid": "2",
                "stream": "S",
                "consumer": "C",
                "stream sequence": 12,
                "consumer sequence": 7,
                "delivered": 1,
                "stored": "2023-11-14T22:13:20+00:00",
                "left for the consumer": 3,
                "payload bytes": 3,
                "acks go to": ACK,
            },
        ),
        (("2", "a", "b", None, b""), "message", {"subject": "a", "sid": "2", "reply": "b"}),
        (("2", "a", "$JS.ACK.x", b"NATS/1.0\r\n\r\n", b"1"), "message", {"subject": "a", "sid": "2", "reply": "$JS.ACK.x", "payload bytes": 1}),
        (
            ("2", "_INBOX.p", "", status("404 No Messages"), b""),
            "status",
            {"code": 404, "text": "No Messages", "subject": "_INBOX.p", "sid": "2"},
        ),
        (
            ("2", "_INBOX.p", "", status("408 Request Timeout", **{"Nats-Pending-Messages": 5, "Nats-Pending-Bytes": 9}), b""),
            "status",
            {"code": 408, "text": "Request Timeout", "messages left": 5, "bytes left": 9, "subject": "_INBOX.p", "sid": "2"},
        ),
        (
            Info(server_name="n", version="2.15.1", headers=True, max_payload=8, client_id=4),
            "info",
            {"server": "n", "version": "2.15.1", "headers": True, "max payload": 8, "client id": 4},
        ),
        (Err("Stale Connection"), "error", {"text": "Stale Connection"}),
        (Control.OK, "ok", {}),
        (Control.PING, "ping", {}),
    ],
)  # fmt: skip
def test_a_frame_of_the_server_is_its_kind_and_what_it_says(frame, kind, fields):
    assert frame_meaning(frame) == (kind, fields)


def pub(subject, payload=b"", reply=""):
    return PubLine(subject, reply, None, payload)


@pytest.mark.parametrize(
    ("command", "kind", "fields"),
    [
        (
            ConnectLine(b'{"lang":"go","version":"1","headers":true,"pass":"secret","protocol":1,"name":["x"]}'),
            "connect",
            {"lang": "go", "version": "1", "headers": True, "protocol": 1, "name": '["x"]'},
        ),
        (ConnectLine(b"nonsense"), "connect", {}),
        (SubLine("a", "q", "3"), "subscribe", {"subject": "a", "queue": "q", "sid": "3"}),
        (UnsubLine("3", 0), "unsubscribe", {"sid": "3"}),
        (UnsubLine("3", 5), "unsubscribe", {"sid": "3", "after messages": 5}),
        (
            pub(ACK, b"-NAK", "_INBOX.r"),
            "ack",
            {"says": "-NAK", "stream": "S", "consumer": "C", "stream sequence": 12, "consumer sequence": 7, "delivered": 1, "reply": "_INBOX.r"},
        ),
        (pub("$JS.FC.S.C.x"), "flow control", {"answers": "$JS.FC.S.C.x"}),
        (
            pub("$JS.API.CONSUMER.MSG.NEXT.S.C", json.dumps({"batch": 5, "expires": 2 * 10**9, "group": "g"}).encode(), "_INBOX.p"),
            "pull",
            {"stream": "S", "consumer": "C", "messages": 5, "expires after s": 2.0, "group": "g", "reply": "_INBOX.p"},
        ),
        (pub("$JS.API.STREAM.INFO.S", b"", "r"), "request", {"asks": "STREAM.INFO", "of": "S", "reply": "r"}),
        (pub("$JS.API.CONSUMER.MSG.NEXT.S"), "request", {"asks": "CONSUMER.MSG.NEXT", "of": "S"}),
        (pub("orders.new", b"12"), "publish", {"subject": "orders.new", "payload bytes": 2}),
        (ClientVerb.PONG, "pong", {}),
        (MalformedCommand("maximum"), "unreadable", {"text": "maximum"}),
    ],
)  # fmt: skip
def test_a_command_is_its_kind_and_what_it_says(command, kind, fields):
    assert command_meaning(command) == (kind, fields)


def test_an_ack_without_a_body_is_said_to_be_one():
    assert command_meaning(pub(ACK)).fields["says"] == "+ACK (an empty body)"


def test_a_text_of_any_length_is_bounded():
    fields = frame_meaning(("2", "a" * (MOST_TEXT + 1), "", None, b"")).fields

    assert fields["subject"] == "a" * MOST_TEXT + "…"


def test_only_the_reply_subject_of_a_delivery_tells_where_it_comes_from():
    assert delivered_as(ACK).consumer_sequence == 7
    assert delivered_as("$JS.ACK.S.C") is None
    assert delivered_as("_INBOX.x") is None
