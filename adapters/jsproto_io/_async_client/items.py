"""One item out of a feed, one item into a sink: the steps that run once for each message, of a
client with ``await``.

An item that is there already is taken without any await and without a pump of its own.
"""

# ruff: noqa: SLF001 - client and handles are one thing in several modules

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable
from threading import get_ident
from typing import Generic, NoReturn, Self, TypeVar

from jsproto.core.callbacks import check_result
from jsproto.core.conversation.conversation import Conversation
from jsproto.driver import WaitSlot, busy
from jsproto.errors import ConversationClosed
from jsproto.signals import ENDED, NEED_DATA, Ended, NeedData
from jsproto_io._async_client.base import AsyncBase
from jsproto_io._async_client.waits import putting, taking
from jsproto_io._client.messages import MANY
from jsproto_io._client.type_parameters import ItemT_contra

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


def unopened(conversation: Conversation[T], _now: float) -> NoReturn:
    """Stands where the take of a feed will be.

    Raises:
        ConversationClosed: the feed was not entered.
    """
    raise ConversationClosed(
        f"expected {type(conversation).__name__} to be opened first: enter it with an async with statement"
    )


def unopened_sink(conversation: Conversation[T], _item: object, now: float) -> bool:
    """Stands where the put of a sink will be."""
    return unopened(conversation, now)


class FeedItems(Generic[T_co]):
    """An async iterator over the items of one feed."""

    __slots__ = ("_client", "_feed", "_seat", "_take")

    def __init__(self, client: AsyncBase, feed: Conversation[T_co]) -> None:
        self._client = client
        self._seat: WaitSlot = WaitSlot(client)
        self._take: Callable[[Conversation[T_co], float], T_co | NeedData | Ended] = unopened
        self._feed = feed

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T_co:
        seat = self._seat
        if seat.taker is not None:
            raise busy("take", self._feed)
        client = self._client
        if not client._kicked:
            client._at_home()  # the pump comes after this step: it sees what taking does
        while (item := self._take(self._feed, client._now())) is NEED_DATA:
            await taking(client, seat)
        if item is ENDED:
            raise StopAsyncIteration
        return item

    async def _all_at_hand(self) -> list[T_co] | Ended:
        """All items that are there, as soon as there is one."""
        client = self._client
        client._at_home()
        while (items := client._driver.take_all(self._feed, client._now())) is NEED_DATA:
            await taking(client, self._seat)
        return items

    def _taken(self, now: float, *items: object) -> None:
        """Nothing: no exception can come between taking an item and returning it."""

    async def close(self) -> None:
        """End it now. What was handed out can still be settled."""
        self._client._finish(self._feed)


class SinkItems(Generic[T_co, ItemT_contra]):
    """The way of items into a conversation, and of its results out of it."""

    __slots__ = ("_client", "_put", "_rest", "_seat", "_window")

    def __init__(self, client: AsyncBase, window: Conversation[T_co]) -> None:
        self._client = client
        self._seat: WaitSlot = WaitSlot(client)
        self._put: Callable[[Conversation[T_co], object, float], bool] = unopened_sink
        self._rest: deque[T_co] = deque()
        self._window = window

    async def put(self, item: ItemT_contra) -> None:
        """Hand in an item, as soon as there is room.

        Raises:
            LocalProtocolError: the conversation takes no such item, or takes no more; nothing was
                sent.
        """
        client = self._client
        seat = self._seat
        if seat.putter is not None:
            raise busy("put", self._window)
        if client._kicked != get_ident():
            client._at_home()
        while not self._put(self._window, item, client._now()):
            await putting(client, seat)
        if not client._kicked or len(client._connection.outgoing) >= MANY:
            client._wrote()


async def finished(doing: object) -> None:
    """Wait for what a handler began, if it is a coroutine function; any other result is ignored."""
    if inspect.isawaitable(doing):
        await doing
    else:
        check_result(doing, "the handler")
