"""NATS JetStream as pure protocol state machines: bytes and ticks in, bytes and events out.

Here are the names that most programs need. The other ones are in `jsproto.api` (configurations and
answers of the JetStream API), `jsproto.errors`, `jsproto.events`, `jsproto.core` and
`jsproto.jetstream` (conversations, for authors of adapters and tools), `jsproto.ops` (reports,
backups, permissions), `jsproto.trace` and `jsproto.testing`. A name is loaded when a program first
asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jsproto.lazy import lazy_names
from jsproto.version import __version__ as __version__

if TYPE_CHECKING:
    from jsproto import api, core, driver, embed, errors, events, jetstream, ops, testing, trace
    from jsproto.core.connection.auth import Auth
    from jsproto.core.connection.connection import Connection
    from jsproto.core.connection.options import Options, Tls
    from jsproto.core.connection.server_pool import Server
    from jsproto.core.conversation.conversation import Conversation, StopMode
    from jsproto.core.conversation.message import Message
    from jsproto.core.conversation.procedure import Procedure
    from jsproto.core.pubsub.request import Flush, request
    from jsproto.core.pubsub.request_all import Gather
    from jsproto.core.pubsub.request_many import RequestMany
    from jsproto.core.pubsub.subscription import Overflow, Subscription
    from jsproto.driver import Driver
    from jsproto.embed import Embedded
    from jsproto.errors.tree import (
        AuthorizationFailed,
        ConnectFailed,
        ConnectionClosed,
        ConnectionLost,
        InvalidConfig,
        InvalidSubject,
        JsprotoError,
        LinkError,
        LocalProtocolError,
        NoResponders,
        PermissionViolation,
        RemoteProtocolError,
        RequestTimeout,
        ServerError,
        StatusError,
    )
    from jsproto.jetstream.api.config.consumer import ConsumerConfig, ConsumerInfo
    from jsproto.jetstream.api.config.enums import (
        AckPolicy,
        DeliverPolicy,
        DiscardPolicy,
        RetentionPolicy,
        StorageType,
    )
    from jsproto.jetstream.api.config.stream import (
        StreamConfig,
        StreamInfo,
        StreamSource,
        SubjectTransform,
    )
    from jsproto.jetstream.api.errors import (
        ConsumerNotFound,
        JetStreamError,
        MessageNotFound,
        StreamNotFound,
        WrongLastSequence,
    )
    from jsproto.jetstream.api.publishing.options import PublishOptions
    from jsproto.jetstream.api.publishing.puback import PubAck
    from jsproto.jetstream.context.consumer import Consumer
    from jsproto.jetstream.context.jetstream import JetStream
    from jsproto.jetstream.context.stream import Stream
    from jsproto.jetstream.delivery.ack import Ack, InProgress, Nak, Next, Term
    from jsproto.jetstream.delivery.ack_options import AckOptions
    from jsproto.jetstream.delivery.message import JsMessage
    from jsproto.jetstream.ordered.consumer import OrderedConsumer
    from jsproto.jetstream.ordered.options import OrderedOptions, SourceKind
    from jsproto.jetstream.publish.exactly_once import RetryPolicy
    from jsproto.jetstream.publish.window import Outcome, PublishResult, PublishWindow
    from jsproto.jetstream.pull.consume import Consume
    from jsproto.jetstream.pull.consume_options import ConsumeOptions
    from jsproto.jetstream.pull.fetch import Fetch
    from jsproto.jetstream.pull.fetch_options import FetchMode, FetchOptions
    from jsproto.jetstream.push.options import PushOptions
    from jsproto.jetstream.push.subscription import PushSubscription
    from jsproto.signals import ENDED, NEED_DATA
    from jsproto.wire.commands import Publish
    from jsproto.wire.headers import Headers

__all__ = [
    "ENDED",
    "NEED_DATA",
    "Ack",
    "AckOptions",
    "AckPolicy",
    "Auth",
    "AuthorizationFailed",
    "ConnectFailed",
    "Connection",
    "ConnectionClosed",
    "ConnectionLost",
    "Consume",
    "ConsumeOptions",
    "Consumer",
    "ConsumerConfig",
    "ConsumerInfo",
    "ConsumerNotFound",
    "Conversation",
    "DeliverPolicy",
    "DiscardPolicy",
    "Driver",
    "Embedded",
    "Fetch",
    "FetchMode",
    "FetchOptions",
    "Flush",
    "Gather",
    "Headers",
    "InProgress",
    "InvalidConfig",
    "InvalidSubject",
    "JetStream",
    "JetStreamError",
    "JsMessage",
    "JsprotoError",
    "LinkError",
    "LocalProtocolError",
    "Message",
    "MessageNotFound",
    "Nak",
    "Next",
    "NoResponders",
    "Options",
    "OrderedConsumer",
    "OrderedOptions",
    "Outcome",
    "Overflow",
    "PermissionViolation",
    "Procedure",
    "PubAck",
    "Publish",
    "PublishOptions",
    "PublishResult",
    "PublishWindow",
    "PushOptions",
    "PushSubscription",
    "RemoteProtocolError",
    "RequestMany",
    "RequestTimeout",
    "RetentionPolicy",
    "RetryPolicy",
    "Server",
    "ServerError",
    "SourceKind",
    "StatusError",
    "StopMode",
    "StorageType",
    "Stream",
    "StreamConfig",
    "StreamInfo",
    "StreamNotFound",
    "StreamSource",
    "SubjectTransform",
    "Subscription",
    "Term",
    "Tls",
    "WrongLastSequence",
    "api",
    "core",
    "driver",
    "embed",
    "errors",
    "events",
    "jetstream",
    "ops",
    "request",
    "testing",
    "trace",
]

_HOMES: Final = {
    "ENDED": "jsproto.signals",
    "NEED_DATA": "jsproto.signals",
    "Ack": "jsproto.jetstream.delivery.ack",
    "AckOptions": "jsproto.jetstream.delivery.ack_options",
    "AckPolicy": "jsproto.jetstream.api.config.enums",
    "Auth": "jsproto.core.connection.auth",
    "AuthorizationFailed": "jsproto.errors.tree",
    "ConnectFailed": "jsproto.errors.tree",
    "Connection": "jsproto.core.connection.connection",
    "ConnectionClosed": "jsproto.errors.tree",
    "ConnectionLost": "jsproto.errors.tree",
    "Consume": "jsproto.jetstream.pull.consume",
    "ConsumeOptions": "jsproto.jetstream.pull.consume_options",
    "Consumer": "jsproto.jetstream.context.consumer",
    "ConsumerConfig": "jsproto.jetstream.api.config.consumer",
    "ConsumerInfo": "jsproto.jetstream.api.config.consumer",
    "ConsumerNotFound": "jsproto.jetstream.api.errors",
    "Conversation": "jsproto.core.conversation.conversation",
    "DeliverPolicy": "jsproto.jetstream.api.config.enums",
    "DiscardPolicy": "jsproto.jetstream.api.config.enums",
    "Driver": "jsproto.driver",
    "Embedded": "jsproto.embed",
    "Fetch": "jsproto.jetstream.pull.fetch",
    "FetchMode": "jsproto.jetstream.pull.fetch_options",
    "FetchOptions": "jsproto.jetstream.pull.fetch_options",
    "Flush": "jsproto.core.pubsub.request",
    "Gather": "jsproto.core.pubsub.request_all",
    "Headers": "jsproto.wire.headers",
    "InProgress": "jsproto.jetstream.delivery.ack",
    "InvalidConfig": "jsproto.errors.tree",
    "InvalidSubject": "jsproto.errors.tree",
    "JetStream": "jsproto.jetstream.context.jetstream",
    "JetStreamError": "jsproto.jetstream.api.errors",
    "JsMessage": "jsproto.jetstream.delivery.message",
    "JsprotoError": "jsproto.errors.tree",
    "LinkError": "jsproto.errors.tree",
    "LocalProtocolError": "jsproto.errors.tree",
    "Message": "jsproto.core.conversation.message",
    "MessageNotFound": "jsproto.jetstream.api.errors",
    "Nak": "jsproto.jetstream.delivery.ack",
    "Next": "jsproto.jetstream.delivery.ack",
    "NoResponders": "jsproto.errors.tree",
    "Options": "jsproto.core.connection.options",
    "OrderedConsumer": "jsproto.jetstream.ordered.consumer",
    "OrderedOptions": "jsproto.jetstream.ordered.options",
    "Outcome": "jsproto.jetstream.publish.window",
    "Overflow": "jsproto.core.pubsub.subscription",
    "PermissionViolation": "jsproto.errors.tree",
    "Procedure": "jsproto.core.conversation.procedure",
    "PubAck": "jsproto.jetstream.api.publishing.puback",
    "Publish": "jsproto.wire.commands",
    "PublishOptions": "jsproto.jetstream.api.publishing.options",
    "PublishResult": "jsproto.jetstream.publish.window",
    "PublishWindow": "jsproto.jetstream.publish.window",
    "PushOptions": "jsproto.jetstream.push.options",
    "PushSubscription": "jsproto.jetstream.push.subscription",
    "RemoteProtocolError": "jsproto.errors.tree",
    "RequestMany": "jsproto.core.pubsub.request_many",
    "RequestTimeout": "jsproto.errors.tree",
    "RetentionPolicy": "jsproto.jetstream.api.config.enums",
    "RetryPolicy": "jsproto.jetstream.publish.exactly_once",
    "Server": "jsproto.core.connection.server_pool",
    "ServerError": "jsproto.errors.tree",
    "SourceKind": "jsproto.jetstream.ordered.options",
    "StatusError": "jsproto.errors.tree",
    "StopMode": "jsproto.core.conversation.conversation",
    "StorageType": "jsproto.jetstream.api.config.enums",
    "Stream": "jsproto.jetstream.context.stream",
    "StreamConfig": "jsproto.jetstream.api.config.stream",
    "StreamInfo": "jsproto.jetstream.api.config.stream",
    "StreamNotFound": "jsproto.jetstream.api.errors",
    "StreamSource": "jsproto.jetstream.api.config.stream",
    "SubjectTransform": "jsproto.jetstream.api.config.stream",
    "Subscription": "jsproto.core.pubsub.subscription",
    "Term": "jsproto.jetstream.delivery.ack",
    "Tls": "jsproto.core.connection.options",
    "WrongLastSequence": "jsproto.jetstream.api.errors",
    "api": "jsproto.api",
    "core": "jsproto.core",
    "driver": "jsproto.driver",
    "embed": "jsproto.embed",
    "errors": "jsproto.errors",
    "events": "jsproto.events",
    "jetstream": "jsproto.jetstream",
    "ops": "jsproto.ops",
    "request": "jsproto.core.pubsub.request",
    "testing": "jsproto.testing",
    "trace": "jsproto.trace",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
