"""The store of a stream: messages at rest, found by sequence, subject and time.

It counts bytes as the server's stores do, which differ between file and memory, and knows when
messages have lived their time. It decides nothing: what leaves, and who is told, is the business of
the stream.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from typing import Final

from jsproto.jetstream.api.patterns import literal
from jsproto.testing.simserver.values.documents import Table
from jsproto.testing.simserver.values.gotime import MILLISECOND, SECOND, ZERO_TIME, rfc3339
from jsproto.testing.simserver.values.subjects import matches

#: The server looks so much after the moment at which something is too old, and never more often
#: than that.
_LATE: Final = MILLISECOND
_APART: Final = 250 * MILLISECOND


class Stored:
    """One message at rest. ``time`` is in nanoseconds since 1970."""

    __slots__ = ("block", "payload", "seq", "subject", "subject_size", "time")

    def __init__(
        self, seq: int, subject: str, block: bytes | None, payload: bytes, time: int
    ) -> None:
        self.seq = seq
        self.subject = subject
        #: Bytes of the subject on the wire.
        self.subject_size = (
            len(subject) if subject.isascii() else len(subject.encode("utf-8", "surrogateescape"))
        )
        self.block = block
        self.payload = payload
        self.time = time


class Store:
    """Messages by sequence."""

    __slots__ = (
        "_begun",
        "_bytes",
        "_ends",
        "_ghosts",
        "_in_memory",
        "_last_time",
        "_looked_at",
        "_messages",
        "_subjects",
        "first",
        "last",
    )

    def __init__(self, first: int, *, in_memory: bool) -> None:
        self._in_memory = in_memory
        self._messages: dict[int, Stored] = {}
        #: By subject, the sequences that are still there, oldest first.
        self._subjects: dict[str, deque[int]] = {}
        #: Messages that are gone and still counted, by subject.
        self._ghosts: Counter[str] = Counter()
        self._bytes = 0
        #: When an empty store began, if it tells.
        self._begun = 0
        #: When messages with a time to live end, by sequence; 0 is never.
        self._ends: dict[int, int] = {}
        self._looked_at = 0
        self._last_time = 0
        self.first = first
        self.last = max(first - 1, 0)

    @property
    def in_memory(self) -> bool:
        """A restart of the server loses it."""
        return self._in_memory

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def size(self) -> int:
        """Bytes as the store counts them."""
        return self._bytes

    # ------------------------------------------------------------------------------------------------ reading

    def state(self) -> Table:
        """The ``state`` member of an info, but for its consumers."""
        first, last = self._messages.get(self.first), self._messages.get(self.last)
        begun = first.time if first is not None else self._begun
        state: Table = {
            "messages": len(self._messages),
            "bytes": self._bytes,
            "first_seq": self.first,
            "first_ts": rfc3339(begun) if begun else ZERO_TIME,
            "last_seq": self.last,
            "last_ts": rfc3339(last.time if last is not None else self._last_time),
        }
        if self._subjects or self._ghosts:
            state["num_subjects"] = len({*self._subjects, *self._ghosts})
        gaps = self.last - self.first + 1 - len(self._messages)
        if self.first and gaps:
            state["num_deleted"] = gaps
        return state

    def gaps(self) -> list[int]:
        """Sequences between the first and the last that are gone; a store in files misses 0 as long
        as it was never used.
        """
        if not self._messages and (self.last or self.in_memory):
            return []
        return [seq for seq in range(self.first, self.last + 1) if seq not in self._messages]

    def by_subject(self, pattern: str) -> dict[str, int]:
        """How many messages each subject under ``pattern`` has."""
        names = sorted({*self._subjects, *self._ghosts})
        return {
            name: self.count(name) + self._ghosts[name] for name in names if matches(pattern, name)
        }

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
        if literal(pattern):
            seqs = self._subjects.get(pattern)
            return self._messages[seqs[-1]] if seqs else None
        newest = max(
            (seqs[-1] for name, seqs in self._subjects.items() if matches(pattern, name)), default=0
        )
        return self._messages.get(newest)

    def count(self, subject: str) -> int:
        """How many messages a subject has."""
        return len(self._subjects.get(subject, ()))

    def newest_per_subject(self, patterns: list[str], end: int | None = None) -> list[int]:
        """The last sequence of each subject under the patterns, none behind ``end``; in order."""
        newest = (
            next((seq for seq in reversed(seqs) if end is None or seq <= end), 0)
            for name, seqs in self._subjects.items()
            if any(matches(pattern, name) for pattern in patterns)
        )
        return sorted(seq for seq in newest if seq)

    def seq_at(self, moment: int) -> int:
        """The first sequence that was stored at a moment (nanoseconds) or later; behind the last if
        none was.
        """
        return next(
            (each.seq for each in self.after(self.first) if each.time >= moment), self.last + 1
        )

    def newest(self, pattern: str) -> tuple[int, bytes]:
        """Sequence and payload of the newest message under ``pattern``; 0 if there is none."""
        message = self.last_of(pattern)
        return (message.seq, message.payload) if message is not None else (0, b"")

    # ------------------------------------------------------------------------------------------------ writing

    def put(self, subject: str, block: bytes | None, payload: bytes, now: int) -> Stored:
        """Add a message at the end."""
        seq = self.last + 1
        message = self._messages[seq] = Stored(seq, subject, block, payload, now)
        seqs = self._subjects.get(subject)
        if seqs is None:
            seqs = self._subjects[subject] = deque()
        seqs.append(seq)
        size = len(payload) if block is None else len(block) + len(payload)
        self._bytes += self.stored_size(subject, size, headers=block is not None)
        if len(self._messages) == 1:
            self.first, self._begun = seq, 0
        self.last = seq
        self._last_time = now
        return message

    def skip(self, now: int, *, dated: bool) -> int:
        """Give a sequence to a message that is not kept; where nothing else is, it may say when the
        store begins.
        """
        self.last += 1
        self._last_time = now
        if not self._messages:
            self.first, self._begun = self.last + 1, now if dated else 0
        return self.last

    def stored_size(self, subject: str, size: int, *, headers: bool = False) -> int:
        """Bytes that a message of ``size`` (header block and payload) takes."""
        if self._in_memory:
            return 16 + len(subject) + size
        return 30 + len(subject) + size + (4 if headers else 0)

    def miscount(self, gone: list[Stored]) -> None:
        """These have left, and their subjects still count them."""
        self._ghosts.update(each.subject for each in gone)

    def recount(self) -> None:
        """Subjects count what is there."""
        self._ghosts.clear()

    def compact(self, first: int) -> None:
        """Let the store begin at a sequence; what was before is gone already."""
        self.first, self._begun = max(self.first, first), 0
        self.last = max(self.last, first - 1)

    def kept_since(self) -> tuple[int, int]:
        """The first sequence, and when its message was stored."""
        first = self._messages.get(self.first)
        return self.first, self._begun if first is None else first.time

    def keeps_first(self, since: tuple[int, int]) -> None:
        """Begin where it began before its last messages left, as `kept_since` told it then."""
        self.first, self._begun = since

    def size_of(self, message: Stored) -> int:
        """Bytes that a stored message takes."""
        block = message.block
        if block is None:
            return self.stored_size(message.subject, len(message.payload))
        return self.stored_size(message.subject, len(block) + len(message.payload), headers=True)

    def take(self, message: Stored) -> None:
        """Remove a message."""
        del self._messages[message.seq]
        self._ends.pop(message.seq, None)
        seqs = self._subjects[message.subject]
        if seqs[0] == message.seq:
            seqs.popleft()
        else:
            seqs.remove(message.seq)
        if not seqs:
            del self._subjects[message.subject]
        self._bytes -= self.size_of(message)
        if message.seq == self.first:
            first = message.seq + 1
            while first <= self.last and first not in self._messages:
                first += 1
            self.first = first

    # ------------------------------------------------------------------------------------------------ time

    def lives(self, message: Stored, ttl: int) -> None:
        """A message has a time to live, in seconds; -1 is for ever, whatever else says."""
        self._ends[message.seq] = message.time + ttl * SECOND if ttl > 0 else 0

    def next_end(self, age: int) -> int | None:
        """When to look for messages that are older than ``age`` (0: none), or have lived their
        time.
        """
        if not self._messages or not (age or self._ends):
            return None
        ends = [end for end in self._ends.values() if end] if self._ends else []
        if age:
            oldest = self._messages.get(self.first)
            if oldest is None or self._ends.get(oldest.seq) == 0:
                oldest = next(
                    (each for each in self.after(self.first) if self._ends.get(each.seq) != 0), None
                )
            if oldest is not None:
                ends.append(oldest.time + age)
        return max(min(ends) + _LATE, self._looked_at + _APART) if ends else None

    def ended(self, age: int, now: int) -> list[Stored]:
        """Those messages, oldest first."""
        due = self.next_end(age)
        if due is None or due > now:
            return []
        self._looked_at = now
        gone: dict[int, Stored] = {}
        if age:
            for message in self.after(self.first):
                if message.time + age > now:
                    break
                if self._ends.get(message.seq) != 0:
                    gone[message.seq] = message
        for seq, end in self._ends.items():
            if 0 < end <= now:
                gone[seq] = self._messages[seq]
        return [gone[seq] for seq in sorted(gone)] if self._ends else list(gone.values())
