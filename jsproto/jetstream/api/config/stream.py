"""Streams in the API: configuration, state, sources and placement (servers 2.9 to 2.15)."""

# ruff: noqa: RUF009 - `member` returns an attrs `field` with the codec in its metadata

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Self, final

from attrs import field, frozen

from jsproto.jetstream.api.codecs import (
    AGO,
    COUNTS,
    DURATION,
    FLAG,
    GIVEN_TIME,
    INTEGER,
    INTEGERS,
    LABELS,
    NAME,
    OBJECT,
    TEXT,
    TEXTS,
    TIME,
    EnumCodec,
    ListCodec,
)
from jsproto.jetstream.api.config.cluster import ClusterInfo, Placement
from jsproto.jetstream.api.config.diff import Difference
from jsproto.jetstream.api.config.enums import (
    DiscardPolicy,
    PersistMode,
    RetentionPolicy,
    StorageType,
    StoreCompression,
)
from jsproto.jetstream.api.document import Document, Nested, mapping, member, of
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.api.timestamps import Timestamp


@final
@frozen(kw_only=True, repr=False)
class SubjectTransform(Document):
    """Store, or copy, messages on ``src`` as ``dest`` (ADR-36)."""

    src: str | None = member(TEXT)
    dest: str = field(metadata=of(TEXT))


@final
@frozen(kw_only=True, repr=False)
class Republish(Document):
    """Publish stored messages on ``src`` again as ``dest`` (ADR-28)."""

    src: str | None = member(TEXT)
    dest: str = field(metadata=of(TEXT))
    headers_only: bool | None = member(FLAG)


@final
@frozen(kw_only=True, repr=False)
class ExternalStream(Document):
    """Access to a stream of another account or domain: API prefix and delivery prefix."""

    api: str = field(metadata=of(TEXT))
    deliver: str | None = member(TEXT)


@final
@frozen(kw_only=True, repr=False)
class StreamConsumerSource(Document):
    """The durable consumer through which a mirror or source reads (2.14)."""

    name: str | None = member(TEXT)
    deliver_subject: str | None = member(TEXT)


@final
@frozen(kw_only=True, repr=False)
class StreamSource(Document):
    """A mirrored or sourced stream; :meth:`in_domain` makes one of another domain."""

    name: str = field(metadata=of(NAME))
    opt_start_seq: int | None = member(INTEGER)
    opt_start_time: Timestamp | datetime | None = member(GIVEN_TIME)
    filter_subject: str | None = member(TEXT)
    subject_transforms: Sequence[SubjectTransform] = member(ListCodec(Nested(SubjectTransform)), ())
    external: ExternalStream | None = member(Nested(ExternalStream))
    consumer: StreamConsumerSource | None = member(Nested(StreamConsumerSource))

    @classmethod
    def in_domain(
        cls,
        name: str,
        domain: str,
        *,
        deliver: str | None = None,
        opt_start_seq: int | None = None,
        opt_start_time: Timestamp | datetime | None = None,
        filter_subject: str | None = None,
        subject_transforms: Sequence[SubjectTransform] = (),
        consumer: StreamConsumerSource | None = None,
    ) -> Self:
        """A stream of another JetStream domain; other clients call this setting ``Domain``.

        It sets ``external.api`` to ``$JS.<domain>.API``. The server does not know a domain of a
        source: its answers, and comparisons with them, contain ``external``.

        Args:
            name: the stream in that domain.
            domain: one token.
            deliver: prefix of the delivery subjects; by default the server chooses them.
            opt_start_seq: the first sequence.
            opt_start_time: the start time.
            filter_subject: only messages of these subjects.
            subject_transforms: how to change their subjects.
            consumer: the durable consumer to read through (2.14).

        Raises:
            InvalidSubject: the domain is not one token without wildcards.
            InvalidConfig: a value of the wrong form; the message names the setting.
        """
        return cls(
            name=name,
            opt_start_seq=opt_start_seq,
            opt_start_time=opt_start_time,
            filter_subject=filter_subject,
            subject_transforms=subject_transforms,
            external=ExternalStream(api=ApiSubjects.for_domain(domain).prefix, deliver=deliver),
            consumer=consumer,
        )


@final
@frozen(kw_only=True, repr=False)
class ConsumerLimits(Document):
    """Limits and defaults for the consumers of a stream (2.10)."""

    inactive_threshold: timedelta | None = member(DURATION)
    max_ack_pending: int | None = member(INTEGER)


