"""How a subscription finds its consumer, or makes it: the subscribe workflow of ADR-15 as
generators.

Theory. What is asked is a value, `Subscribe`, refused at once if it can't work. The rest is
questions to the API, in three pieces, because between them the interest must be stated (ADR-15: the
subscription is made before the consumer, which is how the server sees that a durable is in use, and
how the first messages are not lost):

    locate     which stream, and is the consumer there?         then: listen on its deliver subject,
    or on a fresh one ensure     make it; if somebody was faster, look again      then: listen on
    its deliver subject instead (delete)   the plain procedure, at the end, if we own it

`bind_pull` is the same for a subscription that pulls, which has no interest to state, in one piece.

Owner. ADR-15 deletes what the library has made; its own note says that this takes a shared consumer
away from others. So what is deleted at the end is what we have made *and* own: ``owner`` says it,
and if nothing is said we own consumers that nobody else can know of, those without a name given by
us, and no others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, NoReturn, cast, final

from attrs import Factory, evolve, field, frozen

from jsproto.core.conversation.procedure import Steps
from jsproto.errors.tree import InvalidConfig, ServerError, shorten
from jsproto.jetstream.api.codecs import comparable
from jsproto.jetstream.api.config.consumer import ConsumerConfig, ConsumerInfo
from jsproto.jetstream.api.config.enums import AckPolicy, ConsumerAction
from jsproto.jetstream.api.errors import ConsumerExists, ConsumerNotFound, RequestContext
from jsproto.jetstream.api.requests.manage import (
    DEFAULT_TIMEOUT,
    consumer_info,
    create_consumer,
    stream_names,
)
from jsproto.jetstream.api.requests.paging import said_name
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.push.subscribe_checks import (
    CheckPhase,
    Condition,
    ConfigMismatch,
    NoMatchingStream,
    RejectedSubscribe,
    SubscribeRefused,
    refusal,
)
from jsproto.wire.subjects import (
    consumer_name,
    publish_subject,
    queue_name,
    stream_name,
    subscription_subject,
)

#: Settings that are judged by checks of their own, or that name what was looked up.
_NOT_COMPARED: Final = frozenset(
    {"name", "deliver_subject", "deliver_group", "filter_subject", "filter_subjects"}
)


def _config_of(asked: Subscribe) -> ConsumerConfig:
    return ConsumerConfig() if asked.settings is None else asked.settings


@final
@frozen(kw_only=True)
class Subscribe:
    """What is subscribed to.

    Attributes:
        subject: what to receive; the stream is found by it, and the consumer filters by it.
        stream: the stream, if it is known.
        consumer: an existing consumer to bind to; it must be there.
        queue: the queue group to share the messages in. If no consumer is named, it is the durable
            name too.
        settings: the consumer to make if it is not there, and to compare with if it is.
        pull: whether it pulls.
        owner: whether the consumer, if it is made here, is deleted at the end; ``None``: if it has
            no name of ours.
        config: the settings, never ``None``.

    Raises:
        SubscribeRefused: a check of ADR-15, see `jsproto.jetstream.push.subscribe_checks`.
        InvalidConfig: contradictions, such as two names or two filters.
        InvalidSubject: a name or subject that nothing can have.
    """

    subject: str = ""
    stream: str = ""
    consumer: str = ""
    queue: str = ""
    settings: ConsumerConfig | None = None
    pull: bool = False
    owner: bool | None = None
    config: ConsumerConfig = field(
        init=False, repr=False, eq=False, default=Factory(_config_of, takes_self=True)
    )

    def __attrs_post_init__(self) -> None:
        config = self.config
        object.__setattr__(self, "queue", _one("queue", self.queue, config.deliver_group))
        object.__setattr__(self, "subject", _one("subject", self.subject, config.filter_subject))
        _one("consumer", self.consumer, config.durable_name or config.name)
        if self.queue and self.pull:
            raise InvalidConfig(
                f"expected no queue for a pull subscription, got {shorten(self.queue)}"
            )
        if self.subject and config.filter_subjects:
            raise InvalidConfig(
                f"expected a subject or filter_subjects, got both: {shorten(self.subject)} and {shorten(config.filter_subjects)}"
            )
        config.checked()
        for given, check in (
            (self.subject, subscription_subject),
            (self.stream, stream_name),
            (self.queue, queue_name),
            (self.name, consumer_name),
            (config.deliver_subject or "", publish_subject),
        ):
            if given:
                check(given)
        refused = refusal(CheckPhase.ASKED, self.facts(), self.values())
        if refused is not None:
            raise cast("type[SubscribeRefused]", refused.check.error)(refused.message)

    @property
    def durable(self) -> str:
        """The durable name: as asked, or the queue's (ADR-15 "Queue name"), or none."""
        config = self.config
        named = self.consumer or config.name
        return config.durable_name or ("" if named else self.queue)

    @property
    def name(self) -> str:
        """The consumer to look for, ``""`` if it is to be made without a look."""
        return self.consumer or self.durable or self.config.name or ""

    @property
    def owned(self) -> bool:
        """Whether what we make goes with us."""
        return not self.name if self.owner is None else self.owner

    def created(self, deliver: str) -> ConsumerConfig:
        """The consumer to make; ``deliver`` is where it pushes to, ``""`` if it is pulled."""
        config = self.config
        policy = AckPolicy.EXPLICIT if config.ack_policy is None else config.ack_policy
        return config.evolve(
            durable_name=self.durable or None,
            ack_policy=policy,
            filter_subject=self.subject or None,
            deliver_subject=deliver or None,
            deliver_group=self.queue or None,
        )

    def facts(self) -> Iterator[Condition]:
        """What is true about what was asked."""
        config = self.config
        said = (
            (Condition.PULL, self.pull),
            (Condition.QUEUE, self.queue),
            (Condition.NAMED, self.consumer),
            (Condition.NO_SUBJECT, not self.subject),
            (Condition.NO_STREAM, not self.stream),
            (Condition.ASKED_HEARTBEAT, config.idle_heartbeat),
            (Condition.ASKED_FLOW_CONTROL, config.flow_control),
            (Condition.ASKED_DELIVER_SUBJECT, config.deliver_subject),
            (Condition.ASKED_NO_SINGLE_ACKS, config.ack_policy in {AckPolicy.NONE, AckPolicy.ALL}),
        )
        return (fact for fact, true in said if true)

    def values(self, **more: object) -> Mapping[str, object]:
        """What messages can name, shortened."""
        config = self.config
        values: dict[str, object] = {
            "subject": self.subject,
            "consumer": self.name,
            "queue": self.queue,
            "heartbeat": config.idle_heartbeat,
            "ack_policy": str(config.ack_policy),
            "asked_deliver": config.deliver_subject,
            **more,
        }
        return {name: shorten(value, 200) for name, value in values.items()}


