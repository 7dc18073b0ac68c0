"""Requests that care for streams and consumers that are there: purge, copy, pause, reset and the
like.

Each is a generator as those of :mod:`jsproto.jetstream.api.requests.manage`, with the same errors.
A verb that older servers do not know is not answered by them; the error then says since when it is
known.
"""

# ruff: noqa: RUF009 - a field made by `member` is attrs' own `field` with the form of the member in its metadata

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
    """Whether a consumer rests, until when, and for how long still (2.11)."""

    paused: bool = member(FLAG, False)  # noqa: FBT003 - the form first, then the default
    pause_until: Timestamp | None = member(TIME)
    pause_remaining: timedelta | None = member(DURATION)


@final
@frozen(kw_only=True, repr=False)
class Purged(Document):
    """What a purge took away."""

    purged: int = member(INTEGER, 0)
    success: bool = member(FLAG, False)  # noqa: FBT003 - the form first, then the default


# --------------------------------------------------------------------------------------------------- streams


@final
@frozen
class Purge:
    """Which messages a purge deletes: all, unless it says less (ADR-10).

    Attributes:
        filter_subject: only messages of the subjects that match.
        seq: only messages before this sequence; excludes ``keep``.
        keep: but for the newest so many, of all that match.

    Raises:
        InvalidConfig: both ``seq`` and ``keep`` (10003), or one that is no sequence or number. The
            server takes 0 for "not given" and would delete all, so 0 is refused here.
        InvalidSubject: a filter that is none.
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
    """Delete messages of a stream; how many there were.

    Raises:
        StreamNotFound: no such stream.
        Refused: the stream denies it, or is sealed.
    """
    which = which or Purge()
    about = RequestContext(what="purge stream", stream=stream, subject=which.filter_subject)
    if which.seq == 1:
        # Nothing is before it, but servers before 2.15 delete all that matches (seen on 2.9.10 and
        # 2.11.11).
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
    """The name of the one stream that stores a subject.

    Raises:
        StreamNotFound: no stream does.
        AmbiguousSubject: several do, as a subject with wildcards can have it.
    """
    names = yield from stream_names(api, subject=subject, timeout=timeout)
    about = RequestContext(what="stream by subject", subject=subject)
    if not names:
        raise StreamNotFound(
            404, 10059, "expected a stream that stores the subject, there is none", about
        )
    if len(names) > 1:
        text = f"expected one stream, {len(names)} store the subject: {', '.join(names[:8])}"
        raise AmbiguousSubject(400, 0, text, about, tuple(names))
    return said_name(names[0], about)


def copy_stream(
    api: ApiSubjects,
    stream: str,
    changes: Mapping[str, object],
    *,
    timeout: float = DEFAULT_TIMEOUT,
) -> Steps[StreamInfo]:
    """Make another stream of a stream's configuration, without its messages.

    Args:
        api: where.
        stream: the stream that is copied.
        changes: settings of the copy that differ; ``name`` must, and ``subjects`` as no two streams
            may share any.
        timeout: seconds for each of the two questions.

    Raises:
        StreamNotFound: no such stream.
        StreamExists: there is another one of the copy's name.
        InvalidConfiguration: the server says what is wrong with it.
    """
    config = yield from stream_config(api, stream, timeout=timeout)
    return (yield from create_stream(api, config.evolve(**changes), timeout=timeout))


def stream_drift(
    api: ApiSubjects, config: StreamConfig, *, timeout: float = DEFAULT_TIMEOUT
) -> Steps[tuple[Difference, ...]]:
    """Settings of a stream that are not as ``config`` says.

    Raises:
        StreamNotFound: no such stream.
    """
    info = yield from stream_info(api, config.name, timeout=timeout)
    return differences(config, info.config)


# ------------------------------------------------------------------------------------------------- consumers


def named(config: ConsumerConfig) -> str:
    """The name that a configuration says.

    Raises:
        InvalidConfig: it says none, or two.
    """
    name = config.checked().name or config.durable_name
    if not name:
        raise InvalidConfig(
            "expected a consumer with a name, to compare it with the one of that name"
        )
    return name


def consumer_drift(
    api: ApiSubjects, stream: str, config: ConsumerConfig, *, timeout: float = DEFAULT_TIMEOUT
) -> Steps[tuple[Difference, ...]]:
    """Settings of a consumer that are not as ``config`` says.

    Raises:
        ConsumerNotFound: no such consumer.
        StreamNotFound: no such stream.
        InvalidConfig: a configuration without a name.
    """
    info = yield from consumer_info(api, stream, named(config), timeout=timeout)
    # Servers before 2.10 do not say the name within the configuration.
    return differences(config, info.config.evolve(name=info.name))


def pause_consumer(
    api: ApiSubjects,
    stream: str,
    consumer: str,
    until: datetime | Timestamp | None,
    *,
    timeout: float = DEFAULT_TIMEOUT,
) -> Steps[Pause]:
    """Let a consumer rest until an instant; ``None`` ends the rest (2.11). One that has passed
    pauses nothing.

    Raises:
        ConsumerNotFound: no such consumer.
        StreamNotFound: no such stream.
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
    """Let a consumer begin anew behind its ack floor, or at a sequence (2.14, ADR-60).

    Consumer sequences start at 1 again, and messages can come before the answer.

    Args:
        api: where.
        stream: its stream.
        consumer: its name.
        seq: the stream sequence to begin at.
        timeout: seconds for each question; there is a second if the first is not answered.

    Raises:
        ConsumerNotFound: no such consumer.
        StreamNotFound: no such stream.
        InvalidConfiguration: the consumer's deliver policy does not go with the sequence.
        InvalidConfig: a sequence that is none.
    """
    about = RequestContext(what="reset consumer", stream=stream, consumer=consumer)
    body = None if sequence("seq", seq) is None else {"seq": seq}
    subject = api.consumer_reset(stream, consumer)
    try:
        members = yield from request(
            subject, about, AnswerType.CONSUMER_RESET, body=body, since="2.14", timeout=timeout
        )
    except RequestTimeout:
        # The server is silent when there is no such consumer.
        yield from consumer_info(api, stream, consumer, timeout=timeout)
        raise
    return ConsumerInfo.from_wire(members, about)


def unpin_consumer(
    api: ApiSubjects, stream: str, consumer: str, group: str, *, timeout: float = DEFAULT_TIMEOUT
) -> Steps[None]:
    """Take a priority group from the client that it is pinned to: the next pull gets it (2.11,
    ADR-42).

    Raises:
        ConsumerNotFound: no such consumer.
        InvalidSubject: a group with blanks or control characters.
        InvalidRequest: no such group, or the consumer pins nobody.
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
    """A sequence or number that the server does not take for "not given".

    Raises:
        InvalidConfig: it is none of 1 to 2**64 - 1.
    """
    if value is not None and (
        isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= UINT64_MAX
    ):
        raise InvalidConfig(f"expected {name} of 1 to 2**64 - 1, got {value!r}")
    return value
