"""What the connection tells: a closed union, drained with ``next_event``.

Four are for the adapter, which knows *how*: dial, upgrade to TLS, hang up, and find credentials.
The others are for everybody and say what happened; by the time an event is out, the observable
state already agrees with it.
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
    """What a `Notice` of the connection is about; conversations add kinds of their own."""

    #: An attempt to connect failed; the detail is the error. The next one is on the agenda.
    ATTEMPT_FAILED = "ATTEMPT_FAILED"
    #: A ``-ERR`` of the server that does not end the link by itself; the detail is the typed error.
    SERVER_ERROR = "SERVER_ERROR"
    #: The server announced others, or some vanished; the detail is a `PoolChange`.
    POOL_CHANGED = "POOL_CHANGED"
    #: The server announced more servers than are taken; the detail is the number left out.
    POOL_TRUNCATED = "POOL_TRUNCATED"
    #: Frames came for a subscription that is gone; the detail is their number.
    UNKNOWN_SID = "UNKNOWN_SID"
    #: Messages were dropped by a subscription's own policy; the detail is their number.
    SLOW_CONSUMER = "SLOW_CONSUMER"
    #: What was written and did not leave: the transport still held it when the link ended, or
    #: refused it; or published messages that were kept will not be sent, because the connection was
    #: closed, or because they are larger than what the server of the new link takes. The detail is
    #: their bytes, at most: of a TCP stream nobody knows more.
    UNSENT = "UNSENT"
    #: What may be written once was asked for again, and nothing was sent; the detail is the
    #: `Settleable`.
    REPEATED = "REPEATED"
    #: A drain did not end within its time: that of the connection was cut, that of one conversation
    #: waited for the server in vain.
    DRAIN_TIMEOUT = "DRAIN_TIMEOUT"


@final
@frozen
class Dial:
    """Open a byte stream to ``server``, then say ``transport_up`` or ``transport_down``.

    ``secure``: put TLS over it first, and say ``transport_up`` only when TLS stands.
    """

    server: Server
    secure: bool = False


@final
@frozen
class Upgrade:
    """Put TLS over the byte stream that is open, then say ``transport_up`` again, or
    ``transport_down``.
    """

    server: Server


@final
@frozen
class Authenticate:
    """Credentials are needed: answer with ``authenticate``. ``nonce`` is what a key would sign,
    empty if none was sent.
    """

    server: Server
    nonce: str = field(converter=as_secret, repr=False)


@final
@frozen
class HangUp:
    """Send what is left in ``data_to_send``, then close the byte stream; no ``transport_down`` is
    expected.
    """

    reason: str


@final
@frozen
class Connected:
    """The handshake is verified. ``resumed`` tells a reconnect from the first time."""

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
    """The server is about to stop serving; the connection moves on by itself if another is known."""

    server: Server


@final
@frozen
class Closed:
    """The connection is over; nothing follows. ``error`` is ``None`` if it was asked for."""

    error: JsprotoError | None


@final
@define(
    unsafe_hash=True
)  # one for each run of messages: a frozen one costs three times as much to make
class Ready:
    """Whoever was told to wait may ask again; ``None`` is the outbound buffer of the connection
    itself.
    """

    conversation: Conversation[object] | None


@final
@frozen
class Notice:
    """Something worth knowing that ends nothing. ``conversation`` is ``None`` for the connection
    itself.
    """

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
