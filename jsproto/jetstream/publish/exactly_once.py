"""Publish until a message is known to be stored exactly once, and relay messages safely.

Theory. A publish without an answer may or may not be stored. The client can send it again with the
same message id. The stream stores it at most once as long as it remembers the id (its
``duplicate_window``, by default two minutes). It answers the second publish as a duplicate of the
first. Therefore `publish_once` sends an unanswered publish again, over lost links and elections,
until an answer arrives or its time is over. That time must be within the window.

An error of the stream is final, with one exception. After an attempt with an unknown outcome, a
failed expectation proves nothing: the first attempt may have moved the sequence. (Single servers of
2.14 and later check expectations before ids.) Then the outcome stays unknown, and the error tells
so.

`relayed` moves a message from one stream to another exactly once. Stream, sequence and time of the
received message make the id of the new message. So a client that receives it again after a crash
sends the same id. The received message is acknowledged, with an answer, only after the new one is
stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final, Unpack, cast, final

from attrs import evolve, field, frozen

from jsproto.core.conversation.conversation import Call
from jsproto.core.conversation.message import Message
from jsproto.core.conversation.procedure import Sleep, Steps, a_name, the_time
from jsproto.core.numbers import in_seconds, seconds
from jsproto.errors.tree import (
    ConnectionLost,
    InvalidConfig,
    JsprotoError,
    NoResponders,
    RequestTimeout,
    StatusError,
)
from jsproto.jetstream.api.errors import ExpectationFailed, RequestContext, RetryLater
from jsproto.jetstream.api.publishing.options import (
    MSG_ID,
    PublishOptions,
    PublishSettings,
    asked_for,
    message_id,
)
from jsproto.jetstream.api.publishing.puback import PubAck, pub_ack
from jsproto.jetstream.delivery.ack import ACK, AckSubject
from jsproto.jetstream.delivery.message import JsMessage, confirmed
from jsproto.wire.headers import HeaderItems, Headers
from jsproto.wire.subjects import publish_subject

#: The time for which a stream remembers an id by default.
DUPLICATE_WINDOW: Final = timedelta(minutes=2)
#: Seconds for everything, for one attempt, and between two attempts.
WITHIN: Final = 30.0
ATTEMPT: Final = 5.0
WAIT: Final = 0.25

_TOO_MANY: Final = 429


def _window(value: float | timedelta) -> timedelta:
    return timedelta(seconds=seconds("duplicate_window", value, finite=True))


@final
@frozen(kw_only=True)
class RetryPolicy:
    """The time limits of the attempts.

    Attributes:
        within: seconds for all attempts.
        attempt: seconds that one attempt waits for its answer.
        wait: seconds between two attempts.
        duplicate_window: how long the stream remembers an id.

    Raises:
        InvalidConfig: an invalid time, or ``within`` is longer than the duplicate window.
    """

    within: float = field(default=WITHIN, converter=in_seconds)
    attempt: float = field(default=ATTEMPT, converter=in_seconds)
    wait: float = field(default=WAIT, converter=in_seconds)
    duplicate_window: timedelta = field(default=DUPLICATE_WINDOW, converter=_window)

    def __attrs_post_init__(self) -> None:
        for name, value in (
            ("within", self.within),
            ("attempt", self.attempt),
            ("wait", self.wait),
        ):
            seconds(name, value, finite=True)
        if self.within > self.duplicate_window.total_seconds():
            raise InvalidConfig(
                "expected at most the duplicate_window of the stream,"
                f" {self.duplicate_window}, as within: after it the same id is stored again,"
                f" got {self.within} s"
            )


def publish_once(
    subject: str,
    payload: bytes | str = b"",
    *,
    headers: HeaderItems = (),
    options: PublishOptions | None = None,
    patience: RetryPolicy | None = None,
    **settings: Unpack[PublishSettings],
) -> Steps[PubAck]:
    """Publish, and send the same message again until it is known to be stored once.

    Args:
        subject: a literal subject.
        payload: the payload of the message.
        headers: the user's own headers.
        options: what the stream is asked to check. Without a ``msg_id`` here or in the headers, a
            new one is used.
        patience: the time limits.
        settings: fields of `PublishOptions`.

    Raises:
        NoResponders: no stream stores this subject; nothing was stored.
        JetStreamError: the stream refuses it; nothing was stored.
        RequestTimeout: the outcome is unknown; the user may publish again with the id in the
            message. Or the client was not connected all the time, and nothing was sent.
        InvalidSubject, InvalidHeader, InvalidConfig: nothing was sent.
    """
    publish_subject(subject)
    asked = asked_for(options, cast("Mapping[str, object]", settings))
    asked.check(subject, payload)
    block = asked.headers(headers)
    message_id(block)
    return _until_stored(
        Call(subject, payload, block), asked.expected_stream or "", patience or RetryPolicy()
    )


def relayed(
    message: JsMessage,
    subject: str,
    payload: bytes | str | None = None,
    *,
    headers: HeaderItems = (),
    options: PublishOptions | None = None,
    patience: RetryPolicy | None = None,
    **settings: Unpack[PublishSettings],
) -> Steps[PubAck]:
    """Publish the successor of a message once, then ack the message and wait for the answer.

    Args:
        message: a message that a consumer delivered.
        subject: the subject of the successor.
        payload: its payload; by default that of the message.
        headers: its headers; those of the message are not copied.
        options: what the stream is asked to check. The default ``msg_id`` is made from the
            message's position and ``subject``.
        patience: the time limits, for both steps.
        settings: fields of `PublishOptions`.

    Raises:
        NoResponders: no stream stores this subject; or the successor is stored, and the consumer is
            gone.
        JetStreamError: the stream refuses the successor; the message is open.
        RequestTimeout: it is unknown whether the successor is stored, or the message settled. The
            message is delivered again, and relaying it again is safe within the duplicate window.
        InvalidAckSubject: the message is not from a consumer.
        InvalidSubject, InvalidHeader, InvalidConfig: nothing was sent.
    """
    asked = asked_for(options, cast("Mapping[str, object]", settings))
    if asked.msg_id is None:
        asked = evolve(asked, msg_id=relay_id(message.metadata, subject))
    patience = patience or RetryPolicy()
    body = message.payload if payload is None else payload
    publishing = publish_once(subject, body, headers=headers, options=asked, patience=patience)
    return _relayed(message, publishing, patience)


def relay_id(origin: AckSubject, subject: str) -> str:
    """Return the id of a successor: equal for each delivery, different per message and subject.

    It contains the time, because a stream that was deleted and created again counts from 1 again.
    """
    return f"{origin.stream}.{origin.stream_sequence}.{origin.timestamp_ns}>{subject}"


def _until_stored(call: Call, stream: str, patience: RetryPolicy) -> Steps[PubAck]:
    deadline = (yield from the_time()) + patience.within
    block = call.headers or Headers()
    msg_id = message_id(block)
    if msg_id is None:
        msg_id = yield from a_name()
        block = block.merged([(MSG_ID, msg_id)])
    unknown = False
    while True:
        left = deadline - (yield from the_time())
        attempt = Call(call.subject, call.payload, block, min(patience.attempt, left))
        try:
            return _ack(
                (yield attempt), RequestContext(what="publish", stream=stream, subject=call.subject)
            )
        except (RequestTimeout, ConnectionLost) as error:
            unknown = unknown or not isinstance(error, RequestTimeout) or error.sent
            last: JsprotoError = error
        except (NoResponders, RetryLater) as error:
            last = error
        except StatusError as error:
            if error.code != _TOO_MANY:
                raise
            last = error
        except ExpectationFailed as error:
            if not unknown:
                raise
            raise RequestTimeout(
                f"expected an acknowledgement of {call.subject!r} with id {msg_id!r}:"
                " an attempt was not answered, and then the stream answered"
                f" {error.description!r}, perhaps because of that attempt; unknown if stored"
            ) from error
        if deadline - (yield from the_time()) <= patience.wait:
            if not unknown:
                raise last
            raise RequestTimeout(
                f"expected an acknowledgement of {call.subject!r} with id {msg_id!r}"
                f" within {patience.within} s, none came; unknown if stored"
            ) from last
        yield Sleep(patience.wait)


def _ack(reply: Message, about: RequestContext) -> PubAck:
    if reply.status is not None and not reply.payload:
        raise StatusError(*reply.status)
    return pub_ack(reply.payload, about)


def _relayed(message: JsMessage, publishing: Steps[PubAck], patience: RetryPolicy) -> Steps[PubAck]:
    deadline = (yield from the_time()) + patience.within
    ack = yield from publishing
    while True:
        left = deadline - (yield from the_time())
        try:
            yield from confirmed(
                message, ACK, timeout=min(patience.attempt, max(left, patience.wait))
            )
        except (RequestTimeout, ConnectionLost) as error:
            if deadline - (yield from the_time()) <= patience.wait:
                raise RequestTimeout(
                    "expected the server to confirm that it has settled a message"
                    f" within {patience.within} s, it did not; its successor is stored"
                    f" (stream {ack.stream!r}, sequence {ack.seq}), and it may come again"
                ) from error
        else:
            return ack
        yield Sleep(patience.wait)
