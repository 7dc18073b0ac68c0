"""Suggestions in errors about names that a user misspelt or took from another client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final

#: Most names that are suggested for one wrong word.
_SHOWN: Final = 3
#: A shorter word is part of too many names.
_TELLING: Final = 3
#: Only this many characters are compared, because the time grows with the square of the length.
_COMPARED: Final = 64


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """Return the names most like a word, best first.

    First come the names that are spelt alike, then the names that contain the word.
    """
    names = sorted(known)
    wrong = word[:_COMPARED].lower()
    alike = get_close_matches(wrong, names, _SHOWN)
    parts = [name for name in names if len(wrong) >= _TELLING and wrong in name]
    return list(dict.fromkeys([*alike, *parts]))[:_SHOWN]


def meant(
    wrong: Iterable[object], known: Iterable[str], instead: Mapping[str, str] | None = None
) -> str:
    """Return the end of an error about wrong names: a suggestion, or an empty text.

    Args:
        wrong: the unknown names.
        known: the valid names.
        instead: fixed suggestions for wrong names that resemble no valid name.
    """
    names = tuple(known)
    told = instead or {}
    found: dict[str, None] = {}
    for word in wrong:
        if isinstance(word, str):
            found.update(dict.fromkeys([told[word]] if word in told else nearest(word, names)))
    return f": did you mean {' or '.join(found)}?" if found else ""
