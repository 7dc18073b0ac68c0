"""The conversations' side of a connection: who is there, what they said, when they are due.

Theory. A conversation is told something, and then it is *stirred*: its port's commands become bytes
and routes, its notices become events, its deadline goes on the agenda, whoever waits for it is
named, and it is forgotten once nothing more can come or go. That is the whole life of a
conversation, and this file is the only place where it happens. Links come and go around it:
`link_lost` and `restore` are all that it knows of them.

A SUB that replaces another leaves the old sid in the table until the PONG behind its UNSUB, so that
nothing which was on its way is lost. Every PING of this connection is answered in order, so the
fences are one queue. The one that a drain waits for has a time limit, and a shorter one while the
server says nothing: behind it the conversation is told as if the PONG had come, and nobody waits
for a silent server.

A server that takes no more subscriptions says so without naming the one that it refused
(`Dispatcher.turn_away`). A SUB is unproven until the PONG behind it, or until something comes for
it. As long as nothing was given up meanwhile, the server refuses the newest ones, and as many as it
complains of. After an UNSUB nobody can tell which, and all that are unproven count as refused: none
may look alive in silence.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple, final

from attrs import define

from jsproto.core.connection.deadlines import DeadlineHeap
from jsproto.core.connection.events import Event, Notice, NoticeKind, Ready
from jsproto.core.connection.outbound import Outbound
from jsproto.core.conversation.conversation import Conversation, Port, Sids
from jsproto.core.conversation.denied import Denied
from jsproto.core.conversation.inbox_pool import Inbox, InboxPool
from jsproto.core.conversation.router import MUX_SID, Router
from jsproto.errors.tree import (
    JsprotoError,
    LocalProtocolError,
    PermissionViolation,
    SubscriptionLimit,
)
from jsproto.wire.commands import Ping, Publish, Sub, Unsub
from jsproto.wire.encoder import encode, encode_publish
from jsproto.wire.frames import Delivery
from jsproto.wire.headers import Headers

PING: Final = encode(Ping())

#: What a PONG answers: the port's number and token (0 for the connection's own PINGs) and sids to
#: forget.
Fence = tuple[int, int, tuple[str, ...]]


class Drain(NamedTuple):
    """What a drain waits for: its fence, until when, and for how many seconds of silence."""

    fence: int
    until: float
    silence: float


@final
@define
class Stats:
    """Counters since the connection was made. They only grow, and cost nothing for each message.

    Attributes:
        messages_in: messages that came: for subscriptions, answers and statuses of the server, and
            what nobody waited for.
        messages_out: messages handed to the transport: publishes, requests, pulls and
            acknowledgements.
        bytes_in: everything that came over the wire, under TLS and WebSocket: the lines of the
            protocol too.
        bytes_out: everything handed to the transport, counted in the same way.
        dropped: messages that a subscription lost to its own limits.
        unknown_sid: messages for a subscription that was gone, or answers that nobody waited for.
        connects: links that came up, each after a verified handshake.
        disconnects: links that were up and were lost; one that was closed in good order is none.
        attempts_failed: attempts to get a link that came to nothing.
        errors: ``-ERR`` lines of the server, whatever became of them.
        pings_out: PINGs of the keepalive; those of a flush or a drain are not counted.
        pings_in: PINGs of the server. Each is answered by a PONG, or many by one, if the server
            sends more and reads nothing.
    """

    messages_in: int = 0
    messages_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    dropped: int = 0
    unknown_sid: int = 0
    connects: int = 0
    disconnects: int = 0
    attempts_failed: int = 0
    errors: int = 0
    pings_out: int = 0
    pings_in: int = 0

    @property
    def reconnects(self) -> int:
        """Links that came up after the first."""
        return max(0, self.connects - 1)


@final
class Dispatcher:
    """Conversations, their routes, deadlines and bytes.

    Attributes:
        events: what happened, shared with the connection, which hands it out.
        max_payload: most bytes of headers and payload that the server takes, 0 while unknown.
        up: whether the link is up.
        complaints: what the server said of subscriptions that it does not take, in this segment.
    """

    __slots__ = (
        "_answered",
        "_denied",
        "_drains",
        "_gave_up",
        "_moved",
        "_muxed",
        "_numbers",
        "_pongs",
        "_sids",
        "_spares",
        "_turned_away",
        "_unproven",
        "agenda",
        "complaints",
        "events",
        "max_payload",
        "outbound",
        "router",
        "stats",
        "up",
    )

    def __init__(self, router: Router) -> None:
        self.router = router
        self.outbound = Outbound()
        self.agenda = DeadlineHeap()
        self._moved: dict[int, Conversation[object]] = {}
        #: The fence that a drain waits for, by the port's number; its time is on the agenda under
        #: that number, negative.
        self._drains: dict[int, Drain] = {}
        self.events: deque[Event] = deque()
        self.stats = Stats()
        self.max_payload = 0
        self.up = False
        self._sids = Sids()
        self._spares = InboxPool()
        #: Publishes that the server refused, for those who want to know what became of theirs.
        self._denied = Denied()
        self._numbers = 0
        self._muxed = False
        self._pongs: deque[Fence] = deque()
        #: PONGs of this link so far.
        self._answered = 0
        #: SUBs of this link that nothing has proven yet, oldest first: how many PINGs went before,
        #: the subject and the queue, by sid.
        self._unproven: dict[str, tuple[int, str, str]] = {}
        #: Whether there was an UNSUB while some were unproven.
        self._gave_up = False
        #: The sids of those that were refused: their UNSUB gives nothing up.
        self._turned_away: set[str] = set()
        self.complaints: list[JsprotoError] = []

    # ------------------------------------------------------------------ life of a conversation

    def open(self, conversation: Conversation[object], now: float) -> None:
        """Give it a port, start it, and raise what its first command was refused with; then nothing
        is left of it.
        """
        self._numbers += 1
        router = self.router
        port = conversation.port = Port(
            self._numbers,
            sids=self._sids,
            spares=self._spares,
            denied=self._denied,
            post=self._post,
            inbox_root=router.inbox_root,
            mux_root=router.mux_root,
            up=self.up,
        )
        router.add(conversation)
        try:
            conversation.opened(now)
        except LocalProtocolError as error:
            port.commands.clear()
            port.subject = ""
            conversation.end(error)
            router.forget(conversation)
            raise
        if port.asked:
            router.route(port.sid, conversation)
        self.offered(conversation, now)
        if conversation.ended and isinstance(conversation.error, LocalProtocolError):
            raise conversation.error

    def flush_conversation(self, conversation: Conversation[object], now: float) -> None:
        """After it was told something: send, note its deadline, wake who waits, forget it if it is
        finished.
        """
        port = conversation.port
        while port.commands:
            self._send(conversation, now)
        if port.lost:
            self.stats.dropped += port.lost
            port.lost = 0
        if port.notices:
            self.events.extend(Notice(conversation, kind, detail) for kind, detail in port.notices)
            port.notices.clear()
        if conversation.finished:
            if port.clean is not None:
                self._keep(port, port.clean)
            self._drained(port.number)
            self.router.forget(conversation)
        self._moved[port.number] = conversation
        if conversation.take_blocked and (conversation.readable or conversation.ended):
            conversation.take_blocked = False
            self.events.append(Ready(conversation))
        if conversation.put_blocked and (conversation.room or conversation.ended):
            conversation.put_blocked = False
            self.events.append(Ready(conversation))
        if conversation.watched is not None and conversation.watched is not conversation.stage:
            conversation.watched = None
            self.events.append(Ready(conversation))

    def offered(self, conversation: Conversation[object], now: float) -> None:
        """After it was opened, or took an item of the user: `flush_conversation`, or only its
        deadline where there is nothing else to do.
        """
        port = conversation.port
        if (
            port.commands
            or port.notices
            or conversation.ended
            or (conversation.take_blocked and conversation.readable)
        ):
            self.flush_conversation(conversation, now)
        else:
            self._moved[port.number] = conversation

    def tick(self, now: float, heard: float) -> None:
        """Tell everybody whose deadline has come, each once. ``heard``: when the server said
        something last.
        """
        due: list[int] = []
        self._note()
        while (number := self.agenda.due(now)) is not None:
            due.append(number)
        for number in due:
            conversation = self.router.conversations.get(abs(number))
            if conversation is None:
                continue  # it was over by its drain
            if number < 0:
                drain = self._drains[-number]
                moment = min(heard + drain.silence, drain.until)
                if moment > now:
                    self.agenda.put(number, moment)
                    continue
                del self._drains[-number]
                conversation.port.notify(NoticeKind.DRAIN_TIMEOUT)
                conversation.fenced(drain.fence, now)
            else:
                conversation.ticked(now)
            self.flush_conversation(conversation, now)

    def limit_drain(
        self, conversation: Conversation[object], now: float, *, until: float, silence: float
    ) -> None:
        """Its drain waits for its newest fence, but not beyond this moment, and no longer than the
        server is silent for so many seconds.
        """
        port = conversation.port
        self._drains[port.number] = Drain(port.fences[-1], until, silence)
        self.agenda.put(-port.number, min(now + silence, until))

    def _drained(self, number: int) -> None:
        if self._drains.pop(number, None) is not None:
            self.agenda.put(-number, None)

    def next_deadline(self) -> float | None:
        """When `tick` is due at the latest."""
        self._note()
        return self.agenda.next()

    def _note(self) -> None:
        """Put the deadlines of those who were stirred on the agenda, each once however often it
        was.
        """
        known = self.router.conversations
        for number, conversation in self._moved.items():
            self.agenda.put(number, conversation.deadline if number in known else None)
        self._moved.clear()

    def close_all(self, error: JsprotoError, now: float) -> None:
        """The connection ends: so does everybody."""
        for conversation in list(self.router.conversations.values()):
            conversation.closed(error, now)
            self.flush_conversation(conversation, now)

    def clear(self) -> None:
        """Nothing is left: no route, no deadline, no fence."""
        self.router.conversations.clear()
        self.router.clear_routes()
        self.agenda = DeadlineHeap()
        self._moved.clear()
        self._pongs.clear()

    # ------------------------------------------------------------------ what comes in

    def deliver(self, sid: str, run: list[Delivery], now: float) -> None:
        """Messages of one sid, in order."""
        self.stats.messages_in += len(run)
        conversation = self.router.routes.get(sid)
        if conversation is not None:
            port = conversation.port
            if port.sid == sid:
                port.received += len(run)
            conversation.delivered(run, now)
            self.flush_conversation(conversation, now)
        elif sid == MUX_SID:
            if self._unproven:
                self._unproven.pop(MUX_SID, None)
            for found, token, frame in self.router.answers(run):
                found.replied(token, frame, now)
                self.flush_conversation(found, now)
        else:
            self.router.unknown += len(run)

    def ponged(self, now: float) -> bool:
        """A PONG came. ``True`` if it answers a PING of the connection's own and was the last that
        is owed.
        """
        if not self._pongs:
            return False
        number, token, sids = self._pongs.popleft()
        self._answered += 1
        if self.complaints:
            self.turn_away(now)  # The server read these SUBs before the PING that it answers now.
        if self._unproven:
            self._prove()
        for sid in sids:
            self.router.unroute(sid)
        conversation = self.router.conversations.get(number)
        if conversation is not None:
            conversation.port.fences.popleft()
            drain = self._drains.get(number)
            if drain is not None and token == drain.fence:
                self._drained(number)
            conversation.fenced(token, now)
            self.flush_conversation(conversation, now)
        return not token and not self._pongs

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """The server refused a command: whoever sent one like that knows what it means."""
        if subject == self.router.mux_subject:
            self._muxed = False  # whoever calls next tries it again, and hears of it too
        if isinstance(error, PermissionViolation) and error.operation == "publish":
            self._denied.add(subject)
        for conversation in list(self.router.conversations.values()):
            conversation.refused(subject, error, now)
            self.flush_conversation(conversation, now)

    def turn_away(self, now: float) -> None:
        """The server took no more subscriptions, and refused one for each complaint, of those that
        were sent since the last PONG.
        """
        said = str(self.complaints[0])
        unproven = [sid for sid in self._unproven if not self._heard_of(sid)]
        refused = unproven if self._gave_up else unproven[-len(self.complaints) :]
        self.complaints.clear()
        for sid in reversed(refused):
            _, subject, queue = self._unproven.pop(sid)
            self._turned_away.add(sid)
            self.refused(subject, SubscriptionLimit(said, subject, "subscription", queue, sid), now)

    def _heard_of(self, sid: str) -> bool:
        """Whether something came for a subscription, or nobody waits for it any more."""
        if sid == MUX_SID:
            return False
        conversation = self.router.routes.get(sid)
        return conversation is None or (
            conversation.port.sid == sid and conversation.port.received > conversation.port.before
        )

    def _prove(self) -> None:
        """A PONG came: the server has taken what went before its PING."""
        for sid, (before, _, _) in list(self._unproven.items()):
            if before >= self._answered:
                return
            del self._unproven[sid]
        self._forget_refusals()

    def _forget_refusals(self) -> None:
        self._unproven.clear()
        self._gave_up = False
        self._turned_away.clear()

    def report_unknown(self) -> None:
        """Say how many frames nobody waited for."""
        self.stats.unknown_sid += self.router.unknown
        self.events.append(Notice(None, NoticeKind.UNKNOWN_SID, self.router.unknown))
        self.router.unknown = 0

    # ------------------------------------------------------------------ links

    def ping(self, data: bytes = PING) -> None:
        """Send a PING of the connection's own, perhaps with bytes before it."""
        self._pongs.append((0, 0, ()))
        self.outbound.append_control(data)

    def link_lost(self) -> None:
        """Bytes and fences of the link are void, whether it was up or only an attempt."""
        self._pongs.clear()
        self._answered = 0
        self._forget_refusals()
        self.outbound.lost()

    def unplug(self) -> None:
        """No port can send any more."""
        self.up = False
        self._spares.clear()
        for number in list(self._drains):
            self._drained(number)
        for conversation in self.router.conversations.values():
            conversation.port.up = False
            conversation.port.clean = None
            conversation.port.fences.clear()

    def tell_down(self, error: JsprotoError, now: float) -> None:
        """The link that was up is lost: tell everybody."""
        self.unplug()
        self.router.link_lost()
        for conversation in list(self.router.conversations.values()):
            conversation.link_down(error, now)
            self.flush_conversation(conversation, now)

    def restore(self, now: float) -> None:
        """A link is up: subscriptions first, then those who ask again, then what was kept, then the
        fences behind it.
        """
        self.up = True
        if self._muxed:
            self._subscribe_mux()
        waiting = list(self.router.conversations.values())
        for conversation in waiting:
            conversation.port.up = True
            conversation.port.renew()
            self._send(conversation, now)
        for conversation in waiting:
            if not conversation.AFTER_BACKLOG:
                conversation.link_up(now)
                self.flush_conversation(conversation, now)
        left_out = self.outbound.resume(self.max_payload)
        if left_out:
            self.events.append(Notice(None, NoticeKind.UNSENT, left_out))
        for conversation in waiting:
            if conversation.AFTER_BACKLOG:
                conversation.link_up(now)
                self.flush_conversation(conversation, now)

    # ------------------------------------------------------------------ what goes out

    def encoded(self, publish: Publish) -> bytes:
        """The bytes of a publish that the server will take; its limit is that of the newest INFO.

        Raises:
            InvalidSubject, InvalidHeader, PayloadTooLarge: it can't be sent.
        """
        return encode_publish(
            publish.subject,
            publish.payload,
            publish.reply,
            publish.headers,
            max_payload=self.max_payload or None,
        )

    def _post(
        self, number: int, subject: str, payload: bytes | str, reply: str, headers: Headers | None
    ) -> None:
        """Write what will be answered below a port's own inbox; the way of `Port.ask` around the
        commands.

        Whoever asks waits from now on, so its deadline is to be noted, whatever it is asked by: a
        take too.
        """
        self._moved[number] = self.router.conversations[number]
        self.outbound.append_bound(
            encode_publish(
                subject, payload, reply, headers, max_payload=self.max_payload or None, checked=True
            )
        )

    def _publish(self, conversation: Conversation[object], command: Publish, now: float) -> None:
        """One publish; what can't be encoded or is too large is refused here, in the place of the
        server.
        """
        try:
            data = self.encoded(command)
        except LocalProtocolError as error:
            conversation.refused(command.subject, error, now)
            return
        if not self._muxed and command.reply.startswith(self.router.mux_root):
            self._muxed = True
            self._subscribe_mux()
        self.outbound.append_bound(data)

    def _send(self, conversation: Conversation[object], now: float) -> None:
        """Turn a port's commands into bytes and routes. While the link is down only the routes
        change.
        """
        port = conversation.port
        router = self.router
        outbound = self.outbound
        retired: list[str] = []
        commands = port.commands
        port.commands = []
        for command in commands:
            if isinstance(command, Publish):
                self._publish(conversation, command, now)
            elif isinstance(command, Sub):
                if command.sid not in router.routes:
                    router.route(command.sid, conversation)
                if port.up:
                    self._subscribe(command)
            elif isinstance(command, Unsub):
                if port.up:
                    self._unsubscribe(command)
                if not command.limit:
                    retired.append(command.sid)
            else:
                on_their_way = sum(number == port.number for number, _, _ in self._pongs)
                self._pongs.append((port.number, port.fences[on_their_way], tuple(retired)))
                retired.clear()
                outbound.append_control(PING)
        if not port.up:
            for sid in retired:
                router.unroute(sid)
        elif retired and not conversation.finished:
            self._pongs.append((0, 0, tuple(retired)))
            outbound.append_control(PING)

    def _keep(self, port: Port, inbox: Inbox) -> None:
        """Keep an inbox for whoever asks the same next; one too many is given up, and nothing can
        come to it.
        """
        port.clean = None
        sid = self._spares.keep(port.asked, inbox)
        self._unproven.pop(inbox[0], None)
        if sid:
            self._unsubscribe(Unsub(sid))

    def _subscribe_mux(self) -> None:
        self._subscribe(Sub(self.router.mux_subject, MUX_SID))

    def _subscribe(self, command: Sub) -> None:
        self._unproven[command.sid] = (
            self._answered + len(self._pongs),
            command.subject,
            command.queue,
        )
        self.outbound.append_control(encode(command))

    def _unsubscribe(self, command: Unsub) -> None:
        self._unproven.pop(command.sid, None)
        self._gave_up = self._gave_up or (
            bool(self._unproven) and command.sid not in self._turned_away
        )
        self.outbound.append_control(encode(command))
