"""The type of a rule: name, clause, severity, the class of facts that it judges, and a function.

Theory. The function gets one fact, and returns what is wrong with it in words, or ``None``. It
keeps no state, because the fact holds all that it needs. A rule reports a fault only if nothing
else can explain the fact, so missing knowledge never makes a finding.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Generic, TypeVar, final

from attrs import frozen

F = TypeVar("F")


class Severity(Enum):
    """How serious a finding is."""

    #: The protocol forbids it, or it cannot work.
    ERROR = "ERROR"
    #: It works, but can lose, repeat or delay something later.
    WARNING = "WARNING"


@final
@frozen(kw_only=True)
class Rule(Generic[F]):
    """A rule of the judge.

    Attributes:
        name: name of the findings: area and fault, in lower case.
        fact: the class of facts that the rule judges, or several.
        clause: the source: an ADR, or an observation of the server.
        right: what a client must do instead, in one sentence.
        judge: returns what is wrong with a fact, or ``None``.
        cause: returns what equal findings share. The judge reports a cause once for each link.
            Without this function it reports every finding.
        proof: returns the line of the request that the server refused. If that line has a finding
            already, the refusal is not another one.
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
    """Cause of a fault that counts once for a whole link."""
    return None


ERROR = Severity.ERROR
WARNING = Severity.WARNING
