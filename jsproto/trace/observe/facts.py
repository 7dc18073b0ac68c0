"""The facts that the Observer reports: each a small tuple of one event, or of one that is missing.

The Observer reports a fact about a command before it updates its records. The records then show
what the client could know when it sent the command.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from jsproto.jetstream.status import StatusRow
from jsproto.trace.observe.ledger import (
    Json,
    SeenConsumer,
    SeenDelivery,
    SeenLink,
    SeenMark,
    SeenPublish,
    SeenPull,
    SeenRequest,
    SeenSubscription,
)
from jsproto.wire.client_commands import (
    ClientVerb,
    ConnectLine,
    MalformedCommand,
    PubLine,
    SubLine,
    UnsubLine,
)


class ConnectSeen(NamedTuple):
    """The client sent CONNECT."""

    link: SeenLink
    command: ConnectLine


class PubSeen(NamedTuple):
    """The client published a message: to a stream, to the API, as an ack, or on another subject."""

    link: SeenLink
    command: PubLine


class SubSeen(NamedTuple):
    """The client sent SUB; `SubscriptionStarted` describes the subscription."""

    link: SeenLink
    command: SubLine


class UnsubSeen(NamedTuple):
    """The client sent UNSUB: it ended a subscription, or limited it."""

    link: SeenLink
    command: UnsubLine


class VerbSeen(NamedTuple):
    """The client sent PING, PONG, or another verb without arguments."""

    link: SeenLink
    command: ClientVerb


class MalformedSeen(NamedTuple):
    """The client sent a command that breaks the grammar."""

    link: SeenLink
    command: MalformedCommand


class PullIssued(NamedTuple):
    """The client sent a pull request to a consumer."""

    link: SeenLink
    pull: SeenPull
    #: Subscriptions that match its reply subject.
    interests: list[SeenSubscription]
    #: The consumer, if its configuration is known.
    consumer: SeenConsumer | None
    #: Messages and bytes that earlier pulls of the same reader may still bring. The client's clock
    #: decides which pulls are open.
    owed: int = 0
    owed_bytes: int = 0
    #: What that reader requests when no earlier pull is open; 0 if that is not known.
    most: int = 0
    most_bytes: int = 0
    #: The pin id that the server refused last; ``""`` if none.
    refused_pin: str = ""
    #: Pulls of this client's earlier links that the server may still serve into these inboxes.
    survivors: Sequence[SeenPull] = ()
    #: The same pull, sent a moment before on this reconnected link, with no message yet.
    twin: SeenPull | None = None
    #: How many pulls in a row asked for less than ``most`` although no earlier pull was open and no
    #: delivered message was unsettled.
    shrunk: int = 0


class PullEnded(NamedTuple):
    """A status ended a pull."""

    link: SeenLink
    pull: SeenPull
    row: StatusRow
    #: Refusals of this subscription's pulls without a message, in the last three seconds.
    refusals: int


class ApiRequestSeen(NamedTuple):
    """The client sent a request to the API."""

    link: SeenLink
    request: SeenRequest
    #: A request with the same reply subject that is not answered yet.
    waiting: SeenRequest | None


class ConsumerRequested(NamedTuple):
    """The client asked the server to create a consumer."""

    link: SeenLink
    request: SeenRequest
    config: Json
    #: For an ordered consumer: the consumer that this link created for it before.
    earlier: SeenConsumer | None


class ApiErrorSeen(NamedTuple):
    """The API answered with an error."""

    link: SeenLink
    request: SeenRequest
    err_code: int
    text: str


class Acked(NamedTuple):
    """The client sent an ack for a delivery."""

    link: SeenLink
    command: PubLine
    #: The delivery with exactly this reply subject, if it was seen.
    delivery: SeenDelivery | None
    #: A delivery of the same message to the same consumer sequence, with another reply subject.
    alike: SeenDelivery | None
    consumer: SeenConsumer | None
    #: Whether all deliveries of that consumer were seen, and none of them matches.
    invented: bool = False


class FlowAnswered(NamedTuple):
    """The client answered a flow control request."""

    link: SeenLink
    command: PubLine
    mark: SeenMark | None
    #: Deliveries before the request that the user has not taken yet, if the recording says so.
    untaken: int


class FlowMissed(NamedTuple):
    """A heartbeat reports a missing answer to flow control, and no slow user explains it."""

    link: SeenLink
    mark: SeenMark


class Published(NamedTuple):
    """The client published a message that is not for the API."""

    link: SeenLink
    command: PubLine
    #: An earlier message with the same id and another payload.
    clash: SeenPublish | None
    #: An earlier message with the same bytes and no known outcome.
    unknown: SeenPublish | None


class SubscriptionStarted(NamedTuple):
    """The client subscribed."""

    link: SeenLink
    interest: SeenSubscription
    #: An active subscription with the same sid.
    taken: SeenSubscription | None
    #: A push consumer that delivers to this subject and was created before.
    consumer: SeenConsumer | None
    #: An open request on this link to create such a consumer, sent before this subscription.
    early: SeenRequest | None = None


class ServerErrorSeen(NamedTuple):
    """The server sent ``-ERR``."""

    link: SeenLink
    text: str


class PingUnanswered(NamedTuple):
    """The client did not answer a PING of the server."""

    link: SeenLink
    line: int
    after: float


class Silence(NamedTuple):
    """A pull with heartbeats was silent for twice the time after which the client must act."""

    link: SeenLink
    pull: SeenPull
    after: float


class PushSilence(NamedTuple):
    """An ordered push consumer was silent for twice the time after which the client must act.

    The fact concerns consumers with heartbeats only.
    """

    link: SeenLink
    consumer: SeenConsumer
    after: float


class NoPull(NamedTuple):
    """A continuous reader lost its last pull through no fault of its own, and sent no other one."""

    link: SeenLink
    pull: SeenPull
    #: The pull ended by a ``status`` or with the link (``reconnect``).
    because: str


class SubscriptionNotRestored(NamedTuple):
    """The client did not restore a subscription of the link before."""

    link: SeenLink
    interest: SeenSubscription


class GapNotRecovered(NamedTuple):
    """An ordered consumer missed a message, and the client did not create it again."""

    link: SeenLink
    consumer: SeenConsumer
    expected: int
    seen: int


class OldConsumerKept(NamedTuple):
    """The client created an ordered consumer again after a gap, and did not delete the old one."""

    link: SeenLink
    consumer: SeenConsumer


class ConsumerLeaked(NamedTuple):
    """The client ended a subscription, and did not delete the consumer that it created for it."""

    link: SeenLink
    consumer: SeenConsumer


class PullAbandoned(NamedTuple):
    """The client stopped waiting for a pull that has not ended."""

    link: SeenLink
    pull: SeenPull
    #: Seconds until the pull expires.
    left: float


class SnapshotStalled(NamedTuple):
    """The server ended a snapshot because the client did not acknowledge its chunks."""

    link: SeenLink


Fact: TypeAlias = (
    ConnectSeen
    | PubSeen
    | SubSeen
    | UnsubSeen
    | VerbSeen
    | MalformedSeen
    | PullIssued
    | PullEnded
    | ApiRequestSeen
    | ConsumerRequested
    | ApiErrorSeen
    | Acked
    | FlowAnswered
    | FlowMissed
    | Published
    | SubscriptionStarted
    | ServerErrorSeen
    | PingUnanswered
    | Silence
    | PushSilence
    | NoPull
    | SubscriptionNotRestored
    | GapNotRecovered
    | OldConsumerKept
    | ConsumerLeaked
    | PullAbandoned
    | SnapshotStalled
)
