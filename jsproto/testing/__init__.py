"""Testing without a server: a clock that obeys, a scripted peer, a model of nats-server, and links between them.

Everything here is as pure as the machines it tests: no socket, no clock, no randomness of its own. It ships with the
library, because who builds on the machines has to test too. The Hypothesis strategies live in
:mod:`jsproto.testing.strategies` and are imported on demand only, since Hypothesis is a dependency of tests.
"""

from __future__ import annotations

from jsproto.testing.clock import Clock
from jsproto.testing.link import Cutter, Machine, Pair
from jsproto.testing.peer import ScriptedServer
from jsproto.testing.simserver import Profile, SimServer
from jsproto.testing.switchboard import Line, Switchboard

__all__ = [
    "Clock",
    "Cutter",
    "Line",
    "Machine",
    "Pair",
    "Profile",
    "ScriptedServer",
    "SimServer",
    "Switchboard",
]
