"""One TCP stream after another that never block, under a selector of its own: the transport of the
blocking adapter.

Theory. Only `wait` sleeps. It gives one thing that happened: the stream is open (`OPENED`), bytes
came, or it is `ConnectionGone`; or ``None``, for nothing but time. Bytes that the kernel does not
take are kept in ``unsent`` and follow as it makes room.

Dialling looks up a name in a thread (`Lookup`), and then lets its addresses `HappyEyeballs`. A race
wants to be woken from time to time (``due``), so whoever sleeps sleeps no longer than that. Nothing
here has a time limit of its own: whoever dialled hangs up when it takes too long.

What is written with more to follow (``more``) lies in the kernel and may wait there for company; it
goes with whatever is written next without, when `wait` begins to sleep, or when the kernel has had
it for a fifth of a second, whatever its owner does meanwhile. Where a kernel knows nothing of the
kind it goes at once.

A stream that refuses what is written is ``broken``. What it refused and what follows stays in
``unsent``; what came before is still read.
"""

from __future__ import annotations

import contextlib
import math
import selectors
import socket
from collections.abc import Sequence
from enum import Enum
from time import monotonic, sleep
from typing import Final, final

from jsproto.errors import LocalProtocolError
from jsproto_io._transport.backend import AddrInfo
from jsproto_io._transport.happy_eyeballs import HappyEyeballs
from jsproto_io._transport.resolver import Lookup, written_out

#: Bytes read at once. From 128 KiB on the C library maps memory anew for each read, which costs
#: more than the read.
CHUNK: Final = 122_880
#: What tells a kernel that more will follow; 0 where it cannot be told.
MORE: Final[int] = getattr(socket, "MSG_MORE", 0)
_READ: Final = selectors.EVENT_READ
_BOTH: Final = selectors.EVENT_READ | selectors.EVENT_WRITE


class Happened(Enum):
    """What needs no more words."""

    #: The stream that was dialled is open.
    OPENED = "OPENED"


OPENED: Final = Happened.OPENED


@final
class ConnectionGone:
    """The stream is gone, or could not be opened; ``error`` is ``None`` for an end of stream."""

    __slots__ = ("error",)

    def __init__(self, error: Exception | None) -> None:
        self.error = error


