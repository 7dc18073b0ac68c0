"""`jsproto simulate`: run clients through weeks of simulated faults, one world for each seed.

    jsproto simulate --seeds 0-99 --hours 1            a hundred worlds of one virtual hour
    jsproto simulate --seeds 0-1999 --state run.jsonl  repeat the command to continue a stopped run
    jsproto simulate --replay failures/seed-17.trace   run the world of a failure again
    jsproto simulate --measure --seeds 0-9             speed: one consumer, 10 messages a second

If a world breaks a rule, the command reduces it to a smaller one and writes it as a trace.

Exit codes: 0 every rule held; 1 a rule was broken; 2 invalid arguments, or an invalid file of
``--state`` or ``--replay``.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from attrs import define, field

from jsproto.errors import JsprotoError
from jsproto.errors.tree import shorten
from jsproto.testing.simulation import (
    Scenario,
    Simulation,
    SimulationReport,
    drawn,
    fault_of,
    measured,
    shrunk,
)
from jsproto.testing.simulation.scenario import KINDS
from jsproto.trace.formats.redaction import Keep
from jsproto.trace.formats.writing import TraceWriter
from jsproto_cli.traces import located, opened

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from jsproto.trace.formats.recording import Record


class StateError(JsprotoError, ValueError):
    """The file of ``simulate --state`` does not contain finished worlds."""


#: One finished world in the state file: plain numbers and texts.
Line: TypeAlias = dict[str, "int | float | str"]

#: The name of the world's text in the first lines of a failure's trace.
_SCENARIO: Final = "scenario"
#: Seconds between two progress lines.
_PROGRESS: Final = 10.0


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand ``simulate`` to the command line."""
    words = commands.add_parser(
        "simulate", help="run clients through faults in virtual time", description=__doc__
    )
    words.add_argument(
        "--seeds",
        type=_seeds,
        default=list(range(10)),
        metavar="A-B",
        help="the worlds: ranges and numbers",
    )
    words.add_argument("--hours", type=float, default=1.0, help="virtual hours of each world (1)")
    words.add_argument(
        "--works",
        type=lambda text: tuple(text.split(",")),
        default=(),
        metavar="KIND,...",
        help=f"workloads, instead of random ones: {', '.join(sorted(set(KINDS)))}",
    )
    words.add_argument(
        "--measure",
        action="store_true",
        help="measure speed: one consumer, 10 messages a second, all faults",
    )
    words.add_argument(
        "--state", type=Path, metavar="FILE", help="store finished worlds, and skip them next time"
    )
    words.add_argument(
        "--failures",
        type=Path,
        default=Path("failures"),
        metavar="DIR",
        help="folder for the traces of failures",
    )
    words.add_argument("--replay", type=Path, metavar="TRACE", help="run a failed world again")
    words.add_argument(
        "--json", action="store_true", help="print one JSON object for each world, and totals"
    )
    words.set_defaults(command=run)


def run(words: argparse.Namespace) -> int:
    """Run ``simulate``; 0 if every rule held."""
    if words.replay is not None:
        return _replay(words.replay, as_json=words.json)
    if unknown := set(words.works) - set(KINDS):
        print(f"expected workloads of {sorted(set(KINDS))}, got {sorted(unknown)}", file=sys.stderr)
        return 2
    draw = _draw(words)
    total = _Total(len(words.seeds))
    try:
        done = _done(words)
    except (StateError, OSError) as error:
        print(located(words.state, error), file=sys.stderr)
        return 2
    try:
        with _kept(words.state) as keep:
            for seed in words.seeds:
                line = done.get(seed)
                if line is None:
                    line = _lived(draw(seed))
                    line.update(_written(draw(seed), words.failures) if line["failure"] else {})
                    keep({**_about(words), **line})
                    if words.json:
                        print(json.dumps(line), flush=True)
                    elif line["failure"]:
                        print(f"\nseed {seed}: {line['failure']}\n  {line['trace']}", flush=True)
                total.add(line)
                total.show()
    except KeyboardInterrupt:
        print("\nstopped; with --state the same command continues from here", file=sys.stderr)
    total.end(as_json=words.json)
    return int(bool(total.failures))


# ------------------------------------------------------------------ one world


def _draw(words: argparse.Namespace) -> Callable[[int], Scenario]:
    if words.measure:
        return lambda seed: measured(seed, words.hours)
    return lambda seed: drawn(seed, words.hours, words.works)


def _lived(scenario: Scenario) -> Line:
    begun = time.process_time()
    report = Simulation(scenario=scenario).run()
    return _line(report, scenario, time.process_time() - begun)


def _line(report: SimulationReport, scenario: Scenario, cpu: float) -> Line:
    return {
        "seed": report.seed,
        "version": scenario.version,
        "seconds": round(report.seconds, 3),
        "works": ",".join(each.kind for each in scenario.works),
        "readers": report.readers,
        "handed": report.handed,
        "faults": report.faults,
        "digest": f"{report.digest:08x}",
        "cpu": round(cpu, 3),
        "failure": ""
        if report.failure is None
        else f"{fault_of(report)}: {shorten(str(report.failure), 400)}",
    }