def _one(what: str, given: str, setting: str | None) -> str:
    """What was said in one of two places."""
    if given and setting and given != setting:
        raise InvalidConfig(
            f"expected one {what}, got {shorten(given)} and, in the settings, {shorten(setting)}"
        )
    return given or setting or ""


class ConsumerLookup(NamedTuple):
    """Where the consumer is, or is to be made: ``info`` is ``None`` if it is not there."""

    stream: str
    info: ConsumerInfo | None


class BoundConsumer(NamedTuple):
    """A consumer to read from, and whether it was made here."""

    info: ConsumerInfo
    created: bool


class BoundPullConsumer(NamedTuple):
    """A consumer to pull from. ``info`` is ``None`` if the server did not want to tell."""

    stream: str
    consumer: str
    info: ConsumerInfo | None
    created: bool


# ------------------------------------------------------------------------------------------------ the pieces


def locate(
    api: ApiSubjects, asked: Subscribe, *, timeout: float = DEFAULT_TIMEOUT
) -> Steps[ConsumerLookup]:
    """Find the stream, and the consumer if it has a name.

    Raises:
        NoMatchingStream: not exactly one stream stores the subject.
        ConsumerNotFound: the consumer that was named is not there.
        SubscribeRefused: it is there, and another one than asked for.
    """
    stream = asked.stream or (yield from _stream(api, asked, timeout))
    if not asked.name:
        return ConsumerLookup(stream, None)
    try:
        info = yield from consumer_info(api, stream, asked.name, timeout=timeout)
    except ConsumerNotFound:
        if (
            refusal(CheckPhase.LOOKUP, [*asked.facts(), Condition.NOT_FOUND], asked.values())
            is not None
        ):
            raise
        return ConsumerLookup(stream, None)
    check_found(asked, info)
    return ConsumerLookup(stream, info)


def ensure(
    api: ApiSubjects,
    asked: Subscribe,
    stream: str,
    deliver: str,
    *,
    timeout: float = DEFAULT_TIMEOUT,
) -> Steps[BoundConsumer]:
    """Make the consumer; or, if somebody was faster, find it.

    Raises:
        SubscribeRefused: somebody was faster, and it can't be shared.
        JetStreamError: the server refuses to make it.
    """
    config = asked.created(deliver)
    try:
        info = yield from create_consumer(
            api, stream, config, action=ConsumerAction.CREATE, timeout=timeout
        )
    except ConsumerExists:
        if not asked.name:
            raise
        info = yield from consumer_info(api, stream, asked.name, timeout=timeout)
        check_found(asked, info, raced=True)
        return BoundConsumer(info, created=False)
    return BoundConsumer(info, created=True)