@final
class SelectorTransport:
    """A place for one stream at a time.

    Attributes:
        asleep: nothing is half done: the last `wait` sleeps, or an exception has woken it.
        broken: why the stream takes nothing more; ``None`` while it does.
        due: when `wait` is to be called though nothing has come, by the monotonic clock; ``None``
            for no such time.
        unsent: what the kernel has not taken yet.
    """

    __slots__ = (
        "_asked",
        "_held",
        "_lookup",
        "_race",
        "_selector",
        "_stream",
        "_trying",
        "asleep",
        "broken",
        "due",
        "unsent",
    )

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._stream: socket.socket | None = None
        self._asked = ("", False, math.inf)
        self._lookup: Lookup | None = None
        self._race: HappyEyeballs | None = None
        self._trying: set[socket.socket] = set()
        self._held = False
        self.asleep = False
        self.broken: OSError | None = None
        self.due: float | None = None
        self.unsent = bytearray()

    def __repr__(self) -> str:
        return f"<SelectorTransport {'without' if self._stream is None else 'with'} a stream, {len(self.unsent)} bytes unsent>"

    def fileno(self) -> int:
        """A descriptor that is readable when `wait` has something to give, for a selector of one's
        own.

        Raises:
            LocalProtocolError: the system's selector has none, as on Windows.
        """
        fileno = getattr(self._selector, "fileno", None)
        if fileno is None:
            raise LocalProtocolError(
                "expected a system with epoll or kqueue for a selector within a selector, this one has none"
            )
        return int(fileno())

    def dial(
        self, host: str, port: int, *, randomize: bool = False, within: float = math.inf
    ) -> ConnectionGone | None:
        """Begin to open a stream; `wait` says what came of it, unless it is clear at once.
        ``randomize`` and ``within``: see `HappyEyeballs`.
        """
        self._asked = host, randomize, within
        try:
            places = written_out(host, port)
            lookup = Lookup(host, port) if places is None else None
        except (OSError, ValueError) as error:  # ValueError: a host name that no resolver takes
            return ConnectionGone(error)
        if lookup is None:
            return self._begin(places or ())
        self._lookup = lookup
        self._selector.register(lookup, _READ)
        return None

    def wait(self, patience: float | None) -> bytes | Happened | ConnectionGone | None:
        """Sleep until something happens, at most so many seconds, or for ever."""
        if self._held and patience != 0.0:
            self._let_go()
        stream = self._stream
        broken = self.broken
        if broken is not None:
            patience = 0.0  # a stream that takes nothing need not say why
        self.asleep = True
        if stream is None and patience is not None and not self._selector.get_map():
            sleep(patience)  # Windows cannot select on nothing
            ready: list[tuple[selectors.SelectorKey, int]] = []
        else:
            ready = self._selector.select(patience)
        self.asleep = False
        if stream is None:
            return self._nearer(ready)
        if not ready:
            if broken is None:
                return None
            self.hang_up()
            return ConnectionGone(broken)
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
        if unsent or self.broken is not None:
            unsent += data
            self._empty(stream)
            return
        self._held = more
        try:
            gone = taken(stream, data, MORE if more else 0)
        except OSError as error:
            self.broken = error
            gone = 0
        if gone < len(data):
            unsent += memoryview(data)[gone:]
            if self.broken is None:
                self._selector.modify(stream, _BOTH)

    def _empty(self, stream: socket.socket) -> None:
        if self.broken is not None:
            return
        try:
            del self.unsent[: taken(stream, self.unsent)]
        except OSError as error:
            self.broken = error
        if self.broken is not None or not self.unsent:
            self._selector.modify(stream, _READ)

    def hang_up(self) -> None:
        """Close the stream, or stop opening it."""
        self.unsent.clear()
        self.broken = None
        self._give_up_dialling()
        if self._stream is not None:
            self._selector.unregister(self._stream)
            self._stream.close()
            self._stream = None

    def pull(self) -> None:
        """Close all descriptors and touch nothing that a fork may share: no word on the wire, no
        change to the selector.
        """
        if self._lookup is not None:
            self._lookup.leave()
            self._lookup = None
        for stream in self._trying:
            stream.close()
        self._trying.clear()
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        self._selector.close()

    # ------------------------------------------------------------------ opening and reading

    def _begin(self, places: Sequence[AddrInfo]) -> ConnectionGone | None:
        host, randomize, within = self._asked
        self._race = HappyEyeballs(host, places, randomize=randomize, within=within)
        return self._next(self._race)

    def _nearer(
        self, ready: list[tuple[selectors.SelectorKey, int]]
    ) -> Happened | ConnectionGone | None:
        """What became of the dialling: addresses were found, a stream stands, one has failed, or
        another is to be begun.
        """
        if self._lookup is not None and ready:
            return self._found(self._lookup)
        race = self._race
        if race is None:
            return None
        begin = self.due is not None and self.due <= monotonic()
        for stream in self._trying & {key.fileobj for key, _ in ready}:
            self._selector.unregister(stream)
            self._trying.remove(stream)
            if race.stands(stream):
                self._give_up_dialling()
                self._stream = stream
                self._selector.register(stream, _READ)
                return OPENED
            begin = True
        return self._next(race) if begin else None

    def _found(self, lookup: Lookup) -> ConnectionGone | None:
        try:
            places = lookup.found()
        except (OSError, ValueError) as error:
            return ConnectionGone(error)
        finally:
            self._give_up_dialling()
        return self._begin(places)

    def _next(self, race: HappyEyeballs) -> ConnectionGone | None:
        """Begin one more address, or say that all have failed."""
        stream = race.begun()
        if stream is not None:
            self._trying.add(stream)
            self._selector.register(stream, selectors.EVENT_WRITE)
        self.due = monotonic() + race.moment if race.left else None
        if self._trying:
            return None
        self._race = None
        return ConnectionGone(race.why)

    def _give_up_dialling(self) -> None:
        """No name is looked up any more, and no address is tried."""
        self.due = self._race = None
        lookup, self._lookup = self._lookup, None
        if lookup is not None:
            self._selector.unregister(lookup)
            lookup.leave()
        for stream in self._trying:
            self._selector.unregister(stream)
            stream.close()
        self._trying.clear()

    def _let_go(self) -> None:
        self._held = False
        if self._stream is not None:
            with contextlib.suppress(OSError):  # reading says that it is broken
                self._stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def _read(self, stream: socket.socket) -> bytes | ConnectionGone | None:
        try:
            data = stream.recv(CHUNK)
        except BlockingIOError:
            return None
        except OSError as error:
            self.hang_up()
            return ConnectionGone(error)
        if data:
            return data
        self.hang_up()
        return ConnectionGone(None)


def taken(stream: socket.socket, data: bytes | bytearray, flags: int = 0) -> int:
    """How many bytes the kernel takes now.

    Raises:
        OSError: the stream is broken, and the kernel took none of them.
    """
    try:
        return stream.send(data, flags)
    except BlockingIOError:
        return 0
