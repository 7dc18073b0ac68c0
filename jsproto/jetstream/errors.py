"""What a status frame means as an error, and what silence means: one class for each thing that a
client acts upon.

Which status becomes which class is a column of the table in `jsproto.jetstream.status`, nowhere
else.
"""

from __future__ import annotations

from jsproto.errors import LocalProtocolError, ServerError, StatusError


class AlreadySettled(LocalProtocolError):
    """A message was settled a second time, and its feed is strict about that. Nothing was sent."""


class ConsumerDeleted(StatusError):
    """The consumer, or its stream, was deleted while a pull waited (409)."""


class ConsumerIsPush(StatusError):
    """A pull on a consumer that has a deliver subject (409)."""


class BadRequest(StatusError):
    """The server does not accept the request (400, and 408 of a direct get); the text says why, it
    differs by version.
    """


class ApiLevelRefused(StatusError):
    """The request asks for an API level above the server's (412)."""


class LimitExceeded(StatusError):
    """The request is above a limit of the consumer, or too many pulls wait (409 Exceeded ...).

    Attributes:
        limit: the limit as the server said it: messages, bytes or seconds; ``None`` if it said
            none.
    """

    def __init__(
        self, code: int, description: str, message: str = "", limit: float | None = None
    ) -> None:
        super().__init__(code, description, message)
        self.limit = limit


class MessageTooLarge(StatusError):
    """The next message alone is larger than the ``max_bytes`` of the whole request (409)."""


class LeadershipChanged(StatusError):
    """The consumer has a new leader, which knows nothing of the pulls that waited (409)."""


class ServerShutdown(StatusError):
    """The server that holds the consumer stops; the end of the link follows (409)."""


class PinLost(StatusError):
    """Another client is the pinned one now (423)."""


class NothingFound(StatusError):
    """A direct get has no answer to give (404)."""


class TooManyResults(StatusError):
    """A direct get would give more than the server allows (413)."""


class SnapshotBroken(StatusError):
    """A snapshot ended before its end: what came of it is worth nothing."""


class PublishDropped(StatusError):
    """The server dropped a publish because its inbound queue was full (429); send it again later."""


class UnknownStatus(StatusError):
    """A status that this version does not know; from code 400 on it is taken for an end."""


class HeartbeatsMissed(ServerError, TimeoutError):
    """The server had promised heartbeats and was silent for longer than it may be (ADR-37)."""


class BatchAbandoned(ServerError, TimeoutError):
    """An atomic batch had a pause that is longer than the server's patience: nothing of it is
    stored (ADR-50).
    """


class MessagesLost(ServerError):
    """Messages of a fast batch that are not stored: they never came to the stream, or behind the
    end of the batch (ADR-50).
    """


class DataLost(ServerError):
    """Messages that a range should have had are gone: the stream's beginning moved beyond them
    before they were read.

    Attributes:
        stream: the stream.
        first: the first sequence that may be lost.
        until: the first that is not.
    """

    def __init__(self, message: str, stream: str = "", first: int = 0, until: int = 0) -> None:
        super().__init__(message)
        self.stream = stream
        self.first = first
        self.until = until


class StreamRecreated(ServerError):
    """The stream is another one of the same name: its sequences mean other messages.

    Attributes:
        stream: the stream.
        expected: when the one that was meant was created.
        seen: when the one that is there was.
    """

    def __init__(self, message: str, stream: str = "", expected: str = "", seen: str = "") -> None:
        super().__init__(message)
        self.stream = stream
        self.expected = expected
        self.seen = seen


class ReadStalled(ServerError, TimeoutError):
    """Reading a range made no progress for longer than its patience.

    Attributes:
        stream: the stream.
        position: the last sequence that was received.
    """

    def __init__(self, message: str, stream: str = "", position: int = 0) -> None:
        super().__init__(message)
        self.stream = stream
        self.position = position


class DirectUnavailable(ServerError):
    """A stream does not allow direct gets, or its server is too old to answer them in batches
    (2.11).
    """
