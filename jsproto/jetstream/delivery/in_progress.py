"""Messages in the user's hands: which are not settled, and when the server must hear that they are
being worked on.

Theory. The server delivers a message again when ``ack_wait`` has passed since it sent it, whether
the message waits at hand here or user code works on it. So there is one beat for all that was
delivered and is not settled, at a third of ``ack_wait``, and each message is judged by beats, not
by a clock of its own: one that saw a beat before is *ripe*, and each beat from then on is said for
it. It is one to two beats old then, well within ``ack_wait``; one that is settled quickly is never
spoken of.

    beat          beat          beat
     |  came       |  young      |  ripe: in-progress, and again at every beat
     |    at hand or in hand ... |

Nobody reports that a message was settled: its `AckState` says so when the beat looks, and it is let
go then. What user code settles meanwhile is dropped when the list has doubled, so it holds at most
twice what is really open. Costs: one append for each message, one deadline for all.

At hand are runs of frames in order, so numbers are enough there: what was at hand at the last beat
and was not taken since is ripe. The same numbers say when messages *age*: at hand through two whole
beats, at least two thirds of ``ack_wait``; then more was asked for than the user can take in time.

A message that user code forgets without settling it stays in progress for as long as its feed
lives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Final, NamedTuple, cast

from jsproto.core.state import PLAIN, Codecs, Snapshot, Snapshottable
from jsproto.jetstream.delivery.ack import SETTLED, AckState
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.wire.frames import Delivery

_SLACK: Final = 64


class InProgressTick(NamedTuple):
    """What a beat found: ripe messages in hand, and how many of those at hand are ripe."""

    held: list[JsMessage]
    ripe: int


class InProgressTracker(Snapshottable):
    """The messages of one feed that are not settled.

    Args:
        every: seconds between two beats, 0 for none at all.

    Attributes:
        due: when the next beat is, ``None`` while there is nothing to look at.
        ageing: how many messages at hand had been there for two beats when the last one came.
    """

    __slots__ = (
        "_at_hand", "_bound", "_came", "_held", "_left", "_ripe", "_waiting", "ageing", "due", "every"
    )  # fmt: skip

    STATE: ClassVar[Codecs] = {
        "_at_hand": PLAIN,
        "_bound": PLAIN,
        "_came": PLAIN,
        "_left": PLAIN,
        "_ripe": PLAIN,
        "_waiting": PLAIN,
        "ageing": PLAIN,
        "due": PLAIN,
    }

    def __init__(self, every: float = 0.0) -> None:
        self.every = every
        self.due: float | None = None
        # In hand, in the order in which they came; the first ``_ripe`` of them are ripe.
        self._held: list[JsMessage] = []
        self._ripe = 0
        self._bound = _SLACK
        # At hand at the last beat, those of them not handed out since, what came since, and what
        # was at hand at the last two beats.
        self._at_hand = 0
        self._left = 0
        self._came = 0
        self._waiting = 0
        self.ageing = 0

    # ------------------------------------------------------------------ what happens

    def came(self, count: int, now: float) -> None:
        """So many messages came."""
        self._came += count
        if self.due is None and self.every:
            self.due = now + self.every

    def hand(self, message: JsMessage) -> None:
        """The oldest message at hand is in the user's hands now."""
        if self._left:
            self._left -= 1
            self._ripe += 1
        held = self._held
        held.append(message)
        if len(held) > self._bound:
            self._let_go()

    def beat(self, now: float, at_hand: int) -> InProgressTick:
        """A beat is due: look at everything; ``at_hand`` messages wait to be taken.

        Beats that were missed count as one: then the next is due at once.
        """
        ripe = self._held[: self._ripe]
        self._let_go()
        taken = self._at_hand + self._came - at_hand
        self.ageing = max(0, self._waiting - taken)
        self._waiting = max(0, self._at_hand - taken)
        self._ripe = len(self._held)
        self._at_hand = self._left = at_hand
        self._came = 0
        due = max(cast("float", self.due) + self.every, now)
        self.due = due if self._held or at_hand else None
        return InProgressTick([each for each in ripe if each.said is not SETTLED], self._waiting)

    def clear(self) -> None:
        """Nothing is to be looked after any more."""
        self._held.clear()
        self._ripe = self._left = self._at_hand = self._came = self._waiting = self.ageing = 0
        self.due = None

    # ------------------------------------------------------------------ what it shows

    @property
    def open(self) -> list[JsMessage]:
        """What is in the user's hands and not settled, oldest first."""
        return [each for each in self._held if each.said is not SETTLED]

    @property
    def empty(self) -> bool:
        """Whether nothing is in the user's hands but what is settled."""
        return all(each.said is SETTLED for each in self._held)

    def _let_go(self) -> None:
        held, ripe = self._held, self._ripe
        self._ripe = sum(each.said is not SETTLED for each in held[:ripe])
        self._held = [each for each in held if each.said is not SETTLED]
        self._bound = 2 * len(self._held) + _SLACK

    # ------------------------------------------------------------------ state

    def snapshot(self) -> Snapshot:
        """All numbers, and the messages with their states."""
        return {**super().snapshot(), "held": written(self._held)}

    def restore(self, data: Mapping[str, object]) -> None:
        """Put back what `snapshot` gave. The messages are new ones, to be found in `open`."""
        super().restore(data)
        self._held = read(data["held"])


def written(messages: Iterable[JsMessage]) -> object:
    """Messages as plain data."""
    return [(each.frame, each.said.name) for each in messages]


def read(data: object) -> list[JsMessage]:
    """The messages that `written` wrote."""
    frames = cast("list[tuple[Delivery, str]]", data)
    return [JsMessage(frame, None, AckState[name]) for frame, name in frames]
