"""The recorder: a connection that writes down what it is told and what it says, so that an incident becomes a file.

Theory. It *is* a connection, with the same inputs and the same three outputs; what it adds is one record for each: a verb of the user,
bytes in, bytes out, an event, and that items were handed out. Bytes are written as they are on the wire below any TLS or
WebSocket, credentials never are (`jsproto.trace.redaction`). A record has the time of the input that it belongs to, for outputs have none.

All links of one connection have one name, so a reader of the trace knows that the next link is of the same client.

| record | says |
|---|---|
| ``! open``, ``! close``, ``! drain``, ``! stop`` | what was done with a conversation, by its number, or with all |
| ``! reconnect``, ``! authenticate`` | the link was left on purpose; credentials were given |
| ``= dial``, ``= connected``, ``= lost``, ``= client_close`` | the byte stream: asked for, open, gone, given up |
| ``= up``, ``= down``, ``= lame_duck``, ``= notice``, ``= over`` | what the user is told; errors by their class alone, for a text may quote the peer |
| ``= taken`` | items handed out: of which conversation, how many, and the reply subject of the last |

Publishes and acks are no verbs here: their bytes say all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeVar, final

from jsproto.core.auth import Auth
from jsproto.core.connection import Connection, ConversationT
from jsproto.core.conversation import Conversation, Wish
from jsproto.core.events import (
    Closed,
    Connected,
    Dial,
    Disconnected,
    Event,
    HangUp,
    LameDuck,
    Notice,
)
from jsproto.core.link import LinkState
from jsproto.core.message import Message
from jsproto.core.options import Options
from jsproto.core.servers import Server
from jsproto.signals import ENDED, NEED_DATA, Ended, NeedData
from jsproto.trace.recording import Happened, Received, Sent, Wished
from jsproto.trace.tape import Tape

T = TypeVar("T")

#: The name of the one connection in the trace.
CONN: Final = "a"
#: The event that says that items were handed out.
TAKEN: Final = "taken"

_ACKS: Final = "$JS.ACK."


@final
class Recorder(Connection):
    """A connection on tape.

    Args:
        tape: where the records go; it ends with the connection.
    """

    __slots__ = ("_left", "_over", "_start", "_tape")

    def __init__(self, options: Options, *, entropy: Callable[[int], bytes], now: float, tape: Tape) -> None:
        self._start = now
        self._tape = tape
        self._left: str | None = None
        self._over = False
        super().__init__(options, entropy=entropy, now=now)

    # ------------------------------------------------------------------ inputs

    def transport_up(self, now: float) -> None:
        """A stream, or TLS on it: only the first is a new link."""
        if self.state is LinkState.DIALING:
            self._happened("connected", {}, now)
        super().transport_up(now)

    def receive_data(self, data: bytes, now: float) -> None:
        """Bytes from the server, as they came."""
        self._tape.record(Received(at=self._when(now), conn=CONN, data=data))
        super().receive_data(data, now)

    def transport_down(self, error: Exception | None, now: float) -> None:
        """The end of a link."""
        self._happened("lost", {"error": _named(error)}, now)
        super().transport_down(error, now)

    def open(self, conversation: ConversationT, now: float) -> ConversationT:
        """A conversation begins."""
        # What it says is drained later, so the verb stands before its bytes; one that is refused is no verb.
        super().open(conversation, now)
        self._wished("open", conversation, now)
        return conversation

    def tell(self, conversation: Conversation[object] | None, wish: Wish, now: float) -> None:
        """It is asked to end in an orderly way."""
        self._wished(wish.name.lower(), conversation, now)
        super().tell(conversation, wish, now)

    def limit(self, conversation: Conversation[object], count: int, now: float) -> None:
        """It ends after so many messages; a limit that is refused is no verb."""
        super().limit(conversation, count, now)
        self._wished("limit", conversation, now, count=count)

    def close(self, conversation: Conversation[object] | None, now: float) -> None:
        """It ends."""
        self._wished("close", conversation, now)
        super().close(conversation, now)

    def reconnect(self, now: float, *, server: str | Server | None = None) -> None:
        """The link is left on purpose; a server that is refused is no verb."""
        super().reconnect(now, server=server)
        self._wished("reconnect", None, now)

    def authenticate(self, auth: Auth, now: float) -> None:
        """Credentials were given; what they are is nobody's business."""
        self._wished("authenticate", None, now)
        super().authenticate(auth, now)

    def take(self, conversation: Conversation[T], now: float) -> T | NeedData | Ended:
        """The next item."""
        item = super().take(conversation, now)
        if item is not NEED_DATA and item is not ENDED:
            self._taken_by_user(conversation, [item], now)
        return item

    def take_all(self, conversation: Conversation[T], now: float) -> list[T] | NeedData | Ended:
        """All at hand."""
        items = super().take_all(conversation, now)
        if isinstance(items, list) and items:
            self._taken_by_user(conversation, items, now)
        return items

    # ------------------------------------------------------------------ outputs

    def next_event(self) -> Event | None:
        """What the user is told, and what the adapter has to do."""
        event = super().next_event()
        if event is not None:
            self._told(event)
        return event

    def data_to_send(self) -> bytes:
        """Bytes to the server. The last of a link come behind the order to leave it, and the last of all behind the end."""
        data = super().data_to_send()
        if data:
            self._tape.record(Sent(at=self._when(self._now), conn=CONN, data=data))
        if self._left is not None:
            self._happened("client_close", {"reason": self._left}, self._now)
            self._left = None
        if self._over:
            self._tape.end()
        return data

    # ------------------------------------------------------------------ words

    def _told(self, event: Event) -> None:
        match event:
            case Dial():
                where = {"server": f"{event.server.host}:{event.server.port}"}
                self._happened("dial", where, self._now)
            case HangUp():
                self._left = "closed" if event.reason == "closed" else "given up"
            case Connected():
                self._happened("up", {"version": event.info.version, "resumed": event.resumed}, self._now)
            case Disconnected():
                self._happened("down", {"error": _named(event.error)}, self._now)
            case LameDuck():
                self._happened("lame_duck", {}, self._now)
            case Notice():
                whose = {} if event.conversation is None else _numbered(event.conversation)
                self._happened("notice", {"kind": event.kind.name, **whose}, self._now)
            case Closed():
                self._over = True
                self._happened("over", {"error": _named(event.error)}, self._now)
            case _:
                pass

    def _taken_by_user(self, conversation: Conversation[T], items: list[T], now: float) -> None:
        last = items[-1]
        reply = last.reply if isinstance(last, Message) and last.reply.startswith(_ACKS) else ""
        about = {**_numbered(conversation), "count": len(items), **({"reply": reply} if reply else {})}
        self._happened(TAKEN, about, now)

    def _wished(
        self, name: str, conversation: Conversation[object] | None, now: float, **more: object
    ) -> None:
        detail = more if conversation is None else {**_numbered(conversation), **more}
        self._tape.record(Wished(at=self._when(now), name=name, conn=CONN, detail=detail))

    def _happened(self, name: str, detail: Mapping[str, object], now: float) -> None:
        self._tape.record(Happened(at=self._when(now), name=name, conn=CONN, detail=detail))

    def _when(self, now: float) -> float:
        """Seconds since the start; an earlier moment counts as the last one."""
        return max(now, self._now) - self._start


def _numbered(conversation: Conversation[T]) -> dict[str, object]:
    return {"of": type(conversation).__name__, "number": conversation.port.number}


def _named(error: Exception | None) -> str:
    return "" if error is None else type(error).__name__
