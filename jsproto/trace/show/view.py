"""Prepares a trace for a page: a row for each frame with the status after it, pulls, and findings.

Theory. The judge reads the trace frame by frame, so each of its findings belongs to one row. The
output is plain data for a page that knows nothing of the protocol: this module makes words, fields
and names. Bytes are shown as in the format ``.trace`` (`jsproto.trace.formats.redaction`), so a
view holds no secret.

The number of rows is bounded. Records before the first wanted line are read but not shown, so the
middle of a long trace has the right status.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, final

from attrs import Factory, define

from jsproto.trace.formats.format import escaped
from jsproto.trace.formats.framing import Framer, Piece, server_reader
from jsproto.trace.formats.recording import INNER, Happened, Received, Record, Sent, Wished
from jsproto.trace.formats.redaction import Keep, shown
from jsproto.trace.formats.writing import ENDS
from jsproto.trace.judge.lint import RULES, Lint
from jsproto.trace.observe.client import number
from jsproto.trace.observe.deliveries import SETTLING
from jsproto.trace.observe.facts import (
    Acked,
    ConnectSeen,
    Fact,
    FlowAnswered,
    MalformedSeen,
    PubSeen,
    PullEnded,
    SubSeen,
    UnsubSeen,
    VerbSeen,
)
from jsproto.trace.observe.ledger import ConsumerKey, bound, seconds
from jsproto.trace.show.describe import Meaning, Value, command_meaning, delivered_as, frame_meaning
from jsproto.trace.show.ladder import command_words, frame_words
from jsproto.trace.show.subscription_status import Standings
from jsproto.trace.show.table import Table
from jsproto.wire.client_commands import ClientCommand, ClientVerb, PubLine
from jsproto.wire.frames import Control, Frame
from jsproto.wire.parser import Parser

FORMAT: Final = "jsproto-view/1"
#: Highest number of rows in one view.
MOST_ROWS: Final = 200_000

_UNREADABLE: Final = Meaning("unreadable", {})
_RULES: Final = {rule.name: rule for rule in RULES}


@define(eq=False)
class _Wire:
    """The framers and the parser of one link."""

    server: Framer = Factory(Framer)
    client: Framer = Factory(Framer)
    reader: Parser = Factory(server_reader)


@final
class Viewing:
    """Reads one trace and builds its view.

    Args:
        keep: how much of the users' data is shown; secrets of CONNECT never are.
        first: first line of the trace that is shown.
        last: last line that is shown; ``None`` for the end.

    Attributes:
        table: the rows.
        left_out: number of rows that did not fit.
    """

    __slots__ = (
        "_asked",
        "_command",
        "_consumer",
        "_findings",
        "_keep",
        "_lines",
        "_lint",
        "_now",
        "_pair",
        "_said",
        "_standings",
        "_unacked",
        "_wires",
        "left_out",
        "table",
    )

    def __init__(self, keep: Keep = Keep.FULL, first: int = 1, last: int | None = None) -> None:
        self.table = Table()
        self.left_out = 0
        self._keep = keep
        self._lines = (first, last)
        self._lint = Lint(self._hear)
        self._standings = Standings()
        self._wires: dict[str, _Wire] = {}
        self._findings: list[tuple[int, str, str]] = []
        #: Line, row and time of the current record. A record that is not shown has the row of the
        #: next one that is.
        self._now: tuple[int, int, float] = (0, 0, 0.0)
        #: The command in the current frame, as the Observer reported it.
        self._command: ClientCommand | None = None
        #: The row that the current frame answers. Then rows that wait for an answer, by connection
        #: and reply subject (for a PONG, by the direction that it comes from).
        self._pair = -1
        self._asked: dict[tuple[str, str], int] = {}
        #: Rows of deliveries without an ack, by connection and ack subject.
        self._unacked: dict[tuple[str, str], int] = {}
        #: Consumer of the current delivery.
        self._consumer: ConsumerKey | None = None
        self._said: dict[str, Value] = {}

    def feed(self, line: int, record: Record) -> None:
        """Read one record, found in this line."""
        if isinstance(record, Received | Sent):
            wire = self._wires.get(record.conn)
            if wire is None:
                wire = self._wires[record.conn] = _Wire()
            received = isinstance(record, Received)
            for piece in (wire.server if received else wire.client).feed(record.data):
                frames = wire.reader.feed(b"".join(piece)) if received and piece.line else []
                self._frame(line, record, piece, frames[0] if frames else None)
            return
        if isinstance(record, Happened) and record.name in ENDS:
            self._ended(line, record.at, record.conn)
        self._move(line, record.at)
        found = self._judged(record)
        match record:
            case Wished():
                self._beside("!", "verb", record)
            case Happened() if record.name not in INNER:
                self._beside("=", "link" if record.name in ENDS else "event", record)
            case _ if found:
                self._row(record.conn, ".", "time passes", Meaning("time", {}))
            case _:
                pass

    def finish(self) -> None:
        """End the trace."""
        line, _, at = self._now
        for conn in list(self._wires):
            self._ended(line, at, conn)
        self._standings.finish(len(self.table), at)
        self.table.pack()

    def as_json(self, name: str, about: Mapping[str, str]) -> dict[str, object]:
        """Give the view as plain data, without the blocks of its table. Call `finish` first.

        Args:
            name: name of the trace.
            about: description of the trace, from its first lines.
        """
        counted = self._lint.counted
        return {
            "format": FORMAT,
            "name": name,
            "about": dict(about),
            "seconds": self._now[2],
            "left_out": self.left_out,
            "links": [
                {
                    "conn": link.conn,
                    "at": seconds(link.at),
                    "server": "" if link.info is None else link.info.version,
                    "client": f"{link.option('lang') or ''} {link.option('version') or ''}".strip(),
                }
                for link in self._lint.observer.links
            ],
            "findings": [each for each in self._findings if 0 <= each[0] < len(self.table)],
            "rules": {
                rule: {
                    "severity": _RULES[rule].severity.value.lower(),
                    "clause": _RULES[rule].clause,
                    "right": _RULES[rule].right,
                    "counted": count,
                }
                for rule, count in counted.most_common()
            },
            "limits": self._limits(),
            "pulls": self._standings.as_json(len(self.table)),
            **self.table.as_json(),
        }

    def _limits(self) -> dict[str, int]:
        """The highest number of unsettled deliveries of each consumer.

        Only consumers with such a limit and a known configuration are listed.
        """
        limits = {
            ".".join(key): number(consumer.config, "max_ack_pending")
            for key, consumer in self._lint.observer.consumers.items()
        }
        return {name: limit for name, limit in limits.items() if limit > 0}

    # -------------------------------------------------------------------------------------- records

    def _frame(self, line: int, record: Received | Sent, piece: Piece, frame: Frame | None) -> None:
        """Show a frame of either direction; ``frame`` is a server frame, if it can be read."""
        conn, data = record.conn, b"".join(piece)
        self._move(line, record.at)
        if isinstance(frame, tuple):
            self._answers(conn, frame[1])
        self._judged(type(record)(at=record.at, conn=conn, data=data))
        if frame is Control.PONG:
            self._pair = self._asked.pop((conn, "<"), -1)
        elif frame is Control.PING:
            self._asked.setdefault((conn, ">"), self._now[1])
        way, words, meaning, sid = (
            "<" if isinstance(record, Received) else ">",
            "unreadable",
            _UNREADABLE,
            "",
        )
        if frame is not None:
            words, meaning = frame_words(frame), frame_meaning(frame)
        elif self._command is not None:
            words, meaning = command_words(self._command), command_meaning(self._command)
        if isinstance(frame, tuple):
            sid = frame[0]
            self._delivered(conn, frame[2])
        self._row(conn, way, words, meaning, sid=sid, size=len(data), text=shown(piece, self._keep))

    def _beside(self, way: str, kind: str, record: Happened | Wished) -> None:
        detail = " ".join(f"{name}={value}" for name, value in record.detail.items())
        text = escaped(json.dumps(dict(record.detail)).encode()) if record.detail else ""
        self._row(
            record.conn, way, f"{record.name} {detail}".rstrip(), Meaning(kind, {}), text=text
        )

    def _ended(self, line: int, at: float, conn: str) -> None:
        """End the link of a connection, and show a frame that it left unfinished."""
        wire = self._wires.pop(conn, None)
        for way in "<>":
            self._asked.pop((conn, way), None)
        for way, framer in () if wire is None else (("<", wire.server), (">", wire.client)):
            left = framer.rest()
            if left:
                self._move(line, at)
                self._row(
                    conn, way, f"{left} bytes of a frame that never became whole", _UNREADABLE
                )

    # -------------------------------------------------------------------------------------- one row

    def _move(self, line: int, at: float) -> None:
        """Move to a record of this line, which gets the next row if it has one."""
        row = -1 if line < self._lines[0] else len(self.table)
        self._now = (line, row, at)
        self._command = None
        self._consumer = None
        self._pair = -1
        self._said = {}

    def _judged(self, record: Record) -> bool:
        """Let the judge read the record; whether it has a finding."""
        line, row, _ = self._now
        found = self._lint.feed(line, record)
        self._findings += [(row, each.rule, each.words) for each in found]
        return bool(found)

    def _row(
        self,
        conn: str,
        way: str,
        words: str,
        meaning: Meaning,
        *,
        sid: str = "",
        size: int = 0,
        text: str = "",
    ) -> None:
        line, row, at = self._now
        link = self._lint.observer.link(conn)
        standing, pull = None, -1
        if link is not None:
            changed = self._lint.observer.changed
            standing, pull = self._standings.after(
                link, sid, row, at, changed=changed, consumer=self._consumer
            )
        if row < 0 or (self._lines[1] is not None and line > self._lines[1]):
            return
        if row >= MOST_ROWS:
            self.left_out += 1
            return
        self.table.add(
            line=line,
            at=at,
            conn=conn,
            way=way,
            words=words,
            meaning=Meaning(meaning.kind, {**meaning.fields, **self._said}),
            size=size,
            text=text,
            standing=standing,
            pull=pull,
            pair=self._pair if self._pair < row else -1,
        )

    # ------------------------------------------------------------------------ what belongs together

    def _answers(self, conn: str, subject: str) -> None:
        """Find the row or line that a message of the server answers."""
        self._pair = self._asked.pop((conn, subject), -1)
        link = self._lint.observer.link(conn)
        asked = None if link is None else link.requests.get(subject) or link.publishes.get(subject)
        if asked is not None:
            self._said["answers line"] = asked.line

    def _delivered(self, conn: str, reply: str) -> None:
        about = delivered_as(reply)
        link = self._lint.observer.link(conn)
        if about is None or link is None:
            return
        _, row, at = self._now
        self._unacked[conn, reply] = row
        bound(self._unacked)
        key = self._consumer = (about.stream, about.consumer)
        consumer = self._lint.observer.consumers.get(key)
        if consumer is None or consumer.config.get("ack_policy") != "none":
            self._standings.delivered(link, row, at)

    def _spoken(self, conn: str, command: ClientCommand) -> None:
        """Find what a command of the client answers, and note an answer that it expects."""
        _, row, _ = self._now
        if command is ClientVerb.PING:
            self._asked.setdefault((conn, "<"), row)
        elif command is ClientVerb.PONG:
            self._pair = self._asked.pop((conn, ">"), -1)
        elif isinstance(command, PubLine):
            if not command.payload or command.payload.startswith(SETTLING):
                self._pair = self._unacked.pop((conn, command.subject), -1)
            if command.reply and ".CONSUMER.MSG.NEXT." not in command.subject:
                self._asked[conn, command.reply] = row
                bound(self._asked)

    def _hear(self, fact: Fact) -> None:
        _, row, at = self._now
        self._standings.hear(fact, row, at)
        match fact:
            case PubSeen() | VerbSeen() | SubSeen() | UnsubSeen() | ConnectSeen() | MalformedSeen():
                self._command = fact.command
                self._spoken(fact.link.conn, fact.command)
            case Acked():
                delivery = fact.delivery or fact.alike
                if delivery is not None:
                    self._said["delivered in line"] = delivery.line
            case FlowAnswered(mark=mark) if mark is not None:
                self._said["asked in line"] = mark.line
            case PullEnded(pull=pull, row=status):
                self._said["ends the pull of line"] = pull.line
                self._said["the pull is"] = "" if status.end is None else status.end.value
                self._said["note"] = status.note
            case _:
                pass
