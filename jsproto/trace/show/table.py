"""The table in a view of a trace: columns for all rows, and packed blocks for the details.

Theory. A page that shows a hundred thousand rows needs small values of each: numbers, and a line of
words. Each of these is a column. A value that repeats (connection, kind, status of a link) is
stored once, and the column holds its number. Fields and bytes of a row are JSON in a block of many
rows. A full block is packed at once, and the page unpacks only the block that it needs.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Final, TypeVar, final

from jsproto.trace.show.describe import Meaning, Value
from jsproto.trace.show.subscription_status import SubscriptionStatus

#: Rows in one block.
BLOCK: Final = 512
#: Highest number of characters of a row: of its words, and of its bytes as text.
MOST_WORDS: Final = 300
MOST_SHOWN: Final = 4096
#: Integers from here on may lose digits in a JSON reader.
_EXACT: Final = 2**53
#: Times are whole microseconds. Times after the latest (about thirty years) count as the latest.
_MICRO: Final = 1_000_000
_LATEST: Final = 1e9

_T = TypeVar("_T")


@final
class Table:
    """Rows in order.

    Attributes:
        blocks: for each `BLOCK` rows a zlib-packed JSON list of ``[fields, bytes as text]``.
    """

    __slots__ = ("_at", "_columns", "_conns", "_details", "_kinds", "_standings", "_ways", "blocks")

    def __init__(self) -> None:
        self.blocks: list[bytes] = []
        self._at = 0
        self._ways: list[str] = []
        self._columns: dict[str, list[object]] = {
            name: []
            for name in ("line", "at", "conn", "kind", "words", "size", "standing", "pull", "pair")
        }
        self._conns: dict[str, int] = {}
        self._kinds: dict[str, int] = {}
        self._standings: dict[SubscriptionStatus, int] = {}
        self._details: list[tuple[Mapping[str, Value], str]] = []

    def __len__(self) -> int:
        return len(self._ways)

    def add(
        self,
        *,
        line: int,
        at: float,
        conn: str,
        way: str,
        words: str,
        meaning: Meaning,
        size: int = 0,
        text: str = "",
        standing: SubscriptionStatus | None = None,
        pull: int = -1,
        pair: int = -1,
    ) -> None:
        """Append a row.

        Args:
            line: line of the trace.
            at: seconds; a time before that of the last row counts as the same.
            conn: name of the connection.
            way: as in `jsproto.trace.show.ladder.Rung`, or ``.`` for time that passes.
            words: description in one line.
            meaning: kind and fields.
            size: bytes of the frame.
            text: bytes of the frame as the format ``.trace`` shows them.
            standing: status of its link after it; ``None`` without a link.
            pull: number of the pull that it belongs to; -1 if there is none.
            pair: row that it answers; -1 if there is none.
        """
        self._at = max(self._at, int(min(at, _LATEST) * _MICRO))
        self._ways.append(way)
        row = (
            line,
            self._at,
            _number(self._conns, conn),
            _number(self._kinds, meaning.kind),
            words if len(words) <= MOST_WORDS else f"{words[:MOST_WORDS]}…",
            size,
            -1 if standing is None else _number(self._standings, standing),
            pull,
            pair,
        )
        for column, value in zip(self._columns.values(), row, strict=True):
            column.append(value)
        fields = {name: _exact(value) for name, value in meaning.fields.items()}
        self._details.append((fields, text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"))
        if len(self._details) == BLOCK:
            self.pack()

    def pack(self) -> None:
        """Pack the rows of the last block, full or not.

        After a block that is not full, no row may follow.
        """
        if self._details:
            self.blocks.append(
                zlib.compress(json.dumps(self._details, separators=(",", ":")).encode())
            )
            self._details = []

    def as_json(self) -> dict[str, object]:
        """Give the columns as plain data."""
        return {
            "rows": {"way": "".join(self._ways), **self._columns},
            "conns": list(self._conns),
            "kinds": list(self._kinds),
            "standing": SubscriptionStatus._fields,
            "standings": list(self._standings),
            "block": BLOCK,
        }


def _number(known: dict[_T, int], value: _T) -> int:
    """Number of a value, which may be known already."""
    return known.setdefault(value, len(known))


def _exact(value: Value) -> Value:
    return str(value) if isinstance(value, int) and abs(value) >= _EXACT else value
