"""Events: what a connection reports, the notices of conversations, and what servers publish by
themselves (advisories and metrics).

`Event` is the union of what `Connection.next_event` gives. `JetStreamEvent` is the base of what
`read_event` makes of an advisory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jsproto.lazy import lazy_names

if TYPE_CHECKING:
    from jsproto.core.connection.events import (
        Authenticate,
        Closed,
        Connected,
        Dial,
        Disconnected,
        Event,
        HangUp,
        LameDuck,
        Notice,
        NoticeKind,
        Ready,
        Upgrade,
    )
    from jsproto.jetstream.api.events.advisories import (
        ADVISORIES,
        METRICS,
        AckSample,
        ApiAudit,
        BatchAbandonedAdvisory,
        ConsumerActionAdvisory,
        ConsumerEvent,
        ConsumerPause,
        GroupPinned,
        JetStreamEvent,
        LeaderElected,
        MessageFate,
        QuorumLost,
        ServerEvent,
        StreamAction,
        StreamEvent,
        TransferAdvisory,
        read_event,
    )
    from jsproto.jetstream.api.events.schemas import event_schema
    from jsproto.jetstream.ordered.states import OrderedNotice
    from jsproto.jetstream.publish.fast_ingest import IngestNotice
    from jsproto.jetstream.pull.request import PullNotice
    from jsproto.jetstream.push.base import PushNotice
    from jsproto.jetstream.range_read.states import RangeNotice

__all__ = [
    "ADVISORIES",
    "METRICS",
    "AckSample",
    "ApiAudit",
    "Authenticate",
    "BatchAbandonedAdvisory",
    "Closed",
    "Connected",
    "ConsumerActionAdvisory",
    "ConsumerEvent",
    "ConsumerPause",
    "Dial",
    "Disconnected",
    "Event",
    "GroupPinned",
    "HangUp",
    "IngestNotice",
    "JetStreamEvent",
    "LameDuck",
    "LeaderElected",
    "MessageFate",
    "Notice",
    "NoticeKind",
    "OrderedNotice",
    "PullNotice",
    "PushNotice",
    "QuorumLost",
    "RangeNotice",
    "Ready",
    "ServerEvent",
    "StreamAction",
    "StreamEvent",
    "TransferAdvisory",
    "Upgrade",
    "event_schema",
    "read_event",
]

_HOMES: Final = {
    "ADVISORIES": "jsproto.jetstream.api.events.advisories",
    "METRICS": "jsproto.jetstream.api.events.advisories",
    "AckSample": "jsproto.jetstream.api.events.advisories",
    "ApiAudit": "jsproto.jetstream.api.events.advisories",
    "Authenticate": "jsproto.core.connection.events",
    "BatchAbandonedAdvisory": "jsproto.jetstream.api.events.advisories",
    "Closed": "jsproto.core.connection.events",
    "Connected": "jsproto.core.connection.events",
    "ConsumerActionAdvisory": "jsproto.jetstream.api.events.advisories",
    "ConsumerEvent": "jsproto.jetstream.api.events.advisories",
    "ConsumerPause": "jsproto.jetstream.api.events.advisories",
    "Dial": "jsproto.core.connection.events",
    "Disconnected": "jsproto.core.connection.events",
    "Event": "jsproto.core.connection.events",
    "GroupPinned": "jsproto.jetstream.api.events.advisories",
    "HangUp": "jsproto.core.connection.events",
    "IngestNotice": "jsproto.jetstream.publish.fast_ingest",
    "JetStreamEvent": "jsproto.jetstream.api.events.advisories",
    "LameDuck": "jsproto.core.connection.events",
    "LeaderElected": "jsproto.jetstream.api.events.advisories",
    "MessageFate": "jsproto.jetstream.api.events.advisories",
    "Notice": "jsproto.core.connection.events",
    "NoticeKind": "jsproto.core.connection.events",
    "OrderedNotice": "jsproto.jetstream.ordered.states",
    "PullNotice": "jsproto.jetstream.pull.request",
    "PushNotice": "jsproto.jetstream.push.base",
    "QuorumLost": "jsproto.jetstream.api.events.advisories",
    "RangeNotice": "jsproto.jetstream.range_read.states",
    "Ready": "jsproto.core.connection.events",
    "ServerEvent": "jsproto.jetstream.api.events.advisories",
    "StreamAction": "jsproto.jetstream.api.events.advisories",
    "StreamEvent": "jsproto.jetstream.api.events.advisories",
    "TransferAdvisory": "jsproto.jetstream.api.events.advisories",
    "Upgrade": "jsproto.core.connection.events",
    "event_schema": "jsproto.jetstream.api.events.schemas",
    "read_event": "jsproto.jetstream.api.events.advisories",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
