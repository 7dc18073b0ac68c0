"""The connection: it joins bytes, time and conversations.

Theory. A few methods are inputs and three are outputs. An input is processed completely before it
returns. It parses frames and routes them in runs of one sid, delivers them to conversations,
encodes the commands of the conversations and notes their deadlines. Inputs may come in any order.
Outputs collect until the adapter drains them: first events, then bytes, then the one deadline. A
`Ready` event names a conversation whose waiter can continue.

    inputs                                           outputs
    transport_up  receive_data  transport_down       next_event()     what happened, work to do
    handle_tick                                      data_to_send()   bytes for the transport
    open  put  take  settle  send  tell  close       next_deadline()  latest time for handle_tick

`receive_data`, `transport_*` and `handle_tick` never raise. The verbs of the user raise
`LocalProtocolError` and then have changed nothing. ``now`` is any monotone number of seconds; an
earlier one is replaced by the last one. The same inputs give the same outputs, byte for byte.
Entropy is used only for inbox ids, jitter and the order of servers.

The connection contains no JetStream logic. After the loss of a link it restores, in this order,
subscriptions, then conversations (which send their pulls or requests again), then the publishes
that were kept, byte for byte.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sized
from operator import itemgetter
from typing import Final, TypeGuard, TypeVar, cast

from jsproto.core.connection.auth import Auth, check_dropped, for_server
from jsproto.core.connection.dispatcher import PING, Dispatcher, Stats
from jsproto.core.connection.events import (
    Authenticate,
    Closed,
    Connected,
    Dial,
    Disconnected,
    Event,
    HangUp,
    LameDuck,
    Notice,
    NoticeKind,
    Ready,
    Upgrade,
)
from jsproto.core.connection.link import (
    ATTEMPTING,
    OPEN,
    OVER,
    Link,
    LinkInput,
    LinkState,
    LinkTimer,
)
from jsproto.core.connection.options import Options, Tls
from jsproto.core.connection.server_errors import LinkEffect, ServerErr, refusal
from jsproto.core.connection.server_pool import Entry, Server, ServerPool
from jsproto.core.conversation.conversation import Conversation, StopMode
from jsproto.core.conversation.router import Router
from jsproto.core.conversation.settleable import Settleable
from jsproto.errors.tree import (
    AuthorizationFailed,
    ConnectFailed,
    ConnectionClosed,
    ConversationClosed,
    InvalidConfig,
    JsprotoError,
    LocalProtocolError,
    OutboundFull,
    RemoteProtocolError,
    StaleConnection,
    TlsUnavailable,
)
from jsproto.errors.tree import ConnectionLost as LinkLost
from jsproto.signals import Ended, NeedData
from jsproto.wire.commands import Connect, Publish
from jsproto.wire.encoder import encode
from jsproto.wire.frames import SID, Control, Delivery, Err, Frame, Info
from jsproto.wire.nuid import nuid
from jsproto.wire.parser import Parser

T = TypeVar("T")
ConversationT = TypeVar("ConversationT", bound=Conversation[object])

PONG: Final = b"PONG\r\n"

#: Most PINGs of a server that reads nothing which are answered one by one. One PONG answers the
#: rest when the server reads again, because it only checks that the client is alive.
MOST_PONGS: Final = 64

#: Bytes that a delivered message may have above the publish limit, because the server adds headers.
SERVER_HEADERS: Final = 65_536

#: Number of failed attempts that are kept for the message of ConnectFailed.
MOST_FAILURES: Final = 8


#: With these TLS modes the client never sends plaintext to a server, whatever its URL.
EVERYWHERE: Final = frozenset({Tls.REQUIRED, Tls.FIRST})
#: Each access to an enum member through its class costs 120 ns, and every ack needs this one.
UP: Final = LinkState.UP
_SID_OF: Final = itemgetter(SID)


class Connection:
    """One connection to one NATS system.

    Args:
        options: see `Options`.
        entropy: ``entropy(n)`` returns ``n`` random bytes; a fixed function makes runs repeatable.
        now: seconds of the clock that all other inputs use.

    Attributes:
        info: the newest INFO, ``None`` before the first.
        outgoing: the encoded commands that wait for `data_to_send`. An adapter in a long turn can
            look at its length and flush, so that the server can begin to work.
        stats: counters.
    """

    __slots__ = (
        "_choked",
        "_draining",
        "_events",
        "_exchange",
        "_failures",
        "_link",
        "_now",
        "_options",
        "_outbound",
        "_parser",
        "_pings",
        "_pool",
        "_reason",
        "_secrets",
        "_secured",
        "_unsent",
        "_verified",
        "_why",
        "info",
        "outgoing",
        "stats",
    )

    def __init__(self, options: Options, *, entropy: Callable[[int], bytes], now: float) -> None:
        self._options = options
        self._now = now
        self._pool = ServerPool(
            options.servers,
            entropy=entropy,
            wait=options.reconnect_wait,
            wait_max=options.reconnect_wait_max,
            jitter=options.reconnect_jitter,
            jitter_tls=options.reconnect_jitter_tls,
            randomize=options.randomize,
            waits=options.reconnect_waits,
        )
        self._exchange = Dispatcher(Router(options.inbox_prefix, nuid(entropy)))
        self._events = self._exchange.events
        self._outbound = self._exchange.outbound
        self.outgoing: Sized = self._outbound.pieces
        self.stats: Stats = self._exchange.stats
        self._link = Link(ping_interval=options.ping_interval, max_pings_out=options.max_pings_out)
        self._verified = False
        self._secured = False
        self._secrets: tuple[str, ...] = ()
        self._reason: ServerErr | None = None
        #: The error that closed the connection, ``None`` if the user closed it.
        self._why: JsprotoError | None = None
        self._failures: deque[JsprotoError] = deque(maxlen=MOST_FAILURES)
        #: Number of bytes that the transport held at the last `transport_unsent`.
        self._unsent = 0
        #: Number of PINGs that arrived since the transport became clogged.
        self._pings = 0
        self._choked = False
        self._draining: dict[int, Conversation[object]] | None = None
        self._parser = self._new_parser()
        self.info: Info | None = None
        self._dial(now)

    # ================================================================== properties

    def __repr__(self) -> str:
        return f"<Connection to {self.server}: {self.state.name}>"

    @property
    def state(self) -> LinkState:
        """The state of the link."""
        return self._link.state

    @property
    def connected(self) -> bool:
        """Whether the handshake of the current link is verified."""
        return self._link.state is LinkState.UP

    @property
    def closed(self) -> bool:
        """Whether the connection is over."""
        return self._link.state is LinkState.CLOSED

    @property
    def server(self) -> Server:
        """The server of the current link or attempt."""
        return self._pool.current.server

    @property
    def servers(self) -> tuple[Server, ...]:
        """The servers of the pool, in order."""
        return tuple(entry.server for entry in self._pool.entries)

    @property
    def write_blocked(self) -> bool:
        """Whether a publisher waits until the outbound bytes fall below the low-water mark."""
        return self._choked

    @property
    def clogged(self) -> bool:
        """Whether the transport holds more than the low-water mark: the server reads slowly."""
        return self._unsent > self._options.outbound_low

    @property
    def conversations(self) -> int:
        """Number of unfinished conversations."""
        return len(self._exchange.router.conversations)

    # ================================================================== inputs: transport

    def transport_up(self, now: float) -> None:
        """The byte stream to the dialled server is open, or TLS is up after an `Upgrade`."""
        now = self._at(now)
        state = self._link.state
        if state is LinkState.DIALING:
            self._link.move(LinkInput.TRANSPORT_UP)
            self._parser = self._new_parser()
            self._secured = self._secure_first(self.server)
        elif state is LinkState.UPGRADING:
            self._secured = True
            self._authenticate()

    def receive_data(self, data: bytes, now: float) -> None:
        """Process bytes of the server.

        Every complete frame is processed in order. Decisions about the link take effect after all
        frames.
        """
        now = self._at(now)
        link = self._link
        up = link.state is UP  # read often; a test for a set of states computes a hash in Python
        if not data or not (up or link.state in OPEN):
            return
        link.alive(now)
        self.stats.bytes_in += len(data)
        self._reason = None  # an unknown -ERR explains only a loss right after it, not a later one
        frames = self._parser.feed(data)
        if not up and link.state in ATTEMPTING:
            self._greeting(frames, now)
        elif frames:
            self._work_off(frames, now)
        elif self._parser.failure is None:
            return  # an incomplete frame changes nothing
        self._after_segment(now)

    def transport_down(self, error: Exception | None, now: float) -> None:
        """The byte stream ended or could not be opened; ``None`` is an end without an error."""
        now = self._at(now)
        state = self._link.state
        if state is LinkState.WAITING or state is LinkState.CLOSED:
            return
        if isinstance(error, JsprotoError):
            reason: JsprotoError = error
        elif self._reason is not None:
            reason = self._reason.error
        else:
            what = "end of stream" if error is None else f"{type(error).__name__}: {error}"
            kind = ConnectFailed if state in ATTEMPTING else LinkLost
            reason = kind(f"expected a working link to {self.server}, got {what}")
        self._lost(reason, now, hang_up=False)

    def transport_unsent(self, unsent: int, now: float) -> None:
        """Report how many bytes the transport still holds.

        The adapter calls this after a write and when the transport has drained. Bytes that the
        transport holds when the link ends are reported as a notice, `NoticeKind.UNSENT`. Therefore
        the adapter must also count bytes that a broken stream has refused.
        """
        self._at(now)
        self._unsent = unsent
        if self._pings and not self.clogged:
            if self._pings > MOST_PONGS:
                self._outbound.append_control(PONG)
            self._pings = 0
        if self._choked and self._outbound.size + unsent <= self._options.outbound_low:
            self._choked = False
            self._events.append(Ready(None))

    # ================================================================== inputs: time

    def handle_tick(self, now: float) -> None:
        """Process everything that is due; early and superfluous calls are harmless."""
        now = self._at(now)
        for timer in self._link.timers.expired(now):
            self._fired(timer, now)
        self._exchange.tick(now, self._link.last_input)
        self._drained(now)

    # ================================================================== inputs: the user

    def open(self, conversation: ConversationT, now: float) -> ConversationT:
        """Give a conversation its port and start it; a draining connection still serves requests.

        Raises:
            ConversationClosed: the connection is closed, or the conversation was opened before.
            LocalProtocolError: the first command of the conversation cannot be sent.
        """
        now = self._at(now)
        if self._link.state in OVER:
            raise self._too_late()
        if conversation.port.number:
            raise ConversationClosed("expected a new conversation, this one was opened before")
        self._exchange.open(conversation, now)
        if self._draining is not None:
            self._draining[conversation.port.number] = conversation
            self._wish(conversation, StopMode.DRAIN, now)
            self._drained(now)
        return conversation

    def put(self, conversation: Conversation[object], item: object, now: float) -> bool:
        """Offer an item; ``False`` means full: wait for `Ready`.

        Raises:
            LocalProtocolError: the conversation takes no such item, or has ended.
        """
        # This runs once per message, so `_at` is inlined.
        if now < self._now:
            now = self._now
        else:
            self._now = now
        if conversation.ended:
            # The dispatcher has forgotten a finished conversation, but the user may still offer
            # items.
            conversation.port.up = self._exchange.up
        if conversation.offered(item, now):
            self._exchange.offered(conversation, now)
            return True
        conversation.put_blocked = True
        self._stir(conversation, now)
        return False

    def take(self, conversation: Conversation[T], now: float) -> T | NeedData | Ended:
        """Return the next item, NEED_DATA (wait for `Ready`) or ENDED.

        It raises the conversation's error after the last item.
        """
        # This runs once per message, so `_at` is inlined.
        if now < self._now:
            now = self._now
        else:
            self._now = now
        try:
            return conversation.take(now)
        finally:
            port = conversation.port
            if port.commands or port.notices or conversation.ended:
                self._taken(cast("Conversation[object]", conversation), now)

    def take_all(self, conversation: Conversation[T], now: float) -> list[T] | NeedData | Ended:
        """Return all available items in one list, or a signal as `take` does."""
        now = self._at(now)
        try:
            items = conversation.take_all(now)
        finally:
            port = conversation.port
            if port.commands or port.notices or conversation.ended:
                self._taken(cast("Conversation[object]", conversation), now)
        return items

    def settle(self, once: Settleable, now: float) -> bool:
        """Write a command that may be written only once; ``False`` if it may not be written.

        If it was written before, a notice `NoticeKind.REPEATED` reports that.

        Raises:
            OutboundFull: it was not written; the message that it settles is still open.
            ConversationClosed: the connection is closed.
            LocalProtocolError: the command itself refuses a second use, or the argument cannot be
                settled.
        """
        try:
            settle_by = once.settle_by
        except AttributeError:
            raise LocalProtocolError(
                "expected a message of a consumer, or a settlement of one,"
                f" got {type(once).__name__}"
            ) from None
        if not settle_by(self._outbound.append if self._link.state is UP else self._write):
            if once.repeated():
                self._events.append(Notice(None, NoticeKind.REPEATED, once))
            return False
        if self._draining is not None:
            self._drained(self._at(now))
        return True

    def send(self, publish: Publish, now: float) -> bool:
        """Publish without an acknowledgement; ``False``: not written, wait for ``Ready(None)``.

        It returns ``False`` when there are too many outbound bytes.

        Raises:
            InvalidSubject, InvalidHeader, PayloadTooLarge, ConversationClosed: nothing was written.
        """
        data = self._exchange.encoded(publish)
        state = self._link.state
        if state is LinkState.UP:
            if self._outbound.size + self._unsent >= self._options.outbound_high:
                self._choked = True
                return False
            self._outbound.append(data)
            return True
        if state is LinkState.CLOSING or state is LinkState.CLOSED:
            raise self._too_late()
        if self._outbound.kept_size + len(data) > self._options.max_backlog:
            self._choked = True
            return False
        self._outbound.keep(data)
        return True

    def authenticate(self, auth: Auth, now: float) -> None:
        """Answer `Authenticate`; an answer for an earlier handshake is ignored."""
        now = self._at(now)
        if self._link.state is not LinkState.ASKING:
            return
        if auth.nonce is not None and self.info is not None and auth.nonce != self.info.nonce:
            return
        try:
            check_dropped(auth, self.server)
        except InvalidConfig as error:
            self.authentication_failed(error, now)
        else:
            self._send_connect(auth)

    def authentication_failed(self, error: Exception, now: float) -> None:
        """Report that no credentials are available; the attempt fails with ``error``.

        During the first connect this closes the connection.
        """
        now = self._at(now)
        if self._link.state is not LinkState.ASKING:
            return
        reason: JsprotoError
        if isinstance(error, JsprotoError):
            reason = error
        else:
            reason = ConnectFailed(
                f"expected credentials for {self.server}, got {type(error).__name__}"
            )
            reason.__cause__ = error
        if self.stats.connects:
            self._lost(reason, now)
        else:
            self._cut(reason, now)

    def tell(self, conversation: Conversation[object] | None, wish: StopMode, now: float) -> None:
        """Drain or stop one conversation; with ``None`` all of them, and close the connection then.

        Either waits for the server at most ``drain_timeout``, and at most ``drain_silence`` while
        the server sends nothing. After that a notice `NoticeKind.DRAIN_TIMEOUT` reports it.
        """
        now = self._at(now)
        if conversation is not None:
            self._wish(conversation, wish, now)
            self._drained(now)
        elif self._draining is None and self._link.state not in OVER:
            self._draining = dict(self._exchange.router.conversations)
            self._link.timers.set(LinkTimer.DRAIN, now + self._options.drain_timeout)
            for each in list(self._draining.values()):
                self._wish(each, wish, now)
            self._drained(now)

    def _wish(self, conversation: Conversation[object], wish: StopMode, now: float) -> None:
        port = conversation.port
        fences = len(port.fences)
        conversation.told(wish, now)
        self._exchange.flush_conversation(conversation, now)
        if len(port.fences) > fences:  # it waits for the server
            options = self._options
            self._exchange.limit_drain(
                conversation, now, until=now + options.drain_timeout, silence=options.drain_silence
            )

    def limit(self, conversation: Conversation[object], count: int, now: float) -> None:
        """End a subscription after ``count`` messages since it was opened, over all links.

        Raises:
            LocalProtocolError: this conversation accepts no limit, or not this one; nothing
                changed.
        """
        now = self._at(now)
        conversation.limited(count, now)
        self._stir(conversation, now)

    def reconnect(self, now: float, *, server: str | Server | None = None) -> None:
        """Leave this server and dial the named or the next one; while waiting, dial at once.

        An attempt in progress continues. It has its own deadline, and leaving it would count as its
        failure.

        Raises:
            InvalidConfig: the server is not in the pool, or ``max_reconnects`` is 0; nothing
                changed.
        """
        now = self._at(now)
        if self._options.max_reconnects == 0 and self.stats.connects:
            raise InvalidConfig("expected a connection that may dial again, max_reconnects is 0")
        if server is not None:
            self._pool.want(server, now)
        if self._link.state is LinkState.UP:
            self._lost(LinkLost("left the server because a reconnect was asked for"), now)
        elif self._link.state is LinkState.WAITING:
            self._link.timers.stop(LinkTimer.DIAL)
            self._pool.retry_now(now)
            self._dial(now)

    def close(self, conversation: Conversation[object] | None, now: float) -> None:
        """End one conversation, or with ``None`` the connection.

        Closing the connection ends every conversation at once. It then waits at most
        ``close_timeout`` until the server has read what was sent, and hangs up. A second call does
        not wait.
        """
        now = self._at(now)
        if conversation is not None:
            if conversation.port.number:
                # The dispatcher has forgotten a finished conversation, but it may still have to
                # send something.
                conversation.port.up = self._exchange.up
            conversation.closed(None, now)
            if self._draining is not None:  # its reader has given up
                self._draining.pop(conversation.port.number, None)
            self._stir(conversation, now)
        elif self._link.state is LinkState.UP:
            self._close(ConnectionClosed("the connection was closed"), now)
        elif self._link.state is not LinkState.CLOSED:
            self._cut(None, now)

    # ================================================================== outputs

    def next_event(self) -> Event | None:
        """Return and remove the oldest event."""
        return self._events.popleft() if self._events else None

    def data_to_send(self) -> bytes:
        """Return and remove all bytes that must go to the transport now."""
        outbound = self._outbound
        data = outbound.take()
        if data:
            stats = self.stats
            stats.bytes_out += len(data)
            stats.messages_out = outbound.messages
        return data

    def next_deadline(self) -> float | None:
        """Return the latest time for `handle_tick`; any input may change it."""
        first = self._link.timers.next()
        second = self._exchange.next_deadline()
        if first is None or second is None:
            return first if second is None else second
        return min(first, second)

    # ================================================================== frames

    def _work_off(self, frames: list[Frame], now: float) -> None:
        """Process frames while the link is up: messages in runs of one sid, the rest one by one."""
        if _all_of_one_sid(frames):  # nearly always
            self._exchange.deliver(frames[0][SID], frames, now)
            return
        run: list[Delivery] = []
        sid = ""
        for frame in frames:
            if isinstance(frame, tuple):
                if frame[SID] == sid:
                    run.append(frame)
                    continue
                if run:
                    self._exchange.deliver(sid, run, now)
                run = [frame]
                sid = frame[SID]
            else:
                if run:
                    self._exchange.deliver(sid, run, now)
                    run = []
                    sid = ""
                self._control(frame, now)
        if run:
            self._exchange.deliver(sid, run, now)

    def _greeting(self, frames: list[Frame], now: float) -> None:
        """Process frames before the handshake is verified.

        No subscription exists yet, so a message belongs to no conversation. The server sends
        nothing between INFO and TLS, so bytes there come from an attacker in the middle.
        """
        link = self._link
        for frame in frames:
            if link.state is LinkState.UPGRADING:
                break
            if isinstance(frame, tuple):
                self._exchange.router.unknown += 1
            else:
                self._control(frame, now)
        else:
            if link.state is not LinkState.UPGRADING or not self._parser.held:
                return
        self._reason = ServerErr(
            LinkEffect.ENDS,
            RemoteProtocolError("expected nothing in clear between INFO and TLS, got more"),
        )

    def _control(self, frame: Frame, now: float) -> None:
        if isinstance(frame, Info):
            self._handle_info(frame)
        elif isinstance(frame, Err):
            self.stats.errors += 1
            self._refused(refusal(frame.text, self._secrets), now)
        elif frame is Control.PING:
            self.stats.pings_in += 1
            if self.clogged:
                self._pings += 1
            if self._pings <= MOST_PONGS:
                self._outbound.append_control(PONG)
        elif frame is Control.PONG and self._exchange.ponged(now):
            self._verified = self._link.state in {LinkState.CHECKING, LinkState.CLOSING}

    def _handle_info(self, info: Info) -> None:
        self.info = info
        self._exchange.max_payload = info.max_payload
        self._parser.max_payload = (
            min(self._options.max_payload, info.max_payload or SERVER_HEADERS) + SERVER_HEADERS
        )
        tls = self._options.tls
        if not self._options.ignore_gossip and info.connect_urls:
            change = self._pool.merge(
                info.connect_urls, secured=self._secured, asked=tls in EVERYWHERE
            )
            if change.added or change.removed:
                self._events.append(Notice(None, NoticeKind.POOL_CHANGED, change))
            if change.left_out:
                self._events.append(Notice(None, NoticeKind.POOL_TRUNCATED, change.left_out))
        if self._link.state is LinkState.GREETED:
            self._start_tls(info)
        elif self.connected:
            self._look_for_lameness(info)

    def _look_for_lameness(self, info: Info) -> None:
        if info.lame_duck and not self._pool.current.lame:
            self._pool.current.lame = True
            self._events.append(LameDuck(self.server))

    def _refused(self, said: ServerErr, now: float) -> None:
        if said.fate is LinkEffect.STAYS:
            self._events.append(Notice(None, NoticeKind.SERVER_ERROR, said.error))
            if said.full:
                self._exchange.complaints.append(said.error)
            else:
                self._exchange.refused(said.subject, said.error, now)
            return
        self._reason = said
        if self.connected:
            self._events.append(Notice(None, NoticeKind.SERVER_ERROR, said.error))

    def _after_segment(self, now: float) -> None:
        """Act on the decisions of the frames of one segment; the most serious one comes first."""
        if self._exchange.router.unknown:
            self._exchange.report_unknown()
        if self._exchange.complaints:
            self._exchange.turn_away(now)
        failure = self._parser.failure
        reason = self._reason
        if failure is not None:
            self._lost(failure, now)
        elif reason is not None and reason.fate is not LinkEffect.UNKNOWN:
            self._lost(reason.error, now)
        elif self._verified and self._link.state is LinkState.CLOSING:
            self._cut(None, now)
        elif self._verified:
            self._up(now)
        if (
            self._pool.current.lame
            and self.connected
            and self._options.move_on_lame_duck
            and self._options.max_reconnects != 0
            and self._pool.others()
        ):
            self._lost(LinkLost(f"left {self.server}, which announced its end"), now)
        self._drained(now)

    # ================================================================== handshake

    def _dial(self, now: float) -> None:
        """Dial the next server, now or when it is due."""
        entry = self._pool.next(now)
        if entry is None:
            self._cut(self._final_failure(), now)
        elif (due := self._pool.due(entry)) > now:
            self._link.timers.set(LinkTimer.DIAL, due)
        else:
            self._pool.dialled(entry, now)
            self._link.move(LinkInput.DIAL)
            self._link.timers.set(LinkTimer.ATTEMPT, now + self._options.connect_timeout)
            self._events.append(Dial(entry.server, secure=self._secure_first(entry.server)))

    def _secure_first(self, server: Server) -> bool:
        """Tell whether TLS comes before INFO; over a WebSocket that is the only time for it."""
        tls = self._options.tls
        return tls is Tls.FIRST or (server.web and (server.tls or tls is Tls.REQUIRED))

    def _start_tls(self, info: Info) -> None:
        """INFO is here: start TLS if it is wanted or required, then authenticate."""
        if self.server.web and not self._secured and info.tls_required and self._has_credentials():
            self._reason = ServerErr(
                LinkEffect.ENDS,
                TlsUnavailable(
                    f"expected wss:// for credentials, since {self.server} requires TLS:"
                    " over ws:// they would go in clear"
                ),
            )
            return
        if self._secured or self.server.web:
            self._authenticate()
            return
        tls = self._options.tls
        asked = tls is Tls.REQUIRED or self.server.tls
        offered = info.tls_required or info.tls_available
        if asked and not offered:
            self._reason = ServerErr(
                LinkEffect.ENDS, TlsUnavailable(f"expected TLS from {self.server}, it offers none")
            )
        elif asked or info.tls_required or (tls is Tls.IF_OFFERED and offered):
            self._link.move(LinkInput.TLS_NEEDED)
            self._events.append(Upgrade(self.server))
        else:
            self._authenticate()

    def _has_credentials(self) -> bool:
        options = self._options
        return options.ask_for_credentials or for_server(options.auth, self.server) != Auth()

    def _authenticate(self) -> None:
        if self._options.ask_for_credentials:
            self._link.move(LinkInput.CREDENTIALS_NEEDED)
            self._events.append(
                Authenticate(self.server, self.info.nonce if self.info is not None else "")
            )
        else:
            self._send_connect(self._options.auth)

    def _send_connect(self, auth: Auth | None) -> None:
        """Send CONNECT and a PING; its PONG proves that the server accepted the client."""
        self._link.move(LinkInput.INTRODUCED)
        options = self._options
        shown = for_server(auth, self.server)
        self._secrets = shown.secrets
        connect = Connect(
            verbose=options.verbose,
            pedantic=options.pedantic,
            echo=options.echo,
            name=options.name,
            tls_required=self._secured,
            user=shown.user,
            password=shown.password,
            auth_token=shown.token,
            jwt=shown.jwt,
            nkey=shown.nkey,
            sig=shown.sig,
        )
        self._exchange.ping(encode(connect) + PING)

    def _up(self, now: float) -> None:
        """The handshake is verified: restore subscriptions and conversations, in order, at once."""
        self._verified = False
        self._link.move(LinkInput.VERIFIED)
        self._link.timers.stop(LinkTimer.ATTEMPT)
        self._link.watch(now)
        self._pool.greeted(self._pool.current)
        self._failures.clear()
        resumed = self.stats.connects > 0
        if not resumed:
            self._pool.reset_attempts()
        self.stats.connects += 1
        info = cast("Info", self.info)
        self._events.append(Connected(info, resumed))
        self._look_for_lameness(info)
        self._exchange.restore(now)
        if self._choked and self._outbound.size <= self._options.outbound_low:
            self._choked = False
            self._events.append(Ready(None))

    # ================================================================== loss

    def _lost(self, error: JsprotoError, now: float, *, hang_up: bool = True) -> None:
        """The link, or an attempt to open it, has failed or ended."""
        state = self._link.state
        entry = self._pool.current
        reason = self._reason
        self._reason = None
        self._verified = False
        self._exchange.link_lost()
        unsent, self._unsent = self._unsent, 0
        self._pings = 0
        self._parser = self._new_parser()
        for timer in (LinkTimer.ATTEMPT, LinkTimer.PING, LinkTimer.CLOSE):
            self._link.timers.stop(timer)
        if hang_up:
            self._events.append(HangUp(str(error)))
        self._link.move(LinkInput.LOST)
        if state is LinkState.CLOSING:
            self._finish(None, unsent)
            return
        if state is LinkState.UP:
            self.stats.disconnects += 1
            self._events.append(Disconnected(error))
            if unsent:
                self._events.append(Notice(None, NoticeKind.UNSENT, unsent))
        else:
            self._failed(
                entry, error, locked_out=reason is not None and reason.fate is LinkEffect.LOCKED_OUT
            )
        self._pool.lost(entry)
        if state is LinkState.UP:
            self._exchange.tell_down(error, now)
        if self._draining is not None:
            self._cut(None, now)
        elif state is LinkState.UP and self._options.max_reconnects == 0:
            self._cut(error, now)
        else:
            self._dial(now)

    def _failed(self, entry: Entry, error: JsprotoError, *, locked_out: bool) -> None:
        """An attempt failed; mark the server as spent if this was the last attempt at it."""
        self.stats.attempts_failed += 1
        self._failures.append(error)
        self._events.append(Notice(None, NoticeKind.ATTEMPT_FAILED, error))
        again = locked_out and entry.refused == str(error)
        if locked_out:
            entry.refused = str(error)
        first = self.stats.connects == 0
        most = self._options.connect_sweeps if first else self._options.max_reconnects
        if again or (most is not None and entry.attempts >= most):
            entry.spent = True

    def _final_failure(self) -> JsprotoError:
        """Return the reason why no server was reached: one error, or all of them, each once."""
        refused = [error for error in self._failures if isinstance(error, AuthorizationFailed)]
        if refused:
            return refused[-1]
        if len(self._failures) == 1:
            return self._failures[0]
        said = "; ".join(dict.fromkeys(str(error) for error in self._failures))
        return ConnectFailed(
            f"expected one of {len(self._pool.entries)} servers to accept the client,"
            f" none did: {said}"
        )

    # ================================================================== ends

    def _close(self, error: JsprotoError, now: float) -> None:
        """End all conversations, then wait for the PONG of a last PING."""
        self._draining = None
        self._exchange.close_all(error, now)
        self._link.timers.stop(LinkTimer.DRAIN)
        self._link.timers.stop(LinkTimer.PING)
        self._link.move(LinkInput.CLOSE)
        self._link.timers.set(LinkTimer.CLOSE, now + self._options.close_timeout)
        self._exchange.ping()

    def _cut(self, error: JsprotoError | None, now: float) -> None:
        """End at once, in any state."""
        if self._link.state in ATTEMPTING:
            self._exchange.link_lost()
        if self._link.state in OPEN or self._link.state is LinkState.DIALING:
            self._events.append(HangUp("closed" if error is None else str(error)))
        self._draining = None
        self._why = error
        self._link.move(LinkInput.CUT)
        self._exchange.unplug()
        self._exchange.close_all(error or ConnectionClosed("the connection was closed"), now)
        self._finish(error, self._unsent)

    def _finish(self, error: JsprotoError | None, held: int) -> None:
        """Finish; ``held`` is the number of bytes that the transport still holds."""
        unsent = self._outbound.kept_size + held
        if unsent:
            self._events.append(Notice(None, NoticeKind.UNSENT, unsent))
        self._exchange.unplug()
        self._exchange.clear()
        self._link.timers.clear()
        if self._choked:
            self._choked = False
            self._events.append(Ready(None))
        self._events.append(Closed(error))

    def _drained(self, now: float) -> None:
        """While draining: close once every conversation has delivered its items."""
        draining = self._draining
        if draining is None:
            return
        for number, conversation in list(draining.items()):
            if conversation.readable:
                conversation.served = False
            elif conversation.finished and conversation.served:
                del draining[number]
        if not draining and self._link.state is LinkState.UP:
            self._close(ConnectionClosed("the connection was drained"), now)
        elif not draining:
            self._cut(None, now)

    # ================================================================== timers

    def _fired(self, timer: LinkTimer, now: float) -> None:
        if timer is LinkTimer.DIAL:
            self._dial(now)
        elif timer is LinkTimer.ATTEMPT:
            seconds = self._options.connect_timeout
            self._lost(
                ConnectFailed(
                    f"expected {self.server} to answer within {seconds} s,"
                    f" stuck at {self.state.name}"
                ),
                now,
            )
        elif timer is LinkTimer.PING:
            self._keep_alive(now)
        elif timer is LinkTimer.DRAIN:
            self._events.append(Notice(None, NoticeKind.DRAIN_TIMEOUT, self._options.drain_timeout))
            self._draining = None
            self.close(None, now)
        else:
            self._cut(None, now)

    def _keep_alive(self, now: float) -> None:
        quiet = self._link.quiet(now)
        if quiet is None:
            silent = now - self._link.last_input
            self._lost(
                StaleConnection(f"expected input from {self.server}, none came for {silent:.3g} s"),
                now,
            )
        elif quiet:
            self.stats.pings_out += 1
            self._exchange.ping()

    # ================================================================== helpers

    def _taken(self, conversation: Conversation[object], now: float) -> None:
        """Flush after a take that queued commands, or if the conversation is still known."""
        port = conversation.port
        if port.commands or port.notices or port.number in self._exchange.router.conversations:
            self._exchange.flush_conversation(conversation, now)
        self._drained(now)

    def _stir(self, conversation: Conversation[object], now: float) -> None:
        self._exchange.flush_conversation(conversation, now)
        self._drained(now)

    def _too_late(self) -> ConversationClosed:
        """Return the error of every verb after the end."""
        return ConversationClosed("expected an open connection, this one is closed", self._why)

    def _at(self, now: float) -> float:
        """Return the time, which never runs backwards: an earlier one becomes the last one."""
        if now < self._now:
            return self._now
        self._now = now
        return now

    def _new_parser(self) -> Parser:
        options = self._options
        return Parser(max_payload=options.max_payload, max_control_line=options.max_control_line)

    def _write(self, data: bytes) -> None:
        """Write while the link is not up: a closing link sends it, else the next link does."""
        state = self._link.state
        if state is LinkState.CLOSING:
            self._outbound.append(data)
        elif state is LinkState.CLOSED:
            raise self._too_late()
        elif self._outbound.kept_size + len(data) > self._options.max_backlog:
            raise OutboundFull(
                f"expected at most {self._options.max_backlog} bytes kept while no link is up"
            )
        else:
            self._outbound.keep(data)


def _all_of_one_sid(frames: list[Frame]) -> TypeGuard[list[Delivery]]:
    """Tell whether these are messages for one sid, without a Python statement for each."""
    if len(frames) == 1:
        return isinstance(frames[0], tuple)
    try:
        return len(set(map(_SID_OF, cast("list[Delivery]", frames)))) == 1
    except TypeError:  # a frame that is no message has no sid
        return False
