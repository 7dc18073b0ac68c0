"""Judges traces while they are being recorded: a stream of pieces in, findings out.

    pieces = spark.readStream.format("jetstream").options(servers=..., stream="TRACES").load()
    findings = watch(pieces)
    findings.writeStream.format("console").start()

Theory. Each subject is one trace in the format ``.trace``, published in pieces in order. A piece
may begin and end anywhere. Spark's state keeps the state of a trace's judge between two pieces
(`jsproto.trace.judge.judge_state`). So memory does not depend on the length of a trace, and a query
that restarts continues in the middle. A trace that becomes unreadable gives one finding of the rule
``trace-unreadable``, and is then ignored.

The state needs a state store with column families: set
``spark.sql.streaming.stateStore.providerClass`` to `STORE`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, cast

from attrs import frozen
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - the usual name in Spark code
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from jsproto.errors import LocalProtocolError
from jsproto.trace.formats import format as own
from jsproto.trace.formats.reading import MOST_LINE, lines_of, text_of
from jsproto.trace.judge.judge_state import kept, taken_up
from jsproto.trace.judge.lint import Finding, Lint
from jsproto.trace.judge.rules.table import Severity
from jsproto_spark.corpus.judging import UNREADABLE, violation

#: The required state store.
STORE: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
#: The columns of a finding.
FOUND: Final = (
    "trace_id string, rule string, clause string, severity string, line bigint, t_ns bigint, "
    "conn string, got string, expected string"
)
_STATE: Final = "memory binary, at double, hidden bigint, line bigint, rest binary"


@frozen(kw_only=True)
class Memory:
    """The state of a trace between two pieces.

    Attributes:
        judge: the serialized judge; empty once the trace is unreadable.
        at: the clock of the trace in seconds.
        hidden: hidden bytes that may still come.
        line: number of lines read.
        rest: the beginning of an unfinished line.
    """

    judge: bytes = kept(Lint())
    at: float = 0.0
    hidden: int = own.MOST_HIDDEN
    line: int = 0
    rest: bytes = b""

    def after(self, pieces: Iterable[bytes]) -> tuple[Memory, list[dict[str, Any]]]:
        """The state after more pieces, and the findings in them."""
        if not self.judge:
            return self, []
        judge, reader = taken_up(self.judge), own.LineReader(self.hidden, self.at)
        found: list[dict[str, Any]] = []
        number = self.line
        lines = list(lines_of(self.rest + b"".join(pieces)))
        rest = lines.pop() if lines and lines[-1][-1:] != b"\n" else b""
        try:
            for line in lines:
                number += 1
                record = _record(reader, text_of(line), number)
                if record is not None:
                    found += map(violation, judge.feed(number, record))
            _short(rest)
        except (LocalProtocolError, ValueError, RecursionError) as error:
            found.append(violation(_unreadable(number, reader.at, error)))
            return Memory(judge=b"", line=number), found
        return Memory(
            judge=kept(judge), at=reader.at, hidden=reader.left, line=number, rest=rest
        ), found


def watch(pieces: DataFrame) -> DataFrame:
    """The findings in traces that come in pieces.

    Args:
        pieces: a stream with ``subject`` (the trace), ``sequence`` (the order) and ``payload``,
            as from the source ``jetstream``.
    """
    return (
        pieces.select(F.col("subject").alias("trace_id"), "sequence", "payload")
        .groupBy("trace_id")
        .transformWithState(_Watcher(), FOUND, "Append", "None")
    )


class _Watcher(StatefulProcessor):
    """One judge for each trace."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        self._state: Any = handle.getValueState("judge", _STATE)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803 - Spark's names
        """Judge pieces of one trace."""
        pieces = [
            bytes(row["payload"]) for row in sorted(rows, key=lambda row: int(row["sequence"]))
        ]
        known = cast("tuple[Any, ...] | None", self._state.get())
        memory, found = (Memory() if known is None else _memory(*known)).after(pieces)
        self._state.update((memory.judge, memory.at, memory.hidden, memory.line, memory.rest))
        for each in found:
            yield Row(trace_id=key[0], **each)

    def close(self) -> None:
        """Nothing to close."""


def _memory(judge: bytes, at: float, hidden: int, line: int, rest: bytes) -> Memory:
    return Memory(judge=bytes(judge), at=at, hidden=hidden, line=line, rest=bytes(rest))


def _record(reader: own.LineReader, line: bytes, number: int) -> Any:
    if number == 1:
        if line != own.FIRST_LINE.encode():
            raise LocalProtocolError(f"expected {own.FIRST_LINE}, got {line[:64]!r}")
        return None
    return None if line[:2] == b": " else reader.read(line)


def _short(line: bytes) -> None:
    if len(line) > MOST_LINE:
        raise LocalProtocolError(f"expected lines of at most {MOST_LINE} bytes")


def _unreadable(line: int, at: float, error: Exception) -> Finding:
    right = f"lines of {own.FIRST_LINE}"
    return Finding(
        rule=UNREADABLE,
        severity=Severity.ERROR,
        clause="",
        line=line,
        at=at,
        conn="",
        words=str(error),
        right=right,
    )
