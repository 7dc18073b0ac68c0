"""A failing scenario made small: the same rule is broken, by as few faults and workloads in as
short a time as can be found.

What comes after the failure is taken out at once. Then workloads are, one by one, and faults, in
halves, quarters and so on down to single ones (delta debugging); whatever still fails in the same
way is kept. A scenario has a sequence of draws for each of its parts, so taking one out leaves the
others as they were, and this gets far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from attrs import evolve

from jsproto.testing.simulation.oracle import RuleBroken
from jsproto.testing.simulation.scenario import CALM, Scenario
from jsproto.testing.simulation.simulation import Simulation, SimulationReport

#: So many runs are tried, if nothing else is said.
_MOST_RUNS: Final = 80


def fault_of(report: SimulationReport) -> str:
    """What went wrong, in a word: the rule that was broken, or the kind of error; empty if nothing
    did.
    """
    failure = report.failure
    if isinstance(failure, RuleBroken):
        return failure.rule
    return "" if failure is None else type(failure).__name__


def shrunk(
    scenario: Scenario,
    *,
    most_runs: int = _MOST_RUNS,
    run: Callable[[Scenario], SimulationReport] = lambda each: Simulation(scenario=each).run(),
) -> tuple[Scenario, SimulationReport]:
    """The smallest scenario that fails as this one does, as far as so many runs can find it, and
    its report.

    One that does not fail is given back as it is.
    """
    report = run(scenario)
    kind = fault_of(report)
    runs = 1
    if not kind:
        return scenario, report
    scenario = _ended(scenario, report.seconds)
    smaller = True
    while smaller:
        smaller = False
        for candidate in _smaller(scenario):
            if runs >= most_runs:
                return scenario, run(scenario)
            runs += 1
            seen = run(candidate)
            if fault_of(seen) == kind:
                scenario, smaller = _ended(candidate, seen.seconds), True
                break
    return scenario, run(scenario)


def _ended(scenario: Scenario, at: float) -> Scenario:
    """Without what comes behind a failure."""
    storms = tuple(each for each in scenario.storms if each[0] < at) or scenario.storms[:1]
    faults = tuple(each for each in scenario.faults if each.at <= at)
    return evolve(scenario, storms=storms, faults=faults, seconds=storms[-1][1] + CALM)


def _smaller(scenario: Scenario) -> Iterator[Scenario]:
    """Candidates, those first that take out most."""
    if len(scenario.works) > 1:
        for at in range(len(scenario.works)):
            yield scenario.without(works=frozenset({at}))
    count = len(scenario.faults)
    size = count
    while size:
        for start in range(0, count, size):
            yield scenario.without(faults=frozenset(range(start, min(start + size, count))))
        size //= 2
