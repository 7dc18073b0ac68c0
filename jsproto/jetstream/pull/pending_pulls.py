"""The open pulls of one inbox: who owes what.

Theory. Messages come by sid and do not name their pull, so the oldest open pull is credited, and a
pull that has got all it asked for is taken for filled. The server may have seen it otherwise: it
serves waiting pulls in turns. The sum is right all the same, and each status that names its pull
corrects the parts: `settle` says how much of the request will never come, by the status' own
numbers where it has some, and shifts what was credited to the wrong pull.

That is why filled pulls are remembered for a while (`FILLED_KEPT` of them): one of them may get a
status, which says that others got what was credited to it. A token that is neither open nor
remembered has ended, and a frame for it changes nothing (invariant 13).

Behind a local deadline that passes without a word nothing is sure: what the pull owes may be on its
way, or the request itself, and would be credited to others. So whoever finds a pull `overdue` ends
them all, with the inbox that they share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, cast

from jsproto.core.state import Snapshot, Snapshottable
from jsproto.jetstream.pull.request import Pull
from jsproto.jetstream.status import EndReason, Remainder

#: More than a handful of pulls is hardly ever open at once; this bounds memory where somebody makes
#: it so.
FILLED_KEPT: Final = 256


class Released(NamedTuple):
    """What a status settled: the pull as it stands, and how much of what was asked will never come."""

    pull: Pull
    messages: int
    size: int


class PendingPulls(Snapshottable):
    """Open pulls by token, in the order in which they went out.

    Attributes:
        open: pulls that owe something.
        filled: pulls that got all they asked for, as far as we know; the newest `FILLED_KEPT`.
        counts: how many pulls ended, by `EndReason`.
    """

    __slots__ = ("counts", "filled", "open")

    def __init__(self) -> None:
        self.open: dict[str, Pull] = {}
        self.filled: dict[str, Pull] = {}
        self.counts: dict[EndReason, int] = {}

    def issue(self, pull: Pull) -> None:
        """A request went out."""
        self.open[pull.token] = pull

    def find(self, token: str) -> Pull | None:
        """The pull that a status names, if it can still have one."""
        return self.open.get(token) or self.filled.get(token)

    # ------------------------------------------------------------------ messages

    def credit(self, count: int, size: int = 0) -> tuple[int, int]:
        """So many messages (and bytes) came. Gives what was asked and won't come, of pulls that
        were filled by it.
        """
        messages = 0
        left = 0
        for pull in list(self.open.values()) if self.open else ():
            if not count and not size:
                break
            step = min(count, pull.batch - pull.got)
            pull.got += step
            count -= step
            if pull.max_bytes:
                step = min(size, pull.max_bytes - pull.size)
                pull.size += step
                size -= step
            # `full`, written out: this runs for each read.
            if pull.got == pull.batch or (pull.max_bytes and pull.size == pull.max_bytes):
                messages += pull.owed
                left += pull.owed_bytes
                self._filled(pull)
        if not self.open:
            self.filled.clear()  # nobody owes anything: there is nothing to correct any more
        return messages, left

    def _filled(self, pull: Pull) -> None:
        pull.finish(EndReason.FILLED if pull.got == pull.batch else EndReason.BYTES_SPENT)
        self._count(pull)
        del self.open[pull.token]
        self.filled[pull.token] = pull
        if len(self.filled) > FILLED_KEPT:
            del self.filled[next(iter(self.filled))]

    # ------------------------------------------------------------------ ends

    def settle(
        self, pull: Pull, end: EndReason, rest: Remainder, pending: tuple[int, int] | None
    ) -> Released:
        """A status ended a pull. ``pending`` are the numbers that it carries, else ``rest`` says
        what they would be.
        """
        spent, spent_bytes = pull.batch - pull.got, max(0, pull.max_bytes - pull.size)
        if pending is not None:
            messages, size = min(pending[0], pull.batch), min(pending[1], pull.max_bytes)
        elif rest is Remainder.WHOLE:
            messages, size = pull.batch, pull.max_bytes
        else:
            messages, size = spent, spent_bytes
        filled = pull.end is not None
        if filled:
            del self.filled[pull.token]
        else:
            del self.open[pull.token]
            pull.finish(end)
            self._count(pull)
        pull.got = pull.batch - messages
        pull.size = pull.max_bytes - size
        # What was credited to others and is its own, and the other way.
        left, left_bytes, back, back_bytes = self._take_back(
            max(0, spent - messages), max(0, spent_bytes - size)
        )
        if messages > spent or size > spent_bytes:
            more, more_bytes = self.credit(max(0, messages - spent), max(0, size - spent_bytes))
            left, left_bytes = left + more, left_bytes + more_bytes
        if filled:
            # What it left over was settled when it was taken for filled; what others give back they
            # owe again.
            messages, size = (
                max(0, messages - spent) - back,
                max(0, size - spent_bytes) - back_bytes,
            )
        return Released(pull, messages + left, size + left_bytes)

    def _take_back(self, messages: int, size: int) -> tuple[int, int, int, int]:
        """Take back what was credited, from open pulls first, then from those filled last.

        Those are open again and owe what they left over, unless they are full all the same and
        leave over more. Gives how much others leave over and did not before (below 0: what they owe
        again), and how much was taken back.
        """
        if not messages and not size:
            return 0, 0, 0, 0
        left = left_bytes = 0
        most, most_bytes = messages, size
        reopened: list[Pull] = []
        for pull in [*self.open.values(), *reversed(self.filled.values())]:
            step = min(messages, pull.got)
            step_bytes = min(size, pull.size)
            if not step and not step_bytes:
                continue
            rest, rest_bytes = pull.batch - pull.got, max(0, pull.max_bytes - pull.size)
            pull.got -= step
            pull.size -= step_bytes
            messages -= step
            size -= step_bytes
            if pull.end is None:
                continue
            if pull.full:
                left += step
                left_bytes += step_bytes
            else:
                left -= rest
                left_bytes -= rest_bytes
                self.counts[pull.end] -= 1
                pull.end = None
                del self.filled[pull.token]
                reopened.append(pull)
        if reopened:
            pulls = sorted([*self.open.values(), *reopened], key=lambda pull: pull.issued)
            self.open = {pull.token: pull for pull in pulls}
        return left, left_bytes, most - messages, most_bytes - size

    def end_all(self, end: EndReason) -> tuple[Pull, ...]:
        """Everything that is open ends in the same way; nothing is remembered."""
        ended = tuple(self.open.values())
        for pull in ended:
            pull.finish(end)
            self._count(pull)
        self.open.clear()
        self.filled.clear()
        return ended

    def overdue(self, now: float) -> bool:
        """Whether the time of the oldest open pull has passed without a word of the server."""
        deadline = self.deadline
        return deadline is not None and deadline <= now

    @property
    def deadline(self) -> float | None:
        """When the oldest open pull is overdue."""
        for pull in self.open.values():
            return pull.until
        return None

    def _count(self, pull: Pull) -> None:
        end = cast("EndReason", pull.end)
        self.counts[end] = self.counts.get(end, 0) + 1

    # ------------------------------------------------------------------ state

    def snapshot(self) -> Snapshot:
        """All records and counts."""
        return {
            **super().snapshot(),
            "open": [pull.snapshot() for pull in self.open.values()],
            "filled": [pull.snapshot() for pull in self.filled.values()],
            "counts": {end.name: count for end, count in self.counts.items()},
        }

    def restore(self, data: Mapping[str, object]) -> None:
        """Put back what `snapshot` gave."""
        super().restore(data)
        self.open = {pull.token: pull for pull in _pulls(data["open"])}
        self.filled = {pull.token: pull for pull in _pulls(data["filled"])}
        counts = cast("dict[str, int]", data["counts"])
        self.counts = {EndReason[name]: count for name, count in counts.items()}


def _pulls(data: object) -> Iterable[Pull]:
    for each in cast("list[dict[str, object]]", data):
        pull = Pull("", 0)
        pull.restore(each)
        yield pull
