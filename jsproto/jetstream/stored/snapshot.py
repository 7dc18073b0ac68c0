"""Taking a stream out of a server, and putting one back: snapshot and restore over the protocol.

Theory. Both move an opaque archive in chunks; what is in it is the servers' business and differs
between versions, so it is neither read nor cut by meaning here.

*Snapshot.* The server answers with the stream's configuration and state, then sends chunks to a
subject that is ours alone. Each chunk (from 2.12 on all but the last) has a reply subject that must
hear an empty message: so the server knows how far its window has moved. The server waits for such
answers for 5 s, and for 2 s before 2.12. So a chunk is answered when it *comes*, as long as what
waits here is below a bound: a disk that stalls breaks nothing. Above the bound, each chunk that is
taken answers one that waits, and the server slows down. The end is an empty message, plain on 2.9,
with status 204 later; any other status, or silence, or a lost link is the end of a broken snapshot,
and what came of it is worth nothing: `take` raises.

*Restore.* The server is told configuration and state and names a subject; chunks go there, a few at
a time, each with an empty answer; an empty one says that this was all, and the answer to it is the
stream that was made. Until then there is no stream, and what goes wrong before leaves nothing
behind, with one exception: a 2.15 server that is killed in the middle finds a part of the stream
when it starts again. So a lost link says that the name has to be looked at; a second restore meets
``StreamExists`` there. The server ends a restore after 5 s without a chunk, without a word. So the
last bytes of a large chunk are held back here until the next one comes. If none comes for `PAUSE`,
one of these bytes is sent, and so on: a caller may pause for long.

The server wants interest in the very subject of the chunks (a wildcard is none to it), hence
`Port.address`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import Enum
from typing import ClassVar, Final, TypeVar, cast

from attrs import field, frozen

from jsproto.core.conversation.conversation import Call, Conversation, StopMode
from jsproto.core.conversation.message import Message
from jsproto.core.numbers import check_number, seconds
from jsproto.core.state import PART, PLAIN, Codecs
from jsproto.core.timers import Timers
from jsproto.errors.tree import (
    ConnectionLost,
    InvalidConfig,
    InvalidResponse,
    JsprotoError,
    LocalProtocolError,
    NoResponders,
    RequestTimeout,
    shorten,
)
from jsproto.jetstream.api.answers import AnswerType
from jsproto.jetstream.api.config.stream import StreamConfig, StreamInfo, StreamState
from jsproto.jetstream.api.envelope import answer, members_or_error, to_json
from jsproto.jetstream.api.errors import RequestContext
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.status import StatusAction, StatusContext, judge, status_error
from jsproto.signals import Ended, NeedData
from jsproto.wire.commands import Publish
from jsproto.wire.frames import Delivery

T_co = TypeVar("T_co", covariant=True)

#: Seconds of silence after which a transfer is taken for dead. The server's own patience is 5 s.
PATIENCE: Final = 10.0
#: Chunks of a restore under way: enough to hide the road, little enough for the server's inbound
#: queue.
WINDOW: Final = 8
#: Seconds without a chunk after which a restore sends a byte of what it holds back. The server
#: gives up after 5 s.
PAUSE: Final = 2.0
#: Bytes of a large chunk that are held back for pauses: enough for half an hour.
RESERVE: Final = 1024
#: Bytes of chunks that a snapshot keeps at most, with those that are still under way.
MAX_BYTES: Final = 64 * 1024 * 1024
#: Bytes that a server has under way at most if nothing else was asked for.
_SERVER_WINDOW: Final = 8 * 1024 * 1024
#: Bytes in a second that a server is trusted to unpack at least, after the last chunk of a restore.
_UNPACKED: Final = 1024 * 1024


@frozen
class Origin:
    """What a server said of a stream that it sends: restore wants it back, and the CLI's
    ``backup.json`` is this.

    Attributes:
        members: ``config`` and ``state``, as they came.
    """

    members: Mapping[str, object] = field()

    @property
    def config(self) -> StreamConfig:
        """The configuration.

        Raises:
            InvalidResponse: there is none.
        """
        return StreamConfig.from_wire(self.members.get("config"), "a snapshot")

    @property
    def state(self) -> StreamState:
        """The state.

        Raises:
            InvalidResponse: there is none.
        """
        return StreamState.from_wire(self.members.get("state"), "a snapshot")

    def replicated(self, replicas: int) -> Origin:
        """The same with so many replicas: the server takes the configuration of a restore from
        here.
        """
        config = cast("Mapping[str, object]", self.members["config"])
        return Origin({**self.members, "config": {**config, "num_replicas": replicas}})


class TransferTimer(Enum):
    """What a transfer waits for."""

    #: A sign of life.
    SIGN = "SIGN"
    #: The next chunk of a restore.
    CHUNK = "CHUNK"


class SnapshotTransfer(Conversation[T_co]):
    """What taking and putting back have in common: one request on one link, and patience.

    Attributes:
        size: bytes of the chunks so far.
    """

    __slots__ = ("_about", "_call", "_patience", "_request", "size", "timers")

    ATTENDED: ClassVar[bool] = True

    STATE: ClassVar[Codecs] = {**Conversation.STATE, "_call": PLAIN, "size": PLAIN, "timers": PART}

    def __init__(self, request: str, about: RequestContext, patience: float | timedelta) -> None:
        super().__init__()
        self._request = request
        self._about = about
        self._patience = seconds("patience", patience)
        self._call = 0
        self.size: int = 0
        self.timers = Timers(TransferTimer)

    def opened(self, now: float) -> None:
        """Ask, if the link is up."""
        self._sign(now)
        if self.port.up:
            self._ask()

    def link_up(self, now: float) -> None:
        """Ask, if it was opened without a link."""
        if not self.ended and not self._call:
            self._ask()

    def end(self, error: JsprotoError | None = None) -> None:
        """End, and wait for nothing any more."""
        self.timers.clear()
        super().end(error)

    @property
    def deadline(self) -> float | None:
        """When silence is long enough."""
        return self.timers.next()

    def _ask(self) -> None:
        """Send the request."""
        raise NotImplementedError

    def _sign(self, now: float) -> None:
        self.timers.set(TransferTimer.SIGN, now + self._patience)


class Snapshot(SnapshotTransfer[bytes]):
    """A stream as chunks of its archive, in order: a feed that ends well, or raises.

    Args:
        api: where.
        stream: the stream's name.
        consumers: also its consumers.
        chunk_size: bytes of a chunk, 1 kB to 1 MB; 0 leaves it to the server (128 kB).
        window_size: bytes that may be under way, up to 32 MB; 0 leaves it to the server (8 MB;
            2.12).
        check: let the server check what it stores first, which takes longer.
        patience: seconds without a sign of life.
        max_bytes: bytes of chunks that may wait here, with those that are still under way. Below it
            a chunk is answered when it comes, above it when another one is taken. 0 answers each
            chunk when it is taken.

    Attributes:
        origin: what `Restore` needs beside the chunks, ``None`` until the server has said it.
        chunks: chunks that came.

    Raises:
        InvalidConfig: sizes that cannot work.
    """

    __slots__ = (
        "_all",
        "_body",
        "_bound",
        "_chunks",
        "_owed",
        "_taken_at",
        "_waiting",
        "chunks",
        "origin",
    )

    STATE: ClassVar[Codecs] = {
        **SnapshotTransfer.STATE,
        "_all": PLAIN,
        "_chunks": PLAIN,
        "_owed": PLAIN,
        "_taken_at": PLAIN,
        "_waiting": PLAIN,
        "chunks": PLAIN,
    }

    def __init__(
        self,
        api: ApiSubjects,
        stream: str,
        *,
        consumers: bool = True,
        chunk_size: int = 0,
        window_size: int = 0,
        check: bool = False,
        patience: float | timedelta = PATIENCE,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        super().__init__(
            api.stream_snapshot(stream), RequestContext(what="snapshot", stream=stream), patience
        )
        for name, given in (
            ("chunk_size", chunk_size),
            ("window_size", window_size),
            ("max_bytes", max_bytes),
        ):
            check_number(name, given, (int,))
        if chunk_size and not 1024 <= chunk_size <= 1024 * 1024:
            raise InvalidConfig(f"expected a chunk_size of 1 kB to 1 MB, got {chunk_size!r}")
        if window_size and not 1024 <= window_size <= 32 * 1024 * 1024:
            raise InvalidConfig(f"expected a window_size of 1 kB to 32 MB, got {window_size!r}")
        wishes = {
            "no_consumers": not consumers,
            "chunk_size": chunk_size,
            "window_size": window_size,
            "jsck": check,
        }
        self._body = {name: wish for name, wish in wishes.items() if wish}
        self._bound = max_bytes - (window_size or _SERVER_WINDOW)
        self._chunks: deque[bytes] = deque()
        #: Reply subjects of chunks that were not answered when they came, oldest first.
        self._owed: deque[str] = deque()
        self._waiting = 0
        self._taken_at = 0.0
        self.origin: Origin | None = None
        self.chunks = 0
        self._all = False

    # ------------------------------------------------------------------ facts

    def opened(self, now: float) -> None:
        """Listen on a subject of our own, and ask."""
        self.port.subscribe(self.port.address())
        super().opened(now)

    def link_down(self, error: JsprotoError, now: float) -> None:
        """A snapshot cannot go on over another link."""
        if self._call and not self.ended:
            self.end(error)

    def replied(self, token: int, frame: Delivery, now: float) -> None:
        """The server says what it sends, or that it does not."""
        if self.ended or token != self._call:
            return
        self._sign(now)
        message = Message(frame)
        try:
            if message.status is not None and not message.payload:
                raise NoResponders(
                    f"{self._about}: expected a JetStream API, nobody listens", self._request
                )
            self.origin = Origin(answer(message.payload, self._about, AnswerType.STREAM_SNAPSHOT))
        except JsprotoError as error:
            self.end(error)
        else:
            self._judge()

    def delivered(self, run: Sequence[Delivery], now: float) -> None:
        """Chunks, and the end."""
        for frame in run:
            if self.ended:
                return
            self._sign(now)
            _, _, reply, block, payload = frame
            if payload:
                if not self._chunks:
                    self._taken_at = now
                self._chunks.append(payload)
                self._waiting += len(payload)
                self.chunks += 1
                self.size += len(payload)
                if reply:
                    self._owed.append(reply)
                    if self._waiting <= self._bound:
                        self._answer()
            elif not reply:
                self._over(None if block is None else Message(frame).status, now)

    def ticked(self, now: float) -> None:
        """The server is silent for too long, unless it is we who keep it waiting."""
        for _ in self.timers.expired(now):
            if self._chunks:
                self._sign(now)
            else:
                self.end(
                    RequestTimeout(
                        f"{self._about}: expected a sign of life within {self._patience} s, none came; "
                        f"{self.size} bytes came before and are worth nothing"
                    )
                )

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """Not permitted."""
        if not self.ended and subject in {self._request, self.port.subject, self.port.answers}:
            self.end(error)

    def end(self, error: JsprotoError | None = None) -> None:
        """End; after an error what is at hand is worth nothing and is not handed out."""
        if error is not None:
            self._chunks.clear()
        super().end(error)

    # ------------------------------------------------------------------ the user's side

    def take(self, now: float) -> bytes | NeedData | Ended:
        """The next chunk; tells the server that its window may move, if it does not know yet."""
        if not self._chunks:
            return self.nothing()
        chunk = self._chunks.popleft()
        self._waiting -= len(chunk)
        self._taken_at = now
        if not self.ended:
            self._sign(now)
            self._answer()
        return chunk

    @property
    def readable(self) -> int:
        """How many chunks are at hand."""
        return len(self._chunks)

    @property
    def complete(self) -> bool:
        """All chunks came, and the origin too, which may come behind them."""
        return self._all and self.origin is not None

    def snapshot(self) -> dict[str, object]:
        """Where it is, and what the server said of the stream."""
        origin = None if self.origin is None else dict(self.origin.members)
        return {**super().snapshot(), "origin": origin}

    def restore(self, data: Mapping[str, object]) -> None:
        """Put back what `snapshot` gave."""
        super().restore(data)
        origin = cast("dict[str, object] | None", data["origin"])
        self.origin = None if origin is None else Origin(origin)

    def _ask(self) -> None:
        body = {"deliver_subject": self.port.subject, **self._body}
        self._call = self.port.call(Call(self._request, to_json(body), None, self._patience))

    def _answer(self) -> None:
        """Tell the server that one more chunk has come, if one was not answered."""
        if self._owed and self.port.up:
            self.port.publish(Publish(self._owed.popleft(), b""))

    def _over(self, status: tuple[int, str] | None, now: float) -> None:
        if status is not None:
            row = judge(*status, StatusContext.SNAPSHOT)
            if row.verdict is not StatusAction.COMPLETE:
                late = now - self._taken_at
                slow = f" ({self._waiting} bytes wait for the writer, who took nothing for {late:.1f} s)"
                about = f"{self._about}{slow if self._chunks else ''}"
                self.end(status_error(row, *status, about))
                return
        self._all = True
        self._judge()

    def _judge(self) -> None:
        """The answer and the chunks take two ways within the server: either may be first."""
        if self.complete:
            self.end()


class Restore(SnapshotTransfer[StreamInfo]):
    """Makes a stream of chunks that `Snapshot` gave, in the same order: a sink with one result.

    Args:
        api: where.
        origin: configuration and state of the snapshot.
        patience: seconds without a sign of life.

    Attributes:
        sent: chunks that were sent.

    Raises:
        InvalidResponse: an origin without configuration or state.
        InvalidConfig: patience that cannot be.
    """

    __slots__ = (
        "_draining",
        "_finish",
        "_flight",
        "_given",
        "_held",
        "_members",
        "_result",
        "_subject",
        "sent",
    )

    STATE: ClassVar[Codecs] = {
        **SnapshotTransfer.STATE,
        "_draining": PLAIN,
        "_finish": PLAIN,
        "_flight": PLAIN,
        "_given": PLAIN,
        "_held": PLAIN,
        "_subject": PLAIN,
        "sent": PLAIN,
    }

    def __init__(
        self, api: ApiSubjects, origin: Origin, *, patience: float | timedelta = PATIENCE
    ) -> None:
        name = origin.config.name
        _ = origin.state
        super().__init__(
            api.stream_restore(name), RequestContext(what="restore", stream=name), patience
        )
        self._members = {each: origin.members[each] for each in ("config", "state")}
        self._finish = 0
        self._subject = ""
        self._flight: set[int] = set()
        self._held = b""
        self._draining = False
        self._result: StreamInfo | None = None
        self._given = False
        self.sent = 0

    # ------------------------------------------------------------------ facts

    def link_down(self, error: JsprotoError, now: float) -> None:
        """A restore cannot go on over another link; the server forgets what came of it, unless it
        was killed.
        """
        if self._call and not self.ended:
            lost = ConnectionLost(
                f"{self._about}: link lost after {self.size} bytes; a server that was killed may hold a part of the "
                f"stream, which has to be deleted before another restore"
            )
            lost.__cause__ = error
            self.end(lost)

    def replied(self, token: int, frame: Delivery, now: float) -> None:
        """Where to, or that a chunk has come, or what was made."""
        if self.ended:
            return
        self._sign(now)
        message = Message(frame)
        try:
            if message.status is not None and not message.payload:
                raise NoResponders(
                    f"{self._about}: expected a server that takes it, nobody listens", self._request
                )
            if token == self._finish:
                members = answer(message.payload, self._about, AnswerType.STREAM_CREATE)
                self._result = StreamInfo.from_wire(members, self._about)
                self.end()
            elif token == self._call:
                self._begin(answer(message.payload, self._about, AnswerType.STREAM_RESTORE))
            elif token in self._flight:
                self._flight.discard(token)
                if message.payload:
                    members_or_error(message.payload, self._about)
                    raise InvalidResponse(
                        f"{self._about}: expected an empty answer to a chunk, got {shorten(message.payload)}"
                    )
            self._settle(now)
        except JsprotoError as error:
            self.end(error)

    def ticked(self, now: float) -> None:
        """The server is silent, though it owes an answer; or the user is, and the server hears a
        byte.
        """
        for timer in self.timers.expired(now):
            if timer is TransferTimer.CHUNK:
                byte, self._held = self._held[:1], self._held[1:]
                self._send(byte, now)
            elif self._finish:
                self.end(
                    RequestTimeout(
                        f"{self._about}: expected the stream within {self._finishing:.0f} s of the last of {self.size} bytes, "
                        f"nothing came: look whether it, or a part of it, is there"
                    )
                )
            elif (
                self._flight or not self._subject
            ):  # else nobody owes anything: it is the user who takes his time
                self.end(
                    RequestTimeout(
                        f"{self._about}: expected a sign of life within {self._patience} s, none came: "
                        f"{self.size} bytes were sent, and no stream was made"
                    )
                )

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """Not permitted."""
        if not self.ended and subject in {self._request, self._subject, self.port.answers}:
            self.end(error)

    def told(self, wish: StopMode, now: float) -> None:
        """That was all: the server makes the stream."""
        self._draining = True
        self._settle(now)

    # ------------------------------------------------------------------ the user's side

    def offered(self, item: object, now: float) -> bool:
        """Send a chunk, if the window has room; its last bytes may go with the next one.

        Raises:
            LocalProtocolError: no bytes, or none at all, which would say that this was all.
            ConversationClosed: it is draining or has ended.
            JsprotoError: what ended it.
        """
        if not isinstance(item, (bytes, bytearray)) or not item:
            raise LocalProtocolError(f"expected a chunk of bytes, got {type(item).__name__}")
        if self._draining or self.ended:
            raise self.too_late(
                "expected a restore that takes chunks, this one is draining or has ended"
            )
        if not self.room:
            self.put_blocked = True
            return False
        chunk = self._held + bytes(item)
        sent = len(chunk) - (RESERVE if len(chunk) > 4 * RESERVE else 0)
        self._held = chunk[sent:]
        self._send(chunk[:sent], now)
        return True

    @property
    def room(self) -> bool:
        """Whether a chunk would be sent."""
        return (
            bool(self._subject) and self.port.up and not self.ended and len(self._flight) < WINDOW
        )

    def take(self, now: float) -> StreamInfo | NeedData | Ended:
        """The stream that was made, once."""
        if self.readable:
            self._given = True
            return cast("StreamInfo", self._result)
        return self.nothing()

    @property
    def readable(self) -> int:
        """1 while the result is there and not taken."""
        return 1 if self._result is not None and not self._given else 0

    # ------------------------------------------------------------------ steps

    def snapshot(self) -> dict[str, object]:
        """Where it is, and what was made."""
        result = None if self._result is None else self._result.to_wire()
        return {**super().snapshot(), "result": result}

    def restore(self, data: Mapping[str, object]) -> None:
        """Put back what `snapshot` gave."""
        super().restore(data)
        result = data["result"]
        self._result = None if result is None else StreamInfo.from_wire(result)

    def _ask(self) -> None:
        self._call = self.port.call(
            Call(self._request, to_json(self._members), None, self._patience)
        )

    def _begin(self, members: Mapping[str, object]) -> None:
        subject = members["deliver_subject"]
        if not isinstance(subject, str) or not subject:
            raise InvalidResponse(
                f"{self._about}: expected a subject for the chunks, got {subject!r}"
            )
        self._subject = subject

    def _send(self, chunk: bytes, now: float) -> None:
        """Send a chunk, if there is one; while bytes are held back, the server hears one of them in
        every pause.
        """
        if self._held:
            self.timers.set(TransferTimer.CHUNK, now + PAUSE)
        else:
            self.timers.stop(TransferTimer.CHUNK)
        if chunk:
            self._flight.add(self.port.call(Call(self._subject, chunk, None, self._patience)))
            self.sent += 1
            self.size += len(chunk)
            self._sign(now)

    @property
    def _finishing(self) -> float:
        """Seconds that the server may take from the last chunk to the stream."""
        return self._patience + self.size / _UNPACKED

    def _settle(self, now: float) -> None:
        if not self._draining or not self._subject or self._finish or self.ended:
            return
        tail, self._held = self._held, b""
        self._send(tail, now)
        if not self._flight:
            self._finish = self.port.call(Call(self._subject, b"", None, self._patience))
            self.timers.set(TransferTimer.SIGN, now + self._finishing)
