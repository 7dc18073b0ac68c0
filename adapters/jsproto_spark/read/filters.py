"""Converts the filters of a query to a range and subjects that contain all matching messages.

Theory. Spark passes filters that are joined by AND: each has a column, an operator and a literal.
Each filter narrows the range, or is ignored. The result contains at least all matching messages,
and Spark filters again.

A range by time relies on the stream's clock: messages are stored in the order of their timestamps,
unless a leader's clock was set back. The column ``timestamp`` is cut to microseconds, so a bound is
a whole microsecond.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final, cast, final

from attrs import evolve, frozen

from jsproto.errors import InvalidConfig, InvalidSubject
from jsproto.jetstream.api.timestamps import Timestamp
from jsproto.wire.subjects import publish_subject, subject_matches, subscription_subject

_US: Final = 1_000
#: The most subjects for a consumer's filter.
_MOST: Final = 100


@final
@frozen(kw_only=True)
class FilterPushdown:
    """The narrowed range and subjects.

    Attributes:
        lo: the first sequence.
        hi: the sequence after the last, ``None`` for no bound.
        since: stored at this time or later.
        until: stored before this time.
        subjects: with one of these subjects, wildcards allowed; ``None`` for any.
    """

    lo: int = 1
    hi: int | None = None
    since: Timestamp | None = None
    until: Timestamp | None = None
    subjects: tuple[str, ...] | None = None

    def within(self, configured: tuple[str, ...]) -> tuple[str, ...] | None:
        """The subjects to read, given those of the options; ``None`` if nothing can match."""
        if self.subjects is None:
            return configured
        if not configured:
            return self.subjects or None
        if any(mine.endswith(">") for mine in self.subjects):
            return configured
        both = tuple(
            mine
            for mine in self.subjects
            if any(subject_matches(theirs, mine) for theirs in configured)
        )
        return both or None


def narrowed(before: FilterPushdown, operator: str, column: str, value: object) -> FilterPushdown:
    """Apply one more filter.

    Args:
        before: the result so far.
        operator: the name of Spark's filter class.
        column: the column of the filter.
        value: the literal, or the literals of an ``In``.
    """
    if column == "sequence":
        return _by_sequence(before, operator, value)
    if column == "timestamp":
        return _by_time(before, operator, value)
    if column == "subject":
        return _by_subject(before, operator, value)
    return before


def _by_sequence(before: FilterPushdown, operator: str, value: object) -> FilterPushdown:
    values = _all(value) if operator == "In" else (value,)
    if not values or not all(isinstance(each, int) for each in values):
        return before
    low, high = min(cast("Iterable[int]", values)), max(cast("Iterable[int]", values))
    lo, hi = {
        "EqualTo": (low, high + 1),
        "EqualNullSafe": (low, high + 1),
        "In": (low, high + 1),
        "GreaterThan": (low + 1, None),
        "GreaterThanOrEqual": (low, None),
        "LessThan": (1, high),
        "LessThanOrEqual": (1, high + 1),
    }.get(operator, (1, None))
    ends = [each for each in (before.hi, hi) if each is not None]
    return evolve(before, lo=max(before.lo, lo), hi=min(ends) if ends else None)


def _by_time(before: FilterPushdown, operator: str, value: object) -> FilterPushdown:
    if not isinstance(value, datetime) or value.tzinfo is None:
        return before
    try:
        at = Timestamp.of(value.astimezone(UTC))
        after = Timestamp(at.ns + _US)
    except (InvalidConfig, OverflowError):
        return before
    since, until = {
        "EqualTo": (at, after),
        "EqualNullSafe": (at, after),
        "GreaterThan": (after, None),
        "GreaterThanOrEqual": (at, None),
        "LessThan": (None, at),
        "LessThanOrEqual": (None, after),
    }.get(operator, (None, None))
    begins = [each for each in (before.since, since) if each is not None]
    ends = [each for each in (before.until, until) if each is not None]
    return evolve(before, since=max(begins, default=None), until=min(ends, default=None))


def _by_subject(before: FilterPushdown, operator: str, value: object) -> FilterPushdown:
    if operator in {"EqualTo", "EqualNullSafe"}:
        wished: tuple[object, ...] = (value,)
    elif operator == "In":
        wished = _all(value)
    elif operator == "StringStartsWith" and isinstance(value, str):
        cut = value.rfind(".") + 1
        if not cut:
            return before
        wished = (f"{value[:cut]}>",)
    else:
        return before
    if (
        before.subjects is not None
        or len(wished) > _MOST
        or not all(isinstance(each, str) for each in wished)
    ):
        return (
            before  # Spark applies a second filter on subject, and one with over `_MOST` subjects
        )
    try:
        subjects = tuple(dict.fromkeys(cast("Iterable[str]", wished)))
        for subject in subjects:
            (subscription_subject if subject.endswith(".>") else publish_subject)(subject)
    except InvalidSubject:
        return before
    return evolve(before, subjects=subjects)


def _all(value: object) -> tuple[object, ...]:
    return (
        tuple(cast("Iterable[object]", value))
        if isinstance(value, (list, tuple, set, frozenset))
        else ()
    )
