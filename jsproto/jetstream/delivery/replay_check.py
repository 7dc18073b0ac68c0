"""Whether a reader's consumer is still there, while the server replays in silence.

Theory. With replay policy ``original`` the server sends no heartbeat before the replay is over. It
never is over beside a steady writer. A silence then means either a pause in the original traffic or
a consumer that somebody has deleted, and nothing that comes tells which. So after a silence of one
heartbeat period the reader asks for CONSUMER.INFO. "Not found" proves that the consumer was
deleted: an ordered reader makes another one, and a push subscription reports missed heartbeats. Any
other answer changes nothing, and the next question follows a period later. So does one that nobody
listens to (503): a leaf node answers so while its hub is away, and that is when consumers go by
their inactive threshold. A client that may not ask stops, until the next link or consumer; it can
read without that right.

The pull form of an ordered reader needs this too. While a server holds a message back it answers no
pull either, not even one that has expired (2.15.1). So the pull form takes no pull for overdue
before the first heartbeat. But a server of 2.9 drops a pull that expires meanwhile and sends no
status, so the rest of it never comes. The answers therefore also tell whether any pull waits. One
such answer proves nothing: the question itself can end a pull, and the status of that end may still
be on its way.
"""

from __future__ import annotations

from typing import ClassVar

from jsproto.core.conversation.conversation import Port
from jsproto.core.conversation.procedure import Script
from jsproto.core.state import PLAIN, Codecs
from jsproto.errors.tree import PermissionViolation
from jsproto.jetstream.api.config.consumer import ConsumerInfo
from jsproto.jetstream.api.errors import NotFound
from jsproto.jetstream.api.requests.manage import consumer_info
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.delivery.api_question import ApiQuestion


class ReplayWatch(ApiQuestion[ConsumerInfo]):
    """The question for one consumer after the other.

    Args:
        api: where the API is.
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
        "_stream": PLAIN,
        "gone": PLAIN,
        "reached": PLAIN,
        "unserved": PLAIN,
    }

    def __init__(self, api: ApiSubjects, timeout: float) -> None:
        super().__init__()
        self._api = api
        self._timeout = timeout
        self._stream = ""
        self._name = ""
        self._period = 0.0
        self._asked = 0.0
        self.gone = False
        self.unserved = 0
        self.reached = 0

    def begin(self, stream: str, name: str, period: float, now: float) -> None:
        """Ask for this consumer after each ``period`` seconds of silence."""
        self._stream = stream
        self._name = name
        self._period = period
        self._asked = now

    def end(self) -> None:
        """Ask no more: the consumer is given up or gone, or its server sends heartbeats now."""
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
        stream, name = self._stream, self._name
        return Script(lambda: consumer_info(self._api, stream, name, timeout=self._timeout))

    def _judged(self, outcome: Script[ConsumerInfo]) -> None:
        self.gone = isinstance(outcome.error, NotFound)
        if outcome.error is None:
            info = outcome.result
            self.unserved = 0 if info.num_waiting else self.unserved + 1
            self.reached = info.delivered.stream_seq
        elif isinstance(outcome.error, PermissionViolation):  # it is not asked again
            self._name = ""
