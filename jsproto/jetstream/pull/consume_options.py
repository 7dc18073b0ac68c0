"""How to consume: options that can be checked before anything is sent (ADR-37 "Consume
Configuration options").
"""

from __future__ import annotations

from enum import Enum
from typing import Final, cast, final

from attrs import Factory, evolve, field, frozen

from jsproto.core.numbers import check_number, in_seconds, seconds, seconds_or_none
from jsproto.errors.tree import InvalidConfig, shorten
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.enums import PriorityPolicy
from jsproto.jetstream.credit import Credit
from jsproto.jetstream.delivery.ack_options import UNKNOWN, AckOptions
from jsproto.jetstream.heartbeat import DEFAULT_FACTOR, HeartbeatMonitor
from jsproto.jetstream.pull.request import PullTemplate, checked_amount, heartbeat_within

DEFAULT_MESSAGES: Final = 500
#: ADR-37: heartbeats of a consume lie between these, in seconds.
_HEARTBEATS: Final = (0.5, 30.0)


def _at_most(value: int | None, limit: int | None) -> int | None:
    return value if value is None or limit is None else min(value, limit)


class OnDeleted(Enum):
    """What to do when the consumer is deleted under a consume, or is not there."""

    #: End with `ConsumerDeleted`, or with `ConsumerNotFound` or `StreamNotFound`.
    END = "END"
    #: Ask again with growing delays until somebody has made it anew.
    RETRY = "RETRY"


def _template_of(options: ConsumeOptions) -> PullTemplate:
    """The request that options stand for, if they can work."""
    for name in ("max_messages", "max_bytes", "within_bytes", "stop_after"):
        checked_amount(name, cast("int | None", getattr(options, name)))
    for name in ("threshold_messages", "threshold_bytes"):
        threshold = cast("int | None", getattr(options, name))
        if threshold is not None:
            check_number(name, threshold, (int,))
    if options.max_messages is not None and options.max_bytes is not None:
        raise InvalidConfig(
            "expected max_messages or max_bytes, got both (ADR-37); within_bytes bounds the bytes of a consume by messages"
        )
    if options.within_bytes is not None and options.max_bytes is not None:
        raise InvalidConfig("expected max_bytes or within_bytes, got both")
    seconds("expires", options.expires, least=1, above=False, finite=True)  # ADR-37
    seconds_or_none("idle_heartbeat", options.idle_heartbeat)
    seconds("inactive_threshold", options.inactive_threshold, above=False)
    seconds("retry_wait", options.retry_wait, finite=True)
    seconds("retry_wait_max", options.retry_wait_max, finite=True)
    least, most = _HEARTBEATS
    if not least <= options.heartbeat <= most:
        raise InvalidConfig(
            f"expected idle_heartbeat from {least} to {most} s (ADR-37), got {shorten(options.heartbeat)}"
        )
    if options.retry_wait > options.retry_wait_max:
        raise InvalidConfig(
            f"expected retry_wait <= retry_wait_max, got {options.retry_wait} and {options.retry_wait_max}"
        )
    # Credits and liveness refuse what they can't work with.
    options.credits()
    HeartbeatMonitor(options.heartbeat, options.heartbeat_factor)
    return options.request(options.expires)


