"""A conversation is one exchange with the server: a pure machine with one port.

Theory. A conversation never sees the connection. The connection tells it *facts* in the past tense
(`opened`, `delivered`, `replied`, `fenced`, `ticked`, `link_down`, `link_up`, `refused`, `told`,
`closed`). The conversation answers by commands on its `Port`. After each fact the connection drains
the port, reads `deadline`, and wakes the waiters that can continue. A conversation also works
alone: give it a bare port, call the facts, read ``port.commands`` and `take` the items. Tests do
that, and so does a host client that embeds a single machine.

The port:

- It has one ``number`` for its whole life. It gets a new ``sid`` and ``generation`` each time it
  subscribes again. Messages are matched by sid, statuses by token, and both by generation. The
  server keeps a pull of a lost link and serves it when a client subscribes to the same inbox again.
  Therefore an inbox is never used on a second link.
- Inboxes are ``<inbox root>.<number>.<generation>.*``. A reply subject below it identifies one pull
  (`token`).
- Answers to calls arrive through the connection's mux on ``<mux root>.<number>.<n>``. The address
  itself identifies the call.
- While the link is down (``up`` is false), `publish`, `call` and `fence` raise an error.
  `subscribe` works at any time; the connection sends the SUB when a link is up.

There are two ends. ``ended`` is for the user: after the available items `take` returns ENDED (or
raises ``error``). ``finished`` is for the connection: no message can come or go, and it may forget
the port. They differ while an ended fetch waits for the PONG after which no late message can
arrive.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import ClassVar, Generic, TypeAlias, TypeVar, cast, final

from attrs import frozen

from jsproto.core.conversation.denied import Denied
from jsproto.core.conversation.inbox_pool import Inbox, InboxPool
from jsproto.core.state import ERROR, PART, PLAIN, Codecs, Snapshottable
from jsproto.errors.tree import ConversationClosed, JsprotoError, LocalProtocolError
from jsproto.signals import ENDED, NEED_DATA, Ended, NeedData
from jsproto.wire.commands import Ping, Publish, Sub, Unsub
from jsproto.wire.encoder import encode_sub
from jsproto.wire.frames import Delivery
from jsproto.wire.headers import Headers

T_co = TypeVar("T_co", covariant=True)


@final
@frozen
class Call:
    """A request; `Conversation.replied` gets the answer, with the token from `Port.call`.

    Attributes:
        timeout: seconds that a procedure waits for the answer; the port itself measures no time.
    """

    subject: str
    payload: bytes | str = b""
    headers: Headers | None = None
    timeout: float = 5.0


class StopMode(Enum):
    """The ways in which a user stops a conversation without closing it."""

    #: Request nothing new; deliver the items that are there, then end.
    DRAIN = "DRAIN"
    #: Request nothing new, and end as soon as the server has settled the open requests.
    STOP = "STOP"


class Stage(Enum):
    """The progress of a conversation, for a task that waits for its begin or its end."""

    #: It must first find or create something on the server.
    BEGINNING = "BEGINNING"
    #: It does its work.
    GOING = "GOING"
    #: It has ended for the user.
    ENDED = "ENDED"


PortCommand: TypeAlias = Sub | Unsub | Publish | Ping


class Sids:
    """The counter of subscription ids; a connection never uses a sid twice (sid 1 is the mux)."""

    __slots__ = ("last",)

    def __init__(self, last: int = 1) -> None:
        self.last = last

    def take(self) -> str:
        """Return the next id."""
        self.last += 1
        return str(self.last)


#: Writes a publish for the port with this number, with a reply subject below the port's own inbox.
#: It raises `LocalProtocolError` if the publish cannot be sent.
Post: TypeAlias = Callable[[int, str, bytes | str, str, Headers | None], object]


class Port(Snapshottable):
    """The outlet of a conversation: it collects the commands for the connection.

    A bare ``Port()`` is enough for tests and for embedding one machine in another client: it is up
    and has simple roots and sids.

    Attributes:
        number: identifies the port for its whole life.
        sid: the subscription id of the current generation, ``""`` before the first `subscribe`.
        subject: the subscribed subject, ``""`` if there is none; ``inbox`` is true if it is the
            port's own inbox.
        stem: the beginning of the tokens of the newest inbox, up to the last dot.
        limit: the server-side limit of the subscription (UNSUB max), 0 for none.
        received: messages of the current subscription, counted by the connection; ``before`` of
            them arrived on earlier links, whose messages the server of this link does not count.
        asked: the subject of the request whose one answer is expected, see `subscribe_for_one`;
            ``""`` for any other subscription.
        clean: the inbox whose one answer has arrived; the connection keeps it for reuse.
        lost: messages that were dropped; the connection counts and resets it.
        up: whether the link is up. The connection sets it before it tells the conversation.
        denied: subjects of refused publishes, of the whole connection.
        commands: commands to send, in order; the connection drains it.
        notices: ``(kind, detail)`` for the event stream; the connection drains it.
    """

    __slots__ = (
        "_count",
        "_inbox_root",
        "_mux_root",
        "_post",
        "_sids",
        "_spares",
        "asked",
        "before",
        "clean",
        "commands",
        "denied",
        "fences",
        "generation",
        "inbox",
        "limit",
        "lost",
        "notices",
        "number",
        "queue",
        "received",
        "sid",
        "stem",
        "subject",
        "up",
    )

    STATE: ClassVar[Codecs] = {
        "_count": PLAIN,
        "asked": PLAIN,
        "before": PLAIN,
        "clean": PLAIN,
        "fences": PLAIN,
        "generation": PLAIN,
        "inbox": PLAIN,
        "limit": PLAIN,
        "number": PLAIN,
        "queue": PLAIN,
        "received": PLAIN,
        "sid": PLAIN,
        "stem": PLAIN,
        "subject": PLAIN,
        "up": PLAIN,
    }

    def __init__(
        self,
        number: int = 1,
        *,
        sids: Sids | None = None,
        spares: InboxPool | None = None,
        denied: Denied | None = None,
        post: Post | None = None,
        inbox_root: str = "_INBOX.P",
        mux_root: str = "_INBOX.R",
        up: bool = True,
    ) -> None:
        self.number = number
        self.up = up
        self.sid = ""
        self.stem = ""
        self.subject = ""
        self.queue = ""
        self.inbox = False
        self.limit = 0
        self.received = 0
        self.before = 0
        self.lost = 0
        self.generation = 0
        self.commands: list[PortCommand] = []
        self.notices: list[tuple[Enum, object]] = []
        self.fences: deque[int] = deque()
        self.asked = ""
        self.clean: Inbox | None = None
        self._sids = sids or Sids(number)
        self._spares = spares
        self.denied = Denied() if denied is None else denied
        self._post = post
        self._inbox_root = inbox_root
        self._mux_root = mux_root
        self._count = 0

    def __repr__(self) -> str:
        of = f" for {self.subject!r}" if self.subject else ""
        return f"<Port {self.number}{of}: {'up' if self.up else 'down'}>"

    # ------------------------------------------------------------------ subscriptions

    @property
    def answers(self) -> str:
        """The subject that receives the answers to the calls of all ports of the connection.

        If the server refuses a subscription to it, no answer will arrive.
        """
        return f"{self._mux_root}.*.*"

    def subscribe(self, subject: str | None = None, queue: str = "") -> None:
        """Subscribe to ``subject``, or to a new inbox of this port; replaces the subscription.

        Raises:
            InvalidSubject: the subject or queue cannot stand in a SUB; nothing changed.
        """
        if subject is not None:
            encode_sub(
                subject, "0", queue
            )  # raise now, also without a link: later no caller could catch it
        if self.sid and self.subject:
            self.unsubscribe()
        self.generation += 1
        self.asked = ""
        self.sid = self._sids.take()
        self.received = self.before = 0
        self.limit = 0
        self.inbox = subject is None
        self.queue = queue
        if subject is None:
            self.stem = f"{self._inbox_root}.{self.number}.{self.generation}."
            subject = f"{self.stem}*"
        self.subject = subject
        self.commands.append(Sub(self.subject, self.sid, queue))

    def subscribe_for_one(self, asked: str) -> None:
        """Subscribe for one answer to a request on the subject ``asked``.

        The inbox may be one that `answered` left for reuse; then no SUB is sent. A port outside of
        a connection creates an inbox whose subscription ends after one message.
        """
        spares = self._spares
        spare = None if spares is None else spares.take(asked)
        if spare is not None:
            self.generation += 1
            self.received = self.before = self.limit = 0
            self.inbox = True
            self.queue = ""
            self.sid, self.stem, self._count = spare
            self.subject = f"{self.stem}*"
        else:
            self.subscribe()
            if spares is None:
                self.unsubscribe(after=1)
        self.asked = "" if spares is None else asked

    def answered(self) -> None:
        """Note that the one answer has arrived; no other can follow, so the inbox is reusable."""
        if self.asked and self.subject:
            self.clean = (self.sid, self.stem, self._count)
            self.subject = ""

    def unsubscribe(self, after: int = 0) -> None:
        """Unsubscribe now, or (``after`` > 0) after that many messages of the subscription."""
        if not self.subject:
            return
        if after > self.received:
            self.limit = after
        else:
            self.subject = ""
            if 0 < self.limit <= self.received:
                return  # the server has ended the subscription by itself
        self.commands.append(Unsub(self.sid, after - self.before if self.subject else 0))

    def renew(self) -> None:
        """Subscribe again on a new link; the connection calls it before `Conversation.link_up`.

        An inbox gets a new generation. The server may still hold pulls of the old link and would
        deliver their messages to the old inbox. A subject keeps its sid and the rest of its limit.
        """
        if not self.subject:
            return
        if self.inbox:
            self.subject = ""
            self.subscribe()
        elif 0 < self.limit <= self.received:
            self.subject = ""
        else:
            self.before = self.received
            self.commands.append(Sub(self.subject, self.sid, self.queue))
            if self.limit:
                self.commands.append(Unsub(self.sid, self.limit - self.received))

    def token(self) -> str:
        """Return a new reply subject below the current inbox."""
        if not (self.inbox and self.subject):
            raise LocalProtocolError("expected a subscribed inbox before a token is asked for")
        self._count += 1
        return f"{self.stem}{self._count}"

    def address(self) -> str:
        """Return a new subject below the port's root, for a subscription that outlives the link.

        The server keeps such a subject in the configuration of a consumer. So it must stay the same
        when `renew` subscribes to it again.
        """
        self._count += 1
        return f"{self._inbox_root}.{self.number}.{self.generation + 1}.{self._count}"

    # ------------------------------------------------------------------ sending

    def publish(self, publish: Publish) -> None:
        """Send a message.

        Raises:
            LocalProtocolError: the link is down; wait for `Conversation.link_up`.
        """
        if not self.up:
            raise _down("publish")
        self.commands.append(publish)

    def ask(self, subject: str, payload: bytes | str, headers: Headers | None = None) -> str:
        """Send a message with a new reply subject below the current inbox, and return that subject.

        It does the same as `token` and `publish`. If no command waits before it, the message is
        encoded at once and never becomes a command.

        Raises:
            LocalProtocolError: the link is down, or there is no inbox.
        """
        if self._post is None or self.commands or not (self.up and self.inbox and self.subject):
            token = self.token()
            self.publish(Publish(subject, payload, token, headers))
            return token
        self._count += 1
        token = f"{self.stem}{self._count}"
        try:
            self._post(self.number, subject, payload, token, headers)
        except LocalProtocolError:
            # The command is refused when the connection sends it.
            self.commands.append(Publish(subject, payload, token, headers))
        return token

    def call(self, call: Call) -> int:
        """Send a request; `Conversation.replied` gets its answer, with the token returned here."""
        if not self.up:
            raise _down("call")
        self._count += 1
        reply = f"{self._mux_root}.{self.number}.{self._count}"
        self.commands.append(Publish(call.subject, call.payload, reply, call.headers))
        return self._count

    def fence(self) -> int:
        """Send a PING; `Conversation.fenced` gets its PONG, with the token returned here.

        Everything that the server had routed to this connection before the PING has arrived by
        then. Messages of a JetStream consumer that are still on their way inside the server may
        arrive later.
        """
        if not self.up:
            raise _down("fence")
        self._count += 1
        self.fences.append(self._count)
        self.commands.append(Ping())
        return self._count

    def notify(self, kind: Enum, detail: object = None) -> None:
        """Report something to the user; it becomes a `Notice` event."""
        self.notices.append((kind, detail))


def _down(verb: str) -> LocalProtocolError:
    return LocalProtocolError(f"expected a link that is up before {verb}, it is down")


class Conversation(Snapshottable, Generic[T_co]):
    """Base of all conversations; ``T`` is the type of the items that `take` returns.

    Attributes:
        port: set when the conversation is opened.
        context: a slot for the adapter, never read here.
        ended: no further item will come; the available ones can still be taken.
        error: the error that ended it, if any.
        take_blocked: the last `take` returned NEED_DATA, and the connection has woken no task
            since.
        put_blocked: the last put returned False, and the connection has woken no task since.
        served: the end was delivered to the reader, or the reader has everything. A draining
            connection waits for this if items remain.
        watched: the stage at which a task began to wait for the next one, else ``None``.
    """

    __slots__ = (
        "context",
        "ended",
        "error",
        "port",
        "put_blocked",
        "served",
        "take_blocked",
        "watched",
    )

    #: Whether `link_up` comes only after the publishes that were kept while there was no link.
    AFTER_BACKLOG: ClassVar[bool] = False
    #: Whether the server gives up on it after some seconds of silence. A client that reads only
    #: during calls must then read in the background too.
    ATTENDED: ClassVar[bool] = False

    STATE: ClassVar[Codecs] = {
        "ended": PLAIN,
        "error": ERROR,
        "take_blocked": PLAIN,
        "put_blocked": PLAIN,
        "served": PLAIN,
        "port": PART,
    }

    def __init__(self) -> None:
        self.port: Port = UNOPENED
        self.context: object = None
        self.ended = False
        self.error: JsprotoError | None = None
        self.take_blocked = False
        self.put_blocked = False
        self.served = True
        self.watched: Stage | None = None

    # ------------------------------------------------------------------ facts, from the connection
    # only

    def opened(self, now: float) -> None:
        """The port is set; ``port.up`` tells whether the link is up."""

    def delivered(self, run: Sequence[Delivery], now: float) -> None:
        """Messages of one sid arrived, in order.

        They may belong to an earlier generation until the PONG after its UNSUB.
        """

    def replied(self, token: int, frame: Delivery, now: float) -> None:
        """The answer to the call with this token arrived."""

    def fenced(self, token: int, now: float) -> None:
        """The PONG for the fence with this token arrived."""

    def ticked(self, now: float) -> None:
        """The deadline may have passed; early and superfluous ticks are harmless."""

    def link_down(self, error: JsprotoError, now: float) -> None:
        """The link is lost; open fences and calls will never be answered."""

    def link_up(self, now: float) -> None:
        """A link is up and the subscription is restored; an inbox has a new generation by now."""

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """The server refused a publish or subscription on ``subject``.

        It may be one of this conversation.
        """

    def told(self, wish: StopMode, now: float) -> None:
        """The user stops the conversation in this mode."""
        self.closed(None, now)

    def limited(self, count: int, now: float) -> None:
        """The user sets the total number of messages.

        Raises:
            LocalProtocolError: this conversation has no such limit, or not this one; nothing
                changed.
        """
        raise LocalProtocolError(f"{type(self).__name__} takes no limit of messages while it runs")

    def closed(self, error: JsprotoError | None, now: float) -> None:
        """The user closes the conversation, or (with an error) the connection is closed.

        It may be called more than once.
        """
        if not self.ended:
            self.end(error)

    # ------------------------------------------------------------------ the user's side

    def take(self, now: float) -> T_co | NeedData | Ended:
        """Return the next item; raises the conversation's error after the last available item."""
        return self.nothing()

    def take_all(self, now: float) -> list[T_co] | NeedData | Ended:
        """Return all available items in one list, or a signal as `take` does."""
        item = self.take(now)
        if item is NEED_DATA or item is ENDED:
            return item
        items = [item]
        items.extend(cast("T_co", self.take(now)) for _ in range(self.readable))
        return items

    def offered(self, item: object, now: float) -> bool:
        """Accept an item from the user; ``False`` means full, and the item was not accepted."""
        raise LocalProtocolError(f"{type(self).__name__} takes no items")

    # ------------------------------------------------------------------ properties

    @property
    def readable(self) -> int:
        """How many items `take` can return now."""
        return 0

    @property
    def room(self) -> bool:
        """Whether an offered item would be accepted."""
        return False

    @property
    def stage(self) -> Stage:
        """The current stage."""
        return Stage.ENDED if self.ended else Stage.GOING

    @property
    def deadline(self) -> float | None:
        """When `ticked` can change something."""
        return None

    @property
    def finished(self) -> bool:
        """Whether the connection may forget the port, because no message can come or go."""
        return self.ended

    def __repr__(self) -> str:
        if self.error is not None:
            state = f"ended by {type(self.error).__name__}"
        elif self.ended:
            state = "ended"
        else:
            state = "not opened" if self.port is UNOPENED else "open"
        at_hand = self.readable
        return f"<{type(self).__name__}: {state}{f', {at_hand} at hand' if at_hand else ''}>"

    # ------------------------------------------------------------------ snapshot

    def restore(self, data: Mapping[str, object]) -> None:
        """Restore a snapshot; an unopened conversation first gets a port of its own."""
        if self.port is UNOPENED:
            self.port = Port(0, up=False)
        super().restore(data)

    # ------------------------------------------------------------------ for subclasses

    def nothing(self) -> NeedData | Ended:
        """Return the signal of `take` when no item is available, or raise the error."""
        if not self.ended:
            self.take_blocked = True
            return NEED_DATA
        self.served = True
        if self.error is not None:
            raise self.error
        return ENDED

    def too_late(self, expected: str, reason: JsprotoError | None = None) -> JsprotoError:
        """Return the error for a user who offers or asks for something after the end.

        Args:
            expected: the text of the error: what was expected, and the current state.
            reason: the reason of the end, if it was not an error.

        Returns:
            the error that ended the conversation, else `ConversationClosed` with the reason.
        """
        return self.error or ConversationClosed(expected, reason)

    def end(self, error: JsprotoError | None = None) -> None:
        """End for the user and unsubscribe."""
        self.ended = True
        self.error = error
        self.port.unsubscribe()


#: The port of an unopened conversation: it is down and has no number.
UNOPENED = Port(0, up=False)
