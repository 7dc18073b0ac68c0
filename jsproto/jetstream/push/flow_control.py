"""Flow control of push consumers: how far the reader is, told to the server when it asks (ADR-15
"Flow Control").

Theory. The server puts a question between the messages and lets only so many bytes pass before it
is answered. The answer means "everything before your question was taken", so the question must wait
in the queue like a message: a *marker*. What came behind it waits behind it. The feed asks `marks`
when its queue is empty, lets the first marker `passed`, sends the answer, and goes on with what was
behind. A marker that finds the queue empty is passed at once.

If a question or its answer is lost the server stops and says so in its heartbeats
(``Nats-Consumer-Stalled``, with the subject of the answer that it misses). The same subject may
therefore be met several times, and it is answered once. An answer is only given again on proof that
the first was lost, and a clock is no proof: a heartbeat may have waited for us in the socket, and
our answer for its way out. What proves it is order. The first heartbeat that misses an answer we
gave is a *doubt*, and the feed sends a fence behind the answer; when the fence is answered the
server has read ours, so a heartbeat that comes then and still misses it is the proof.

    met while it waits                        nothing
    met, not the one that was answered last   a marker
    met, answered                             a doubt, once: `FlowMark.DOUBTED`, send a fence
    met, answered, and the fence came back    a marker again

Subjects are opaque: they are compared, never read. Which subject is trusted to be a question is the
feed's business.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import ClassVar, NamedTuple

from jsproto.core.state import PLAIN, Codecs, Snapshottable
from jsproto.wire.frames import Delivery


class FlowMark(Enum):
    """What it means to meet a subject."""

    #: It waits for its turn among the messages.
    MARKED = "MARKED"
    #: It was answered: find out with a fence whether the answer has arrived, then call `assured`.
    DOUBTED = "DOUBTED"
    #: It is known.
    KNOWN = "KNOWN"


class FlowReport(NamedTuple):
    """A marker that was reached: where to answer, and the messages that came behind it."""

    subject: str
    behind: list[Delivery]


class FlowControl(Snapshottable):
    """Markers that wait between the messages, and the subject that was answered last.

    Attributes:
        marks: markers in order, each with the messages behind it; the hot path of a feed looks
            whether there are any.
        behind: how many messages wait behind markers.
        answered: the subject that was answered last, ``""`` if none was on this link.
        answers: how many answers were given.
    """

    __slots__ = ("_doubted", "_sure", "answered", "answers", "behind", "marks")

    STATE: ClassVar[Codecs] = {
        "_doubted": PLAIN,
        "_sure": PLAIN,
        "answered": PLAIN,
        "answers": PLAIN,
        "behind": PLAIN,
        "marks": PLAIN,
    }

    def __init__(self) -> None:
        self.marks: deque[tuple[str, list[Delivery]]] = deque()
        self.behind = 0
        self.answered = ""
        self.answers = 0
        # The server misses the answer, although it was given; and it has read everything up to the
        # answer.
        self._doubted = False
        self._sure = False

    def met(self, subject: str) -> FlowMark:
        """The server asks for an answer there, or misses it."""
        if any(subject == waiting for waiting, _ in self.marks):
            return FlowMark.KNOWN
        if subject == self.answered and not self._sure:
            if self._doubted:
                return FlowMark.KNOWN
            self._doubted = True
            return FlowMark.DOUBTED
        self.marks.append((subject, []))
        return FlowMark.MARKED

    def assured(self) -> None:
        """The server has read everything that was sent before the last doubt."""
        self._sure = self._doubted

    def hold(self, data: list[Delivery]) -> None:
        """Messages came while a marker waits."""
        self.marks[-1][1].extend(data)
        self.behind += len(data)

    def passed(self) -> FlowReport:
        """The first marker was reached."""
        subject, behind = self.marks.popleft()
        self.behind -= len(behind)
        return FlowReport(subject, behind)

    def answer(self, subject: str) -> None:
        """The answer went out."""
        self.answered = subject
        self.answers += 1
        self._doubted = self._sure = False

    def forget(self) -> None:
        """The link is lost, and perhaps the answer with it: the same question may come again."""
        self.answered = ""
        self._doubted = self._sure = False

    def clear(self) -> list[Delivery]:
        """Nobody will read on: the messages behind all markers, which are void."""
        left = [frame for _, behind in self.marks for frame in behind]
        self.marks.clear()
        self.behind = 0
        return left

    def frames(self) -> list[Delivery]:
        """The messages behind all markers, oldest first, without taking them."""
        return [frame for _, behind in self.marks for frame in behind]
