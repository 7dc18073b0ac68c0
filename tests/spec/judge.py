"""Writes ``spec/clients.md``: which client keeps the protocol in which scenario, and what is to be
told to its makers.

    python tests/spec/judge.py

It is made of ``spec/clients.toml`` (what was played, by `tests/long/foreign.py --keep`), of the
traces in ``spec/traces/clients``, which are judged here once more, and of ``spec/upstream.toml``,
where the texts for the makers stand.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]

from jsproto.trace.formats.reading import Trace  # noqa: E402
from jsproto.trace.judge.lint import RULES, Finding, Lint  # noqa: E402
from tests.long.clients.scenarios import SCENARIOS  # noqa: E402

SPEC = ROOT / "spec"
PAGE = SPEC / "clients.md"
TRACES = SPEC / "traces" / "clients"
OURS = "jsproto "

HEAD = """# Clients, judged

`python tests/spec/judge.py` makes this page; a test compares it. Each client played each scenario against a real server, through
the tap (`jsproto record`), and `jsproto lint` judged the recording: {versions}.

`python tests/long/foreign.py --client CLIENT --scenario SCENARIO` plays one again. A cell names the broken rules; `·` means none,
`n/a` means not played, for a reason below.

"""


class Played(NamedTuple):
    """What one client did in one scenario."""

    client: str
    version: str
    scenario: str
    server: str = ""
    day: str = ""
    outcome: str = ""
    found: tuple[str, ...] = ()
    lacks: str = ""


class Report(NamedTuple):
    """What is told to the makers of a client about one rule."""

    client: str
    rule: str
    title: str
    text: str


def slug(name: str) -> str:
    """The name of a client as that of a folder."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())


def results() -> list[Played]:
    """What was played."""
    read = tomllib.loads((SPEC / "clients.toml").read_text())["played"]
    return [Played(**{**each, "found": tuple(each.get("found", ()))}) for each in read]


def reports() -> dict[tuple[str, str], Report]:
    """What is told, by client and rule."""
    read = tomllib.loads((SPEC / "upstream.toml").read_text())["report"]
    return {(each["client"], each["rule"]): Report(**each) for each in read}


def trace_of(played: Played) -> Path:
    """Where its trace is, if it has findings."""
    return TRACES / slug(played.client) / f"{played.scenario}.trace"


def judged(path: Path) -> list[Finding]:
    """The findings of a trace."""
    judge = Lint()
    with path.open("rb") as file:
        return [
            found for line, record in Trace(file).records() for found in judge.feed(line, record)
        ]


def page() -> str:
    """The whole page."""
    played = results()
    clients = list(dict.fromkeys(each.client for each in played))
    versions = {each.client: each.version for each in played}
    servers = sorted({f"nats-server {each.server}" for each in played if each.server})
    days = sorted({each.day for each in played if each.day})
    named = ", ".join(f"{client} {versions[client]}" for client in clients)
    text = HEAD.format(
        versions=f"{named}, on {' and '.join(servers)}, {' to '.join(dict.fromkeys((days[0], days[-1])))}"
    )
    text += (
        f"| scenario | what is played | {' | '.join(clients)} |\n"
        + "|---" * (len(clients) + 2)
        + "|\n"
    )
    cells = {(each.client, each.scenario): cell(each) for each in played}
    for name, scenario in SCENARIOS.items():
        row = " | ".join(cells.get((client, name), "") for client in clients)
        text += f"| `{name}` | {scenario.about} | {row} |\n"
    text += "\n## Findings\n"
    known = reports()
    for client, rule in dict.fromkeys(
        (each.client, rule) for each in played for rule in each.found
    ):
        mine = [each for each in played if each.client == client and rule in each.found]
        text += "".join(finding(known[client, rule], versions[client], mine))
    text += "\n## Not played\n\n"
    for each in played:
        if each.lacks:
            text += f"- {each.client}, `{each.scenario}`: {each.lacks}\n"
    return text


def cell(played: Played) -> str:
    """What the table says of it."""
    if played.lacks:
        return "n/a"
    if played.outcome != "done":
        return played.outcome
    return ", ".join(f"`{rule}`" for rule in played.found) or "·"


def finding(report: Report, version: str, played: list[Played]) -> Iterator[str]:
    """One rule that a client breaks: where, how it is seen again, and the text for its makers."""
    rule = next(each for each in RULES if each.name == report.rule)
    yield f"\n### {report.client} {version}: `{rule.name}`\n\n"
    yield f"{rule.clause}. {rule.right}\n\n"
    for each in played:
        first = next(found for found in judged(trace_of(each)) if found.rule == rule.name)
        place = trace_of(each).relative_to(SPEC).as_posix()
        yield f"- [`{each.scenario}`]({place}), line {first.line}: {first.words}.\n"
        yield f"  `python tests/long/foreign.py --client {quoted(each.client)} --scenario {each.scenario}`\n"
    yield f"\n> **{report.title}**\n>\n"
    yield "".join(f"> {line}\n" for line in report.text.strip().splitlines())


def quoted(client: str) -> str:
    """A client's name as a word of a shell."""
    return f'"{client}"' if " " in client else client


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
