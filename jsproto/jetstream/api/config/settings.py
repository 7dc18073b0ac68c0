"""Typed keyword settings of streams and consumers, an alternative to configuration objects.

A type checker checks ``js.create_stream(name="ORDERS", subjects=["ORDERS.*"])`` in the same way as
``StreamConfig(name="ORDERS", subjects=["ORDERS.*"])``. The classes here repeat the fields of the
two configurations, which document them; a test compares both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypedDict, TypeVar, cast

from attrs import NOTHING, fields

from jsproto.core.numbers import seconds
from jsproto.core.wording import meant
from jsproto.errors.tree import InvalidConfig, shorten
from jsproto.jetstream.api.config.cluster import Placement
from jsproto.jetstream.api.config.enums import (
    AckPolicy,
    DeliverPolicy,
    DiscardPolicy,
    PersistMode,
    PriorityPolicy,
    ReplayPolicy,
    RetentionPolicy,
    StorageType,
    StoreCompression,
)
from jsproto.jetstream.api.config.stream import (
    ConsumerLimits,
    Republish,
    StreamSource,
    SubjectTransform,
)
from jsproto.jetstream.api.document import Document
from jsproto.jetstream.api.timestamps import Timestamp

DocumentT = TypeVar("DocumentT", bound=Document)


class StreamSettings(TypedDict, total=False):
    """Fields of `jsproto.jetstream.api.config.stream.StreamConfig`."""

    name: str
    description: str | None
    subjects: Sequence[str]
    retention: RetentionPolicy | str | None
    max_consumers: int | None
    max_msgs: int | None
    max_bytes: int | None
    max_age: timedelta | float | None
    max_msgs_per_subject: int | None
    max_msg_size: int | None
    discard: DiscardPolicy | str | None
    discard_new_per_subject: bool | None
    storage: StorageType | str | None
    num_replicas: int | None
    no_ack: bool | None
    template_owner: str | None
    duplicate_window: timedelta | float | None
    placement: Placement | None
    mirror: StreamSource | None
    sources: Sequence[StreamSource]
    compression: StoreCompression | str | None
    first_seq: int | None
    subject_transform: SubjectTransform | None
    republish: Republish | None
    allow_direct: bool | None
    mirror_direct: bool | None
    sealed: bool | None
    deny_delete: bool | None
    deny_purge: bool | None
    allow_rollup_hdrs: bool | None
    consumer_limits: ConsumerLimits | None
    allow_msg_ttl: bool | None
    subject_delete_marker_ttl: timedelta | float | None
    allow_msg_counter: bool | None
    allow_atomic: bool | None
    allow_batched: bool | None
    allow_msg_schedules: bool | None
    persist_mode: PersistMode | str | None
    metadata: Mapping[str, str]
    extra: Mapping[str, object]


class ConsumerSettings(TypedDict, total=False):
    """Fields of `jsproto.jetstream.api.config.consumer.ConsumerConfig`."""

    durable_name: str | None
    name: str | None
    description: str | None
    deliver_policy: DeliverPolicy | str | None
    opt_start_seq: int | None
    opt_start_time: Timestamp | datetime | None
    ack_policy: AckPolicy | str | None
    ack_wait: timedelta | float | None
    max_deliver: int | None
    backoff: Sequence[timedelta | float]
    filter_subject: str | None
    filter_subjects: Sequence[str]
    replay_policy: ReplayPolicy | str | None
    rate_limit_bps: int | None
    sample_freq: str | int | None
    max_waiting: int | None
    max_ack_pending: int | None
    flow_control: bool | None
    headers_only: bool | None
    max_batch: int | None
    max_expires: timedelta | float | None
    max_bytes: int | None
    deliver_subject: str | None
    deliver_group: str | None
    idle_heartbeat: timedelta | float | None
    inactive_threshold: timedelta | float | None
    num_replicas: int | None
    mem_storage: bool | None
    direct: bool | None
    sourcing: bool | None
    metadata: Mapping[str, str]
    pause_until: Timestamp | datetime | None
    priority_groups: Sequence[str]
    priority_policy: PriorityPolicy | str | None
    priority_timeout: timedelta | float | None
    extra: Mapping[str, object]


class PushSettings(TypedDict, total=False):
    """Fields of `ConsumerConfig` that apply to push subscriptions.

    The subject and the queue of the subscription replace filter and group.
    """

    durable_name: str | None
    name: str | None
    description: str | None
    deliver_policy: DeliverPolicy | str | None
    opt_start_seq: int | None
    opt_start_time: Timestamp | datetime | None
    ack_policy: AckPolicy | str | None
    ack_wait: timedelta | float | None
    max_deliver: int | None
    backoff: Sequence[timedelta | float]
    filter_subjects: Sequence[str]
    replay_policy: ReplayPolicy | str | None
    rate_limit_bps: int | None
    sample_freq: str | int | None
    max_ack_pending: int | None
    flow_control: bool | None
    headers_only: bool | None
    deliver_subject: str | None
    idle_heartbeat: timedelta | float | None
    inactive_threshold: timedelta | float | None
    num_replicas: int | None
    mem_storage: bool | None
    metadata: Mapping[str, str]
    pause_until: Timestamp | datetime | None
    extra: Mapping[str, object]


class OrderedSettings(TypedDict, total=False):
    """Fields of `ConsumerConfig` that a user may set for an ordered consumer."""

    description: str | None
    deliver_policy: DeliverPolicy | str | None
    opt_start_seq: int | None
    opt_start_time: Timestamp | datetime | None
    filter_subject: str | None
    filter_subjects: Sequence[str]
    replay_policy: ReplayPolicy | str | None
    rate_limit_bps: int | None
    headers_only: bool | None
    inactive_threshold: timedelta | float | None
    metadata: Mapping[str, str]
    extra: Mapping[str, object]


def configured(
    kind: type[DocumentT], config: DocumentT | None, settings: Mapping[str, object]
) -> DocumentT:
    """Make a configuration from an object, from keyword settings, or from both.

    Raises:
        InvalidConfig: neither is given, a wrong type, an unknown setting, or a required setting
            is missing.
    """
    if config is not None and not isinstance(cast("object", config), kind):
        raise InvalidConfig(
            f"expected a {kind.__name__} or settings by name, got {shorten(config)}"
        )
    if config is not None:
        return config.evolve(**settings)
    known = {each.name: each for each in fields(kind)}
    unknown = sorted(settings.keys() - known.keys())
    if unknown:
        raise InvalidConfig(
            f"expected settings of {kind.__name__}, got {shorten(unknown)}{meant(unknown, known)}"
        )
    missing = [
        name for name, each in known.items() if each.default is NOTHING and name not in settings
    ]
    if missing:
        raise InvalidConfig(f"expected {kind.__name__} with {', '.join(missing)}, got none")
    return kind(**cast("Mapping[str, Any]", settings))


def seconds_of(timeout: float | timedelta | None, default: float, name: str = "timeout") -> float:
    """A timeout in seconds, or the default.

    Raises:
        InvalidConfig: it is no number of seconds and no `timedelta`, or is not above 0.
    """
    return default if timeout is None else seconds(name, timeout)
