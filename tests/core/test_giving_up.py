"""When a server is tried again and when not: refused credentials, counted attempts, and what may
not be said in clear.
"""

from __future__ import annotations

import json

import pytest

from jsproto.core.connection.auth import Auth
from jsproto.core.connection.events import Closed, Connected, Disconnected, HangUp
from jsproto.core.connection.link import LinkState
from jsproto.core.connection.options import Options
from jsproto.core.connection.server_errors import refusal
from jsproto.core.connection.server_pool import MOST_DIALS, SECOND
from jsproto.core.pubsub.subscription import Subscription
from jsproto.errors import (
    ApiError,
    AuthorizationFailed,
    ConnectFailed,
    InvalidConfig,
    LinkError,
    StatusError,
    TlsUnavailable,
)
from jsproto.jetstream.api.errors import RequestContext, api_error

EVER = {"connect_sweeps": None, "reconnect_wait": 1.0}
NUMBERS = {
    each.name: each.default
    for each in Options.__attrs_attrs__
    if isinstance(each.default, (int, float)) and not isinstance(each.default, bool)
}
COUNTS = [name for name, default in NUMBERS.items() if isinstance(default, int)] + [
    "max_reconnects"
]


def refused(wire, *texts):
    """A wire whose handshakes end with these texts, one attempt for each."""
    for text in texts:
        wire.redial()
        wire.connection.transport_up(wire.now)
        wire.feed(b'INFO {"max_payload":1024}\r\n').feed(f"-ERR '{text}'\r\n".encode())
        if not wire.connection.closed:
            wire.down()
    return wire


@pytest.mark.parametrize(
    "texts",
    [
        ["Authentication Timeout"] * 5,
        ["Authorization Violation", "Authentication Timeout", "Authentication Timeout"],
        ["Authorization Violation", "Authorization Violation - no such user"],
        ["User Authentication Expired", "Authorization Violation", "User Authentication Expired"],
    ],
)
@pytest.mark.parametrize("connected", [False, True])
def test_a_server_is_given_up_for_the_same_refusal_twice_only(wire, texts, connected):
    w = wire("nats://u:p@a:1", **EVER)
    if connected:
        w.up().down()
    refused(w, *texts)

    assert not w.connection.closed
    assert not w.redial().connection.closed


@pytest.mark.parametrize(
    "texts",
    [
        ["Authorization Violation"] * 2,
        ["Authorization Violation", "Stale Connection", "AUTHORIZATION VIOLATION"],
    ],
)
def test_the_same_refusal_twice_ends_it(wire, texts):
    w = refused(wire("nats://u:p@a:1", **EVER), *(text.title() for text in texts))

    assert w.connection.closed
    assert isinstance(w.told()[-1].error, AuthorizationFailed)


def test_a_refusal_is_counted_for_each_server_by_itself(wire):
    w = refused(
        wire("nats://u:p@a:1", "nats://u:p@b:1", **EVER),
        "Authorization Violation",
        "Authorization Violation",
    )

    assert not w.connection.closed
    assert refused(w, "Authorization Violation", "Authorization Violation").connection.closed


def test_a_refusal_is_forgotten_once_the_server_lets_us_in(wire):
    w = wire("nats://u:p@a:1", **EVER)
    for _ in range(3):
        refused(w, "Authorization Violation").redial().up().down()

    assert not w.connection.closed


# ---------------------------------------------------------------------------------------------- counted options


def test_no_reconnect_means_that_a_lost_link_closes_the_connection(wire):
    w = wire("nats://a:1", "nats://b:1", max_reconnects=0).up()
    w.told()
    w.down(OSError("gone"))
    lost, closed = w.told()

    assert isinstance(lost, Disconnected)
    assert isinstance(closed, Closed)
    assert isinstance(closed.error, LinkError)
    assert "gone" in str(closed.error)
    assert w.connection.next_deadline() is None


