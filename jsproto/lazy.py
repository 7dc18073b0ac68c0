"""Loads a public name when a program first asks for it (PEP 562).

`import jsproto` has to be fast, and a program needs few of the names that jsproto offers. So a
package that shows names of other modules keeps a table, name -> module, and gives it to
`lazy_names`. The first use of a name imports its module; after that the name is an ordinary
attribute of the package.

Type checkers read none of this. Each package imports the same names under ``TYPE_CHECKING``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a package.

    Args:
        package: the package's own name.
        homes: the module that each name is imported from. The name of a module within the package
            has that module as its home.
    """

    def find(name: str) -> object:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(home)
        thing = module if home == f"{package}.{name}" else getattr(module, name)
        setattr(sys.modules[package], name, thing)
        return thing

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return find, names
