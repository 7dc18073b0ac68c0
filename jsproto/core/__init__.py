"""One connection to one NATS system: link, routes, conversations, time; no JetStream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jsproto.lazy import lazy_names

if TYPE_CHECKING:
    from jsproto.core.connection.dispatcher import Stats
    from jsproto.core.conversation.conversation import Call, Port
    from jsproto.core.conversation.procedure import Sleep
    from jsproto.core.pubsub.request_many import Gathered, empty_payload
    from jsproto.signals import Signal
    from jsproto.wire.frames import Info
    from jsproto.wire.headers import HeaderDefect

__all__ = [
    "Call",
    "Gathered",
    "HeaderDefect",
    "Info",
    "Port",
    "Signal",
    "Sleep",
    "Stats",
    "empty_payload",
]

_HOMES: Final = {
    "Call": "jsproto.core.conversation.conversation",
    "Gathered": "jsproto.core.pubsub.request_many",
    "HeaderDefect": "jsproto.wire.headers",
    "Info": "jsproto.wire.frames",
    "Port": "jsproto.core.conversation.conversation",
    "Signal": "jsproto.signals",
    "Sleep": "jsproto.core.conversation.procedure",
    "Stats": "jsproto.core.connection.dispatcher",
    "empty_payload": "jsproto.core.pubsub.request_many",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
