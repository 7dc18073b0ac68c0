"""The life of a range reader as data: states, what moves them, what is told, and which failures end
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from jsproto.core.state import IdentityEnum
from jsproto.errors.tree import LocalProtocolError, PermissionViolation
from jsproto.jetstream.api.errors import CannotServe, InvalidRequest, NotAllowed, StreamNotFound


class RangeState(IdentityEnum):
    """The life of a range reader."""

    #: Not opened yet.
    NEW = "NEW"
    #: Nothing is asked: the link is down, or the next attempt has its time.
    WAITING = "WAITING"
    #: The stream's leader is asked what the stream is now.
    LOOKING = "LOOKING"
    #: Messages are asked for and come.
    READING = "READING"
    #: All seems to be here: the leader is asked whether that is so.
    PROVING = "PROVING"
    #: Over for the user; a consumer is being deleted.
    CLOSING = "CLOSING"
    #: Nothing is left, neither here nor on the server.
    OVER = "OVER"


class RangeInput(IdentityEnum):
    """What moves a range reader."""

    #: The port is there.
    OPENED = "OPENED"
    #: The leader is asked.
    ASKED = "ASKED"
    #: It is the stream that is meant, and there is something to read.
    FOUND = "FOUND"
    #: Whoever is read from has no more, or the last sequence has come.
    QUIET = "QUIET"
    #: The leader has more: who is read from lags behind it.
    BEHIND = "BEHIND"
    #: What was asked is worth nothing: link, consumer or answer lost.
    LOST = "LOST"
    #: It ended for the user, and a consumer may be left on the server.
    LEFT = "LEFT"
    #: It ended, and nothing is left.
    ENDED = "ENDED"


_ENDS: Final = {RangeInput.LEFT: RangeState.CLOSING, RangeInput.ENDED: RangeState.OVER}

TRANSITIONS: Final[Mapping[RangeState, Mapping[RangeInput, RangeState]]] = {
    RangeState.NEW: {
        RangeInput.OPENED: RangeState.WAITING,
        RangeInput.ENDED: RangeState.OVER,
    },
    RangeState.WAITING: {
        RangeInput.ASKED: RangeState.LOOKING,
        **_ENDS,
    },
    RangeState.LOOKING: {
        RangeInput.FOUND: RangeState.READING,
        RangeInput.LOST: RangeState.WAITING,
        **_ENDS,
    },
    RangeState.READING: {
        RangeInput.QUIET: RangeState.PROVING,
        RangeInput.LOST: RangeState.WAITING,
        **_ENDS,
    },
    RangeState.PROVING: {
        RangeInput.BEHIND: RangeState.READING,
        RangeInput.LOST: RangeState.WAITING,
        **_ENDS,
    },
    RangeState.CLOSING: {RangeInput.ENDED: RangeState.OVER},
    RangeState.OVER: {},
}


class RangeTimer(IdentityEnum):
    """The deadlines beside those of the parts."""

    #: The next attempt may be made.
    ATTEMPT = "ATTEMPT"
    #: Who lags may have caught up.
    AGAIN = "AGAIN"
    #: There was no progress for too long.
    STALLED = "STALLED"


class RangeNotice(Enum):
    """What a range reader tells beside its items; the detail is in brackets."""

    #: Something failed; the reader goes on behind what came (the error).
    FAILED = "FAILED"
    #: A message is missing, or who was read from lags for too long; the reader goes on behind what
    #: came (the last sequence).
    RESET = "RESET"
    #: Who was read from lags behind the leader, which has this sequence (the sequence).
    BEHIND = "BEHIND"
    #: Messages were lost (`LostRange`).
    LOST = "LOST"
    #: Consumers that could not be deleted; the server forgets them when they are not used (their
    #: names).
    LEFT_BEHIND = "LEFT_BEHIND"


#: What asking again cannot mend.
FATAL: Final = (StreamNotFound, InvalidRequest, NotAllowed, LocalProtocolError, PermissionViolation)
#: What asking again cannot mend if it never was better. The number of attempts that it is given.
FATAL_AT_FIRST: Final = (CannotServe,)
FIRST_ATTEMPTS: Final = 4
