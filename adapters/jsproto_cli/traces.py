"""`jsproto lint`, `replay`, `inspect`, `ladder` and `diff`: read, judge and show traces.

The traces may come from any client. A file is a raw recording (``.jsonl``) or a trace (``.trace``);
its first line decides. A folder means all such files below it.

Exit codes: 0 success; 1 there are findings, a divergence, a difference, or an unreadable file; 2
invalid arguments, or an invalid file of ``--expect``.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections import Counter
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from jsproto.errors import JsprotoError
from jsproto.errors.tree import shorten
from jsproto.trace.formats.reading import MOST_LINE, Trace, TraceError
from jsproto.trace.judge.lint import RULES, Finding, Lint
from jsproto.trace.observe.ledger import seconds
from jsproto.trace.replay.replay import Cuts, Divergence, Replay
from jsproto.trace.replay.rerun import Rerun, keep_of
from jsproto.trace.show.ladder import as_text, mermaid, rungs, visible
from jsproto.trace.show.summary import Summary

if TYPE_CHECKING:
    import argparse
    from collections.abc import Generator, Iterable, Iterator

_KINDS: Final = (".jsonl", ".trace")
#: Number of common steps that are shown before a difference.
_CONTEXT: Final = 3


class ExpectationError(JsprotoError, ValueError):
    """The file of ``lint --expect`` is not a table of expected rules."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommands about traces to the command line."""
    judge = commands.add_parser(
        "lint", help="judge the client in recorded traffic", description=__doc__
    )
    judge.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="files and folders")
    judge.add_argument(
        "-v", "--verbose", action="store_true", help="show each finding, also for many files"
    )
    judge.add_argument("--json", action="store_true", help="print one JSON object for each file")
    judge.add_argument(
        "--rules",
        action="store_true",
        help="only list the rules, and what is right",
    )
    judge.add_argument(
        "--expect",
        type=Path,
        metavar="TOML",
        help="compare with a table of expected rules by file",
    )
    judge.add_argument(
        "--as-toml", action="store_true", help="print the findings in the form of --expect"
    )
    judge.set_defaults(command=run_lint)

    again = commands.add_parser(
        "replay", help="parse traffic again with all cuts, and run it again", description=__doc__
    )
    again.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="files and folders")
    again.add_argument("--json", action="store_true", help="print one JSON object for each file")
    again.set_defaults(command=run_replay)

    look = commands.add_parser(
        "inspect", help="the numbers of a trace, and the result of each pull", description=__doc__
    )
    look.add_argument("path", type=Path, metavar="PATH")
    look.add_argument("--json", action="store_true", help="print one JSON object")
    look.set_defaults(command=run_inspect)

    steps = commands.add_parser(
        "ladder", help="a trace as a sequence of steps", description=__doc__
    )
    steps.add_argument("path", type=Path, metavar="PATH")
    steps.add_argument("--mermaid", action="store_true", help="print a Mermaid diagram")
    steps.add_argument("--json", action="store_true", help="print one JSON object for each step")
    steps.set_defaults(command=run_ladder)

    two = commands.add_parser(
        "diff", help="the first step in which two traces differ", description=__doc__
    )
    two.add_argument("a", type=Path, metavar="A")
    two.add_argument("b", type=Path, metavar="B")
    two.add_argument("--json", action="store_true", help="print one JSON object")
    two.set_defaults(command=run_diff)


# ------------------------------------------------------------------ lint


