"""The recorder: a connection that writes its inputs and outputs into a trace file.

Theory. The recorder *is* a connection, with the same inputs and the same three outputs. It adds one
record for each user verb, bytes in, bytes out, event, and handed out items. The bytes are those
below TLS or WebSocket. Credentials are never written (`jsproto.trace.formats.redaction`). A record
has the time of the input that caused it, because outputs have no time.

All links of one connection have one name, so a reader of the trace knows that the next link is of
the same client.

- ``! open``, ``! close``, ``! drain``, ``! stop``, ``! limit``: the user's verb, for one
  conversation by its number, or for all.
- ``! reconnect``, ``! authenticate``: the user left the link on purpose, or passed credentials.
- ``= dial``, ``= connected``, ``= secured``, ``= lost``, ``= client_close``: the byte stream was
  requested, opened, put under TLS, lost, or closed by the client.
- ``= up``, ``= down``, ``= lame_duck``, ``= notice``, ``= over``: events for the user. Errors are
  written by class only, because a text may quote the peer.
- ``= taken``: items were handed out. The detail holds the conversation, the number of items,
  whether all were taken at once, and the reply subject of the last one.

Publishes and acks are not recorded as verbs, because their bytes are enough.

A rerun (`jsproto.trace.replay.rerun`) also needs all that a machine decides by. So every time is a
multiple of 1 / `GRAIN` seconds, which the digits of the clock can express, and there are these
records:

- ``= begin``: clock and options at the start.
- ``= entropy``, ``= step``: entropy that was drawn, and the step of a procedure, during the input
  before the record.
- ``= tick``: a tick when something was due.
- ``= read``: number of the next frames that came with one read.
- ``= refused``, ``= unauthenticated``, ``= ended``: an open was refused, credentials failed, or a
  caller was given no item.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil
from typing import Any, Final, TypeVar, final

from jsproto.core.connection.auth import Auth
from jsproto.core.connection.connection import Connection, ConversationT
from jsproto.core.connection.events import (
    Closed,
    Connected,
    Dial,
    Disconnected,
    Event,
    HangUp,
    LameDuck,
    Notice,
)
from jsproto.core.connection.link import LinkState
from jsproto.core.connection.options import Options
from jsproto.core.connection.server_pool import Server
from jsproto.core.conversation.conversation import Conversation, StopMode
from jsproto.core.conversation.message import Message
from jsproto.core.conversation.procedure import Procedure, Step
from jsproto.errors.tree import JsprotoError
from jsproto.jetstream.push.base import PushFeed
from jsproto.signals import ENDED, NEED_DATA, Ended, NeedData
from jsproto.trace.formats.recording import Happened, Received, Record, Sent, Wished
from jsproto.trace.formats.written_names import written_error, written_name
from jsproto.trace.record.conversation_json import described, options_written, step_written
from jsproto.trace.record.tape import Tape
from jsproto.wire.nuid import Entropy

T = TypeVar("T")

#: Name of the only connection in the trace.
CONN: Final = "a"
#: Name of the event for items that were handed out.
TAKEN: Final = "taken"
#: Moments in a second: 2**19, so that the six digits of the format's clock distinguish them.
GRAIN: Final = 1 << 19

_ACKS: Final = "$JS.ACK."


@final
class Recorder(Connection):
    """A connection that records itself.

    Args:
        tape: the destination of the records; the recorder ends it when the connection is over.
    """

    __slots__ = ("_left", "_notes", "_over", "_start", "_tape")

    def __init__(
        self, options: Options, *, entropy: Callable[[int], bytes], now: float, tape: Tape
    ) -> None:
        self._start = moment(now)
        self._tape = tape
        self._notes: list[tuple[str, dict[str, object]]] = []
        self._left: str | None = None
        self._over = False
        tape.mark_reads()
        super().__init__(options, entropy=self._drawing(entropy), now=self._start)
        self._happened(
            "begin", {"start": self._start, "options": options_written(options)}, self._start
        )

    # ------------------------------------------------------------------ inputs

    def transport_up(self, now: float) -> None:
        """A byte stream is open, or TLS on it; only the first is a new link."""
        name = {LinkState.DIALING: "connected", LinkState.UPGRADING: "secured"}.get(self.state)
        super().transport_up(now)
        if name is not None:
            self._happened(name, {}, now)

    def receive_data(self, data: bytes, now: float) -> None:
        """Bytes came from the server."""
        super().receive_data(data, now)
        self._put_down(Received(at=self._when(now), conn=CONN, data=data))

    def transport_down(self, error: Exception | None, now: float) -> None:
        """The link has ended."""
        super().transport_down(error, now)
        self._happened("lost", {"error": _named(error)}, now)

    def handle_tick(self, now: float) -> None:
        """Time has passed; it is recorded only if something may be due."""
        due = self.next_deadline()
        counts = self._draining is not None or (
            due is not None and due <= max(moment(now), self._now)
        )
        super().handle_tick(now)
        if counts:
            self._happened("tick", {}, now)

    def open(self, conversation: ConversationT, now: float) -> ConversationT:
        """Open a conversation.

        A refused one is not recorded as a verb, but as an event if it has used a number.
        """
        fresh = not conversation.port.number
        arguments = described(conversation, self._tape.keep) if fresh else None
        made = {} if arguments is None else {"args": arguments}
        if fresh:
            self._watch(conversation)
        try:
            super().open(conversation, now)
        except JsprotoError:
            if fresh and conversation.port.number:
                self._happened("refused", {**_numbered(conversation), **made}, now)
            raise
        self._wished("open", conversation, now, **made)
        return conversation

    def put(self, conversation: Conversation[object], item: object, now: float) -> bool:
        """Offer an item of the user."""
        return super().put(conversation, item, moment(now))

    def tell(self, conversation: Conversation[object] | None, wish: StopMode, now: float) -> None:
        """Ask a conversation, or all of them, to end in an orderly way."""
        super().tell(conversation, wish, now)
        self._wished(wish.name.lower(), conversation, now)

    def limit(self, conversation: Conversation[object], count: int, now: float) -> None:
        """End a conversation after a number of messages; a refused limit is not recorded."""
        super().limit(conversation, count, now)
        self._wished("limit", conversation, now, count=count)

    def close(self, conversation: Conversation[object] | None, now: float) -> None:
        """Close a conversation, or the connection."""
        super().close(conversation, now)
        self._wished("close", conversation, now)

    def reconnect(self, now: float, *, server: str | Server | None = None) -> None:
        """Leave the link on purpose; a refused server is not recorded."""
        super().reconnect(now, server=server)
        where = Server.parse(server) if isinstance(server, str) else server
        self._wished("reconnect", None, now, **({} if where is None else {"server": str(where)}))

    def authenticate(self, auth: Auth, now: float) -> None:
        """Pass credentials, which are not recorded.

        Late ones change nothing, and are recorded as late.
        """
        before = self.state
        super().authenticate(auth, now)
        self._wished("authenticate", None, now, **({"late": True} if self.state is before else {}))

    def authentication_failed(self, error: Exception, now: float) -> None:
        """Credentials could not be loaded."""
        super().authentication_failed(error, now)
        self._happened("unauthenticated", {"error": _named(error)}, now)

    def take(self, conversation: Conversation[T], now: float) -> T | NeedData | Ended:
        """Take the next item."""
        item: T | NeedData | Ended = ENDED
        counts = self._counts(conversation)
        try:
            item = super().take(conversation, moment(now))
        finally:
            items = item if item is NEED_DATA or item is ENDED else [item]
            self._asked_for(conversation, items, now, counts=counts)
        return item

    def take_all(self, conversation: Conversation[T], now: float) -> list[T] | NeedData | Ended:
        """Take all items that are ready."""
        items: list[T] | NeedData | Ended = ENDED
        counts = self._counts(conversation)
        try:
            items = super().take_all(conversation, now)
        finally:
            self._asked_for(conversation, items, now, counts=counts, all=True)
        return items

    # ------------------------------------------------------------------ outputs

    def next_event(self) -> Event | None:
        """Return the next event for the user or the adapter."""
        event = super().next_event()
        if event is not None:
            self._told(event)
        return event

    def data_to_send(self) -> bytes:
        """Return bytes for the server.

        The last bytes of a link come after its `HangUp`, and the very last ones after `Closed`. So
        the recorder writes the end of the link and of the tape here.
        """
        data = super().data_to_send()
        if data:
            self._tape.record(Sent(at=self._when(self._now), conn=CONN, data=data))
        if self._left is not None:
            self._happened("client_close", {"reason": self._left}, self._now)
            self._left = None
        if self._over:
            self._tape.end()
        return data

    # ------------------------------------------------------------------ records

    def _told(self, event: Event) -> None:
        match event:
            case Dial():
                where = {"server": f"{event.server.host}:{event.server.port}"}
                self._happened("dial", where, self._now)
            case HangUp():
                self._left = "closed" if event.reason == "closed" else "given up"
            case Connected():
                self._happened(
                    "up", {"version": event.info.version, "resumed": event.resumed}, self._now
                )
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

    def _counts(self, conversation: Conversation[T]) -> bool:
        """Whether to record a caller who is given no item.

        It matters to a drain, and to a push feed that goes on when its reader comes back.
        """
        return self._draining is not None or (
            isinstance(conversation, PushFeed) and not conversation.take_blocked
        )

    def _asked_for(
        self,
        conversation: Conversation[T],
        items: list[T] | NeedData | Ended,
        now: float,
        *,
        counts: bool,
        **how: object,
    ) -> None:
        """Record that the caller took items, or was given none."""
        if not isinstance(items, list):
            if counts:
                self._happened("ended", {**_numbered(conversation), **how}, now)
            return
        last = items[-1]
        reply = last.reply if isinstance(last, Message) and last.reply.startswith(_ACKS) else ""
        about = {
            **_numbered(conversation),
            "count": len(items),
            **how,
            **({"reply": reply} if reply else {}),
        }
        self._happened(TAKEN, about, now)

    def _wished(
        self, name: str, conversation: Conversation[object] | None, now: float, **more: object
    ) -> None:
        detail = more if conversation is None else {**_numbered(conversation), **more}
        self._put_down(Wished(at=self._when(now), name=name, conn=CONN, detail=detail))

    def _happened(self, name: str, detail: Mapping[str, object], now: float) -> None:
        self._put_down(Happened(at=self._when(now), name=name, conn=CONN, detail=detail))

    def _put_down(self, record: Record) -> None:
        """Write an input, and after it the notes of its processing.

        They go together, so that a tape that ends has both or neither.
        """
        notes = [
            Happened(at=record.at, name=name, conn=CONN, detail=detail)
            for name, detail in self._notes
        ]
        self._notes.clear()
        self._tape.record(record, *notes)

    def _watch(self, conversation: Conversation[Any]) -> None:
        """Note each step of a procedure."""
        if isinstance(conversation, Procedure):
            script = conversation.script

            def note(step: Step | None) -> None:
                number = conversation.port.number
                self._notes.append(("step", step_written(number, step, self._tape.keep)))

            script.watcher = note

    def _drawing(self, entropy: Entropy) -> Entropy:
        def drawn(size: int) -> bytes:
            data = entropy(size)
            self._notes.append(("entropy", {"bytes": data.hex()}))
            return data

        return drawn

    def _at(self, now: float) -> float:
        return super()._at(moment(now))

    def _when(self, now: float) -> float:
        """Seconds since the start; a time before the last one counts as the last one."""
        return max(moment(now), self._now) - self._start


def moment(now: float) -> float:
    """Round a time up to the next multiple of 1 / `GRAIN`."""
    return ceil(now * GRAIN) / GRAIN


def _numbered(conversation: Conversation[T]) -> dict[str, object]:
    return {"of": written_name(type(conversation)), "number": conversation.port.number}


def _named(error: Exception | None) -> str:
    return "" if error is None else written_error(error)
