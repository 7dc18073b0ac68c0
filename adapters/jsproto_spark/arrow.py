"""Runs of stored messages as Arrow record batches, column by column.

Theory. A run (`jsproto.jetstream.range_rows.Rows`) holds its messages as columns and reads each of them when it is asked for it first. So a
batch is made of lists, never of messages, and what no column wants is never read. Spark holds the first batch against its own Arrow
schema and wants it equal in names, types and nullability down to the names of nested fields, so the types are written out here.

Arrow wants UTF-8. Bytes in subjects and headers that are none are shown as U+FFFD; ``headers_raw`` and ``payload`` have them as they came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain
from typing import Final, TypeVar

import pyarrow as pa
from pyspark.sql.types import StructType

from jsproto.jetstream.range_rows import Rows
from jsproto_spark.columns import MAP, PAIRS, Asked, Column, Fact

T = TypeVar("T")

#: Rows of a batch. Fewer cost more steps, many more do not fit the processor's caches (measured: 1,000, 10,000, 50,000).
BATCH: Final = 10_000

_TEXTS: Final = pa.list_(pa.field("element", pa.string()))
_PAIR: Final = pa.struct([pa.field("name", pa.string()), pa.field("value", pa.string())])

#: The Arrow type for each type of a column, as Spark makes it.
TYPES: Final[dict[str, pa.DataType]] = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "int": pa.int32(),
    "binary": pa.binary(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    MAP: pa.map_(pa.field("key", pa.string(), nullable=False), pa.field("value", _TEXTS)),
    PAIRS: pa.list_(pa.field("element", _PAIR)),
}


def asked(schema: StructType) -> list[Asked]:
    """The columns that a schema of Spark asks for."""
    return [Asked(field.name, field.dataType.simpleString(), field.nullable) for field in schema.fields]


def arrow_schema(columns: Sequence[Column], schema: StructType) -> pa.Schema:
    """The Arrow schema of these columns, equal to the one that Spark makes of its own."""
    return pa.schema(
        [
            pa.field(column.name, TYPES[column.type], nullable=field.nullable)
            for column, field in zip(columns, schema.fields, strict=True)
        ]
    )


def batches(feed: Iterable[Rows], columns: Sequence[Column], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The runs of a feed as record batches of about `BATCH` rows."""
    held: list[Rows] = []
    count = 0
    for rows in feed:
        held.append(rows)
        count += len(rows)
        if count >= BATCH:
            yield record_batch(held, columns, schema)
            held, count = [], 0
    if held:
        yield record_batch(held, columns, schema)


def record_batch(held: Sequence[Rows], columns: Sequence[Column], schema: pa.Schema) -> pa.RecordBatch:
    """Some runs as one record batch."""
    return pa.RecordBatch.from_arrays([_array(column, held) for column in columns], schema=schema)


def _array(column: Column, held: Sequence[Rows]) -> pa.Array:
    kind = TYPES[column.type]
    match column.fact:
        case Fact.SUBJECT:
            return _texts(_flat(held, lambda rows: rows.subjects))
        case Fact.SEQUENCE:
            return pa.array(_flat(held, lambda rows: rows.sequences), kind)
        case Fact.TIME_NS:
            return pa.array(_flat(held, lambda rows: rows.timestamps), kind)
        case Fact.TIME_US:
            exact = pa.array(_flat(held, lambda rows: rows.timestamps), pa.int64())
            return exact.cast(pa.timestamp("ns", tz="UTC")).cast(kind, safe=False)
        case Fact.PAYLOAD:
            return pa.array(_flat(held, lambda rows: rows.payloads), kind)
        case Fact.HEADERS_RAW:
            return pa.array(_flat(held, lambda rows: rows.blocks), kind)
        case Fact.HEADERS_MAP:
            return _map(_flat(held, lambda rows: rows.headers))
        case Fact.HEADERS_PAIRS:
            return _pairs(_flat(held, lambda rows: rows.headers))
        case Fact.STREAM:
            return _constant(held, kind, lambda rows: rows.stream)
        case Fact.DOMAIN:
            return _constant(held, kind, lambda rows: rows.domain or None)
        case Fact.CONSUMER:
            return _constant(held, kind, lambda rows: rows.consumer)
        case Fact.CONSUMER_SEQUENCE:
            return _told(held, kind, lambda rows: rows.consumer_sequences)
        case Fact.DELIVERED:
            return _told(held, kind, lambda rows: rows.deliveries)
        case Fact.PENDING:
            return _told(held, kind, lambda rows: rows.pending)
        case Fact.REPLY:
            return _told(held, kind, lambda rows: rows.replies)
        case Fact.SIZE:
            return pa.array(_flat(held, _sizes), kind)


