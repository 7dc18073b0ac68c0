"""What the server can say: the closed set of frames that the parser yields.

A message is the one frame that comes by the hundred thousand, so it is a plain tuple, the cheapest
thing Python can build (33 ns against 490 for a frozen attrs class); everything else is rare and has
a class of its own.

    Delivery = (sid, subject, reply, block, payload)

``sid`` stays the text that the client chose; ``reply`` is ``""`` when the frame has none; ``block``
is the whole header block including its last empty line, or ``None`` for MSG. Header blocks are
looked at by whoever wants to know (lazily).
"""

from __future__ import annotations

from enum import Enum
from typing import Final, TypeAlias, final

from attrs import field, frozen

#: ``(sid, subject, reply, header block or None, payload)`` of one MSG or HMSG.
Delivery: TypeAlias = tuple[str, str, str, bytes | None, bytes]

#: Positions in a :data:`Delivery`, for code that must not unpack.
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
    """The server's INFO, typed. Members that it left out have the value that the protocol gives
    them.

    ``raw`` keeps every member as it came, also those that this version does not know.
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
    """A ``-ERR`` line; ``text`` is without its quotes."""

    text: str


Frame: TypeAlias = Delivery | Info | Err | Control
