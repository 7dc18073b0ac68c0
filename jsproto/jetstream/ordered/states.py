"""The life of an ordered consumer as data: states, what moves them, what is told, and which
failures end it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from jsproto.core.state import IdentityEnum
from jsproto.errors.tree import (
    InvalidResponse,
    LocalProtocolError,
    PermissionViolation,
    RequestTimeout,
)
from jsproto.jetstream.api.errors import InvalidRequest, NotAllowed, StreamNotFound
from jsproto.jetstream.pull.request import PullNotice
from jsproto.jetstream.status import EndReason, StatusAction


class OrderedState(IdentityEnum):
    """The life of an ordered consumer."""

    #: Not opened yet.
    NEW = "NEW"
    #: No incarnation: the link is down, or the next attempt has its time.
    WAITING = "WAITING"
    #: One is asked for.
    CREATING = "CREATING"
    #: One is there and read.
    READING = "READING"
    #: Over for the user; what is left on the server is being deleted.
    CLOSING = "CLOSING"
    #: Nothing is left, neither here nor on the server.
    OVER = "OVER"


class OrderedInput(IdentityEnum):
    """What moves an ordered consumer."""

    #: The port is there.
    OPENED = "OPENED"
    #: A creation was sent.
    ASKED = "ASKED"
    #: The server has made what was asked for.
    CREATED = "CREATED"
    #: The incarnation, or the attempt, is worth nothing.
    LOST = "LOST"
    #: It ended for the user, and something may be left on the server.
    LEFT = "LEFT"
    #: It ended, and nothing is left.
    ENDED = "ENDED"


TRANSITIONS: Final[Mapping[OrderedState, Mapping[OrderedInput, OrderedState]]] = {
    OrderedState.NEW: {
        OrderedInput.OPENED: OrderedState.WAITING,
        OrderedInput.ENDED: OrderedState.OVER,
    },
    OrderedState.WAITING: {
        OrderedInput.ASKED: OrderedState.CREATING,
        OrderedInput.LEFT: OrderedState.CLOSING,
        OrderedInput.ENDED: OrderedState.OVER,
    },
    OrderedState.CREATING: {
        OrderedInput.CREATED: OrderedState.READING,
        OrderedInput.LOST: OrderedState.WAITING,
        OrderedInput.LEFT: OrderedState.CLOSING,
        OrderedInput.ENDED: OrderedState.OVER,
    },
    OrderedState.READING: {
        OrderedInput.LOST: OrderedState.WAITING,
        OrderedInput.LEFT: OrderedState.CLOSING,
        OrderedInput.ENDED: OrderedState.OVER,
    },
    OrderedState.CLOSING: {OrderedInput.ENDED: OrderedState.OVER},
    OrderedState.OVER: {},
}


class OrderedTimer(IdentityEnum):
    """The deadlines beside those of the parts."""

    #: The next creation may be tried.
    ATTEMPT = "ATTEMPT"


class OrderedNotice(Enum):
    """What an ordered consumer tells beside its items and what any pull tells (`PullNotice`); the
    detail is in brackets.
    """

    #: An incarnation is lost, the next one follows (the stream sequence that it starts behind, 0
    #: for the beginning).
    RESET = "RESET"
    #: A creation failed and will be tried again (the error).
    CREATE_FAILED = "CREATE_FAILED"
    #: Everything that was there at the beginning has been received (the last stream sequence).
    CAUGHT_UP = "CAUGHT_UP"
    #: Consumers that could not be deleted; the server forgets them when they are not used (their
    #: names).
    LEFT_BEHIND = "LEFT_BEHIND"


#: What asking again can't mend.
FATAL: Final = (StreamNotFound, InvalidRequest, NotAllowed, LocalProtocolError)
#: What was there before can't be, if it was never there.
FATAL_AT_FIRST: Final = (PermissionViolation,)
#: The server may have made the consumer although the creation failed for us.
UNKNOWN_OUTCOME: Final = (RequestTimeout, InvalidResponse)

STATUS_NOTICES: Final[Mapping[StatusAction, PullNotice]] = {
    StatusAction.DELETED: PullNotice.CONSUMER_DELETED,
    StatusAction.GONE_FOR_NOW: PullNotice.NO_RESPONDERS,
    StatusAction.RESET: PullNotice.LEADERSHIP_CHANGED,
    StatusAction.PULL_REFUSED: PullNotice.LIMIT_EXCEEDED,
    StatusAction.FATAL: PullNotice.REFUSED,
    StatusAction.PIN_LOST: PullNotice.PIN_LOST,
}
#: Ends of a pull that say: there is nothing more now.
NOTHING_LEFT: Final = {EndReason.NO_MESSAGES, EndReason.EXPIRED}
