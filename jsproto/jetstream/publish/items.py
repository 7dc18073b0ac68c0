"""What a window, a batch or an ingest is given to send: the forms that they take, read in one
place.
"""

from __future__ import annotations

from typing import TypeAlias, cast

from jsproto.errors.tree import LocalProtocolError
from jsproto.wire.commands import Publish
from jsproto.wire.encoder import payload_bytes
from jsproto.wire.headers import Headers
from jsproto.wire.subjects import publish_subject

#: Subject, payload and header block of a message that waits to be sent.
Outgoing: TypeAlias = tuple[str, bytes, bytes | None]

#: What a window, a batch or an ingest takes.
ToPublish: TypeAlias = Publish | tuple[str, bytes | str] | tuple[str, bytes | str, Headers | None]


def outgoing(item: object) -> tuple[str, bytes, Headers | None]:
    """The message that was offered, on a subject that can be published to.

    Raises:
        InvalidSubject: the subject can't be published to.
        LocalProtocolError: as `unpacked` says.
    """
    subject, payload, headers = unpacked(item)
    return publish_subject(subject), payload, headers


def unpacked(item: object) -> tuple[str, bytes, Headers | None]:
    """The message that was offered: a `Publish` without a reply, ``(subject, payload)`` or
    ``(subject, payload, headers)``.

    A payload that is text becomes UTF-8.

    A window reads each message here: class patterns would read better and cost five times as much.

    Raises:
        LocalProtocolError: it is no message, names a reply, or has text that UTF-8 cannot carry.
    """
    headers: object = None
    if isinstance(item, tuple):
        parts = cast("tuple[object, ...]", item)
    elif isinstance(item, Publish):
        if item.reply:
            raise LocalProtocolError(
                "expected a publish without a reply: the acknowledgement needs it"
            )
        body = item.payload
        return item.subject, body if isinstance(body, bytes) else payload_bytes(body), item.headers
    else:
        parts = (item,)
    if len(parts) == 2:
        subject, payload = parts
    elif len(parts) == 3:
        subject, payload, headers = parts
    else:
        subject = payload = None
    if isinstance(subject, str) and (headers is None or isinstance(headers, Headers)):
        if isinstance(payload, bytes):
            return subject, payload, headers
        if isinstance(payload, (str, bytearray, memoryview)):
            return subject, payload_bytes(cast("object", payload)), headers
    seen = ", ".join(type(each).__name__ for each in parts)
    raise LocalProtocolError(
        f"expected a Publish, (subject, payload) or (subject, payload, headers), got ({seen})"
    )
