"""A command that may be written once.

An ack settles a delivery, and a second ack of the same delivery must not reach the wire. Whether it
may still be written belongs to the thing that is settled, not to the connection, so the connection
gives it a way to write: *write first, mark after*. A command that could not be written leaves the
thing open.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

#: Takes the bytes of one command. What it raises goes through to whoever settles; nothing is
#: settled then.
Write = Callable[[bytes], object]


class Settleable(Protocol):
    """What :meth:`Connection.settle` takes: a message of the floor above for its plain ack, or a
    message and a verb.
    """

    def settle_by(self, write: Write) -> bool:
        """Write the encoded command and mark what it settles; ``False`` if it must not be written
        any more.
        """
        ...

    def repeated(self) -> bool:
        """Whether nothing was written because it was written before; asked only then."""
        ...
