"""The enumerations of the API, with the server's words."""

from __future__ import annotations

from enum import StrEnum, unique


@unique
class RetentionPolicy(StrEnum):
    """When a stream removes a message."""

    LIMITS = "limits"
    INTEREST = "interest"
    WORKQUEUE = "workqueue"


@unique
class DiscardPolicy(StrEnum):
    """What a full stream discards: old messages, or the new one."""

    OLD = "old"
    NEW = "new"


@unique
class StorageType(StrEnum):
    """Where a stream stores messages."""

    FILE = "file"
    MEMORY = "memory"


@unique
class StoreCompression(StrEnum):
    """How file storage is compressed (2.10)."""

    NONE = "none"
    S2 = "s2"


@unique
class PersistMode(StrEnum):
    """When a file stream acknowledges a message (2.12)."""

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
    """What an acknowledgement covers (``FLOW_CONTROL``: 2.14)."""

    NONE = "none"
    ALL = "all"
    EXPLICIT = "explicit"
    FLOW_CONTROL = "flow_control"


@unique
class ReplayPolicy(StrEnum):
    """The pace at which stored messages are delivered."""

    INSTANT = "instant"
    ORIGINAL = "original"


@unique
class PriorityPolicy(StrEnum):
    """How clients share priority groups (2.11; ``PRIORITIZED`` is 2.12)."""

    NONE = "none"
    OVERFLOW = "overflow"
    PINNED_CLIENT = "pinned_client"
    PRIORITIZED = "prioritized"


@unique
class ConsumerAction(StrEnum):
    """What CONSUMER.CREATE may do (2.10; older servers always do ``CREATE_OR_UPDATE``)."""

    CREATE_OR_UPDATE = ""
    CREATE = "create"
    UPDATE = "update"


@unique
class Rollup(StrEnum):
    """Which messages a new message replaces."""

    #: All messages of its subject.
    SUB = "sub"
    #: All messages of its stream.
    ALL = "all"
