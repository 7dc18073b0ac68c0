"""`jsproto backup` and `jsproto restore`: streams with their consumers and messages, in a folder
and back.

The folder is one that the ``nats`` tool reads (``nats account restore FOLDER/streams``), and what
that has written is restored here. On a terminal with `rich` installed (extra ``cli``) there is a
progress bar, else, or with ``--no-progress``, there are lines.

Exit codes: 0 all is saved, or restored as it was; 1 it is not, and the last lines say what; 130 it
was interrupted.
"""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsproto.ops.tables import count_of, size_of, text_of
from jsproto_cli.link import add_link, linked, told
from jsproto_io.backup import Phase, Progress, back_up, restore

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Generator

    from jsproto_io._backup.progress import Tell


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Give the command line its subcommands ``backup`` and ``restore``."""
    save = commands.add_parser("backup", help="save streams in a folder", description=__doc__)
    save.add_argument("folder", type=Path, metavar="FOLDER", help="a new or an empty one")
    save.add_argument(
        "--check", action="store_true", help="let the server check what it stores first"
    )
    _common(save)
    save.set_defaults(command=run_backup)

    back = commands.add_parser(
        "restore", help="put streams back out of a folder", description=__doc__
    )
    back.add_argument(
        "folder", type=Path, metavar="FOLDER", help="of a backup, or of one of its streams"
    )
    back.add_argument(
        "--update",
        action="store_true",
        help="bring streams that are there up to date with what was saved",
    )
    back.add_argument(
        "--replicas",
        type=int,
        metavar="N",
        help="so many replicas of each stream instead of what was saved",
    )
    _common(back)
    back.set_defaults(command=run_restore)


def _common(words: argparse.ArgumentParser) -> None:
    words.add_argument(
        "--stream",
        action="append",
        metavar="NAME",
        help="only this one; may be said more than once",
    )
    words.add_argument(
        "--no-data", action="store_true", help="configurations only, without messages"
    )
    words.add_argument("--no-progress", action="store_true", help="lines instead of a progress bar")
    words.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    add_link(words)


def run_backup(words: argparse.Namespace) -> int:
    """Save; 0 if all is saved."""
    return _unbroken(lambda: _backup(words), f"the backup in {words.folder} is not complete")


def run_restore(words: argparse.Namespace) -> int:
    """Restore; 0 if all is as it was."""
    return _unbroken(
        lambda: _restore(words), "what was being restored is not there, or only a part of it"
    )


def _unbroken(command: Callable[[], int], words: str) -> int:
    try:
        return told(command)
    except (KeyboardInterrupt, SystemExit):
        print(f"interrupted: {words}", file=sys.stderr)
        return 130


def _backup(words: argparse.Namespace) -> int:
    with linked(words) as nc, shown(bar=not words.no_progress) as tell:
        manifest = back_up(
            nc,
            words.folder,
            streams=words.stream,
            data=not words.no_data,
            check=words.check,
            tell=tell,
        )
    if words.json:
        print(json.dumps({"backup": str(words.folder), **manifest.to_wire()}))
        return 0
    size = sum(each.size for each in manifest.streams)
    messages = sum(each.messages for each in manifest.streams)
    print(
        f"{len(manifest.streams)} streams, {count_of(messages)} messages, {size_of(size)} in {words.folder}"
    )
    for each in manifest.streams:
        if each.note:
            print(text_of(f"{each.name}: {each.note}"))
    return 0


def _restore(words: argparse.Namespace) -> int:
    with linked(words) as nc, shown(bar=not words.no_progress) as tell:
        done = restore(
            nc,
            words.folder,
            streams=words.stream,
            data=not words.no_data,
            update=words.update,
            replicas=words.replicas,
            tell=tell,
        )
    if words.json:
        rows = [
            {"stream": each.stream, "deed": each.deed.value, "consumers": list(each.consumers)}
            for each in done
        ]
        print(json.dumps({"restore": str(words.folder), "streams": rows}))
        return 0
    print(f"{len(done)} streams out of {words.folder}")
    return 0


# ------------------------------------------------------------------------------------------------ progress


@contextmanager
def shown(*, bar: bool) -> Generator[Tell]:
    """Where progress goes: a bar on a terminal that can have one, else lines; both to stderr."""
    if not (bar and sys.stderr.isatty() and find_spec("rich") is not None):
        yield _line
        return
    rich: Any = import_module("rich.progress")
    console: Any = import_module("rich.console")
    columns = (
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        rich.DownloadColumn(binary_units=True),
        rich.TransferSpeedColumn(),
        rich.TextColumn("{task.fields[words]}", markup=False),
    )
    with rich.Progress(*columns, console=console.Console(stderr=True)) as progress:
        yield _Bars(progress)


def _line(progress: Progress) -> None:
    """One line where something begins or ends."""
    if progress.phase is Phase.DATA:
        return
    number = f"[{progress.number}/{progress.of}]"
    size = (
        f" {size_of(progress.bytes)}"
        if progress.bytes and progress.phase is not Phase.BEGUN
        else ""
    )
    words = f": {progress.words}" if progress.words else ""
    line = f"{number} {progress.deed} {progress.stream} {progress.phase.value.lower()}{size}{words}"
    print(text_of(line), file=sys.stderr, flush=True)


class _Bars:
    """One bar for each stream and deed."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._task: Any = None

    def __call__(self, told: Progress) -> None:
        if told.phase is Phase.BEGUN:
            title = text_of(f"[{told.number}/{told.of}] {told.deed} {told.stream}")
            self._task = self._progress.add_task(title, total=told.total or None, words="")
            return
        # What a stream takes on the server is only near to what its archive has.
        whole = {"total": max(told.bytes, 1)} if told.phase is Phase.DONE else {}
        seen = whole["total"] if whole else told.bytes
        words = (
            text_of(told.words or told.phase.value.lower()) if told.phase is not Phase.DATA else ""
        )
        self._progress.update(self._task, completed=seen, words=words, **whole)
