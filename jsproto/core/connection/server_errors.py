"""What a ``-ERR`` of the server means: for the link, for the credentials, and as a typed error.

The texts are the server's (`server/errors.go`, `server/client.go`); they are matched without case
by how they begin, because newer servers append details. What is not in the table is reported and
follows the fate of the link: if the server hangs up behind it, it is the reason.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from enum import Enum
from typing import Final, final

from attrs import frozen

from jsproto.errors.tree import (
    AuthorizationFailed,
    JsprotoError,
    PermissionViolation,
    ServerError,
    StaleConnection,
    shorten,
)
from jsproto.wire.secret import without


class LinkEffect(Enum):
    """What happens to the link."""

    #: It stays open; only the command that caused the text was refused.
    STAYS = "STAYS"
    #: The server ends it: dial again.
    ENDS = "ENDS"
    #: The server does not let us in with these credentials.
    LOCKED_OUT = "LOCKED_OUT"
    #: The credentials ran out: dial again with fresh ones.
    RENEW = "RENEW"
    #: Not in the table.
    UNKNOWN = "UNKNOWN"


_FULL: Final = "maximum subscriptions exceeded"
#: (how the text begins, in lower case; what follows for the link; the error). First match counts.
ROWS: Final[tuple[tuple[str, LinkEffect, type[JsprotoError]], ...]] = (
    ("permissions violation", LinkEffect.STAYS, PermissionViolation),
    ("invalid subject", LinkEffect.STAYS, ServerError),
    ("invalid publish subject", LinkEffect.STAYS, ServerError),
    (_FULL, LinkEffect.STAYS, ServerError),
    ("authorization violation", LinkEffect.LOCKED_OUT, AuthorizationFailed),
    (
        "authentication timeout",
        LinkEffect.ENDS,
        AuthorizationFailed,
    ),  # we were slow, which says nothing of the credentials
    ("user authentication expired", LinkEffect.RENEW, AuthorizationFailed),
    ("user authentication revoked", LinkEffect.RENEW, AuthorizationFailed),
    ("account authentication expired", LinkEffect.RENEW, AuthorizationFailed),
    ("authentication expired", LinkEffect.RENEW, AuthorizationFailed),
    ("authentication revoked", LinkEffect.RENEW, AuthorizationFailed),
    ("stale connection", LinkEffect.ENDS, StaleConnection),
    ("slow consumer", LinkEffect.ENDS, ServerError),
    ("maximum connections exceeded", LinkEffect.ENDS, ServerError),
    ("maximum account active connections exceeded", LinkEffect.ENDS, ServerError),
    ("maximum payload violation", LinkEffect.ENDS, ServerError),
    ("maximum control line exceeded", LinkEffect.ENDS, ServerError),
    ("unknown protocol operation", LinkEffect.ENDS, ServerError),
    ("parser error", LinkEffect.ENDS, ServerError),
    ("invalid client protocol", LinkEffect.ENDS, ServerError),
    ("no responders requires headers support", LinkEffect.ENDS, ServerError),
    ("secure connection - tls required", LinkEffect.ENDS, ServerError),
    ("failed account registration", LinkEffect.ENDS, ServerError),
    ("connection throttling is active", LinkEffect.ENDS, ServerError),
    ("server shutdown", LinkEffect.ENDS, ServerError),
)

#: What the server quotes is quoted as Go does it (``%q``).
_TEXT: Final = r'"((?:[^"\\]|\\.)*)"'
_KIND: Final = re.compile("publish|subscription", re.IGNORECASE)
#: From the first quote on. A search for the word and the quote together would read the rest of the
#: text again for each such word.
_QUOTED: Final = re.compile(
    rf"{_TEXT}(?: using queue {_TEXT})?(?: \(sid {_TEXT}\))?", re.IGNORECASE
)
_ESCAPED: Final = re.compile(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|.)", re.DOTALL)
_SHORT: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


@final
@frozen
class ServerErr:
    """A ``-ERR`` understood. ``subject`` is what it quotes, empty if nothing; ``full``: it refuses
    a subscription and names none.
    """

    fate: LinkEffect
    error: JsprotoError
    subject: str = ""
    full: bool = False


def refusal(text: str, secrets: Iterable[str] = ()) -> ServerErr:
    """Judge the text of a ``-ERR``; total: unknown texts are a `ServerError` with fate ``UNKNOWN``.

    ``secrets`` are what we told the server: a text that echoes one is judged as it came and shown
    without.
    """
    lowered = text.lower()
    row = next(
        (row for row in ROWS if lowered.startswith(row[0])), ("", LinkEffect.UNKNOWN, ServerError)
    )
    _, fate, kind = row
    said = f"server said {shorten(without(text, secrets), 200)}"
    if kind is PermissionViolation:
        at = text.find('"')
        word = _KIND.search(text, 0, max(at, 0))
        quoted = _QUOTED.match(text, at) if word else None
        if word is None or quoted is None:
            return ServerErr(fate, PermissionViolation(said))
        subject, queue, sid = (_unquoted(each or "") for each in quoted.groups())
        return ServerErr(
            fate, PermissionViolation(said, subject, word[0].lower(), queue, sid), subject
        )
    return ServerErr(fate, kind(said), full=row[0] == _FULL)


def _unquoted(text: str) -> str:
    """What stood there before it was quoted."""
    return _ESCAPED.sub(_meant, text)


def _meant(escape: re.Match[str]) -> str:
    said = escape[1]
    return _SHORT.get(said, said) if len(said) == 1 else chr(min(int(said[1:], 16), sys.maxunicode))
