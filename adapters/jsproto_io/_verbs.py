"""The three verbs that every adapter has, as types in both colours, and what `run`, `stream` and `sink` give.

The friendly methods (``_facade_async``, ``_facade_sync``) are generated over these types, so they serve every adapter of
a colour. A feed of stored messages gives messages of that colour: its client sees to that when it opens it.
"""

# ruff: noqa: ASYNC109 - the core keeps the time

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from types import TracebackType
from typing import Protocol, Self, TypeVar, overload

from jsproto.core.conversation import Conversation
from jsproto.jetstream.message import JsMessage
from jsproto.jetstream.pull import OpenPull
from jsproto.jetstream.status import End
from jsproto_io._messages import AsyncMessage, SyncMessage

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class AsyncFeed(Protocol[T_co]):
    """Many results: an async context manager that opens and closes the feed, and an async iterator over its items."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

    def __aiter__(self) -> AsyncIterator[T_co]: ...

    async def __anext__(self) -> T_co: ...

    async def next(self, timeout: float | None = 5.0) -> T_co:
        """The next item.

        Args:
            timeout: seconds to wait for it; ``None`` for as long as it takes.

        Raises:
            RequestTimeout: none came in time; the feed goes on.
            ConversationClosed: the feed has ended, and well.
            JsprotoError: what the feed ended with.
        """
        ...

    async def each(self, handler: Callable[[T_co], object], *, manual_ack: bool = False) -> End | None:
        """Give each item to a handler, until the feed ends; then say why it did.

        A feed that was not entered is opened for it and closed afterwards. The handler is a function or a coroutine
        function, and is waited for before the next item.
        It ends this with ``stop``, ``drain`` or ``close`` of this feed: those and
        whatever else ends a feed make ``each`` return.

        Args:
            handler: is given one item at a time.
            manual_ack: leave acknowledging to the handler. Else a message is acknowledged when the handler comes back and
                has not settled it; of `AckNext` it is handed back, and the next one asked for.

        Returns:
            How a feed of stored messages ended; ``None`` for other feeds.

        Raises:
            JsprotoError: what the feed ended with.
            Exception: whatever the handler raises. The message is not acknowledged then.
        """
        ...

    async def ready(self) -> None:
        """Wait until the feed has begun: a push subscription is bound, an ordered consumer is there. Others begin at once.

        Raises:
            JsprotoError: why it never did.
        """
        ...

    async def ended(self) -> End | None:
        """Wait until no further item will come; gives how a feed of stored messages ended.

        What is at hand can still be taken, and after a ``drain`` somebody has to.

        Raises:
            JsprotoError: what the feed ended with.
        """
        ...

    async def unsubscribe(self) -> End | None:
        """Stop, and wait for it: a push subscription that owns its consumer waits until that is deleted.

        Raises:
            JetStreamError: the consumer could not be deleted.
            JsprotoError: what else the feed ended with.
        """
        ...

    def batches(self) -> AsyncIterator[Sequence[T_co]]:
        """Everything at hand in one list, again and again: fewer steps for each item."""
        ...

    def pulls(self) -> tuple[OpenPull, ...]:
        """The requests that are open, oldest first, of a feed that pulls: what each asked for, got and is owed, its age and its token.

        None of a feed that does not pull.
        """
        ...

    async def put(self, item: object) -> None:
        """Hand something to a feed that takes it: to `AckNext` a message that is done."""
        ...

    async def drain(self) -> None:
        """Ask for nothing new: the iterator gives what is there, or still owed, and ends."""
        ...

    async def stop(self) -> None:
        """Ask for nothing new and end as soon as the server has settled what was asked for."""
        ...

    async def close(self) -> None:
        """End it now."""
        ...


class AsyncSink(Protocol[T_co]):
    """Many inputs: an async context manager with `put`, and the results in order."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

    async def put(self, item: object) -> None:
        """Hand in an item, as soon as there is room."""
        ...

    def results(self) -> AsyncIterator[T_co]:
        """The results so far and to come, until the sink is drained or closed."""
        ...

    async def drain(self) -> None:
        """Take no further items, and wait until every one has its result."""
        ...

    async def close(self) -> None:
        """End it now; results that have not come are lost."""
        ...


