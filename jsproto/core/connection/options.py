"""The options of a connection. The defaults suit a long-running service.

All times are seconds or a `timedelta`, all sizes are bytes. Options are checked here, once, before
the connection dials.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from enum import Enum
from typing import cast, final

from attrs import Attribute, field, frozen

from jsproto.core.connection.auth import Auth, check_dropped
from jsproto.core.connection.server_pool import DEFAULT_PORT, ENCODE, Server, text_of_utf8
from jsproto.core.numbers import check_number, in_seconds, seconds
from jsproto.errors.tree import InvalidConfig
from jsproto.wire.subjects import subject_prefix


class Tls(Enum):
    """The client's use of TLS; the URL scheme ``tls://`` and the server's INFO count too."""

    #: As the URL says; if the server requires TLS, the client uses it.
    IF_ASKED = "IF_ASKED"
    #: Never connect without TLS.
    REQUIRED = "REQUIRED"
    #: Never connect without TLS, and start TLS before INFO (``handshake_first``, nats-server
    #: 2.10.4).
    FIRST = "FIRST"
    #: Use TLS if the server offers it, else connect in plaintext.
    IF_OFFERED = "IF_OFFERED"


def servers_of(given: str | Server | Iterable[str | Server]) -> tuple[Server, ...]:
    """Return servers from URLs or from `Server` values; one text may hold several URLs.

    Raises:
        InvalidConfig: a URL is invalid, or user info contains a comma. The text before that comma
            would be resolved as a host name.
    """
    if isinstance(given, Server):
        return (given,)
    if isinstance(given, str):
        parts = [each.strip() for each in given.split(",") if each.strip()]
        if any("@" in each and "://" not in each for each in parts[1:]):
            raise InvalidConfig(
                "expected a scheme with each server URL of a list that has user info,"
                f" got none: {ENCODE}"
            )
        return tuple(Server.parse(each) for each in parts)
    if not isinstance(cast("object", given), Iterable) or isinstance(
        cast("object", given), (bytes, bytearray, memoryview)
    ):
        raise InvalidConfig(
            "expected a server URL as text, a Server, or a collection of them,"
            f" got {type(given).__name__}"
        )
    found: list[Server] = []
    for each in given:
        found.extend(servers_of(each))
    return tuple(found)


def _not_empty(
    _self: object, _attribute: Attribute[tuple[Server, ...]], value: tuple[Server, ...]
) -> None:
    if not value:
        raise InvalidConfig("expected at least one server, got none")


def _auth(_self: object, _attribute: Attribute[Auth | None], value: object) -> None:
    # The message does not show the value, because it may be a secret.
    if value is not None and not isinstance(value, Auth):
        raise InvalidConfig(
            f"expected an Auth as auth, as Auth(user=..., password=...), got {type(value).__name__}"
        )


def _tls(_self: object, _attribute: Attribute[Tls], value: object) -> None:
    if not isinstance(value, Tls):
        names = ", ".join(f"Tls.{each.name}" for each in Tls)
        raise InvalidConfig(f"expected one of {names} as tls, got {type(value).__name__}")


def _flag(_self: object, attribute: Attribute[bool], value: object) -> None:
    if not isinstance(value, bool):
        raise InvalidConfig(
            f"expected True or False as {attribute.name}, got {type(value).__name__}"
        )


def _count(_self: object, attribute: Attribute[int], value: int) -> None:
    check_number(attribute.name, value, (int,))


def _count_or_none(_self: object, attribute: Attribute[int | None], value: int | None) -> None:
    if value is not None:
        check_number(attribute.name, value, (int,))


def _sweeps(_self: object, attribute: Attribute[int], value: int | None) -> None:
    if value is not None:
        check_number(attribute.name, value, (int,), least=1)


def _count_from_one(_self: object, attribute: Attribute[int], value: int) -> None:
    check_number(attribute.name, value, (int,), least=1)


def _seconds(_self: object, attribute: Attribute[float], value: float) -> None:
    seconds(attribute.name, value, above=False)


def _seconds_above_zero(_self: object, attribute: Attribute[float], value: float) -> None:
    seconds(attribute.name, value)


def _all_above_zero(
    _self: object, attribute: Attribute[tuple[float, ...]], values: tuple[float, ...]
) -> None:
    for value in values:
        seconds(attribute.name, value)


def _waits(values: Iterable[float | timedelta]) -> tuple[float, ...]:
    if not isinstance(cast("object", values), Iterable):
        raise InvalidConfig(
            f"expected several waits as reconnect_waits, got {type(values).__name__}"
        )
    return tuple(in_seconds(value) for value in values)


def _for_ever(value: int | None) -> int | None:
    """Convert -1, which other clients use for "without end", to ``None``."""
    return None if value == -1 and not isinstance(value, bool) else value


def _prefix(_self: object, _attribute: Attribute[str], value: str) -> None:
    subject_prefix(value)


@final
@frozen(kw_only=True)
class Options:
    """Options of one connection.

    Attributes:
        servers: URLs or `Server` values; a single URL may be given as it is.
        auth: static credentials. User info in a URL is used when no user and no token is given
            here. A user without a password here, together with a password in a URL, is refused,
            because that password would not be sent.
        ask_for_credentials: ask with an `Authenticate` event at each handshake instead.
        inbox_prefix: first tokens of every inbox of this connection.
        connect_timeout: seconds from dial to the verified handshake of one attempt.
        connect_sweeps: how often all servers are tried before the first connect fails; ``None``
            means without end.
        max_reconnects: attempts at one server in a row before the client drops it; ``None`` (or -1)
            means without end. With 0 a lost link closes the connection.
        reconnect_wait: least time between two attempts at one server; it doubles up to
            ``reconnect_wait_max``.
        reconnect_waits: used instead of the doubling: the wait before the second attempt at one
            server in a row, the third, and so on. The last one repeats. No jitter is added.
        reconnect_jitter: most random time added to that wait (``reconnect_jitter_tls`` with TLS).
        randomize: shuffle the servers once at the start.
        ignore_gossip: do not learn servers from INFO.
        move_on_lame_duck: leave a server that announces its end, if another is known.
        ping_interval: silence after which the client sends a PING; ``max_pings_out`` unanswered
            ones end the link.
        max_payload: most bytes that a delivered frame may announce; INFO can only lower it.
        max_control_line: most bytes of a line of the server, with subject and reply. A higher value
            is needed only where the server's own ``max_control_line`` was raised, which INFO does
            not show.
        outbound_high: above this number of unsent bytes `send` returns ``False``; below
            ``outbound_low`` a `Ready` event follows.
        max_backlog: most bytes of publishes kept while no link is up; 0 keeps none.
        drain_timeout: a drain of the connection that takes longer is cut; a drain of one
            conversation waits this long for the server.
        drain_silence: a drain stops waiting for a server that has sent nothing for this long, even
            if ``drain_timeout`` is longer.
        close_timeout: how long `close` waits until the server has read everything.
    """

    servers: tuple[Server, ...] = field(
        default=(Server(host="127.0.0.1", port=DEFAULT_PORT),),
        converter=servers_of,
        validator=_not_empty,
    )
    name: str | None = field(default=None, validator=text_of_utf8)
    auth: Auth | None = field(default=None, validator=_auth)
    ask_for_credentials: bool = field(default=False, validator=_flag)
    tls: Tls = field(default=Tls.IF_ASKED, validator=_tls)
    inbox_prefix: str = field(default="_INBOX", validator=_prefix)
    echo: bool = field(default=True, validator=_flag)
    verbose: bool = field(default=False, validator=_flag)
    pedantic: bool = field(default=False, validator=_flag)
    connect_timeout: float = field(default=2.0, converter=in_seconds, validator=_seconds_above_zero)
    connect_sweeps: int | None = field(default=1, validator=_sweeps)
    max_reconnects: int | None = field(default=None, converter=_for_ever, validator=_count_or_none)
    reconnect_wait: float = field(default=0.25, converter=in_seconds, validator=_seconds_above_zero)
    reconnect_wait_max: float = field(
        default=4.0, converter=in_seconds, validator=_seconds_above_zero
    )
    reconnect_waits: tuple[float, ...] = field(
        default=(), converter=_waits, validator=_all_above_zero
    )
    reconnect_jitter: float = field(default=0.1, converter=in_seconds, validator=_seconds)
    reconnect_jitter_tls: float = field(default=1.0, converter=in_seconds, validator=_seconds)
    randomize: bool = field(default=True, validator=_flag)
    ignore_gossip: bool = field(default=False, validator=_flag)
    move_on_lame_duck: bool = field(default=True, validator=_flag)
    ping_interval: float = field(default=120.0, converter=in_seconds, validator=_seconds_above_zero)
    max_pings_out: int = field(default=2, validator=_count_from_one)
    max_payload: int = field(default=64 * 1024 * 1024, validator=_count_from_one)
    max_control_line: int = field(default=65_536, validator=_count_from_one)
    outbound_high: int = field(default=4 * 1024 * 1024, validator=_count_from_one)
    outbound_low: int = field(default=1024 * 1024, validator=_count)
    max_backlog: int = field(default=8 * 1024 * 1024, validator=_count)
    drain_timeout: float = field(default=30.0, converter=in_seconds, validator=_seconds_above_zero)
    drain_silence: float = field(default=5.0, converter=in_seconds, validator=_seconds_above_zero)
    close_timeout: float = field(default=0.5, converter=in_seconds, validator=_seconds_above_zero)

    def __attrs_post_init__(self) -> None:
        for server in self.servers:
            check_dropped(self.auth, server)
