"""One TCP stream after another that never block, under a selector of its own: the transport of the blocking adapter.

Theory. Only `wait` sleeps. It gives one thing that happened: the stream is open (`OPENED`), bytes came, or it is `Lost`; or
``None``, for nothing but time. Bytes that the kernel does not take are kept in ``unsent`` and follow as it makes room.

Dialling tries the addresses of a host one after the other. Only the resolver blocks, as Python's own does.

What is written with more to follow (``more``) lies in the kernel and may wait there for company; it goes with whatever is written next without, when
`wait` begins to sleep, or when the kernel has had it for a fifth of a second, whatever its owner does meanwhile. Where a kernel knows nothing of the kind
it goes at once.

A broken stream swallows what is written: reading it says that it is broken, and once is enough.
"""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import socket
from collections import deque
from enum import Enum
from typing import Any, Final, TypeAlias, final

from jsproto_io._ways import in_turn

#: Bytes read at once. From 128 KiB on the C library maps memory anew for each read, which costs more than the read.
CHUNK: Final = 122_880
#: What connecting a socket that does not block says when nothing is wrong.
UNDER_WAY: Final = frozenset({0, errno.EINPROGRESS, errno.EWOULDBLOCK})
#: What tells a kernel that more will follow; 0 where it cannot be told.
MORE: Final[int] = getattr(socket, "MSG_MORE", 0)
_READ: Final = selectors.EVENT_READ
_BOTH: Final = selectors.EVENT_READ | selectors.EVENT_WRITE
#: What a resolver gives: family, type, protocol and address.
_Place: TypeAlias = tuple[int, int, int, Any]


class Happened(Enum):
    """What needs no more words."""

    #: The stream that was dialled is open.
    OPENED = "OPENED"


OPENED: Final = Happened.OPENED


@final
class Lost:
    """The stream is gone, or could not be opened; ``error`` is ``None`` for an end of stream."""

    __slots__ = ("error",)

    def __init__(self, error: Exception | None) -> None:
        self.error = error


@final
class Plug:
    """A place for one stream at a time.

    Attributes:
        asleep: nothing is half done: the last `wait` sleeps, or an exception has woken it.
        unsent: what the kernel has not taken yet.
    """

    __slots__ = ("_connecting", "_held", "_places", "_selector", "_stream", "asleep", "unsent")

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._stream: socket.socket | None = None
        self._places: deque[_Place] = deque()
        self._connecting = False
        self._held = False
        self.asleep = False
        self.unsent = bytearray()

    def fileno(self) -> int:
        """A descriptor that is readable when `wait` has something to give, for a selector of one's own."""
        return self._selector.fileno()

    def dial(self, host: str, port: int, *, randomize: bool = False) -> Lost | None:
        """Begin to open a stream; `wait` says what came of it, unless it is clear at once. ``randomize`` the addresses of the name."""
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, ValueError) as error:  # ValueError: a host name that no resolver takes
            return Lost(error)
        places = in_turn(found, randomize=randomize)
        self._places = deque((family, kind, proto, place) for family, kind, proto, _, place in places)
        return self._try_next(OSError(f"no address for {host}"))

    def wait(self, patience: float | None) -> bytes | Happened | Lost | None:
        """Sleep until something happens, at most so many seconds, or for ever."""
        if self._held and patience != 0.0:
            self._let_go()
        self.asleep = True
        ready = self._selector.select(patience)
        self.asleep = False
        stream = self._stream
        if not ready or stream is None:
            return None
        if self._connecting:
            return self._arrived(stream)
        mask = ready[0][1]
        if mask & selectors.EVENT_WRITE:
            self.write(b"")
        return self._read(stream) if mask & _READ else None

    def write(self, data: bytes, *, more: bool = False) -> None:
        """Give the kernel what it takes, and keep the rest."""
        stream = self._stream
        if stream is None:
            return
        unsent = self.unsent
        if unsent:
            unsent += data
            del unsent[: taken(stream, unsent)]
            if not unsent:
                self._selector.modify(stream, _READ)
            return
        self._held = more
        gone = taken(stream, data, MORE if more else 0)
        if gone < len(data):
            unsent += memoryview(data)[gone:]
            self._selector.modify(stream, _BOTH)

    def hang_up(self) -> None:
        """Close the stream, or stop opening it."""
        self._places.clear()
        self.unsent.clear()
        self._connecting = False
        if self._stream is not None:
            self._selector.unregister(self._stream)
            self._stream.close()
            self._stream = None

    def pull(self) -> None:
        """Close all descriptors and touch nothing that a fork may share: no word on the wire, no change to the selector."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        self._selector.close()

    # ------------------------------------------------------------------ opening and reading

    def _try_next(self, why: OSError) -> Lost | None:
        while self._places:
            family, kind, proto, place = self._places.popleft()
            try:
                stream = socket.socket(family, kind, proto)
            except OSError as error:
                why = error
                continue
            stream.settimeout(0.0)
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            code = stream.connect_ex(place)
            if code in UNDER_WAY:
                self._stream = stream
                self._connecting = True
                self._selector.register(stream, selectors.EVENT_WRITE)
                return None
            stream.close()
            why = OSError(code, os.strerror(code))
        return Lost(why)

    def _arrived(self, stream: socket.socket) -> Happened | Lost | None:
        code = stream.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        self._connecting = False
        self._selector.unregister(stream)
        if code:
            stream.close()
            self._stream = None
            return self._try_next(OSError(code, os.strerror(code)))
        self._selector.register(stream, _READ)
        return OPENED

    def _let_go(self) -> None:
        self._held = False
        if self._stream is not None:
            with contextlib.suppress(OSError):  # reading says that it is broken
                self._stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def _read(self, stream: socket.socket) -> bytes | Lost | None:
        try:
            data = stream.recv(CHUNK)
        except BlockingIOError:
            return None
        except OSError as error:
            self.hang_up()
            return Lost(error)
        if data:
            return data
        self.hang_up()
        return Lost(None)


def taken(stream: socket.socket, data: bytes | bytearray, flags: int = 0) -> int:
    """How many bytes the kernel takes now."""
    try:
        return stream.send(data, flags)
    except BlockingIOError:
        return 0
    except OSError:
        return len(data)
