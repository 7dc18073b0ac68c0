"""Read the items that a window, a batch or an ingest accepts."""

from __future__ import annotations

from typing import TypeAlias, cast

from jsproto.errors.tree import LocalProtocolError
from jsproto.wire.commands import Publish
from jsproto.wire.encoder import payload_bytes
from jsproto.wire.headers import Headers
from jsproto.wire.subjects import publish_subject

#: Subject, payload and header block of a message that waits to be sent.
Outgoing: TypeAlias = tuple[str, bytes, bytes | None]

#: The items that a window, a batch or an ingest accepts.
ToPublish: TypeAlias = Publish | tuple[str, bytes | str] | tuple[str, bytes | str, Headers | None]


def outgoing(item: object) -> tuple[str, bytes, Headers | None]:
    """Return the message in an item, after checking its subject.

    Raises:
        InvalidSubject: the subject cannot be published to.
        LocalProtocolError: as in `unpacked`.
    """
    subject, payload, headers = unpacked(item)
    return publish_subject(subject), payload, headers


def unpacked(item: object) -> tuple[str, bytes, Headers | None]:
    """Return the message in an item: a `Publish` or ``(subject, payload[, headers])``.

    A text payload becomes UTF-8. A window reads each message here; class patterns would be easier
    to read and cost five times as much.

    Raises:
        LocalProtocolError: the item is no message, has a reply, or its text cannot be encoded as
            UTF-8.
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
