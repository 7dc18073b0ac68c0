"""Each invariant of the wire, pulls, time, links, acks, documents and lifecycles names tests that
are there.
"""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = tomllib.loads((ROOT / "spec" / "invariants.toml").read_text(encoding="utf-8"))
#: The wire, pull accounting, time, links, acks and publishing, documents, lifecycles; ordered
#: consumers (35 to 41) are tested as machines.
NUMBERS = [*range(1, 35), *range(42, 61)]


@cache
def names_of(file: str) -> frozenset[str]:
    """Tests, and the classes of stateful ones, of a file."""
    body = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
    return frozenset(each.name for each in body if isinstance(each, ast.FunctionDef | ast.ClassDef))


def test_every_invariant_of_these_areas_has_its_row():
    assert list(TABLE) == [str(number) for number in NUMBERS]


@pytest.mark.parametrize("number", TABLE)
def test_an_invariant_is_held_by_tests_that_are_there(number):
    row = TABLE[number]

    assert row["says"]
    assert row["tests"]
    for test in row["tests"]:
        file, _, name = test.partition("::")
        assert name in names_of(file), test
