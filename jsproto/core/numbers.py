"""Check the counts and durations that a user passes.

A duration is a number of seconds or a `timedelta`; inside the package it is seconds. Option classes
convert with `in_seconds` and check with a validator. Functions use `seconds`, which does both.
"""

from __future__ import annotations

from datetime import timedelta
from math import inf, nan
from typing import cast, overload

from jsproto.errors.tree import InvalidConfig, shorten


def is_number(value: object, kinds: tuple[type, ...]) -> bool:
    """Tell whether a value is a number of these kinds; a bool is not."""
    return isinstance(value, kinds) and not isinstance(value, bool)


def check_number(
    name: str, value: object, kinds: tuple[type, ...], *, least: float = 0, above: bool = False
) -> None:
    """Refuse a value that is no number of these kinds, or is too small.

    Args:
        name: name of the option, for the error.
        value: the value that the user passed.
        kinds: ``(int,)`` for a count, ``(int, float)`` for a time in seconds.
        least: the smallest valid value; with ``above`` the value must be greater.
        above: whether ``least`` itself is too small.

    Raises:
        InvalidConfig: the message names the option, the expected and the given value.
    """
    number = _number(value) if is_number(value, kinds) else nan
    if not (number > least if above else number >= least):
        what = "a whole number" if kinds == (int,) else "a number"
        raise InvalidConfig(
            f"expected {name} {'>' if above else '>='} {least}, {what}, got {shorten(value)}"
        )


def _number(value: object) -> float:
    try:
        return float(cast("float", value))
    except OverflowError:  # an integer that no float can hold is no time
        return nan


@overload
def in_seconds(value: float | timedelta) -> float: ...
@overload
def in_seconds(value: float | timedelta | None) -> float | None: ...
def in_seconds(value: float | timedelta | None) -> float | None:
    """Convert a `timedelta` to seconds; any other value is returned for a validator to check."""
    return value.total_seconds() if isinstance(value, timedelta) else value


def seconds(
    name: str,
    value: float | timedelta,
    *,
    least: float = 0,
    above: bool = True,
    finite: bool = False,
) -> float:
    """Check a duration and return it in seconds.

    Args:
        name: name of the parameter, for the error.
        value: the value that the user passed.
        least: the smallest valid duration in seconds; with ``above`` it must be greater.
        above: whether ``least`` itself is too small.
        finite: whether infinity is refused.

    Raises:
        InvalidConfig: it is neither a number of seconds nor a `timedelta`, or it is too short.
    """
    given = in_seconds(value)
    number = _number(given) if is_number(given, (int, float)) else nan
    if not (number > least if above else number >= least) or (finite and number == inf):
        raise InvalidConfig(
            f"expected {'a finite ' if finite else ''}{name} {'>' if above else '>='} {least},"
            f" a number of seconds or a timedelta, got {shorten(value)}"
        )
    return given


def seconds_or_none(
    name: str,
    value: float | timedelta | None,
    *,
    least: float = 0,
    above: bool = True,
    finite: bool = False,
) -> float | None:
    """Check a duration as `seconds` does; ``None`` is valid."""
    return None if value is None else seconds(name, value, least=least, above=above, finite=finite)


def count(name: str, value: int, *, least: int = 0) -> int:
    """Check a whole number and return it.

    Raises:
        InvalidConfig: it is no whole number, or too small.
    """
    check_number(name, value, (int,), least=least)
    return value
