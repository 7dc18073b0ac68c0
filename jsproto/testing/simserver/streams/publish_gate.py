"""The gate of a stream: what a publish has to pass before it is stored, in the server's order.

Each check refuses with an error of its own, drops the message without a word, or finds that it was
stored before. What passes comes out as it is to be stored: without a forged status line, and for a
counter with the new total as its payload (nats-server ``stream.go``, ``processJetStreamMsg``).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Final, NamedTuple, Protocol

from jsproto.testing.simserver.streams.batches import BatchMessage
from jsproto.testing.simserver.values import refusals
from jsproto.testing.simserver.values.documents import Table, integer, read, table, text
from jsproto.testing.simserver.values.gotime import SECOND, parse_go_duration
from jsproto.testing.simserver.values.headers import header
from jsproto.testing.simserver.values.profile import Profile
from jsproto.testing.simserver.values.refusals import RefusedError, numbered

#: A header block of more bytes is refused (the file store has 16 bits for its length).
_MAX_HEADER: Final = 65_535
#: Headers of a publish that ask for things which are not modelled.
_NOT_MODELLED: Final = (b"Nats-Schedule", b"Nats-Schedule-Next", b"Nats-Scheduler")
#: What a counter can not be expected to be.
_NOT_ON_COUNTERS: Final = (
    b"Nats-Rollup",
    b"Nats-Expected-Stream",
    b"Nats-Expected-Last-Msg-Id",
    b"Nats-Expected-Last-Subject-Sequence-Subject",
    b"Nats-Expected-Last-Sequence",
    b"Nats-Expected-Last-Subject-Sequence",
)
_INCREMENT: Final = re.compile(rb"[+-]?\d+")
#: No Go parser takes a longer number for a sequence.
_MAX_DIGITS: Final = 20


class Asking(Protocol):
    """What the gate asks of its stream."""

    config: Table
    name: str
    last: int

    @property
    def size(self) -> int:
        """Bytes that are stored."""
        ...

    def __len__(self) -> int: ...

    def stored_size(self, subject: str, size: int, *, headers: bool = False) -> int:
        """Bytes that a message of ``size`` takes."""
        ...

    def count(self, subject: str) -> int:
        """How many messages a subject has."""
        ...

    def newest(self, pattern: str) -> tuple[int, bytes]:
        """Sequence and payload of the newest message under ``pattern``; 0 if there is none."""
        ...


class Admitted(NamedTuple):
    """A message that may be stored.

    ``rollup`` is ``b"sub"``, ``b"all"`` or empty; ``ttl`` seconds, 0 for none, -1 for never and
    ``None`` for a value that has no meaning; ``total`` the new value of a counter.
    """

    block: bytes | None
    payload: bytes
    ident: bytes
    rollup: bytes
    ttl: int | None
    total: str | None


class DroppedError(Exception):
    """A publish that the server drops without an answer."""


class DuplicateError(Exception):
    """A publish whose id is known: it was stored as ``seq``."""

    def __init__(self, seq: int) -> None:
        super().__init__(seq)
        self.seq = seq


class _Room:
    """With discard new the members of a batch have to fit beside what is there; none makes room for
    another.
    """

    def __init__(self, stream: Asking, profile: Profile) -> None:
        self._stream = stream
        self._profile = profile
        self._messages, self._size = len(stream), stream.size
        self._subjects: Counter[str] = Counter()

    def take(self, subject: str, member: Admitted) -> None:
        config, stream = self._stream.config, self._stream
        size = len(member.block or b"") + len(member.payload)
        self._messages += 1
        self._size += stream.stored_size(subject, size, headers=member.block is not None)
        self._subjects[subject] += 1
        if config["discard"] != "new":
            return
        if 0 < integer(config, "max_msgs") < self._messages:
            raise RefusedError(refusals.STORE_FAILED.about("maximum messages exceeded"))
        if 0 < integer(config, "max_bytes") < self._size:
            raise RefusedError(refusals.STORE_FAILED.about("maximum bytes exceeded"))
        if not config.get("discard_new_per_subject") or (
            member.rollup and self._profile.rollup_fits
        ):
            return
        if (
            integer(config, "max_msgs_per_subject")
            < stream.count(subject) + self._subjects[subject]
        ):
            raise RefusedError(refusals.STORE_FAILED.about("maximum messages per subject exceeded"))


class PublishGate:
    """The checks of one stream, and its memory of message ids."""

    __slots__ = (
        "_counts",
        "_ids",
        "_max_size",
        "_profile",
        "_sealed",
        "_stream",
        "claimed",
        "last_id",
    )

    def __init__(self, stream: Asking, profile: Profile) -> None:
        self._stream = stream
        self._profile = profile
        self._ids: dict[bytes, tuple[int, int]] = {}
        #: Id of the message that was stored last, empty if it had none.
        self.last_id = b""
        #: Messages that were refused too late: they had their sequence already.
        self.claimed = 0
        self._sealed = self._counts = False
        self._max_size = -1

    def configure(self, config: Table) -> None:
        """Take over what is asked for with each message."""
        self._sealed = bool(config["sealed"])
        self._counts = bool(config.get("allow_msg_counter"))
        self._max_size = integer(config, "max_msg_size")

    def stored(self, ident: bytes, seq: int, now: int) -> None:
        """A message was stored under this id, if it has one."""
        self.last_id = ident
        if ident:
            self._ids[ident] = (seq, now)

    def late(self, ident: bytes) -> None:
        """A message is refused that has passed all of these checks."""
        if self._profile.counts_refused_ttl:
            self.claimed += 1
            self.last_id = ident

    def known(self, ident: bytes, now: int) -> int:
        """The sequence under which an id was stored within the window, 0 if it was not."""
        ids = self._ids
        if not ids:
            return 0
        window = integer(self._stream.config, "duplicate_window")
        while ids:
            oldest = next(iter(ids))
            if now - ids[oldest][1] < window:
                break
            del ids[oldest]
        known = ids.get(ident)
        return known[0] if known is not None else 0

    # ------------------------------------------------------------------------------------------------ the checks

    def admit(self, subject: str, block: bytes | None, payload: bytes, now: int) -> Admitted:
        """Check one publish.

        Raises:
            RefusedError: it is refused.
            DroppedError: it is dropped without a word.
            DuplicateError: it is stored already.
        """
        profile = self._profile
        if profile.size_first:
            self.check_size(block or b"", payload)
        if self._sealed:
            raise RefusedError(refusals.SEALED)
        if block is None:
            if self._counts:
                raise RefusedError(numbered(10169))
            if not profile.size_first:
                self.check_size(b"", payload)
            return Admitted(None, payload, b"", b"", 0, None)
        increment = self._increment(block, payload) if profile.counters else None
        ident = header(block, b"Nats-Msg-Id") or b""
        self._check_stream(block)
        ttl = self._ttl(block)
        if not profile.duplicates_last:
            self._check_duplicate(ident, now)
        self._check_sequences(subject, block)
        if profile.duplicates_last:
            self._check_duplicate(ident, now)
        expected = header(block, b"Nats-Expected-Last-Msg-Id")
        if expected is not None and expected != self.last_id:
            raise RefusedError(
                refusals.WRONG_LAST_MSG_ID.about(self.last_id.decode("utf-8", "replace"))
            )
        rollup = self._rollup(block)
        total = None
        if self._counts:
            total, payload = self._count(subject, increment, {})
        self.check_size(block, payload)
        block, ttl = self._no_shorter(block, ttl)
        return Admitted(self._stripped(block), payload, ident, rollup, ttl, total)

    def admit_batch(self, members: list[BatchMessage], now: int) -> list[Admitted]:
        """Check the messages of a batch that commits, against the stream and each other.

        Raises:
            RefusedError: one of them is refused, and with it all.
        """
        admitted: list[Admitted] = []
        idents: set[bytes] = set()
        subjects: set[str] = set()
        totals: dict[str, int] = {}
        room = _Room(self._stream, self._profile)
        for at, (subject, block, payload) in enumerate(members):
            if header(block, b"Nats-Expected-Last-Msg-Id") is not None:
                raise RefusedError(numbered(10177, "Nats-Expected-Last-Msg-Id"))
            increment = self._increment(block, payload)
            self._check_stream(block)
            ttl = self._ttl(block)
            if ttl is None:
                raise RefusedError(
                    numbered(10165 if self._stream.config.get("allow_msg_ttl") else 10166)
                )
            ident = header(block, b"Nats-Msg-Id") or b""
            if ident and (ident in idents or self.known(ident, now)):
                raise RefusedError(numbered(10201))
            idents.add(ident)
            total, body = (
                self._count(subject, increment, totals) if self._counts else (None, payload)
            )
            self.check_size(block, body)
            self._check_member_sequences(subject, block, at, subjects)
            subjects.add(subject)
            block, ttl = self._no_shorter(block, ttl)  # noqa: PLW2901 - the message as it is stored
            admitted.append(
                Admitted(self._stripped(block), body, ident, self._rollup(block), ttl, total)
            )
            room.take(subject, admitted[-1])
        return admitted

    def _check_member_sequences(
        self, subject: str, block: bytes, at: int, before: set[str]
    ) -> None:
        expected = header(block, b"Nats-Expected-Last-Sequence")
        if expected is not None and _digits(expected) != self._stream.last + at:
            raise RefusedError(refusals.WRONG_LAST_SEQUENCE.about(self._stream.last + at))
        if expected is not None and at:
            raise RefusedError(numbered(10164))
        expected = header(block, b"Nats-Expected-Last-Subject-Sequence")
        about = header(block, b"Nats-Expected-Last-Subject-Sequence-Subject")
        if expected is None:
            if about is not None:
                raise RefusedError(refusals.EXPECTED_SUBJECT_ALONE)
            return
        pattern = about.decode("utf-8", "replace") if about else subject
        if pattern in before:
            raise RefusedError(numbered(10164))
        seen = self._stream.newest(pattern)[0]
        if _digits(expected) != seen:
            raise RefusedError(refusals.WRONG_LAST_SEQUENCE.about(seen))

    def check_size(self, block: bytes, payload: bytes) -> None:
        """Refuse what is larger than the stream or the server takes."""
        if 0 <= self._max_size < len(block) + len(payload):
            raise RefusedError(refusals.MESSAGE_TOO_BIG)
        if len(block) > _MAX_HEADER:
            raise RefusedError(refusals.HEADER_TOO_BIG)

    def _check_stream(self, block: bytes) -> None:
        for name in _NOT_MODELLED:
            if header(block, name) is not None and self._profile.counters:
                raise RefusedError(refusals.NOT_MODELLED.about(f"header {name.decode()}"))
        expected = header(block, b"Nats-Expected-Stream")
        if expected is not None and expected.decode("utf-8", "replace") != self._stream.name:
            raise RefusedError(refusals.STREAM_MISMATCH)

    def _check_duplicate(self, ident: bytes, now: int) -> None:
        known = self.known(ident, now) if ident else 0
        if known:
            raise DuplicateError(known)

    def _check_sequences(self, subject: str, block: bytes) -> None:
        expected = header(block, b"Nats-Expected-Last-Subject-Sequence")
        about = header(block, b"Nats-Expected-Last-Subject-Sequence-Subject")
        if expected is not None:
            pattern = (
                about.decode("utf-8", "replace")
                if about and self._profile.expected_subject
                else subject
            )
            seen = self._stream.newest(pattern)[0]
            if _digits(expected) != seen:
                raise RefusedError(refusals.WRONG_LAST_SEQUENCE.about(seen))
        elif about is not None and self._profile.expected_subject_alone_refused:
            raise RefusedError(refusals.EXPECTED_SUBJECT_ALONE)
        expected = header(block, b"Nats-Expected-Last-Sequence")
        last = self._stream.last + self.claimed
        if expected is not None and _digits(expected) != last:
            raise RefusedError(refusals.WRONG_LAST_SEQUENCE.about(last))

    def _rollup(self, block: bytes) -> bytes:
        asked = header(block, b"Nats-Rollup")
        if asked is None:
            return b""
        config = self._stream.config
        if not config["allow_rollup_hdrs"] or config["deny_purge"]:
            raise RefusedError(refusals.ROLLUP_FAILED.about("rollup not permitted"))
        if asked.lower() not in {b"sub", b"all"}:
            if not self._profile.rollup_answered:
                raise DroppedError
            seen = asked.decode("utf-8", "replace").replace('"', '\\"')
            raise RefusedError(refusals.ROLLUP_FAILED.about(f'rollup value invalid: "{seen}"'))
        return asked.lower()

    def _ttl(self, block: bytes) -> int | None:
        """Seconds to live, 0 for none, -1 for ever; ``None`` for a value that has no meaning."""
        asked = header(block, b"Nats-TTL")
        if asked is None or not self._profile.message_ttl:
            return 0
        ttl = _seconds(asked)
        if ttl and not self._stream.config.get("allow_msg_ttl"):
            raise RefusedError(numbered(10166))
        return ttl

    def _no_shorter(self, block: bytes, ttl: int | None) -> tuple[bytes, int | None]:
        """A message lives no shorter than the markers of the stream; its header says what it has
        become, behind the others.

        A stream with one message for each subject leaves the time as it is.
        """
        config = self._stream.config
        least = integer(config, "subject_delete_marker_ttl") // SECOND
        if not ttl or not 0 < ttl < least or integer(config, "max_msgs_per_subject") == 1:
            return block, ttl
        lines = [line for line in block.split(b"\r\n") if not line.startswith(b"Nats-TTL:")]
        lines[-2:-2] = [b"Nats-TTL: %d" % least]
        return b"\r\n".join(lines), least

    # ------------------------------------------------------------------------------------------------ counters

    def _increment(self, block: bytes, payload: bytes) -> int | None:
        asked = header(block, b"Nats-Incr")
        if asked is None:
            return None
        if _INCREMENT.fullmatch(asked) is None:
            raise RefusedError(numbered(10171))
        if not self._stream.config.get("allow_msg_counter"):
            raise RefusedError(numbered(10168))
        if payload:
            raise RefusedError(numbered(10170))
        if any(header(block, name) is not None for name in _NOT_ON_COUNTERS):
            raise RefusedError(numbered(10171))
        return int(asked)

    def _count(
        self, subject: str, increment: int | None, totals: dict[str, int]
    ) -> tuple[str, bytes]:
        """The new total of a counter and its payload; ``totals`` are those that are not stored yet."""
        if increment is None:
            raise RefusedError(numbered(10169))
        if subject not in totals:
            seq, payload = self._stream.newest(subject)
            try:
                totals[subject] = int(text(table(read(payload)), "val")) if seq else 0
            except ValueError:
                raise RefusedError(numbered(10172)) from None
        total = totals[subject] = totals[subject] + increment
        return str(total), json.dumps({"val": str(total)}, separators=(",", ":")).encode()

    # ------------------------------------------------------------------------------------------------ the block

    def _stripped(self, block: bytes) -> bytes | None:
        """A forged status line is not stored, from 2.12 on."""
        if not block:
            return None
        if self._profile.strips_status_line and block.startswith(b"NATS/1.0 "):
            rest = block[block.index(b"\r\n") :] if b"\r\n" in block else b""
            return b"NATS/1.0" + rest if rest != b"\r\n\r\n" else None
        return block


def _digits(value: bytes) -> int:
    return int(value) if value.isdigit() and len(value) <= _MAX_DIGITS else -1


def _seconds(asked: bytes) -> int | None:
    """The seconds of a time to live: -1 for never, ``None`` for what has no meaning."""
    value = asked.decode("utf-8", "replace")
    if value.lower() == "never":
        return -1
    duration = parse_go_duration(value)
    if duration is not None:
        return duration // SECOND if duration >= SECOND else None
    seconds = _digits(asked)
    return seconds if seconds >= 0 else None
