"""Consumers in the API: configuration, progress and priority groups (servers 2.9 to 2.15)."""

# ruff: noqa: RUF009 - `member` returns an attrs `field` with the codec in its metadata

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import final

from attrs import field, frozen

from jsproto.errors.tree import InvalidConfig
from jsproto.jetstream.api.codecs import (
    DURATION,
    DURATIONS,
    FLAG,
    GIVEN_TIME,
    INTEGER,
    LABELS,
    NAME,
    OPTIONAL_NAME,
    PERCENT,
    TEXT,
    TEXTS,
    TIME,
    EnumCodec,
    ListCodec,
)
from jsproto.jetstream.api.config.cluster import ClusterInfo
from jsproto.jetstream.api.config.diff import Difference
from jsproto.jetstream.api.config.enums import (
    AckPolicy,
    DeliverPolicy,
    PriorityPolicy,
    ReplayPolicy,
)
from jsproto.jetstream.api.document import Document, Nested, mapping, member, of
from jsproto.jetstream.api.timestamps import Timestamp
from jsproto.wire.subjects import unbroken


@final
@frozen(kw_only=True, repr=False)
class ConsumerConfig(Document):
    """Configuration of a consumer. ``None`` leaves a setting to the server.

    A consumer with ``durable_name`` persists. With ``name`` alone the server deletes it after
    ``inactive_threshold`` without use. A consumer with ``deliver_subject`` is a push consumer, all
    others are pull consumers.

    Raises:
        InvalidConfig: a value of the wrong form; the message names the setting.
    """

    durable_name: str | None = member(OPTIONAL_NAME)
    name: str | None = member(OPTIONAL_NAME)
    description: str | None = member(TEXT)
    deliver_policy: DeliverPolicy | str | None = member(EnumCodec(DeliverPolicy))
    opt_start_seq: int | None = member(INTEGER)
    opt_start_time: Timestamp | datetime | None = member(GIVEN_TIME)
    ack_policy: AckPolicy | str | None = member(EnumCodec(AckPolicy))
    ack_wait: timedelta | None = member(DURATION)
    max_deliver: int | None = member(INTEGER)
    backoff: Sequence[timedelta] = member(DURATIONS, ())
    filter_subject: str | None = member(TEXT)
    filter_subjects: Sequence[str] = member(TEXTS, ())
    replay_policy: ReplayPolicy | str | None = member(EnumCodec(ReplayPolicy))
    rate_limit_bps: int | None = member(INTEGER)
    sample_freq: str | int | None = member(PERCENT)
    max_waiting: int | None = member(INTEGER)
    max_ack_pending: int | None = member(INTEGER)
    flow_control: bool | None = member(FLAG)
    headers_only: bool | None = member(FLAG)
    max_batch: int | None = member(INTEGER)
    max_expires: timedelta | None = member(DURATION)
    max_bytes: int | None = member(INTEGER)
    deliver_subject: str | None = member(OPTIONAL_NAME)
    deliver_group: str | None = member(OPTIONAL_NAME)
    idle_heartbeat: timedelta | None = member(DURATION)
    inactive_threshold: timedelta | None = member(DURATION)
    num_replicas: int | None = member(INTEGER)
    mem_storage: bool | None = member(FLAG)
    direct: bool | None = member(FLAG)
    sourcing: bool | None = member(FLAG)
    metadata: Mapping[str, str] = mapping(LABELS)
    pause_until: Timestamp | datetime | None = member(GIVEN_TIME)
    priority_groups: Sequence[str] = member(TEXTS, ())
    priority_policy: PriorityPolicy | str | None = member(EnumCodec(PriorityPolicy))
    priority_timeout: timedelta | None = member(DURATION)

    @property
    def sample_percent(self) -> int | None:
        """``sample_freq`` as a number: the percentage of acks that is sampled.

        Returns:
            ``None`` if it is unset or no number.
        """
        text = str(self.sample_freq or "").removesuffix("%").strip()
        return int(text) if text.isascii() and text.isdigit() and len(text) <= 3 else None

    def checked(self) -> ConsumerConfig:
        """Return this configuration, if a request can carry it.

        Raises:
            InvalidConfig: both filters (server error 10136), or two names that differ (server error
                10132).
            InvalidSubject: a subject or a group that no protocol line can carry.
        """
        if self.filter_subject and self.filter_subjects:
            raise InvalidConfig(
                "expected filter_subject or filter_subjects, "
                f"got both: {self.filter_subject!r} and {self.filter_subjects!r}"
            )
        if self.name and self.durable_name and self.name != self.durable_name:
            raise InvalidConfig(
                "expected name and durable_name to be equal, "
                f"got {self.name!r} and {self.durable_name!r}"
            )
        for subject in filter(
            None, (self.filter_subject, *self.filter_subjects, self.deliver_subject)
        ):
            unbroken(subject, "subject of a consumer")
        for group in filter(None, (self.deliver_group, *self.priority_groups)):
            unbroken(group, "group of a consumer")
        return self


@final
@frozen(kw_only=True, repr=False)
class SequencePair(Document):
    """A position: in the deliveries of the consumer and in the stream."""

    consumer_seq: int = member(INTEGER, 0)
    stream_seq: int = member(INTEGER, 0)
    last_active: Timestamp | None = member(TIME)


@final
@frozen(kw_only=True, repr=False)
class PriorityGroupState(Document):
    """The pinned client of a priority group (ADR-42)."""

    group: str = member(TEXT, "")
    pinned_client_id: str | None = member(TEXT)
    pinned_ts: Timestamp | None = member(TIME)


@final
@frozen(kw_only=True, repr=False)
class ConsumerInfo(Document):
    """A consumer as the server describes it.

    Attributes:
        reset_seq: the stream sequence at which a reset restarts (2.14).
        changed: the settings changed by a create-or-update with ``compare``; empty if it created
            the consumer, or changed nothing. Not a member of the API.
    """

    stream_name: str = field(metadata=of(NAME))
    name: str = field(metadata=of(NAME))
    created: Timestamp | None = member(TIME)
    config: ConsumerConfig = member(Nested(ConsumerConfig), ConsumerConfig())
    delivered: SequencePair = member(Nested(SequencePair), SequencePair())
    ack_floor: SequencePair = member(Nested(SequencePair), SequencePair())
    num_ack_pending: int = member(INTEGER, 0)
    num_redelivered: int = member(INTEGER, 0)
    num_waiting: int = member(INTEGER, 0)
    num_pending: int = member(INTEGER, 0)
    cluster: ClusterInfo | None = member(Nested(ClusterInfo))
    push_bound: bool = member(FLAG, False)  # noqa: FBT003 - the codec, then the default
    paused: bool = member(FLAG, False)  # noqa: FBT003 - the same
    pause_remaining: timedelta | None = member(DURATION)
    priority_groups: Sequence[PriorityGroupState] = member(
        ListCodec(Nested(PriorityGroupState)), ()
    )
    ts: Timestamp | None = member(TIME)
    reset_seq: int | None = member(INTEGER)
    changed: Sequence[Difference] = field(default=(), eq=False)

    @property
    def open_work(self) -> int:
        """Number of unprocessed messages: pending ones, and delivered ones without an ack."""
        return self.num_pending + self.num_ack_pending
