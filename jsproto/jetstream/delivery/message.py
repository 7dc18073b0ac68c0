"""A message that a consumer delivered: a core message with the state of its acknowledgement.

Theory. It stays a thin object over the parser's tuple; what its reply subject says is read when
somebody asks (`metadata`). How far its acknowledgement is, is one attribute moved by the table of
`jsproto.jetstream.delivery.ack`. Whether the server has refused what was written is looked up only
when somebody asks for the `state` of a settled message, or settles it again.

Settling goes through `Connection.settle`, which takes anything with the methods of
`jsproto.core.conversation.settleable.Settleable`:

- a message itself is its plain ack, so that what is said once per message costs no object;
- `AckBatch` acks a whole list at the price of one call;
- `Settlement` says any verb, with a reply subject for `Next`.

`settlement` picks the right one. All follow *write first, mark after*: what was not written leaves
the message open. A second settlement sends nothing: ADR-15 has it ignored, and a feed that is
``strict`` has it raised (`AlreadySettled`). With ack policy all the feed is told of an ack
(`CumulativeAck`), since that settles earlier messages too.

The reply subject goes out exactly as it came; it came through the parser, so it holds neither blank
nor line end and can't be more than one argument of the PUB. It must begin as that of a delivery
does: an ack is said to a consumer and to nobody else.

`confirmed` is the double ack: the ack as a request, whose empty answer says that the server has
worked it off.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Protocol, cast, final

from jsproto.core.conversation.conversation import Call, Port
from jsproto.core.conversation.message import Message, payload_shown
from jsproto.core.conversation.procedure import Steps
from jsproto.core.conversation.settleable import Settleable, Write
from jsproto.core.numbers import seconds
from jsproto.errors.tree import LocalProtocolError, shorten
from jsproto.jetstream.delivery.ack import (
    ACK,
    ACK_ROOT,
    ASKED,
    CUMULATIVE,
    OPEN,
    SETTLED,
    TRANSITIONS,
    Ack,
    AckFact,
    AckState,
    AckSubject,
    InProgress,
    InvalidAckSubject,
    Next,
    Verb,
)
from jsproto.jetstream.errors import AlreadySettled
from jsproto.wire.encoder import encode_pub_trusted
from jsproto.wire.frames import Delivery


class JsMessage(Message):
    """One delivery of a stored message. A copy of it is itself: there is one ack state for each
    delivery.

    Attributes:
        feed: the conversation that it came through, or whatever else made it.
        said: what was said of its acknowledgement, whatever became of that; `state` knows what the
            server refused.
    """

    __slots__ = ("_metadata", "feed", "said")

    def __init__(self, frame: Delivery, feed: object = None, state: AckState = OPEN) -> None:  # pyright: ignore[reportMissingSuperCall]
        # Not through super().__init__: this runs once per message, and the call would cost half as
        # much again.
        self.frame = frame
        self._headers = None
        self.feed = feed
        self.said = state
        self._metadata: AckSubject | None = None

    @property
    def state(self) -> AckState:
        """How far its acknowledgement is; `MUTE` from the start if the consumer's ack policy is
        none, and `CUMULATIVE` if it is all.

        A message is open again if the server has refused what settled it (``-ERR``, permissions).
        The server says so some time after the ack was written, and says nothing to one that it
        takes.
        """
        if self.said is SETTLED:
            port: object = getattr(self.feed, "port", None)
            if isinstance(port, Port) and port.denied.take(self.reply):
                self.said = OPEN
        return self.said

    @state.setter
    def state(self, state: AckState) -> None:
        self.said = state

    @property
    def metadata(self) -> AckSubject:
        """What the reply subject says: sequences, deliveries, pending, timestamp.

        Raises:
            InvalidAckSubject: it is not that of a JetStream delivery.
        """
        if self._metadata is None:
            self._metadata = AckSubject.parse(self.frame[2])
        return self._metadata

    @property
    def size(self) -> int:
        """Bytes of the message as the server counts them for ``max_bytes`` (ADR-37)."""
        _, subject, reply, block, payload = self.frame
        names = subject + reply
        return (
            (len(names) if names.isascii() else len(names.encode("utf-8", "surrogateescape")))
            + (0 if block is None else len(block))
            + len(payload)
        )

    def told(self, fact: AckFact) -> bool:
        """Move the ack state; ``False`` if that can't happen now, and nothing was changed."""
        state = TRANSITIONS[self.said].get(fact)
        if state is None:
            return False
        self.said = state
        return True

    def settle_by(self, write: Write) -> bool:
        """Write the plain ack, ``PUB <reply> 4`` with ``+ACK``; ``False`` if it is not open or came
        without a reply.

        What ``write`` raises goes through, and the message is as open as before.

        Raises:
            AlreadySettled: it was settled before, and its feed is strict.
            InvalidAckSubject: it is open, and its reply subject is not that of a delivery.
        """
        reply = self.frame[2]
        state = self.said
        if reply[:8] != ACK_ROOT or (state is not OPEN and state is not CUMULATIVE):
            if reply[:8] != ACK_ROOT or self.state is not OPEN:
                _once(self)
                return False
            state = OPEN
        try:
            frame = f"PUB {reply} 4\r\n+ACK\r\n".encode()
        except UnicodeEncodeError:  # a name that is no UTF-8 goes back as it came
            frame = b"PUB %b 4\r\n+ACK\r\n" % reply.encode("utf-8", "surrogateescape")
        write(frame)
        self.said = SETTLED
        if state is CUMULATIVE:
            _cover(self)
        return True

    def repeated(self) -> bool:
        """Whether it was settled before."""
        return self.said is SETTLED or self.said is ASKED

    def __repr__(self) -> str:
        # A repr changes no state: a refusal that the feed has not read yet stays unread.
        port: object = getattr(self.feed, "port", None)
        refused = self.said is SETTLED and isinstance(port, Port) and self.reply in port.denied
        try:
            said = self.metadata
        except InvalidAckSubject:
            about = f"reply={self.reply!r}"
        else:
            about = f"stream={said.stream!r}, sequence={said.stream_sequence}, delivery={said.num_delivered}"
        state = (OPEN if refused else self.said).name
        return f"{type(self).__name__}(subject={self.subject!r}, {about}, state={state}, {payload_shown(self.payload)})"

    def __copy__(self) -> JsMessage:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> JsMessage:
        return self


