"""Options of a publish, such as a message id or expectations, checked before anything is sent.

Theory. Each option is a header of the message. The client rejects what it can check: values that
no server accepts, options that exclude each other (each with the server's ``err_code``), and
headers that the user also sets directly.

A server that does not know a header stores the message without the option. With a single message
it does not check a required API level either. So a publisher that may use an old server should
request the server's level once, and check the options against it
(`jsproto.jetstream.api.validation.api_level.check_level`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final, Literal, TypedDict, cast, final

from attrs import evolve, fields, frozen

from jsproto.core.wording import meant
from jsproto.errors.tree import InvalidConfig, shorten
from jsproto.jetstream.api.config.enums import Rollup
from jsproto.jetstream.api.publishing.schedule import (
    PURGE,
    SCHEDULE_NEXT,
    SCHEDULER,
    Schedule,
    ttl_text,
)
from jsproto.jetstream.api.timestamps import UINT64_MAX
from jsproto.wire.encoder import payload_bytes
from jsproto.wire.headers import HeaderItems, Headers
from jsproto.wire.subjects import publish_subject, stream_name, subscription_subject

MSG_ID: Final = "Nats-Msg-Id"
EXPECTED_STREAM: Final = "Nats-Expected-Stream"
EXPECTED_LAST_SEQUENCE: Final = "Nats-Expected-Last-Sequence"
EXPECTED_LAST_SUBJECT_SEQUENCE: Final = "Nats-Expected-Last-Subject-Sequence"
EXPECTED_LAST_SUBJECT_SEQUENCE_SUBJECT: Final = "Nats-Expected-Last-Subject-Sequence-Subject"
EXPECTED_LAST_MSG_ID: Final = "Nats-Expected-Last-Msg-Id"
TTL: Final = "Nats-TTL"
ROLLUP: Final = "Nats-Rollup"
INCR: Final = "Nats-Incr"
_FOLDED_ID: Final = MSG_ID.casefold()

#: Python converts no longer numbers by default; the header block of a message ends at 64 kB.
_INCR_BITS: Final = 13_000


class PublishSettings(TypedDict, total=False):
    """Fields of `PublishOptions` as keyword settings."""

    msg_id: str | None
    expected_stream: str | None
    expected_last_sequence: int | None
    expected_last_subject_sequence: int | None
    expected_last_subject_sequence_subject: str | None
    expected_last_msg_id: str | None
    ttl: timedelta | Literal["never"] | None
    rollup: Rollup | Literal["sub", "all"] | None
    incr: int | None
    schedule: Schedule | None
    cancel_schedule: str | None


@final
@frozen(kw_only=True)
class PublishOptions:
    """What the stream must check or do when it stores a message.

    Attributes:
        msg_id: the stream does not store a second message with this id within its
            ``duplicate_window``.
        expected_stream: the stream that must store the message.
        expected_last_sequence: the last sequence that the stream must have.
        expected_last_subject_sequence: the last sequence that the subject must have; 0 means no
            message yet.
        expected_last_subject_sequence_subject: the subject of that expectation, with or without
            wildcards (2.11).
        expected_last_msg_id: id of the stream's last message.
        ttl: how long the message lives, at least one second, or for ever (2.11, ADR-43).
        rollup: delete older messages: of the subject, or of the whole stream.
        incr: increment the counter of this subject; the payload must be empty (2.12, ADR-49).
        schedule: store the message as a schedule, which publishes it later (2.12, ADR-51).
        cancel_schedule: subject of a schedule that ends when this message is stored (2.12,
            ADR-51).

    Raises:
        InvalidConfig: a value that no server accepts.
        InvalidSubject: an invalid stream name or subject.
    """

    msg_id: str | None = None
    expected_stream: str | None = None
    expected_last_sequence: int | None = None
    expected_last_subject_sequence: int | None = None
    expected_last_subject_sequence_subject: str | None = None
    expected_last_msg_id: str | None = None
    ttl: timedelta | Literal["never"] | None = None
    rollup: Rollup | Literal["sub", "all"] | None = None
    incr: int | None = None
    schedule: Schedule | None = None
    cancel_schedule: str | None = None

    def __attrs_post_init__(self) -> None:
        if self.expected_stream is not None:
            stream_name(self.expected_stream)
        if self.expected_last_subject_sequence_subject is not None:
            subscription_subject(self.expected_last_subject_sequence_subject)
            if self.expected_last_subject_sequence is None:
                raise InvalidConfig(
                    "expected expected_last_subject_sequence beside "
                    "expected_last_subject_sequence_subject, got none (10193)"
                )
        if self.cancel_schedule is not None:
            publish_subject(self.cancel_schedule)
        if self.schedule is not None and not isinstance(cast("object", self.schedule), Schedule):
            raise InvalidConfig(f"expected a Schedule, got {shorten(self.schedule)}")
        for wish, others, number in _EXCLUDES:
            if getattr(self, wish) is not None:
                seen = [other for other in others if getattr(self, other) is not None]
                if seen:
                    raise InvalidConfig(
                        f"expected {wish} without {', '.join(seen)}, got both ({number})"
                    )
        if self.schedule is not None and self.rollup not in {None, Rollup.SUB}:
            raise InvalidConfig(
                "expected a schedule with rollup 'sub' or without, got 'all' (10192)"
            )
        self.items()

    def items(self) -> list[tuple[str, str]]:
        """The options as pairs for the header block."""
        asked: list[tuple[str, str]] = []
        if self.msg_id is not None:
            asked.append((MSG_ID, _text("msg_id", self.msg_id)))
        if self.expected_stream is not None:
            asked.append((EXPECTED_STREAM, self.expected_stream))
        for name, option, number in (
            (EXPECTED_LAST_SEQUENCE, "expected_last_sequence", self.expected_last_sequence),
            (
                EXPECTED_LAST_SUBJECT_SEQUENCE,
                "expected_last_subject_sequence",
                self.expected_last_subject_sequence,
            ),
        ):
            if number is not None:
                asked.append((name, _whole(option, number)))
        if self.expected_last_subject_sequence_subject is not None:
            asked.append(
                (
                    EXPECTED_LAST_SUBJECT_SEQUENCE_SUBJECT,
                    self.expected_last_subject_sequence_subject,
                )
            )
        if self.expected_last_msg_id is not None:
            asked.append(
                (EXPECTED_LAST_MSG_ID, _text("expected_last_msg_id", self.expected_last_msg_id))
            )
        if self.ttl is not None:
            asked.append((TTL, ttl_text(self.ttl, "ttl", 10165)))
        if self.rollup is not None:
            asked.append((ROLLUP, _rollup(self.rollup)))
        if self.incr is not None:
            asked.append((INCR, _increment(self.incr)))
        if self.schedule is not None:
            asked += self.schedule.items()
        if self.cancel_schedule is not None:
            asked += [(SCHEDULER, self.cancel_schedule), (SCHEDULE_NEXT, PURGE)]
        return asked

    def headers(self, own: HeaderItems = ()) -> Headers | None:
        """The header block: the user's own headers, then the options; ``None`` if both are empty.

        Raises:
            InvalidConfig: the user's own headers contain an option.
            InvalidHeader: a name or value that the header block cannot carry.
        """
        return joined(own, self.items())

    def check(self, subject: str, payload: bytes | str) -> None:
        """Check the options against the subject and the payload.

        Raises:
            InvalidConfig: the server would reject the message; the text contains its number.
        """
        if self.incr is not None and payload:
            raise InvalidConfig(
                f"expected no payload beside incr, got {len(payload_bytes(payload))} bytes (10170)"
            )
        if self.cancel_schedule == subject:
            raise InvalidConfig(
                "expected another subject than that of the cancelled schedule, "
                f"got {subject!r} (10212)"
            )
        if self.schedule is None:
            return
        if self.schedule.target == subject:
            raise InvalidConfig(
                f"expected another target than the schedule's own subject, got {subject!r} (10190)"
            )
        if self.schedule.source == subject:
            raise InvalidConfig(
                f"expected another source than the schedule's own subject, got {subject!r} (10203)"
            )


#: Options that exclude others, and the server's error number for it.
_EXCLUDES: Final = (
    (
        "incr",
        (
            "rollup",
            "expected_stream",
            "expected_last_sequence",
            "expected_last_subject_sequence",
            "expected_last_subject_sequence_subject",
            "expected_last_msg_id",
        ),
        10171,
    ),
    ("schedule", ("cancel_schedule",), 10212),
)

NOTHING_ASKED: Final = PublishOptions()


def asked_for(options: PublishOptions | None, settings: Mapping[str, object]) -> PublishOptions:
    """Make options from an object, from keyword settings, or from both; the default has none.

    Raises:
        InvalidConfig: a wrong type, an unknown setting, or a value that no server accepts.
    """
    if not settings and options is None:
        return NOTHING_ASKED
    if options is not None and not isinstance(cast("object", options), PublishOptions):
        raise InvalidConfig(f"expected PublishOptions or settings by name, got {shorten(options)}")
    known = {each.name for each in fields(PublishOptions)}
    unknown = settings.keys() - known
    if unknown:
        wrong = sorted(unknown)
        raise InvalidConfig(
            f"expected settings of PublishOptions, got {shorten(wrong)}{meant(wrong, known)}"
        )
    return evolve(options or NOTHING_ASKED, **cast("Mapping[str, Any]", settings))


def message_id(headers: Headers | None) -> str | None:
    """The id for deduplication as the server reads it; ``None`` if the message has none.

    The server compares the name ``Nats-Msg-Id`` with regard to case, and takes the first value
    that is not empty.

    Raises:
        InvalidConfig: the name exists in another spelling only. The server treats it as any other
            header, so the message would have no id.
    """
    if headers is None:
        return None
    found = headers.first(MSG_ID)
    if found is None:
        for name in headers:
            if name.casefold() == _FOLDED_ID:
                raise InvalidConfig(
                    f"expected the header name {MSG_ID}, got {shorten(name)}: "
                    "the server would store the message without an id"
                )
    return found or None


def joined(own: HeaderItems, asked: list[tuple[str, str]]) -> Headers | None:
    """A header block of the user's own headers and the options; ``None`` if both are empty.

    Raises:
        InvalidConfig: the user's own headers contain an option.
        InvalidHeader: a name or value that the header block cannot carry.
    """
    if not asked and not own:
        return None
    block = own if isinstance(own, Headers) else Headers(own)
    if not asked:
        return block if block.items() else None
    taken = {name.casefold() for name in block}
    for name, _ in asked:
        if name.casefold() in taken:
            raise InvalidConfig(f"expected {name} as an option or as a header, got both")
    return block.merged(asked)


def _text(option: str, value: str) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidConfig(f"expected text as {option}, got {shorten(value)}")
    return value


def _whole(option: str, value: int) -> str:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= UINT64_MAX:
        raise InvalidConfig(
            f"expected a whole number of 0 to 2**64 - 1 as {option}, got {shorten(value)}"
        )
    return str(value)


def _rollup(value: Rollup | str) -> str:
    if value not in tuple(Rollup):
        raise InvalidConfig(f"expected 'sub' or 'all' as rollup, got {shorten(value)} (10111)")
    return str(value)


def _increment(value: int) -> str:
    if isinstance(value, bool) or not isinstance(value, int) or value.bit_length() > _INCR_BITS:
        raise InvalidConfig(
            f"expected a whole number of at most {_INCR_BITS} bits as incr, "
            f"got {type(value).__name__} (10171)"
        )
    return f"{value:+d}"
