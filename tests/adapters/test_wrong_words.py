"""What a user reads who took a wrong word: a typed error that names the right one, on every
adapter.
"""

from __future__ import annotations

import importlib

import pytest

from jsproto.errors import InvalidConfig
from jsproto_io.memory import MemoryServer

ADAPTERS = ["asyncio", "trio", "anyio", "blocking"]
SECRET = "s3cr3t-of-the-test"


@pytest.fixture(params=ADAPTERS)
def connect(request):
    return importlib.import_module(f"jsproto_io.{request.param}").connect


@pytest.mark.parametrize("servers", [None, 4222, b"nats://a", [None], ["a", 5], True])
def test_servers_that_are_none_are_refused(connect, servers):
    with pytest.raises(
        InvalidConfig, match="expected a server URL as text, a Server, or a collection of them, got"
    ):
        connect(servers)


@pytest.mark.parametrize(
    ("word", "right"),
    [
        ("user", r"auth=Auth\(user=\.\.\., password=\.\.\.\)"),
        ("password", r"auth=Auth\(user=\.\.\., password=\.\.\.\)"),
        ("token", r"auth=Auth\(token=\.\.\.\)"),
        ("user_credentials", r"credentials=CredsFile"),
        ("ask", "credentials="),
        ("ask_for_credentials", "credentials="),
        ("max_reconnect", "max_reconnects"),
        ("conect_timeout", "connect_timeout"),
        ("closed_cb", "watch="),
        ("host", "servers="),
    ],
)
def test_a_wrong_option_is_answered_with_the_right_one(connect, word, right):
    with pytest.raises(InvalidConfig, match=f"did you mean .*{right}") as refused:
        connect(**{word: SECRET})

    assert SECRET not in str(refused.value)


def test_an_option_like_no_other_is_refused_by_its_name(connect):
    with pytest.raises(InvalidConfig, match=r"expected options of a connection, got \['zzzz'\]$"):
        connect(zzzz=1)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"auth": SECRET}, "expected an Auth as auth"),
        ({"credentials": SECRET}, "expected a source of credentials"),
        ({"tls": True}, "expected one of Tls.IF_ASKED"),
        ({"echo": "no"}, "expected True or False as echo"),
        ({"tls_context": "ca.pem"}, "expected SSLContext or TlsFiles as tls_context"),
        ({"websocket": "/path"}, "expected WebSocket as websocket"),
        ({"reconnect_waits": 5}, "expected several waits as reconnect_waits"),
    ],
)
def test_a_value_that_no_option_can_have_is_refused(connect, options, expected):
    with pytest.raises(InvalidConfig, match=expected) as refused:
        connect(**options)

    assert SECRET not in str(refused.value)


def test_a_name_where_a_feed_belongs_is_answered_with_the_way_to_the_stream(connect):
    nc = connect()

    for verb in (nc.stream, nc.sink):
        with pytest.raises(InvalidConfig, match=r"nc\.jetstream\(\)\.stream\('A'\)"):
            verb("A")
        with pytest.raises(InvalidConfig, match=r"expected a conversation, .* got int"):
            verb(5)


def test_what_is_no_conversation_is_not_run():
    with MemoryServer(), importlib.import_module("jsproto_io.blocking").connect() as nc:
        with pytest.raises(InvalidConfig, match=r"expected a conversation, .* got the text 'A'"):
            nc.run("A")
        assert nc.flush() >= 0
