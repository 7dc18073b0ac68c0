"""The words of the API: closed sets, spelt as the server spells them."""

from __future__ import annotations

from enum import StrEnum, unique


@unique
class RetentionPolicy(StrEnum):
    """When a stream lets go of a message."""

    LIMITS = "limits"
    INTEREST = "interest"
    WORKQUEUE = "workqueue"


@unique
class DiscardPolicy(StrEnum):
    """What gives way when a stream is full."""

    OLD = "old"
    NEW = "new"


@unique
class StorageType(StrEnum):
    """Where messages are kept."""

    FILE = "file"
    MEMORY = "memory"


@unique
class StoreCompression(StrEnum):
    """How file storage is compressed (2.10)."""

    NONE = "none"
    S2 = "s2"


@unique
class PersistMode(StrEnum):
    """When a file stream calls a message stored (2.12)."""

    DEFAULT = "default"
    ASYNC = "async"


@unique
class DeliverPolicy(StrEnum):
    """Where a consumer starts in its stream."""

    ALL = "all"
    LAST = "last"
    NEW = "new"
    BY_START_SEQUENCE = "by_start_sequence"
    BY_START_TIME = "by_start_time"
    LAST_PER_SUBJECT = "last_per_subject"


@unique
class AckPolicy(StrEnum):
    """What an acknowledgement covers. ``FLOW_CONTROL`` is 2.14."""

    NONE = "none"
    ALL = "all"
    EXPLICIT = "explicit"
    FLOW_CONTROL = "flow_control"


@unique
class ReplayPolicy(StrEnum):
    """At which pace stored messages are delivered."""

    INSTANT = "instant"
    ORIGINAL = "original"


@unique
class PriorityPolicy(StrEnum):
    """How the members of priority groups share (2.11; ``PRIORITIZED`` is 2.12)."""

    NONE = "none"
    OVERFLOW = "overflow"
    PINNED_CLIENT = "pinned_client"
    PRIORITIZED = "prioritized"


@unique
class ConsumerAction(StrEnum):
    """What CONSUMER.CREATE may do (2.10; older servers take it for ``CREATE_OR_UPDATE``)."""

    CREATE_OR_UPDATE = ""
    CREATE = "create"
    UPDATE = "update"


@unique
class Rollup(StrEnum):
    """What a message replaces when it is stored."""

    #: All messages of its subject.
    SUB = "sub"
    #: All messages of its stream.
    ALL = "all"
