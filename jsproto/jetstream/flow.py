"""Flow control of push consumers: how far the reader is, told to the server when it asks (ADR-15 "Flow Control").

Theory. The server puts a question between the messages and lets only so many bytes pass before it is answered. The answer
means "everything before your question was taken", so the question must wait in the queue like a message: a *marker*. What
came behind it waits behind it. The feed asks `marks` when its queue is empty, lets the first marker `passed`, sends the
answer, and goes on with what was behind. A marker that finds the queue empty is passed at once.

If a question or its answer is lost the server stops and says so in its heartbeats (``Nats-Consumer-Stalled``, with the subject
of the answer that it misses). The same subject may therefore be met several times, and it is answered once:

    it waits already            nothing new
    it was answered just now    the question and the heartbeat crossed the answer: nothing
    it was answered earlier     at least one heartbeat ago, so the answer was lost on its way: it is due again
    it is new                   due

Subjects are opaque: they are compared, never read. Which subject is trusted to be a question is the feed's business.
"""

from __future__ import annotations

from collections import deque
from typing import ClassVar, NamedTuple

from jsproto.core.state import PLAIN, Codecs, Stateful
from jsproto.wire.frames import Delivery


class Passed(NamedTuple):
    """A marker that was reached: where to answer, and the messages that came behind it."""

    subject: str
    behind: list[Delivery]


class FlowControl(Stateful):
    """Markers that wait between the messages, and the subject that was answered last.

    Attributes:
        marks: markers in order, each with the messages behind it; the hot path of a feed looks whether there are any.
        behind: how many messages wait behind markers.
        interval: seconds between heartbeats; an answer that is older and still missed was lost. 0: never.
        answered: the subject that was answered last, ``""`` if none was on this link.
        answers: how many answers were given.
    """

    __slots__ = ("_answered_at", "answered", "answers", "behind", "interval", "marks")

    STATE: ClassVar[Codecs] = {
        "_answered_at": PLAIN,
        "answered": PLAIN,
        "answers": PLAIN,
        "behind": PLAIN,
        "interval": PLAIN,
        "marks": PLAIN,
    }

    def __init__(self) -> None:
        self.marks: deque[tuple[str, list[Delivery]]] = deque()
        self.behind = 0
        self.interval = 0.0
        self.answered = ""
        self.answers = 0
        self._answered_at = 0.0

    def met(self, subject: str, now: float) -> bool:
        """The server asks for an answer there, or misses it. True if it became a marker."""
        if any(subject == waiting for waiting, _ in self.marks):
            return False
        if subject == self.answered and (not self.interval or now - self._answered_at < self.interval):
            return False
        self.marks.append((subject, []))
        return True

    def hold(self, data: list[Delivery]) -> None:
        """Messages came while a marker waits."""
        self.marks[-1][1].extend(data)
        self.behind += len(data)

    def passed(self) -> Passed:
        """The first marker was reached."""
        subject, behind = self.marks.popleft()
        self.behind -= len(behind)
        return Passed(subject, behind)

    def answer(self, subject: str, now: float) -> None:
        """The answer went out."""
        self.answered = subject
        self._answered_at = now
        self.answers += 1

    def forget(self) -> None:
        """The link is lost, and perhaps the answer with it: the same question may come again."""
        self.answered = ""

    def clear(self) -> list[Delivery]:
        """Nobody will read on: the messages behind all markers, which are void."""
        left = [frame for _, behind in self.marks for frame in behind]
        self.marks.clear()
        self.behind = 0
        return left

    def frames(self) -> list[Delivery]:
        """The messages behind all markers, oldest first, without taking them."""
        return [frame for _, behind in self.marks for frame in behind]
