"""The tables of the page "Spark", made of the tables of the code: who changes one is told to change
the other.
"""

from __future__ import annotations

from jsproto_spark.options import OPTIONS, Option, Use
from jsproto_spark.read.columns import COLUMNS

_USES = {
    frozenset(Use): "all",
    frozenset({Use.BATCH_READ, Use.STREAM_READ}): "read",
    frozenset({Use.BATCH_READ}): "batch read",
    frozenset({Use.STREAM_READ}): "stream read",
    frozenset({Use.BATCH_WRITE, Use.STREAM_WRITE}): "write",
}


def column_rows() -> list[str]:
    """The table of columns."""
    return [
        "| column | type | what it says |",
        "|---|---|---|",
        *(f"| `{each.name}` | `{each.type}` | {each.means} |" for each in COLUMNS),
    ]


def option_rows() -> list[str]:
    """The table of options."""
    return [
        "| option | for | default | what it does | Kafka's |",
        "|---|---|---|---|---|",
        *map(_row, OPTIONS),
    ]


def _row(option: Option) -> str:
    also = f", also `{option.alias}`" if option.alias else ""
    kafka = ", ".join(f"`{word.strip()}`" for word in option.kafka.split(",") if word)
    return f"| `{option.name}`{also} | {_USES[option.uses]} | {_default(option)} | {option.means} | {kafka} |"


def _default(option: Option) -> str:
    value = option.default
    if option.required:
        return "required"
    if value is None or value == ():
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g} s" if isinstance(value, float) else str(value)
