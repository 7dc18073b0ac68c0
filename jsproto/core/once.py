"""A command that may be written once.

An ack settles a delivery, and a second ack of the same delivery must not reach the wire. Whether it may still be
written belongs to the thing that is settled, not to the connection, so the connection asks, writes and then tells:
*write first, mark after*. A command that could not be written leaves the thing open.
"""

from __future__ import annotations

from typing import Protocol


class Once(Protocol):
    """What :meth:`Connection.settle` takes. Built by the floor above from a message and a verb."""

    def frame(self) -> bytes | None:
        """The encoded command, or ``None`` if it must not be written any more. Changes nothing."""
        ...

    def written(self) -> None:
        """The bytes are on their way."""
        ...

    def repeated(self) -> bool:
        """Whether there is no frame because it was written before; asked only then."""
        ...
