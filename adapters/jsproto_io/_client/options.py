"""What `connect` takes, the same for every adapter: servers, options by name, and where credentials
come from.
"""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypedDict, Unpack, cast

from attrs import evolve

import jsproto
from jsproto.core.connection.auth import Auth
from jsproto.core.connection.options import Options, Tls
from jsproto.core.connection.server_pool import Server
from jsproto.core.wording import meant
from jsproto.errors import AuthorizationFailed, InvalidConfig
from jsproto.errors.tree import shorten
from jsproto_io._event_logger import Watcher
from jsproto_io._layers.tls import TlsFiles
from jsproto_io._layers.websocket_options import WebSocket
from jsproto_io.proxies import Tunnel

if TYPE_CHECKING:
    from jsproto import JetStream
    from jsproto_io.recording import Record

#: One URL, several in one text with commas between, or a collection of both; ready-made `Server`
#: values too.
Servers: TypeAlias = str | Server | Iterable[str | Server]

#: Asked at each handshake for the server and the nonce to sign.
Credentials: TypeAlias = Callable[[Server, str], Auth]
#: The same for an adapter that can wait.
AsyncCredentials: TypeAlias = Callable[[Server, str], Auth | Awaitable[Auth]]


class ConnectOptions(TypedDict, total=False):
    """The options of `jsproto.core.connection.options.Options` by name; what they mean and default
    to is said there.

    Six are the adapters' own. ``tls_context``: certificates, from files or ready made. Who gives it
    means TLS: without ``tls`` it is required. ``websocket``: path and headers of the handshake, for
    servers with the scheme ``ws://`` or ``wss://``. ``jetstream``: the JetStream that
    ``nc.jetstream()`` is of when it is told nothing else, with its domain or API prefix and its
    timeout. ``proxy``: ``http://`` or ``socks5://`` with the place of a proxy, or a
    `jsproto_io.proxies.Tunnel`; every server is reached through it. ``watch``: called with the
    client and each event as it happens, one or several (see `jsproto_io._event_logger`).
    ``record``: a new file in which the connection writes down all that is said, without
    credentials, and without payloads unless a `TraceFile` asks for them.
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


#: What other clients call it, or who thinks of one part of a whole.
_INSTEAD: Final[Mapping[str, str]] = {
    **dict.fromkeys(("user", "username"), "auth=Auth(user=..., password=...)"),
    **dict.fromkeys(("password", "passwd", "pass", "pass_"), "auth=Auth(user=..., password=...)"),
    **dict.fromkeys(("token", "auth_token"), "auth=Auth(token=...)"),
    **dict.fromkeys(("jwt", "nkey", "signature"), "credentials=Creds(...)"),
    **dict.fromkeys(
        ("creds", "creds_file", "credentials_file", "user_credentials"),
        'credentials=CredsFile("...")',
    ),
    **dict.fromkeys(("nkeys_seed", "nkey_file"), 'credentials=NkeyFile("...")'),
    **dict.fromkeys(("nkeys_seed_str", "nkey_seed", "seed"), 'credentials=NkeySeed("...")'),
    **dict.fromkeys(
        ("ask", "ask_for_credentials", "signature_cb", "user_jwt_cb"), "credentials=..."
    ),
    **dict.fromkeys(("url", "urls", "host", "hosts", "port", "server"), "servers=..."),
    **dict.fromkeys(
        ("error_cb", "disconnected_cb", "closed_cb", "reconnected_cb", "discovered_server_cb"),
        "watch=...",
    ),
    **dict.fromkeys(
        ("ssl", "ssl_context", "tls_hostname", "ca", "cert"), "tls_context=TlsFiles(...)"
    ),
    **dict.fromkeys(("domain", "prefix", "js_prefix"), "jetstream=JetStream(...)"),
    "allow_reconnect": "max_reconnects=0 (for False)",
    "max_reconnect_attempts": "max_reconnects=...",
    "reconnect_time_wait": "reconnect_wait=...",
    "no_echo": "echo=False",
    "dont_randomize": "randomize=False",
    "timeout": "connect_timeout=...",
    "max_outstanding_pings": "max_pings_out=...",
    "pending_size": "max_backlog=...",
    "client_name": "name=...",
    "linger": "linger=... of jsproto_io.blocking, the only client that has it",
    "pump": "pump=... of jsproto_io.blocking, the only client that has it",
}


#: What the adapters' own options are. The others are judged where they are used.
_FORMS: Final[Mapping[str, tuple[type, ...]]] = {
    "tls_context": (ssl.SSLContext, TlsFiles),
    "websocket": (WebSocket,),
}


def check_words(options: Mapping[str, object]) -> None:
    """Refuse names that are no options, and values that no option of the adapters can have.

    What was given stays unsaid: it may be a secret.

    Raises:
        InvalidConfig: it says the right names, or what the value should be.
    """
    known = ConnectOptions.__annotations__
    wrong = sorted(options.keys() - known.keys())
    if wrong:
        raise InvalidConfig(
            f"expected options of a connection, got {shorten(wrong)}{meant(wrong, known, _INSTEAD)}"
        )
    for word, kinds in _FORMS.items():
        value = options.get(word)
        if value is not None and not isinstance(value, kinds):
            names = " or ".join(kind.__name__ for kind in kinds)
            raise InvalidConfig(f"expected {names} as {word}, got {type(value).__name__}")


def asks(credentials: object) -> bool:
    """Whether there is somebody to ask for credentials.

    Raises:
        InvalidConfig: it is nobody who could be asked. What was given stays unsaid: it may be a
            secret.
    """
    if credentials is not None and not callable(credentials):
        raise InvalidConfig(
            f'expected a source of credentials, as CredsFile("..."), or a function, got {type(credentials).__name__}'
        )
    return credentials is not None


def options_of(servers: Servers, *, ask: bool, **options: Unpack[ConnectOptions]) -> Options:
    """Checked options.

    Args:
        servers: where to connect.
        ask: credentials are asked for at each handshake.

    Raises:
        InvalidConfig: an option or a URL that cannot work.
    """
    if ask and options.get("auth") is not None:
        raise InvalidConfig(
            "expected auth or credentials, got both: let credentials answer with all of it"
        )
    if options.pop("tls_context", None) is not None:
        options.setdefault("tls", Tls.REQUIRED)
    options.pop("websocket", None)
    options.pop("proxy", None)
    options.pop("watch", None)
    options.pop("record", None)
    js = options.pop("jetstream", None)
    if js is not None and not isinstance(js, jsproto.JetStream):
        raise InvalidConfig(f"expected a JetStream as jetstream, got {type(js).__name__}")
    made = Options(servers=servers, **cast("dict[str, Any]", options))
    return evolve(made, ask_for_credentials=True) if ask else made


def nobody(server: Server, nonce: str) -> Auth:  # noqa: ARG001 - has the form of `Credentials`
    """Stands where no credentials were given; it is never asked then."""
    raise AuthorizationFailed(f"expected credentials for {server}, there is nobody to ask")
