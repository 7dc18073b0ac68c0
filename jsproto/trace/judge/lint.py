"""The judge of any client: it takes facts of the Observer and returns findings.

Theory. Rules are a table (`jsproto.trace.judge.rules`). Each rule checks one kind of fact and keeps
no state, so the judge is a loop. Each finding names its rule, clause and line. The judge reports a
repeated finding each time, up to `MOST_TOLD` for each rule and link, and then only counts it. The
counts are bounded too: if there are very many links, the judge forgets the older ones.
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

#: All rules, by area.
RULES: Final[tuple[Rule[Any], ...]] = (
    *link.RULES, *pull.RULES, *ack.RULES, *push.RULES, *publish.RULES, *api.RULES,
)  # fmt: skip
#: Highest number of findings of one rule on one link that are reported; more are only counted.
MOST_TOLD: Final = 20


@final
@frozen(kw_only=True)
class Finding:
    """One fault of a client.

    Attributes:
        line: line of the record that shows the fault.
        at: seconds since the start of the trace.
        conn: name of the connection.
        words: what the client did wrong.
        right: what a client must do instead.
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
        hear: called with each fact before the rules see it.

    Attributes:
        observer: the Observer with its records.
        counted: how often each rule was broken, with the findings that were only counted.
        exercised: names of the facts that were judged.
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
        #: Links and lines with a finding, and causes that were reported.
        self._blamed: dict[tuple[int, int], None] = {}
        self._causes: dict[tuple[str, int, object], None] = {}
        self.exercised: set[str] = set()
        self._found: list[Finding] = []
        self._record: tuple[int, float] = (0, 0.0)

    def judged(self) -> list[str]:
        """List the rules for which the trace held something to judge.

        About the other rules the trace says nothing, good or bad.
        """
        seen = self.exercised | self.observer.awaited
        return [rule.name for rule in RULES if seen & _FACTS[rule.name]]

    def taken_up(self) -> None:
        """Connect a restored judge to its Observer again; the saved state has no functions."""
        self.observer.tell_to(self._judge)

    def feed(self, line: int, record: Record) -> list[Finding]:
        """Judge one record and return its findings."""
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
        """Whether the fault was reported before, by this rule or in the line that caused it."""
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
        """Note that this line has a finding, so that its consequences are not reported too."""
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
    """Judge a whole trace and yield its findings in order."""
    judge = Lint()
    for line, record in records:
        yield from judge.feed(line, record)
