"""The table that a view of a trace is: columns for all rows at once, and packed blocks for what is
looked at row by row.

Theory. A page that opens a hundred thousand rows reads few and small things of each: numbers, and
words of one line. So each of these is a column, and what repeats (connections, kinds, how a link
stands) is a number in a column and stands once beside it. The fields and bytes of a row are JSON in
a block of many rows, packed as soon as the block is full; whoever looks unpacks one block.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Final, TypeVar, final

from jsproto.trace.show.describe import Meaning, Value
from jsproto.trace.show.subscription_status import SubscriptionStatus

#: Rows of one block.
BLOCK: Final = 512
#: Characters of the words, and of the bytes, of one row that are kept.
MOST_WORDS: Final = 300
MOST_SHOWN: Final = 4096
#: Whole numbers that every reader of JSON knows exactly.
_EXACT: Final = 2**53
#: Times are kept in whole microseconds, the latest that is told apart is some thirty years.
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
        """One row.

        Args:
            line: the line of the trace.
            at: seconds; never back, whatever it says.
            conn: the connection.
            way: as in `jsproto.trace.show.ladder.Rung`, or ``.`` for time that passes.
            words: one line.
            meaning: kind and fields.
            size: bytes of the frame.
            text: its bytes as the format ``.trace`` shows them.
            standing: how its link stands behind it, ``None`` where there is no link.
            pull: the number of the pull that it belongs to, -1 if there is none.
            pair: the row that it answers, -1 if it answers none.
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
        """Packs the rows of the last block, full or not; nothing may be added behind one that is
        not.
        """
        if self._details:
            self.blocks.append(
                zlib.compress(json.dumps(self._details, separators=(",", ":")).encode())
            )
            self._details = []

    def as_json(self) -> dict[str, object]:
        """The columns as plain data."""
        return {
            "rows": {"way": "".join(self._ways), **self._columns},
            "conns": list(self._conns),
            "kinds": list(self._kinds),
            "standing": SubscriptionStatus._fields,
            "standings": list(self._standings),
            "block": BLOCK,
        }


def _number(known: dict[_T, int], value: _T) -> int:
    """The number of a value that may have been seen before."""
    return known.setdefault(value, len(known))


def _exact(value: Value) -> Value:
    return str(value) if isinstance(value, int) and abs(value) >= _EXACT else value
