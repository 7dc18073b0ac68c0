"""The benchmark command end to end, on the smallest of runs: that it works, never how fast anything
is.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def command(*arguments):
    return script("run.py", *arguments)


def script(name, *arguments):
    return subprocess.run(
        [sys.executable, str(HERE / name), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.live
def test_one_quick_run_measures_on_a_real_server_and_gives_a_table_and_json(tmp_path):
    kept = tmp_path / "runs.jsonl"

    done = command(
        "--quick", "--peers", "raw", "--base", "raw", "--cases", "consume", "--json", str(kept)
    )

    assert not done.returncode, done.stderr
    (run,) = [json.loads(line) for line in kept.read_text().splitlines()]
    expected = ("raw", "consume", 10_000)
    assert expected == (run["peer"], run["case"], run["items"])
    assert run["per_s"] > 0
    assert "| consume, no ack, items/s | raw  |" in done.stdout


def test_a_saved_run_becomes_the_table_of_its_medians_and_ratios(tmp_path):
    kept = tmp_path / "runs.jsonl"
    runs = [("natspy", 100, 40.0), ("natspy", 300, 60.0), ("raw", 800, 2.0), ("raw", 1200, 3.0)]
    lines = [
        json.dumps({"peer": peer, "case": "consume", "per_s": rate, "cpu_us": cpu, "load": 0.5})
        for peer, rate, cpu in runs
    ]
    kept.write_text("\n".join(lines))

    done = command("--report", str(kept))

    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines()]
    best = [
        "consume, no ack, items/s",
        "raw",
        "1,000",
        "800..1,200",
        "5.00",
        "2.5",
        "20.00",
        "",
        "",
    ]
    base = ["", "natspy", "200", "100..300", "1.00", "50", "1.00", "", ""]
    assert [[*best, "0.5..0.5", ""], [*base, "0.5..0.5", ""]] == rows[2:]


def test_an_unknown_case_is_refused_by_name():
    done = command("--cases", "nonsense")

    expected = 2
    assert expected == done.returncode
    assert "'nonsense' is not one of parse-msg" in done.stderr


@pytest.mark.live
def test_the_table_of_sizes_has_a_row_for_each_size_and_judges_it_by_the_one_before():
    done = script("sizes.py", "--rounds", "1", "--scale", "0.02", "--only", "bytes")

    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines()][
        4:
    ]
    expected = [
        "next",
        "250",
        "500",
        "1,000",
        "2,500",
        "10,000",
        "50,000",
        "250,000",
        "1,000,000",
        "10,000,000",
    ]
    assert expected == [row[0] for row in rows], done.stderr
    assert ["", ""] == [row[4] for row in rows[:2]]
    assert all(row[4] in {"held", "MISSED"} for row in rows[2:]), "nothing stalls"


@pytest.mark.live
def test_the_footprint_of_a_consumer_and_of_a_message_is_told_in_bytes():
    done = script("footprint.py", "--rounds", "1")

    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines()][
        4:
    ]
    told = {what: int(number.replace(",", "")) for what, number in rows}
    assert 0 < told["open consumer"] < 20_000, done.stderr
    assert 128 < told["message of 128 B at hand"] < 1_000
    assert (
        told["message of 128 B at hand"] < told["message of 128 B in the user's hands, untouched"]
    )
