"""The part that all adapters share: it sorts events, and knows which waiter waits for what.

Theory. An adapter moves bytes, waits, and reads a clock. The connection reports everything that
happened in one stream of events. The driver stands between the two and does no I/O either.
`collect` sorts the events into

- ``orders`` for the transport: dial, upgrade, authenticate, hang up, to be executed in order;
- ``woken``: the waiters that may look again, in order;
- the events of the life cycle, for each `Listener`: connected, disconnected, lame duck, notices,
  closed.

A waiter is an opaque token of the adapter, such as a future, an event or a flag. It waits in one of
three places: in the `WaitSlot` of a conversation, in a `Listener`, or for the connection as a
whole. A slot has room for one taker and one putter; a second one raises `BusyConversation`. A
waiter waits for the connection as a whole (``wait``) until the first link is up, the outbound
buffer has room, or the connection ends.

A woken waiter only looks again. Therefore a superfluous wake-up is harmless, and the adapter may
skip a waiter that has given up meanwhile. A waiter stays in its place until it leaves, so that a
second waiter is detected.

The verbs `take`, `take_all` and `put` are those of the connection, with this check before them.
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

#: A token of the adapter; it only has to be hashable.
Waiter: TypeAlias = object

#: Work for the transport.
Order: TypeAlias = Dial | Upgrade | Authenticate | HangUp
#: Events that a `Listener` receives.
Told: TypeAlias = Connected | Disconnected | LameDuck | Notice | Closed

#: Time for inputs that do not use it: the connection replaces an earlier moment by its last one.
ANY_TIME: Final = float("-inf")
#: Most events that a listener keeps; older ones are dropped and counted.
MAX_UNHEARD: Final = 1024


@final
class WaitSlot:
    """The place where one taker and one putter wait; it is stored in ``conversation.context``.

    Attributes:
        client: the adapter's client that opened the conversation; a message finds its client here.
        taker: the waiter for an item.
        putter: the waiter for room.
        watchers: the waiters for the next `Stage`; any number.
    """

    __slots__ = ("client", "putter", "taker", "watchers")

    def __init__(self, client: object) -> None:
        self.client = client
        self.taker: Waiter | None = None
        self.putter: Waiter | None = None
        self.watchers: tuple[Waiter, ...] = ()


class EventObserver(Protocol):
    """Receives each life cycle event at once, during the input that caused it."""

    @property
    def waiter(self) -> Waiter | None:
        """The waiter to wake after an event, if any."""
        ...

    def hear(self, told: Told) -> None:
        """Receive an event."""
        ...


@final
class Listener:
    """One reader of the life cycle: every event since its creation, in order, each once.

    Attributes:
        ended: whether `Closed` has arrived.
        waiter: the waiter for the next event.
        missed: number of events that were dropped because the reader was too slow.
    """

    __slots__ = ("_told", "ended", "missed", "waiter")

    def __init__(self) -> None:
        self._told: deque[Told] = deque()
        self.ended = False
        self.missed = 0
        self.waiter: Waiter | None = None

    def hear(self, told: Told) -> None:
        """Keep an event for `take`; `Closed` is the last one."""
        if len(self._told) >= MAX_UNHEARD:
            self._told.popleft()
            self.missed += 1
        self._told.append(told)
        self.ended = self.ended or isinstance(told, Closed)

    def take(self) -> Told | NeedData | Ended:
        """Return the next event, or a signal.

        Raises:
            BusyConversation: another reader waits already.
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
    """A connection and the waiters around it.

    Args:
        connection: the connection to drive; only this driver may drain its events.
        client: any object that the adapter wants to find as ``conversation.context.client``.

    Attributes:
        orders: work for the transport, oldest first; the adapter removes what it has done.
        woken: waiters that may look again, oldest first; the adapter empties it.
        greeted: whether the connection was up at least once.
        closed: whether the connection is over; ``error`` is the reason, if it was not the user.
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

    # ------------------------------------------------------------------ verbs

    def open(self, conversation: Conversation[T], now: float) -> WaitSlot:
        """Start a conversation and return its slot.

        Raises:
            LocalProtocolError: it was opened before, or the connection is closed.
            InvalidConfig: the argument is no conversation.
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
        """Return the next item. Raises the conversation's error after the last item.

        Raises:
            BusyConversation: another waiter waits for the next item.
        """
        if seat_of(conversation).taker is not None:
            raise busy("take", conversation)
        return self.connection.take(conversation, now)

    def take_all(self, conversation: Conversation[T], now: float) -> list[T] | NeedData | Ended:
        """Return all available items in one list, or a signal as `take` does."""
        if seat_of(conversation).taker is not None:
            raise busy("take", conversation)
        return self.connection.take_all(conversation, now)

    def put(self, conversation: Conversation[T], item: object, now: float) -> bool:
        """Offer an item. ``False`` means full: wait as the slot's ``putter``, then offer it again.

        Raises:
            BusyConversation: another waiter waits for room.
        """
        if seat_of(conversation).putter is not None:
            raise busy("put", conversation)
        return self.connection.put(conversation, item, now)

    def ending(self, conversation: Conversation[T]) -> bool:
        """Tell whether a conversation is still open; if so, its ``putter`` is woken at its end.

        Raises:
            BusyConversation: a waiter already waits there for room.
        """
        if seat_of(conversation).putter is not None:
            raise busy("put", conversation)
        if conversation.ended:
            return False
        conversation.put_blocked = True
        return True

    def watch(self, conversation: Conversation[T], until: Stage) -> bool:
        """Tell whether a stage is still to come; if so, the next stage wakes the ``watchers``."""
        seat_of(conversation)
        stage = conversation.stage
        if stage in {until, Stage.ENDED}:
            return False
        conversation.watched = stage
        return True

    # ------------------------------------------------------------------ waiting for the connection

    def wait(self, waiter: Waiter) -> None:
        """Wake ``waiter`` at the first link, at new room in the outbound buffer, and at the end."""
        self._waiting[waiter] = None

    def leave(self, waiter: Waiter) -> None:
        """Stop waking ``waiter``; harmless if it does not wait."""
        self._waiting.pop(waiter, None)

    def linked(self) -> bool:
        """Tell whether the connection was up at least once.

        Raises:
            JsprotoError: the connection was closed before; the error is the reason.
        """
        if self.closed and not self.greeted:
            raise self.error or ConnectionClosed(
                "expected a first link, the connection was closed before it was up"
            )
        return self.greeted

    # ------------------------------------------------------------------ listening

    def listen(self) -> Listener:
        """Return a new listener for the events from now on."""
        listener: Listener = Listener()
        listener.ended = self.closed
        self._listeners.append(listener)
        return listener

    def attend(self, hearer: EventObserver) -> None:
        """Deliver each event to an observer, until the connection ends."""
        self._listeners.append(hearer)

    def unlisten(self, listener: Listener) -> None:
        """Remove a listener; harmless if it is removed already."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    # ------------------------------------------------------------------ sorting events

    def collect(self) -> None:
        """Move the events of the connection into ``orders``, ``woken`` and the listeners."""
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
    """Return the slot of an opened conversation.

    Raises:
        ConversationClosed: no driver has opened it.
    """
    seat = conversation.context
    if not isinstance(seat, WaitSlot):
        raise ConversationClosed(
            f"expected {type(conversation).__name__} to be opened before it is used"
        )
    return seat


def no_conversation(given: object) -> InvalidConfig:
    """Return the error for a value that is given in place of a conversation."""
    seen = f"the text {shorten(given)}" if isinstance(given, str) else type(given).__name__
    return InvalidConfig(
        f"expected a conversation, as consumer.consume() or a subscription, got {seen}"
    )


def busy(verb: str, conversation: Conversation[T]) -> BusyConversation:
    """Return the error for a second taker or putter while the first still waits."""
    return BusyConversation(
        f"expected one {verb} at a time on {type(conversation).__name__}, another one waits already"
    )