def _written(scenario: Scenario, folder: Path) -> Line:
    """Reduce a failure to a small world, and write its trace."""
    small, _ = shrunk(scenario)
    records: list[Record] = []
    report = Simulation(scenario=small, tap=records.append).run()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"seed-{scenario.seed}.trace"
    about = {
        "server_version": small.version,
        "client": "jsproto",
        "failure": " ".join(str(report.failure).split())[:2000],
        _SCENARIO: small.text(),
    }
    writer = TraceWriter(Keep.FULL, about)
    with path.open("w", encoding="utf-8") as file:
        file.write(writer.head)
        file.writelines(writer.lines(each) for each in records)
        file.write(writer.end())
    return {"trace": str(path), "left": f"{len(small.faults)} faults, {len(small.works)} workloads"}


def _replay(path: Path, *, as_json: bool) -> int:
    try:
        with opened(path) as trace:
            scenario = Scenario.read(trace.about.get(_SCENARIO, ""))
    except (OSError, JsprotoError) as error:
        print(located(path, error), file=sys.stderr)
        return 2
    line = _lived(scenario)
    print(
        json.dumps(line)
        if as_json
        else f"seed {line['seed']}: {line['failure'] or 'every rule holds'}"
    )
    return int(bool(line["failure"]))


# ------------------------------------------------------------------ many worlds


@define
class _Total:
    """The totals of all worlds."""

    worlds: int
    begun: float = field(factory=time.monotonic)
    shown: float = 0.0
    done: int = 0
    hours: float = 0.0
    reader_hours: float = 0.0
    handed: int = 0
    faults: int = 0
    cpu: float = 0.0
    failures: list[int] = field(factory=list)

    def add(self, line: Line) -> None:
        hours = float(line["seconds"]) / 3600
        self.done += 1
        self.hours += hours
        self.reader_hours += hours * int(line["readers"])
        self.handed += int(line["handed"])
        self.faults += int(line["faults"])
        self.cpu += float(line["cpu"])
        if line["failure"]:
            self.failures.append(int(line["seed"]))

    def show(self) -> None:
        """Print a progress line, at most every `_PROGRESS` seconds."""
        now = time.monotonic()
        if now - self.shown >= _PROGRESS:
            self.shown = now
            print(
                f"{self.done} of {self.worlds} worlds, {self.hours:.1f} h, {self.handed} messages, "
                f"{self.faults} faults, {len(self.failures)} failures",
                file=sys.stderr,
                flush=True,
            )

    def end(self, *, as_json: bool) -> None:
        """Print the totals."""
        speed = self.reader_hours / (self.cpu / 60) if self.cpu else 0.0
        if as_json:
            print(
                json.dumps(
                    {
                        "worlds": self.done,
                        "hours": round(self.hours, 2),
                        "consumer_hours": round(self.reader_hours, 2),
                        "handed": self.handed,
                        "faults": self.faults,
                        "cpu": round(self.cpu, 1),
                        "consumer_hours_per_cpu_minute": round(speed, 1),
                        "failures": self.failures,
                    }
                )
            )
            return
        print(
            f"{self.done} worlds, {self.hours:.1f} virtual hours ({self.hours / 8766:.3f} years), "
            f"{self.handed} messages handed out, {self.faults} faults, {self.cpu:.1f} s of CPU"
        )
        print(f"{self.reader_hours:.1f} consumer-hours, {speed:.1f} in each minute of CPU")
        print(f"broken rules: seeds {self.failures}" if self.failures else "every rule held")


def _about(words: argparse.Namespace) -> Line:
    """The arguments that define a world."""
    return {"hours": words.hours, "kinds": ",".join(words.works), "measure": int(words.measure)}


def _done(words: argparse.Namespace) -> dict[int, Line]:
    """The finished worlds of the state file by seed; creates the file if it is missing.

    Raises:
        StateError: a line of the file does not come from ``--state``.
        OSError: the file cannot be read or written.
    """
    if words.state is None:
        return {}
    about = _about(words)
    found: dict[int, Line] = {}
    with words.state.open("a+b") as file:
        file.seek(0)
        for number, raw in enumerate(file, 1):
            try:
                line: Line = json.loads(raw.decode("utf-8-sig"))
                seed = int(line["seed"])
                same = all(line.get(name) == value for name, value in about.items())
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                raise StateError(
                    f"expected a world as --state writes it in line {number}, got {shorten(raw)}"
                ) from None
            if same:
                found[seed] = line
    return found


class _kept:  # noqa: N801 - a context manager that reads like a verb
    """Appends lines to a file, each at once; without a path it drops them."""

    def __init__(self, path: Path | None) -> None:
        self._file = None if path is None else path.open("a", encoding="utf-8")

    def __enter__(self) -> Callable[[Line], None]:
        return self._keep

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def _keep(self, line: Line) -> None:
        if self._file is not None:
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()


def _seeds(text: str) -> list[int]:
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        seeds += range(int(first), int(last if dash else first) + 1)
    return seeds
