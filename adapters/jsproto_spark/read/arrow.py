"""Converts runs of stored messages to Arrow record batches, column by column.

Theory. A run (`jsproto.jetstream.range_read.rows.Rows`) holds its messages as columns, and parses a
column at its first use. So a batch is made of lists, never of messages, and unused columns are not
parsed. Reply subjects and headers are parsed for all runs of a batch at once, if they have one form
(`jsproto_spark.read.bulk`). Spark compares the first batch with its own Arrow schema. The names,
types and nullability must be equal, down to the names of nested fields. So the types are defined
here in full.

Arrow requires UTF-8. Invalid bytes in subjects and headers become U+FFFD; ``headers_raw`` and
``payload`` keep the original bytes.
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

#: Rows of a batch. With fewer, there are more steps; many more do not fit the processor's caches
#: (measured: 1,000, 10,000, 50,000).
BATCH: Final = 10_000
#: The most bytes of payload of a batch, for large messages: it limits memory, and an Arrow column
#: holds at most two gigabytes.
BYTES: Final = 64 * 1024 * 1024

_TEXTS: Final = pa.list_(pa.field("element", pa.string()))
_PAIR: Final = pa.struct([pa.field("name", pa.string()), pa.field("value", pa.string())])

#: The Arrow type for each column type, as Spark makes it.
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
    """The columns that a Spark schema asks for."""
    return [
        AskedColumns(field.name, field.dataType.simpleString(), field.nullable)
        for field in schema.fields
    ]


def arrow_schema(columns: Sequence[Column], schema: StructType) -> pa.Schema:
    """The Arrow schema of these columns, equal to Spark's own."""
    return pa.schema(
        [
            pa.field(column.name, TYPES[column.type], nullable=field.nullable)
            for column, field in zip(columns, schema.fields, strict=True)
        ]
    )


def batches(
    feed: Iterable[Rows], columns: Sequence[Column], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The runs of a feed as record batches of about `BATCH` rows.

    A batch has fewer rows if they have `BYTES` of payload.
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
    """Convert some runs to one record batch."""
    runs = _Runs(held)
    return pa.RecordBatch.from_arrays([_array(column, runs) for column in columns], schema=schema)


@final
class _Runs:
    """The runs of a batch; what Arrow can parse for all runs at once is parsed once."""

    def __init__(self, held: Sequence[Rows]) -> None:
        self.held = held

    def flat(self, part: Callable[[Rows], Sequence[T]]) -> list[T]:
        """One value for each message."""
        return list(chain.from_iterable(map(part, self.held)))

    def told(self, part: Callable[[Rows], Sequence[T] | None]) -> list[T | None]:
        """Values from the reply subject: NULL for messages from direct gets."""
        return self.flat(lambda rows: part(rows) or [None] * len(rows))

    def number(
        self, name: str, kind: pa.DataType, part: Callable[[Rows], Sequence[int] | None]
    ) -> pa.Array:
        """One of `bulk.NUMBERS`, parsed in bulk if possible, else by the core."""
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
        """A value that is equal for all messages of a run."""
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
    """The start of each list; NULL for an empty list."""
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
    """Group headers by name.

    Returns:
        The distinct names of all messages, all values in the order of the names, the number of
        names of each message, and the start of the values of each name.
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
