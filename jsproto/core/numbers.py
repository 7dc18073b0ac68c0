"""Numbers that a user gives: the one way in which counts and times of the core are checked."""

from __future__ import annotations

from math import nan
from typing import cast

from jsproto.errors import InvalidConfig, shorten


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
    number = cast("float", value) if is_number(value, kinds) else nan
    if not (number > least if above else number >= least):
        what = "a whole number" if kinds == (int,) else "a number"
        raise InvalidConfig(f"expected {name} {'>' if above else '>='} {least}, {what}, got {shorten(value)}")
