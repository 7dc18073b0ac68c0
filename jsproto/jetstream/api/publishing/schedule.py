"""Messages that the stream publishes later, once or again and again (2.12, ADR-51).

Theory. A schedule is a stored message: its headers say when, and on which subject of the same
stream its payload is to be published then. A subject holds one schedule, the newest, because the
server rolls it up. A schedule for one moment is deleted when it has fired; any other stays until it
is replaced, deleted, or cancelled by a message with ``Nats-Schedule-Next: purge``.

When it fires is arithmetic on the moment at which it was stored and on the pattern, so it can be
said beforehand: `Schedule.runs`.

    @at <time>        at that moment; at once if it is past
    @every <time>     from a second or more; counted from the moment before, rounded to a second
    six fields        see `cron`; by UTC, or by the clocks of a time zone

The server fires up to a quarter of a second late, and skips what it missed while it was down but
for one.
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
#: On what a schedule has published: the subject of the schedule, and when it fires next.
SCHEDULER: Final = "Nats-Scheduler"
SCHEDULE_NEXT: Final = "Nats-Schedule-Next"
PURGE: Final = "purge"

_AT: Final = "@at "
_EVERY: Final = "@every "
_S: Final = 1_000_000_000


def ttl_text(ttl: timedelta | Literal["never"], option: str, err_code: int) -> str:
    """A time to live as headers say it: whole seconds, or ``never``. The server forgets parts of a
    second.

    Raises:
        InvalidConfig: less than a second, a part of one, or nothing of the kind.
    """
    if isinstance(ttl, str):
        if ttl != "never":
            raise InvalidConfig(
                f"expected a timedelta or 'never' as {option}, got {shorten(ttl)} ({err_code})"
            )
        return ttl
    if not isinstance(ttl, timedelta) or ttl < timedelta(seconds=1):
        raise InvalidConfig(
            f"expected a timedelta of at least one second or 'never' as {option}, got {ttl!r} ({err_code})"
        )
    seconds, rest = divmod(nanoseconds(ttl), _S)
    if rest:
        raise InvalidConfig(
            f"expected whole seconds as {option}, got {ttl!r}: the server would make it {seconds} s"
        )
    return str(seconds)


@final
@frozen(kw_only=True)
class Schedule:
    """When a message is to be published, and where. The payload and the other headers are those of
    the message itself.

    Attributes:
        pattern: when, in the server's words; `at`, `every` and `cron` write them.
        target: the subject to publish on, one of the same stream and another than the schedule's
            own.
        source: publish the last message of this subject instead of the schedule's own payload
            (2.14).
        ttl: how long what it publishes lives; the stream has to allow that.
        rollup: what it publishes replaces all of its subject (2.14).
        time_zone: name of the zone whose clocks a cron pattern means, UTC if none is given (2.14).

    Raises:
        InvalidConfig: a pattern, time to live or zone that the server would refuse.
        InvalidSubject: a target or source that is none.
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
                f"expected the name of a time zone beside a cron pattern only, got {shorten(self.time_zone)} "
                f"beside {shorten(self.pattern)} (10189, 10223)"
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
        """Once, at a moment; at once if it is past.

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
        """Again and again, with a pause of a second or more (2.14).

        Raises:
            InvalidConfig: a shorter pause.
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
        """By a cron pattern of six fields, second first, or a word such as ``@daily`` (2.14).

        Raises:
            InvalidConfig: it is no such pattern.
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
        """The schedule that a stored message is, ``None`` if it is none.

        Raises:
            InvalidResponse: headers of a schedule that no server would have stored.
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
        """What it is, as pairs for the header block of a message."""
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
        """When it fires, if it is stored at ``start``: one moment, or moments without end.

        A cron pattern that matches nothing for five years ends, as the server drops it then.

        Args:
            start: the moment at which it is stored, with a time zone.
            zone: rules of the schedule's ``time_zone``, such as
                ``zoneinfo.ZoneInfo("Europe/Berlin")``: the core reads no tables. The moments are
                given in it too, else in UTC.

        Raises:
            InvalidConfig: no time zone in ``start``, or a schedule with a zone and none given here.
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
            except InvalidConfig:  # behind the year 9999
                return
            yield moment.datetime.astimezone(zone)


def _when(pattern: str) -> Timestamp | int | Cron:
    """What a pattern means: a moment, nanoseconds of pause, or a cron pattern."""
    if not isinstance(pattern, str):
        raise InvalidConfig(f"expected text as the pattern of a schedule, got {shorten(pattern)}")
    if pattern.startswith(_AT):
        text = pattern[len(_AT) :]
        try:
            moment = Timestamp.parse(text) if text.isupper() else None
        except InvalidResponse as error:
            raise InvalidConfig(f"expected a time behind @at: {error} (10189)") from None
        if moment is None:
            raise InvalidConfig(
                f"expected an RFC 3339 time behind @at, got {shorten(text)} (10189)"
            )
        return moment
    if pattern.startswith(_EVERY):
        pause = parse_duration(pattern[len(_EVERY) :])
        if pause is None or pause < _S:
            raise InvalidConfig(
                f"expected a duration of at least one second behind @every, got {shorten(pattern)} (10189)"
            )
        return pause
    return Cron.parse(pattern)


def _ttl_read(text: str) -> timedelta | Literal["never"]:
    if text.lower() == "never":
        return "never"
    ns = int(text) * _S if text.isdecimal() and len(text) < 12 else parse_duration(text)
    if ns is None:
        raise InvalidConfig(f"expected a time to live, got {shorten(text)} (10191)")
    return timedelta(seconds=ns // _S)  # the server forgets the rest
