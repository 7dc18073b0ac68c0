"""Messages that were sent and not answered yet: slots, bytes and deadlines by token.

Theory. A limited number of messages (and bytes) may be outstanding. Each message holds a slot from
`sent` until `freed`, whatever happens in between. So this equation always holds:

    pending = sent - freed

A message is found by its token, which is the whole reply subject of its answer. It leaves ``open``
when it is answered or overdue. That happens at most once, because it is removed then. An answer for
a token that is not open is late and changes nothing. Between leaving ``open`` and `freed` the owner
may send the message again under a new token (`again`) and keeps its slot.

Time. A message is overdue when its deadline has passed and it got no sign of progress for
``timeout``. An answer to the same or an earlier message is a sign of progress: a slow stream works
through the messages in order, so each answer brings it nearer to the later ones. An answer to a
later message is none. So a message whose answer was lost becomes overdue even if the stream sends
more answers. The times of the last answers are kept in a few slots of time (`heard`) and not for
each message.

All messages have the same timeout, so they become due in the order of sending. A timer or a heap
entry for each message would cost too much. ``due`` is a lower bound of the earliest deadline.
Answers do not change it; only `overdue` does. It walks a schedule and builds a new one when the
last one is used up. So time handling looks at each message at most once, and a steady flow costs
one look per timeout.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from math import inf
from typing import ClassVar, Final, TypeAlias, cast

from jsproto.core.state import PLAIN, Codecs, Snapshot, Snapshottable
from jsproto.errors.tree import InvalidConfig, LocalProtocolError, shorten
from jsproto.wire.headers import Headers

#: ``(number, deadline, attempt, size, subject, payload, headers)`` of one outstanding message.
Sent: TypeAlias = tuple[int, float, int, int, str, bytes, Headers | None]

#: Number of slots of the timeout. A message may be found overdue later by one slot.
_SLOTS: Final = 32

#: Positions in a :data:`Sent`.
NUMBER: Final = 0
DEADLINE: Final = 1
ATTEMPT: Final = 2
SIZE: Final = 3
TO: Final = 4
HEADERS: Final = 6


def sent_written(message: Sent) -> object:
    """Return a message as plain data; its headers become the block on the wire."""
    headers = message[-1]
    return (*message[:-1], None if headers is None else headers.encode())


def sent_read(data: object) -> Sent:
    """Return the message that `sent_written` wrote."""
    message = cast("tuple[int, float, int, int, str, bytes, bytes | None]", data)
    block = message[-1]
    return (*message[:-1], None if block is None else Headers.parse(block))


class InFlight(Snapshottable):
    """Slots and bytes of outstanding messages.

    Args:
        max_messages: most outstanding messages.
        max_bytes: most outstanding bytes; 0 for no limit. A single larger message is sent alone.
        timeout: seconds without progress after which a message past its deadline is overdue.

    Attributes:
        open: messages that wait for an answer, by token.
        pending: slots in use; more than ``open`` while messages wait for their next attempt.
        bytes: bytes of the messages that hold slots.
        due: no message is overdue before this time; ``None`` if no slot is in use.

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
        #: Slots of time in which answers arrived: the slot's begin, the time of its last answer,
        #: and the lowest number of an answered message.
        self._heard: deque[tuple[float, float, int]] = deque()

    def fits(self, size: int = 0) -> bool:
        """Tell whether a message of ``size`` bytes may be sent now."""
        if self.pending >= self.max_messages:
            return False
        return not self.max_bytes or not self.pending or self.bytes + size <= self.max_bytes

    def sent(self, token: str, message: Sent) -> None:
        """Note a sent message; it takes a slot.

        Raises:
            LocalProtocolError: the token is in use.
        """
        if token in self.open:
            raise LocalProtocolError(f"expected a token that is not in use, got {shorten(token)}")
        self.open[token] = message
        self.pending += 1
        self.bytes += message[SIZE]
        if self.due is None:  # open messages were sent earlier, so they are due earlier
            self.due = message[DEADLINE]

    def again(self, token: str, message: Sent) -> None:
        """Note that a message that holds a slot was sent again, under a new token."""
        self.open[token] = message
        if self.due is None or message[DEADLINE] < self.due:
            self.due = message[DEADLINE]
        # Its deadline is older than later ones in the schedule, so the order must be found again.
        self._schedule.clear()

    def answered(self, token: str) -> Sent | None:
        """Remove an answered message and return it; ``None`` for a late answer. Its slot stays."""
        return self.open.pop(token, None)

    def heard(self, number: int, now: float) -> None:
        """Note answers at this time; ``number`` is the lowest number of the answered messages."""
        heard = self._heard
        if heard and now < heard[-1][0] + self._timeout / _SLOTS:
            began, _, earliest = heard[-1]
            heard[-1] = (began, now, min(earliest, number))
            return
        while heard and heard[0][1] + self._timeout <= now:
            heard.popleft()
        heard.append((now, now, number))

    def last_word(self, message: Sent) -> float:
        """Return the time of the last answer to this or an earlier message.

        It is minus infinity if that is longer ago than ``timeout``.
        """
        number = message[NUMBER]
        return next(
            (last for _, last, earliest in reversed(self._heard) if earliest <= number), -inf
        )

    def until(self, message: Sent) -> float:
        """Return when a message is overdue if no further answer arrives."""
        return max(message[DEADLINE], self.last_word(message) + self._timeout)

    def overdue(self, now: float) -> list[Sent]:
        """Remove and return the overdue messages, earliest first; they keep their slots."""
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
                # A message that was sent later is never overdue earlier.
                deadline = self.until(message)
                if deadline > now:
                    self.due = deadline
                    return late
                late.append(self.open.pop(token))
            schedule.popleft()
        self.due = None
        return late

    def lost(self) -> list[Sent]:
        """Remove and return all open messages in order, because no answer can come; slots stay."""
        lost = list(self.open.values())
        self.open.clear()
        self._schedule.clear()
        self.due = None
        return lost

    def freed(self, messages: int, size: int) -> None:
        """Free the slots of this number of messages with this total size."""
        self.pending -= messages
        self.bytes -= size
        if not self.pending:
            self.due = None
            self._schedule.clear()

    def snapshot(self) -> Snapshot:
        """Return the counters, and the open messages as plain data."""
        return {
            **super().snapshot(),
            "open": {token: sent_written(each) for token, each in self.open.items()},
        }

    def restore(self, data: Mapping[str, object]) -> None:
        """Restore the state that `snapshot` returned."""
        super().restore(data)
        written = cast("dict[str, object]", data["open"])
        self.open = {token: sent_read(each) for token, each in written.items()}
