"""Follows deliveries, the acks that answer them, and flow control requests.

Theory. An ack goes to the reply subject of its delivery, byte by byte. If the subject differs, the
parts that stay the same still identify the delivery: stream, consumer and both sequences.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, TypeAlias, final

from jsproto.trace.observe.books import TraceContext
from jsproto.trace.observe.facts import Acked, FlowAnswered, FlowMissed, GapNotRecovered
from jsproto.trace.observe.ledger import (
    SECOND,
    SeenConsumer,
    SeenDelivery,
    SeenLink,
    SeenMark,
    SeenSubscription,
    bound,
)
from jsproto.trace.observe.pulls import Pulls
from jsproto.wire.client_commands import PubLine
from jsproto.wire.frames import Delivery

#: Time in which the client of an ordered consumer must react to a gap.
GAP_PATIENCE: Final = 5 * SECOND

#: Stream, consumer, and the sequences of both, as text.
Spot: TypeAlias = tuple[str, str, str, str]

_SEQUENCE: Final = re.compile(r"[0-9]{1,20}").fullmatch

#: How the bodies of terminal acks begin. An empty body is terminal too.
SETTLING: Final = (b"+ACK", b"+OK", b"-NAK", b"+TERM", b"+NXT")


class _Reset(NamedTuple):
    """Check that the client creates an ordered consumer again after a gap."""

    interest: SeenSubscription
    creates: int
    gap: GapNotRecovered

    @property
    def fact(self) -> str:
        return GapNotRecovered.__name__

    def look(self, books: TraceContext, now: int) -> None:
        link = self.gap.link
        if (
            link.up
            and self.interest.active
            and not self.gap.consumer.deleted
            and link.creates == self.creates
        ):
            books.tell(self.gap)


@final
class Deliveries:
    """Follows the deliveries of all links."""

    __slots__ = ("_books", "_deliveries", "_forgot", "_pulls", "_seen", "_spots")

    def __init__(self, books: TraceContext, pulls: Pulls) -> None:
        self._books = books
        self._pulls = pulls
        self._deliveries: dict[str, SeenDelivery] = {}
        self._forgot = False
        #: Consumers that delivered something.
        self._seen: dict[tuple[str, str], None] = {}
        self._spots: dict[Spot, SeenDelivery] = {}

    def delivery(self, link: SeenLink, interest: SeenSubscription | None, frame: Delivery) -> None:
        """Read a message with an ack subject that came to the client."""
        spot = _spot(frame[2])
        if spot is None:
            return
        key = spot[:2]
        self._seen[key] = None
        bound(self._seen)
        number = 0
        if interest is not None:
            interest.unsettled += 1
            number = interest.delivered = interest.delivered + 1
        known = self._deliveries.get(frame[2])
        left = 1 if known is None else known.left + 1
        delivery = self._deliveries[frame[2]] = SeenDelivery(
            key, self._books.line, left, link=link, interest=interest, number=number
        )
        self._spots.setdefault(spot, delivery)
        for reply, forgotten in bound(self._deliveries):
            self._forgot = True
            old = _spot(reply)
            if old is not None and self._spots.get(old) is forgotten:
                del self._spots[old]
        consumer = self._books.consumers.get(key)
        if consumer is not None and consumer.ordered:
            self._order(link, interest, consumer, int(spot[3]))
        if interest is not None:
            self._pulls.delivered(interest, key, frame)

    def _order(
        self, link: SeenLink, interest: SeenSubscription | None, consumer: SeenConsumer, seen: int
    ) -> None:
        expected = consumer.expected
        consumer.expected = seen + 1
        if not expected or seen == expected or interest is None:
            return
        consumer.gap = self._books.now
        gap = GapNotRecovered(link, consumer, expected, seen)
        self._books.watch(self._books.now + GAP_PATIENCE, _Reset(interest, link.creates, gap))

    def ack(self, link: SeenLink, command: PubLine) -> None:
        """Read an ack of the client to a delivery."""
        delivery = self._deliveries.get(command.subject)
        alike = None
        if delivery is not None:
            key = delivery.consumer
        else:
            spot = _spot(command.subject)
            alike = None if spot is None else self._spots.get(spot)
            key = ("", "") if spot is None else spot[:2]
        consumer = self._books.consumers.get(key)
        invented = delivery is None and alike is None and not self._forgot and key in self._seen
        self._books.tell(Acked(link, command, delivery, alike, consumer, invented))
        body = command.payload
        if delivery is not None and (not body or body.startswith(SETTLING)):
            delivery.left = max(0, delivery.left - 1)
            if (
                delivery.settled is None
                and delivery.interest is not None
                and delivery.interest.unsettled
            ):
                delivery.interest.unsettled -= 1
            delivery.settled = None if delivery.left else body
            delivery.asked, delivery.confirmed = bool(command.reply), False
            if command.reply and not body.startswith(b"+NXT"):
                link.confirming[command.reply] = delivery
                bound(link.confirming, self._books.most)
            delivery.link = link
        if body.startswith(b"+NXT") and command.reply and all(key):
            self._pulls.pull(link, key, command.reply, body[4:].strip())

    # --------------------------------------------------------------------------------- flow control

    def taken(self, link: SeenLink, reply: str) -> None:
        """Note that the user took this delivery, found by reply subject, and those before it."""
        delivery = self._deliveries.get(reply)
        if delivery is None and self._forgot:
            link.tells = False  # the delivery was forgotten, so the user's progress is unknown
        elif delivery is not None and delivery.link is link and delivery.interest is not None:
            delivery.interest.taken = max(delivery.interest.taken, delivery.number)

    def mark(
        self, link: SeenLink, subject: str, interest: SeenSubscription | None = None
    ) -> SeenMark:
        """Find the flow control request that this subject answers, or note a new one."""
        mark = link.marks.get(subject)
        if mark is None:
            mark = link.marks[subject] = SeenMark(subject, self._books.now, self._books.line)
            if interest is not None:
                mark.interest, mark.behind = interest, interest.delivered
            if bound(link.marks, self._books.most):
                link.forgot.add("marks")
        return mark

    def flow(self, link: SeenLink, command: PubLine) -> None:
        """Read the client's answer to a flow control request."""
        mark = link.marks.get(command.subject)
        self._books.tell(
            FlowAnswered(link, command, mark, 0 if mark is None else _untaken(link, mark))
        )
        if mark is not None:
            mark.answers += 1
            mark.missed = 0

    def stalled(self, link: SeenLink, subject: str) -> None:
        """Read a heartbeat which says that the answer on this subject is missing."""
        mark = self.mark(link, subject)
        if not _untaken(link, mark):  # a user who reads slowly may answer late
            mark.missed += 1
            self._books.tell(FlowMissed(link, mark))


def _untaken(link: SeenLink, mark: SeenMark) -> int:
    """Count deliveries before the flow control request that the user has not taken yet.

    The count is 0 if the recording does not say what the user takes.
    """
    if mark.interest is None or not link.tells:
        return 0
    return max(0, mark.behind - mark.interest.taken)


def _spot(subject: str) -> Spot | None:
    """Read stream, consumer and both sequences from an ack subject of either form.

    The forms are described at `jsproto.jetstream.delivery.ack.AckSubject`.
    """
    tokens = subject.split(".")
    count = len(tokens)
    at = 2 if count == 9 else 4
    if count < 9 or count == 10 or _SEQUENCE(tokens[at + 4]) is None:
        return None
    return tokens[at], tokens[at + 1], tokens[at + 3], tokens[at + 4]
