"""`jsproto backup` and `jsproto restore`: save streams in a folder, and restore them.

A backup contains configurations, consumers and messages. The ``nats`` tool can read the folder
(``nats account restore FOLDER/streams``), and `jsproto restore` can read a folder that it has
written. On a terminal with `rich` installed (extra ``cli``) the command shows a progress bar.
Otherwise, or with ``--no-progress``, it prints lines.

Exit codes: 0 all is saved, or restored as it was; 1 something is missing, and the last lines say
what; 130 the command was interrupted.
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
    """Add the subcommands ``backup`` and ``restore`` to the command line."""
    save = commands.add_parser("backup", help="save streams in a folder", description=__doc__)
    save.add_argument("folder", type=Path, metavar="FOLDER", help="a new or empty folder")
    save.add_argument(
        "--check", action="store_true", help="let the server check the stored data first"
    )
    _common(save)
    save.set_defaults(command=run_backup)

    back = commands.add_parser("restore", help="restore streams from a folder", description=__doc__)
    back.add_argument(
        "folder", type=Path, metavar="FOLDER", help="the folder of a backup, or of one stream in it"
    )
    back.add_argument(
        "--update",
        action="store_true",
        help="update existing streams to the saved state",
    )
    back.add_argument(
        "--replicas",
        type=int,
        metavar="N",
        help="number of replicas of each stream, instead of the saved one",
    )
    _common(back)
    back.set_defaults(command=run_restore)


def _common(words: argparse.ArgumentParser) -> None:
    words.add_argument(
        "--stream",
        action="append",
        metavar="NAME",
        help="only this stream; may be repeated",
    )
    words.add_argument("--no-data", action="store_true", help="only configurations, no messages")
    words.add_argument("--no-progress", action="store_true", help="print lines, no progress bar")
    words.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    add_link(words)


def run_backup(words: argparse.Namespace) -> int:
    """Run ``backup``; 0 if all is saved."""
    return _unbroken(lambda: _backup(words), f"the backup in {words.folder} is not complete")


def run_restore(words: argparse.Namespace) -> int:
    """Run ``restore``; 0 if all is restored as it was."""
    return _unbroken(lambda: _restore(words), "the streams are not restored, or only in part")


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
        f"{len(manifest.streams)} streams, {count_of(messages)} messages, {size_of(size)} "
        f"in {words.folder}"
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
    print(f"{len(done)} streams from {words.folder}")
    return 0


# ------------------------------------------------------------------ progress


@contextmanager
def shown(*, bar: bool) -> Generator[Tell]:
    """The progress display on stderr: a bar on a terminal with ``rich``, else lines."""
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
    """Print one line when a phase begins or ends."""
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
    """One progress bar for each stream and action."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._task: Any = None

    def __call__(self, told: Progress) -> None:
        if told.phase is Phase.BEGUN:
            title = text_of(f"[{told.number}/{told.of}] {told.deed} {told.stream}")
            self._task = self._progress.add_task(title, total=told.total or None, words="")
            return
        # The size of a stream on the server is only about that of its archive.
        whole = {"total": max(told.bytes, 1)} if told.phase is Phase.DONE else {}
        seen = whole["total"] if whole else told.bytes
        words = (
            text_of(told.words or told.phase.value.lower()) if told.phase is not Phase.DATA else ""
        )
        self._progress.update(self._task, completed=seen, words=words, **whole)
