"""Publish one message and wait for the stream's acknowledgement.

Theory. Nothing on the wire marks a publish to a stream: it is a request on the message's own
subject, and what the stream shall check travels in headers. Only "nobody listens" (503) proves that
the message was not stored: during an election or a start it is sent again, a few times, within the
one deadline (ADR-22). A timeout proves nothing, so it is never repeated and is reported as what it
is, an unknown outcome (B176); with a message id the caller may repeat it.
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

#: ADR-22: how often and after how many seconds a publish is sent again that nobody listened to.
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
    """A message with what is asked of the stream in its headers: for a window, a batch or an
    ingest.

    Args:
        subject: a literal subject.
        payload: the message.
        headers: the user's own headers; never changed.
        options: what is asked of the stream; or its settings by name, which also edit ``options``
            given beside them.
        settings: fields of `PublishOptions`.

    Raises:
        InvalidSubject, InvalidHeader, InvalidConfig: it cannot be sent, or no server takes it.
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
    """Publish and wait for the acknowledgement.

    Args:
        subject: a literal subject.
        payload: the message.
        headers: the user's own headers; never changed.
        options: what is asked of the stream; or its settings by name, which also edit ``options``
            given beside them.
        timeout: seconds for all attempts together.
        retries: how often it may be sent again after "nobody listens" (503).
        retry_wait: seconds before it is sent again.
        settings: fields of `PublishOptions`.

    Raises:
        NoResponders: no stream stores this subject.
        WrongLastSequence: the expectation does not hold; so for the other
            :class:`ExpectationFailed`.
        JetStreamError: the stream refuses the message otherwise.
        InvalidPubAck: somebody answered who is no stream.
        RequestTimeout: no acknowledgement came; whether the message was stored is unknown. Or there
            was no link all the time: then nothing was sent, and ``sent`` of the error is false.
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
                text = f"expected a link to publish on {call.subject!r} within {call.timeout} s, there was none"
                raise RequestTimeout(
                    f"{text}; nothing was sent, nothing is stored", sent=False
                ) from error
            text = f"expected an acknowledgement of {call.subject!r} within {call.timeout} s, none came"
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
    text = f"expected a stream that stores {call.subject!r}, nobody listens there (503, sent {sent} times)"
    raise NoResponders(text, call.subject) from cause
