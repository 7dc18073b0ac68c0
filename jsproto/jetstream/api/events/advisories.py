"""JetStream's advisories and ack metrics as typed events (ADR-2).

Theory. An event is a JSON object on a subject below ``$JS.EVENT``. Its ``type`` decides its class;
the subject is only for filtering. There is one class for each form, and one row in :data:`EVENTS`
for each type. An unknown type of a newer server is a :class:`JetStreamEvent` with all members in
``extra``. A subscription to all events also covers two subjects from before 2020
(:data:`HISTORICAL`).

The server publishes an event once and does not store it. A user that must not miss events stores
them in a stream.
"""

# ruff: noqa: RUF009 - `member` returns an attrs `field` with the codec in its metadata

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final, final

from attrs import frozen

from jsproto.jetstream.api.codecs import DURATION, FLAG, INTEGER, OBJECT, TEXT, TIME, ListCodec
from jsproto.jetstream.api.config.cluster import PeerInfo
from jsproto.jetstream.api.config.stream import StreamState
from jsproto.jetstream.api.document import Document, Nested, member
from jsproto.jetstream.api.envelope import parse_object
from jsproto.jetstream.api.timestamps import Timestamp

#: Subjects of advisories and of metrics.
ADVISORIES: Final = "$JS.EVENT.ADVISORY.>"
METRICS: Final = "$JS.EVENT.METRIC.>"
#: Earlier names of two subjects; old permissions may still contain them.
HISTORICAL: Final[Mapping[str, str]] = {
    "$JS.EVENT.METRIC.CONSUMER_ACK": "$JS.EVENT.METRIC.CONSUMER.ACK",
    "$JS.EVENT.ADVISORY.MAX_DELIVERIES": "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES",
}


@frozen(kw_only=True, repr=False)
class JetStreamEvent(Document):
    """An event; the class itself is used for types that this version does not know.

    Attributes:
        type: the type, such as ``io.nats.jetstream.advisory.v1.max_deliver``.
        id: the server's id of the event.
        timestamp: when it happened.
        domain: the domain in which it happened.
        account: the account, if several accounts can receive the event.
    """

    type: str = member(TEXT, "")
    id: str = member(TEXT, "")
    timestamp: Timestamp | None = member(TIME)
    domain: str | None = member(TEXT)
    account: str | None = member(TEXT)

    @property
    def kind(self) -> str:
        """The last word of the type."""
        return self.type.rpartition(".")[2]


@frozen(kw_only=True, repr=False)
class StreamEvent(JetStreamEvent):
    """An event about a stream."""

    stream: str = member(TEXT, "")


@frozen(kw_only=True, repr=False)
class ConsumerEvent(StreamEvent):
    """An event about a consumer."""

    consumer: str = member(TEXT, "")


@final
@frozen(kw_only=True, repr=False)
class StreamAction(StreamEvent):
    """A stream was created, updated or deleted."""

    action: str = member(TEXT, "")
    template: str | None = member(TEXT)


@final
@frozen(kw_only=True, repr=False)
class ConsumerActionAdvisory(ConsumerEvent):
    """A consumer was created or deleted."""

    action: str = member(TEXT, "")


@final
@frozen(kw_only=True, repr=False)
class ConsumerPause(ConsumerEvent):
    """A consumer was paused or resumed (2.11)."""

    paused: bool = member(FLAG, False)  # noqa: FBT003 - the codec, then the default
    pause_until: Timestamp | None = member(TIME)


@final
@frozen(kw_only=True, repr=False)
class MessageFate(ConsumerEvent):
    """A message reached its maximum of deliveries, or was negatively acknowledged or terminated.

    Attributes:
        stream_seq: its stream sequence.
        consumer_seq: the consumer sequence of its last delivery; 0 if the server does not send
            it.
        deliveries: number of deliveries.
        reason: why it was terminated, if the client gave a reason.
    """

    stream_seq: int = member(INTEGER, 0)
    consumer_seq: int = member(INTEGER, 0)
    deliveries: int = member(INTEGER, 0)
    reason: str | None = member(TEXT)


@final
@frozen(kw_only=True, repr=False)
class AckSample(ConsumerEvent):
    """One sampled ack; ``ack_time`` is the time from the delivery to the ack."""

    stream_seq: int = member(INTEGER, 0)
    consumer_seq: int = member(INTEGER, 0)
    ack_time: timedelta | None = member(DURATION)
    deliveries: int = member(INTEGER, 0)


@final
@frozen(kw_only=True, repr=False)
class LeaderElected(ConsumerEvent):
    """A stream, a consumer (if named) or a domain has a new leader."""

    leader: str = member(TEXT, "")
    replicas: Sequence[PeerInfo] = member(ListCodec(Nested(PeerInfo)), ())
    cluster: str | None = member(TEXT)


