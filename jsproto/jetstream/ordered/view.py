"""How the messages of an ordered consumer are seen: as they are, or as whatever a view makes of
them.

Theory. A key-value watch, the chunks of an object and a table over a stream all read the same
thing, every message once and in order, and differ only in what they make of it. So they are views
over one machine, and a view is none itself: it asks for nothing, knows no time, and never hears of
gaps and resets. It sees each message once, in stream order, when the user takes; it may make none,
one or several items of it; it may say that it has seen enough.

`caught_up` comes exactly once, when everything that was there when the consumer was first made has
been seen, whatever the view made of it: after the message that completes it, or at once where
nothing was there (B220, B221).

What a view remembers is its `STATE`; what it hands out should be plain data or immutable, for then
a snapshot of the consumer is plain too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar, final

from jsproto.core.state import Snapshottable
from jsproto.jetstream.delivery.message import JsMessage

T_co = TypeVar("T_co", covariant=True)


class View(Snapshottable, Generic[T_co]):
    """What is made of the messages."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def see(self, msg: JsMessage) -> Iterable[T_co]:
        """The items that a message stands for."""
        raise NotImplementedError

    def caught_up(self) -> Iterable[T_co]:
        """The items that stand for "this was all there was"; told once."""
        return ()

    @property
    def done(self) -> bool:
        """Whether the view has seen enough: the consumer ends."""
        return False


@final
class Messages(View[JsMessage]):
    """The messages themselves."""

    __slots__ = ()

    def see(self, msg: JsMessage) -> tuple[JsMessage]:
        """The message."""
        return (msg,)
