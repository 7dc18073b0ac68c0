"""Names that the line can carry: subjects, filters, queues, names of streams and consumers,
prefixes (ADR-6).

Theory. Every name ends up between blanks in a control line that ends with CR LF, so one control
character in it would be another command. All checks refuse blanks, control characters and text that
UTF-8 cannot carry, and then what the server would drop without a word (``PUB a..b`` vanishes) or
take for something else (``PUB orders.*`` is delivered literally).

A ``*`` or ``>`` is a wildcard only as a whole token, as in the server (sublist.go
``isValidSubject``): ``a*b`` is text.

Every check answers the name itself, so that it reads as a filter where the name is used, or raises
:class:`~jsproto.errors.tree.InvalidSubject`, which says what was expected and what was seen.
"""

from __future__ import annotations

import re
from typing import Final

from jsproto.errors.tree import InvalidSubject, shorten

#: What no name may hold: controls, blank and DEL, and surrogates, which UTF-8 cannot carry.
_BAD: Final = r"\x00-\x20\x7f\ud800-\udfff"
_TEXT: Final = rf"[^{_BAD}.]+"
_LITERAL: Final = rf"(?![*>](?:\.|\Z)){_TEXT}"

_TOKEN: Final = re.compile(rf"[^{_BAD}]+").fullmatch
_PUBLISH: Final = re.compile(rf"(?:{_LITERAL}\.)*{_LITERAL}").fullmatch
_SUBSCRIBE: Final = re.compile(rf"(?:(?!>\.){_TEXT}\.)*{_TEXT}").fullmatch
#: JetStream names become files and tokens of API subjects (server/stream.go ``isValidName``;
#: JSMaxNameLen).
_NAME: Final = re.compile(rf"[^{_BAD}.*>/\\]+").fullmatch
_MAX_NAME: Final = 255

#: Subjects that passed :func:`publish_subject`: a publisher uses few, and looking up is 4 x faster
#: than matching.
_passed: Final[dict[str, None]] = {}
_MAX_PASSED: Final = 1024


def publish_subject(subject: str) -> str:
    """A subject to publish to: tokens without wildcards."""
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
    """A subject to answer to. Like :func:`publish_subject`, without its memory: inboxes are used
    once.
    """
    if not isinstance(subject, str) or _PUBLISH(subject) is None:
        raise _refused(
            "a reply subject of non-empty tokens without wildcard, blank or control character",
            subject,
        )
    return subject


def subscription_subject(subject: str) -> str:
    """A subject to listen on: ``*`` stands for one token, ``>`` at the end for one or more."""
    if not isinstance(subject, str) or _SUBSCRIBE(subject) is None:
        raise _refused(
            "a subject of non-empty tokens, > only as the last, without blank or control character",
            subject,
        )
    return subject


def queue_name(queue: str) -> str:
    """The name of a queue group: any text without blank or control character."""
    return _token(queue, "queue name")


def sid_token(sid: str) -> str:
    """A subscription id: any text without blank or control character."""
    return _token(sid, "sid")


def stream_name(name: str) -> str:
    """The name of a stream."""
    return _name(name, "stream")


def consumer_name(name: str) -> str:
    """The name of a consumer."""
    return _name(name, "consumer")


def unbroken(text: str, what: str) -> str:
    """Any text that could stand in a line, for names that travel in a document and that the server
    judges itself.
    """
    return _token(text, what)


def subject_prefix(prefix: str) -> str:
    """A prefix of API or inbox subjects: a literal subject, without the dot that will follow it."""
    if not isinstance(prefix, str) or _PUBLISH(prefix) is None:
        raise _refused(
            "a prefix of non-empty tokens without wildcard, blank, control character or last dot",
            prefix,
        )
    return prefix


def subject_matches(pattern: str, subject: str) -> bool:
    """Whether a message on ``subject`` reaches a subscription on ``pattern``; both are taken as
    valid.
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
            f"a {what} name of 1 to {_MAX_NAME} bytes without . * > / \\, blank or control character",
            text,
        )
    return text


def _refused(expected: str, seen: object) -> InvalidSubject:
    return InvalidSubject(f"expected {expected}, got {shorten(seen)}")
