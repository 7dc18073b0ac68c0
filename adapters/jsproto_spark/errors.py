"""What goes wrong between Spark and a stream, said in one line that names the stream and the option
to look at.

Theory. Spark shows the text of an exception and where it was raised, so whatever must be known
stands in the text. An error of the core says what was expected and seen; `named` puts in front of
it whose stream it was, and which option has to do with it, by the table. Nothing that comes from an
option that may hold a secret is ever quoted: there is no such option, secrets come by file or by
the name of a variable.
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
    """An option that does not exist, has a value of the wrong form, does not go with another, or
    does nothing here.
    """


class InvalidColumns(InvalidConfig):
    """A schema that cannot be read or written: a column that there is not, or one of another type."""


class Unreadable(JsprotoError):
    """A stream that cannot be read or written as the options say; the text names the option."""


class StreamTailLost(JsprotoError):
    """The stream ends before what was read or planned, so its next sequences will mean other
    messages (``failOnDataLoss``).
    """


class ChangedQuery(InvalidConfig):
    """A query is restarted with options that change what its offsets mean (``allowOptionChange``)."""


_Class = type[JsprotoError]

#: Which option has to do with an error of the core; the first row whose class fits counts.
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

#: These name their stream and option already.
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
    """What is raised inside is `named`, and what caused it is not shown: its text stands in the one
    line.
    """
    try:
        yield
    except JsprotoError as error:
        raise named(error, stream, option) from None


def vanished(stream: str, lo: int, first: int) -> DataLost:
    """Messages are gone before they were read."""
    return DataLost(
        f"stream {stream!r}, see option failOnDataLoss: expected messages from sequence {lo} on, the first that is left is {first}: "
        "they were removed before they were read, by a limit, a purge or one by one, which the server does not tell apart there; "
        "startingOffsets earliest begins with what is left",
        stream,
        lo,
        first,
    )


def recreated(stream: str, expected: str, seen: str) -> StreamRecreated:
    """The stream is another one of the same name."""
    return StreamRecreated(
        f"stream {stream!r}, see option failOnDataLoss: expected the stream that was made at {expected}, got one made at {seen}: "
        "its sequences mean other messages",
        stream,
        expected,
        seen,
    )


def shrunk(stream: str, seq: int, last: int) -> StreamTailLost:
    """The stream ends before what was read or planned."""
    return StreamTailLost(
        f"stream {stream!r}, see option failOnDataLoss: expected a last sequence of at least {seq - 1}, which was seen before, got {last}: "
        "the server has lost the end of the stream"
    )
