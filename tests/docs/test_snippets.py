"""Every snippet of the documentation and of the README runs, and prints what the page says that it
prints.

A page is one program: its ``python`` blocks share their names and run in order, against a real
server that stands in for ``nats://127.0.0.1:4222``. A ``text`` block right behind a ``python``
block is the output of that block. A ``conf`` block is the configuration of the server for the
blocks behind it.
"""

from __future__ import annotations

import contextlib
import io
import re
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import pytest
import trustme

from jsproto_io.contexts import VARIABLES
from tests import accounts

REPOSITORY = Path(__file__).resolve().parent.parent.parent
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
WRITTEN_PLACE = "127.0.0.1:4222"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """What a page shows."""

    line: int
    language: str
    text: str
    printed: str | None  # None: not shown


def blocks(page: Path) -> list[Block]:
    """The blocks of a page that do something: ``python`` and ``conf``."""
    text = page.read_text(encoding="utf-8")
    fences = list(FENCE.finditer(text))
    found = []
    for fence, following in zip_longest(fences, fences[1:]):
        if fence[1] not in {"python", "conf"}:
            continue
        printed = None
        if (
            following is not None
            and following[1] == "text"
            and not text[fence.end() : following.start()].strip()
        ):
            printed = following[2]
        found.append(Block(text.count("\n", 0, fence.start()) + 1, fence[1], fence[2], printed))
    return found


#: Pages whose snippets are run where what they need is at hand.
ELSEWHERE = {"spark.md": "tests/spark/test_on_spark.py, where there is a session"}
WITH_SNIPPETS = [
    page
    for page in PAGES
    if page.name not in ELSEWHERE and any(block.language == "python" for block in blocks(page))
]


@pytest.fixture
def prepared(tmp_path, monkeypatch):
    """A folder, which snippets run in, with the files that pages speak of."""
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    certificate.cert_chain_pems[0].write_to_path(tmp_path / "server.pem")
    certificate.private_key_pem.write_to_path(tmp_path / "server-key.pem")
    (tmp_path / "operator.conf").write_text(accounts.server_config())
    (tmp_path / "user.creds").write_text(accounts.creds())
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in {"NATS_CONTEXT", *VARIABLES}:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def configured(text: str, folder: Path) -> str:
    """A ``conf`` block whose files are found from everywhere; an include is relative always, so it
    is put in.
    """
    text = re.sub(r'include "([^"]*)"', lambda found: (folder / found[1]).read_text(), text)
    for path in folder.iterdir():
        text = text.replace(f'"{path.name}"', f'"{path}"')
    return text


@pytest.mark.live
@pytest.mark.parametrize("page", WITH_SNIPPETS, ids=lambda page: page.name)
def test_each_snippet_runs_and_prints_what_the_page_says(page, start_server, prepared):
    check_page(page, start_server, prepared)


def check_page(page: Path, start_server, prepared: Path) -> None:
    """Run the snippets of a page in their order, in one interpreter; the folder holds the files
    that it speaks of.
    """
    server = None
    names: dict[str, object] = {"__name__": page.stem}
    for line, language, source, printed in blocks(page):
        if language == "conf":
            server = start_server(config=configured(source, prepared))
            continue
        server = server or start_server()
        place = f"127.0.0.1:{server.port}"
        heard = io.StringIO()
        code = compile("\n" * line + source.replace(WRITTEN_PLACE, place), str(page), "exec")
        with contextlib.redirect_stdout(heard):
            exec(code, names)
        said = heard.getvalue().replace(place, WRITTEN_PLACE)

        assert printed is None or said == printed, f"{page.name}, line {line}"


def test_the_pages_that_teach_have_snippets():
    assert {
        "README.md",
        "cancellation.md",
        "choose-an-adapter.md",
        "coming-from-nats-py.md",
        "connect.md",
        "first-steps.md",
        "machines.md",
        "operations.md",
        "ordered-consumers.md",
        "publishing.md",
        "pull-consumers.md",
        "push-subscriptions.md",
        "streams-and-consumers.md",
        "test-without-a-server.md",
        "simulated-worlds.md",
        "write-your-own-adapter.md",
    } <= {page.name for page in WITH_SNIPPETS}
