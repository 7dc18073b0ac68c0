"""Have all subjects been seen? How a reader of `last_per_subject` knows that it is caught up beside
a writer that never pauses.

Theory. The server lists the last message of each subject, as they were when the consumer was made,
and then goes on with what was stored since. A value that is replaced before its turn has left the
list, and the new one comes later. So no count of messages tells when each subject was seen: another
subject's update takes the place of the one that is missing. Without a writer there is no question:
each message is of another subject, and the last one says that nothing is left. With a writer that
word cannot be relied on (2.11.11 said so 19 subjects too early), and mostly it is never said.

So the stream is asked: which subjects have you, and how far are you? Whatever it has and nobody has
seen lies ahead of the reader. The reader is caught up as soon as all of those have come. New
subjects do not count, so the end comes nearer whatever is written.

    all the stream has was seen              caught up at once
    some are missing                         caught up when the last of them comes
    still missing where the stream was       they were replaced once more, or removed: ask again,
        for those only, not within `AGAIN`
    no answer, or it may not be asked        caught up when as many have come as were ahead at the
    question

Subjects are kept only until the reader is caught up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final, NamedTuple

from jsproto.core.conversation.conversation import Port
from jsproto.core.conversation.procedure import Script, Steps
from jsproto.core.state import PLAIN, Codecs
from jsproto.jetstream.api.requests.manage import stream_info
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.delivery.api_question import ApiQuestion
from jsproto.wire.frames import SUBJECT, Delivery

#: Seconds between two questions.
AGAIN: Final = 1.0


class StreamCounts(NamedTuple):
    """What a stream has.

    Attributes:
        subjects: those that match the filters.
        last: its last sequence before the subjects were looked at.
    """

    subjects: set[str]
    last: int


def census(
    api: ApiSubjects, stream: str, filters: Sequence[str], timeout: float
) -> Steps[StreamCounts]:
    """Ask a stream for its subjects."""
    subjects: set[str] = set()
    lasts: list[int] = []
    for each in filters:
        info = yield from stream_info(api, stream, subjects_filter=each, timeout=timeout)
        subjects.update(info.state.subjects)
        lasts.append(info.state.last_seq)
    return StreamCounts(subjects, min(lasts))


class SubjectCensus(ApiQuestion[StreamCounts]):
    """The subjects that were seen, and the question to the stream.

    Args:
        api: where the API is.
        stream: the stream.
        filters: what is read of it.
        timeout: seconds for each answer.

    Attributes:
        blind: the stream does not say which subjects it has.
        seen: subjects of messages that came.
        missing: subjects that the stream has and that were not seen; ``None`` before an answer.
    """

    __slots__ = (
        "_api",
        "_filters",
        "_last",
        "_not_before",
        "_stream",
        "_timeout",
        "blind",
        "missing",
        "seen",
    )

    STATE: ClassVar[Codecs] = {
        "_last": PLAIN,
        "_not_before": PLAIN,
        "blind": PLAIN,
        "missing": PLAIN,
        "seen": PLAIN,
    }

    def __init__(
        self, api: ApiSubjects, stream: str, filters: Sequence[str], timeout: float
    ) -> None:
        super().__init__()
        self._api = api
        self._stream = stream
        self._filters = filters
        self._timeout = timeout
        # What the stream's last sequence was, and when it may be asked again.
        self._last = 0
        self._not_before: float | None = None
        self.blind = False
        self.seen: set[str] = set()
        self.missing: set[str] | None = None

    # ------------------------------------------------------------------ what is seen

    def saw(self, frames: Iterable[Delivery]) -> None:
        """Messages came in order."""
        subjects = {frame[SUBJECT] for frame in frames}
        self.seen |= subjects
        if self.missing:
            self.missing -= subjects

    @property
    def complete(self) -> bool:
        """The stream has said which subjects it has, and each was seen."""
        return self.missing is not None and not self.missing

    def forget(self) -> None:
        """Nobody needs to know any more."""
        self._script = None
        self.seen.clear()
        self.missing = None

    # ------------------------------------------------------------------ the question

    def ask(self, last: int, port: Port, now: float) -> None:
        """Ask the stream, if what it said before does not help any more. The reader has come to the
        sequence ``last``.
        """
        early = self._not_before is not None and now < self._not_before
        if self._script is None and not self.blind and not early and last >= self._last and port.up:
            self._not_before = now + AGAIN
            self._ask(port, now)

    def link_down(self) -> None:
        """The link is lost, and the answer with it."""
        self._script = None
        self._not_before = None

    # ------------------------------------------------------------------ inside

    def _asking(self) -> Script[StreamCounts]:
        return Script(lambda: census(self._api, self._stream, self._filters, self._timeout))

    def _judged(self, outcome: Script[StreamCounts]) -> None:
        # A stream that has nothing of all that was seen is one whose server does not know the
        # question.
        if outcome.error is not None or not outcome.result.subjects:
            self.blind = True
            return
        unseen = outcome.result.subjects - self.seen
        self.missing = unseen if self.missing is None else self.missing & unseen
        self._last = outcome.result.last
