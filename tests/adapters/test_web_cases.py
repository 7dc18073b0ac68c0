"""WebSockets as other clients met them: paths and hosts of proxies, odd frames, and compression
that nobody offered.
"""

from __future__ import annotations

import random
import socket
import ssl
from contextlib import suppress

import pytest
from websockets.frames import Close, Frame, Opcode

from jsproto.core.connection.connection import Connection
from jsproto.core.connection.events import Dial, Disconnected, Upgrade
from jsproto.core.connection.options import Options
from jsproto.core.connection.server_pool import Server, at_addresses
from jsproto.errors import JsprotoError, LinkError, WebSocketFailed
from jsproto.wire.parser import Parser
from jsproto_io import blocking
from jsproto_io._layers import tls
from jsproto_io._layers.websocket import Filter
from jsproto_io._layers.websocket_options import WebSocket
from jsproto_io._layers.websocket_server import Answerer
from jsproto_io.proxies import HttpProxy

CHEAP = {"reconnect_wait": 0.01, "reconnect_jitter": 0.0}


def asked(server, given=None):
    """The first line and the host of the request for a WebSocket."""
    layer = Filter(given or WebSocket(), server)
    layer.begin()
    first, *lines = layer.outgoing().decode().split("\r\n")
    return first, next(line for line in lines if line.startswith("Host:"))


def standing(server="ws://h"):
    layer, other = Filter(WebSocket(), Server.parse(server)), Answerer()
    layer.begin()
    other.received(layer.outgoing())
    layer.received(other.outgoing())
    return layer


def frame(opcode, data=b"", *, fin=True, **bits):
    return Frame(opcode, data, fin, **bits).serialize(mask=False)


# ---------------------------------------------------------------------------------------------- paths and hosts


def test_path_and_query_of_the_url_are_asked_for_n050():
    server = Server.parse("wss://h.example.test/nats/ws?team=7")

    assert ("GET /nats/ws?team=7 HTTP/1.1", "Host: h.example.test") == asked(server)
    assert ("GET / HTTP/1.1", "Host: h:8080") == asked(Server.parse("ws://h:8080"))


def test_a_path_that_was_given_stands_above_that_of_the_url_for_gossip_too_n050():
    for url in ("ws://h:8080/a", "ws://h2:8080"):
        assert "GET /b HTTP/1.1" == asked(Server.parse(url), WebSocket(path="/b"))[0]
    assert "GET / HTTP/1.1" == asked(Server.parse("ws://h/a"), WebSocket(path="/"))[0]


def test_the_path_of_the_url_reaches_the_server_n050(use, peer):
    heard = []
    there = peer(lambda line: heard.append(line.hear(b"\r\n\r\n")))
    with pytest.raises(LinkError):
        use(f"{there.url.replace('nats', 'ws')}/nats?team=7", lambda nc: nc.flush())

    assert heard[0].startswith(b"GET /nats?team=7 HTTP/1.1\r\n")


@pytest.mark.parametrize("host", ["192.0.2.7", "192.0.2.8", "2001:db8::7"])
def test_whichever_address_is_dialled_host_and_tls_name_are_those_of_the_url_n052(host):
    [server] = at_addresses(Server.parse("wss://nats.example.test"), [host])

    assert host == server.address[0]
    assert "Host: nats.example.test" == asked(server)[1]
    assert "nats.example.test" == server_name(server)


def test_a_name_with_two_addresses_is_asked_for_by_name_at_each_n052(use, peer, monkeypatch):
    heard = []
    there = peer(lambda line: heard.append(line.hear(b"\r\n\r\n")))
    found = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, there.port))
        for address in ("127.0.0.2", "127.0.0.1")
    ]
    real = socket.getaddrinfo

    def resolved(name, *args, **options):
        return (
            found
            if name in {"nats.example.test", b"nats.example.test"}
            else real(name, *args, **options)
        )

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    with (
        pytest.raises(LinkError),
        blocking.connect(f"ws://nats.example.test:{there.port}", connect_timeout=5.0),
    ):
        pass

    assert f"\r\nHost: nats.example.test:{there.port}\r\n".encode() in heard[0]


def server_name(server):
    """The name that TLS asks for and checks."""
    layer = tls.Filter(ssl.create_default_context(), server)
    return layer._object.server_hostname


