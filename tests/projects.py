"""A folder with tests, run by pytest as somebody's own project would be: nothing of this repository but what it imports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]


def run_by_pytest(folder: Path) -> subprocess.CompletedProcess[str]:
    """What pytest says of them."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-W",
        "error",
        "-c",
        "/dev/null",
    ]
    command += ["--rootdir", str(folder), str(folder)]
    environ = {**os.environ, "PYTHONPATH": f"{REPOSITORY}:{REPOSITORY / 'adapters'}"}
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, cwd=folder, env=environ
    )
