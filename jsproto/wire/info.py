"""Parse the JSON of the server's INFO into an :class:`~jsproto.wire.frames.Info`.

Theory. INFO is the only JSON of the client protocol, and it decides limits and security. Therefore
the parser guesses nothing. A member that is missing or ``null`` gets the protocol's default. A
member of the wrong type is a fault of the server and ends the connection. So does any other fault
of the JSON (deep nesting, huge numbers, NaN, no object). Unknown members are kept in ``raw``.
"""

from __future__ import annotations

import json
import re
from typing import Final, cast

from jsproto.errors.tree import RemoteProtocolError, shorten
from jsproto.wire.frames import Info

_TEXTS: Final = (
    "server_id",
    "server_name",
    "version",
    "host",
    "client_ip",
    "nonce",
    "cluster",
    "domain",
)
_FLAGS: Final = (
    "headers",
    "jetstream",
    "auth_required",
    "tls_required",
    "tls_available",
    "tls_verify",
    "connect_info",
)
_NUMBERS: Final = ("proto", "port", "max_payload", "client_id")
#: Fields whose name on the wire is shorter than in :class:`Info`.
_WIRE_NAMES: Final = {"lame_duck": "ldm", "api_level": "api_lvl"}
_UINT64: Final = 2**64 - 1
_RELEASE: Final = re.compile(r"v?([0-9]{1,9})\.([0-9]{1,9})\b").match


def parse_info(text: bytes) -> Info:
    """Parse the JSON of an INFO line, which is the line without its operation.

    Raises:
        RemoteProtocolError: the text is no JSON object, or a known member has the wrong type. The
            message names the member.
    """
    raw = _json_object(text)
    members: dict[str, object] = {}
    for names, kind in (
        (_TEXTS, str),
        ((*_FLAGS, "lame_duck"), bool),
        ((*_NUMBERS, "api_level"), int),
    ):
        for name in names:
            value = raw.get(_WIRE_NAMES.get(name, name))
            if value is not None:
                members[name] = _typed(name, value, kind)
    urls = raw.get("connect_urls")
    if urls is not None:
        members["connect_urls"] = _urls(urls)
    return Info(raw=raw, **members)  # type: ignore[arg-type]  # each member's type was checked against the tables


def release_of(version: str) -> tuple[int, int] | None:
    """Return the first two numbers of a server version: ``(2, 14)`` for ``2.14.0-RC.1``.

    They decide which features the server has. The result is ``None`` if the version does not begin
    with two numbers: some servers send ``dev`` or an empty text.
    """
    found = _RELEASE(version)
    return None if found is None else (int(found[1]), int(found[2]))


def _json_object(text: bytes) -> dict[str, object]:
    try:
        value: object = json.loads(text.decode(), parse_constant=_refused)
    except (
        ValueError,
        RecursionError,
    ) as error:  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        raise RemoteProtocolError(
            f"expected INFO with a JSON object, got {shorten(text)} ({type(error).__name__})"
        ) from None
    if not isinstance(value, dict):
        raise RemoteProtocolError(f"expected INFO with a JSON object, got {shorten(text)}")
    return cast("dict[str, object]", value)


def _refused(constant: str) -> float:
    raise ValueError(constant)


def _typed(name: str, value: object, kind: type) -> object:
    if type(value) is not kind:
        raise RemoteProtocolError(
            f"expected {kind.__name__} as {name} of INFO, got {type(value).__name__}"
        )
    if isinstance(value, int) and not 0 <= value <= _UINT64:
        raise RemoteProtocolError(
            f"expected an unsigned 64-bit number as {name} of INFO, got another"
        )
    return value


def _urls(value: object) -> tuple[str, ...]:
    urls = cast("list[object]", value) if isinstance(value, list) else [None]
    texts = tuple(url for url in urls if isinstance(url, str))
    if len(texts) != len(urls):
        raise RemoteProtocolError("expected a list of texts as connect_urls of INFO, got another")
    return texts