def run_lint(words: argparse.Namespace) -> int:
    """Run ``lint``; 0 if it finds nothing, or exactly what ``--expect`` says."""
    if words.rules:
        return _rules()
    files = _files(words.paths)
    if not files:
        return _wrong("expected at least one .jsonl or .trace file")
    try:
        expected = None if words.expect is None else _expected(words.expect)
    except (ExpectationError, OSError) as wrong:
        return _wrong(located(cast("Path", words.expect), wrong))
    findings, bad, differing = Counter[str](), 0, 0
    if words.as_toml:
        print(
            "# The rules that each recording breaks: "
            "`jsproto lint --as-toml` over the folder of recordings."
        )
    for name, path in files:
        found, counted, judged, error = _judged(path)
        findings.update(counted)
        bad += error is not None
        rules = sorted(counted)
        wanted = None if expected is None else sorted(expected.get(name, ()))
        differs = wanted is not None and wanted != rules
        differing += differs
        if words.as_toml:
            if rules:
                print(f'"{name}" = {json.dumps(rules)}')
        elif words.json:
            print(json.dumps(_lint_json(path, found, counted, judged, error)))
        else:
            _show(path, found, counted, judged, error, verbose=words.verbose or len(files) == 1)
            if differs:
                print(f"  expected {wanted}, found {rules}")
    if not words.json and not words.as_toml:
        _lint_summary(len(files), findings, bad, differing if expected is not None else None)
    return int(bool(bad or (differing if expected is not None else findings and not words.as_toml)))


def _expected(path: Path) -> dict[str, list[str]]:
    """Read the expected rules by file.

    Raises:
        ExpectationError: it is no TOML, or not a table of files with lists of rules.
        OSError: the file cannot be read.
    """
    try:
        table = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # no UTF-8, or no TOML
        raise ExpectationError(f"expected TOML in the form of `lint --as-toml`: {error}") from None
    known = {rule.name for rule in RULES}
    for name, given in cast("dict[str, object]", table).items():
        seen: object = given
        rules = cast("list[object]", given) if isinstance(given, list) else None
        if rules is None or not all(isinstance(each, str) for each in rules):
            raise ExpectationError(
                f"expected a list of rules for {shorten(name)}, got {shorten(seen)}"
            )
        if unknown := sorted(set(cast("list[str]", rules)) - known):
            raise ExpectationError(
                f"expected rules of `lint --rules` for {shorten(name)}, got {unknown}"
            )
    return cast("dict[str, list[str]]", table)


def _judged(path: Path) -> tuple[list[Finding], Counter[str], list[str], str | None]:
    """Judge one file.

    Returns:
        The findings, their counts by rule, the rules that had something to judge, and why the
        file was not judged to its end.
    """
    judge, found = Lint(), list[Finding]()
    try:
        with opened(path) as trace:
            for line, record in trace.records():
                found += judge.feed(line, record)
    except (TraceError, OSError) as error:
        return found, judge.counted, judge.judged(), located(path, error)
    for conn, _, line in judge.observer.unreadable:
        return (
            found,
            judge.counted,
            judge.judged(),
            f"{path}, line {line}: the server's bytes on {conn} cannot be parsed from here on",
        )
    if not judge.observer.commands:
        return (
            found,
            judge.counted,
            [],
            f"{path}: no client sends anything here, so nothing was judged",
        )
    return found, judge.counted, judge.judged(), None


def _lint_json(
    path: Path, found: list[Finding], counted: Counter[str], judged: list[str], error: str | None
) -> dict[str, object]:
    return {
        "file": str(path),
        "error": error,
        "counted": dict(sorted(counted.items())),
        "judged": judged,
        "not_judged": [rule.name for rule in RULES if rule.name not in judged],
        "findings": [
            {
                "rule": each.rule,
                "severity": each.severity.value.lower(),
                "clause": each.clause,
                "line": each.line,
                "at": each.at,
                "conn": each.conn,
                "words": each.words,
                "right": each.right,
            }
            for each in found
        ],
    }


def _show(
    path: Path,
    found: list[Finding],
    counted: Counter[str],
    judged: list[str],
    error: str | None,
    *,
    verbose: bool,
) -> None:
    said = ", ".join(
        f"{rule} {count}" if count > 1 else rule for rule, count in sorted(counted.items())
    )
    said = said or f"the {len(judged)} of {len(RULES)} rules with something to judge found nothing"
    _say(error or f"{path}: {said}")
    for each in found if verbose else ():
        _say(
            f"  line {each.line}, {each.at:.3f} s, {each.conn}: "
            f"{each.severity.value.lower()} {each.rule}: {each.words}"
        )
        _say(f"      {each.clause}. {each.right}")


