"""Where a consumer stands in its stream: what it wants, what it comes to next, and how much is still ahead."""

from __future__ import annotations

from jsproto.testing.simserver.documents import Table, integer, text, texts
from jsproto.testing.simserver.gotime import parse_rfc3339
from jsproto.testing.simserver.store import Stored
from jsproto.testing.simserver.streams import Stream
from jsproto.testing.simserver.subjects import covers, matches


class Cursor:
    """A place in a stream, moving forward over the subjects that are wanted.

    With ``last_per_subject`` a list of single messages comes first, and then what is behind them all. ``pending`` is what is still ahead: kept by counting,
    and counted anew when messages or filters change at large.
    """

    __slots__ = ("_resume", "_skips", "_stream", "filters", "next_seq", "pending")

    def __init__(self, stream: Stream, config: Table) -> None:
        self._stream = stream
        self._skips: list[int] = []
        self._resume = 0
        self.filters: list[str] = []
        self.pending = 0
        self.choose(config)
        self.next_seq = self.start(config)
        self.count()

    def choose(self, config: Table) -> None:
        """Take over the filters of a configuration; filters that let everything pass are none."""
        one = text(config, "filter_subject")
        filters = [one] if one else texts(config, "filter_subjects")
        everything = all(any(covers(each, subject) for each in filters) for subject in self._stream.subjects)
        self.filters = [] if everything else filters

    def start(self, config: Table) -> int:
        """The sequence at which a configuration begins."""
        stream, policy = self._stream, text(config, "deliver_policy")
        first, end = max(stream.first, 1), stream.last + 1
        if policy == "last":
            return max((each.seq for each in stream.after(first) if self.wants(each.subject)), default=end)
        if policy == "by_start_sequence":
            return max(first, integer(config, "opt_start_seq"))
        if policy == "by_start_time":
            moment = parse_rfc3339(text(config, "opt_start_time")) or 0
            return stream.seq_at(moment)
        if policy == "last_per_subject":
            if integer(stream.config, "max_msgs_per_subject") == 1:
                return min(first, end)
            self._skips = stream.newest_per_subject(self.filters or [">"])
            self._resume = end
            return self._skips[0] if self._skips else max(stream.last, 1)
        return end if policy == "new" else min(first, end)

    def wants(self, subject: str) -> bool:
        """Whether messages on this subject are for the consumer."""
        return not self.filters or any(matches(pattern, subject) for pattern in self.filters)

    def count(self) -> None:
        """Count anew what is ahead."""
        ahead = sum(self.wants(each.subject) for each in self._stream.after(self._following()))
        self.pending = ahead + len(self._skips)

    def _following(self) -> int:
        """Where reading in a row goes on."""
        return self._resume if self._skips else self.next_seq

    def step(self) -> tuple[Stored, bool] | None:
        """The next message, and whether it came from the list of single ones; ``None`` at the end."""
        while self._skips:
            seq = self._skips.pop(0)
            self.next_seq = seq + 1 if self._skips else self._resume
            message = self._stream.message(seq)
            if message is not None:
                return message, True
        stream, filters = self._stream, self.filters
        at = max(self.next_seq, stream.first)
        while at <= stream.last:
            found = stream.message(at)
            at += 1
            if found is not None and (not filters or self.wants(found.subject)):
                self.next_seq = at
                return found, False
        self.next_seq = max(self.next_seq, stream.last + 1)
        return None

    def jump(self, seq: int) -> None:
        """Go to a sequence."""
        self._skips.clear()
        self.next_seq = seq
        self.count()

    def back(self, seq: int, *, single: bool) -> None:
        """Undo the last step: nobody could take the message."""
        if single:
            self._skips.insert(0, seq)
        self.next_seq = seq

    def stored(self, message: Stored) -> bool:
        """The stream has a new message; answers whether it is for this consumer."""
        wanted = message.seq >= self._following() and self.wants(message.subject)
        self.pending += wanted
        return wanted

    def removed(self, message: Stored) -> None:
        """A message left the stream."""
        if message.seq in self._skips:
            self._skips.remove(message.seq)
            self.pending -= 1
        elif message.seq >= self._following() and self.wants(message.subject):
            self.pending -= 1

    def purged(self, first: int) -> None:
        """Everything below ``first`` is gone."""
        self.next_seq = max(self.next_seq, first)
        self.count()
