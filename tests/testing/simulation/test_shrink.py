from __future__ import annotations

import pytest
from attrs import evolve

from jsproto.jetstream.pull.consume import Consume
from jsproto.testing.simulation import (
    RuleBroken,
    Scenario,
    Simulation,
    SimulationReport,
    drawn,
    fault_of,
    shrunk,
)

SCENARIO = drawn(11, 0.3)


def report(failure: Exception | None, seconds: float = 500.0) -> SimulationReport:
    return SimulationReport(
        seed=1,
        seconds=seconds,
        hosts=1,
        readers=1,
        handed=0,
        stored=0,
        faults=0,
        digest=0,
        failure=failure,
    )


def fails_with(*culprits: object):
    """A world that breaks a rule if all of these are there, and another rule if only one is."""

    def run(scenario: Scenario) -> SimulationReport:
        there = [each in scenario.faults or each in scenario.works for each in culprits]
        if all(there):
            return report(RuleBroken("lost", "something"))
        return report(ZeroDivisionError() if any(there) else None)

    return run


def test_a_failure_has_a_name():
    assert fault_of(report(None)) == ""
    assert fault_of(report(RuleBroken("lost", "x"))) == "lost"
    assert fault_of(report(ValueError("x"))) == "ValueError"


def test_only_the_culprits_are_left():
    early = [each for each in SCENARIO.faults if each.at < 500.0]
    culprits = (early[1], early[-2])
    small, seen = shrunk(SCENARIO, run=fails_with(*culprits), most_runs=500)

    assert small.faults == culprits
    assert len(small.works) == 1
    assert fault_of(seen) == "lost"


def test_a_workload_that_is_needed_stays():
    assert len(SCENARIO.works) > 1
    small, _ = shrunk(SCENARIO, run=fails_with(SCENARIO.works[-1]), most_runs=500)

    assert small.works == SCENARIO.works[-1:]
    assert small.faults == ()


def test_what_comes_behind_the_failure_is_left_out_at_once():
    run = fails_with(SCENARIO.works[0])
    small, _ = shrunk(SCENARIO, run=lambda each: evolve(run(each), seconds=200.0), most_runs=1)

    assert all(each.at <= 200.0 for each in small.faults)
    assert small.storms == SCENARIO.storms[:1]
    assert small.seconds < SCENARIO.seconds


def test_a_world_without_a_failure_is_left_alone():
    assert shrunk(SCENARIO, run=lambda each: report(None)) == (SCENARIO, report(None))


def test_a_real_failure_gets_smaller_and_stays_the_same(monkeypatch: pytest.MonkeyPatch):
    def raises(self: object, now: float) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Consume, "link_up", raises)
    scenario = drawn(3, 0.1, ("consume", "request"))
    assert fault_of(Simulation(scenario=scenario).run()) == "ZeroDivisionError"
    small, seen = shrunk(scenario, most_runs=30)

    assert fault_of(seen) == "ZeroDivisionError"
    assert [each.kind for each in small.works] == ["consume"]
    assert len(small.faults) <= 1
    assert Simulation(scenario=small).run().digest == seen.digest
