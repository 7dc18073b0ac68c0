"""The seam between a range reader and the way that it reads: what it tells a way, and what a way
makes of it.

Theory. The reader knows how far it is, when the leader is asked and how it ends; a way knows how
messages are got. So the reader tells a way to `begin` behind a position, hands on every fact, and
reads from `happened` what came of it, in order. A way never judges the end of the range: that
nothing more comes from where it reads is `SourceEvent.QUIET`, no proof.

There are two: `ConsumerSource` and `DirectGetSource`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeAlias

from jsproto.core.conversation.conversation import Port
from jsproto.core.state import PLAIN, Codecs, IdentityEnum, Snapshottable
from jsproto.errors.tree import JsprotoError
from jsproto.jetstream.range_read.progress import RangeProgress
from jsproto.jetstream.range_read.rows import Rows
from jsproto.wire.frames import Delivery


class SourceEvent(IdentityEnum):
    """What a way tells; the detail is in brackets."""

    #: Messages of the range came, in order; the track knows of them (the frames that the reader
    #: wants, perhaps none).
    ROWS = "ROWS"
    #: Whoever is read from has nothing more now.
    QUIET = "QUIET"
    #: What is read from is worth nothing any more; begin again (the error, ``None`` for a missing
    #: message).
    LOST = "LOST"
    #: The same, and it is no fault of anybody: begin again at once.
    GONE = "GONE"
    #: It will not get better (the error).
    FATAL = "FATAL"


Told: TypeAlias = tuple[SourceEvent, object]


class RangeSource(Snapshottable):
    """Base of both ways.

    Attributes:
        happened: what is to be told, oldest first; the reader empties it.
        strays: frames that mean nothing (any more).
        track: how far the reader is; the reader's own.
    """

    __slots__ = ("happened", "strays", "track")

    STATE: ClassVar[Codecs] = {"strays": PLAIN}

    #: What is made of its frames.
    rows: ClassVar[type[Rows]]

    def __init__(self, track: RangeProgress) -> None:
        self.track = track
        self.happened: list[Told] = []
        self.strays = 0

    # ------------------------------------------------------------------ life

    def begin(self, port: Port, now: float) -> None:
        """Read on behind the position. The link is up."""
        raise NotImplementedError

    def again(self, port: Port, now: float) -> None:
        """It was quiet too early: look again whether there is more."""
        raise NotImplementedError

    def leave(self, port: Port, now: float) -> None:
        """Nothing more of it is of use; what it has on the server must go."""
        raise NotImplementedError

    def flush(self, port: Port, now: float) -> None:
        """The connection ends: say goodbye without waiting."""

    # ------------------------------------------------------------------ facts

    def delivered(self, run: Sequence[Delivery], port: Port, now: float, *, closed: bool) -> None:
        """Frames came on a sid of the port; ``closed``: only for the record."""
        raise NotImplementedError

    def taken(self, frames: Sequence[Delivery], port: Port, now: float) -> None:
        """The user took messages."""
        raise NotImplementedError

    def replied(self, token: int, frame: Delivery, port: Port, now: float) -> None:
        """The answer to a call."""

    def ticked(self, port: Port, now: float, *, at_hand: bool) -> None:
        """Time has passed; while something is ``at_hand`` nobody can say who is slow."""
        raise NotImplementedError

    def link_down(self, port: Port, now: float) -> None:
        """The link is lost."""
        raise NotImplementedError

    def link_up(self, port: Port, now: float) -> None:
        """There is a new one."""

    def refused(self, subject: str, error: JsprotoError, port: Port, now: float) -> None:
        """The server does not let a publish or a subscription through."""
        raise NotImplementedError

    # ------------------------------------------------------------------ what it shows

    @property
    def deadline(self) -> float | None:
        """When `ticked` can change something."""
        raise NotImplementedError

    @property
    def resting(self) -> bool:
        """Nothing of it is left on the server."""
        return True

    @property
    def given_up(self) -> Sequence[str]:
        """What could not be deleted."""
        return ()
