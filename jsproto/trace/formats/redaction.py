"""Decides which bytes a trace keeps: never credentials, and user data only as configured.

Theory. Bytes of one direction go in as they were read or written, and text for a trace comes out,
frame by frame. A frame is redacted as a whole, so it comes out with the bytes that complete it.

- CONNECT always loses every possible secret, and so does the signature of the nonce.
- Payloads and header values that belong to the protocol stay, because the judge needs them:
  requests to ``$JS.``, acks, answers of the API, headers that begin with ``Nats-``, status lines.
- Other payloads and values are kept, or replaced by their length, or by length and digest, as
  `Keep` says. ``NONE`` also hides the subject of a user's message.

With ``FULL``, server bytes stay as they came, with the cuts of the reads. Bytes that break the
grammar are always replaced by their length (`jsproto.trace.formats.framing`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from enum import Enum
from hashlib import sha256
from typing import Final, cast

from jsproto.trace.formats.format import escaped, hidden
from jsproto.trace.formats.framing import MESSAGES, SIZE, TOKENS, Framer, Piece
from jsproto.wire.secret import SecretBytes, without

REDACTED: Final = "[redacted]"


class Keep(Enum):
    """How much of the users' data a trace keeps."""

    #: Lengths only, without the subjects of user messages.
    NONE = "NONE"
    #: Lengths and subjects.
    LENGTH = "LENGTH"
    #: Lengths, subjects, and digests that show which payloads are equal.
    HASH = "HASH"
    #: Everything but credentials.
    FULL = "FULL"


#: CONNECT members that may be written; every other member, known or not, is a secret.
_TOLD: Final = frozenset({
    "verbose", "pedantic", "tls_required", "lang", "version", "protocol", "echo", "headers",
    "no_responders", "name",
})  # fmt: skip
_DIGITS: Final = 16
_BLOCKS: Final = frozenset({b"HMSG", b"HPUB"})
#: Answers of the API and of streams, except those that hold a stored message.
_ANSWER: Final = re.compile(
    rb'\s*\{\s*"(?:type"\s*:\s*"io\.nats\.jetstream\.api\.v1\.(?!stream_msg_get_response)'
    rb'|stream"|error")'
).match


class Redactor:
    """Redacts one direction of one link.

    Args:
        keep: how much of the users' data is kept.
        secrets: secrets of the link. Both directions share them, because CONNECT brings them and a
            ``-ERR`` may repeat them.
    """

    __slots__ = ("_framer", "_keep", "secrets")

    def __init__(self, keep: Keep = Keep.LENGTH, secrets: set[bytes] | None = None) -> None:
        self._keep = keep
        self._framer = Framer()
        self.secrets: set[bytes] = set() if secrets is None else secrets

    def feed(self, data: bytes) -> list[str]:
        """Return the frames that these bytes complete, each as text of the format."""
        texts: list[str] = []
        for piece in self._framer.feed(data):
            line = piece[0].lstrip(b" \t")[:7].upper()
            if line == b"CONNECT":
                self.secrets.update(_secrets(piece[0]))
            text = shown(piece, self._keep)
            texts.append(silenced(text, self.secrets) if line.startswith(b"-ERR") else text)
        return texts

    def rest(self) -> int:
        """Forget the unfinished frame at the end of a link, and return its number of bytes."""
        return self._framer.rest()


def silenced(text: str, secrets: Iterable[bytes]) -> str:
    """Hide secrets that a peer may have repeated in this text."""
    sizes = {escaped(each): len(each) for each in secrets}
    return without(text, sizes, lambda each: hidden(sizes[each]))


def _secrets(line: bytes) -> set[bytes]:
    """Collect the secrets of a CONNECT."""
    members = _members(line) or {}
    return {
        SecretBytes(item.encode(errors="replace"))
        for name, item in members.items()
        if name not in {*_TOLD, "user", "nkey"} and isinstance(item, str) and item
    }


def shown(piece: Piece, keep: Keep) -> str:
    """Write one frame as text of the format, without what must not be kept."""
    line, body = piece
    if not line:
        return hidden(len(body))
    words = TOKENS.split(line.strip(b" \t\r\n"))
    operation = words[0].upper()
    if operation.startswith(
        b"CONNECT"
    ):  # the server requires no blank after CONNECT (parser.go OP_CONNECT)
        return _connect(line)
    if operation not in MESSAGES:
        return escaped(line)
    if keep is Keep.FULL:
        return escaped(line + body)
    subject = words[1]
    block = int(words[-2]) if operation in _BLOCKS and SIZE(words[-2]) else 0
    payload = body[block:-2]
    own = subject.startswith((b"$JS.", b"$SYS.")) or (
        operation in {b"MSG", b"HMSG"} and _ANSWER(payload) is not None
    )
    shown = escaped(payload) if own else _hidden(payload, keep)
    head = escaped(line)
    if keep is Keep.NONE and not own and not subject.startswith((b"$", b"_INBOX.")):
        head = head.replace(escaped(subject), hidden(len(subject)), 1)
    return head + _block(body[:block], keep) + shown + escaped(body[-2:])


def _block(block: bytes, keep: Keep) -> str:
    """Write a header block: its status, its names, and the values of ``Nats-`` headers."""
    lines = block.split(b"\n")
    shown: list[str] = []
    for number, line in enumerate(lines):
        name, colon, value = line.partition(b":")
        text = value.rstrip(b"\r")
        if number == 0 or not colon or name.startswith(b"Nats-"):
            shown.append(escaped(line) if number == 0 or colon else _odd(line))
        else:
            shown.append(escaped(name + colon) + _hidden(text, keep) + escaped(value[len(text) :]))
    return "\\n".join(shown)


def _hidden(data: bytes, keep: Keep) -> str:
    digest = sha256(data).hexdigest()[:_DIGITS] if keep is Keep.HASH and data else ""
    return hidden(len(data), digest)


def _odd(line: bytes) -> str:
    """Hide a header line without a colon, and keep its end."""
    text = line.rstrip(b"\r")
    return hidden(len(text)) + escaped(line[len(text) :])


def _connect(line: bytes) -> str:
    """Write CONNECT without its secrets; a body that is not a JSON object is hidden as a whole."""
    members = _members(line)
    if members is None:
        return (
            "CONNECT " + hidden(max(1, len(line.strip()) - 8)) + escaped(line[len(line.rstrip()) :])
        )
    told = {name: item if name in _TOLD else REDACTED for name, item in members.items()}
    return "CONNECT " + escaped(json.dumps(told, separators=(",", ":")).encode()) + "\\r\\n"


def _members(line: bytes) -> dict[str, object] | None:
    try:
        value: object = json.loads(line.strip()[7:])
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, object]", value) if isinstance(value, dict) else None
