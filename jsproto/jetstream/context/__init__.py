"""The one facade of JetStream, as descriptions: every method gives a conversation, and none does
anything.

Theory. What a user wants from JetStream is said here once, for all adapters and for whoever embeds
the machines: a `JetStream` knows the API prefix and a default timeout, a `Stream` and a `Consumer`
add a name, and all are values. Their methods answer with

- a `Procedure`, to be run for its one result;
- a feed (`Fetch`, `Consume`, `PushSubscription`, `OrderedConsumer`), to be streamed;
- a sink (`PublishWindow`), to be filled;
- another handle, for which nobody is asked.

One noun, one file. They name each other both ways and import each other one way: who makes a handle
imports its class.

The friendly methods of the adapters are generated from the signatures and docstrings in this
package (ADR-37 gives them their shape), so what is public here is public there.
"""

from __future__ import annotations

from jsproto.jetstream.context.consumer import Consumer, NextMessage
from jsproto.jetstream.context.jetstream import JetStream
from jsproto.jetstream.context.messages import StoredMessages
from jsproto.jetstream.context.meta import Meta
from jsproto.jetstream.context.stream import Stream
from jsproto.jetstream.context.system import System

__all__ = ["Consumer", "JetStream", "Meta", "NextMessage", "StoredMessages", "Stream", "System"]
