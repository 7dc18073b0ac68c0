"""The columns of a stream's messages as a table, and the columns that a query asks for.

Theory. Spark's scan always returns every column of the schema. So users omit columns with
``.schema(...)``: any of these columns, in any order, each with its type. Unused columns are not
parsed: headers only for a headers column, reply subjects only for their columns. If a query uses
neither headers nor payloads, a consumer sends no payloads.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Final, final

from attrs import frozen

from jsproto.errors.tree import shorten
from jsproto_spark.errors import InvalidColumns, InvalidOption

MAP: Final = "map<string,array<string>>"
PAIRS: Final = "array<struct<name:string,value:string>>"


class Fact(Enum):
    """The part of a message that fills a column."""

    SUBJECT = "SUBJECT"
    SEQUENCE = "SEQUENCE"
    TIME_US = "TIME_US"
    TIME_NS = "TIME_NS"
    PAYLOAD = "PAYLOAD"
    HEADERS_MAP = "HEADERS_MAP"
    HEADERS_PAIRS = "HEADERS_PAIRS"
    HEADERS_RAW = "HEADERS_RAW"
    STREAM = "STREAM"
    DOMAIN = "DOMAIN"
    CONSUMER = "CONSUMER"
    CONSUMER_SEQUENCE = "CONSUMER_SEQUENCE"
    DELIVERED = "DELIVERED"
    PENDING = "PENDING"
    REPLY = "REPLY"
    SIZE = "SIZE"


@final
@frozen(kw_only=True)
class Column:
    """A row of the table.

    Attributes:
        name: the name in a schema.
        type: the type in Spark's notation.
        fact: what fills it.
        default: whether it is a default column.
        means: a description.
    """

    name: str
    type: str
    fact: Fact
    default: bool
    means: str


COLUMNS: Final[tuple[Column, ...]] = (
    Column(name="subject", type="string", fact=Fact.SUBJECT, default=True, means="the subject"),
    Column(
        name="sequence",
        type="bigint",
        fact=Fact.SEQUENCE,
        default=True,
        means="the stream sequence",
    ),
    Column(
        name="timestamp",
        type="timestamp",
        fact=Fact.TIME_US,
        default=True,
        means="when it was stored, cut to microseconds",
    ),
    Column(name="payload", type="binary", fact=Fact.PAYLOAD, default=True, means="its bytes"),
    Column(
        name="headers",
        type=MAP,
        fact=Fact.HEADERS_MAP,
        default=True,
        means="its headers: all values of each name; NULL without headers",
    ),
    Column(
        name="headers",
        type=PAIRS,
        fact=Fact.HEADERS_PAIRS,
        default=False,
        means="its headers with their order, case and repetitions",
    ),
    Column(name="stream", type="string", fact=Fact.STREAM, default=True, means="the stream's name"),
    Column(
        name="timestamp_ns",
        type="bigint",
        fact=Fact.TIME_NS,
        default=False,
        means="when it was stored, in nanoseconds since 1970",
    ),
    Column(
        name="headers_raw",
        type="binary",
        fact=Fact.HEADERS_RAW,
        default=False,
        means="its stored header block; NULL without headers",
    ),
    Column(
        name="domain",
        type="string",
        fact=Fact.DOMAIN,
        default=False,
        means="the JetStream domain, NULL without one",
    ),
    Column(
        name="consumer",
        type="string",
        fact=Fact.CONSUMER,
        default=False,
        means="the consumer that delivered it, NULL with direct gets",
    ),
    Column(
        name="consumer_sequence",
        type="bigint",
        fact=Fact.CONSUMER_SEQUENCE,
        default=False,
        means="the consumer sequence, NULL with direct gets",
    ),
    Column(
        name="delivered",
        type="int",
        fact=Fact.DELIVERED,
        default=False,
        means="number of deliveries, NULL with direct gets",
    ),
    Column(
        name="pending",
        type="bigint",
        fact=Fact.PENDING,
        default=False,
        means="number of messages pending after it, NULL with direct gets",
    ),
    Column(
        name="reply",
        type="string",
        fact=Fact.REPLY,
        default=False,
        means="the reply subject of the delivery, NULL with direct gets",
    ),
    Column(
        name="size",
        type="int",
        fact=Fact.SIZE,
        default=False,
        means="bytes of subject, headers and payload",
    ),
)


@final
@frozen
class AskedColumns:
    """A column of a schema: its name, its type in Spark's notation, and its nullability."""

    name: str
    type: str
    nullable: bool = True