def test_no_reconnect_still_tries_all_servers_at_first(wire):
    w = wire("nats://a:1", "nats://b:1", max_reconnects=0, connect_sweeps=2, reconnect_wait=1.0)
    for _ in range(3):
        w.down().redial()

    assert not w.connection.closed
    assert w.down().connection.closed


def test_no_reconnect_stays_with_a_lame_duck_and_refuses_to_leave(wire, info):
    w = wire(max_reconnects=0).up(connect_urls=["b:4222"])
    w.feed(info(ldm=True, connect_urls=["b:4222"]))

    assert w.connection.connected
    with pytest.raises(InvalidConfig, match="max_reconnects is 0"):
        w.connection.reconnect(w.now)
    assert w.connection.connected


def test_minus_one_reconnects_for_ever(wire):
    assert Options(max_reconnects=-1) == Options(max_reconnects=None)
    w = wire(max_reconnects=-1, reconnect_wait=1.0).up().down()
    for _ in range(50):
        w.redial().down()

    assert not w.connection.closed


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("wrong", ["3", 1.5, True, b"1", float("nan"), [1], -2])
def test_a_counted_option_is_a_whole_number(name, wrong):
    with pytest.raises(InvalidConfig, match=f"expected {name} >= [01], a whole number, got"):
        Options(**{name: wrong})


@pytest.mark.parametrize("wrong", [0, -1])
def test_less_than_one_sweep_is_refused(wrong):
    with pytest.raises(InvalidConfig, match="connect_sweeps >= 1"):
        Options(connect_sweeps=wrong)


@pytest.mark.parametrize(
    "name", [name for name, default in NUMBERS.items() if isinstance(default, float)]
)
@pytest.mark.parametrize("wrong", ["3", True, float("nan"), None, -1.0])
def test_a_time_is_a_number_of_seconds(name, wrong):
    with pytest.raises(
        InvalidConfig, match=f"expected {name} >=? 0, a number of seconds or a timedelta, got"
    ):
        Options(**{name: wrong})


def test_all_numbers_of_the_options_are_looked_at():
    assert {
        "connect_sweeps",
        "max_pings_out",
        "max_payload",
        "max_backlog",
        "connect_timeout",
    } <= set(NUMBERS)


# ---------------------------------------------------------------------------------------------- in clear

TLS_ONLY = b'INFO {"server_id":"X","version":"2.15.1","max_payload":1048576,"tls_required":true,"tls_verify":true}\r\n'


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("ws://u:cAnAry@h", {}),
        ("ws://cAnAry@h", {}),
        ("ws://h", {"auth": Auth(user="u", password="cAnAry")}),
        ("ws://h", {"auth": Auth(jwt="cAnAry")}),
        ("ws://h", {"ask_for_credentials": True}),
    ],
)
def test_no_credentials_go_over_ws_where_the_server_requires_tls_n053(wire, url, options):
    w = wire(url, **options)
    w.connection.transport_up(0.0)
    w.feed(TLS_ONLY)
    told = w.told()

    assert b"" == w.out()
    assert [HangUp] == [type(each) for each in told if isinstance(each, (HangUp, Connected))]
    assert isinstance(told[-1].error, TlsUnavailable)
    assert "wss://" in str(told[-1].error)


def test_over_wss_nothing_is_upgraded_n053(wire):
    w = wire("wss://u:p@h")
    w.told()
    w.connection.transport_up(0.0)
    w.feed(TLS_ONLY)

    connect, ping = w.out().splitlines()
    assert [] == w.told()
    assert ("u", True) == (json.loads(connect[8:])["user"], json.loads(connect[8:])["tls_required"])
    assert b"PING" == ping


def test_without_credentials_ws_is_as_it_was(wire):
    w = wire("ws://h")
    w.connection.transport_up(0.0)
    w.feed(TLS_ONLY)

    assert w.out().startswith(b"CONNECT {")


# ---------------------------------------------------------------------------------------------- what a peer says

CANARY = "cAnAry"


