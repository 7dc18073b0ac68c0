"""The Observer reads both directions of any client's traffic and reports facts.

Theory. The Observer is passive. It takes the bytes of both directions with their time, reads them
with the parser of each side, and updates its records (`jsproto.trace.observe.ledger`). It reports
events as facts (`jsproto.trace.observe.facts`) and does not judge: `jsproto.trace.judge.lint`
decides whether a fact is a fault. It uses the same parts as the machines: the status table, the
grammar of acks, and the message size as the server counts it.

This module follows links and their subscriptions. Other modules of this package follow pulls,
deliveries, requests and published messages.

The facts do not depend on how the bytes were cut. Memory is bounded for every trace
(`jsproto.trace.observe.ledger`). A full table forgets its older half. If there are more than
`MOST_CONNS` connections, the Observer stops reading the oldest.
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

#: Time in which a client must answer a PING of the server.
PING_PATIENCE: Final = 10 * SECOND
#: Time in which a client must restore its subscriptions on a new link.
SUBSCRIBE_PATIENCE: Final = 10 * SECOND
#: A link under another name may continue a lost one if it begins within this time after the loss.
FOLLOW_PATIENCE: Final = 60 * SECOND
#: Highest number of links that stay; the newest.
MOST_LINKS: Final = 256
#: Highest number of connections that are read at once; beyond it, the oldest are dropped.
MOST_CONNS: Final = 1024
#: Highest number of unanswered PINGs that are followed on one link.
MOST_PINGS: Final = 64

_NEXT: Final = "CONSUMER.MSG.NEXT"
#: Verbs of the user after which the client need not restore a subscription.
_LEAVING: Final = frozenset({"close", "drain", "stop"})
#: Events that end a link without the client's intention.
_LOSSES: Final = frozenset({"eof", "lost"})
_ENDS: Final = frozenset({"eof", "client_close", "closed", "lost"})


class _Conn(NamedTuple):
    """A connection with the parsers of its two directions."""

    link: SeenLink
    server: Parser
    client: ClientCommandParser


class _Pong(NamedTuple):
    """Check that the client answers a PING of the server."""

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
    """Check that the client restores a subscription on a new link."""

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
    """Reads records in order and reports facts.

    Args:
        tell: called with each fact at once, while the records still show what was known before the
            event.

    Attributes:
        links: the newest links, oldest first.
        consumers: consumers whose configuration is known.
        commands: number of client commands that were read.
        frames: number of server frames that were read.
        unreadable: connection, ``<``, and line from which the server's bytes broke the grammar. A
            link that ended directly after its broken frame is not listed, because no other bytes
            are missing.
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
        #: For each connection with broken server bytes: the line of its last bytes.
        self._heard_in: dict[str, int] = {}
        #: Whether connections were forgotten. Traffic that begins in the middle may then belong to
        #: one of them, so it is not read.
        self._unread = False

    @property
    def awaited(self) -> set[str]:
        """Names of the facts for which a check was scheduled, whether or not they were reported."""
        return self._books.awaited

    @property
    def changed(self) -> Sequence[SeenPull]:
        """Pulls that the last record changed: their received amount, or whether they ended.

        The list is valid until the next record.
        """
        return self._books.changed

    def tell_to(self, tell: Callable[[Fact], None]) -> None:
        """Report facts to another function from now on."""
        self._books.tell = tell

    def feed(self, line: int, record: Record) -> None:
        """Read one record, found in this line, and report its facts. Never raises."""
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
        """Note that the server's bytes cannot be read."""
        if first and len(self.unreadable) < MOST_CONNS:
            self.unreadable.append((conn, "<", line))
            self._heard_in[conn] = line
        elif conn in self._heard_in:
            self._heard_in[conn] = line

    def _told(self, record: Happened) -> None:
        """Read an event that the client reports about itself."""
        link = self.link(record.conn)
        if link is None:
            return
        if record.name == "taken":
            reply = record.detail.get("reply")
            if isinstance(reply, str):
                self._deliveries.taken(link, reply)
        elif record.name == "notice" and record.detail.get("kind") == "SLOW_CONSUMER":
            self._tells(record.conn, tells=False)  # the user never takes messages that were dropped
        elif record.name == "client_timeout" and record.detail.get("waiting_for") == "status":
            self._pulls.given_up(link)

    def _wished(self, record: Wished) -> None:
        """Read a wish of the user, which only recordings of jsproto contain."""
        link = self.link(record.conn)
        if record.name == "open":
            self._tells(record.conn, tells=True)  # such a recording says what the user takes, too
        elif link is not None and record.name in _LEAVING:
            link.left = link.left or not link.up

    def _tells(self, conn: str, *, tells: bool) -> None:
        link = self.link(conn)
        if link is not None:
            link.tells = tells

    # ---------------------------------------------------------------------------------------- links

    def link(self, conn: str) -> SeenLink | None:
        """The newest link of a connection; ``None`` if none was seen."""
        known = self._conns.get(conn)
        return None if known is None else known.link

    def _met(self, conn: str) -> _Conn | None:
        """Open a connection that was not seen before; ``None`` if it may have been forgotten."""
        return None if self._unread else self._opened(conn)

    def _opened(self, conn: str) -> _Conn:
        self._down(conn)
        before = self.link(conn)
        link = SeenLink(conn=conn, at=self._books.now, number=self._opened_links, before=before)
        link.tells = before is not None and before.tells
        self._opened_links += 1
        self._up += 1
        if before is not None:
            before.before = None  # only one link back is needed
        self.links.append(link)
        if len(self.links) > MOST_LINKS:
            gone = self.links.pop(0)
            if not gone.up:
                gone.keep(0)
        opened = self._conns[conn] = _Conn(link, server_reader(), client_reader())
        self._make_room()
        return opened

    def _make_room(self) -> None:
        """Forget connections if there are too many, ended ones first.

        Then divide the room for tables among the links that are up.
        """
        if len(self._conns) > MOST_CONNS:
            self._unread = True
            for conn in [conn for conn, known in self._conns.items() if not known.link.up]:
                self._conns.pop(conn).link.keep(0)
            for _, (link, _, _) in bound(self._conns, MOST_CONNS // 2):
                link.up = False
                for sent in link.publishes.values():
                    sent.answered = True  # so that its outcome does not count as lost
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

    # ----------------------------------------------------------------------------------- the server

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

    # ----------------------------------------------------------------------------- what must follow

    def _after_reconnect(self, link: SeenLink) -> None:
        before = link.before
        if before is None or before.left:
            return
        for interest in before.interests.values():
            if interest.readers:
                self._pulls.expect_consumer(link, interest)
            elif not interest.subject.startswith("_INBOX."):
                self._books.watch(self._books.now + SUBSCRIBE_PATIENCE, _Again(link, interest))

    # ----------------------------------------------------------------------------------- the client

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
        """Find the lost link that a link under another name continues.

        It does so if exactly one recently lost link sent the same CONNECT.
        """
        if link.before is not None or not link.connect:
            return
        since = self._books.now - FOLLOW_PATIENCE
        before = [
            each
            for each in self.links
            if each.lost and not each.followed and each.conn != link.conn
            and each.ended >= since and link.at >= each.ended
            and each.connect == link.connect and self.link(each.conn) is each
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
