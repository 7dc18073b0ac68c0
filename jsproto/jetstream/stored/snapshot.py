"""Snapshot and restore: copy a stream out of a server, and put one back.

Theory. Both transfer an opaque archive in chunks. Its content is the servers' own and differs
between versions, so this module neither reads it nor splits it by content.

*Snapshot.* The server answers with configuration and state of the stream and then sends chunks to a
subject of this client. Each chunk (from 2.12 on all but the last) has a reply subject that expects
an empty message, which moves the server's window. The server waits for it for 5 s, before 2.12 for
2 s. So the client answers a chunk when it *arrives*, as long as the waiting chunks are below a
limit. A slow disk then breaks nothing. Above the limit, each taken chunk answers a waiting one, and
the server slows down. The end is an empty message, without a status on 2.9, with status 204 later.
Any other status, silence, or a lost link breaks the snapshot. Its chunks are then useless, and
`take` raises.

*Restore.* The client sends configuration and state, and the server names a subject. The client
sends chunks there, a few at a time, and gets an empty answer to each. An empty chunk is the end,
and its answer is the created stream. Before that there is no stream, and a failure leaves nothing
in the server. There is one exception: a 2.15 server that is killed during a restore finds a part of
the stream when it starts again. So the error for a lost link asks the user to check the name; a
second restore gets ``StreamExists`` there. The server silently ends a restore after 5 s without a
chunk. Therefore the client holds the last bytes of a large chunk back until the next one. If none
comes for `PAUSE` seconds, it sends one of these bytes, and so on. So a caller may pause for a long
time.

The server requires a subscription to exactly the subject of the chunks; a wildcard does not count.
So `Port.address` provides it.
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

#: Seconds of silence after which a transfer fails. The server's own limit is 5 s.
PATIENCE: Final = 10.0
#: Most chunks of a restore that are not answered yet: enough to hide the latency, and few enough
#: for the server's inbound queue.
WINDOW: Final = 8
#: Seconds without a chunk after which a restore sends a held-back byte. The server gives up after 5
#: s.
PAUSE: Final = 2.0
#: Bytes of a large chunk that are held back for pauses: enough for half an hour.
RESERVE: Final = 1024
#: Most bytes of chunks that a snapshot buffers, including those in flight.
MAX_BYTES: Final = 64 * 1024 * 1024
#: Most bytes that a server has in flight by default.
_SERVER_WINDOW: Final = 8 * 1024 * 1024
#: Least bytes per second that a server is assumed to unpack after the last chunk of a restore.
_UNPACKED: Final = 1024 * 1024


@frozen
class Origin:
    """The configuration and state that a server sent with a snapshot; `Restore` needs it.

    The ``backup.json`` of the ``nats`` CLI has the same content.

    Attributes:
        members: ``config`` and ``state``, as the server sent them.
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
        """Return the same origin with this number of replicas, which a restore then configures."""
        config = cast("Mapping[str, object]", self.members["config"])
        return Origin({**self.members, "config": {**config, "num_replicas": replicas}})


class TransferTimer(Enum):
    """The timers of a transfer."""

    #: The silence of the server is too long.
    SIGN = "SIGN"
    #: The next chunk of a restore is due.
    CHUNK = "CHUNK"


