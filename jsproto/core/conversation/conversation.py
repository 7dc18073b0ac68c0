"""A conversation is one exchange with the server: a pure machine with one port.

Theory. A conversation never sees the connection and never calls anybody. It is told *facts* in the
past tense (`opened`, `delivered`, `replied`, `fenced`, `ticked`, `link_down`, `link_up`, `refused`,
`told`, `closed`), and it states *wishes* by putting commands on its `Port`. After each fact the
connection drains the port, reads `deadline`, and wakes whoever was told to wait. The same
conversation works alone: give it a bare port, tell it facts, look at ``port.commands`` and `take`
the items. That is how the tests do it and how others embed a single machine.

The port.

- It has a ``number`` for its whole life, and a fresh ``sid`` and ``generation`` each time it asks
  anew: *data by sid, statuses by token, everything by generation*. The server keeps a pull of a
  lost link alive and serves it as soon as somebody has interest in the same inbox again, so an
  inbox is never used twice.
- Inboxes are ``<inbox root>.<number>.<generation>.*``; a reply subject below it names one pull
  (`token`).
- Answers to calls come through the connection's mux on ``<mux root>.<number>.<n>``: the address is
  the route.
- While the link is down (``up`` is false) nothing can be sent: `publish`, `call` and `fence`
  refuse. Interest can be stated at any time; the connection restores it when a link is up.

Two ends. ``ended`` is the user's: after the items at hand `take` says ENDED (or raises ``error``).
``finished`` is the connection's: nothing more will come or go, the port can be forgotten. They
differ while an ended fetch waits for the fence behind which no late message can come.
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
    """A request whose answer comes back as `Conversation.replied` with the token that `Port.call`
    gave.

    Attributes:
        timeout: seconds that a procedure waits for the answer; the port itself keeps no time.
    """

    subject: str
    payload: bytes | str = b""
    headers: Headers | None = None
    timeout: float = 5.0


class StopMode(Enum):
    """What the user can tell a conversation beside taking, putting and closing."""

    #: Ask for nothing new; hand out what is there, then end.
    DRAIN = "DRAIN"
    #: Ask for nothing new and end as soon as what was asked for has been settled by the server.
    STOP = "STOP"


class Stage(Enum):
    """How far a conversation is, for whoever waits for it to begin or to end; it only ever goes on."""

    #: It has to find or make something on the server first.
    BEGINNING = "BEGINNING"
    #: It does what it was opened for.
    GOING = "GOING"
    #: It has ended for the user.
    ENDED = "ENDED"


PortCommand: TypeAlias = Sub | Unsub | Publish | Ping


class Sids:
    """The one counter of subscription ids. A sid is never used twice in the life of a connection
    (sid 1 is the mux).
    """

    __slots__ = ("last",)

    def __init__(self, last: int = 1) -> None:
        self.last = last

    def take(self) -> str:
        """The next id."""
        self.last += 1
        return str(self.last)


#: Writes a publish of the port of this number, with a reply below its own inbox; raises
#: `LocalProtocolError` if it can't be sent.
Post: TypeAlias = Callable[[int, str, bytes | str, str, Headers | None], object]


class Port(Snapshottable):
    """Where a conversation states its wishes.

    A bare ``Port()`` is good for tests and for embedding one machine in a foreign connection: it is
    up, and its roots and sids are plain.

    Attributes:
        number: names the port for its whole life.
        sid: the subscription id of the present generation, ``""`` before the first `subscribe`.
        subject: what is subscribed to, ``""`` if nothing is; ``inbox`` tells whether it is the
            port's own inbox.
        stem: what the tokens of the newest inbox begin with, up to the last dot.
        limit: the server-side limit of the subscription (UNSUB max), 0 for none.
        received: messages that came for the present subscription, counted by the connection;
            ``before`` of them on links that are gone, which the server of this one does not count.
        asked: what the one answer was asked for with, see `subscribe_for_one`; ``""`` for any other
            interest.
        clean: the inbox whose one answer has come, for the connection to keep.
        lost: messages that found no place here; counted and reset by the connection.
        up: whether the link is up. Set by the connection, before it tells the conversation.
        denied: subjects of refused publishes, of the whole connection.
        commands: what is to be sent, in order; drained by the connection.
        notices: ``(kind, detail)`` for the event stream; drained by the connection.
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

    # ------------------------------------------------------------------ interest

    @property
    def answers(self) -> str:
        """What the connection subscribes to for the answers to calls, those of all ports: if that
        is refused, none will come.
        """
        return f"{self._mux_root}.*.*"

    def subscribe(self, subject: str | None = None, queue: str = "") -> None:
        """State interest in ``subject``, or in a fresh inbox of this port. Replaces the interest
        stated before.

        Raises:
            InvalidSubject: the subject or queue can't stand in a SUB; nothing changed.
        """
        if subject is not None:
            encode_sub(subject, "0", queue)  # link or no link: later nobody is there to be told
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
        """State interest in one answer to a request on the subject ``asked``, in an inbox that is
        clean.

        The inbox may be one that was left by `answered`, then there is no SUB. A port without a
        connection to keep inboxes makes one that ends by itself.
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
        """The one answer has come, and nothing else can: the inbox is clean."""
        if self.asked and self.subject:
            self.clean = (self.sid, self.stem, self._count)
            self.subject = ""

    def unsubscribe(self, after: int = 0) -> None:
        """End the interest now, or (``after`` > 0) when that many messages have come since it
        began.
        """
        if not self.subject:
            return
        if after > self.received:
            self.limit = after
        else:
            self.subject = ""
            if 0 < self.limit <= self.received:
                return  # the server has ended it by itself
        self.commands.append(Unsub(self.sid, after - self.before if self.subject else 0))

    def renew(self) -> None:
        """State the same interest again, on a new link. Called by the connection, before
        `Conversation.link_up`.

        An inbox gets a new generation, because the server may still hold pulls of the old link,
        which would be served to the old inbox; a subject keeps its sid and what is left of its
        limit.
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
        """A reply subject below the present inbox, never given before."""
        if not (self.inbox and self.subject):
            raise LocalProtocolError("expected a subscribed inbox before a token is asked for")
        self._count += 1
        return f"{self.stem}{self._count}"

    def address(self) -> str:
        """A subject below the port's root, never given before: for `subscribe`, where interest must
        outlive the link.

        The server keeps such a subject in a consumer's configuration, so it must stay the same when
        `renew` states it again.
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
        """Send a message with a reply subject of its own below the present inbox, and give that: as
        `token` and `publish`.

        If no command waits before it, it is written at once and never becomes a command.

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
            self.commands.append(
                Publish(subject, payload, token, headers)
            )  # which is refused in its turn
        return token

    def call(self, call: Call) -> int:
        """Send a request; its answer comes as `Conversation.replied` with the token given here."""
        if not self.up:
            raise _down("call")
        self._count += 1
        reply = f"{self._mux_root}.{self.number}.{self._count}"
        self.commands.append(Publish(call.subject, call.payload, reply, call.headers))
        return self._count

    def fence(self) -> int:
        """Send a PING; its PONG comes as `Conversation.fenced` with the token given here.

        Everything that the server had routed to this connection before the PING has come by then.
        That is no promise about deliveries of a JetStream consumer that are still on their way
        inside the server.
        """
        if not self.up:
            raise _down("fence")
        self._count += 1
        self.fences.append(self._count)
        self.commands.append(Ping())
        return self._count

    def notify(self, kind: Enum, detail: object = None) -> None:
        """State something that the user may want to know; it becomes a `Notice` event."""
        self.notices.append((kind, detail))


