"""Stand-ins for procedures: the generator behind one is not in a trace, but each step that it took
is.

Theory. What a procedure asks for is noted by the recorder while an input is worked off, so at a
rerun the notes of an input are known before it is told. The stand-in is a procedure of a generator
that asks for just these, one by one, whenever the machine lets it go on: with an answer, an error,
or behind a pause. If it is let go on once more than was noted, or not so often, our machines have
decided something else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import cast, final

from jsproto.core.conversation.conversation import Call
from jsproto.core.conversation.procedure import Procedure, Sleep, Steps
from jsproto.errors.tree import JsprotoError
from jsproto.trace.record.conversation_json import blank, number_read


@final
class RecordedProcedures:
    """All procedures of one connection."""

    __slots__ = ("_lacking", "_noted")

    def __init__(self) -> None:
        self._noted: dict[int, deque[Mapping[str, object]]] = {}
        self._lacking = 0

    def note(self, step: Mapping[str, object]) -> None:
        """A procedure takes this step during the input that is told next."""
        self._noted.setdefault(cast("int", step.get("number")), deque()).append(step)

    def procedure(self, number: int) -> Procedure[None]:
        """The one of this number."""
        return Procedure(lambda: self._steps(number))

    def differing(self) -> str:
        """Behind the input: what our machines did otherwise, empty if nothing."""
        noted, self._noted = self._noted, {}
        for number, steps in noted.items():
            if steps:
                return f"expected that procedure {number} goes on to {dict(steps[0])}, our machines did not let it"
        if self._lacking:
            return f"expected that procedure {self._lacking} waits, our machines let it go on"
        return ""

    def _steps(self, number: int) -> Steps[None]:
        while True:
            steps = self._noted.get(number)
            if not steps:
                self._lacking = number
                return
            step = steps.popleft()
            try:
                if "call" in step:
                    payload, timeout = blank(step.get("size")), number_read(step.get("timeout"))
                    yield Call(str(step["call"]), payload, None, timeout)
                elif "sleep" in step:
                    yield Sleep(number_read(step["sleep"]))
                else:
                    return
            except JsprotoError:
                continue
