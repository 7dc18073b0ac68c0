"""How each link stands after each frame, and every pull as a bar from its issue to its end.

Theory. The Observer's books show what is so now; who looks back wants to know what was so then. After each frame the books of its link are
read: what the client has asked for and not got, what it has not settled, what it has not answered. A frame of one subscription can change
only the pulls of that subscription, so only those are read again; a pull whose time is up is read again then. Frames are told in the order of
their rows; a row is whatever number the caller gives them.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final, NamedTuple, final

from attrs import Factory, define

from jsproto.jetstream.status import End
from jsproto.trace.facts import Acked, Fact, FlowAnswered, Pulled, SaidUnsub
from jsproto.trace.ledger import SECOND, Link, SeenPull, nanoseconds, seconds
from jsproto.trace.seen.deliveries import SETTLING

#: Time behind its expiry in which the server's word for a pull can still come.
LATE: Final = 5 * SECOND
#: How a bar ended of which neither the server nor the count says more.
OPEN: Final = "OPEN"
UNSUBSCRIBED: Final = "UNSUBSCRIBED"
UNHEARD: Final = "UNHEARD"


class Standing(NamedTuple):
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
DOWN: Final = Standing(0, 0, 0, 0, 0, 0, 0, 0, 0)


@define(eq=False, kw_only=True)
class Bar:
    """One pull, from its issue to its end."""

    number: int
    pull: SeenPull
    conn: str
    row: int
    got: int = 0
    end_row: int = -1
    until: float = 0.0
    #: `jsproto.jetstream.status.End` in a word, or ``OPEN``, ``UNSUBSCRIBED``, ``UNHEARD``.
    fate: str = OPEN

    def close(self, row: int, at: float, fate: str) -> None:
        """It ends here."""
        self.end_row, self.until, self.fate = row, at, fate


@define(eq=False)
class _Book:
    """What is counted of one link."""

    link: Link
    open: dict[str, list[Bar]] = Factory(dict[str, list[Bar]])
    sums: dict[str, tuple[int, int, int]] = Factory(dict[str, tuple[int, int, int]])
    pulls: int = 0
    messages: int = 0
    bytes: int = 0
    unsettled: int = 0
    answered: int = 0


@final
class Standings:
    """The books of all links.

    Attributes:
        bars: every pull that was seen, by number.
    """

    __slots__ = ("_books", "_changed", "_due", "_numbers", "_own", "bars")

    def __init__(self) -> None:
        self.bars: dict[int, Bar] = {}
        self._numbers = 0
        self._books: dict[str, _Book] = {}
        #: When a pull's time is up: time, link and sid.
        self._due: list[tuple[int, str, str]] = []
        #: Of the frame that is being read: subscriptions whose pulls are read again behind it, and its own pull.
        self._changed: list[str] = []
        self._own = -1

    def hear(self, fact: Fact, row: int, at: float) -> None:
        """What the Observer tells of the frame in this row, at once: the books show what was known before it."""
        match fact:
            case Pulled():
                self._pulled(self._book(fact.link, row, at), fact, row, at)
            case SaidUnsub():
                self._changed.append(fact.command.sid)
            case Acked(delivery=delivery) if delivery is not None:
                book = self._book(fact.link, row, at)
                closing = not fact.command.payload or fact.command.payload.startswith(SETTLING)
                if closing and delivery.settled is None and delivery.link is book.link and book.unsettled:
                    book.unsettled -= 1
            case FlowAnswered(mark=mark) if mark is not None and not mark.answers:
                self._book(fact.link, row, at).answered += 1
            case _:
                pass

    def after(self, link: Link, sid: str, row: int, at: float) -> tuple[Standing, int]:
        """The frame in this row has changed the books.

        Args:
            link: its link.
            sid: the subscription that the server's frame is for, ``""`` if it is for none.
            row: its row.
            at: its time.

        Returns:
            How the link stands now, and the number of the pull that the frame belongs to, -1 if there is none.
        """
        own, self._own = self._own, -1
        changed, self._changed = self._changed, []
        if link.up:
            book = self._book(link, row, at)
            for each in changed:
                self._read(book, each, row, at)
            if sid:
                own = max(own, self._read(book, sid, row, at))
        else:
            self.lost(link.conn, row, at)
        while self._due and self._due[0][0] < nanoseconds(at):
            _, conn, due = heappop(self._due)
            late = self._books.get(conn)
            if late is not None:
                self._read(late, due, row, at)
                self._look_again(late, due, nanoseconds(at))
        return self._standing(link), own

    def delivered(self, link: Link) -> None:
        """A delivery came that wants an ack."""
        self._books[link.conn].unsettled += 1

    def lost(self, conn: str, row: int, at: float) -> None:
        """The link of this connection has ended, and all that it had asked for with it."""
        book = self._books.pop(conn, None)
        if book is not None:
            for bars in book.open.values():
                for bar in bars:
                    bar.close(row, at, End.DISCONNECTED.value)

    def finish(self, row: int, at: float) -> None:
        """The trace ends here: pulls whose time was up before have ended then, others are open."""
        for book in self._books.values():
            for bars in book.open.values():
                for bar in bars:
                    over = bar.pull.over(nanoseconds(at))
                    until = seconds(bar.pull.at + bar.pull.expires) if over else at
                    bar.close(row, until, _unsaid(over=over))

    def as_json(self, rows: int) -> list[dict[str, object]]:
        """The pulls of so many rows as plain data, in the order of their numbers; `finish` comes before."""
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
                "heartbeat": seconds(bar.pull.heartbeat),
                "got": bar.pull.got,
                "fate": bar.fate,
                "status": bar.pull.status,
            }
            for bar in self.bars.values()
            if bar.end_row >= 0 and bar.row < rows
        ]

    # ------------------------------------------------------------------------------------------ the books

    def _book(self, link: Link, row: int, at: float) -> _Book:
        book = self._books.get(link.conn)
        if book is None or book.link is not link:
            self.lost(link.conn, row, at)
            book = self._books[link.conn] = _Book(link)
        return book

    def _pulled(self, book: _Book, fact: Pulled, row: int, at: float) -> None:
        pull = fact.pull
        bar = Bar(number=self._numbers, pull=pull, conn=book.link.conn, row=row)
        self._numbers += 1
        self.bars[bar.number] = bar
        self._own = bar.number
        if not fact.interests:
            bar.close(row, at, UNHEARD)
            return
        sid = fact.interests[0].sid
        book.open.setdefault(sid, []).append(bar)
        self._changed.append(sid)
        if pull.expires:
            heappush(self._due, (pull.at + pull.expires, book.link.conn, sid))

    def _look_again(self, book: _Book, sid: str, now: int) -> None:
        """Some pulls whose time is up may not have been read by the server: they are over later."""
        for bar in book.open.get(sid, ()):
            pull = bar.pull
            if pull.lapsed(now) and not pull.over(now):
                begun = book.link.read_by(pull)
                until = now if begun is None else begun + pull.expires
                heappush(self._due, (max(now, until), book.link.conn, sid))
                return

    @staticmethod
    def _read(book: _Book, sid: str, row: int, at: float) -> int:
        """Reads the pulls of one subscription again; the number of the first that got something or ended, else -1."""
        bars = book.open.get(sid)
        if bars is None:
            return -1
        heard = sid in book.link.interests
        own, left, now = -1, list[Bar](), nanoseconds(at)
        pulls = messages = size = 0
        for bar in bars:
            pull = bar.pull
            if own < 0 and (pull.got > bar.got or pull.end is not None):
                own = bar.number
            bar.got = pull.got
            if pull.end is not None:
                bar.close(row, at, pull.end.value)
            elif not heard:
                bar.close(row, at, UNSUBSCRIBED)
            elif pull.expires and now > pull.at + pull.expires + LATE:
                bar.close(row, seconds(pull.at + pull.expires), _unsaid(over=True))
            else:
                left.append(bar)
                pulls += not pull.over(now)
                messages += pull.owed(now)
                size += pull.owed_bytes(now)
        before = book.sums.get(sid, (0, 0, 0))
        book.pulls += pulls - before[0]
        book.messages += messages - before[1]
        book.bytes += size - before[2]
        if left:
            book.open[sid], book.sums[sid] = left, (pulls, messages, size)
        else:
            del book.open[sid]
            book.sums.pop(sid, None)
        return own

    def _standing(self, link: Link) -> Standing:
        book = self._books.get(link.conn)
        if book is None:
            return DOWN
        return Standing(
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
    return End.DEADLINE.value if over else OPEN
