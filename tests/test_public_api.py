"""The public API is `spec/public_names.toml`: each name has one place, is documented, and is loaded
when a program asks for it.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import jsproto
from jsproto.errors import JsprotoError
from jsproto.lazy import lazy_names
from tests.tools.front_door import main, order, public_names

LISTED = public_names()
SOURCE = Path(jsproto.__file__)
#: Each public name as (package, name).
EACH = [(package, name) for package, names in LISTED.items() for name in names]

#: Of our own ``import jsproto`` loads these and nothing above them; and of the standard library
#: nothing but what every Python program has loaded.
OURS = {"jsproto", "lazy", "version"}
#: What a session loads beyond what attrs loads anyway; each with its reason.
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


def test_the_packages_are_as_the_list_has_them():
    assert main(["--check"]) == 0


@pytest.mark.parametrize("package", LISTED)
def test_a_package_shows_what_is_listed_sorted(package):
    shown = importlib.import_module(package).__all__

    assert sorted(shown, key=order) == shown
    assert set(LISTED[package]) <= set(shown)


def test_the_front_door_has_about_70_names():
    assert 60 <= len(LISTED["jsproto"]) <= 80


def test_each_public_name_has_one_place():
    places: dict[str, list[str]] = {}
    for package, name in EACH:
        places.setdefault(name, []).append(package)
    several = {name: found for name, found in places.items() if len(found) > 1}

    assert {tuple(found) for found in several.values()} == {("jsproto", "jsproto.errors")}


def test_the_errors_are_all_errors():
    for path in sorted(SOURCE.parent.rglob("*.py")):
        inner = path.relative_to(SOURCE.parent.parent).with_suffix("").parts
        if inner[1] != "testing":
            importlib.import_module(".".join(inner))
    kinds = [JsprotoError]
    for kind in kinds:
        kinds += [each for each in kind.__subclasses__() if each not in kinds]
    ours = {
        each.__name__
        for each in kinds
        if each.__module__.startswith("jsproto.") and ".testing." not in each.__module__
    }

    assert {name for name in ours if not name.startswith("_")} == set(LISTED["jsproto.errors"])


@pytest.mark.parametrize(("package", "name"), EACH)
def test_each_public_name_is_there_and_documented(package, name):
    thing = getattr(importlib.import_module(package), name)
    home = importlib.import_module(LISTED[package][name])

    assert thing is getattr(home, name)
    if inspect.isclass(thing) or inspect.isroutine(thing):
        assert thing.__module__ == home.__name__
        assert inspect.getdoc(thing)


@pytest.mark.parametrize("package", LISTED)
def test_a_package_lists_its_names_and_knows_no_other_one(package):
    module = importlib.import_module(package)

    assert set(LISTED[package]) <= set(dir(module))
    with pytest.raises(AttributeError, match=f"^module '{package}' has no attribute 'nothing'$"):
        getattr(module, "nothing")  # noqa: B009 - it is asked for by name


def test_a_lazy_name_is_found_once_and_kept(monkeypatch):
    monkeypatch.delitem(vars(jsproto), "Headers", raising=False)
    find, names = lazy_names("jsproto", {"Headers": "jsproto.wire.headers", "api": "jsproto.api"})

    found = find("Headers")

    assert found is jsproto.wire.headers.Headers
    assert vars(jsproto)["Headers"] is found
    assert find("api") is sys.modules["jsproto.api"]
    assert {"Headers", "api", "__all__"} <= set(names())


@pytest.mark.parametrize("package", LISTED)
def test_a_package_defines_nothing_of_its_own(package):
    tree = ast.parse(Path(importlib.import_module(package).__file__).read_text(encoding="utf-8"))
    defined = [node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))]

    assert defined == []


def loaded_by(*statements: str) -> set[str]:
    """The modules that a fresh interpreter loads for these statements, beyond those of attrs."""
    code = "\n".join(
        (
            "import sys, attrs",
            "before = set(sys.modules)",
            *statements,
            "print(*sorted(set(sys.modules) - before))",
        )
    )
    # Coverage would load half of the standard library first and so hide what we load.
    quiet = {key: value for key, value in os.environ.items() if not key.startswith("COVERAGE_")}
    shown = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=quiet,
        cwd=SOURCE.parent.parent,
        timeout=60,
    ).stdout
    return set(shown.split())


def test_import_loads_next_to_nothing():
    shown = loaded_by("import jsproto")

    assert {name.removeprefix("jsproto.") for name in shown if name.startswith("jsproto")} == OURS
    assert {name for name in shown if not name.startswith("jsproto")} <= {"importlib", "__future__"}


def test_what_the_machines_load_is_ours_or_has_a_reason():
    shown = loaded_by("from jsproto import *", "from jsproto.api import *")
    foreign = {name for name in shown if name.split(".")[0] != "jsproto"}
    packages = {name.split(".")[0].lstrip("_") for name in foreign}

    assert packages & NEVER == set()
    assert packages - set(STANDARD) == set()


@pytest.mark.parametrize("adapter", ["asyncio", "blocking"])
def test_an_adapter_loads_no_tool_and_no_jetstream_before_it_is_asked_for(adapter):
    adapters = str(SOURCE.parent.parent / "adapters")
    shown = loaded_by(f"sys.path.insert(0, {adapters!r})", f"import jsproto_io.{adapter}")
    inner = {name.split(".")[1] for name in shown if name.startswith("jsproto.")}
    rooms = {name.split(".")[2] for name in shown if name.startswith("jsproto.jetstream.")}

    assert {"ops", "testing", "trace"} & inner == set()
    assert {"api", "delivery", "errors"} <= rooms
    assert {"context", "ordered", "publish", "push", "range_read", "stored"} & rooms == set()
