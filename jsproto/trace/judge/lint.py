"""The judge of any client: facts of the Observer go in, findings come out, each with its rule, its
clause and its line.

Theory. Rules are a table (`jsproto.trace.judge.rules`); each looks at one kind of fact and holds
nothing. So the judge is a loop. What a rule finds again and again is told as often as it happens,
up to a bound for each rule and link, behind which it is only counted. Of very many links the older
are forgotten, which is to say that there it would be told again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, final

from attrs import frozen

from jsproto.trace.formats.recording import Record
from jsproto.trace.judge.rules import ack, api, link, publish, pull, push
from jsproto.trace.judge.rules.table import Rule, Severity
from jsproto.trace.observe.facts import Fact
from jsproto.trace.observe.ledger import bound
from jsproto.trace.observe.observer import Observer

#: Every rule there is, by area.
RULES: Final[tuple[Rule[Any], ...]] = (
    *link.RULES, *pull.RULES, *ack.RULES, *push.RULES, *publish.RULES, *api.RULES,
)  # fmt: skip
#: Findings of one rule on one link that are told in words.
MOST_TOLD: Final = 20


@final
@frozen(kw_only=True)
class Finding:
    """One fault of a client.

    Attributes:
        line: the line of the record in which it showed.
        at: seconds since the start of the trace.
        conn: the connection.
    """

    rule: str
    severity: Severity
    clause: str
    line: int
    at: float
    conn: str
    words: str
    right: str


def _by_fact() -> Mapping[type, tuple[Rule[Any], ...]]:
    found: dict[type, tuple[Rule[Any], ...]] = {}
    for rule in RULES:
        for fact in rule.fact if isinstance(rule.fact, tuple) else (rule.fact,):
            found[fact] = (*found.get(fact, ()), rule)
    return found


_BY_FACT: Final = _by_fact()
_FACTS: Final = {
    rule.name: {
        fact.__name__ for fact in (rule.fact if isinstance(rule.fact, tuple) else (rule.fact,))
    }
    for rule in RULES
}


@final
class Lint:
    """Judges one trace, record by record.

    Args:
        hear: called with each fact too, before it is judged.

    Attributes:
        observer: the books.
        counted: how often each rule was broken, also where it was no longer told.
        exercised: kinds of facts that were judged.
    """

    __slots__ = (
        "_blamed",
        "_causes",
        "_found",
        "_record",
        "_told",
        "counted",
        "exercised",
        "observer",
    )

    def __init__(self, hear: Callable[[Fact], None] | None = None) -> None:
        self.observer = Observer(self._judge if hear is None else self._after(hear))
        self.counted: Counter[str] = Counter()
        self._told: Counter[tuple[str, int]] = Counter()
        #: Lines of each link in which something was found, and causes that were told.
        self._blamed: dict[tuple[int, int], None] = {}
        self._causes: dict[tuple[str, int, object], None] = {}
        self.exercised: set[str] = set()
        self._found: list[Finding] = []
        self._record: tuple[int, float] = (0, 0.0)

    def judged(self) -> list[str]:
        """The rules of which something was seen that they judge; of the others nothing is known,
        good or bad.
        """
        seen = self.exercised | self.observer.awaited
        return [rule.name for rule in RULES if seen & _FACTS[rule.name]]

    def taken_up(self) -> None:
        """It was put together from what another one knew: it judges what its Observer tells from
        here on.
        """
        self.observer.tell_to(self._judge)

    def feed(self, line: int, record: Record) -> list[Finding]:
        """The findings that come with one record."""
        self._record = (line, record.at)
        self.observer.feed(line, record)
        if not self._found:
            return []
        found, self._found = self._found, []
        return found

    def _after(self, hear: Callable[[Fact], None]) -> Callable[[Fact], None]:
        def tell(fact: Fact) -> None:
            hear(fact)
            self._judge(fact)

        return tell

    def _judge(self, fact: Fact) -> None:
        self.exercised.add(type(fact).__name__)
        for rule in _BY_FACT.get(type(fact), ()):
            words: str | None = rule.judge(fact)
            if words is not None and not self._known(rule, fact):
                self._tell(rule, fact, words)

    def _known(self, rule: Rule[Any], fact: Fact) -> bool:
        """Whether the fault was told before, by this rule or where it was made."""
        number = fact.link.number
        if rule.proof is not None and (number, rule.proof(fact)) in self._blamed:
            return True
        if rule.cause is None:
            return False
        cause = (rule.name, number, rule.cause(fact))
        known = cause in self._causes
        self._causes[cause] = None
        bound(self._causes)
        if known:
            self._blame(fact)
        return known

    def _blame(self, fact: Fact) -> None:
        """In this line something was found: what follows from it is no finding of its own."""
        self._blamed[fact.link.number, self._record[0]] = None
        bound(self._blamed)

    def _tell(self, rule: Rule[Any], fact: Fact, words: str) -> None:
        self.counted[rule.name] += 1
        self._blame(fact)
        place = (rule.name, fact.link.number)
        self._told[place] += 1
        bound(self._told)
        if self._told[place] > MOST_TOLD:
            return
        line, at = self._record
        self._found.append(
            Finding(
                rule=rule.name,
                severity=rule.severity,
                clause=rule.clause,
                line=line,
                at=at,
                conn=fact.link.conn,
                words=words,
                right=rule.right,
            )
        )


def lint(records: Iterable[tuple[int, Record]]) -> Iterator[Finding]:
    """The findings of a whole trace, as they come."""
    judge = Lint()
    for line, record in records:
        yield from judge.feed(line, record)
