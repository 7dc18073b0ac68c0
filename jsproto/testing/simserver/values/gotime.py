"""Time as the server writes and reads it: nanoseconds since 1970, RFC 3339 and Go durations.

The model computes in whole nanoseconds, as the server does, so that no sum of floats can move a
deadline. Virtual second 0 is the constant :data:`EPOCH_NS`.
"""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime, timedelta
from typing import Final

#: 2027-01-15T08:00:00Z, the wall clock of the model at virtual second 0.
EPOCH_NS: Final = 1_800_000_000 * 10**9
SECOND: Final = 10**9
MILLISECOND: Final = 10**6
#: What Go writes for the zero time.
ZERO_TIME: Final = "0001-01-01T00:00:00Z"

_UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "ms": 10**6,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
_DURATION: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")
_RFC3339: Final = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d{2}):(\d{2}))",
    re.ASCII,
)
#: How Go writes down the form of such a time; the elements of it, and what some of them may be.
RFC3339: Final = "2006-01-02T15:04:05Z07:00"
_LAYOUT: Final = tuple(
    (layout, re.compile(pattern, re.ASCII))
    for layout, pattern in (
        ("2006", r"\d{4}"), ("-", "-"), ("01", r"\d\d"), ("-", "-"), ("02", r"\d\d"), ("T", "T"),
        ("15", r"\d\d?"), (":", ":"), ("04", r"\d\d"), (":", ":"), ("05", r"\d\d(?:[.,]\d+)?"),
        ("Z07:00", r"Z|[+-]\d\d:\d\d"),
    )
)  # fmt: skip
_SPANS: Final = {
    "01": ("month", 1, 12),
    "15": ("hour", 0, 23),
    "04": ("minute", 0, 59),
}
_UNIX: Final = datetime(1970, 1, 1, tzinfo=UTC)


def to_nanos(now: float) -> int:
    """Virtual seconds as nanoseconds since 1970."""
    return EPOCH_NS + round(now * SECOND)


def to_seconds(nanos: int) -> float:
    """The smallest float of virtual seconds that is not before ``nanos``: ticking there always
    reaches the deadline.
    """
    seconds = (nanos - EPOCH_NS) / SECOND
    while to_nanos(seconds) < nanos:
        seconds = math.nextafter(seconds, math.inf)
    return seconds


def earlier(one: int | None, other: int | None) -> int | None:
    """The earlier of two moments, of which either may be none."""
    if one is None or (other is not None and other < one):
        return other
    return one


def rfc3339(nanos: int) -> str:
    """UTC with 0 to 9 fraction digits, trailing zeros cut, as Go's RFC3339Nano does; 0 is Go's zero
    time.
    """
    if nanos == 0:
        return ZERO_TIME
    seconds, fraction = divmod(nanos, SECOND)
    text = (_UNIX + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
    digits = f"{fraction:09d}".rstrip("0")
    return f"{text}.{digits}Z" if digits else f"{text}Z"


def parse_rfc3339(text: str) -> int | None:
    """Nanoseconds since 1970 (0 for Go's zero time), or ``None`` if it is no RFC 3339 time."""
    found = _RFC3339.fullmatch(text)
    if found is None:
        return None
    day, clock, fraction, sign, hours, minutes = found.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}+00:00")
    except ValueError:
        return None
    if moment.year == 1:
        return 0
    offset = (
        0 if sign is None else (int(hours) * 3600 + int(minutes) * 60) * (1 if sign == "+" else -1)
    )
    since = moment - _UNIX
    return (since.days * 86_400 + since.seconds - offset) * SECOND + int(
        (fraction or "").ljust(9, "0")
    )


def time_error(text: str) -> str:
    """Go's words for what is wrong with an RFC 3339 time, ``""`` if nothing is."""
    rest = text
    for layout, pattern in _LAYOUT:
        found = pattern.match(rest)
        if found is None:
            return f'parsing time {_in_quotes(text)} as "{RFC3339}": cannot parse {_in_quotes(rest)} as "{layout}"'
        rest = rest[found.end() :]
        span = _SPANS.get(layout)
        if span is not None and not span[1] <= int(found[0]) <= span[2]:
            return f"parsing time {_in_quotes(text)}: {span[0]} out of range"
    if rest:
        return f"parsing time {_in_quotes(text)}: extra text: {_in_quotes(rest)}"
    return (
        ""
        if parse_rfc3339(text) is not None
        else f"parsing time {_in_quotes(text)}: day out of range"
    )


def _in_quotes(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def go_duration(nanos: int) -> str:
    """A duration as Go prints it: ``5s``, ``1m0s``, ``1h0m0.5s``, ``333.333333ms``, ``0s``."""
    if nanos < 0:
        return "-" + go_duration(-nanos)
    if nanos == 0:
        return "0s"
    if nanos < SECOND:
        unit, size = next(
            (name, _UNITS[name]) for name in ("ms", "µs", "ns") if nanos >= _UNITS[name]
        )
        return _decimal(nanos, size) + unit
    minutes, rest = divmod(nanos, 60 * SECOND)
    hours, minutes = divmod(minutes, 60)
    text = _decimal(rest, SECOND) + "s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text


def parse_go_duration(text: str) -> int | None:
    """Nanoseconds of a Go duration such as ``1.2s`` or ``1h30m``; ``None`` if it is none."""
    body = text[1:] if text[:1] in {"+", "-"} else text
    if body == "0":
        return 0
    total, at = 0, 0
    for part in _DURATION.finditer(body):
        if part.start() != at:
            return None
        whole, _, fraction = part[1].partition(".")
        unit = _UNITS[part[2]]
        total += int(whole or "0") * unit + int(fraction or "0") * unit // 10 ** len(fraction)
        at = part.end()
    if at == 0 or at != len(body):
        return None
    return -total if text[0] == "-" else total


def _decimal(nanos: int, unit: int) -> str:
    whole, fraction = divmod(nanos, unit)
    digits = f"{fraction:0{len(str(unit)) - 1}d}".rstrip("0") if fraction else ""
    return f"{whole}.{digits}" if digits else str(whole)
