"""The right word for a wrong one: what an error says to a user who misspelt a name or brought it
from another client.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final

#: Most names that are shown for one wrong word.
_SHOWN: Final = 3
#: A shorter word is a part of too many names.
_TELLING: Final = 3
#: Longer words are compared by their beginning: comparing takes time with the square of the length.
_COMPARED: Final = 64


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """The names most like a word, the best first: those that are spelt alike, then those of which
    it is a part.
    """
    names = sorted(known)
    wrong = word[:_COMPARED].lower()
    alike = get_close_matches(wrong, names, _SHOWN)
    parts = [name for name in names if len(wrong) >= _TELLING and wrong in name]
    return list(dict.fromkeys([*alike, *parts]))[:_SHOWN]


def meant(
    wrong: Iterable[object], known: Iterable[str], instead: Mapping[str, str] | None = None
) -> str:
    """The end of an error about wrong names: what the user may have meant, or nothing.

    Args:
        wrong: the names that nobody knows.
        known: the names that would do.
        instead: what to write for some wrong names, where no name is like them.
    """
    names = tuple(known)
    told = instead or {}
    found: dict[str, None] = {}
    for word in wrong:
        if isinstance(word, str):
            found.update(dict.fromkeys([told[word]] if word in told else nearest(word, names)))
    return f": did you mean {' or '.join(found)}?" if found else ""
