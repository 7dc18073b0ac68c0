"""Notes for the changelog: each file in ``changes/`` has a name and a text that towncrier takes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
FOLDER = REPOSITORY / "changes"
SETTINGS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "towncrier"
]
TYPES = [each["directory"] for each in SETTINGS["type"]]
NAME = re.compile(rf"(?:\+[a-z0-9-]+|[1-9][0-9]*)\.(?:{'|'.join(TYPES)})\.md")
#: A note is for users: a few sentences.
MOST_WORDS = 80


def faults_of(name: str, text: str) -> list[str]:
    """What is wrong with a note."""
    found = []
    if not NAME.fullmatch(name):
        found.append(f"expected a name like +words.added.md or 12.fixed.md, got {name!r}")
    if not text.strip():
        found.append("expected a text, got nothing")
    elif not text.strip().endswith("."):
        found.append("expected whole sentences, got no full stop at the end")
    if len(text.split()) > MOST_WORDS:
        found.append(f"expected at most {MOST_WORDS} words, got {len(text.split())}")
    return found


@pytest.mark.parametrize(
    "path", [path for path in sorted(FOLDER.iterdir()) if path.name != "README.md"] or [None]
)
def test_each_note_has_a_valid_name_and_a_short_text(path):
    if path is not None:
        assert faults_of(path.name, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("+jitter-option.added.md", "`connect` takes `reconnect_jitter`.\n", 0),
        ("12.fixed.md", "The client answers PINGs in time.\n", 0),
        ("jitter.added.md", "A name needs a plus sign or a number.\n", 1),
        ("+jitter.feature.md", "This type does not exist.\n", 1),
        ("+jitter.added.rst", "Notes are Markdown.\n", 1),
        ("+jitter.added.md", "\n", 1),
        ("+jitter.added.md", "no full stop\n", 1),
        ("+jitter.added.md", "word " * 80 + "word.", 1),
    ],
)
def test_a_wrong_name_or_text_is_found(name, text, count):
    assert len(faults_of(name, text)) == count


def test_the_folder_of_notes_explains_each_type():
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")

    assert [each for each in TYPES if f"| `{each}` |" not in readme] == []


def test_the_changelog_has_the_line_below_which_towncrier_writes():
    changelog = (REPOSITORY / SETTINGS["filename"]).read_text(encoding="utf-8")

    assert changelog.count(SETTINGS["start_string"]) == 1
