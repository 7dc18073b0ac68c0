"""What an ordered consumer is on the server, checked before anything is sent (ADR-17, ADR-15
"Ordered consumers").

Theory. The consumer that the user sees is one; on the server it is a row of short-lived ones, each
with a name of its own and with the same configuration except where it starts
(`jsproto.jetstream.ordered.resume_point`). `OrderedOptions` is what stays: the configuration,
checked by `RULES`, and how it is read. A rule says which setting may only have one value, because
the consumer would not be ordered without it, or because the machine itself decides it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import Enum
from typing import Final, final

from attrs import Factory, field, frozen

from jsproto.core.numbers import check_number, in_seconds, seconds
from jsproto.errors.tree import InvalidConfig, shorten
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.enums import AckPolicy, DeliverPolicy, ReplayPolicy
from jsproto.jetstream.ordered.resume_point import StartPoint
from jsproto.jetstream.pull.consume_options import ConsumeOptions, OnDeleted
from jsproto.wire.subjects import consumer_name

#: Seconds between heartbeats: ADR-17 and WIRE agree on 5.
HEARTBEAT: Final = 5.0
#: So long the server keeps an incarnation that nobody reads: a reader may pause, a crash leaves
#: nothing for ever.
INACTIVE: Final = timedelta(minutes=5)
#: With ack policy none it means nothing; ADR-17 says 22 hours.
ACK_WAIT: Final = timedelta(hours=22)

#: ``(setting, the only value that may be given, why)``; what is not given is always right.
RULES: Final[tuple[tuple[str, object, str], ...]] = (
    ("durable_name", None, "an ordered consumer is never durable"),
    ("name", None, "each incarnation has a name of its own, name_prefix begins them all"),
    ("ack_policy", AckPolicy.NONE, "nothing is acknowledged, the position is kept here"),
    ("ack_wait", ACK_WAIT, "nothing is acknowledged"),
    ("max_deliver", 1, "nothing is delivered twice, it is read again by a new incarnation"),
    ("backoff", (), "nothing is delivered twice"),
    ("max_ack_pending", None, "nothing is acknowledged"),
    ("sample_freq", None, "nothing is acknowledged"),
    ("deliver_subject", None, "each incarnation has an inbox of its own"),
    ("deliver_group", None, "the order would be lost in a queue group"),
    ("mem_storage", True, "an incarnation is not worth a file"),
    ("num_replicas", 1, "an incarnation that is lost is made anew"),
    ("flow_control", None, "the form of the consumer decides it"),
    ("idle_heartbeat", None, "it belongs to the way of reading, not to the configuration"),
    ("max_batch", None, "nobody else pulls"),
    ("max_expires", None, "nobody else pulls"),
    ("max_bytes", None, "nobody else pulls"),
    ("max_waiting", None, "nobody else pulls"),
    ("priority_groups", (), "there is one reader"),
    ("priority_policy", None, "there is one reader"),
    ("priority_timeout", None, "there is one reader"),
    ("pause_until", None, "a paused incarnation can't be told from a silent one"),
)

#: Which start field a policy needs; the others must not be there (server 10094).
_START_FIELDS: Final[Mapping[str, str]] = {
    DeliverPolicy.BY_START_SEQUENCE: "opt_start_seq",
    DeliverPolicy.BY_START_TIME: "opt_start_time",
}


class SourceKind(Enum):
    """How the messages come."""

    #: They are asked for: bounded by what the reader wants to have at hand.
    PULL = "PULL"
    #: The server sends them: bounded by its flow control (ADR-17's first form).
    PUSH = "PUSH"


def _checked(options: OrderedOptions) -> ConsumerConfig:
    """The configuration that all incarnations share, if it can be had."""
    config = options.config
    for name, allowed, why in RULES:
        value: object = getattr(config, name)
        if value is not None and value != allowed:
            said = "none" if allowed in (None, ()) else repr(allowed)
            raise InvalidConfig(
                f"expected {said} as {name} of an ordered consumer, got {shorten(value)}: {why}"
            )
    _check_start(config)
    _check_reading(options)
    inactive = config.inactive_threshold
    if inactive is not None and inactive <= timedelta(0):
        raise InvalidConfig(f"expected inactive_threshold above 0, got {inactive}")
    if config.deliver_policy == DeliverPolicy.LAST_PER_SUBJECT and not (
        config.filter_subject or config.filter_subjects
    ):
        config = config.evolve(filter_subject=">")  # the server wants one here (10094)
    if options.form is SourceKind.PUSH:
        heartbeat = timedelta(seconds=options.pulls.heartbeat)
        config = config.evolve(flow_control=True, idle_heartbeat=heartbeat)
    return config.checked().evolve(
        ack_policy=AckPolicy.NONE,
        ack_wait=ACK_WAIT,
        max_deliver=1,
        mem_storage=True,
        num_replicas=1,
        inactive_threshold=INACTIVE if inactive is None else inactive,
    )


def _check_start(config: ConsumerConfig) -> None:
    policy = str(config.deliver_policy or DeliverPolicy.ALL)
    needed = _START_FIELDS.get(policy)
    for name in _START_FIELDS.values():
        given = getattr(config, name) is not None
        if given != (name == needed):
            raise InvalidConfig(
                f"expected {name} with deliver_policy {policy}, got none"
                if name == needed
                else f"expected no {name} with deliver_policy {policy}, got {shorten(getattr(config, name))}"
            )
    if config.opt_start_seq is not None and config.opt_start_seq < 1:
        raise InvalidConfig(f"expected opt_start_seq from 1, got {config.opt_start_seq}")


def _check_reading(options: OrderedOptions) -> None:
    pulls = options.pulls
    if pulls.group or pulls.on_deleted is not OnDeleted.END or pulls.watch_gaps:
        raise InvalidConfig(
            "expected no group, on_deleted or watch_gaps for the pulls of an ordered consumer: it has one reader, "
            "always comes back, and always watches gaps"
        )
    seconds("create_timeout", options.create_timeout, finite=True)
    check_number("first_attempts", options.first_attempts, (int,), least=1)
    if options.name_prefix:
        consumer_name(options.name_prefix)


@final
@frozen(kw_only=True)
class OrderedOptions:
    """An ordered consumer. Never changed by one.

    Attributes:
        config: filters, start, replay, headers only, inactive threshold (5 minutes if left out),
            description, metadata.
        form: whether to pull, or to be pushed to.
        pulls: how to read: bounds, threshold and expiry of pulls; heartbeat (5 s here) and delays
            in both forms.
        until_caught_up: end when everything that was there at the beginning has been handed out.
        first_attempts: how often the first creation is tried before it fails; later ones never give
            up (B076).
        create_timeout: seconds that a creation or deletion waits for its answer.
        name_prefix: begins the name of each incarnation.
        shared: the configuration that all incarnations share, made from ``config``.

    Raises:
        InvalidConfig: what no ordered consumer can have (`RULES`), or what can't work.
    """

    config: ConsumerConfig = field(factory=ConsumerConfig)
    pulls: ConsumeOptions = field(factory=lambda: ConsumeOptions(idle_heartbeat=HEARTBEAT))
    form: SourceKind = SourceKind.PULL
    until_caught_up: bool = False
    first_attempts: int = 10
    create_timeout: float = field(default=5.0, converter=in_seconds)
    name_prefix: str = ""
    shared: ConsumerConfig = field(
        init=False, repr=False, eq=False, default=Factory(_checked, takes_self=True)
    )

    @property
    def start(self) -> StartPoint:
        """Where the user wants to begin."""
        return StartPoint.of(self.config)

    @property
    def filters(self) -> tuple[str, ...]:
        """Which subjects are read, ``>`` for all."""
        config = self.shared
        return tuple(config.filter_subjects) or (config.filter_subject or ">",)

    @property
    def paced(self) -> bool:
        """The server spaces messages as they once came, and is silent in between."""
        return self.config.replay_policy == ReplayPolicy.ORIGINAL

    @property
    def hurried(self) -> bool:
        """The server sends what it has: if it waits, there is nothing."""
        return not self.paced and not self.config.rate_limit_bps
