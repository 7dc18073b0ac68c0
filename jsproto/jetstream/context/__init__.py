"""The facade of JetStream: handles whose methods describe operations and perform no I/O.

Theory. Adapters and embedders share this package. A `JetStream` holds the API prefix and a default
timeout. A `Stream` or a `Consumer` adds a name. All are immutable values. Their methods return

- a `Procedure`: run it for its one result;
- a feed (`Fetch`, `Consume`, `PushSubscription`, `OrderedConsumer`): read messages from it;
- a sink (`PublishWindow`): put messages into it;
- another handle, without a request to the server.

Each handle has its own file. The handles refer to each other in both directions, but a file
imports only the classes of the handles that it creates.

The methods of the adapters are generated from the signatures and docstrings in this package
(ADR-37 defines their shape). So everything public here is public in the adapters.
"""

from __future__ import annotations

from jsproto.jetstream.context.consumer import Consumer, NextMessage
from jsproto.jetstream.context.jetstream import JetStream
from jsproto.jetstream.context.messages import StoredMessages
from jsproto.jetstream.context.meta import Meta
from jsproto.jetstream.context.stream import Stream
from jsproto.jetstream.context.system import System

__all__ = ["Consumer", "JetStream", "Meta", "NextMessage", "StoredMessages", "Stream", "System"]
