"""Streams: what is stored, what is refused, what falls out again.

A publish passes the checks in the server's order (nats-server ``stream.go``, ``processJetStreamMsg``): sizes, expected
stream, duplicate, expectations, room; then it is stored, old messages make place, and the consumers are told. A stream
answers a publish with the text of the acknowledgement. It knows its consumers by the few words of :class:`Follower`.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from typing import Final, Protocol, TypeAlias

from jsproto.testing.simserver import refusals
from jsproto.testing.simserver.documents import Table, integer, text, texts
from jsproto.testing.simserver.gotime import ZERO_TIME, rfc3339
from jsproto.testing.simserver.profile import Profile
from jsproto.testing.simserver.refusals import RefusedError
from jsproto.testing.simserver.subjects import matches

#: A header block of more bytes is refused (the file store has 16 bits for its length).
_MAX_HEADER: Final = 65_535
#: Headers of a publish that ask for things which are not modelled.
_NOT_MODELLED: Final = (
    b"Nats-Batch-Id",
    b"Nats-Schedule",
    b"Nats-TTL",
    b"Nats-Incr",
)


class Stored:
    """One message at rest. ``time`` is in nanoseconds since 1970."""

    __slots__ = ("block", "payload", "seq", "subject", "subject_size", "time")

    def __init__(self, seq: int, subject: str, block: bytes | None, payload: bytes, time: int) -> None:
        self.seq = seq
        self.subject = subject
        #: Bytes of the subject on the wire.
        self.subject_size = (
            len(subject) if subject.isascii() else len(subject.encode("utf-8", "surrogateescape"))
        )
        self.block = block
        self.payload = payload
        self.time = time


class Follower(Protocol):
    """What a stream asks of its consumers."""

    def stored(self, message: Stored, now: int) -> None:
        """A message was added at the end."""

    def removed(self, message: Stored, now: int, *, told: bool) -> None:
        """A message left the stream; ``told``: it was deleted on request and whoever holds it should know."""

    def purged(self, first: int, now: int) -> None:
        """Everything below ``first`` left the stream."""

    def needs(self, message: Stored) -> bool:
        """Whether this consumer has not done with the message."""
        ...


#: Text of an acknowledgement, or ``None`` when there is to be none.
PubAck: TypeAlias = str | None


class Stream:
    """One stream with its messages."""

    __slots__ = (
        "_bytes",
        "_ids",
        "_last_id",
        "_last_time",
        "_messages",
        "_profile",
        "_subjects",
        "config",
        "created",
        "domain",
        "first",
        "followers",
        "last",
        "name",
    )

    def __init__(self, config: Table, profile: Profile, now: int, domain: str = "") -> None:
        self.name = text(config, "name")
        self.created = now
        self.domain = domain
        self.followers: dict[str, Follower] = {}
        self._profile = profile
        self._messages: dict[int, Stored] = {}
        #: By subject, the sequences that are still there, oldest first.
        self._subjects: dict[str, deque[int]] = {}
        self._bytes = 0
        self._ids: dict[bytes, tuple[int, int]] = {}
        self._last_id = b""
        self._last_time = 0
        self.config: Table = {}
        self.configure(config)
        start = integer(config, "first_seq")
        self.first = start
        self.last = max(start - 1, 0)

    # ------------------------------------------------------------------------------------------------ what it is

    def configure(self, config: Table) -> None:
        """Take over a new configuration."""
        self.config = config

    @property
    def subjects(self) -> list[str]:
        """The patterns that it listens on."""
        return texts(self.config, "subjects")

    @property
    def retention(self) -> str:
        """``limits``, ``interest`` or ``workqueue``."""
        return text(self.config, "retention")

    @property
    def in_memory(self) -> bool:
        """A restart of the server loses it."""
        return self.config["storage"] == "memory"

    @property
    def sealed(self) -> bool:
        """Nothing may change any more."""
        return bool(self.config["sealed"])

    @property
    def size(self) -> int:
        """Bytes as the store counts them."""
        return self._bytes

    def listens(self, subject: str) -> bool:
        """Whether a publish on ``subject`` is for this stream."""
        return any(matches(pattern, subject) for pattern in self.subjects)

    def state(self) -> Table:
        """The ``state`` member of an info."""
        first, last = self._messages.get(self.first), self._messages.get(self.last)
        state: Table = {
            "messages": len(self._messages),
            "bytes": self._bytes,
            "first_seq": self.first,
            "first_ts": rfc3339(first.time) if first is not None else ZERO_TIME,
            "last_seq": self.last,
            "last_ts": rfc3339(last.time if last is not None else self._last_time),
        }
        if self._subjects:
            state["num_subjects"] = len(self._subjects)
        gaps = self.last - self.first + 1 - len(self._messages)
        if self._messages and gaps:
            state["num_deleted"] = gaps
        state["consumer_count"] = len(self.followers)
        return state

    def gaps(self) -> list[int]:
        """Sequences between the first and the last that are gone."""
        return (
            [seq for seq in range(self.first, self.last + 1) if seq not in self._messages]
            if self._messages
            else []
        )

    def by_subject(self, pattern: str) -> dict[str, int]:
        """How many messages each subject under ``pattern`` has."""
        return {name: len(seqs) for name, seqs in sorted(self._subjects.items()) if matches(pattern, name)}

    # ------------------------------------------------------------------------------------------------ reading

    def message(self, seq: int) -> Stored | None:
        """The message of this sequence, if it is still there."""
        return self._messages.get(seq)

    def after(self, seq: int) -> Iterator[Stored]:
        """Messages from ``seq`` on, in order; robust against removals while it runs."""
        at = max(seq, self.first)
        while at <= self.last:
            message = self._messages.get(at)
            if message is not None:
                yield message
            at += 1

    def last_of(self, pattern: str) -> Stored | None:
        """The newest message under ``pattern``."""
        newest = max((seqs[-1] for name, seqs in self._subjects.items() if matches(pattern, name)), default=0)
        return self._messages.get(newest)

    def newest_per_subject(self, patterns: list[str]) -> list[int]:
        """The last sequence of each subject under the patterns, in order."""
        return sorted(
            seqs[-1]
            for name, seqs in self._subjects.items()
            if any(matches(pattern, name) for pattern in patterns)
        )

    # ------------------------------------------------------------------------------------------------ publishing

    def publish(self, subject: str, block: bytes | None, payload: bytes, now: int) -> PubAck:
        """Store one message, or refuse; the answer is the text of its acknowledgement."""
        try:
            return self._accept(subject, block, payload, now)
        except _DroppedError:
            return None
        except RefusedError as refused:
            return self._answer({"error": refused.refusal.body(), "stream": self.name, "seq": 0})

    def _accept(self, subject: str, block: bytes | None, payload: bytes, now: int) -> PubAck:
        headers = block or b""
        if len(headers) > _MAX_HEADER:
            raise RefusedError(refusals.HEADER_TOO_BIG)
        limit = integer(self.config, "max_msg_size")
        if 0 <= limit < len(headers) + len(payload):
            raise RefusedError(refusals.MESSAGE_TOO_BIG)
        if self.sealed:
            raise RefusedError(refusals.SEALED)
        ident = b""
        rollup = b""
        if block is not None:
            ident = header(block, b"Nats-Msg-Id") or b""
            duplicate = self._check(subject, block, ident, now)
            if duplicate is not None:
                return duplicate
            rollup = self._rollup(block)
        self._check_room(subject, len(headers) + len(payload))
        seq = self._store(subject, self._strip(block), payload, now)
        self._last_id = ident
        if ident:
            self._ids[ident] = (seq, now)
        for follower in list(self.followers.values()):
            follower.stored(self._messages[seq], now)
        if self.retention == "interest" and not self._needed(self._messages[seq]):
            self._remove(self._messages[seq], now, told=False)
        if rollup:
            self._roll(subject if rollup == b"sub" else ">", seq, now)
        self._shrink(subject, now)
        return self._answer({"stream": self.name, "seq": seq})

    def _check(self, subject: str, block: bytes, ident: bytes, now: int) -> PubAck:
        """Expectations of the publisher, in the server's order; the answer is that of a duplicate."""
        for name in _NOT_MODELLED:
            if header(block, name) is not None:
                raise RefusedError(refusals.NOT_MODELLED.about(f"header {name.decode()}"))
        expected = header(block, b"Nats-Expected-Stream")
        if expected is not None and expected.decode("utf-8", "replace") != self.name:
            raise RefusedError(refusals.STREAM_MISMATCH)
        known = self._known(ident, now) if ident else None
        if known is not None:
            return self._answer({"stream": self.name, "seq": known}, duplicate=True)
        self._check_subject_sequence(subject, block)
        expected = header(block, b"Nats-Expected-Last-Sequence")
        if expected is not None and _digits(expected) != self.last:
            raise RefusedError(refusals.WRONG_LAST_SEQUENCE.about(self.last))
        expected = header(block, b"Nats-Expected-Last-Msg-Id")
        if expected is not None and expected != self._last_id:
            raise RefusedError(refusals.WRONG_LAST_MSG_ID.about(self._last_id.decode("utf-8", "replace")))
        return None

    def _check_subject_sequence(self, subject: str, block: bytes) -> None:
        expected = header(block, b"Nats-Expected-Last-Subject-Sequence")
        about = header(block, b"Nats-Expected-Last-Subject-Sequence-Subject")
        if expected is None:
            if about is not None and self._profile.expected_subject_alone_refused:
                raise RefusedError(refusals.EXPECTED_SUBJECT_ALONE)
            return
        pattern = about.decode("utf-8", "replace") if about and self._profile.expected_subject else subject
        newest = self.last_of(pattern)
        seen = newest.seq if newest is not None else 0
        if _digits(expected) != seen:
            raise RefusedError(refusals.WRONG_LAST_SEQUENCE.about(seen))

    def _rollup(self, block: bytes) -> bytes:
        asked = header(block, b"Nats-Rollup")
        if asked is None:
            return b""
        if not self.config["allow_rollup_hdrs"] or self.config["deny_purge"]:
            raise RefusedError(refusals.ROLLUP_FAILED.about("rollup not permitted"))
        if asked.lower() not in {b"sub", b"all"}:
            if not self._profile.rollup_answered:
                raise _DroppedError
            seen = asked.decode("utf-8", "replace")
            raise RefusedError(refusals.ROLLUP_FAILED.about(f"rollup value invalid: {seen!r}"))
        return asked.lower()

    def _check_room(self, subject: str, size: int) -> None:
        if self.config["discard"] != "new":
            return
        per_subject = integer(self.config, "max_msgs_per_subject")
        if self.config.get("discard_new_per_subject") and 0 <= per_subject <= len(
            self._subjects.get(subject, ())
        ):
            raise RefusedError(refusals.STORE_FAILED.about("maximum messages per subject exceeded"))
        if 0 <= integer(self.config, "max_msgs") <= len(self._messages):
            raise RefusedError(refusals.STORE_FAILED.about("maximum messages exceeded"))
        limit = integer(self.config, "max_bytes")
        if 0 <= limit < self._bytes + self._stored_size(subject, size):
            raise RefusedError(refusals.STORE_FAILED.about("maximum bytes exceeded"))

    def _known(self, ident: bytes, now: int) -> int | None:
        window = integer(self.config, "duplicate_window")
        ids = self._ids
        while ids:
            oldest = next(iter(ids))
            if now - ids[oldest][1] < window:
                break
            del ids[oldest]
        known = ids.get(ident)
        return known[0] if known is not None else None

    def _strip(self, block: bytes | None) -> bytes | None:
        """A forged status line is not stored, from 2.12 on."""
        if block is None or not block:
            return None
        if self._profile.strips_status_line and block.startswith(b"NATS/1.0 "):
            rest = block[block.index(b"\r\n") :] if b"\r\n" in block else b""
            return b"NATS/1.0" + rest if rest != b"\r\n\r\n" else None
        return block

    def _answer(self, members: Table, *, duplicate: bool = False) -> PubAck:
        if self.config.get("no_ack"):
            return None
        if self.domain and "error" not in members:
            members["domain"] = self.domain
        if "error" in members:
            return json.dumps(members, separators=(",", ":"))
        blank = " " if self._profile.blank_in_pub_ack else ""
        body = f'{{"stream":"{self.name}",{blank}"seq":{members["seq"]}'
        if self.domain:
            body += f',{blank}"domain":"{self.domain}"'
        return body + (',"duplicate": true}' if duplicate else "}")

    # ------------------------------------------------------------------------------------------------ the store

    def _store(self, subject: str, block: bytes | None, payload: bytes, now: int) -> int:
        seq = self.last + 1
        self._messages[seq] = Stored(seq, subject, block, payload, now)
        self._subjects.setdefault(subject, deque()).append(seq)
        self._bytes += self._stored_size(subject, len(block or b"") + len(payload), headers=block is not None)
        if len(self._messages) == 1:
            self.first = seq
        self.last = seq
        self._last_time = now
        return seq

    def _stored_size(self, subject: str, size: int, *, headers: bool = False) -> int:
        if self.in_memory:
            return 16 + len(subject) + size
        return 30 + len(subject) + size + (4 if headers else 0)

    def _remove(self, message: Stored, now: int, *, told: bool) -> None:
        del self._messages[message.seq]
        seqs = self._subjects[message.subject]
        seqs.remove(message.seq)
        if not seqs:
            del self._subjects[message.subject]
        size = len(message.block or b"") + len(message.payload)
        self._bytes -= self._stored_size(message.subject, size, headers=message.block is not None)
        if message.seq == self.first:
            self.first = next(
                (seq for seq in range(message.seq + 1, self.last + 1) if seq in self._messages), self.last + 1
            )
        for follower in list(self.followers.values()):
            follower.removed(message, now, told=told)

    def _shrink(self, subject: str, now: int) -> None:
        """Old messages leave until every limit holds again."""
        per_subject = integer(self.config, "max_msgs_per_subject")
        seqs: deque[int] = self._subjects.get(subject) or deque()
        while 0 < per_subject < len(seqs):
            self._remove(self._messages[seqs[0]], now, told=False)
        most, size = integer(self.config, "max_msgs"), integer(self.config, "max_bytes")
        while self._messages and (0 < most < len(self._messages) or 0 < size < self._bytes):
            self._remove(self._messages[self.first], now, told=False)

    def _roll(self, pattern: str, seq: int, now: int) -> None:
        for message in [
            each for each in self.after(self.first) if each.seq < seq and matches(pattern, each.subject)
        ]:
            self._remove(message, now, told=False)

    def _needed(self, message: Stored) -> bool:
        return any(follower.needs(message) for follower in self.followers.values())

    def enforce(self, now: int) -> None:
        """Limits that an update of the configuration has tightened."""
        for subject in list(self._subjects):
            self._shrink(subject, now)

    def acknowledged(self, seq: int, now: int) -> None:
        """A consumer has done with a message; whether it leaves depends on the retention."""
        message = self._messages.get(seq)
        if message is None or self.retention == "limits":
            return
        if self.retention == "workqueue" or not self._needed(message):
            self._remove(message, now, told=False)

    def unfollowed(self, now: int) -> None:
        """A consumer is gone: with interest retention, what only it waited for leaves."""
        if self.retention == "interest":
            for message in [each for each in self.after(self.first) if not self._needed(each)]:
                self._remove(message, now, told=False)

    # ------------------------------------------------------------------------------------------------ taking out

    def delete(self, seq: int, now: int) -> None:
        """Delete one message on request.

        Raises:
            RefusedError: it is not there, or the stream does not allow it.
        """
        if self.sealed:
            raise RefusedError(refusals.SEALED)
        if self.config["deny_delete"]:
            raise RefusedError(refusals.MSG_DELETE_FAILED.about("message delete not permitted"))
        message = self._messages.get(seq)
        if message is None:
            raise RefusedError(refusals.SEQUENCE_NOT_FOUND.about(seq))
        self._remove(message, now, told=True)

    def purge(self, pattern: str, below: int, keep: int, now: int) -> int:
        """Delete messages under ``pattern``, below a sequence (0: all) or all but the newest ``keep``; how many.

        Raises:
            RefusedError: the stream does not allow it.
        """
        if self.sealed:
            raise RefusedError(refusals.SEALED)
        if self.config["deny_purge"]:
            raise RefusedError(refusals.PURGE_FAILED.about("stream purge not permitted"))
        found = [each for each in self.after(self.first) if not pattern or matches(pattern, each.subject)]
        if below:
            found = [each for each in found if each.seq < below]
        elif keep:
            found = found[:-keep]
        for message in found:
            self._remove(message, now, told=False)
        if not self._messages:
            self.first = self.last + 1
        for follower in list(self.followers.values()):
            follower.purged(self.first, now)
        return len(found)

    # ------------------------------------------------------------------------------------------------ time

    def deadline(self) -> int | None:
        """When the oldest message gets too old."""
        age = integer(self.config, "max_age")
        oldest = self._messages.get(self.first) if age else None
        return oldest.time + age if oldest is not None else None

    def ticked(self, now: int) -> None:
        """Messages above ``max_age`` leave."""
        age = integer(self.config, "max_age")
        while age and (oldest := self._messages.get(self.first)) is not None and oldest.time + age <= now:
            self._remove(oldest, now, told=False)


class _DroppedError(Exception):
    """A publish that the server drops without an answer."""


def header(block: bytes, name: bytes) -> bytes | None:
    """A header as the server looks it up, byte for byte.

    The name stands right behind CRLF and right before the colon; leading blanks of the value are skipped, trailing ones
    kept; an empty value is no value.
    """
    at = block.find(b"\r\n" + name + b":")
    if at < 0:
        return None
    start = at + len(name) + 3
    value = block[start : block.find(b"\r\n", start)].lstrip(b" ")
    return value or None


def _digits(value: bytes) -> int:
    return int(value) if value.isdigit() and len(value) <= 20 else -1
