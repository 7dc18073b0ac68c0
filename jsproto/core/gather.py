"""One question, answers of everybody: for subjects on which many listen and nobody knows how many (ADR-47).

Theory. The end of such answers can only be judged. It has come when as many are there as were expected, when none has come for a
moment after another (the *stall*), or when the time is up; then what came is the result. Nobody at all is an error: `NoResponders` if the
server says so, else `RequestTimeout`. So is a link that is lost on the way, since who had not answered yet is unknown then.

Answers come to the mux of the connection, each by the address of the one question.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Final, TypeVar, final

from jsproto.core.conversation import Call, Conversation, Wish
from jsproto.core.message import Message
from jsproto.core.state import PART, PLAIN, Codecs, Word
from jsproto.core.timers import Timers
from jsproto.errors import (
    Disconnected,
    InvalidConfig,
    JsprotoError,
    NoResponders,
    PermissionViolation,
    RequestTimeout,
)
from jsproto.signals import Ended, NeedData
from jsproto.wire.frames import Delivery
from jsproto.wire.subjects import publish_subject

T_co = TypeVar("T_co", covariant=True)

#: Seconds without another answer after which nobody more is waited for.
STALL: Final = 0.3


class GatherTimer(Word):
    """What is waited for."""

    #: The end of it all.
    TIMEOUT = "TIMEOUT"
    #: Another answer.
    STALL = "STALL"


@final
class Gather(Conversation[T_co]):
    """Ask once and gather what comes.

    Args:
        call: the question; its ``timeout`` is how long all of it may take, in seconds.
        read: makes the result of the answers, in the order in which they came; it may raise errors of ours.
        expect: so many answers are all; 0 if that is not known.
        stall: seconds without another answer after which no more are waited for.

    Attributes:
        count: answers so far.

    Raises:
        InvalidConfig: times or numbers that cannot be.
        InvalidSubject: no subject that can be asked on.
    """

    __slots__ = ("_asked", "_call", "_expect", "_frames", "_given", "_read", "_stall", "timers")

    STATE: ClassVar[Codecs] = {
        **Conversation.STATE,
        "_asked": PLAIN,
        "_frames": PLAIN,
        "_given": PLAIN,
        "timers": PART,
    }

    def __init__(
        self, call: Call, read: Callable[[Sequence[Message]], T_co], *, expect: int = 0, stall: float = STALL
    ) -> None:
        super().__init__()
        publish_subject(call.subject)
        if not call.timeout > 0 or not stall > 0 or expect < 0:
            raise InvalidConfig(
                f"expected timeout > 0 s, stall > 0 s, expect >= 0; got {call.timeout!r}, {stall!r}, {expect!r}"
            )
        self._call = call
        self._read = read
        self._expect = expect
        self._stall = stall
        self._asked = 0
        self._given = False
        self._frames: list[Delivery] = []
        self.timers = Timers(GatherTimer)

    @property
    def count(self) -> int:
        """Answers so far."""
        return len(self._frames)

    # ------------------------------------------------------------------ facts

    def opened(self, now: float) -> None:
        """Ask, if there is a link."""
        self.timers.set(GatherTimer.TIMEOUT, now + self._call.timeout)
        if self.port.up:
            self._asked = self.port.call(self._call)

    def link_up(self, now: float) -> None:
        """Ask now, if it was opened without a link."""
        if not self._asked and not self.ended:
            self._asked = self.port.call(self._call)

    def link_down(self, error: JsprotoError, now: float) -> None:
        """Who had not answered yet is unknown now."""
        if self._asked and not self.ended:
            text = f"link lost while gathering answers on {self._call.subject!r}, {self.count} had come"
            self._fail(Disconnected(text))

    def replied(self, token: int, frame: Delivery, now: float) -> None:
        """One more answer."""
        if self.ended or token != self._asked:
            return
        status = None if frame[3] is None else Message(frame).status
        if status is not None and status[0] == 503 and not frame[4]:
            text = f"expected answers on {self._call.subject!r}, but nobody listens there (503)"
            self._fail(NoResponders(text, self._call.subject))
            return
        self._frames.append(frame)
        self.timers.set(GatherTimer.STALL, now + self._stall)
        if self.count == self._expect:
            self._done()

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """Not permitted."""
        of_interest = isinstance(error, PermissionViolation) and error.operation == "subscription"
        if subject == self._call.subject and self._asked and not of_interest and not self.ended:
            self._fail(error)

    def ticked(self, now: float) -> None:
        """No more will be waited for."""
        if self.ended or not list(self.timers.expired(now)):
            return
        if self._frames:
            self._done()
        else:
            text = f"expected answers on {self._call.subject!r} within {self._call.timeout} s, none came"
            self._fail(RequestTimeout(text))

    def told(self, wish: Wish, now: float) -> None:
        """A question that is open is finished, whatever is wished."""

    # ------------------------------------------------------------------ the user's side

    def take(self, now: float) -> T_co | NeedData | Ended:
        """The result once; raises what went wrong."""
        if not self.readable:
            return self.nothing()
        self._given = self.served = True
        return self._read([Message(frame) for frame in self._frames])

    @property
    def readable(self) -> int:
        """1 while the result is there and not taken."""
        return 1 if self.ended and self.error is None and not self._given else 0

    @property
    def deadline(self) -> float | None:
        """When no more is waited for."""
        return self.timers.next()

    # ------------------------------------------------------------------ steps

    def _done(self) -> None:
        """Whoever reads says now what is wrong with the answers, so that the end is known before it is taken."""
        try:
            self._read([Message(frame) for frame in self._frames])
        except JsprotoError as error:
            self._fail(error)
        else:
            self.timers.clear()
            self.end()

    def _fail(self, error: JsprotoError) -> None:
        self.timers.clear()
        self.end(error)
