"""Connections of a Spark process: one for each process and each set of connection options.

Theory. Spark forks Python workers from a daemon and uses them for one task after another. A
connection is kept for the next task. Its key contains the process id, so a fork makes its own. The
key also contains the connection options, but not the stream or the API prefix, which each request
names. So a job over a hundred streams of one server has one connection per process. No task
processes its input between two tasks; if the server has closed it meanwhile, the next task notices
and reconnects. Secrets are read here, from the file or variable that an option names, and are
stored nowhere else.

The driver sends requests that it may repeat. `asking` repeats a request after a lost link. It waits
for an absent server or JetStream only after a lost link. If the server was absent from the start,
it fails soon.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Final, TypeVar

from attrs import evolve

from jsproto.core.connection.auth import Auth
from jsproto.core.connection.options import Tls
from jsproto.errors import LinkError, NoResponders, RequestTimeout
from jsproto.jetstream.api.errors import CannotServe
from jsproto_io._client.options import ConnectOptions, Credentials
from jsproto_io.blocking import Client, SyncJetStream, connect
from jsproto_io.credentials import Creds, CredsFile, NkeyFile, TlsFiles
from jsproto_spark.errors import Unreadable, naming
from jsproto_spark.options import ConnectSettings

T = TypeVar("T")

#: First pause between two attempts to connect; it doubles up to ``reconnectMaxWait``.
_FIRST_WAIT: Final = 0.25
#: Publish batching delay in seconds, because rows come in large numbers.
_LINGER: Final = 0.005
#: Pause in seconds before a request is repeated.
_AGAIN: Final = 0.1

_CLIENTS: Final[dict[tuple[int, ConnectSettings], Client]] = {}


def client(where: ConnectSettings, patience: float) -> Client:
    """The connection of this process; connects if there is none.

    Args:
        where: the connection options.
        patience: about how many seconds to wait for an absent server.

    Raises:
        JsprotoError: why it cannot connect; `Unreadable` for a missing secret.
    """
    key = _key(where)
    held = _CLIENTS.get(key)
    if held is None or held.closed:
        held = _CLIENTS[key] = connected(where, patience)
    return held


def jetstream(where: ConnectSettings, patience: float) -> SyncJetStream:
    """JetStream as the options name it, on the connection of this process.

    Args:
        where: the connection options, and the domain or API prefix.
        patience: see `client`.

    Raises:
        JsprotoError: see `client`.
    """
    return _context(client(where, patience), where, where.request_timeout)


def _context(nc: Client, where: ConnectSettings, timeout: float) -> SyncJetStream:
    return nc.jetstream(domain=where.domain, prefix=where.api_prefix, timeout=timeout)


def forget(where: ConnectSettings) -> None:
    """Close the connection of this process, if there is one."""
    held = _CLIENTS.pop(_key(where), None)
    if held is not None:
        held.close()


def _key(where: ConnectSettings) -> tuple[int, ConnectSettings]:
    """The key of a connection: process id and connection options, without those of a request."""
    plain = ConnectSettings()
    return os.getpid(), evolve(
        where,
        stream=plain.stream,
        domain=plain.domain,
        api_prefix=plain.api_prefix,
        request_timeout=plain.request_timeout,
    )


def connected(where: ConnectSettings, patience: float) -> Client:
    """Make a new connection; see `client`."""
    made = connect(
        where.servers, credentials=_credentials(where), linger=_LINGER, **_options(where, patience)
    )
    return made.__enter__()


def asking(where: ConnectSettings, patience: float, question: Callable[[SyncJetStream], T]) -> T:
    """Send a request that may be repeated, and repeat it after a lost link.

    Args:
        where: the connection options.
        patience: seconds for all attempts.
        question: sends the request with a JetStream handle and returns the answer.
    """
    until = time.monotonic() + patience
    lost = False
    while True:
        nc = client(where, max(0.0, until - time.monotonic()) if lost else 0.0)
        try:
            return question(_context(nc, where, patience))
        except (LinkError, NoResponders, CannotServe, RequestTimeout) as error:
            late = time.monotonic() > until
            if isinstance(error, LinkError) or not nc.connected:
                forget(where)
                if lost and late:
                    raise
                # Try once more, however late: the error of a new connection names the server.
                lost = True
            elif lost and not late:
                time.sleep(_AGAIN)
            else:
                raise


def sweeps(patience: float, most: float) -> int:
    """The number of rounds through all servers that takes about ``patience`` seconds."""
    waited, pause, tries = 0.0, _FIRST_WAIT, 1
    while waited + pause <= patience:
        waited += pause
        pause = min(pause * 2, max(most, _FIRST_WAIT))
        tries += 1
    return tries


def _options(where: ConnectSettings, patience: float) -> ConnectOptions:
    options: ConnectOptions = {
        "name": "jsproto-spark",
        "connect_sweeps": sweeps(patience, where.reconnect_max_wait),
        "reconnect_wait": min(_FIRST_WAIT, where.reconnect_max_wait),
        "reconnect_wait_max": where.reconnect_max_wait,
    }
    if where.inbox_prefix is not None:
        options["inbox_prefix"] = where.inbox_prefix
    if where.tls_ca_file is not None or where.tls_cert_file is not None:
        files = TlsFiles(
            ca=where.tls_ca_file, certificate=where.tls_cert_file, key=where.tls_key_file
        )
        with naming(where.stream, "tlsCaFile, tlsCertFile, tlsKeyFile"):
            files.context()  # checked here: the error of a handshake names no options
        options["tls_context"] = files
    if where.tls_first:
        options["tls"] = Tls.FIRST
    if where.user is not None:
        options["auth"] = Auth(
            user=where.user, password=_secret(where, "passwordEnv", where.password_env)
        )
    elif where.token_env is not None:
        options["auth"] = Auth(token=_secret(where, "tokenEnv", where.token_env))
    return options


def _credentials(where: ConnectSettings) -> Credentials | None:
    if where.credentials_file is not None:
        return CredsFile(where.credentials_file)
    if where.nkey_seed_file is not None:
        return NkeyFile(where.nkey_seed_file)
    if where.credentials_env is not None:
        return Creds(_secret(where, "credentialsEnv", where.credentials_env))
    return None


def _secret(where: ConnectSettings, option: str, variable: str | None) -> str:
    """The value of a variable; errors hide its name, as a user may have put the secret there."""
    held = os.environ.get(variable or "")
    if not held:
        raise Unreadable(
            f"stream {where.stream!r}: option {option}: expected the name of a variable that is "
            "set in the driver and in every executor (spark.executorEnv), got one that is not set"
        )
    return held
