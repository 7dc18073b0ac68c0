"""The protocol of a command that may be written only once.

An ack settles a delivery, and a second ack of the same delivery must not reach the wire. The
settled object decides whether the command may be written, not the connection. Therefore the
connection passes a function that writes. The object first writes and then marks itself as settled,
so a failed write leaves it open.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

#: Takes the bytes of one command. Its errors reach the caller that settles, and then nothing is
#: settled.
Write = Callable[[bytes], object]


class Settleable(Protocol):
    """The argument of :meth:`Connection.settle`: a JetStream message, or a message and a verb."""

    def settle_by(self, write: Write) -> bool:
        """Write the command and mark the object as settled; ``False`` if it may not be written."""
        ...

    def repeated(self) -> bool:
        """Tell whether nothing was written because it was written before; called only then."""
        ...
