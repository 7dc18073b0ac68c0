"""What a page shows passes the type checkers of its reader: mypy --strict, and pyright.

Each ``python`` block becomes a module of its own. What an earlier block of the page has bound, and
this one uses, is imported from there, so two blocks may each have a ``main``. Lines have the
numbers that they have on the page.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_snippets import PAGES, REPOSITORY, blocks

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
BINDS_A_NAME = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def bound_by(tree: ast.Module) -> dict[str, str]:
    """Names that a block has at its top level, each with the statement by which another module gets
    it; empty: from here.
    """
    names: dict[str, str] = {}
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for each in node.names:
                name = (each.asname or each.name).partition(".")[0]
                names[name] = "; ".join(filter(None, [names.get(name), ast.unparse(node)]))
        elif isinstance(node, BINDS_A_NAME):
            names[node.name] = ""
        elif not isinstance(node, (ast.Lambda, *COMPREHENSIONS)):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.setdefault(node.id, "")
            waiting[:0] = ast.iter_child_nodes(node)
    return names


def used_by(tree: ast.Module) -> set[str]:
    """Every name that a block reads somewhere."""
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def modules_of(page: Path, folder: Path) -> None:
    """Write the blocks of a page as modules."""
    stem = page.stem.replace("-", "_").lower()
    known: dict[str, str] = {}
    for block in blocks(page):
        if block.language != "python":
            continue
        name = f"{stem}_{block.line}"
        tree = ast.parse(block.text)
        own = bound_by(tree)
        wanted = sorted({known[each] for each in (used_by(tree) - own.keys()) & known.keys()})
        lines = ["; ".join(wanted), *[""] * (block.line - 1), block.text]
        (folder / f"{name}.py").write_text("\n".join(lines), encoding="utf-8")
        for each, how in own.items():
            before = known.get(each, "")
            plain = how.startswith("import ") and before.startswith(
                "import "
            )  # of one package, each a module
            known[each] = f"{before}; {how}" if plain else how or f"from {name} import {each}"


@pytest.fixture(scope="module")
def snippets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for page in PAGES:
        modules_of(page, folder)
    return folder


def paths() -> list[str]:
    """Where our packages are."""
    return [str(REPOSITORY), str(REPOSITORY / "adapters"), str(REPOSITORY / "typings")]


def by_mypy(folder: Path, *files: Path) -> list[str]:
    """What mypy --strict says of these files."""
    config = folder / "mypy.ini"
    config.write_text("[mypy]\nstrict = true\npython_version = 3.11\n", encoding="utf-8")
    cache = REPOSITORY / ".mypy_cache" / "pages"
    command = ["-m", "mypy", "--config-file", config, "--cache-dir", cache, "--no-error-summary"]
    checked = subprocess.run(
        [sys.executable, *command, *files],
        cwd=folder,
        env={"MYPYPATH": os.pathsep.join(paths())},
        capture_output=True,
        text=True,
        check=False,
    )
    return (checked.stdout + checked.stderr).splitlines()


def by_pyright(folder: Path) -> list[str]:
    """What pyright says of all files of a folder."""
    config = {
        "include": ["."],
        "extraPaths": paths(),
        "typeCheckingMode": "standard",
        "pythonVersion": "3.11",
    }
    place = folder / "pyrightconfig.json"
    place.write_text(json.dumps(config), encoding="utf-8")
    command = ["-m", "basedpyright", "--pythonpath", sys.executable, "--outputjson", "-p", place]
    checked = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, check=False
    )
    found = json.loads(checked.stdout)["generalDiagnostics"]
    return [
        f"{Path(each['file']).name}:{each['range']['start']['line'] + 1}: {each['message']}"
        for each in found
    ]


def test_the_snippets_pass_mypy_strict(snippets):
    assert [] == by_mypy(snippets, *sorted(snippets.glob("*.py")))


def test_the_snippets_pass_pyright(snippets):
    assert [] == by_pyright(snippets)


#: What users write beside the pages; lines that end in ``# wrong`` are refused by both checkers,
#: all others are not.
PROGRAM = """

from datetime import timedelta

from jsproto import Consume, JsMessage, Message, PublishResult, PublishWindow
from jsproto.ops import consumer_report, stream_report
from jsproto_io import asyncio, blocking
from jsproto_io.asyncio import AsyncConsumer, AsyncMessage, Feed, Sink


async def work(messages: Feed[AsyncMessage]) -> None:
    async for msg in messages:
        await msg.ack()
    print(messages.feed.ended)


async def fill(window: Sink[PublishResult]) -> None:
    await window.put(("a", b"1"))


async def prices(messages: Feed[Message]) -> int:
    return len([msg.payload async for msg in messages])


async def main(consumer: AsyncConsumer) -> None:
    async with asyncio.connect() as nc:
        js = nc.jetstream()
        async with consumer.consume() as messages:
            await work(messages)
            feed: Consume[JsMessage] = messages.feed
            print(feed.ledger.counts)
        async with js.publish_window() as window:
            await fill(window)
            sink: PublishWindow = window.window
            await window.put(("a", b"1", None))
            await window.put(17)  # wrong
            print(sink.counts)
        async with nc.subscribe("prices.*") as core:
            await prices(core)
            core.feed.no_such_thing  # wrong
        async with nc.request_many("who", stall=timedelta(seconds=1)) as answers:
            print(answers.feed.end_of)
        await js.publish("a", b"1", timeout=timedelta(seconds=5))
        await js.publish("a", b"1", timeout="5")  # wrong


def report() -> None:
    with blocking.connect() as nc:
        inventory = nc.jetstream().inventory()
    for stream in stream_report(inventory).rows:
        print(stream.stream, stream.consumers)
    for consumer in consumer_report(inventory).rows:
        print(consumer.consumer, consumer.ack_wait)
        print(consumer.streams_led)  # wrong
"""


@pytest.fixture
def program(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM, encoding="utf-8")
    return file


def wrong_lines() -> set[int]:
    return {
        number for number, line in enumerate(PROGRAM.split("\n"), 1) if line.endswith("# wrong")
    }


def test_programs_of_users_pass_mypy_and_wrong_calls_do_not(program, tmp_path):
    said = by_mypy(tmp_path, program)

    assert wrong_lines() == {int(line.split(":")[1]) for line in said if ": error:" in line}, said


def test_programs_of_users_pass_pyright_and_wrong_calls_do_not(program, tmp_path):
    said = by_pyright(tmp_path)

    assert wrong_lines() == {int(line.split(":")[1]) for line in said}, said