def _lint_summary(files: int, findings: Counter[str], bad: int, differing: int | None) -> None:
    said = f"{files} files, {findings.total()} findings of {len(findings)} rules"
    if bad:
        said += f", {bad} files could not be read"
    if differing is not None:
        said += f", {differing} files differ from the expectation"
    print(said)


def _rules() -> int:
    for rule in RULES:
        print(f"{rule.name} ({rule.severity.value.lower()})\n    {rule.clause}\n    {rule.right}")
    return 0


# ------------------------------------------------------------------ replay


def run_replay(words: argparse.Namespace) -> int:
    """Run ``replay``: parse traffic again, and run again what our recorder wrote.

    Returns 0 if all cuts gave the same frames, and our machines sent the same bytes.
    """
    files = _files(words.paths)
    if not files:
        return _wrong("expected at least one .jsonl or .trace file")
    bad = frames = 0
    for _, path in files:
        replay, reruns, error = Replay(), list[Rerun](), None
        line = 0
        try:
            with opened(path) as trace:
                reruns += [Rerun(keep_of(trace.about)), Rerun(keep_of(trace.about), Cuts())]
                for line, record in trace.records():
                    replay.feed(line, record)
                    for rerun in reruns:
                        rerun.feed(line, record)
            for rerun in reruns:
                rerun.end()
        except (TraceError, OSError) as fault:
            error = located(path, fault)
        except Divergence as fault:
            error = f"{path}, line {line}: {fault}"
        if error is None and replay.lost:
            _, _, at, why = replay.lost[0]
            error = f"{path}, line {at}: {why}"
        again = next((each for each in reruns if each.diverged), reruns[0] if reruns else None)
        bad += error is not None or (again is not None and again.diverged)
        frames += replay.counted.total()
        if words.json:
            print(
                json.dumps(
                    {
                        "file": str(path),
                        "error": error,
                        "frames": dict(replay.counted),
                        "commands": replay.commands,
                        "unreadable": [list(each) for each in replay.unknown],
                        "rerun": None if again is None or not again.began else _rerun_json(again),
                    }
                )
            )
        else:
            said = ", ".join(f"{count} {name}" for name, count in sorted(replay.counted.items()))
            _say(error or f"{path}: {replay.commands} commands, {said or 'no frames'}")
            if again is not None and again.began:
                _show_rerun(path, again)
    if not words.json:
        print(f"{len(files)} files, {frames} frames, {bad} files with a fault")
    return int(bad > 0)


def _rerun_json(rerun: Rerun) -> dict[str, object]:
    stop = rerun.stop
    return {
        "bytes": rerun.size,
        "frames": rerun.frames,
        "given": rerun.given,
        "diverged": rerun.diverged,
        "line": None if stop is None else stop.line,
        "words": None if stop is None else stop.words,
    }


def _show_rerun(path: Path, rerun: Rerun) -> None:
    said = f"{rerun.size} bytes out in {rerun.frames} frames, all equal"
    stop = rerun.stop
    if stop is None:
        _say(f"  run again by our machines: {said}")
    elif stop.diverged:
        _say(f"{path}, line {stop.line}: run again, {stop.words}")
        for each in stop.context:
            _say(f"  {each}")
    else:
        _say(f"  run again by our machines up to line {stop.line}: {said}; then {stop.words}")


# ------------------------------------------------------------------ inspect, ladder, diff