@final
@frozen(kw_only=True, repr=False)
class StreamConfig(Document):
    """Configuration of a stream.

    ``None`` leaves a setting to the server. -1 means "no limit" where the server supports it.

    Raises:
        InvalidConfig: a value of the wrong form; the message names the setting.
    """

    name: str = field(metadata=of(NAME))
    description: str | None = member(TEXT)
    subjects: Sequence[str] = member(TEXTS, ())
    retention: RetentionPolicy | str | None = member(EnumCodec(RetentionPolicy))
    max_consumers: int | None = member(INTEGER)
    max_msgs: int | None = member(INTEGER)
    max_bytes: int | None = member(INTEGER)
    max_age: timedelta | None = member(DURATION)
    max_msgs_per_subject: int | None = member(INTEGER)
    max_msg_size: int | None = member(INTEGER)
    discard: DiscardPolicy | str | None = member(EnumCodec(DiscardPolicy))
    discard_new_per_subject: bool | None = member(FLAG)
    storage: StorageType | str | None = member(EnumCodec(StorageType))
    num_replicas: int | None = member(INTEGER)
    no_ack: bool | None = member(FLAG)
    template_owner: str | None = member(TEXT)
    duplicate_window: timedelta | None = member(DURATION)
    placement: Placement | None = member(Nested(Placement))
    mirror: StreamSource | None = member(Nested(StreamSource))
    sources: Sequence[StreamSource] = member(ListCodec(Nested(StreamSource)), ())
    compression: StoreCompression | str | None = member(EnumCodec(StoreCompression))
    first_seq: int | None = member(INTEGER)
    subject_transform: SubjectTransform | None = member(Nested(SubjectTransform))
    republish: Republish | None = member(Nested(Republish))
    allow_direct: bool | None = member(FLAG)
    mirror_direct: bool | None = member(FLAG)
    sealed: bool | None = member(FLAG)
    deny_delete: bool | None = member(FLAG)
    deny_purge: bool | None = member(FLAG)
    allow_rollup_hdrs: bool | None = member(FLAG)
    consumer_limits: ConsumerLimits | None = member(Nested(ConsumerLimits))
    allow_msg_ttl: bool | None = member(FLAG)
    subject_delete_marker_ttl: timedelta | None = member(DURATION)
    allow_msg_counter: bool | None = member(FLAG)
    allow_atomic: bool | None = member(FLAG)
    allow_batched: bool | None = member(FLAG)
    allow_msg_schedules: bool | None = member(FLAG)
    persist_mode: PersistMode | str | None = member(EnumCodec(PersistMode))
    metadata: Mapping[str, str] = mapping(LABELS)


@final
@frozen(kw_only=True, repr=False)
class LostStreamData(Document):
    """Messages that the stream has lost, as far as it knows."""

    msgs: Sequence[int] = member(INTEGERS, ())
    bytes: int = member(INTEGER, 0)


@final
@frozen(kw_only=True, repr=False)
class StreamState(Document):
    """The contents of a stream; ``subjects`` and ``deleted`` only on request."""

    messages: int = member(INTEGER, 0)
    bytes: int = member(INTEGER, 0)
    first_seq: int = member(INTEGER, 0)
    first_ts: Timestamp | None = member(TIME)
    last_seq: int = member(INTEGER, 0)
    last_ts: Timestamp | None = member(TIME)
    num_subjects: int = member(INTEGER, 0)
    subjects: Mapping[str, int] = mapping(COUNTS)
    num_deleted: int = member(INTEGER, 0)
    deleted: Sequence[int] = member(INTEGERS, ())
    lost: LostStreamData | None = member(Nested(LostStreamData))
    consumer_count: int = member(INTEGER, 0)


@final
@frozen(kw_only=True, repr=False)
class StreamSourceInfo(Document):
    """Progress of a mirror or source.

    Attributes:
        active: time since the last contact, ``None`` before the first.
    """

    name: str = field(metadata=of(NAME))
    external: ExternalStream | None = member(Nested(ExternalStream))
    lag: int = member(INTEGER, 0)
    active: timedelta | None = member(AGO)
    seq: int | None = member(INTEGER)
    error: Mapping[str, object] = mapping(OBJECT)
    filter_subject: str | None = member(TEXT)
    subject_transforms: Sequence[SubjectTransform] = member(ListCodec(Nested(SubjectTransform)), ())


@final
@frozen(kw_only=True, repr=False)
class StreamAlternate(Document):
    """Another stream with the same messages, nearest first."""

    name: str = field(metadata=of(NAME))
    domain: str | None = member(TEXT)
    cluster: str | None = member(TEXT)


@final
@frozen(kw_only=True, repr=False)
class StreamInfo(Document):
    """A stream as the server describes it.

    Attributes:
        did_create: the server's answer to a create; 2.15.1 sends true even if the stream existed.
        changed: the settings changed by a create-or-update with ``compare``; empty if it created
            the stream, or changed nothing. Not a member of the API.
        total: total number of subjects; ``offset`` and ``limit`` describe the page.
    """

    config: StreamConfig = field(metadata=of(Nested(StreamConfig)))
    created: Timestamp | None = member(TIME)
    state: StreamState = member(Nested(StreamState), StreamState())
    did_create: bool = member(FLAG, False)  # noqa: FBT003 - the codec, then the default
    domain: str | None = member(TEXT)
    cluster: ClusterInfo | None = member(Nested(ClusterInfo))
    mirror: StreamSourceInfo | None = member(Nested(StreamSourceInfo))
    sources: Sequence[StreamSourceInfo] = member(ListCodec(Nested(StreamSourceInfo)), ())
    alternates: Sequence[StreamAlternate] = member(ListCodec(Nested(StreamAlternate)), ())
    ts: Timestamp | None = member(TIME)
    total: int = member(INTEGER, 0)
    offset: int = member(INTEGER, 0)
    limit: int = member(INTEGER, 0)
    changed: Sequence[Difference] = field(default=(), eq=False)
