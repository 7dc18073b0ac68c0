"""Runs to a table: medians, and ratios to one peer, which only mean something within one
interleaved run.

A ratio says how many times better than the base: more items a second, or less time, memory or CPU
for each.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator

from cases import CASES, Case

#: What the project wants of itself against nats-py: case -> (peer, ratio by wall clock, ratio by
#: client CPU).
BARS = {
    "parse-msg": ("jsproto_asyncio", None, 1.4),
    "parse-hmsg": ("jsproto_asyncio", None, 1.5),
    "consume": ("jsproto_asyncio", 9.0, 14.0),
    "consume-ack": ("jsproto_asyncio", 6.5, 12.0),
    "fetch": ("jsproto_asyncio", 9.0, None),
    "publish-window": ("jsproto_asyncio", 3.3, None),
    "publish": ("jsproto_asyncio", 1.15, None),
    "next": ("jsproto_asyncio", 1.3, None),
    "ordered": ("jsproto_asyncio", 1.5, None),
    "ordered-push": ("jsproto_asyncio", 1.5, None),
    "range": ("jsproto_blocking", 5.0, 5.0),
}
#: What the project wants of one way beside another: case -> (peer, the other case, ratio by wall
#: clock).
BESIDE = {
    "push": ("jsproto_asyncio", "consume", 0.8),
}

_HEAD = (
    "case",
    "peer",
    "median",
    "min..max",
    "x",
    "CPU us",
    "x CPU",
    "server us",
    "p99 us",
    "load",
    "notes",
)


def table(runs: list[dict], base: str) -> str:
    """Markdown, one row for each case and peer, the best first."""
    rows = [
        row
        for name in CASES
        for row in _rows(name, [run for run in runs if run["case"] == name], base)
    ]
    widths = [max(len(row[i]) for row in [_HEAD, *rows]) for i in range(len(_HEAD))]
    left = {0, 1, len(_HEAD) - 1}
    rule = [
        ("-" * width) if i in left else "-" * (width - 1) + ":" for i, width in enumerate(widths)
    ]
    lines = [
        "| "
        + " | ".join(cell.ljust(w) if i in left else cell.rjust(w) for i, (cell, w) in columns)
        + " |"
        for columns in (
            list(enumerate(zip(row, widths, strict=True))) for row in [_HEAD, rule, *rows]
        )
    ]
    return "\n".join([*lines, *_bars(runs, base)])


def _rows(name: str, runs: list[dict], base: str) -> Iterator[list[str]]:
    case = CASES[name]
    peers = {run["peer"]: [each for each in runs if each["peer"] == run["peer"]] for run in runs}
    order = sorted(peers, key=lambda peer: _rank(case, _median(peers[peer], case.figure.key)))
    title = f"{case.title}, {case.figure.unit}"
    for peer in order:
        mine, theirs = peers[peer], peers.get(base, [])
        yield [title, peer, *_numbers(case, mine, theirs), _notes(mine)]
        title = ""


def _rank(case: Case, figure: float | None) -> tuple[bool, float]:
    if figure is None:
        return True, 0.0
    return False, -figure if case.figure.more_is_better else figure


def _numbers(case: Case, mine: list[dict], theirs: list[dict]) -> list[str]:
    key = case.figure.key
    seen = [run[key] for run in mine if key in run]
    loads = [run["load"] for run in mine if "load" in run]
    timed = key in {"per_s", "p50_us"}
    return [
        _number(_median(mine, key)),
        f"{_number(min(seen))}..{_number(max(seen))}" if seen else "",
        _ratio(case, mine, theirs),
        _number(_median(mine, "cpu_us")) if timed else "",
        _times(_median(theirs, "cpu_us"), _median(mine, "cpu_us")) if timed else "",
        _number(_median(mine, "server_us")) if timed else "",
        _number(_median(mine, "p99_us")),
        f"{min(loads):.1f}..{max(loads):.1f}" if loads and seen else "",
    ]


def _ratio(case: Case, mine: list[dict], theirs: list[dict]) -> str:
    ours, base = _median(mine, case.figure.key), _median(theirs, case.figure.key)
    return _times(ours, base) if case.figure.more_is_better else _times(base, ours)


def _times(over: float | None, under: float | None) -> str:
    return f"{over / under:.2f}" if over and under else ""


def _median(runs: Iterable[dict], key: str) -> float | None:
    seen = [run[key] for run in runs if key in run]
    return statistics.median(seen) if seen else None


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _notes(runs: list[dict]) -> str:
    said = sorted({run[key] for run in runs for key in ("skip", "error") if key in run})
    failed = sum("error" in run for run in runs)
    count = [f"{failed} of {len(runs)} runs failed"] if failed else []
    return "; ".join(count + [text.replace("|", "/").replace("\n", " ")[:120] for text in said])


def _bars(runs: list[dict], base: str) -> Iterator[str]:
    for name, (peer, other, bar) in BESIDE.items():
        mine = [run for run in runs if (run["case"], run["peer"]) == (name, peer)]
        theirs = [run for run in runs if (run["case"], run["peer"]) == (other, peer)]
        ratio = _ratio(CASES[name], mine, theirs)
        if ratio:
            verdict = "held" if float(ratio) >= bar else "MISSED"
            yield f"bar {name}: wall {ratio} x {other}, wanted {bar} x: {verdict}"
    if base != "natspy":
        return
    for name, (peer, wall, cpu) in BARS.items():
        mine = [run for run in runs if (run["case"], run["peer"]) == (name, peer)]
        theirs = [run for run in runs if (run["case"], run["peer"]) == (name, base)]
        seen = (
            ("wall", wall, _ratio(CASES[name], mine, theirs)),
            ("CPU", cpu, _times(_median(theirs, "cpu_us"), _median(mine, "cpu_us"))),
        )
        for what, bar, ratio in seen:
            if bar is not None and ratio:
                verdict = "held" if float(ratio) >= bar else "MISSED"
                yield f"bar {name}: {what} {ratio} x {base}, wanted {bar} x: {verdict}"
