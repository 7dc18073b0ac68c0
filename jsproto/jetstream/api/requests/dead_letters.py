"""Dead letters: what a consumer has given up is fetched once more and put where somebody looks
after it.

Theory. A stream does not move messages that nobody could work off; it says so in an advisory, which
holds only their place (``MAX_DELIVERIES``, ``MSG_TERMINATED``). So the message is read by its
sequence and published again on another subject, with its own headers and with those that say where
it came from and why. The message id is made of its place: the same advisory twice, or a retry,
stores one dead letter (within the duplicate window of the stream that keeps them).

The original stays in its stream. On a workqueue it is still there after its deliveries are used up,
and would be lost only if somebody deletes it.
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

#: Headers of the server that would be obeyed a second time.
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
    """Publish the message that an advisory is about as a dead letter.

    Args:
        api: where the stream of the message is.
        event: the advisory.
        subject: where dead letters are stored.
        timeout: seconds for each of the two questions.

    Raises:
        MessageNotFound: it is not in its stream any more.
        NoResponders: no stream stores ``subject``.
        InvalidConfig: the message came from there, so it would go round and round; or an event
            without a message.
    """
    if not event.stream or not event.stream_seq:
        raise InvalidConfig(f"expected an advisory about a message, got {event.type!r}")
    message = yield from stored_message(
        api, event.stream, MessageSelector(seq=event.stream_seq), timeout=timeout
    )
    if message.subject == subject:
        raise InvalidConfig(
            f"expected another subject for dead letters than the message's own, {subject!r}"
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
    """Headers of a dead letter: the message's own but for orders to the server, and where it came
    from.
    """
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
    """Why, in one line."""
    words = " ".join((event.reason or "").split())
    return f"{event.kind}: {words}" if words else event.kind
