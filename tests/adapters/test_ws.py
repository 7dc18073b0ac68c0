"""The WebSocket layer alone: a server's bytes at every cut, and peers that are none or break the
rules.
"""

from __future__ import annotations

import gc
import logging
import pickle
import re
import sys
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.frames import Close, Frame, Opcode

from jsproto.core.connection.server_pool import Server
from jsproto.errors import InvalidConfig, LinkError, LocalProtocolError, TlsFailed, WebSocketFailed
from jsproto_io._layers.stack import StackedFilter
from jsproto_io._layers.websocket import Filter
from jsproto_io._layers.websocket_server import Answerer
from jsproto_io.asyncio import connect as connect_asyncio
from jsproto_io.blocking import connect as connect_blocking
from jsproto_io.credentials import WebSocket

HERE = Server.parse("ws://127.0.0.1:8080")


def frame(opcode, data=b"", *, fin=True, **bits):
    return Frame(opcode, data, fin, **bits).serialize(mask=False)


def binary(data, *, fin=True):
    return frame(Opcode.BINARY, data, fin=fin)


def asking(given=None, server=HERE):
    """A layer that has asked, the other end, and the answer of that."""
    layer = Filter(given or WebSocket(), server)
    layer.begin()
    other = Answerer()
    other.received(layer.outgoing())
    return layer, other, other.outgoing()


def standing():
    layer, other, answer = asking()
    layer.received(answer)
    return layer, other


def pieces(data, cut):
    return [data[:cut], data[cut:]] if cut else [bytes([byte]) for byte in data]


def at_every_cut(after):
    """``(layer, other end, what was said)`` for each cut of the answer and what follows; 0 is byte
    by byte.
    """
    length = len(asking()[2] + after)
    for cut in range(length):
        layer, other, answer = asking()
        said = b"".join(layer.received(piece) for piece in pieces(answer + after, cut))
        yield layer, other, said


# ---------------------------------------------------------------------------------------------- what is right


def test_what_comes_is_one_stream_however_it_is_cut():
    after = (
        binary(b"INFO {}\r\nMSG a 1 ")
        + frame(Opcode.PING, b"there?")
        + binary(b"")
        + binary(b"5\r\n", fin=False)
        + frame(Opcode.PONG)
        + frame(Opcode.CONT, b"he", fin=False)
        + frame(Opcode.CONT, b"llo\r\n")
        + binary(bytes(70_000)[:200])
    )
    for layer, other, said in at_every_cut(after):
        assert b"INFO {}\r\nMSG a 1 5\r\nhello\r\n" + bytes(200) == said
        assert (True, False, None) == (layer.stands, layer.ended, layer.close_reason)
        assert b"" == other.received(layer.outgoing())
        assert not other.ended


def test_a_ping_is_answered_with_its_own_words():
    layer, other = standing()
    layer.received(frame(Opcode.PING, b"there?"))
    answer = layer.outgoing()
    other._protocol.receive_data(answer)

    assert [(Opcode.PONG, b"there?")] == [
        (each.opcode, bytes(each.data)) for each in other._protocol.events_received()
    ]


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, 300_000])
def test_what_is_said_is_masked_and_whole(size):
    layer, other = standing()
    words = b"CONNECT" + bytes(size)
    said = layer.sent(words)

    assert 0x82 == said[0]
    assert said[1] & 0x80
    assert b"CONNECT" not in said
    assert words == other.received(said)


def test_a_message_as_large_as_a_server_makes_them_is_taken():
    layer, _ = standing()
    words = b"x" * 5_000_000

    assert words == b"".join(layer.received(piece) for piece in pieces(binary(words), 2_000_000))


def test_nothing_is_said_before_it_stands_and_after_it_has_ended():
    layer, _, answer = asking()
    with pytest.raises(LocalProtocolError, match="stands"):
        layer.sent(b"CONNECT {}\r\n")
    layer.received(answer + frame(Opcode.CLOSE))
    with pytest.raises(LocalProtocolError, match="stands"):
        layer.sent(b"CONNECT {}\r\n")


