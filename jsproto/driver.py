"""What every adapter shares and no adapter should write twice: who waits for what, and what is to
be done now.

Theory. An adapter can do three things: move bytes, wait, and read a clock. The connection says what
happened in one stream of events. Between the two stands the driver, still pure, which sorts the
events (`collect`) into

- ``orders`` for the transport: dial, upgrade, authenticate, hang up, to be obeyed in order;
- ``woken``: the waiters that may look again, in order;
- what people want to hear of, for each `Listener`: connected, disconnected, lame duck, notices,
  closed.

A waiter is an opaque token of the adapter: a future, an event, a flag. It waits in one of three
places: at the `WaitSlot` of a conversation (one taker and one putter, a second is
`BusyConversation`), at a `Listener`, or at the connection as a whole (``wait``: for room in the
outbound buffer, for the first link, for the end). Being woken means "look again", nothing more, so
a wake-up too many is harmless and a waiter that was given up in the meantime can be skipped.

A waiter keeps its place until it leaves: the place is what tells a second one that somebody is
there already.

The uncoloured verbs `take`, `take_all` and `put` are those of the connection with that one check
before them.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol, TypeAlias, TypeVar, final

from jsproto.core.connection.connection import Connection
from jsproto.core.connection.events import (
    Authenticate,
    Closed,
    Connected,
    Dial,
    Disconnected,
    HangUp,
    LameDuck,
    Notice,
    Ready,
    Upgrade,
)
from jsproto.core.conversation.conversation import Conversation, Stage
from jsproto.errors.tree import (
    BusyConversation,
    ConnectionClosed,
    ConversationClosed,
    InvalidConfig,
    JsprotoError,
    shorten,
)
from jsproto.signals import ENDED, NEED_DATA, Ended, NeedData

T = TypeVar("T")

#: A token of the adapter; nothing is asked of it but that it can be a key.
Waiter: TypeAlias = object

#: What the transport has to do.
Order: TypeAlias = Dial | Upgrade | Authenticate | HangUp
#: What people want to hear of.
Told: TypeAlias = Connected | Disconnected | LameDuck | Notice | Closed

#: For inputs that do nothing with the time: an earlier moment counts as the last one that the
#: connection knows.
ANY_TIME: Final = float("-inf")
#: A listener that does not listen keeps so many events; older ones are dropped and counted.
MAX_UNHEARD: Final = 1024


@final
class WaitSlot:
    """Where one taker and one putter of a conversation wait; it lies in ``conversation.context``.

    Attributes:
        client: the adapter's client that opened the conversation; a message finds its way to it
            through here.
        taker: who waits for an item.
        putter: who waits for room.
        watchers: who waits for the next `Stage`; there may be any number.
    """

    __slots__ = ("client", "putter", "taker", "watchers")

    def __init__(self, client: object) -> None:
        self.client = client
        self.taker: Waiter | None = None
        self.putter: Waiter | None = None
        self.watchers: tuple[Waiter, ...] = ()


class EventObserver(Protocol):
    """Who is told what happens, at once and within the input that made it happen."""

    @property
    def waiter(self) -> Waiter | None:
        """Who is to be woken for it."""
        ...

    def hear(self, told: Told) -> None:
        """It has happened."""
        ...


@final
class Listener:
    """One reader of the lifecycle: everything told since it was made, in order, each event once.

    Attributes:
        waiter: who waits for the next event.
        missed: events dropped because nobody took them.
    """

    __slots__ = ("_told", "ended", "missed", "waiter")

    def __init__(self) -> None:
        self._told: deque[Told] = deque()
        self.ended = False
        self.missed = 0
        self.waiter: Waiter | None = None

    def hear(self, told: Told) -> None:
        """Keep an event for `take`; `Closed` is the last."""
        if len(self._told) >= MAX_UNHEARD:
            self._told.popleft()
            self.missed += 1
        self._told.append(told)
        self.ended = self.ended or isinstance(told, Closed)

    def take(self) -> Told | NeedData | Ended:
        """The next event.

        Raises:
            BusyConversation: somebody waits for it already.
        """
        if self.waiter is not None:
            raise BusyConversation(
                "expected one reader of these events at a time, another one waits already"
            )
        if self._told:
            return self._told.popleft()
        return ENDED if self.ended else NEED_DATA


@final
class Driver:
    """A connection, and the bookkeeping around it.

    Args:
        connection: to be driven; nobody else drains its events.
        client: whatever the adapter wants to find at ``conversation.context.client``.

    Attributes:
        orders: what the transport has to do, oldest first; the adapter empties it.
        woken: who may look again, oldest first; the adapter empties it.
        greeted: a link was up at least once.
        closed: the connection is over; ``error`` says why, if not well.
    """

    __slots__ = (
        "_listeners",
        "_waiting",
        "client",
        "closed",
        "connection",
        "error",
        "greeted",
        "orders",
        "woken",
    )

    def __init__(self, connection: Connection, client: object = None) -> None:
        self.connection = connection
        self.client = client
        self.orders: deque[Order] = deque()
        self.woken: list[Waiter] = []
        self.greeted = False
        self.closed = False
        self.error: JsprotoError | None = None
        self._waiting: dict[Waiter, None] = {}
        self._listeners: list[EventObserver] = []

    def __repr__(self) -> str:
        return f"<Driver of {self.connection!r}>"

    # ------------------------------------------------------------------ uncoloured verbs

    def open(self, conversation: Conversation[T], now: float) -> WaitSlot:
        """Start a conversation and give its seat.

        Raises:
            LocalProtocolError: it was opened before, or the connection is closed.
            InvalidConfig: it is no conversation.
        """
        seat: WaitSlot = WaitSlot(self.client)
        try:
            before, conversation.context = conversation.context, seat
        except AttributeError:
            raise no_conversation(conversation) from None
        try:
            self.connection.open(conversation, now)
        except JsprotoError:
            conversation.context = before
            raise
        return seat

    def take(self, conversation: Conversation[T], now: float) -> T | NeedData | Ended:
        """The next item; raises the conversation's error once what was at hand is taken.

        Raises:
            BusyConversation: somebody else waits for the next item.
        """
        if seat_of(conversation).taker is not None:
            raise busy("take", conversation)
        return self.connection.take(conversation, now)

    def take_all(self, conversation: Conversation[T], now: float) -> list[T] | NeedData | Ended:
        """Everything at hand in one list, else as `take`."""
        if seat_of(conversation).taker is not None:
            raise busy("take", conversation)
        return self.connection.take_all(conversation, now)

    def put(self, conversation: Conversation[T], item: object, now: float) -> bool:
        """Offer an item; ``False`` means full: wait at the seat's ``putter`` and offer it again.

        Raises:
            BusyConversation: somebody else waits for room.
        """
        if seat_of(conversation).putter is not None:
            raise busy("put", conversation)
        return self.connection.put(conversation, item, now)

    def ending(self, conversation: Conversation[T]) -> bool:
        """Whether a conversation has not ended yet; the putter's place is then woken at its end.

        Raises:
            BusyConversation: somebody waits there for room.
        """
        if seat_of(conversation).putter is not None:
            raise busy("put", conversation)
        if conversation.ended:
            return False
        conversation.put_blocked = True
        return True

    def watch(self, conversation: Conversation[T], until: Stage) -> bool:
        """Whether a conversation has not come to a stage yet; the ``watchers`` of its seat are then
        woken with its next one.
        """
        seat_of(conversation)
        stage = conversation.stage
        if stage in {until, Stage.ENDED}:
            return False
        conversation.watched = stage
        return True

    # ------------------------------------------------------------------ waiting for the connection as a whole

    def wait(self, waiter: Waiter) -> None:
        """Wake ``waiter`` when a link is up for the first time, when there is room again, and at
        the end.
        """
        self._waiting[waiter] = None

    def leave(self, waiter: Waiter) -> None:
        """``waiter`` waits no more; harmless if it never did."""
        self._waiting.pop(waiter, None)

    def linked(self) -> bool:
        """Whether the first link is up, or was.

        Raises:
            JsprotoError: it never will be: why the connection was closed before.
        """
        if self.closed and not self.greeted:
            raise self.error or ConnectionClosed(
                "expected a first link, the connection was closed before it was up"
            )
        return self.greeted

    # ------------------------------------------------------------------ listening

    def listen(self) -> Listener:
        """A new listener; it hears what happens from now on."""
        listener: Listener = Listener()
        listener.ended = self.closed
        self._listeners.append(listener)
        return listener

    def attend(self, hearer: EventObserver) -> None:
        """Let somebody hear each event as it happens, for as long as there is the connection."""
        self._listeners.append(hearer)

    def unlisten(self, listener: Listener) -> None:
        """Forget a listener; harmless if it is forgotten already."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    # ------------------------------------------------------------------ sorting what the connection says

    def collect(self) -> None:
        """Drain the events of the connection into ``orders``, ``woken`` and the listeners."""
        next_event = self.connection.next_event
        while (event := next_event()) is not None:
            if isinstance(event, Ready):
                self._ready(event)
            elif isinstance(event, (Dial, Upgrade, Authenticate, HangUp)):
                self.orders.append(event)
            else:
                self._tell(event)

    def _ready(self, event: Ready) -> None:
        if event.conversation is None:
            self.woken.extend(self._waiting)
            return
        seat = event.conversation.context
        if isinstance(seat, WaitSlot):
            self.woken.extend(waiter for waiter in (seat.taker, seat.putter) if waiter is not None)
            self.woken.extend(seat.watchers)

    def _tell(self, event: Told) -> None:
        if isinstance(event, Connected):
            self.greeted = True
            self.woken.extend(self._waiting)
        elif isinstance(event, Closed):
            self.closed = True
            self.error = event.error
            self.woken.extend(self._waiting)
        for listener in self._listeners:
            listener.hear(event)
            if listener.waiter is not None:
                self.woken.append(listener.waiter)


def seat_of(conversation: Conversation[T]) -> WaitSlot:
    """The seat of an opened conversation.

    Raises:
        ConversationClosed: it was not opened by a driver.
    """
    seat = conversation.context
    if not isinstance(seat, WaitSlot):
        raise ConversationClosed(
            f"expected {type(conversation).__name__} to be opened before it is used"
        )
    return seat


def no_conversation(given: object) -> InvalidConfig:
    """The error for something that a user gave where a conversation belongs."""
    seen = f"the text {shorten(given)}" if isinstance(given, str) else type(given).__name__
    return InvalidConfig(
        f"expected a conversation, as consumer.consume() or a subscription, got {seen}"
    )


def busy(verb: str, conversation: Conversation[T]) -> BusyConversation:
    """The error for a second one who takes or puts while the first still waits."""
    return BusyConversation(
        f"expected one {verb} at a time on {type(conversation).__name__}, another one waits already"
    )
