"""Sequential protocols, written as generators.

Theory. Most of the JetStream API is a request, a check of the answer, and perhaps another request.
Such a protocol is a generator function that yields its requests and returns its result:

    def stream_name(subject: str) -> Steps[str]:
        reply = yield Call("$JS.API.STREAM.NAMES", ...)
        ...
        return name

`Script` runs a generator over any port. It sends the calls and keeps their timeouts. At the
``yield`` that waits it throws an error into the generator: `RequestTimeout`, `NoResponders`,
`ConnectionLost`, `ConnectionClosed`, or the error that refused the command (`PermissionViolation`,
`PayloadTooLarge`). `Procedure` is a script with a port of its own; every request is one. A
conversation that also handles messages holds a `Script` and uses the same generators.

While the link is down, a call waits for the link, and its timeout runs. A call that was sent before
the link went down fails with `ConnectionLost`, because it may or may not have arrived.

A generator cannot be copied, but it is pure. Therefore the snapshot of a script is the list of its
inputs, and `restore` runs a new generator over that list.
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

#: Maximum number of times that an exception is thrown into a generator that keeps yielding.
MOST_FAREWELLS: Final = 8


@final
@frozen
class Sleep:
    """Wait for ``seconds``."""

    seconds: float


@final
@frozen
class CurrentTime:
    """Ask for the time of the current input; answered at once. See `the_time`."""


@final
@frozen
class UniqueName:
    """Ask for a unique name; answered at once. See `a_name`."""


Step: TypeAlias = Call | Sleep | CurrentTime | UniqueName
#: The type of the generator of a procedure.
Steps: TypeAlias = Generator[Step, Message, T]


def the_time() -> Steps[float]:
    """Return the time in seconds, for deadlines over several calls (``yield from`` it)."""
    return cast("float", (yield CurrentTime()))


def a_name() -> Steps[str]:
    """Return a unique name of 22 letters and digits, for message ids (``yield from`` it)."""
    return cast("str", (yield UniqueName()))


class ScriptTimer(IdentityEnum):
    """The one timer of a script, which waits for one thing at a time."""

    WAIT = "WAIT"


class Script(Snapshottable, Generic[T]):
    """Runs one generator over a port.

    Attributes:
        done: the generator has returned or raised.
        error: the error that it raised.
        watcher: called with each step that the generator yields, and with ``None`` when it is done;
            for a recorder.
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
        """The return value of the generator; raises its error."""
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
        """The step that the generator waits for."""
        return self._step

    @property
    def token(self) -> int:
        """The token of the sent call that is not answered yet; 0 if there is none."""
        return self._token

    # ------------------------------------------------------------------ facts

    def opened(self, port: Port, now: float) -> None:
        """Start the generator."""
        self._feed(None, port, now)

    def replied(self, port: Port, token: int, frame: Delivery, now: float) -> None:
        """Process an answer; ignore a late one that no call waits for."""
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
        """Process a timeout or the end of a pause.

        Each tick makes one step only, so a generator that never waits does not block other
        conversations.
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
        """The link is lost: a sent call fails."""
        if isinstance(self._step, Call) and self._token:
            text = (
                f"link lost while waiting for an answer on {self._step.subject!r};"
                " its outcome is unknown"
            )
            self._throw(ConnectionLost(text), port, now)

    def link_up(self, port: Port, now: float) -> None:
        """A link is up: send the call that waited for it."""
        if isinstance(self._step, Call) and not self._token:
            self._token = port.call(self._step)

    def refused(self, port: Port, subject: str, error: JsprotoError, now: float) -> None:
        """Fail the call if the server refused its publish or the subscription to its answer."""
        if not (isinstance(self._step, Call) and self._token):
            return
        of_interest = isinstance(error, PermissionViolation) and error.operation == "subscription"
        if subject == (port.answers if of_interest else self._step.subject):
            self._throw(error, port, now)

    def closed(self, error: JsprotoError | None, port: Port, now: float) -> None:
        """End the script: throw an error into the generator, whatever it waits for.

        If the generator yields again, the error is thrown again, at most ``MOST_FAREWELLS`` times.
        Nothing is sent.
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
        """Pass one input to the generator and start the step that it yields."""
        self._step = step = self._told(told, port, now)
        if isinstance(step, Sleep):
            self.timers.set(ScriptTimer.WAIT, now + max(0.0, step.seconds))
        elif isinstance(step, Call):
            self.timers.set(ScriptTimer.WAIT, now + step.timeout)
            if port.up:
                self._token = port.call(step)

    def _told(self, told: tuple[object, ...] | None, port: Port, now: float) -> Step | None:
        """Pass one input to the generator and return its next step; None when it is done.

        Steps that ask for the time or a name are answered here at once.
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
        except Exception as bug:  # noqa: BLE001  the caller gets any exception, and the reader of the link must go on
            self.error = LocalProtocolError(
                f"expected a procedure to return or raise ours, got {type(bug).__name__}"
            )
            self.error.__cause__ = bug
        self.done = True
        return None

    # ------------------------------------------------------------------ snapshot

    def snapshot(self) -> Snapshot:
        """Return the inputs of the generator so far, and the token that it waits for."""
        return {
            **super().snapshot(),
            "started": self._steps is not None or self.done,
            "history": list(self._history),
            "token": self._token,
        }

    def restore(self, data: Mapping[str, object]) -> None:
        """Run a new generator over the inputs of the old one."""
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
    """A conversation with one result, which a generator finds in one or more calls."""

    __slots__ = ("_given", "script")

    STATE: ClassVar[Codecs] = {**Conversation.STATE, "script": PART}

    def __init__(self, make: Callable[[], Steps[T]]) -> None:
        super().__init__()
        self.script: Script[T] = Script(make)
        self._given = False

    def opened(self, now: float) -> None:
        """Send the first call."""
        self.script.opened(self.port, now)
        self._judge()

    def replied(self, token: int, frame: Delivery, now: float) -> None:
        """Process an answer."""
        self.script.replied(self.port, token, frame, now)
        self._judge()

    def ticked(self, now: float) -> None:
        """Process a timeout or the end of a pause."""
        self.script.ticked(self.port, now)
        self._judge()

    def link_down(self, error: JsprotoError, now: float) -> None:
        """Fail a call that was sent."""
        self.script.link_down(self.port, now)
        self._judge()

    def link_up(self, now: float) -> None:
        """Send the call that waited for the link."""
        self.script.link_up(self.port, now)
        self._judge()

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """Fail the call that the server refused."""
        self.script.refused(self.port, subject, error, now)
        self._judge()

    def told(self, wish: StopMode, now: float) -> None:
        """Do nothing: an open request is finished in every stop mode."""

    def closed(self, error: JsprotoError | None, now: float) -> None:
        """Cancel: the user gave it up, or the connection is closed."""
        if not self.ended:
            self.script.closed(error, self.port, now)
            self._judge()

    def take(self, now: float) -> T | NeedData | Ended:
        """Return the result once, then ENDED; raises the error of the procedure."""
        if self.readable:
            self._given = self.served = (
                True  # the caller has the one result and does not wait for ENDED
            )
            return self.script.result
        return self.nothing()

    @property
    def readable(self) -> int:
        """1 while the result is available, else 0."""
        return 1 if self.ended and self.error is None and not self._given else 0

    @property
    def deadline(self) -> float | None:
        """The timeout of the open call."""
        return None if self.ended else self.script.deadline

    def snapshot(self) -> Snapshot:
        """Return the script's history, and whether its result was taken."""
        return {**super().snapshot(), "given": self._given}

    def restore(self, data: Mapping[str, object]) -> None:
        """Restore the state that `snapshot` returned."""
        super().restore(data)
        self._given = cast("bool", data["given"])

    def _judge(self) -> None:
        if self.script.done and not self.ended:
            self.end(self.script.error)
