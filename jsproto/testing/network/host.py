"""A client's process in a simulated network: a machine, its user, and the adapter between them and
the link.

The host does what an adapter does (dial, hang up, carry bytes, tick), with all that can go wrong
there: its clock may jump, it may forget to tick for a while, the whole process may stand still, and
then what came meanwhile is read before timers are judged. Its time is the network's plus a shift of
its own.
"""

from __future__ import annotations

import math
from typing import Protocol, final

from jsproto.core.connection.events import Event
from jsproto.testing.link import Machine
from jsproto.testing.network.cable import Cable


class Client(Machine, Protocol):
    """A machine that also hears how much the transport holds:
    `jsproto.core.connection.connection.Connection`, or one's own.
    """

    def transport_unsent(self, unsent: int, now: float) -> None:
        """How many bytes the transport still holds."""


class User(Protocol):
    """Who uses a client. Everything is told in the client's own time."""

    def happened(self, event: Event, now: float) -> None:
        """An event, apart from those that the host obeys."""

    def turn(self, now: float) -> None:
        """Something may have changed: do what there is to do."""

    def due(self) -> float | None:
        """When `turn` has something to do though nothing happens, ``None`` for never."""
        ...


@final
class Host:
    """One client with its user.

    Args:
        name: what it is called.
        machine: the client.
        user: who uses it.

    Attributes:
        cable: its present link.
        dialled: when the attempt that is under way comes to its end, ``None`` without one.
        shift: how much its clock is ahead of the network's, in seconds.
        frozen_until: the process stands still before.
        starved_until: nobody ticks before.
        held_until: nothing of it comes through before, and nothing to it.
        label: the name as bytes.
        read: bytes that came.
        written: bytes that went out.
        deadline: when the machine wants a tick, and ``wish``: the user a turn, in the client's
            time, as `due` found them last.
        stale: something has happened to its machine or its user, so their deadlines have to be
            found out anew.
    """

    __slots__ = (
        "_own",
        "cable",
        "deadline",
        "dialled",
        "frozen_until",
        "held_until",
        "label",
        "machine",
        "name",
        "read",
        "shift",
        "stale",
        "starved_until",
        "user",
        "wish",
        "written",
    )

    def __init__(self, name: str, machine: Client, user: User) -> None:
        self.name = name
        self.label = name.encode()
        self.machine = machine
        self.user = user
        self.cable: Cable | None = None
        self.dialled: float | None = None
        self.shift = 0.0
        self.frozen_until = -math.inf
        self.starved_until = -math.inf
        self.held_until = (-math.inf, -math.inf)
        self.read = 0
        self.written = 0
        self.stale = True
        self.deadline = self.wish = math.inf
        #: When machine, user or dial have something to do.
        self._own = math.inf

    def due(self) -> float:
        """When it has something to do, in the network's time; infinity for never."""
        if self.stale:
            self._look()
        at, cable = self._own, self.cable
        if cable is not None and cable.down.due < at:
            at = cable.down.due
        if self.frozen_until > at:
            return self.frozen_until
        return at

    def _look(self) -> None:
        self.stale = False
        deadline, wish = self.machine.next_deadline(), self.user.due()
        self.deadline = math.inf if deadline is None else deadline
        self.wish = math.inf if wish is None else wish
        at = min(max(self.deadline - self.shift, self.starved_until), self.wish - self.shift)
        self._own = at if self.dialled is None else min(at, self.dialled)
