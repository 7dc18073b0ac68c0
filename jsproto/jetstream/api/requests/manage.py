"""Requests of the JetStream API, each a generator: ask, judge the answer, perhaps ask again.

Every request ends in a typed value or in one typed error that says what was asked:

- ``JetStreamError`` and its subclasses: the server says no, see
  :mod:`jsproto.jetstream.api.errors`; of a configuration they name the setting to blame, where that
  is known (:mod:`jsproto.jetstream.api.validation.error_setting`);
- ``JetStreamNotEnabled`` also when nobody answers at all (503): no JetStream there, or no such
  domain;
- ``InvalidResponse``: what came is no answer to this question;
- ``RequestTimeout``, ``ConnectionLost``, ``ConnectionClosed``, ``PermissionViolation``: thrown in
  by whoever steps it.

Verbs that the server does not know are not answered at all, not even by 503, so every request has
its timeout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeVar

from jsproto.core.conversation.conversation import Call
from jsproto.core.conversation.procedure import Steps, the_time
from jsproto.errors.tree import (
    InvalidResponse,
    InvalidSubject,
    NoResponders,
    RequestTimeout,
    StatusError,
)
from jsproto.jetstream.api.answers import AnswerType
from jsproto.jetstream.api.config.account import AccountInfo
from jsproto.jetstream.api.config.consumer import ConsumerConfig, ConsumerInfo
from jsproto.jetstream.api.config.diff import changes
from jsproto.jetstream.api.config.enums import ConsumerAction
from jsproto.jetstream.api.config.stream import StreamConfig, StreamInfo
from jsproto.jetstream.api.document import Document, unechoed
from jsproto.jetstream.api.envelope import answer, to_json
from jsproto.jetstream.api.errors import (
    ConfigIgnored,
    ConsumerExists,
    ConsumerNotFound,
    JetStreamError,
    JetStreamNotEnabled,
    RequestContext,
    StreamExists,
    StreamNotFound,
    described,
)
from jsproto.jetstream.api.requests.paging import RACES, AskPage, Listing, name_of, pages, time_left
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.api.validation.api_level import REQUIRED, features, required_level
from jsproto.jetstream.api.validation.error_setting import blamed
from jsproto.jetstream.api.validation.rules import check_consumer, check_stream, check_stream_update
from jsproto.wire.headers import Headers
from jsproto.wire.subjects import subscription_subject, unbroken

T = TypeVar("T")

#: Seconds that a request waits for its answer.
DEFAULT_TIMEOUT: Final = 5.0


def request(
    subject: str,
    about: RequestContext,
    expected: AnswerType,
    *,
    body: Mapping[str, object] | None = None,
    headers: Headers | None = None,
    since: str = "",
    timeout: float = DEFAULT_TIMEOUT,
) -> Steps[dict[str, object]]:
    """One question to the API and the members of its answer: what all requests below are made of.

    Args:
        subject: where the API listens for it.
        about: what is asked, for errors.
        expected: the answer that belongs to this request.
        body: members of the request; ``None`` sends an empty payload, as some verbs demand (10038).
        headers: of the request, such as the level that it needs.
        since: the first version of the server that answers it; older ones stay silent, and so the
            error says it.
        timeout: seconds.
    """
    payload = b"" if body is None else to_json(body)
    try:
        reply = yield Call(subject, payload, headers, timeout)
    except NoResponders as error:
        text = f"expected a JetStream API on {subject!r}, nobody listens: JetStream is off or starting, or no such domain"
        raise JetStreamNotEnabled(503, 0, text, about) from error
    except RequestTimeout as error:
        silent = (
            f"; servers before {since} do not know this request and stay silent" if since else ""
        )
        raise RequestTimeout(f"{about}: {error}{silent}") from error
    if reply.status is not None and not reply.payload:
        code, text = reply.status
        raise StatusError(
            code,
            text,
            f"{about}: expected an answer on {subject!r}, got status {code} {text}".rstrip(),
        )
    return answer(reply.payload, about, expected)


def account_info(api: ApiSubjects, *, timeout: float = DEFAULT_TIMEOUT) -> Steps[AccountInfo]:
    """Usage and limits of the account: INFO."""
    about = RequestContext(what="account info")
    members = yield from request(
        api.account_info(), about, AnswerType.ACCOUNT_INFO, timeout=timeout
    )
    return AccountInfo.from_wire(members, about)


# --------------------------------------------------------------------------------------------------- streams


def create_stream(
    api: ApiSubjects,
    config: StreamConfig,
    *,
    pedantic: bool = False,
    strict: bool = False,
    timeout: float = DEFAULT_TIMEOUT,
) -> Steps[StreamInfo]:
    """Make a stream; one that is there with the same configuration will do.

    Args:
        api: where.
        config: what.
        pedantic: the server refuses what it would otherwise adjust (2.11; a member that older
            servers do not know).
        strict: raise :class:`ConfigIgnored` if a setting does not come back as it was sent.
        timeout: seconds.

    Raises:
        StreamExists: there is one with another configuration.
        InvalidConfiguration: the server says what is wrong with it.
    """
    about = RequestContext(what="create stream", stream=config.name)
    return (
        yield from _put_stream(
            api.stream_create(config.name),
            about,
            AnswerType.STREAM_CREATE,
            config,
            pedantic=pedantic,
            strict=strict,
            timeout=timeout,
        )
    )


def update_stream(
    api: ApiSubjects,
    config: StreamConfig,
    *,
    pedantic: bool = False,
    strict: bool = False,
    timeout: float = DEFAULT_TIMEOUT,
) -> Steps[StreamInfo]:
    """Replace the configuration of a stream: what ``config`` leaves unset goes back to the server's
    defaults.

    Start from what the server has, as :func:`change_stream` does, or settings of others are lost
    (B202).

    Raises:
        StreamNotFound: no such stream.
    """
    about = RequestContext(what="update stream", stream=config.name)
    return (
        yield from _put_stream(
            api.stream_update(config.name),
            about,
            AnswerType.STREAM_UPDATE,
            config,
            pedantic=pedantic,
            strict=strict,
            timeout=timeout,
        )
    )


def create_or_update_stream(
    api: ApiSubjects,
    config: StreamConfig,
    *,
    pedantic: bool = False,
    strict: bool = False,
    compare: bool = False,
    timeout: float = DEFAULT_TIMEOUT,
) -> Steps[StreamInfo]:
    """Update the stream, or make it if it is not there.

    Who makes or deletes it between the questions is met by asking anew, a few times; each question
    has its ``timeout``. With ``compare`` the configuration is read just before the update, and
    ``changed`` of the answer says what is different now; an update of somebody else's between the
    two is in it too.
    """

    def update() -> Steps[StreamInfo]:
        old = (yield from stream_info(api, config.name, timeout=timeout)) if compare else None
        new = yield from update_stream(
            api, config, pedantic=pedantic, strict=strict, timeout=timeout
        )
        return new if old is None else new.evolve(changed=changes(old.config, new.config))

    create = partial(create_stream, api, config, pedantic=pedantic, strict=strict, timeout=timeout)
    return (yield from _either(update, StreamNotFound, create, StreamExists))


def change_stream(
    api: ApiSubjects,
    stream: str,
    changes: Mapping[str, object],
    *,
    timeout: float = DEFAULT_TIMEOUT,
) -> Steps[StreamInfo]:
    """Read the configuration, change some settings, write it back with all that was read (B202)."""
    config = yield from stream_config(api, stream, timeout=timeout)
    changed = config.evolve(**changes)
    about = RequestContext(what="update stream", stream=changed.name)
    subject = api.stream_update(changed.name)
    return (
        yield from _put_stream(
            subject, about, AnswerType.STREAM_UPDATE, changed, timeout=timeout, old=config
        )
    )


def stream_config(
    api: ApiSubjects, stream: str, *, timeout: float = DEFAULT_TIMEOUT
) -> Steps[StreamConfig]:
    """The configuration of a stream, to be written again.

    Raises:
        StreamNotFound: no such stream.
        InvalidResponse: one that no stream can have.
    """
    info = yield from stream_info(api, stream, timeout=timeout)
    try:
        for each in info.config.subjects:
            unbroken(each, "subject of a stream")
    except InvalidSubject as error:
        raise InvalidResponse(f"stream info, stream {stream}: {error}") from None
    return info.config


def stream_info(
    api: ApiSubjects,
    stream: str,
    *,
    subjects_filter: str = "",
    deleted_details: bool = False,
    timeout: float = DEFAULT_TIMEOUT,
) -> Steps[StreamInfo]:
    """Configuration and state of a stream.

    Args:
        api: where.
        stream: its name.
        subjects_filter: also count messages of the subjects that match: of all of them, page by
            page.
        deleted_details: also list deleted sequences.
        timeout: seconds for all pages; there is one unless more than 100,000 subjects match.

    Raises:
        StreamNotFound: no such stream.
        InvalidSubject: a filter that is none.
        InvalidResponse: the stream has more subjects than the server will say.
        RequestTimeout: the pages did not end in time.
    """
    about = RequestContext(what="stream info", stream=stream)
    if subjects_filter:
        subscription_subject(subjects_filter)
    wishes = {"subjects_filter": subjects_filter, "deleted_details": deleted_details}
    body: dict[str, object] = {name: wish for name, wish in wishes.items() if wish}
    ask = _asking(api.stream_info(stream), about, AnswerType.STREAM_INFO)
    until = (yield from the_time()) + timeout
    info = StreamInfo.from_wire((yield from ask(body or None, timeout)), about)
    subjects = dict(info.state.subjects)
    page = info
    while page.state.subjects and len(subjects) < page.total:
        body["offset"] = page.offset + len(page.state.subjects)
        left = yield from time_left(until, about, len(subjects), page.total)
        page = StreamInfo.from_wire((yield from ask(body, left)), about)
        subjects.update(page.state.subjects)
    if len(subjects) < page.total:
        raise InvalidResponse(f"{about}: expected {page.total} subjects, got {len(subjects)}")
    return info.evolve(state=info.state.evolve(subjects=subjects)) if page is not info else info


def delete_stream(
    api: ApiSubjects, stream: str, *, timeout: float = DEFAULT_TIMEOUT
) -> Steps[None]:
    """Delete a stream with its consumers and messages.

    Raises:
        StreamNotFound: no such stream.
    """
    about = RequestContext(what="delete stream", stream=stream)
    yield from succeed(api.stream_delete(stream), about, AnswerType.STREAM_DELETE, timeout=timeout)


def stream_names(
    api: ApiSubjects, *, subject: str = "", timeout: float = DEFAULT_TIMEOUT
) -> Steps[Listing[str]]:
    """Names of all streams, or of those that store ``subject``. Raises `InvalidSubject`."""
    about = RequestContext(what="stream names", subject=subject)
    body = {"subject": subscription_subject(subject)} if subject else None
    ask = _asking(api.stream_names(), about, AnswerType.STREAM_NAMES)
    return (yield from pages(ask, about, "streams", name_of, body, timeout=timeout))


def streams(
    api: ApiSubjects, *, subject: str = "", timeout: float = DEFAULT_TIMEOUT
) -> Steps[Listing[StreamInfo]]:
    """All streams, or those that store ``subject``; what a cluster could not say now is named in
    the result.

    Raises:
        InvalidSubject: it is none.
    """
    about = RequestContext(what="list streams", subject=subject)
    body = {"subject": subscription_subject(subject)} if subject else None
    ask = _asking(api.stream_list(), about, AnswerType.STREAM_LIST)
    return (yield from pages(ask, about, "streams", _stream_of, body, timeout=timeout))


# ------------------------------------------------------------------------------------------------- consumers


def create_consumer(
    api: ApiSubjects,
    stream: str,
    config: ConsumerConfig,
    *,
    action: ConsumerAction = ConsumerAction.CREATE,
    pedantic: bool = False,
    strict: bool = False,
    timeout: float = DEFAULT_TIMEOUT,
) -> Steps[ConsumerInfo]:
    """Make a consumer, or update it, as ``action`` says. Without ``name`` and ``durable_name`` the
    server names it.

    Args:
        api: where.
        stream: its stream.
        config: what.
        action: 2.9 does not know it and takes every action for ``CREATE_OR_UPDATE``.
        pedantic: the server refuses what it would otherwise adjust (2.11; a member that older
            servers do not know).
        strict: raise :class:`ConfigIgnored` if a setting does not come back as it was sent.
        timeout: seconds.

    Raises:
        ConsumerExists: there is one with another configuration (``CREATE``).
        ConsumerDoesNotExist: there is none (``UPDATE``).
        StreamNotFound: no such stream.
        InvalidConfiguration: the server says what is wrong with it.
        InvalidConfig: it cannot work with any server; nothing was sent.
    """
    name = config.checked().name or config.durable_name or ""
    about = RequestContext(
        what=f"{action.value or 'create or update'} consumer", stream=stream, consumer=name
    )
    subject = api.consumer_create(stream, name, config.filter_subject or "")
    body: dict[str, object] = {"stream_name": stream, "config": config.to_wire()}
    if action is not ConsumerAction.CREATE_OR_UPDATE:
        body["action"] = action.value
    if pedantic:
        body["pedantic"] = True
    try:
        members = yield from request(
            subject,
            about,
            AnswerType.CONSUMER_CREATE,
            body=body,
            headers=_level(config),
            timeout=timeout,
        )
    except JetStreamError as error:
        raise blamed(error, check_consumer(config, pedantic=pedantic), features(config)) from None
    info = ConsumerInfo.from_wire(members, about)
    if strict:
        _compare(about, config, info.config)
    return info


def update_consumer(
    api: ApiSubjects,
    stream: str,
    config: ConsumerConfig,
    *,
    pedantic: bool = False,
    strict: bool = False,
    timeout: float = DEFAULT_TIMEOUT,
) -> Steps[ConsumerInfo]:
    """Replace the configuration of a consumer that is there; see :func:`create_consumer`."""
    update = ConsumerAction.UPDATE
    return create_consumer(
        api, stream, config, action=update, pedantic=pedantic, strict=strict, timeout=timeout
    )


def create_or_update_consumer(
    api: ApiSubjects,
    stream: str,
    config: ConsumerConfig,
    *,
    pedantic: bool = False,
    strict: bool = False,
    compare: bool = False,
    timeout: float = DEFAULT_TIMEOUT,
) -> Steps[ConsumerInfo]:
    """Make a consumer or update the one of that name; see :func:`create_consumer`.

    With ``compare`` it is read before, as :func:`create_or_update_stream` does it, and ``changed``
    of the answer says what is different now. One that the server names is always made.
    """
    name = config.checked().name or config.durable_name
    put = partial(
        create_consumer, api, stream, config, pedantic=pedantic, strict=strict, timeout=timeout
    )
    if not compare or not name:
        return (yield from put(action=ConsumerAction.CREATE_OR_UPDATE))

    def update() -> Steps[ConsumerInfo]:
        old = yield from consumer_info(api, stream, name, timeout=timeout)
        new = yield from put(action=ConsumerAction.UPDATE)
        return new.evolve(changed=changes(old.config, new.config))

    create = partial(put, action=ConsumerAction.CREATE)
    return (yield from _either(update, ConsumerNotFound, create, ConsumerExists))


def change_consumer(
    api: ApiSubjects,
    stream: str,
    consumer: str,
    changes: Mapping[str, object],
    *,
    timeout: float = DEFAULT_TIMEOUT,
) -> Steps[ConsumerInfo]:
    """Read the configuration, change some settings, write it back with all that was read (B202)."""
    info = yield from consumer_info(api, stream, consumer, timeout=timeout)
    # Servers before 2.10 do not say the name within the configuration.
    config = info.config if info.config.durable_name else info.config.evolve(name=info.name)
    return (yield from update_consumer(api, stream, config.evolve(**changes), timeout=timeout))


def consumer_info(
    api: ApiSubjects, stream: str, consumer: str, *, timeout: float = DEFAULT_TIMEOUT
) -> Steps[ConsumerInfo]:
    """Configuration and progress of a consumer.

    Raises:
        ConsumerNotFound: no such consumer.
        StreamNotFound: no such stream.
    """
    about = RequestContext(what="consumer info", stream=stream, consumer=consumer)
    members = yield from request(
        api.consumer_info(stream, consumer), about, AnswerType.CONSUMER_INFO, timeout=timeout
    )
    return ConsumerInfo.from_wire(members, about)


def delete_consumer(
    api: ApiSubjects, stream: str, consumer: str, *, timeout: float = DEFAULT_TIMEOUT
) -> Steps[None]:
    """Delete a consumer.

    Raises:
        ConsumerNotFound: no such consumer.
        StreamNotFound: no such stream.
    """
    about = RequestContext(what="delete consumer", stream=stream, consumer=consumer)
    yield from succeed(
        api.consumer_delete(stream, consumer), about, AnswerType.CONSUMER_DELETE, timeout=timeout
    )


def consumer_names(
    api: ApiSubjects, stream: str, *, timeout: float = DEFAULT_TIMEOUT
) -> Steps[Listing[str]]:
    """Names of all consumers of a stream."""
    about = RequestContext(what="consumer names", stream=stream)
    ask = _asking(api.consumer_names(stream), about, AnswerType.CONSUMER_NAMES)
    return (yield from pages(ask, about, "consumers", name_of, timeout=timeout))


def consumers(
    api: ApiSubjects, stream: str, *, timeout: float = DEFAULT_TIMEOUT
) -> Steps[Listing[ConsumerInfo]]:
    """All consumers of a stream; what a cluster could not say now is named in the result."""
    about = RequestContext(what="list consumers", stream=stream)
    ask = _asking(api.consumer_list(stream), about, AnswerType.CONSUMER_LIST)
    return (yield from pages(ask, about, "consumers", _consumer_of, timeout=timeout))


# ----------------------------------------------------------------------------------------------- what they share


def _put_stream(
    subject: str,
    about: RequestContext,
    expected: AnswerType,
    config: StreamConfig,
    *,
    pedantic: bool = False,
    strict: bool = False,
    timeout: float,
    old: StreamConfig | None = None,
) -> Steps[StreamInfo]:
    for each in config.subjects:
        unbroken(each, "subject of a stream")
    body = config.to_wire()
    if pedantic:
        body["pedantic"] = True
    try:
        members = yield from request(
            subject, about, expected, body=body, headers=_level(config), timeout=timeout
        )
    except JetStreamError as error:
        found = (
            check_stream(config, pedantic=pedantic)
            if old is None
            else check_stream_update(old, config)
        )
        raise blamed(error, found, features(config)) from None
    info = StreamInfo.from_wire(members, about)
    if strict:
        _compare(about, config, info.config)
    return info


def _either(
    update: Callable[[], Steps[T]],
    missing: type[JetStreamError],
    create: Callable[[], Steps[T]],
    exists: type[JetStreamError],
) -> Steps[T]:
    """Update what is there, or make what is not; whoever makes or deletes it in between is met by
    asking anew, a few times.
    """
    left = RACES
    while True:
        try:
            return (yield from update())
        except missing:
            pass
        try:
            return (yield from create())
        except exists:
            left -= 1
            if not left:
                raise


def _level(config: StreamConfig | ConsumerConfig) -> Headers | None:
    """The level that it needs, as the server is told; nothing if every server will do."""
    level = required_level(config)
    return Headers([(REQUIRED, str(level))]) if level else None


def _compare(about: RequestContext, sent: Document, returned: Document) -> None:
    ignored = unechoed(sent, returned)
    if ignored:
        names = ", ".join(ignored)
        raise ConfigIgnored(
            f"{about}: expected every setting to come back as sent, these did not: {names}", ignored
        )


def succeed(
    subject: str,
    about: RequestContext,
    expected: AnswerType,
    *,
    body: Mapping[str, object] | None = None,
    since: str = "",
    timeout: float = DEFAULT_TIMEOUT,
) -> Steps[dict[str, object]]:
    """A request that answers ``success``; see :func:`request`."""
    members = yield from request(subject, about, expected, body=body, since=since, timeout=timeout)
    if members["success"] is not True:
        raise InvalidResponse(
            f"{about}: expected success or an error, got {described(members['success'])}"
        )
    return members


def _asking(subject: str, about: RequestContext, expected: AnswerType) -> AskPage:
    return lambda body, seconds: request(subject, about, expected, body=body, timeout=seconds)


def _stream_of(entry: object, about: RequestContext) -> tuple[str, StreamInfo]:
    info = StreamInfo.from_wire(entry, about)
    return info.config.name, info


def _consumer_of(entry: object, about: RequestContext) -> tuple[str, ConsumerInfo]:
    info = ConsumerInfo.from_wire(entry, about)
    return info.name, info
