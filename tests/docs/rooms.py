"""Draw the rooms of the house into docs/architecture.md: ``python tests/docs/rooms.py``.

The table between the two marks on that page is made from the packages: what each says of itself,
and the rooms below it that it imports from. `tests/docs/test_architecture.py` compares the page
with the imports.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY))

from tests.test_floors import floor, parse  # noqa: E402
from tests.test_rooms import PACKAGES, PATHS, arrows  # noqa: E402

PAGE = REPOSITORY / "docs" / "architecture.md"
BEGIN = (
    "<!-- Made by tests/docs/rooms.py from the imports; write outside of these marks only. -->\n"
)
END = "<!-- End of what is made. -->\n"


def reduced(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Arrows without those that a longer way says already."""
    below: dict[str, set[str]] = {}

    def reach(name: str) -> set[str]:
        if name not in below:
            below[name] = set()
            below[name] = {far for each in graph.get(name, set()) for far in (each, *reach(each))}
        return below[name]

    return {
        name: {
            each for each in targets if not any(each in reach(other) for other in targets - {each})
        }
        for name, targets in graph.items()
    }


def row(name: str, targets: set[str]) -> str:
    """One room as a row of the table."""
    said = (
        (ast.get_docstring(parse(PATHS[name])) or "")
        .split("\n\n")[0]
        .replace("\n", " ")
        .replace("|", "\\|")
    )
    shown = ", ".join(f"`{each}`" for each in sorted(targets)) or "nothing of ours"
    return f"| `{name}` | {said} | {shown} |\n"


def drawn() -> str:
    """The table of all rooms, the lowest floor first."""
    graph = reduced(arrows())
    rooms = [name for name in graph if name in PACKAGES]
    rooms.sort(key=lambda name: (floor(name) or 0, name))
    head = "| room | what it is for | stands on |\n|---|---|---|\n"
    return head + "".join(row(name, graph[name]) for name in rooms)


def page(text: str) -> str:
    """The page with the table of today."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n" + drawn() + "\n" + END + after


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
