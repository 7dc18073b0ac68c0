"""What a rule of the lint is: a name, a clause, how bad it is, what fact it looks at, and one small
function.

Theory. A function gets one fact and answers in words what is wrong with it, or ``None``. It holds
nothing: all that it may know is in the fact. A rule speaks only if nothing else can explain what
was seen, so what is not known is never wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Generic, TypeVar, final

from attrs import frozen

F = TypeVar("F")


class Severity(Enum):
    """How bad it is."""

    #: The protocol forbids it, or it cannot work.
    ERROR = "ERROR"
    #: It works, and will one day lose, repeat or delay something.
    WARNING = "WARNING"


@final
@frozen(kw_only=True)
class Rule(Generic[F]):
    """One rule.

    Attributes:
        name: what findings are called: area and fault, in small letters.
        fact: the class of facts that it looks at, or several.
        clause: where it is said: an ADR, or how the server was seen to behave.
        right: what a client does instead, in one sentence.
        judge: the words for a fact that breaks it.
        cause: what findings of one fault have in common; of each cause on a link only the first is
            told. Without it each is told.
        proof: the line of what the server refused: where something was found there already, the
            refusal is no finding of its own.
    """

    name: str
    fact: type[F] | tuple[type[F], ...]
    severity: Severity
    clause: str
    right: str
    judge: Callable[[F], str | None]
    cause: Callable[[F], object] | None = None
    proof: Callable[[F], int] | None = None


def per_link(_: object) -> object:
    """A fault of the whole link: it is one, however often it shows."""
    return None


ERROR = Severity.ERROR
WARNING = Severity.WARNING
