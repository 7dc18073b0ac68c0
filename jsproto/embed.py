"""One conversation inside a connection that is not ours: any machine of this package, in any
client, in any framework.

Theory. A conversation needs little of a connection: interest in an inbox, messages sent, a word
when the link is lost or back, and the answer to a PING. `Embedded` keeps the books of that on one
side, whoever has a NATS client keeps its ways on the other, and between the two lie a few facts and
a short list of commands.

    told to it       `delivered`, `fenced`, `link_down`, `link_up`
    asked of it      `commands`, `notices`
    everything else  is the conversation's own: take, offered, told, closed, ticked; deadline,
    ended, finished

After each call the commands are done in order, and `deadline` is looked at again: that is the whole
loop.

What the client has to keep:

- What comes for a `Sub` is told with the sid of that `Sub`; for an `Unsub`, what had come before is
  told too, as far as the client can. (What is lost here comes again after ``ack_wait``.)
- Interest dies with the link. A client that restores its subscriptions by itself gives up ours when
  it tells `link_down`: the server may still hold pulls of the lost link, and would serve them to
  the old inbox.
- A `Fence` is a PING: `fenced` is told when its PONG is here and everything that came before it was
  told. One that the link swallowed needs no word.

Acks belong to the user and not to a link, so they take no part in this: see `acknowledgement`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, Generic, TypeAlias, TypeVar, final

from attrs import frozen

from jsproto.core.conversation.conversation import Conversation, Port
from jsproto.core.conversation.router import MUX_SID, number_of
from jsproto.errors.tree import ConnectionLost, ConversationClosed, JsprotoError, LocalProtocolError
from jsproto.jetstream.delivery.ack import ACK, Verb
from jsproto.jetstream.delivery.message import JsMessage, Settlement
from jsproto.wire.commands import Ping, Publish, Sub, Unsub
from jsproto.wire.frames import SID, SUBJECT, Delivery
from jsproto.wire.subjects import publish_subject

__all__ = [
    "ACK",
    "Embedded",
    "Fence",
    "Order",
    "Publish",
    "Sub",
    "Unsub",
    "acknowledgement",
    "header_block",
]

T = TypeVar("T")

#: No header of a block may end its line early.
_ONE_LINE: Final = str.maketrans("\r\n", "  ")


@final
@frozen
class Fence:
    """Find out when the server has worked off everything before: send a PING, and tell
    `Embedded.fenced` of its PONG.
    """

    token: int


Order: TypeAlias = Sub | Unsub | Publish | Fence


@final
class Embedded(Generic[T]):
    """A conversation, and the books that its connection would keep.

    Args:
        conversation: a new one; it is opened here.
        inbox: a subject of the client's own, never used before; everything that is asked for comes
            below it.
        now: seconds of the clock that all other inputs use.
        up: whether the client has a link.

    Raises:
        InvalidSubject: the inbox is no plain subject.
        ConversationClosed: the conversation was opened before.
        LocalProtocolError: what the conversation wants to send can't be sent.

    Attributes:
        conversation: to take from, to wish something of, and to look at.
    """

    __slots__ = ("_mux", "_muxed", "_port", "conversation")

    def __init__(
        self, conversation: Conversation[T], *, inbox: str, now: float, up: bool = True
    ) -> None:
        publish_subject(inbox)
        if conversation.port.number:
            raise ConversationClosed("expected a new conversation, this one was opened before")
        self.conversation = conversation
        self._port = conversation.port = Port(inbox_root=f"{inbox}.P", mux_root=f"{inbox}.R", up=up)
        self._mux = f"{inbox}.R."
        self._muxed = False
        conversation.opened(now)
        if conversation.ended and isinstance(conversation.error, LocalProtocolError):
            raise conversation.error

    def __repr__(self) -> str:
        return f"<Embedded {self.conversation!r}>"

    # ------------------------------------------------------------------ facts

    def delivered(self, run: Sequence[Delivery], now: float) -> None:
        """Messages of one sid came, in order."""
        sid = run[0][SID]
        if sid == MUX_SID:
            for frame in run:
                token = number_of(frame[SUBJECT].rpartition(".")[2])
                if token > 0:
                    self.conversation.replied(token, frame, now)
        else:
            if sid == self._port.sid:
                self._port.received += len(run)
            self.conversation.delivered(run, now)

    def fenced(self, token: int, now: float) -> None:
        """The PONG behind the `Fence` with this token is here; one of a lost link is ignored."""
        fences = self._port.fences
        while fences and fences[0] <= token:
            self.conversation.fenced(fences.popleft(), now)

    def link_down(self, now: float, error: JsprotoError | None = None) -> None:
        """The link is lost: commands that were not done, interest and fences are void."""
        port = self._port
        if port.up:
            port.up = False
            port.fences.clear()
            port.commands.clear()
            self.conversation.link_down(
                error or ConnectionLost("the client that embeds us lost its link"), now
            )

    def link_up(self, now: float) -> None:
        """A link is up: the interest is stated anew, and what is wished."""
        port = self._port
        if not port.up:
            port.up = True
            port.commands.clear()  # interest stated meanwhile is stated again
            port.renew()
            self._muxed = False
            self.conversation.link_up(now)

    # ------------------------------------------------------------------ what it wants

    def commands(self) -> list[Order]:
        """What is to be done now, in order; each once. While the link is down there is nothing to
        do.
        """
        port = self._port
        stated, port.commands = port.commands, []
        if not port.up:
            return []
        pings = sum(isinstance(command, Ping) for command in stated)
        tokens = iter(list(port.fences)[len(port.fences) - pings :])
        orders: list[Order] = []
        for command in stated:
            if isinstance(command, Ping):
                orders.append(Fence(next(tokens)))
                continue
            if (
                isinstance(command, Publish)
                and command.reply.startswith(self._mux)
                and not self._muxed
            ):
                self._muxed = True
                orders.append(Sub(f"{self._mux}*.*", MUX_SID))
            orders.append(command)
        return orders

    def notices(self) -> list[tuple[Enum, object]]:
        """What is worth knowing, kind and detail; each once."""
        told, self._port.notices = self._port.notices, []
        return told


# ------------------------------------------------------------------------------------------------ small change


def acknowledgement(message: JsMessage, verb: Verb = ACK) -> Publish | None:
    """What the client sends to say ``verb`` for a message; ``None`` if it may not be said (any
    more).

    The message counts as settled from now on. If the client could not send it,
    ``message.told(AckFact.UNSENT)`` opens the message again.

    Raises:
        LocalProtocolError: `jsproto.Next`, which is also a pull.
    """
    said: list[bytes] = []
    return (
        Publish(message.reply, verb.payload())
        if Settlement(message, verb).settle_by(said.append)
        else None
    )


def header_block(
    headers: Mapping[str, str | Sequence[str]] | None, status: str = "", description: str = ""
) -> bytes | None:
    """A header block from what a client has made of it; ``None`` if there is nothing in it.

    Nothing is checked but that a line stays a line: the reader of a block judges it
    (`jsproto.wire.headers`).

    Args:
        headers: each name with its value or values.
        status: the three digits of an inline status.
        description: the text behind them.
    """
    if not headers and not status:
        return None
    lines = [f"NATS/1.0 {status} {description}".rstrip()]
    for name, values in (headers or {}).items():
        lines += [f"{name}: {value}" for value in ([values] if isinstance(values, str) else values)]
    joined = "\r\n".join(line.translate(_ONE_LINE) for line in lines)
    return f"{joined}\r\n\r\n".encode("utf-8", "surrogateescape")