def _flat(held: Sequence[Rows], part: Callable[[Rows], Sequence[T]]) -> list[T]:
    return list(chain.from_iterable(map(part, held)))


def _told(
    held: Sequence[Rows], kind: pa.DataType, part: Callable[[Rows], Sequence[object] | None]
) -> pa.Array:
    """What only a delivery tells: NULL for messages that came by direct get."""
    return pa.array(_flat(held, lambda rows: part(rows) or [None] * len(rows)), kind)


def _constant(held: Sequence[Rows], kind: pa.DataType, part: Callable[[Rows], str | None]) -> pa.Array:
    """What is the same for a whole run."""
    values = [part(rows) for rows in held]
    if len(set(values)) == 1:
        return pa.repeat(pa.scalar(values[0], kind), sum(map(len, held)))
    return pa.array([value for value, rows in zip(values, held, strict=True) for _ in range(len(rows))], kind)


def _sizes(rows: Rows) -> list[int]:
    return [
        len(subject.encode("utf-8", "surrogateescape")) + len(block or b"") + len(payload)
        for subject, block, payload in zip(rows.subjects, rows.blocks, rows.payloads, strict=True)
    ]


def _texts(texts: list[str]) -> pa.Array:
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError:
        return pa.array([_shown(text) for text in texts], pa.string())


def _shown(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _offsets(counts: Sequence[int]) -> pa.Array:
    """Where each list begins; one without anything in it is NULL, as its beginning is."""
    begins = list(accumulate(counts, initial=0))
    if 0 in counts:
        return pa.array(
            [None if not count else begin for begin, count in zip(begins, (*counts, 1), strict=True)],
            pa.int32(),
        )
    return pa.array(begins, pa.int32())


def _pairs(messages: list[tuple[tuple[str, str], ...]]) -> pa.Array:
    flat = list(chain.from_iterable(messages))
    pairs = pa.StructArray.from_arrays(
        [_texts([name for name, _ in flat]), _texts([value for _, value in flat])], fields=list(_PAIR)
    )
    return pa.ListArray.from_arrays(_offsets([len(pairs) for pairs in messages]), pairs, type=TYPES[PAIRS])


def _map(messages: list[tuple[tuple[str, str], ...]]) -> pa.Array:
    flat = list(chain.from_iterable(messages))
    names = [name for name, _ in flat]
    values = [value for _, value in flat]
    counts = list(map(len, messages))
    begins: Sequence[int] = range(len(names) + 1)
    if not _alike(names, counts):
        names, values, counts, begins = _grouped(messages)
    lists = pa.ListArray.from_arrays(pa.array(begins, pa.int32()), _texts(values), type=_TEXTS)
    return pa.MapArray.from_arrays(_offsets(counts), _texts(names), lists, type=TYPES[MAP])


def _alike(names: list[str], counts: list[int]) -> bool:
    """Whether all messages have the same names in the same order, each once: what one publisher writes."""
    width = counts[0]
    first = names[:width]
    same = counts.count(width) == len(counts) and names == first * len(counts)
    return same and len(set(first)) == width


def _grouped(
    messages: list[tuple[tuple[str, str], ...]],
) -> tuple[list[str], list[str], list[int], list[int]]:
    """All names of each message once, all values in the order of the names, how many names each message has, and where the values of each name begin."""
    names: list[str] = []
    values: list[str] = []
    counts: list[int] = []
    repeated: list[int] = []
    for pairs in messages:
        grouped: dict[str, list[str]] = {}
        for name, value in pairs:
            grouped.setdefault(name, []).append(value)
        names += grouped
        values += chain.from_iterable(grouped.values())
        repeated += map(len, grouped.values())
        counts.append(len(grouped))
    return names, values, counts, list(accumulate(repeated, initial=0))
