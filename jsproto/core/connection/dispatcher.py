"""Keep a connection's conversations: registration, commands, routes, deadlines.

Theory. A conversation receives an input, and then it is *flushed*. Its commands become bytes and
routes, its notices become events, and its deadline is noted. Its waiter is named in a `Ready` event
if it can continue, and the conversation is forgotten when it is finished. All of this happens in
this file only. `link_lost` and `restore` are all that it knows of links.

A SUB that replaces another leaves the old sid in the table until the PONG after its UNSUB. So no
message that was in flight is lost. The server answers the PINGs of a connection in order, so the
fences are one queue. A drain waits for its fence for a limited time, and for a shorter time while
the server sends nothing. After that the conversation continues as if the PONG had arrived.

A server that takes no more subscriptions does not name the one that it refused
(`Dispatcher.turn_away`). A SUB is unproven until the PONG after it, or until a message arrives for
it. If there was no UNSUB meanwhile, the server refuses the newest SUBs, one for each -ERR. After an
UNSUB the client cannot know which ones were refused. Then it counts all unproven SUBs as refused,
so that no subscription looks alive and never delivers.
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

#: A PING that waits for its PONG: the port's number and token (0 for PINGs of the connection) and
#: the sids to forget.
Fence = tuple[int, int, tuple[str, ...]]


class Drain(NamedTuple):
    """The limits of a drain: its fence, its latest end, and the longest silence in seconds."""

    fence: int
    until: float
    silence: float


@final
@define
class Stats:
    """Counters since the connection was created. They only grow.

    Attributes:
        messages_in: messages that arrived: for subscriptions, answers and statuses of the server,
            and messages without a receiver.
        messages_out: messages handed to the transport: publishes, requests, pulls and
            acknowledgements.
        bytes_in: all bytes that arrived, protocol lines included, counted after TLS and WebSocket
            are removed.
        bytes_out: all bytes handed to the transport, counted in the same way.
        dropped: messages that a subscription dropped because of its own limits.
        unknown_sid: messages for a subscription that is gone, or answers without a receiver.
        connects: links that came up, each after a verified handshake.
        disconnects: links that were up and were lost; a link that was closed in good order is not
            counted.
        attempts_failed: failed attempts to connect.
        errors: ``-ERR`` lines of the server of any kind.
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
        """Number of links that came up after the first."""
        return max(0, self.connects - 1)