def run_inspect(words: argparse.Namespace) -> int:
    """Run ``inspect``; 0 if the file is readable."""
    summary = Summary()
    try:
        with opened(words.path) as trace:
            for line, record in trace.records():
                summary.feed(line, record)
    except (TraceError, OSError) as error:
        return failed(located(words.path, error))
    told = {"file": str(words.path), **trace.about, **summary.as_json()}
    if words.json:
        print(json.dumps(told))
        return 0
    for name, value in told.items():
        if isinstance(value, dict):
            counts = cast("dict[str, int]", value)
            _say(f"{name}: " + ", ".join(f"{key} {count}" for key, count in counts.items()))
        elif not isinstance(value, list):
            _say(f"{name}: {value}")
    for link in summary.observer.links:
        server = "" if link.info is None else link.info.version
        _say(
            f"link {link.conn} since {seconds(link.at):.3f} s: server {server}, "
            f"client {link.option('lang')}"
        )
    for pull in summary.pulls:
        fate = "open" if pull.end is None else pull.end.value
        size = f" and {pull.max_bytes} bytes" if pull.max_bytes else ""
        status = f" ({pull.status})" if pull.status else ""
        _say(
            f"pull in line {pull.line}: {pull.got} of {pull.batch}{size} "
            f"from {'.'.join(pull.consumer)}, {fate}{status}"
        )
    return 0


def run_ladder(words: argparse.Namespace) -> int:
    """Run ``ladder``; 0 if the file is readable."""
    try:
        with opened(words.path) as trace:
            ladder = rungs(trace.records())
            if words.mermaid:
                for text in mermaid(ladder):
                    print(text)
            else:
                for rung in ladder:
                    print(json.dumps(rung._asdict()) if words.json else as_text(rung))
    except (TraceError, OSError) as error:
        return failed(located(words.path, error))
    return 0


def run_diff(words: argparse.Namespace) -> int:
    """Run ``diff``; 0 if there is no difference. Times and line numbers are not compared."""
    steps, before = 0, list[str]()
    try:
        with opened(words.a) as one, opened(words.b) as other:
            pairs = zip_longest(rungs(one.records()), rungs(other.records()))
            for a, b in pairs:
                if a is None or b is None or a[2:] != b[2:]:
                    break
                before = [*before[1 - _CONTEXT :], as_text(a)]
                steps += 1
            else:
                print(
                    json.dumps({"same": True, "steps": steps})
                    if words.json
                    else f"the same {steps} steps"
                )
                return 0
    except (TraceError, OSError) as error:
        return failed(f"{words.a} or {words.b}: {error}")
    if words.json:
        print(
            json.dumps(
                {"same": False, "steps": steps, "a": a and a._asdict(), "b": b and b._asdict()}
            )
        )
        return 1
    for text in before:
        print(f"  {text}")
    print(f"- {as_text(a) if a else 'the end of ' + str(words.a)}")
    print(f"+ {as_text(b) if b else 'the end of ' + str(words.b)}")
    print(f"they differ after {steps} steps")
    return 1


# ------------------------------------------------------------------ files


def _files(paths: Iterable[Path]) -> list[tuple[str, Path]]:
    """All files with their names: the path below the given folder, without suffix."""
    found: list[tuple[str, Path]] = []
    for path in paths:
        if path.is_dir():
            below = sorted(each for kind in _KINDS for each in path.rglob(f"*{kind}"))
            found += [(each.relative_to(path).with_suffix("").as_posix(), each) for each in below]
        else:
            found.append((path.with_suffix("").name, path))
    return found


@contextmanager
def opened(path: Path) -> Generator[Trace]:
    """Open the trace of a file; it can be read while the file is open.

    Raises:
        OSError: the file cannot be read.
        TraceError: its first lines are not those of a trace.
    """
    with path.open("rb") as file:
        yield Trace(_lines_of(file))


def _lines_of(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file, none longer than the reader accepts."""
    while line := file.readline(MOST_LINE + 1):
        yield line


def located(path: Path, error: Exception) -> str:
    """An error text with the file and the line."""
    line = f", line {error.line}" if isinstance(error, TraceError) else ""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    return f"{path}{line}: {reason}"


def _say(line: str) -> None:
    """Print one line, with control characters of a peer made visible."""
    print(visible(line))


def failed(message: str) -> int:
    """Print an error to stderr, and return exit code 1."""
    print(visible(message), file=sys.stderr)
    return 1


def _wrong(message: str) -> int:
    print(visible(message), file=sys.stderr)
    return 2
