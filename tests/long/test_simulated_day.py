"""A day in simulated worlds, five hours of storms for each way to read; a week of them is `jsproto simulate --seeds 0-335 --hours 0.5`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jsproto.testing.simulation import drawn

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "import sys; from jsproto_cli.main import main; sys.exit(main())"
#: Five of these are a day.
HOURS = 24 / 5


def simulated(*words: str) -> tuple[int, dict[str, object]]:
    """The exit code and the sum of a run."""
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "simulate", "--json", *words],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'adapters'}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    return done.returncode, json.loads(done.stdout.splitlines()[-1])


def calm_seeds(work: str) -> list[int]:
    """Worlds with little traffic: faults are what this is about, and messages are what takes the time."""
    return [seed for seed in range(400) if drawn(seed, HOURS / 4, (work,)).rate < 0.05][:4]


@pytest.mark.slow
@pytest.mark.parametrize("work", ["consume", "fetch", "next", "push", "ordered"])
def test_the_rules_hold_for_a_fifth_of_a_day(work, tmp_path):
    seeds = ",".join(map(str, calm_seeds(work)))
    words = ("--works", work, "--seeds", seeds, "--hours", str(HOURS / 4), "--failures", str(tmp_path))
    code, total = simulated(*words)

    assert (code, total["failures"]) == (0, [])
    assert total["hours"] >= HOURS
    assert total["faults"] > 200
    assert total["handed"] > 100
