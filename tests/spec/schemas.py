"""Writes the JSON Schema of each known event into ``spec/schemas``.

    python tests/spec/schemas.py

`tests/spec/test_schemas.py` compares, and checks events against them.
"""

from __future__ import annotations

import json
from pathlib import Path

from jsproto.jetstream.api.events.advisories import EVENTS
from jsproto.jetstream.api.events.schemas import event_schema

FOLDER = Path(__file__).resolve().parents[2] / "spec" / "schemas"


def drawn() -> dict[str, str]:
    """The text of each file, by its name."""
    return {f"{kind}.json": json.dumps(event_schema(kind), indent=2) + "\n" for kind in EVENTS}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    files = drawn()
    for name, text in files.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    for stale in set(FOLDER.iterdir()) - {FOLDER / name for name in files}:
        stale.unlink()


if __name__ == "__main__":
    main()
