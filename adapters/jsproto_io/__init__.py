"""Adapters: the pure machines of jsproto on real transports. One module for each way of waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jsproto.lazy import lazy_names

if TYPE_CHECKING:
    from jsproto_io import anyio, asyncio, blocking, memory, recording, trio

__all__ = ["anyio", "asyncio", "blocking", "memory", "recording", "trio"]

#: A module is loaded when a program first asks for it; trio and anyio need packages of these names.
_HOMES: Final = {name: f"jsproto_io.{name}" for name in __all__}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
