"""The push form of an ordered consumer: the server sends, as far as its questions are answered
(ADR-15, ADR-17).

Theory. The server delivers to a subject of the inbox, so it may deliver before it answers the
creation; its own words come there too. It lets a window of bytes pass, asks between the messages
how far the reader is, and goes on when that is answered: the question waits among the messages
until those before it are taken (`FlowControl`). So what is at hand is bounded by the server's
window, and no bound of the reader is needed.

A question dies with its incarnation; the messages behind it do not, they came in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from jsproto.core.conversation.conversation import Port
from jsproto.core.pubsub.frame_queue import FrameQueue
from jsproto.core.state import PART, PLAIN, Codecs
from jsproto.jetstream.credit import Credit
from jsproto.jetstream.heartbeat import HeartbeatMonitor
from jsproto.jetstream.ordered.source import OrderedSource
from jsproto.jetstream.pull.consume_options import ConsumeOptions
from jsproto.jetstream.push.flow_control import FlowControl, FlowMark
from jsproto.jetstream.status import EndReason, StatusContext
from jsproto.wire.commands import Publish
from jsproto.wire.frames import SUBJECT, Delivery
from jsproto.wire.headers import header_value

#: Levels that no number of messages reaches: nothing is due, and something is due with each
#: message.
_NEVER: Final = -(2**62)
_ALWAYS: Final = 2**62


class PushSource(OrderedSource):
    """One deliver subject after the other.

    Attributes:
        flow: the questions that wait.
    """

    __slots__ = ("_doubt", "flow")

    STATE: ClassVar[Codecs] = {**OrderedSource.STATE, "_doubt": PLAIN, "flow": PART}

    place = StatusContext.PUSH
    early = True

    def __init__(
        self, backlog: FrameQueue, options: ConsumeOptions, *, paced: bool = False
    ) -> None:
        liveness = HeartbeatMonitor(options.heartbeat, options.heartbeat_factor)
        super().__init__(backlog, Credit(1), liveness, paced=paced)
        self.flow = FlowControl()
        # The fence behind an answer that the server misses.
        self._doubt = 0
        self._source()

    def _source(self) -> None:
        self.lead.low = _ALWAYS if self.flow.marks else _NEVER

    # ------------------------------------------------------------------ life

    def prepare(self, port: Port) -> str:
        """What the port is subscribed to."""
        super().prepare(port)
        self.subject = self.deliver = port.subject
        return self.deliver

    def begin(self, subject: str, now: float) -> None:
        """From now on heartbeats are promised, unless the server replays."""
        if not self._replaying:
            self.liveness.watch(now)

    def void(self, end: EndReason) -> None:
        """The messages behind the questions are at hand, the questions are void."""
        self.subject = self.deliver = ""
        self.liveness.rest()
        left = self.flow.clear()
        if left:
            self.backlog.push(left)
        self.flow.forget()
        self._doubt = 0
        self._source()

    # ------------------------------------------------------------------ what comes and goes

    def ask(self, port: Port, now: float) -> None:
        """Answer each question that nothing is before any more."""
        flow = self.flow
        while flow.marks and not self.backlog.count:
            passed = flow.passed()
            port.publish(Publish(passed.subject))
            flow.answer(passed.subject)
            if passed.behind:
                self.backlog.push(passed.behind)
        self._source()

    def keep(self, frames: list[Delivery]) -> None:
        """Behind the last question, if one waits."""
        if self.flow.marks:
            self.flow.hold(frames)
        else:
            self.backlog.push(frames)

    def knows(self, frame: Delivery) -> bool:
        """It came on the deliver subject."""
        return frame[SUBJECT] == self.deliver

    def heartbeat(self, block: bytes, port: Port, now: float, *, holds: bool = False) -> bool:
        """It also says which answer the server misses."""
        stalled = header_value(block, b"Nats-Consumer-Stalled")
        if not stalled:
            return super().heartbeat(block, port, now, holds=holds)
        self.question(stalled, port, now)
        return False

    def question(self, subject: str, port: Port, now: float) -> None:
        """It is answered at once if nothing is before it, or else in its turn; doubts are cleared
        by a fence.
        """
        met = self.flow.met(subject) if subject else FlowMark.KNOWN
        if met is FlowMark.MARKED:
            self.ask(port, now)
        elif met is FlowMark.DOUBTED:
            self._doubt = port.fence()

    def fenced(self, token: int) -> None:
        """The server has read our last answer."""
        if token == self._doubt:
            self.flow.assured()

    @property
    def replaying(self) -> bool:
        """Under replay original, until the first heartbeat."""
        return self._replaying

    @property
    def behind(self) -> int:
        """Messages behind questions."""
        return self.flow.behind

    # ------------------------------------------------------------------ state

    def restore(self, data: Mapping[str, object]) -> None:
        """Put back what `snapshot` gave."""
        super().restore(data)
        self._source()
