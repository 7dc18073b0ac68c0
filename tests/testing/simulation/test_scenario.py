import pytest

from jsproto.errors import LocalProtocolError
from jsproto.testing.simulation import Scenario, drawn
from jsproto.testing.simulation.faults import FAULTS, MORE_FAULTS
from jsproto.testing.simulation.scenario import CALM, KINDS, MORE_KINDS


def test_a_seed_always_stands_for_the_same_and_another_for_something_else():
    assert drawn(3, 1.0) == drawn(3, 1.0)
    assert drawn(3, 1.0) != drawn(4, 1.0)


def test_a_scenario_is_a_line_of_text_and_back():
    scenario = drawn(3, 0.2)

    assert "\n" not in scenario.text()
    assert Scenario.read(scenario.text()) == scenario


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"works":1}', '{"works":[],"faults":[],"storms":[]}']
)
def test_what_is_no_scenario_is_refused(text):
    with pytest.raises(LocalProtocolError, match="expected the text of a scenario"):
        Scenario.read(text)


def test_it_lasts_as_long_as_was_asked_for_and_ends_in_a_calm():
    for seed in range(20):
        scenario = drawn(seed, 1.0)
        assert scenario.seconds >= 3600.0
        assert scenario.seconds == scenario.storms[-1][1] + CALM
        assert all(
            any(begin <= fault.at < end for begin, end in scenario.storms)
            for fault in scenario.faults
        )


def test_every_kind_of_fault_and_of_work_is_drawn_and_within_its_bounds():
    scenarios = [drawn(seed, 1.0) for seed in range(30)]
    bounds = {kind.name: kind for kind in (*FAULTS, *MORE_FAULTS)}
    faults = [fault for each in scenarios for fault in each.faults]

    assert {fault.kind for fault in faults} == set(bounds)
    assert {work.kind for each in scenarios for work in each.works} == {*KINDS, *MORE_KINDS}
    for fault in faults:
        kind = bounds[fault.kind]
        assert kind.span[0] <= fault.span <= kind.span[1]
        assert kind.size[0] <= fault.size <= kind.size[1]


def test_the_workloads_can_be_named():
    assert [(each.kind, each.host) for each in drawn(1, 0.1, ("consume", "window")).works] == [
        ("consume", 0),
        ("window", 1),
    ]


def test_parts_can_be_taken_out_and_the_rest_stays():
    scenario = drawn(2, 0.2)
    smaller = scenario.without(faults=frozenset({0}), works=frozenset({1}))

    assert smaller.faults == scenario.faults[1:]
    assert smaller.works == (scenario.works[0], *scenario.works[2:])
    assert smaller.storms == scenario.storms
