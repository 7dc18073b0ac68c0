"""The events of a connection: a closed union, drained with ``next_event``.

Four events are work for the adapter: dial, upgrade to TLS, hang up, and find credentials. The
others report what happened. The state of the connection already agrees with an event when it comes
out.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias, final

from attrs import define, field, frozen

from jsproto.core.connection.server_pool import Server
from jsproto.core.conversation.conversation import Conversation
from jsproto.errors.tree import JsprotoError
from jsproto.wire.frames import Info
from jsproto.wire.secret import as_secret


class NoticeKind(Enum):
    """The subject of a `Notice` of the connection; conversations have their own kinds."""

    #: An attempt to connect failed; the detail is the error. The next attempt is scheduled.
    ATTEMPT_FAILED = "ATTEMPT_FAILED"
    #: A ``-ERR`` of the server that does not end the link by itself; the detail is the typed error.
    SERVER_ERROR = "SERVER_ERROR"
    #: The server announced new servers, or some are gone; the detail is a `PoolChange`.
    POOL_CHANGED = "POOL_CHANGED"
    #: The server announced more servers than the pool accepts; the detail is the number left out.
    POOL_TRUNCATED = "POOL_TRUNCATED"
    #: Frames arrived for a subscription that is gone; the detail is their number.
    UNKNOWN_SID = "UNKNOWN_SID"
    #: A subscription dropped messages by its own policy; the detail is their number.
    SLOW_CONSUMER = "SLOW_CONSUMER"
    #: Bytes were not sent; the detail is an upper bound of their number. Either the transport still
    #: held them when the link ended, or refused them. Or kept publishes will not be sent, because
    #: the connection was closed or because they exceed the limit of the new server.
    UNSENT = "UNSENT"
    #: A command that may be written once was used again, and nothing was sent; the detail is the
    #: `Settleable`.
    REPEATED = "REPEATED"
    #: A drain did not end in time. The drain of the connection was cut; that of one conversation
    #: continued without the server's PONG.
    DRAIN_TIMEOUT = "DRAIN_TIMEOUT"


@final
@frozen
class Dial:
    """Open a byte stream to ``server``, then call ``transport_up`` or ``transport_down``.

    With ``secure``, start TLS first, and call ``transport_up`` only when TLS is up.
    """

    server: Server
    secure: bool = False


@final
@frozen
class Upgrade:
    """Start TLS on the open byte stream, then call ``transport_up`` or ``transport_down``."""

    server: Server


@final
@frozen
class Authenticate:
    """Credentials are needed: call ``authenticate``.

    ``nonce`` is the text that a key signs; it is empty if the server sent none.
    """

    server: Server
    nonce: str = field(converter=as_secret, repr=False)


@final
@frozen
class HangUp:
    """Send the rest of ``data_to_send``, then close the stream; do not call ``transport_down``."""

    reason: str


@final
@frozen
class Connected:
    """The handshake is verified. ``resumed`` is true for a reconnect."""

    info: Info
    resumed: bool


@final
@frozen
class Disconnected:
    """A link that was up is lost."""

    error: JsprotoError


@final
@frozen
class LameDuck:
    """The server will stop serving; the connection moves by itself if another server is known."""

    server: Server


@final
@frozen
class Closed:
    """The connection is over; no event follows. ``error`` is ``None`` if the user closed it."""

    error: JsprotoError | None


@final
@define(
    unsafe_hash=True
)  # one for each run of messages: creating a frozen one costs three times more
class Ready:
    """The waiter of this conversation may continue; ``None``: the outbound buffer has room."""

    conversation: Conversation[object] | None


@final
@frozen
class Notice:
    """Information that ends nothing. ``conversation`` is ``None`` for the connection itself."""

    conversation: Conversation[object] | None
    kind: Enum
    detail: object = None


Event: TypeAlias = (
    Dial
    | Upgrade
    | Authenticate
    | HangUp
    | Connected
    | Disconnected
    | LameDuck
    | Closed
    | Ready
    | Notice
)
