"""One question at a time that a reader asks the API beside its reading.

A part of the reader says what to ask (`_asking`) and what the answer means (`_judged`). This base
steps the question: it takes the answer, its timeout and its refusal, and it keeps the question in
the state that can be put back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar, cast

from jsproto.core.conversation.conversation import Port
from jsproto.core.conversation.procedure import Script
from jsproto.core.state import Snapshot, Snapshottable
from jsproto.errors.tree import JsprotoError
from jsproto.wire.frames import Delivery

T = TypeVar("T")


class ApiQuestion(Snapshottable, Generic[T]):
    """Asks, and hands the outcome to the part that wants to know."""

    __slots__ = ("_script",)

    def __init__(self) -> None:
        self._script: Script[T] | None = None

    def _asking(self) -> Script[T]:
        """The question as it stands now."""
        raise NotImplementedError

    def _judged(self, outcome: Script[T]) -> None:
        """The question is done, with a result or an error."""
        raise NotImplementedError

    # ------------------------------------------------------------------ facts

    def _ask(self, port: Port, now: float) -> None:
        """Ask; none is under way."""
        self._script = self._asking()
        self._script.opened(port, now)

    def replied(self, port: Port, token: int, frame: Delivery, now: float) -> bool:
        """An answer came. Whether it was waited for here."""
        script = self._script
        if script is None:
            return False
        before = script.waiting
        script.replied(port, token, frame, now)
        self._judge()
        return script.waiting is not before

    def ticked(self, port: Port, now: float) -> None:
        """Time has passed."""
        if self._script is not None:
            self._script.ticked(port, now)
            self._judge()

    def refused(self, port: Port, subject: str, error: JsprotoError, now: float) -> None:
        """The server does not let the question through."""
        if self._script is not None:
            self._script.refused(port, subject, error, now)
            self._judge()

    @property
    def deadline(self) -> float | None:
        """When the answer is overdue."""
        return None if self._script is None else self._script.deadline

    def _judge(self) -> None:
        script = self._script
        if script is not None and script.done:
            self._script = None
            self._judged(script)

    # ------------------------------------------------------------------ state

    def snapshot(self) -> Snapshot:
        """What the part knows, and how far the question is."""
        return {
            **super().snapshot(),
            "script": None if self._script is None else self._script.snapshot(),
        }

    def restore(self, data: Mapping[str, object]) -> None:
        """Put back what `snapshot` gave."""
        super().restore(data)
        self._script = None
        if data["script"] is not None:
            self._script = self._asking()
            self._script.restore(cast("Mapping[str, object]", data["script"]))
