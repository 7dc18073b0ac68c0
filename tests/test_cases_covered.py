"""Each public report that another client's users made, and that speaks of what is built here, is a
test that carries its number.

The numbers are those of two collections of cases. A test says ``b`` and three digits in its name
for the first one, ``n`` and three digits for the second. A case that cannot happen here is listed
with the reason instead.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
NAMED = re.compile(r"(?i)(?<![a-z0-9])([bn][0-9]{3})(?![0-9])")

# fmt: off
FIRST = {
    "pull": (1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 16, 17, 19, 20, 22, 23, 25, 26, 28, 29, 31, 32, 34, 35, 37, 38, 40, 41),
    "fetch": (43, 44, 46, 47, 49, 50, 52, 53, 55, 56, 58, 59, 61, 62, 64),
    "ordered": (65, 67, 68, 70, 71, 73, 74, 76, 77, 79, 80, 82, 83, 85, 86, 88, 89),
    "push": (91, 92, 94, 95, 97, 98),
    "ack": (100, 101, 103, 104, 106, 107, 109, 110),
    "headers": (112, 113, 115, 116, 118, 119, 121, 122),
    "parser": (124, 125, 127, 128, 130, 131, 133, 134, 136, 137, 139),
    "conn": (140, 142, 143, 145, 146, 148, 149, 151, 152, 154, 155, 157, 158, 160, 161, 163),
    "auth": (164, 166, 167, 169, 170, 172),
    "publish": (173, 175, 176, 178, 179, 181, 182, 184, 185, 187, 188, 190),
    "json": (191, 193, 194, 196, 197, 199, 200, 202, 203, 205, 206, 208),
    "drain": (209, 211, 212, 214, 215, 217, 218),
}
SECOND = {
    "conn": (49, 50, 52, 53, 55, 56, 58, 59, 61, 62, 64, 65, 67),
    "publish": (68, 70, 71, 73, 74, 76, 77, 79, 80, 82),
    "consumer": (83, 85, 86, 88, 89, 91, 92, 94),
    "life": (95, 97, 98, 100),
    "spark": (101, 103, 104),
    "ops": (106, 107, 109, 110, 112, 113),
    "json": (115, 116, 118, 119, 121),
}
# fmt: on
#: area -> names of its cases; key-value, object store and services are not built yet.
CASES = {
    f"{letter} {area}": tuple(f"{letter}{number:03d}" for number in numbers)
    for letter, areas in (("b", FIRST), ("n", SECOND))
    for area, numbers in areas.items()
}

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
