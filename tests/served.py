"""nats-server with each transport that a client can reach it by: what the contract of adapters is
checked against, for real.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import trustme

from jsproto import Tls
from jsproto_io._testing.nats_server import NatsServer
from jsproto_io.credentials import TlsFiles
from tests.ports import free_ports

#: TLS before the first word of the server takes 2.10.4.
TRANSPORTS = ("tcp", "tls", "tls-first", "ws", "wss")


class Served(NamedTuple):
    """Where a server is, and what a client needs to connect to it."""

    url: str
    options: dict[str, object]
    version: str


@contextmanager
def served(binary: str | Path | None, transport: str, folder: Path) -> Iterator[Served]:
    """A server of its own that speaks in one way; certificates for it are written to the folder."""
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    certificate.private_key_and_cert_chain_pem.write_to_path(str(folder / "server.pem"))
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    files = f'cert_file: "{folder}/server.pem", key_file: "{folder}/server.pem"'
    [web] = free_ports(1)
    config = {
        "tcp": "",
        "tls": f"tls {{ {files} }}",
        # Whoever is late by more than this hears INFO in clear: the rig, which asks so for the
        # version, and no client on a busy machine.
        "tls-first": f'tls {{ {files}, handshake_first: "1s" }}',
        "ws": f'websocket {{ listen: "127.0.0.1:{web}", no_tls: true }}',
        "wss": f'websocket {{ listen: "127.0.0.1:{web}", tls {{ {files} }} }}',
    }[transport]
    options: dict[str, object] = {}
    if transport in {"tls", "tls-first", "wss"}:
        options["tls_context"] = TlsFiles(ca=folder / "ca.pem")
    if transport == "tls-first":
        options["tls"] = Tls.FIRST
    with NatsServer(binary, config=config) as server:
        scheme = {"tcp": "nats", "ws": "ws", "wss": "wss"}.get(transport, "tls")
        port = web if transport in {"ws", "wss"} else server.port
        yield Served(f"{scheme}://127.0.0.1:{port}", options, server.version)
