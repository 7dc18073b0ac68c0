"""A folder with tests, run by pytest as somebody's own project would be: nothing of this repository
but what it imports.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]


def run_by_pytest(
    folder: Path, *options: str, plugins: bool = False, environ: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """What pytest says of them, with these further options; ``plugins``: pytest-asyncio and
    pytest-trio are loaded as well.
    """
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
    if not plugins:
        command += ["-p", "no:asyncio", "-p", "no:trio"]
    command += options
    command += ["--rootdir", str(folder), str(folder)]
    paths = [
        str(REPOSITORY),
        str(REPOSITORY / "adapters"),
        *filter(None, [os.environ.get("PYTHONPATH")]),
    ]
    environ = {**os.environ, **(environ or {}), "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, cwd=folder, env=environ
    )
