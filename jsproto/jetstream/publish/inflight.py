"""What was sent and not answered yet: slots, bytes and deadlines by token.

Theory. A sender may have so many messages (and bytes) under way. Each holds a slot from `sent`
until `freed`, whatever became of it in between, so one equation carries everything else (invariant
46):

    pending = sent - freed

A message is found again by its token, the whole reply subject of its answer. It leaves ``open``
when it is answered or overdue, at most once, because leaving is one ``pop``; what comes for a token
that is not open is late and changes nothing. Between leaving ``open`` and `freed` the owner may
send it again under a fresh token (`again`) without giving up its slot.

Time. A message is overdue when its deadline has come and the other side has been silent towards it
for ``timeout``. An answer to a message that was not sent later is a word towards it: a slow stream
works through the messages in their order, so each answer brings it nearer to those behind. An
answer to a later message is none, so a message whose answer was lost is overdue although the stream
talks on. How long ago the last word came is kept in a few slots of time (`heard`), not for each
message.

All messages get the same time, so they fall due in the order in which they were sent, but nobody
wants a timer or a heap entry for each. ``due`` is a lower bound for the earliest deadline: answers
don't move it, only `overdue` does, and it walks a schedule that is built when the last one is used
up. A message is so looked at once or never on behalf of time, and a steady flow costs one glance
per timeout.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from math import inf
from typing import ClassVar, Final, TypeAlias, cast

from jsproto.core.state import PLAIN, Codecs, Snapshot, Snapshottable
from jsproto.errors.tree import InvalidConfig, LocalProtocolError, shorten
from jsproto.wire.headers import Headers

#: ``(number, deadline, attempt, size, subject, payload, headers)`` of one message under way.
Sent: TypeAlias = tuple[int, float, int, int, str, bytes, Headers | None]

#: Into so many slots the timeout is cut: a message may be overdue later by this part of it.
_SLOTS: Final = 32

#: Positions in a :data:`Sent`.
NUMBER: Final = 0
DEADLINE: Final = 1
ATTEMPT: Final = 2
SIZE: Final = 3
TO: Final = 4
HEADERS: Final = 6


def sent_written(message: Sent) -> object:
    """A message as plain data: its headers as the block that they are on the wire."""
    headers = message[-1]
    return (*message[:-1], None if headers is None else headers.encode())


def sent_read(data: object) -> Sent:
    """The message that `sent_written` wrote."""
    message = cast("tuple[int, float, int, int, str, bytes, bytes | None]", data)
    block = message[-1]
    return (*message[:-1], None if block is None else Headers.parse(block))


class InFlight(Snapshottable):
    """Slots and bytes of messages under way.

    Args:
        max_messages: how many may be under way.
        max_bytes: how many bytes; 0 for no bound. A single message above it goes alone.
        timeout: seconds of silence behind which a message is overdue that has reached its deadline.

    Attributes:
        open: messages that wait for an answer, by token.
        pending: slots in use; more than ``open`` while answered messages wait for their next
            attempt.
        bytes: bytes of the messages that hold them.
        due: no message is overdue before this moment; ``None`` if no slot is in use.

    Raises:
        InvalidConfig: fewer than one message, or a negative number of bytes.
    """

    __slots__ = (
        "_heard",
        "_schedule",
        "_timeout",
        "bytes",
        "due",
        "max_bytes",
        "max_messages",
        "open",
        "pending",
    )

    STATE: ClassVar[Codecs] = {
        "_heard": PLAIN,
        "_schedule": PLAIN,
        "bytes": PLAIN,
        "due": PLAIN,
        "pending": PLAIN,
    }

    def __init__(self, max_messages: int, max_bytes: int = 0, timeout: float = 0.0) -> None:
        for name, given, least in (("messages", max_messages, 1), ("bytes", max_bytes, 0)):
            if not isinstance(given, int) or isinstance(given, bool) or given < least:
                raise InvalidConfig(
                    f"expected at least {least} as max {name} in flight, got {shorten(given)}"
                )
        self.max_messages = max_messages
        self.max_bytes = max_bytes
        self.open: dict[str, Sent] = {}
        self.pending = 0
        self.bytes = 0
        self.due: float | None = None
        self._schedule: deque[tuple[float, str]] = deque()
        self._timeout = timeout
        #: Slots of time in which answers came: when each began, when its last answer came, and the
        #: earliest message that was answered.
        self._heard: deque[tuple[float, float, int]] = deque()

    def fits(self, size: int = 0) -> bool:
        """Whether a message of ``size`` bytes may be sent now."""
        if self.pending >= self.max_messages:
            return False
        return not self.max_bytes or not self.pending or self.bytes + size <= self.max_bytes

    def sent(self, token: str, message: Sent) -> None:
        """A message was sent: it takes a slot.

        Raises:
            LocalProtocolError: the token is taken.
        """
        if token in self.open:
            raise LocalProtocolError(f"expected a token that is not in use, got {shorten(token)}")
        self.open[token] = message
        self.pending += 1
        self.bytes += message[SIZE]
        if self.due is None:  # all that are open were sent before, so they fall due before
            self.due = message[DEADLINE]

    def again(self, token: str, message: Sent) -> None:
        """A message that still holds its slot was sent once more, under a token of its own."""
        self.open[token] = message
        if self.due is None or message[DEADLINE] < self.due:
            self.due = message[DEADLINE]
        self._schedule.clear()  # its deadline is older than those behind it: the order is to be found anew

    def answered(self, token: str) -> Sent | None:
        """The message with this token is open no more; ``None`` if it was not (the answer is late).
        Keeps its slot.
        """
        return self.open.pop(token, None)

    def heard(self, number: int, now: float) -> None:
        """Answers came at this moment; this is the earliest of the messages that were answered."""
        heard = self._heard
        if heard and now < heard[-1][0] + self._timeout / _SLOTS:
            began, _, earliest = heard[-1]
            heard[-1] = (began, now, min(earliest, number))
            return
        while heard and heard[0][1] + self._timeout <= now:
            heard.popleft()
        heard.append((now, now, number))

    def last_word(self, message: Sent) -> float:
        """When the last answer came to this message or one before it; minus infinity if that is
        longer ago than ``timeout``.
        """
        number = message[NUMBER]
        return next(
            (last for _, last, earliest in reversed(self._heard) if earliest <= number), -inf
        )

    def until(self, message: Sent) -> float:
        """When a message is overdue, if no further word comes."""
        return max(message[DEADLINE], self.last_word(message) + self._timeout)

    def overdue(self, now: float) -> list[Sent]:
        """Messages whose time is up, earliest first; they are open no more. They keep their slots."""
        late: list[Sent] = []
        if self.due is None or now < self.due:
            return late
        schedule = self._schedule
        while self.open:
            if not schedule:
                schedule.extend(
                    sorted((message[DEADLINE], token) for token, message in self.open.items())
                )
            token = schedule[0][1]
            message = self.open.get(token)
            if message is not None:
                deadline = self.until(
                    message
                )  # no message that was sent later is overdue before it
                if deadline > now:
                    self.due = deadline
                    return late
                late.append(self.open.pop(token))
            schedule.popleft()
        self.due = None
        return late

    def lost(self) -> list[Sent]:
        """No answer can come any more: every open message, in the order of sending. They keep their
        slots.
        """
        lost = list(self.open.values())
        self.open.clear()
        self._schedule.clear()
        self.due = None
        return lost

    def freed(self, messages: int, size: int) -> None:
        """So many messages of together so many bytes have come to their end and give up their
        slots.
        """
        self.pending -= messages
        self.bytes -= size
        if not self.pending:
            self.due = None
            self._schedule.clear()

    def snapshot(self) -> Snapshot:
        """Counters, and the open messages as plain data."""
        return {
            **super().snapshot(),
            "open": {token: sent_written(each) for token, each in self.open.items()},
        }

    def restore(self, data: Mapping[str, object]) -> None:
        """Put back what `snapshot` gave."""
        super().restore(data)
        written = cast("dict[str, object]", data["open"])
        self.open = {token: sent_read(each) for token, each in written.items()}