def bind_pull(
    api: ApiSubjects, asked: Subscribe, *, timeout: float = DEFAULT_TIMEOUT
) -> Steps[BoundPullConsumer]:
    """The pull form: the name of a consumer to pull from, found or made.

    A lookup that fails does not matter where the consumer was named: the account may be allowed to
    pull and not to ask. After a lost race only that it pulls at all is checked (ADR-15).

    Raises:
        InvalidConfig: ``asked`` does not pull.
        NoMatchingStream, SubscribeRefused, JetStreamError: as `locate` and `ensure`.
    """
    if not asked.pull:
        raise InvalidConfig("expected a subscription that pulls, got one that is pushed")
    stream = asked.stream or (yield from _stream(api, asked, timeout))
    named = evolve(asked, stream=stream)
    try:
        located = yield from locate(api, named, timeout=timeout)
    except ServerError:
        if not asked.consumer:
            raise
        return BoundPullConsumer(stream, asked.consumer, None, created=False)
    info = located.info
    if info is not None:
        return BoundPullConsumer(stream, info.name, info, created=False)
    if asked.consumer:
        return BoundPullConsumer(stream, asked.consumer, None, created=False)
    bound = yield from ensure(api, named, stream, "", timeout=timeout)
    return BoundPullConsumer(stream, bound.info.name, *bound)


def _stream(api: ApiSubjects, asked: Subscribe, timeout: float) -> Steps[str]:
    names = yield from stream_names(api, subject=asked.subject, timeout=timeout)
    if len(names) == 1:
        return said_name(names[0], RequestContext(what="subscribe", subject=asked.subject))
    refused = refusal(CheckPhase.STREAM, [Condition.NOT_ONE_STREAM], asked.values(streams=names))
    raise NoMatchingStream(cast("RejectedSubscribe", refused).message, names)


# ------------------------------------------------------------------------------------------------ what was found


def check_found(asked: Subscribe, info: ConsumerInfo, *, raced: bool = False) -> None:
    """Hold a consumer that is there against what was asked.

    Raises:
        SubscribeRefused: the first check that it does not pass.
    """
    found = info.config
    filters = tuple(found.filter_subjects) or (
        (found.filter_subject,) if found.filter_subject else ()
    )
    wanted = (asked.subject,) if asked.subject else tuple(asked.config.filter_subjects)
    differences = tuple(_differences(asked.config, found))
    said = (
        (Condition.RACED, raced),
        (Condition.FOUND_PUSH, found.deliver_subject),
        (Condition.FOUND_BOUND, info.push_bound),
        (Condition.FOUND_GROUP, found.deliver_group),
        (Condition.GROUP_DIFFERS, found.deliver_group != asked.queue),
        (Condition.FILTER_DIFFERS, wanted and filters and set(wanted) != set(filters)),
        (Condition.FOUND_HEARTBEAT, found.idle_heartbeat),
        (Condition.FOUND_FLOW_CONTROL, found.flow_control),
        (Condition.CONFIG_DIFFERS, differences),
    )
    facts = [*asked.facts(), *(fact for fact, true in said if true)]
    values = asked.values(
        subject=", ".join(wanted),
        consumer=info.name,
        deliver=found.deliver_subject,
        group=found.deliver_group,
        filters=", ".join(filters),
        found_heartbeat=found.idle_heartbeat,
        differences="; ".join(f"{name} {was!r} for {is_!r}" for name, is_, was in differences),
    )
    refused = refusal(CheckPhase.FOUND, facts, values)
    if refused is not None:
        _refuse(refused, differences)


def _refuse(
    refused: RejectedSubscribe, differences: tuple[tuple[str, object, object], ...]
) -> NoReturn:
    error = cast("type[SubscribeRefused]", refused.check.error)
    if error is ConfigMismatch:
        raise ConfigMismatch(refused.message, differences)
    raise error(refused.message)


def _differences(
    asked: ConsumerConfig, found: ConsumerConfig
) -> Iterator[tuple[str, object, object]]:
    """Settings that were asked for and are otherwise: name, asked, found. What was not asked for is
    never different.
    """
    there = comparable(found.to_wire())
    for name, value in comparable(asked.to_wire()).items():
        if name in _NOT_COMPARED:
            continue
        is_ = there.get(name)
        if isinstance(value, dict) and isinstance(is_, dict):
            # Somebody else may have added labels.
            is_ = {
                key: cast("dict[str, object]", is_).get(key)
                for key in cast("dict[str, object]", value)
            }
        if value != is_ and (value or is_):
            yield name, value, is_
