"""The encoder: commands in, bytes out; what would not be exactly one frame is refused.

Theory. Every name and header of a command is checked before a byte exists, and every size is
counted on the bytes that are written, so no input of a user can end its line early or begin another
one. There is one way around the checks, :func:`encode_pub_trusted`, for names that the parser has
read off the line (acks) or that were checked when they were made (inboxes).

The server takes at most 4096 bytes of arguments in a control line, by default, and closes the link
of whoever sends more (server/const.go MAX_CONTROL_LINE_SIZE): longer lines are refused here.
CONNECT alone is not judged, since the server's limit is not known before and credentials cannot be
made shorter.
"""

from __future__ import annotations

import json
from typing import Final, assert_never, cast

from jsproto.errors.tree import (
    InvalidConfig,
    InvalidSubject,
    LocalProtocolError,
    PayloadTooLarge,
    shorten,
)
from jsproto.wire.commands import Command, Connect, Ping, Pong, Publish, Sub, Unsub
from jsproto.wire.headers import EMPTY_BLOCK, Headers
from jsproto.wire.secret import fits_utf8
from jsproto.wire.subjects import (
    publish_subject,
    queue_name,
    reply_subject,
    sid_token,
    subscription_subject,
)

PING: Final = b"PING\r\n"
PONG: Final = b"PONG\r\n"
_CRLF: Final = b"\r\n"

#: The longest of our operations is ``HPUB``, so no line within this bound has more than 4096 bytes
#: of arguments.
_MAX_LINE: Final = 4096 + len("PUB \r\n")

#: Members of CONNECT in the order in which they are written: (name on the wire, attribute).
_CONNECT: Final = (
    ("verbose", "verbose"),
    ("pedantic", "pedantic"),
    ("tls_required", "tls_required"),
    ("name", "name"),
    ("lang", "lang"),
    ("version", "version"),
    ("protocol", "protocol"),
    ("echo", "echo"),
    ("user", "user"),
    ("pass", "password"),
    ("auth_token", "auth_token"),
    ("jwt", "jwt"),
    ("nkey", "nkey"),
    ("sig", "sig"),
)


def encode(command: Command, *, max_payload: int | None = None) -> bytes:
    """The bytes of one command.

    Args:
        command: what to say.
        max_payload: most bytes of header block and payload together, from the newest INFO; ``None``
            is no limit.

    Raises:
        InvalidSubject: a subject, queue or sid that the line cannot carry.
        PayloadTooLarge: header block and payload exceed ``max_payload``.
        InvalidConfig: CONNECT holds text that UTF-8 cannot carry.
        LocalProtocolError: a payload that is no bytes and no text, a negative limit.
    """
    match command:
        case Publish(subject, payload, reply, headers):
            return encode_publish(subject, payload, reply, headers, max_payload=max_payload)
        case Sub(subject, sid, queue):
            return encode_sub(subject, sid, queue)
        case Unsub(sid, limit):
            return encode_unsub(sid, limit)
        case Ping():
            return PING
        case Pong():
            return PONG
        case Connect():
            return encode_connect(command)
        case _:
            assert_never(command)


def encode_publish(
    subject: str,
    payload: bytes | bytearray | memoryview | str = b"",
    reply: str = "",
    headers: Headers | None = None,
    *,
    max_payload: int | None = None,
    checked: bool = False,
) -> bytes:
    """PUB, or HPUB if the headers say anything. Raises as :func:`encode` does.

    Args:
        subject: where to.
        payload: what; text goes out as UTF-8.
        reply: where answers go.
        headers: what stands before the payload.
        max_payload: most bytes of headers and payload; ``None`` is no limit.
        checked: the reply is an inbox of ours, which was checked when it was made.
    """
    publish_subject(subject)
    if reply and not checked:
        reply_subject(reply)
    if not isinstance(payload, bytes):
        payload = payload_bytes(payload)
    total = len(payload)
    block = b""
    if headers is not None:
        block = headers.encode()
        if block == EMPTY_BLOCK:
            block = b""
        total += len(block)
    if max_payload is not None and total > max_payload:
        raise PayloadTooLarge(
            f"expected at most {max_payload} bytes of headers and payload, got {total} on subject {shorten(subject)}"
        )
    if not block:
        line = (
            f"PUB {subject} {reply} {total}\r\n".encode()
            if reply
            else f"PUB {subject} {total}\r\n".encode()
        )
    elif reply:
        line = f"HPUB {subject} {reply} {len(block)} {total}\r\n".encode()
    else:
        line = f"HPUB {subject} {len(block)} {total}\r\n".encode()
    if len(line) > _MAX_LINE:
        raise _too_long(line)
    return line + block + payload + _CRLF


