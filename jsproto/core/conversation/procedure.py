"""Straight-line protocols, written as generators.

Theory. Most of the JetStream API is "ask, judge the answer, perhaps ask again". Such a protocol is
a generator function that yields what it needs and returns its result:

    def stream_name(subject: str) -> Steps[str]:
        reply = yield Call("$JS.API.STREAM.NAMES", ...)
        ...
        return name

`Script` is the part that steps a generator through any port: it sends the calls, keeps their
timeouts, and throws `RequestTimeout`, `NoResponders`, `ConnectionLost`, `ConnectionClosed` or what
the command was refused with (`PermissionViolation`, `PayloadTooLarge`) into the generator at the
``yield`` that waits. `Procedure` is a script with a port of its own, the conversation behind every
request. A conversation that also has messages to care for holds a `Script` instead and reuses the
same generators.

While the link is down a call waits for it (its timeout runs); a call that was sent when the link
went down fails with `ConnectionLost`, because nobody knows whether it arrived.

A generator can't be copied, but it is pure: a script's snapshot is the list of what it was told so
far, and restoring runs a fresh generator over that list.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import ClassVar, Final, Generic, TypeAlias, TypeVar, cast, final

from attrs import frozen

from jsproto.core.conversation.conversation import Call, Conversation, Port, StopMode
from jsproto.core.conversation.message import Message
from jsproto.core.state import (
    PART,
    Codecs,
    IdentityEnum,
    Snapshot,
    Snapshottable,
    error_read,
    error_written,
)
from jsproto.core.timers import Timers
from jsproto.errors.tree import (
    ConnectionClosed,
    ConnectionLost,
    JsprotoError,
    LocalProtocolError,
    NoResponders,
    PermissionViolation,
    RequestTimeout,
)
from jsproto.signals import Ended, NeedData
from jsproto.wire.frames import Delivery
from jsproto.wire.nuid import derived

T = TypeVar("T")

#: So often is a generator told that all is over; after that it is not asked any more.
MOST_FAREWELLS: Final = 8


@final
@frozen
class Sleep:
    """Let ``seconds`` pass."""

    seconds: float


@final
@frozen
class CurrentTime:
    """Ask for the time of the fact that is being worked off; answered at once. See `the_time`."""


@final
@frozen
class UniqueName:
    """Ask for a name that nobody else has; answered at once. See `a_name`."""


Step: TypeAlias = Call | Sleep | CurrentTime | UniqueName
#: What a procedure is written as.
Steps: TypeAlias = Generator[Step, Message, T]


def the_time() -> Steps[float]:
    """Answer the time in seconds, for deadlines over several questions (``yield from`` it)."""
    return cast("float", (yield CurrentTime()))


def a_name() -> Steps[str]:
    """Answer a name of 22 letters and digits that was never given before, for ids of messages
    (``yield from`` it).
    """
    return cast("str", (yield UniqueName()))


class ScriptTimer(IdentityEnum):
    """A script waits for one thing at a time."""

    WAIT = "WAIT"


class Script(Snapshottable, Generic[T]):
    """Steps one generator through a port.

    Attributes:
        done: the generator has returned or raised.
        error: what it raised.
        watcher: is told each step that the generator asks for, and ``None`` when it is done; for a
            recorder.
    """

    __slots__ = (
        "_history",
        "_make",
        "_result",
        "_step",
        "_steps",
        "_token",
        "done",
        "error",
        "timers",
        "watcher",
    )

    STATE: ClassVar[Codecs] = {"timers": PART}

    def __init__(self, make: Callable[[], Steps[T]]) -> None:
        self._make = make
        self._steps: Steps[T] | None = None
        self._step: Step | None = None
        self._token = 0
        self._history: list[tuple[object, ...]] = []
        self._result: T | None = None
        self.done = False
        self.error: JsprotoError | None = None
        self.watcher: Callable[[Step | None], object] | None = None
        self.timers = Timers(ScriptTimer)

    @property
    def result(self) -> T:
        """What the generator returned; raises what it raised."""
        if self.error is not None:
            raise self.error
        if not self.done:
            raise LocalProtocolError("expected a script that is done")
        return cast("T", self._result)

    @property
    def deadline(self) -> float | None:
        """When `ticked` can change something."""
        return self.timers.next()

    @property
    def waiting(self) -> Step | None:
        """What the generator waits for."""
        return self._step

    @property
    def token(self) -> int:
        """The token of the call that was sent and is not answered yet; 0 if there is none."""
        return self._token

    # ------------------------------------------------------------------ facts

    def opened(self, port: Port, now: float) -> None:
        """Start."""
        self._feed(None, port, now)

    def replied(self, port: Port, token: int, frame: Delivery, now: float) -> None:
        """An answer came; one that is not waited for vanishes (it is late)."""
        if token != self._token or not isinstance(self._step, Call):
            return
        message = Message(frame)
        status = message.status
        if status is not None and status[0] == 503 and not message.payload:
            subject = self._step.subject
            text = f"expected an answer on {subject!r}, but nobody listens there (503)"
            self._throw(NoResponders(text, subject), port, now)
        else:
            self._feed(("reply", frame), port, now)

    def ticked(self, port: Port, now: float) -> None:
        """Time has passed. One step in each tick: a generator that never waits does not hold the
        others up.
        """
        due = self.timers.next()
        if due is None or due > now:
            return
        if isinstance(self._step, Call):
            asked = f"on {self._step.subject!r} within {self._step.timeout} s"
            text = (
                f"expected an answer {asked}, none came"
                if self._token
                else f"expected a link to ask {asked}, there was none: nothing was sent"
            )
            self._throw(RequestTimeout(text, sent=bool(self._token)), port, now)
        else:
            self._feed(("slept",), port, now)

    def link_down(self, port: Port, now: float) -> None:
        """The link is lost: a call that was sent fails."""
        if isinstance(self._step, Call) and self._token:
            text = f"link lost while waiting for an answer on {self._step.subject!r}; its outcome is unknown"
            self._throw(ConnectionLost(text), port, now)

    def link_up(self, port: Port, now: float) -> None:
        """A link is up: a call that waited for it is sent."""
        if isinstance(self._step, Call) and not self._token:
            self._token = port.call(self._step)

    def refused(self, port: Port, subject: str, error: JsprotoError, now: float) -> None:
        """The server refused the call that was sent, or the interest in its answer; none will come."""
        if not (isinstance(self._step, Call) and self._token):
            return
        of_interest = isinstance(error, PermissionViolation) and error.operation == "subscription"
        if subject == (port.answers if of_interest else self._step.subject):
            self._throw(error, port, now)

    def closed(self, error: JsprotoError | None, port: Port, now: float) -> None:
        """The end from outside: the generator sees it as an error, whatever it waits for.

        One that asks on is told so often, without anything being sent, and then it is over.
        """
        ended = error_written(error or ConnectionClosed("closed while waiting for an answer"))
        left = MOST_FAREWELLS
        while not self.done:
            self._step = self._told(("error" if left else "over", ended), port, now)
            left -= 1

    # ------------------------------------------------------------------ stepping

    def _throw(self, error: JsprotoError, port: Port, now: float) -> None:
        self._feed(("error", error_written(error)), port, now)

    def _feed(self, told: tuple[object, ...] | None, port: Port, now: float) -> None:
        """Tell the generator one thing and arrange for the next that it asks for."""
        self._step = step = self._told(told, port, now)
        if isinstance(step, Sleep):
            self.timers.set(ScriptTimer.WAIT, now + max(0.0, step.seconds))
        elif isinstance(step, Call):
            self.timers.set(ScriptTimer.WAIT, now + step.timeout)
            if port.up:
                self._token = port.call(step)

    def _told(self, told: tuple[object, ...] | None, port: Port, now: float) -> Step | None:
        """Tell the generator one thing; the next that it asks for, but for the time and names,
        which it gets at once.
        """
        if told is not None:
            self._history.append(told)
        self.timers.clear()
        self._token = 0
        step = self._advance(told)
        while isinstance(step, (CurrentTime, UniqueName)):
            told = (
                ("now", now) if isinstance(step, CurrentTime) else ("name", derived(port.address()))
            )
            self._history.append(told)
            step = self._advance(told)
        if self.watcher is not None:
            self.watcher(step)
        return step

    def _advance(self, told: tuple[object, ...] | None) -> Step | None:
        try:
            if told is None or self._steps is None:
                self._steps = self._make()
                return next(self._steps)
            if told[0] == "reply":
                return self._steps.send(Message(cast("Delivery", told[1])))
            if told[0] == "slept":
                return self._steps.send(cast("Message", None))
            if told[0] in {"now", "name"}:
                return self._steps.send(cast("Message", told[1]))
            error = cast("JsprotoError", error_read(told[1]))
            if told[0] == "error":
                return self._steps.throw(error)
            self._steps.close()
            self.error = error
        except StopIteration as stop:
            self._result = cast("T", stop.value)
        except JsprotoError as error:
            self.error = error
        except Exception as bug:  # noqa: BLE001  whatever it is belongs to who asked, not to the reader of the link
            self.error = LocalProtocolError(
                f"expected a procedure to return or raise ours, got {type(bug).__name__}"
            )
            self.error.__cause__ = bug
        self.done = True
        return None

    # ------------------------------------------------------------------ snapshot

    def snapshot(self) -> Snapshot:
        """What the generator was told so far, and what it waits for."""
        return {
            **super().snapshot(),
            "started": self._steps is not None or self.done,
            "history": list(self._history),
            "token": self._token,
        }

    def restore(self, data: Mapping[str, object]) -> None:
        """Run a fresh generator over what the old one was told."""
        super().restore(data)
        self._history = list(cast("list[tuple[object, ...]]", data["history"]))
        self._token = cast("int", data["token"])
        self._steps = self._step = None
        self.done = False
        self.error = None
        if data["started"]:
            self._step = self._advance(None)
            for told in self._history:
                self._step = self._advance(told)


class Procedure(Conversation[T]):
    """One request, however many questions it takes: the conversation that hands out one result."""

    __slots__ = ("_given", "script")

    STATE: ClassVar[Codecs] = {**Conversation.STATE, "script": PART}

    def __init__(self, make: Callable[[], Steps[T]]) -> None:
        super().__init__()
        self.script: Script[T] = Script(make)
        self._given = False

    def opened(self, now: float) -> None:
        """Send the first question."""
        self.script.opened(self.port, now)
        self._judge()

    def replied(self, token: int, frame: Delivery, now: float) -> None:
        """An answer came."""
        self.script.replied(self.port, token, frame, now)
        self._judge()

    def ticked(self, now: float) -> None:
        """A timeout or a pause may be over."""
        self.script.ticked(self.port, now)
        self._judge()

    def link_down(self, error: JsprotoError, now: float) -> None:
        """A question that was sent is lost."""
        self.script.link_down(self.port, now)
        self._judge()

    def link_up(self, now: float) -> None:
        """A question that waited for the link is sent."""
        self.script.link_up(self.port, now)
        self._judge()

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """The server refused the question."""
        self.script.refused(self.port, subject, error, now)
        self._judge()

    def told(self, wish: StopMode, now: float) -> None:
        """A request that is open is finished, whatever is wished."""

    def closed(self, error: JsprotoError | None, now: float) -> None:
        """Given up by the user, or the connection is closed."""
        if not self.ended:
            self.script.closed(error, self.port, now)
            self._judge()

    def take(self, now: float) -> T | NeedData | Ended:
        """The result once, then ENDED; raises what the procedure raised."""
        if self.readable:
            self._given = self.served = True  # one result: who has it waits for no end
            return self.script.result
        return self.nothing()

    @property
    def readable(self) -> int:
        """1 while the result is there and not taken."""
        return 1 if self.ended and self.error is None and not self._given else 0

    @property
    def deadline(self) -> float | None:
        """The timeout of the question that is open."""
        return None if self.ended else self.script.deadline

    def snapshot(self) -> Snapshot:
        """The script's history and whether its result was taken."""
        return {**super().snapshot(), "given": self._given}

    def restore(self, data: Mapping[str, object]) -> None:
        """Put back what `snapshot` gave."""
        super().restore(data)
        self._given = cast("bool", data["given"])

    def _judge(self) -> None:
        if self.script.done and not self.ended:
            self.end(self.script.error)
