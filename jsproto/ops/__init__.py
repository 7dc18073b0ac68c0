"""Tools for operators: reports, tables, backups, contexts of the CLI, permissions, sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jsproto.lazy import lazy_names

if TYPE_CHECKING:
    from jsproto.ops.event_lines import event_line
    from jsproto.ops.nats_context import NatsContext
    from jsproto.ops.permissions import Permissions, ResponseLimits
    from jsproto.ops.reports import (
        Report,
        cluster_report,
        consumer_report,
        replication_dot,
        replication_report,
        stream_report,
    )
    from jsproto.ops.sizes import stored_size

__all__ = [
    "NatsContext",
    "Permissions",
    "Report",
    "ResponseLimits",
    "cluster_report",
    "consumer_report",
    "event_line",
    "replication_dot",
    "replication_report",
    "stored_size",
    "stream_report",
]

_HOMES: Final = {
    "NatsContext": "jsproto.ops.nats_context",
    "Permissions": "jsproto.ops.permissions",
    "Report": "jsproto.ops.reports",
    "ResponseLimits": "jsproto.ops.permissions",
    "cluster_report": "jsproto.ops.reports",
    "consumer_report": "jsproto.ops.reports",
    "event_line": "jsproto.ops.event_lines",
    "replication_dot": "jsproto.ops.reports",
    "replication_report": "jsproto.ops.reports",
    "stored_size": "jsproto.ops.sizes",
    "stream_report": "jsproto.ops.reports",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
