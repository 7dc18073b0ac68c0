"""The names of classes in recordings.

A recording names the class of each conversation and of each error. Recordings outlive the code, so
these names are frozen: when a class gets a better name, the recording keeps the old one. The table
lists the classes whose two names differ. Where two classes of errors became one, the number of the
server's error says which of the two names a recording has.
"""

from __future__ import annotations

from typing import Final

from jsproto.jetstream.api.errors import JetStreamError

#: Name of the class in the code -> name in recordings.
WRITTEN: Final = {
    "BadRequestStatus": "BadRequest",
    "CannotServe": "Unavailable",
    "ConfigurationRefused": "InvalidConfiguration",
    "ConnectionLost": "Disconnected",
    "DirectGetFoundNothing": "NothingFound",
    "FetchOne": "Next",
    "HigherApiLevelRequired": "ApiLevelRefused",
    "MessageTooLargeToStore": "MessageSizeExceeded",
    "NextMessageTooLarge": "MessageTooLarge",
    "NotAllowed": "Refused",
    "PullLimitExceeded": "LimitExceeded",
    "ResourceLimitReached": "LimitReached",
}
#: ``err_code`` -> name in recordings, of errors whose class is one with another since.
MERGED: Final = {10043: "SequenceNotFound", 10149: "ConsumerDoesNotExist"}


def written_name(kind: type[object]) -> str:
    """Name of a class in recordings."""
    return WRITTEN.get(kind.__name__, kind.__name__)


def written_error(error: Exception) -> str:
    """The name of an error's class in recordings."""
    code = error.err_code if isinstance(error, JetStreamError) else 0
    return MERGED.get(code, written_name(type(error)))
