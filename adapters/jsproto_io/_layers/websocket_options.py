"""What is known of WebSockets before there is one: the options, and whether there is anything here
that speaks it.

The layer itself stands in `jsproto_io._layers.websocket`, over the library ``websockets``, which
the extra ``ws`` brings. It is loaded when a client is made for a server with the scheme ``ws://``
or ``wss://``: nobody else needs it, and nobody else pays for it.
"""

from __future__ import annotations

import importlib
import re
from types import ModuleType
from typing import Final, Protocol, cast, final

from attrs import Attribute, field, frozen

from jsproto.core.connection.server_pool import Server, url_path
from jsproto.core.numbers import check_number
from jsproto.errors import InvalidConfig, InvalidHeader
from jsproto.wire.headers import HeaderItems, Headers
from jsproto.wire.secret import RedactedSecret, Secret, secret_query
from jsproto_io._layers.stack import ByteFilter

#: RFC 9110 "token": fewer names than NATS allows in its own headers.
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+").fullmatch
_PRINTABLE: Final = re.compile(r"[ -~]*").fullmatch
#: What the handshake says itself.
_TAKEN: Final = frozenset({"host", "upgrade", "connection", "content-length", "transfer-encoding"})


#: How much may wait for a client in a server, by default.
MAX_PENDING: Final = 64 * 1024 * 1024


def _count(_self: object, attribute: Attribute[int], value: int) -> None:
    check_number(attribute.name, value, (int,), least=1)


def _pairs(given: HeaderItems | None) -> tuple[tuple[str, str], ...] | None:
    """Checked pairs. What is wrong is said by name; a value may be a secret."""
    if given is None:
        return None
    try:
        pairs = Headers(given).items()
    except InvalidHeader:
        pairs = (("", ""),)  # what is wrong there may be shown in that error
    for name, value in pairs:
        taken = name.lower() in _TAKEN or name.lower().startswith("sec-websocket-")
        if taken or _TOKEN(name) is None or _PRINTABLE(value) is None:
            raise InvalidConfig(
                f"expected headers beside those of the handshake, in printable ASCII; {name!r} is none"
            )
    return tuple((name, Secret(value)) for name, value in pairs) or None


@final
@frozen(kw_only=True)
class WebSocket(RedactedSecret):
    """How to ask for a WebSocket, where a proxy in front of the server wants more than its address.

    Attributes:
        path: what is asked for, with its query, whatever the URL of a server says; ``None`` asks
            for what the URL says.
        headers: more headers for the request: a mapping or pairs; they are no part of the ``repr``.
        max_frame: most bytes that one frame of the server may announce. A server writes all that
            waits for a client as one frame: more is needed only where its ``max_pending`` was
            raised.
    """

    path: str | None = field(default=None, converter=secret_query, validator=url_path)
    headers: tuple[tuple[str, str], ...] | None = field(default=None, repr=False, converter=_pairs)
    max_frame: int = field(default=MAX_PENDING, validator=_count)


class WebSocketClient(Protocol):
    """What makes the layers of a client."""

    def __call__(self, given: WebSocket, server: Server) -> ByteFilter:
        """A layer for one stream to this server."""
        ...


class WebSocketServer(Protocol):
    """What makes the layers of a server."""

    def __call__(self) -> ByteFilter:
        """A layer for one stream that was accepted."""
        ...


def speaker() -> WebSocketClient:
    """What speaks WebSocket here.

    Raises:
        InvalidConfig: the library is not installed.
    """
    return cast("WebSocketClient", _loaded("websocket").Filter)


def answering() -> WebSocketServer:
    """What answers to it.

    Raises:
        InvalidConfig: the library is not installed.
    """
    return cast("WebSocketServer", _loaded("websocket_server").Answerer)


def _loaded(name: str) -> ModuleType:
    try:
        return importlib.import_module(f"jsproto_io._layers.{name}")
    except ModuleNotFoundError:
        raise InvalidConfig(
            "expected the library websockets for ws:// and wss://, it is not installed: install nats-jsproto[ws]"
        ) from None
