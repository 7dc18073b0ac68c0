"""Durations in Go's notation, which headers use where JSON uses nanoseconds.

Theory. ``1h30m``, ``1.5s`` and ``250ms`` are sums of numbers with units. Reading accepts all that
Go's ``time.ParseDuration`` accepts. It uses integer arithmetic, so a duration of whole nanoseconds
is exact. Writing uses whole seconds where possible.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from jsproto.jetstream.api.timestamps import INT64_MAX, nanoseconds

_S: Final = 1_000_000_000
_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": _S,
    "m": 60 * _S,
    "h": 3600 * _S,
}
_PART: Final = re.compile(
    r"(?:([0-9]{1,19})(?:\.([0-9]{0,40}))?|\.([0-9]{1,40}))(ns|us|µs|μs|ms|s|m|h)"
)
_WHOLE: Final = re.compile(rf"([+-]?)((?:{_PART.pattern})+)").fullmatch


def duration_text(duration: timedelta) -> str:
    """A duration, not negative, as whole seconds or else as nanoseconds."""
    ns = nanoseconds(duration)
    return f"{ns}ns" if ns % _S else f"{ns // _S}s"


def parse_duration(text: str) -> int | None:
    """The duration in nanoseconds, ``None`` if Go would not accept the text."""
    if text in {"0", "+0", "-0"}:
        return 0
    whole = _WHOLE(text)
    if whole is None:
        return None
    ns = 0
    for part in _PART.finditer(whole[2]):
        number, fraction, bare, unit = part.groups()
        ns += int(number or "0") * _UNITS[unit]
        digits = fraction or bare
        if digits:
            ns += int(digits) * _UNITS[unit] // 10 ** len(digits)
    if ns > INT64_MAX:
        return None
    return -ns if whole[1] == "-" else ns
