"""Clients without ``await``: most files are made of those of `jsproto_io._async_client`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jsproto.lazy import lazy_names

if TYPE_CHECKING:
    from jsproto_io._sync_client.events import Events
    from jsproto_io._sync_client.facade import SyncConsumer, SyncJetStream, SyncStream
    from jsproto_io._sync_client.feed import Feed
    from jsproto_io._sync_client.messages import SyncCoreMessage, SyncMessage
    from jsproto_io._sync_client.sink import Sink

__all__ = [
    "Events",
    "Feed",
    "Sink",
    "SyncConsumer",
    "SyncCoreMessage",
    "SyncJetStream",
    "SyncMessage",
    "SyncStream",
]

#: The facade is loaded when a program first asks for JetStream.
_HOMES: Final = {
    "SyncConsumer": "jsproto_io._sync_client.facade",
    "SyncCoreMessage": "jsproto_io._sync_client.messages",
    "SyncJetStream": "jsproto_io._sync_client.facade",
    "SyncMessage": "jsproto_io._sync_client.messages",
    "SyncStream": "jsproto_io._sync_client.facade",
    "Events": "jsproto_io._sync_client.events",
    "Feed": "jsproto_io._sync_client.feed",
    "Sink": "jsproto_io._sync_client.sink",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
