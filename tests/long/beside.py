"""What a real server does beside each other: differences that one play of a script may show and the next does not.

A server promises no order between two goroutines. Where one of them is late, the answers of the other show it, and no
model can say when. So there is a table of what may be seen then, each row with its reason, as narrow as it can be told:
a row excuses a difference only if the same script has shown none when it was played again, to the same server. A fault
of the model is there every time; one that depends on the moment has still to look exactly like a row to be taken for it.

The crashes that a version is known for stand here too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple


class Difference(NamedTuple):
    """Where the two parted: the frames of one channel after one step, as `normal` writes them."""

    step: int
    what: str
    channel: str
    model: list[object]
    real: list[object]


class Beside(NamedTuple):
    """A difference that is nobody's fault: why, and whether it is this one."""

    reason: str
    fits: Callable[[Difference], bool]


_PENDING: Final = re.compile(r"(\$JS\.ACK\.\S+\.T\.)(\d+)")
_NO_WAIT: Final = re.compile(r'"no_wait": ?true')


def _counts(said: object) -> tuple[object, list[int]]:
    """Frames without how much is still ahead, and those numbers in order."""
    found: list[int] = []

    def without(value: object, name: str = "") -> object:
        if isinstance(value, str):
            found.extend(int(number) for _, number in _PENDING.findall(value))
            return _PENDING.sub(r"\1", value)
        if isinstance(value, int) and name == "num_pending":
            found.append(value)
            return None
        if isinstance(value, Mapping):
            return {each: without(inner, each) for each, inner in value.items()}
        return [without(each) for each in value] if isinstance(value, list | tuple) else value

    return without(said), found


def _fewer_ahead(difference: Difference) -> bool:
    """The same was said but for how much is ahead, of which the server knows less."""
    (ours, expected), (theirs, counted) = _counts(difference.model), _counts(difference.real)
    return ours == theirs and all(real <= model for real, model in zip(counted, expected, strict=True))


def _nothing_there(difference: Difference) -> bool:
    """Somebody who does not wait was told that there is nothing, where the model knew of messages."""
    if len(difference.real) != 1 or not difference.model or not _NO_WAIT.search(difference.what):
        return False
    ours, theirs = str(difference.model[0]), str(difference.real[0])
    return "NATS/1.0 404 No Messages" in theirs and ("$JS.ACK." in ours or "408 Requests Pending" in ours)


_COUNTED_LATER: Final = (
    "a publish is answered before those who consume it have counted it (nats-server signalConsumersLoop)"
)

BESIDE: Final = (Beside(_COUNTED_LATER, _fewer_ahead), Beside(_COUNTED_LATER, _nothing_there))

#: By the function of the server in which it ends: why.
CRASHES: Final[Mapping[str, str]] = {
    "(*consumer).nextWaiting": "a pull that is not JSON has no group, which is read all the same where clients are pinned (2.12)"
}


def why(difference: Difference) -> str:
    """The reason of a difference that did not come again; ``""`` if there is none."""
    return next((each.reason for each in BESIDE if each.fits(difference)), "")


def why_crashed(log: str) -> str:
    """The reason why a server crashed, by what it wrote last; ``""`` if that is not known."""
    trace = log[log.find("\npanic: ") + 1 :]
    first = next((line for line in trace.splitlines() if "/server." in line), "")
    return next((reason for name, reason in CRASHES.items() if f"server.{name}(" in first), "")