class SnapshotTransfer(Conversation[T_co]):
    """Base of snapshot and restore: one request on one link, and a limit of silence.

    Attributes:
        size: number of bytes of the chunks so far.
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
        """Send the request, if the link is up."""
        self._sign(now)
        if self.port.up:
            self._ask()

    def link_up(self, now: float) -> None:
        """Send the request now, if it was opened without a link."""
        if not self.ended and not self._call:
            self._ask()

    def end(self, error: JsprotoError | None = None) -> None:
        """End, and clear the timers."""
        self.timers.clear()
        super().end(error)

    @property
    def deadline(self) -> float | None:
        """When the silence is too long."""
        return self.timers.next()

    def _ask(self) -> None:
        """Send the request."""
        raise NotImplementedError

    def _sign(self, now: float) -> None:
        self.timers.set(TransferTimer.SIGN, now + self._patience)


class Snapshot(SnapshotTransfer[bytes]):
    """A stream as chunks of its archive, in order; it ends without an error or raises.

    Args:
        api: the subjects of the API.
        stream: the stream's name.
        consumers: also its consumers.
        chunk_size: bytes of a chunk, 1 kB to 1 MB; 0: the server's default (128 kB).
        window_size: most bytes in flight, up to 32 MB; 0: the server's default (8 MB; 2.12).
        check: let the server check its stored data first, which takes longer.
        patience: longest silence in seconds.
        max_bytes: most bytes of chunks in the buffer and in flight. Below it the client answers a
            chunk when it arrives, above it when another chunk is taken. With 0 it answers each
            chunk when it is taken.

    Attributes:
        origin: the data that `Restore` needs with the chunks; ``None`` until the server sent it.
        chunks: number of chunks that arrived.

    Raises:
        InvalidConfig: invalid sizes.
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
        #: Reply subjects of chunks that were not answered on arrival, oldest first.
        self._owed: deque[str] = deque()
        self._waiting = 0
        self._taken_at = 0.0
        self.origin: Origin | None = None
        self.chunks = 0
        self._all = False

    # ------------------------------------------------------------------ facts

    def opened(self, now: float) -> None:
        """Subscribe to a subject of this client, and send the request."""
        self.port.subscribe(self.port.address())
        super().opened(now)

    def link_down(self, error: JsprotoError, now: float) -> None:
        """End, because a snapshot cannot continue on another link."""
        if self._call and not self.ended:
            self.end(error)

    def replied(self, token: int, frame: Delivery, now: float) -> None:
        """Process the answer to the request: configuration and state, or an error."""
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
        """Process chunks, and the end."""
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
        """End if the server was silent for too long, unless it waits for this client."""
        for _ in self.timers.expired(now):
            if self._chunks:
                self._sign(now)
            else:
                self.end(
                    RequestTimeout(
                        f"{self._about}: expected a sign of life within {self._patience} s,"
                        f" none came; {self.size} bytes came before and are worth nothing"
                    )
                )

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """End if the server refused the request or a subscription."""
        if not self.ended and subject in {self._request, self.port.subject, self.port.answers}:
            self.end(error)

    def end(self, error: JsprotoError | None = None) -> None:
        """End; after an error the buffered chunks are dropped, because they are useless."""
        if error is not None:
            self._chunks.clear()
        super().end(error)

    # ------------------------------------------------------------------ the user's side

    def take(self, now: float) -> bytes | NeedData | Ended:
        """Return the next chunk; answer a waiting chunk, which moves the server's window."""
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
        """Number of available chunks."""
        return len(self._chunks)

    @property
    def complete(self) -> bool:
        """Whether all chunks and the origin arrived; the origin may come last."""
        return self._all and self.origin is not None

    def snapshot(self) -> dict[str, object]:
        """Return the state, and the server's description of the stream."""
        origin = None if self.origin is None else dict(self.origin.members)
        return {**super().snapshot(), "origin": origin}

    def restore(self, data: Mapping[str, object]) -> None:
        """Restore the state that `snapshot` returned."""
        super().restore(data)
        origin = cast("dict[str, object] | None", data["origin"])
        self.origin = None if origin is None else Origin(origin)

    def _ask(self) -> None:
        body = {"deliver_subject": self.port.subject, **self._body}
        self._call = self.port.call(Call(self._request, to_json(body), None, self._patience))

    def _answer(self) -> None:
        """Answer one more chunk, if one waits for an answer."""
        if self._owed and self.port.up:
            self.port.publish(Publish(self._owed.popleft(), b""))

    def _over(self, status: tuple[int, str] | None, now: float) -> None:
        if status is not None:
            row = judge(*status, StatusContext.SNAPSHOT)
            if row.verdict is not StatusAction.COMPLETE:
                late = now - self._taken_at
                slow = (
                    f" ({self._waiting} bytes wait for the writer,"
                    f" who took nothing for {late:.1f} s)"
                )
                about = f"{self._about}{slow if self._chunks else ''}"
                self.end(status_error(row, *status, about))
                return
        self._all = True
        self._judge()

    def _judge(self) -> None:
        """End if everything is here; the answer and the chunks may arrive in either order."""
        if self.complete:
            self.end()


