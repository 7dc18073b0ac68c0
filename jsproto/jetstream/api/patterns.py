"""Subjects with wildcards as sets: whether two have a subject in common, and whether one lies within the other.

Both are the server's own questions (sublist.go ``SubjectsCollide``, ``subjectIsSubsetMatch``), asked token by token. What is
given is taken as valid; :func:`valid` says whether it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

_BLANK: Final = re.compile(r"[ \t\n\r\f]")


def valid(subject: str) -> bool:
    """Whether the server takes it as a subject to subscribe to: no empty token, no blank, nothing behind ``>``."""
    tokens = subject.split(".")
    return all(tokens) and _BLANK.search(subject) is None and ">" not in tokens[:-1]


def literal(subject: str) -> bool:
    """Whether it has no wildcard."""
    return not ("*" in subject or ">" in subject) or not {"*", ">"} & set(subject.split("."))


def collide(one: str, other: str) -> bool:
    """Whether some subject matches both."""
    left, right = one.split("."), other.split(".")
    for ours, theirs in zip(left, right, strict=False):
        if ours == ">" or theirs == ">":
            return True
        if ours != theirs and "*" not in {ours, theirs}:
            return False
    return len(left) == len(right)


def within(inner: str, outer: str) -> bool:
    """Whether every subject that matches ``inner`` matches ``outer``."""
    seen, wanted = inner.split("."), outer.split(".")
    for number, word in enumerate(wanted):
        if number >= len(seen):
            return False
        if word == ">":
            return True
        if seen[number] == ">" or (word != "*" and word != seen[number]):
            return False
    return len(seen) == len(wanted)


# ---------------------------------------------------------------------------------------------------- many at once


def any_pair_collides(patterns: Iterable[str]) -> bool:
    """Whether two different patterns have a subject in common.

    The patterns become a tree of tokens, in which only branches that can meet are compared. So thousands of patterns take
    milliseconds; each pair by itself would take seconds.
    """
    open_: list[tuple[_Tree, _Tree | None]] = [(_tree(patterns), None)]
    while open_:
        one, other = open_.pop()
        if other is None:
            if _REST in one and len(one) - (_END in one) > 1:
                return True
            any_token = one.get(_ANY)
            if any_token is not None:
                open_ += [(any_token, each) for token, each in one.items() if token not in _SPECIAL]
            open_ += [(each, None) for token, each in one.items() if token != _END]
            continue
        if (
            (_END in one and _END in other)
            or (_REST in one and _goes_on(other))
            or (_REST in other and _goes_on(one))
        ):
            return True
        small, large = (one, other) if len(one) <= len(other) else (other, one)
        open_ += [(each, large[token]) for token, each in small.items() if token != _END and token in large]
        for left, right in ((one, other), (other, one)):
            any_token = left.get(_ANY)
            if any_token is not None:
                open_ += [(any_token, each) for token, each in right.items() if token not in _SPECIAL]
    return False


def any_within_another(patterns: Sequence[str]) -> bool:
    """Whether one pattern lies within another, or stands in the list twice. See :func:`any_pair_collides`."""
    if len(set(patterns)) < len(patterns):
        return True
    open_: list[tuple[_Tree, _Tree | None]] = [(_tree(patterns), None)]
    while open_:
        inner, outer = open_.pop()
        if outer is None:
            if _REST in inner and len(inner) - (_END in inner) > 1:
                return True
            any_token = inner.get(_ANY)
            if any_token is not None:
                open_ += [(each, any_token) for token, each in inner.items() if token not in _SPECIAL]
            open_ += [(each, None) for token, each in inner.items() if token != _END]
            continue
        if (_END in inner and _END in outer) or (_REST in outer and _goes_on(inner)):
            return True
        for token, each in inner.items():
            if token not in {_END, _REST}:
                open_ += [(each, outer[word]) for word in {token, _ANY} if word in outer]
    return False


#: Tokens below a place of the tree. `_END` says that a pattern ends there.
_Tree: TypeAlias = dict[str, "_Tree"]
_END: Final = ""
_ANY: Final = "*"
_REST: Final = ">"
_SPECIAL: Final = frozenset({_END, _ANY, _REST})


def _tree(patterns: Iterable[str]) -> _Tree:
    root: _Tree = {}
    for each in patterns:
        at = root
        for token in each.split("."):
            at = at.setdefault(token, {})
        at[_END] = {}
    return root


def _goes_on(at: _Tree) -> bool:
    """Whether some pattern has a further token here."""
    return len(at) > (_END in at)
