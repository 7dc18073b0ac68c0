"""The two signals of ``take``: no item yet, and no item ever again.

``take`` returns an item, ``NEED_DATA`` or ``ENDED``. Both signals are members of one enum. So a
type checker narrows ``T | NeedData | Ended`` by an identity test, without a cast, and no item of a
user can be mistaken for a signal.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal, TypeAlias


class Signal(Enum):
    """Returned by ``take`` when there is no item."""

    #: No item is there now; a :class:`~jsproto.core.connection.events.Ready` event follows when it
    #: is worth to call ``take`` again.
    NEED_DATA = "NEED_DATA"
    #: The conversation is over and its last item was taken.
    ENDED = "ENDED"

    def __repr__(self) -> str:
        return self.name


NEED_DATA: Final = Signal.NEED_DATA
ENDED: Final = Signal.ENDED

NeedData: TypeAlias = Literal[Signal.NEED_DATA]
Ended: TypeAlias = Literal[Signal.ENDED]
