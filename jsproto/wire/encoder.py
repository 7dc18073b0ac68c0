"""Encode commands as bytes; refuse input that would not become exactly one frame.

Theory. The encoder checks every name and header of a command before any byte exists. It counts
sizes on the bytes that are written. Therefore no input of a user can end its line early or begin
another command. Only :func:`encode_pub_trusted` skips the checks. It is for names that the parser
read (the reply subject of an ack) or that were checked when they were created (inboxes).

By default the server accepts at most 4096 bytes of arguments in a control line and closes the
connection of a client that sends more (server/const.go MAX_CONTROL_LINE_SIZE). The encoder refuses
longer lines. CONNECT is exempt: its client does not know the server's limit yet, and credentials
cannot be shortened.
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

#: Longest control line. The longest operation is ``HPUB``, so a line within this limit never has
#: more than 4096 bytes of arguments.
_MAX_LINE: Final = 4096 + len("PUB \r\n")

#: Fields of CONNECT in the order in which they are written: (name on the wire, attribute).
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
    """Return the bytes of one command.

    Args:
        command: the command to encode.
        max_payload: most bytes of header block and payload together, from the newest INFO; ``None``
            means no limit.

    Raises:
        InvalidSubject: a subject, queue or sid cannot stand in a control line.
        PayloadTooLarge: header block and payload exceed ``max_payload``.
        InvalidConfig: CONNECT holds text that cannot be encoded as UTF-8.
        LocalProtocolError: the payload is neither bytes nor text, or a limit is negative.
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
    """Return the bytes of PUB, or of HPUB if there are headers.

    It raises the same errors as :func:`encode`.

    Args:
        subject: the subject to publish to.
        payload: the payload; text is sent as UTF-8.
        reply: the subject for replies, or ``""``.
        headers: the headers of the message.
        max_payload: most bytes of headers and payload together; ``None`` means no limit.
        checked: the reply is an inbox of this client, which was checked when it was created.
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
            f"expected at most {max_payload} bytes of headers and payload, got {total}"
            f" on subject {shorten(subject)}"
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
    """Return the bytes of a PUB without checking any name.

    It is for names that the parser read or that were checked before. ``reply`` may be ``""``.
    """
    line = (
        f"PUB {subject} {reply} {len(payload)}\r\n"
        if reply
        else f"PUB {subject} {len(payload)}\r\n"
    )
    try:
        return b"%b%b\r\n" % (line.encode(), payload)
    except UnicodeEncodeError:  # a name that is not UTF-8 is sent back as the bytes that arrived
        return b"%b%b\r\n" % (line.encode("utf-8", "surrogateescape"), payload)


def encode_sub(subject: str, sid: str, queue: str = "") -> bytes:
    """Return the bytes of SUB. Raises InvalidSubject."""
    subscription_subject(subject)
    middle = f" {queue_name(queue)}" if queue else ""
    line = f"SUB {subject}{middle} {sid_token(sid)}\r\n".encode()
    if len(line) > _MAX_LINE:
        raise _too_long(line)
    return line


def encode_unsub(sid: str, limit: int = 0) -> bytes:
    """Return the bytes of UNSUB; ``limit`` counts messages since the SUB, 0 means at once.

    Raises:
        InvalidSubject: the sid cannot stand in a control line.
        LocalProtocolError: ``limit`` is not an integer of 0 or more.
    """
    sid_token(sid)
    if not isinstance(limit, int) or limit < 0:
        raise LocalProtocolError(f"expected a limit of 0 or more messages, got {shorten(limit)}")
    line = f"UNSUB {sid} {limit:d}\r\n".encode() if limit else f"UNSUB {sid}\r\n".encode()
    if len(line) > _MAX_LINE:
        raise _too_long(line)
    return line


def encode_connect(command: Connect) -> bytes:
    """Return the bytes of CONNECT.

    It writes every field that is set, all credentials together, and ``headers`` and
    ``no_responders`` as true.

    Raises:
        InvalidConfig: a field holds text that cannot be encoded as UTF-8.
    """
    members: dict[str, object] = {"headers": True, "no_responders": True}
    for wire_name, name in _CONNECT:
        value: object = getattr(command, name)
        if value is not None:
            members[wire_name] = value
    broken = [wire_name for wire_name, value in members.items() if not fits_utf8(str(value))]
    if broken:
        raise InvalidConfig(
            f"expected text that UTF-8 can carry in CONNECT, got other text in {', '.join(broken)}"
        )
    return f"CONNECT {json.dumps(members, ensure_ascii=False, separators=(',', ':'))}\r\n".encode()


def payload_bytes(payload: object) -> bytes:
    """Return the bytes of a payload; text is encoded as UTF-8.

    Raises:
        LocalProtocolError: the payload is neither bytes nor text, or is text that cannot be encoded
            as UTF-8.
    """
    if isinstance(payload, str):
        try:
            return payload.encode()
        except UnicodeEncodeError as error:
            at = error.start
        raise LocalProtocolError(
            "expected bytes or text that UTF-8 can carry as payload,"
            f" got a lone surrogate at character {at}"
        )
    if isinstance(payload, (bytes, bytearray, memoryview)):
        return bytes(cast("bytes", payload))
    raise LocalProtocolError(f"expected bytes or text as payload, got {type(payload).__name__}")


def _too_long(line: bytes) -> InvalidSubject:
    return InvalidSubject(
        f"expected names that fit a control line of {_MAX_LINE} bytes, got {len(line)} bytes"
    )
