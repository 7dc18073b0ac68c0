"""One item out of a feed, one item into a sink: the steps that run once for each message, of a
client without ``await``.

Here the lock is acquired without a ``with`` statement, which would cost two more calls.
"""

# ruff: noqa: SLF001 - client and handles are one thing in several modules

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, NoReturn, Self, TypeVar

from jsproto.core.callbacks import check_result
from jsproto.core.conversation.conversation import Conversation
from jsproto.driver import WaitSlot
from jsproto.errors import BusyConversation, ConversationClosed
from jsproto.signals import ENDED, NEED_DATA, Ended, NeedData
from jsproto_io._client.type_parameters import ItemT_contra
from jsproto_io._sync_client.base import IN_USE, NON_BLOCKING, SyncBase
from jsproto_io._sync_client.waits import putting, taking

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


def unopened(conversation: Conversation[T], _now: float) -> NoReturn:
    """Stands where the take of a feed will be.

    Raises:
        ConversationClosed: the feed was not entered.
    """
    raise ConversationClosed(
        f"expected {type(conversation).__name__} to be opened first: enter it with a with statement"
    )


def unopened_sink(conversation: Conversation[T], _item: object, now: float) -> bool:
    """Stands where the put of a sink will be."""
    return unopened(conversation, now)


class FeedItems(Generic[T_co]):
    """An iterator over the items of one feed."""

    __slots__ = ("_client", "_feed", "_kept", "_seat", "_take")

    def __init__(self, client: SyncBase, feed: Conversation[T_co]) -> None:
        self._client = client
        # Items that were taken and did not reach the caller, because of an exception after the
        # take.
        self._kept: deque[T_co] = deque()
        self._seat = WaitSlot(client)
        self._take: Callable[[Conversation[T_co], float], T_co | NeedData | Ended] = unopened
        self._feed = feed

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T_co:
        client = self._client
        gate = client._gate
        if not gate.acquire(NON_BLOCKING):
            raise BusyConversation(IN_USE)
        try:
            now = client._now()
            while (item := self._take(self._feed, now)) is NEED_DATA:
                taking(client, self._seat)
                now = client._now()
            if client._connection.outgoing or now > client._look_at:
                self._taken(now, item)
        except BaseException as error:
            client._judge(error)
            raise
        finally:
            gate.release()
        if item is ENDED:
            raise StopIteration
        return item

    def _all_at_hand(self) -> list[T_co] | Ended:
        """All items that are there, as soon as there is one."""
        client = self._client
        with client._guard:
            if self._kept:
                kept = list(self._kept)
                self._forget_kept()
                return kept
            while (items := client._driver.take_all(self._feed, client._now())) is NEED_DATA:
                taking(client, self._seat)
            self._taken(client._now(), *(() if items is ENDED else items))
            return items

    def _taken(self, now: float, *items: T_co | Ended) -> None:
        """Send what is to be sent; if an exception comes out of that, what was taken is kept for
        the next take.
        """
        try:
            self._client._flush(now)
        except BaseException:
            self._kept.extend(each for each in items if each is not ENDED)
            if self._kept:
                self._take = self._take_kept
            raise

    def _take_kept(self, _feed: Conversation[T_co], _now: float) -> T_co:
        item = self._kept.popleft()
        if not self._kept:
            self._take = self._client._connection.take
        return item

    def _forget_kept(self) -> None:
        self._kept.clear()
        self._take = self._client._connection.take

    def close(self) -> None:
        """End it now. What was handed out can still be settled."""
        client = self._client
        if self._kept and not client.closed:
            with client._guard:
                for item in self._kept:
                    client._give_back(item)
                self._forget_kept()
        client._finish(self._feed)


class SinkItems(Generic[T_co, ItemT_contra]):
    """The way of items into a conversation, and of its results out of it."""

    __slots__ = ("_client", "_put", "_rest", "_seat", "_window")

    def __init__(self, client: SyncBase, window: Conversation[T_co]) -> None:
        self._client = client
        self._seat = WaitSlot(client)
        self._put: Callable[[Conversation[T_co], object, float], bool] = unopened_sink
        self._rest: deque[T_co] = deque()
        self._window = window

    def put(self, item: ItemT_contra) -> None:
        """Hand in an item, as soon as there is room.

        Raises:
            LocalProtocolError: the conversation takes no such item, or takes no more; nothing was
                sent.
        """
        client = self._client
        gate = client._gate
        if not gate.acquire(NON_BLOCKING):
            raise BusyConversation(IN_USE)
        try:
            now = client._now()
            while not self._put(self._window, item, now):
                putting(client, self._seat)
                now = client._now()
            client._flush(now)
        except BaseException as error:
            client._judge(error)
            raise
        finally:
            gate.release()


def finished(done: object) -> None:
    """Check what a handler has returned.

    Raises:
        InvalidConfig: it is something to be awaited, which a blocking client cannot do.
    """
    check_result(done, "the handler")