def encode_pub_trusted(subject: str, reply: str, payload: bytes) -> bytes:
    """PUB of names that the parser gave or that were checked before; ``reply`` may be ``""``.
    Checks nothing.
    """
    line = (
        f"PUB {subject} {reply} {len(payload)}\r\n"
        if reply
        else f"PUB {subject} {len(payload)}\r\n"
    )
    try:
        return b"%b%b\r\n" % (line.encode(), payload)
    except UnicodeEncodeError:  # a name that is no UTF-8 goes back as it came
        return b"%b%b\r\n" % (line.encode("utf-8", "surrogateescape"), payload)


def encode_sub(subject: str, sid: str, queue: str = "") -> bytes:
    """SUB. Raises InvalidSubject."""
    subscription_subject(subject)
    middle = f" {queue_name(queue)}" if queue else ""
    line = f"SUB {subject}{middle} {sid_token(sid)}\r\n".encode()
    if len(line) > _MAX_LINE:
        raise _too_long(line)
    return line


def encode_unsub(sid: str, limit: int = 0) -> bytes:
    """UNSUB, at once or behind ``limit`` messages since the SUB. Raises InvalidSubject and
    LocalProtocolError.
    """
    sid_token(sid)
    if not isinstance(limit, int) or limit < 0:
        raise LocalProtocolError(f"expected a limit of 0 or more messages, got {shorten(limit)}")
    line = f"UNSUB {sid} {limit:d}\r\n".encode() if limit else f"UNSUB {sid}\r\n".encode()
    if len(line) > _MAX_LINE:
        raise _too_long(line)
    return line


def encode_connect(command: Connect) -> bytes:
    """CONNECT with every member that is set, all credentials together (B172), headers and
    no_responders on.
    """
    members: dict[str, object] = {"headers": True, "no_responders": True}
    for wire_name, name in _CONNECT:
        value: object = getattr(command, name)
        if value is not None:
            members[wire_name] = value
    broken = [wire_name for wire_name, value in members.items() if not fits_utf8(str(value))]
    if broken:
        raise InvalidConfig(
            f"expected text that UTF-8 can carry in CONNECT, got other in {', '.join(broken)}"
        )
    return f"CONNECT {json.dumps(members, ensure_ascii=False, separators=(',', ':'))}\r\n".encode()


def payload_bytes(payload: object) -> bytes:
    """The bytes of a payload that a user gave: text goes out as UTF-8.

    Raises:
        LocalProtocolError: it is no bytes and no text, or text that UTF-8 cannot carry.
    """
    if isinstance(payload, str):
        try:
            return payload.encode()
        except UnicodeEncodeError as error:
            at = error.start
        raise LocalProtocolError(
            f"expected bytes or text that UTF-8 can carry as payload, got a lone surrogate at character {at}"
        )
    if isinstance(payload, (bytes, bytearray, memoryview)):
        return bytes(cast("bytes", payload))
    raise LocalProtocolError(f"expected bytes or text as payload, got {type(payload).__name__}")


def _too_long(line: bytes) -> InvalidSubject:
    return InvalidSubject(
        f"expected names that fit a control line of {_MAX_LINE} bytes, got {len(line)} bytes"
    )
