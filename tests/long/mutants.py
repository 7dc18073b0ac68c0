"""Deliberate faults in the machines, one at a time: is each found by a simulation?

    python tests/long/mutants.py                         all of them, each within 10 minutes of CPU
    python tests/long/mutants.py --only inbox leader     those whose sentence holds one of these
    words python tests/long/mutants.py --minutes 1             less patience python
    tests/long/mutants.py --check                 only that each fault can still be made

`mutants.toml` is the table. Each fault is made in a copy of the package, and worlds of one seed
after the other are lived through there until a rule is broken. Gives one JSON line for each fault:
which rule found it, in which seed, after how many seconds of CPU. The exit code is 1 if one was not
found, or can't be made any more.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
#: Seeds begin again at 0 for each fault; a world lives so many hours.
HOURS = 0.2
#: Lives through one seed after the other until something fails.
WORLDS = f"""
import itertools, json, time
from jsproto.testing.simulation import Simulation, fault_of
for seed in itertools.count():
    report = Simulation(seed, hours={HOURS}).run()
    if report.failure is not None:
        print(json.dumps({{"seed": seed, "rule": fault_of(report), "cpu": round(time.process_time(), 1)}}))
        break
"""


def table() -> list[dict[str, str]]:
    """The faults."""
    faults: list[dict[str, str]] = tomllib.loads(
        (HERE / "mutants.toml").read_text(encoding="utf-8")
    )["mutant"]
    return faults


def made(fault: dict[str, str], root: Path) -> str:
    """Make a fault below ``root``; answers what is wrong with it, if it can't be made."""
    path = root / fault["file"]
    text = path.read_text(encoding="utf-8")
    if text.count(fault["old"]) != 1:
        return f"the old text is there {text.count(fault['old'])} times"
    path.write_text(text.replace(fault["old"], fault["new"]), encoding="utf-8")
    return ""


def judged(fault: dict[str, str], seconds: int) -> dict[str, object]:
    """Is this fault found?"""
    with tempfile.TemporaryDirectory(prefix="jsproto-mutant-") as folder:
        root = Path(folder)
        shutil.copytree(
            ROOT / "jsproto", root / "jsproto", ignore=shutil.ignore_patterns("__pycache__")
        )
        if wrong := made(fault, root):
            return {"about": fault["about"], "found": False, "wrong": wrong}
        done = subprocess.run(
            [sys.executable, "-c", WORLDS],
            cwd=root,
            env={"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)),
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode == 0 and done.stdout:
        return {"about": fault["about"], "found": True, **json.loads(done.stdout)}
    return {"about": fault["about"], "found": False, "wrong": done.stderr.strip()[-300:]}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD")
    parser.add_argument("--minutes", type=float, default=10.0, help="of CPU for each")
    parser.add_argument("--check", action="store_true", help="only that each can be made")
    chosen = parser.parse_args(arguments)
    faults = [
        each
        for each in table()
        if not chosen.only or any(word in each["about"] for word in chosen.only)
    ]
    if chosen.check:
        with tempfile.TemporaryDirectory(prefix="jsproto-mutant-") as folder:
            wrong = []
            for fault in faults:
                shutil.copytree(ROOT / "jsproto", Path(folder) / "jsproto", dirs_exist_ok=True)
                if found := made(fault, Path(folder)):
                    wrong.append((fault["about"], found))
        print(json.dumps({"faults": len(faults), "wrong": wrong}))
        return int(bool(wrong))
    missed = 0
    for fault in faults:
        told = judged(fault, round(60 * chosen.minutes))
        missed += not told["found"]
        print(json.dumps(told), flush=True)
    print(json.dumps({"faults": len(faults), "found": len(faults) - missed}))
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
