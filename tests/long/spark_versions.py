"""The tests of the Spark source on several versions of Spark: 4.2 and 4.3 all of them, 4.1 what
batches need.

    python tests/long/spark_versions.py                             4.3.0, 4.2.0 and 4.1.4
    python tests/long/spark_versions.py --versions 4.2.0 --folder ~/sparks

Each version is installed into a folder of its own (450 MB to fetch, kept with ``--folder``) that
stands first on PYTHONPATH; everything else is this environment's. Gives one JSON line for each; the
exit code is 1 if a test failed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: An older Spark leaves sockets to the collector.
QUIET = ("-W", "ignore::ResourceWarning", "-W", "ignore::pytest.PytestUnraisableExceptionWarning")
#: What needs streams, and so Spark 4.2.
STREAMS = ("test_stream.py", "test_release.py")


def installed(version: str, folder: Path) -> Path:
    """The folder with this Spark."""
    place = folder / version
    if not (place / "pyspark").exists():
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--target",
            place,
            f"pyspark=={version}",
        ]
        subprocess.run(command, check=True, timeout=3600)
    return place


def tested(version: str, place: Path) -> dict[str, object]:
    """Run the tests with it."""
    old = tuple(map(int, version.split(".")[:2])) < (4, 2)
    files = [
        path
        for path in sorted((ROOT / "tests" / "spark").glob("test_*.py"))
        if "corpus" not in path.name and not (old and path.name in STREAMS)
    ]
    environ = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, (place, ROOT, ROOT / "adapters"))),
    }
    environ.pop("SPARK_HOME", None)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *QUIET, *files],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=3600,
    )
    counts = {
        word: int(number)
        for number, word in re.findall(r"(\d+) (passed|failed|skipped|error)", done.stdout)
    }
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return {"version": version, **counts, "exit": done.returncode, "wrong": failed}


def main() -> int:
    """The command."""
    words = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    words.add_argument("--versions", nargs="+", default=["4.3.0", "4.2.0", "4.1.4"])
    words.add_argument("--folder", type=Path, help="where they are kept")
    given = words.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        good = True
        for version in given.versions:
            said = tested(version, installed(version, given.folder or Path(scratch)))
            good = good and said["exit"] == 0
            print(json.dumps(said), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
