"""Each case in ``spec/cases.toml`` has a test with the case's number in its name.

The cases are faults that users of other clients reported. A number is ``b`` or ``n`` and three
digits. A case that cannot happen here is listed with the reason instead.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
NAMED = re.compile(r"(?i)(?<![a-z0-9])([bn][0-9]{3})(?![0-9])")

TABLE = tomllib.loads((TESTS.parent / "spec" / "cases.toml").read_text(encoding="utf-8"))
#: area -> numbers of its cases.
CASES: dict[str, list[str]] = {}
for _number, _case in TABLE.items():
    CASES.setdefault(f"{_number[0]} {_case['area']}", []).append(_number)

#: Cases that no test can show, each with the reason; none so far.
CANNOT_HAPPEN: dict[str, str] = {}


@cache
def _named() -> dict[str, set[str]]:
    """Test names by the numbers in them."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith(
                "test_"
            ):
                for number in NAMED.findall(node.name.replace("_", " ")):
                    found[number.lower()].add(f"{path.name}::{node.name}")
    return found


@pytest.mark.parametrize("area", CASES)
def test_each_case_of_an_area_is_a_test_with_its_number(area):
    named = _named()

    assert [
        number for number in CASES[area] if number not in named and number not in CANNOT_HAPPEN
    ] == []


def test_a_case_is_in_one_area_and_either_tested_or_excused():
    numbers = [number for cases in CASES.values() for number in cases]

    assert len(numbers) == len(set(numbers))
    assert not set(CANNOT_HAPPEN) & set(_named())
    assert set(CANNOT_HAPPEN) <= set(numbers)


@pytest.mark.parametrize("number", TABLE)
def test_a_case_says_the_fault_and_what_is_right(number):
    case = TABLE[number]

    assert set(case) == {"area", "fault", "right"}
    assert NAMED.fullmatch(number)
    assert case["fault"].endswith(".")
    assert case["right"].endswith(".")
