"""All errors of the package, in one tree ordered by the party at fault.

The base class of an error says which party caused it:

    JsprotoError
    ├── LocalProtocolError      the caller: nothing was sent, nothing changed
    │   ├── InvalidSubject  InvalidHeader  InvalidConfig  PayloadTooLarge
    │   ├── InvalidCredentials  CredentialsUnavailable
    │   ├── InvalidContext (an InvalidConfig)  ContextUnavailable
    │   └── ConversationClosed  OutboundFull  WindowFull  BusyConversation
    ├── RemoteProtocolError     the server: it violated the grammar or sent an invalid response
    │   └── InvalidResponse
    ├── LinkError               the connection between them: also a ConnectionError
    │   ├── ConnectionLost  ConnectionClosed  ConnectFailed  StaleConnection
    │   ├── TlsFailed  TlsUnavailable
    │   └── WebSocketFailed
    └── ServerError             the server: it understood the request and refused it
        ├── AuthorizationFailed
        ├── PermissionViolation
        │   └── SubscriptionLimit
        ├── NoResponders  RequestTimeout (also a TimeoutError)
        ├── ApiError            an answer of the JetStream API: code, err_code and description
        │   └── one class for each kind of answer that a client handles
        └── StatusError         a status frame that ended an operation
            └── ConsumerDeleted  ConsumerIsPush  BadRequestStatus  PullLimitExceeded  NextMessageTooLarge ...

A message says what was expected and what was seen, shortened. It never shows a credential or a
whole payload.
"""

from __future__ import annotations

from typing import Final

_SHOWN: Final = 80
_TOLD: Final = 1000


def shorten(seen: object, limit: int = _SHOWN) -> str:
    """Return the ``repr`` of a value, cut to ``limit`` characters for an error message."""
    text = repr(seen[: limit + 1] if isinstance(seen, (str, bytes, bytearray)) else seen)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def cut(text: str, limit: int = _TOLD) -> str:
    """Return a text of the server, cut to ``limit`` characters: its length is untrusted."""
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


class JsprotoError(Exception):
    """Base of every error that jsproto raises on purpose. Each can be pickled and copied."""

    def __reduce__(self) -> tuple[object, ...]:
        return (revived, (type(self), self.args, dict(self.__dict__)))


def revived(
    kind: type[JsprotoError], args: tuple[object, ...], attributes: dict[str, object]
) -> JsprotoError:
    """Rebuild an error from its parts, without calling its constructor."""
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(attributes)
    return error


# ------------------------------------------------------------------------------------ the caller


class LocalProtocolError(JsprotoError):
    """The caller asked for something that is not allowed; nothing was sent, nothing changed."""


class InvalidSubject(LocalProtocolError, ValueError):
    """The protocol cannot carry this subject, queue, stream, consumer or prefix (ADR-6)."""


class InvalidHeader(LocalProtocolError, ValueError):
    """A header name or value would break the header block (ADR-4)."""


class InvalidConfig(LocalProtocolError, ValueError):
    """Options or a configuration cannot work; they are refused before anything is sent."""


class InvalidCredentials(LocalProtocolError, ValueError):
    """A key, seed, JWT or creds text is damaged or of the wrong kind.

    The message shows nothing of it.
    """


class CredentialsUnavailable(LocalProtocolError):
    """Credentials cannot be loaded.

    Either a file cannot be read, and the message names its path; or no library that signs is
    installed.
    """


class InvalidContext(InvalidConfig):
    """A nats context (ADR-21) is damaged or cannot work, or its name is invalid.

    The message shows no secret.
    """


class ContextUnavailable(LocalProtocolError):
    """A nats context cannot be loaded.

    There is none of this name, none is selected, or something that it refers to is missing.
    """


class PayloadTooLarge(LocalProtocolError, ValueError):
    """Header block and payload together exceed the ``max_payload`` of the newest INFO."""


class ConversationClosed(LocalProtocolError):
    """A verb was used on a conversation or connection that is not open.

    If an error ended it, the message includes that error, and ``__cause__`` holds it.
    """

    def __init__(self, message: str, reason: JsprotoError | None = None) -> None:
        super().__init__(message if reason is None else f"{message}: {reason}")
        if reason is not None:
            self.__cause__ = reason


