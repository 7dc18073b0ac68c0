"""Counts what a trace holds: commands, requests, statuses, and each pull with its fate."""

from __future__ import annotations

from collections import Counter
from typing import Final, final

from jsproto.trace.formats.recording import Record
from jsproto.trace.observe.facts import (
    Acked,
    ApiRequestSeen,
    ConnectSeen,
    Fact,
    FlowAnswered,
    MalformedSeen,
    Published,
    PubSeen,
    PullEnded,
    PullIssued,
    SubSeen,
    UnsubSeen,
    VerbSeen,
)
from jsproto.trace.observe.ledger import SeenPull, seconds
from jsproto.trace.observe.observer import Observer

#: Highest number of pulls whose fate is kept; the first of a trace.
MOST_PULLS: Final = 1000


@final
class Summary:
    """Counts of one trace for a reader.

    Attributes:
        commands: number of client commands by operation.
        statuses: number of statuses that ended pulls, by code and text.
        pulls: the first pulls, each with its current state.
    """

    __slots__ = ("asked", "at", "commands", "observer", "pulls", "records", "statuses")

    def __init__(self) -> None:
        self.observer = Observer(self._told)
        self.commands: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        self.pulls: list[SeenPull] = []
        self.records = 0
        self.at = 0.0

    def feed(self, line: int, record: Record) -> None:
        """Count one record."""
        self.records += 1
        self.at = record.at
        self.observer.feed(line, record)

    def _told(self, fact: Fact) -> None:
        match fact:
            case PubSeen():
                self.commands["PUB" if fact.command.block is None else "HPUB"] += 1
            case VerbSeen():
                self.commands[fact.command.value] += 1
            case SubSeen():
                self.commands["SUB"] += 1
            case UnsubSeen():
                self.commands["UNSUB"] += 1
            case ConnectSeen():
                self.commands["CONNECT"] += 1
            case MalformedSeen():
                self.commands["unreadable"] += 1
            case PullIssued():
                self.asked["pull"] += 1
                if len(self.pulls) < MOST_PULLS:
                    self.pulls.append(fact.pull)
            case PullEnded():
                self.statuses[fact.pull.status] += 1
            case ApiRequestSeen():
                self.asked[fact.request.verb or "unknown"] += 1
            case Acked():
                self.asked[
                    f"ack {fact.command.payload[:4].decode('utf-8', 'replace')}".rstrip()
                ] += 1
            case FlowAnswered():
                self.asked["flow control"] += 1
            case Published():
                self.asked["publish"] += 1
            case _:
                pass

    def as_json(self) -> dict[str, object]:
        """Give the summary as plain data."""
        return {
            "seconds": self.at,
            "records": self.records,
            "frames": self.observer.frames,
            "links": [
                {
                    "conn": link.conn,
                    "at": seconds(link.at),
                    "server": "" if link.info is None else link.info.version,
                    "client": f"{link.option('lang') or ''} {link.option('version') or ''}".strip(),
                }
                for link in self.observer.links
            ],
            "commands": dict(self.commands),
            "asked": dict(self.asked),
            "statuses": dict(self.statuses),
            "pulls": [
                {
                    "line": pull.line,
                    "at": seconds(pull.at),
                    "consumer": ".".join(pull.consumer),
                    "batch": pull.batch,
                    "max_bytes": pull.max_bytes,
                    "got": pull.got,
                    "fate": "OPEN" if pull.end is None else pull.end.value,
                    "status": pull.status,
                }
                for pull in self.pulls
            ],
        }
