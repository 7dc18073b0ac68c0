"""The events of a connection. Made by ``_client/generate.py`` from `jsproto_io._async_client.events`: do not edit."""

# ruff: noqa: SLF001 - client and handles are one thing in several modules

from __future__ import annotations

from typing import Self, final

from jsproto.driver import Listener, Told
from jsproto.signals import ENDED
from jsproto_io._sync_client.base import SyncBase


@final
class Events:
    """What happens to a connection, in order: an iterator that ends after `Closed`."""

    __slots__ = ("_client", "_listener")

    def __init__(self, client: SyncBase, listener: Listener) -> None:
        self._client = client
        self._listener = listener

    def __repr__(self) -> str:
        return f"<Events of {self._client!r}>"

    @property
    def missed(self) -> int:
        """Events that were dropped because no caller took them."""
        return self._listener.missed

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Told:
        told = self._client._next_event(self._listener)
        if told is ENDED:
            self.close()
            raise StopIteration
        return told

    def close(self) -> None:
        """Listen no more."""
        self._client._driver.unlisten(self._listener)
