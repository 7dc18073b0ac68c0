"""Runs of stored messages as Arrow record batches, column by column.

Theory. A run (`jsproto.jetstream.range_read.rows.Rows`) holds its messages as columns and reads
each of them when it is asked for it first. So a batch is made of lists, never of messages, and what
no column wants is never read; what reply subjects and headers say is read for all runs of a batch
at once where they are of one form (`jsproto_spark.read.bulk`). Spark holds the first batch against
its own Arrow schema and wants it equal in names, types and nullability down to the names of nested
fields, so the types are written out here.

Arrow wants UTF-8. Bytes in subjects and headers that are none are shown as U+FFFD; ``headers_raw``
and ``payload`` have them as they came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, chain
from typing import Final, TypeVar, final

import numpy as np
import pyarrow as pa
from pyspark.sql.types import StructType

from jsproto.jetstream.range_read.rows import Rows
from jsproto_spark.read import bulk
from jsproto_spark.read.columns import MAP, PAIRS, AskedColumns, Column, Fact

T = TypeVar("T")

#: Rows of a batch. Fewer cost more steps, many more do not fit the processor's caches (measured:
#: 1,000, 10,000, 50,000).
BATCH: Final = 10_000
#: Bytes of payload of a batch, for messages that are large: so much is held at once, and Arrow
#: counts to two gigabytes in a column.
BYTES: Final = 64 * 1024 * 1024

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


def asked(schema: StructType) -> list[AskedColumns]:
    """The columns that a schema of Spark asks for."""
    return [
        AskedColumns(field.name, field.dataType.simpleString(), field.nullable)
        for field in schema.fields
    ]


def arrow_schema(columns: Sequence[Column], schema: StructType) -> pa.Schema:
    """The Arrow schema of these columns, equal to the one that Spark makes of its own."""
    return pa.schema(
        [
            pa.field(column.name, TYPES[column.type], nullable=field.nullable)
            for column, field in zip(columns, schema.fields, strict=True)
        ]
    )


def batches(
    feed: Iterable[Rows], columns: Sequence[Column], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The runs of a feed as record batches of about `BATCH` rows, or fewer if they have `BYTES` of
    payload.
    """
    held: list[Rows] = []
    count = size = 0
    for rows in feed:
        held.append(rows)
        count += len(rows)
        size += sum(map(len, rows.payloads))
        if count >= BATCH or size >= BYTES:
            yield record_batch(held, columns, schema)
            held, count, size = [], 0, 0
    if held:
        yield record_batch(held, columns, schema)


def record_batch(
    held: Sequence[Rows], columns: Sequence[Column], schema: pa.Schema
) -> pa.RecordBatch:
    """Some runs as one record batch."""
    runs = _Runs(held)
    return pa.RecordBatch.from_arrays([_array(column, runs) for column in columns], schema=schema)


@final
class _Runs:
    """The runs of a batch together; what Arrow can read for all of them at once is read once."""

    def __init__(self, held: Sequence[Rows]) -> None:
        self.held = held

    def flat(self, part: Callable[[Rows], Sequence[T]]) -> list[T]:
        """Something of each message."""
        return list(chain.from_iterable(map(part, self.held)))

    def told(self, part: Callable[[Rows], Sequence[T] | None]) -> list[T | None]:
        """What only a delivery tells: NULL for messages that came by direct get."""
        return self.flat(lambda rows: part(rows) or [None] * len(rows))

    def number(
        self, name: str, kind: pa.DataType, part: Callable[[Rows], Sequence[int] | None]
    ) -> pa.Array:
        """One of `bulk.NUMBERS`, else what the core reads for it."""
        if self._numbers is None:
            return pa.array(self.told(part), kind)
        return self._numbers.column(name).combine_chunks().cast(kind)

    @cached_property
    def _numbers(self) -> pa.Table | None:
        told = [replies for replies in (rows.replies for rows in self.held) if replies is not None]
        return (
            bulk.numbers(list(chain.from_iterable(told))) if len(told) == len(self.held) else None
        )

    def constant(self, kind: pa.DataType, part: Callable[[Rows], str | None]) -> pa.Array:
        """What is the same for a whole run."""
        values = [part(rows) for rows in self.held]
        if len(set(values)) == 1:
            return pa.repeat(pa.scalar(values[0], kind), sum(map(len, self.held)))
        return pa.array(
            [
                value
                for value, rows in zip(values, self.held, strict=True)
                for _ in range(len(rows))
            ],
            kind,
        )


