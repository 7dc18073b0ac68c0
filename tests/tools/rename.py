"""Port Python files to the names of today: ``python tests/tools/rename.py FILE_OR_FOLDER ...``.

`spec/renames.toml` says which module or name became which. This script rewrites the imports of each
file by it, and every use of what a file imports, also through a module (``pace.Pace``,
``jsproto.jetstream.pace.Pace``). It changes the files in place and prints the name of each file
that it changed. What was removed has no new name: the script prints the place and the way out, and
exits with 1.

The script works on the syntax tree. Text in strings and comments stays as it is, but for strings
that are one dotted name.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

TABLE = Path(__file__).resolve().parents[2] / "spec" / "renames.toml"
REMOVED = "removed: "


class Renames:
    """The table, and what it makes of one dotted name."""

    def __init__(self, table: dict[str, dict[str, str]]) -> None:
        self.modules = table["modules"]
        self.names = table["names"]

    def module(self, name: str) -> str:
        """Where a module is today.

        Raises:
            LookupError: it was removed.
        """
        return _there(name, self.modules.get(name, name))

    def name(self, module: str, name: str) -> tuple[str, str]:
        """The module and the name of today of what was `name` in `module`.

        Raises:
            LookupError: it was removed.
        """
        whole = f"{module}.{name}"
        known = self.names.get(whole) or self.modules.get(whole)
        new = _there(whole, known) if known else f"{self.module(module)}.{name}"
        return new.rpartition(".")[0], new.rpartition(".")[2]


def _there(old: str, new: str) -> str:
    if new.startswith(REMOVED):
        raise LookupError(f"{old} was {new}")
    return new


def ported(text: str, renames: Renames) -> str:
    """The text of a Python file with the names of today.

    Raises:
        LookupError: the file imports what was removed.
        SyntaxError: the text is not Python.
    """
    tree = ast.parse(text)
    lines = text.split("\n")
    uses: dict[str, str] = {}
    modules: dict[str, str] = {}
    statements: list[tuple[ast.stmt, list[str]]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules |= {
                each.asname or each.name: f"{node.module}.{each.name}" for each in node.names
            }
            statements.append((node, _imported(node, renames, uses)))
        elif isinstance(node, ast.Import):
            modules |= {each.asname or each.name: each.name for each in node.names}
            statements.append((node, [f"import {_whole(each, renames)}" for each in node.names]))
    edits = {
        edit
        for node in ast.walk(tree)
        for edit in (*_used(node, uses), *_through(node, modules, renames))
    }
    for line, column, old, new in sorted(edits, reverse=True):
        raw = lines[line].encode()
        lines[line] = (raw[:column] + new.encode() + raw[column + len(old) :]).decode()
    for node, wanted in sorted(statements, key=lambda each: each[0].lineno, reverse=True):
        if wanted != [ast.unparse(node)]:
            indent = " " * node.col_offset
            lines[node.lineno - 1 : node.end_lineno] = [indent + each for each in wanted]
    return _quoted("\n".join(lines), renames)


#: A line and a column, both from 0, what stands there, and what shall stand there.
Edit = tuple[int, int, str, str]


def _used(node: ast.AST, uses: dict[str, str]) -> Iterator[Edit]:
    """A name that was imported by its old name."""
    if isinstance(node, ast.Name) and node.id in uses:
        yield node.lineno - 1, node.col_offset, node.id, uses[node.id]


def _through(node: ast.AST, modules: dict[str, str], renames: Renames) -> Iterator[Edit]:
    """A name that is reached through its module: ``module.Name``, and ``package.module`` after a
    plain import.
    """
    if not isinstance(node, ast.Attribute) or node.lineno != node.end_lineno:
        return
    owner = ast.unparse(node.value)
    if owner in modules:
        last = renames.name(modules[owner], node.attr)[1]
        if last != node.attr and f"{owner}.{node.attr}" not in modules:
            yield node.lineno - 1, node.end_col_offset - len(node.attr), node.attr, last
    whole = f"{owner}.{node.attr}"
    if modules.get(whole) == whole != renames.module(whole):
        yield node.lineno - 1, node.col_offset, whole, renames.module(whole)


def _imported(node: ast.ImportFrom, renames: Renames, uses: dict[str, str]) -> list[str]:
    """The statements that stand for one ``from ... import ...``; names that change in the file go
    to `uses`.
    """
    by_module: dict[str, list[str]] = {}
    for each in node.names:
        module, name = renames.name(str(node.module), each.name)
        if each.asname is None and name != each.name:
            uses[each.name] = name
        by_module.setdefault(module, []).append(f"{name} as {each.asname}" if each.asname else name)
    return [f"from {module} import {', '.join(names)}" for module, names in by_module.items()]


def _whole(each: ast.alias, renames: Renames) -> str:
    new = renames.module(each.name)
    return f"{new} as {each.asname}" if each.asname else new


def _quoted(text: str, renames: Renames) -> str:
    """Strings that are one dotted name, as `importlib.import_module` and mocks take them."""
    every = {
        old: new
        for table in (renames.modules, renames.names)
        for old, new in table.items()
        if not new.startswith(REMOVED)
    }
    known = "|".join(re.escape(each) for each in sorted(every, key=len, reverse=True))
    return re.sub(rf"(?<=[\"'])({known})(?=[\"'])", lambda found: every[found[1]], text)


def files(places: list[str]) -> Iterator[Path]:
    """Each Python file that is named, or lies in a folder that is named."""
    for place in map(Path, places):
        yield from sorted(place.rglob("*.py")) if place.is_dir() else [place]


def main(places: list[str]) -> int:
    """Port all files; 1 if one of them uses what was removed, or is no Python."""
    renames = Renames(tomllib.loads(TABLE.read_text(encoding="utf-8")))
    failed = 0
    for path in files(places):
        text = path.read_text(encoding="utf-8")
        try:
            new = ported(text, renames)
        except (LookupError, SyntaxError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            failed = 1
            continue
        if new != text:
            path.write_text(new, encoding="utf-8")
            print(path)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
