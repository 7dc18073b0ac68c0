"""Publishes messages that a consumer has given up as dead letters on another subject.

Theory. A stream does not move messages that no client could process. It publishes an advisory with
their position only (``MAX_DELIVERIES``, ``MSG_TERMINATED``). So the client gets the message by its
sequence and publishes it on another subject. It keeps the message's headers and adds others with
the origin and the reason. The message id is made from the position. So the same advisory twice, or
a retry, stores one dead letter (within the duplicate window of the dead letters' stream).

The original message stays in its stream. On a workqueue it stays after its last delivery as well,
until a client deletes it.
"""

from __future__ import annotations

from typing import Final

from jsproto.core.conversation.procedure import Steps
from jsproto.errors.tree import InvalidConfig
from jsproto.jetstream.api.events.advisories import MessageFate
from jsproto.jetstream.api.publishing.options import MSG_ID
from jsproto.jetstream.api.publishing.puback import PubAck
from jsproto.jetstream.api.requests.manage import DEFAULT_TIMEOUT
from jsproto.jetstream.api.requests.messages import MessageSelector, StoredMessage, stored_message
from jsproto.jetstream.api.requests.publish import publish
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.wire.headers import Headers

REASON: Final = "Dead-Letter-Reason"
STREAM: Final = "Dead-Letter-Stream"
CONSUMER: Final = "Dead-Letter-Consumer"
SEQUENCE: Final = "Dead-Letter-Sequence"
SUBJECT: Final = "Dead-Letter-Subject"
DELIVERIES: Final = "Dead-Letter-Deliveries"

#: Headers that the server would obey a second time.
_ORDERS: Final = (
    "Nats-Expected-",
    "Nats-Rollup",
    "Nats-TTL",
    "Nats-Schedule",
    "Nats-Batch-",
    "Nats-Incr",
    MSG_ID,
)


def dead_letter(
    api: ApiSubjects, event: MessageFate, subject: str, *, timeout: float = DEFAULT_TIMEOUT
) -> Steps[PubAck]:
    """Publish the message that an advisory names as a dead letter.

    Args:
        api: subjects of the API that holds the message's stream.
        event: the advisory.
        subject: the subject of dead letters.
        timeout: seconds for each of the two requests.

    Raises:
        MessageNotFound: the stream does not hold the message any more.
        NoResponders: no stream stores ``subject``.
        InvalidConfig: the message itself came from ``subject``, so it would circulate forever;
            or the event names no message.
    """
    if not event.stream or not event.stream_seq:
        raise InvalidConfig(f"expected an advisory about a message, got {event.type!r}")
    message = yield from stored_message(
        api, event.stream, MessageSelector(seq=event.stream_seq), timeout=timeout
    )
    if message.subject == subject:
        raise InvalidConfig(
            f"expected another subject for dead letters than the message's own, got {subject!r}"
        )
    letter = f"dead.{event.stream}.{event.consumer}.{event.stream_seq}"
    return (
        yield from publish(
            subject,
            message.payload,
            headers=letter_headers(event, message),
            msg_id=letter,
            timeout=timeout,
        )
    )


def letter_headers(event: MessageFate, message: StoredMessage) -> Headers:
    """The headers of a dead letter: the message's own except commands, and the origin."""
    kept = [
        (name, value) for name, value in message.headers.items() if not name.startswith(_ORDERS)
    ]
    return Headers(kept).merged(
        [
            (REASON, _reason(event)),
            (STREAM, event.stream),
            (CONSUMER, event.consumer),
            (SEQUENCE, str(event.stream_seq)),
            (SUBJECT, message.subject),
            (DELIVERIES, str(event.deliveries)),
        ]
    )


def _reason(event: MessageFate) -> str:
    """The reason in one line."""
    words = " ".join((event.reason or "").split())
    return f"{event.kind}: {words}" if words else event.kind
