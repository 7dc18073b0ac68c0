"""The Observer: a passive ledger over both directions of any client's traffic.

Theory. It is the twin of a client that says nothing. Bytes of both directions go in with their
time, are read by the parser of each side, and change the books (`jsproto.trace.observe.ledger`);
what happened comes out as facts (`jsproto.trace.observe.facts`). It judges nothing: whether a fact
is a fault is for `jsproto.trace.judge.lint`. It reads with the parts that the machines are made of:
the status table, the grammar of acks, the size that the server counts.

Here are the links and their subscriptions; pulls, deliveries, requests and messages have parts of
their own (`jsproto.trace.seen`).

Which facts come out does not depend on how the bytes were cut. Memory is bounded, whatever a trace
holds (`jsproto.trace.observe.ledger`): a table that is full forgets its older half, and a
connection behind the bound is not read any more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, final

from jsproto.trace.formats.framing import client_reader, server_reader
from jsproto.trace.formats.recording import Happened, Received, Record, Sent, Wished
from jsproto.trace.observe.books import TraceContext
from jsproto.trace.observe.client import api_call, json_object
from jsproto.trace.observe.deliveries import Deliveries
from jsproto.trace.observe.facts import (
    ConnectSeen,
    Fact,
    MalformedSeen,
    PingUnanswered,
    PubSeen,
    ServerErrorSeen,
    SnapshotStalled,
    SubscriptionNotRestored,
    SubscriptionStarted,
    SubSeen,
    UnsubSeen,
    VerbSeen,
)
from jsproto.trace.observe.ledger import (
    MOST,
    MOST_INQUIRIES,
    MOST_PAST,
    ROOM,
    SECOND,
    ConsumerKey,
    SeenConsumer,
    SeenLink,
    SeenPull,
    SeenSubscription,
    bound,
    excess,
    seconds,
)
from jsproto.trace.observe.publishes import SeenPublishes
from jsproto.trace.observe.pulls import Pulls
from jsproto.trace.observe.requests import Requests
from jsproto.wire.client_commands import (
    ClientCommand,
    ClientCommandParser,
    ClientVerb,
    ConnectLine,
    PubLine,
    SubLine,
    UnsubLine,
)
from jsproto.wire.frames import Control, Delivery, Err, Frame, Info
from jsproto.wire.headers import header_value, status_of
from jsproto.wire.parser import Parser

#: A server's PING is answered within so much time, or the client has stopped to.
PING_PATIENCE: Final = 10 * SECOND
#: Time within which subscriptions are made again on a new link.
SUBSCRIBE_PATIENCE: Final = 10 * SECOND
#: A link under another name that begins within so much time behind a loss may be the next of the
#: same client.
FOLLOW_PATIENCE: Final = 60 * SECOND
#: Links that are remembered, the newest.
MOST_LINKS: Final = 256
#: Connections that are read at once; where there are more, the oldest are not read any more.
MOST_CONNS: Final = 1024
#: PINGs without an answer that are waited for on one link.
MOST_PINGS: Final = 64

_NEXT: Final = "CONSUMER.MSG.NEXT"
#: Verbs behind which a subscription need not be made again.
_LEAVING: Final = frozenset({"close", "drain", "stop"})
#: Ends that the client did not want.
_LOSSES: Final = frozenset({"eof", "lost"})
_ENDS: Final = frozenset({"eof", "client_close", "closed", "lost"})


class _Conn(NamedTuple):
    """What is read of one connection, and by whom."""

    link: SeenLink
    server: Parser
    client: ClientCommandParser


class _Pong(NamedTuple):
    """A PING of the server is to be answered."""

    link: SeenLink
    line: int
    at: int

    @property
    def fact(self) -> str:
        return PingUnanswered.__name__

    def look(self, books: TraceContext, now: int) -> None:
        link, line, at = self
        if link.up and (line, at) in link.pings:
            link.pings.remove((line, at))
            books.tell(PingUnanswered(link, line, seconds(now - at)))


class _Again(NamedTuple):
    """A subscription is to be made again on a new link."""

    link: SeenLink
    lost: SeenSubscription

    @property
    def fact(self) -> str:
        return SubscriptionNotRestored.__name__

    def look(self, books: TraceContext, now: int) -> None:
        link, lost = self
        known = lost.sid in link.sids or link.interest_in(lost.subject)
        if link.up and not known and "interests" not in link.forgot:
            books.tell(SubscriptionNotRestored(link, lost))


@final
class Observer:
    """Reads records in order and tells facts.

    Args:
        tell: called with each fact at once, while the books still show what was known when it
            happened.

    Attributes:
        links: the newest links, oldest first.
        consumers: consumers whose configuration is known.
        commands: commands of clients that were read.
        frames: frames of servers that were read.
        unreadable: links whose server's bytes made no sense from a line on: connection, ``<``, and
            the line. A link that ended right behind the frame that made none is not among them:
            nothing that anybody could have read is missing.
    """

    __slots__ = (
        "_books",
        "_conns",
        "_deliveries",
        "_heard_in",
        "_opened_links",
        "_publishes",
        "_pulls",
        "_requests",
        "_unread",
        "_up",
        "commands",
        "consumers",
        "frames",
        "links",
        "unreadable",
    )

    def __init__(self, tell: Callable[[Fact], None]) -> None:
        books = self._books = TraceContext(tell)
        self.links: list[SeenLink] = books.links
        self.consumers: dict[ConsumerKey, SeenConsumer] = books.consumers
        self.commands = 0
        self.frames = 0
        self.unreadable: list[tuple[str, str, int]] = []
        self._pulls = Pulls(books)
        self._deliveries = Deliveries(books, self._pulls)
        self._requests = Requests(books)
        self._publishes = SeenPublishes(books)
        self._conns: dict[str, _Conn] = {}
        self._opened_links = 0
        self._up = 0
        #: The line in which the server's bytes came last, of each connection whose server made no
        #: sense.
        self._heard_in: dict[str, int] = {}
        #: Connections were forgotten: what begins in the middle may be one of them, and is not
        #: read.
        self._unread = False

    @property
    def awaited(self) -> set[str]:
        """Kinds of facts that were waited for: their time may have come without them."""
        return self._books.awaited

    @property
    def changed(self) -> Sequence[SeenPull]:
        """Pulls of which the last record has changed what they got, or whether they ended; until
        the next record.
        """
        return self._books.changed

    def tell_to(self, tell: Callable[[Fact], None]) -> None:
        """Somebody else is told from here on."""
        self._books.tell = tell

    def feed(self, line: int, record: Record) -> None:
        """One record, which stands in this line; its facts are told on the way. Never raises."""
        self._books.move(line, record.at)
        if isinstance(record, Received):
            known = self._conns.get(record.conn) or self._met(record.conn)
            if known is None:
                return
            link, parser, _ = known
            was = parser.failure
            for frame in parser.feed(record.data):
                self.frames += 1
                self._heard(link, frame)
            if parser.failure is not None:
                self._senseless(record.conn, line, first=parser.failure is not was)
        elif isinstance(record, Sent):
            known = self._conns.get(record.conn) or self._met(record.conn)
            if known is None:
                return
            link, _, reader = known
            for command in reader.feed(record.data):
                self.commands += 1
                self._said(link, command)
        elif isinstance(record, Happened):
            if record.name == "connected":
                self._opened(record.conn)
            elif record.name in _ENDS:
                self._down(record.conn, by_server=record.name in _LOSSES)
            else:
                self._told(record)
        elif isinstance(record, Wished):
            self._wished(record)

    def _senseless(self, conn: str, line: int, *, first: bool) -> None:
        """What the server says cannot be read, or cannot be read any more."""
        if first and len(self.unreadable) < MOST_CONNS:
            self.unreadable.append((conn, "<", line))
            self._heard_in[conn] = line
        elif conn in self._heard_in:
            self._heard_in[conn] = line

    def _told(self, record: Happened) -> None:
        """Something that the client says about itself."""
        link = self.link(record.conn)
        if link is None:
            return
        if record.name == "taken":
            reply = record.detail.get("reply")
            if isinstance(reply, str):
                self._deliveries.taken(link, reply)
        elif record.name == "notice" and record.detail.get("kind") == "SLOW_CONSUMER":
            self._tells(record.conn, tells=False)  # what is dropped is never taken
        elif record.name == "client_timeout" and record.detail.get("waiting_for") == "status":
            self._pulls.given_up(link)

    def _wished(self, record: Wished) -> None:
        """Something that the user wants: a recording of ours."""
        link = self.link(record.conn)
        if record.name == "open":
            self._tells(record.conn, tells=True)  # and what is taken is told too
        elif link is not None and record.name in _LEAVING:
            link.left = link.left or not link.up

    def _tells(self, conn: str, *, tells: bool) -> None:
        link = self.link(conn)
        if link is not None:
            link.tells = tells

    # ------------------------------------------------------------------------------------------ links

    def link(self, conn: str) -> SeenLink | None:
        """The newest link of a connection, ``None`` if none was seen."""
        known = self._conns.get(conn)
        return None if known is None else known.link

    def _met(self, conn: str) -> _Conn | None:
        """A connection of which nothing was seen so far, ``None`` if it may have been forgotten."""
        return None if self._unread else self._opened(conn)

    def _opened(self, conn: str) -> _Conn:
        self._down(conn)
        before = self.link(conn)
        link = SeenLink(conn=conn, at=self._books.now, number=self._opened_links, before=before)
        link.tells = before is not None and before.tells
        self._opened_links += 1
        self._up += 1
        if before is not None:
            before.before = None  # one link back is all that is asked for
        self.links.append(link)
        if len(self.links) > MOST_LINKS:
            gone = self.links.pop(0)
            if not gone.up:
                gone.keep(0)
        opened = self._conns[conn] = _Conn(link, server_reader(), client_reader())
        self._make_room()
        return opened

    def _make_room(self) -> None:
        """Connections that have ended are forgotten first; links that stand share what room there
        is for their tables.
        """
        if len(self._conns) > MOST_CONNS:
            self._unread = True
            for conn in [conn for conn, known in self._conns.items() if not known.link.up]:
                self._conns.pop(conn).link.keep(0)
            for _, (link, _, _) in bound(self._conns, MOST_CONNS // 2):
                link.up = False
                for sent in link.publishes.values():
                    sent.answered = True  # so its outcome never counts as lost
                link.keep(0)
            self._up = len(self._conns)
        self._books.most = min(MOST, ROOM // self._up)

    def _down(self, conn: str, *, by_server: bool = False) -> None:
        known = self._conns.get(conn)
        if known is None or not known.link.up:
            return
        link = known.link
        link.up = False
        link.ended, link.lost = self._books.now, by_server
        self._up -= 1
        last = (conn, "<", self._heard_in.pop(conn, 0))
        if last in self.unreadable:
            self.unreadable.remove(last)
        for interest in link.interests.values():
            interest.active = False
        link.requests.clear()
        link.keep(MOST_PAST)

    # ------------------------------------------------------------------------------------------ the server

    def _heard(self, link: SeenLink, frame: Frame) -> None:
        link.hear(self._books.now)
        if isinstance(frame, tuple):
            self._message(link, frame)
        elif isinstance(frame, Info):
            link.info = frame
        elif frame is Control.PING:
            line, at = self._books.line, self._books.now
            if len(link.pings) == MOST_PINGS:
                link.pings.popleft()
                link.forgot.add("pings")
            link.pings.append((line, at))
            self._books.watch(at + PING_PATIENCE, _Pong(link, line, at))
        elif frame is Control.PONG:
            if not link.ready:
                link.ready = True
                self._after_reconnect(link)
        elif isinstance(frame, Err):
            self._books.tell(ServerErrorSeen(link, frame.text))
            if frame.text.casefold().startswith("stale") and link.pings:
                line, at = link.pings.popleft()
                link.pings.clear()
                self._books.tell(PingUnanswered(link, line, seconds(self._books.now - at)))

    def _message(self, link: SeenLink, frame: Delivery) -> None:
        sid, subject, reply, block, payload = frame
        interest = link.interests.get(sid)
        if interest is not None:
            interest.got += 1
            interest.sign = self._books.now
            if interest.limit and interest.got >= interest.limit:
                self._forget(link, interest)
        if reply.startswith("$JS.ACK."):
            self._deliveries.delivery(link, interest, frame)
            return
        request = link.requests.pop(subject, None)
        if request is not None:
            if interest is not None:
                interest.shared = True
            self._requests.answer(link, request, payload)
        sent = link.publishes.pop(subject, None)
        if sent is not None:
            self._publishes.answered(sent, payload)
        asked = link.confirming.pop(subject, None)
        if asked is not None:
            asked.confirmed = True
        status = status_of(block) if block is not None else None
        if status is None or block is None:
            return
        if interest is not None and reply and status[0] == 100:
            self._deliveries.mark(link, reply, interest)
        stalled = header_value(block, b"Nats-Consumer-Stalled") if status[0] == 100 else None
        if stalled:
            self._deliveries.stalled(link, stalled)
        if status[0] == 408 and status[1].startswith("No Flow Response"):
            self._books.tell(SnapshotStalled(link))
        if interest is not None and not reply:
            self._pulls.status(link, interest, subject, status, block)

    # ------------------------------------------------------------------------------------------ what must follow

    def _after_reconnect(self, link: SeenLink) -> None:
        before = link.before
        if before is None or before.left:
            return
        for interest in before.interests.values():
            if interest.readers:
                self._pulls.expect_consumer(link, interest)
            elif not interest.subject.startswith("_INBOX."):
                self._books.watch(self._books.now + SUBSCRIBE_PATIENCE, _Again(link, interest))

    # ------------------------------------------------------------------------------------------ the client

    def _said(self, link: SeenLink, command: ClientCommand) -> None:
        tell = self._books.tell
        match command:
            case PubLine():
                tell(PubSeen(link, command))
                self._publish(link, command)
            case ClientVerb():
                tell(VerbSeen(link, command))
                if command is ClientVerb.PONG and link.pings:
                    link.pings.popleft()
            case SubLine():
                tell(SubSeen(link, command))
                self._subscribe(link, command)
            case UnsubLine():
                tell(UnsubSeen(link, command))
                self._unsubscribe(link, command)
            case ConnectLine():
                tell(ConnectSeen(link, command))
                link.connect = json_object(command.body) or {}
                link.headers = link.connect.get("headers") is True
                self._follow(link)
            case _:
                tell(MalformedSeen(link, command))

    def _follow(self, link: SeenLink) -> None:
        """A link under another name that began where one was lost, of a client that says the same
        of itself, is that client's next.
        """
        if link.before is not None or not link.connect:
            return
        since = self._books.now - FOLLOW_PATIENCE
        before = [
            each
            for each in self.links
            if each.lost and not each.followed and each.conn != link.conn and each.ended >= since
            and link.at >= each.ended and each.connect == link.connect and self.link(each.conn) is each
        ]  # fmt: skip
        if len(before) == 1:
            link.before, before[0].followed, before[0].before = before[0], True, None

    def _unsubscribe(self, link: SeenLink, command: UnsubLine) -> None:
        interest = link.interests.get(command.sid)
        if interest is not None:
            interest.limit = command.limit
            if not command.limit:
                self._requests.ended(link, interest)
            if interest.got >= command.limit:
                self._forget(link, interest)

    @staticmethod
    def _forget(link: SeenLink, interest: SeenSubscription) -> None:
        link.drop(interest)

    def _subscribe(self, link: SeenLink, command: SubLine) -> None:
        taken = link.interests.get(command.sid)
        interest = SeenSubscription(
            sid=command.sid,
            subject=command.subject,
            queue=command.queue,
            line=self._books.line,
            sign=self._books.now,
            since=self._books.now,
        )
        made = self._requests.delivering_to(command.subject)
        early = link.unheard.pop(command.subject, None)
        early = early if early is not None and early.reply in link.requests else None
        self._books.tell(SubscriptionStarted(link, interest, taken, made, early))
        link.sids[command.sid] = None
        if bound(link.sids, self._books.most):
            link.forgot.add("sids")
        if taken is None:
            link.add(interest)
            for forgotten in excess(link.interests, self._books.most):
                link.drop(forgotten)
                link.forgot.add("interests")

    def _publish(self, link: SeenLink, command: PubLine) -> None:
        subject = command.subject
        if subject.startswith("$JS."):
            if subject.startswith("$JS.ACK."):
                self._deliveries.ack(link, command)
                return
            if subject.startswith("$JS.FC."):
                self._deliveries.flow(link, command)
                return
            verb, names = api_call(subject)
            if verb == _NEXT and len(names) == 2:
                self._pulls.pull(link, (names[0], names[1]), command.reply, command.payload)
                return
            if verb == "CONSUMER.INFO" and len(names) == 2:
                times = link.inquiries.setdefault(
                    (names[0], names[1]), deque(maxlen=MOST_INQUIRIES)
                )
                times.append(self._books.now)
                bound(link.inquiries, self._books.most)
            if verb or subject.startswith("$JS.API."):
                self._requests.ask(link, command, verb, names)
                return
        self._publishes.publish(link, command)
