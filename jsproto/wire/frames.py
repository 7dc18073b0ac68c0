"""The frames that a server sends: the types that the parser returns.

A message is the only frame that arrives in large numbers. Therefore it is a plain tuple, which
Python builds in 33 ns; a frozen attrs class takes 490 ns. Each other frame has a class of its own.

    Delivery = (sid, subject, reply, block, payload)

``sid`` is the text that the client chose. ``reply`` is ``""`` when the frame has none. ``block`` is
the whole header block including its last empty line, or ``None`` for MSG. The parser does not parse
header blocks; code that needs a header parses the block later.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, TypeAlias, final

from attrs import field, frozen

#: ``(sid, subject, reply, header block or None, payload)`` of one MSG or HMSG.
Delivery: TypeAlias = tuple[str, str, str, bytes | None, bytes]

#: Positions in a :data:`Delivery`, for code that reads one field without unpacking.
SID: Final = 0
SUBJECT: Final = 1
REPLY: Final = 2
BLOCK: Final = 3
PAYLOAD: Final = 4


class Control(Enum):
    """Frames without arguments."""

    PING = "PING"
    PONG = "PONG"
    OK = "OK"


@final
@frozen(kw_only=True)
class Info:
    """The server's INFO. A field that the server left out has the protocol's default.

    ``raw`` keeps every member of the JSON, also those that this version does not know.
    """

    server_id: str = ""
    server_name: str = ""
    version: str = ""
    proto: int = 0
    host: str = ""
    port: int = 0
    headers: bool = False
    jetstream: bool = False
    max_payload: int = 1_048_576
    client_id: int = 0
    client_ip: str = ""
    auth_required: bool = False
    tls_required: bool = False
    tls_available: bool = False
    tls_verify: bool = False
    nonce: str = ""
    cluster: str = ""
    domain: str = ""
    connect_urls: tuple[str, ...] = ()
    lame_duck: bool = False
    connect_info: bool = False
    api_level: int = 0
    raw: dict[str, object] = field(factory=dict, repr=False, eq=False)


@final
@frozen
class Err:
    """A ``-ERR`` line; ``text`` has no quotes around it."""

    text: str


Frame: TypeAlias = Delivery | Info | Err | Control
