"""How the messages of an incarnation come in: asked for by pulls, or pushed by the server. What
both forms have in common.

Theory. An ordered consumer does not care how its messages come, only which they are. So there is
one seam: the machine tells an intake what has happened (an incarnation begins, messages were
`received` and `taken`, a status was heard, all is `void`), and the intake does what that makes due
(`ask`): send the next pull, or answer a question of flow control. Taking makes something due when
``lead`` is low, which costs one comparison per message in both forms.

Heartbeats are watched in one way by both forms. With replay policy ``instant`` the server has
promised them from the first request on. With ``original`` the server is silent for as long as the
messages once lay apart, and deletions of the consumer cannot be told from that. It sends its first
heartbeat by itself when the replay is over (nats-server ``loopAndGatherMsgs``), so the watch begins
with that heartbeat. Two kinds prove nothing, for the server also sends them in the middle of a
replay: those that name a missed flow-control answer, and those that are due to a pull when somebody
asks for CONSUMER.INFO (2.9.10 to 2.14.0). The latter name a later stream sequence than was
received: that of the message which the server holds.

There are two: `PullSource` and `PushSource`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from jsproto.core.conversation.conversation import Port
from jsproto.core.pubsub.frame_queue import FrameQueue
from jsproto.core.state import PART, PLAIN, Codecs, Snapshottable
from jsproto.jetstream.credit import Credit
from jsproto.jetstream.heartbeat import HeartbeatMonitor
from jsproto.jetstream.status import EndReason, StatusContext, StatusRow
from jsproto.wire.frames import Delivery


class OrderedSource(Snapshottable):
    """Base of both forms.

    Attributes:
        place: which statuses are met.
        early: messages can come before the creation is answered.
        backlog: where messages wait for the user; the machine's own.
        subject: what the present incarnation is known by: its NEXT subject, or its deliver subject;
            ``""`` for none.
        deliver: the subject of the server's own words, where messages come on the same sid; else
            ``""``.
        lead: when its level is low, taking makes something due. The hot path of the feed lowers the
            level directly.
        paced: the server spaces messages as they once came (replay original).
        by_messages: whether a message counts for one in it, and bytes for nothing.
        liveness: the watch over the promised heartbeats.
    """

    __slots__ = (
        "_replaying",
        "backlog",
        "by_messages",
        "deliver",
        "lead",
        "liveness",
        "paced",
        "subject",
    )

    STATE: ClassVar[Codecs] = {
        "_replaying": PLAIN,
        "deliver": PLAIN,
        "liveness": PART,
        "subject": PLAIN,
    }

    place: ClassVar[StatusContext]
    early: ClassVar[bool]

    def __init__(
        self, backlog: FrameQueue, lead: Credit, liveness: HeartbeatMonitor, *, paced: bool
    ) -> None:
        self.paced = paced
        # The server may be silent for as long as the messages once lay apart.
        self._replaying = paced
        self.backlog = backlog
        self.lead = lead
        self.by_messages = True
        self.liveness = liveness
        self.subject = ""
        self.deliver = ""

    # ------------------------------------------------------------------ life

    def prepare(self, port: Port) -> str:
        """A creation is sent now, the interest stands; gives what the server shall deliver to,
        ``""`` if it is to be asked.
        """
        self._replaying = self.paced
        return ""

    def begin(self, subject: str, now: float) -> None:
        """The server has made an incarnation that can be asked on ``subject``."""
        raise NotImplementedError

    def void(self, end: EndReason) -> None:
        """Nothing that is of the present incarnation will count any more."""
        raise NotImplementedError

    # ------------------------------------------------------------------ what comes and goes

    def ask(self, port: Port, now: float) -> None:
        """Do what taking, receiving or time has made due."""
        raise NotImplementedError

    def keep(self, frames: list[Delivery]) -> None:
        """Messages for the user, behind everything that came before; the list is ours."""
        self.backlog.push(frames)

    def received(self, frames: Sequence[Delivery]) -> None:
        """Messages came from the present incarnation."""

    def taken(self, frames: Sequence[Delivery]) -> None:
        """The user took messages, or nobody will."""

    def knows(self, frame: Delivery) -> bool:
        """Whether a status speaks of something of ours that is open."""
        raise NotImplementedError

    def heartbeat(self, block: bytes, port: Port, now: float, *, holds: bool = False) -> bool:
        """A heartbeat of a server that waits for messages, unless it ``holds`` one back. Whether it
        waits; False if it waits for us.
        """
        if self._replaying and not holds:
            self._replaying = False
            self.liveness.watch(now)
        return True

    def ended(self, frame: Delivery, row: StatusRow, block: bytes, now: float) -> bool:
        """A status ended one request, if there are any. False if the next message is larger than
        all that may be asked for.
        """
        return True

    def question(self, subject: str, port: Port, now: float) -> None:
        """A server that sends by itself wants to know, on this subject, when everything before has
        been taken.
        """

    def fenced(self, token: int) -> None:
        """The server has read everything that was sent before a fence."""

    def ticked(self, now: float) -> bool:
        """Time has passed. Whether a request was overdue: then nobody knows what this incarnation
        still owes.
        """
        return False

    def unserved(self, port: Port, now: float, *, holds: bool) -> bool:
        """The server has said that no pull waits; if ``holds``, it may hold a message back. Whether
        the reader needs a new consumer.
        """
        return False

    @property
    def replaying(self) -> bool:
        """Whether a silent server proves nothing, and nothing but a question tells whether the
        consumer is there.
        """
        raise NotImplementedError

    @property
    def behind(self) -> int:
        """Messages that wait outside of the backlog."""
        return 0

    @property
    def deadline(self) -> float | None:
        """When `ticked` can change something; silence has a deadline of its own."""
        return None
