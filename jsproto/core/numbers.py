"""Numbers that a user gives: the one way in which counts and durations are checked.

A duration is a number of seconds or a `timedelta`, wherever one is given. Inside it is seconds.
Option classes convert with `in_seconds` and check with a validator; functions do both at once with
`seconds`.
"""

from __future__ import annotations

from datetime import timedelta
from math import inf, nan
from typing import cast, overload

from jsproto.errors.tree import InvalidConfig, shorten


def is_number(value: object, kinds: tuple[type, ...]) -> bool:
    """Whether it is a number of these kinds; a flag is none here."""
    return isinstance(value, kinds) and not isinstance(value, bool)


def check_number(
    name: str, value: object, kinds: tuple[type, ...], *, least: float = 0, above: bool = False
) -> None:
    """Refuse what is no number of these kinds, or too small.

    Args:
        name: of the option, for the error.
        value: what was given.
        kinds: ``(int,)`` for a count, ``(int, float)`` for a time in seconds.
        least: the least that can work; with ``above`` it must be more.
        above: whether ``least`` itself is too small.

    Raises:
        InvalidConfig: it names the option, and what was expected and seen.
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
    except OverflowError:  # no clock knows such an integer
        return nan


@overload
def in_seconds(value: float | timedelta) -> float: ...
@overload
def in_seconds(value: float | timedelta | None) -> float | None: ...
def in_seconds(value: float | timedelta | None) -> float | None:
    """A duration in seconds; anything else stays as it is, and whoever checks it refuses it."""
    return value.total_seconds() if isinstance(value, timedelta) else value


def seconds(
    name: str,
    value: float | timedelta,
    *,
    least: float = 0,
    above: bool = True,
    finite: bool = False,
) -> float:
    """A duration that a user gave, in seconds.

    Args:
        name: of the parameter, for the error.
        value: what was given.
        least: the least that can work, in seconds; with ``above`` it must be more.
        above: whether ``least`` itself is too small.
        finite: whether it has to end some time.

    Raises:
        InvalidConfig: it is no number of seconds and no `timedelta`, or too short.
    """
    given = in_seconds(value)
    number = _number(given) if is_number(given, (int, float)) else nan
    if not (number > least if above else number >= least) or (finite and number == inf):
        raise InvalidConfig(
            f"expected {'a finite ' if finite else ''}{name} {'>' if above else '>='} {least}, a number of seconds or a timedelta, got {shorten(value)}"
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
    """The same where ``None`` has a meaning of its own."""
    return None if value is None else seconds(name, value, least=least, above=above, finite=finite)


def count(name: str, value: int, *, least: int = 0) -> int:
    """A whole number that a user gave.

    Raises:
        InvalidConfig: it is none, or too small.
    """
    check_number(name, value, (int,), least=least)
    return value