def _down(verb: str) -> LocalProtocolError:
    return LocalProtocolError(f"expected a link that is up before {verb}, it is down")


class Conversation(Snapshottable, Generic[T_co]):
    """Base of all conversations; ``T`` is what `take` hands out.

    Attributes:
        port: set when the conversation is opened.
        context: a slot for the adapter, never read here.
        ended: no further item will come; what is at hand can still be taken.
        error: why it ended, if not well.
        take_blocked: the last `take` returned NEED_DATA, and the connection has woken no task
            since.
        put_blocked: the last put returned False, and the connection has woken no task since.
        served: nobody is owed the word that it has ended; a draining connection waits for it where
            items were left.
        watched: the stage at which somebody began to wait for the next one, ``None`` if nobody
            does.
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

    #: Told of a new link only after the publishes that were kept while there was none.
    AFTER_BACKLOG: ClassVar[bool] = False
    #: The server gives up on it after seconds: a client that reads only when it is called needs
    #: help while the caller is away.
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

    # ------------------------------------------------------------------ facts, told by the connection only

    def opened(self, now: float) -> None:
        """The port is there. Whether the link is up is in ``port.up``."""

    def delivered(self, run: Sequence[Delivery], now: float) -> None:
        """Messages of one sid, in order; of an earlier generation too while its end is not fenced
        yet.
        """

    def replied(self, token: int, frame: Delivery, now: float) -> None:
        """The answer to the call with this token."""

    def fenced(self, token: int, now: float) -> None:
        """The PONG behind the fence with this token."""

    def ticked(self, now: float) -> None:
        """The deadline shown may have come; early and spurious ticks are harmless."""

    def link_down(self, error: JsprotoError, now: float) -> None:
        """The link is lost. Fences and calls that were open will never be answered."""

    def link_up(self, now: float) -> None:
        """A link is up and the interest is restored: an inbox has a new generation by now."""

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """The server refused a publish or subscription on ``subject`` that may be of this
        conversation.
        """

    def told(self, wish: StopMode, now: float) -> None:
        """The user wishes something."""
        self.closed(None, now)

    def limited(self, count: int, now: float) -> None:
        """The user wants so many messages in all.

        Raises:
            LocalProtocolError: nothing of the kind can be limited here, or not like this; nothing
                changed.
        """
        raise LocalProtocolError(f"{type(self).__name__} takes no limit of messages while it runs")

    def closed(self, error: JsprotoError | None, now: float) -> None:
        """The user ends the conversation, or (with an error) the connection is closed. May come
        more than once.
        """
        if not self.ended:
            self.end(error)

    # ------------------------------------------------------------------ the user's side

    def take(self, now: float) -> T_co | NeedData | Ended:
        """The next item. Raises the conversation's error once what was at hand has been taken."""
        return self.nothing()

    def take_all(self, now: float) -> list[T_co] | NeedData | Ended:
        """Everything at hand in one list, else as `take`."""
        item = self.take(now)
        if item is NEED_DATA or item is ENDED:
            return item
        items = [item]
        items.extend(cast("T_co", self.take(now)) for _ in range(self.readable))
        return items

    def offered(self, item: object, now: float) -> bool:
        """Take an item from the user; ``False`` means full, the item was not taken."""
        raise LocalProtocolError(f"{type(self).__name__} takes no items")

    # ------------------------------------------------------------------ what it shows

    @property
    def readable(self) -> int:
        """How many items `take` has at hand."""
        return 0

    @property
    def room(self) -> bool:
        """Whether an offered item would be taken."""
        return False

    @property
    def stage(self) -> Stage:
        """How far it is."""
        return Stage.ENDED if self.ended else Stage.GOING

    @property
    def deadline(self) -> float | None:
        """When `ticked` can change something."""
        return None

    @property
    def finished(self) -> bool:
        """Nothing more will come or go: the connection may forget the port."""
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
        """Put back what `snapshot` gave; one that was not opened gets a port of its own for that."""
        if self.port is UNOPENED:
            self.port = Port(0, up=False)
        super().restore(data)

    # ------------------------------------------------------------------ for subclasses

    def nothing(self) -> NeedData | Ended:
        """What `take` answers when nothing is at hand."""
        if not self.ended:
            self.take_blocked = True
            return NEED_DATA
        self.served = True
        if self.error is not None:
            raise self.error
        return ENDED

    def too_late(self, expected: str, reason: JsprotoError | None = None) -> JsprotoError:
        """What to raise at a user who offers or wants something that this one takes or gives no
        more.

        Args:
            expected: what there should have been, and what there is.
            reason: why it is over although it did not fail.

        Returns:
            the error that ended it, else `ConversationClosed`, which carries the reason.
        """
        return self.error or ConversationClosed(expected, reason)

    def end(self, error: JsprotoError | None = None) -> None:
        """End for the user and give up the interest."""
        self.ended = True
        self.error = error
        self.port.unsubscribe()


#: The port of a conversation that was not opened yet: it is down and has no number.
UNOPENED = Port(0, up=False)
