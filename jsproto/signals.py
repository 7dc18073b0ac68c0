"""The two answers that are not items: "nothing yet" and "nothing ever again".

``take`` answers an item, ``NEED_DATA`` or ``ENDED``. Both signals are members of one enum, so that
a checker narrows ``T | NeedData | Ended`` by an identity test, without a cast, and no item of a
user can be mistaken for a signal.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal, TypeAlias


class Signal(Enum):
    """What ``take`` says when it has no item to give."""

    #: Nothing is there now; an :class:`~jsproto.core.connection.events.Ready` event says when
    #: asking again makes sense.
    NEED_DATA = "NEED_DATA"
    #: The conversation is over and its last item has been taken.
    ENDED = "ENDED"

    def __repr__(self) -> str:
        return self.name


NEED_DATA: Final = Signal.NEED_DATA
ENDED: Final = Signal.ENDED

NeedData: TypeAlias = Literal[Signal.NEED_DATA]
Ended: TypeAlias = Literal[Signal.ENDED]
