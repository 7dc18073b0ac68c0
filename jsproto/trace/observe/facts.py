"""What the Observer tells: what was done and what did not happen, each as one small tuple.

A fact about a command is told before the books are changed, so they show what the client could know when it spoke.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from jsproto.jetstream.status import StatusRow
from jsproto.trace.observe.ledger import (
    Interest,
    Json,
    Link,
    SeenConsumer,
    SeenDelivery,
    SeenMark,
    SeenPublish,
    SeenPull,
    SeenRequest,
)
from jsproto.wire.client_commands import (
    ClientVerb,
    ConnectLine,
    MalformedCommand,
    PubLine,
    SubLine,
    UnsubLine,
)


class SaidConnect(NamedTuple):
    """The client introduced itself."""

    link: Link
    command: ConnectLine


class SaidPub(NamedTuple):
    """The client published something, to whomever: a stream, the API, a delivery."""

    link: Link
    command: PubLine


class SaidSub(NamedTuple):
    """The client asked for a subscription; `Subscribed` tells what became of it."""

    link: Link
    command: SubLine


class SaidUnsub(NamedTuple):
    """The client ended a subscription, or bounded it."""

    link: Link
    command: UnsubLine


class SaidWord(NamedTuple):
    """The client said PING, PONG, or something without effect."""

    link: Link
    command: ClientVerb


class SaidBroken(NamedTuple):
    """The client said something that breaks the grammar."""

    link: Link
    command: MalformedCommand


class Pulled(NamedTuple):
    """The client asked a consumer for messages."""

    link: Link
    pull: SeenPull
    #: Subscriptions that its reply subject reaches.
    interests: list[Interest]
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
    #: How often in a row less than the most was asked for, with nothing owed and nothing that could wait to be taken.
    shrunk: int = 0


class PullOver(NamedTuple):
    """A status ended a pull."""

    link: Link
    pull: SeenPull
    row: StatusRow
    #: Refusals of this subscription's pulls, nothing delivered, in the last three seconds.
    refusals: int


class Asked(NamedTuple):
    """The client asked the API."""

    link: Link
    request: SeenRequest
    #: A request with the same reply subject that is not answered yet.
    waiting: SeenRequest | None


class Created(NamedTuple):
    """The client asks for a consumer to be made."""

    link: Link
    request: SeenRequest
    config: Json
    #: For an ordered consumer: the incarnation before it on this link.
    earlier: SeenConsumer | None


class Refused(NamedTuple):
    """The API answered with an error."""

    link: Link
    request: SeenRequest
    err_code: int
    text: str


class Acked(NamedTuple):
    """The client said something to a delivery."""

    link: Link
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

    link: Link
    command: PubLine
    mark: SeenMark | None
    #: Deliveries before the question that the user has not taken yet, as far as the client tells.
    untaken: int


class FlowMissed(NamedTuple):
    """A heartbeat says that an answer is missing, which as far as is known nothing holds up."""

    link: Link
    mark: SeenMark


class Published(NamedTuple):
    """The client published something that is not for the API."""

    link: Link
    command: PubLine
    #: An earlier message with the same id and another payload.
    clash: SeenPublish | None
    #: An earlier message, byte for byte the same, whose outcome is not known.
    unknown: SeenPublish | None


class Subscribed(NamedTuple):
    """The client subscribed."""

    link: Link
    interest: Interest
    #: A subscription of the same sid that is active.
    taken: Interest | None
    #: A push consumer that delivers there and was made before.
    consumer: SeenConsumer | None
    #: A request for such a consumer that went out on this link before, and is not answered yet.
    early: SeenRequest | None = None


class Blamed(NamedTuple):
    """The server said ``-ERR``."""

    link: Link
    text: str


class PingUnanswered(NamedTuple):
    """The server asked for a sign of life and got none."""

    link: Link
    line: int
    after: float


class Silence(NamedTuple):
    """A pull with heartbeats heard nothing for twice the time after which the client should have acted."""

    link: Link
    pull: SeenPull
    after: float


class PushSilence(NamedTuple):
    """An ordered push consumer with heartbeats was not heard for twice the time after which the client should have acted."""

    link: Link
    consumer: SeenConsumer
    after: float


class NoPull(NamedTuple):
    """Somebody who read on and on has not asked again, although the last pull was lost through no fault of theirs."""

    link: Link
    pull: SeenPull
    #: ``status`` or ``reconnect``.
    because: str


class NotHeard(NamedTuple):
    """A subscription of the link before was not made again."""

    link: Link
    interest: Interest


class GapKept(NamedTuple):
    """An ordered consumer lost a message and went on."""

    link: Link
    consumer: SeenConsumer
    expected: int
    seen: int


class LeftBehind(NamedTuple):
    """An ordered consumer was made anew because of a gap, and the one before, which lives, was not deleted."""

    link: Link
    consumer: SeenConsumer


class Abandoned(NamedTuple):
    """A subscription ended, and the consumer that was made for it lives on."""

    link: Link
    consumer: SeenConsumer


class GivenUp(NamedTuple):
    """The client waits no longer for a pull that has not ended."""

    link: Link
    pull: SeenPull
    #: Seconds that it had still to go.
    left: float


class SnapshotStalled(NamedTuple):
    """A snapshot ended because its chunks were not acknowledged."""

    link: Link


Fact: TypeAlias = (
    SaidConnect
    | SaidPub
    | SaidSub
    | SaidUnsub
    | SaidWord
    | SaidBroken
    | Pulled
    | PullOver
    | Asked
    | Created
    | Refused
    | Acked
    | FlowAnswered
    | FlowMissed
    | Published
    | Subscribed
    | Blamed
    | PingUnanswered
    | Silence
    | PushSilence
    | NoPull
    | NotHeard
    | GapKept
    | LeftBehind
    | Abandoned
    | GivenUp
    | SnapshotStalled
)
