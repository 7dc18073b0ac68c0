"""Requests for existing streams and consumers: purge, copy, compare, pause, reset, unpin.

Each is a generator like those of :mod:`jsproto.jetstream.api.requests.manage`, with the same
errors. Older servers do not answer requests that they do not know; the error then names the first
version that does.
"""

# ruff: noqa: RUF009 - `member` returns an attrs `field` with the codec in its metadata

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import final

from attrs import frozen

from jsproto.core.conversation.procedure import Steps
from jsproto.errors.tree import InvalidConfig, RequestTimeout
from jsproto.jetstream.api.answers import AnswerType
from jsproto.jetstream.api.codecs import DURATION, FLAG, INTEGER, TIME
from jsproto.jetstream.api.config.consumer import ConsumerConfig, ConsumerInfo
from jsproto.jetstream.api.config.diff import Difference, differences
from jsproto.jetstream.api.config.stream import StreamConfig, StreamInfo
from jsproto.jetstream.api.document import Document, member
from jsproto.jetstream.api.errors import AmbiguousSubject, RequestContext, StreamNotFound
from jsproto.jetstream.api.requests.manage import (
    DEFAULT_TIMEOUT,
    consumer_info,
    create_stream,
    request,
    stream_config,
    stream_info,
    stream_names,
    succeed,
)
from jsproto.jetstream.api.requests.paging import said_name
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.api.timestamps import UINT64_MAX, Timestamp
from jsproto.wire.subjects import subscription_subject, unbroken


@final
@frozen(kw_only=True, repr=False)
class Pause(Document):
    """Whether a consumer is paused, until when, and the remaining time (2.11)."""

    paused: bool = member(FLAG, False)  # noqa: FBT003 - the codec, then the default
    pause_until: Timestamp | None = member(TIME)
    pause_remaining: timedelta | None = member(DURATION)


@final
@frozen(kw_only=True, repr=False)
class Purged(Document):
    """The answer to a purge."""

    purged: int = member(INTEGER, 0)
    success: bool = member(FLAG, False)  # noqa: FBT003 - the codec, then the default


# ------------------------------------------------------------------ streams


@final
@frozen
class Purge:
    """Which messages a purge deletes: all by default (ADR-10).

    Attributes:
        filter_subject: only messages of the subjects that match.
        seq: only messages before this sequence; excludes ``keep``.
        keep: number of newest matching messages to keep.

    Raises:
        InvalidConfig: both ``seq`` and ``keep`` (10003), or an invalid number. 0 is rejected,
            because the server takes it for "not given" and would delete all.
        InvalidSubject: an invalid filter.
    """

    filter_subject: str = ""
    seq: int | None = None
    keep: int | None = None

    def __attrs_post_init__(self) -> None:
        if self.seq is not None and self.keep is not None:
            raise InvalidConfig(
                f"expected seq or keep, got both: {self.seq!r} and {self.keep!r} (10003)"
            )
        sequence("seq", self.seq)
        sequence("keep", self.keep)
        if self.filter_subject:
            subscription_subject(self.filter_subject)


def purge_stream(
    api: ApiSubjects, stream: str, which: Purge | None = None, *, timeout: float = DEFAULT_TIMEOUT
) -> Steps[int]:
    """Delete messages of a stream; return the number of deleted messages.

    Raises:
        StreamNotFound: the stream does not exist.
        NotAllowed: the stream does not allow it, or is sealed.
    """
    which = which or Purge()
    about = RequestContext(what="purge stream", stream=stream, subject=which.filter_subject)
    if which.seq == 1:
        # No message is before it, but servers before 2.15 delete all that match (seen on 2.9.10
        # and 2.11.11).
        yield from stream_info(api, stream, timeout=timeout)
        return 0
    wishes = {"filter": which.filter_subject, "seq": which.seq, "keep": which.keep}
    body = {name: wish for name, wish in wishes.items() if wish} or None
    members = yield from succeed(
        api.stream_purge(stream), about, AnswerType.STREAM_PURGE, body=body, timeout=timeout
    )
    return Purged.from_wire(members, about).purged


def stream_by_subject(
    api: ApiSubjects, subject: str, *, timeout: float = DEFAULT_TIMEOUT
) -> Steps[str]:
    """Return the name of the stream that stores a subject.

    Raises:
        StreamNotFound: no stream stores it.
        AmbiguousSubject: several streams store it; possible for a subject with wildcards.
    """
    names = yield from stream_names(api, subject=subject, timeout=timeout)
    about = RequestContext(what="stream by subject", subject=subject)
    if not names:
        raise StreamNotFound(
            404, 10059, "expected a stream that stores the subject, got none", about
        )
    if len(names) > 1:
        text = f"expected one stream, got {len(names)} for the subject: {', '.join(names[:8])}"
        raise AmbiguousSubject(400, 0, text, about, tuple(names))
    return said_name(names[0], about)


def copy_stream(
    api: ApiSubjects,
    stream: str,
    changes: Mapping[str, object],
    *,
    timeout: float = DEFAULT_TIMEOUT,
) -> Steps[StreamInfo]:
    """Create another stream with a stream's configuration, without its messages.

    Args:
        api: subjects of the API.
        stream: the stream to copy.
        changes: settings of the copy that differ. ``name`` must differ, and ``subjects`` too,
            because streams cannot share subjects.
        timeout: seconds for each of the two requests.

    Raises:
        StreamNotFound: the stream does not exist.
        StreamExists: a different stream has the name of the copy.
        ConfigurationRefused: the server rejects the configuration; the text says why.
    """
    config = yield from stream_config(api, stream, timeout=timeout)
    return (yield from create_stream(api, config.evolve(**changes), timeout=timeout))