class Restore(SnapshotTransfer[StreamInfo]):
    """Creates a stream from the chunks of a `Snapshot`, in the same order; it has one result.

    Args:
        api: the subjects of the API.
        origin: configuration and state of the snapshot.
        patience: longest silence in seconds.

    Attributes:
        sent: number of chunks that were sent.

    Raises:
        InvalidResponse: the origin lacks configuration or state.
        InvalidConfig: ``patience`` is invalid.
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
        """End, because a restore cannot continue on another link.

        The server drops what it has received, unless it was killed.
        """
        if self._call and not self.ended:
            lost = ConnectionLost(
                f"{self._about}: link lost after {self.size} bytes; a server that was killed"
                " may hold a part of the stream, which has to be deleted before another restore"
            )
            lost.__cause__ = error
            self.end(lost)

    def replied(self, token: int, frame: Delivery, now: float) -> None:
        """Process an answer: the subject for chunks, the receipt of a chunk, or the new stream."""
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
                        f"{self._about}: expected an empty answer to a chunk,"
                        f" got {shorten(message.payload)}"
                    )
            self._settle(now)
        except JsprotoError as error:
            self.end(error)

    def ticked(self, now: float) -> None:
        """Process a timer: an answer is overdue, or a held-back byte keeps the restore alive."""
        for timer in self.timers.expired(now):
            if timer is TransferTimer.CHUNK:
                byte, self._held = self._held[:1], self._held[1:]
                self._send(byte, now)
            elif self._finish:
                self.end(
                    RequestTimeout(
                        f"{self._about}: expected the stream within {self._finishing:.0f} s of"
                        f" the last of {self.size} bytes, nothing came: look whether it,"
                        " or a part of it, is there"
                    )
                )
            elif self._flight or not self._subject:  # else the server waits for the user
                self.end(
                    RequestTimeout(
                        f"{self._about}: expected a sign of life within {self._patience} s,"
                        f" none came: {self.size} bytes were sent, and no stream was made"
                    )
                )

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """End if the server refused a publish or a subscription."""
        if not self.ended and subject in {self._request, self._subject, self.port.answers}:
            self.end(error)

    def told(self, wish: StopMode, now: float) -> None:
        """Send the end after the last chunk: the user has no more."""
        self._draining = True
        self._settle(now)

    # ------------------------------------------------------------------ the user's side

    def offered(self, item: object, now: float) -> bool:
        """Send a chunk, if the window has room; its last bytes may be sent with the next one.

        Raises:
            LocalProtocolError: the item is not bytes, or is empty, which would mean the end.
            ConversationClosed: the restore is draining or has ended.
            JsprotoError: the error that ended it.
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
        """Return the created stream, once."""
        if self.readable:
            self._given = True
            return cast("StreamInfo", self._result)
        return self.nothing()

    @property
    def readable(self) -> int:
        """1 while the result is available, else 0."""
        return 1 if self._result is not None and not self._given else 0

    # ------------------------------------------------------------------ steps

    def snapshot(self) -> dict[str, object]:
        """Return the state, and the created stream."""
        result = None if self._result is None else self._result.to_wire()
        return {**super().snapshot(), "result": result}

    def restore(self, data: Mapping[str, object]) -> None:
        """Restore the state that `snapshot` returned."""
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
        """Send a chunk if it is not empty; held-back bytes are sent one by one in pauses."""
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
        """Seconds that the server may take from the last chunk to the created stream."""
        return self._patience + self.size / _UNPACKED

    def _settle(self, now: float) -> None:
        if not self._draining or not self._subject or self._finish or self.ended:
            return
        tail, self._held = self._held, b""
        self._send(tail, now)
        if not self._flight:
            self._finish = self.port.call(Call(self._subject, b"", None, self._patience))
            self.timers.set(TransferTimer.SIGN, now + self._finishing)
