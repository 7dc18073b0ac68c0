"""How a connection behaves. Everything has a default that a long-running service would choose.

All times are seconds or a `timedelta`, all sizes bytes. Options are checked here, once, before
anything is dialled.
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
    """What we want of TLS; the URL scheme ``tls://`` and a server that requires it count too."""

    #: As the URL says; a server that requires TLS gets it.
    IF_ASKED = "IF_ASKED"
    #: Never connect without.
    REQUIRED = "REQUIRED"
    #: Never connect without, and have TLS stand before the server says a word (``handshake_first``,
    #: nats-server 2.10.4).
    FIRST = "FIRST"
    #: Take it wherever it is offered, connect in clear where it is not.
    IF_OFFERED = "IF_OFFERED"


def servers_of(given: str | Server | Iterable[str | Server]) -> tuple[Server, ...]:
    """Servers from URLs (several may stand in one text, with commas between) or ready made.

    Raises:
        InvalidConfig: a URL that is none, or a comma in user info: what stands before it would be
            looked up as a host.
    """
    if isinstance(given, Server):
        return (given,)
    if isinstance(given, str):
        parts = [each.strip() for each in given.split(",") if each.strip()]
        if any("@" in each and "://" not in each for each in parts[1:]):
            raise InvalidConfig(
                f"expected a scheme with each server URL of a list that has user info, got none: {ENCODE}"
            )
        return tuple(Server.parse(each) for each in parts)
    if not isinstance(cast("object", given), Iterable) or isinstance(
        cast("object", given), (bytes, bytearray, memoryview)
    ):
        raise InvalidConfig(
            f"expected a server URL as text, a Server, or a collection of them, got {type(given).__name__}"
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
    if value is not None and not isinstance(
        value, Auth
    ):  # what it is stays unsaid, it may be a secret
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
    """Other clients write -1 for it."""
    return None if value == -1 and not isinstance(value, bool) else value


def _prefix(_self: object, _attribute: Attribute[str], value: str) -> None:
    subject_prefix(value)


@final
@frozen(kw_only=True)
class Options:
    """Options of one connection.

    Attributes:
        servers: URLs or `Server` values; a single URL may be given as it is.
        auth: static credentials; user info in a URL counts when no user and no token is given here.
            A user without a password here, beside a password in a URL, is refused: that password
            would not be sent.
        ask_for_credentials: ask with an `Authenticate` event at each handshake instead.
        inbox_prefix: first tokens of every inbox of this connection.
        connect_timeout: from dial to the verified handshake of one attempt.
        connect_sweeps: how often all servers are tried before the first connect fails; ``None`` is
            for ever.
        max_reconnects: attempts at one server in a row before it is given up; ``None`` (or -1) is
            for ever. With 0 a lost link closes the connection.
        reconnect_wait: least time between two attempts at one server; doubles up to
            ``reconnect_wait_max``.
        reconnect_waits: other waits in their place, one by one: before the second attempt at one
            server in a row, the third and so on; the last goes on for ever. They are kept to
            exactly, without jitter.
        reconnect_jitter: most random time added to that wait (``reconnect_jitter_tls`` with TLS).
        randomize: shuffle the servers once at the start.
        ignore_gossip: do not learn servers from INFO.
        move_on_lame_duck: leave a server that announces its end, if another is known.
        ping_interval: silence after which a PING is sent; ``max_pings_out`` of them unanswered end
            the link.
        max_payload: most that a delivered frame may announce; INFO can only lower it.
        max_control_line: most bytes of a line that the server says, with subject and reply; more is
            needed only where the server's own ``max_control_line`` was raised, which INFO does not
            tell.
        outbound_high: above so many unsent bytes `send` says ``False``; below ``outbound_low`` it
            is `Ready` again.
        max_backlog: most bytes of publishes kept while no link is up; 0 keeps none.
        drain_timeout: a drain of the connection that takes longer is cut; one of a single feed
            waits so long for the server.
        drain_silence: a drain that waits for the server goes on without it when it has said nothing
            for so long, whatever ``drain_timeout`` allows.
        close_timeout: how long `close` waits for the server to have read everything.
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