def test_the_request_is_that_of_rfc_6455_and_offers_nothing_more():
    layer = Filter(WebSocket(), Server.parse("wss://[::1]:9443"))
    layer.begin()
    lines = layer.outgoing().decode().split("\r\n")

    assert "GET / HTTP/1.1" == lines[0]
    assert {
        "Host: [::1]:9443",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
    } < set(lines)
    assert not [
        line for line in lines if "Extensions" in line or "Protocol" in line or "Origin" in line
    ]


def test_a_goodbye_is_one_close_frame():
    layer, other = standing()

    assert b"" == other.received(layer.close_frame())
    assert other.ended
    assert b"" == layer.close_frame()


def test_there_is_no_goodbye_where_nothing_stands():
    layer, _, _ = asking()

    assert b"" == layer.close_frame()


# ---------------------------------------------------------------------------------------------- ends


@pytest.mark.parametrize(
    ("payload", "parting"),
    [
        (b"", None),
        (Close(1000, "").serialize(), None),
        (Close(1001, "Server Shutdown").serialize(), None),
        (
            Close(1008, "Authentication Expired").serialize(),
            "closed with 1008: 'Authentication Expired'",
        ),
        (Close(1011, "").serialize(), "closed with 1011"),
    ],
)
def test_a_close_of_the_server_is_answered_and_is_the_end(payload, parting):
    after = binary(b"+OK\r\n") + frame(Opcode.CLOSE, payload) + binary(b"nobody hears this")
    for layer, other, said in at_every_cut(after):
        assert b"+OK\r\n" == said
        assert layer.ended
        assert b"" == other.received(layer.outgoing())
        assert other.ended
        if parting is None:
            assert layer.close_reason is None
        else:
            assert str(layer.close_reason).endswith(parting)
            assert not isinstance(layer.close_reason, LinkError)  # the core says whose fault it is


def test_an_end_of_the_stream_without_a_close_frame_is_a_cut():
    layer, _, answer = asking()

    assert isinstance(layer.cut(), WebSocketFailed)

    layer.received(answer)

    assert isinstance(layer.cut(), ConnectionResetError)


# ---------------------------------------------------------------------------------------------- faults

