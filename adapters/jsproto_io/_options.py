"""What `connect` takes, the same for every adapter: servers, options by name, and where credentials come from."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta
from typing import Any, TypeAlias, TypedDict, Unpack, cast

from attrs import evolve

from jsproto.core.auth import Auth
from jsproto.core.options import Options, Tls
from jsproto.core.servers import Server
from jsproto.errors import AuthorizationFailed, InvalidConfig
from jsproto.jetstream.context import JetStream
from jsproto_io._tls import TlsFiles
from jsproto_io._watch import Watcher
from jsproto_io._web import WebSocket
from jsproto_io.proxies import Tunnel
from jsproto_io.recording import Record

#: One URL, several in one text with commas between, or a collection of both; ready-made `Server` values too.
Servers: TypeAlias = str | Server | Iterable[str | Server]

#: Asked at each handshake for the server and the nonce to sign.
Credentials: TypeAlias = Callable[[Server, str], Auth]
#: The same for an adapter that can wait.
AsyncCredentials: TypeAlias = Callable[[Server, str], Auth | Awaitable[Auth]]


class ConnectOptions(TypedDict, total=False):
    """The options of `jsproto.core.options.Options` by name; what they mean and default to is said there.

    Six are the adapters' own. ``tls_context``: certificates, from files or ready made. Who gives it means TLS: without ``tls`` it is
    required. ``websocket``: path and headers of the handshake, for servers with the scheme ``ws://`` or ``wss://``. ``jetstream``: the
    JetStream that ``nc.jetstream()`` is of when it is told nothing else, with its domain or API prefix and its timeout.
    ``proxy``: ``http://`` or ``socks5://`` with the place of a proxy, or a `jsproto_io.proxies.Tunnel`; every server is reached through it.
    ``watch``: called with the client and each event as it happens, one or several (see `jsproto_io._watch`).
    ``record``: a new file in which the connection writes down all that is said, without credentials, and without payloads unless a `TraceFile` asks for them.
    """

    name: str | None
    auth: Auth | None
    tls: Tls
    tls_context: ssl.SSLContext | TlsFiles
    websocket: WebSocket
    jetstream: JetStream
    proxy: str | Tunnel
    watch: Watcher | Iterable[Watcher]
    record: Record
    inbox_prefix: str
    echo: bool
    verbose: bool
    pedantic: bool
    connect_timeout: float | timedelta
    connect_sweeps: int | None
    max_reconnects: int | None
    reconnect_wait: float | timedelta
    reconnect_wait_max: float | timedelta
    reconnect_waits: Iterable[float | timedelta]
    reconnect_jitter: float | timedelta
    reconnect_jitter_tls: float | timedelta
    randomize: bool
    ignore_gossip: bool
    move_on_lame_duck: bool
    ping_interval: float | timedelta
    max_pings_out: int
    max_payload: int
    max_control_line: int
    outbound_high: int
    outbound_low: int
    max_backlog: int
    drain_timeout: float | timedelta
    drain_silence: float | timedelta
    close_timeout: float | timedelta


def options_of(servers: Servers, *, ask: bool, **options: Unpack[ConnectOptions]) -> Options:
    """Checked options.

    Args:
        servers: where to connect.
        ask: credentials are asked for at each handshake.

    Raises:
        InvalidConfig: an option or a URL that cannot work.
    """
    if ask and options.get("auth") is not None:
        raise InvalidConfig("expected auth or credentials, got both: let credentials answer with all of it")
    if options.pop("tls_context", None) is not None:
        options.setdefault("tls", Tls.REQUIRED)
    options.pop("websocket", None)
    options.pop("proxy", None)
    options.pop("watch", None)
    options.pop("record", None)
    js = options.pop("jetstream", None)
    if js is not None and not isinstance(js, JetStream):
        raise InvalidConfig(f"expected a JetStream as jetstream, got {type(js).__name__}")
    made = Options(servers=servers, **cast("dict[str, Any]", options))
    return evolve(made, ask_for_credentials=True) if ask else made


def nobody(server: Server, nonce: str) -> Auth:  # noqa: ARG001 - has the form of `Credentials`
    """Stands where no credentials were given; it is never asked then."""
    raise AuthorizationFailed(f"expected credentials for {server}, there is nobody to ask")