class AsyncVerbs(Protocol):
    """What an adapter with ``await`` can do."""

    @overload
    async def run(self, conversation: Conversation[JsMessage]) -> AsyncMessage: ...
    @overload
    async def run(self, conversation: Conversation[T]) -> T: ...

    @overload
    def stream(self, feed: Conversation[JsMessage]) -> AsyncFeed[AsyncMessage]: ...
    @overload
    def stream(self, feed: Conversation[T]) -> AsyncFeed[T]: ...

    def sink(self, sink: Conversation[T]) -> AsyncSink[T]:
        """Many inputs."""
        ...


class SyncFeed(Protocol[T_co]):
    """Many results: a context manager that opens and closes the feed, and an iterator over its items."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

    def __iter__(self) -> Iterator[T_co]: ...

    def __next__(self) -> T_co: ...

    def next(self, timeout: float | None = 5.0) -> T_co:
        """The next item.

        Args:
            timeout: seconds to wait for it; ``None`` for as long as it takes.

        Raises:
            RequestTimeout: none came in time; the feed goes on.
            ConversationClosed: the feed has ended, and well.
            JsprotoError: what the feed ended with.
        """
        ...

    def each(self, handler: Callable[[T_co], object], *, manual_ack: bool = False) -> End | None:
        """Give each item to a handler, until the feed ends; then say why it did.

        A feed that was not entered is opened for it and closed afterwards. The handler is called between the turns
        of the connection, and may use the client.
        It ends this with ``stop``, ``drain`` or ``close`` of this feed: those and
        whatever else ends a feed make ``each`` return.

        Args:
            handler: is given one item at a time.
            manual_ack: leave acknowledging to the handler. Else a message is acknowledged when the handler comes back and
                has not settled it; of `AckNext` it is handed back, and the next one asked for.

        Returns:
            How a feed of stored messages ended; ``None`` for other feeds.

        Raises:
            JsprotoError: what the feed ended with.
            Exception: whatever the handler raises. The message is not acknowledged then.
        """
        ...

    def ready(self) -> None:
        """Wait until the feed has begun: a push subscription is bound, an ordered consumer is there. Others begin at once.

        Raises:
            JsprotoError: why it never did.
        """
        ...

    def ended(self) -> End | None:
        """Wait until no further item will come; gives how a feed of stored messages ended.

        While items are at hand it returns at once, since only the caller can take them; it is ``None`` then.

        Raises:
            JsprotoError: what the feed ended with.
        """
        ...

    def unsubscribe(self) -> End | None:
        """Stop, and wait for it: a push subscription that owns its consumer waits until that is deleted.

        Raises:
            JetStreamError: the consumer could not be deleted.
            JsprotoError: what else the feed ended with.
        """
        ...

    def batches(self) -> Iterator[Sequence[T_co]]:
        """Everything at hand in one list, again and again: fewer steps for each item."""
        ...

    def pulls(self) -> tuple[OpenPull, ...]:
        """The requests that are open, oldest first, of a feed that pulls: what each asked for, got and is owed, its age and its token.

        None of a feed that does not pull.
        """
        ...

    def put(self, item: object) -> None:
        """Hand something to a feed that takes it: to `AckNext` a message that is done."""
        ...

    def drain(self) -> None:
        """Ask for nothing new: the iterator gives what is there, or still owed, and ends."""
        ...

    def stop(self) -> None:
        """Ask for nothing new and end as soon as the server has settled what was asked for."""
        ...

    def close(self) -> None:
        """End it now."""
        ...


class SyncSink(Protocol[T_co]):
    """Many inputs: a context manager with `put`, and the results in order."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

    def put(self, item: object) -> None:
        """Hand in an item, as soon as there is room."""
        ...

    def results(self) -> Iterator[T_co]:
        """The results so far and to come, until the sink is drained or closed."""
        ...

    def drain(self) -> None:
        """Take no further items, and wait until every one has its result."""
        ...

    def close(self) -> None:
        """End it now; results that have not come are lost."""
        ...


class SyncVerbs(Protocol):
    """What an adapter without ``await`` can do."""

    @overload
    def run(self, conversation: Conversation[JsMessage]) -> SyncMessage: ...
    @overload
    def run(self, conversation: Conversation[T]) -> T: ...

    @overload
    def stream(self, feed: Conversation[JsMessage]) -> SyncFeed[SyncMessage]: ...
    @overload
    def stream(self, feed: Conversation[T]) -> SyncFeed[T]: ...

    def sink(self, sink: Conversation[T]) -> SyncSink[T]:
        """Many inputs."""
        ...
