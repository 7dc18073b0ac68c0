"""What a batch or an ingest is given to send: the same forms as a window takes, as plain data."""

from __future__ import annotations

from typing import TypeAlias, cast

from jsproto.errors import LocalProtocolError
from jsproto.wire.commands import Publish
from jsproto.wire.headers import Headers
from jsproto.wire.subjects import publish_subject

#: Subject, payload and header block of a message that waits to be sent.
Outgoing: TypeAlias = tuple[str, bytes, bytes | None]


def outgoing(item: object) -> tuple[str, bytes, Headers | None]:
    """The message that was offered: a `Publish` without a reply, ``(subject, payload)`` or ``(subject, payload, headers)``.

    Raises:
        InvalidSubject: the subject can't be published to.
        LocalProtocolError: it is no message, or names a reply.
    """
    match item:
        case Publish(reply="", subject=subject, payload=payload, headers=headers):
            return publish_subject(subject), payload, headers
        case Publish():
            raise LocalProtocolError("expected a publish without a reply: the acknowledgement needs it")
        case (str() as subject, bytes() as payload) | (str() as subject, bytes() as payload, None):
            return publish_subject(subject), payload, None
        case (str() as subject, bytes() as payload, Headers() as headers):
            return publish_subject(subject), payload, headers
        case _:
            parts = cast("tuple[object, ...]", item) if isinstance(item, tuple) else (item,)
            seen = ", ".join(type(each).__name__ for each in parts)
            raise LocalProtocolError(
                f"expected a Publish, (subject, payload) or (subject, payload, headers), seen ({seen})"
            )
