"""Publish until it is known to be stored, and stored once; and hand a message on so that nothing is
lost or doubled in between.

Theory. A publish that was not answered may be stored or not. Sent again with the same message id it
is stored once at most, as long as the stream remembers the id (its ``duplicate_window``, two
minutes unless somebody says otherwise): the second time is answered as a duplicate of the first. So
`publish_once` sends again whatever was not answered, over lost links and elections, until an answer
comes or its time is up, which must be within that window.

What the stream refuses is refused, with one exception. After an attempt whose outcome is unknown, a
failed expectation proves nothing: it may be the first attempt that has moved the sequence (single
servers of 2.14 and later look at expectations before they look at ids). Then the outcome stays
unknown, and is said to be.

`relayed` is the whole road of "exactly once": the message that came gives the id of the one that
goes, by its stream, sequence and time, so that whoever gets it again after a crash sends the same
id; and it is acknowledged, with an answer, only when its successor is stored.
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

#: As long as a stream remembers an id if nobody says otherwise.
DUPLICATE_WINDOW: Final = timedelta(minutes=2)
#: Seconds until an outcome is given up, until one attempt is, and between two.
WITHIN: Final = 30.0
ATTEMPT: Final = 5.0
WAIT: Final = 0.25

_TOO_MANY: Final = 429


def _window(value: float | timedelta) -> timedelta:
    return timedelta(seconds=seconds("duplicate_window", value, finite=True))


@final
@frozen(kw_only=True)
class RetryPolicy:
    """How long to try.

    Attributes:
        within: seconds for everything.
        attempt: seconds that one attempt waits for its answer.
        wait: seconds between two attempts.
        duplicate_window: how long the stream remembers an id.

    Raises:
        InvalidConfig: times that cannot be, or more time than the stream remembers an id.
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
                f"expected at most the duplicate_window of the stream, {self.duplicate_window}, as within: "
                f"behind it the same id is stored again, got {self.within} s"
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
    """Publish, and send the same again until it is known to be stored; it is stored once.

    Args:
        subject: a literal subject.
        payload: the message.
        headers: the user's own headers.
        options: what is asked of the stream. Without a ``msg_id``, here or among the headers, one
            is made.
        patience: how long to try.
        settings: fields of `PublishOptions`.

    Raises:
        NoResponders: no stream stores this subject; nothing was stored.
        JetStreamError: the stream refuses it; nothing was stored.
        RequestTimeout: the outcome is still unknown; to go on, publish again with the id that it
            names. Or there was no link all the time and nothing was sent.
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
    """Publish what a message has led to, once, and then acknowledge the message and wait until the
    server says that it has.

    Args:
        message: what a consumer delivered.
        subject: where its successor is stored.
        payload: of the successor; the message's own if none is given.
        headers: of the successor; the message's are not taken along.
        options: what is asked of the stream. Without a ``msg_id`` it is made of the message's place
            and of ``subject``.
        patience: how long to try, for both.
        settings: fields of `PublishOptions`.

    Raises:
        NoResponders: no stream stores this subject; or the successor is stored, and the consumer is
            gone.
        JetStreamError: the stream refuses it; the message is open.
        RequestTimeout: it is not known whether the successor is stored, or the message settled. It
            comes again, and relaying it again does no harm within the duplicate window.
        InvalidAckSubject: the message is not of a consumer.
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
    """The id of what a message has led to: the same for each delivery, another for each message and
    each subject.

    The time is in it because a stream that was made anew counts from 1 again.
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
                f"expected an acknowledgement of {call.subject!r} with id {msg_id!r}: an attempt was not answered, and then "
                f"the stream said {error.description!r}, perhaps because of that attempt; unknown if stored"
            ) from error
        if deadline - (yield from the_time()) <= patience.wait:
            if not unknown:
                raise last
            raise RequestTimeout(
                f"expected an acknowledgement of {call.subject!r} with id {msg_id!r} within {patience.within} s, "
                f"none came; unknown if stored"
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
                    f"expected the server to say that it has settled a message within {patience.within} s, it did not; "
                    f"its successor is stored (stream {ack.stream!r}, sequence {ack.seq}), and it may come again"
                ) from error
        else:
            return ack
        yield Sleep(patience.wait)
