"""Connection options that all commands share.

With ``--server`` the URL alone says where to connect; it may contain user and password. Otherwise a
context of the ``nats`` CLI gives address and credentials: the named one, or the one that the
environment or the CLI has selected. Without a context the address is nats://127.0.0.1:4222.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from attrs import evolve

from jsproto.errors import JsprotoError
from jsproto.jetstream.context import JetStream
from jsproto_io.blocking import connect
from jsproto_io.contexts import context
from jsproto_io.credentials import CredsFile

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Generator

    from jsproto_io._client.options import ConnectOptions
    from jsproto_io.blocking import Client


def add_link(words: argparse.ArgumentParser) -> None:
    """Add the connection options to a command."""
    where = words.add_argument_group("connection")
    where.add_argument("--server", metavar="URL", help="the server, without a context")
    where.add_argument(
        "--context", metavar="NAME", help="a context of the nats CLI, or the path of its file"
    )
    where.add_argument("--creds", metavar="FILE", help="a creds file; overrides the context's")
    where.add_argument("--domain", metavar="NAME", help="JetStream of another domain")
    where.add_argument("--prefix", metavar="SUBJECT", help="JetStream with another API prefix")
    where.add_argument(
        "--timeout",
        type=float,
        default=5.0,
        metavar="SECONDS",
        help="timeout of each request (5 s)",
    )


@contextmanager
def linked(words: argparse.Namespace) -> Generator[Client]:
    """A connected client; it fails at once if no server answers."""
    others: ConnectOptions = {"name": "jsproto", "connect_sweeps": 1}
    if words.domain is not None or words.prefix is not None or words.server is not None:
        others["jetstream"] = JetStream(
            domain=words.domain, prefix=words.prefix, timeout=words.timeout
        )
    if words.server is not None and words.context is None:
        credentials = None if words.creds is None else CredsFile(words.creds)
        with connect(words.server, credentials=credentials, **others) as nc:
            yield nc
        return
    environ = dict(os.environ)
    if words.server is not None:
        environ["NATS_URL"] = words.server
    if words.creds is not None:
        environ["NATS_CREDS"] = words.creds
    options = context(words.context, environ=environ).options(**others)
    options["jetstream"] = evolve(options.get("jetstream", JetStream()), timeout=words.timeout)
    with connect(**options) as nc:
        yield nc


def told(command: Callable[[], int]) -> int:
    """Run a command; print an error as one line, and return exit code 1."""
    try:
        return command()
    except (JsprotoError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        for note in getattr(error, "__notes__", ()):
            print(note, file=sys.stderr)
        return 1
