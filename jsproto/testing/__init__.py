"""Testing without a server: a clock that obeys, a scripted peer, a model of nats-server, links, and
whole worlds.

Everything here is as pure as the machines it tests: no socket, no clock, no randomness of its own.
It ships with the library, because who builds on the machines has to test too. The Hypothesis
strategies live in :mod:`jsproto.testing.strategies` and are imported on demand only, since
Hypothesis is a dependency of tests.
"""

from __future__ import annotations

from jsproto.testing.chance import Chance
from jsproto.testing.clock import Clock
from jsproto.testing.link import Cutter, Machine, Pair
from jsproto.testing.network import Host, Network, Road
from jsproto.testing.peer import ScriptedServer
from jsproto.testing.simserver import Profile, SimServer
from jsproto.testing.simulation import Simulation
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
