"""The rooms of the house: each package is one subject, small enough to be seen at a glance, and no
imports go in a circle.

A room is a package. Modules that lie directly in a distribution's root package (``jsproto.driver``,
``jsproto_io.asyncio``) count as rooms of their own: some are the lowest floor, others the highest.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from tests.test_floors import MODULES, NAMES, imports, parse

LARGEST = 16
PATHS = dict(MODULES)
PACKAGES = {name for name, path in MODULES if path.name == "__init__.py"}


def room(module: str) -> str:
    """The package that a module lies in; itself, if it is a package or lies in a root."""
    parent = module.rpartition(".")[0]
    return module if module in PACKAGES or ("." not in parent and parent in PACKAGES) else parent


def arrows() -> dict[str, set[str]]:
    """Which rooms each room imports from, type-only imports included. What a package shows of its
    own rooms is no arrow.
    """
    found: dict[str, set[str]] = defaultdict(set)
    for module, path in MODULES:
        if path.name != "__init__.py":
            targets = {room(name) for name in imports(parse(path)) if name in NAMES}
            found[room(module)] |= targets - {room(module)}
    return found


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Rooms that import each other, however far round; empty if there are none."""
    left = {name: set(targets) for name, targets in graph.items()}
    while left:
        ends = [name for name, targets in left.items() if not targets & left.keys()]
        if not ends:
            return sorted(left)
        for name in ends:
            del left[name]
    return []


def test_no_room_imports_itself_by_way_of_others():
    assert circle(arrows()) == []


def test_a_circle_would_be_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == ["a", "b", "c", "d"]
    assert circle({"a": {"b"}, "b": {"c"}, "c": set()}) == []


def test_no_room_is_too_large_to_be_seen_at_a_glance():
    sizes = Counter(str(path.parent) for _, path in MODULES if path.name != "__init__.py")

    assert {where: size for where, size in sizes.items() if size > LARGEST} == {}


@pytest.mark.parametrize("name", sorted(PACKAGES))
def test_each_room_says_what_it_is_for(name):
    said = ast.get_docstring(parse(PATHS[name]))

    assert said
    assert len(said.splitlines()[0]) > 10


def test_no_room_is_empty():
    full = {str(path.parent) for _, path in MODULES if path.name != "__init__.py"}
    holders = {str(parent) for where in full for parent in [Path(where), *Path(where).parents]}

    assert {
        name for name in PACKAGES if "." in name and str(PATHS[name].parent) not in holders
    } == set()
