"""Times and durations in exact integer nanoseconds, as they are on the wire.

JetStream writes durations as integer nanoseconds, and times as RFC 3339 text with 0 to 9
fraction digits (ADR-1). Python's own types have microseconds only. A client that reads and writes
back a configuration with them would change the settings of other clients. So two classes keep the
nanoseconds:

- :class:`Duration` is a subclass of ``timedelta``. Users may give any ``timedelta``.
- :class:`Timestamp` counts nanoseconds since 1970 in UTC; ``.datetime`` gives a ``datetime``. Go's
  zero time ``0001-01-01T00:00:00Z``, which the server sends for "never", becomes ``None``. So does
  every time in the year 1 or before, because other tools write the zero time in their own time
  zone.

No other module converts times or durations.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, final

from attrs import frozen

from jsproto.errors.tree import InvalidConfig, InvalidResponse, shorten

INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1
UINT64_MAX: Final = 2**64 - 1

_NS_OF_US: Final = 1_000
_NS_OF_S: Final = 1_000_000_000
#: Slightly less than an int64 of nanoseconds holds: 292 years.
_MOST_SECONDS: Final = 9_223_372_036
_NS_OF_DAY: Final = 86_400 * _NS_OF_S
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def duration_of(seconds: float) -> Duration | None:
    """A number of seconds as a duration, exact to the nanosecond.

    Returns:
        ``None`` for a bool, a NaN, and values beyond 64 bits.
    """
    if isinstance(seconds, bool) or not -_MOST_SECONDS <= seconds <= _MOST_SECONDS:
        return None
    return Duration.from_ns(
        seconds * _NS_OF_S if isinstance(seconds, int) else round(seconds * _NS_OF_S)
    )


def nanoseconds(duration: timedelta) -> int:
    """The duration in integer nanoseconds, by integer arithmetic only."""
    rest = duration.rest if isinstance(duration, Duration) else 0
    return (
        duration.days * _NS_OF_DAY
        + duration.seconds * _NS_OF_S
        + duration.microseconds * _NS_OF_US
        + rest
    )


@final
class Duration(timedelta):
    """A ``timedelta`` with nanoseconds.

    It equals a plain ``timedelta`` of the same length. Arithmetic is that of ``timedelta`` and
    returns plain ones.
    """

    rest: int

    @classmethod
    def from_ns(cls, ns: int) -> Duration:
        """A duration of ``ns`` nanoseconds; every int64 fits."""
        microseconds, rest = divmod(ns, _NS_OF_US)
        made = cls(microseconds=microseconds)
        made.rest = rest
        return made

    def __new__(cls, *args: float, **kwargs: float) -> Duration:
        """Like ``timedelta``: days, seconds, microseconds and so on; without nanoseconds."""
        made = super().__new__(cls, *args, **kwargs)
        made.rest = 0
        return made

    @property
    def ns(self) -> int:
        """The whole duration in nanoseconds."""
        return nanoseconds(self)

    def total_seconds(self) -> float:
        """The duration in seconds, rounded to a float."""
        return nanoseconds(self) / _NS_OF_S

    def __eq__(self, other: object) -> bool:
        return isinstance(other, timedelta) and nanoseconds(self) == nanoseconds(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(nanoseconds(self)) if self.rest else super().__hash__()

    def __lt__(self, other: timedelta) -> bool:
        return nanoseconds(self) < nanoseconds(other)

    def __le__(self, other: timedelta) -> bool:
        return nanoseconds(self) <= nanoseconds(other)

    def __gt__(self, other: timedelta) -> bool:
        return nanoseconds(self) > nanoseconds(other)

    def __ge__(self, other: timedelta) -> bool:
        return nanoseconds(self) >= nanoseconds(other)

    def __reduce__(self) -> tuple[Callable[[int], Duration], tuple[int]]:
        return (Duration.from_ns, (self.ns,))

    def __repr__(self) -> str:
        return f"Duration.from_ns({self.ns})"


_RFC3339: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})"
    r"(?:[.,]([0-9]{1,9})[0-9]{0,40})?"
    r"(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)
#: The first valid time: the year 1 means "not set".
_FIRST: Final = (datetime(2, 1, 1, tzinfo=UTC) - _EPOCH).days * _NS_OF_DAY
_LAST: Final = (datetime(9999, 12, 31, tzinfo=UTC) - _EPOCH).days * _NS_OF_DAY + _NS_OF_DAY - 1


@final
@frozen(order=True, repr=False)
class Timestamp:
    """An exact time in the years 2 to 9999.

    ``str`` gives the form that the server writes, ``repr`` an expression that makes it again.

    Attributes:
        ns: nanoseconds since 1970-01-01 UTC.

    Raises:
        InvalidConfig: ``ns`` is outside of these years. The year 1 means "not set": use ``None``.
    """

    ns: int

    def __attrs_post_init__(self) -> None:
        if not _FIRST <= self.ns <= _LAST:
            raise InvalidConfig(
                f"expected nanoseconds of an instant of the years 2 to 9999, got {shorten(self.ns)}"
            )

    @classmethod
    def parse(cls, text: str) -> Timestamp | None:
        """Parse an RFC 3339 text with any fraction and offset.

        Digits after the ninth are cut off. Second 60, a leap second, becomes the first moment of
        the next minute.

        Returns:
            ``None`` for a time in the year 1 or before.

        Raises:
            InvalidResponse: the text is no RFC 3339 date and time up to the year 9999.
        """
        found = _RFC3339.fullmatch(text)
        if found is None:
            raise InvalidResponse(f"expected an RFC 3339 time, got {shorten(text)}")
        year, month, day, hour, minute, second, fraction, sign, off_hours, off_minutes = (
            found.groups()
        )
        # Python has no year 0; it means the same as the year 1. A leap second is 59 plus one.
        leap = second == "60"
        numbers = (
            max(int(year), 1),
            int(month),
            int(day),
            int(hour),
            int(minute),
            59 if leap else int(second),
        )
        try:
            moment = datetime(*numbers, tzinfo=UTC)
        except ValueError as error:
            raise InvalidResponse(
                f"expected an RFC 3339 time, got {shorten(text)}: {error}"
            ) from error
        ns = nanoseconds(moment - _EPOCH)
        ns += _NS_OF_S if leap else int((fraction or "").ljust(9, "0"))
        if sign is not None:
            offset = (int(off_hours) * 3600 + int(off_minutes) * 60) * _NS_OF_S
            ns += offset if sign == "-" else -offset
        if ns < _FIRST:
            return None
        if ns > _LAST:
            raise InvalidResponse(f"expected a time up to the year 9999, got {shorten(text)}")
        return cls(ns)

    @classmethod
    def of(cls, moment: datetime | Timestamp) -> Timestamp:
        """The time of an aware ``datetime``.

        Raises:
            InvalidConfig: no ``datetime``, or one without a time zone, which is ambiguous.
        """
        if isinstance(moment, Timestamp):
            return moment
        if not isinstance(moment, datetime):
            raise InvalidConfig(f"expected a datetime or a Timestamp, got {shorten(moment)}")
        if moment.tzinfo is None or moment.utcoffset() is None:
            raise InvalidConfig(f"expected a datetime with a time zone, got {moment!r}")
        return cls(nanoseconds(moment - _EPOCH))

    @property
    def datetime(self) -> datetime:
        """The time as an aware ``datetime`` in UTC, cut to whole microseconds."""
        return _EPOCH + timedelta(microseconds=self.ns // _NS_OF_US)

    def __str__(self) -> str:
        whole, fraction = divmod(self.ns, _NS_OF_S)
        text = (_EPOCH + timedelta(seconds=whole)).replace(tzinfo=None).isoformat()
        digits = f".{fraction:09d}".rstrip("0").rstrip(".")
        return f"{text}{digits}Z"

    def __repr__(self) -> str:
        return f"Timestamp.parse({str(self)!r})"
