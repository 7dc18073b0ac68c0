"""What of the bytes may be kept: credentials never, what users wrote only if that was asked for.

Theory. Bytes of one direction go in as they were read or written, text for a trace comes out, frame
by frame: a frame is looked at as a whole, so it comes out with the bytes that complete it. Then

- CONNECT loses every secret it may hold, whatever was asked for, and so does the signature over the
  nonce;
- payloads and values of headers stay if they are the protocol's own (requests to ``$JS.``, acks,
  answers of the API, headers that begin with ``Nats-``, the status line), because without them
  nothing can be judged;
- all others are kept, replaced by their length, or by length and digest, as `Keep` says. ``NONE``
  leaves out the message's subject too, where it is not the protocol's.

With ``FULL``, bytes from the server are given out as they came, cut as they were. Bytes that make
no sense are never given out but as their length (`jsproto.trace.formats.framing`).
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
    """What is kept of that which users wrote."""

    #: Lengths only, and no subjects of user messages.
    NONE = "NONE"
    #: Lengths and subjects.
    LENGTH = "LENGTH"
    #: Lengths, subjects, and digests by which equal payloads are found.
    HASH = "HASH"
    #: Everything but credentials.
    FULL = "FULL"


#: CONNECT members that may be told; anything else, known or not, is a secret.
_TOLD: Final = frozenset({
    "verbose", "pedantic", "tls_required", "lang", "version", "protocol", "echo", "headers", "no_responders", "name",
})  # fmt: skip
_DIGITS: Final = 16
_BLOCKS: Final = frozenset({b"HMSG", b"HPUB"})
#: Answers of the API and of streams, but for those that hold a stored message.
_ANSWER: Final = re.compile(
    rb'\s*\{\s*"(?:type"\s*:\s*"io\.nats\.jetstream\.api\.v1\.(?!stream_msg_get_response)|stream"|error")'
).match


class Redactor:
    """One direction of one link.

    Args:
        keep: what is kept of that which users wrote.
        secrets: those of the link, which both directions share: CONNECT brings them, and a ``-ERR``
            may echo them.
    """

    __slots__ = ("_framer", "_keep", "secrets")

    def __init__(self, keep: Keep = Keep.LENGTH, secrets: set[bytes] | None = None) -> None:
        self._keep = keep
        self._framer = Framer()
        self.secrets: set[bytes] = set() if secrets is None else secrets

    def feed(self, data: bytes) -> list[str]:
        """The frames that these bytes complete, as text of the format, one each."""
        texts: list[str] = []
        for piece in self._framer.feed(data):
            line = piece[0].lstrip(b" \t")[:7].upper()
            if line == b"CONNECT":
                self.secrets.update(_secrets(piece[0]))
            text = shown(piece, self._keep)
            texts.append(silenced(text, self.secrets) if line.startswith(b"-ERR") else text)
        return texts

    def rest(self) -> int:
        """Bytes left at the end of a link: of a frame that never became whole."""
        return self._framer.rest()


def silenced(text: str, secrets: Iterable[bytes]) -> str:
    """Text of the format in which a peer may have echoed a secret."""
    sizes = {escaped(each): len(each) for each in secrets}
    return without(text, sizes, lambda each: hidden(sizes[each]))


def _secrets(line: bytes) -> set[bytes]:
    """What a CONNECT holds that may not be told."""
    members = _members(line) or {}
    return {
        SecretBytes(item.encode(errors="replace"))
        for name, item in members.items()
        if name not in {*_TOLD, "user", "nkey"} and isinstance(item, str) and item
    }


def shown(piece: Piece, keep: Keep) -> str:
    """One frame as text of the format, without what must not be kept."""
    line, body = piece
    if not line:
        return hidden(len(body))
    words = TOKENS.split(line.strip(b" \t\r\n"))
    operation = words[0].upper()
    if operation.startswith(
        b"CONNECT"
    ):  # the server asks for no blank behind it (parser.go OP_CONNECT)
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
    """A header block: its status, its names, and the values that are the protocol's own."""
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
    """A header line without a colon: only its end is kept."""
    text = line.rstrip(b"\r")
    return hidden(len(text)) + escaped(line[len(text) :])


def _connect(line: bytes) -> str:
    """CONNECT without its secrets; one that is no JSON object may hold anything, anywhere."""
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
