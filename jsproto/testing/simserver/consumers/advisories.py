"""What a consumer tells about itself: advisories and metrics, on subjects of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from jsproto.testing.simserver.consumers.acks import AckAddress
from jsproto.testing.simserver.values.documents import Table

_ADVISORY: Final = "io.nats.jetstream.advisory.v1."
_METRIC: Final = "io.nats.jetstream.metric.v1."


class Advisories:
    """The advisories of one consumer. ``publish`` takes subject, type, members and time."""

    __slots__ = ("_consumer", "_publish", "_stream")

    def __init__(
        self, stream: str, consumer: str, publish: Callable[[str, str, Table, int], None]
    ) -> None:
        self._stream = stream
        self._consumer = consumer
        self._publish = publish

    def naked(self, address: AckAddress, now: int) -> None:
        """A delivery was given back."""
        self._advise("MSG_NAKED", "nak", self._about(address), now)

    def terminated(self, address: AckAddress, reason: str, now: int) -> None:
        """A delivery will never be tried again."""
        members = self._about(address)
        if reason:
            members["reason"] = reason
        self._advise("MSG_TERMINATED", "terminated", members, now)

    def exceeded(self, seq: int, deliveries: int, now: int) -> None:
        """A message reached max_deliver."""
        members: Table = {"stream": self._stream, "consumer": self._consumer, "stream_seq": seq}
        self._advise("MAX_DELIVERIES", "max_deliver", {**members, "deliveries": deliveries}, now)

    def sampled(self, address: AckAddress, took: int, now: int) -> None:
        """A sampled acknowledgement, ``took`` nanoseconds after the message was stored or sent."""
        members = self._about(address)
        deliveries = members.pop("deliveries")
        members.update({"ack_time": took, "deliveries": deliveries})
        self._publish(
            f"$JS.EVENT.METRIC.CONSUMER.ACK.{self._stream}.{self._consumer}",
            _METRIC + "consumer_ack",
            members,
            now,
        )

    def pinned(self, group: str, pin: str, now: int) -> None:
        """A client of a priority group is pinned."""
        self._advise("PINNED", "consumer_group_pinned", {**self._of(group), "pinned_id": pin}, now)

    def unpinned(self, group: str, reason: str, now: int) -> None:
        """No client is pinned any more."""
        self._advise(
            "UNPINNED", "consumer_group_unpinned", {**self._of(group), "reason": reason}, now
        )

    def _of(self, group: str) -> Table:
        return {"account": "$G", "stream": self._stream, "consumer": self._consumer, "group": group}

    def _about(self, address: AckAddress) -> Table:
        return {
            "stream": self._stream,
            "consumer": self._consumer,
            "consumer_seq": address.consumer_seq,
            "stream_seq": address.stream_seq,
            "deliveries": address.deliveries,
        }

    def _advise(self, event: str, kind: str, members: Table, now: int) -> None:
        self._publish(
            f"$JS.EVENT.ADVISORY.CONSUMER.{event}.{self._stream}.{self._consumer}",
            _ADVISORY + kind,
            members,
            now,
        )
