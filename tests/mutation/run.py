"""Mutation testing: does a test fail for each small change of a module? A long command, of a minute
or more for each.

    python tests/mutation/run.py credit status              these modules, as modules.toml names them
    python tests/mutation/run.py                            all of them
    python tests/mutation/run.py consume --where _silence   only in functions whose name holds this
    python tests/mutation/run.py consume --again kept.json  only what survived a run with `--keep`
    python tests/mutation/run.py credit --list              the changes, running nothing
    python tests/mutation/run.py --check                    only: can each listed change be made?

Needs `pip install mutmut` beside what the tests need. `modules.toml` says for each module which
tests shall notice, and which changes no test can notice, each with its reason; those are not run. A
listed change that can't be made any more is an error, so that the list stays true.

Each mutant is one process, forked from one that has pytest and the floors below imported already,
with the changed text in place of the module; no file is written, and the tree that is tested is a
copy. A mutant that takes three times as long as the unchanged module (and a second) is caught by
its time: most of them wait for something that never comes.

The score is (killed + timeout) / (all - equivalent). It is 0.9 at least, or the exit code is 1.
"""

from __future__ import annotations

import argparse
import ast
import functools
import importlib.abc
import importlib.util
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import tomllib
import traceback
from collections.abc import Iterator
from pathlib import Path

os.environ["CI"] = "1"  # hypothesis draws the same examples each time

import hypothesis
import pytest
from mutants import Mutant, mutants

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parents[1]
_BAR = 0.9
_OURS = ("jsproto", "jsproto_io")
_COPIED = ("jsproto", "adapters", "tests", "spec", "pyproject.toml")
_MEMORY = 3 << 30
_PYTEST = ("-x", "-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives one module another text."""

    def __init__(self, name: str, code: str, path: Path) -> None:
        self._name = name
        self._code = code
        self._path = path

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> object:
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(fullname, self._path, loader=self)

    def create_module(self, spec: object) -> None:
        return None

    def exec_module(self, module: object) -> None:
        exec(compile(self._code, str(self._path), "exec"), module.__dict__)


class Plan:
    """A plugin of pytest: quick tests first, and examples that fail are not made simpler."""

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        hypothesis.settings.register_profile(
            "mutation", deadline=None, derandomize=True, phases=phases
        )

    def pytest_collectstart(self) -> None:
        hypothesis.settings.load_profile("mutation")

    def pytest_collection_modifyitems(self, items: list) -> None:
        items.sort(key=lambda item: hasattr(item.obj, "hypothesis"))


@functools.cache
def dependents(module: str) -> frozenset[str]:
    """Modules of ours that are imported now and would not be the same with another text of this
    one.
    """
    imports: dict[str, set[str]] = {}
    for name, loaded in list(sys.modules.items()):
        if name.split(".")[0] in _OURS and getattr(loaded, "__file__", None):
            nodes = list(ast.walk(ast.parse(Path(loaded.__file__).read_text())))
            froms = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
            imports[name] = {node.module for node in froms}
            imports[name] |= {
                f"{node.module}.{alias.name}" for node in froms for alias in node.names
            }
            imports[name] |= {
                a.name for node in nodes if isinstance(node, ast.Import) for a in node.names
            }
    found = {module}
    while more := {name for name, theirs in imports.items() if theirs & found} - found:
        found |= more
    # The root only re-exports: made anew it would import everything, whatever a test needs.
    return frozenset(found - {"jsproto"})


class Bench:
    """A copy of the tree, and children that test it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in _COPIED:
            source = _ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, folder / name)
        traces = _ROOT.parent / "shared" / "traces"
        if traces.is_dir():
            os.environ.setdefault("JSPROTO_TRACES", str(traces))
        os.chdir(folder)
        sys.path[:0] = [str(folder), str(folder / "adapters")]
        sys.dont_write_bytecode = False  # in the copy: tests are compiled once
        for name in (
            "jsproto.embed",
            "jsproto.driver",
            "jsproto.testing",
            "jsproto_io._testing.nats_server",
        ):
            importlib.import_module(name)

    def path(self, module: str) -> Path:
        """Where a module's text lies."""
        return self._folder / (module.replace(".", "/") + ".py")

    def run(
        self, module: str, code: str, tests: list[str], limit: float, *, loud: bool = False
    ) -> str:
        """``killed``, ``timeout`` or ``survived``."""
        changed = dependents(module) & sys.modules.keys()
        child = os.fork()
        if child:
            _, status = os.waitpid(child, 0)
            if os.WIFSIGNALED(status) and os.WTERMSIG(status) in {signal.SIGPROF, signal.SIGALRM}:
                return "timeout"
            return "survived" if status == 0 else "killed"
        try:
            signal.signal(signal.SIGPROF, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_PROF, limit)
            signal.alarm(round(10 * limit))
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            if not loud:
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, 1)
                os.dup2(nowhere, 2)
            for name in changed:
                package, _, own = name.rpartition(".")
                if package:
                    vars(sys.modules[package]).pop(own, None)
            for name in changed:
                del sys.modules[name]
            sys.meta_path.insert(0, Changed(module, code, self.path(module)))
            said = pytest.main([*_PYTEST, *tests], [Plan()])
            sys.stdout.flush()
            os._exit(said)
        except BaseException:  # noqa: BLE001 - whatever happens, the child ends here
            traceback.print_exc()
        finally:
            os._exit(3)