class CumulativeAck(Protocol):
    """A feed of a consumer with ack policy all."""

    def covered(self, message: JsMessage) -> None:
        """This message was acked, and so was every earlier one."""
        ...


def _cover(message: JsMessage) -> None:
    cast("CumulativeAck", message.feed).covered(message)


def _once(message: JsMessage) -> None:
    """Nothing can be said: raise, if that is because it was said before and the feed is strict, or
    because no consumer would hear it.
    """
    reply = message.frame[2]
    if reply and not reply.startswith(ACK_ROOT) and message.state in {OPEN, CUMULATIVE}:
        raise _of_nobody(reply)
    if message.repeated() and getattr(message.feed, "strict", False):
        raise AlreadySettled(
            f"expected an open message, {shorten(message.subject)} with {shorten(message.reply)} is {message.state.name}"
        )


def _of_nobody(reply: str) -> InvalidAckSubject:
    return InvalidAckSubject(
        f"expected {ACK_ROOT} at the beginning of the reply subject of an open message, got {shorten(reply)}"
    )


@final
class AckBatch:
    """The plain ack of each of several messages, written together: a `Settleable`. Those not open
    are left out.

    Of messages of one consumer with ack policy all only the last is acked.
    """

    __slots__ = ("messages",)

    def __init__(self, messages: Iterable[JsMessage]) -> None:
        self.messages = list(dict.fromkeys(messages))

    def settle_by(self, write: Write) -> bool:
        """Write the acks of all that are open; ``False`` if none is.

        Raises:
            InvalidAckSubject: the reply subject of an open one is not that of a delivery; none was
                written.
        """
        replies = [each.frame[2] for each in self.messages if each.said is OPEN and each.frame[2]]
        if len(replies) < len(self.messages):
            replies = [
                each.frame[2] for each in self.messages if each.state is OPEN and each.frame[2]
            ]
            replies += [each.frame[2] for each in self._last()]
        if not replies:
            return False
        listed = "\n" + "\n".join(replies)  # no reply subject holds a line feed
        if listed.count("\n" + ACK_ROOT) != len(replies):
            raise _of_nobody(next(each for each in replies if not each.startswith(ACK_ROOT)))
        joined = " 4\r\n+ACK\r\nPUB ".join(replies).encode("utf-8", "surrogateescape")
        write(b"PUB %b 4\r\n+ACK\r\n" % joined)
        self._mark()
        return True

    def _mark(self) -> None:
        cumulative = False
        for each in self.messages:
            if each.said is OPEN and each.frame[2]:
                each.said = SETTLED
            elif each.said is CUMULATIVE:
                cumulative = True
        for each in self._last() if cumulative else ():
            each.said = SETTLED
            _cover(each)

    def repeated(self) -> bool:
        """No: what is not open is left out."""
        return False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.messages)} messages)"

    def _last(self) -> list[JsMessage]:
        """The last message of each feed with ack policy all."""
        last: dict[int, JsMessage] = {}
        for each in self.messages:
            if each.said is not CUMULATIVE or not each.frame[2]:
                continue
            known = last.setdefault(id(each.feed), each)
            if known.metadata.stream_sequence < each.metadata.stream_sequence:
                last[id(each.feed)] = each
        return list(last.values())


