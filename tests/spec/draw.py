"""Draws the state diagram of every machine into ``spec/machines``, from the table that the machine
follows.

    python tests/spec/draw.py

A page has two halves. What stands above the line that starts with ``<!--`` is written by people:
what the machine is for, in a few sentences; a page that is not there yet begins with what the
module says of itself. What stands below is drawn, and `tests/spec/test_machines.py` compares it.

The words for states and inputs are the ``#:`` comments in front of the members of their enums.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import jsproto
from jsproto.trace.show.diagram import mermaid, tables

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = REPOSITORY / "spec" / "machines"
LINE = "<!-- Drawn by tests/spec/draw.py from the table in {path}; write above this line only. -->"


def machines():
    """Every module that holds a table of its own, by the name of its page: its room and its file."""
    found = {}
    for info in pkgutil.walk_packages(jsproto.__path__, "jsproto."):
        module = importlib.import_module(info.name)
        table = getattr(module, "TRANSITIONS", None)
        if table and type(next(iter(table))).__module__ == info.name:
            name = "_".join(info.name.split(".")[-2:])
            assert name not in found, f"two machines are called {name}"
            found[name] = module
    return found


def meanings(module) -> dict[str, str]:
    """The ``#:`` comments of the members of the module's enums."""
    lines = inspect.getsource(module).split("\n")
    found = {}
    for node in ast.parse("\n".join(lines)).body:
        members = (each for each in getattr(node, "body", ()) if isinstance(each, ast.Assign))
        for member in members if isinstance(node, ast.ClassDef) else ():
            said, at = [], member.lineno - 2
            while lines[at].strip().startswith("#:"):
                said.insert(0, lines[at].strip().removeprefix("#:").strip())
                at -= 1
            if said:
                found[f"{node.name}.{member.targets[0].id}"] = " ".join(said)
    return found


def first_words(module) -> str:
    """What the module says of itself, for a page that nobody has written yet."""
    said = inspect.getdoc(module).split("\n\n")
    title = said[0].split(":")[0].rstrip(".")
    theory = next((part for part in said if part.startswith("Theory.")), said[0]).removeprefix(
        "Theory. "
    )
    sentences = re.split(r"(?<=[.:]) (?=[A-Z*`])", theory.replace("\n", " "))
    return f"# {title}\n\n{' '.join(sentences[:4])}\n\n"


def drawn(module) -> str:
    """The half of a page that is not written by hand."""
    path = Path(module.__file__).relative_to(REPOSITORY)
    table = module.TRANSITIONS
    return f"{LINE.format(path=path)}\n\n```mermaid\n{mermaid(table)}```\n\n{tables(table, meanings(module))}"


def halves(page: Path) -> tuple[str, str]:
    """What people wrote, and what was drawn."""
    written, line, rest = page.read_text(encoding="utf-8").partition("<!--")
    return written, line + rest


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    known = machines()
    for name, module in known.items():
        page = FOLDER / f"{name}.md"
        written = halves(page)[0] if page.exists() else first_words(module)
        page.write_text(written + drawn(module), encoding="utf-8")
        print(page.relative_to(REPOSITORY))
    for page in FOLDER.glob("*.md"):
        if page.stem not in known:
            page.unlink()
            print(f"{page.relative_to(REPOSITORY)} is gone, like its machine")


if __name__ == "__main__":
    main()
