"""Writes what the public packages show: ``python tests/tools/front_door.py``.

`spec/public_names.toml` lists the public names and the module that defines each of them. This
script writes the part below the docstring of each package: the imports for type checkers,
``__all__``, and the table from which `jsproto.lazy` loads a name when a program asks for it.
``--check`` changes nothing and exits with 1 if a package is not as the list has it.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
NAMES = REPOSITORY / "spec" / "public_names.toml"
WIDTH = 100
#: Modules of `jsproto` itself that ``import jsproto`` makes reachable.
MODULES = ("driver", "embed")

_BODY = """
from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jsproto.lazy import lazy_names
{eager}
if TYPE_CHECKING:
{imports}
__all__ = [
{names}]

_HOMES: Final = {{
{homes}}}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
"""
_VERSION = "from jsproto.version import __version__ as __version__\n"


def public_names() -> dict[str, dict[str, str]]:
    """The list: package -> name -> the module that defines it."""
    return tomllib.loads(NAMES.read_text(encoding="utf-8"))


def order(name: str) -> tuple[int, str]:
    """Constants, classes, functions, each by name, as the linter sorts them."""
    return 0 if name.isupper() else 1 if name[0].isupper() else 2, name


def _import_order(name: str) -> tuple[int, str]:
    """The same, as the linter sorts imports: small and capital letters alike."""
    return order(name)[0], name.lower()


def place_of(package: str) -> Path:
    """The file of a package or module."""
    path = REPOSITORY / package.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def written(package: str, listed: dict[str, dict[str, str]]) -> str:
    """The text of the package's file as the list wants it."""
    text = place_of(package).read_text(encoding="utf-8")
    docstring = ast.parse(text).body[0]
    head = "".join(text.splitlines(keepends=True)[: docstring.end_lineno])
    homes = dict(listed[package])
    if package == "jsproto":
        inner = [each.removeprefix("jsproto.") for each in listed if each != package]
        homes |= {name: f"jsproto.{name}" for name in (*inner, *MODULES)}
    modules: dict[str, list[str]] = {}
    for name, home in homes.items():
        inside = home == f"{package}.{name}"
        modules.setdefault(package if inside else home, []).append(name)
    names = sorted(homes, key=order)
    return head + _BODY.format(
        eager=_VERSION if package == "jsproto" else "",
        imports="".join(
            _import(module, sorted(modules[module], key=_import_order))
            for module in sorted(modules)
        ),
        names="".join(f'    "{name}",\n' for name in names),
        homes="".join(f'    "{name}": "{homes[name]}",\n' for name in names),
    )


def _import(module: str, names: list[str]) -> str:
    line = f"    from {module} import {', '.join(names)}\n"
    if len(line) <= WIDTH + 1:
        return line
    inner = "".join(f"        {name},\n" for name in names)
    return f"    from {module} import (\n{inner}    )\n"


def main(arguments: list[str]) -> int:
    """Write all packages, or with ``--check`` see whether they are as the list has them."""
    listed = public_names()
    stale = 0
    for package in listed:
        path, text = place_of(package), written(package, listed)
        if path.read_text(encoding="utf-8") != text:
            stale = 1
            print(path)
            if "--check" not in arguments:
                path.write_text(text, encoding="utf-8")
    return stale if "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
