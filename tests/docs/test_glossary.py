"""The glossary names files that exist, and each class in a row is defined in a file of that row."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "docs" / "glossary.md"
CODE = re.compile(r"`([\w./]+)`")


def rows() -> list[tuple[list[str], list[str]]]:
    """Each row of the tables: its cells, and the files in the last one."""
    found = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        files = [name for name in CODE.findall(cells[-1]) if "/" in name]
        if files:
            found.append((cells, files))
    return found


ROWS = rows()


@pytest.mark.parametrize(("cells", "files"), ROWS, ids=[cells[0] for cells, _ in ROWS])
def test_each_row_names_files_that_define_its_classes(cells, files):
    texts = [(REPOSITORY / name).read_text(encoding="utf-8") for name in files]
    ours = CODE.findall(cells[1]) if len(cells) == 4 else []

    for name in ours:
        pattern = rf"^(?:class|\s*def|\s*async def) {name}\b|^{name}(?::| =)"
        assert any(re.search(pattern, text, re.MULTILINE) for text in texts), name


def test_the_glossary_has_rows():
    assert len(ROWS) > 40
