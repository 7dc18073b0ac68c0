"""The events of a connection, for a caller to iterate over."""

# ruff: noqa: SLF001 - client and handles are one thing in several modules

from __future__ import annotations

from typing import Self, final

from jsproto.driver import Listener, Told
from jsproto.signals import ENDED
from jsproto_io._async_client.base import AsyncBase


@final
class Events:
    """What happens to a connection, in order: an async iterator that ends after `Closed`."""

    __slots__ = ("_client", "_listener")

    def __init__(self, client: AsyncBase, listener: Listener) -> None:
        self._client = client
        self._listener = listener

    def __repr__(self) -> str:
        return f"<Events of {self._client!r}>"

    @property
    def missed(self) -> int:
        """Events that were dropped because no caller took them."""
        return self._listener.missed

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Told:
        told = await self._client._next_event(self._listener)
        if told is ENDED:
            self.close()
            raise StopAsyncIteration
        return told

    def close(self) -> None:
        """Listen no more."""
        self._client._driver.unlisten(self._listener)
