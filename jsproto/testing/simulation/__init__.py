"""Simulated worlds: clients of ours with workloads, a network that fails, and an oracle that knows
the truth.
"""

from __future__ import annotations

from jsproto.testing.simulation.oracle import RuleBroken
from jsproto.testing.simulation.scenario import Scenario, drawn, measured
from jsproto.testing.simulation.shrink import fault_of, shrunk
from jsproto.testing.simulation.simulation import Simulation, SimulationReport

__all__ = [
    "RuleBroken",
    "Scenario",
    "Simulation",
    "SimulationReport",
    "drawn",
    "fault_of",
    "measured",
    "shrunk",
]
