"""Testing without a server: a clock that obeys, a scripted peer, a model of nats-server, links, and
whole worlds.

Everything here is as pure as the machines it tests: no socket, no clock, no randomness of its own.
It ships with the library, because who builds on the machines has to test too. The Hypothesis
strategies live in :mod:`jsproto.testing.strategies` and are imported on demand only, since
Hypothesis is a dependency of tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jsproto.lazy import lazy_names

if TYPE_CHECKING:
    from jsproto.testing.chance import Chance
    from jsproto.testing.clock import Clock
    from jsproto.testing.link import Cutter, Machine, Pair
    from jsproto.testing.network.host import Host
    from jsproto.testing.network.network import Network
    from jsproto.testing.network.pipe import Road
    from jsproto.testing.peer import ScriptedServer
    from jsproto.testing.simserver.server import SimServer
    from jsproto.testing.simserver.values.profile import Profile
    from jsproto.testing.simulation.simulation import Simulation
    from jsproto.testing.switchboard import Line, Switchboard

__all__ = [
    "Chance",
    "Clock",
    "Cutter",
    "Host",
    "Line",
    "Machine",
    "Network",
    "Pair",
    "Profile",
    "Road",
    "ScriptedServer",
    "SimServer",
    "Simulation",
    "Switchboard",
]

_HOMES: Final = {
    "Chance": "jsproto.testing.chance",
    "Clock": "jsproto.testing.clock",
    "Cutter": "jsproto.testing.link",
    "Host": "jsproto.testing.network.host",
    "Line": "jsproto.testing.switchboard",
    "Machine": "jsproto.testing.link",
    "Network": "jsproto.testing.network.network",
    "Pair": "jsproto.testing.link",
    "Profile": "jsproto.testing.simserver.values.profile",
    "Road": "jsproto.testing.network.pipe",
    "ScriptedServer": "jsproto.testing.peer",
    "SimServer": "jsproto.testing.simserver.server",
    "Simulation": "jsproto.testing.simulation.simulation",
    "Switchboard": "jsproto.testing.switchboard",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
