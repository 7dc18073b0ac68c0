"""Error classes for JetStream statuses and for silence: one for each case a user acts upon.

The table in `jsproto.jetstream.status` assigns a class to each status.
"""

from __future__ import annotations

from jsproto.errors.tree import LocalProtocolError, ServerError, StatusError


class AlreadySettled(LocalProtocolError):
    """The user settled a message again, and its feed is strict. The client sent nothing."""


class ConsumerDeleted(StatusError):
    """The consumer or its stream was deleted while a pull waited (409)."""


class ConsumerIsPush(StatusError):
    """A pull on a push consumer: it has a deliver subject (409)."""


class BadRequestStatus(StatusError):
    """The server rejects the request (400, and 408 of a direct get).

    The text says why; it differs between server versions.
    """


class HigherApiLevelRequired(StatusError):
    """The request requires a higher API level than the server has (412)."""


class PullLimitExceeded(StatusError):
    """The request exceeds a limit of the consumer, or too many pulls wait (409 Exceeded ...).

    Attributes:
        limit: the limit in the server's text (messages, bytes or seconds), ``None`` if it has
            none.
    """

    def __init__(
        self, code: int, description: str, message: str = "", limit: float | None = None
    ) -> None:
        super().__init__(code, description, message)
        self.limit = limit


class NextMessageTooLarge(StatusError):
    """The next message alone is larger than the ``max_bytes`` of the request (409)."""


class LeadershipChanged(StatusError):
    """The consumer has a new leader, which does not know the waiting pulls (409)."""


class ServerShutdown(StatusError):
    """The server that leads the consumer shuts down; the link then ends (409)."""


class PinLost(StatusError):
    """The server has pinned another client (423)."""


class DirectGetFoundNothing(StatusError):
    """A direct get found no message (404)."""


class TooManyResults(StatusError):
    """A direct get would return more than the server allows (413)."""


class SnapshotBroken(StatusError):
    """The server ended a snapshot early; the part that arrived is unusable."""


class PublishDropped(StatusError):
    """The server dropped a publish, because its inbound queue was full (429); try again."""


class UnknownStatus(StatusError):
    """A status unknown to this version; a code of 400 or more ends the operation."""


class HeartbeatsMissed(ServerError, TimeoutError):
    """The server promised heartbeats and was silent for longer than allowed (ADR-37)."""


class BatchAbandoned(ServerError, TimeoutError):
    """The server dropped an atomic batch after a pause of its publisher; it stored none of it.

    ADR-50 sets the longest pause.
    """


class MessagesLost(ServerError):
    """The server did not store some messages of a fast batch (ADR-50).

    They did not reach the stream, or they came after the end of the batch.
    """


class DataLost(ServerError):
    """Messages of a range are gone: the stream removed them before the client read them.

    Attributes:
        stream: the stream.
        first: the first sequence that may be lost.
        until: the first sequence after the loss.
    """

    def __init__(self, message: str, stream: str = "", first: int = 0, until: int = 0) -> None:
        super().__init__(message)
        self.stream = stream
        self.first = first
        self.until = until


class StreamRecreated(ServerError):
    """The stream was deleted and created again: its sequences now mean other messages.

    Attributes:
        stream: the stream.
        expected: creation time of the stream that the user meant.
        seen: creation time of the stream that exists now.
    """

    def __init__(self, message: str, stream: str = "", expected: str = "", seen: str = "") -> None:
        super().__init__(message)
        self.stream = stream
        self.expected = expected
        self.seen = seen


class ReadStalled(ServerError, TimeoutError):
    """A range read made no progress within its time limit.

    Attributes:
        stream: the stream.
        position: the last sequence that the client received.
    """

    def __init__(self, message: str, stream: str = "", position: int = 0) -> None:
        super().__init__(message)
        self.stream = stream
        self.position = position


class DirectUnavailable(ServerError):
    """The stream does not allow direct gets, or its server can't batch them (before 2.11)."""
