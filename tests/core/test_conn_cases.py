"""CONNECT, gossip and versions as other clients met them."""

from __future__ import annotations

import json

import pytest

from jsproto.core.connection.auth import Auth
from jsproto.core.connection.events import Notice, NoticeKind
from jsproto.wire.info import parse_info, release_of

HOSTILE = [
    'a"b',
    'c\\\\d","echo":false,"x":"',
    "\u0001\u00e9",
    "'\r\n",
    "\u2028",
    "a\\",
    "\U0001f600",
    "{}",
]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("in_url", [False, True])
def test_every_text_of_connect_is_one_member_of_json_n049(wire, text, in_url):
    shown = {"auth": Auth(user=text, password=text, token=text, jwt=text)}
    servers = ()
    if in_url:
        encoded = "".join(f"%{byte:02X}" for byte in text.encode())
        servers, shown = (f"nats://{encoded}:{encoded}@h",), {}
    w = wire(*servers, name=text, echo=True, **shown)
    w.connection.transport_up(0.0)
    w.feed(b'INFO {"max_payload":1024}\r\n')
    said = w.out()
    connect, ping, rest = said.split(b"\r\n")
    members = json.loads(connect.removeprefix(b"CONNECT "))
    told = ("user", "pass") if in_url else ("user", "pass", "auth_token", "jwt")

    assert (b"PING", b"") == (ping, rest)
    assert [text] * len(told) == [members[name] for name in told]
    assert (text, True) == (members["name"], members["echo"])
    assert "x" not in members


def test_a_change_of_the_servers_is_told_once_and_none_for_an_equal_list_n064(wire, info):
    w = wire("nats://a:1").up()
    w.told()
    told = []
    for urls in (["a:1", "b:1"], ["a:1", "b:1"], ["b:1", "a:1"], ["a:1", "b:1", "c:1"]):
        w.feed(info(connect_urls=urls))
        told.append([each.detail.added for each in w.told() if isinstance(each, Notice)])

    assert [["b"], [], [], ["c"]] == [
        [server.host for change in one for server in change] for one in told
    ]
    assert NoticeKind.POOL_CHANGED


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("2.12.0-RC.1", (2, 12)),
        ("2.14.0-preview.2+abc", (2, 14)),
        ("2.9.10", (2, 9)),
        ("v2.10.4", (2, 10)),
        ("dev", None),
        ("", None),
        ("2.x", None),
        ("2.", None),
        ("-1.2", None),
    ],
)
def test_the_first_two_numbers_of_a_version_decide_n065(wire, info, version, release):
    line = json.dumps({"max_payload": 1, "version": version}).encode()

    assert release == release_of(parse_info(line).version)
    assert wire().up(version=version).connection.connected