FAULTS = {
    "text": (frame(Opcode.TEXT, b"INFO {}\r\n"), "binary messages"),
    "masked": (Frame(Opcode.BINARY, b"a").serialize(mask=True), "masking"),
    "reserved bits": (b"\xc2\x00", "reserved bits"),
    "opcode": (b"\x83\x00", "opcode"),
    "too large": (b"\x82\x7f" + (1 << 40).to_bytes(8, "big"), "1099511627776"),
    "too large in pieces": (
        binary(b"a", fin=False) + b"\x80\x7f" + (128 * 1024 * 1024).to_bytes(8, "big"),
        "134217728",
    ),
    "control too long": (b"\x89\x7e\x00\x7e" + bytes(126), "control frame too long"),
    "control in pieces": (b"\x09\x00", "fragmented control"),
    "continuation of nothing": (frame(Opcode.CONT, b"a"), "continuation"),
    "two at once": (binary(b"a", fin=False) + binary(b"b"), "continuation"),
    "close without words": (frame(Opcode.CLOSE, b"\x03"), "close frame"),
    "close with bad text": (frame(Opcode.CLOSE, b"\x03\xe8\xff"), ""),
    "close code": (frame(Opcode.CLOSE, (999).to_bytes(2, "big")), "status code"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_one_typed_end_and_what_came_before_counts(name):
    fault, seen = FAULTS[name]
    for layer, _, said in at_every_cut(binary(b"PING\r\n") + fault + binary(b"PONG\r\n")):
        assert said.startswith(b"PING\r\n")
        assert said in {b"PING\r\n", b"PING\r\na"}
        assert layer.ended
        assert isinstance(layer.close_reason, WebSocketFailed)
        assert "ws://127.0.0.1:8080" in str(layer.close_reason)
        assert seen in str(layer.close_reason)
        assert b"" == layer.received(b"more")


def test_the_first_fault_is_the_one_that_is_told():
    layer, _ = standing()
    layer.received(frame(Opcode.TEXT, b"a") + b"\x83\x00")

    assert "binary messages" in str(layer.close_reason)


def test_the_server_is_told_what_was_wrong():
    layer, other = standing()
    layer.received(frame(Opcode.TEXT, b"a"))
    other.received(layer.outgoing())

    assert 1003 == other._protocol.close_rcvd.code


ACCEPT = b"HTTP/1.1 101 Switching Protocols\r\n"
GOOD = b"Upgrade: websocket\r\nConnection: Upgrade\r\n"
NO_SOCKETS = {
    "forbidden": (b"HTTP/1.1 403 Forbidden\r\n\r\n<html>and so on", "403 Forbidden"),
    "elsewhere": (b"HTTP/1.1 302 Found\r\nLocation: ws://evil\r\n\r\n", "302 Found"),
    "a nats port": (b'INFO {"server_id":"A"}\r\n', "INFO"),
    "a line without end": (b"x" * 20_000, "8192|line too long"),
    "not http": (b"HTTP/2 101 Well\r\n\r\n", "HTTP/2"),
    "no upgrade": (ACCEPT + b"\r\n", "Connection"),
    "another upgrade": (ACCEPT + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n", "h2c"),
    "no accept": (ACCEPT + GOOD + b"\r\n", "Sec-WebSocket-Accept"),
    "wrong accept": (ACCEPT + GOOD + b"Sec-WebSocket-Accept: bm9wZQ==\r\n\r\n", "bm9wZQ=="),
    "a huge header": (ACCEPT + b"X: " + b"y" * 20_000 + b"\r\n\r\n", "8192|line too long"),
    "headers for ever": (ACCEPT + b"X: y\r\n" * 500, "128|too many"),
    "a broken header": (ACCEPT + b"no colon here\r\n\r\n", "header"),
}


@pytest.mark.parametrize("name", NO_SOCKETS)
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_what_is_no_web_socket_says_what_was_expected_and_seen(name, size):
    answer, seen = NO_SOCKETS[name]
    layer, _, _ = asking()
    said = b"".join(layer.received(answer[at : at + size]) for at in range(0, len(answer), size))

    assert b"" == said
    assert (False, True) == (layer.stands, layer.ended)
    assert isinstance(layer.close_reason, WebSocketFailed)
    assert str(layer.close_reason).startswith("expected a WebSocket from ws://127.0.0.1:8080, got ")
    assert re.search(seen, str(layer.close_reason))
    assert len(str(layer.close_reason)) < 300


@pytest.mark.parametrize(
    "offer", ["Sec-WebSocket-Extensions: permessage-deflate", "Sec-WebSocket-Protocol: nats"]
)
def test_what_was_not_offered_may_not_be_answered(offer):
    layer, _, answer = asking()
    layer.received(answer[:-2] + offer.encode() + b"\r\n\r\n")

    assert isinstance(layer.close_reason, WebSocketFailed)
    assert not layer.stands


@settings(max_examples=200)
@given(data=st.binary(max_size=200), stands=st.booleans(), size=st.integers(1, 50))
def test_whatever_comes_is_bytes_or_one_end(data, stands, size):
    layer = standing()[0] if stands else asking()[0]
    for at in range(0, len(data), size):
        said = layer.received(data[at : at + size])

        assert isinstance(said, bytes)
        assert stands or said == b""
    layer.outgoing()
    layer.close_frame()

    assert layer.close_reason is None or layer.ended


# ---------------------------------------------------------------------------------------------- what it costs


def announcing(opcode, size, *, fin=True):
    """The header of a frame of so many bytes."""
    return bytes([fin << 7 | opcode, 127]) + size.to_bytes(8, "big")


def most_held(layer, head, size):
    """Have a frame of so many bytes come in pieces of 64 KiB: the most memory that it took, and how
    much of it was read.
    """
    piece = bytes(65_536)
    read = 0
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        layer.received(head)
        while read < size and not layer.ended:
            read += len(layer.received(piece))
        return tracemalloc.get_traced_memory()[1] - before, read
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("opcode", [Opcode.BINARY, Opcode.PING, Opcode.PONG, Opcode.CLOSE, 3, 11])
def test_a_frame_that_announces_too_much_is_refused_at_its_header(opcode):
    layer, other = standing()
    held, read = most_held(layer, announcing(opcode, 120_000_000), 120_000_000)

    assert (0, True) == (read, layer.ended)
    assert held < 50_000
    assert isinstance(layer.close_reason, WebSocketFailed)
    other.received(layer.outgoing())
    assert other._protocol.close_rcvd.code in {1002, 1009}


def test_the_payload_of_a_frame_is_handed_on_as_it_comes_and_not_gathered():
    layer, _ = standing()
    held, read = most_held(layer, announcing(Opcode.BINARY, 60 << 20), 60 << 20)

    assert (60 << 20, False) == (read, layer.ended)
    assert held < 200_000


def test_how_much_a_frame_may_announce_is_an_option():
    small, large = (WebSocket(max_frame=size) for size in (1000, 200_000_000))
    for options, size, ended in [
        (small, 1000, False),
        (small, 1001, True),
        (large, 120_000_000, False),
    ]:
        layer, _, answer = asking(options)
        layer.received(answer + announcing(Opcode.BINARY, size))

        assert ended == layer.ended
    with pytest.raises(InvalidConfig, match="max_frame"):
        WebSocket(max_frame=0)


def test_a_layer_that_nobody_wants_any_more_leaves_nothing_large_behind():
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(5):
            layer, _ = standing()
            layer.received(announcing(Opcode.BINARY, 60_000_000) + bytes(5_000_000))
            del layer
        left = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
        gc.enable()

    assert left < 500_000


def test_of_many_pings_the_last_is_answered():
    layer, other = standing()
    for at in range(0, 5000, 1000):
        layer.received(b"".join(frame(Opcode.PING, b"%d" % (at + each)) for each in range(1000)))
    other._protocol.receive_data(layer.outgoing())

    assert [(Opcode.PONG, b"4999")] == [
        (each.opcode, bytes(each.data)) for each in other._protocol.events_received()
    ]
    assert b"" == layer.outgoing()


def test_a_ping_of_a_server_that_has_closed_needs_no_answer():
    layer, other = standing()
    layer.received(frame(Opcode.PING, b"there?") + frame(Opcode.CLOSE))
    other._protocol.receive_data(layer.outgoing())

    assert [Opcode.CLOSE] == [each.opcode for each in other._protocol.events_received()]


# ---------------------------------------------------------------------------------------------- options and secrets


def test_path_and_headers_go_with_the_request():
    options = WebSocket(
        path="/nats?via=proxy", headers={"Authorization": "Bearer c4n4ry", "Cookie": ["a=1", "b=2"]}
    )
    _, other, _ = asking(options)

    assert "/nats?via=proxy" == other.asked.path
    assert "Bearer c4n4ry" == other.asked.headers["Authorization"]
    assert ["a=1", "b=2"] == other.asked.headers.get_all("Cookie")


@pytest.mark.parametrize("path", ["nats", "", "/a b", "/a\r\nX: y", "/ä", 7])
def test_a_path_cannot_say_more_than_a_path(path):
    with pytest.raises(InvalidConfig, match="path"):
        WebSocket(path=path)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "c4n4ry"},
        {"upgrade": "c4n4ry"},
        {"Sec-WebSocket-Key": "c4n4ry"},
        {"Content-Length": "c4n4ry"},
        {"X": "c4n4ry\r\nY: z"},
        {"X": "c4n4ry "},
        {"X": "c4n4ryä"},
        {"X(": "c4n4ry"},
        ["c4n4ry"],
    ],
)
def test_headers_cannot_touch_the_handshake_and_their_refusal_shows_no_value(headers):
    with pytest.raises(InvalidConfig) as caught:
        WebSocket(headers=headers)

    assert "c4n4ry" not in str(caught.value)


