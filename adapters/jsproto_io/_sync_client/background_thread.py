"""The optional thread of the blocking adapter: it drives the connection while the caller computes.

Theory. Between two verbs nobody reads, ticks or answers, so a caller that works for long over a
message is not heard by the server: no ping, no in-progress, no reading. The keeper does one turn of
the selector, without waiting in it, when the connection's deadline has come, and else once in
`_LOOK` seconds; more often while a server waits for answers. It waits for that on an event, never
in the selector, so a verb is never kept waiting longer than a few such turns.

The gate has two doors. The outer one lets one caller in and nobody wait, as without a keeper: a
second thread gets `BusyConversation`. The inner one is between that caller and the keeper, who goes
away if it is closed: a caller inside drives the connection itself.
"""

# ruff: noqa: SLF001 - client and keeper are one thing in two classes

from __future__ import annotations

import threading
from time import monotonic
from typing import Final, Protocol, final

from jsproto.errors import ConnectionClosed, JsprotoError

#: The socket is looked at so often, in seconds: what comes meanwhile waits in the kernel.
_LOOK: Final = 0.5
#: So often while a snapshot comes in or a stream is restored: the server waits for 2 s.
_LOOK_EAGERLY: Final = 0.02
#: And so many turns at once, as long as something comes.
_TURNS: Final = 16
#: How soon to try again when a caller is inside: if he waits, he drives; if he does not, he is gone
#: at once.
_AGAIN: Final = 0.02


class ThreadedClient(Protocol):
    """What the keeper needs of a client."""

    _deadline: float | None

    def _turn(self, patience: float | None) -> bool: ...

    def _bar(self, error: JsprotoError) -> None: ...


@final
class TwoLevelLock:
    """A gate that one caller passes, or the keeper."""

    __slots__ = ("_inner", "_outer")

    def __init__(self) -> None:
        self._outer = threading.Lock()
        self._inner = threading.Lock()

    def acquire(self, blocking: bool, /) -> bool:
        """Whether the caller is alone; the keeper's turn is waited for."""
        if not self._outer.acquire(blocking):
            return False
        try:
            self._inner.acquire()
        except BaseException:  # an interrupt while the keeper was busy
            self._outer.release()
            raise
        return True

    def release(self) -> None:
        """The caller is done."""
        self._inner.release()
        self._outer.release()

    def slip_in(self) -> bool:
        """Whether the keeper may do a turn: nobody is inside."""
        return self._inner.acquire(blocking=False)

    def slip_out(self) -> None:
        """The turn is done."""
        self._inner.release()


@final
class BackgroundThread:
    """The thread. It starts with the first `start`, and ends with `stop`, or when its client is
    barred.

    Attributes:
        doors: the client's gate.
        eager: look often, and read all that has come.
    """

    __slots__ = ("_client", "_next", "_nudge", "_over", "_thread", "doors", "eager")

    def __init__(self, client: ThreadedClient) -> None:
        self.doors = TwoLevelLock()
        self.eager = False
        self._client = client
        self._next = 0.0
        self._nudge = threading.Event()
        self._over = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, if it has not begun."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._keep, name="jsproto keeper", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End, and wait for it; called by nobody who is inside the gate."""
        self._over = True
        thread = self._thread
        if thread is None or not thread.is_alive():
            return  # a fork has no such thread, but may have a copy of the event's lock that it held
        self._nudge.set()
        if thread is not threading.current_thread():
            thread.join()

    def armed(self, deadline: float | None) -> None:
        """The connection has another deadline."""
        if deadline is not None and deadline < self._next:
            self._nudge.set()

    def _keep(self) -> None:
        client = self._client
        busy = False
        while not self._over:
            now = monotonic()
            deadline = client._deadline
            look = now + (_LOOK_EAGERLY if self.eager else _LOOK)
            at = look if deadline is None else min(deadline, look)
            self._next = max(at, now + _AGAIN) if busy else at
            self._nudge.wait(max(0.0, self._next - now))
            self._nudge.clear()
            if self._over or monotonic() < self._next:
                continue
            busy = not self.doors.slip_in()
            if busy:
                continue
            try:
                turns = _TURNS if self.eager else 1
                while client._turn(0.0) and turns > 1:
                    turns -= 1
            except Exception as error:  # noqa: BLE001 - it has nobody to raise it to but the next verb
                self._over = True
                barred = ConnectionClosed(
                    f"the connection was cut because its keeper met {type(error).__name__}: {error}, connect anew"
                )
                barred.__cause__ = error
                client._bar(barred)
            finally:
                self.doors.slip_out()
