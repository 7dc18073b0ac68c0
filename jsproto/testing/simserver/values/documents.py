"""JSON documents with a known type: the one place where what `json` gives becomes something a
checker can follow.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeAlias, TypeGuard, cast

#: A JSON object.
Table: TypeAlias = dict[str, object]


def read(document: bytes | str) -> object:
    """Whatever the document is.

    Raises:
        ValueError: it is no JSON (also when it is nested too deeply to be read).
    """
    try:
        return cast("object", json.loads(document))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def is_table(value: object) -> TypeGuard[Table]:
    """Whether the value is a JSON object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[object]]:
    """Whether the value is a JSON array."""
    return isinstance(value, list)


def table(value: object) -> Table:
    """The object, or an empty one if it is none."""
    return value if is_table(value) else {}


def integer(members: Mapping[str, object], name: str) -> int:
    """A number, 0 if it is left out or none."""
    value = members.get(name)
    return value if isinstance(value, int) else 0


def text(members: Mapping[str, object], name: str) -> str:
    """A text, ``""`` if it is left out or none."""
    value = members.get(name)
    return value if isinstance(value, str) else ""


def texts(members: Mapping[str, object], name: str) -> list[str]:
    """A list of texts, empty if it is left out."""
    value = members.get(name)
    return [each for each in value if isinstance(each, str)] if is_list(value) else []


def integers(members: Mapping[str, object], name: str) -> list[int]:
    """A list of numbers, empty if it is left out."""
    value = members.get(name)
    return [each for each in value if isinstance(each, int)] if is_list(value) else []
