"""Judges one trace: violations, statuses, pulls, acks, and a fingerprint of the core's decisions.

Theory. The judge is `jsproto.trace.judge.lint.Lint`, as in ``jsproto lint``. It reads the trace
once; meanwhile the facts of its observer are counted and added to the fingerprint. So the result
depends only on the records.

The fingerprint is a digest of all facts in their order, each with its line and the decision about
it. Two versions of the core that read and judge a trace in the same way give the same fingerprint.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import Enum
from hashlib import sha256
from typing import Any, Final, cast, final

from jsproto import __version__
from jsproto.jetstream.delivery.ack import AckSubject, InvalidAckSubject
from jsproto.jetstream.status import EndReason
from jsproto.trace.formats.recording import Record
from jsproto.trace.judge.lint import Finding, Lint
from jsproto.trace.observe.facts import Acked, Fact, NoPull, PullEnded, PullIssued, Silence
from jsproto.trace.observe.ledger import ConsumerKey, SeenLink, SeenPull, SeenSubscription

#: Ack verbs by the beginning of the body, longest first.
_VERBS: Final = ((b"-NAK", "nak"), (b"+TERM", "term"), (b"+WPI", "in_progress"), (b"+NXT", "next"))
_HOUR: Final = 3600.0


@final
class _Pulls:
    """The pulls of one consumer."""

    __slots__ = ("asked", "lost", "pulls", "recovered", "silent")

    def __init__(self) -> None:
        self.pulls: list[SeenPull] = []
        self.silent = 0
        #: When the consumer could not be served, and the longest time until the next pull.
        self.lost: float | None = None
        self.recovered = 0.0

    def row(self, key: ConsumerKey) -> dict[str, Any]:
        """The table row of this consumer."""
        over = [pull for pull in self.pulls if pull.end is not None]
        return {
            "stream": key[0],
            "consumer": key[1],
            "pulls": len(self.pulls),
            "requested": sum(pull.batch for pull in self.pulls),
            "delivered": sum(pull.got for pull in self.pulls),
            "wasted": sum(max(0, pull.batch - pull.got) for pull in over),
            "expired": sum(pull.end is EndReason.EXPIRED for pull in over),
            "drift": sum(max(0, pull.got - pull.batch) for pull in self.pulls),
            "heartbeats_missed": self.silent,
            "recovery_ms": self.recovered * 1000,
        }


@final
class Judging:
    """Judges one trace, record by record; `result` returns the tables so far.

    Args:
        client: the client's name, for the statuses.
        version: its version.
    """

    __slots__ = (
        "_acks", "_at", "_client", "_digest", "_frames", "_latencies", "_lines", "_lint", "_pulls",
        "_statuses", "_version", "_violations",
    )  # fmt: skip

    def __init__(self, client: str = "", version: str = "") -> None:
        self._client = client
        self._version = version
        self._lint = Lint(self._hear)
        self._violations: list[dict[str, Any]] = []
        self._statuses: Counter[tuple[int, str, int]] = Counter()
        self._pulls: dict[ConsumerKey, _Pulls] = {}
        self._acks: Counter[str] = Counter()
        self._latencies: list[float] = []
        self._lines: dict[int, float] = {}
        self._digest = sha256()
        self._at = 0.0

    def feed(self, line: int, record: Record) -> None:
        """Judge one record."""
        self._at = record.at
        self._lines[line] = record.at
        self._violations += map(violation, self._lint.feed(line, record))

    def result(self) -> dict[str, Any]:
        """The tables of this trace."""
        observer = self._lint.observer
        return {
            "violations": self._violations,
            "statuses": [
                {
                    "code": code, "description": text, "client": self._client,
                    "version": self._version, "hour": hour, "n": count,
                }
                for (code, text, hour), count in sorted(self._statuses.items())
            ],
            "pulls": [pulls.row(key) for key, pulls in sorted(self._pulls.items())],
            "acks": self._ack_row(),
            "replay": {
                "core_version": __version__,
                "decision_hash": self._digest.hexdigest(),
                "frames": observer.frames,
                "commands": observer.commands,
                "unreadable": len(observer.unreadable),
            },
        }  # fmt: skip

    def _ack_row(self) -> dict[str, Any]:
        took = sorted(self._latencies)
        quantiles = {
            f"p{percent}_ms": took[min(len(took) - 1, len(took) * percent // 100)] * 1000
            if took
            else None
            for percent in (50, 95, 99)
        }
        verbs = {
            name: self._acks[name]
            for name in ("ack", "nak", "term", "in_progress", "next", "redelivered")
        }
        return {**quantiles, **verbs}

    # ------------------------------------------------------------------ facts

    def _hear(self, fact: Fact) -> None:
        self._digest.update(repr((type(fact).__name__, *map(_plain, fact))).encode())
        match fact:
            case PullIssued():
                pulls = self._pulls.setdefault(fact.pull.consumer, _Pulls())
                pulls.pulls.append(fact.pull)
                if pulls.lost is not None:
                    pulls.recovered = max(pulls.recovered, self._at - pulls.lost)
                    pulls.lost = None
            case PullEnded():
                code, _, text = fact.pull.status.partition(" ")
                self._statuses[int(code), text, int(self._at // _HOUR)] += 1
                if fact.row.end is not EndReason.EXPIRED and fact.pull.consumer in self._pulls:
                    self._pulls[fact.pull.consumer].lost = self._at
            case Silence():
                pulls = self._pulls.setdefault(fact.pull.consumer, _Pulls())
                pulls.silent += 1
                pulls.lost = self._at if pulls.lost is None else pulls.lost
            case NoPull():
                self._pulls.setdefault(fact.pull.consumer, _Pulls())
            case Acked():
                self._acked(fact)
            case _:
                pass

    def _acked(self, fact: Acked) -> None:
        body = fact.command.payload
        verb = next((name for start, name in _VERBS if body.startswith(start)), "ack")
        self._acks[verb] += 1
        try:
            self._acks["redelivered"] += AckSubject.parse(fact.command.subject).num_delivered > 1
        except InvalidAckSubject:
            return
        heard = None if fact.delivery is None else self._lines.get(fact.delivery.line)
        if heard is not None and verb != "in_progress":
            self._latencies.append(self._at - heard)


def violation(finding: Finding) -> dict[str, Any]:
    """A finding as a table row."""
    return {
        "rule": finding.rule,
        "clause": finding.clause,
        "severity": finding.severity.value.lower(),
        "line": finding.line,
        "t_ns": round(finding.at * 1_000_000_000),
        "conn": finding.conn,
        "got": finding.words,
        "expected": finding.right,
    }


#: The rule of a finding that explains why a trace could not be judged.
UNREADABLE: Final = "trace-unreadable"


def unjudged(why: str) -> dict[str, Any]:
    """The tables of a trace that could not be judged: one finding with the reason."""
    told = {
        "rule": UNREADABLE,
        "clause": "",
        "severity": "error",
        "line": 0,
        "t_ns": 0,
        "conn": "",
        "got": why,
        "expected": "a trace",
    }
    return {**Judging().result(), "violations": [told]}


def judged(
    records: Iterable[tuple[int, Record]], client: str = "", version: str = ""
) -> dict[str, Any]:
    """Judge a whole trace, and return its tables."""
    judging = Judging(client, version)
    for line, record in records:
        judging.feed(line, record)
    return judging.result()


def _plain(part: object) -> object:
    """The decided part of a fact, without references to objects in memory."""
    match part:
        case SeenLink():
            return ("link", part.number, part.up, part.ready)
        case SeenSubscription():  # without its reader, which refers back to it
            return (
                part.sid,
                part.subject,
                part.queue,
                part.line,
                part.limit,
                part.got,
                part.active,
            )
        case SeenPull():
            end = None if part.end is None else part.end.value
            return (
                part.line,
                part.consumer,
                part.batch,
                part.max_bytes,
                part.got,
                part.size,
                end,
                part.status,
            )
        case Enum():
            return part.name
        case list() | tuple():
            return [_plain(each) for each in cast("Iterable[object]", part)]
        case set() | frozenset():  # their order differs between processes
            return sorted(repr(_plain(each)) for each in cast("Iterable[object]", part))
        case None | bool() | int() | float() | str() | bytes():
            return part
        case Mapping():
            return sorted(
                (str(name), repr(_plain(value)))
                for name, value in cast("Mapping[str, object]", part).items()
            )
        case _:
            names = [name for name in getattr(type(part), "__slots__", ()) if name[0] != "_"]
            return (type(part).__name__, [_plain(getattr(part, name)) for name in names])
