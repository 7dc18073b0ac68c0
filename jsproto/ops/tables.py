"""Format values as text for users: counts, sizes, durations, and tables.

Texts of the server are shown in a terminal, so characters that are not printable are escaped. A row
is an attrs class whose fields are the columns. :func:`column` gives each field its heading and its
format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Final, cast

from attrs import AttrsInstance, fields

_HEADING: Final = "heading"
_SHOWN: Final = "shown"
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def text_of(value: object) -> str:
    """Return a text for a terminal; nothing in it moves the cursor."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in str(value))


def count_of(value: object) -> str:
    """Return a whole number with thousands separators."""
    return f"{cast('int', value):,}"


def size_of(value: object) -> str:
    """Return a number of bytes in the largest unit that gives at least one."""
    number = cast("int", value)
    at = min(max(number.bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    return f"{number:,} B" if not at else f"{number / 1024**at:.1f} {_UNITS[at]}"


def span_of(value: object) -> str:
    """Return a duration in its two largest units; ``-`` for ``None``."""
    if value is None:
        return "-"
    seconds = cast("timedelta", value).total_seconds()
    if seconds < 60:
        return f"{seconds * 1000:.3g}ms" if 0 < seconds < 1 else f"{seconds:.3g}s"
    days, rest = divmod(int(seconds), 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, left = divmod(rest, 60)
    parts = [
        f"{number}{unit}"
        for number, unit in zip((days, hours, minutes, left), "dhms", strict=True)
        if number
    ]
    return "".join(parts[:2])


def column(heading: str, shown: Callable[[object], str] = text_of) -> dict[str, object]:
    """Return the metadata of a field of a row: its heading and format.

    Columns with another format than text are aligned to the right.
    """
    return {_HEADING: heading, _SHOWN: shown}


def table_of(rows: Sequence[AttrsInstance]) -> list[str]:
    """Return the lines of a table of rows of one class; empty for no rows."""
    if not rows:
        return []
    columns = fields(type(rows[0]))
    headings = [cast("str", each.metadata[_HEADING]) for each in columns]
    shown = [cast("Callable[[object], str]", each.metadata[_SHOWN]) for each in columns]
    cells = [
        [show(getattr(row, each.name)) for each, show in zip(columns, shown, strict=True)]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(headings, *cells, strict=True)]
    right = [show is not text_of for show in shown]
    return [
        _line(each, widths, right) for each in (headings, ["-" * width for width in widths], *cells)
    ]


def _line(cells: Iterable[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    placed = (
        cell.rjust(width) if to_right else cell.ljust(width)
        for cell, width, to_right in zip(cells, widths, right, strict=True)
    )
    return "  ".join(placed).rstrip()


def row_as_json(row: AttrsInstance) -> dict[str, object]:
    """Return a row for `json` by the names of its fields; durations are seconds."""
    return {each.name: _plain(getattr(row, each.name)) for each in fields(type(row))}


def _plain(value: object) -> object:
    return value.total_seconds() if isinstance(value, timedelta) else value
