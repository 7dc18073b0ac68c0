"""Servers behind WebSockets: TLS stands before the first word or not at all, and gossip keeps to
its kind.
"""

from __future__ import annotations

import json

import pytest

from jsproto.core.connection.connection import Connection
from jsproto.core.connection.events import Dial, Upgrade
from jsproto.core.connection.options import Options, Tls
from jsproto.core.connection.server_pool import Server, ServerPool


def dialled(url, **options):
    connection = Connection(
        Options(servers=url, randomize=False, **options), entropy=bytes, now=0.0
    )
    return connection, connection.next_event()


def info(**more):
    return b"INFO " + json.dumps({"max_payload": 1024, **more}).encode() + b"\r\n"


def pool(*urls):
    return ServerPool(
        [Server.parse(url) for url in urls],
        entropy=bytes,
        wait=1.0,
        wait_max=1.0,
        jitter=0.0,
        jitter_tls=0.0,
        randomize=False,
    )


@pytest.mark.parametrize(
    ("url", "tls", "secure"),
    [
        ("wss://a", Tls.IF_ASKED, True),
        ("wss://a", Tls.REQUIRED, True),
        ("wss://a", Tls.FIRST, True),
        ("wss://a", Tls.IF_OFFERED, True),
        ("ws://a", Tls.IF_ASKED, False),
        ("ws://a", Tls.IF_OFFERED, False),
        ("ws://a", Tls.REQUIRED, True),
        ("ws://a", Tls.FIRST, True),
        ("tls://a", Tls.IF_ASKED, False),
        ("nats://a", Tls.REQUIRED, False),
        ("nats://a", Tls.FIRST, True),
    ],
)
def test_over_a_web_socket_tls_stands_before_the_first_word_or_not_at_all(url, tls, secure):
    _, dial = dialled(url, tls=tls)

    assert Dial(Server.parse(url), secure=secure) == dial


@pytest.mark.parametrize("url", ["ws://a", "wss://a"])
@pytest.mark.parametrize("more", [{}, {"tls_required": True}, {"tls_available": True}])
def test_an_info_over_a_web_socket_asks_for_no_upgrade(url, more):
    for tls in Tls:
        connection, _ = dialled(url, tls=tls)
        connection.transport_up(1.0)
        connection.receive_data(info(**more), 1.0)
        secure = url == "wss://a" or tls in {Tls.REQUIRED, Tls.FIRST}

        assert not isinstance(connection.next_event(), Upgrade)

        said = connection.data_to_send()

        assert said.startswith(b"CONNECT {")
        assert secure is json.loads(said[8 : said.index(b"\r\n")])["tls_required"]


@pytest.mark.parametrize("scheme", ["ws", "wss"])
def test_a_server_learned_over_a_web_socket_is_one_too(scheme):
    connection, _ = dialled(f"{scheme}://u:p@a:8080")
    connection.transport_up(1.0)
    connection.receive_data(info(connect_urls=["b:8081", "10.0.0.1:8082"]), 1.0)

    assert [f"{scheme}://a:8080", f"{scheme}://b:8081", f"{scheme}://10.0.0.1:8082"] == [
        str(each) for each in connection.servers
    ]
    assert ["u"] * 3 == [each.user for each in connection.servers]
    assert [None, None, "a"] == [each.tls_name for each in connection.servers]


def test_gossip_in_a_mixed_pool_speaks_of_its_own_kind_only():
    servers = pool("nats://a", "wss://u:p@b", "ws://c")
    servers.merge(["d:4222"])
    servers.current = servers.entries[1]
    change = servers.merge(["e:443"])

    assert ["wss://e:443"] == [str(each) for each in change.added]
    assert () == change.removed
    assert ["nats://a:4222", "wss://b:443", "ws://c:80", "nats://d:4222", "wss://e:443"] == [
        str(entry.server) for entry in servers.entries
    ]

    twin = pool("nats://a", "wss://u:p@b", "ws://c")
    twin.restore(servers.snapshot())

    assert [entry.server for entry in servers.entries] == [entry.server for entry in twin.entries]

    servers.merge(["f:443"])

    assert ["nats://d:4222", "wss://f:443"] == [str(entry.server) for entry in servers.entries[3:]]


def test_a_web_socket_has_the_ports_of_the_web():
    assert [80, 443, 8080] == [
        Server.parse(url).port for url in ("ws://a", "wss://a", "ws://a:8080")
    ]
