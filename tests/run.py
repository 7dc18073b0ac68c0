"""The whole suite, in one command: format, lint, types, documentation, tests, coverage.

    python tests/run.py            everything; this is what .ci/run runs
    python tests/run.py lint types only the checks of these names
    python tests/run.py quick      format, lint, and the tests of the machines without servers
    python tests/run.py -- -k parser    only the tests, with the words behind -- for pytest
    python tests/run.py lint tests -- -k parser    the same, behind another check

The quick checks come first and all of them run, so that one look shows everything that is wrong;
then the tests; then coverage, judged for each part of the tree with its own bound. The last line is
pytest's own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PYTHON = sys.executable
BIN = Path(PYTHON).parent
DOCS = ("-m", "sphinx", "-W", "-n", "--keep-going", "-q", "-b", "html")

# name -> command; `{scratch}` is a folder that goes away afterwards.
CHECKS: dict[str, list[str]] = {
    "format": [str(BIN / "ruff"), "format", "--check", "."],
    "lint": [str(BIN / "ruff"), "check", "."],
    "types": [PYTHON, "-m", "mypy"],
    "pyright": [str(BIN / "basedpyright"), "--pythonpath", PYTHON],
    "docs": [PYTHON, *DOCS, "docs", "{scratch}/docs"],
}
#: Many tests wait for servers, so there are more processes than cores.
PROCESSES = 2 * (os.cpu_count() or 1)
#: A file of tests is one piece of work; the pieces are taken in their order, slow ones first.
SHARED = ["-n", str(PROCESSES), "--dist", "loadfile", "--no-loadscope-reorder"]
TESTS = [PYTHON, "-m", "pytest", *SHARED, "--cov", "--cov-report="]

#: The tests of the quick loop: pure machines, no server and nothing slow. Properties are tried with
#: few examples (`tests/conftest.py`); floods and large payloads are left to the whole suite.
QUICK = [
    "tests/wire",
    "tests/core",
    "tests/jetstream",
    "tests/ops",
    "tests/test_driver.py",
    "tests/test_embed.py",
]
NOT_QUICK = ["tests/core/test_hostile.py", "tests/wire/test_parser_memory.py"]
QUICK_TESTS = [PYTHON, "-m", "pytest", "-q", *SHARED, "-m", "not live and not slow", *QUICK]
QUICK_TESTS += [f"--ignore={each}" for each in NOT_QUICK]

# part of the tree -> (lowest branch coverage in percent, what of it is judged elsewhere)
COVERAGE = {
    "jsproto/*": (100.0, "jsproto/testing/*"),
    "jsproto/testing/*": (95.0, ""),
    "adapters/*": (90.0, ""),
}


def heading(text: str) -> None:
    """A line that can be found in a long log."""
    print(f"\n────▶ {text} {'─' * max(4, 100 - len(text))}", flush=True)


def check(name: str, scratch: str) -> bool:
    """Run one quick check, with its output as it comes."""
    heading(name)
    begun = time.monotonic()
    command = [word.format(scratch=scratch) for word in CHECKS[name]]
    passed = subprocess.run(command, cwd=REPOSITORY, check=False).returncode == 0
    print(
        f"{name}: {'passed' if passed else 'FAILED'} in {time.monotonic() - begun:.0f} s",
        flush=True,
    )
    return passed


def tests(words: list[str]) -> tuple[bool, str]:
    """Run pytest; its verdict and its closing line."""
    heading("tests")
    last = ""
    with subprocess.Popen(
        [*TESTS, *words], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        for line in running.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
    return running.returncode == 0, last


def coverage() -> bool:
    """Judge the coverage that the tests left behind, part by part; a part without files has nothing
    to show.
    """
    heading("coverage")
    passed = True
    for part, (bound, elsewhere) in COVERAGE.items():
        if not any(REPOSITORY.glob(part.replace("*", "**/*.py"))):
            continue
        command = [PYTHON, "-m", "coverage", "report", f"--include={part}", f"--fail-under={bound}"]
        command += [f"--omit={elsewhere}"] if elsewhere else []
        done = subprocess.run(command, cwd=REPOSITORY, check=False, capture_output=True, text=True)
        total = next(
            (line.split()[-1] for line in done.stdout.splitlines() if line.startswith("TOTAL")),
            "none",
        )
        print(
            f"{part:20} {total:>6} of at least {bound:.0f} %: {'passed' if done.returncode == 0 else 'FAILED'}"
        )
        if done.returncode:
            print(done.stdout + done.stderr)
            passed = False
    return passed


def quick() -> int:
    """Check format and lint, and run the tests of the machines."""
    failed = [name for name in ("format", "lint") if not check(name, "")]
    heading("quick tests")
    few = {**os.environ, "JSPROTO_EXAMPLES": "few"}
    if subprocess.run(QUICK_TESTS, cwd=REPOSITORY, env=few, check=False).returncode:
        failed.append("quick tests")
    heading(f"FAILED: {', '.join(failed)}" if failed else "passed: quick")
    return 1 if failed else 0


def main(words: list[str]) -> int:
    """Run what was asked for; the exit code says whether all of it passed."""
    cut = words.index("--") if "--" in words else len(words)
    names, rest = words[:cut], words[cut + 1 :]
    there = ", ".join((*CHECKS, "tests", "quick"))
    if {"-h", "--help"} & set(names):
        print(f"{__doc__}\nThe names: {there}.")
        return 0
    if names == ["quick"] and not rest:
        return quick()
    for name in names:
        if name not in (*CHECKS, "tests"):
            print(f"expected names of checks, got {name!r}; there are: {there}")
            return 2
    if rest and names and "tests" not in names:
        print(
            f"expected the name tests before --, since what stands behind it is for pytest; got {', '.join(names)}"
        )
        return 2
    wished = names or (["tests"] if rest else [*CHECKS, "tests"])
    if rest and not names:
        heading("only tests, since words for pytest were given and no names")
    with tempfile.TemporaryDirectory() as scratch:
        failed = [name for name in wished if name != "tests" and not check(name, scratch)]
    closing = ""
    if "tests" in wished:
        passed, closing = tests(rest)
        failed += [] if passed else ["tests"]
        if not rest:
            failed += [] if coverage() else ["coverage"]
    heading(f"FAILED: {', '.join(failed)}" if failed else f"passed: {', '.join(wished)}")
    print(closing)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
