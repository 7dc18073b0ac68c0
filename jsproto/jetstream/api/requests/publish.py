"""Publishes one message and waits for the stream's acknowledgement.

Theory. A publish to a stream is a request on the message's own subject. Headers hold what the
stream must check. Only "no responders" (503) proves that the message was not stored, for example
during an election or a start. Then the client sends it again, a few times, within the one deadline
(ADR-22). A timeout proves nothing. So the client does not repeat the message, and reports an
unknown outcome. The caller may repeat a message that has a message id.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final, NoReturn, Unpack, cast

from jsproto.core.conversation.conversation import Call
from jsproto.core.conversation.procedure import Sleep, Steps, the_time
from jsproto.core.numbers import count, seconds
from jsproto.errors.tree import NoResponders, RequestTimeout, StatusError
from jsproto.jetstream.api.errors import RequestContext
from jsproto.jetstream.api.publishing.options import PublishOptions, PublishSettings, asked_for
from jsproto.jetstream.api.publishing.puback import PubAck, pub_ack, usual_ack
from jsproto.jetstream.api.requests.manage import DEFAULT_TIMEOUT
from jsproto.wire.commands import Publish
from jsproto.wire.headers import HeaderItems
from jsproto.wire.subjects import publish_subject

#: ADR-22: attempts after no responders, and the seconds before each.
DEFAULT_RETRIES: Final = 2
DEFAULT_RETRY_WAIT: Final = 0.25


def compose(
    subject: str,
    payload: bytes | str = b"",
    *,
    headers: HeaderItems = (),
    options: PublishOptions | None = None,
    **settings: Unpack[PublishSettings],
) -> Publish:
    """Make a message with options as headers, for a window, a batch or an ingest.

    Args:
        subject: a literal subject.
        payload: the message.
        headers: the user's own headers; never changed.
        options: what the stream must check or do; ``settings`` replace its fields, or stand alone.
        settings: fields of `PublishOptions`.

    Raises:
        InvalidSubject, InvalidHeader, InvalidConfig: the message cannot be sent, or no server
            would accept it.
    """
    publish_subject(subject)
    asked = asked_for(options, cast("Mapping[str, object]", settings))
    asked.check(subject, payload)
    return Publish(subject, payload, "", asked.headers(headers))


def publish(
    subject: str,
    payload: bytes | str = b"",
    *,
    headers: HeaderItems = (),
    options: PublishOptions | None = None,
    timeout: float | timedelta = DEFAULT_TIMEOUT,
    retries: int = DEFAULT_RETRIES,
    retry_wait: float | timedelta = DEFAULT_RETRY_WAIT,
    **settings: Unpack[PublishSettings],
) -> Steps[PubAck]:
    """Publish a message and wait for the acknowledgement.

    Args:
        subject: a literal subject.
        payload: the message.
        headers: the user's own headers; never changed.
        options: what the stream must check or do; ``settings`` replace its fields, or stand alone.
        timeout: seconds for all attempts together.
        retries: number of further attempts after a 503 "no responders".
        retry_wait: seconds before each of these attempts.
        settings: fields of `PublishOptions`.

    Raises:
        NoResponders: no stream stores this subject.
        WrongLastSequence: the expectation does not hold; likewise the other
            :class:`ExpectationFailed`.
        JetStreamError: the stream rejects the message for another reason.
        InvalidPubAck: the answer does not come from a stream.
        RequestTimeout: no acknowledgement came; the message may be stored or not. If there was
            no link, nothing was sent, and ``sent`` of the error is false.
        InvalidSubject, InvalidHeader, InvalidConfig: nothing was sent.
    """
    publish_subject(subject)
    asked = asked_for(options, cast("Mapping[str, object]", settings))
    asked.check(subject, payload)
    within = timeout if isinstance(timeout, float) and timeout > 0 else seconds("timeout", timeout)
    again = retries if retries is DEFAULT_RETRIES else count("retries", retries)
    pause = (
        DEFAULT_RETRY_WAIT
        if retry_wait is DEFAULT_RETRY_WAIT
        else seconds("retry_wait", retry_wait, above=False)
    )
    call = Call(subject, payload, asked.headers(headers), within)
    return _attempts(call, asked.expected_stream or "", again, pause)


def _attempts(call: Call, stream: str, retries: int, retry_wait: float) -> Steps[PubAck]:
    deadline = (yield from the_time()) + call.timeout
    attempt = call
    sent = 0
    while True:
        try:
            reply = yield attempt
        except NoResponders as error:
            sent += 1
            left = deadline - (yield from the_time())
            if sent > retries or left <= retry_wait:
                _nobody(call, sent, error)
        except RequestTimeout as error:
            if not error.sent:
                text = (
                    f"expected a link to publish on {call.subject!r} within {call.timeout} s, "
                    "got none"
                )
                raise RequestTimeout(
                    f"{text}; nothing was sent, nothing is stored", sent=False
                ) from error
            text = (
                f"expected an acknowledgement of {call.subject!r} within {call.timeout} s, got none"
            )
            raise RequestTimeout(
                f"{text}; whether it was stored is unknown, and no_ack streams never answer"
            ) from error
        else:
            usual = usual_ack(reply.payload)
            if usual is not None:
                return usual
            if reply.status is not None and not reply.payload:
                raise StatusError(*reply.status)
            return pub_ack(
                reply.payload, RequestContext(what="publish", stream=stream, subject=call.subject)
            )
        yield Sleep(retry_wait)
        left = deadline - (yield from the_time())
        if left <= 0:
            _nobody(call, sent)
        attempt = Call(call.subject, call.payload, call.headers, left)


def _nobody(call: Call, sent: int, cause: NoResponders | None = None) -> NoReturn:
    text = (
        f"expected a stream that stores {call.subject!r}, "
        f"got no responders (503, sent {sent} times)"
    )
    raise NoResponders(text, call.subject) from cause
