"""What a client asks of a conversation, whatever its way of waiting: is it one, how did it end, and
which error does the caller get.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TypeVar

import jsproto
from jsproto.core.conversation.conversation import Conversation
from jsproto.core.conversation.procedure import Procedure, Sleep, Steps
from jsproto.core.numbers import seconds
from jsproto.driver import no_conversation
from jsproto.errors import InvalidConfig, JsprotoError, RequestTimeout
from jsproto.errors.tree import shorten
from jsproto.jetstream.delivery.ack import AckState
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.status import EndReason
from jsproto.wire.headers import HeaderItems, Headers

T = TypeVar("T")


def alarm(timeout: float | timedelta) -> Procedure[None]:
    """A conversation with the clock alone: it ends when so much time has passed.

    Raises:
        InvalidConfig: it is no duration.
    """
    wait = seconds("timeout", timeout, above=False)

    def steps() -> Steps[None]:
        yield Sleep(wait)

    return Procedure(steps)


def conversation_of(given: Conversation[T]) -> Conversation[T]:
    """What a user gave to be read or filled.

    Raises:
        InvalidConfig: it is no conversation.
    """
    seen: object = given
    if isinstance(seen, str):
        raise InvalidConfig(
            f"expected a conversation, got the text {shorten(seen)}: the stream of that name is"
            f" nc.jetstream().stream({shorten(seen)})"
        )
    if not isinstance(seen, Conversation):
        raise no_conversation(seen)
    return given


def out_of_time(feed: Conversation[T], timeout: float) -> RequestTimeout:
    """The error for a reader who waited for so long."""
    return RequestTimeout(
        f"expected an item of {type(feed).__name__} within {timeout:g} s, none came"
    )


def run_dry(feed: Conversation[T]) -> JsprotoError:
    """The error for a reader who wants one item more than there are: it says how the feed ended."""
    reason: object = getattr(feed, "reason", None)
    how = f" ({reason.name})" if isinstance(reason, EndReason) else ""
    return feed.too_late(f"expected another item of {type(feed).__name__}, it has ended{how}")


def no_result(conversation: Conversation[T]) -> JsprotoError:
    """The error for a caller who wants the one result of a conversation that ended without it."""
    return conversation.too_late(
        f"expected a result of {type(conversation).__name__}, it ended without"
    )


def reason_of(feed: Conversation[T]) -> EndReason | None:
    """How a feed of stored messages ended; ``None`` before, and for other feeds.

    Raises:
        JsprotoError: it ended badly.
    """
    if feed.ended and feed.error is not None:
        raise feed.error
    reason: object = getattr(feed, "reason", None)
    return reason if isinstance(reason, EndReason) else None


def pulls_of(feed: Conversation[T], now: float) -> tuple[jsproto.jetstream.OpenPull, ...]:
    """The open pulls of a feed that pulls, oldest first; none of any other."""
    return feed.pulls(now) if isinstance(feed, (jsproto.Consume, jsproto.Fetch)) else ()


def unsettled(item: object) -> bool:
    """Whether a handler gave a message back without a word about it."""
    return isinstance(item, JsMessage) and item.said in {AckState.OPEN, AckState.CUMULATIVE}


def hands_back(feed: Conversation[T]) -> bool:
    """Whether a feed wants its messages back, and gives the next for it."""
    return isinstance(feed, jsproto.jetstream.AckNext) and not feed.ended


def headers_of(given: HeaderItems | None) -> Headers | None:
    """Headers as commands want them.

    Raises:
        InvalidHeader: a name or value that no header can carry.
    """
    return given if given is None or isinstance(given, Headers) else Headers(given)


def failure_of(result: object) -> JsprotoError | None:
    """The error that a result of a sink stands for, if it stands for one."""
    error = getattr(result, "error", None)
    return error if isinstance(error, JsprotoError) else None
