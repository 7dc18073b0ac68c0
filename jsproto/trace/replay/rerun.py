"""Runs a recorder's trace again: the machines must send what was recorded, frame for frame.

Theory. The same inputs give the same outputs, byte for byte. So a second connection gets the inputs
of the recorded one, at the same times, with the same entropy and the same conversations, and must
send the same. The trace is divided into *turns*. A turn is one input, the notes of its processing
(entropy that was drawn, steps of procedures), and the bytes that the transport got after it. A turn
is played when the next one begins. The first frame that differs is the divergence.

These parts are compared or given:

- All that machines decide is compared: SUB, UNSUB, PING, PONG, pulls, automatic acks, and the time
  and order of each.
- Requests are compared by subject, reply subject and size. The generator behind a procedure is not
  in the trace, so a replacement repeats its steps, and its bodies are taken as recorded.
- Publishes and acks of the user are given. They may stand between the frames of the machines, as
  they did in the recording.
- CONNECT is compared without its redacted members. Where payloads were not kept, their sizes are
  compared.

If the trace opens a conversation that cannot be created again
(`jsproto.trace.record.conversation_json`), the rerun stops there, and reports what and where.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, cast, final

from jsproto.core.connection.auth import Auth
from jsproto.core.connection.connection import Connection
from jsproto.core.conversation.conversation import Conversation, StopMode
from jsproto.core.conversation.procedure import Procedure
from jsproto.core.conversation.router import Router
from jsproto.core.pubsub.request_many import RequestMany
from jsproto.errors.tree import ConnectFailed, JsprotoError, LocalProtocolError, shorten
from jsproto.signals import ENDED, NEED_DATA
from jsproto.trace.formats.recording import Happened, Received, Record, Sent, Waited, Wished
from jsproto.trace.formats.redaction import Keep
from jsproto.trace.record.conversation_json import made_again, number_read, options_made
from jsproto.trace.record.recorder import GRAIN
from jsproto.trace.replay.output_diff import OutputDiff, frame_told
from jsproto.trace.replay.recorded_procedure import RecordedProcedures
from jsproto.wire.nuid import nuid

#: Number of records before the divergence that are reported.
_CONTEXT: Final = 4
#: Highest number of characters of a detail in a text.
_SHOWN: Final = 200
#: A frame without effect, for a read that completed no frame but showed that the server lives.
_LIFE: Final = b"+OK\r\n"
#: Number of remembered conversations after which the finished ones are removed.
_MANY: Final = 256
#: Events that are inputs of the connection.
_INPUTS: Final = frozenset({
    "begin", "connected", "secured", "lost", "tick", "read", "taken", "ended", "refused",
    "unauthenticated",
})  # fmt: skip


class Stop(NamedTuple):
    """Why a rerun ended before the trace did.

    Attributes:
        line: line of the trace.
        words: the reason, in words.
        diverged: whether the machines behaved differently. If not, the trace cannot be run further.
        context: the last records before it, oldest first.
    """

    line: int
    words: str
    diverged: bool
    context: tuple[str, ...] = ()


class _Stopped(Exception):
    def __init__(self, words: str, line: int = 0, *, diverged: bool = True) -> None:
        super().__init__(words)
        self.line = line
        self.diverged = diverged


@final
class Rerun:
    """Runs one trace through one connection.

    Args:
        keep: how much of the users' data the trace keeps, as its head says.
        cut: takes the size of the server's bytes of one read, and gives the ends of the pieces to
            feed. Without it the bytes are not cut.

    Attributes:
        began: whether the trace holds the start of its connection. Only the recorder's traces do.
        stop: why the rerun ended before the trace did, ``None`` if it did not.
    """

    __slots__ = (
        "_closing",
        "_connection",
        "_context",
        "_conversations",
        "_cut",
        "_drawn",
        "_line",
        "_many",
        "_most",
        "_over",
        "_owed",
        "_said",
        "_standins",
        "_start",
        "_turn",
        "began",
        "stop",
    )

    def __init__(self, keep: Keep, cut: Callable[[int], Iterable[int]] | None = None) -> None:
        self._cut = cut
        self._connection: Connection | None = None
        self._conversations: dict[int, Conversation[Any]] = {}
        self._most = _MANY
        self._standins = RecordedProcedures()
        self._drawn: deque[bytes] = deque()
        self._said = OutputDiff(keep)
        self._many: set[int] = set()
        self._context: deque[str] = deque(maxlen=_CONTEXT)
        self._turn: list[tuple[int, Record]] = []
        self._owed = 0
        self._line = 0
        self._start = 0.0
        self._closing = False
        self._over = False
        self.began = False
        self.stop: Stop | None = None

    @property
    def frames(self) -> int:
        """Number of the machines' frames that were equal."""
        return self._said.frames

    @property
    def size(self) -> int:
        """Number of bytes in these frames."""
        return self._said.size

    @property
    def given(self) -> int:
        """Number of the user's frames between them."""
        return self._said.given

    @property
    def diverged(self) -> bool:
        """Whether the machines behaved differently from the recording."""
        return self.stop is not None and self.stop.diverged

    # ------------------------------------------------------------------ turns

    def feed(self, line: int, record: Record) -> None:
        """Take the next record; after a stop nothing happens any more."""
        if self.stop is not None or isinstance(record, Waited):
            return
        if self._owed and isinstance(record, Received):
            self._owed -= 1
        elif _is_input(record):
            self._play()
            self._owed = _frames(record)
        self._turn.append((line, record))

    def end(self) -> None:
        """End the trace, and play its last turn."""
        if self.stop is None:
            self._play()
        left = (
            b"" if self._connection is None or not self._over else self._connection.data_to_send()
        )
        if self.stop is None and left:
            self.stop = Stop(
                self._line,
                f"expected the end of the output, got {frame_told(left)}",
                diverged=True,
                context=tuple(self._context),
            )

    def _play(self) -> None:
        turn, self._turn = self._turn, []
        if not turn:
            return
        try:
            self._played(turn)
        except _Stopped as stopped:
            line = stopped.line or turn[0][0]
            self.stop = Stop(line, str(stopped), stopped.diverged, tuple(self._context))

    def _played(self, turn: list[tuple[int, Record]]) -> None:
        self._line, first = turn[0]
        if self._connection is None and not (isinstance(first, Happened) and first.name == "begin"):
            return  # this record comes from a tap, not from a recorder
        data = [record.data for _, record in turn if isinstance(record, Received)]
        try:
            for _, record in turn:
                if isinstance(record, Happened):
                    self._noted(record)
            self._told(first, data)
        except (
            JsprotoError,
            ArithmeticError,
            AttributeError,
            LookupError,
            TypeError,
            ValueError,
        ) as error:
            raise _Stopped(
                f"expected that the input can be repeated, got {type(error).__name__}: {error}",
                self._line,
            ) from None
        self._connected.next_deadline()  # as every driver asks for it after an input
        while self._connected.next_event() is not None:
            pass
        self._over = self._over or any(
            isinstance(each, Happened) and each.name == "over" for _, each in turn
        )
        for line, record in turn:
            if isinstance(record, Sent):
                self._line = line
                self._compare(record.data)
            self._remember(line, record)
        self._nothing_left()

    @property
    def _connected(self) -> Connection:
        return cast("Connection", self._connection)

    def _remember(self, line: int, record: Record) -> None:
        if isinstance(record, Sent | Received):
            words = f"{'>' if isinstance(record, Sent) else '<'} {frame_told(record.data)}"
        else:
            record = cast("Happened | Wished", record)
            way = "=" if isinstance(record, Happened) else "!"
            words = f"{way} {record.name} {shorten(dict(record.detail), _SHOWN)}"
        self._context.append(f"{line:>7} {record.at:>12.6f} {words}")

    def _compare(self, recorded: bytes) -> None:
        said = self._said
        if not said.waiting:
            said.take(self._connected.data_to_send())
        told = frame_told(said.waiting[0]) if said.waiting else "nothing"
        if not said.equal(recorded, self._many):
            raise _Stopped(f"expected the recorded {frame_told(recorded)}, got {told}", self._line)

    def _nothing_left(self) -> None:
        """Check that all notes are used up, and that no frame is left."""
        if self._said.waiting:
            told = frame_told(self._said.waiting[0])
            raise _Stopped(f"expected nothing more, got {told}", self._line)
        if self._drawn:
            raise _Stopped("expected that the machines draw the recorded entropy, got no draw")
        if words := self._standins.differing():
            raise _Stopped(words)

    def _noted(self, record: Happened) -> None:
        if record.name == "entropy":
            self._drawn.append(bytes.fromhex(str(record.detail.get("bytes"))))
        elif record.name == "step":
            self._standins.note(record.detail)

    # ------------------------------------------------------------------ inputs

    def _told(self, record: Record, data: list[bytes]) -> None:
        """Repeat an input of the recorded connection."""
        now = self._start + round(record.at * GRAIN) / GRAIN
        if isinstance(record, Received):
            self._received(data, now)
        elif isinstance(record, Wished):
            self._wished(record, now)
        else:
            self._happened(cast("Happened", record), data, now)

    def _received(self, data: list[bytes], now: float) -> None:
        joined = b"".join(data) or _LIFE
        at = 0
        for end in (*(() if self._cut is None else self._cut(len(joined))), len(joined)):
            if end > at:
                self._connected.receive_data(joined[at:end], now)
                at = end

    def _happened(self, record: Happened, data: list[bytes], now: float) -> None:
        connection, detail = self._connected, record.detail
        match record.name:
            case "begin":
                self._begin(detail)
            case "connected" | "secured":
                connection.transport_up(now)
            case "lost":
                connection.transport_down(
                    ConnectFailed("a recorded failure") if detail.get("error") else None, now
                )
            case "tick":
                connection.handle_tick(now)
            case "read":
                self._received(data, now)
            case "unauthenticated":
                connection.authentication_failed(ConnectFailed("a recorded failure"), now)
            case "refused":
                conversation = self._made(detail)
                try:
                    connection.open(conversation, now)
                except LocalProtocolError:
                    return
                if not conversation.ended:
                    raise _Stopped("expected that the conversation is refused, got an open one")
            case _:
                self._taken(record, now)

    def _begin(self, detail: Mapping[str, object]) -> None:
        if self._connection is not None:
            raise _Stopped("expected one connection in a trace, got another", diverged=False)
        self.began = True
        self._start = number_read(detail.get("start"))
        options = options_made(detail.get("options"))
        first = self._drawn[0] if self._drawn else b""
        self._said.began(Router(options.inbox_prefix, nuid(lambda _: first)))
        self._connection = Connection(options, entropy=self._entropy, now=self._start)

    def _entropy(self, size: int) -> bytes:
        if not self._drawn or len(self._drawn[0]) != size:
            raise LocalProtocolError(
                f"expected the recorded entropy, got a draw of {size} bytes that was not recorded"
            )
        return self._drawn.popleft()

    def _taken(self, record: Happened, now: float) -> None:
        """Repeat a take of items, or one that gave no item."""
        conversation = self._conversations.get(cast("int", record.detail.get("number")))
        expected = 0 if record.name == "ended" else record.detail.get("count")
        if conversation is None:
            raise _Stopped(
                f"expected a conversation with number {record.detail.get('number')!r}, got none"
            )
        verb = self._connected.take_all if record.detail.get("all") else self._connected.take
        items: object = ENDED
        try:
            items = verb(conversation, now)
        except JsprotoError:
            if expected:
                raise
        count = 0 if items is NEED_DATA or items is ENDED else 1
        if isinstance(items, list):
            count = len(cast("list[object]", items))
        if count != expected:
            raise _Stopped(f"expected {expected} items to be handed out, got {count}")

    def _wished(self, record: Wished, now: float) -> None:
        connection, detail = self._connected, record.detail
        if record.name == "open":
            self._open(detail, now)
            return
        whose = None
        if "number" in detail:
            whose = self._conversations.get(cast("int", detail["number"]))
            if whose is None:
                return  # the conversation was over, so the rerun has forgotten it
        match record.name:
            case "drain" | "stop":
                connection.tell(whose, StopMode[record.name.upper()], now)
                self._closing = self._closing or whose is None
            case "limit":
                connection.limit(
                    cast("Conversation[Any]", whose), cast("int", detail["count"]), now
                )
            case "close":
                connection.close(whose, now)
            case "reconnect":
                server = detail.get("server")
                connection.reconnect(now, server=None if server is None else str(server))
            case "authenticate":
                if not detail.get("late"):
                    connection.authenticate(Auth(), now)
            case _:
                raise _Stopped(f"expected a known verb, got {shorten(record.name)}", diverged=False)

    def _open(self, detail: Mapping[str, object], now: float) -> None:
        conversation = self._made(detail)
        number = cast("int", detail.get("number"))
        self._connected.open(conversation, now)
        if conversation.port.number != number:
            raise _Stopped(
                f"expected number {number} for a conversation, got {conversation.port.number}"
            )
        if len(self._conversations) > self._most and not self._closing:
            self._conversations = {
                each: feed
                for each, feed in self._conversations.items()
                if feed.readable or not feed.finished
            }
            self._most = 2 * len(self._conversations) + _MANY
        self._conversations[number] = conversation
        if isinstance(conversation, RequestMany):
            self._many.add(number)

    def _made(self, detail: Mapping[str, object]) -> Conversation[Any]:
        name = str(detail.get("of"))
        if "args" not in detail:
            raise _Stopped(
                f"the user opened a {name}, which a rerun cannot create again", diverged=False
            )
        if name == Procedure.__name__:
            return self._standins.procedure(cast("int", detail.get("number")))
        return made_again(name, detail["args"])


def _is_input(record: Record) -> bool:
    if isinstance(record, Happened):
        return record.name in _INPUTS
    return isinstance(record, Received | Wished)


def _frames(record: Record) -> int:
    """Number of the next frames that belong to an input."""
    if not (isinstance(record, Happened) and record.name == "read"):
        return 0
    frames = record.detail.get("frames")
    return frames if isinstance(frames, int) else 0


def keep_of(about: Mapping[str, str]) -> Keep:
    """How much of the users' data a trace keeps, by its first lines."""
    word = about.get("payload", "").upper()
    return Keep[word] if word in Keep.__members__ else Keep.FULL
