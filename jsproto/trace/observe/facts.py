"""What the Observer tells: what was done and what did not happen, each as one small tuple.

A fact about a command is told before the books are changed, so they show what the client could know
when it spoke.
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
    """The client introduced itself."""

    link: SeenLink
    command: ConnectLine


class PubSeen(NamedTuple):
    """The client published something, to whomever: a stream, the API, a delivery."""

    link: SeenLink
    command: PubLine


class SubSeen(NamedTuple):
    """The client asked for a subscription; `SubscriptionStarted` tells what became of it."""

    link: SeenLink
    command: SubLine


class UnsubSeen(NamedTuple):
    """The client ended a subscription, or bounded it."""

    link: SeenLink
    command: UnsubLine


class VerbSeen(NamedTuple):
    """The client said PING, PONG, or something without effect."""

    link: SeenLink
    command: ClientVerb


class MalformedSeen(NamedTuple):
    """The client said something that breaks the grammar."""

    link: SeenLink
    command: MalformedCommand


class PullIssued(NamedTuple):
    """The client asked a consumer for messages."""

    link: SeenLink
    pull: SeenPull
    #: Subscriptions that its reply subject reaches.
    interests: list[SeenSubscription]
    #: The consumer, if its configuration is known.
    consumer: SeenConsumer | None
    #: What earlier pulls of the same reader may still bring, by the client's clock.
    owed: int = 0
    owed_bytes: int = 0
    #: What that reader asks for where nothing is owed, 0 if that is not known.
    most: int = 0
    most_bytes: int = 0
    #: The pin id that the server refused last, ``""`` if none.
    refused_pin: str = ""
    #: Pulls of earlier links of this client that may still be alive in its inboxes.
    survivors: Sequence[SeenPull] = ()
    #: The same pull, sent on this link since it was made anew, to which nothing has come yet.
    twin: SeenPull | None = None
    #: How often in a row less than the most was asked for, with nothing owed and nothing that could
    #: wait to be taken.
    shrunk: int = 0


class PullEnded(NamedTuple):
    """A status ended a pull."""

    link: SeenLink
    pull: SeenPull
    row: StatusRow
    #: Refusals of this subscription's pulls, nothing delivered, in the last three seconds.
    refusals: int


class ApiRequestSeen(NamedTuple):
    """The client asked the API."""

    link: SeenLink
    request: SeenRequest
    #: A request with the same reply subject that is not answered yet.
    waiting: SeenRequest | None


class ConsumerRequested(NamedTuple):
    """The client asks for a consumer to be made."""

    link: SeenLink
    request: SeenRequest
    config: Json
    #: For an ordered consumer: the incarnation before it on this link.
    earlier: SeenConsumer | None


class ApiErrorSeen(NamedTuple):
    """The API answered with an error."""

    link: SeenLink
    request: SeenRequest
    err_code: int
    text: str


class Acked(NamedTuple):
    """The client said something to a delivery."""

    link: SeenLink
    command: PubLine
    #: The delivery with that very reply subject, if it was seen.
    delivery: SeenDelivery | None
    #: A delivery of the same message to the same consumer sequence, with another reply subject.
    alike: SeenDelivery | None
    consumer: SeenConsumer | None
    #: Deliveries of that consumer were seen, all of them, and none was this one.
    invented: bool = False


class FlowAnswered(NamedTuple):
    """The client answered a question of flow control."""

    link: SeenLink
    command: PubLine
    mark: SeenMark | None
    #: Deliveries before the question that the user has not taken yet, as far as the client tells.
    untaken: int


class FlowMissed(NamedTuple):
    """A heartbeat says that an answer is missing, which as far as is known nothing holds up."""

    link: SeenLink
    mark: SeenMark


class Published(NamedTuple):
    """The client published something that is not for the API."""

    link: SeenLink
    command: PubLine
    #: An earlier message with the same id and another payload.
    clash: SeenPublish | None
    #: An earlier message, byte for byte the same, whose outcome is not known.
    unknown: SeenPublish | None


class SubscriptionStarted(NamedTuple):
    """The client subscribed."""

    link: SeenLink
    interest: SeenSubscription
    #: A subscription of the same sid that is active.
    taken: SeenSubscription | None
    #: A push consumer that delivers there and was made before.
    consumer: SeenConsumer | None
    #: A request for such a consumer that went out on this link before, and is not answered yet.
    early: SeenRequest | None = None


class ServerErrorSeen(NamedTuple):
    """The server said ``-ERR``."""

    link: SeenLink
    text: str


class PingUnanswered(NamedTuple):
    """The server asked for a sign of life and got none."""

    link: SeenLink
    line: int
    after: float


class Silence(NamedTuple):
    """A pull with heartbeats heard nothing for twice the time after which the client should have
    acted.
    """

    link: SeenLink
    pull: SeenPull
    after: float


class PushSilence(NamedTuple):
    """An ordered push consumer with heartbeats was not heard for twice the time after which the
    client should have acted.
    """

    link: SeenLink
    consumer: SeenConsumer
    after: float


class NoPull(NamedTuple):
    """Somebody who read on and on has not asked again, although the last pull was lost through no
    fault of theirs.
    """

    link: SeenLink
    pull: SeenPull
    #: ``status`` or ``reconnect``.
    because: str


class SubscriptionNotRestored(NamedTuple):
    """A subscription of the link before was not made again."""

    link: SeenLink
    interest: SeenSubscription


class GapNotRecovered(NamedTuple):
    """An ordered consumer lost a message and went on."""

    link: SeenLink
    consumer: SeenConsumer
    expected: int
    seen: int


class OldConsumerKept(NamedTuple):
    """An ordered consumer was made anew because of a gap, and the one before, which lives, was not
    deleted.
    """

    link: SeenLink
    consumer: SeenConsumer


class ConsumerLeaked(NamedTuple):
    """A subscription ended, and the consumer that was made for it lives on."""

    link: SeenLink
    consumer: SeenConsumer


class PullAbandoned(NamedTuple):
    """The client waits no longer for a pull that has not ended."""

    link: SeenLink
    pull: SeenPull
    #: Seconds that it had still to go.
    left: float


class SnapshotStalled(NamedTuple):
    """A snapshot ended because its chunks were not acknowledged."""

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
