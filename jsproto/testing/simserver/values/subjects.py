"""Who wants what: which pattern a subject falls under, mappings, and the table of interest.

What can be asked of patterns alone is asked of `jsproto.jetstream.api.patterns`.
:class:`InterestTable` keeps literal subscriptions in a table and wildcard ones in a list, and
remembers its answers until a subscription comes or goes: the same few subjects are asked for again
and again, and inboxes of which only the last token is new.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Generic, Protocol, TypeVar

from jsproto.jetstream.api.patterns import literal

_REMEMBERED: Final = 4096
_WILDCARDS: Final = frozenset({"*", ">"})
_WILDCARD: Final = re.compile(r"\$(\d+)|\{\{\s*[Ww]ildcard\(\s*(\d+)\s*\)\s*\}\}")


def matches(pattern: str, subject: str) -> bool:
    """Whether the literal ``subject`` falls under ``pattern``."""
    return pattern == subject or matches_tokens(pattern.split("."), subject.split("."))


def matches_tokens(pattern: list[str], subject: list[str]) -> bool:
    """`matches` over split subjects."""
    if pattern[-1] == ">":
        if len(subject) < len(pattern):
            return False
        pattern, subject = pattern[:-1], subject[: len(pattern) - 1]
    elif len(subject) != len(pattern):
        return False
    return all(want in {have, "*"} for want, have in zip(pattern, subject, strict=True))


class SubjectMapping:
    """A mapping of subjects: what the wildcards of ``source`` stand for goes where ``dest`` says
    (ADR-30, the plain part).

    ``dest`` takes them in their order with ``*``, or by number with ``$1`` or ``{{wildcard(1)}}``;
    ``>`` at the end is the rest.
    """

    __slots__ = ("_dest", "_source")

    def __init__(self, source: str, dest: str) -> None:
        self._source = (source or ">").split(".")
        self._dest = dest.split(".")

    def apply(self, subject: str) -> str:
        """The other subject, ``""`` if this one does not match."""
        tokens = subject.split(".")
        if not matches_tokens(self._source, tokens):
            return ""
        caught = [have for want, have in zip(self._source, tokens, strict=False) if want == "*"]
        rest = tokens[len(self._source) - 1 :] if self._source[-1] == ">" else []
        found: list[str] = []
        in_order = iter(caught)
        for part in self._dest:
            number = _WILDCARD.fullmatch(part)
            if number is not None:
                found.append(caught[int(number[1] or number[2]) - 1])
            elif part == ">":
                found.extend(rest)
            else:
                found.append(next(in_order) if part == "*" else part)
        return ".".join(found)


class HasInterest(Protocol):
    """What the table needs to know of a subscription."""

    @property
    def subject(self) -> str:
        """The pattern."""
        ...

    @property
    def queue(self) -> str:
        """The queue group, ``""`` if none."""
        ...


SubT = TypeVar("SubT", bound=HasInterest)


#: What nobody wants is not worth remembering: acknowledgements, each with a subject of its own.
NOBODY: Final[tuple[tuple[()], tuple[()]]] = ((), ())


class InterestTable(Generic[SubT]):
    """Subscriptions by what they match."""

    __slots__ = ("_anywhere", "_literal", "_memory", "_particular", "_wild")

    def __init__(self) -> None:
        self._literal: dict[str, list[SubT]] = {}
        #: Patterns by their first token: what begins otherwise need not be compared.
        self._wild: dict[str, list[tuple[list[str], SubT]]] = {}
        #: One of them begins with a wildcard.
        self._anywhere = False
        #: One of them has a word as its last token; else all subjects that differ in it alone have
        #: the same answer.
        self._particular = False
        #: By subject, and by all of it but its last token where that does not matter.
        self._memory: dict[str, tuple[tuple[SubT, ...], tuple[tuple[SubT, ...], ...]]] = {}

    def add(self, sub: SubT) -> None:
        """Let ``sub`` take part."""
        if literal(sub.subject):
            self._literal.setdefault(sub.subject, []).append(sub)
        else:
            tokens = sub.subject.split(".")
            self._wild.setdefault(tokens[0], []).append((tokens, sub))
            self._look()
        self._memory.clear()

    def remove(self, sub: SubT) -> None:
        """Take ``sub`` out; harmless if it is not there."""
        self._memory.clear()
        same = self._literal.get(sub.subject)
        if same is not None and sub in same:
            same.remove(sub)
            if not same:
                del self._literal[sub.subject]
            return
        head = sub.subject.partition(".")[0]
        left = [entry for entry in self._wild.pop(head, ()) if entry[1] is not sub]
        if left:
            self._wild[head] = left
        self._look()

    def _look(self) -> None:
        """The wildcard patterns are others than before."""
        wild = self._wild
        self._anywhere = "*" in wild or ">" in wild
        self._particular = any(
            tokens[-1] not in _WILDCARDS for patterns in wild.values() for tokens, _ in patterns
        )

    def match(self, subject: str) -> tuple[tuple[SubT, ...], tuple[tuple[SubT, ...], ...]]:
        """The plain subscriptions and the queue groups (each with all its members) that want
        ``subject``.
        """
        memory, wild = self._memory, self._wild
        known = memory.get(subject)
        if known is not None:
            return known
        head = subject.partition(".")[0]
        named = subject in self._literal
        if not named and head not in wild and not self._anywhere:
            return NOBODY
        if len(memory) >= _REMEMBERED:
            memory.clear()
        stem = "" if named or self._particular else subject[: subject.rfind(".") + 1]
        known = memory.get(stem) if stem else None
        if known is not None:
            memory[subject] = known
            return known
        found = list(self._literal[subject]) if named else []
        tokens = subject.split(".")
        for each in (head, "*", ">"):
            for pattern, sub in wild.get(each, ()):
                if matches_tokens(pattern, tokens):
                    found.append(sub)
        if not found:
            return NOBODY
        answer = memory[subject] = _grouped(found)
        if stem:
            memory[stem] = answer
        return answer

    def wants(self, subject: str) -> bool:
        """Whether anybody wants ``subject``."""
        return self.match(subject) is not NOBODY


def _grouped(found: Iterable[SubT]) -> tuple[tuple[SubT, ...], tuple[tuple[SubT, ...], ...]]:
    plain: list[SubT] = []
    groups: dict[str, list[SubT]] = {}
    for sub in found:
        if sub.queue:
            groups.setdefault(sub.queue, []).append(sub)
        else:
            plain.append(sub)
    return tuple(plain), tuple(tuple(members) for members in groups.values())
