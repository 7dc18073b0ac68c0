"""A week in simulated worlds, a day and a half of storms for each way to read.

No coverage is taken there: it would treble the time, and short worlds in `tests/testing/simulation`
go the same ways.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import count, islice
from pathlib import Path

import pytest

from jsproto.testing.simulation import drawn

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "import sys; from jsproto_cli.main import main; sys.exit(main())"
#: Five of these are a week.
HOURS = 7 * 24 / 5
#: Each way to read has so many worlds.
WORLDS = 8


def simulated(*words: str) -> tuple[int, dict[str, object]]:
    """The exit code and the sum of a run."""
    uncovered = {
        name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")
    }
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "simulate", "--json", *words],
        env={**uncovered, "PYTHONPATH": f"{ROOT}:{ROOT / 'adapters'}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    return done.returncode, json.loads(done.stdout.splitlines()[-1])


def calm_seeds(work: str) -> list[int]:
    """Worlds with little traffic: faults are what this is about, and messages are what takes the
    time.
    """
    calm = (seed for seed in count() if drawn(seed, HOURS / WORLDS, (work,)).rate < 0.05)
    return list(islice(calm, WORLDS))


@pytest.mark.slow
@pytest.mark.parametrize("work", ["consume", "fetch", "next", "push", "ordered"])
def test_the_rules_hold_for_a_fifth_of_a_week(work, tmp_path):
    seeds = ",".join(map(str, calm_seeds(work)))
    words = (
        "--works",
        work,
        "--seeds",
        seeds,
        "--hours",
        str(HOURS / WORLDS),
        "--failures",
        str(tmp_path),
    )
    code, total = simulated(*words)

    assert (code, total["failures"]) == (0, [])
    assert total["hours"] >= HOURS
    assert total["faults"] > 2000
    assert total["handed"] > 1000
