"""How each link stands after each frame, and every pull as a bar from its issue to its end.

Theory. The Observer's books show what is so now; who looks back wants to know what was so then.
After each frame the books of its link are read: what the client has asked for and not got, what it
has not settled, what it has not answered. The Observer says which pulls a frame has changed, so
only those are read again; a pull whose time is up is read again then, or when the server is heard
again. Frames are told in the order of their rows; a row is whatever number the caller gives them.

A server can serve a pull behind the loss of its link, if the client listens on its inbox again. So
a message that no pull of its own link has asked for is put down to the oldest pull of a lost link
that asked for it, and whose time is not up.
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

#: Time behind its expiry in which the server's word for a pull can still come.
LATE: Final = 5 * SECOND
#: Pulls of lost links that are kept for what may still come for them, the newest of each consumer.
MOST_LOST: Final = 64
#: How a bar ended of which neither the server nor the count says more.
OPEN: Final = "OPEN"
UNSUBSCRIBED: Final = "UNSUBSCRIBED"
UNHEARD: Final = "UNHEARD"


class SubscriptionStatus(NamedTuple):
    """One link, after a frame."""

    #: 1 while it stands.
    up: int
    subscriptions: int
    #: Requests to the API without an answer.
    requests: int
    #: Pulls that the server can still serve.
    pulls: int
    #: Messages, and bytes, that it can still send for them.
    messages: int
    bytes: int
    #: Deliveries without a terminal ack of their own, of consumers that want acks or are not known.
    unsettled: int
    #: Questions of flow control without an answer.
    questions: int
    #: PINGs of the server without an answer.
    pings: int


#: Of a link that has ended nothing stands.
DOWN: Final = SubscriptionStatus(0, 0, 0, 0, 0, 0, 0, 0, 0)


@define(eq=False, kw_only=True)
class PullSpan:
    """One pull, from its issue to its end."""

    number: int
    pull: SeenPull
    conn: str
    row: int
    #: Messages that its reader asks for where nothing is owed, 0 if that is not known.
    bound: int = 0
    #: The subscription of its inbox, ``""`` if there was none.
    sid: str = ""
    #: What came for it behind the end of its link.
    more: int = 0
    #: What the books of its link say of it: what it got, and the pulls, messages and bytes that it
    #: has open.
    read: int = 0
    share: tuple[int, int, int] = (0, 0, 0)
    end_row: int = -1
    until: float = 0.0
    #: `jsproto.jetstream.status.EndReason` in a word, or ``OPEN``, ``UNSUBSCRIBED``, ``UNHEARD``.
    fate: str = OPEN

    @property
    def got(self) -> int:
        """Messages that came for it."""
        return self.pull.got + self.more

    def close(self, row: int, at: float, fate: str) -> None:
        """It ends here."""
        self.end_row, self.until, self.fate = row, at, fate


@define(eq=False)
class _StatusBook:
    """What is counted of one link."""

    link: SeenLink
    #: Pulls that are open, by subscription and number.
    open: dict[str, dict[int, PullSpan]] = Factory(dict[str, dict[int, PullSpan]])
    #: Pulls whose time is up and that the server may not have read: it was not heard since.
    unread: list[PullSpan] = Factory(list[PullSpan])
    #: When the server was heard last, as far as was looked.
    heard: int = 0
    pulls: int = 0
    messages: int = 0
    bytes: int = 0
    unsettled: int = 0
    answered: int = 0

    def count(self, bar: PullSpan, share: tuple[int, int, int]) -> None:
        """A pull has so much open now."""
        before, bar.share = bar.share, share
        self.pulls += share[0] - before[0]
        self.messages += share[1] - before[1]
        self.bytes += share[2] - before[2]

    def close(self, bar: PullSpan, row: int, at: float, fate: str) -> None:
        """A pull of this link ends."""
        bar.close(row, at, fate)
        self.count(bar, (0, 0, 0))
        bars = self.open.get(bar.sid)
        if bars is not None:
            bars.pop(bar.number, None)
            if not bars:
                del self.open[bar.sid]

    @property
    def bars(self) -> list[PullSpan]:
        """All that are open."""
        return [bar for bars in self.open.values() for bar in bars.values()]


@final
class Standings:
    """The books of all links.

    Attributes:
        bars: every pull that was seen, by number.
    """

    __slots__ = ("_books", "_due", "_known", "_lost", "_own", "_unsubscribed", "bars")

    def __init__(self) -> None:
        self.bars: dict[int, PullSpan] = {}
        self._known: dict[SeenPull, PullSpan] = {}
        self._books: dict[str, _StatusBook] = {}
        #: When a pull is to be read again: time, and its number.
        self._due: list[tuple[int, int]] = []
        #: Of lost links: pulls that were not over, by consumer.
        self._lost: dict[ConsumerKey, deque[PullSpan]] = {}
        #: Of the frame that is being read: a subscription that may be ended, and its own pull.
        self._unsubscribed = ""
        self._own = -1

    def hear(self, fact: Fact, row: int, at: float) -> None:
        """What the Observer tells of the frame in this row, at once: the books show what was known
        before it.
        """
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
        """The frame in this row has changed the books.

        Args:
            link: its link.
            sid: the subscription that the server's frame is for, ``""`` if it is for none.
            row: its row.
            at: its time.
            changed: the pulls that it changed, as the Observer says.
            consumer: whose delivery it is, ``None`` if it is none.

        Returns:
            How the link stands now, and the number of the pull that the frame belongs to, -1 if
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
        """A delivery came that wants an ack."""
        if link.up:
            self._book(link, row, at).unsettled += 1

    def lost(self, conn: str, row: int, at: float) -> None:
        """The link of this connection has ended, and all that it had asked for with it."""
        book = self._books.pop(conn, None)
        for bar in () if book is None else book.bars:
            bar.close(row, at, EndReason.DISCONNECTED.value)
            self._lost.setdefault(bar.pull.consumer, deque(maxlen=MOST_LOST)).append(bar)

    def finish(self, row: int, at: float) -> None:
        """The trace ends here: pulls whose time was up before have ended then, others are open."""
        for book in self._books.values():
            for bar in book.bars:
                over = bar.pull.over(nanoseconds(at))
                until = seconds(bar.pull.at + bar.pull.expires) if over else at
                bar.close(row, until, _unsaid(over=over))

    def as_json(self, rows: int) -> list[dict[str, object]]:
        """The pulls of so many rows as plain data, in the order of their numbers; `finish` comes
        before.
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

    # ------------------------------------------------------------------------------------------ the books

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
        """A frame changed this pull; whether something came for it, or it ended."""
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
            if (
                bar.end_row >= 0
            ):  # it was taken for filled, and is not: another pull has got what was put down to it
                bar.close(-1, 0.0, OPEN)
                book.open.setdefault(bar.sid, {})[bar.number] = bar
                if pull.expires:
                    heappush(self._due, (pull.at + pull.expires, bar.number))
            book.count(bar, _share(pull, now))
        return grew

    def _of(self, bar: PullSpan) -> _StatusBook | None:
        """The books of the link on which a pull was sent, ``None`` if it has ended."""
        book = self._books.get(bar.conn)
        return book if book is not None and book.link is bar.pull.link else None

    def _late(self, link: SeenLink, sid: str, consumer: ConsumerKey, row: int, at: float) -> int:
        """A delivery that no pull of its link has asked for: the number of the pull of a lost link
        that it is for, else -1.
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
        """Pulls that the server may not have read are looked at when it was heard again."""
        if book.unread and book.heard != book.link.heard:
            unread, book.unread = book.unread, []
            for bar in unread:
                self._look(bar, row, nanoseconds(at))
        book.heard = book.link.heard

    def _look(self, bar: PullSpan, row: int, now: int) -> None:
        """A pull whose time is up is over, or the server may not have read it yet: then it is over
        later.
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
    """How a pull ended of which the server never said it."""
    return EndReason.DEADLINE.value if over else OPEN


def _share(pull: SeenPull, now: int) -> tuple[int, int, int]:
    """What a pull that has not ended has open: itself, messages and bytes."""
    return (0, 0, 0) if pull.over(now) else (1, pull.left, pull.left_bytes)