def said(told):
    """All that events say, of errors, reasons and details."""
    parts = [getattr(each, name, None) for each in told for name in ("error", "detail", "reason")]
    return " ".join(f"{part} {part!r} {getattr(part, 'args', '')}" for part in parts)


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization Violation for {CANARY}",
        f'Permissions Violation for Publish to "a.{CANARY}"',
        f"{CANARY} is no word of ours",
        f"Unknown Protocol Operation {CANARY}{CANARY}",
    ],
)
@pytest.mark.parametrize("url", [f"nats://u:{CANARY}@h", f"nats://{CANARY}@h"])
def test_a_refusal_that_echoes_our_secret_is_shown_without_it(wire, text, url):
    w = wire(url, connect_sweeps=None).greet().feed(f"-ERR '{text}'\r\n".encode())
    told = w.told()
    if not w.connection.closed:
        told += w.down().told()

    assert "server said" in said(told)
    assert CANARY not in said(told)


@pytest.mark.parametrize(
    ("secret", "text", "shown"),
    [
        ("12", "pin 12 of 123, not 3.12", "pin *** of 123, not 3.***"),
        ("violation", "Authorization violation", "Authorization ***"),
        ("", "Authorization Violation", "Authorization Violation"),
    ],
)
def test_a_text_is_judged_as_it_came_and_short_secrets_are_words(secret, text, shown):
    judged = refusal(text, [secret])

    assert f"server said '{shown}'" == str(judged.error)
    assert refusal(text).fate is judged.fate


def test_the_text_of_an_error_is_cut_however_much_a_server_says():
    huge = "x" * 1_000_000
    for error in (
        ApiError(500, 1, huge),
        StatusError(409, huge),
        StatusError(409, "a", huge),
        api_error(
            {"code": 500, "err_code": 10_000, "description": huge}, RequestContext(what="a stream")
        ),
    ):
        assert len(str(error)) < 3000
        assert len(repr(error)) < 3000
        assert len(error.description) <= 1000


# ---------------------------------------------------------------------------------------------- pace


def dials(w, until):
    """When the connection dials while everybody refuses at once."""
    moments = []
    while w.now < until and not w.connection.closed:
        w.redial()
        moments.append(w.now)
        w.down(ConnectFailed("refused"))
    return moments


def test_a_server_that_tells_of_hundreds_makes_no_storm(wire):
    w = wire("nats://a:1", connect_sweeps=None).up(
        connect_urls=[f"10.0.{n // 250}.{n % 250}:4222" for n in range(300)]
    )
    w.down()
    moments = dials(w, 10.0)

    assert (
        max(sum(first <= each < first + SECOND for each in moments) for first in moments)
        == MOST_DIALS
    )
    assert len(moments) >= 9 * MOST_DIALS


def test_whom_the_user_wants_waits_for_no_pace(wire):
    w = wire("nats://a:1", connect_sweeps=None).up(
        connect_urls=[f"10.0.0.{n}:4222" for n in range(50)]
    )
    while w.connection.state is not LinkState.WAITING:
        w.down()
    w.connection.reconnect(w.now, server="a:1")

    assert (0.0, LinkState.DIALING, "a") == (w.now, w.connection.state, w.connection.server.host)


def test_a_few_servers_are_swept_without_a_pause(wire):
    w = wire(*(f"nats://s{n}:1" for n in range(MOST_DIALS)), connect_sweeps=1)

    assert [0.0] * (MOST_DIALS - 1) == [w.down().redial().now for _ in range(MOST_DIALS - 1)]


# ---------------------------------------------------------------------------------------------- long lines


def test_a_long_subject_is_delivered_as_long_as_the_option_lets_it(wire):
    subject = "a" * 9000
    line = f"MSG {subject} 2 2\r\nok\r\n".encode()
    w = wire().up()
    sub = w.open(Subscription(">"))

    assert subject == w.feed(line).take(sub).subject

    w = wire(max_control_line=8192).up()
    w.open(Subscription(">"))
    w.told()
    w.feed(line)

    assert any(isinstance(each, Disconnected) for each in w.told())
