"""JetStream: the facade that describes operations, and the state machines that perform them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jsproto.lazy import lazy_names

if TYPE_CHECKING:
    from jsproto.jetstream.context.messages import StoredMessages
    from jsproto.jetstream.context.meta import Meta
    from jsproto.jetstream.context.system import System
    from jsproto.jetstream.delivery.ack import AckState, AckSubject
    from jsproto.jetstream.delivery.message import AckBatch, confirmed, settlement
    from jsproto.jetstream.gaps import Gap
    from jsproto.jetstream.ordered.view import Messages, View
    from jsproto.jetstream.publish.batch import BatchPublish, WholeBatch
    from jsproto.jetstream.publish.fast_ingest import FastIngest, IngestFault
    from jsproto.jetstream.pull.ack_next import AckNext
    from jsproto.jetstream.pull.consume_options import OnDeleted
    from jsproto.jetstream.pull.request import OpenPull
    from jsproto.jetstream.push.subscribe import Subscribe
    from jsproto.jetstream.range_read.options import RangeOptions, ReadMode
    from jsproto.jetstream.range_read.plan import RangeFacts, RangePart, RangePlan, plan_of
    from jsproto.jetstream.range_read.progress import LostRange
    from jsproto.jetstream.range_read.reader import RangeReader
    from jsproto.jetstream.range_read.rows import Row, Rows
    from jsproto.jetstream.status import EndReason
    from jsproto.jetstream.stored.direct_batch import BatchOptions, DirectBatch
    from jsproto.jetstream.stored.snapshot import Origin, Restore, Snapshot

__all__ = [
    "AckBatch",
    "AckNext",
    "AckState",
    "AckSubject",
    "BatchOptions",
    "BatchPublish",
    "DirectBatch",
    "EndReason",
    "FastIngest",
    "Gap",
    "IngestFault",
    "LostRange",
    "Messages",
    "Meta",
    "OnDeleted",
    "OpenPull",
    "Origin",
    "RangeFacts",
    "RangeOptions",
    "RangePart",
    "RangePlan",
    "RangeReader",
    "ReadMode",
    "Restore",
    "Row",
    "Rows",
    "Snapshot",
    "StoredMessages",
    "Subscribe",
    "System",
    "View",
    "WholeBatch",
    "confirmed",
    "plan_of",
    "settlement",
]

_HOMES: Final = {
    "AckBatch": "jsproto.jetstream.delivery.message",
    "AckNext": "jsproto.jetstream.pull.ack_next",
    "AckState": "jsproto.jetstream.delivery.ack",
    "AckSubject": "jsproto.jetstream.delivery.ack",
    "BatchOptions": "jsproto.jetstream.stored.direct_batch",
    "BatchPublish": "jsproto.jetstream.publish.batch",
    "DirectBatch": "jsproto.jetstream.stored.direct_batch",
    "EndReason": "jsproto.jetstream.status",
    "FastIngest": "jsproto.jetstream.publish.fast_ingest",
    "Gap": "jsproto.jetstream.gaps",
    "IngestFault": "jsproto.jetstream.publish.fast_ingest",
    "LostRange": "jsproto.jetstream.range_read.progress",
    "Messages": "jsproto.jetstream.ordered.view",
    "Meta": "jsproto.jetstream.context.meta",
    "OnDeleted": "jsproto.jetstream.pull.consume_options",
    "OpenPull": "jsproto.jetstream.pull.request",
    "Origin": "jsproto.jetstream.stored.snapshot",
    "RangeFacts": "jsproto.jetstream.range_read.plan",
    "RangeOptions": "jsproto.jetstream.range_read.options",
    "RangePart": "jsproto.jetstream.range_read.plan",
    "RangePlan": "jsproto.jetstream.range_read.plan",
    "RangeReader": "jsproto.jetstream.range_read.reader",
    "ReadMode": "jsproto.jetstream.range_read.options",
    "Restore": "jsproto.jetstream.stored.snapshot",
    "Row": "jsproto.jetstream.range_read.rows",
    "Rows": "jsproto.jetstream.range_read.rows",
    "Snapshot": "jsproto.jetstream.stored.snapshot",
    "StoredMessages": "jsproto.jetstream.context.messages",
    "Subscribe": "jsproto.jetstream.push.subscribe",
    "System": "jsproto.jetstream.context.system",
    "View": "jsproto.jetstream.ordered.view",
    "WholeBatch": "jsproto.jetstream.publish.batch",
    "confirmed": "jsproto.jetstream.delivery.message",
    "plan_of": "jsproto.jetstream.range_read.plan",
    "settlement": "jsproto.jetstream.delivery.message",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
