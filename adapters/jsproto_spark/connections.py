"""How a process of Spark reaches the server: one connection for each process and each way to
connect, kept for the next task.

Theory. Python workers are forked from a daemon and used for one task after the other, so a
connection is kept under the process id: a fork finds none. It is kept under how to connect and
nothing else: which stream is read, and through which API, is said with each question, so a job over
a hundred streams of one server has one connection in each process. Nobody drives it between two
tasks; a server that has given it up meanwhile is noticed by the next one, and connected to again.
Secrets are read here, from the file or the variable that an option names, and go nowhere else.

A driver asks questions that may be asked twice. `asking` repeats one whose link was lost, and is
patient with a server and a JetStream that are not there, but only behind a lost link: where nothing
was ever there, that is the answer, and soon.
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
from jsproto.jetstream.api.errors import Unavailable
from jsproto_io._client.options import ConnectOptions, Credentials
from jsproto_io.blocking import Client, SyncJetStream, connect
from jsproto_io.credentials import Creds, CredsFile, NkeyFile, TlsFiles
from jsproto_spark.errors import Unreadable, naming
from jsproto_spark.options import ConnectSettings

T = TypeVar("T")

#: First pause between two attempts to connect; it doubles up to ``reconnectMaxWait``.
_FIRST_WAIT: Final = 0.25
#: Publishes wait so many seconds for company: rows come by the thousand.
_LINGER: Final = 0.005
#: Pause before a question is asked again.
_AGAIN: Final = 0.1

_CLIENTS: Final[dict[tuple[int, ConnectSettings], Client]] = {}


def client(where: ConnectSettings, patience: float) -> Client:
    """The connection of this process; made if there is none.

    Args:
        where: how to connect.
        patience: about how many seconds a server is looked for that is not there.

    Raises:
        JsprotoError: why there is none; `Unreadable` for a secret that is not where it should be.
    """
    key = _key(where)
    held = _CLIENTS.get(key)
    if held is None or held.closed:
        held = _CLIENTS[key] = connected(where, patience)
    return held


def jetstream(where: ConnectSettings, patience: float) -> SyncJetStream:
    """JetStream as the options name it, over the connection of this process.

    Args:
        where: how to connect, and which JetStream.
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
    """This process, and how to connect: what a question says by itself is left out."""
    plain = ConnectSettings()
    return os.getpid(), evolve(
        where,
        stream=plain.stream,
        domain=plain.domain,
        api_prefix=plain.api_prefix,
        request_timeout=plain.request_timeout,
    )


def connected(where: ConnectSettings, patience: float) -> Client:
    """A new connection; see `client`."""
    made = connect(
        where.servers, credentials=_credentials(where), linger=_LINGER, **_options(where, patience)
    )
    return made.__enter__()


def asking(where: ConnectSettings, patience: float, question: Callable[[SyncJetStream], T]) -> T:
    """The answer to a question that may be asked again, over a link that may be lost meanwhile.

    Args:
        where: how to connect.
        patience: seconds for that.
        question: what is asked of JetStream.
    """
    until = time.monotonic() + patience
    lost = False
    while True:
        nc = client(where, max(0.0, until - time.monotonic()) if lost else 0.0)
        try:
            return question(_context(nc, where, patience))
        except (LinkError, NoResponders, Unavailable, RequestTimeout) as error:
            late = time.monotonic() > until
            if isinstance(error, LinkError) or not nc.connected:
                forget(where)
                if lost and late:
                    raise
                lost = True  # and what a new connection says names the server: it is tried once, however late it is
            elif lost and not late:
                time.sleep(_AGAIN)
            else:
                raise


def sweeps(patience: float, most: float) -> int:
    """How often all servers are tried so that about ``patience`` seconds pass before a first
    connect fails.
    """
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
            files.context()  # which the client makes at each handshake; its error knows no options
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
    """What a variable holds. Its name is not shown: somebody may have written the secret itself
    there.
    """
    held = os.environ.get(variable or "")
    if not held:
        raise Unreadable(
            f"stream {where.stream!r}: option {option}: expected the name of a variable that is set in the driver and in every "
            "executor (spark.executorEnv), it is not set here"
        )
    return held