class BusyConversation(LocalProtocolError):
    """A second ``take`` or ``put`` was called on a conversation while the first still waits."""


class OutboundFull(LocalProtocolError):
    """The outbound buffer is above its limit, so the command was not written.

    A message that the command would have acked is still open.
    """


class WindowFull(LocalProtocolError):
    """A publish window had no room within ``stall_wait``, so the message was not sent.

    Messages that were sent before are not affected.

    Attributes:
        pending: number of messages sent and not yet acknowledged.
        pending_bytes: their bytes.
        waited: seconds since the first refused offer.
    """

    def __init__(
        self, message: str, pending: int = 0, pending_bytes: int = 0, waited: float = 0.0
    ) -> None:
        super().__init__(message)
        self.pending = pending
        self.pending_bytes = pending_bytes
        self.waited = waited


# ------------------------------------------------------------------------------------ the server's
# fault


class RemoteProtocolError(JsprotoError):
    """The server violated the grammar of the protocol; the connection that carried it is over."""


class InvalidResponse(RemoteProtocolError):
    """An answer lacks required members, or does not fit the request."""


# ------------------------------------------------------------------------------------ the
# connection


class LinkError(JsprotoError, ConnectionError):
    """The byte stream to the server failed or ended."""


class ConnectionLost(LinkError):
    """The connection was lost during the operation; the server may or may not have acted on it."""


class ConnectionClosed(LinkError):
    """The connection was closed for good; nothing more is sent or received."""


class ConnectFailed(LinkError):
    """No server of the pool was reachable and accepted the client."""


class StaleConnection(LinkError):
    """No bytes arrived for so long that the client regards the connection as dead."""


class TlsUnavailable(LinkError):
    """The client wants TLS and the server offers none, or the adapter cannot do TLS."""


class TlsFailed(LinkError):
    """The TLS handshake failed.

    The certificate is not accepted, the parties have no common version or cipher, or the stream
    ended in the middle.
    """


class WebSocketFailed(LinkError):
    """The WebSocket failed.

    The server did not accept the upgrade, or the data violates RFC 6455, or carries no NATS
    protocol.
    """


# ------------------------------------------------------------------------------------ the server
# refuses


class ServerError(JsprotoError):
    """The server understood the request and refused it.

    This is also the class of ``-ERR`` lines that have no class of their own.
    """


class AuthorizationFailed(ServerError):
    """Credentials are missing, wrong, expired or revoked."""


class PermissionViolation(ServerError):
    """The user may not publish to or subscribe to this subject.

    Attributes:
        subject: the subject that the server quoted.
        operation: ``publish`` or ``subscription``; empty if the server named neither.
        queue: the queue group that was refused on that subject, or empty.
        sid: the subscription id, if the server names it. Then the server ended a subscription that
            existed, because permissions changed.
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
        """Tell whether this error refuses the subscription with these names.

        Other subscriptions on the same subject may be allowed, with another queue group or none.
        """
        if self.operation != "subscription" or self.subject != subject:
            return False
        return self.sid == sid if self.sid else self.queue == queue


class SubscriptionLimit(PermissionViolation):
    """The connection has too many subscriptions (``max_subscriptions``); this one was refused."""


class NoResponders(ServerError):
    """No client subscribes to the subject of the request (status 503)."""

    def __init__(self, message: str, subject: str = "") -> None:
        super().__init__(message)
        self.subject = subject


class RequestTimeout(ServerError, TimeoutError):
    """No answer arrived within the given time.

    If a publish was sent, it is unknown whether the server stored it.

    Attributes:
        sent: whether the request was sent. It is false if there was no connection all the time.
    """

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent


class ApiError(ServerError):
    """The JetStream API answered with an error.

    Attributes:
        code: a code like that of HTTP; 0 when the server sent none.
        err_code: the server's own number (``errors.json``); 0 when it sent none.
        description: the server's text, at most 1,000 characters. It differs between versions, so
            decide by ``err_code``.
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
    """A status frame ended an operation.

    ``code`` and ``description`` are those of the frame, the latter cut to 1,000 characters.
    """

    def __init__(self, code: int, description: str, message: str = "") -> None:
        description = cut(description)
        super().__init__(
            cut(message, 2 * _TOLD) or f"server answered with status {code} {description}".rstrip()
        )
        self.code = code
        self.description = description
