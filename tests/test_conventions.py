"""Conventions that hold in all modules and that no test of a single one would notice."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from enum import Enum
from pathlib import Path
from types import BuiltinMethodType

import pytest

import jsproto
import jsproto_cli
import jsproto_io

WORDS_OF_THE_WIRE = ("jsproto.jetstream.api", "jsproto.testing.simserver")


def enums():
    for found in pkgutil.walk_packages(jsproto.__path__, "jsproto."):
        module = importlib.import_module(found.name)
        for each in vars(module).values():
            if isinstance(each, type) and issubclass(each, Enum) and each.__module__ == found.name:
                yield each


def test_the_members_of_an_enum_are_written_as_they_are_called_unless_the_wire_has_other_words():
    ours = [each for each in enums() if not each.__module__.startswith(WORDS_OF_THE_WIRE)]

    assert len(ours) > 20
    for each in ours:
        written = {name: member.value for name, member in each.__members__.items()}
        assert {name: name for name in written} == written


def patterns():
    """Every pattern that a module keeps, by itself or as one of its methods."""
    for package in (jsproto, jsproto_io, jsproto_cli):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for name, each in vars(importlib.import_module(found.name)).items():
                pattern = each.__self__ if isinstance(each, BuiltinMethodType) else each
                if isinstance(pattern, re.Pattern):
                    yield f"{found.name}.{name}", pattern


def operations(parsed):
    """The operations of a parsed pattern, however deep."""
    for operation, argument in parsed:
        yield str(operation)
        parts = [argument]
        while parts:
            part = parts.pop()
            if isinstance(part, re._parser.SubPattern):
                yield from operations(part)
            elif isinstance(part, (tuple, list)):
                parts.extend(part)


def test_patterns_mean_the_same_to_every_interpreter():
    """Possessive repeats and atomic groups that hold other repeats match what they must not before
    CPython 3.11.5, and do not
    match what they must in PyPy's 3.11."""
    found = dict(patterns())

    assert len(found) > 30
    for where, pattern in found.items():
        assert not {"POSSESSIVE_REPEAT", "ATOMIC_GROUP"} & set(
            operations(re._parser.parse(pattern.pattern))
        ), where


@pytest.mark.parametrize("pattern", ["(?:a++b)*", "a*+", "(?=(?>ab))"])
def test_what_they_must_not_hold_is_seen_where_it_is(pattern):
    assert {"POSSESSIVE_REPEAT", "ATOMIC_GROUP"} & set(operations(re._parser.parse(pattern)))


def test_no_class_of_the_library_has_the_name_of_another_one():
    places: dict[str, list[str]] = {}
    for path in sorted(Path(jsproto.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(f"{path.name}:{node.lineno}")

    assert {name: found for name, found in places.items() if len(found) > 1} == {}
