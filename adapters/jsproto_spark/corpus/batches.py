"""Converts batches of traces to batches of results, without Spark: the work of every task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyarrow as pa

from jsproto.errors.tree import shorten
from jsproto_spark.corpus import rows
from jsproto_spark.corpus.judging import judged, unjudged

#: The most traces of one Arrow batch: a trace may be large, and a whole batch is in memory.
TRACES: Final = 64

_TEXT: Final = pa.string()
_COUNT: Final = pa.int64()
_NUMBER: Final = pa.float64()


def _row(**columns: pa.DataType) -> pa.DataType:
    return pa.struct([pa.field(name, kind) for name, kind in columns.items()])


_VIOLATION: Final = _row(
    rule=_TEXT,
    clause=_TEXT,
    severity=_TEXT,
    line=_COUNT,
    t_ns=_COUNT,
    conn=_TEXT,
    got=_TEXT,
    expected=_TEXT,
)
_STATUS: Final = _row(
    code=_COUNT, description=_TEXT, client=_TEXT, version=_TEXT, hour=_COUNT, n=_COUNT
)
_PULLS: Final = _row(
    stream=_TEXT, consumer=_TEXT, pulls=_COUNT, requested=_COUNT, delivered=_COUNT, wasted=_COUNT,
    expired=_COUNT, drift=_COUNT, heartbeats_missed=_COUNT, recovery_ms=_NUMBER,
)  # fmt: skip
_ACKS: Final = _row(
    p50_ms=_NUMBER, p95_ms=_NUMBER, p99_ms=_NUMBER, ack=_COUNT, nak=_COUNT, term=_COUNT,
    in_progress=_COUNT, next=_COUNT, redelivered=_COUNT,
)  # fmt: skip
_REPLAY: Final = _row(
    core_version=_TEXT, decision_hash=_TEXT, frames=_COUNT, commands=_COUNT, unreadable=_COUNT
)
#: The result of `judge` for one trace.
JUDGED: Final = pa.schema(
    [
        pa.field("trace_id", pa.string()),
        pa.field("violations", pa.list_(_VIOLATION)),
        pa.field("statuses", pa.list_(_STATUS)),
        pa.field("pulls", pa.list_(_PULLS)),
        pa.field("acks", _ACKS),
        pa.field("replay", _REPLAY),
    ]
)


def judged_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Judge batches of traces."""
    for batch in batches:
        for start in range(0, batch.num_rows, TRACES):
            found = [_judged(row) for row in batch.slice(start, TRACES).to_pylist()]
            yield rows.batch_of(found, JUDGED)


def _judged(row: rows.Row) -> dict[str, Any]:
    """Judge one trace.

    If the judge fails, only this trace's row is affected, and it contains the reason.
    """
    try:
        found = judged(rows.records_of(row), row["client"] or "", row["client_version"] or "")
    except Exception as error:  # noqa: BLE001 - one bad trace must not stop the others
        found = unjudged(f"{type(error).__name__}: {shorten(str(error))}")
    return {"trace_id": row["trace_id"], **found}


def ddl(kind: pa.DataType) -> str:
    """An Arrow type in the notation of Spark's SQL."""
    if isinstance(kind, pa.StructType):
        return f"struct<{', '.join(f'`{field.name}`: {ddl(field.type)}' for field in kind)}>"
    if isinstance(kind, pa.ListType):
        return f"array<{ddl(kind.value_type)}>"
    return _DDL[kind]


def columns(schema: pa.Schema) -> str:
    """A schema in the notation of Spark's SQL."""
    return ", ".join(f"`{field.name}` {ddl(field.type)}" for field in schema)


_DDL: Final = {
    pa.string(): "string",
    pa.binary(): "binary",
    pa.bool_(): "boolean",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float64(): "double",
}