def stream_drift(
    api: ApiSubjects, config: StreamConfig, *, timeout: float = DEFAULT_TIMEOUT
) -> Steps[tuple[Difference, ...]]:
    """Return the settings of a stream that differ from ``config``.

    Raises:
        StreamNotFound: the stream does not exist.
    """
    info = yield from stream_info(api, config.name, timeout=timeout)
    return differences(config, info.config)


# ------------------------------------------------------------------ consumers


def named(config: ConsumerConfig) -> str:
    """The consumer name in a configuration.

    Raises:
        InvalidConfig: there is none, or two that differ.
    """
    name = config.checked().name or config.durable_name
    if not name:
        raise InvalidConfig(
            "expected a consumer configuration with a name, to find the existing one, got none"
        )
    return name


def consumer_drift(
    api: ApiSubjects, stream: str, config: ConsumerConfig, *, timeout: float = DEFAULT_TIMEOUT
) -> Steps[tuple[Difference, ...]]:
    """Return the settings of a consumer that differ from ``config``.

    Raises:
        ConsumerNotFound: the consumer does not exist.
        StreamNotFound: the stream does not exist.
        InvalidConfig: a configuration without a name.
    """
    info = yield from consumer_info(api, stream, named(config), timeout=timeout)
    # Servers before 2.10 do not send the name within the configuration.
    return differences(config, info.config.evolve(name=info.name))


def pause_consumer(
    api: ApiSubjects,
    stream: str,
    consumer: str,
    until: datetime | Timestamp | None,
    *,
    timeout: float = DEFAULT_TIMEOUT,
) -> Steps[Pause]:
    """Pause a consumer until a time, or resume it with ``None`` (2.11).

    A time in the past pauses nothing.

    Raises:
        ConsumerNotFound: the consumer does not exist.
        StreamNotFound: the stream does not exist.
        InvalidConfig: a ``datetime`` without a time zone.
    """
    what = "resume consumer" if until is None else "pause consumer"
    about = RequestContext(what=what, stream=stream, consumer=consumer)
    body = None if until is None else {"pause_until": str(Timestamp.of(until))}
    subject = api.consumer_pause(stream, consumer)
    members = yield from request(
        subject, about, AnswerType.CONSUMER_PAUSE, body=body, since="2.11", timeout=timeout
    )
    return Pause.from_wire(members, about)


def reset_consumer(
    api: ApiSubjects,
    stream: str,
    consumer: str,
    *,
    seq: int | None = None,
    timeout: float = DEFAULT_TIMEOUT,
) -> Steps[ConsumerInfo]:
    """Restart the deliveries after the ack floor, or at a sequence (2.14, ADR-60).

    The consumer sequence restarts at 1. Messages can arrive before the answer.

    Args:
        api: subjects of the API.
        stream: its stream.
        consumer: its name.
        seq: the stream sequence to restart at.
        timeout: seconds for each request; there is a second if the first gets no answer.

    Raises:
        ConsumerNotFound: the consumer does not exist.
        StreamNotFound: the stream does not exist.
        ConfigurationRefused: the deliver policy does not allow the sequence.
        InvalidConfig: an invalid sequence.
    """
    about = RequestContext(what="reset consumer", stream=stream, consumer=consumer)
    body = None if sequence("seq", seq) is None else {"seq": seq}
    subject = api.consumer_reset(stream, consumer)
    try:
        members = yield from request(
            subject, about, AnswerType.CONSUMER_RESET, body=body, since="2.14", timeout=timeout
        )
    except RequestTimeout:
        # The server does not answer if the consumer does not exist.
        yield from consumer_info(api, stream, consumer, timeout=timeout)
        raise
    return ConsumerInfo.from_wire(members, about)


def unpin_consumer(
    api: ApiSubjects, stream: str, consumer: str, group: str, *, timeout: float = DEFAULT_TIMEOUT
) -> Steps[None]:
    """Unpin the client of a priority group; the next pull is pinned (2.11, ADR-42).

    Raises:
        ConsumerNotFound: the consumer does not exist.
        InvalidSubject: a group with blanks or control characters.
        InvalidRequest: no such group, or the consumer does not pin clients.
    """
    about = RequestContext(what="unpin consumer", stream=stream, consumer=consumer)
    subject = api.consumer_unpin(stream, consumer)
    yield from request(
        subject,
        about,
        AnswerType.CONSUMER_UNPIN,
        body={"group": unbroken(group, "group")},
        since="2.11",
        timeout=timeout,
    )


def sequence(name: str, value: int | None) -> int | None:
    """Check a sequence or number; 0 is rejected, because the server takes it for "not given".

    Raises:
        InvalidConfig: it is not between 1 and 2**64 - 1.
    """
    if value is not None and (
        isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= UINT64_MAX
    ):
        raise InvalidConfig(f"expected {name} of 1 to 2**64 - 1, got {value!r}")
    return value
