"""Publish one message and wait for the stream's acknowledgement.

Theory. Nothing on the wire marks a publish to a stream: it is a request on the message's own subject, and what the
stream shall check travels in headers. Only "nobody listens" (503) proves that the message was not stored: during an
election or a start it is sent again, a few times, within the one deadline (ADR-22). A timeout proves nothing, so it is
never repeated and is reported as what it is, an unknown outcome (B176); with a message id the caller may repeat it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final, Literal, NoReturn

from jsproto.core.conversation import Call
from jsproto.core.procedure import Sleep, Steps, the_time
from jsproto.errors import InvalidConfig, NoResponders, RequestTimeout, StatusError, shorten
from jsproto.jetstream.api.errors import Asked
from jsproto.jetstream.api.procedures import DEFAULT_TIMEOUT
from jsproto.jetstream.api.puback import PubAck, pub_ack, usual_ack
from jsproto.jetstream.api.values import UINT64_MAX, nanoseconds
from jsproto.wire.headers import HeaderItems, Headers
from jsproto.wire.subjects import publish_subject

MSG_ID: Final = "Nats-Msg-Id"
EXPECTED_STREAM: Final = "Nats-Expected-Stream"
EXPECTED_LAST_SEQUENCE: Final = "Nats-Expected-Last-Sequence"
EXPECTED_LAST_SUBJECT_SEQUENCE: Final = "Nats-Expected-Last-Subject-Sequence"
EXPECTED_LAST_SUBJECT_SEQUENCE_SUBJECT: Final = "Nats-Expected-Last-Subject-Sequence-Subject"
EXPECTED_LAST_MSG_ID: Final = "Nats-Expected-Last-Msg-Id"
TTL: Final = "Nats-TTL"

#: ADR-22: how often and after how many seconds a publish is sent again that nobody listened to.
DEFAULT_RETRIES: Final = 2
DEFAULT_RETRY_WAIT: Final = 0.25


def publish_headers(
    headers: HeaderItems = (),
    *,
    msg_id: str | None = None,
    expected_stream: str | None = None,
    expected_last_sequence: int | None = None,
    expected_last_subject_sequence: int | None = None,
    expected_last_subject_sequence_subject: str | None = None,
    expected_last_msg_id: str | None = None,
    ttl: timedelta | Literal["never"] | None = None,
) -> Headers | None:
    """Headers of a publish: the user's own, then those that the options say; ``None`` if there are none at all.

    Args:
        headers: the user's own; never changed.
        msg_id: a second message with this id within the stream's ``duplicate_window`` is not stored again.
        expected_stream: the stream that must store it.
        expected_last_sequence: the last sequence that the stream must have.
        expected_last_subject_sequence: the last sequence that the subject must have; 0 means no message yet.
        expected_last_subject_sequence_subject: the subject, possibly with wildcards, that is meant (2.11).
        expected_last_msg_id: id of the stream's last message.
        ttl: how long the message lives, at least one second, or for ever (2.11, ADR-43).

    Raises:
        InvalidConfig: an option that no server takes, or that is also among ``headers``.
        InvalidHeader: a name or value that the header block cannot carry.
    """
    if expected_last_subject_sequence_subject is not None and expected_last_subject_sequence is None:
        raise InvalidConfig(
            "expected expected_last_subject_sequence beside expected_last_subject_sequence_subject, seen none (10193)"
        )
    given: list[tuple[str, str]] = []
    if msg_id is not None:
        given.append((MSG_ID, msg_id))
    if expected_stream is not None:
        given.append((EXPECTED_STREAM, expected_stream))
    if expected_last_sequence is not None:
        given.append((EXPECTED_LAST_SEQUENCE, _sequence("expected_last_sequence", expected_last_sequence)))
    if expected_last_subject_sequence is not None:
        sequence = _sequence("expected_last_subject_sequence", expected_last_subject_sequence)
        given.append((EXPECTED_LAST_SUBJECT_SEQUENCE, sequence))
    if expected_last_subject_sequence_subject is not None:
        given.append((EXPECTED_LAST_SUBJECT_SEQUENCE_SUBJECT, expected_last_subject_sequence_subject))
    if expected_last_msg_id is not None:
        given.append((EXPECTED_LAST_MSG_ID, expected_last_msg_id))
    if ttl is not None:
        given.append((TTL, _ttl(ttl)))
    if not given and not headers:
        return None
    own = headers if isinstance(headers, Headers) else Headers(headers)
    if not given:
        return own if own.items() else None
    taken = {name.casefold() for name in own}
    for name, _ in given:
        if name.casefold() in taken:
            raise InvalidConfig(f"expected {name} as an option or as a header, seen both")
    return own.merged(given)


def publish(
    subject: str,
    payload: bytes = b"",
    *,
    headers: HeaderItems = (),
    msg_id: str | None = None,
    expected_stream: str | None = None,
    expected_last_sequence: int | None = None,
    expected_last_subject_sequence: int | None = None,
    expected_last_subject_sequence_subject: str | None = None,
    expected_last_msg_id: str | None = None,
    ttl: timedelta | Literal["never"] | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    retries: int = DEFAULT_RETRIES,
    retry_wait: float = DEFAULT_RETRY_WAIT,
) -> Steps[PubAck]:
    """Publish and wait for the acknowledgement; for the options see :func:`publish_headers`.

    Args:
        subject: a literal subject.
        payload: the message.
        headers: the user's own headers.
        msg_id: see :func:`publish_headers`, as the options up to ``ttl``.
        expected_stream: the same.
        expected_last_sequence: the same.
        expected_last_subject_sequence: the same.
        expected_last_subject_sequence_subject: the same.
        expected_last_msg_id: the same.
        ttl: the same.
        timeout: seconds for all attempts together.
        retries: how often it may be sent again after "nobody listens" (503).
        retry_wait: seconds before it is sent again.

    Raises:
        NoResponders: no stream stores this subject.
        WrongLastSequence: the expectation does not hold; so for the other :class:`ExpectationFailed`.
        JetStreamError: the stream refuses the message otherwise.
        InvalidPubAck: somebody answered who is no stream.
        RequestTimeout: no acknowledgement came; whether the message was stored is unknown.
        InvalidSubject, InvalidHeader, InvalidConfig: nothing was sent.
    """
    publish_subject(subject)
    block = publish_headers(
        headers,
        msg_id=msg_id,
        expected_stream=expected_stream,
        expected_last_sequence=expected_last_sequence,
        expected_last_subject_sequence=expected_last_subject_sequence,
        expected_last_subject_sequence_subject=expected_last_subject_sequence_subject,
        expected_last_msg_id=expected_last_msg_id,
        ttl=ttl,
    )
    return _attempts(Call(subject, payload, block, timeout), expected_stream or "", retries, retry_wait)


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
            text = f"expected an acknowledgement of {call.subject!r} within {call.timeout} s, none came"
            raise RequestTimeout(f"{text}; whether it was stored is unknown") from error
        else:
            usual = usual_ack(reply.payload)
            if usual is not None:
                return usual
            if reply.status is not None and not reply.payload:
                raise StatusError(*reply.status)
            return pub_ack(reply.payload, Asked(what="publish", stream=stream, subject=call.subject))
        yield Sleep(retry_wait)
        left = deadline - (yield from the_time())
        if left <= 0:
            _nobody(call, sent)
        attempt = Call(call.subject, call.payload, call.headers, left)


def _nobody(call: Call, sent: int, cause: NoResponders | None = None) -> NoReturn:
    text = f"expected a stream that stores {call.subject!r}, nobody listens there (503, sent {sent} times)"
    raise NoResponders(text, call.subject) from cause


def _sequence(option: str, value: int) -> str:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= UINT64_MAX:
        raise InvalidConfig(f"expected a sequence of 0 to 2**64 - 1 as {option}, seen {value!r}")
    return str(value)


def _ttl(ttl: timedelta | Literal["never"]) -> str:
    if isinstance(ttl, str):
        if ttl != "never":
            raise InvalidConfig(f"expected a timedelta or 'never' as ttl, seen {shorten(ttl)} (10165)")
        return ttl
    if not isinstance(ttl, timedelta) or ttl < timedelta(seconds=1):
        raise InvalidConfig(
            f"expected a timedelta of at least one second or 'never' as ttl, seen {ttl!r} (10165)"
        )
    ns = nanoseconds(ttl)
    return f"{ns}ns" if ns % 1_000_000_000 else str(ns // 1_000_000_000)
