"""One tree of errors, ordered by culprit.

The first question of whoever catches an error is "whose fault is it?", so that is how the tree
branches:

    JsprotoError
    ├── LocalProtocolError      the caller: nothing was sent, nothing changed
    │   ├── InvalidSubject  InvalidHeader  InvalidConfig  PayloadTooLarge
    │   ├── InvalidCredentials  CredentialsUnavailable
    │   ├── InvalidContext (an InvalidConfig)  ContextUnavailable
    │   └── ConversationClosed  OutboundFull  WindowFull  BusyConversation
    ├── RemoteProtocolError     the server: broke the protocol, or gave an answer that means nothing
    │   └── InvalidResponse
    ├── LinkError               the network between: also a ConnectionError
    │   ├── ConnectionLost  ConnectionClosed  ConnectFailed  StaleConnection
    │   └── TlsFailed  TlsUnavailable  WebSocketFailed
    └── ServerError             the server: understood us and refuses
        ├── AuthorizationFailed
        ├── PermissionViolation
        │   └── SubscriptionLimit
        ├── NoResponders  RequestTimeout (also a TimeoutError)
        ├── ApiError            an answer of the JetStream API, with code, err_code and description
        │   └── one class for each kind of answer that a client acts upon
        └── StatusError         a status frame that ended an operation
            └── ConsumerDeleted  ConsumerIsPush  BadRequest  LimitExceeded  MessageTooLarge ...

A message says what was expected and what was seen, shortened; never a credential and never a whole
payload.
"""

from __future__ import annotations

from typing import Final

_SHOWN: Final = 80
_TOLD: Final = 1000


def shorten(seen: object, limit: int = _SHOWN) -> str:
    """``repr`` of what was seen, cut to ``limit`` characters: an error is read by people."""
    text = repr(seen[: limit + 1] if isinstance(seen, (str, bytes, bytearray)) else seen)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def cut(text: str, limit: int = _TOLD) -> str:
    """A text of the peer as it stands, cut to ``limit`` characters: how long it is was the peer's
    choice.
    """
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


class JsprotoError(Exception):
    """Root of everything that jsproto raises on purpose. All of them can be pickled and copied,
    whatever they carry.
    """

    def __reduce__(self) -> tuple[object, ...]:
        return (revived, (type(self), self.args, dict(self.__dict__)))


def revived(
    kind: type[JsprotoError], args: tuple[object, ...], attributes: dict[str, object]
) -> JsprotoError:
    """An error as it was, from its parts, without the arguments that its class was called with."""
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(attributes)
    return error


# ---------------------------------------------------------------------------------------------- the caller


class LocalProtocolError(JsprotoError):
    """The caller asked for something that is not allowed here; nothing was sent and nothing
    changed.
    """


class InvalidSubject(LocalProtocolError, ValueError):
    """A subject, queue, stream, consumer or prefix that the protocol cannot carry (ADR-6)."""


class InvalidHeader(LocalProtocolError, ValueError):
    """A header name or value that would break the header block (ADR-4)."""


class InvalidConfig(LocalProtocolError, ValueError):
    """Options or a configuration that cannot work, refused before anything is sent."""


class InvalidCredentials(LocalProtocolError, ValueError):
    """A key, a seed, a JWT or a creds text that is damaged or of the wrong kind. The message holds
    nothing of it.
    """


class CredentialsUnavailable(LocalProtocolError):
    """Credentials could not be had: a file that cannot be read, its path is named, or nothing
    installed that signs.
    """


class InvalidContext(InvalidConfig):
    """A nats context (ADR-21) that is damaged or cannot work, or a name that none can have. The
    message holds no secret.
    """


class ContextUnavailable(LocalProtocolError):
    """A nats context could not be had: there is none of this name, none is selected, or what it
    refers to is not there.
    """


class PayloadTooLarge(LocalProtocolError, ValueError):
    """Header block and payload together exceed the ``max_payload`` of the newest INFO."""


class ConversationClosed(LocalProtocolError):
    """A verb was used on a conversation or connection that is not open (any more).

    If it did not end because the user wished so, its text says why, and ``__cause__`` is the error
    that ended it.
    """

    def __init__(self, message: str, reason: JsprotoError | None = None) -> None:
        super().__init__(message if reason is None else f"{message}: {reason}")
        if reason is not None:
            self.__cause__ = reason


class BusyConversation(LocalProtocolError):
    """A second ``take`` or ``put`` on one conversation while the first still waits."""


class OutboundFull(LocalProtocolError):
    """The command was not written: the outbound buffer is above its limit. What it settles is open
    again.
    """


