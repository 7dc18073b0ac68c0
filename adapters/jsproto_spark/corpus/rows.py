"""The format of a corpus: one row per trace, in Parquet or in any other table of Spark.

Theory. A trace is judged whole and in order. So one row per trace is the cheapest format: its
records are an array in the row. A record keeps what it had in the file: line, time, direction and
bytes. Nothing is interpreted, and redacted parts stay redacted.

The columns ``client``, ``client_version`` and ``server_version`` are those of the first link, for
grouping. The judge uses only the records.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

import pyarrow as pa

from jsproto.jetstream.api.timestamps import INT64_MAX
from jsproto.trace.formats.reading import Trace, TraceError
from jsproto.trace.formats.recording import Happened, Received, Record, Sent, Waited, Wished
from jsproto.trace.observe.client import json_object

#: One record. ``dir`` is its sign in the format (``<`` ``>`` ``!`` ``=``, and ``@`` for a wait),
#: ``kind`` the name of a verb or event. ``data`` holds the bytes, or the JSON arguments of a verb
#: or event.
EVENT: Final = pa.struct(
    [
        pa.field("line", pa.int32()),
        pa.field("t_ns", pa.int64()),
        pa.field("dir", pa.string()),
        pa.field("conn", pa.string()),
        pa.field("kind", pa.string()),
        pa.field("data", pa.binary()),
        pa.field("size", pa.int32()),
    ]
)
SCHEMA: Final = pa.schema(
    [
        pa.field("trace_id", pa.string()),
        pa.field("client", pa.string()),
        pa.field("client_version", pa.string()),
        pa.field("server_version", pa.string()),
        pa.field("scenario", pa.string()),
        pa.field("started", pa.string()),
        pa.field("truncated", pa.bool_()),
        pa.field("error", pa.string()),
        pa.field("ev", pa.list_(EVENT)),
    ]
)

#: One row, as Arrow returns and accepts it.
Row = Mapping[str, Any]

_CONNECT: Final = re.compile(rb"(?i)CONNECT[ \t]+(\{.*?\})[ \t]*\r\n", re.DOTALL).search


def row_of(trace_id: str, lines: Iterable[bytes]) -> dict[str, Any]:
    """Make the row of a trace from its lines.

    A trace that breaks off is ``truncated``, and ``error`` contains the reason.
    """
    about: Mapping[str, str] = {}
    events: list[dict[str, Any]] = []
    error = ""
    said: Mapping[str, object] = {}
    try:
        trace = Trace(lines)
        about = trace.about
        for line, record in trace.records():
            events.append(_event(line, record))
            if (
                not said
                and isinstance(record, Sent)
                and (found := _CONNECT(record.data)) is not None
            ):
                said = json_object(found[1]) or {}
    except TraceError as fault:
        error = f"line {fault.line}: {fault}"
    return {
        "trace_id": trace_id,
        "client": str(said.get("lang", about.get("client", ""))),
        "client_version": str(said.get("version", about.get("client_version", ""))),
        "server_version": about.get("server_version", ""),
        "scenario": about.get("scenario", ""),
        "started": about.get("started", ""),
        "truncated": bool(error),
        "error": error,
        "ev": events,
    }


def records_of(row: Row) -> Iterator[tuple[int, Record]]:
    """The records of a row, each with its line number."""
    events: Sequence[Row] = row["ev"] or ()
    for event in events:
        yield event["line"], _record(event)


def batch_of(found: Sequence[Row], schema: pa.Schema) -> pa.RecordBatch:
    """Make a batch of rows.

    Values that Arrow cannot hold (lone surrogates, more than 64 bits) are converted.
    """
    try:
        return pa.RecordBatch.from_pylist(list(found), schema=schema)
    except (ValueError, OverflowError):
        return pa.RecordBatch.from_pylist([_held(row) for row in found], schema=schema)


def _held(value: object) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case int() if not isinstance(value, bool):
            return max(-INT64_MAX, min(value, INT64_MAX))
        case list():
            return [_held(each) for each in cast("list[object]", value)]
        case dict():
            return {name: _held(each) for name, each in cast("dict[str, object]", value).items()}
        case _:
            return value


def _event(line: int, record: Record) -> dict[str, Any]:
    match record:
        case Received():
            way, kind, data = "<", "", record.data
        case Sent():
            way, kind, data = ">", record.note, record.data
        case Waited():
            way, kind, data = "@", "", b""
        case Wished():
            way, kind, data = "!", record.name, json.dumps(record.detail, sort_keys=True).encode()
        case Happened():
            way, kind, data = "=", record.name, json.dumps(record.detail, sort_keys=True).encode()
    return {
        "line": line,
        "t_ns": round(record.at * 1_000_000_000),
        "dir": way,
        "conn": record.conn,
        "kind": kind,
        "data": data,
        "size": len(data),
    }


def _record(event: Row) -> Record:
    at, conn, data = event["t_ns"] / 1_000_000_000, event["conn"], event["data"]
    match event["dir"]:
        case "<":
            return Received(at=at, conn=conn, data=data)
        case ">":
            return Sent(at=at, conn=conn, data=data, note=event["kind"])
        case "!":
            return Wished(at=at, name=event["kind"], conn=conn, detail=json.loads(data))
        case "=":
            return Happened(at=at, name=event["kind"], conn=conn, detail=json.loads(data))
        case _:
            return Waited(at=at, conn=conn)