def settled(
    name: str, entry: dict, bench: Bench, chosen: argparse.Namespace
) -> Iterator[tuple[Mutant, str]]:
    """Each mutant with what became of it; ``equivalent`` for those that are listed so."""
    module = f"jsproto.jetstream.{name}"
    source = bench.path(module).read_text()
    listed = {(each["where"], each["was"], each["now"]) for each in entry.get("equivalent", ())}
    made: set[tuple[str, str, str]] = set()
    again = None
    if chosen.again:
        kept = json.loads(chosen.again.read_text()).get(name, [])
        again = {tuple(each[:3]) for each in kept}
    begun = time.process_time(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    if bench.run(module, source, entry["tests"], 300, loud=False) != "survived":
        bench.run(module, source, entry["tests"], 300, loud=True)
        raise SystemExit(f"{name}: the tests fail without any change")
    limit = 1 + 3 * (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begun[1])
    for mutant in mutants(source):
        known = mutant.name in listed
        made.add(mutant.name)
        if chosen.where and chosen.where not in mutant.where:
            continue
        if again is not None and mutant.name not in again:
            continue
        if known:
            yield mutant, "equivalent"
        elif chosen.list:
            yield mutant, "not run"
        else:
            yield mutant, bench.run(module, mutant.code, entry["tests"], limit)
    for where, was, now in sorted(listed - made):
        raise SystemExit(
            f"{name}: no such change any more, take it off the list: {where}: {was} => {now}"
        )


def check(names: list[str], table: dict) -> int:
    """Print the listed changes that can't be made any more; 1 if there are any."""
    stale = 0
    for name in names:
        equivalent = table[name].get("equivalent", ())
        listed = {(each["where"], each["was"], each["now"]) for each in equivalent}
        place = _ROOT / "jsproto" / "jetstream" / f"{name.replace('.', '/')}.py"
        made = {each.name for each in mutants(place.read_text())}
        for where, was, now in sorted(listed - made):
            stale += 1
            print(f"{name}: {where}\n    - {was}\n    + {now}", flush=True)
    return 1 if stale else 0


def report(name: str, results: list[tuple[Mutant, str]]) -> tuple[str, bool]:
    """A row of the table, and whether the bar is held."""
    counts = {
        fate: sum(each == fate for _, each in results)
        for fate in ("equivalent", "killed", "timeout", "survived")
    }
    judged = len(results) - counts["equivalent"]
    score = (counts["killed"] + counts["timeout"]) / judged if judged else 1.0
    cells = (name, len(results), *counts.values(), f"{score:.1%}")
    return "| " + " | ".join(map(str, cells)) + " |", score >= _BAR


def main() -> int:
    """Make all mutants of the modules asked for and print the table."""
    table = tomllib.loads((_HERE / "modules.toml").read_text())
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("modules", nargs="*", help=", ".join(table))
    parser.add_argument("--where", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--again", type=Path, metavar="FILE")
    parser.add_argument(
        "--keep", type=Path, metavar="FILE", help="write the survivors there, as JSON"
    )
    chosen = parser.parse_args()
    for name in chosen.modules:
        if name not in table:
            parser.error(f"{name!r} is not one of {', '.join(table)}")
    if chosen.check:
        return check(chosen.modules or list(table), table)
    chosen.keep = chosen.keep and chosen.keep.resolve()
    chosen.again = chosen.again and chosen.again.resolve()
    rows = []
    held = True
    survivors: dict[str, list[tuple[str, str, str, int]]] = {}
    with tempfile.TemporaryDirectory(prefix="jsproto-mutation-") as folder:
        bench = Bench(Path(folder))
        for name in chosen.modules or list(table):
            results = []
            begun = time.monotonic()
            for mutant, fate in settled(name, table[name], bench, chosen):
                results.append((mutant, fate))
                if fate in {"survived", "not run"}:
                    print(
                        f"{name}:{mutant.line} {mutant.where}\n    - {mutant.was}\n    + {mutant.now}",
                        flush=True,
                    )
            survivors[name] = [
                (*each.name, each.line) for each, fate in results if fate == "survived"
            ]
            row, good = report(name, results)
            held = held and good
            rows.append(row)
            print(f"{row} {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
            if chosen.keep:
                chosen.keep.write_text(json.dumps(survivors, indent=1))
        os.chdir("/")
    print("\n| module | mutants | equivalent | killed | timeout | survived | score |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |", *rows, sep="\n")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
