"""Shows the status of each link after each frame, and every pull as a span from issue to end.

Theory. The Observer's records show the present, but a reader of a trace needs the past. So after
each frame this module reads the records of its link: open pulls, unsettled deliveries, and missing
answers. The Observer lists the pulls that a frame has changed, so only those are read again. A pull
is also read again when it expires, or when the server sends something after its expiry. Frames come
in the order of their rows; the caller chooses the row numbers.

A server can serve a pull after its link was lost, if the client listens on its inbox again. So a
delivery that no pull of its own link asked for belongs to a pull of a lost link. It is the oldest
one that asked for it and has not expired.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Final, NamedTuple, final

from attrs import Factory, define

from jsproto.jetstream.status import EndReason
from jsproto.trace.observe.deliveries import SETTLING
from jsproto.trace.observe.facts import Acked, Fact, FlowAnswered, PullEnded, PullIssued, UnsubSeen
from jsproto.trace.observe.ledger import (
    SECOND,
    ConsumerKey,
    SeenLink,
    SeenPull,
    nanoseconds,
    seconds,
)
from jsproto.wire.subjects import subject_matches

#: Time after its expiry in which a status for a pull can still come.
LATE: Final = 5 * SECOND
#: Highest number of pulls of lost links that stay for each consumer; the newest.
MOST_LOST: Final = 64
#: Fates of a pull which neither a status nor the count of messages has ended.
OPEN: Final = "OPEN"
UNSUBSCRIBED: Final = "UNSUBSCRIBED"
UNHEARD: Final = "UNHEARD"


class SubscriptionStatus(NamedTuple):
    """The status of a link after a frame."""

    #: 1 while the link is up.
    up: int
    subscriptions: int
    #: Requests to the API without an answer.
    requests: int
    #: Pulls that the server can still serve.
    pulls: int
    #: Messages and bytes that the server can still send for them.
    messages: int
    bytes: int
    #: Deliveries without a terminal ack, except of consumers that need none.
    unsettled: int
    #: Flow control requests without an answer.
    questions: int
    #: PINGs of the server without an answer.
    pings: int


#: The status of a link that has ended.
DOWN: Final = SubscriptionStatus(0, 0, 0, 0, 0, 0, 0, 0, 0)


@define(eq=False, kw_only=True)
class PullSpan:
    """A pull from its issue to its end."""

    number: int
    pull: SeenPull
    conn: str
    row: int
    #: Messages that its reader requests when no pull is open; 0 if that is not known.
    bound: int = 0
    #: The sid of its inbox; ``""`` if there was no subscription.
    sid: str = ""
    #: Messages that came for it after the end of its link.
    more: int = 0
    #: Its last known state in the Observer's records: messages received; then open pulls, messages
    #: and bytes.
    read: int = 0
    share: tuple[int, int, int] = (0, 0, 0)
    end_row: int = -1
    until: float = 0.0
    #: A member of `jsproto.jetstream.status.EndReason`, or ``OPEN``, ``UNSUBSCRIBED``, ``UNHEARD``.
    fate: str = OPEN

    @property
    def got(self) -> int:
        """Messages that came for it."""
        return self.pull.got + self.more

    def close(self, row: int, at: float, fate: str) -> None:
        """End the span in this row."""
        self.end_row, self.until, self.fate = row, at, fate


@define(eq=False)
class _StatusBook:
    """Counts of one link."""

    link: SeenLink
    #: Open pulls by sid and number.
    open: dict[str, dict[int, PullSpan]] = Factory(dict[str, dict[int, PullSpan]])
    #: Expired pulls that the server may not have read, because it was silent since.
    unread: list[PullSpan] = Factory(list[PullSpan])
    #: Time at which the server was last known to send something.
    heard: int = 0
    pulls: int = 0
    messages: int = 0
    bytes: int = 0
    unsettled: int = 0
    answered: int = 0

    def count(self, bar: PullSpan, share: tuple[int, int, int]) -> None:
        """Replace the share of a pull in the counts."""
        before, bar.share = bar.share, share
        self.pulls += share[0] - before[0]
        self.messages += share[1] - before[1]
        self.bytes += share[2] - before[2]

    def close(self, bar: PullSpan, row: int, at: float, fate: str) -> None:
        """End the span of a pull of this link."""
        bar.close(row, at, fate)
        self.count(bar, (0, 0, 0))
        bars = self.open.get(bar.sid)
        if bars is not None:
            bars.pop(bar.number, None)
            if not bars:
                del self.open[bar.sid]

    @property
    def bars(self) -> list[PullSpan]:
        """All open spans."""
        return [bar for bars in self.open.values() for bar in bars.values()]


@final
class Standings:
    """Keeps the status of all links.

    Attributes:
        bars: all pulls that were seen, by number.
    """

    __slots__ = ("_books", "_due", "_known", "_lost", "_own", "_unsubscribed", "bars")

    def __init__(self) -> None:
        self.bars: dict[int, PullSpan] = {}
        self._known: dict[SeenPull, PullSpan] = {}
        self._books: dict[str, _StatusBook] = {}
        #: Heap of times at which pulls are read again, with their numbers.
        self._due: list[tuple[int, int]] = []
        #: Open pulls of lost links, by consumer.
        self._lost: dict[ConsumerKey, deque[PullSpan]] = {}
        #: The subscription that the current frame may end, and the pull that it belongs to.
        self._unsubscribed = ""
        self._own = -1

    def hear(self, fact: Fact, row: int, at: float) -> None:
        """Take a fact about the frame in this row, before the Observer updates its records."""
        match fact:
            case PullIssued():
                self._pulled(self._book(fact.link, row, at), fact, row, at)
            case PullEnded(pull=pull):
                self._own = self._known[pull].number
            case UnsubSeen():
                self._unsubscribed = fact.command.sid
            case Acked(delivery=delivery) if delivery is not None:
                book = self._book(fact.link, row, at)
                closing = not fact.command.payload or fact.command.payload.startswith(SETTLING)
                if (
                    closing
                    and delivery.settled is None
                    and delivery.link is book.link
                    and book.unsettled
                ):
                    book.unsettled -= 1
            case FlowAnswered(mark=mark) if mark is not None and not mark.answers:
                self._book(fact.link, row, at).answered += 1
            case _:
                pass

    def after(
        self,
        link: SeenLink,
        sid: str,
        row: int,
        at: float,
        *,
        changed: Sequence[SeenPull] = (),
        consumer: ConsumerKey | None = None,
    ) -> tuple[SubscriptionStatus, int]:
        """Update the status after the frame in this row.

        Args:
            link: link of the frame.
            sid: subscription of a server frame; ``""`` if it has none.
            row: row of the frame.
            at: time of the frame, in seconds.
            changed: pulls that the frame changed, as the Observer lists them.
            consumer: consumer of a delivery; ``None`` for other frames.

        Returns:
            The status of the link, and the number of the pull that the frame belongs to; -1 if
            there is none.
        """
        own, self._own = self._own, -1
        ended, self._unsubscribed = self._unsubscribed or sid, ""
        bars = sorted({self._known[pull].number for pull in changed})
        for number in bars:
            grew = self._changed(self.bars[number], row, at)
            own = number if own < 0 and grew else own
        if consumer is not None and own < 0:
            own = self._late(link, sid, consumer, row, at)
        if link.up:
            book = self._book(link, row, at)
            if ended in book.open and ended not in link.interests:
                for bar in list(book.open[ended].values()):
                    book.close(bar, row, at, UNSUBSCRIBED)
            self._heard(book, row, at)
        else:
            self.lost(link.conn, row, at)
        while self._due and self._due[0][0] < nanoseconds(at):
            self._look(self.bars[heappop(self._due)[1]], row, nanoseconds(at))
        return self._standing(link), own

    def delivered(self, link: SeenLink, row: int, at: float) -> None:
        """Count a delivery that needs an ack."""
        if link.up:
            self._book(link, row, at).unsettled += 1

    def lost(self, conn: str, row: int, at: float) -> None:
        """End the link of this connection, and the spans of its open pulls."""
        book = self._books.pop(conn, None)
        for bar in () if book is None else book.bars:
            bar.close(row, at, EndReason.DISCONNECTED.value)
            self._lost.setdefault(bar.pull.consumer, deque(maxlen=MOST_LOST)).append(bar)

    def finish(self, row: int, at: float) -> None:
        """End the trace: a pull that expired before ended then, and other pulls are open."""
        for book in self._books.values():
            for bar in book.bars:
                over = bar.pull.over(nanoseconds(at))
                until = seconds(bar.pull.at + bar.pull.expires) if over else at
                bar.close(row, until, _unsaid(over=over))

    def as_json(self, rows: int) -> list[dict[str, object]]:
        """Give the pulls of the first ``rows`` rows as plain data, in the order of their numbers.

        Call `finish` first.
        """
        return [
            {
                "number": bar.number,
                "row": bar.row,
                "end": min(bar.end_row, rows),
                "line": bar.pull.line,
                "at": seconds(bar.pull.at),
                "until": bar.until,
                "conn": bar.conn,
                "consumer": ".".join(bar.pull.consumer),
                "batch": bar.pull.batch,
                "max_bytes": bar.pull.max_bytes,
                "bound": bar.bound,
                "heartbeat": seconds(bar.pull.heartbeat),
                "got": bar.got,
                "fate": bar.fate,
                "status": bar.pull.status,
            }
            for bar in self.bars.values()
            if bar.end_row >= 0 and bar.row < rows
        ]

    # ------------------------------------------------------------------------------------ the books

    def _book(self, link: SeenLink, row: int, at: float) -> _StatusBook:
        book = self._books.get(link.conn)
        if book is None or book.link is not link:
            self.lost(link.conn, row, at)
            book = self._books[link.conn] = _StatusBook(link)
        return book

    def _pulled(self, book: _StatusBook, fact: PullIssued, row: int, at: float) -> None:
        pull = fact.pull
        bar = PullSpan(number=len(self.bars), pull=pull, conn=book.link.conn, row=row)
        self.bars[bar.number] = self._known[pull] = bar
        self._own = bar.number
        if not fact.interests:
            bar.close(row, at, UNHEARD)
            return
        bar.sid = fact.interests[0].sid
        bar.bound = max(fact.most, 0 if fact.owed else pull.batch)
        book.open.setdefault(bar.sid, {})[bar.number] = bar
        book.count(bar, (1, pull.left, pull.left_bytes))
        if pull.expires:
            heappush(self._due, (pull.at + pull.expires, bar.number))

    def _changed(self, bar: PullSpan, row: int, at: float) -> bool:
        """Read a changed pull again; whether something came for it, or it ended."""
        pull, now = bar.pull, nanoseconds(at)
        grew = pull.got > bar.read or (pull.end is not None and bar.fate != pull.end.value)
        bar.read = pull.got
        book = self._of(bar)
        if pull.end is not None:
            if book is None:
                bar.close(row, at, pull.end.value)
            else:
                book.close(bar, row, at, pull.end.value)
        elif book is not None:
            if bar.end_row >= 0:  # it only seemed filled: its messages belong to another pull
                bar.close(-1, 0.0, OPEN)
                book.open.setdefault(bar.sid, {})[bar.number] = bar
                if pull.expires:
                    heappush(self._due, (pull.at + pull.expires, bar.number))
            book.count(bar, _share(pull, now))
        return grew

    def _of(self, bar: PullSpan) -> _StatusBook | None:
        """The counts of the link that carried a pull; ``None`` if the link has ended."""
        book = self._books.get(bar.conn)
        return book if book is not None and book.link is bar.pull.link else None

    def _late(self, link: SeenLink, sid: str, consumer: ConsumerKey, row: int, at: float) -> int:
        """Find the pull of a lost link to which a delivery belongs.

        No pull of the delivery's own link asked for it. The result is the pull's number, or -1.
        """
        interest = link.interests.get(sid)
        if interest is None:
            return -1
        now = nanoseconds(at)
        for bar in self._lost.get(consumer, ()):
            open_ = bar.got < bar.pull.batch and not bar.pull.over(now)
            if open_ and subject_matches(interest.subject, bar.pull.token):
                bar.more += 1
                bar.close(
                    row, at, EndReason.FILLED.value if bar.got >= bar.pull.batch else bar.fate
                )
                return bar.number
        return -1

    def _heard(self, book: _StatusBook, row: int, at: float) -> None:
        """Read pulls again that the server may not have read, if it has sent something since."""
        if book.unread and book.heard != book.link.heard:
            unread, book.unread = book.unread, []
            for bar in unread:
                self._look(bar, row, nanoseconds(at))
        book.heard = book.link.heard

    def _look(self, bar: PullSpan, row: int, now: int) -> None:
        """Read an expired pull again.

        It has ended, or the server may not have read it yet. Then it ends later.
        """
        book, pull = self._of(bar), bar.pull
        if book is None or bar.end_row >= 0:
            return
        begun, late = book.link.read_by(pull), pull.at + pull.expires + LATE
        if begun is None:
            book.unread.append(bar)
        elif not pull.over(now):
            heappush(self._due, (max(now, begun + pull.expires), bar.number))
        elif now > late:
            book.close(bar, row, seconds(pull.at + pull.expires), _unsaid(over=True))
        else:
            book.count(bar, (0, 0, 0))
            heappush(self._due, (late, bar.number))

    def _standing(self, link: SeenLink) -> SubscriptionStatus:
        book = self._books.get(link.conn)
        if book is None:
            return DOWN
        return SubscriptionStatus(
            up=1,
            subscriptions=len(link.interests),
            requests=len(link.requests),
            pulls=book.pulls,
            messages=book.messages,
            bytes=book.bytes,
            unsettled=book.unsettled,
            questions=max(0, len(link.marks) - book.answered),
            pings=len(link.pings),
        )


def _unsaid(*, over: bool) -> str:
    """Fate of a pull whose end the server did not report."""
    return EndReason.DEADLINE.value if over else OPEN


def _share(pull: SeenPull, now: int) -> tuple[int, int, int]:
    """What an open pull adds to the counts: itself, messages and bytes."""
    return (0, 0, 0) if pull.over(now) else (1, pull.left, pull.left_bytes)