@final
class Dispatcher:
    """Conversations, their routes, deadlines and bytes.

    Attributes:
        events: the event queue, shared with the connection.
        max_payload: most bytes of headers and payload that the server accepts, 0 while unknown.
        up: whether the link is up.
        complaints: the -ERR lines of this segment about subscriptions that the server refuses.
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
        #: Drains by the port's number. The agenda holds their deadlines under the negative number.
        self._drains: dict[int, Drain] = {}
        self.events: deque[Event] = deque()
        self.stats = Stats()
        self.max_payload = 0
        self.up = False
        self._sids = Sids()
        self._spares = InboxPool()
        #: Subjects of publishes that the server refused; publishers ask it about theirs.
        self._denied = Denied()
        self._numbers = 0
        self._muxed = False
        self._pongs: deque[Fence] = deque()
        #: Number of PONGs on this link.
        self._answered = 0
        #: SUBs of this link that are unproven, oldest first, by sid: number of PINGs sent before,
        #: subject and queue.
        self._unproven: dict[str, tuple[int, str, str]] = {}
        #: Whether an UNSUB was sent while SUBs were unproven.
        self._gave_up = False
        #: Sids of refused SUBs: their UNSUB ends no subscription.
        self._turned_away: set[str] = set()
        self.complaints: list[JsprotoError] = []

    # ------------------------------------------------------------------ life of a conversation

    def open(self, conversation: Conversation[object], now: float) -> None:
        """Register and start a conversation; raise the error that refuses its first command.

        After an error nothing is left of the conversation here.
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
        """Flush after an input: send commands, note the deadline, wake waiters.

        A finished conversation is forgotten.
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
        """Flush after an item of the user; if there is nothing to do, only note the deadline."""
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
        """Call every conversation whose deadline has come, each once.

        Args:
            now: the time.
            heard: when the last bytes of the server arrived.
        """
        due: list[int] = []
        self._note()
        while (number := self.agenda.due(now)) is not None:
            due.append(number)
        for number in due:
            conversation = self.router.conversations.get(abs(number))
            if conversation is None:
                continue  # it ended with its drain
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
        """Limit the wait of a drain for its newest fence.

        Args:
            conversation: the conversation that drains.
            now: the time.
            until: the latest end of the wait.
            silence: seconds without input after which the wait ends.
        """
        port = conversation.port
        self._drains[port.number] = Drain(port.fences[-1], until, silence)
        self.agenda.put(-port.number, min(now + silence, until))

    def _drained(self, number: int) -> None:
        if self._drains.pop(number, None) is not None:
            self.agenda.put(-number, None)

    def next_deadline(self) -> float | None:
        """Return the latest time for `tick`."""
        self._note()
        return self.agenda.next()

    def _note(self) -> None:
        """Put the deadlines of the flushed conversations on the agenda, each once."""
        known = self.router.conversations
        for number, conversation in self._moved.items():
            self.agenda.put(number, conversation.deadline if number in known else None)
        self._moved.clear()

    def close_all(self, error: JsprotoError, now: float) -> None:
        """The connection ends: end every conversation."""
        for conversation in list(self.router.conversations.values()):
            conversation.closed(error, now)
            self.flush_conversation(conversation, now)

    def clear(self) -> None:
        """Drop all routes, deadlines and fences."""
        self.router.conversations.clear()
        self.router.clear_routes()
        self.agenda = DeadlineHeap()
        self._moved.clear()
        self._pongs.clear()

    # ------------------------------------------------------------------ input

    def deliver(self, sid: str, run: list[Delivery], now: float) -> None:
        """Deliver messages of one sid, in order."""
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
        """Process a PONG; ``True`` if it answers the connection's own, last outstanding PING."""
        if not self._pongs:
            return False
        number, token, sids = self._pongs.popleft()
        self._answered += 1
        if self.complaints:
            self.turn_away(now)  # the server read these SUBs before this PING
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
        """Report a refused command to every conversation; each decides whether it is concerned."""
        if subject == self.router.mux_subject:
            self._muxed = False  # the next request subscribes again, and hears of a refusal too
        if isinstance(error, PermissionViolation) and error.operation == "publish":
            self._denied.add(subject)
        for conversation in list(self.router.conversations.values()):
            conversation.refused(subject, error, now)
            self.flush_conversation(conversation, now)

    def turn_away(self, now: float) -> None:
        """Report refused SUBs: the server refused one for each complaint since the last PONG."""
        said = str(self.complaints[0])
        unproven = [sid for sid in self._unproven if not self._heard_of(sid)]
        refused = unproven if self._gave_up else unproven[-len(self.complaints) :]
        self.complaints.clear()
        for sid in reversed(refused):
            _, subject, queue = self._unproven.pop(sid)
            self._turned_away.add(sid)
            self.refused(subject, SubscriptionLimit(said, subject, "subscription", queue, sid), now)

    def _heard_of(self, sid: str) -> bool:
        """Tell whether a message arrived for a sid, or its conversation is gone."""
        if sid == MUX_SID:
            return False
        conversation = self.router.routes.get(sid)
        return conversation is None or (
            conversation.port.sid == sid and conversation.port.received > conversation.port.before
        )

    def _prove(self) -> None:
        """A PONG came: the server has accepted the SUBs before its PING."""
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
        """Report how many messages had no receiver."""
        self.stats.unknown_sid += self.router.unknown
        self.events.append(Notice(None, NoticeKind.UNKNOWN_SID, self.router.unknown))
        self.router.unknown = 0

    # ------------------------------------------------------------------ links

    def ping(self, data: bytes = PING) -> None:
        """Send a PING of the connection's own, after ``data`` if given."""
        self._pongs.append((0, 0, ()))
        self.outbound.append_control(data)

    def link_lost(self) -> None:
        """Drop the bytes and fences of the link, whether it was up or only an attempt."""
        self._pongs.clear()
        self._answered = 0
        self._forget_refusals()
        self.outbound.lost()

    def unplug(self) -> None:
        """Mark every port as unable to send."""
        self.up = False
        self._spares.clear()
        for number in list(self._drains):
            self._drained(number)
        for conversation in self.router.conversations.values():
            conversation.port.up = False
            conversation.port.clean = None
            conversation.port.fences.clear()

    def tell_down(self, error: JsprotoError, now: float) -> None:
        """The link that was up is lost: tell every conversation."""
        self.unplug()
        self.router.link_lost()
        for conversation in list(self.router.conversations.values()):
            conversation.link_down(error, now)
            self.flush_conversation(conversation, now)

    def restore(self, now: float) -> None:
        """Restore after a link came up.

        The order is: subscriptions, conversations that ask again, kept publishes, then
        conversations that must follow the kept publishes.
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

    # ------------------------------------------------------------------ output

    def encoded(self, publish: Publish) -> bytes:
        """Return the bytes of a publish; the size limit is that of the newest INFO.

        Raises:
            InvalidSubject, InvalidHeader, PayloadTooLarge: it cannot be sent.
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
        """Encode a request at once, without a command: the fast path of `Port.ask`.

        The caller waits for an answer now, so its deadline is noted, also when a take asked.
        """
        self._moved[number] = self.router.conversations[number]
        self.outbound.append_bound(
            encode_publish(
                subject, payload, reply, headers, max_payload=self.max_payload or None, checked=True
            )
        )

    def _publish(self, conversation: Conversation[object], command: Publish, now: float) -> None:
        """Send one publish; a publish that cannot be encoded is refused here, as a server would."""
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
        """Turn a port's commands into bytes and routes; only into routes while the link is down."""
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
        """Keep an inbox for the next equal request; unsubscribe one if there are too many."""
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
