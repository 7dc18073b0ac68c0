"""`jsproto`: the door to the command line. It parses words, calls one subcommand, and gives back
its exit code.

Exit codes: 0 all is as it must be; 1 something differs, and the last lines say what; 2 the words
were wrong. SIGTERM ends a command like Ctrl-C does, so that a server which was started is stopped.
"""

from __future__ import annotations

import argparse
import io
import re
import signal
import sys
import textwrap
from typing import TYPE_CHECKING, NoReturn

import jsproto
from jsproto_cli import backups, events, record, report, simulate, traces, view
from jsproto_cli.demo import command as demo

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class _Help(argparse.HelpFormatter):
    """Help in which a paragraph stays one, and a list or an example keeps its lines."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = [each.strip("\n") for each in re.split(r"\n\s*\n", text.strip())]
        return "\n\n".join(
            textwrap.indent(each, indent)
            if re.search(r"^(?:\s|[-*] )", each, re.MULTILINE)
            else textwrap.fill(
                " ".join(each.split()), width, initial_indent=indent, subsequent_indent=indent
            )
            for each in paragraphs
        )


def parser() -> argparse.ArgumentParser:
    """The grammar of the command line."""
    root = argparse.ArgumentParser(
        prog="jsproto", description="NATS JetStream as pure protocol state machines."
    )
    root.add_argument("--version", action="version", version=f"jsproto {jsproto.__version__}")
    commands = root.add_subparsers(title="commands", metavar="COMMAND", required=True)
    demo.add_to(commands)
    record.add_to(commands)
    traces.add_to(commands)
    view.add_to(commands)
    report.add_to(commands)
    events.add_to(commands)
    backups.add_to(commands)
    simulate.add_to(commands)
    for each in commands.choices.values():
        each.formatter_class = _Help
    return root


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; gives the exit code."""
    signal.signal(signal.SIGTERM, _terminated)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(
                errors="backslashreplace"
            )  # whatever a peer says can be shown, in any locale
    words = parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = words.command
    return command(words)


def _terminated(*_: object) -> NoReturn:
    sys.exit(128 + signal.SIGTERM)
