"""What tests of requests share: a generator is stepped with answers, and what it asked is written
down.
"""

from __future__ import annotations

import json

from jsproto.core.conversation.conversation import Call
from jsproto.core.conversation.message import Message
from jsproto.core.conversation.procedure import CurrentTime, Sleep, Steps


def refusal(code: int, err_code: int, description: str = "no") -> dict[str, object]:
    return {"type": "x", "error": {"code": code, "err_code": err_code, "description": description}}


def message(payload: bytes, block: bytes | None = None) -> Message:
    return Message(("1", "_INBOX.r", "", block, payload))


def run(
    steps: Steps[object], *answers: object, now: float = 0.0
) -> tuple[object, list[tuple[str, object]]]:
    """Step a generator with these answers; its result, and the subject and body of each question.

    An answer is members of JSON, a `Message`, or an error that is thrown in. Time passes by what is
    slept.
    """
    asked: list[tuple[str, object]] = []
    left = list(answers)
    try:
        step = next(steps)
        while True:
            if isinstance(step, CurrentTime):
                step = steps.send(now)
                continue
            if isinstance(step, Sleep):
                now += step.seconds
                step = steps.send(None)
                continue
            assert isinstance(step, Call)
            asked.append((step.subject, json.loads(step.payload) if step.payload else None))
            one = left.pop(0)
            if isinstance(one, Exception):
                step = steps.throw(one)
            else:
                step = steps.send(
                    one if isinstance(one, Message) else message(json.dumps(one).encode())
                )
    except StopIteration as stop:
        assert left == []
        return stop.value, asked
