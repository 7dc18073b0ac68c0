"""The addresses of a name in a race: one that swallows every packet costs a moment, and not all the
time there is.

Theory. The addresses have an order. Each is begun when the one before it has failed, or has said
nothing for a moment; whoever was begun stays in the race, so a slow one may still win. The first
stream that stands is taken, and the others are closed (RFC 8305). A moment is a quarter of a
second, or less for so many addresses that the last would not have half of the time. How long all of
it may take is the core's to say: it ends a race that nobody wins.

A race waits for nobody. It gives the next socket, and is told what became of it; how one waits for
several at once is the adapter's.
"""

from __future__ import annotations

import errno
import os
import random
import socket
from collections import deque
from collections.abc import Sequence
from typing import Any, Final, final

from jsproto_io._transport.backend import AddrInfo

#: Seconds after which the next address is tried beside those that have not answered (RFC 8305
#: section 8).
MOMENT: Final = 0.25
#: What connecting a socket that does not block says when nothing is wrong.
UNDER_WAY: Final = frozenset({0, errno.EINPROGRESS, errno.EWOULDBLOCK})


@final
class HappyEyeballs:
    """Who of these addresses is connected first.

    Args:
        host: the name, for the case that it has none.
        places: what the resolver gave.
        randomize: in random order, so that clients spread; else as the resolver says.
        within: seconds for all of it, and for what follows.

    Attributes:
        moment: seconds until the next address is begun though none has failed.
        why: what the last one failed with.
    """

    __slots__ = ("_left", "moment", "why")

    def __init__(
        self, host: str, places: Sequence[AddrInfo], *, randomize: bool, within: float
    ) -> None:
        self._left = deque(random.sample(places, len(places)) if randomize else places)
        self.moment = min(MOMENT, within / 2 / max(1, len(places)))
        self.why: Exception = OSError(f"no address for {host}")

    @property
    def left(self) -> bool:
        """Whether there are addresses that were not begun."""
        return bool(self._left)

    def next(self) -> tuple[socket.socket, Any] | None:
        """A socket that does not block for the next address that can be tried, and that address;
        ``None`` if none is left.
        """
        while self._left:
            family, kind, proto, _, place = self._left.popleft()
            try:
                stream = socket.socket(family, kind, proto)
            except OSError as error:
                self.why = error
                continue
            stream.settimeout(0.0)
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return stream, place
        return None

    def begun(self) -> socket.socket | None:
        """A socket that is being connected to the next address that can be tried; ``None`` if none
        is left.
        """
        while (entrant := self.next()) is not None:
            stream, place = entrant
            if self._goes_on(stream, stream.connect_ex(place), UNDER_WAY):
                return stream
        return None

    def stands(self, stream: socket.socket) -> bool:
        """Whether one that can be written is connected; else it is closed."""
        return self._goes_on(stream, stream.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), {0})

    def failed(self, stream: socket.socket, error: Exception) -> None:
        """It could not be connected."""
        stream.close()
        self.why = error

    def _goes_on(self, stream: socket.socket, code: int, good: frozenset[int] | set[int]) -> bool:
        if code in good:
            return True
        self.failed(stream, OSError(code, os.strerror(code)))
        return False
