"""The events that a byte stream reports to its client."""

from __future__ import annotations

from typing import Protocol


class Inlet(Protocol):
    """The client, as its byte streams see it. Each of these is called once per event of the stream."""

    def up(self) -> None:
        """The stream is open."""

    def data(self, data: bytes) -> None:
        """These bytes came."""

    def unsent(self, count: int) -> None:
        """The kernel has not yet taken ``count`` bytes."""

    def room(self, count: int) -> None:
        """The kernel has taken bytes: ``count`` are left. The client sends what fits now."""

    def lost(self, error: Exception | None) -> None:
        """The stream is gone, or could not be opened; ``None`` for an end of stream."""
