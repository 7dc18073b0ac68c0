"""Understand a ``-ERR`` of the server: its effect on the link, and its typed error.

The texts are the server's (`server/errors.go`, `server/client.go`). They are compared without case
by their beginning, because newer servers append details. A text that is not in the table is
reported as an event. If the server then closes the connection, the text becomes the reason.
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
    """The effect of a ``-ERR`` on the link."""

    #: It stays open; only the command that caused the text was refused.
    STAYS = "STAYS"
    #: The server ends it; the client dials again.
    ENDS = "ENDS"
    #: The server does not accept these credentials.
    LOCKED_OUT = "LOCKED_OUT"
    #: The credentials have expired; the client dials again with new ones.
    RENEW = "RENEW"
    #: The text is not in the table.
    UNKNOWN = "UNKNOWN"


_FULL: Final = "maximum subscriptions exceeded"
#: (beginning of the text, in lower case; effect on the link; error class). The first match counts.
ROWS: Final[tuple[tuple[str, LinkEffect, type[JsprotoError]], ...]] = (
    ("permissions violation", LinkEffect.STAYS, PermissionViolation),
    ("invalid subject", LinkEffect.STAYS, ServerError),
    ("invalid publish subject", LinkEffect.STAYS, ServerError),
    (_FULL, LinkEffect.STAYS, ServerError),
    ("authorization violation", LinkEffect.LOCKED_OUT, AuthorizationFailed),
    # The client was too slow, which does not mean that its credentials are wrong.
    ("authentication timeout", LinkEffect.ENDS, AuthorizationFailed),
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

#: The server quotes texts as Go does (``%q``).
_TEXT: Final = r'"((?:[^"\\]|\\.)*)"'
_KIND: Final = re.compile("publish|subscription", re.IGNORECASE)
#: Matched at the first quote. A search for the word and the quote in one expression would scan the
#: rest of the text again for each such word.
_QUOTED: Final = re.compile(
    rf"{_TEXT}(?: using queue {_TEXT})?(?: \(sid {_TEXT}\))?", re.IGNORECASE
)
_ESCAPED: Final = re.compile(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|.)", re.DOTALL)
_SHORT: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


@final
@frozen
class ServerErr:
    """A parsed ``-ERR``.

    ``subject`` is the quoted subject, or empty. ``full`` means that the server refuses a
    subscription and does not name it.
    """

    fate: LinkEffect
    error: JsprotoError
    subject: str = ""
    full: bool = False


def refusal(text: str, secrets: Iterable[str] = ()) -> ServerErr:
    """Parse the text of a ``-ERR``; an unknown text is a `ServerError` with fate ``UNKNOWN``.

    ``secrets`` are those that the client sent. They are removed from the error text, but not from
    the text that is compared with the table.
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
    """Undo the quoting of a text."""
    return _ESCAPED.sub(_meant, text)


def _meant(escape: re.Match[str]) -> str:
    said = escape[1]
    return _SHORT.get(said, said) if len(said) == 1 else chr(min(int(said[1:], 16), sys.maxunicode))
