"""What a byte stream tells the client that it belongs to."""

from __future__ import annotations

from typing import Protocol


class Inlet(Protocol):
    """The client, as its byte streams see it. Each of these is called once per event of the stream."""

    def up(self) -> None:
        """The stream is open."""

    def data(self, data: bytes) -> None:
        """These bytes came."""

    def unsent(self, count: int) -> None:
        """So many bytes are still to leave."""

    def room(self, count: int) -> None:
        """The same, and nothing else will tell the client soon: it looks what it can send now."""

    def lost(self, error: Exception | None) -> None:
        """The stream is gone, or could not be opened; ``None`` for an end of stream."""
