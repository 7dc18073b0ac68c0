"""Converts rows to messages, with the columns of a sink as a table.

Theory. Spark gives a sink its columns once, so all errors about them are raised before the first
row. The conversion of a row combines subject, payload and headers. Options of the publish are
headers (`PublishOptions`): the stream that must store the message, the message id for
deduplication, the last sequence that the subject must have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast, final

from attrs import frozen

from jsproto.errors.tree import shorten
from jsproto.jetstream.api.publishing.options import (
    EXPECTED_LAST_SUBJECT_SEQUENCE,
    EXPECTED_STREAM,
    MSG_ID,
)
from jsproto.wire.headers import Headers
from jsproto_spark.errors import InvalidColumns
from jsproto_spark.options import Settings
from jsproto_spark.read.columns import MAP, PAIRS, AskedColumns

#: Subject, payload and headers, as a publish window takes them.
Item: TypeAlias = tuple[str, bytes, Headers | None]

#: The columns of a sink, with the types that each may have.
SINK_COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "payload": ("binary", "string"),
    "subject": ("string",),
    "headers": (MAP, "map<string,string>", PAIRS),
    "msg_id": ("string", "bigint", "int"),
    "expected_last_subject_sequence": ("bigint", "int"),
}


@final
@frozen(kw_only=True)
class RowPublisher:
    """Converts rows of one schema to messages.

    Attributes:
        stream: the stream that must store them.
        subject: the subject of all messages, ``None`` if each row has its own.
        ids: the column of message ids, ``""`` for none.
        headers: the type of the column headers, ``""`` without one.
        expects: whether a column has the last sequence that the subject must have.
    """

    stream: str
    subject: str | None
    ids: str
    headers: str
    expects: bool

    def items(
        self, columns: Mapping[str, Sequence[Any]], count: int, ids: Iterable[str] | None
    ) -> Iterator[Item]:
        """The messages of some rows.

        Args:
            columns: the values of each column, one for each row.
            count: number of rows.
            ids: an id for each row, instead of those of a column.

        Raises:
            InvalidColumns: NULL where a value is required.
            InvalidHeader: a header that no message can carry.
        """
        subjects = [self.subject] * count if self.subject is not None else columns["subject"]
        payloads = columns["payload"]
        base = ((EXPECTED_STREAM, self.stream),)
        nothing: list[None] = [None] * count
        own = columns["headers"] if self.headers else nothing
        named = ids if ids is not None else columns[self.ids] if self.ids else None
        expected = columns["expected_last_subject_sequence"] if self.expects else nothing
        plain = Headers(base)
        for subject, payload, mine, mark, last in zip(
            subjects, payloads, own, nothing if named is None else named, expected, strict=False
        ):
            if subject is None or payload is None or (mark is None and named is not None):
                raise self._null(subject, payload)
            body = payload if isinstance(payload, bytes) else cast("str", payload).encode()
            headers = Headers([*self._pairs(mine), *base]) if mine else plain
            if mark is not None:
                headers = headers.with_added(MSG_ID, str(mark))
            if last is not None:
                headers = headers.with_added(EXPECTED_LAST_SUBJECT_SEQUENCE, str(last))
            yield subject, body, headers

    def _pairs(self, mine: Any) -> Iterator[tuple[str, str]]:
        """A row's own headers, in the form of the column's type."""
        if self.headers == PAIRS:
            for pair in mine:
                yield pair["name"], pair["value"]
        elif self.headers == MAP:
            for name, values in mine:
                for value in values or ():
                    yield name, value
        else:
            yield from mine

    def _null(self, subject: object, payload: object) -> InvalidColumns:
        name = "subject" if subject is None else "payload" if payload is None else self.ids
        return InvalidColumns(
            f"stream {self.stream!r}: expected a value in column {name} of every row, got NULL"
        )


def outgoing(schema: Iterable[AskedColumns], settings: Settings) -> RowPublisher:
    """Check a schema, and make the converter for its rows.

    Raises:
        InvalidColumns: an unknown column, one of another type, or a missing one.
    """
    where, write = settings.where, settings.write
    types = {column.name: column.type for column in schema}
    ids = write.msg_id_column or ("msg_id" if "msg_id" in types and not write.auto_msg_id else "")
    known = {**SINK_COLUMNS, **({ids: SINK_COLUMNS["msg_id"]} if ids else {})}
    for name, kind in types.items():
        if name not in known:
            raise InvalidColumns(
                f"stream {where.stream!r}: expected columns among {', '.join(known)}, "
                f"got {shorten(name)}: select what you want to publish"
            )
        if kind not in known[name]:
            wanted = " or ".join(known[name])
            raise InvalidColumns(
                f"stream {where.stream!r}: expected column {name} as {wanted}, got {kind}"
            )
    if "payload" not in types:
        raise InvalidColumns(f"stream {where.stream!r}: expected a column payload, got none")
    if ids and ids not in types:
        raise InvalidColumns(
            f"stream {where.stream!r}, see option msgIdColumn: expected a column {ids}, got none"
        )
    if write.auto_msg_id and "msg_id" in types:
        raise InvalidColumns(
            f"stream {where.stream!r}, see option autoMsgId: "
            "expected no column msg_id beside it, got one"
        )
    if (write.subject is None) != ("subject" in types):
        seen = "both" if "subject" in types else "none"
        raise InvalidColumns(
            f"stream {where.stream!r}, see option subject: "
            f"expected it or a column subject, got {seen}"
        )
    return RowPublisher(
        stream=where.stream,
        subject=write.subject,
        ids=ids,
        headers=types.get("headers", ""),
        expects="expected_last_subject_sequence" in types,
    )
