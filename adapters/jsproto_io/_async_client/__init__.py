"""Clients with ``await``: their verbs, feeds and sinks, and the facade that is made for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jsproto.lazy import lazy_names

if TYPE_CHECKING:
    from jsproto_io._async_client.events import Events
    from jsproto_io._async_client.facade import AsyncConsumer, AsyncJetStream, AsyncStream
    from jsproto_io._async_client.feed import Feed
    from jsproto_io._async_client.messages import AsyncCoreMessage, AsyncMessage
    from jsproto_io._async_client.sink import Sink

__all__ = [
    "AsyncConsumer",
    "AsyncCoreMessage",
    "AsyncJetStream",
    "AsyncMessage",
    "AsyncStream",
    "Events",
    "Feed",
    "Sink",
]

#: The facade is loaded when a program first asks for JetStream.
_HOMES: Final = {
    "AsyncConsumer": "jsproto_io._async_client.facade",
    "AsyncCoreMessage": "jsproto_io._async_client.messages",
    "AsyncJetStream": "jsproto_io._async_client.facade",
    "AsyncMessage": "jsproto_io._async_client.messages",
    "AsyncStream": "jsproto_io._async_client.facade",
    "Events": "jsproto_io._async_client.events",
    "Feed": "jsproto_io._async_client.feed",
    "Sink": "jsproto_io._async_client.sink",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
