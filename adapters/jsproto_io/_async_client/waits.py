"""Where a task waits: at the slot of a conversation, at a listener, or at the connection as a whole.

A task that waits takes a place, asks for a pump, waits, leaves the place and looks again: *await,
then take*. Nothing is taken before the wait is over, so a cancelled wait loses nothing.
"""

# ruff: noqa: SLF001 - a client and its waits are one thing in two modules

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol

from jsproto.driver import Driver, Listener, WaitSlot


class Waiting(Protocol):
    """The client, as its waits see it."""

    _driver: Driver

    def _waiter(self) -> Any:
        """A fresh waiter."""
        ...

    def _until(self, waiter: Any, /) -> Awaitable[object]:
        """Pump, and wait until the waiter is woken."""
        ...


async def taking(client: Waiting, slot: WaitSlot) -> None:
    """Wait until there may be an item."""
    waiter = slot.taker = client._waiter()
    try:
        await client._until(waiter)
    finally:
        slot.taker = None


async def racing(client: Waiting, slot: WaitSlot, clock: WaitSlot) -> None:
    """Wait until there may be an item, or time is up."""
    waiter = slot.taker = clock.taker = client._waiter()
    try:
        await client._until(waiter)
    finally:
        slot.taker = clock.taker = None


async def putting(client: Waiting, slot: WaitSlot) -> None:
    """Wait until there may be room."""
    waiter = slot.putter = client._waiter()
    try:
        await client._until(waiter)
    finally:
        slot.putter = None


async def listening(client: Waiting, listener: Listener) -> None:
    """Wait until there may be an event."""
    waiter = listener.waiter = client._waiter()
    try:
        await client._until(waiter)
    finally:
        listener.waiter = None


async def changed(client: Waiting, clock: WaitSlot | None = None) -> None:
    """Wait until something changes for the connection as a whole, or time is up."""
    waiter = client._waiter()
    client._driver.wait(waiter)
    if clock is not None:
        clock.taker = waiter
    try:
        await client._until(waiter)
    finally:
        client._driver.leave(waiter)
        if clock is not None:
            clock.taker = None