def test_headers_are_no_part_of_the_repr_and_are_not_pickled():
    secret = WebSocket(headers={"Authorization": "c4n4ry"})

    assert "c4n4ry" not in repr(secret)
    with pytest.raises(LocalProtocolError):
        pickle.dumps(secret)
    assert WebSocket(path="/a") == pickle.loads(pickle.dumps(WebSocket(path="/a", headers=())))


def test_nothing_of_what_is_said_is_logged(caplog):
    with caplog.at_level(logging.DEBUG):
        layer, other, answer = asking(WebSocket(headers={"Authorization": "c4n4ry"}))
        layer.received(answer)
        other.received(layer.sent(b'CONNECT {"pass":"c4n4ry"}\r\n'))
        layer.received(b"\x83\x00")

    assert "" == caplog.text


@pytest.mark.parametrize("connect", [connect_asyncio, connect_blocking])
def test_without_the_library_the_extra_is_named(connect, monkeypatch):
    monkeypatch.setitem(sys.modules, "jsproto_io._layers.websocket", None)
    connect("nats://127.0.0.1")

    for url in ("ws://127.0.0.1", "nats://127.0.0.1,wss://127.0.0.1"):
        with pytest.raises(InvalidConfig, match=r"nats-jsproto\[ws\]"):
            connect(url)


