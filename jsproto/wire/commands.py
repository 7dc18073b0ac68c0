"""The commands that a client can send to the server.

A command is a plain value. `encoder.encode` checks every name in it and returns its bytes. If a
check fails, it raises a typed error before any byte exists.
"""

from __future__ import annotations

from typing import TypeAlias, final

from attrs import define, field, frozen

from jsproto.version import __version__
from jsproto.wire.headers import Headers
from jsproto.wire.secret import RedactedSecret, secret_text


@final
@frozen(kw_only=True)
class Connect(RedactedSecret):
    """The CONNECT command.

    ``headers`` and ``no_responders`` are always sent as true, because statuses would otherwise
    arrive as empty messages. Fields that are ``None`` are not sent. The four secrets (``password``,
    ``auth_token``, ``jwt``, ``sig``) never appear in a ``repr`` or in a pickle.
    """

    verbose: bool = False
    pedantic: bool = False
    tls_required: bool = False
    echo: bool = True
    name: str | None = None
    lang: str = "python-jsproto"
    version: str = __version__
    protocol: int = 1
    user: str | None = None
    password: str | None = field(default=None, converter=secret_text, repr=False)
    auth_token: str | None = field(default=None, converter=secret_text, repr=False)
    jwt: str | None = field(default=None, converter=secret_text, repr=False)
    nkey: str | None = None
    sig: str | None = field(default=None, converter=secret_text, repr=False)


@final
@define(unsafe_hash=True)
class Publish:
    """PUB, or HPUB when there are headers. A text payload is sent as UTF-8.

    The class is not frozen, because one is created for each message and a frozen class costs four
    times as much. Treat it as read-only.
    """

    subject: str
    payload: bytes | str = b""
    reply: str = ""
    headers: Headers | None = None


@final
@frozen
class Sub:
    """SUB: subscribe ``sid`` to ``subject``, as a member of ``queue`` if it is not empty."""

    subject: str
    sid: str
    queue: str = ""


@final
@frozen
class Unsub:
    """UNSUB: end a subscription at once, or after ``limit`` messages.

    The server counts the messages from the start of the subscription.
    """

    sid: str
    limit: int = 0


@final
@frozen
class Ping:
    """PING: the server answers with PONG after it has processed everything sent before."""


@final
@frozen
class Pong:
    """PONG, the answer to the server's PING."""


Command: TypeAlias = Connect | Publish | Sub | Unsub | Ping | Pong
