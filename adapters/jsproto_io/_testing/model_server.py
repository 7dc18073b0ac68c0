"""A model server on a real socket of this machine, in a thread of its own: what the contract of
adapters is checked against.

The model is `jsproto.testing.SimServer`, pure as ever; here it gets a door, a clock and lines. The
faults are those of a network: lines are cut without a word, nobody reads or writes for a while,
bytes come one by one.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Mapping
from time import monotonic
from types import TracebackType
from typing import Any, Final, Self, TypeVar, final

from jsproto.testing import SimServer
from jsproto_io._layers.stack import ByteFilter
from jsproto_io._layers.websocket_options import answering

T = TypeVar("T")
_CHUNK: Final = 65_536
#: Sent without a FIN, so that the other side sees a reset.
_AT_ONCE: Final = struct.pack("ii", 1, 0)


@final
class _Line:
    """One accepted connection."""

    __slots__ = ("cid", "held", "layer", "stream", "unsent")

    def __init__(self, cid: int, stream: socket.socket, layer: ByteFilter | None) -> None:
        self.cid = cid
        self.stream = stream
        self.layer = layer
        self.held = bytearray()
        self.unsent = bytearray()

    def say(self, data: bytes) -> None:
        """Have it written, as soon as there is something to say it through."""
        layer = self.layer
        if layer is None:
            self.unsent += data
            return
        self.held += data
        if self.held and layer.stands and not layer.ended:
            self.unsent += layer.sent(bytes(self.held))
            self.held.clear()

    def hear(self, data: bytes) -> bytes:
        """What the bytes say."""
        layer = self.layer
        if layer is None:
            return data
        said = layer.received(data)
        self.unsent += layer.outgoing()
        self.say(b"")
        return said

    def leave(self) -> None:
        """Say goodbye, where that is usual; a second time says nothing."""
        if self.layer is not None:
            self.unsent += self.layer.close_frame()


@final
class ModelServer:
    """A context manager: the server lives as long as its body.

    Args:
        model: the server; a plain `SimServer` if none is given.
        piece: most bytes of one segment.
        web: speak through WebSockets.

    Attributes:
        url: where it is.
        options: what a client needs to connect to it: nothing.
        accepted: how many connections there were.
        heard: everything that all clients have said; it always ``hears``.
        web: whether it speaks through WebSockets.
    """

    options: Final[Mapping[str, Any]] = {}
    hears: Final = True

    def __init__(
        self, model: SimServer | None = None, *, piece: int = 1 << 30, web: bool = False
    ) -> None:
        self.model: SimServer = model or SimServer(now=monotonic())
        self.accepted = 0
        self.heard = bytearray()
        self.web = web
        self._answering = answering() if web else None
        self._piece = piece
        self._lock = threading.Lock()
        self._lines: dict[int, _Line] = {}
        self._frozen_until = 0.0
        self._open = True
        self._failure: BaseException | None = None
        self._door = socket.create_server(("127.0.0.1", 0))
        self._door.settimeout(0.0)
        self._bell, self._ear = socket.socketpair()
        self._ear.settimeout(0.0)
        self._bell.settimeout(0.0)
        self._selector = selectors.DefaultSelector()
        self._thread = threading.Thread(target=self._run, name="hosted", daemon=True)
        self.url = f"{'ws' if web else 'nats'}://127.0.0.1:{self._door.getsockname()[1]}"

    def __repr__(self) -> str:
        return f"<ModelServer at {self.url}: {len(self._lines)} connections>"

    def __enter__(self) -> Self:
        self._selector.register(self._door, selectors.EVENT_READ)
        self._selector.register(self._ear, selectors.EVENT_READ)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open = False
        self._ring()
        self._thread.join()
        for each in (self._bell, self._ear, self._door):
            each.close()
        self._selector.close()
        if self._failure is not None and error is None:
            raise self._failure

    def again(self, *, piece: int = 1 << 30) -> ModelServer:
        """Another server of this kind."""
        return ModelServer(piece=piece, web=self.web)

    # ------------------------------------------------------------------ from the side

    def publish(self, messages: Iterable[tuple[str, bytes]]) -> None:
        """As another client does."""

        def all_of_them(model: SimServer, now: float) -> None:
            for subject, payload in messages:
                model.publish(subject, payload, now)

        self.ask(all_of_them)

    def stored(self) -> int:
        """How many messages the stream holds."""
        return int(self._asked("STREAM.INFO.S")["state"]["messages"])

    def unsettled(self) -> int:
        """How many messages the consumer has still to deliver or to hear of."""
        info = self._asked("CONSUMER.INFO.S.C")
        return int(info["num_pending"]) + int(info["num_ack_pending"])

    def _asked(self, subject: str) -> Any:
        return self.ask(lambda model, now: model.request(subject, None, now))

    # ------------------------------------------------------------------ faults, from any thread

    @property
    def connected(self) -> int:
        """How many lines there are now."""
        return len(self._lines)

    def freeze(self, seconds: float) -> None:
        """Neither read nor write nor accept for so long."""
        with self._lock:
            self._frozen_until = monotonic() + seconds
        self._ring()

    def cut(self) -> None:
        """Reset every line."""

        def all_lines(_: SimServer, now: float) -> None:
            for line in list(self._lines.values()):
                line.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
                self._end(line, now)

        self.ask(all_lines)

    def ask(self, what: Callable[[SimServer, float], T]) -> T:
        """Do something with the model, as if from the side."""
        with self._lock:
            result = what(self.model, monotonic())
        self._ring()
        return result

    def say(self, data: bytes) -> None:
        """Bytes to everybody, beside what the model says."""
        with self._lock:
            for line in self._lines.values():
                line.say(data)
        self._ring()

    def _ring(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._bell.send(b"!")

    # ------------------------------------------------------------------ the thread

    def _run(self) -> None:
        try:
            while self._open:
                self._turn()
        except BaseException as failure:  # noqa: BLE001 - raised where the server is left
            self._failure = failure
        for line in self._lines.values():
            line.stream.close()

    def _turn(self) -> None:
        frozen = self._frozen_until - monotonic()
        if frozen > 0.0:
            self._ear.settimeout(frozen)
            with contextlib.suppress(TimeoutError):
                self._ear.recv(_CHUNK)
            self._ear.settimeout(0.0)
            return
        deadline = self.model.next_deadline()
        ready = self._selector.select(
            None if deadline is None else max(0.0, deadline - monotonic())
        )
        with self._lock:
            now = monotonic()
            for key, mask in ready:
                if key.fileobj is self._door:
                    self._accept(now)
                elif key.fileobj is self._ear:
                    self._ear.recv(_CHUNK)
                elif mask & selectors.EVENT_READ:
                    self._read(key.data, now)
            self.model.handle_tick(now)
            for line in list(self._lines.values()):
                self._serve(line, now)

    def _accept(self, now: float) -> None:
        stream, _ = self._door.accept()
        stream.settimeout(0.0)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.accepted += 1
        layer = None if self._answering is None else self._answering()
        line = _Line(self.model.connect(now), stream, layer)
        self._lines[line.cid] = line
        self._selector.register(stream, selectors.EVENT_READ, line)

    def _read(self, line: _Line, now: float) -> None:
        if line.cid not in self._lines:
            return
        try:
            data = line.stream.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.model.disconnect(line.cid, now)
            self._end(line, now)
        elif not self.model.closed(line.cid):
            said = line.hear(data)
            self.heard += said
            self.model.receive_data(line.cid, said, now)

    def _serve(self, line: _Line, now: float) -> None:
        line.say(self.model.data_to_send(line.cid))
        if self.model.closed(line.cid):
            line.leave()
        try:
            while line.unsent:
                del line.unsent[: line.stream.send(line.unsent[: self._piece])]
        except BlockingIOError:
            pass
        except OSError:
            line.unsent.clear()
        both = selectors.EVENT_READ | (selectors.EVENT_WRITE if line.unsent else 0)
        self._selector.modify(line.stream, both, line)
        if self.model.closed(line.cid) and not line.unsent:
            self._end(line, now)

    def _end(self, line: _Line, now: float) -> None:
        del self._lines[line.cid]
        self._selector.unregister(line.stream)
        line.stream.close()
        if not self.model.closed(line.cid):
            self.model.disconnect(line.cid, now)
