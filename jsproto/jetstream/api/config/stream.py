"""Streams as the API describes them: configuration, state, origin and placement (servers 2.9 to
2.15).
"""

# ruff: noqa: RUF009 - a field made by `member` is attrs' own `field` with the form of the member in its metadata

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
    """Messages on ``src`` are stored, or copied, as ``dest`` (ADR-36)."""

    src: str | None = member(TEXT)
    dest: str = field(metadata=of(TEXT))


@final
@frozen(kw_only=True, repr=False)
class Republish(Document):
    """Stored messages on ``src`` are published again as ``dest`` (ADR-28)."""

    src: str | None = member(TEXT)
    dest: str = field(metadata=of(TEXT))
    headers_only: bool | None = member(FLAG)


@final
@frozen(kw_only=True, repr=False)
class ExternalStream(Document):
    """The way to a stream of another account or domain: its API prefix and its delivery prefix."""

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
    """A stream that is mirrored or sourced; :meth:`in_domain` makes one of another domain."""

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
        """A stream of another JetStream domain, as other clients say ``Domain``: ``external.api``
        is ``$JS.<domain>.API``.

        The server knows no domain of a source; what it answers, and what is compared with it, has
        ``external``.

        Args:
            name: the stream there.
            domain: one token.
            deliver: prefix of the subjects that its messages come on; the server chooses them
                without.
            opt_start_seq: as the field, and so are the others.
            opt_start_time: the instant to begin at.
            filter_subject: which messages.
            subject_transforms: as what they are stored.
            consumer: the durable consumer to read through (2.14).

        Raises:
            InvalidSubject: a domain that is no token without wildcards.
            InvalidConfig: a value of the wrong form, named.
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
    """Bounds and defaults for the consumers of a stream (2.10)."""

    inactive_threshold: timedelta | None = member(DURATION)
    max_ack_pending: int | None = member(INTEGER)


@final
@frozen(kw_only=True, repr=False)
class StreamConfig(Document):
    """Configuration of a stream. ``None`` leaves a setting to the server; -1 means "no limit" where
    the server has it.

    Raises:
        InvalidConfig: a value of the wrong form, named.
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
    """What a stream knows to have lost."""

    msgs: Sequence[int] = member(INTEGERS, ())
    bytes: int = member(INTEGER, 0)


@final
@frozen(kw_only=True, repr=False)
class StreamState(Document):
    """What a stream holds. ``subjects`` and ``deleted`` only when they were asked for."""

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
    """How far a mirror or source has come. ``active`` is how long ago it was heard of, ``None``
    before the first contact.
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
        did_create: what the server says of a create; 2.15.1 says true also for a stream that was
            there already.
        changed: what a create-or-update that compares (``compare``) has made different; empty if it
            made the stream, or nothing differs. No member of the API.
        total: how many subjects the details have in all; ``offset`` and ``limit`` belong to it.
    """

    config: StreamConfig = field(metadata=of(Nested(StreamConfig)))
    created: Timestamp | None = member(TIME)
    state: StreamState = member(Nested(StreamState), StreamState())
    did_create: bool = member(FLAG, False)  # noqa: FBT003 - the form first, then the default
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
