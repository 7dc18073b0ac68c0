"""What JetStream tells of itself: advisories, and metrics of acks, as typed events by their type
string (ADR-2).

Theory. An event is a JSON object on a subject below ``$JS.EVENT``, and its ``type`` says what it
is; the subject only helps to choose. One class for each shape, one row in :data:`EVENTS` for each
type. A type that this version does not know is a :class:`JetStreamEvent` with everything in ``extra``, so a
newer server is heard too. Two old subjects, from before 2020, are still listened to by who asks for
all (:data:`HISTORICAL`).

Events are published once and kept by nobody: who must not miss any stores them in a stream of its
own.
"""

# ruff: noqa: RUF009 - a field made by `member` is attrs' own `field` with the form of the member in its metadata

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

#: Where advisories, and metrics, are published.
ADVISORIES: Final = "$JS.EVENT.ADVISORY.>"
METRICS: Final = "$JS.EVENT.METRIC.>"
#: How two of them were called once: still written so in old ACLs.
HISTORICAL: Final[Mapping[str, str]] = {
    "$JS.EVENT.METRIC.CONSUMER_ACK": "$JS.EVENT.METRIC.CONSUMER.ACK",
    "$JS.EVENT.ADVISORY.MAX_DELIVERIES": "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES",
}


@frozen(kw_only=True, repr=False)
class JetStreamEvent(Document):
    """Something that happened; on its own, of a type that this version does not know.

    Attributes:
        type: what it is, such as ``io.nats.jetstream.advisory.v1.max_deliver``.
        id: the server's id of the event.
        timestamp: when.
        domain: the domain it happened in.
        account: the account, where more than one can hear of it.
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
    """Something about a stream."""

    stream: str = member(TEXT, "")


@frozen(kw_only=True, repr=False)
class ConsumerEvent(StreamEvent):
    """Something about a consumer."""

    consumer: str = member(TEXT, "")


@final
@frozen(kw_only=True, repr=False)
class StreamAction(StreamEvent):
    """A stream was made, changed or deleted."""

    action: str = member(TEXT, "")
    template: str | None = member(TEXT)


@final
@frozen(kw_only=True, repr=False)
class ConsumerActionAdvisory(ConsumerEvent):
    """A consumer was made or deleted."""

    action: str = member(TEXT, "")


@final
@frozen(kw_only=True, repr=False)
class ConsumerPause(ConsumerEvent):
    """A consumer was paused, or goes on (2.11)."""

    paused: bool = member(FLAG, False)  # noqa: FBT003 - the form first, then the default
    pause_until: Timestamp | None = member(TIME)


@final
@frozen(kw_only=True, repr=False)
class MessageFate(ConsumerEvent):
    """A message was delivered as often as it may, refused, or terminated.

    Attributes:
        stream_seq: which.
        consumer_seq: its last delivery; 0 where the server does not say it.
        deliveries: how often it was delivered.
        reason: why it was terminated, if somebody said.
    """

    stream_seq: int = member(INTEGER, 0)
    consumer_seq: int = member(INTEGER, 0)
    deliveries: int = member(INTEGER, 0)
    reason: str | None = member(TEXT)


@final
@frozen(kw_only=True, repr=False)
class AckSample(ConsumerEvent):
    """One sampled ack. ``ack_time`` is how long after the delivery it came."""

    stream_seq: int = member(INTEGER, 0)
    consumer_seq: int = member(INTEGER, 0)
    ack_time: timedelta | None = member(DURATION)
    deliveries: int = member(INTEGER, 0)


@final
@frozen(kw_only=True, repr=False)
class LeaderElected(ConsumerEvent):
    """A stream, a consumer (if one is named) or a domain has a new leader."""

    leader: str = member(TEXT, "")
    replicas: Sequence[PeerInfo] = member(ListCodec(Nested(PeerInfo)), ())
    cluster: str | None = member(TEXT)


@final
@frozen(kw_only=True, repr=False)
class QuorumLost(ConsumerEvent):
    """Too few servers of the group of a stream, or consumer, are there: nothing is stored or
    delivered.
    """

    replicas: Sequence[PeerInfo] = member(ListCodec(Nested(PeerInfo)), ())


@final
@frozen(kw_only=True, repr=False)
class GroupPinned(ConsumerEvent):
    """A priority group is pinned to a client, or no longer (2.11, ADR-42)."""

    group: str = member(TEXT, "")
    pinned_id: str | None = member(TEXT)
    reason: str | None = member(TEXT)


@final
@frozen(kw_only=True, repr=False)
class BatchAbandonedAdvisory(StreamEvent):
    """An atomic batch was given up: by silence of 10 s, a gap, or too many at once (2.12, ADR-50)."""

    batch: str = member(TEXT, "")
    reason: str = member(TEXT, "")


@final
@frozen(kw_only=True, repr=False)
class TransferAdvisory(StreamEvent):
    """A snapshot or restore began, or has ended; ``error`` if not well."""

    client: Mapping[str, object] | None = member(OBJECT)
    state: StreamState | None = member(Nested(StreamState))
    start: Timestamp | None = member(TIME)
    end: Timestamp | None = member(TIME)
    bytes: int = member(INTEGER, 0)
    error: str | None = member(TEXT)


@final
@frozen(kw_only=True, repr=False)
class ApiAudit(JetStreamEvent):
    """Somebody asked the API: the subject, what was asked and what was answered, as text."""

    server: str = member(TEXT, "")
    client: Mapping[str, object] | None = member(OBJECT)
    subject: str = member(TEXT, "")
    request: str | None = member(TEXT)
    response: str | None = member(TEXT)


@final
@frozen(kw_only=True, repr=False)
class ServerEvent(StreamEvent):
    """A server is out of space, was removed, was rescued, or dropped requests of the API."""

    server: str = member(TEXT, "")
    server_id: str | None = member(TEXT)
    cluster: str | None = member(TEXT)
    dropped: int = member(INTEGER, 0)
    prev_quorum: int | None = member(INTEGER)
    new_quorum: int | None = member(INTEGER)


_ADVISORY: Final = "io.nats.jetstream.advisory.v1."

#: Which type is which class; others are a :class:`JetStreamEvent`.
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
        InvalidResponse: no JSON object, or a member of another form than its type has.
    """
    members = parse_object(body, "an event")
    kind = members.get("type")
    return EVENTS.get(kind if isinstance(kind, str) else "", JetStreamEvent).from_wire(
        members, "an event"
    )


def modern_subject(subject: str) -> str:
    """The subject that an event has today, from one that it had once."""
    for old, new in HISTORICAL.items():
        if subject == old or subject.startswith(f"{old}."):
            return new + subject.removeprefix(old)
    return subject
