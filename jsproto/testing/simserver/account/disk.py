"""What is on the disk: an image of it, and the server's return from it.

A kill of the process loses nothing that a stream has stored, for the operating system has it; but
the state of a consumer is written a little later than it changes, so after a kill the server may
know less of deliveries and acknowledgements than it did (nats-server ``filestore.go``,
``consumerFileStore.flushLoop``). When the power fails, whatever was written since the last sync is
gone, and that is two minutes by default (``sync_interval``).

So a loss is a return to an earlier image: of the consumers, or of everything. An image is good for
one return.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from jsproto.testing.simserver.account.jetstream import SimJetStream
    from jsproto.testing.simserver.consumers.consumers import SimConsumer
    from jsproto.testing.simserver.streams.streams import SimStream


@final
class Image:
    """What the disk held at one moment.

    Args:
        jetstream: whose disk.
        consumers_only: the streams are not part of it: they lose nothing.
    """

    __slots__ = ("_consumers", "_consumers_only", "_streams")

    def __init__(self, jetstream: SimJetStream, *, consumers_only: bool = False) -> None:
        shared: list[object] = [jetstream, jetstream.router, jetstream.lottery, jetstream.profile]
        for stream in jetstream.streams.values():
            shared += (
                [stream] if consumers_only else stream.after(stream.first)
            )  # messages at rest never change
        memo: dict[int, object] = {id(each): each for each in shared}
        self._consumers_only = consumers_only
        self._streams: dict[str, SimStream] = copy.deepcopy(jetstream.streams, memo)
        self._consumers: dict[str, dict[str, SimConsumer]] = copy.deepcopy(
            jetstream.consumers, memo
        )

    def restore(self, jetstream: SimJetStream, now: int) -> None:
        """The disk is as it was; to be called while the server is down. What was made since and is
        whole stays.
        """
        if not self._consumers_only:
            for stream in list(jetstream.streams.values()):
                jetstream.remove_stream(stream, now)
            jetstream.take_back(self._streams, self._consumers)
            return
        for name, consumers in self._consumers.items():
            stream = self._streams[name]
            if jetstream.streams.get(name) is not stream:
                continue
            for consumer in consumers.values():
                known = jetstream.consumers[name].get(consumer.name)
                if known is not None and known.created == consumer.created:
                    jetstream.replace_consumer(stream, consumer, now)
