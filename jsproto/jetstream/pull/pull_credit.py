"""What a consume may ask for: messages, bytes, or messages within bytes (ADR-37 "Max messages and
max bytes options").

Theory. Each bound is a `Credit`. One of them leads: when *its* level is low, a pull for the
difference goes out; it is the bytes' where bytes are bounded, since they run out first and the
other then only caps the batch.

A byte budget has a trap. A pull for a part of it can be refused for a message that the whole would
hold (natsio 1.0.1 died of that). Then nothing is asked until all of it can be (``whole``); only a
message that does not fit into all of it is too large.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, cast

from jsproto.core.state import PLAIN, Codecs, Snapshot, Snapshottable
from jsproto.jetstream.credit import Credit
from jsproto.jetstream.pull.request import BYTES_BATCH


class PullCredit(Snapshottable):
    """One or two credits.

    Args:
        messages: the bound in messages, ``None`` for none.
        size: the bound in bytes, ``None`` for none. One of the two is needed.

    Attributes:
        lead: the credit whose threshold makes a consume ask.
        whole: a message did not fit into a part: only ask for everything.
        left: how many messages can still come, ``None`` if nobody knows; where messages are
            bounded, all open pulls together never ask for more.
    """

    __slots__ = ("lead", "left", "messages", "size", "whole")

    STATE: ClassVar[Codecs] = {"left": PLAIN, "whole": PLAIN}

    def __init__(self, messages: Credit | None, size: Credit | None) -> None:
        self.messages = messages
        self.size = size
        self.lead = cast("Credit", size or messages)
        self.whole = False
        self.left: int | None = None

    def request(self) -> tuple[int, int] | None:
        """Batch and ``max_bytes`` (0 for no bound) to ask for now; ``None`` if it is not the time."""
        lead = self.lead
        if not lead.wanting or (self.whole and lead.level):
            return None
        batch = BYTES_BATCH if self.messages is None else self.messages.room
        if self.left is not None and self.messages is not None:
            batch = max(0, min(batch, self.left - self.messages.asked))
        return (batch, 0 if self.size is None else self.size.room) if batch else None

    def ask(self, batch: int, size: int) -> None:
        """A pull went out."""
        if self.messages is not None:
            self.messages.ask(batch)
        if self.size is not None:
            self.size.ask(size)

    def received(self, count: int, size: int) -> None:
        """So many messages and bytes came for what was asked."""
        self.whole = False
        if self.messages is not None:
            self.messages.received(count)
        if self.size is not None:
            self.size.received(size)

    def unsolicited(self, count: int, size: int) -> None:
        """So many messages and bytes came that nobody asked for on this inbox."""
        if self.messages is not None:
            self.messages.unsolicited(count)
        if self.size is not None:
            self.size.unsolicited(size)

    def taken(self, count: int, size: int) -> None:
        """The user took so many messages and bytes."""
        if self.messages is not None:
            self.messages.taken(count)
        if self.size is not None:
            self.size.taken(size)

    def settled(self, count: int, size: int) -> None:
        """So much of what was asked will never come."""
        if self.messages is not None:
            self.messages.settled(count)
        if self.size is not None:
            self.size.settled(size)

    def reset(self) -> None:
        """Nothing of what was asked will come any more."""
        if self.messages is not None:
            self.messages.reset()
        if self.size is not None:
            self.size.reset()

    def did_not_fit(self, size: int) -> bool:
        """A pull of ``size`` bytes got nothing because of the next message. True if that is larger
        than all we may ask.
        """
        if self.size is not None and size < self.size.limit:
            self.whole = True
            return False
        return True

    def snapshot(self) -> Snapshot:
        """Both credits."""
        return {
            **super().snapshot(),
            "messages": None if self.messages is None else self.messages.snapshot(),
            "size": None if self.size is None else self.size.snapshot(),
        }

    def restore(self, data: Mapping[str, object]) -> None:
        """Put back what `snapshot` gave."""
        super().restore(data)
        for credit, name in ((self.messages, "messages"), (self.size, "size")):
            if credit is not None:
                credit.restore(cast("Mapping[str, object]", data[name]))
