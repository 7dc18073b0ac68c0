"""Where a consumer stands in its stream: what it wants, what it comes to next, and how much is
still ahead.
"""

from __future__ import annotations

from jsproto.jetstream.api.patterns import within
from jsproto.testing.simserver.streams.store import Stored
from jsproto.testing.simserver.streams.streams import SimStream
from jsproto.testing.simserver.values.documents import Table, integer, text, texts
from jsproto.testing.simserver.values.gotime import parse_rfc3339
from jsproto.testing.simserver.values.profile import Profile
from jsproto.testing.simserver.values.subjects import matches


class Cursor:
    """A place in a stream, moving forward over the subjects that are wanted.

    With ``last_per_subject`` a list of single messages comes first, and then what is behind them
    all. What is pending is kept by counting, as the server does, and counted anew when messages or
    filters change at large; so it can be wrong where the server's is: messages that come before a
    start in the future count, until somebody looks or the end is reached. From 2.10 on a cursor
    whose last filter was taken away is deaf: it hears of nothing that comes or goes.
    """

    __slots__ = (
        "_asked",
        "_counted_to",
        "_pending",
        "_profile",
        "_resume",
        "_singly",
        "_skips",
        "_stream",
        "deaf",
        "filters",
        "next_seq",
    )

    def __init__(self, stream: SimStream, config: Table, profile: Profile) -> None:
        self._stream = stream
        self._profile = profile
        self._skips: list[int] = []
        self._resume = 0
        self._asked: list[str] = []
        self.filters: list[str] = []
        self.deaf = False
        self._singly = text(config, "deliver_policy") == "last_per_subject"
        self._pending = 0
        #: Up to here the messages of the stream have been counted.
        self._counted_to = 0
        self.choose(config)
        self.next_seq = self.start(config)
        self.count()

    def choose(self, config: Table) -> bool:
        """Take over the filters of a configuration; filters that let everything pass are none. Are
        they others than before?
        """
        one = text(config, "filter_subject")
        filters = [one] if one else texts(config, "filter_subjects")
        if filters == self._asked:
            return False
        everything = all(
            any(within(subject, each) for each in filters) for subject in self._stream.subjects
        )
        self._asked = filters
        self.filters = [] if everything else filters
        self.deaf = not filters
        return True

    def start(self, config: Table) -> int:
        """The sequence at which a configuration begins (nats-server ``selectStartingSeqNo``)."""
        stream, asked = self._stream, integer(config, "opt_start_seq")
        seq = max(asked or self._chosen(config), stream.first, 1)
        return seq if asked and self._profile.waits_for_start else min(seq, stream.last + 1)

    def _chosen(self, config: Table) -> int:
        stream, policy = self._stream, text(config, "deliver_policy")
        if policy == "last":
            found = (each.seq for each in stream.after(stream.first) if self.wants(each.subject))
            return max(found, default=0) if self.filters else stream.last
        if policy == "by_start_time":
            return stream.seq_at(parse_rfc3339(text(config, "opt_start_time")) or 0)
        if policy == "last_per_subject" and integer(stream.config, "max_msgs_per_subject") != 1:
            self._skips = stream.newest_per_subject(self.filters or [">"])
            self._resume = stream.last + 1
            return self._skips[0] if self._skips else stream.last
        return stream.last + 1 if policy == "new" else stream.first

    def wants(self, subject: str) -> bool:
        """Whether messages on this subject are for the consumer."""
        filters = self.filters
        return not filters or any(matches(pattern, subject) for pattern in filters)

    def hears(self, subject: str) -> bool:
        """Whether it is told of what comes and goes on a subject; wildcards in it are words as any
        others.
        """
        return not self.deaf and (
            not self._asked or any(matches(pattern, subject) for pattern in self._asked)
        )

    def count(self) -> None:
        """Count anew what is ahead (nats-server ``calculateNumPending``)."""
        stream = self._stream
        if self._singly:
            newest = stream.newest_per_subject(self.filters or [">"])
            self._pending = sum(seq >= self.next_seq for seq in newest)
        else:
            self._pending = sum(self.wants(each.subject) for each in stream.after(self.next_seq))
        self._counted_to = stream.last

    @property
    def pending(self) -> int:
        """How much is ahead, as the server believes."""
        return max(0, self._pending)

    def looked(self) -> None:
        """Somebody wants to know how much is ahead: never more than there is (``checkNumPending``)."""
        stream = self._stream
        if self.next_seq > stream.last:
            self._pending = 0
        elif not self._profile.bounds_pending:
            if self._pending > len(stream):
                self.count()
        elif self._pending > 0:
            self._pending = min(self._pending, len(stream), stream.last - self.next_seq + 1)

    @property
    def at_end(self) -> bool:
        """Another step would find nothing, and change nothing."""
        return not self._pending and not self._skips and self.next_seq > self._stream.last

    def step(self) -> tuple[Stored, bool] | None:
        """The next message, and whether it came from the list of single ones; ``None`` at the end."""
        if self._skips:
            seq = self._skips.pop(0)
            self.next_seq = seq + 1 if self._skips else self._resume
            message = self._stream.message(seq)
            if message is None:
                return None
            self._pending -= 1
            return message, True
        stream, filters = self._stream, self.filters
        at, last, message_at = max(self.next_seq, stream.first), stream.last, stream.message
        while at <= last:
            found = message_at(at)
            at += 1
            if found is not None and (not filters or self.wants(found.subject)):
                self.next_seq = at
                self._pending -= 1
                return found, False
        self.next_seq = max(self.next_seq, last + 1)
        if self._pending and self.next_seq > last:
            self._pending, self._counted_to = 0, last
        return None

    def jump(self, seq: int) -> None:
        """Go to a sequence, and on from there message by message."""
        self._skips.clear()
        self.next_seq = seq
        self.count()

    def back(self, seq: int, *, single: bool) -> None:
        """Undo the last step: nobody could take the message, which is ahead again."""
        self._pending += 1
        if single:
            self._skips.insert(0, seq)
        self.next_seq = seq

    def stored(self, message: Stored) -> bool:
        """The stream has a new message; answers whether it is for this consumer, now."""
        if self.deaf or (self.filters and not self.wants(message.subject)):
            return False
        self._pending += message.seq > self._counted_to
        return message.seq >= self.next_seq

    def removed(self, message: Stored) -> None:
        """A message left the stream."""
        if message.seq >= self.next_seq and not self.deaf and self.wants(message.subject):
            self._pending -= 1
