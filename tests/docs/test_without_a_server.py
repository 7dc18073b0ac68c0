"""The tests on the page "Test without a server" pass as tests: the page is a project of its own,
run by pytest.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.test_snippets import REPOSITORY, blocks
from tests.projects import run_by_pytest

PAGE = REPOSITORY / "docs" / "test-without-a-server.md"


def test_the_tests_on_the_page_pass(tmp_path: Path) -> None:
    shown = [block.text for block in blocks(PAGE)]
    conftest = next(text for text in shown if text.startswith("pytest_plugins"))
    module = "\n".join(text for text in shown if text != conftest)
    (tmp_path / "conftest.py").write_text(conftest)
    (tmp_path / "test_page.py").write_text(
        re.sub(r"^test_\w+\(\)$", "", module, flags=re.MULTILINE)
    )
    tests = re.findall(r"^(?:async )?def test_\w+", module, flags=re.MULTILINE)

    done = run_by_pytest(tmp_path)

    assert len(tests) >= 7
    assert f"{len(tests)} passed" in done.stdout, done.stdout + done.stderr
