"""Every snippet of the documentation and of the README runs, and prints what the page says that it prints.

A page is one program: its ``python`` blocks share their names and run in order, against a real server that stands in
for ``nats://127.0.0.1:4222``. A ``text`` block right behind a ``python`` block is the output of that block.
"""

from __future__ import annotations

import contextlib
import io
import re
from itertools import zip_longest
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent.parent
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
WRITTEN_URL = "nats://127.0.0.1:4222"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def snippets(page: Path) -> list[tuple[int, str, str | None]]:
    """Line, source and expected output (``None``: not shown) of each python block."""
    text = page.read_text(encoding="utf-8")
    blocks = list(FENCE.finditer(text))
    found = []
    for block, following in zip_longest(blocks, blocks[1:]):
        if block[1] != "python":
            continue
        shown = None
        if (
            following is not None
            and following[1] == "text"
            and not text[block.end() : following.start()].strip()
        ):
            shown = following[2]
        found.append((text.count("\n", 0, block.start()) + 1, block[2], shown))
    return found


WITH_SNIPPETS = [page for page in PAGES if snippets(page)]


@pytest.mark.live
@pytest.mark.parametrize("page", WITH_SNIPPETS, ids=lambda page: page.name)
def test_each_snippet_runs_and_prints_what_the_page_says(page, start_server):
    server = start_server()
    names: dict[str, object] = {"__name__": page.stem}
    for line, source, shown in snippets(page):
        heard = io.StringIO()
        code = compile("\n" * line + source.replace(WRITTEN_URL, server.url), str(page), "exec")
        with contextlib.redirect_stdout(heard):
            exec(code, names)
        said = heard.getvalue().replace(server.url, WRITTEN_URL)

        assert shown is None or said == shown, f"{page.name}, line {line}"


def test_the_pages_that_teach_have_snippets():
    assert {
        "README.md",
        "first-steps.md",
        "machines.md",
        "ordered-consumers.md",
        "pull-consumers.md",
        "push-subscriptions.md",
        "streams-and-consumers.md",
    } <= {page.name for page in WITH_SNIPPETS}
