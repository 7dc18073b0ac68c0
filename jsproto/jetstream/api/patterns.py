"""Subjects with wildcards as sets: whether two have a subject in common, and whether one lies within the other.

Both are the server's own questions (sublist.go ``SubjectsCollide``, ``subjectIsSubsetMatch``), asked token by token. What is
given is taken as valid; :func:`valid` says whether it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

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


def any_pair_collides(patterns: Sequence[str]) -> bool:
    """Whether two different places of a list have a subject in common."""
    return any(
        collide(one, other) for at, one in enumerate(patterns) for other in patterns[at + 1 :] if one != other
    )
