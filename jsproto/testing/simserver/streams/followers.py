"""What a stream knows of its consumers."""

from __future__ import annotations

from typing import Protocol

from jsproto.testing.simserver.streams.store import Stored


class Follower(Protocol):
    """What a stream asks of its consumers."""

    def stored(self, message: Stored) -> bool:
        """A message was added at the end; answers whether it is wanted."""
        ...

    def turned(self, now: int) -> None:
        """Something may have changed: deliver what can be delivered."""

    def removed(self, message: Stored, now: int) -> bool:
        """A message left the stream. Answers whether there is room for another."""
        ...

    def withdrawn(self, message: Stored) -> None:
        """A purge takes a message out of the stream."""

    def counted(self) -> None:
        """Several messages left at once: count anew what is ahead."""

    def purged(self, pattern: str, begin: int, now: int, *, whole: bool) -> bool:
        """What is left under ``pattern`` begins at this sequence; 0 if nothing is. Answers whether
        there is room for another.
        """
        ...

    def filtered(self, subject: str) -> bool:
        """Whether messages on this subject are for this consumer."""
        ...

    def needs(self, message: Stored) -> bool:
        """Whether this consumer has not done with the message."""
        ...
