"""`spec/renames.toml`: every new name is there, no old one is, and the script ports a program by
the table.
"""

from __future__ import annotations

import importlib
import re
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.tools.rename import Renames, main, ported

TABLE = tomllib.loads(
    (Path(__file__).resolve().parents[2] / "spec" / "renames.toml").read_text(encoding="utf-8")
)
NEW = sorted({*TABLE["modules"].values(), *TABLE["names"].values()})
OLD_MODULES = sorted(TABLE["modules"])


def exists(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    module, _, last = name.rpartition(".")
    try:
        found = find_spec(name)
    except ModuleNotFoundError:  # what it would lie in is no package
        found = None
    return found is not None or hasattr(importlib.import_module(module), last)


@pytest.mark.parametrize("name", [each for each in NEW if not each.startswith("removed: ")])
def test_every_new_name_is_there(name):
    assert exists(name)


@pytest.mark.parametrize("name", OLD_MODULES)
def test_an_old_module_is_a_package_now_or_not_there(name):
    try:
        found = find_spec(name)
    except ModuleNotFoundError:
        found = None

    assert found is None or found.submodule_search_locations is not None


@pytest.mark.parametrize("name", sorted(TABLE["names"]))
def test_an_old_name_is_in_no_module_of_today(name):
    module, _, last = name.rpartition(".")
    today = TABLE["modules"].get(module, module)

    assert not hasattr(importlib.import_module(today), last)


RENAMES = Renames(
    {
        "modules": {
            "jsproto.old": "jsproto.room.new",
            "jsproto.gone": "removed: servers have it no more",
        },
        "names": {
            "jsproto.old.Thing": "jsproto.room.new.Better",
            "jsproto.old.away": "removed: use Better",
        },
    }
)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (
            "from jsproto.old import Thing\nThing(1)\n",
            "from jsproto.room.new import Better\nBetter(1)\n",
        ),
        (
            "from jsproto.old import Thing as T\nT()\n",
            "from jsproto.room.new import Better as T\nT()\n",
        ),
        ("from jsproto.old import other, Thing\n", "from jsproto.room.new import other, Better\n"),
        ("from jsproto import old\nold.f()\n", "from jsproto.room import new\nnew.f()\n"),
        ("import jsproto.old as o\n", "import jsproto.room.new as o\n"),
        ("from jsproto import old\nold.Thing()\n", "from jsproto.room import new\nnew.Better()\n"),
        (
            "import jsproto.old as o\no.Thing.f(o.x)\n",
            "import jsproto.room.new as o\no.Better.f(o.x)\n",
        ),
        (
            "import jsproto.old\njsproto.old.Thing()\n",
            "import jsproto.room.new\njsproto.room.new.Better()\n",
        ),
        (
            "import jsproto.old\nprint(other.old.Thing)\n",
            "import jsproto.room.new\nprint(other.old.Thing)\n",
        ),
        (
            "def f():\n    from jsproto.old import x\n",
            "def f():\n    from jsproto.room.new import x\n",
        ),
        ('patch("jsproto.old.Thing")\n', 'patch("jsproto.room.new.Better")\n'),
        (
            "# é\nfrom jsproto.old import Thing\nx = 'é', Thing\n",
            "# é\nfrom jsproto.room.new import Better\nx = 'é', Better\n",
        ),
        ("from json import (\n    loads,\n)\n", "from json import (\n    loads,\n)\n"),
        ("Thing = 1\nprint(Thing)\n", "Thing = 1\nprint(Thing)\n"),
        ("x = 'jsproto.gone'\n", "x = 'jsproto.gone'\n"),
    ],
)
def test_a_program_is_ported(given, wanted):
    assert ported(given, RENAMES) == wanted


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("from jsproto.old import away\n", "jsproto.old.away was removed: use Better"),
        ("from jsproto.gone import thing\n", "jsproto.gone was removed: servers have it no more"),
        ("import jsproto.gone\n", "jsproto.gone was removed: servers have it no more"),
    ],
)
def test_what_was_removed_is_refused_with_the_way_out(given, wanted):
    with pytest.raises(LookupError, match=f"^{re.escape(wanted)}$"):
        ported(given, RENAMES)


def test_the_command_changes_files_in_place_and_names_what_it_cannot_port(tmp_path, capsys):
    old, new = next(iter(TABLE["modules"].items()))
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text(f"import {old} as it\n", encoding="utf-8")
    bad.write_text("no python (\n", encoding="utf-8")

    failed = main([str(tmp_path)])

    assert failed == 1
    assert good.read_text(encoding="utf-8") == f"import {new} as it\n"
    assert "bad.py" in capsys.readouterr().err
