"""What a road can do to a pull although TCP keeps the order of bytes: statuses come late, frames of
a consumer change places.

A status is said by whoever leads the consumer, a message may come by another route of a cluster,
and the server of the connection answers a PING: between these three there is no order. `Unruly` stands before a server and does that to whatever comes on inboxes of
ports; all else passes untouched. `Leaping` stands before a client, whose clock leaps, forwards as
that of a suspended machine does, or back.
"""

from __future__ import annotations

from math import inf, nextafter
from random import Random

from jsproto.core.connection.connection import Connection
from jsproto.testing import SimServer
from jsproto.trace.formats.framing import Framer, Piece

PORTS = b"_INBOX.P."


class Unruly:
    """A server's end of the line.

    Attributes:
        late: seconds that a status is held back at most; each is held back for some part of it.
        mixed: whether what comes at one moment comes in any order.
        delayed: statuses that were held back so far; ``moved`` frames that changed places.
    """

    def __init__(self, server: SimServer, seed: int) -> None:
        self.server = server
        self.late = 0.0
        self.mixed = False
        self.delayed = self.moved = 0
        self._draw = Random(seed)
        self._framer = Framer()
        self._sids: set[bytes] = set()
        self._held: list[tuple[float, int, bytes]] = []
        self._now = 0.0

    def calm(self) -> None:
        """From now on the line is a good one; what is held back still comes late."""
        self.late, self.mixed = 0.0, False

    # ------------------------------------------------------------------ as a peer

    def connect(self, now: float) -> int:
        self._framer = Framer()
        return self.server.connect(now)

    def receive_data(self, cid: int, data: bytes, now: float) -> None:
        self._now = max(self._now, now)
        self.server.receive_data(cid, data, now)

    def disconnect(self, cid: int, now: float) -> None:
        self._held.clear()  # what was on its way is lost with the link
        self.server.disconnect(cid, now)

    def closed(self, cid: int) -> bool:
        closed = self.server.closed(cid)
        if closed:
            self._held.clear()
        return closed

    def handle_tick(self, now: float) -> None:
        self._now = max(self._now, now)
        self.server.handle_tick(now)

    def next_deadline(self) -> float | None:
        moments = [self.server.next_deadline(), *(at for at, _, _ in self._held)]
        return min((at for at in moments if at is not None), default=None)

    def data_to_send(self, cid: int) -> bytes:
        passing = [
            each
            for piece in self._framer.feed(self.server.data_to_send(cid))
            for each in self._judged(cid, piece)
        ]
        due = [frame for at, owner, frame in self._held if owner == cid and at <= self._now]
        self._held = [each for each in self._held if each[1] != cid or each[0] > self._now]
        return b"".join([*due, *self._shuffled(passing)])

    # ------------------------------------------------------------------ what it does

    def _judged(self, cid: int, piece: Piece) -> list[bytes]:
        frame = piece.line + piece.body
        if self.late and _status(piece):
            self.delayed += 1
            self._held.append((self._now + self._draw.random() * self.late, cid, frame))
            return []
        return [frame]

    def _shuffled(self, frames: list[bytes]) -> list[bytes]:
        """Whatever a consumer or a keepalive has to say, in any order; INFO and answers stay where
        they are.
        """
        if not self.mixed:
            return frames
        places = [at for at, frame in enumerate(frames) if _of_a_consumer(frame)]
        order = self._draw.sample(places, len(places))
        self.moved += places != order
        mixed = list(frames)
        for at, other in zip(places, order, strict=True):
            mixed[at] = frames[other]
        return mixed


def _status(piece: Piece) -> bool:
    words = piece.line.split()
    return words[0] == b"HMSG" and words[1].startswith(PORTS) and len(words) == 5


def _of_a_consumer(frame: bytes) -> bool:
    words = frame[: frame.index(b"\n")].split()
    return words[0] == b"PONG" or (
        words[0] in {b"MSG", b"HMSG"} and (b"$JS.ACK." in frame or words[1].startswith(PORTS))
    )


class Leaping:
    """A client whose clock leaps; everybody else's goes on."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.leapt = 0.0

    def leap(self, seconds: float) -> None:
        self.leapt += seconds

    def transport_up(self, now: float) -> None:
        self.connection.transport_up(now + self.leapt)

    def receive_data(self, data: bytes, now: float) -> None:
        self.connection.receive_data(data, now + self.leapt)

    def transport_down(self, error: Exception | None, now: float) -> None:
        self.connection.transport_down(error, now + self.leapt)

    def handle_tick(self, now: float) -> None:
        self.connection.handle_tick(now + self.leapt)

    def authenticate(self, auth, now: float) -> None:
        self.connection.authenticate(auth, now + self.leapt)

    def next_event(self):
        return self.connection.next_event()

    def data_to_send(self) -> bytes:
        return self.connection.data_to_send()

    def next_deadline(self) -> float | None:
        due = self.connection.next_deadline()
        if due is None:
            return None
        at = due - self.leapt
        while at + self.leapt < due:  # what was lost in the last digit would be due for ever
            at = nextafter(at, inf)
        return at
