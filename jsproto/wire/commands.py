"""What a client can say: the closed set of commands that the encoder turns into bytes.

Commands are values. Whoever builds one says what is wished; `encoder.encode` checks every name in
it and gives the bytes, or refuses with a typed error before a single byte exists.
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
    """CONNECT. ``headers`` and ``no_responders`` are always on: without them statuses arrive as
    empty messages.

    The four secrets never appear in a ``repr`` or in a pickle. Members left at ``None`` are not
    sent.
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
    """PUB, or HPUB when there are headers. A payload that is text goes out as UTF-8.

    Made once for each message, so it is not frozen (a fourth of the cost) and read-only by
    agreement.
    """

    subject: str
    payload: bytes | str = b""
    reply: str = ""
    headers: Headers | None = None


@final
@frozen
class Sub:
    """SUB: interest of ``sid`` in ``subject``, shared with the other members of ``queue`` if one is
    named.
    """

    subject: str
    sid: str
    queue: str = ""


@final
@frozen
class Unsub:
    """UNSUB; with ``limit`` > 0 the server ends the subscription after that many messages counted
    from its start.
    """

    sid: str
    limit: int = 0


@final
@frozen
class Ping:
    """PING, the fence: its PONG comes after the server has worked off everything before it."""


@final
@frozen
class Pong:
    """PONG, the answer to the server's PING."""


Command: TypeAlias = Connect | Publish | Sub | Unsub | Ping | Pong
