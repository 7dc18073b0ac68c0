"""Errors of the data source: one line that names the stream and the option to check.

Theory. Spark shows the text of an exception and its place. So the text must contain everything. An
error of the core says what was expected and what was seen. `named` adds the stream and, by the
table, the option. No error quotes a secret: options never contain secrets, only names of files and
variables.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from jsproto.errors import (
    AuthorizationFailed,
    ConnectFailed,
    CredentialsUnavailable,
    InvalidConfig,
    InvalidCredentials,
    JsprotoError,
    NoResponders,
    PermissionViolation,
    RequestTimeout,
    TlsFailed,
    TlsUnavailable,
    WindowFull,
)
from jsproto.jetstream.api.errors import (
    ConsumerNotFound,
    JetStreamNotEnabled,
    StreamNotFound,
    WrongStream,
)
from jsproto.jetstream.errors import DataLost, DirectUnavailable, ReadStalled, StreamRecreated


class InvalidOption(InvalidConfig):
    """An option is unknown, invalid, conflicts with another, or has no effect here."""


class InvalidColumns(InvalidConfig):
    """A schema that cannot be read or written: an unknown column, or one of another type."""


class Unreadable(JsprotoError):
    """A stream that cannot be read or written as the options say; the text names the option."""


class StreamTailLost(JsprotoError):
    """The stream ends before what was read or planned (``failOnDataLoss``).

    Its next sequences will mean other messages.
    """


class ChangedQuery(InvalidConfig):
    """A query restarts with options that give its offsets another meaning.

    The option ``allowOptionChange`` allows this.
    """


_Class = type[JsprotoError]

#: The option for each error of the core; the first row whose class fits counts.
OPTION_OF: Final[tuple[tuple[_Class, str], ...]] = (
    (StreamNotFound, "stream"),
    (DataLost, "failOnDataLoss"),
    (StreamRecreated, "failOnDataLoss"),
    (DirectUnavailable, "readMode"),
    (ReadStalled, "readDeadline"),
    (WrongStream, "stream"),
    (ConsumerNotFound, "cursor"),
    (JetStreamNotEnabled, "servers, domain, apiPrefix"),
    (CredentialsUnavailable, "credentialsFile, nkeySeedFile"),
    (InvalidCredentials, "credentialsFile, credentialsEnv, nkeySeedFile"),
    (
        AuthorizationFailed,
        "credentialsFile, credentialsEnv, nkeySeedFile, user, passwordEnv, tokenEnv",
    ),
    (PermissionViolation, "user, credentialsFile, inboxPrefix"),
    (TlsFailed, "tlsCaFile, tlsCertFile, tlsKeyFile, tlsFirst"),
    (TlsUnavailable, "servers, tlsFirst"),
    (ConnectFailed, "servers"),
    (NoResponders, "servers, domain, apiPrefix"),
    (RequestTimeout, "requestTimeout"),
    (WindowFull, "stallWait"),
)

#: These already name their stream and option.
_NAMED: Final = (InvalidOption, InvalidColumns, Unreadable, StreamTailLost, ChangedQuery)


def named(error: JsprotoError, stream: str, option: str = "") -> JsprotoError:
    """The same error as one line that names stream and option."""
    if isinstance(error, _NAMED):
        return error
    option = option or next((name for kind, name in OPTION_OF if isinstance(error, kind)), "")
    text = " ".join(str(error).split())
    look = f", see option {option}" if option else ""
    return Unreadable(f"stream {stream!r}{look}: {type(error).__name__}: {text}")


@contextmanager
def naming(stream: str, option: str = "") -> Generator[None]:
    """Convert errors raised inside by `named`.

    The cause is not shown, because its text is in the one line.
    """
    try:
        yield
    except JsprotoError as error:
        raise named(error, stream, option) from None


def vanished(stream: str, lo: int, first: int) -> DataLost:
    """The error for messages that are gone before they were read."""
    return DataLost(
        f"stream {stream!r}, see option failOnDataLoss: expected messages from sequence {lo} on, "
        f"got {first} as the first that is left: they were removed before they were read, by a "
        "limit, "
        "a purge or single deletes; the server does not tell which. startingOffsets earliest "
        "begins "
        "with what is left",
        stream,
        lo,
        first,
    )


def recreated(stream: str, expected: str, seen: str) -> StreamRecreated:
    """The error for a stream that was deleted and created again."""
    return StreamRecreated(
        f"stream {stream!r}, see option failOnDataLoss: expected the stream created at {expected}, "
        f"got one created at {seen}: its sequences mean other messages",
        stream,
        expected,
        seen,
    )


def shrunk(stream: str, seq: int, last: int) -> StreamTailLost:
    """The error for a stream that ends before what was read or planned."""
    return StreamTailLost(
        f"stream {stream!r}, see option failOnDataLoss: expected a last sequence of at least "
        f"{seq - 1}, which was seen before, got {last}: the server has lost the end of the stream"
    )