@final
@frozen(kw_only=True, repr=False)
class QuorumLost(ConsumerEvent):
    """The group of a stream or consumer has no majority: it stores and delivers nothing."""

    replicas: Sequence[PeerInfo] = member(ListCodec(Nested(PeerInfo)), ())


@final
@frozen(kw_only=True, repr=False)
class GroupPinned(ConsumerEvent):
    """A priority group was pinned to a client, or unpinned (2.11, ADR-42)."""

    group: str = member(TEXT, "")
    pinned_id: str | None = member(TEXT)
    reason: str | None = member(TEXT)


@final
@frozen(kw_only=True, repr=False)
class BatchAbandonedAdvisory(StreamEvent):
    """An atomic batch was dropped: 10 s of silence, a gap, or too many batches (2.12, ADR-50)."""

    batch: str = member(TEXT, "")
    reason: str = member(TEXT, "")


@final
@frozen(kw_only=True, repr=False)
class TransferAdvisory(StreamEvent):
    """A snapshot or restore began or ended; ``error`` is set if it failed."""

    client: Mapping[str, object] | None = member(OBJECT)
    state: StreamState | None = member(Nested(StreamState))
    start: Timestamp | None = member(TIME)
    end: Timestamp | None = member(TIME)
    bytes: int = member(INTEGER, 0)
    error: str | None = member(TEXT)


@final
@frozen(kw_only=True, repr=False)
class ApiAudit(JetStreamEvent):
    """A client sent an API request: its subject, request and response as text."""

    server: str = member(TEXT, "")
    client: Mapping[str, object] | None = member(OBJECT)
    subject: str = member(TEXT, "")
    request: str | None = member(TEXT)
    response: str | None = member(TEXT)


@final
@frozen(kw_only=True, repr=False)
class ServerEvent(StreamEvent):
    """A server ran out of space, was removed or rescued, or dropped API requests."""

    server: str = member(TEXT, "")
    server_id: str | None = member(TEXT)
    cluster: str | None = member(TEXT)
    dropped: int = member(INTEGER, 0)
    prev_quorum: int | None = member(INTEGER)
    new_quorum: int | None = member(INTEGER)


_ADVISORY: Final = "io.nats.jetstream.advisory.v1."

#: The class of each type; other types are a :class:`JetStreamEvent`.
EVENTS: Final[Mapping[str, type[JetStreamEvent]]] = {
    f"{_ADVISORY}api_audit": ApiAudit,
    f"{_ADVISORY}api_limit_reached": ServerEvent,
    f"{_ADVISORY}consumer_action": ConsumerActionAdvisory,
    f"{_ADVISORY}consumer_group_pinned": GroupPinned,
    f"{_ADVISORY}consumer_group_unpinned": GroupPinned,
    f"{_ADVISORY}consumer_leader_elected": LeaderElected,
    f"{_ADVISORY}consumer_pause": ConsumerPause,
    f"{_ADVISORY}consumer_quorum_lost": QuorumLost,
    f"{_ADVISORY}domain_leader_elected": LeaderElected,
    f"{_ADVISORY}max_deliver": MessageFate,
    f"{_ADVISORY}meta_rescue": ServerEvent,
    f"{_ADVISORY}nak": MessageFate,
    f"{_ADVISORY}restore_complete": TransferAdvisory,
    f"{_ADVISORY}restore_create": TransferAdvisory,
    f"{_ADVISORY}server_out_of_space": ServerEvent,
    f"{_ADVISORY}server_removed": ServerEvent,
    f"{_ADVISORY}snapshot_complete": TransferAdvisory,
    f"{_ADVISORY}snapshot_create": TransferAdvisory,
    f"{_ADVISORY}stream_action": StreamAction,
    f"{_ADVISORY}stream_batch_abandoned": BatchAbandonedAdvisory,
    f"{_ADVISORY}stream_leader_elected": LeaderElected,
    f"{_ADVISORY}stream_quorum_lost": QuorumLost,
    f"{_ADVISORY}terminated": MessageFate,
    "io.nats.jetstream.metric.v1.consumer_ack": AckSample,
}


def read_event(body: bytes) -> JetStreamEvent:
    """The event in the payload of a message below ``$JS.EVENT``.

    Raises:
        InvalidResponse: the body is no JSON object, or a member has the wrong form.
    """
    members = parse_object(body, "an event")
    kind = members.get("type")
    return EVENTS.get(kind if isinstance(kind, str) else "", JetStreamEvent).from_wire(
        members, "an event"
    )


def modern_subject(subject: str) -> str:
    """The current subject of an event, from a current or earlier one."""
    for old, new in HISTORICAL.items():
        if subject == old or subject.startswith(f"{old}."):
            return new + subject.removeprefix(old)
    return subject
