"""The long runs of Spark in short, and the example: each has a driver of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.conftest import java_or_skip

pytestmark = [pytest.mark.live, pytest.mark.slow]

HERE = Path(__file__).parent
REPOSITORY = HERE.parent.parent


@pytest.fixture(scope="module", autouse=True)
def _java():
    java_or_skip()


def told(path: Path, *words: str) -> tuple[int, list[str]]:
    """Exit code and lines of a command."""
    kept = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    kept["PYTHONPATH"] = os.pathsep.join(
        [str(REPOSITORY), str(REPOSITORY / "adapters"), kept.get("PYTHONPATH", "")]
    )
    done = subprocess.run(
        [sys.executable, str(path), *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
        env=kept,
    )
    lines = done.stdout.splitlines()
    assert lines, done.stderr[-3000:]
    return done.returncode, lines


def test_each_row_comes_once_though_driver_worker_and_server_are_killed():
    words = (
        "--messages",
        "20000",
        "--batch",
        "5000",
        "--planned",
        "1",
        "--random",
        "0",
        "--workers",
        "1",
    )
    code, lines = told(HERE / "spark_exactly_once.py", *words)
    said = json.loads(lines[-1])

    assert (0, {}) == (code, said["wrong"])
    assert 20000 == said["rows"] == said["distinct"]
    assert (1, 1, 1, 1) == (
        said["planned kills"],
        said["replayed"],
        said["worker deaths"],
        said["server restarts"],
    )


def test_an_installed_wheel_reads_and_writes_on_a_cluster_of_processes_far_from_the_repository():
    code, lines = told(HERE / "spark_installed.py", "--forms", "wheel")
    said = json.loads(lines[-1])

    assert (0, {}) == (code, said["wrong"])
    assert not said["where"].startswith(str(REPOSITORY))


def test_the_example_counts_each_message_once_over_a_stop_and_a_start():
    code, lines = told(REPOSITORY / "docs" / "examples" / "spark_restart.py", "--messages", "6000")

    assert 0 == code
    assert "9000 rows, 9000 different, of 9000 messages; sum 40495500" == lines[-1]
