"""Schedules: messages that the stream publishes later, once or repeatedly (2.12, ADR-51).

Theory. A schedule is a stored message. Its headers say when the stream publishes its payload, and
on which other subject of the stream. A subject holds one schedule, the newest, because the server
rolls up the subject. A schedule for a single time is deleted after it has fired. Any other stays
until it is replaced, deleted, or cancelled by a message with ``Nats-Schedule-Next: purge``.

The times depend only on the pattern and the time of storing. `Schedule.runs` computes them.

    @at <time>        at that time; at once if it is past
    @every <time>     a second or more; counted from the previous time, rounded to a second
    six fields        see `cron`; in UTC, or in a time zone

The server fires up to a quarter of a second late. Of the times that it missed while it was down
it fires only one.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, Literal, final

from attrs import frozen

from jsproto.errors.tree import InvalidConfig, InvalidResponse, shorten
from jsproto.jetstream.api.go_duration import duration_text, parse_duration
from jsproto.jetstream.api.publishing.cron import Cron
from jsproto.jetstream.api.timestamps import Timestamp, nanoseconds
from jsproto.wire.headers import Headers
from jsproto.wire.subjects import publish_subject

SCHEDULE: Final = "Nats-Schedule"
TARGET: Final = "Nats-Schedule-Target"
SOURCE: Final = "Nats-Schedule-Source"
SCHEDULE_TTL: Final = "Nats-Schedule-TTL"
SCHEDULE_ROLLUP: Final = "Nats-Schedule-Rollup"
TIME_ZONE: Final = "Nats-Schedule-Time-Zone"
#: In a message that a schedule has published: the schedule's subject, and its next time.
SCHEDULER: Final = "Nats-Scheduler"
SCHEDULE_NEXT: Final = "Nats-Schedule-Next"
PURGE: Final = "purge"

_AT: Final = "@at "
_EVERY: Final = "@every "
_S: Final = 1_000_000_000


def ttl_text(ttl: timedelta | Literal["never"], option: str, err_code: int) -> str:
    """A time to live as a header value: whole seconds, or ``never``.

    The server drops fractions of a second.

    Raises:
        InvalidConfig: less than a second, a fraction of a second, or another type.
    """
    if isinstance(ttl, str):
        if ttl != "never":
            raise InvalidConfig(
                f"expected a timedelta or 'never' as {option}, got {shorten(ttl)} ({err_code})"
            )
        return ttl
    if not isinstance(ttl, timedelta) or ttl < timedelta(seconds=1):
        raise InvalidConfig(
            f"expected a timedelta of at least one second or 'never' as {option}, "
            f"got {ttl!r} ({err_code})"
        )
    seconds, rest = divmod(nanoseconds(ttl), _S)
    if rest:
        raise InvalidConfig(
            f"expected whole seconds as {option}, got {ttl!r}: the server would use {seconds} s"
        )
    return str(seconds)


@final
@frozen(kw_only=True)
class Schedule:
    """When and where the stream publishes a message; payload and other headers are the message's.

    Attributes:
        pattern: the times, in the server's notation; `at`, `every` and `cron` write it.
        target: the subject to publish on, a subject of the same stream, but not the schedule's
            own.
        source: publish the last message of this subject instead of the schedule's own payload
            (2.14).
        ttl: how long the published message lives; the stream must allow it.
        rollup: the published message replaces all messages of its subject (2.14).
        time_zone: name of the time zone of a cron pattern, UTC by default (2.14).

    Raises:
        InvalidConfig: a pattern, time to live or zone that the server would reject.
        InvalidSubject: an invalid target or source.
    """

    pattern: str
    target: str
    source: str | None = None
    ttl: timedelta | Literal["never"] | None = None
    rollup: bool = False
    time_zone: str | None = None

    def __attrs_post_init__(self) -> None:
        publish_subject(self.target)
        if self.source is not None:
            publish_subject(self.source)
        if self.source == self.target:
            raise InvalidConfig(
                f"expected another source than the target, got {shorten(self.source)} (10203)"
            )
        if self.ttl is not None:
            ttl_text(self.ttl, "ttl of a schedule", 10191)
        _when(self.pattern)
        if self.time_zone is not None and (
            self.pattern.startswith((_AT, _EVERY)) or not self.time_zone
        ):
            raise InvalidConfig(
                "expected the name of a time zone beside a cron pattern only, "
                f"got {shorten(self.time_zone)} beside {shorten(self.pattern)} (10189, 10223)"
            )

    @classmethod
    def at(
        cls,
        when: datetime | Timestamp,
        target: str,
        *,
        source: str | None = None,
        ttl: timedelta | Literal["never"] | None = None,
        rollup: bool = False,
    ) -> Schedule:
        """A schedule for one time; the server fires at once if it is past.

        Raises:
            InvalidConfig: a ``datetime`` without a time zone.
        """
        if not isinstance(when, (datetime, Timestamp)):
            raise InvalidConfig(f"expected a datetime or Timestamp, got {shorten(when)}")
        pattern = f"{_AT}{Timestamp.of(when)}"
        return cls(pattern=pattern, target=target, source=source, ttl=ttl, rollup=rollup)

    @classmethod
    def every(
        cls,
        interval: timedelta,
        target: str,
        *,
        source: str | None = None,
        ttl: timedelta | Literal["never"] | None = None,
        rollup: bool = False,
    ) -> Schedule:
        """A schedule that repeats with an interval of a second or more (2.14).

        Raises:
            InvalidConfig: a shorter interval.
        """
        if not isinstance(interval, timedelta):
            raise InvalidConfig(f"expected a timedelta, got {shorten(interval)}")
        pattern = f"{_EVERY}{duration_text(interval)}"
        return cls(pattern=pattern, target=target, source=source, ttl=ttl, rollup=rollup)

    @classmethod
    def cron(
        cls,
        pattern: str,
        target: str,
        *,
        time_zone: str | None = None,
        source: str | None = None,
        ttl: timedelta | Literal["never"] | None = None,
        rollup: bool = False,
    ) -> Schedule:
        """A schedule by a cron pattern of six fields, second first, or ``@daily`` and so on (2.14).

        Raises:
            InvalidConfig: the pattern is invalid.
        """
        Cron.parse(pattern)
        return cls(
            pattern=pattern,
            target=target,
            source=source,
            ttl=ttl,
            rollup=rollup,
            time_zone=time_zone,
        )

    @classmethod
    def read(cls, headers: Headers) -> Schedule | None:
        """The schedule of a stored message, ``None`` if the message is no schedule.

        Raises:
            InvalidResponse: schedule headers that no server would have stored.
        """
        pattern = headers.last(SCHEDULE)
        if pattern is None:
            return None
        ttl = headers.last(SCHEDULE_TTL)
        try:
            return cls(
                pattern=pattern,
                target=headers.last(TARGET) or "",
                source=headers.last(SOURCE),
                ttl=None if not ttl else _ttl_read(ttl),
                rollup=bool(headers.last(SCHEDULE_ROLLUP)),
                time_zone=headers.last(TIME_ZONE),
            )
        except ValueError as error:
            raise InvalidResponse(f"expected the headers of a schedule: {error}") from None

    @property
    def repeats(self) -> bool:
        """Whether it fires more than once."""
        return not self.pattern.startswith(_AT)

    def items(self) -> list[tuple[str, str]]:
        """The schedule as pairs for the header block of a message."""
        given = [(SCHEDULE, self.pattern), (TARGET, self.target)]
        if self.source is not None:
            given.append((SOURCE, self.source))
        if self.ttl is not None:
            given.append((SCHEDULE_TTL, ttl_text(self.ttl, "ttl of a schedule", 10191)))
        if self.rollup:
            given.append((SCHEDULE_ROLLUP, "sub"))
        if self.time_zone is not None:
            given.append((TIME_ZONE, self.time_zone))
        return given

    def runs(self, start: datetime, *, zone: tzinfo | None = None) -> Iterator[datetime]:
        """The times at which it fires if it is stored at ``start``: one, or without end.

        A cron pattern without a match for five years ends, because the server then drops it.

        Args:
            start: when it is stored, with a time zone.
            zone: the rules of the schedule's ``time_zone``, such as
                ``zoneinfo.ZoneInfo("Europe/Berlin")``, because the core reads no files. The times
                are in this zone, else in UTC.

        Raises:
            InvalidConfig: ``start`` has no time zone, or the schedule has one and ``zone`` is
                missing.
        """
        stored = Timestamp.of(start).ns
        if self.time_zone is not None and zone is None:
            raise InvalidConfig(
                f"expected the rules of time zone {self.time_zone!r} as zone, got none"
            )
        return self._runs(stored, zone or UTC)

    def _runs(self, at: int, zone: tzinfo) -> Iterator[datetime]:
        when = _when(self.pattern)
        if isinstance(when, Timestamp):
            yield when.datetime.astimezone(zone)
            return
        while True:
            if isinstance(when, Cron):
                second = when.following(at // _S, zone if self.time_zone is not None else UTC)
                if second is None:
                    return
                at = second * _S
            else:
                at = (at + _S // 2) // _S * _S + when
            try:
                moment = Timestamp(at)
            except InvalidConfig:  # after the year 9999
                return
            yield moment.datetime.astimezone(zone)


def _when(pattern: str) -> Timestamp | int | Cron:
    """The meaning of a pattern: a time, an interval in nanoseconds, or a cron pattern."""
    if not isinstance(pattern, str):
        raise InvalidConfig(f"expected text as the pattern of a schedule, got {shorten(pattern)}")
    if pattern.startswith(_AT):
        text = pattern[len(_AT) :]
        try:
            moment = Timestamp.parse(text) if text.isupper() else None
        except InvalidResponse as error:
            raise InvalidConfig(f"expected a time after @at: {error} (10189)") from None
        if moment is None:
            raise InvalidConfig(f"expected an RFC 3339 time after @at, got {shorten(text)} (10189)")
        return moment
    if pattern.startswith(_EVERY):
        pause = parse_duration(pattern[len(_EVERY) :])
        if pause is None or pause < _S:
            raise InvalidConfig(
                "expected a duration of at least one second after @every, "
                f"got {shorten(pattern)} (10189)"
            )
        return pause
    return Cron.parse(pattern)


def _ttl_read(text: str) -> timedelta | Literal["never"]:
    if text.lower() == "never":
        return "never"
    ns = int(text) * _S if text.isdecimal() and len(text) < 12 else parse_duration(text)
    if ns is None:
        raise InvalidConfig(f"expected a time to live, got {shorten(text)} (10191)")
    return timedelta(seconds=ns // _S)  # the server drops the rest
