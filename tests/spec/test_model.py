"""The model server is proven by recordings: equal, or different for a reason that is written down;
and the page says so.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
GOAL = 0.75
#: Scenarios that the model has to do, unless they need a cluster, several accounts or TLS.
DUE = ("pull_", "consume_", "ack_", "push_", "ordered_")


def _load():
    spec = importlib.util.spec_from_file_location(
        "prove", REPOSITORY / "tests" / "spec" / "prove.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PROVE = _load()


@pytest.fixture(scope="module")
def found(traces):
    return PROVE.results(traces)


def test_whatever_differs_has_a_reason_and_whatever_has_a_reason_differs(found):
    wrong = {
        (name, version): result
        for name, of in found.items()
        for version, result in of.items()
        if bool(result.verdict) != bool(result.differences)
    }

    assert wrong == {}


def test_the_page_is_what_the_recordings_and_the_reasons_give(found):
    assert PROVE.page(found) == PROVE.PAGE.read_text(encoding="utf-8")


def test_three_quarters_of_the_scenarios_are_equal_in_every_version(found):
    assert len(PROVE.equal_everywhere(found)) >= GOAL * len(found)


def test_what_is_not_modelled_of_pulls_consumers_and_acknowledgements_needs_several_accounts(found):
    missing = [
        each
        for each in PROVE.reasons()["scenario"]
        if each["verdict"] == "not modelled" and each["name"].startswith(DUE)
    ]

    assert [each["name"] for each in missing if "accounts" not in each["reason"]] == []


def test_a_reason_speaks_of_a_recording_that_is_there(found):
    said = PROVE.reasons()["scenario"]

    assert [each["name"] for each in said if each["name"] not in found] == []
    assert [each for each in said if set(each.get("versions", ())) - set(found[each["name"]])] == []
    assert {each["verdict"] for each in said} == {"explained", "not modelled"}