@pytest.mark.parametrize("host", ["0.0.0.0", "evil.example.test", ""])
def test_the_name_that_info_tells_is_never_checked_n058(host):
    connection = Connection(Options(servers="tls://nats.example.test"), entropy=bytes, now=0.0)
    connection.transport_up(0.0)
    connection.receive_data(
        f'INFO {{"max_payload":1,"host":"{host}","tls_required":true}}\r\n'.encode(), 0.0
    )
    dial, upgrade = connection.next_event(), connection.next_event()

    assert (Dial, Upgrade) == (type(dial), type(upgrade))
    assert ["nats.example.test"] * 2 == [server_name(each.server) for each in (dial, upgrade)]
    assert b"" == connection.data_to_send()


@pytest.mark.parametrize("scheme", ["ws", "wss"])
def test_a_zone_is_in_no_host_header_no_tls_name_and_no_way_through_a_proxy_n059(scheme):
    server = Server.parse(f"{scheme}://[fe80::1%25eth0]:4222")

    assert "Host: [fe80::1]:4222" == asked(server)[1]
    assert "fe80::1" == server_name(server)
    layer = HttpProxy("p", 80).layer(server)
    layer.begin()
    assert b"eth0" not in layer.outgoing()


# ---------------------------------------------------------------------------------------------- frames


def test_a_message_of_8_mib_in_one_frame_or_three_with_a_ping_between_n055():
    payload = bytes(8 * 1024 * 1024)
    message = b"MSG a 2 %d\r\n" % len(payload) + payload + b"\r\n"
    third = len(message) // 3
    cut = (
        frame(Opcode.BINARY, message[:third], fin=False)
        + frame(Opcode.CONT, message[third : 2 * third], fin=False)
        + frame(Opcode.PING, b"there?")
        + frame(Opcode.CONT, message[2 * third :])
    )
    for data in (frame(Opcode.BINARY, message), cut):
        layer, parser = standing(), Parser()
        frames = parser.feed(layer.received(data))

        assert [payload] == [each[4] for each in frames]
        assert not layer.ended
        assert (b"\x8a" in layer.outgoing()) is (data is cut)


@pytest.mark.parametrize(
    ("end", "what"),
    [
        (frame(Opcode.TEXT, b"PING\r\n"), "text"),
        (frame(Opcode.CLOSE, Close(1001, "").serialize()), ""),
        (frame(Opcode.CLOSE, Close(1011, "broken").serialize()), "broken"),
    ],
)
def test_text_and_close_end_the_link_and_the_next_is_dialled_n055(use, peer, end, what):
    def up(line, then=b""):
        answerer = Answerer()
        answerer.received(line.hear(b"\r\n\r\n"))
        line.say(answerer.outgoing() + frame(Opcode.BINARY, b'INFO {"max_payload":1024}\r\n'))
        said = b""
        while b"PING" not in said:
            said += answerer.received(line.stream.recv(65_536))
        line.say(frame(Opcode.BINARY, b"PONG\r\n") + then)
        line.until_gone()

    told = []
    there = peer(lambda line: up(line, end), up)
    with blocking.connect(
        there.url.replace("nats", "ws"), watch=lambda _, event: told.append(event), **CHEAP
    ) as nc:
        while nc.stats.connects < 2:
            with suppress(JsprotoError):  # the link comes and goes here
                nc.flush(timeout=0.05)

    assert what in str(next(each.error for each in told if isinstance(each, Disconnected)))


def test_frames_of_every_length_with_pings_between_give_the_same_bytes_n056():
    chance = random.Random(56)
    for _ in range(50):
        parts = [chance.randbytes(chance.randrange(200)) for _ in range(20)]
        data = b"".join(
            frame(Opcode.BINARY, part) + frame(Opcode.PING, part[:100]) for part in parts
        )
        layer, said, at = standing(), b"", 0
        while at < len(data):
            size = chance.randrange(1, 400)
            said += layer.received(data[at : at + size])
            at += size

        assert b"".join(parts) == said


def test_a_compressed_frame_was_not_offered_and_is_an_error_n056():
    layer = standing()
    said = layer.received(frame(Opcode.BINARY, b"PING\r\n") + b"\xc2\x01x")

    assert (b"PING\r\n", True) == (said, layer.ended)
    assert isinstance(layer.close_reason, WebSocketFailed)
    assert "reserved" in str(layer.close_reason)
