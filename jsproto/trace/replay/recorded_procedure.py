"""Replaces procedures in a rerun: their generator is not in a trace, but each of its steps is.

Theory. The recorder notes the steps of a procedure while an input is processed. So a rerun knows
the steps of an input before it repeats the input. The replacement is a procedure whose generator
yields just these steps. The machine resumes it after an answer, an error or a pause. If the machine
resumes it more often or less often than recorded, the machines have decided something else.
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
    """Replaces all procedures of one connection."""

    __slots__ = ("_lacking", "_noted")

    def __init__(self) -> None:
        self._noted: dict[int, deque[Mapping[str, object]]] = {}
        self._lacking = 0

    def note(self, step: Mapping[str, object]) -> None:
        """Note a step that a procedure takes during the next input."""
        self._noted.setdefault(cast("int", step.get("number")), deque()).append(step)

    def procedure(self, number: int) -> Procedure[None]:
        """Create the replacement for the procedure of this number."""
        return Procedure(lambda: self._steps(number))

    def differing(self) -> str:
        """Describe, after the input, how the machines differ; empty if they do not."""
        noted, self._noted = self._noted, {}
        for number, steps in noted.items():
            if steps:
                return (
                    f"expected that the machines resume procedure {number} up to "
                    f"{dict(steps[0])}, got fewer steps"
                )
        if self._lacking:
            return f"expected that procedure {self._lacking} waits, got another step"
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
