"""Whether the consumer of an ordered reader is still there, while the server replays at the
original pace in silence.

Theory. With replay policy ``original`` the server sends no heartbeat before the replay is over. It
never is over beside a steady writer. A silence then means either a pause in the original traffic or
a consumer that somebody has deleted, and nothing that comes tells which. So after a silence of one
heartbeat period the reader asks for CONSUMER.INFO. "Not found" is a reset; any other answer changes
nothing, and the next question follows a period later. A reset without a question would break the
pace.

Both forms need this. While a server holds a message back it answers no pull either, not even one
that has expired (2.15.1). So the pull form takes no pull for overdue before the first heartbeat.
But a server of 2.9 drops a pull that expires meanwhile and sends no status, so the rest of it never
comes. The answers therefore also tell whether any pull waits. One such answer proves nothing: the
question itself can end a pull, and the status of that end may still be on its way.
"""

from __future__ import annotations

from typing import ClassVar

from jsproto.core.conversation.conversation import Port
from jsproto.core.conversation.procedure import Script
from jsproto.core.state import PLAIN, Codecs
from jsproto.errors import PermissionViolation
from jsproto.jetstream.api.config.consumer import ConsumerInfo
from jsproto.jetstream.api.errors import NotFound
from jsproto.jetstream.api.requests.manage import consumer_info
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.ordered.api_question import ApiQuestion


class ReplayWatch(ApiQuestion[ConsumerInfo]):
    """The question for one incarnation after the other.

    Args:
        api: where the API is.
        stream: the stream.
        timeout: seconds for each answer.

    Attributes:
        gone: the server has said that the consumer is not there.
        unserved: how many answers in a row said that no pull waits, with nothing received between
            them.
        reached: the stream sequence up to which the server has come; it includes a message that the
            server holds back, if the server counts that.
    """

    __slots__ = (
        "_api",
        "_asked",
        "_name",
        "_period",
        "_stream",
        "_timeout",
        "gone",
        "reached",
        "unserved",
    )

    STATE: ClassVar[Codecs] = {
        "_asked": PLAIN,
        "_name": PLAIN,
        "_period": PLAIN,
        "gone": PLAIN,
        "reached": PLAIN,
        "unserved": PLAIN,
    }

    def __init__(self, api: ApiSubjects, stream: str, timeout: float) -> None:
        super().__init__()
        self._api = api
        self._stream = stream
        self._timeout = timeout
        self._name = ""
        self._period = 0.0
        self._asked = 0.0
        self.gone = False
        self.unserved = 0
        self.reached = 0

    def begin(self, name: str, period: float, now: float) -> None:
        """A consumer was made whose server may be silent; it is asked for after ``period`` seconds
        of silence.
        """
        self._name = name
        self._period = period
        self._asked = now

    def end(self) -> None:
        """Nobody needs to know any more: the consumer is given up, or its server sends heartbeats
        now.
        """
        self._script = None
        self._name = ""
        self.gone = False
        self.unserved = 0

    def due(self, since: float) -> float | None:
        """When to ask, if nothing has come since that moment; ``None`` for never, or while an
        answer is waited for.
        """
        if not self._name or self._script is not None:
            return None
        return max(since, self._asked) + self._period

    def ask(self, since: float, port: Port, now: float) -> None:
        """Ask whether the consumer is there, if nothing has come since that moment."""
        if since >= self._asked:
            self.unserved = 0
        self._asked = now
        self._ask(port, now)

    def _asking(self) -> Script[ConsumerInfo]:
        name = self._name
        return Script(lambda: consumer_info(self._api, self._stream, name, timeout=self._timeout))

    def _judged(self, outcome: Script[ConsumerInfo]) -> None:
        self.gone = isinstance(outcome.error, NotFound)
        if outcome.error is None:
            info = outcome.result
            self.unserved = 0 if info.num_waiting else self.unserved + 1
            self.reached = info.delivered.stream_seq
        elif isinstance(outcome.error, PermissionViolation):  # it is not asked again
            self._name = ""
