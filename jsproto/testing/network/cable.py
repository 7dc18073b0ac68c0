"""A link between one client and the server: two pipes, and who at which end still takes it for
open.

The two ends learn of an end at different times, and one of them perhaps never: after a half-open
death the server has forgotten the connection while the client still writes into it. Whoever writes
to an end that is gone hears so after a while.
"""

from __future__ import annotations

from typing import final

from jsproto.testing.chance import Chance
from jsproto.testing.network.pipe import Pipe, Road


@final
class Cable:
    """One link.

    Attributes:
        cid: the server's number of it.
        up: from the client to the server.
        down: from the server to the client.
        held: the client's end is open.
        heard: the server's end is open.
    """

    __slots__ = ("cid", "down", "heard", "held", "up")

    def __init__(self, cid: int, road: Road, chance: Chance) -> None:
        self.cid = cid
        self.up = Pipe(road, chance)
        self.down = Pipe(road, chance)
        self.held = True
        self.heard = True

    @property
    def unsent(self) -> int:
        """What the client has written and the network does not hold yet, in bytes."""
        return max(0, self.up.size - self.up.road.window)

    def travel(self, road: Road) -> None:
        """From now on it is like that."""
        self.up.road = self.down.road = road

    def cut(self, up: int, down: int, error: Exception | None, now: float) -> None:
        """It breaks: of what is in flight only the first ``up`` and ``down`` bytes arrive."""
        self.up.cut(up, error, now)
        self.down.cut(down, error, now)

    def hold(self, up: float, down: float) -> None:
        """Nothing comes through before these moments, up and down: a partition."""
        self.up.hold(up)
        self.down.hold(down)
