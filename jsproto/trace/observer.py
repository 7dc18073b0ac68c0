"""The Observer: a passive ledger over both directions of any client's traffic.

Theory. It is the twin of a client that says nothing. Bytes of both directions go in with their time, are read by the parser of
each side, and change the books (`jsproto.trace.ledger`); what happened comes out as facts (`jsproto.trace.facts`). It judges nothing:
whether a fact is a fault is for `jsproto.trace.lint`. It reads with the parts that the machines are made of: the status table, the grammar of
acks, the size that the server counts.

What did *not* happen is a fact too, and it happens when the time for it has passed: such times wait in a heap, and are looked at
before the record that is later than they are. A trace that ends early says nothing about what might have come.

A message names its consumer, not its pull. It is put down to the oldest open pull of its subscription; a status that names how much of
a pull is left moves what was put down wrongly to the pulls behind it, so the sum over a subscription is right at every status.

Which facts come out does not depend on how the bytes were cut. Tables are bounded, so memory is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Final, cast, final

from jsproto.jetstream.ack import AckSubject, InvalidAckSubject
from jsproto.jetstream.pull import pinned_size
from jsproto.jetstream.status import End, Place, Rest, Row, Verdict, judge, pending_of
from jsproto.testing.simserver.line import (
    ClientCommand,
    CommandReader,
    ConnectLine,
    PubLine,
    SubLine,
    UnsubLine,
    Word,
)
from jsproto.trace.client import api_call, json_object, member, pull_of
from jsproto.trace.facts import (
    Acked,
    Asked,
    Blamed,
    Created,
    Fact,
    FlowAnswered,
    FlowMissed,
    GapKept,
    NoPull,
    NotHeard,
    PingUnanswered,
    Published,
    Pulled,
    PullOver,
    Refused,
    Said,
    Silence,
    SnapshotStalled,
    Subscribed,
)
from jsproto.trace.ledger import (
    ConsumerKey,
    Interest,
    Json,
    Link,
    SeenConsumer,
    SeenDelivery,
    SeenMark,
    SeenPublish,
    SeenPull,
    SeenRequest,
    bound,
)
from jsproto.trace.recording import Happened, Received, Record, Sent
from jsproto.wire.frames import Control, Delivery, Err, Frame, Info
from jsproto.wire.headers import header_value, status_of
from jsproto.wire.parser import Parser

#: A server's PING is answered within so many seconds, or the client has stopped to.
PING_PATIENCE: Final = 10.0
#: Heartbeats of silence after which a client must have acted; it should after two (ADR-37).
SILENT_BEATS: Final = 4.0
#: Seconds within which somebody who reads on and on asks again.
PULL_PATIENCE: Final = 30.0
#: Seconds within which subscriptions are made again on a new link.
SUBSCRIBE_PATIENCE: Final = 10.0
#: Seconds that an ordered consumer has for noticing a gap.
GAP_PATIENCE: Final = 5.0
#: Refusals are counted over so many seconds.
REFUSALS_OVER: Final = 3.0

#: Links that are remembered, the newest.
MOST_LINKS: Final = 256

_LIMITS: Final = 1 << 30
_NEXT: Final = "CONSUMER.MSG.NEXT"
_SETTLING: Final = (b"+ACK", b"+OK", b"-NAK", b"+TERM", b"+NXT")
_ENDS: Final = frozenset({"eof", "client_close", "closed", "lost"})


@final
class Observer:
    """Reads records in order and tells facts.

    Args:
        tell: called with each fact at once, while the books still show what was known when it happened.

    Attributes:
        line: the number of the record that is being read: facts belong to it.
        links: the newest links, oldest first.
        consumers: consumers whose configuration is known.
        commands: commands of clients that were read.
        frames: frames of servers that were read.
        unreadable: directions of links whose bytes made no sense any more: connection, ``<`` or ``>``, and the line.
    """

    __slots__ = (
        "_conns",
        "_deliveries",
        "_delivering",
        "_ids",
        "_now",
        "_opened_links",
        "_ordered",
        "_payloads",
        "_readers",
        "_spots",
        "_tell",
        "_watched",
        "_watches",
        "commands",
        "consumers",
        "frames",
        "line",
        "links",
        "unreadable",
    )

    def __init__(self, tell: Callable[[Fact], None]) -> None:
        self.line = 0
        self._tell = tell
        self.links: list[Link] = []
        self.consumers: dict[ConsumerKey, SeenConsumer] = {}
        self.commands = 0
        self.frames = 0
        self.unreadable: list[tuple[str, str, int]] = []
        self._now = 0.0
        self._conns: dict[str, Link] = {}
        self._readers: dict[str, tuple[Parser, CommandReader]] = {}
        self._deliveries: dict[str, SeenDelivery] = {}
        #: The same deliveries by what an ack subject cannot change: stream, consumer, both sequences.
        self._spots: dict[tuple[str, str, int, int], SeenDelivery] = {}
        self._ids: dict[tuple[str, str], SeenPublish] = {}
        self._payloads: dict[tuple[str, bytes], SeenPublish] = {}
        #: The last incarnation of an ordered consumer, by stream and connection; push consumers by their deliver subject.
        self._ordered: dict[tuple[str, str], SeenConsumer] = {}
        self._delivering: dict[str, SeenConsumer] = {}
        self._opened_links = 0
        self._watches: list[tuple[float, int, Callable[[float], None]]] = []
        self._watched = 0

    def feed(self, line: int, record: Record) -> None:
        """One record, which stands in this line; its facts are told on the way. Never raises."""
        self._pass(record.at)
        self.line = line
        self._now = max(self._now, record.at)
        if isinstance(record, Received):
            link = self._link(record.conn)
            parser = self._readers[record.conn][0]
            was = parser.failure
            for frame in parser.feed(record.data):
                self.frames += 1
                self._heard(link, frame)
            if parser.failure is not None and was is None:
                self.unreadable.append((record.conn, "<", line))
        elif isinstance(record, Sent):
            link = self._link(record.conn)
            for command in self._readers[record.conn][1].feed(record.data):
                self.commands += 1
                self._said(link, command)
        elif isinstance(record, Happened):
            if record.name == "connected":
                self._opened(record.conn)
            elif record.name in _ENDS:
                self._down(record.conn)

    # ------------------------------------------------------------------------------------------ time

    def _pass(self, now: float) -> None:
        watches = self._watches
        while watches and watches[0][0] < now:
            due, _, look = heappop(watches)
            self._now = max(self._now, due)
            look(now)

    def _watch(self, at: float, look: Callable[[float], None]) -> None:
        self._watched += 1
        heappush(self._watches, (at, self._watched, look))

    # ------------------------------------------------------------------------------------------ links

    def _link(self, conn: str) -> Link:
        link = self._conns.get(conn)
        return self._opened(conn) if link is None else link

    def _opened(self, conn: str) -> Link:
        before = self._conns.get(conn)
        if before is not None and before.up:
            self._down(conn)
        link = Link(conn=conn, at=self._now, number=self._opened_links, before=before)
        self._opened_links += 1
        if before is not None:
            before.before = None  # one link back is all that is asked for
        self._conns[conn] = link
        self.links.append(link)
        if len(self.links) > MOST_LINKS:
            del self.links[0]
        self._readers[conn] = (
            Parser(
                any_sid=True,
                max_control_line=_LIMITS,
                max_info=_LIMITS,
                max_payload=_LIMITS,
                max_header=_LIMITS,
            ),
            CommandReader(max_payload=_LIMITS, max_control_line=_LIMITS),
        )
        return link

    def _down(self, conn: str) -> None:
        link = self._conns.get(conn)
        if link is None or not link.up:
            return
        link.up = False
        for interest in link.interests.values():
            interest.active = False
        link.requests.clear()

    # ------------------------------------------------------------------------------------------ the server

    def _heard(self, link: Link, frame: Frame) -> None:
        if isinstance(frame, tuple):
            self._message(link, frame)
        elif isinstance(frame, Info):
            link.info = frame
        elif frame is Control.PING:
            line, at = self.line, self._now
            link.pings.append((line, at))
            self._watch(at + PING_PATIENCE, lambda now: self._ping_due(link, line, at, now))
        elif frame is Control.PONG:
            if not link.ready:
                link.ready = True
                self._after_reconnect(link)
        elif isinstance(frame, Err):
            self._tell(Blamed(link, frame.text))
            if frame.text.casefold().startswith("stale") and link.pings:
                line, at = link.pings.popleft()
                link.pings.clear()
                self._tell(PingUnanswered(link, line, self._now - at))

    def _ping_due(self, link: Link, line: int, at: float, now: float) -> None:
        if link.up and (line, at) in link.pings:
            link.pings.remove((line, at))
            self._tell(PingUnanswered(link, line, now - at))

    def _message(self, link: Link, frame: Delivery) -> None:
        sid, subject, reply, block, payload = frame
        interest = link.interests.get(sid)
        if interest is not None:
            interest.got += 1
            interest.sign = self._now
            if interest.limit and interest.got >= interest.limit:
                self._forget(link, interest)
        if reply.startswith("$JS.ACK."):
            self._delivery(link, interest, frame)
            return
        request = link.requests.pop(subject, None)
        if request is not None:
            self._answer(link, request, payload)
        sent = link.publishes.pop(subject, None)
        if sent is not None:
            sent.answered = True
        status = status_of(block) if block is not None else None
        if status is None or block is None:
            return
        if interest is not None and reply and status[0] == 100:
            self._mark(link, reply)
        stalled = header_value(block, b"Nats-Consumer-Stalled") if status[0] == 100 else None
        if stalled:
            mark = self._mark(link, stalled)
            mark.missed += 1
            self._tell(FlowMissed(link, mark))
        if status[0] == 408 and status[1].startswith("No Flow Response"):
            self._tell(SnapshotStalled(link))
        if interest is not None and not reply:
            self._status(link, interest, subject, status, block)

    def _mark(self, link: Link, subject: str) -> SeenMark:
        mark = link.marks.get(subject)
        if mark is None:
            mark = link.marks[subject] = SeenMark(subject, self._now, self.line)
            bound(link.marks)
        return mark

    def _delivery(self, link: Link, interest: Interest | None, frame: Delivery) -> None:
        try:
            about = AckSubject.parse(frame[2])
        except InvalidAckSubject:
            return
        delivery = SeenDelivery(about, frame[0], self.line, link=link)
        self._deliveries[frame[2]] = delivery
        spot = (about.stream, about.consumer, about.stream_sequence, about.consumer_sequence)
        self._spots[spot] = delivery
        bound(self._deliveries)
        bound(self._spots)
        key = (about.stream, about.consumer)
        consumer = self.consumers.get(key)
        if consumer is not None and consumer.ordered:
            self._order(link, interest, consumer, about.consumer_sequence)
        if interest is None:
            return
        for pull in interest.pulls:
            if pull.consumer == key and not pull.over(self._now):
                pull.got += 1
                if pull.max_bytes:
                    pull.size += pinned_size(frame)
                if pull.got >= pull.batch:
                    pull.end = End.FILLED
                elif pull.max_bytes and pull.size >= pull.max_bytes:
                    pull.end = End.BYTES_SPENT
                break
        if len(interest.pulls) > 8:
            self._tidy(interest)

    def _tidy(self, interest: Interest) -> None:
        """Pulls that are over are kept only as far as a late status may speak of them."""
        over = [pull for pull in interest.pulls if pull.over(self._now)]
        if len(over) > 8:
            dropped = set(map(id, over[:-8]))
            interest.pulls = [pull for pull in interest.pulls if id(pull) not in dropped]

    def _order(self, link: Link, interest: Interest | None, consumer: SeenConsumer, seen: int) -> None:
        expected = consumer.expected
        consumer.expected = seen + 1
        if not expected or seen == expected or interest is None:
            return
        creates = link.creates

        def look(_: float) -> None:
            if link.up and interest.active and not consumer.deleted and link.creates == creates:
                self._tell(GapKept(link, consumer, expected, seen))

        self._watch(self._now + GAP_PATIENCE, look)

    def _status(
        self, link: Link, interest: Interest, token: str, status: tuple[int, str], block: bytes
    ) -> None:
        named = [pull for pull in interest.pulls if pull.token == token]
        if not named:
            return
        pull = next((each for each in named if each.end is None), named[-1])
        row = judge(*status, Place.PULL)
        if row.end is None:
            return
        pending = pending_of(block)
        if pending is not None and row.rest is not Rest.ALL:
            self._settle(interest, pull, pending)
        ended = [each for each in interest.pulls if each.token == token] if row.rest is Rest.ALL else [pull]
        for each in ended:
            if each.end is None or each is pull:
                each.end = row.end
                each.status = f"{status[0]} {status[1]}".rstrip()
        refusals = self._refused(link, pull, row)
        self._tell(PullOver(link, pull, row, refusals))
        if row.verdict is Verdict.RESET and interest.loop:
            self._expect_pull(link, interest, pull, "status")

    def _settle(self, interest: Interest, pull: SeenPull, pending: tuple[int, int]) -> None:
        """The server says how much of a pull is left: what was put down to it in excess belongs to those behind it."""
        excess = pull.got - max(0, pull.batch - pending[0])
        pull.got = min(pull.got, max(0, pull.batch - pending[0]))
        for other in interest.pulls:
            if excess <= 0:
                break
            if other is not pull and other.end is None:
                moved = min(excess, other.batch - other.got)
                other.got += moved
                excess -= moved

    def _refused(self, link: Link, pull: SeenPull, row: Row) -> int:
        if pull.got or row.verdict not in {
            Verdict.GONE_FOR_NOW,
            Verdict.PULL_REFUSED,
            Verdict.DOES_NOT_FIT,
            Verdict.FATAL,
            Verdict.DELETED,
        }:
            return 0
        times = link.refusals.setdefault(pull.consumer, deque())
        times.append(self._now)
        while times[0] < self._now - REFUSALS_OVER:
            times.popleft()
        return len(times)

    # ------------------------------------------------------------------------------------------ what must follow

    def _expect_pull(self, link: Link, interest: Interest, lost: SeenPull, because: str) -> None:
        told = self.line

        def look(_: float) -> None:
            asked = any(pull.line > told for pull in interest.pulls)
            if link.up and interest.active and not asked:
                self._tell(NoPull(link, lost, because))

        self._watch(self._now + PULL_PATIENCE, look)

    def _after_reconnect(self, link: Link) -> None:
        before = link.before
        if before is None:
            return
        for interest in before.interests.values():
            if interest.loop and interest.pulls and not interest.pulls[-1].no_wait:
                self._expect_consumer(link, interest.pulls[-1])
            elif not interest.pulls and not interest.subject.startswith("_INBOX."):
                self._expect_interest(link, interest)

    def _expect_consumer(self, link: Link, lost: SeenPull) -> None:
        def look(_: float) -> None:
            asked = any(
                pull.consumer == lost.consumer for each in link.interests.values() for pull in each.pulls
            )
            if link.up and not asked:
                self._tell(NoPull(link, lost, "reconnect"))

        self._watch(self._now + PULL_PATIENCE, look)

    def _expect_interest(self, link: Link, lost: Interest) -> None:
        def look(_: float) -> None:
            if link.up and lost.sid not in link.sids and not link.interest_in(lost.subject):
                self._tell(NotHeard(link, lost))

        self._watch(self._now + SUBSCRIBE_PATIENCE, look)

    def _expect_life(self, link: Link, interest: Interest, pull: SeenPull) -> None:
        patience = SILENT_BEATS * pull.heartbeat

        def look(now: float) -> None:
            if not (link.up and interest.active and interest.loop) or pull.over(self._now):
                return
            if interest.pulls[-1] is not pull:
                return
            since = max(interest.sign, pull.at)
            if self._now - since < patience:
                self._watch(since + patience, look)
            else:
                self._tell(Silence(link, pull, now - since))

        self._watch(self._now + patience, look)

    # ------------------------------------------------------------------------------------------ the client

    def _said(self, link: Link, command: ClientCommand) -> None:
        self._tell(Said(link, command))
        if isinstance(command, PubLine):
            self._publish(link, command)
        elif command is Word.PONG:
            if link.pings:
                link.pings.popleft()
        elif isinstance(command, SubLine):
            self._subscribe(link, command)
        elif isinstance(command, UnsubLine):
            interest = link.interests.get(command.sid)
            if interest is not None:
                interest.limit = command.limit
                if interest.got >= command.limit:
                    self._forget(link, interest)
        elif isinstance(command, ConnectLine):
            link.connect = json_object(command.body) or {}

    @staticmethod
    def _forget(link: Link, interest: Interest) -> None:
        interest.active = False
        link.interests.pop(interest.sid, None)

    def _subscribe(self, link: Link, command: SubLine) -> None:
        taken = link.interests.get(command.sid)
        interest = Interest(
            sid=command.sid, subject=command.subject, queue=command.queue, line=self.line, sign=self._now
        )
        made = self._delivering.get(command.subject)
        self._tell(Subscribed(link, interest, taken, None if made is None or made.deleted else made))
        link.sids.add(command.sid)
        if taken is None:
            link.interests[command.sid] = interest

    def _publish(self, link: Link, command: PubLine) -> None:
        subject = command.subject
        if subject.startswith("$JS."):
            if subject.startswith("$JS.ACK."):
                self._ack(link, command)
                return
            if subject.startswith("$JS.FC."):
                self._flow(link, command)
                return
            verb, names = api_call(subject)
            if verb == _NEXT and len(names) == 2:
                self._pull(link, command, names, command.payload)
                return
            if verb or subject.startswith("$JS.API."):
                self._ask(link, command, verb, names)
                return
        self._plain(link, command)

    def _plain(self, link: Link, command: PubLine) -> None:
        block = command.block or b""
        msg_id = header_value(block, b"Nats-Msg-Id") or ""
        sent = SeenPublish(command.subject, msg_id, command.payload, link, self.line)
        clash = unknown = None
        if msg_id:
            known = self._ids.get((command.subject, msg_id))
            clash = known if known is not None and known.payload != command.payload else None
            self._ids.setdefault((command.subject, msg_id), sent)
            bound(self._ids)
        elif command.reply and len(command.payload) >= 16 and not block:
            same = (command.subject, command.payload)
            earlier = self._payloads.setdefault(same, sent)
            if earlier is not sent:
                earlier.times += 1
                lost = earlier.times == 2 and not earlier.answered and not earlier.link.up
                unknown = earlier if lost else None
            bound(self._payloads)
        self._tell(Published(link, command, clash, unknown))
        if command.reply:
            link.publishes[command.reply] = sent
            bound(link.publishes)

    def _flow(self, link: Link, command: PubLine) -> None:
        mark = link.marks.get(command.subject)
        self._tell(FlowAnswered(link, command, mark))
        if mark is not None:
            mark.answers += 1
            mark.missed = 0

    def _ack(self, link: Link, command: PubLine) -> None:
        delivery = self._deliveries.get(command.subject)
        alike = consumer = None
        try:
            about = AckSubject.parse(command.subject)
        except InvalidAckSubject:
            about = None
        if about is not None:
            consumer = self.consumers.get((about.stream, about.consumer))
            if delivery is None:
                spot = (about.stream, about.consumer, about.stream_sequence, about.consumer_sequence)
                alike = self._spots.get(spot)
        self._tell(Acked(link, command, delivery, alike, consumer))
        body = command.payload
        if delivery is not None and (not body or body.startswith(_SETTLING)):
            delivery.settled = body
            delivery.asked = bool(command.reply)
            delivery.link = link
        if body.startswith(b"+NXT") and command.reply and about is not None:
            self._pull(link, command, (about.stream, about.consumer), body[4:].strip())

    def _pull(self, link: Link, command: PubLine, names: tuple[str, ...], body: bytes) -> None:
        key = (names[0], names[1])
        pull = pull_of(key, command.reply, body, self._now, self.line)
        interests = link.interest_in(command.reply) if command.reply else []
        interest = interests[0] if interests else None
        owed = owed_bytes = 0
        pin = ""
        if interest is not None:
            # Behind one wildcard any number of readers can pull beside each other: only their inboxes tell them apart.
            mine = [each for each in interest.pulls if each.token == pull.token]
            owed = sum(each.owed(self._now) for each in mine)
            owed_bytes = sum(each.owed_bytes(self._now) for each in mine)
            pins = [each for each in interest.pulls if each.end is End.PIN_LOST]
            pin = pins[-1].pin if pins else ""
        self._tell(
            Pulled(
                link,
                pull,
                interests,
                self.consumers.get(key),
                owed,
                owed_bytes,
                pin,
                self._survivor(link, pull),
            )
        )
        if interest is None:
            return
        interest.loop = interest.loop or (owed > 0 and not pull.no_wait)
        interest.most = max(interest.most, pull.batch)
        interest.most_bytes = max(interest.most_bytes, pull.max_bytes)
        interest.sign = self._now
        interest.pulls.append(pull)
        self._tidy(interest)
        if pull.heartbeat and interest.loop:
            self._expect_life(link, interest, pull)

    def _survivor(self, link: Link, pull: SeenPull) -> SeenPull | None:
        """A pull of an earlier link, not ended, whose inbox is listened to again, on a server that may still hold it."""
        for other in reversed(self.links):
            if other is link or other.up or other.info is None or link.info is None:
                continue
            same = other.info.server_id == link.info.server_id or (
                link.info.cluster != "" and other.info.cluster == link.info.cluster
            )
            for interest in other.interests.values() if same else ():
                for old in interest.pulls:
                    if old.consumer == pull.consumer and old.token == pull.token and not old.over(self._now):
                        return old
        return None

    def _ask(self, link: Link, command: PubLine, verb: str, names: tuple[str, ...]) -> None:
        body = json_object(command.payload)
        request = SeenRequest(
            subject=command.subject,
            verb=verb,
            names=names,
            reply=command.reply,
            payload=command.payload,
            body=body,
            at=self._now,
            line=self.line,
        )
        waiting = link.requests.get(command.reply) if command.reply else None
        self._tell(Asked(link, request, waiting))
        if verb in {"CONSUMER.CREATE", "CONSUMER.DURABLE.CREATE"} and body is not None:
            self._create(link, request, body)
        if verb == "CONSUMER.DELETE" and len(names) == 2:
            consumer = self.consumers.get((names[0], names[1]))
            if consumer is not None:
                consumer.deleted = True
        if command.reply:
            link.requests[command.reply] = request
            bound(link.requests)

    def _create(self, link: Link, request: SeenRequest, body: Json) -> None:
        config = member(body, "config")
        deliver = config.get("deliver_subject")
        heard = not isinstance(deliver, str) or bool(link.interest_in(deliver))
        link.creates += 1
        earlier = self._ordered.get((request.names[0] if request.names else "", link.conn))
        request.heard = heard
        self._tell(Created(link, request, config, earlier))

    def _answer(self, link: Link, request: SeenRequest, payload: bytes) -> None:
        body = json_object(payload)
        if body is None:
            return
        error = member(body, "error")
        if error:
            code = error.get("err_code")
            self._tell(
                Refused(
                    link, request, code if isinstance(code, int) else 0, str(error.get("description", ""))
                )
            )
            return
        if request.verb in {"CONSUMER.CREATE", "CONSUMER.DURABLE.CREATE", "CONSUMER.INFO", "CONSUMER.RESET"}:
            stream, name, config = body.get("stream_name"), body.get("name"), body.get("config")
            if isinstance(stream, str) and isinstance(name, str) and isinstance(config, dict):
                key = (stream, name)
                known = self.consumers.get(key)
                if known is not None and request.verb == "CONSUMER.INFO":
                    known.config = cast("Json", config)
                    return
                self.consumers[key] = SeenConsumer(
                    key=key,
                    config=cast("Json", config),
                    at=self._now,
                    line=self.line,
                    expected=1,
                    unheard_by=None if request.heard else link,
                )
                if request.verb in {"CONSUMER.INFO", "CONSUMER.RESET"}:
                    self.consumers[key].expected = 0
                elif self.consumers[key].ordered:
                    self._ordered[stream, link.conn] = self.consumers[key]
                deliver = self.consumers[key].config.get("deliver_subject")
                if isinstance(deliver, str) and deliver:
                    self._delivering[deliver] = self.consumers[key]
                bound(self.consumers)
                bound(self._ordered)
                bound(self._delivering)
