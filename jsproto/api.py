"""The JetStream API as values: configurations, infos, answers of servers, and their checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jsproto.lazy import lazy_names

if TYPE_CHECKING:
    from jsproto.jetstream.api.config.account import (
        AccountInfo,
        AccountLimits,
        AccountTier,
        ApiStats,
    )
    from jsproto.jetstream.api.config.cluster import (
        ClusterInfo,
        DesiredCluster,
        DesiredOrigin,
        DesiredStatus,
        PeerInfo,
        Placement,
    )
    from jsproto.jetstream.api.config.consumer import PriorityGroupState, SequencePair
    from jsproto.jetstream.api.config.diff import Difference
    from jsproto.jetstream.api.config.enums import (
        ConsumerAction,
        PersistMode,
        PriorityPolicy,
        ReplayPolicy,
        Rollup,
        StoreCompression,
    )
    from jsproto.jetstream.api.config.stream import (
        ConsumerLimits,
        ExternalStream,
        LostStreamData,
        Republish,
        StreamAlternate,
        StreamConsumerSource,
        StreamSourceInfo,
        StreamState,
    )
    from jsproto.jetstream.api.error_codes import ErrorCode
    from jsproto.jetstream.api.errors import RequestContext
    from jsproto.jetstream.api.events.monitoring import Connz, Healthz, Jsz, Statsz, UserInfo, Varz
    from jsproto.jetstream.api.publishing.counter import Counter
    from jsproto.jetstream.api.publishing.fast_ingest import GapMode
    from jsproto.jetstream.api.publishing.schedule import Schedule
    from jsproto.jetstream.api.requests.inventory import Inventory
    from jsproto.jetstream.api.requests.maintenance import Pause
    from jsproto.jetstream.api.requests.messages import MessageSelector, StoredMessage
    from jsproto.jetstream.api.requests.paging import Listing
    from jsproto.jetstream.api.requests.publish import compose
    from jsproto.jetstream.api.requests.system import ServerAnswer, ServerIdentity
    from jsproto.jetstream.api.timestamps import Timestamp
    from jsproto.jetstream.api.validation.api_level import check_level, required_level
    from jsproto.jetstream.api.validation.publish_rules import check_publish
    from jsproto.jetstream.api.validation.rules import (
        RuleViolation,
        check_consumer,
        check_stream,
        check_stream_update,
    )

__all__ = [
    "AccountInfo",
    "AccountLimits",
    "AccountTier",
    "ApiStats",
    "ClusterInfo",
    "Connz",
    "ConsumerAction",
    "ConsumerLimits",
    "Counter",
    "DesiredCluster",
    "DesiredOrigin",
    "DesiredStatus",
    "Difference",
    "ErrorCode",
    "ExternalStream",
    "GapMode",
    "Healthz",
    "Inventory",
    "Jsz",
    "Listing",
    "LostStreamData",
    "MessageSelector",
    "Pause",
    "PeerInfo",
    "PersistMode",
    "Placement",
    "PriorityGroupState",
    "PriorityPolicy",
    "ReplayPolicy",
    "Republish",
    "RequestContext",
    "Rollup",
    "RuleViolation",
    "Schedule",
    "SequencePair",
    "ServerAnswer",
    "ServerIdentity",
    "Statsz",
    "StoreCompression",
    "StoredMessage",
    "StreamAlternate",
    "StreamConsumerSource",
    "StreamSourceInfo",
    "StreamState",
    "Timestamp",
    "UserInfo",
    "Varz",
    "check_consumer",
    "check_level",
    "check_publish",
    "check_stream",
    "check_stream_update",
    "compose",
    "required_level",
]

_HOMES: Final = {
    "AccountInfo": "jsproto.jetstream.api.config.account",
    "AccountLimits": "jsproto.jetstream.api.config.account",
    "AccountTier": "jsproto.jetstream.api.config.account",
    "ApiStats": "jsproto.jetstream.api.config.account",
    "ClusterInfo": "jsproto.jetstream.api.config.cluster",
    "Connz": "jsproto.jetstream.api.events.monitoring",
    "ConsumerAction": "jsproto.jetstream.api.config.enums",
    "ConsumerLimits": "jsproto.jetstream.api.config.stream",
    "Counter": "jsproto.jetstream.api.publishing.counter",
    "DesiredCluster": "jsproto.jetstream.api.config.cluster",
    "DesiredOrigin": "jsproto.jetstream.api.config.cluster",
    "DesiredStatus": "jsproto.jetstream.api.config.cluster",
    "Difference": "jsproto.jetstream.api.config.diff",
    "ErrorCode": "jsproto.jetstream.api.error_codes",
    "ExternalStream": "jsproto.jetstream.api.config.stream",
    "GapMode": "jsproto.jetstream.api.publishing.fast_ingest",
    "Healthz": "jsproto.jetstream.api.events.monitoring",
    "Inventory": "jsproto.jetstream.api.requests.inventory",
    "Jsz": "jsproto.jetstream.api.events.monitoring",
    "Listing": "jsproto.jetstream.api.requests.paging",
    "LostStreamData": "jsproto.jetstream.api.config.stream",
    "MessageSelector": "jsproto.jetstream.api.requests.messages",
    "Pause": "jsproto.jetstream.api.requests.maintenance",
    "PeerInfo": "jsproto.jetstream.api.config.cluster",
    "PersistMode": "jsproto.jetstream.api.config.enums",
    "Placement": "jsproto.jetstream.api.config.cluster",
    "PriorityGroupState": "jsproto.jetstream.api.config.consumer",
    "PriorityPolicy": "jsproto.jetstream.api.config.enums",
    "ReplayPolicy": "jsproto.jetstream.api.config.enums",
    "Republish": "jsproto.jetstream.api.config.stream",
    "RequestContext": "jsproto.jetstream.api.errors",
    "Rollup": "jsproto.jetstream.api.config.enums",
    "RuleViolation": "jsproto.jetstream.api.validation.rules",
    "Schedule": "jsproto.jetstream.api.publishing.schedule",
    "SequencePair": "jsproto.jetstream.api.config.consumer",
    "ServerAnswer": "jsproto.jetstream.api.requests.system",
    "ServerIdentity": "jsproto.jetstream.api.requests.system",
    "Statsz": "jsproto.jetstream.api.events.monitoring",
    "StoreCompression": "jsproto.jetstream.api.config.enums",
    "StoredMessage": "jsproto.jetstream.api.requests.messages",
    "StreamAlternate": "jsproto.jetstream.api.config.stream",
    "StreamConsumerSource": "jsproto.jetstream.api.config.stream",
    "StreamSourceInfo": "jsproto.jetstream.api.config.stream",
    "StreamState": "jsproto.jetstream.api.config.stream",
    "Timestamp": "jsproto.jetstream.api.timestamps",
    "UserInfo": "jsproto.jetstream.api.events.monitoring",
    "Varz": "jsproto.jetstream.api.events.monitoring",
    "check_consumer": "jsproto.jetstream.api.validation.rules",
    "check_level": "jsproto.jetstream.api.validation.api_level",
    "check_publish": "jsproto.jetstream.api.validation.publish_rules",
    "check_stream": "jsproto.jetstream.api.validation.rules",
    "check_stream_update": "jsproto.jetstream.api.validation.rules",
    "compose": "jsproto.jetstream.api.requests.publish",
    "required_level": "jsproto.jetstream.api.validation.api_level",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
