"""Check names for control lines: subjects, queues, streams, consumers, prefixes (ADR-6).

Theory. Every name stands between blanks in a control line that ends with CR LF. A control character
in a name could therefore begin another command. All checks refuse blanks, control characters and
text that cannot be encoded as UTF-8. They also refuse a name that the server would drop silently
(``PUB a..b``) or would understand differently (``PUB orders.*`` is delivered literally).

A ``*`` or ``>`` is a wildcard only as a whole token, as in the server (sublist.go
``isValidSubject``): ``a*b`` is plain text.

Every check returns the name itself, so that a caller can check a name where it uses it. A failed
check raises :class:`~jsproto.errors.tree.InvalidSubject`. Its message has the form "expected X, got
Y".
"""

from __future__ import annotations

import re
from typing import Final

from jsproto.errors.tree import InvalidSubject, shorten

#: Characters that no name may hold: controls, blank, DEL, and surrogates, which are not UTF-8.
_BAD: Final = r"\x00-\x20\x7f\ud800-\udfff"
_TEXT: Final = rf"[^{_BAD}.]+"
_LITERAL: Final = rf"(?![*>](?:\.|\Z)){_TEXT}"

_TOKEN: Final = re.compile(rf"[^{_BAD}]+").fullmatch
_PUBLISH: Final = re.compile(rf"(?:{_LITERAL}\.)*{_LITERAL}").fullmatch
_SUBSCRIBE: Final = re.compile(rf"(?:(?!>\.){_TEXT}\.)*{_TEXT}").fullmatch
#: JetStream names become file names and tokens of API subjects (server/stream.go ``isValidName``;
#: JSMaxNameLen).
_NAME: Final = re.compile(rf"[^{_BAD}.*>/\\]+").fullmatch
_MAX_NAME: Final = 255

#: Subjects that passed :func:`publish_subject`. A publisher uses few subjects, and a look-up is
#: four times as fast as a match.
_passed: Final[dict[str, None]] = {}
_MAX_PASSED: Final = 1024


def publish_subject(subject: str) -> str:
    """Check a subject to publish to: tokens without wildcards."""
    if subject in _passed:
        return subject
    if not isinstance(subject, str) or _PUBLISH(subject) is None:
        raise _refused(
            "a subject of non-empty tokens without wildcard, blank or control character", subject
        )
    if len(_passed) >= _MAX_PASSED:
        _passed.clear()
    _passed[subject] = None
    return subject


def reply_subject(subject: str) -> str:
    """Check a subject for replies.

    The rule is that of :func:`publish_subject`, but the result is not cached, because an inbox is
    used once.
    """
    if not isinstance(subject, str) or _PUBLISH(subject) is None:
        raise _refused(
            "a reply subject of non-empty tokens without wildcard, blank or control character",
            subject,
        )
    return subject


def subscription_subject(subject: str) -> str:
    """Check a subject to subscribe to: ``*`` is one token, ``>`` at the end one or more."""
    if not isinstance(subject, str) or _SUBSCRIBE(subject) is None:
        raise _refused(
            "a subject of non-empty tokens, > only as the last, without blank or control character",
            subject,
        )
    return subject


def queue_name(queue: str) -> str:
    """Check the name of a queue group: any text without blank or control character."""
    return _token(queue, "queue name")


def sid_token(sid: str) -> str:
    """Check a subscription id: any text without blank or control character."""
    return _token(sid, "sid")


def stream_name(name: str) -> str:
    """Check the name of a stream."""
    return _name(name, "stream")


def consumer_name(name: str) -> str:
    """Check the name of a consumer."""
    return _name(name, "consumer")


def unbroken(text: str, what: str) -> str:
    """Check that a text could stand in a control line; ``what`` names it in the error.

    It is for names that are sent in JSON and that the server checks itself.
    """
    return _token(text, what)


def subject_prefix(prefix: str) -> str:
    """Check a prefix of API or inbox subjects: a literal subject without the dot after it."""
    if not isinstance(prefix, str) or _PUBLISH(prefix) is None:
        raise _refused(
            "a prefix of non-empty tokens without wildcard, blank, control character or last dot",
            prefix,
        )
    return prefix


def subject_matches(pattern: str, subject: str) -> bool:
    """Tell whether a message on ``subject`` reaches a subscription on ``pattern``.

    Both must be valid.
    """
    wanted, seen = pattern.split("."), subject.split(".")
    if wanted[-1] == ">":
        wanted.pop()
        if len(seen) <= len(wanted):
            return False
    elif len(seen) != len(wanted):
        return False
    return all(token in {"*", other} for token, other in zip(wanted, seen, strict=False))


def _token(text: str, what: str) -> str:
    if not isinstance(text, str) or _TOKEN(text) is None:
        raise _refused(f"a {what} without blank or control character", text)
    return text


def _name(text: str, what: str) -> str:
    if not isinstance(text, str) or _NAME(text) is None or len(text.encode()) > _MAX_NAME:
        raise _refused(
            f"a {what} name of 1 to {_MAX_NAME} bytes"
            " without . * > / \\, blank or control character",
            text,
        )
    return text


def _refused(expected: str, seen: object) -> InvalidSubject:
    return InvalidSubject(f"expected {expected}, got {shorten(seen)}")
