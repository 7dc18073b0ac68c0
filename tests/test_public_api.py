"""The public API is `jsproto.__all__`: sorted, importable, documented, and cheap to load."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import jsproto

PUBLIC = list(getattr(jsproto, "__all__", ()))
SOURCE = Path(jsproto.__file__)

# What `import jsproto` may load of the standard library beyond what attrs loads anyway; each with
# its reason.
STANDARD = {
    "base64": "the server carries header blocks of stored messages in base64",
    "binascii": "what base64 stands on",
    "bisect": "where a range ends within a run of messages",
    "blake2": "what hashlib stands on",
    "datetime": "durations and timestamps of configurations",
    "difflib": "errors name the nearest right word",
    "hashlib": "names that are made of an inbox and must not give it away",
    "heapq": "the agenda",
    "ipaddress": "what urllib.parse stands on",
    "json": "INFO, CONNECT and the API are JSON",
    "math": "infinity and rounding of times",
    "struct": "what base64 stands on",
    "urllib": "urllib.parse reads the addresses of servers",
}
#: Of our own it loads these and nothing above them: no driver, no model server, no trace, no
#: adapter.
OURS = {"jsproto", "core", "errors", "jetstream", "ops", "signals", "version", "wire"}
NEVER = {
    "asyncio",
    "socket",
    "ssl",
    "select",
    "selectors",
    "threading",
    "random",
    "secrets",
    "logging",
    "uuid",
}


def _kind_then_name(name: str) -> tuple[int, str]:
    kind = 0 if name.isupper() else 1 if name[0].isupper() else 2
    return kind, name


def test_the_package_says_what_is_public():
    assert PUBLIC != []
    assert len(set(PUBLIC)) == len(PUBLIC)


def test_public_names_are_sorted_constants_classes_functions():
    assert sorted(PUBLIC, key=_kind_then_name) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_each_public_name_is_there_and_documented(name):
    thing = getattr(jsproto, name)

    if inspect.isclass(thing) or inspect.isroutine(thing):
        assert inspect.getdoc(thing)


def test_the_front_door_defines_nothing_of_its_own():
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"))
    defined = [node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))]

    assert defined == []


def test_what_import_loads_is_ours_or_has_a_reason():
    code = (
        "import sys, attrs\n"
        "before = set(sys.modules)\n"
        "import jsproto\n"
        "print(*sorted(set(sys.modules) - before))\n"
    )
    # Coverage would load half of the standard library first and so hide what we load.
    quiet = {key: value for key, value in os.environ.items() if not key.startswith("COVERAGE_")}
    command = [sys.executable, "-c", code]
    shown = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        env=quiet,
        cwd=SOURCE.parent.parent,
        timeout=60,
    ).stdout.split()
    ours = {
        name.removeprefix("jsproto.").split(".")[0] for name in shown if name.startswith("jsproto")
    }
    foreign = {name for name in shown if name.split(".")[0] != "jsproto"}
    packages = {name.split(".")[0].lstrip("_") for name in foreign}

    assert ours == OURS
    assert packages & NEVER == set()
    assert packages - set(STANDARD) == set()
