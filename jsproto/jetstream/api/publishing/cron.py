"""Cron patterns of six fields, as the server reads them: matching seconds and the next match.

Theory (ADR-51). A pattern has fields for second, minute, hour, day of month, month and day of
week. A field is a list of ranges with steps: ``*``, ``?``, ``5``, ``1-5``, ``*/15``, ``10/5``
(from 10 on), names of months and days. Each field becomes a set of bits.

A time matches if all fields match. The two fields of days are an exception: if neither is a star,
one of them is enough, as in every cron.

The search for the next match goes through the fields from the largest to the smallest. At a field
that does not match it jumps to that field's next value. Days and months are those of the time zone.
Hours and smaller units are counted in elapsed time. When clocks are put back, an hour occurs twice
and matches twice; when they are put forward, an hour is missing and matches nothing. This follows
the server (cron.go). The search ends after five years; the server rejects a pattern without a
match until then.

The server knows time zones by name. Here the caller passes a ``tzinfo``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, final

from attrs import frozen

from jsproto.errors.tree import InvalidConfig, shorten

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_HOUR: Final = 3600
#: server/cron.go ``yearLimit``.
_YEARS: Final = 5

_MONTHS: Final = {
    "jan": 1,
    "feb": 2,
    "mar": 3,
    "apr": 4,
    "may": 5,
    "jun": 6,
    "jul": 7,
    "aug": 8,
    "sep": 9,
    "oct": 10,
    "nov": 11,
    "dec": 12,
}
_DAYS: Final = {"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}

#: Name, minimum, maximum and value names of each field, in the order of the pattern.
_FIELDS: Final[tuple[tuple[str, int, int, Mapping[str, int]], ...]] = (
    ("second", 0, 59, {}),
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of month", 1, 31, {}),
    ("month", 1, 12, _MONTHS),
    ("day of week", 0, 6, _DAYS),
)
#: The pattern that the server uses for a word (scheduler.go ``parseMsgSchedule``).
WORDS: Final = {
    "@yearly": "0 0 0 1 1 *",
    "@annually": "0 0 0 1 1 *",
    "@monthly": "0 0 0 1 * *",
    "@weekly": "0 0 0 * * 0",
    "@daily": "0 0 0 * * *",
    "@midnight": "0 0 0 * * *",
    "@hourly": "0 0 * * * *",
}
_NUMBER: Final = re.compile(r"\+?[0-9]{1,9}").fullmatch


@final
@frozen(kw_only=True)
class Cron:
    """A parsed pattern. A set of values is stored as the bits of an integer.

    Attributes:
        seconds: the matching seconds; the other fields likewise.
        days: days of the month.
        weekdays: days of the week, 0 is Sunday.
        either_day: both day fields name values, so one match is enough.
    """

    seconds: int
    minutes: int
    hours: int
    days: int
    months: int
    weekdays: int
    either_day: bool

    @classmethod
    def parse(cls, pattern: str) -> Cron:
        """Parse a pattern, or one of the words in :data:`WORDS`.

        Raises:
            InvalidConfig: the server would reject it (10189).
        """
        fields = WORDS.get(pattern, pattern).split()
        if len(fields) != len(_FIELDS):
            raise InvalidConfig(
                f"expected six fields, second first, or one of {', '.join(WORDS)} as cron pattern, "
                f"got {shorten(pattern)} (10189)"
            )
        sets: list[int] = []
        stars: list[bool] = []
        for text, (name, least, most, words) in zip(fields, _FIELDS, strict=True):
            bits, star = _field(text, name, least, most, words)
            sets.append(bits)
            stars.append(star)
        return cls(
            seconds=sets[0],
            minutes=sets[1],
            hours=sets[2],
            days=sets[3],
            months=sets[4],
            weekdays=sets[5],
            either_day=not (stars[3] or stars[5]),
        )

    def following(self, second: int, zone: tzinfo = UTC) -> int | None:
        """The first matching second after ``second``, both counted from 1970.

        Returns:
            ``None`` if there is no match within five years.
        """
        at = second + 1
        try:
            limit = _local(at, zone).year + _YEARS
            while (local := _local(at, zone)).year <= limit:
                if not self.months >> local.month & 1:
                    at = _later(
                        at, local, _midnight(local.replace(day=28) + timedelta(days=4), zone, day=1)
                    )
                elif not self._day(local):
                    at = _later(at, local, _midnight(local + timedelta(days=1), zone))
                elif not self.hours >> local.hour & 1:
                    at += _HOUR - local.minute * 60 - local.second
                elif not self.minutes >> local.minute & 1:
                    at += 60 - local.second
                elif not self.seconds >> local.second & 1:
                    at += 1
                else:
                    return at
        except OverflowError:  # after the year 9999
            pass
        return None

    def _day(self, local: datetime) -> bool:
        day = self.days >> local.day & 1
        weekday = self.weekdays >> local.isoweekday() % 7 & 1
        return bool(day | weekday if self.either_day else day & weekday)


def _local(second: int, zone: tzinfo) -> datetime:
    return (_EPOCH + timedelta(seconds=second)).astimezone(zone)


def _midnight(moment: datetime, zone: tzinfo, *, day: int = 0) -> int:
    """Midnight of a time's day, or of another ``day`` of its month, in a time zone.

    If that midnight is missing or occurs twice, it follows Go: it looks up the offset twice.
    """
    there = moment.replace(
        day=day or moment.day, hour=0, minute=0, second=0, microsecond=0, tzinfo=UTC
    )
    naive = int((there - _EPOCH).total_seconds())
    return naive - _offset(naive - _offset(naive, zone), zone)


def _offset(second: int, zone: tzinfo) -> int:
    """The offset of a time zone from UTC at that time, in seconds."""
    ahead = _local(second, zone).utcoffset()
    return int(ahead.total_seconds()) if ahead else 0


def _later(at: int, local: datetime, wanted: int) -> int:
    """The second to jump to: never back, even if a midnight is missing."""
    return wanted if wanted > at else at + _HOUR - local.minute * 60 - local.second


def _field(
    text: str, name: str, least: int, most: int, words: Mapping[str, int]
) -> tuple[int, bool]:
    """The bits of a field, and whether it is a star."""
    bits = 0
    star = False
    for part in filter(None, text.split(",")):
        span, *steps = part.split("/")
        low, *high = span.split("-")
        if len(steps) > 1 or len(high) > 1:
            raise _refused(name, text)
        step = _number(steps[0], {}, name, text) if steps else 1
        if low in {"*", "?"}:
            start, end = least, most
            star = star or step == 1
        else:
            start = _number(low, words, name, text)
            end = _number(high[0], words, name, text) if high else most if steps else start
        if not least <= start <= end <= most or not step:
            raise _refused(name, text)
        bits |= sum(1 << value for value in range(start, end + 1, step))
    if not bits:
        raise _refused(name, text)
    return bits, star


def _number(text: str, words: Mapping[str, int], name: str, field: str) -> int:
    known = words.get(text.lower())
    if known is not None:
        return known
    if _NUMBER(text) is None:
        raise _refused(name, field)
    return int(text)


def _refused(name: str, text: str) -> InvalidConfig:
    _, least, most, _ = next(each for each in _FIELDS if each[0] == name)
    return InvalidConfig(
        f"expected values of {least} to {most}, lists, ranges or steps as {name} "
        f"of a cron pattern, got {shorten(text)} (10189)"
    )
