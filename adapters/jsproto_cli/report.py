"""`jsproto report`: print an account's streams, consumers, replication or cluster.

Exit codes: 0 no problems; 1 there is a problem, such as a group without a leader or a mirror with
an error. The report ends with the problems.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from jsproto.ops.reports import REPORTS, replication_dot
from jsproto_cli.link import add_link, linked, told

if TYPE_CHECKING:
    import argparse


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand ``report`` to the command line."""
    words = commands.add_parser(
        "report", help="streams, consumers and replication of an account", description=__doc__
    )
    words.add_argument("report", choices=list(REPORTS), help="which report")
    form = words.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object")
    form.add_argument(
        "--dot", action="store_true", help="print the replication as a graph for Graphviz"
    )
    add_link(words)
    words.set_defaults(command=run)


def run(words: argparse.Namespace) -> int:
    """Run ``report``; 0 if there are no problems."""
    return told(lambda: _reported(words))


def _reported(words: argparse.Namespace) -> int:
    with linked(words) as nc:
        js = nc.jetstream()
        inventory = js.inventory(
            consumers=words.report in {"consumers", "cluster"}, timeout=words.timeout
        )
    report = REPORTS[words.report](inventory)
    if words.json:
        print(json.dumps(report.as_json()))
    elif words.dot:
        print(replication_dot(report), end="")
    else:
        print(report.as_text(), end="")
    return int(bool(report.problems))
