"""One model server with its clock and the lines to it: what an application is tested on, whatever
event loop it has.

:class:`Switchboard` is what all transports in memory have in common, and nothing that waits. A
transport dials and gets a :class:`Line`; what it writes the server reads at once, and what the
server has to say lies in the line, whose bell is rung. Time stands still as long as anybody has
something to do. When everybody waits, whoever runs them calls :meth:`Switchboard.leap`: the clock
goes to the next moment at which something is due, on either side. So half a minute of patience
takes no time, and a run is always the same.

A test breaks things by verbs: the server is killed and starts again, lines are cut, nothing comes
through for a while, a consumer is deleted by somebody else. They act at once; those who are
connected hear of it when they go on.

A test that never ends would let time fly for ever. So there is a ``limit``, and who goes beyond it
hears that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, final

from jsproto.errors.tree import LocalProtocolError, shorten
from jsproto.testing.clock import Clock
from jsproto.testing.simserver import SimServer
from jsproto.testing.simserver.values.documents import Table

#: What a test gets to clean up after it went beyond its limit, in seconds.
_GRACE: Final = 3_600.0


@final
class Line:
    """One byte stream to the server.

    Attributes:
        ended: nothing will come behind what `read` gives.
        error: why it ended; ``None`` for an end of stream.
    """

    __slots__ = ("_board", "_cid", "_ring", "_unheard", "_unread", "ended", "error")

    def __init__(self, board: Switchboard, cid: int, ring: Callable[[], None]) -> None:
        self._board = board
        self._cid = cid
        self._ring = ring
        self._unread = bytearray()
        self._unheard = bytearray()
        self.ended = False
        self.error: Exception | None = None

    def write(self, data: bytes) -> None:
        """Bytes for the server. A stream that has ended swallows them."""
        if not self.ended:
            self._unheard += data
            self._board.settle()

    def read(self) -> bytes:
        """All that has come since the last call."""
        data = bytes(self._unread)
        self._unread.clear()
        return data

    def hang_up(self) -> None:
        """Leave; a second time does nothing."""
        if not self.ended:
            self.ended = True
            self._board._left(self._cid)  # noqa: SLF001 - board and line are one thing in two classes

    def _heard(self) -> bytes:
        data = bytes(self._unheard)
        self._unheard.clear()
        return data

    def _say(self, data: bytes) -> None:
        if data:
            self._unread += data
            self._ring()

    def _end(self, error: Exception | None) -> None:
        self.ended = True
        self.error = error
        self._ring()


class Switchboard:
    """A model server, its clock and its lines.

    Args:
        model: the server; a plain `SimServer` if none is given. Whatever it has lived through is
            kept.
        clock: the time of everybody.
        limit: virtual seconds that a test may take.

    Attributes:
        model: the server.
        clock: the time.
        accepted: how many lines there were.
        url: an address for clients; every other address leads to the same server.
    """

    def __init__(
        self, model: SimServer | None = None, *, clock: Clock | None = None, limit: float = 86_400.0
    ) -> None:
        self.model: SimServer = SimServer() if model is None else model
        self.clock: Clock = Clock() if clock is None else clock
        self.accepted = 0
        self.url = "nats://127.0.0.1:4222"
        self._over = self.clock.now + limit
        self._thaw_at = -math.inf
        self._lines: dict[int, Line] = {}

    # ------------------------------------------------------------------ for transports

    def dial(self, ring: Callable[[], None]) -> Line:
        """A line; ``ring`` is called whenever there may be something to read, and must not read
        itself.

        Raises:
            ConnectionRefusedError: nobody answers.
        """
        cid = self.model.connect(self.clock.now)
        line = Line(self, cid, ring)
        if self.model.closed(cid):
            # Whoever hangs up at once may still have said why.
            words = self.model.data_to_send(cid)
            if not words:
                raise ConnectionRefusedError("expected a server that answers, it is down")
            line._say(words)  # noqa: SLF001 - board and line are one thing in two classes
            line._end(None)  # noqa: SLF001 - the same
            return line
        self.accepted += 1
        self._lines[cid] = line
        self.settle()
        return line

    def due(self) -> float | None:
        """When something will happen on the server's side, if it is left alone."""
        deadline = self.model.next_deadline()
        if not self._frozen:
            return deadline
        return None if math.isinf(self._thaw_at) else self._thaw_at

    def leap(self, moment: float | None) -> bool:
        """Everybody waits, the first of them until ``moment``: go there, or to what comes before on
        the server's side.

        Answers ``False`` if nothing will ever happen.

        Raises:
            LocalProtocolError: the test has taken longer than its limit.
        """
        moments = [
            each for each in (moment, self.due()) if each is not None and not math.isinf(each)
        ]
        if not moments:
            return False
        goal = min(moments)
        if goal > self._over:
            limit, self._over = self._over, self._over + _GRACE
            raise LocalProtocolError(
                f"expected the test to end before virtual second {limit:g}, it still waits for something:"
                " give it a larger limit, or find out what never comes"
            )
        self.clock.until(goal)
        self.settle()
        return True

    def settle(self) -> None:
        """Let the server live until now, and everybody have what it said."""
        if self._frozen:
            return
        now = self.clock.now
        model = self.model
        model.handle_tick(now)
        lines = list(self._lines.items())
        for cid, line in lines:
            heard = line._heard()  # noqa: SLF001 - board and line are one thing in two classes
            if heard and not model.closed(cid):
                model.receive_data(cid, heard, now)
        for cid, line in lines:
            line._say(model.data_to_send(cid))  # noqa: SLF001 - the same
            if model.closed(cid):
                del self._lines[cid]
                line._end(None)  # noqa: SLF001 - the same

    def _left(self, cid: int) -> None:
        heard = self._lines.pop(cid)._heard()  # noqa: SLF001 - the same
        if heard and not self.model.closed(cid):
            self.model.receive_data(cid, heard, self.clock.now)
        self.model.disconnect(cid, self.clock.now)
        self.settle()

    @property
    def _frozen(self) -> bool:
        return self.clock.now < self._thaw_at

    # ------------------------------------------------------------------ what one can see

    @property
    def connected(self) -> int:
        """How many lines there are now."""
        return len(self._lines)

    @property
    def not_modelled(self) -> tuple[str, ...]:
        """What was asked for and is beyond the model; each was refused with code 501."""
        return self.model.not_modelled

    # ------------------------------------------------------------------ time

    def advance(self, seconds: float) -> None:
        """Let time pass while nobody looks: what the caller's computing would do.

        The server lives on. Clients find out when they go on; those that ought to live on meanwhile
        are better waited for with the ``sleep`` of their event loop.

        Raises:
            LocalProtocolError: less than no time.
        """
        self.clock.advance(seconds)
        self.settle()

    # ------------------------------------------------------------------ faults

    def kill(self) -> None:
        """SIGKILL: all lines end without a word, and nobody answers until `start`. What files keep
        is kept.
        """
        self.model.kill(self.clock.now)
        self.settle()

    def start(self) -> None:
        """Start again; harmless while the server is up."""
        self.model.start(self.clock.now)
        self.settle()

    def restart(self) -> None:
        """`kill` and `start` in the same moment."""
        self.kill()
        self.start()

    def shutdown(self) -> None:
        """A graceful stop: waiting pulls are told first."""
        self.model.shutdown(self.clock.now)
        self.settle()

    def lame_duck(self, grace: float = 10.0) -> None:
        """The server asks to be left, accepts nobody, and is gone after ``grace`` seconds."""
        self.model.lame_duck(self.clock.now, grace=grace)
        self.settle()

    def cut(self) -> None:
        """Reset every line. The server lives, and the next dial succeeds."""
        lines, self._lines = self._lines, {}
        for cid, line in lines.items():
            self.model.disconnect(cid, self.clock.now)
            line._end(ConnectionResetError("the line was cut"))  # noqa: SLF001 - board and line are one thing
        self.settle()

    def freeze(self, seconds: float = math.inf) -> None:
        """Nothing comes through for so long, or until `thaw`; lines stay open, as over a cable that
        was pulled.

        Raises:
            LocalProtocolError: less than no time.
        """
        if not seconds >= 0.0:
            raise LocalProtocolError(f"expected 0 or more seconds without a word, got {seconds!r}")
        self._thaw_at = self.clock.now + seconds

    def thaw(self) -> None:
        """What was held comes through."""
        self._thaw_at = -math.inf
        self.settle()

    def say(self, data: bytes) -> None:
        """Bytes to everybody, beside what the server says: a stray -ERR, or nonsense."""
        for line in list(self._lines.values()):
            line._say(data)  # noqa: SLF001 - board and line are one thing in two classes

    # ------------------------------------------------------------------ from the side

    def request(self, subject: str, body: Table | None = None) -> Table:
        """A request of the JSON API, as an administrator would make it; ``subject`` without
        ``$JS.API.``.

        Raises:
            LocalProtocolError: there is no such request, or the server refuses it.
        """
        answer = self.model.request(subject, body, self.clock.now)
        self.settle()
        if "error" in answer:
            raise LocalProtocolError(
                f"expected the server to do {shorten(subject)}, it says {shorten(str(answer['error']))}"
            )
        return answer

    def publish(self, subject: str, payload: bytes = b"") -> None:
        """A message of another client, without waiting for an acknowledgement."""
        self.model.publish(subject, payload, self.clock.now)
        self.settle()

    def delete_consumer(self, stream: str, consumer: str) -> None:
        """Somebody deletes a consumer.

        Raises:
            LocalProtocolError: there is none.
        """
        self.request(f"CONSUMER.DELETE.{stream}.{consumer}")

    def delete_stream(self, stream: str) -> None:
        """Somebody deletes a stream, with all its consumers.

        Raises:
            LocalProtocolError: there is none.
        """
        self.request(f"STREAM.DELETE.{stream}")

    def step_down(self, stream: str, consumer: str) -> None:
        """The leader of a consumer moves, and its waiting pulls end.

        Raises:
            LocalProtocolError: there is no such consumer.
        """
        self.model.step_down(stream, consumer, self.clock.now)
        self.settle()