@final
class Settlement:
    """Any verb for one message: a `Settleable`.

    Args:
        message: what is settled.
        verb: how.
        reply: for `Next`, where the messages shall come: a token of a subscribed port
            (`Port.token`).

    Raises:
        LocalProtocolError: `Next` without a reply, or a reply with another verb (that is
            `confirmed`).
    """

    __slots__ = ("fact", "message", "reply", "verb")

    def __init__(self, message: JsMessage, verb: Verb, reply: str = "") -> None:
        if isinstance(verb, Next) != bool(reply):
            raise LocalProtocolError(
                f"expected a reply subject with Next and only there, got {verb} with {shorten(reply)}"
            )
        self.message = message
        self.verb = verb
        self.reply = reply
        self.fact = AckFact.PROGRESSED if isinstance(verb, InProgress) else AckFact.SENT

    def settle_by(self, write: Write) -> bool:
        """Write the PUB; ``False`` if the verb may not be said (any more) or the message came
        without a reply.

        Raises:
            AlreadySettled, InvalidAckSubject: as those of the message.
        """
        message = self.message
        if self.fact not in TRANSITIONS[message.state] or not message.reply.startswith(ACK_ROOT):
            _once(message)
            return False
        write(encode_pub_trusted(message.reply, self.reply, self.verb.payload()))
        covers = message.state is CUMULATIVE and isinstance(self.verb, (Ack, Next))
        message.told(self.fact)
        if covers:
            _cover(message)
        return True

    def repeated(self) -> bool:
        """Whether the message was settled before."""
        return self.message.repeated()


def settlement(message: JsMessage, verb: Verb = ACK, reply: str = "") -> Settleable:
    """What `Connection.settle` takes to say ``verb`` for ``message``."""
    return message if isinstance(verb, Ack) and not reply else Settlement(message, verb, reply)


def confirmed(
    message: JsMessage, verb: Verb = ACK, *, timeout: float | timedelta = 5.0
) -> Steps[bool]:
    """Settle a message and wait until the server says that it has.

    True means that the consumer has answered; False that nothing was sent, because the message is
    settled, being settled, mute, or came without a reply. If no answer comes the message is open
    again and may be settled once more: a second ack of one delivery is harmless to the server, a
    lost one is not.

    What an answer proves: that the consumer exists and has seen this very body. The server answers
    bodies that it ignores just as well (2.15.1), so it is the body, fixed in
    `jsproto.jetstream.delivery.ack`, that makes it mean "settled". Servers of 2.9 also answer for
    sequences that they never delivered, and for consumers with ack policy none. `InProgress`
    settles nothing: its answer says that the consumer is there and that ``ack_wait`` has begun
    anew, if the message was still ours; the message stays open whatever is answered.

    Args:
        message: what is settled.
        verb: how; not `Next`, whose reply is the inbox of a pull.
        timeout: seconds.

    Raises:
        NoResponders: the consumer is gone, the message is not of this account, or its ack policy is
            none.
        RequestTimeout: no answer in time.
        ConnectionLost: the link was lost meanwhile.
        AlreadySettled: it is settled, or being settled, and its feed is strict.
        InvalidAckSubject: it is open, and its reply subject is not that of a delivery.
        LocalProtocolError: a verb that can't be confirmed.
    """
    if isinstance(verb, Next):
        raise LocalProtocolError(f"expected a verb whose answer is empty, got {verb}")
    within = seconds("timeout", timeout)
    before = message.state
    going_on = isinstance(verb, InProgress)
    if not message.reply.startswith(ACK_ROOT) or not message.told(
        AckFact.PROGRESSED if going_on else AckFact.SENT_ASKING
    ):
        _once(message)
        return False
    if going_on:
        yield Call(message.reply, verb.payload(), timeout=within)
        return True
    answered = False
    try:
        yield Call(message.reply, verb.payload(), timeout=within)
        answered = True
    finally:
        if answered:
            message.told(AckFact.CONFIRMED)
        else:
            message.told(AckFact.UNCONFIRMED)
            message.state = before  # open, or cumulative as it was
    if before is CUMULATIVE and isinstance(verb, Ack):
        _cover(message)
    return True
