"""What a real server does beside each other: differences that one play of a script may show and the
next does not.

A server promises no order between two goroutines. Where one of them is late, the answers of the
other show it, and no model can say when. So there is a table of what may be seen then, each row
with its reason, as narrow as it can be told: a row excuses a difference only if the same script has
shown none when it was played again, to the same server. A fault of the model is there every time;
one that depends on the moment has still to look exactly like a row to be taken for it.

The crashes that a version is known for stand here too.
"""

from __future__ import annotations

import re
from collections import Counter
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


#: The last token of an acknowledgement subject.
_AHEAD: Final = re.compile(r"(?<=\.T\.)(\d+)")
_DELETED: Final = "Unacknowledged message was deleted"
_NO_WAIT: Final = re.compile(r'"no_wait": ?true')


def _without(said: object, member: str) -> tuple[object, list[object]]:
    """Frames without one member of their answers, and what it held, in order."""
    found: list[object] = []

    def without(value: object) -> object:
        if isinstance(value, Mapping):
            found.extend(inner for each, inner in value.items() if each == member)
            return {each: without(inner) for each, inner in value.items() if each != member}
        return [without(each) for each in value] if isinstance(value, list | tuple) else value

    return without(said), found


def _ahead(said: object) -> tuple[object, list[int]]:
    """Frames without how much is still ahead, and those numbers: of the deliveries, then of the
    answers.
    """
    rest, told = _without(said, "num_pending")
    delivered = [int(number) for number in _AHEAD.findall(str(rest))]
    return _AHEAD.sub("", str(rest)), [
        *delivered,
        *(each for each in told if isinstance(each, int)),
    ]


def _fewer_ahead(difference: Difference) -> bool:
    """The same was said but for how much is ahead, of which the server knows less."""
    (ours, expected), (theirs, counted) = _ahead(difference.model), _ahead(difference.real)
    return ours == theirs and all(
        real <= model for real, model in zip(counted, expected, strict=True)
    )


def _nothing_there(difference: Difference) -> bool:
    """Somebody who does not wait was told that there is nothing, where the model knew of messages."""
    if len(difference.real) != 1 or not difference.model or not _NO_WAIT.search(difference.what):
        return False
    ours, theirs = str(difference.model[0]), str(difference.real[0])
    return "NATS/1.0 404 No Messages" in theirs and (
        "$JS.ACK." in ours or "408 Requests Pending" in ours
    )


def _terminated(difference: Difference) -> bool:
    """That deleted messages are terminated was told in another order, or not of all."""
    if not difference.channel.startswith("ADVISORY.CONSUMER.MSG_TERMINATED."):
        return False
    ours, theirs = ([str(each) for each in side] for side in (difference.model, difference.real))
    same = sorted(ours) == sorted(theirs)
    missing = Counter(ours) - Counter(theirs)
    return same or (
        not Counter(theirs) - Counter(ours)
        and [each for each in ours if each in theirs] == theirs
        and all(_DELETED in each for each in missing)
    )


def _last_words(difference: Difference) -> bool:
    """A stream was deleted, and not all of those who waited were told that their consumer is gone."""
    ours, theirs = ([str(each) for each in side] for side in (difference.model, difference.real))
    missing = Counter(ours) - Counter(theirs)
    return (
        "STREAM.DELETE." in difference.what
        and not Counter(theirs) - Counter(ours)
        and all("409 Consumer Deleted" in each for each in missing)
    )


def _other_floor(difference: Difference) -> bool:
    """The same was told but for up to where all is acknowledged."""
    ours, theirs = (_without(side, "ack_floor")[0] for side in (difference.model, difference.real))
    return ours == theirs


_COUNTED_LATER: Final = "a publish is answered before those who consume it have counted it (nats-server signalConsumersLoop)"
_TERMINATED_LATER: Final = (
    "what has left the stream is terminated in a goroutine of its own, beside deliveries, the look that a delayed nak asks"
    " for, and others like it (nats-server decStreamPending)"
)

BESIDE: Final = (
    Beside(_COUNTED_LATER, _fewer_ahead),
    Beside(_COUNTED_LATER, _nothing_there),
    Beside(_TERMINATED_LATER, _terminated),
    Beside(_TERMINATED_LATER, _other_floor),
    Beside(
        "a stream that is deleted may hang up before its consumers have said their last",
        _last_words,
    ),
)

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
