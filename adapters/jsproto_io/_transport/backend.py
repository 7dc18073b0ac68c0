"""All that trio and anyio differ in, as a table, and what of their classes is used, as protocols."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Final, Protocol, Self, TypeAlias, final

from attrs import frozen

#: A deadline that does not come.
NEVER: Final = float("inf")

#: What a resolver gives: family, type, protocol, canonical name and address.
AddrInfo: TypeAlias = tuple[int, int, int, str, Any]


class Event(Protocol):
    """What one waits for."""

    def set(self) -> object:
        """Let everybody go who waits."""
        ...

    async def wait(self) -> object:
        """Wait until it is set."""
        ...


class Scope(Protocol):
    """What can be cancelled."""

    @property
    def deadline(self) -> float:
        """When it cancels itself."""
        ...

    @deadline.setter
    def deadline(self, value: float, /) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> bool | None: ...

    def cancel(self) -> None:
        """Cancel what is in it."""
        ...


class Nursery(Protocol):
    """Where tasks live."""

    def start_soon(self, work: Callable[[], Coroutine[Any, Any, object]], /) -> object:
        """Start a task."""
        ...


@final
@frozen(kw_only=True)
class AsyncBackend:
    """How one waits here.

    Attributes:
        here: what identifies the event loop that runs here; raises RuntimeError if none does.
        readable: wait until a socket has something to read; ``writable`` until it takes something.
        places: the resolver; keyword ``type``.
        aside: call something that waits for a disk, in a thread; it is waited for to its end, also
            when cancelled.
    """

    event: Callable[[], Event]
    scope: Callable[..., Scope]
    nursery: Callable[[], AbstractAsyncContextManager[Nursery]]
    here: Callable[[], object]
    now: Callable[[], float]
    forever: Callable[[], Awaitable[object]]
    readable: Callable[[socket.socket], Awaitable[object]]
    writable: Callable[[socket.socket], Awaitable[object]]
    places: Callable[..., Awaitable[Sequence[AddrInfo]]]
    aside: Callable[[Callable[[], Any]], Awaitable[Any]]
