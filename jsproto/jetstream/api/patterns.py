"""Subject patterns as sets: whether two overlap, and whether one contains the other.

Both follow the server's functions (sublist.go ``SubjectsCollide``, ``subjectIsSubsetMatch``),
token by token. The arguments must be valid; :func:`valid` checks this.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

_BLANK: Final = re.compile(r"[ \t\n\r\f]")


def valid(subject: str) -> bool:
    """Whether it is valid to subscribe to: no empty token, no blank, nothing after ``>``."""
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


# ------------------------------------------------------------------ many patterns at once


#: Tokens below a node of the tree. `_END` marks the end of a pattern.
_Tree: TypeAlias = dict[str, "_Tree"]
_END: Final = ""
_ANY: Final = "*"
_REST: Final = ">"
_SPECIAL: Final = frozenset({_END, _ANY, _REST})
#: Two nodes of the tree that one subject can reach.
_Pair: TypeAlias = tuple[_Tree, _Tree]


def any_pair_collides(patterns: Iterable[str]) -> bool:
    """Whether two different patterns have a subject in common."""
    return _some_pair(patterns, _colliding)


def any_within_another(patterns: Sequence[str]) -> bool:
    """Whether one pattern contains another, or is listed twice."""
    return len(set(patterns)) < len(patterns) or _some_pair(patterns, _containing)


def _some_pair(patterns: Iterable[str], meet: Callable[[_Tree, _Tree], list[_Pair] | None]) -> bool:
    """Whether `meet` holds for two different patterns.

    The patterns become a tree of tokens, and only branches that can meet are compared. So
    thousands of patterns take milliseconds; a comparison of all pairs would take seconds.

    Args:
        patterns: the patterns.
        meet: compares two nodes; the path to the second has a wildcard in the place of a token of
            the first. Returns ``None`` if two patterns meet there, else the pairs of child nodes
            to compare next.
    """
    alone, pairs = [_tree(patterns)], list[_Pair]()
    while alone:
        at = alone.pop()
        if _REST in at and len(at) - (_END in at) > 1:
            return True
        if _ANY in at:
            pairs += [(each, at[_ANY]) for token, each in at.items() if token not in _SPECIAL]
        alone += [each for token, each in at.items() if token != _END]
    while pairs:
        further = meet(*pairs.pop())
        if further is None:
            return True
        pairs += further
    return False


def _colliding(one: _Tree, other: _Tree) -> list[_Pair] | None:
    """For `_some_pair`: two patterns meet if a subject matches both."""
    if (
        (_END in one and _END in other)
        or (_REST in one and _goes_on(other))
        or (_REST in other and _goes_on(one))
    ):
        return None
    small, large = (one, other) if len(one) <= len(other) else (other, one)
    pairs = [
        (each, large[token]) for token, each in small.items() if token != _END and token in large
    ]
    for left, right in ((one, other), (other, one)):
        if _ANY in left:
            pairs += [(each, left[_ANY]) for token, each in right.items() if token not in _SPECIAL]
    return pairs


def _containing(inner: _Tree, outer: _Tree) -> list[_Pair] | None:
    """For `_some_pair`: patterns meet if the second contains the first."""
    if (_END in inner and _END in outer) or (_REST in outer and _goes_on(inner)):
        return None
    return [
        (each, outer[word])
        for token, each in inner.items()
        if token not in {_END, _REST}
        for word in {token, _ANY}
        if word in outer
    ]


def _tree(patterns: Iterable[str]) -> _Tree:
    root: _Tree = {}
    for each in patterns:
        at = root
        for token in each.split("."):
            at = at.setdefault(token, {})
        at[_END] = {}
    return root


def _goes_on(at: _Tree) -> bool:
    """Whether a pattern has a further token here."""
    return len(at) > (_END in at)
