"""Options are checked before anything is dialled."""

from __future__ import annotations

import pytest

from jsproto.core.connection.auth import Auth
from jsproto.core.connection.options import Options, servers_of
from jsproto.core.connection.server_pool import Server
from jsproto.errors import InvalidConfig, InvalidSubject


def test_servers_are_taken_in_every_form():
    a, b = Server.parse("a"), Server.parse("b")

    assert (a, b) == servers_of("a, b,")
    assert (a,) == servers_of(a)
    assert (a, b, a) == servers_of([a, "b,a"])
    assert (a,) == Options(servers="a").servers
    assert (Server.parse("127.0.0.1"),) == Options().servers


@pytest.mark.parametrize(
    "wrong",
    [
        {"servers": ()},
        {"servers": " , "},
        {"connect_timeout": 0},
        {"connect_timeout": float("nan")},
        {"ping_interval": -1.0},
        {"max_payload": 0},
        {"reconnect_jitter": -0.1},
        {"max_backlog": -1},
    ],
)
def test_what_cannot_work_is_refused_with_what_was_expected(wrong):
    with pytest.raises(InvalidConfig, match="expected"):
        Options(**wrong)


def test_a_prefix_that_could_smuggle_a_frame_is_refused():
    with pytest.raises(InvalidSubject):
        Options(inbox_prefix="_INBOX 1\r\nPUB x")


def test_options_show_no_secret():
    options = Options(servers="nats://u:c4n4ry@a", auth=Auth(password="c4n4ry", token="c4n4ry"))

    assert "c4n4ry" not in repr(options)
