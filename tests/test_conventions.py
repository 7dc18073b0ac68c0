"""Conventions that hold in all modules and that no test of a single one would notice."""

from __future__ import annotations

import importlib
import pkgutil
from enum import Enum

import jsproto

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
