"""A feed in the hands of a caller: an async iterator with more verbs."""

# ruff: noqa: ASYNC109, SLF001 - the core keeps the time; client and handles are one thing in several modules

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Self, TypeVar, cast, final

from jsproto.core.callbacks import check_callback
from jsproto.core.conversation.conversation import Stage, StopMode
from jsproto.core.numbers import seconds
from jsproto.driver import busy, seat_of
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.pull.request import OpenPull
from jsproto.jetstream.status import EndReason
from jsproto.signals import ENDED, NEED_DATA
from jsproto_io._async_client.items import FeedItems, finished, unopened
from jsproto_io._async_client.waits import putting, racing, taking
from jsproto_io._client.conversations import (
    alarm,
    hands_back,
    out_of_time,
    pulls_of,
    reason_of,
    run_dry,
    unsettled,
)
from jsproto_io._client.type_parameters import ConversationT_co, written

T_co = TypeVar("T_co", covariant=True)


@final
class Feed(FeedItems[T_co], Generic[T_co, ConversationT_co]):
    """The items of one feed. Entering opens the feed, leaving closes it; in between it is an async
    iterator.

    ``Feed[AsyncMessage]`` is enough to write where a function takes one; ``Feed[AsyncMessage,
    Consume[JsMessage]]`` is what ``consumer.consume()`` gives: the second parameter is the type of
    ``feed``.
    """

    __slots__ = ()

    if not TYPE_CHECKING:
        __class_getitem__ = written

    def __repr__(self) -> str:
        return f"<Feed of {self._feed!r}>"

    @property
    def feed(self) -> ConversationT_co:
        """The conversation, for what it shows beyond its items."""
        return cast("ConversationT_co", self._feed)

    async def __aenter__(self) -> Self:
        client = self._client
        with client._guard:
            self._seat = client._opened(self._feed, client._now())
            self._take = client._connection.take
            client._schedule_flush()
        client._enter(self._feed, reads=True)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def next(self, timeout: float | timedelta | None = 5.0) -> T_co:
        """The next item.

        Args:
            timeout: seconds to wait for it; ``None`` for as long as it takes.

        Raises:
            RequestTimeout: none came in time; the feed goes on.
            InvalidConfig: the timeout is no duration.
            ConversationClosed: the feed has ended, and well.
            JsprotoError: what the feed ended with.
        """
        within: float | None = (
            timeout
            if timeout is None or (isinstance(timeout, float) and timeout >= 0.0)
            else seconds("timeout", timeout, above=False)
        )
        seat = self._seat
        if seat.taker is not None:
            raise busy("take", self._feed)
        client = self._client
        clock = None
        with client._guard:
            try:
                while (item := self._take(self._feed, client._now())) is NEED_DATA:
                    if within is None:
                        await taking(client, seat)
                        continue
                    if clock is None:
                        clock = alarm(within)
                        client._opened(clock, client._now())
                        continue  # opening may have read what is waited for
                    if client._connection.take(clock, client._now()) is not NEED_DATA:
                        raise out_of_time(self._feed, within)
                    await racing(client, seat, seat_of(clock))
            finally:
                if clock is not None and not clock.ended:
                    client._connection.close(clock, client._now())
            self._taken(client._now(), item)
        if item is ENDED:
            raise run_dry(self._feed)
        return item

    async def each(
        self, handler: Callable[[T_co], object], *, manual_ack: bool = False
    ) -> EndReason | None:
        """Give each item to a handler, until the feed ends; then say why it did.

        A feed that was not entered is opened for it and closed afterwards. The handler is a
        function or a coroutine function, and is waited for before the next item; any other result
        is ignored. It may use the client. It ends this with ``stop``, ``drain`` or ``close`` of this
        feed: ``each`` returns when the feed has ended, whatever ended it.

        Args:
            handler: is given one item at a time.
            manual_ack: leave acknowledging to the handler. Else a message is acknowledged when the
                handler comes back and has not settled it; of `AckNext` it is handed back, and the
                next one asked for.

        Returns:
            How a feed of stored messages ended; ``None`` for other feeds.

        Raises:
            InvalidConfig: the handler is a function with ``yield``, whose body would never run.
            JsprotoError: what the feed ended with.
            Exception: whatever the handler raises. The message is not acknowledged then.
        """
        check_callback(handler, "handler", awaits=True)
        if self._take is unopened:
            async with self:
                return await self.each(handler, manual_ack=manual_ack)
        async for item in self:
            doing = handler(item)
            if doing is not None:
                await finished(doing)
            if manual_ack:
                continue
            if hands_back(self._feed):
                await self.put(cast("JsMessage", item))
            elif unsettled(item):
                await self._client.settle(cast("JsMessage", item), None)
        return reason_of(self._feed)

    async def ready(self) -> None:
        """Wait until the feed has begun: a push subscription is bound, an ordered consumer is
        there. Others begin at once.

        Raises:
            JsprotoError: why it never did.
        """
        await self._client._watched(self._feed, self._seat, Stage.GOING)
        reason_of(self._feed)

    async def ended(self) -> EndReason | None:
        """Wait until no further item will come; gives how a feed of stored messages ended.

        Items that have come can still be taken, and after a ``drain`` another task has to take them.

        Raises:
            JsprotoError: what the feed ended with.
        """
        await self._client._watched(self._feed, self._seat, Stage.ENDED)
        return reason_of(self._feed)

    async def unsubscribe(self) -> EndReason | None:
        """Stop, and wait for it: a push subscription that owns its consumer waits until that is
        deleted.

        Raises:
            JetStreamError: the consumer could not be deleted.
            JsprotoError: what else the feed ended with.
        """
        self._tell(StopMode.STOP)
        return await self.ended()

    async def batches(self) -> AsyncIterator[list[T_co]]:
        """All items that have come in one list, again and again: fewer steps for each item."""
        while (items := await self._all_at_hand()) is not ENDED:
            yield items

    def pulls(self) -> tuple[OpenPull, ...]:
        """The requests that are open, oldest first, of a feed that pulls: what each asked for, got
        and is owed, its age and its token.

        None of a feed that does not pull.
        """
        client = self._client
        with client._guard:
            return pulls_of(self._feed, client._now())

    async def put(self, item: JsMessage) -> None:
        """Hand something to a feed that takes it: to `AckNext` a message that is done.

        Raises:
            LocalProtocolError: the feed takes no such item, or has ended; nothing was sent.
        """
        client = self._client
        with client._guard:
            while not client._driver.put(self._feed, item, client._now()):
                await putting(client, self._seat)
            client._wrote()

    async def limit(self, count: int) -> None:
        """Have a core subscription end by itself after ``count`` messages since it was opened:
        unsubscribe after n.

        The server counts too, and a reconnect does not begin anew. What has come already is handed
        out in any case; if that is as much, the feed ends after it.

        Raises:
            InvalidConfig: less than 1, or more than a limit that stands.
            LocalProtocolError: a feed that is no core subscription.
        """
        client = self._client
        if self._take is unopened:
            unopened(self._feed, 0.0)
        with client._guard:
            client._connection.limit(self._feed, count, client._now())
            client._schedule_flush()

    async def drain(self) -> None:
        """Ask for nothing new: the iterator gives what is there, or still owed, and ends."""
        self._tell(StopMode.DRAIN)

    async def stop(self) -> None:
        """Ask for nothing new and end as soon as the server has settled what was asked for."""
        self._tell(StopMode.STOP)

    def _tell(self, wish: StopMode) -> None:
        client = self._client
        if self._take is unopened:
            unopened(self._feed, 0.0)
        with client._guard:
            client._connection.tell(self._feed, wish, client._now())
            client._schedule_flush()
