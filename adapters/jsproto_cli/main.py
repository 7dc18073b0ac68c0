"""`jsproto`: the command line; it parses arguments and runs one subcommand.

Exit codes: 0 success; 1 a check failed, and the last lines say why; 2 invalid arguments. SIGTERM
ends a command like Ctrl-C, so a server that the command has started is stopped.
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
    """Help that fills paragraphs, but keeps the lines of lists and examples."""

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
    """The argument parser of the command line."""
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
    """Run the command line, and return the exit code."""
    signal.signal(signal.SIGTERM, _terminated)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Text from a peer must be printable in any locale.
            stream.reconfigure(errors="backslashreplace")
    words = parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = words.command
    return command(words)


def _terminated(*_: object) -> NoReturn:
    sys.exit(128 + signal.SIGTERM)