def _array(column: Column, runs: _Runs) -> pa.Array:
    kind = TYPES[column.type]
    match column.fact:
        case Fact.SUBJECT:
            return _texts(runs.flat(lambda rows: rows.subjects))
        case Fact.SEQUENCE:
            return runs.number("stream_sequence", kind, lambda rows: rows.sequences)
        case Fact.TIME_NS:
            return runs.number("timestamp_ns", kind, lambda rows: rows.timestamps)
        case Fact.TIME_US:
            exact = runs.number("timestamp_ns", pa.int64(), lambda rows: rows.timestamps)
            return exact.cast(pa.timestamp("ns", tz="UTC")).cast(kind, safe=False)
        case Fact.PAYLOAD:
            return pa.array(runs.flat(lambda rows: rows.payloads), kind)
        case Fact.HEADERS_RAW:
            return pa.array(runs.flat(lambda rows: rows.blocks), kind)
        case Fact.HEADERS_MAP:
            return _map(runs)
        case Fact.HEADERS_PAIRS:
            return _pairs(runs.flat(lambda rows: rows.headers))
        case Fact.STREAM:
            return runs.constant(kind, lambda rows: rows.stream)
        case Fact.DOMAIN:
            return runs.constant(kind, lambda rows: rows.domain or None)
        case Fact.CONSUMER:
            return runs.constant(kind, lambda rows: rows.consumer)
        case Fact.CONSUMER_SEQUENCE:
            return runs.number("consumer_sequence", kind, lambda rows: rows.consumer_sequences)
        case Fact.DELIVERED:
            return runs.number("num_delivered", kind, lambda rows: rows.deliveries)
        case Fact.PENDING:
            return runs.number("num_pending", kind, lambda rows: rows.pending)
        case Fact.REPLY:
            return pa.array(runs.told(lambda rows: rows.replies), kind)
        case Fact.SIZE:
            return pa.array(runs.flat(_sizes), kind)


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
            [
                None if not count else begin
                for begin, count in zip(begins, (*counts, 1), strict=True)
            ],
            pa.int32(),
        )
    return pa.array(begins, pa.int32())


def _pairs(messages: list[tuple[tuple[str, str], ...]]) -> pa.Array:
    flat = list(chain.from_iterable(messages))
    pairs = pa.StructArray.from_arrays(
        [_texts([name for name, _ in flat]), _texts([value for _, value in flat])],
        fields=list(_PAIR),
    )
    return pa.ListArray.from_arrays(
        _offsets([len(pairs) for pairs in messages]), pairs, type=TYPES[PAIRS]
    )


def _map(runs: _Runs) -> pa.Array:
    found = bulk.headers(runs.flat(lambda rows: rows.blocks))
    if found is not None and len(set(found[0])) == len(found[0]):
        once, values = found
        every = np.arange(len(values) + 1, dtype=np.int32)
        names = pa.array(once, pa.string()).take(pa.array(every[:-1] % len(once)))
        begins, ends = pa.array(every), pa.array(every[:: len(once)])
    else:
        all_names, all_values, counts, repeated = _grouped(runs.flat(lambda rows: rows.headers))
        names, values = _texts(all_names), _texts(all_values)
        begins, ends = pa.array(repeated, pa.int32()), _offsets(counts)
    lists = pa.ListArray.from_arrays(begins, values, type=_TEXTS)
    return pa.MapArray.from_arrays(ends, names, lists, type=TYPES[MAP])


def _grouped(
    messages: list[tuple[tuple[str, str], ...]],
) -> tuple[list[str], list[str], list[int], list[int]]:
    """All names of each message once, all values in the order of the names, how many names each
    message has, and where the values of each name begin.
    """
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
