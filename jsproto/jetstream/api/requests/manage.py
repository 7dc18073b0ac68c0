"""Requests for streams and consumers: create, update, read, delete, list.

Each request is a generator. It sends the request, checks the answer, and may repeat it. It returns
a typed value, or raises one typed error that contains the request:

- ``JetStreamError`` and its subclasses: the server answered with an error, see
  :mod:`jsproto.jetstream.api.errors`. For a configuration the error names the setting, if it is
  known (:mod:`jsproto.jetstream.api.validation.error_setting`).
- ``JetStreamNotEnabled``, also for no responders (503): JetStream is off, or the domain does not
  exist.
- ``InvalidResponse``: the answer does not belong to this request.
- ``RequestTimeout``, ``ConnectionLost``, ``ConnectionClosed``, ``PermissionViolation``: thrown into
  the generator by its runner.

Servers do not answer requests that they do not know, not even with 503. So every request has a
timeout.
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

#: Default seconds that a request waits for its answer.
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
    """Send one API request and return the members of its answer; all requests use it.

    Args:
        subject: the subject of the request.
        about: the request in words, for errors.
        expected: the type of answer to this request.
        body: members of the request; ``None`` sends an empty payload, which some requests need
            (10038).
        headers: headers of the request, such as the required API level.
        since: the first server version that answers it. Older ones stay silent, so the timeout
            error mentions the version.
        timeout: seconds.
    """
    payload = b"" if body is None else to_json(body)
    try:
        reply = yield Call(subject, payload, headers, timeout)
    except NoResponders as error:
        text = (
            f"expected a JetStream API on {subject!r}, got no responders: "
            "JetStream is off or starting, or the domain does not exist"
        )
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
    """Return usage and limits of the account: INFO."""
    about = RequestContext(what="account info")
    members = yield from request(
        api.account_info(), about, AnswerType.ACCOUNT_INFO, timeout=timeout
    )
    return AccountInfo.from_wire(members, about)


# ------------------------------------------------------------------ streams


def create_stream(
    api: ApiSubjects,
    config: StreamConfig,
    *,
    pedantic: bool = False,
    strict: bool = False,
    timeout: float = DEFAULT_TIMEOUT,
) -> Steps[StreamInfo]:
    """Create a stream; succeeds too if it exists with the same configuration.

    Args:
        api: subjects of the API.
        config: the configuration.
        pedantic: the server rejects settings that it would otherwise adjust (2.11; older servers
            ignore this member).
        strict: raise :class:`ConfigIgnored` if a setting does not return with the value sent.
        timeout: seconds.

    Raises:
        StreamExists: the stream exists with another configuration.
        ConfigurationRefused: the server rejects the configuration; the text says why.
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
    """Replace the configuration of a stream; missing settings get the server's defaults.

    Start from the existing configuration, as :func:`change_stream` does. Otherwise the settings
    of other clients are lost.

    Raises:
        StreamNotFound: the stream does not exist.
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
    """Update a stream, or create it if it does not exist.

    If another client creates or deletes it meanwhile, the request is repeated a few times. Each
    request has its own ``timeout``. With ``compare`` the old configuration is read just before
    the update. Then ``changed`` of the answer lists the settings that differ, including changes
    by another client between the two requests.
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
    """Read the configuration, change some settings, and write all of it back."""
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
    """Return the configuration of a stream, in order to write it back.

    Raises:
        StreamNotFound: the stream does not exist.
        InvalidResponse: a configuration that no stream can have.
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
    """Return configuration and state of a stream.

    Args:
        api: subjects of the API.
        stream: its name.
        subjects_filter: also count the messages of each matching subject, page by page.
        deleted_details: also list deleted sequences.
        timeout: seconds for all pages; more than 100,000 matching subjects need several.

    Raises:
        StreamNotFound: the stream does not exist.
        InvalidSubject: an invalid filter.
        InvalidResponse: the server lists fewer subjects than it counts.
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
        StreamNotFound: the stream does not exist.
    """
    about = RequestContext(what="delete stream", stream=stream)
    yield from succeed(api.stream_delete(stream), about, AnswerType.STREAM_DELETE, timeout=timeout)


def stream_names(
    api: ApiSubjects, *, subject: str = "", timeout: float = DEFAULT_TIMEOUT
) -> Steps[Listing[str]]:
    """Return the names of all streams, or of those that store ``subject``."""
    about = RequestContext(what="stream names", subject=subject)
    body = {"subject": subscription_subject(subject)} if subject else None
    ask = _asking(api.stream_names(), about, AnswerType.STREAM_NAMES)
    return (yield from pages(ask, about, "streams", name_of, body, timeout=timeout))


def streams(
    api: ApiSubjects, *, subject: str = "", timeout: float = DEFAULT_TIMEOUT
) -> Steps[Listing[StreamInfo]]:
    """Return all streams, or those that store ``subject``.

    The result also names streams whose state the cluster cannot tell now.

    Raises:
        InvalidSubject: an invalid subject.
    """
    about = RequestContext(what="list streams", subject=subject)
    body = {"subject": subscription_subject(subject)} if subject else None
    ask = _asking(api.stream_list(), about, AnswerType.STREAM_LIST)
    return (yield from pages(ask, about, "streams", _stream_of, body, timeout=timeout))


# ------------------------------------------------------------------ consumers


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
    """Create or update a consumer, as ``action`` says.

    Without ``name`` and ``durable_name`` the server generates a name.

    Args:
        api: subjects of the API.
        stream: its stream.
        config: the configuration.
        action: what to do; 2.9 does not know it and always does ``CREATE_OR_UPDATE``.
        pedantic: the server rejects settings that it would otherwise adjust (2.11; older servers
            ignore this member).
        strict: raise :class:`ConfigIgnored` if a setting does not return with the value sent.
        timeout: seconds.

    Raises:
        ConsumerExists: the consumer exists with another configuration (``CREATE``).
        ConsumerNotFound: the consumer does not exist (``UPDATE``).
        StreamNotFound: the stream does not exist.
        ConfigurationRefused: the server rejects the configuration; the text says why.
        InvalidConfig: the configuration works with no server; nothing was sent.
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
    """Replace the configuration of an existing consumer; see :func:`create_consumer`."""
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
    """Create a consumer, or update the one with that name; see :func:`create_consumer`.

    With ``compare`` the old configuration is read first, as in :func:`create_or_update_stream`,
    and ``changed`` of the answer lists the settings that differ. Without a name the server always
    creates a consumer.
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
    """Read the configuration, change some settings, and write all of it back."""
    info = yield from consumer_info(api, stream, consumer, timeout=timeout)
    # Servers before 2.10 do not send the name within the configuration.
    config = info.config if info.config.durable_name else info.config.evolve(name=info.name)
    return (yield from update_consumer(api, stream, config.evolve(**changes), timeout=timeout))


def consumer_info(
    api: ApiSubjects, stream: str, consumer: str, *, timeout: float = DEFAULT_TIMEOUT
) -> Steps[ConsumerInfo]:
    """Return configuration and progress of a consumer.

    Raises:
        ConsumerNotFound: the consumer does not exist.
        StreamNotFound: the stream does not exist.
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
        ConsumerNotFound: the consumer does not exist.
        StreamNotFound: the stream does not exist.
    """
    about = RequestContext(what="delete consumer", stream=stream, consumer=consumer)
    yield from succeed(
        api.consumer_delete(stream, consumer), about, AnswerType.CONSUMER_DELETE, timeout=timeout
    )


def consumer_names(
    api: ApiSubjects, stream: str, *, timeout: float = DEFAULT_TIMEOUT
) -> Steps[Listing[str]]:
    """Return the names of all consumers of a stream."""
    about = RequestContext(what="consumer names", stream=stream)
    ask = _asking(api.consumer_names(stream), about, AnswerType.CONSUMER_NAMES)
    return (yield from pages(ask, about, "consumers", name_of, timeout=timeout))


def consumers(
    api: ApiSubjects, stream: str, *, timeout: float = DEFAULT_TIMEOUT
) -> Steps[Listing[ConsumerInfo]]:
    """Return all consumers of a stream; names without an answer are in the result too."""
    about = RequestContext(what="list consumers", stream=stream)
    ask = _asking(api.consumer_list(stream), about, AnswerType.CONSUMER_LIST)
    return (yield from pages(ask, about, "consumers", _consumer_of, timeout=timeout))


# ------------------------------------------------------------------ common functions


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
    """Update, or create if it is missing.

    If another client creates or deletes it meanwhile, the requests are repeated a few times.
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
    """The header with the required API level; ``None`` if every server will do."""
    level = required_level(config)
    return Headers([(REQUIRED, str(level))]) if level else None


def _compare(about: RequestContext, sent: Document, returned: Document) -> None:
    ignored = unechoed(sent, returned)
    if ignored:
        names = ", ".join(ignored)
        raise ConfigIgnored(
            f"{about}: expected every setting to come back as sent, got other values of: {names}",
            ignored,
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
    """Send a request whose answer has ``success``; see :func:`request`."""
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