class WindowFull(LocalProtocolError):
    """A publish window had no room for its ``stall_wait``; the message was not sent, what is under
    way stays so.

    Attributes:
        pending: messages under way.
        pending_bytes: their bytes.
        waited: seconds since the first offer that was refused.
    """

    def __init__(
        self, message: str, pending: int = 0, pending_bytes: int = 0, waited: float = 0.0
    ) -> None:
        super().__init__(message)
        self.pending = pending
        self.pending_bytes = pending_bytes
        self.waited = waited


# ---------------------------------------------------------------------------------------------- the peer


class RemoteProtocolError(JsprotoError):
    """The peer broke the grammar of the line; the link that carried it is finished."""


class InvalidResponse(RemoteProtocolError):
    """An answer without the members that it needs, or that is not what was asked for."""


# ---------------------------------------------------------------------------------------------- the road


class LinkError(JsprotoError, ConnectionError):
    """The byte stream to the server failed or ended."""


class ConnectionLost(LinkError):
    """The link was lost while the operation was open; whether the server acted on it is unknown."""


class ConnectionClosed(LinkError):
    """The connection was closed for good; nothing will be sent or received any more."""


class ConnectFailed(LinkError):
    """No server of the pool could be reached or would let us in."""


class StaleConnection(LinkError):
    """Nothing came in for so long that the link is taken for dead."""


class TlsUnavailable(LinkError):
    """TLS was wished for and the server offers none, or asked for and the adapter has none."""


class TlsFailed(LinkError):
    """TLS could not be put over the stream: a certificate that is not good here, no common ground,
    or an end in the middle.
    """


class WebSocketFailed(LinkError):
    """There is no WebSocket where one was expected, or what came over it is none of RFC 6455, or no
    bytes of NATS.
    """


# ---------------------------------------------------------------------------------------------- the server


class ServerError(JsprotoError):
    """The server understood and says no: the base of refusals, and the class of ``-ERR`` lines that
    have no own.
    """


class AuthorizationFailed(ServerError):
    """Credentials missing, wrong, expired or revoked."""


class PermissionViolation(ServerError):
    """The account may not publish or subscribe here.

    Attributes:
        subject: the one that the server quoted.
        operation: ``publish`` or ``subscription``; empty if the server said neither.
        queue: the queue group that was refused on that subject, if it was one.
        sid: of the subscription, where the server names it: it ended one that stood, because
            permissions have changed.
    """

    def __init__(
        self, message: str, subject: str = "", operation: str = "", queue: str = "", sid: str = ""
    ) -> None:
        super().__init__(message)
        self.subject = subject
        self.operation = operation
        self.queue = queue
        self.sid = sid

    def bars(self, subject: str, queue: str, sid: str) -> bool:
        """Whether this is the subscription that was refused: others on its subject may stand, with
        another queue group or none.
        """
        if self.operation != "subscription" or self.subject != subject:
            return False
        return self.sid == sid if self.sid else self.queue == queue


class SubscriptionLimit(PermissionViolation):
    """The server takes no more subscriptions of this connection (``max_subscriptions``): this one
    was refused.
    """


class NoResponders(ServerError):
    """Nobody listens on the subject of the request (status 503)."""

    def __init__(self, message: str, subject: str = "") -> None:
        super().__init__(message)
        self.subject = subject


class RequestTimeout(ServerError, TimeoutError):
    """No answer within the time given. For a publish: whether it was stored is unknown, unless
    nothing was sent.

    Attributes:
        sent: whether it was sent; not if there was no link all the time.
    """

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent


class ApiError(ServerError):
    """The JetStream API answered with an error.

    Attributes:
        code: the HTTP-like code, 0 when the server sent none.
        err_code: the server's own number (``errors.json``), 0 when it sent none.
        description: the server's text, at most 1,000 characters of it; it differs between versions,
            act on ``err_code``.
    """

    def __init__(self, code: int, err_code: int, description: str, asked: str = "") -> None:
        about = f" ({asked})" if asked else ""
        description = cut(description)
        super().__init__(
            f"{description or 'no description'} [code {code}, err_code {err_code}]{about}"
        )
        self.code = code
        self.err_code = err_code
        self.description = description
        self.asked = asked


class StatusError(ServerError):
    """A status frame that ended an operation: ``code`` and ``description`` as they were on the
    wire, 1,000 characters at most.
    """

    def __init__(self, code: int, description: str, message: str = "") -> None:
        description = cut(description)
        super().__init__(
            cut(message, 2 * _TOLD) or f"server answered with status {code} {description}".rstrip()
        )
        self.code = code
        self.description = description