def default_columns(headers: str) -> tuple[Column, ...]:
    """The columns if the user gives no schema.

    Args:
        headers: the form of the column headers: ``map``, ``array`` or ``none``.
    """
    wanted = {"map": Fact.HEADERS_MAP, "array": Fact.HEADERS_PAIRS}.get(headers)
    return tuple(
        column
        for column in COLUMNS
        if column.fact is wanted or (column.default and column.fact is not Fact.HEADERS_MAP)
    )


def chosen(schema: Iterable[AskedColumns], stream: str, headers: str | None) -> tuple[Column, ...]:
    """The columns of a schema, in its order.

    Args:
        schema: the columns of the schema.
        stream: the stream, for errors.
        headers: the option ``headersFormat`` if it is given; it must agree with the schema.

    Raises:
        InvalidColumns: no column, an unknown column, another type, a repeated column, or NOT
            NULL for a column that can be NULL.
        InvalidOption: the schema has another form of headers than the option.
    """
    found: list[Column] = []
    for asked in schema:
        same = [column for column in COLUMNS if column.name == asked.name]
        if not same:
            names = ", ".join(dict.fromkeys(column.name for column in COLUMNS))
            raise InvalidColumns(
                f"stream {stream!r}: expected columns among {names}, got {shorten(asked.name)}"
            )
        fitting = next((column for column in same if column.type == asked.type), None)
        if fitting is None:
            types = " or ".join(column.type for column in same)
            raise InvalidColumns(
                f"stream {stream!r}: expected column {asked.name} as {types}, got {asked.type}"
            )
        if not asked.nullable and fitting.fact in _MAY_BE_NULL:
            raise InvalidColumns(
                f"stream {stream!r}: expected that column {asked.name} may be NULL, got NOT NULL"
            )
        if fitting in found:
            raise InvalidColumns(
                f"stream {stream!r}: expected column {asked.name} once, got it again"
            )
        found.append(fitting)
    if not found:
        raise InvalidColumns(f"stream {stream!r}: expected at least one column, got none")
    form = {Fact.HEADERS_MAP: "map", Fact.HEADERS_PAIRS: "array"}
    seen = next((form[column.fact] for column in found if column.fact in form), "none")
    if headers is not None and seen not in {headers, "none"}:
        raise InvalidOption(
            f"stream {stream!r}: options headersFormat and the schema: "
            f"expected the same form of headers, got {headers} and {seen}"
        )
    return tuple(found)


def places_only(columns: Iterable[Column]) -> bool:
    """Whether no column needs payload or headers.

    Then a consumer may omit payloads, and its size header is not visible.
    """
    return _CONTENT.isdisjoint(column.fact for column in columns)


_CONTENT: Final = frozenset({
    Fact.HEADERS_MAP,
    Fact.HEADERS_PAIRS,
    Fact.HEADERS_RAW,
    Fact.PAYLOAD,
    Fact.SIZE,
})  # fmt: skip

_MAY_BE_NULL: Final = frozenset({
    Fact.HEADERS_MAP,
    Fact.HEADERS_PAIRS,
    Fact.HEADERS_RAW,
    Fact.DOMAIN,
    Fact.CONSUMER,
    Fact.CONSUMER_SEQUENCE,
    Fact.DELIVERED,
    Fact.PENDING,
    Fact.REPLY,
})  # fmt: skip