@final
@frozen(kw_only=True)
class ConsumeOptions:
    """How to consume. Never changed by a consume (B064).

    Attributes:
        max_messages: the most messages asked for and buffered; 500 if neither this nor
            ``max_bytes`` is given.
        max_bytes: the most bytes asked for and buffered, as the server counts them; excludes
            ``max_messages`` (ADR-37).
        threshold_messages: ask again when so many are left; half of ``max_messages``.
        threshold_bytes: ask again when so many are left; half of ``max_bytes``.
        within_bytes: advanced: with ``max_messages``, bounds the bytes too; ``threshold_bytes``
            then belongs to it.
        stop_after: end when so many messages have come; no more are ever asked for.
        expires: seconds until the server ends one pull; from 1.
        idle_heartbeat: seconds; half of ``expires`` within 0.5 to 30 if left out.
        heartbeat_factor: how many heartbeats of silence are an alarm: 2 (ADR-37), 3 in ADR-15.
        on_deleted: what to do when the consumer is deleted, or is not there.
        retry_wait: seconds before asking again after a failure; doubles up to ``retry_wait_max``.
        watch_gaps: report holes in the consumer sequence; only of use to the one reader of a
            consumer.
        group: priority group, with ``min_pending``, ``min_ack_pending`` and ``priority`` (ADR-42).
        acking: what is known of acknowledgements, and wished.
        pinned: whether the consumer pins its group to one client, so that the last ``Nats-Pin-Id``
            of a message is the server's; ``None`` if it is not known: then the id is believed until
            the server refuses it.
        inactive_threshold: the consumer's in seconds, 0 if it is not known or there is none; for
            the words of an error.

    Raises:
        InvalidConfig: what can't work, before anything is sent.
    """

    max_messages: int | None = None
    max_bytes: int | None = None
    threshold_messages: int | None = None
    threshold_bytes: int | None = None
    within_bytes: int | None = None
    stop_after: int | None = None
    expires: float = field(default=30.0, converter=in_seconds)
    idle_heartbeat: float | None = field(default=None, converter=in_seconds)
    heartbeat_factor: float = DEFAULT_FACTOR
    on_deleted: OnDeleted = OnDeleted.END
    retry_wait: float = field(default=0.25, converter=in_seconds)
    retry_wait_max: float = field(default=8.0, converter=in_seconds)
    watch_gaps: bool = False
    group: str = ""
    min_pending: int = 0
    min_ack_pending: int = 0
    priority: int | None = None
    acking: AckOptions = UNKNOWN
    pinned: bool | None = None
    inactive_threshold: float = field(default=0.0, converter=in_seconds)
    template: PullTemplate = field(
        init=False, repr=False, eq=False, default=Factory(_template_of, takes_self=True)
    )

    @property
    def heartbeat(self) -> float:
        """Seconds between heartbeats."""
        if self.idle_heartbeat is not None:
            return self.idle_heartbeat
        least, most = _HEARTBEATS
        return max(heartbeat_within(most, self.expires), least)

    @property
    def may_pin(self) -> bool:
        """Whether the server may pin the group to one client, and so add a pin id to messages."""
        return bool(self.group) and self.pinned is not False

    def credits(self) -> tuple[Credit | None, Credit | None]:
        """The bounds in messages and in bytes; a consume by bytes has none in messages."""
        if self.max_bytes is not None:
            return None, Credit(self.max_bytes, self.threshold_bytes)
        messages = Credit(self.max_messages or DEFAULT_MESSAGES, self.threshold_messages)
        return messages, None if self.within_bytes is None else Credit(
            self.within_bytes, self.threshold_bytes
        )

    def within(self, config: ConsumerConfig) -> ConsumeOptions:
        """These options for a consumer that is known: never more than it could deliver or would
        allow.

        Messages are bounded by ``max_ack_pending`` and ``max_batch``, bytes by ``max_bytes``, the
        expiry by ``max_expires``. What is at hand too long for the ack_wait lowers the bound in
        messages later, see `Consume`.
        """
        limits = [
            each
            for each in (config.max_ack_pending, config.max_batch)
            if each is not None and each > 0
        ]
        messages, size, expires = self.max_messages, self.max_bytes, self.expires
        if size is None:
            messages = min(messages or DEFAULT_MESSAGES, *limits) if limits else messages
        elif config.max_bytes is not None and config.max_bytes > 0:
            size = min(size, config.max_bytes)
        if config.max_expires is not None and config.max_expires.total_seconds() >= 1:
            expires = min(expires, config.max_expires.total_seconds())
        heartbeat = self.idle_heartbeat
        return evolve(
            self,
            max_messages=messages,
            max_bytes=size,
            threshold_messages=_at_most(self.threshold_messages, messages),
            threshold_bytes=_at_most(
                self.threshold_bytes, size if self.within_bytes is None else None
            ),
            expires=expires,
            idle_heartbeat=heartbeat if heartbeat is None else heartbeat_within(heartbeat, expires),
            acking=self.acking.within(config),
            pinned=config.priority_policy == PriorityPolicy.PINNED_CLIENT,
            inactive_threshold=0.0
            if config.inactive_threshold is None
            else config.inactive_threshold.total_seconds(),
        )

    def request(self, expires: float) -> PullTemplate:
        """The request with another expiry."""
        return PullTemplate(
            expires=expires,
            idle_heartbeat=self.heartbeat
            if expires >= self.expires
            else heartbeat_within(self.heartbeat, expires),
            group=self.group,
            min_pending=self.min_pending,
            min_ack_pending=self.min_ack_pending,
            priority=self.priority,
        )