# ---------------------------------------------------------------------------------------------- one over the other


class Lower:
    """A layer that turns bytes around; ``stands`` after the first."""

    def __init__(self):
        self.stands = False
        self.ended = False
        self.close_reason = None
        self.began = 0

    def begin(self):
        self.began += 1

    def received(self, data):
        if data == b"bad":
            raise TlsFailed("bad")
        if not self.stands:
            self.stands = True
            return data[:0:-1]
        return data[::-1]

    def sent(self, data):
        assert self.stands
        return data[::-1]

    def outgoing(self):
        return b"<hello>"

    def close_frame(self):
        return b"<bye>"

    def cut(self):
        return ConnectionResetError("lower")


def test_the_upper_begins_when_the_lower_stands_and_speaks_through_it():
    lower, upper = Lower(), Filter(WebSocket(), HERE)
    both = StackedFilter(upper, lower)
    both.begin()

    assert (1, b"<hello>") == (lower.began, both.outgoing())

    assert b"" == both.received(b"!")
    other = Answerer()
    other.received(both.outgoing()[::-1])

    assert not both.stands

    answer = other.outgoing()

    assert b"INFO" == both.received((answer + binary(b"INFO"))[::-1])
    assert both.stands
    assert b"PING" == other.received(both.sent(b"PING")[::-1])
    assert "lower" == str(both.cut())

    bye = both.close_frame()

    assert bye.endswith(b"<bye>")
    other.received(bye.removesuffix(b"<bye>")[::-1])
    assert other.ended


def test_the_end_of_the_lower_cuts_the_upper_off():
    lower, upper = Lower(), Filter(WebSocket(), HERE)
    both = StackedFilter(upper, lower)
    lower.ended = True

    assert both.ended
    assert isinstance(both.close_reason, WebSocketFailed)
    assert b"<bye>" == both.close_frame()

    lower.close_reason = TlsFailed("no")

    assert both.close_reason is lower.close_reason

    upper.received(b"no\r\n")

    assert both.close_reason is upper.close_reason


def test_what_the_lower_raises_is_raised():
    with pytest.raises(TlsFailed):
        StackedFilter(Filter(WebSocket(), HERE), Lower()).received(b"bad")
