"""No hot path executes more than its budget: instructions and calls for each item, which are the
same in every run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ABOVE, BELOW = 0.02, 0.1


def command(*arguments):
    """The output of the counting command, in an interpreter that nobody else traces."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("COVERAGE_")}
    done = subprocess.run(
        [sys.executable, str(HERE / "counts.py"), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        stdin=subprocess.DEVNULL,
        env=kept | {"PYTHONHASHSEED": "0"},
    )
    assert not done.stderr, done.stderr
    return done


def budgets():
    kept = tomllib.loads((HERE / "counts.toml").read_text(encoding="utf-8"))
    return kept.get(f"{sys.version_info.major}.{sys.version_info.minor}")


@pytest.fixture(scope="module")
def counted():
    return json.loads(command("--json").stdout)


@pytest.mark.skipif(budgets() is None, reason="counts.toml has no table for this interpreter")
@pytest.mark.parametrize("client", ["asyncio", "blocking"])
def test_each_hot_path_stays_within_its_budget(counted, client):
    allowed = budgets()[client]
    found = {
        f"{case}: {key}": (value, allowed[case][key])
        for case, numbers in counted[client].items()
        for key, value in numbers.items()
    }

    assert counted[client].keys() == allowed.keys()
    assert {what: pair for what, pair in found.items() if pair[0] > pair[1] * (1 + ABOVE)} == {}, (
        "dearer"
    )
    cheaper = {what: pair for what, pair in found.items() if pair[0] < pair[1] * (1 - BELOW)}
    assert cheaper == {}, "cheaper than its budget: run counts.py --write, so that it stays so"


def test_the_same_case_counts_the_same_in_another_run(counted):
    again = json.loads(command("--json", "--only", "request").stdout)

    assert {client: cases["request"] for client, cases in counted.items()} == {
        client: cases["request"] for client, cases in again.items()
    }
