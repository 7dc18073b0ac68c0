"""Run one conversation of this package inside another NATS client, in any framework.

Theory. A conversation needs little of a connection: subscriptions, sent messages, news about the
link, and the PONG for a PING. `Embedded` does the bookkeeping of a connection; the host client
sends and receives. The two exchange a few facts and commands:

    facts for it     `delivered`, `fenced`, `link_down`, `link_up`
    output           `commands`, `notices`
    everything else  belongs to the conversation: take, offered, told, closed, ticked; deadline,
                     ended, finished

After each call the host executes the commands in order and looks at `deadline` again. That is the
whole loop.

The host client must keep these rules:

- It passes on messages for a `Sub` with the sid of that `Sub`. Messages that arrived before an
  `Unsub` are passed on too, as far as possible. A message that is lost here is delivered again
  after ``ack_wait``.
- Subscriptions end with the link. A client that restores its subscriptions by itself must drop
  those of the conversation when it calls `link_down`. The server may still hold pulls of the lost
  link and would deliver their messages to the old inbox.
- A `Fence` is a PING. The client calls `fenced` when its PONG has arrived and everything that came
  before it was passed on. A PONG that was lost with the link needs no call.

Acks belong to the user and not to a link, so this class does not send them: see `acknowledgement`.
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

#: Replaces CR and LF by blanks, so that no header ends its line early.
_ONE_LINE: Final = str.maketrans("\r\n", "  ")


@final
@frozen
class Fence:
    """Send a PING, and call `Embedded.fenced` when its PONG arrives.

    The PONG shows that the server has processed everything sent before.
    """

    token: int


Order: TypeAlias = Sub | Unsub | Publish | Fence


@final
class Embedded(Generic[T]):
    """A conversation, with the bookkeeping that a connection would do for it.

    Args:
        conversation: a new conversation; the constructor opens it.
        inbox: a subject of the client that was never used before. All replies arrive below it.
        now: seconds of the clock that all other inputs use.
        up: whether the client is connected.

    Raises:
        InvalidSubject: the inbox is not a literal subject.
        ConversationClosed: the conversation was opened before.
        LocalProtocolError: the first command of the conversation cannot be sent.

    Attributes:
        conversation: the conversation; the user takes items from it and stops it.
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
        """Messages of one sid arrived, in order."""
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
        """The PONG of the `Fence` with this token arrived; a PONG of a lost link is ignored."""
        fences = self._port.fences
        while fences and fences[0] <= token:
            self.conversation.fenced(fences.popleft(), now)

    def link_down(self, now: float, error: JsprotoError | None = None) -> None:
        """The link is lost: pending commands, subscriptions and fences are void."""
        port = self._port
        if port.up:
            port.up = False
            port.fences.clear()
            port.commands.clear()
            self.conversation.link_down(
                error or ConnectionLost("the client that embeds us lost its link"), now
            )

    def link_up(self, now: float) -> None:
        """The link is up: the conversation subscribes again and continues."""
        port = self._port
        if not port.up:
            port.up = True
            port.commands.clear()  # link_up subscribes again
            port.renew()
            self._muxed = False
            self.conversation.link_up(now)

    # ------------------------------------------------------------------ outputs

    def commands(self) -> list[Order]:
        """Return the commands to execute now, in order, each once; none while the link is down."""
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
        """Return the new notices as (kind, detail), each once."""
        told, self._port.notices = self._port.notices, []
        return told


# ------------------------------------------------------------------------------------ helpers


def acknowledgement(message: JsMessage, verb: Verb = ACK) -> Publish | None:
    """Return the command that acks a message with ``verb``; ``None`` if it may not be sent.

    The message counts as settled from now on. If the client cannot send the command, call
    ``message.told(AckFact.UNSENT)`` to open the message again.

    Raises:
        LocalProtocolError: the verb is `jsproto.Next`, which is also a pull.
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
    """Return a header block from the headers of the host client; ``None`` if there are none.

    Line ends inside a header become blanks. Nothing else is checked; the reader of the block does
    that (`jsproto.wire.headers`).

    Args:
        headers: each name with its value or values.
        status: the three digits of a status.
        description: the text after the status.
    """
    if not headers and not status:
        return None
    lines = [f"NATS/1.0 {status} {description}".rstrip()]
    for name, values in (headers or {}).items():
        lines += [f"{name}: {value}" for value in ([values] if isinstance(values, str) else values)]
    joined = "\r\n".join(line.translate(_ONE_LINE) for line in lines)
    return f"{joined}\r\n\r\n".encode("utf-8", "surrogateescape")
